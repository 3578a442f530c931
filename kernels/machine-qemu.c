/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine-qemu.c - boots a kernel in QEMU: "qemu" with KVM where it works and TCG elsewhere, "qemu-icount" with TCG's
 * instruction counting, where guest time is a function of the instructions alone (docs/DETERMINISM.md).
 *
 * The job travels in as a second archive behind the root image; the results come back over the second serial line after
 * the script has ended; in between nothing passes between host and guest. The kernel under test is not trusted: QEMU
 * runs in its own system call sandbox, with a cap on the size of the files it writes, and without any device it can do
 * without.
 */
#include "kernels/cpio.h"
#include "kernels/machine-internal.h"
#include "kernels/result.h"
#include "lib/fs.h"
#include "lib/proc.h"

#include <fcntl.h>
#include <sys/stat.h>

#define DEFAULT_QEMU "qemu-system-x86_64"
#define KVM_SILENT_S 20         /* under KVM a kernel speaks at once */
#define OUTPUT_MAX (64u << 20)          /* bytes of console or results */
#define PANIC_GRACE_S 5.0               /* a panicked kernel resets at once (panic=-1), or is stopped after this */
#define ICOUNT_ACCEL "tcg,thread=single"
#define EMULATED_CPU "qemu64"
#define RTC_BASE "2024-01-01T00:00:00"

/* The same words for each driver: nothing of the host's or the bootloader's moods may change what a kernel does.
 * oops=panic, panic=-1: a broken kernel ends at once instead of measuring on. reboot=t: no waiting for a keyboard
 * controller. */
#define KERNEL_ARGS "console=ttyS0 rdinit=/init panic=-1 oops=panic reboot=t nokaslr random.trust_cpu=off"

struct qemu { char *program, *append; int memory_mb, shift; double boot_timeout_s; };

#define QEMU_SETTINGS                                                                                                  \
	SETTING(qemu, memory_mb, "memory_mb", "memory of the guest in MiB", .min = 64, .max = 1 << 24, .dflt = "512"), \
	SETTING(qemu, program, "qemu", "QEMU's program", .dflt = DEFAULT_QEMU),                                        \
	SETTING(qemu, append, "append", "more kernel arguments"),                                                      \
	SETTING_TIME(qemu, boot_timeout_s, "boot_timeout", "limit for a boot until its script starts", .min = 1,       \
		     .max = 86400, .otherwise = "60s with KVM, else 180s")
static const struct setting qemu_options[] = {QEMU_SETTINGS, SETTING_END};
static const struct setting icount_options[] = {
	QEMU_SETTINGS,
	SETTING(qemu, shift, "icount_shift", "an instruction takes 2^N ns of guest time", .min = 0, .max = 10,
		.dflt = "3"),
	SETTING_END,
};

struct vm {
	const struct boot_request *q;
	const struct machine *m;
	const struct qemu *o;
	bool icount, kvm;
	char *dir, *initrd, *console, *results, *log;
	int lock;
	double boot_s, total_s;         /* deadlines after the start; boot_s until the script's start mark */
	usec_t start, started_at, panic_at;
	int console_fd;
	struct buf seen;                /* console so far */
};

static const struct qemu *options(const struct machine *m) { return m->options; }

static const char *program(const struct machine *m)
{
	const char *p = options(m)->program;

	return p && *p ? p : DEFAULT_QEMU;
}

/* A /dev/kvm that is there and starts guests, but in which no kernel says a word, is remembered until the host boots
 * anew (a nested hypervisor without all features, say). The mark holds the host's boot id. */
static char *kvm_mark(void)
{
	_cleanup_free_ char *cache = NULL;

	return fs_cache_dir(&cache) < 0 ? NULL : xasprintf("%s/kvm-does-not-work", cache);
}

static void host_boot_id(struct buf *ret)
{
	if (fs_read("/proc/sys/kernel/random/boot_id", 128, ret) < 0)
		buf_adds(ret, "unknown");
}

static bool kvm_is_marked(void)
{
	_cleanup_free_ char *path = kvm_mark();
	_cleanup_buf_ struct buf mark = {0}, id = {0};

	host_boot_id(&id);
	return path && fs_exists(path) && fs_read(path, 128, &mark) == 0 && streq(buf_str(&mark), buf_str(&id));
}

