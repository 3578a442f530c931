/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Can a machine count what its guest executes? The counting itself is in plugin/. */
#include "kernels/machine-internal.h"
#include "lib/proc.h"

char *profile_plugin(void) { return find_own("tcg-count.so", getenv("KPERFBOT_TCG_COUNT")); }

int machine_profile_check(const struct machine *m)
{
	_cleanup_free_ char *plugin = profile_plugin(), *arg = plugin ? xasprintf("%s,probe=on", plugin) : NULL, *why = NULL;
	_cleanup_(proc_result_release) struct proc_result p = {0};
	const char *qemu = m->qemu ? m->qemu : DEFAULT_QEMU;
	struct proc_spec s = {.argv = ARGV(qemu, "-machine", "none", "-nodefaults", "-no-user-config", "-display", "none",
					   "-accel", "tcg", "-plugin", arg), .env_clear = true, .timeout_s = 30};
	int r;

	if (!streq(m->driver, "qemu-icount") && !streq(m->driver, "qemu"))
		return err_set(-ENOTSUP, "machine '%s': only the drivers qemu and qemu-icount can count what a guest executes, not '%s'",
			       m->name, m->driver);
	if (!plugin)
		return err_set(-ENOENT, "cannot find tcg-count.so, which counts in QEMU; make builds it");
	if (strchr(plugin, ','))
		return err_set(-ENOTSUP, "'%s': QEMU takes no plugin whose path has a comma", plugin);
	r = proc_run(&s, &p);
	if (r < 0)
		return r;
	why = last_line(buf_str(&p.err));
	return p.status ? err_set(-ENOTSUP, "'%s' takes no plugin: %s", qemu, why) : 0;
}
