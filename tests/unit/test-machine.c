/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Machines without a boot: the result unpacker on hostile streams, the cpio writer, the reading of consoles, the root
 * image's cache and the local driver. */
#include "kernels/box.h"
#include "kernels/cpio.h"
#include "kernels/machine-internal.h"
#include "kernels/result.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

#include <signal.h>
#include <sys/stat.h>

static char *tmp;

static void le(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, v >> 8 * i);
}

static void frame(struct buf *b, char type, const void *data, size_t n)
{
	buf_addc(b, type);
	le(b, n, 4);
	le(b, result_crc32(data, n), 4);
	buf_add(b, data, n);
}

static void tar_entry(struct buf *tar, const char *name, char type, const char *data, size_t n, const char *size_text)
{
	static const char zero[512];
	char h[512] = {0};
	unsigned sum = 8 * ' ';

	memcpy(h, name, strnlen(name, 100));
	memcpy(h + 100, "0000644", 7);
	snprintf(h + 124, 12, "%011zo", n);
	if (size_text)
		memcpy(h + 124, size_text, strnlen(size_text, 12));
	h[156] = type;
	memcpy(h + 257, "ustar\00000", 8);
	for (int i = 0; i < 512; i++)
		sum += i >= 148 && i < 156 ? 0 : (uint8_t)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	buf_add(tar, h, 512);
	buf_add(tar, data, n);
	buf_add(tar, zero, -n & 511);
}

/* A whole stream around an archive; end of archive and last frame included. */
static void stream(struct buf *out, struct buf *tar, uint32_t status, uint32_t flags)
{
	static const char zero[1024];
	struct buf e = {0};

	buf_add(tar, zero, 1024);
	buf_adds(out, "KPBRES1\n");
	for (size_t off = 0; off < tar->len; off += 16384)
		frame(out, 'D', tar->s + off, MIN(tar->len - off, (size_t)16384));
	le(&e, status, 4);
	le(&e, flags, 4);
	le(&e, tar->len, 8);
	frame(out, 'E', e.s, e.len);
	buf_release(&e);
}

static int unpack(const struct buf *s, struct result_end *ret)
{
	_cleanup_free_ char *dir = xasprintf("%s/u", tmp);

	(void)fs_rm_rf(dir);
	return result_unpack(s->s, s->len, dir, ret);
}

static int unpack_one(const char *name, char type, const char *size_text)
{
	_cleanup_buf_ struct buf tar = {0}, s = {0};
	struct result_end end;

	tar_entry(&tar, name, type, "data", 4, size_text);
	stream(&s, &tar, 0, 0);
	return unpack(&s, &end);
}

static void test_unpack_good(void)
{
	_cleanup_buf_ struct buf tar = {0}, s = {0}, got = {0};
	_cleanup_free_ char *path = xasprintf("%s/u/a/b.txt", tmp);
	struct result_end end = {0};
	size_t full;

	tar_entry(&tar, "empty", '0', "", 0, NULL);
	tar_entry(&tar, "a/b.txt", '0', "hello", 5, NULL);
	stream(&s, &tar, 99, 1);
	is_int(unpack(&s, &end), 0, "a good stream unpacks");
	is_int(end.exit_status, 99, "exit status comes over");
	ok(end.timed_out && !end.cut && end.files == 2, "flags and number of files");
	is_int(fs_read(path, 0, &got), 0, "the file is there");
	is_str(buf_str(&got), "hello", "with its content");
	full = s.len;
	for (s.len = 0; s.len < full; s.len++) {
		int r = unpack(&s, &end);

		if (r != -ENODATA) {
			ok(false, "cut after %zu bytes gives %d", s.len, r);
			return;
		}
	}
	ok(true, "a stream cut anywhere is cut, not damaged (%zu places)", full);
	s.len = full;
	s.s[200] ^= 1;
	is_int(unpack(&s, &end), -EBADMSG, "a flipped bit is found");
}

