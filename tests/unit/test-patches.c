/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patch series become the commits that "git am" makes of them, and hostile ones become nothing. */
#include "kernels/patches-series.h"
#include "kernels/patches.h"
#include "kernels/tree.h"
#include "lib/proc.h"
#include "tests/tap.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char *top, *work, *mirror, *base;

/* Runs a shell script in the work repository; its last output line is the result. */
static char *sh(const char *fmt, ...)
{
	_cleanup_free_ char *script = NULL, *full = NULL;
	_cleanup_buf_ struct buf out = {0};
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&script, fmt, ap) < 0)
		abort();
	va_end(ap);
	full = xasprintf(
		"export GIT_AUTHOR_NAME='Ann Äuthor' GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=kperfbot "
		"GIT_COMMITTER_EMAIL=kperfbot@localhost GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1\nset -e\n%s",
		script);
	if (proc_ok(ARGV("sh", "-c", full), work, &out) < 0)
		printf("# %s\n", err_msg());
	return last_line(buf_str(&out));
}

static char *path_of(const char *name) { return xasprintf("%s/%s", top, name); }

static void put(const char *name, const char *text)
{
	_cleanup_free_ char *path = path_of(name);

	fs_mkdir_parent(path);
	fs_write_atomic(path, text, strlen(text));
}

/* Reads and applies; "" and err_msg() where that fails. */
static char *apply(const char *name, struct patched *ret_or_null)
{
	_cleanup_free_ char *path = path_of(name);
	struct patches s = {0};
	struct patched p = {0};
	int r = patches_read(path, &s);

	if (r == 0)
		r = patches_apply(mirror, base, &s, true, &p);
	patches_release(&s);
	if (r < 0)
		return xstrdup("");
	if (ret_or_null)
		*ret_or_null = p;
	return p.oid;
}

static void mail(const char *name, const char *headers, const char *diff)
{
	_cleanup_free_ char *text = xasprintf("%s\n\nWhy.\n---\n%s", headers, diff);

	put(name, text);
}
#define FROM "From: Bob <bob@example.org>\nDate: Tue, 3 Feb 2026 10:00:00 +0100\n"
#define NEW_FILE(path) "diff --git a/" path " b/" path "\nnew file mode 100644\n--- /dev/null\n+++ b/" path "\n@@ -0,0 +1 @@\n+x\n"

/* Applied by git itself, in a checkout, with the same committer. */
static void test_same_as_git(void)
{
	static const char *const forms[] = {"s.mbox", "folder", "quilt", "quilt/series", "list"};
	_cleanup_free_ char *date = sh("git log -1 --format=%%ct"), *want = NULL, *hook = path_of("hooked"),
			    *names = NULL;
	struct patched p = {0};

	free(sh("git checkout -q -b topic\n"
		"for i in 1 2 3; do sed -i \"s/^line $((2 * i)).*/line $((2 * i)) of patch $i/\" f; echo $i >new$i; ln -sf f link$i; git add .\n"
		"GIT_AUTHOR_DATE=\"@$((1500000000 + i)) +0200\" git commit -q -m \"net: größer $i\" -m \"Body \\`id\\` of $i.\n\n[x] y\"; done\n"
		"git format-patch -q --cover-letter --stdout main..topic >../s.mbox; git format-patch -q --cover-letter -o ../folder main..topic\n"
		"git format-patch -q -o ../quilt/p main..topic; (cd ../quilt; echo '# quilt'; ls p/* | sed 's/$/ # x/') >../series; "
		"mv ../series ../quilt/series; (cd ..; ls folder/000[123]*) >../list; git checkout -q main"));
	/* git am stops at a cover letter */
	want = sh(
		"git checkout -q --detach main; GIT_COMMITTER_DATE='@%s +0000' git am -q ../folder/000[123]*; git rev-parse HEAD; "
		"git checkout -q main >&2; git rev-parse HEAD@{1}",
		date);
	ok(strlen(want) == 40 && !streq(want, base), "git am makes %s", want);
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		_cleanup_free_ char *oid = apply(forms[i], &p);

		is_str(oid, want, "%s: the same commit as git am", forms[i]);
		is_int(p.patches, 3, "three patches (%s)", *oid ? "" : err_msg());
		is_int(p.known, i >= 3, "made anew, or known from an equal one");
	}
	p.oid = apply("s.mbox", &p);
	ok(p.known, "the second time nothing is done");
	patched_release(&p);
	ok(!fs_exists(hook), "no hook and no user's configuration has run");
	free(sh("git --git-dir=%s reflog expire --expire=now --all; git --git-dir=%s gc -q --prune=now", mirror,
		mirror));
	is_int(tree_is_ancestor(mirror, base, want), 1, "it survives git gc");
	names = xasprintf("%s.patching", mirror);
	ok(!fs_exists(names), "nothing is left beside the mirror");
}

