/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A build's steps in a box: what it sees, its environment, and whose fault it is when a limit ends it. */
#include "kernels/build-internal.h"
#include "lib/fs.h"
#include "lib/proc.h"

static void build_env(const struct build_job *j, struct strv *env)
{
	strv_addv(env, ARGV("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp",
			    "SRC=" BOX_SRC, "OUT=" BOX_OUT, "LC_ALL=C", "TZ=UTC", "SOURCE_DATE_EPOCH=315532800",
			    "KBUILD_BUILD_USER=kperfbot", "KBUILD_BUILD_HOST=kperfbot", "KBUILD_BUILD_VERSION=1",
			    "KBUILD_BUILD_TIMESTAMP=Tue Jan  1 00:00:00 UTC 1980", "LOCALVERSION="));
	strv_addf(env, "COMMIT=%s", j->q->commit);
}

/* What is left of the time, and of the disk: a build may use BOX_DISK, but never the last that the bot itself needs. */
static struct box_limits limits(const struct build_job *j, const struct build_step *s)
{
	int64_t left = build_room(j->q->state_dir, j->q->cache_dir);
	double seconds = j->deadline ? ((double)j->deadline - (double)mono_usec()) / 1e6 : 0;
	struct box_limits l = {.memory = s->memory ? s->memory : j->q->max_memory, .inodes = j->q->max_files,
			       .disk = j->q->max_disk ? j->q->max_disk : BOX_DISK,
			       .seconds = j->deadline ? MAX(seconds, 0.05) : 0};

	if (left >= 0 && left - BUILD_RESERVE < l.disk)
		l.disk = MAX(left - BUILD_RESERVE, 1);
	return l;
}

int build_step(struct build_job *j, const struct build_step *s, struct sandbox_result *ret)
{
	struct box_result res = {0};
	_cleanup_strv_ struct strv env = {0};
	struct box b = {.script = s->script, .mount = s->mount, .n_mounts = s->n_mounts, .cwd = s->cwd,
			.log_path = s->out ? NULL : j->log, .out = s->out, .what = "the build", .nice = 5,
			.limits = limits(j, s), .cancel = j->q->cancel, .on_line = j->q->on_line,
			.on_line_arg = j->q->on_line_arg};
	bool disk_short = b.limits.disk < (j->q->max_disk ? j->q->max_disk : BOX_DISK);
	int r;

	if (s->out)
		b.limits.output = s->max_out;
	build_env(j, &env);
	b.env = (const char *const *)env.v;
	r = box_run(&b, &res);
	if (r < 0)
		return r;
	*ret = (struct sandbox_result){.status = res.status, .stop = res.stop,
				       .ours = res.stop == BOX_DISK_USED && disk_short};
	return 0;
}
