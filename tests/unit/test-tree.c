/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mirrors and graphs on real repositories, served by "git daemon" on the loopback. */
#include "kernels/patches.h"
#include "kernels/tree.h"
#include "kernels/tree-internal.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static char *top, *work, *mirror, *url;
static pid_t daemon_pid;
static int daemon_port;

/* Runs a shell script in the work repository; its first output line is the result. */
static char *sh(const char *fmt, ...)
{
	_cleanup_free_ char *script = NULL, *full = NULL;
	_cleanup_buf_ struct buf out = {0};
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&script, fmt, ap) < 0)
		abort();
	va_end(ap);
	full = xasprintf("export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A "
			 "GIT_COMMITTER_EMAIL=a@example.org GIT_CONFIG_GLOBAL=/dev/null\nset -e\n%s", script);
	if (proc_ok(ARGV("sh", "-c", full), work, &out) < 0)
		printf("# %s\n", err_msg());
	return xstrndup(buf_str(&out), strcspn(buf_str(&out), "\n"));
}

static int free_port(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), port = 0;
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0)
		port = ntohs(a.sin_port);
	if (fd >= 0)
		close(fd);
	return port;
}

static void serve(void)
{
	_cleanup_free_ char *port = xasprintf("--port=%d", daemon_port), *base = xasprintf("--base-path=%s", top);

	proc_start(&(struct proc_spec){.argv = ARGV("git", "daemon", "--listen=127.0.0.1", port, base, "--export-all",
						    "--reuseaddr", top), .out_path = "/dev/null"}, &daemon_pid);
	for (int i = 0; i < 200; i++) {
		struct tree_refs r = {0};
		int e = tree_remote_heads(url, NULL, NULL, 5, &r);

		tree_refs_release(&r);
		if (e == 0)
			return;
		usleep(50000);
	}
}

static void unserve(void)
{
	kill(-daemon_pid, SIGKILL);
	waitpid(daemon_pid, NULL, 0);
	for (int i = 0; i < 500 && kill(-daemon_pid, 0) == 0; i++) /* git only started the daemon that listens */
		usleep(10000);
}

static int fetch_all(struct tree_refs *r)
{
	int e = tree_remote_heads(url, NULL, NULL, 20, r);

	return e < 0 ? e : tree_fetch(url, NULL, mirror, r, 60);
}

static bool has(const char *oid)
{
	struct commit_info c = {0};
	bool yes = tree_commit(mirror, oid, &c) == 0;

	commit_info_release(&c);
	return yes;
}

static void test_urls(void)
{
	static const char *const bad[] = {"", "-u/tmp/x", "--upload-pack=touch /tmp/x", "ext::sh -c id", "ext::id",
					  "fd::3",
					  "file://-x", "ssh://-oProxyCommand=id/x", "gopher://x/y", "http://x/\n",
					  "name"};
	static const char *const good[] = {"https://example.org/net.git", "/srv/git/x.git", "git@example.org:x.git",
					   "./x"};
	struct tree_refs r = {0};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		is_int(tree_remote_heads(bad[i], NULL, NULL, 5, &r), -EINVAL, "refuses '%s'",
		       i == 9 ? "a newline" : bad[i]);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		is_int(tree_url_check(good[i]), 0, "takes '%s'", good[i]);
}

/* rev in the mirror is wanted, or gives the error. */
static void resolves(const char *rev, const char *wanted, int error)
{
	_cleanup_free_ char *got = NULL;
	int r = tree_resolve(mirror, rev, &got);

	is_int(r, error, "'%.50s'", rev);
	if (!error)
		is_str(got, wanted, "is %.12s", wanted);
}