static void mark_kvm(void)
{
	_cleanup_free_ char *path = kvm_mark();
	_cleanup_buf_ struct buf id = {0};

	host_boot_id(&id);
	if (path && fs_mkdir_parent(path) == 0)
		(void)fs_write_atomic(path, id.s, id.len);
}

static bool have_kvm(void) { return access("/dev/kvm", R_OK | W_OK) == 0 && !kvm_is_marked(); }

static int qemu_check(const struct machine *m)
{
	if (!proc_have(program(m)))
		return err_set(-ENOENT, "QEMU '%s' is not there: apt-get install qemu-system-x86", program(m));
	return 0;
}

static int icount_check(const struct machine *m)
{
	if (m->cpus > 1)
		return err_set(-EINVAL, "machine '%s': qemu-icount is deterministic with one CPU only, not %d", m->name,
			       m->cpus);
	return qemu_check(m);
}

static int qemu_version(const struct machine *m, struct buf *ret)
{
	_cleanup_buf_ struct buf out = {0};
	int r = proc_ok(ARGV(program(m), "--version"), NULL, &out);
	const char *s = r < 0 ? NULL : strstr(buf_str(&out), "version ");

	if (r == 0)
		buf_add(ret, s ? s + 8 : "?", s ? strcspn(s + 8, " \n") : 1);
	return r;
}

static char *describe(const struct machine *m, bool icount)
{
	_cleanup_buf_ struct buf b = {0};
	int cpus = icount ? 1 : m->cpus;

	buf_adds(&b, "virtual machine, QEMU ");
	if (qemu_version(m, &b) < 0)
		buf_adds(&b, "(not installed)");
	buf_addf(&b, " %s, %d CPU%s (%s) with %dM memory", !icount && have_kvm() ? "KVM" : "TCG", cpus,
		 cpus > 1 ? "s" : "", !icount && have_kvm() ? "host" : EMULATED_CPU, options(m)->memory_mb);
	if (icount)
		buf_addf(&b, ", deterministic: counts instructions, one is %d ns; no caches, no cross-CPU effects",
			 1 << options(m)->shift);
	return buf_take(&b);
}

static char *qemu_describe(const struct machine *m) { return describe(m, false); }
static char *icount_describe(const struct machine *m) { return describe(m, true); }

/* The plugin that counts, NULL where it is not built. */
static char *profile_plugin(void) { return find_own("tcg-count.so", getenv("KPERFBOT_TCG_COUNT")); }

/* Does this QEMU take the plugin that counts? The counting itself is in plugin/. */
static int qemu_profile_check(const struct machine *m)
{
	_cleanup_free_ char *plugin = profile_plugin(), *why = NULL,
			    *arg = plugin ? xasprintf("%s,probe=on", plugin) : NULL;
	_cleanup_(proc_result_release) struct proc_result p = {0};
	struct proc_spec s = {.argv = ARGV(program(m), "-machine", "none", "-nodefaults", "-no-user-config", "-display",
					   "none", "-accel", "tcg", "-plugin", arg), .env_clear = true,
					   .timeout_s = 30};
	int r;

	if (!plugin)
		return err_set(-ENOENT, "cannot find tcg-count.so, which counts in QEMU; make builds it");
	if (strchr(plugin, ','))
		return err_set(-ENOTSUP, "'%s': QEMU takes no plugin whose path has a comma", plugin);
	r = proc_run(&s, &p);
	if (r < 0)
		return r;
	why = last_line(buf_str(&p.err));
	return p.status ? err_set(-ENOTSUP, "'%s' takes no plugin: %s", program(m), why) : 0;
}

/* ---- before the boot ---- */

/* Host time is not guest time: under TCG a guest second may take several. */
static void set_deadlines(struct vm *vm)
{
	bool kvm = vm->kvm;
	double script = vm->q->script_timeout_s > 0 ? vm->q->script_timeout_s : 3600;

	vm->boot_s = vm->o->boot_timeout_s > 0 ? vm->o->boot_timeout_s : kvm ? 60 : 180;
	vm->total_s = vm->boot_s + (kvm ? 1 : 4) * script + 20;
}