static void test_names(void)
{
	static const struct { const char *path, *name; } cases[] = {
		{"/x/changli.mbox", "changli"}, {"v2-0001-net.patch", "v2-0001-net"}, {"/x/rps/", "rps"},
		{"a/b/series", "b"},
		{"series", "series"}, {"-rf; id", "rf--id"}, {"...", "series"}, {"/x/.hidden", "hidden"},
		{"/x/\033[1m", "1m"},
		{"0123456789012345678901234567890123456789abc.mbox", "0123456789012345678901234567890123456789"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *name = fs_word(cases[i].path);

		is_str(name, cases[i].name, "the name of case %zu", i);
	}
}

/* Each is refused with words that help, and leaves neither a reference nor a folder. */
static void test_refused(void)
{
	static const struct { const char *file, *says; } cases[] = {
		{"conflict.patch", "does not apply on"}, {"up.patch", "invalid path"}, {"dotgit.patch", "invalid path"},
		{"dotgit2.patch", "invalid path"}, {"absolute.patch", "does not apply"},
		{"through.mbox", "beyond a symbolic link"}, {"nodiff.patch", "has no diff in it"},
		{"bare.patch", "has no author"}, {"noauthor.patch", "has no author"}, {"date.patch", "invalid date"},
		{"garbage", "neither a mail nor a list"}, {"empty", "is empty"}, {"cover.patch", "holds no patch"},
		{"outside", "in its own folder only"}, {"fifo", "is no plain file"},
		{"missing", "cannot read patch file"},
		{"emptydir", "has no *.patch"}, {"gz.mbox", "compressed"}, {"many.mbox", "more than 1000 mails"},
		{"nul.mbox", "NUL"}, {"base64nul.mbox", "NUL"}, {"big.mbox", "is larger than"},
	};
	_cleanup_free_ char *fifo = path_of("fifo"), *before = sh("git --git-dir=%s for-each-ref | sha1sum", mirror),
			    *after = NULL, *nul = path_of("nul.mbox"), *patching = xasprintf("%s.patching", mirror);
	_cleanup_buf_ struct buf many = {0};

	mail("conflict.patch", FROM "Subject: \033]0;owned\007 and \033[1mbold",
	     "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-gone\n+x\n line 2\n");
	mail("up.patch", FROM "Subject: x", NEW_FILE("../../x"));
	mail("dotgit.patch", FROM "Subject: x", NEW_FILE(".git/hooks/post-checkout"));
	mail("dotgit2.patch", FROM "Subject: x", NEW_FILE("sub/.GIT/config"));
	mail("absolute.patch", FROM "Subject: x", "--- a/f\n+++ /etc/passwd\n@@ -1,1 +1,1 @@\n-root\n+x\n");
	put("through.mbox", "From a Mon Sep 17 00:00:00 2001\n" FROM "Subject: [PATCH 1/2] link\n\n---\n"
	    "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n\n"
	    "From b Mon Sep 17 00:00:00 2001\n" FROM "Subject: [PATCH 2/2] through\n\n---\n" NEW_FILE("l/passwd"));
	mail("nodiff.patch", FROM "Subject: [PATCH 2/3] lost its diff", "");
	mail("cover.patch", FROM "Subject: [PATCH v2 00/15] a cover letter", "");
	put("bare.patch", NEW_FILE("n"));
	mail("noauthor.patch", "Subject: x", NEW_FILE("n"));
	mail("date.patch", "From: B <b@example.org>\nDate: yesterday\nSubject: x", NEW_FILE("n"));
	put("garbage", "\x7f" "ELF and so on\n");
	put("empty", "");
	put("outside", "../s.mbox\n");
	put("emptydir/README", "x");
	put("gz.mbox", "\x1f\x8b\x08");
	fs_write_atomic(nul, "From: a\0b", 9);
	put("base64nul.mbox", FROM
	    "Subject: x\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: base64\n\n"
	    "V2gAeQotLS0KZGlmZiAtLWdpdCBhL24gYi9uCm5ldyBmaWxlIG1vZGUgMTAwNjQ0Ci0tLSAvZGV2L251bGwKKysrIGIvbgpAQCAtMCwwICsxIEBACit4Cg==\n");
	for (int i = 0; i < 1001; i++)
		buf_adds(&many, "From a Mon Sep 17 00:00:00 2001\n\n");
	put("many.mbox", many.s);
	free(sh("truncate -s 65M ../big.mbox"));
	mkfifo(fifo, 0600);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *oid = apply(cases[i].file, NULL);

		ok(!*oid && strstr(err_msg(), cases[i].says), "%s: %s", cases[i].file, err_msg());
		ok(!strpbrk(err_msg(), "\033\007"), "and the message drives no terminal");
	}
	after = sh("git --git-dir=%s for-each-ref | sha1sum", mirror);
	is_str(after, before, "no reference has come of them");
	ok(!fs_exists(patching), "no folder is left");
}