static void test_unpack_hostile(void)
{
	static const struct { const char *name, *size; char type; } bad[] = {
		{"/etc/passwd", NULL, '0'}, {"../x", NULL, '0'}, {"a/../../x", NULL, '0'}, {"a//b", NULL, '0'},
		{"./x", NULL, '0'}, {"a/", NULL, '0'}, {"a\nb", NULL, '0'}, {"a;b", NULL, '0'},
		{"-rf", NULL, '0'}, {"a/-x", NULL, '0'}, {"x\033[2J", NULL, '0'}, {"..", NULL, '0'},
		{"link", NULL, '2'}, {"hard", NULL, '1'}, {"dev", NULL, '3'}, {"fifo", NULL, '6'}, {"dir", NULL, '5'},
		{"old", NULL, 0}, {"pax", NULL, 'x'}, {"long", NULL, 'L'},
		{"big", "77777777777", '0'}, {"neg", "-0000000001", '0'}, {"text", "1234567x", '0'},
		{"space", " 0000000004", '0'},
	};
	char name[101];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_free_ char *safe = term_safe(bad[i].name);

		is_int(unpack_one(bad[i].name, bad[i].type, bad[i].size), -EBADMSG, "'%s' type %c is refused", safe,
		       bad[i].type ? bad[i].type : '-');
	}
	is_int(unpack_one("", '0', NULL), 0, "an empty name is the archive's end");
	memset(name, 'n', 100);
	name[100] = 0;
	is_int(unpack_one(name, '0', NULL), 0, "a name of 100 characters is taken");
	{
		_cleanup_free_ char *out = xasprintf("%s/x", tmp);

		ok(!fs_exists(out), "nothing was written beside the folder");
	}
}

static void test_unpack_caps(void)
{
	_cleanup_buf_ struct buf many = {0}, twice = {0}, both = {0}, s = {0}, t = {0}, u = {0}, v = {0}, w = {0};
	struct result_end end;
	char e[16] = {0};

	for (int i = 0; i <= RESULT_MAX_FILES; i++) {
		char name[20];

		snprintf(name, sizeof(name), "f%d", i);
		tar_entry(&many, name, '0', "", 0, NULL);
	}
	stream(&s, &many, 0, 0);
	is_int(unpack(&s, &end), -EBADMSG, "too many files are refused");
	tar_entry(&twice, "x", '0', "1", 1, NULL);
	tar_entry(&twice, "x", '0', "2", 1, NULL);
	stream(&t, &twice, 0, 0);
	is_int(unpack(&t, &end), -EBADMSG, "the same name twice is refused");
	tar_entry(&both, "x", '0', "1", 1, NULL);
	tar_entry(&both, "x/y", '0', "2", 1, NULL);
	stream(&u, &both, 0, 0);
	is_int(unpack(&u, &end), -EBADMSG, "file and folder of one name are refused");
	buf_adds(&v, "KPBRES1\n");
	buf_addc(&v, 'D');
	le(&v, 0xfffffff0u, 4);
	le(&v, 0, 4);
	is_int(unpack(&v, &end), -EBADMSG, "a huge frame is refused before it is read");
	buf_adds(&w, "KPBRES1\n");
	frame(&w, 'E', e, 16);
	is_int(unpack(&w, &end), -EBADMSG, "an archive without an end is refused");
}

static void test_cpio(void)
{
	_cleanup_free_ char *file = xasprintf("%s/a.cpio", tmp), *dir = xasprintf("%s/c", tmp), *cmd = NULL;
	_cleanup_(proc_result_release) struct proc_result r = {0};
	struct cpio c = {0}, d = {0};

	for (struct cpio *p = &c; p; p = p == &c ? &d : NULL) {
		cpio_dir(p, "d");
		cpio_file(p, "d/f", 0755, "abc", 3);
		cpio_link(p, "l", "d/f");
		cpio_end(p);
	}
	ok(c.b.len == d.b.len && !memcmp(c.b.s, d.b.s, c.b.len), "equal content gives equal bytes");
	is_int(c.b.len % 512, 0, "the archive ends on a border");
	is_int(fs_write_atomic(file, c.b.s, c.b.len), 0, "written");
	cmd = xasprintf("mkdir %s && cd %s && cpio -im --quiet <%s && cat l && stat -c %%a:%%Y d/f", dir, dir, file);
	is_int(proc_run(&(struct proc_spec){.argv = ARGV("sh", "-c", cmd)}, &r), 0, "cpio runs");
	is_str(buf_str(&r.out), "abc755:0\n", "cpio(1) reads it: link, content, mode, time");
	buf_release(&c.b);
	buf_release(&d.b);
}