/* Root image, then the job as an archive of its own. */
static int write_initrd(struct vm *vm)
{
	_cleanup_buf_ struct buf env = {0}, root = {0};
	struct cpio c = {0};
	int64_t room = fs_free_bytes(vm->dir);
	int r = fs_read(vm->q->root_image, 0, &root);

	if (r < 0)
		return r;
	if (room >= 0 && (size_t)room < root.len + OUTPUT_MAX)
		return err_set(-ENOSPC, "not enough room in '%s' to boot: %" PRId64 " MiB", vm->dir, room >> 20);
	buf_addf(&env, "KPB_PERTURB=%" PRId64, vm->q->perturb);
	buf_addc(&env, 0);
	buf_addf(&env, "KPB_TIMEOUT=%g", vm->q->script_timeout_s);
	buf_addc(&env, 0);
	for (const char *const *e = vm->q->env; e && *e; e++)
		buf_add(&env, *e, strlen(*e) + 1);
	cpio_file(&c, "job/job.sh", 0755, vm->q->script, strlen(vm->q->script));
	cpio_file(&c, "job/env", 0644, env.s, env.len);
	cpio_end(&c);
	buf_add(&root, c.b.s, c.b.len);
	buf_release(&c.b);
	return fs_write_atomic(vm->initrd, root.s, root.len);
}

/* What an earlier boot left in the same folder must not pass for this one's. */
static int clear_old(struct vm *vm)
{
	_cleanup_free_ char *result = xasprintf("%s/result", vm->q->out_dir),
			    *packed = xasprintf("%s.zst", vm->console);

	(void)unlink(vm->console);
	(void)unlink(packed);
	if (vm->q->profile_path)
		(void)unlink(vm->q->profile_path);
	return fs_rm_rf(result);
}

static int vm_prepare(struct vm *vm)
{
	int r = boot_folder_make(vm->q->out_dir, &vm->dir, &vm->lock);

	if (r < 0)
		return r;
	vm->initrd = xasprintf("%s/initrd", vm->dir);
	vm->results = xasprintf("%s/results", vm->dir);
	vm->log = xasprintf("%s/qemu.log", vm->dir);
	vm->console = xasprintf("%s/console.log", vm->q->out_dir);
	set_deadlines(vm);
	r = clear_old(vm);
	return r < 0 ? r : write_initrd(vm);
}

static void vm_release(struct vm *vm)
{
	char *const strings[] = {vm->dir, vm->initrd, vm->console, vm->results, vm->log};

	if (vm->dir)
		(void)fs_rm_rf(vm->dir);
	if (vm->lock >= 0)
		close(vm->lock);
	if (vm->console_fd >= 0)
		close(vm->console_fd);
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free(strings[i]);
	buf_release(&vm->seen);
}

/* A file name inside one of QEMU's comma lists. */
static void add_name(struct buf *b, const char *path)
{
	for (const char *s = path; *s; s++) {
		if (*s == ',')
			buf_addc(b, ',');
		buf_addc(b, *s);
	}
}

static void add_file(struct strv *a, const char *option, const char *prefix, const char *path)
{
	_cleanup_buf_ struct buf b = {0};

	buf_adds(&b, prefix);
	add_name(&b, path);
	strv_add(a, option);
	strv_add(a, b.s);
}

/* The plugin sees the guest from outside: its time and results stay the same to the digit. */
static void add_profile(const struct vm *vm, struct strv *a)
{
	_cleanup_free_ char *plugin = vm->q->profile_path ? profile_plugin() : NULL;
	_cleanup_buf_ struct buf b = {0};

	if (!plugin)
		return;
	add_name(&b, plugin);
	buf_adds(&b, ",out=");
	add_name(&b, vm->q->profile_path);
	strv_addv(a, ARGV("-plugin", b.s));
}

/* The words that make the machine, for us and for who reproduces a case: accel and cpu as they stand there. */
static void machine_words(const struct machine *m, bool icount, const char *accel, const char *cpu, struct strv *a)
{
	strv_addv(a, ARGV("-no-user-config", "-nodefaults", "-display", "none", "-no-reboot", "-machine", "pc",
			  "-accel", accel));
	if (icount) {
		strv_add(a, "-icount");
		strv_addf(a, "shift=%d,sleep=off", options(m)->shift);
		strv_addv(a, ARGV("-smp", "1", "-cpu", cpu, "-rtc", "base=" RTC_BASE ",clock=vm"));
	} else {
		strv_addv(a, ARGV("-cpu", cpu, "-smp"));
		strv_addf(a, "%d", m->cpus);
	}
	strv_add(a, "-m");
	strv_addf(a, "%dM", options(m)->memory_mb);
}

