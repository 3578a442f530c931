/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine-local.c - no boot: the script runs on this host, for user-space builds ($KPB_ARTEFACT is the built file or
 * folder) and for the running kernel. It runs in a box (box.h), as the build did: foreign code is no better for having
 * been compiled. A tree that is trusted gets all that we have instead, and, where the host allows it, a process id
 * namespace, so that all of it ends with us, whatever it started.
 */
#include "kernels/box.h"
#include "kernels/machine-internal.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <sys/utsname.h>

struct local { const struct boot_request *q; usec_t deadline; };

static bool past_deadline(void *arg)
{
	const struct local *l = arg;

	return l->deadline && mono_usec() > l->deadline;
}

static int local_check(const struct machine *m _unused_) { return 0; }

static char *local_describe(const struct machine *m _unused_)
{
	_cleanup_buf_ struct buf info = {0};
	_cleanup_free_ char *cpu = NULL;
	struct utsname u = {0};
	const char *s;

	(void)fs_read("/proc/cpuinfo", 4u << 20, &info);
	s = strstr(buf_str(&info), "model name");
	s = s ? strchr(s, ':') : NULL;
	cpu = s ? xstrndup(s + 2, strcspn(s + 2, "\n")) : xstrdup("unknown CPU");
	(void)uname(&u);
	return xasprintf("this host: %ld threads of %s with %ldG memory, Linux %s", sysconf(_SC_NPROCESSORS_ONLN), cpu,
			 sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024) / 1024, u.release);
}

/* Words that put a command into its own process id namespace, or none where the host forbids it. */
static const char *const *namespace_words(void)
{
	static const char *const as_root[] = {"unshare", "--fork", "--pid", "--kill-child=KILL", "--mount-proc", NULL};
	static const char *const as_user[] = {"unshare", "--map-current-user", "--fork", "--pid", "--kill-child=KILL",
					      "--mount-proc", NULL};
	static const char *const none[] = {NULL};
	static const char *const *words;
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_strv_ struct strv try = {0};
	struct proc_spec s = {.timeout_s = 10};

	if (words)
		return words;
	words = geteuid() == 0 ? as_root : as_user;
	strv_addv(&try, words);
	strv_add(&try, "true");
	s.argv = (const char *const *)try.v;
	if (proc_run(&s, &r) < 0 || r.status)
		words = none;
	return words;
}

static int write_script(const struct boot_request *q, const char *dir, char **ret)
{
	_cleanup_free_ char *path = xasprintf("%s/job.sh", dir);
	int r = fs_write_atomic(path, q->script, strlen(q->script));

	if (r == 0)
		*ret = TAKE_PTR(path);
	return r;
}

static void verdict(const struct boot_request *q, enum child_end end, int status, struct boot_result *ret)
{
	ret->exit_status = status;
	if (end == CHILD_CANCELLED)
		boot_verdict(ret, RUN_INFRA, "the run was stopped");
	else if (end == CHILD_DEADLINE)
		boot_verdict(ret, RUN_TIMEOUT, "the script took longer than %g s", q->script_timeout_s);
	else
		ret->verdict = RUN_OK;
}

static void keep_tail(const char *log, struct boot_result *ret)
{
	_cleanup_buf_ struct buf text = {0};

	(void)fs_read(log, 16u << 20, &text);
	ret->console_tail = console_tail(buf_str(&text), text.len, 30);
}

static int run_trusted(const struct boot_request *q, const char *result, const char *script, struct boot_result *ret)
{
	_cleanup_free_ char *abs = realpath(result, NULL), *log = xasprintf("%s/script.log", abs ? abs : result);
	_cleanup_strv_ struct strv argv = {0}, env = {0};
	struct proc_spec s = {.cwd = result, .out_path = log};
	struct local l = {.q = q};
	struct child_watch w = {q->cancel, past_deadline, &l};
	enum child_end end;
	int status, r;
	pid_t pid;

	strv_addf(&env, "RESULT_DIR=%s", abs ? abs : result);
	strv_addf(&env, "KPB_PERTURB=%" PRId64, q->perturb);
	strv_add(&env, "KPB_ROBOT=1");
	if (q->image)
		strv_addf(&env, "KPB_ARTEFACT=%s", q->image);
	if (q->env)
		strv_addv(&env, q->env);
	strv_addv(&argv, namespace_words());
	strv_addv(&argv, ARGV("/bin/sh", script));
	s.argv = (const char *const *)argv.v;
	s.env_add = (const char *const *)env.v;
	if (q->script_timeout_s > 0)
		l.deadline = mono_usec() + (usec_t)(q->script_timeout_s * 1e6);
	r = proc_start(&s, &pid);
	if (r < 0)
		return r;
	end = child_wait(pid, &w, &status);
	verdict(q, end, status, ret);
	keep_tail(log, ret);
	return 0;
}

/* ---- in a box ---- */