static void test_console(void)
{
	static const struct { const char *text, *want; } cases[] = {
		{"[    0.1] ok\r\n", NULL},
		{"[    0.5] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100\r\n",
		 "kernel panic: Attempted to kill init! exitcode=0x00000100"},
		{"BUG: kernel NULL pointer dereference, address: 0000000000000008\nOops: 0000 [#1]\n"
		 "Kernel panic - not syncing: Fatal exception\n",
		 "oops: kernel NULL pointer dereference, address: 0000000000000008 (kernel panic: Fatal exception)"},
		{"[ 3.0] general protection fault, probably for non-canonical address 0x1: 0000 [#1]\n",
		 "oops: general protection fault, probably for non-canonical address 0x1: 0000 [#1]"},
		{"watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]\n",
		 "hang: watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [x:1]"},
		{"traps: x[1] general protection fault ip:1 sp:2 error:0 in x\nWARNING: CPU: 0 PID: 1 at x.c:1\n",
		 NULL},
		{"", NULL},
	};
	static const char dirty[] = "one\r\ntwo\033[2J\0x\nthree\n\n";
	_cleanup_free_ char *tail = console_tail(dirty, sizeof(dirty) - 1, 2), *none = console_tail("", 0, 5);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *got = console_failure(cases[i].text, strlen(cases[i].text));

		if (cases[i].want)
			is_str(got, cases[i].want, "console: %s", cases[i].want);
		else
			ok(!got, "console %zu: no failure", i);
	}
	is_str(tail, "two\\x1b[2J\\x01x\nthree\n", "the last two lines, safe for a terminal");
	is_str(none, "", "an empty console has an empty tail");
}

/* Any machine of a driver, with one setting of its own. */
static struct machine machine_of(const char *driver, const char *key, const char *value)
{
	struct settings part[MACHINE_PARTS];
	struct machine m;

	is_int(machine_init(&m, "x", driver), 0, "a machine of driver %s", driver);
	machine_settings(&m, part);
	for (size_t i = 0; key && part[i].table; i++)
		if (setting_find(part[i].table, key))
			is_int(setting_set(setting_find(part[i].table, key), part[i].base, value), 0, "%s: %s", key,
			       value);
	return m;
}

static bool trusted;

static struct boot_result local(const char *script, double timeout, const char *dir, volatile const int *cancel)
{
	_cleanup_machine_ struct machine m = machine_of("local", NULL, NULL);
	_cleanup_free_ char *out = xasprintf("%s/%s", tmp, dir);
	struct boot_request q = {.machine = &m, .image = "/etc/passwd", .script = script, .script_timeout_s = timeout,
				 .env = ARGV("EXTRA=e x"), .perturb = 7, .out_dir = out, .trusted = trusted,
				 .cancel = cancel};
	struct boot_result r = {0};

	is_int(machine_boot(&q, &r), 0, "local boot of '%.30s'", script);
	return r;
}