static void test_names(void)
{
	_cleanup_free_ char *old = sh("git checkout -q main; git commit -q --allow-empty -m old; git rev-parse HEAD"),
			    *new = sh("git commit -q --allow-empty -m new; git rev-parse HEAD"),
			    *short_id = xstrndup(new, 12), *rev = NULL;
	struct tree_refs r = {0};

	free(sh("git tag %s %s; git tag %s %s; git tag v1 %s; git tag -a -m note v2 %s; git tag main %s; "
		"git update-ref refs/heads/refs/heads/main %s; git tag same main",
		short_id, old, new, old, old, old, old, old));
	is_int(fetch_all(&r), 0, "fetches tags that are named like commits");
	tree_refs_release(&r);
	rev = sh("git --git-dir=%s for-each-ref --format='%%(refname)' refs/tags | xargs", mirror);
	ok(strstr(rev, "refs/tags/v1") && strstr(rev, "refs/tags/v2") && !strstr(rev, short_id), "keeps others: %s",
	   rev);
	resolves(new, new, 0);
	resolves(short_id, new, 0);
	resolves("v1", old, 0);
	resolves("v2", old, 0);
	resolves("v2~0", old, 0);
	resolves("refs/heads/main", new, 0);
	resolves("refs/heads/main~1", old, 0);
	resolves("refs/tags/main", old, 0);
	resolves("main", NULL, -ENOTUNIQ);
	ok(strstr(err_msg(), old) && strstr(err_msg(), new), "names both: %s", err_msg());
	resolves("main~1", NULL, -ENOTUNIQ);
	resolves("ffffffffffffffffffffffffffffffffffffffff", NULL, -ENOENT);
	free(sh("git --git-dir=%s update-ref refs/tags/%s %s; git --git-dir=%s update-ref refs/heads/%s %s", mirror,
		new, old, mirror, short_id, old));
	resolves(new, new, 0);
	resolves(short_id, NULL, -ENOTUNIQ);
	free(sh("git --git-dir=%s update-ref refs/heads/%s %s", mirror, short_id, new));
	resolves(short_id, new, 0);
	free(sh("git tag -d main; git update-ref -d refs/heads/refs/heads/main; "
		"git --git-dir=%s update-ref -d refs/tags/main; git --git-dir=%s update-ref -d refs/heads/%s",
		mirror, mirror, short_id));
}

static void test_fetch(void)
{
	_cleanup_free_ char *one = sh("echo 1 >f; git add f; git commit -qm one; git rev-parse HEAD"), *two = NULL,
			    *side = NULL, *lock = xasprintf("%s/config.lock", mirror),
			    *reflock = xasprintf("%s/refs/heads/main.lock", mirror),
			    *pack = xasprintf("%s/objects/pack/tmp_pack_x", mirror), *got = NULL;
	struct tree_refs r = {0};

	is_int(fetch_all(&r), 0, "first fetch");
	ok(r.n == 1 && streq(r.v[0].branch, "main") && streq(r.v[0].oid, one), "the listing names branch and head");
	ok(has(one), "the commit arrived");
	tree_refs_release(&r);

	two = sh("git checkout -q --orphan new; echo 2 >f; git add f; git commit -qm two; git branch -M new main; "
		 "git branch side/deep; git rev-parse HEAD");
	fs_write_atomic(lock, "", 0);
	fs_write_atomic(reflock, "", 0);
	fs_write_atomic(pack, "half", 4);
	is_int(fetch_all(&r), 0, "fetches over a force push, with stale locks of a killed git in the mirror");
	tree_refs_release(&r);
	ok(!fs_exists(lock) && !fs_exists(pack), "what the killed git left is gone");
	free(sh("git --git-dir=%s reflog expire --expire=now --all; git --git-dir=%s gc -q --prune=now", mirror,
		mirror));
	ok(has(one) && has(two), "the head pushed away survives git gc");
	is_int(tree_resolve(mirror, "main", &got), 0, "resolves a branch");
	is_str(got, two, "to its new head");

	side = sh(
		"git checkout -q side/deep; echo 3 >g; git add g; git commit -qm three; git checkout -q main; git rev-parse side/deep");
	is_int(fetch_all(&r), 0, "fetches a branch with a slash");
	tree_refs_release(&r);
	free(sh("git branch -qD side/deep; git branch side"));
	is_int(fetch_all(&r), 0, "'side' may follow the deleted 'side/deep'");
	tree_refs_release(&r);
	ok(has(side), "the deleted branch's commit is still there");
	is_int(tree_remote_heads(url, NULL, (const char *const[]){"si*", NULL}, 20, &r), 0, "lists by glob");
	ok(r.n == 1 && streq(r.v[0].branch, "side"), "only what matches");
	tree_refs_release(&r);
}

/* git is killed at many points of a first fetch; each next fetch must succeed. */
static void test_killed(void)
{
	_cleanup_free_ char *dir = xasprintf("%s/killed.git", top), *head = sh("git rev-parse main");
	struct tree_refs r = {0};
	int good = 0, rounds = 12;

	tree_remote_heads(url, NULL, (const char *const[]){"main", NULL}, 20, &r);
	for (int i = 0; i < rounds; i++) {
		pid_t pid;

		fs_rm_rf(dir);
		pid = fork();
		if (!pid)
			_exit(tree_fetch(url, NULL, dir, &r, 60) != 0);
		usleep(3000 * i);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (tree_fetch(url, NULL, dir, &r, 60) < 0)
			printf("# round %d: %s\n", i, err_msg());
		else
			good += tree_is_ancestor(dir, head, head) == 1;
	}
	is_int(good, rounds, "killed at %d points of a first fetch, the next one mends it", rounds);
	tree_refs_release(&r);
}