/* Odd mails that are fine. */
static void test_accepted(void)
{
	_cleanup_free_ char *crlf = NULL, *answer = NULL, *one = NULL, *two = NULL, *subject = NULL;

	mail("hostile.patch", FROM "Subject: [PATCH] $(touch ../pwned) `id` \033[31m\" ' -m x", NEW_FILE("n"));
	one = apply("hostile.patch", NULL);
	ok(*one, "a hostile subject is text (%s)", *one ? "" : err_msg());
	subject = sh("git --git-dir=%s log -1 --format='%%an|%%ad|%%cn|%%s' --date=iso %s", mirror, one);
	ok(startswith(subject, "Bob|2026-02-03 10:00:00 +0100|kperfbot|$(touch ../pwned) `id`"),
	   "and is kept, as are author and date");
	put("crlf.patch",
	    "From: Bob <bob@example.org>\r\nSubject: x\r\n\r\nWhy.\r\n---\r\ndiff --git a/f b/f\r\n--- a/f\r\n+++ b/f\r\n"
	    "@@ -1,2 +1,2 @@\r\n-line 1\r\n+line one\r\n line 2\r\n");
	crlf = apply("crlf.patch", NULL);
	ok(*crlf, "CRLF from a mail reader, and no date (%s)", *crlf ? "" : err_msg());
	two = sh("git --git-dir=%s log -1 --format='%%at %%ct' %s", mirror, crlf);
	answer = sh("git log -1 --format='%%ct %%ct'");
	is_str(two, answer, "then its date is the base's");
	put("thread.mbox", "From a Mon Sep 17 00:00:00 2001\n" FROM "Subject: [PATCH 0/1] all\n\ntext\n\n"
	    "From b Mon Sep 17 00:00:00 2001\n" FROM "Subject: [PATCH 1/1] one\n\n---\n" NEW_FILE("n")
	    "\nFrom c Mon Sep 17 00:00:00 2001\n" FROM "Subject: RE: [PATCH 1/1] one\n\n> diff --git a/n b/n\nNice.\n");
	free(answer);
	answer = apply("thread.mbox", NULL);
	ok(*answer, "a thread: the cover letter and the answer are passed over (%s)", *answer ? "" : err_msg());
	free(two);
	two = sh("git --git-dir=%s rev-list --count %s..%s", mirror, base, answer);
	is_str(two, "1", "one commit came of it");
}