static void test_local(void)
{
	/* a time nobody else sleeps: the test looks among all processes */
	_cleanup_free_ char *sleeper = xasprintf("sleep 987.%d", getpid());
	_cleanup_free_ char *script = xasprintf("setsid %s & echo $! >pid; %s", sleeper, sleeper);
	_cleanup_free_ char *file = xasprintf("%s/l1/result/f", tmp), *boot = xasprintf("%s/l1/.boot", tmp);
	_cleanup_free_ char *pidfile = xasprintf("%s/l2/result/pid", tmp);
	_cleanup_buf_ struct buf got = {0}, pid = {0};
	_cleanup_(proc_result_release) struct proc_result p = {0};
	static volatile const int stop = 1;
	struct boot_result r =
		local("echo \"$KPB_ARTEFACT $KPB_PERTURB $EXTRA\" >$RESULT_DIR/f; echo last; exit 3", 10, "l1", NULL);

	is_int(r.verdict, RUN_OK, "the script ran");
	is_int(r.exit_status, 3, "its exit status");
	is_str(r.console_tail, "last\n", "what it said last");
	(void)fs_read(file, 0, &got);
	is_str(buf_str(&got), trusted ? "/etc/passwd 7 e x\n" : "/tmp/kperfbot/artefact 7 e x\n",
	       "artefact, replicate and environment");
	ok(r.isolated == !trusted, "whether it was isolated is told");
	ok(!fs_exists(boot), "the boot folder is gone");
	boot_result_release(&r);
	r = local(script, 0.5, "l2", NULL);
	is_int(r.verdict, RUN_TIMEOUT, "a long script is ended");
	(void)fs_read(pidfile, 0, &pid);
	ok(atoi(buf_str(&pid)) > 0, "it had started a process of another session");
	for (int i = 0; i < 100 && p.status != 1; i++) { /* on a busy machine a killed process takes a moment to die */
		proc_result_release(&p);
		if (proc_run(&(struct proc_spec){.argv = ARGV("pgrep", "-fx", sleeper)}, &p) < 0)
			break;
		if (p.status != 1)
			usleep(100000);
	}
	ok(p.status == 1 || getuid() != 0, "which is gone too");
	is_str(r.cause, "the script took longer than 0.5 s", "with this cause");
	boot_result_release(&r);
	r = local("sleep 987", 100, "l3", &stop);
	is_int(r.verdict, RUN_INFRA, "a stopped run is nobody's fault");
	boot_result_release(&r);
	for (size_t i = 0; i < 3; i++) {
		_cleanup_free_ char *dir = xasprintf("%s/l%zu", tmp, i + 1);

		fs_rm_rf(dir);
	}
}

/* What a program leaves may be meant for the one who reads it. */
static void test_local_hostile(void)
{
	_cleanup_free_ char *result = xasprintf("%s/h1/result", tmp), *keep = xasprintf("%s/keep", result),
			    *set = xasprintf("%s/set", result);
	_cleanup_strv_ struct strv names = {0};
	struct stat st;
	struct boot_result r = local("cd $RESULT_DIR; echo 1 >keep; ln -s /etc/passwd link; ln -s keep near; "
				     "mkfifo pipe; mkdir -p a/b; echo 2 >a/b/c; ln -s .. a/up; "
				     "ln -s a/up/../../../etc/hostname cause; mkdir script.log; "
				     "cp keep set; chmod 6777 set; chmod 0 a", 20, "h1", NULL);

	is_int(r.verdict, RUN_OK, "a script that leaves traps");
	is_int(fs_list(result, &names), 0, "its result folder");
	ok(names.n == 3 && !strv_has(&names, "link") && !strv_has(&names, "pipe"),
	   "has files only: no pipe, no link, no folder");
	ok(fs_size(keep) == 2 && stat(set, &st) == 0 && (st.st_mode & 07777) == 0755, "and no mode but 0755");
	boot_result_release(&r);
	r = local("truncate -s 5G $RESULT_DIR/big", 20, "h2", NULL);
	is_int(r.verdict, RUN_CRASHED, "a file of 5 GiB is not taken");
	ok(r.cause && strstr(r.cause, "'big' is larger than 32 MiB"), "and named: %s", r.cause ? r.cause : "");
	boot_result_release(&r);
	r = local("kill -9 -1; exit 5", 20, "h3", NULL);
	is_int(r.exit_status, 5, "it kills nobody but itself");
	boot_result_release(&r);
}

/* What the rest of the program relies on, of each row of the list. */
static void test_drivers(void)
{
	_cleanup_machine_ struct machine m = machine_of("local", NULL, NULL);

	for (const struct machine_ops *const *o = machine_drivers(); *o; o++) {
		const char *name = (*o)->name;

		ok(machine_driver(name) == *o, "driver %s: no other one of its name", name);
		ok((*o)->help && (*o)->measured_on && (*o)->check && (*o)->boot && (*o)->describe, "%s: is complete",
		   name);
		ok(!((*o)->flags & MACHINE_NEEDS_ROOT) || ((*o)->flags & MACHINE_BOOTS),
		   "%s: a root image is for a kernel", name);
	}
	ok(!machine_driver("nosuch") && !machine_driver(NULL), "no driver of another name");
	ok(machine_driver(machine_default(false))->flags & MACHINE_BOOTS, "a kernel's own machine boots it");
	ok(!(machine_driver(machine_default(true))->flags & MACHINE_BOOTS), "a program's does not");
	is_int(machine_profile_check(&m), -ENOTSUP, "counts no instructions");
	ok(strstr(err_msg(), "only the drivers qemu and qemu-icount"), "the error names who does: %s", err_msg());
}