static void test_vanished(void)
{
	struct tree_refs r = {0};
	int e;

	unserve();
	e = tree_remote_heads(url, NULL, NULL, 20, &r);
	ok(e < 0 && strstr(err_msg(), url) && strstr(err_msg(), "efused"), "a vanished remote: %s", err_msg());
	serve();
	is_int(tree_remote_heads(url, NULL, NULL, 20, &r), 0, "and it comes back");
	tree_refs_release(&r);
}

/* A server that accepts and then says nothing. */
static void test_silent(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	_cleanup_free_ char *silent = NULL;
	struct tree_refs r = {0};

	if (bind(fd, (struct sockaddr *)&a, n) < 0 || listen(fd, 4) < 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &n) < 0)
		abort();
	silent = xasprintf("git://127.0.0.1:%d/x", ntohs(a.sin_port));
	is_int(tree_remote_heads(silent, NULL, NULL, 0.5, &r), -ETIMEDOUT, "a silent server ends at the timeout");
	close(fd);
}

static uint32_t node_of(const struct tree_range *r, const char *oid)
{
	for (uint32_t i = 0; i < r->dag.n; i++)
		if (streq(r->oid[i], oid))
			return i;
	return UINT32_MAX;
}

static void test_dag(void)
{
	_cleanup_free_ char
		*base = sh("git checkout -q -b dag main; git rev-parse HEAD"),
		*a = sh("echo a >a; git add a; git commit -qm a; git rev-parse HEAD"),
		*b = sh("git checkout -q -b b %s^0; echo b >b; git add b; git commit -qm b; git rev-parse HEAD", base),
		*c = sh("git checkout -q -b c %s^0; echo c >c; git add c; git commit -qm c; git rev-parse HEAD", base),
		*octo = sh("git checkout -q dag; git merge -q -m octopus b c >/dev/null; git rev-parse HEAD"),
		*empty = sh("git commit -q --allow-empty -m empty; git rev-parse HEAD"),
		*dir = xasprintf("%s/.git", work);
	struct tree_range r = {0};
	uint32_t m;

	is_int(tree_range(dir, base, empty, 100, &r), 0, "range with an octopus");
	is_int(r.dag.n, 6, "base, three branches, the merge, one more");
	is_str(r.oid[0], base, "node 0 is the base");
	is_str(r.oid[r.dag.n - 1], empty, "the last node is the head");
	m = node_of(&r, octo);
	is_int(m < r.dag.n ? r.dag.first[m + 1] - r.dag.first[m] : 0, 3, "the merge has three parents");
	is_int(r.dag.parent[r.dag.first[m]], node_of(&r, a), "the first one is git's first parent");
	ok(!r.why[m] && r.why[5] == DROPPED_EMPTY, "an empty commit cannot matter, a merge always can");
	tree_range_release(&r);

	is_int(tree_range(dir, a, octo, 100, &r), 0, "range from inside");
	m = node_of(&r, octo);
	is_int(r.dag.n, 5, "b and c lie outside of a's history, where they fork is a node");
	is_int(r.n_forks, 1, "one fork point");
	is_str(r.oid[1], base, "is node 1");
	ok(r.dag.first[1] == r.dag.first[2] && !r.why[1], "it has no parents");
	is_int(r.dag.parent[r.dag.first[node_of(&r, b)]], 1, "it is the parent of what forks there");
	is_int(r.dag.parent[r.dag.first[node_of(&r, octo)]], 0, "the base that of what follows it");
	tree_range_release(&r);
	is_int(tree_range(dir, base, empty, 3, &r), -E2BIG, "no more than was asked for");
	is_int(tree_range(dir, base, base, 3, &r), 0, "an empty range");
	is_int(r.dag.n, 1, "is the base alone");
	tree_range_release(&r);
	is_int(tree_is_ancestor(dir, c, octo), 1, "c is an ancestor of the merge");
	is_int(tree_is_ancestor(dir, octo, c), 0, "and not the other way round");
	{
		char *const oid[] = {base, a, b, octo, empty, (char *)"0123456789012345678901234567890123456789",
				     (char *)"x"};
		int64_t pos[ARRAY_SIZE(oid)];

		is_int(tree_line(dir, empty, oid, ARRAY_SIZE(oid), 100, pos), 4, "four stand on the first-parent line");
		ok(pos[4] == 0 && pos[3] == 1 && pos[1] == 2 && pos[0] == 3, "so many steps behind the head");
		ok(pos[2] == -1 && pos[5] == -1 && pos[6] == -1, "a merged branch and what git does not know do not");
		is_int(tree_line(dir, empty, oid, ARRAY_SIZE(oid), 3, pos), 3, "no more steps than asked for");
		is_int(tree_line(dir, octo, oid, ARRAY_SIZE(oid), 100, pos), 3, "from another head");
		ok(pos[4] == -1 && pos[3] == 0, "what comes after it is not behind it");
	}
	is_int(tree_resolve(dir, "no-such-rev", &(char *){NULL}), -ENOENT, "an unknown revision");
}