static void test_subjects(void)
{
	static const struct { const char *s; bool answer, numbered; unsigned number, total; double version; bool rfc,
			     resend; const char *rest; } cases[] = {
		{"[PATCH] a: b", 0, 0, 0, 0, 1, 0, 0, "a: b"}, {"a: b", 0, 0, 0, 0, 1, 0, 0, "a: b"},
		{"", 0, 0, 0, 0, 1, 0, 0, ""},
		{"[PATCH 1/3] a", 0, 1, 1, 3, 1, 0, 0, "a"}, {"[PATCH 0/3] a", 0, 1, 0, 3, 1, 0, 0, "a"},
		{"[PATCH v6,00/24] a", 0, 1, 0, 24, 6, 0, 0, "a"},
		{"[PATCH net-next v2 0/3] a", 0, 1, 0, 3, 2, 0, 0, "a"},
		{"[PATCH v2 net-next 03/15] a", 0, 1, 3, 15, 2, 0, 0, "a"},
		{"[RFC PATCH 1/2] a", 0, 1, 1, 2, 1, 1, 0, "a"}, {"[PATCH RFC v3 1/2] a", 0, 1, 1, 2, 3, 1, 0, "a"},
		{"[RFC v2 1/2] a", 0, 1, 1, 2, 2, 1, 0, "a"},
		{"[PATCH 1/3 v2] a", 0, 1, 1, 3, 2, 0, 0, "a"}, {"[PATCH 1/3v2] a", 0, 1, 1, 3, 2, 0, 0, "a"},
		{"[RESEND PATCH] a", 0, 0, 0, 0, 1, 0, 1, "a"},
		{"[PATCH v2 RESEND 2/2] a", 0, 1, 2, 2, 2, 0, 1, "a"}, {"[PATCHv2 1/2] a", 0, 1, 1, 2, 2, 0, 0, "a"},
		{"[PATCH-v3 1/2] a", 0, 1, 1, 2, 3, 0, 0, "a"},
		{"[patch 03/15] a", 0, 1, 3, 15, 1, 0, 0, "a"}, {"[PATCH V4] a", 0, 0, 0, 0, 4, 0, 0, "a"},
		{"[PATCH v2.1 2/3] a", 0, 1, 2, 3, 2.1, 0, 0, "a"},
		{"[v3,1/2] a", 0, 1, 1, 2, 3, 0, 0, "a"}, {"[PATCH 5.10 001/200] a", 0, 1, 1, 200, 1, 0, 0, "a"},
		{"[PATCH AUTOSEL 6.1 12/30] a", 0, 1, 12, 30, 1, 0, 0, "a"},
		{"[RFC][PATCH 2/3] a", 0, 1, 2, 3, 1, 1, 0, "a"},
		{"[PATCH][v2] a", 0, 0, 0, 0, 2, 0, 0, "a"}, {"[some-list] [PATCH v2 1/2] a", 0, 1, 1, 2, 2, 0, 0, "a"},
		{"[RFCv2 1/2] a", 0, 1, 1, 2, 2, 1, 0, "a"},
		{"[PATCH/RFC 1/2] a", 0, 1, 1, 2, 1, 1, 0, "a"}, {"Re: [PATCH 1/3] a", 1, 1, 1, 3, 1, 0, 0, "a"},
		{"RE: [PATCH] a", 1, 0, 0, 0, 1, 0, 0, "a"},
		{"Re[2]: [PATCH] a", 1, 0, 0, 0, 1, 0, 0, "a"}, {"AW: [PATCH] a", 1, 0, 0, 0, 1, 0, 0, "a"},
		{"re : a", 1, 0, 0, 0, 1, 0, 0, "a"},
		{"Re: Re: a", 1, 0, 0, 0, 1, 0, 0, "a"}, {"[list] Re: [PATCH 1/2] a", 1, 1, 1, 2, 1, 0, 0, "a"},
		{"Fwd: [PATCH] a", 1, 0, 0, 0, 1, 0, 0, "a"},
		{"Re\xef\xbc\x9a[PATCH] a", 1, 0, 0, 0, 1, 0, 0, "a"}, {"FW: [PATCH] a", 1, 0, 0, 0, 1, 0, 0, "a"},
		{"fw: qcom: a", 0, 0, 0, 0, 1, 0, 0, "fw: qcom: a"},
		{"regulator: a", 0, 0, 0, 0, 1, 0, 0, "regulator: a"},
		{"rfc: [a] b", 0, 0, 0, 0, 1, 0, 0, "rfc: [a] b"}, {"[open a", 0, 0, 0, 0, 1, 0, 0, "[open a"},
		{"[PATCH 1/] a", 0, 0, 0, 0, 1, 0, 0, "a"}, {"[PATCH /3] a", 0, 0, 0, 0, 1, 0, 0, "a"},
		{"[PATCH 12345/3] a", 0, 0, 0, 0, 1, 0, 0, "a"},
		{"[tip: x86/urgent] a", 0, 0, 0, 0, 1, 0, 0, "a"}, {"[PATCH v99999999999] a", 0, 0, 0, 0, 1, 0, 0, "a"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct patch_subject s;

		patch_subject_parse(cases[i].s, &s);
		ok(s.answer == cases[i].answer && s.numbered == cases[i].numbered && s.number == cases[i].number &&
			   s.total == cases[i].total && s.version == cases[i].version && s.rfc == cases[i].rfc &&
			   s.resend == cases[i].resend && streq(s.rest, cases[i].rest),
		   "'%s': %u/%u v%g", cases[i].s, s.number, s.total, s.version);
	}
}

/* "subject|id|parent|diff" for each mail; the order wanted, or words of the refusal. */
static void test_pick(void)
{
	static const struct { const char *mails[8]; bool listed; const char *order, *says; } cases[] = {
		{{"[PATCH] a|||d"}, 0, "0", ""}, {{"a|||d"}, 0, "0", ""}, {{"[PATCH 1/1] a|||d"}, 0, "0", ""},
		{{"[PATCH 0/3] c", "[PATCH 3/3] c3|||d", "[PATCH 1/3] c1|||d", "[PATCH 2/3] c2|||d"}, 0, "2 3 1", ""},
		{{"[PATCH 1/2] a|1||d", "Re: [PATCH 1/2] a|2|1|d", "[PATCH 2/2] b|3||d"}, 0, "0 2",
		 "1 answer with a diff"},
		/* answers with other subjects: below a patch, or below an answer; and a cover letter with a diff */
		{{"[PATCH 0/2] c|0||d", "[PATCH 1/2] a|1|0|d", "[PATCH 2/2] b|2|1|d", "what about this?|3|2|d"}, 0,
		 "1 2", "1 answer"},
		{{"[PATCH 1/1] a|1||d", "Re: [PATCH 1/1] a|2|1|", "my idea|3|2|d"}, 0, "0", "1 answer"},
		{{"[PATCH 1/1] a|1||d", "[PATCH 1/1] a|2|1|d"}, 0, "0", "1 answer"},
		{{"[PATCH] a|1||d", "[tip: x/y] a|2|1|d"}, 0, "0", "1 answer"},
		{{"[PATCH 1/1] a|1||d", "applied|2|elsewhere|"}, 0, "0", ""},
		{{"[PATCH 0/1] c|0||", "[PATCH] a|1|0|d"}, 0, "1", ""},
		/* a bug report's answer is a patch all the same */
		{{"[PATCH] a|1|elsewhere|d"}, 0, "0", ""},
		/* copies */
		{{"[PATCH 1/2] a|1||d", "[PATCH 1/2] a|1||d", "[PATCH 2/2] b|2||d"}, 0, "0 2", ""},
		/* gaps and doubles */
		{{"[PATCH 0/3] c", "[PATCH 1/3] a|||d", "[PATCH 3/3] c|||d"}, 0, "", "of [PATCH n/3] 2/3 is missing"},
		{{"[PATCH v2 2/4] a|||d"}, 0, "", "of [PATCH v2 n/4] 1/4, 3/4, 4/4 are missing"},
		{{"[PATCH 1/9999] a|||d"}, 0, "", "11/9999 and 9988 more are missing"},
		{{"[PATCH 1/2] a|1||d", "[PATCH 2/2] b|2||d", "[PATCH 2/2] c|3||d"}, 0, "",
		 "2/2 of [PATCH n/2] twice: mails 2 and 3"},
		{{"[PATCH 3/2] a|||d"}, 0, "", "3/2, which is no number"},
		{{"[PATCH 2/3] a|||"}, 0, "", "mail 1 (x.mbox, \"[PATCH 2/3] a\") has no diff"},
		{{"[PATCH v2 00/15] c|||"}, 0, "", "holds no patch"}, {{"Re: [PATCH] a|||d"}, 0, "", "holds no patch"},
		{{"[PATCH] a|||"}, 0, "", "has no diff"},
		{{"[PATCH v6,00/02] c|||d", "[PATCH v6,01/02] a|||d", "[PATCH v6,02/02] b|||d"}, 0, "1 2", ""},
		/* versions */
		{{"[PATCH 1/2] a|1||d", "[PATCH 2/2] b|2||d", "[PATCH v2 1/2] a|3||d", "[PATCH v2 2/2] b|4||d"}, 0,
		 "2 3",
		 "[PATCH n/2] (2 patches) passed over for the newer [PATCH v2 n/2]"},
		{{"[PATCH v3 1/1] a|3||d", "[PATCH 1/2] a|1||d", "[PATCH 2/2] b|2||d", "[PATCH v2 1/1] b|2.1||d"}, 0,
		 "0", "for the newer [PATCH v3 n/1]"},
		{{"[PATCH] a|1||d", "[PATCH v2] a|2|1|d"}, 0, "1", "passed over for the newer [PATCH v2]"},
		{{"[PATCH] a|1||d", "Re: [PATCH] a|2|1|", "[PATCH v2] a|3|2|d"}, 0, "2", "the newer [PATCH v2]"},
		{{"[PATCH] a|1||d", "[RESEND PATCH] a|2||d"}, 0, "1", "the newer [RESEND PATCH]"},
		{{"[PATCH 1/2] a|1||d", "[PATCH 2/2] b|2||d", "[PATCH v2 2/2] b|3||d"}, 0, "",
		 "of [PATCH v2 n/2] 1/2 is missing"},
		/* several series */
		{{"[PATCH 1/1] a|1||d", "[PATCH v2 1/1] z|2||d"}, 0, "",
		 "more than one series: [PATCH n/1] (1 patch, \"[PATCH 1/1] a\"), [PATCH v2 n/1] (1 patch"},
		{{"[PATCH 1/2] a|1||d", "[PATCH 2/2] b|2||d", "[PATCH 1/1] z|3||d"}, 0, "", "more than one series"},
		{{"[PATCH 1/2] a|1||d", "[PATCH 2/2] b|2||d", "[PATCH] z|3||d"}, 0, "", "more than one series"},
		{{"[RFC PATCH v2] a|1||d", "[PATCH] a|2||d"}, 0, "", "more than one series"},
		{{"[PATCH] a|1||d", "[PATCH] z|2||d"}, 0, "",
		 "2 patches without numbers in one mailbox, which nobody can put in order: \"[PATCH] a\", \"[PATCH] z\""},
		/* git format-patch -N, and a list that somebody wrote */
		{{"[PATCH] a|||d", "[PATCH] z|||d"}, 0, "0 1", ""},
		{{"[PATCH 1/7] z|1||d", "[PATCH] a|2||d", "[PATCH 3/4] b|3||d"}, 1, "0 1 2", ""},
		{{"[PATCH 1/3] z|1||d", "[PATCH 3/3] b|3||d"}, 1, "0 1", ""},
		{{"[PATCH 3/3] z|1||d", "Re: [PATCH 1/3] b|2||d", "[PATCH 1/3] b|3||d"}, 1, "0 2", "1 answer"},
		{{"\033[31m[PATCH 1/1] a|1||d", "\033[PATCH 1/2] b|2||d"}, 0, "", "without numbers"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct series_mail m[8] = {0};
		_cleanup_free_ size_t *order = NULL;
		_cleanup_free_ char *note = NULL;
		_cleanup_buf_ struct buf got = {0};
		size_t n = 0, taken = 0;
		int r;

		for (; n < 8 && cases[i].mails[n]; n++) {
			char *copy = xstrdup(cases[i].mails[n]), *at = copy;
			const char *diff;

			m[n] = (struct series_mail){
				.file = "x.mbox", .has_author = true, .file_index = cases[i].listed ? n : 0};
			m[n].subject = xstrdup(strsep(&at, "|") ?: "");
			m[n].id = xstrdup(strsep(&at, "|") ?: "");
			m[n].parent = xstrdup(strsep(&at, "|") ?: "");
			diff = strsep(&at, "|");
			m[n].has_diff = diff && *diff;
			free(copy);
		}
		err_set(0, "%s", "");
		r = series_pick("x", m, n, cases[i].listed, &order, &taken, &note);
		for (size_t k = 0; r == 0 && k < taken; k++)
			buf_addf(&got, "%s%zu", k ? " " : "", order[k]);
		ok((r == 0) == (*cases[i].order != 0) && (r == 0 || r == -ENOTSUP), "mailbox %zu: %d", i, r);
		is_str(buf_str(&got), cases[i].order, "its patches");
		ok(strstr(r	 ? err_msg()
			  : note ? note
				 : "",
			  cases[i].says) != NULL &&
			   (*cases[i].says || !note),
		   "says: %s",
		   r	  ? err_msg()
		   : note ? note
			  : "");
		ok(!strchr(err_msg(), '\033'), "and drives no terminal");
		for (size_t k = 0; k < n; k++) {
			free(m[k].subject);
			free(m[k].id);
			free(m[k].parent);
		}
	}
}

/* Real mails, with git: order, answers, versions, encoded subjects. */
static void test_series(void)
{
	_cleanup_free_ char *want = apply("s.mbox", NULL), *listed = NULL, *shuffled = NULL, *thread = NULL,
			    *versions = NULL, *gap = NULL, *coded = NULL;
	struct patched p = {0};

	free(sh("cat ../folder/0003* ../folder/0000* ../folder/0001* ../folder/0002* >../shuffled.mbox\n"
		"{ cat ../s.mbox; sed '/^Subject/s/^Subject: /Subject: Re: /; s/new1/other/g' ../folder/0001*; } >../thread.mbox\n"
		"{ sed 's/PATCH /PATCH v2 /; s/^From: Ann/From: Ann/' ../folder/000*; sed 's/of patch 2/of an older patch 2/' ../folder/000*; } >../versions.mbox\n"
		"cat ../folder/0001* ../folder/0003* >../gap.mbox\n"
		"sed 's/^Subject: .PATCH 1.3. /Subject: =?UTF-8?q?=5BPATCH=201=2F3=5D?=\\n /' ../folder/0001* >../coded.mbox; cat ../folder/000[23]* >>../coded.mbox"));
	shuffled = apply("shuffled.mbox", &p);
	is_str(shuffled, want, "mails in any order: the same commit");
	thread = apply("thread.mbox", &p);
	is_str(thread, want, "an answer with an unquoted diff is none of it");
	ok(p.note && strstr(p.note, "1 answer with a diff passed over"), "and that is said: %s",
	   p.note ? p.note : "(nothing)");
	free(TAKE_PTR(p.note));
	versions = apply("versions.mbox", &p);
	is_str(versions, want, "the newest version only");
	ok(p.note && strstr(p.note, "[PATCH n/3] (3 patches) passed over for the newer [PATCH v2 n/3]"),
	   "and that is said: %s", p.note ? p.note : "(nothing)");
	free(TAKE_PTR(p.note));
	coded = apply("coded.mbox", &p);
	is_str(coded, want, "a subject in another encoding");
	gap = apply("gap.mbox", &p);
	ok(!*gap && strstr(err_msg(), "2/3 is missing"), "a gap: %s", err_msg());
	free(sh("{ cat ../s.mbox; printf 'From a Mon Sep 17 00:00:00 2001\\nFrom: B <b@example.org>\\nSubject: Re: =?utf-8?z?[PATCH_1/3]_x?= y\\n\\nNo.\\n'; } >../charset.mbox"));
	free(coded);
	coded = apply("charset.mbox", NULL);
	is_str(coded, want, "an answer that cannot be decoded (%s)", *coded ? "" : err_msg());
	/* a list with a mailbox in it is a mailbox; a part that somebody lists is that part */
	put("boxes", "gap.mbox\n");
	free(sh("cd ..; ls folder/0001* >part"));
	free(gap);
	gap = apply("boxes", NULL);
	ok(!*gap && strstr(err_msg(), "2/3 is missing"), "a gap in a listed mailbox: %s", err_msg());
	listed = apply("part", &p);
	ok(*listed && p.patches == 1, "one patch of the series, listed");
}

/* A mailbox from a public list in its shape: three patches, and a reviewer's idea as a diff; and one that lost a
 * mail. */
static void test_review(void)
{
	struct patches s = {0};
	struct patched p = {0};
	_cleanup_free_ char *from = NULL;

	from = sh("git checkout -q --orphan review main; git rm -q -rf . ; printf 'one\\ntwo\\nthree\\n' >a.txt\n"
		  "printf '%%s\\n' '#!/bin/sh' '# rev c0' \"n=\\$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')\" "
		  "\"awk -v l=1000 -v n=\\$n 'BEGIN { printf \\\"ops_per_sec: %%.3f\\\\n\\\", l * (1 + (n / 65535 - 0.5) * 0.01) }'\" >bench.sh\n"
		  "git add .; git commit -q -m review; git push -q %s HEAD:refs/heads/review; git rev-parse HEAD; git checkout -q -f main >&2; "
		  "git rev-parse review", mirror);
	is_int(patches_read("tests/fixtures/patches/answer.mbox", &s), 0, "a thread");
	is_int(patches_apply(mirror, from, &s, true, &p), 0, "applies (%s)", err_msg());
	is_int(p.patches, 3, "three patches, the answer's diff is none");
	patched_release(&p);
	patches_release(&s);
	is_int(patches_read("tests/fixtures/patches/missing.mbox", &s), 0, "one that lost a mail");
	is_int(patches_apply(mirror, from, &s, true, &p), -ENOTSUP, "does not apply");
	ok(strstr(err_msg(), "is not whole: of [PATCH n/3] 2/3 is missing") != NULL, "and says why: %s", err_msg());
	patches_release(&s);
}

/* A kill at any point: the next call mends what was left and gives the same commit. */
static void test_killed(void)
{
	_cleanup_free_ char *path = path_of("s.mbox"), *want = apply("s.mbox", NULL),
			    *leftover = xasprintf("%s.patching/index.lock", mirror),
			    *dir = xasprintf("%s.patching", mirror), *lock = NULL;
	struct patches s = {0};
	int good = 0, killed = 0, rounds = 10;

	is_int(patches_read(path, &s), 0, "reads it");
	{
		_cleanup_free_ char *other = xasprintf("%s.lock", mirror);
		_cleanup_close_ int fetching = fs_lock(other, true);
		struct patched p = {0};

		free(sh("git --git-dir=%s for-each-ref --format='delete %%(refname)' refs/kperfbot/patched | git --git-dir=%s update-ref --stdin",
			mirror, mirror));
		is_int(patches_apply(mirror, base, &s, false, &p), -EWOULDBLOCK, "not while the mirror is fetched");
	}
	for (int i = 0; i < rounds; i++) {
		struct patched p = {0};
		pid_t pid;
		int ws;

		free(sh("git --git-dir=%s for-each-ref --format='delete %%(refname)' refs/kperfbot/patched | git --git-dir=%s update-ref --stdin",
			mirror, mirror));
		pid = fork();
		if (!pid)
			_exit(patches_apply(mirror, base, &s, true, &p) != 0);
		usleep(12000 * (i + 1));
		kill(pid, SIGKILL);
		waitpid(pid, &ws, 0);
		killed += WIFSIGNALED(ws);
		if (i == rounds - 1) { /* what an unlucky moment leaves */
			lock = xasprintf("%s/refs/kperfbot/patched/%.12s-%.12s.lock", mirror, base, s.hash);
			fs_mkdir_parent(leftover);
			fs_write_atomic(leftover, "", 0);
			fs_mkdir_parent(lock);
			fs_write_atomic(lock, "", 0);
		}
		if (patches_apply(mirror, base, &s, true, &p) < 0)
			printf("# round %d: %s\n", i, err_msg());
		good += streq(p.oid, want);
		patched_release(&p);
	}
	is_int(good, rounds, "after each of %d kills the same commit", rounds);
	ok(killed > 0, "%d of them were in time", killed);
	ok(!fs_exists(dir), "and nothing is left");
	patches_release(&s);
}

int main(void)
{
	char tmp[] = "/tmp/kperfbot-patches-XXXXXX";
	_cleanup_free_ char *config = NULL;

	top = mkdtemp(tmp);
	work = xasprintf("%s/work", top);
	mirror = xasprintf("%s/mirror.git", top);
	fs_mkdir_p(work);
	setenv("HOME", top, 1);
	free(sh("git init -q -b main .; for i in 1 2 3 4 5 6 7 8; do echo line $i; done >f; git add f; "
		"GIT_COMMITTER_DATE='@1700000000 +0100' git commit -q -m base; git clone -q --bare . %s", mirror));
	base = sh("git rev-parse HEAD");
	/* a user's configuration that must not be heeded, and hooks of the mirror */
	config = xasprintf(
		"[commit]\n gpgsign = true\n[user]\n name = Eve\n email = eve@example.org\n[mailinfo]\n scissors = true\n"
		"[core]\n hooksPath = %s/hooks\n[apply]\n whitespace = error-all\n",
		top);
	put(".gitconfig", config);
	free(sh("mkdir -p ../hooks; for h in post-index-change reference-transaction applypatch-msg pre-applypatch post-commit; do "
		"printf '#!/bin/sh\\ntouch %s/hooked\\n' >../hooks/$h; chmod +x ../hooks/$h; cp ../hooks/$h %s/hooks/; done",
		top, mirror));
	test_same_as_git();
	test_names();
	test_refused();
	test_accepted();
	test_subjects();
	test_pick();
	test_series();
	test_review();
	test_killed();
	fs_rm_rf(top);
	free(work);
	free(mirror);
	free(base);
	return tap_done();
}