/* What is stored of any driver's machine makes the same one again, and what an older program stored makes one, too. */
static void test_machine_stored(void)
{
	for (const struct machine_ops *const *o = machine_drivers(); *o; o++) {
		_cleanup_machine_ struct machine m = machine_of((*o)->name, "cpus", "1"), again = {0};
		_cleanup_free_ char *stored = machine_to_json(&m);
		struct settings a[MACHINE_PARTS], b[MACHINE_PARTS];

		is_int(machine_from_json("x", (*o)->name, stored, &again), 0, "%s: %s", (*o)->name, stored);
		machine_settings(&m, a);
		machine_settings(&again, b);
		for (size_t i = 0; a[i].table; i++)
			for (const struct setting *s = a[i].table; s->name; s++)
				ok(setting_equal(s, a[i].base, b[i].base), "%s: %s comes back", (*o)->name, s->name);
	}
}

static void test_machine_old(void)
{
	static const char old[] = "{\"cpus\":2,\"memory_mb\":130,\"icount_shift\":5,\"append\":\"quiet\",\"gone\":1}";
	_cleanup_machine_ struct machine m = {0}, none = {0};
	_cleanup_(machine_script_release) struct machine_script s = {0};

	is_int(machine_from_json("x", "qemu-icount", old, &m), 0, "settings of an older program");
	is_int(m.cpus, 2, "what all machines have");
	ok(machine_ns_per_insn(&m) == 32, "and what one driver has");
	machine_script(&m, &s);
	is_str(s.how, "vm", "it can be told in a script");
	ok(strstr(buf_str(&s.variables), " -m 130M'") && strstr(buf_str(&s.variables), " quiet'"), "with its numbers");
	is_int(machine_from_json("x", "local", NULL, &none), 0, "none at all are the defaults");
	ok(machine_ns_per_insn(&none) == 0, "no instructions are counted there");
	is_int(machine_from_json("x", "local", "[1", &none), -EBADMSG, "no JSON");
	is_int(machine_from_json("x", "nope", "{}", &none), -EINVAL, "no driver");
	ok(strstr(err_msg(), " qemu-icount"), "all drivers are named: %s", err_msg());
}

/* The invented runs of a seed are always the same ones: their mean and spread, and how many fail, are what was asked
 * for. */
static void test_null(void)
{
	_cleanup_machine_ struct machine m = machine_of("null", "failure_rate", "0.3");
	_cleanup_free_ char *out = xasprintf("%s/n", tmp), *path = xasprintf("%s/n/result/command", tmp);
	struct boot_request q = {.machine = &m, .script = "", .out_dir = out};
	int failed = 0;
	double sum = 0, squares = 0;
	static volatile const int stop = 1;
	struct boot_result r = {0};

	for (q.perturb = 0; q.perturb < 100; q.perturb++) {
		_cleanup_buf_ struct buf text = {0};
		double d = NAN;

		if (machine_boot(&q, &r) < 0 || fs_read(path, 100, &text) < 0 ||
		    sscanf(buf_str(&text), "value: %lf", &d) != 1)
			break;
		failed += r.verdict == RUN_CRASHED;
		sum += d - 1000;
		squares += (d - 1000) * (d - 1000);
		boot_result_release(&r);
	}
	is_int(q.perturb, 100, "runs without a machine");
	is_near(sum / 100, 0, 3, "their mean is the value");
	is_near(sqrt(squares / 100), 10, 2.5, "they scatter by one per cent");
	ok(failed > 15 && failed < 45, "%d of 100 crash, of a rate of 0.3", failed);
	q.cancel = &stop;
	machine_boot(&q, &r);
	is_int(r.verdict, RUN_INFRA, "one that is stopped is nobody's fault");
	boot_result_release(&r);
}