static char *kernel_arguments(const struct machine *m, bool icount)
{
	const char *append = options(m)->append;

	return xasprintf("%s%s%s%s", KERNEL_ARGS, icount ? " norandmaps" : "", append ? " " : "", append ? append : "");
}

static void command_line(const struct vm *vm, struct strv *a)
{
	/* the plugin's counters are plain: CPUs that are counted take turns */
	const char *accel = vm->kvm ? "kvm" : vm->icount || vm->q->profile_path ? ICOUNT_ACCEL : "tcg";
	_cleanup_free_ char *arguments = kernel_arguments(vm->m, vm->icount);

	strv_add(a, program(vm->m));
	machine_words(vm->m, vm->icount, accel, vm->kvm ? "host" : EMULATED_CPU, a);
	strv_addv(a, ARGV("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"));
	add_profile(vm, a);
	add_file(a, "-chardev", "file,id=console,path=", vm->console);
	add_file(a, "-chardev", "file,id=results,path=", vm->results);
	strv_addv(a, ARGV("-serial", "chardev:console", "-serial", "chardev:results", "-kernel", vm->q->image,
			  "-initrd", vm->initrd, "-append", arguments));
}

/* ---- while it runs ---- */

/* Takes in what the console says; only a few bytes back are searched again, for words cut by the reads. */
static void read_console(struct vm *vm)
{
	size_t from = vm->seen.len > 64 ? vm->seen.len - 64 : 0;
	char tmp[16384];
	ssize_t n;

	if (vm->console_fd < 0)
		vm->console_fd = open(vm->console, O_RDONLY | O_CLOEXEC);
	if (vm->console_fd < 0)
		return;
	while (vm->seen.len < OUTPUT_MAX && (n = read(vm->console_fd, tmp, sizeof(tmp))) > 0)
		buf_add(&vm->seen, tmp, n);
	if (vm->seen.len == from)
		return;
	if (!vm->started_at && memmem(vm->seen.s + from, vm->seen.len - from, MARK_START, strlen(MARK_START)))
		vm->started_at = mono_usec();
	if (!vm->panic_at && memmem(vm->seen.s + from, vm->seen.len - from, "Kernel panic", 12))
		vm->panic_at = mono_usec();
}

static bool vm_tick(void *arg)
{
	struct vm *vm = arg;
	usec_t now;

	read_console(vm);
	now = mono_usec();
	if (vm->kvm && !vm->seen.len && (now - vm->start) / 1e6 > KVM_SILENT_S)
		return true;
	if (vm->panic_at)
		return (now - vm->panic_at) / 1e6 > PANIC_GRACE_S;
	return (now - vm->start) / 1e6 > (vm->started_at ? vm->total_s : vm->boot_s);
}

/* ---- the verdict ---- */

/* A guest that neither ended by itself nor told why. */
static int verdict_hang(struct vm *vm, struct boot_result *ret)
{
	if (!vm->seen.len)
		return boot_verdict(ret, RUN_BOOT_FAILED, "no boot: the kernel printed nothing in %g s", vm->boot_s);
	if (!vm->started_at)
		return boot_verdict(ret, RUN_BOOT_FAILED, "hang while booting: the script did not start within %g s",
				    vm->boot_s);
	return boot_verdict(ret, RUN_TIMEOUT, "the guest hangs: no end %g s after its start", vm->total_s);
}

static int verdict_died(struct vm *vm, int status, struct boot_result *ret)
{
	_cleanup_buf_ struct buf log = {0};
	_cleanup_free_ char *line = NULL;

	(void)fs_read(vm->log, 1u << 20, &log);
	line = last_line(buf_str(&log));
	if (status == 128 + 25) /* SIGXFSZ */
		return boot_verdict(ret, vm->started_at ? RUN_CRASHED : RUN_BOOT_FAILED,
				    "the guest wrote more than %u MiB", OUTPUT_MAX >> 20);
	if (status == 128 + 9 || status == 128 + 15)
		return boot_verdict(ret, vm->started_at ? RUN_CRASHED : RUN_BOOT_FAILED,
				    "the guest died: QEMU was killed from outside by signal %d", status - 128);
	if (status > 128)
		return boot_verdict(ret, vm->started_at ? RUN_CRASHED : RUN_BOOT_FAILED,
				    "the guest died: QEMU got signal %d%s%s", status - 128, *line ? ": " : "", line);
	if (strstr(line, "kernel"))
		return boot_verdict(ret, RUN_BOOT_FAILED, "no boot: QEMU refused the image: %s", line);
	return boot_verdict(ret, RUN_INFRA, "QEMU ended with status %d: %s", status, line);
}