/* ---- shallow remotes ---- */

static char *shallow_mirror, *shallow_url;

static void shallow_fetch(const char *what)
{
	struct tree_refs r = {0};

	is_int(tree_remote_heads(shallow_url, NULL, (const char *const[]){"deep", NULL}, 20, &r), 0, "lists %s", what);
	is_int(tree_fetch(shallow_url, NULL, shallow_mirror, &r, 60), 0, "fetches %s", what);
	tree_refs_release(&r);
}

static size_t n_ends(void)
{
	_cleanup_strv_ struct strv ends = {0};

	return tree_shallow(shallow_mirror, &ends) < 0 ? SIZE_MAX : ends.n;
}

/* served/shallow is a clone of so many commits of "deep". */
static void shallow_remote(int depth)
{
	free(sh("rm -rf ../shallow; git clone -q --bare --single-branch --branch deep --depth %d \"file://$PWD\" "
		"../shallow", depth));
}

static int in_range(const char *a, const char *b)
{
	struct tree_range r = {0};
	int e = tree_range(shallow_mirror, a, b, 100, &r), n = e < 0 ? e : (int)r.dag.n;

	tree_range_release(&r);
	return n;
}

/* A patch series on a shallow history is found again. */
static void test_patched(const char *base)
{
	_cleanup_free_ char *path = xasprintf("%s/one.patch", top);
	static const char mail[] = "From: Ann <ann@example.org>\nSubject: [PATCH] new file\n\n---\n"
				   "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n";
	struct patches s = {0};
	struct patched p = {0}, again = {0};

	fs_write_atomic(path, mail, strlen(mail));
	is_int(patches_read(path, &s), 0, "a patch");
	is_int(patches_apply(shallow_mirror, base, &s, true, &p), 0, "on a shallow history");
	is_int(patches_apply(shallow_mirror, base, &s, true, &again), 0, "and again");
	ok(!p.known && again.known && again.patches == 1 && streq(p.oid, again.oid), "is found");
	patched_release(&p);
	patched_release(&again);
	patches_release(&s);
}

static void test_shallow(void)
{
	_cleanup_free_ char *head = NULL, *up4 = NULL, *up8 = NULL, *words = NULL, *base = NULL, *end = NULL;

	free(sh("git checkout -q -b deep main; for i in 1 2 3 4 5 6 7 8 9; do echo $i >deep; git add deep; "
		"git commit -qm deep$i; done"));
	head = sh("git rev-parse deep");
	up4 = sh("git rev-parse deep~4");
	up8 = sh("git rev-parse deep~8");
	shallow_mirror = xasprintf("%s/shallow-mirror.git", top);
	shallow_url = xasprintf("git://127.0.0.1:%d/shallow", daemon_port);
	shallow_remote(6);
	shallow_fetch("a shallow remote");
	is_int(n_ends(), 1, "its history ends at one commit");
	words = tree_shallow_words(shallow_mirror);
	ok(words && strstr(words, "shallow: its history ends at"), "which is named: %s", words ? words : "(nothing)");
	is_int(in_range(up4, head), 5, "what is there is a range");
	is_int(tree_is_ancestor(shallow_mirror, up4, head), 1, "an ancestor");
	is_int(tree_is_ancestor(shallow_mirror, head, up4), 0, "no ancestor");
	is_int(tree_merge_base(shallow_mirror, up4, head, &base), 0, "a merge base");
	is_str(base, up4, "which is right");
	is_int(in_range(up8, head), -ENOENT, "what lies below is not there");
	is_int(in_range(up4, head) < 0 ? 0 : tree_range(shallow_mirror, up4, head, 2, &(struct tree_range){0}), -E2BIG,
	       "no more than was asked for");

	test_patched(head);
	end = sh("head -n 1 %s/shallow", shallow_mirror);
	test_patched(end);

	shallow_remote(2);
	shallow_fetch("a remote that became shallower");
	is_int(in_range(up4, head), 5, "nothing is lost");
	free(sh("git --git-dir=%s gc -q --prune=now", shallow_mirror));
	is_int(in_range(up4, head), 5, "not even by git gc");

	free(sh("cp %s/shallow %s/shallow.before; git --git-dir=%s fetch -q --depth=2147483647 --update-shallow %s "
		"'+refs/heads/deep:refs/heads/deep'", shallow_mirror, shallow_mirror, shallow_mirror, shallow_url));
	is_int(in_range(up4, head), 3, "a fetch that was killed when git had shortened the history");
	shallow_fetch("the same remote");
	is_int(in_range(up4, head), 5, "is made good by the next fetch");

	free(sh("echo 10 >deep; git commit -qam deep10"));
	free(head);
	head = sh("git rev-parse deep");
	shallow_remote(12);
	shallow_fetch("a remote that became deeper");
	is_int(in_range(up8, head), 10, "what it has more is there");
	free(sh("git -C ../shallow fetch -q --unshallow origin '+refs/heads/deep:refs/heads/deep'"));
	shallow_fetch("a remote that is whole now");
	is_int(n_ends(), 0, "the mirror is whole, too");
	ok(!tree_shallow_words(shallow_mirror), "and nothing is said");
	is_int(in_range(up8, head), 10, "by libgit2");
	shallow_remote(2);
	shallow_fetch("a remote that is shallow again");
	is_int(n_ends(), 0, "which takes nothing away");
}