static void test_machine_errors(void)
{
	_cleanup_machine_ struct machine m = machine_of("qemu-icount", "qemu", "no-such-qemu"),
					 two = machine_of("qemu-icount", "cpus", "2");
	_cleanup_free_ char *out = xasprintf("%s/e", tmp), *old = xasprintf("%s/e/1/.boot/lock", tmp);
	_cleanup_free_ char *dir = NULL, *used = xasprintf("%s/e/2", tmp), *kept = xasprintf("%s/.boot", used);
	struct boot_request q = {
		.machine = &m, .image = "/none", .root_image = "/etc/passwd", .script = "", .out_dir = out};
	struct boot_result r = {0};
	int lock = -1;

	machine_boot(&q, &r);
	is_int(r.verdict, RUN_INFRA, "a missing image is infra");
	is_str(r.cause, "kernel image '/none' is missing", "and named");
	boot_result_release(&r);
	q.image = "/etc/passwd";
	machine_boot(&q, &r);
	is_int(r.verdict, RUN_INFRA, "missing QEMU is infra");
	ok(strstr(r.cause, "apt-get install"), "and says what to do: %s", r.cause);
	boot_result_release(&r);
	q.machine = &(struct machine){.name = (char *)"x", .driver = (char *)"nope"};
	is_int(machine_boot(&q, &r), -ENOENT, "an unknown driver is an error");
	ok(machine_driver("qemu-icount")->check(&two) == -EINVAL, "qemu-icount refuses two CPUs");
	is_int(fs_mkdir_parent(old) | fs_write_atomic(old, "", 0), 0, "a folder of a dead worker");
	is_int(boot_folder_make(used, &dir, &lock), 0, "and one of a living worker");
	machine_clean_stale(tmp);
	ok(!fs_exists(old) && fs_exists(kept), "only the dead worker's folder is removed");
	if (lock >= 0)
		close(lock);
}

/* A program of our own, and one by its path. */
static void test_root_own(const char *cache)
{
	_cleanup_(root_image_release) struct root_image own = {0}, path = {0};
	_cleanup_free_ char *built = xasprintf("%s/build/kpb-udp-sink", fs_data_dir());
	_cleanup_buf_ struct buf b = {0};

	if (fs_exists(built)) {
		is_int(root_image_make(cache, ARGV("kpb-udp-sink"), &own), 0, "with a program of our own");
		ok(fs_read(own.path, 0, &b) == 0 && memmem(b.s, b.len, "usr/bin/kpb-udp-sink", 21),
		   "where PATH finds it");
	}
	is_int(root_image_make(cache, ARGV("/usr/bin/env"), &path), 0, "with a program by its path");
}

static void test_root(void)
{
	_cleanup_free_ char *cache = xasprintf("%s/cache", tmp);
	_cleanup_(root_image_release) struct root_image a = {0}, b = {0}, c = {0};

	if (root_image_make(cache, NULL, &a) < 0) {
		ok(true, "root image # SKIP %s", err_msg());
		return;
	}
	ok(!a.cached && a.bytes == fs_size(a.path), "built, %" PRId64 " bytes in %.2f s", a.bytes, a.seconds);
	is_int(root_image_make(cache, NULL, &b), 0, "asked again");
	ok(a.files && strstr(a.files, "init\t") && strstr(a.files, "usr/bin/busybox\t") && streq(a.files, b.files),
	   "lists its files, also from the cache");
	ok(b.cached && streq(a.path, b.path), "comes out of the cache");
	is_int(root_image_make(cache, ARGV("no-such-program"), &c), -ENOENT, "a missing program is named");
	ok(strstr(err_msg(), "no-such-program"), "%s", err_msg());
	is_int(root_image_make(cache, ARGV("time"), &c), 0, "with GNU time");
	ok(c.bytes > a.bytes && strcmp(c.hash, a.hash), "another image");
	test_root_own(cache);
}

int main(void)
{
	char template[] = "/tmp/kpb-machine-XXXXXX";

	tmp = mkdtemp(template);
	test_unpack_good();
	test_unpack_hostile();
	test_unpack_caps();
	test_cpio();
	test_console();
	trusted = true;
	test_local();
	trusted = false;
	if (box_check() == 0) {
		test_local();
		test_local_hostile();
	} else {
		ok(true, "in a box # SKIP %s", err_msg());
	}
	test_drivers();
	test_machine_stored();
	test_machine_old();
	test_null();
	test_machine_errors();
	test_root();
	(void)fs_rm_rf(tmp);
	return tap_done();
}
