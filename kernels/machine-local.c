/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine-local.c - no boot: the script runs on this host, for user-space builds ($KPB_ARTEFACT is the built file or
 * folder) and for the running kernel. Where the host allows a process id namespace the script gets one, so that all of
 * it ends with us, whatever it started.
 */
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
		boot_verdict(ret, "infra", "the run was stopped");
	else if (end == CHILD_DEADLINE)
		boot_verdict(ret, "timeout", "the script took longer than %g s", q->script_timeout_s);
	else
		ret->verdict = "ok";
}

static int run(const struct boot_request *q, const char *dir, struct boot_result *ret)
{
	_cleanup_free_ char *result = xasprintf("%s/result", q->out_dir), *abs = NULL, *script = NULL, *log = NULL;
	_cleanup_strv_ struct strv argv = {0}, env = {0};
	_cleanup_buf_ struct buf text = {0};
	struct proc_spec s = {.cwd = result};
	struct local l = {.q = q};
	struct child_watch w = {q->cancel, past_deadline, &l};
	enum child_end end;
	int status, r = write_script(q, dir, &script);
	pid_t pid;

	if (r == 0)
		r = fs_rm_rf(result);
	if (r == 0)
		r = fs_mkdir_p(result);
	if (r < 0)
		return r;
	abs = realpath(result, NULL);
	log = xasprintf("%s/script.log", abs);
	strv_addf(&env, "RESULT_DIR=%s", abs);
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
	s.out_path = log;
	if (q->script_timeout_s > 0)
		l.deadline = mono_usec() + (usec_t)(q->script_timeout_s * 1e6);
	r = proc_start(&s, &pid);
	if (r < 0)
		return r;
	end = child_wait(pid, &w, &status);
	verdict(q, end, status, ret);
	(void)fs_read(log, 16u << 20, &text);
	ret->console_tail = console_tail(buf_str(&text), text.len, 30);
	return 0;
}

static int local_boot(const struct boot_request *q, struct boot_result *ret)
{
	_cleanup_free_ char *dir = NULL, *abs = NULL;
	int lock = -1, r = boot_folder_make(q->out_dir, &dir, &lock);

	if (r < 0)
		return r;
	abs = realpath(dir, NULL); /* the script runs in another folder */
	r = run(q, abs ? abs : dir, ret);
	(void)fs_rm_rf(dir);
	close(lock);
	return r;
}

const struct machine_ops machine_local = {
	.name = "local",
	.help = "no boot: runs on this host, for user-space builds or the running kernel",
	.flags = 0,
	.check = local_check,
	.boot = local_boot,
	.describe = local_describe,
};