static int ask_range(void *ends, char out[TREE_ANSWER] _unused_)
{
	const char **end = ends;

	return in_range(end[0], end[1]);
}

/* A side branch whose beginning lies below the end of the history; a mirror that an earlier fetch left with holes. */
static void test_holes(void)
{
	_cleanup_free_ char *base = NULL, *head = NULL;
	struct tree_refs refs = {0};
	struct tree_range r = {0};
	uint32_t m;

	free(sh("git checkout -q -b side-low deep~9; for i in 1 2 3; do echo $i >low; git add low; "
		"git commit -qm low$i; done; git checkout -q deep; git merge -q -m 'merge low' side-low; "
		"git commit -q --allow-empty -m top"));
	head = sh("git rev-parse deep");
	base = sh("git rev-parse deep~2");
	fs_rm_rf(shallow_mirror);
	shallow_remote(4);
	shallow_fetch("a shallow history with a merge");
	is_int(n_ends(), 2, "it ends at two commits");
	is_int(tree_range(shallow_mirror, base, head, 100, &r), 0, "the range has a side branch without a beginning");
	is_int(r.dag.n, 5, "of two commits, the merge, one more and the base");
	m = 0;
	for (uint32_t i = 1; i < r.dag.n; i++)
		m += r.dag.first[i] == r.dag.first[i + 1];
	is_int(m, 1, "whose first one has no parent: not even the base");
	tree_range_release(&r);

	free(sh("rm -f %s/shallow", shallow_mirror));
	/* in a child: libgit2 1.5 loses some bytes of a walk that fails */
	is_int(tree_ask(ask_range, (const char *[]){base, head}, 20, (char[TREE_ANSWER]){0}), -ENOENT,
	       "a mirror with a hole");
	is_int(tree_remote_heads(shallow_url, NULL, NULL, 20, &refs), 0, "has a remote");
	is_int(tree_repair(shallow_url, NULL, shallow_mirror, &refs, 60), 1, "which repairs it");
	is_int(in_range(base, head), 5, "and the range is there");
	is_int(tree_repair(shallow_url, NULL, shallow_mirror, &refs, 60), 0, "nothing is missing any more");
	free(sh("rm -f %s/objects/pack/*", shallow_mirror));
	is_int(tree_repair(shallow_url, NULL, shallow_mirror, &refs, 60), 1, "objects that went away come back");
	is_int(in_range(base, head), 5, "all of them");
	tree_refs_release(&refs);
	free(shallow_mirror);
	free(shallow_url);
}

/* Fork points at several places of the base's past, one of them on a branch of its own; and a history with no other
 * root. */
