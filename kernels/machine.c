/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernels/box.h"
#include "kernels/machine-internal.h"
#include "lib/escape.h"
#include "lib/fs.h"
#include "lib/json.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* All drivers, in the order in which they are listed. */
#define DRIVERS(X) X(machine_local) X(machine_qemu) X(machine_qemu_icount) X(machine_null)

#define DECLARED(ops) extern const struct machine_ops ops;
#define LISTED(ops) &ops,
DRIVERS(DECLARED)
static const struct machine_ops *const drivers[] = {DRIVERS(LISTED) NULL};

const struct machine_ops *const *machine_drivers(void) { return drivers; }

const struct machine_ops *machine_driver(const char *name)
{
	for (size_t i = 0; drivers[i]; i++)
		if (streq(drivers[i]->name, name))
			return drivers[i];
	return NULL;
}

const char *machine_default(bool program)
{
	const unsigned wanted = MACHINE_BUILTIN | (program ? 0 : MACHINE_BOOTS | MACHINE_DETERMINISTIC);

	for (size_t i = 0; drivers[i]; i++)
		if ((drivers[i]->flags & wanted) == wanted && !(program && (drivers[i]->flags & MACHINE_BOOTS)))
			return drivers[i]->name;
	return NULL;
}

double machine_ns_per_insn(const struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);

	return ops && ops->ns_per_insn ? ops->ns_per_insn(m) : 0;
}

int machine_profile_check(const struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);
	_cleanup_buf_ struct buf able = {0};

	if (ops && ops->profile_check)
		return ops->profile_check(m);
	for (size_t i = 0; drivers[i]; i++)
		if (drivers[i]->profile_check)
			buf_addf(&able, "%s%s", able.len ? " and " : "", drivers[i]->name);
	return err_set(-ENOTSUP, "machine '%s': only the drivers %s can count what a guest executes, not '%s'", m->name,
		       buf_str(&able), m->driver);
}

/* ---- settings ---- */

/* Columns of the database, as are name and driver. */
static const struct setting identity[] = {
	SETTING(machine, tbox_group, "tbox_group", "its group of equal machines; results are compared only within a group",
		.otherwise = "its own name"),
	SETTING(machine, description, "description", "what it is, for reports", .otherwise = "what the driver says"),
	SETTING_END,
};
static const struct setting common[] = {
	SETTING(machine, cpus, "cpus", "number of its CPUs", .min = 1, .max = 4096, .dflt = "1"),
	SETTING_END,
};

void machine_settings(const struct machine *m, struct settings ret[MACHINE_PARTS])
{
	const struct machine_ops *ops = machine_driver(m->driver);
	const bool own = m->options && ops && ops->options;

	ret[0] = (struct settings){identity, (void *)m};
	ret[1] = (struct settings){common, (void *)m};
	ret[2] = own ? (struct settings){ops->options, m->options} : (struct settings){0};
	ret[3] = (struct settings){0};
}

static void options_release(struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);

	if (m->options && ops && ops->options)
		settings_release(ops->options, m->options);
	free(m->options);
	m->options = NULL;
}

int machine_set_driver(struct machine *m, const char *driver)
{
	const struct machine_ops *ops = machine_driver(driver);
	_cleanup_buf_ struct buf all = {0};

	for (size_t i = 0; !ops && drivers[i]; i++)
		buf_addf(&all, " %s", drivers[i]->name);
	if (!ops)
		return err_set(-EINVAL, "machine '%s' needs a 'driver', one of:%s", m->name, buf_str(&all));
	if (m->options && streq(m->driver, driver))
		return 0;
	options_release(m);
	free(m->driver);
	m->driver = xstrdup(ops->name);
	m->options = xcalloc(1, MAX(ops->options_size, (size_t)1));
	if (ops->options)
		settings_default(ops->options, m->options);
	return 0;
}

int machine_init(struct machine *m, const char *name, const char *driver)
{
	*m = (struct machine){.name = xstrdup(name)};
	settings_default(identity, m);
	settings_default(common, m);
	return driver ? machine_set_driver(m, driver) : 0;
}

void machine_release(struct machine *m)
{
	options_release(m);
	settings_release(identity, m);
	settings_release(common, m);
	free(m->name);
	free(m->driver);
	*m = (struct machine){0};
}

char *machine_to_json(const struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);
	struct json_object *o = json_object_new_object();
	char *line;

	settings_to_json(common, m, SETTINGS_STORED, o);
	if (m->options && ops && ops->options)
		settings_to_json(ops->options, m->options, SETTINGS_STORED, o);
	line = json_line(o);
	json_object_put(o);
	return line;
}

int machine_from_json(const char *name, const char *driver, const char *settings, struct machine *ret)
{
	_cleanup_json_ struct json_object *o = json_object_of(settings ? settings : "{}");
	_cleanup_machine_ struct machine m = {0};
	struct settings parts[MACHINE_PARTS];
	int r = machine_init(&m, name, driver);

	if (r == 0 && !o)
		r = err_set(-EBADMSG, "machine '%s': its settings in the database are not a JSON object", name);
	machine_settings(&m, parts);
	for (size_t i = 1; r == 0 && parts[i].table; i++)
		settings_from_json(parts[i].table, parts[i].base, o);
	if (r == 0) {
		*ret = m;
		m = (struct machine){0};
	}
	return r;
}

/* ---- what drivers do ---- */

void machine_script_release(struct machine_script *s)
{
	buf_release(&s->comments);
	buf_release(&s->variables);
	*s = (struct machine_script){0};
}