static int verdict_reset(struct vm *vm, struct boot_result *ret)
{
	_cleanup_free_ char *dir = xasprintf("%s/result", vm->q->out_dir), *why = NULL;
	_cleanup_buf_ struct buf stream = {0};
	struct result_end end = {0};
	int r;

	if (!vm->seen.len)
		return boot_verdict(ret, RUN_BOOT_FAILED, "no boot: the guest ended without a word");
	if (!vm->started_at)
		return boot_verdict(ret, RUN_BOOT_FAILED, "the guest was reset while booting");
	(void)fs_read(vm->results, OUTPUT_MAX + 1, &stream);
	r = result_unpack(stream.s, stream.len, dir, &end);
	if (r == -ENODATA && memmem(vm->seen.s, vm->seen.len, "kperfbot: no port", 17))
		return boot_verdict(ret, RUN_BOOT_FAILED, "the kernel has no second serial line for the results");
	if (r == -ENODATA)
		return boot_verdict(ret, RUN_CRASHED, "the guest was reset before the script's end (%s)", err_msg());
	if (r == -EBADMSG)
		return boot_verdict(ret, RUN_CRASHED, "%s", err_msg());
	if (r < 0)
		return boot_verdict(ret, RUN_INFRA, "%s", err_msg());
	if (end.no_script) /* the guest says so, and a guest says what it likes: no word of it is our trouble */
		return boot_verdict(ret, RUN_CRASHED, "the guest found no script");
	ret->exit_status = end.exit_status;
	if (end.timed_out)
		return boot_verdict(ret, RUN_TIMEOUT, "the script took longer than %g s", vm->q->script_timeout_s);
	if (end.cut)
		return boot_verdict(ret, RUN_CRASHED,
				    "the script left more files than can be taken (256 files, 32 MiB)");
	ret->verdict = RUN_OK;
	return 0;
}

static int judge(struct vm *vm, enum child_end end, int status, struct boot_result *ret)
{
	_cleanup_free_ char *failure = console_failure(buf_str(&vm->seen), vm->seen.len);
	int64_t room = fs_free_bytes(vm->q->out_dir);

	if (end == CHILD_CANCELLED)
		return boot_verdict(ret, RUN_INFRA, "the boot was stopped");
	if (room >= 0 && room < 1 << 20)
		return boot_verdict(ret, RUN_INFRA, "no room left in '%s'", vm->q->out_dir);
	if (failure)
		return boot_verdict(ret, vm->started_at ? RUN_CRASHED : RUN_BOOT_FAILED, "%s", failure);
	if (end == CHILD_DEADLINE)
		return verdict_hang(vm, ret);
	return status ? verdict_died(vm, status, ret) : verdict_reset(vm, ret);
}

static int vm_run(struct vm *vm, struct boot_result *ret)
{
	_cleanup_strv_ struct strv argv = {0};
	struct proc_spec s = {.out_path = vm->log, .env_clear = true, .limit_fsize = OUTPUT_MAX};
	struct child_watch w = {vm->q->cancel, vm_tick, vm};
	enum child_end end;
	int r, status;
	pid_t pid;

	command_line(vm, &argv);
	s.argv = (const char *const *)argv.v;
	vm->start = mono_usec();
	r = proc_start(&s, &pid);
	if (r < 0)
		return r;
	end = child_wait(pid, &w, &status);
	read_console(vm);
	r = judge(vm, end, status, ret);
	ret->console_tail = console_tail(buf_str(&vm->seen), vm->seen.len, 30);
	ret->boot_seconds = vm->started_at ? (vm->started_at - vm->start) / 1e6 : NAN;
	if (fs_exists(vm->console))
		(void)zstd_pack_file(vm->console);
	return r;
}