static void test_forks(void)
{
	_cleanup_free_ char
		*old = sh("git checkout -q -b forks main; git commit -q --allow-empty -m old; git rev-parse HEAD"),
		*beside = sh("git checkout -q -b beside; git commit -q --allow-empty -m beside; git rev-parse HEAD"),
		*later = sh("git checkout -q forks; git commit -q --allow-empty -m later; git rev-parse HEAD"),
		*base = sh("git merge -q -m joined beside; git rev-parse HEAD"),
		*one = sh("git checkout -q -b one %s; git commit -q --allow-empty -m one; git rev-parse HEAD", old),
		*two = sh("git checkout -q -b two %s; git commit -q --allow-empty -m two; git rev-parse HEAD", beside),
		*three = sh("git checkout -q -b three %s; git commit -q --allow-empty -m three; git rev-parse HEAD",
			    later),
		*root = sh("git checkout -q --orphan alone; git commit -q --allow-empty -m root; git rev-parse HEAD"),
		*head = sh("git checkout -q forks; git merge -q -m all one two three >/dev/null; "
			   "git merge -q --allow-unrelated-histories -m alone alone; git rev-parse HEAD"),
		*dir = xasprintf("%s/.git", work);
	struct tree_range r = {0};
	uint32_t x;

	is_int(tree_range(dir, base, head, 100, &r), 0, "range with three fork points and a second root");
	is_int(r.n_forks, 3, "three");
	is_int(r.dag.n, 1 + 3 + 6, "before four commits and two merges");
	is_str(r.oid[1], old, "the oldest comes first");
	ok(r.dag.first[2] == r.dag.first[1], "without a parent");
	for (uint32_t k = 2; k <= 3; k++)
		ok(r.dag.first[k + 1] - r.dag.first[k] == 1 && r.dag.parent[r.dag.first[k]] == 1,
		   "which the next one descends from");
	ok(node_of(&r, beside) <= 3 && node_of(&r, later) <= 3, "these are beside and later");
	is_int(r.dag.parent[r.dag.first[node_of(&r, one)]], 1, "one forks at the first");
	is_int(r.dag.parent[r.dag.first[node_of(&r, two)]], node_of(&r, beside), "two on the branch beside it");
	is_int(r.dag.parent[r.dag.first[node_of(&r, three)]], node_of(&r, later), "three later");
	x = node_of(&r, root);
	ok(x > 3 && x < r.dag.n && r.dag.first[x + 1] == r.dag.first[x], "the second root has no parent");
	tree_range_release(&r);
	is_int(tree_range(dir, base, head, 6, &r), 0, "fork points do not count for the limit");
	tree_range_release(&r);
	free(sh("git checkout -q main"));
}

static void test_paths(void)
{
	static const struct { const char *path; enum dropped why; } cases[] = {
		{"Documentation/networking/scaling.rst", DROPPED_DOCS}, {"MAINTAINERS", DROPPED_DOCS},
		{"net/unix/README.rst", DROPPED_DOCS}, {"arch/arm64/mm/fault.c", DROPPED_OTHER_ARCH},
		{"arch/riscv/Kconfig", DROPPED_OTHER_ARCH}, {"tools/testing/selftests/net/x.c", DROPPED_TOOLS},
		{"arch/x86/mm/fault.c", DROPPED_NOT}, {"arch/Kconfig", DROPPED_NOT},
		{"Documentation/Kconfig", DROPPED_NOT},
		{"tools/objtool/check.c", DROPPED_NOT}, {"tools/lib/subcmd/help.c", DROPPED_NOT},
		{"tools/include/linux/types.h", DROPPED_NOT},
		{"include/linux/skbuff.h", DROPPED_NOT}, {"net/Makefile", DROPPED_NOT},
		{"scripts/spelling.txt", DROPPED_NOT},
		{"arch/x86/lib/x86-opcode-map.txt", DROPPED_NOT}, {"rust/kernel/README.md", DROPPED_NOT},
		{"lib/Kconfig.debug", DROPPED_NOT},
	};
	_cleanup_free_ char *
		dir = xasprintf("%s/.git", work),
	       *head = NULL, *mixed = NULL,
	       *base = sh(
		       "git checkout -q --orphan kernel; git rm -qrf .; mkdir -p arch/x86 init; for f in Kbuild Kconfig "
		       "MAINTAINERS arch/x86/Makefile init/main.c; do echo x >$f; done; git add .; git commit -qm k; "
		       "git rev-parse HEAD");
	struct tree_range r = {0};
	struct strv paths = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		free(sh("mkdir -p $(dirname %s); echo y >>%s; git add .; git commit -qm %zu", cases[i].path,
			cases[i].path, i));
	mixed = sh("echo z >>MAINTAINERS; echo z >>net/Makefile; git commit -qam mixed; git rev-parse HEAD");
	head = sh("mv arch/arm64/mm/fault.c init/; git add -A; git commit -qm moved; git rev-parse HEAD");
	is_int(tree_range(dir, base, head, 100, &r), 0, "range over a kernel-looking tree");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		is_str(dropped_word(r.why[i + 1]), dropped_word(cases[i].why), "%s: %s", cases[i].path,
		       dropped_text(r.why[i + 1]));
	ok(!r.why[r.dag.n - 2], "one path that matters is enough");
	ok(!r.why[r.dag.n - 1], "a file that moves out of another architecture matters");
	tree_range_release(&r);
	is_int(tree_changed_paths(dir, mixed, &paths), 0, "changed paths");
	ok(paths.n == 2 && streq(paths.v[0], "MAINTAINERS") && streq(paths.v[1], "net/Makefile"), "are both named");
	strv_release(&paths);
}