void machine_script(const struct machine *m, struct machine_script *ret)
{
	const struct machine_ops *ops = machine_driver(m->driver);

	*ret = (struct machine_script){0};
	if (ops && ops->script)
		ops->script(m, ret);
}

void boot_result_release(struct boot_result *r)
{
	free(r->cause);
	free(r->console_tail);
	*r = (struct boot_result){0};
}

int boot_verdict(struct boot_result *ret, enum run_verdict verdict, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	free(ret->cause);
	ret->cause = term_safe(text);
	ret->verdict = verdict;
	return 0;
}

int machine_boot(const struct boot_request *q, struct boot_result *ret)
{
	const struct machine_ops *ops = machine_driver(q->machine->driver);
	struct boot_result r = {.verdict = RUN_INFRA};
	usec_t start = mono_usec();

	if (!ops)
		return err_set(-ENOENT, "machine '%s' has the unknown driver '%s'",
			       q->machine->name ? q->machine->name : "", q->machine->driver ? q->machine->driver : "");
	r.isolated = ops->flags & MACHINE_BOOTS; /* a guest; others tell by themselves */
	if ((ops->flags & MACHINE_BOOTS) && (!q->image || access(q->image, R_OK) < 0))
		boot_verdict(&r, RUN_INFRA, "kernel image '%s' is missing", q->image ? q->image : "");
	else if ((ops->flags & MACHINE_NEEDS_ROOT) && (!q->root_image || access(q->root_image, R_OK) < 0))
		boot_verdict(&r, RUN_INFRA, "root image '%s' is missing", q->root_image ? q->root_image : "");
	else if (fs_mkdir_p(q->out_dir) < 0)
		boot_verdict(&r, RUN_INFRA, "%s", err_msg());
	else if (ops->check(q->machine) < 0 || ops->boot(q, &r) < 0)
		boot_verdict(&r, RUN_INFRA, "%s", err_msg());
	r.ns_per_insn = machine_ns_per_insn(q->machine);
	r.wall_seconds = (mono_usec() - start) / 1e6;
	*ret = r;
	return 0;
}

/* ---- helpers of the drivers ---- */

char *console_tail(const char *text, size_t len, int lines)
{
	_cleanup_buf_ struct buf out = {0};
	const char *p = text + len;
	int seen = 0;

	while (p > text && (p[-1] == '\n' || p[-1] == '\r'))
		p--;
	len = p - text;
	while (p > text && (seen < lines - 1 || p[-1] != '\n') && text + len - p < 8192)
		if (*--p == '\n')
			seen++;
	for (const char *end = text + len; p < end;) {
		const char *eol = memchr(p, '\n', end - p);
		size_t n = (eol ? eol : end) - p, k = n;
		_cleanup_free_ char *line = NULL;

		while (k && p[k - 1] == '\r')
			k--;
		k = MIN(k, (size_t)400);
		line = xcalloc(k + 1, 1);
		for (size_t i = 0; i < k; i++) /* a NUL does not end it */
			line[i] = p[i] ? p[i] : 1;
		buf_add_term(&out, line);
		buf_addc(&out, '\n');
		p += n + 1;
	}
	return buf_take(&out);
}

enum child_end child_wait(pid_t pid, const struct child_watch *w, int *ret_status)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0), ws = 0;
	enum child_end end = CHILD_EXITED;

	for (;;) {
		struct pollfd p = {pidfd, POLLIN, 0};

		if (poll(&p, 1, 25) < 0 && errno != EINTR)
			break;
		if (p.revents)
			break;
		if (w->cancel && *w->cancel)
			end = CHILD_CANCELLED;
		else if (w->tick && w->tick(w->arg))
			end = CHILD_DEADLINE;
		if (end != CHILD_EXITED)
			break;
	}
	if (end != CHILD_EXITED)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &ws, 0) < 0 && errno == EINTR)
		;
	kill(-pid, SIGKILL); /* stragglers of its group */
	if (pidfd >= 0)
		close(pidfd);
	*ret_status = proc_status(ws);
	return end;
}

/* ---- left-overs ---- */

int boot_folder_make(const char *out_dir, char **ret_path, int *ret_lock)
{
	_cleanup_free_ char *dir = xasprintf("%s/" BOOT_FOLDER, out_dir), *lock = xasprintf("%s/lock", dir);
	int r = box_folder_remove(dir), fd;

	if (r == 0)
		r = fs_mkdir_p(dir);
	if (r < 0)
		return r;
	fd = fs_lock(lock, false);
	if (fd < 0)
		return fd;
	*ret_path = TAKE_PTR(dir);
	*ret_lock = fd;
	return 0;
}

static void clean_below(const char *dir, int depth)
{
	static const char *const skip[] = {"worktrees", "trees", "result"};
	_cleanup_strv_ struct strv names = {0};

	if (depth > 5 || fs_list(dir, &names) < 0)
		return;
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, names.v[i]), *lock = xasprintf("%s/lock", path);
		struct stat st;
		bool skipped = false;
		int fd;

		for (size_t k = 0; k < ARRAY_SIZE(skip); k++)
			skipped |= streq(names.v[i], skip[k]);
		if (skipped || lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (strcmp(names.v[i], BOOT_FOLDER)) {
			clean_below(path, depth + 1);
			continue;
		}
		fd = fs_lock(lock, false); /* a living worker holds it */
		if (fd < 0)
			continue;
		(void)box_folder_remove(path);
		close(fd);
	}
}

void machine_clean_stale(const char *state_dir) { clean_below(state_dir, 0); }