#define BOX_RESULT BOX "/result"
#define BOX_ARTEFACT BOX "/artefact"
#define BOX_SCRIPT BOX "/job.sh"
#define LOG_BYTES (8ll << 20)
#define RESULT_BYTES (64ll << 20)       /* what parsers read is far less */
#define WORK_BYTES (1ll << 30)          /* it may write more than it keeps */

static void boxed_env(const struct boot_request *q, struct strv *env)
{
	strv_addv(env, ARGV("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp",
			    "LC_ALL=C.UTF-8", "RESULT_DIR=" BOX_RESULT, "KPB_ROBOT=1"));
	strv_addf(env, "KPB_PERTURB=%" PRId64, q->perturb);
	for (const char *const *e = q->env; e && *e; e++)
		if (!startswith(*e, "KPB_ARTEFACT="))
			strv_add(env, *e);
	if (q->image)
		strv_add(env, "KPB_ARTEFACT=" BOX_ARTEFACT);
}

/* A limit on what it takes is no trouble of ours; a run that was stopped by us is. */
static void boxed_verdict(const struct boot_request *q, const struct box_result *res, struct boot_result *ret)
{
	ret->exit_status = res->status;
	if (res->stop == BOX_TIME)
		boot_verdict(ret, RUN_TIMEOUT, "the script took longer than %g s", q->script_timeout_s);
	else if (res->stop)
		boot_verdict(ret, RUN_CRASHED, "the script %s", box_stop_words(res->stop));
	else
		ret->verdict = RUN_OK;
}

static int run_boxed(const struct boot_request *q, const char *dir, const char *result, const char *script,
		     struct boot_result *ret)
{
	_cleanup_free_ char *work = xasprintf("%s/result", dir), *log = xasprintf("%s/script.log", dir), *why = NULL,
			    *final = xasprintf("%s/script.log", result);
	_cleanup_strv_ struct strv env = {0};
	const struct box_mount mounts[] = {
		{work, BOX_RESULT, true}, {script, BOX_SCRIPT, false}, {q->image, BOX_ARTEFACT, false}};
	struct box b = {.script = "exec /bin/sh " BOX_SCRIPT, .mount = mounts, .n_mounts = q->image ? 3 : 2,
			.cwd = BOX_RESULT, .log_path = log, .what = "the run", .cancel = q->cancel,
			.limits = {.seconds = q->script_timeout_s, .output = LOG_BYTES, .disk = WORK_BYTES}};
	struct box_export x = {.folder = work, .to_dir = result, .all = true, .max_bytes = RESULT_BYTES,
			       .max_file = RESULT_BYTES / 2, .max_files = 1000, .cancel = q->cancel};
	struct box_result res = {0};
	int r = box_folder_make(work);

	boxed_env(q, &env);
	b.env = (const char *const *)env.v;
	if (r == 0)
		r = box_run(&b, &res);
	if (r == -ECANCELED) {
		boot_verdict(ret, RUN_INFRA, "the run was stopped");
	} else if (r == 0) {
		boxed_verdict(q, &res, ret);
		ret->isolated = box_mode() == BOX_ISOLATED;
		r = box_export(&x, &why);
		if (r == -EBADMSG)
			boot_verdict(ret, RUN_CRASHED, "the script's results are not taken: %s", why);
	}
	if (r == 0 || r == -EBADMSG || r == -ECANCELED) {
		keep_tail(log, ret);
		r = fs_mkdir_p(result);
		if (r == 0)
			r = fs_rm_rf(final); /* the program may have made one */
		if (r == 0 && fs_exists(log))
			r = fs_copy(log, final);
	}
	(void)box_folder_remove(work);
	return r;
}

static int run(const struct boot_request *q, const char *dir, struct boot_result *ret)
{
	_cleanup_free_ char *result = xasprintf("%s/result", q->out_dir), *script = NULL;
	int r = write_script(q, dir, &script);

	if (r == 0)
		r = fs_rm_rf(result);
	if (r == 0)
		r = fs_mkdir_p(result);
	if (r < 0)
		return r;
	return q->trusted ? run_trusted(q, result, script, ret) : run_boxed(q, dir, result, script, ret);
}

static int local_boot(const struct boot_request *q, struct boot_result *ret)
{
	_cleanup_free_ char *dir = NULL, *abs = NULL;
	int lock = -1, r = boot_folder_make(q->out_dir, &dir, &lock);

	if (r < 0)
		return r;
	abs = realpath(dir, NULL); /* the script runs in another folder */
	r = run(q, abs ? abs : dir, ret);
	(void)box_folder_remove(dir);
	close(lock);
	return r;
}

const struct machine_ops machine_local = {
	.name = "local",
	.help = "no boot: runs on this host, for user-space builds or the running kernel",
	.measured_on = "program measured on the robot's own host, no kernel was booted",
	.flags = MACHINE_BUILTIN,
	.check = local_check,
	.boot = local_boot,
	.describe = local_describe,
};