static void test_files(void)
{
	_cleanup_free_ char *dir = xasprintf("%s/.git", work), *head = sh("git rev-parse kernel");
	_cleanup_buf_ struct buf b = {0};
	struct commit_info c = {0};

	is_int(tree_file_at(dir, head, "arch/x86/Makefile", &b), 0, "reads a file at a commit");
	is_str(buf_str(&b), "x\n", "its content");
	is_int(tree_file_at(dir, head, "no/such", &b), -ENOENT, "a file that is not there");
	is_int(tree_file_at(dir, head, "arch", &b), -ENOENT, "a folder is no file");
	is_int(tree_commit(dir, head, &c), 0, "reads a commit");
	ok(streq(c.subject, "moved") && streq(c.author_mail, "a@example.org") && c.n_parents == 1, "its fields");
	commit_info_release(&c);
}

/* A commit whose texts are in another encoding, or in none. */
static void encoded(const char *header, const char *name, const char *want)
{
	_cleanup_free_ char *dir = xasprintf("%s/.git", work), *oid = NULL;
	struct commit_info c = {0};

	oid = sh("printf 'commit refs/heads/enc\\nauthor %s <e@example.org> 1700000000 +0000\\ncommitter %s "
		 "<e@example.org> 1700000000 +0000\\n%sdata <<END\\nspeed up %s\\n\\nxx\\nEND\\n' | "
		 "git fast-import --quiet --force; git rev-parse enc", name, name, header, name);
	is_int(tree_commit(dir, oid, &c), 0, "a commit with '%s'", header);
	is_str(c.author_name, want, "its author");
	is_str(c.committer_name, want, "its committer");
	ok(c.subject && strstr(c.subject, want), "its subject: %s", c.subject ? c.subject : "none");
	ok(c.message && strstr(c.message, want), "its message");
	commit_info_release(&c);
}

static void test_encodings(void)
{
	encoded("encoding ISO-8859-1\\n", "J\\366rg", "J\xc3\xb6rg");
	encoded("encoding latin-1\\n", "J\\366rg", "J\xc3\xb6rg");
	encoded("encoding KOI8-R\\n", "\\353\\303", "\xd0\x9a\xd1\x86");
	encoded("encoding EUC-JP\\n", "\\306\\374", "\xe6\x97\xa5");
	encoded("", "J\\303\\266rg", "J\xc3\xb6rg");
	encoded("", "J\\366rg", "J\xc3\xb6rg");
	encoded("encoding UTF-8\\n", "J\\366rg", "J\xc3\xb6rg");
	encoded("", "J\\303\\266rg \\377", "J\xc3\xb6rg \xef\xbf\xbd");
	encoded("encoding ISO-2022-CN-EXT\\n", "Ann", "Ann");
	encoded("encoding ../../x//IGNORE\\n", "J\\366rg", "J\xc3\xb6rg");
	encoded("encoding EUC-JP\\n", "a\\377b", "a\xef\xbf\xbd" "b");
}

/* The start of an id that two commits have, and one that a commit shares with other objects only. */
static void ambiguous(const char *dir, int digits)
{
	_cleanup_free_ char
		*start = sh("git --git-dir=%s rev-list main | cut -c1-%d | sort | uniq -d | head -n 1", dir, digits),
		*older = xasprintf("%s~1", start), *got = NULL,
		*one = sh("export GIT_DIR=%s; git rev-list main | sort >commits; git cat-file --batch-check "
			  "--batch-all-objects | grep -v ' commit ' | cut -c1-%d | sort -u >others; cut -c1-%d "
			  "commits | sort | uniq -u | comm -12 - others | head -n 1",
			  dir, digits, digits),
		*whole = sh("grep ^%s commits", *one ? one : "x");

	ok(*start, "%d digits that two commits begin with: %s", digits, start);
	is_int(tree_resolve(dir, start, &got), -ENOTUNIQ, "are refused");
	ok(strstr(err_msg(), " is ambiguous, 2 commits begin so:"), "with both names: %s", err_msg());
	is_int(tree_resolve(dir, older, &got), -ENOTUNIQ, "so is what is derived from them");
	if (!*one)
		return;
	is_int(tree_resolve(dir, one, &got), 0, "%s begins a commit and other objects", one);
	is_str(got, whole, "the commit is meant");
}