static int boot_by(const struct boot_request *q, bool icount, bool kvm, struct boot_result *ret)
{
	struct vm vm = {.q = q, .m = q->machine, .o = options(q->machine), .icount = icount, .kvm = kvm, .lock = -1,
			.console_fd = -1};
	int r = vm_prepare(&vm);

	if (r == 0)
		r = vm_run(&vm, ret);
	vm_release(&vm);
	return r;
}

/* Where KVM starts a guest but no kernel speaks in it, emulation tells whether that is the kernel's fault. */
static int qemu_boot(const struct boot_request *q, struct boot_result *ret)
{
	bool kvm = have_kvm() && !q->profile_path; /* only emulation can count */
	int r = boot_by(q, false, kvm, ret);

	if (r < 0 || !kvm || ret->verdict != RUN_BOOT_FAILED || (ret->console_tail && *ret->console_tail))
		return r;
	boot_result_release(ret);
	*ret = (struct boot_result){0};
	r = boot_by(q, false, false, ret);
	if (r == 0 && ret->console_tail && *ret->console_tail)
		mark_kvm();
	return r;
}

static int icount_boot(const struct boot_request *q, struct boot_result *ret) { return boot_by(q, true, false, ret); }

static double icount_ns_per_insn(const struct machine *m) { return 1 << options(m)->shift; }

/* ---- the script of a case ---- */

static void set(struct buf *b, const char *name, const char *value)
{
	buf_addf(b, "%s=", name);
	buf_add_shell(b, value);
	buf_addc(b, '\n');
}

/* run_vm in the script puts $accel and $cpu in. */
static void script(const struct machine *m, bool icount, struct machine_script *ret)
{
	_cleanup_free_ char *arguments = kernel_arguments(m, icount);
	_cleanup_strv_ struct strv a = {0};
	_cleanup_buf_ struct buf words = {0};

	machine_words(m, icount, icount ? ICOUNT_ACCEL : "$accel", icount ? EMULATED_CPU : "$cpu", &a);
	for (size_t i = 0; i < a.n; i++)
		buf_addf(&words, "%s%s", i ? " " : "", a.v[i]);
	ret->how = "vm";
	ret->packages = "qemu-system-x86 busybox-static cpio";
	if (!icount)
		buf_adds(&ret->comments, "# KPB_ACCEL=kvm or tcg says how QEMU runs it; without, KVM where there is "
					 "/dev/kvm.\n");
	buf_adds(&ret->comments, "# KPB_QEMU=PROGRAM takes another QEMU than the robot's.\n");
	set(&ret->variables, "qemu", program(m));
	buf_adds(&ret->variables, "qemu=${KPB_QEMU:-$qemu}\n");
	buf_adds(&ret->variables, "machine_programs=\"$qemu busybox cpio ldd find tar base64 timeout\"\n");
	set(&ret->variables, "qemu_arguments", buf_str(&words));
	set(&ret->variables, "kernel_arguments", arguments);
}

static void qemu_script(const struct machine *m, struct machine_script *ret) { script(m, false, ret); }
static void icount_script(const struct machine *m, struct machine_script *ret) { script(m, true, ret); }

const struct machine_ops machine_qemu = {
	.name = "qemu",
	.help = "virtual machine in QEMU, with KVM where /dev/kvm works, else emulated",
	.measured_on = "virtual machine (QEMU)",
	.flags = MACHINE_BOOTS | MACHINE_NEEDS_ROOT | MACHINE_BUILTIN,
	.options = qemu_options,
	.options_size = sizeof(struct qemu),
	.check = qemu_check,
	.boot = qemu_boot,
	.describe = qemu_describe,
	.script = qemu_script,
	.profile_check = qemu_profile_check,
};

const struct machine_ops machine_qemu_icount = {
	.name = "qemu-icount",
	.help = "emulated machine that counts instructions: the same kernel gives the same numbers to the digit",
	.measured_on = "deterministic emulator (QEMU TCG with -icount): the numbers count instructions of guest code, "
		       "not time on hardware; caches, real contention and cycles are not in them",
	.flags = MACHINE_BOOTS | MACHINE_NEEDS_ROOT | MACHINE_DETERMINISTIC | MACHINE_BUILTIN,
	.options = icount_options,
	.options_size = sizeof(struct qemu),
	.check = icount_check,
	.boot = icount_boot,
	.describe = icount_describe,
	.ns_per_insn = icount_ns_per_insn,
	.script = icount_script,
	.profile_check = qemu_profile_check,
};