/* 10,000 commits by fast-import: every tenth on a side branch that is merged. */
static void test_long(void)
{
	_cleanup_free_ char *dir = xasprintf("%s/long.git", top), *base = NULL, *head = NULL;
	_cleanup_buf_ struct buf in = {0};
	_cleanup_(proc_result_release) struct proc_result res = {0};
	struct tree_range r = {0};
	int n = 10000, bad = 0;

	for (int i = 1; i <= n + 1; i++) {
		buf_addf(&in, "commit refs/heads/main\nmark :%d\ncommitter A <a@example.org> %d +0000\ndata 1\nx\n", i,
			 1000000 + i);
		if (i > 1)
			buf_addf(&in, "from :%d\n", i % 10 == 0 && i > 10 ? i - 3 : i - 1);
		if (i > 11 && i % 10 == 1)
			buf_addf(&in, "merge :%d\n", i - 2);
		buf_addf(&in, "M 644 inline d%d/f\ndata 5\n%05d\n", i % 100, i);
	}
	free(sh("git init -q --bare -b main %s", dir));
	proc_run(&(struct proc_spec){.argv = ARGV("git", "fast-import", "--quiet"), .cwd = dir, .input = in.s}, &res);
	is_int(res.status, 0, "made %d commits", n);
	tree_resolve(dir, "main", &head);
	base = sh("git --git-dir=%s rev-list --reverse main | head -1", dir);
	is_int(tree_range(dir, base, head, 20000, &r), 0, "range of %d commits", n);
	is_int(r.dag.n, n + 1, "all are there");
	is_str(r.oid[r.dag.n - 1], head, "the head is last");
	for (uint32_t i = 1; i < r.dag.n; i++)
		for (uint32_t e = r.dag.first[i]; e < r.dag.first[i + 1]; e++)
			bad += r.dag.parent[e] >= i;
	is_int(bad, 0, "parents come before children");
	tree_range_release(&r);
	ambiguous(dir, 6);
	ambiguous(dir, 4);
}

static int spin(void *arg, char out[TREE_ANSWER])
{
	volatile uint64_t n = 0;

	strcpy(out, "kept");
	while (arg)
		n++;
	return 7;
}

static int refuse_it(void *arg _unused_, char out[TREE_ANSWER] _unused_) { return err_set(-ENOENT, "there is none"); }

static volatile int stopped;
static void stop(int signal _unused_) { stopped = 1; }

static void test_ask(void)
{
	char out[TREE_ANSWER] = "";
	usec_t start = cpu_usec();
	int x;

	is_int(tree_ask(spin, NULL, 1, out), 7, "a question");
	is_str(out, "kept", "with its answer");
	is_int(tree_ask(refuse_it, NULL, 1, out), -ENOENT, "an error");
	is_str(err_msg(), "there is none", "with its message");
	is_int(tree_ask(spin, &x, 1, out), -EFBIG, "a question without end ends");
	ok(tree_fault(-EFBIG) && cpu_usec() - start < 60 * USEC_PER_SEC, "and is the history's fault");
	proc_cancel_on(&stopped);
	signal(SIGALRM, stop);
	alarm(1);
	is_int(tree_ask(spin, &x, 5, out), -ECANCELED, "a question that is no longer wanted is nobody's fault");
	proc_cancel_on(NULL);
}

int main(void)
{
	char tmp[] = "/tmp/kperfbot-tree-XXXXXX";

	setenv("LC_ALL", "C", 1);
	top = mkdtemp(tmp);
	work = xasprintf("%s/work", top);
	mirror = xasprintf("%s/mirror.git", top);
	fs_mkdir_p(work);
	free(sh("git init -q -b main ."));
	daemon_port = free_port();
	url = xasprintf("git://127.0.0.1:%d/work", daemon_port);
	serve();
	test_urls();
	test_fetch();
	test_names();
	test_killed();
	test_vanished();
	test_silent();
	test_dag();
	test_shallow();
	test_holes();
	test_forks();
	test_paths();
	test_files();
	test_encodings();
	test_long();
	unserve();
	fs_rm_rf(top);
	free(work);
	free(mirror);
	free(url);
	test_ask();
	return tap_done();
}
