/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/escape.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/table.h"
#include "reporters/mail.h"
#include "tests/tap.h"

#include <json-c/json.h>
#include <sys/stat.h>

#define RLO "\xe2\x80\xae"      /* U+202E, right-to-left override */
#define ZWSP "\xe2\x80\x8b"     /* U+200B */
#define TAG "\xf3\xa0\x81\x81"  /* U+E0041 */
#define LS "\xe2\x80\xa8"       /* U+2028 */
#define CSI8 "\xc2\x9b"         /* U+009B, a C1 control */
#define BAD "\xff"
#define NASTY "a" RLO ZWSP TAG LS CSI8 BAD "\x1b[2J\x7f\xef\xbb\xbf" "b"

static void wants(void (*way)(struct buf *, const char *), const char *in, const char *out, const char *name)
{
	_cleanup_buf_ struct buf b = {0};

	way(&b, in);
	is_str(buf_str(&b), out, "%s", name);
}

static void test_utf8(void)
{
	static const struct { const char *s; enum utf8_class class; size_t n; } c[] = {
		{"a", UTF8_PLAIN, 1}, {"\xc3\xa9", UTF8_PLAIN, 2}, {"\xe2\x82\xac", UTF8_PLAIN, 3},
		{"\xf0\x9f\x98\x80", UTF8_PLAIN, 4}, {"\n", UTF8_CONTROL, 1}, {"\x7f", UTF8_CONTROL, 1},
		{CSI8, UTF8_CONTROL, 2}, {"\xc2\xa0", UTF8_PLAIN, 2}, {RLO, UTF8_HIDDEN, 3}, {ZWSP, UTF8_HIDDEN, 3},
		{TAG, UTF8_HIDDEN, 4}, {LS, UTF8_HIDDEN, 3}, {"\xc2\xad", UTF8_HIDDEN, 2},
		{"\xef\xbb\xbf", UTF8_HIDDEN, 3}, {"\xe2\x81\xa6", UTF8_HIDDEN, 3}, {"\xd8\x9c", UTF8_HIDDEN, 2},
		{"\xef\xb8\x8f", UTF8_HIDDEN, 3}, {"\xf3\xa0\x84\x80", UTF8_HIDDEN, 4},
		{"\xef\xbf\xbf", UTF8_HIDDEN, 3}, {"\xf4\x8f\xbf\xbe", UTF8_HIDDEN, 4}, {"\xc0\x80", UTF8_INVALID, 1},
		{"\xed\xa0\x80", UTF8_INVALID, 1}, {"\xf4\x90\x80\x80", UTF8_INVALID, 1},
		{"\xe2\x80", UTF8_INVALID, 1}, {"\x80", UTF8_INVALID, 1}, {"\xe0\x80\x80", UTF8_INVALID, 1},
		{"\xf0\x80\x80\x80", UTF8_INVALID, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		enum utf8_class class;
		size_t n = utf8_next(c[i].s, strlen(c[i].s), &class, NULL);

		ok(class == c[i].class && n == c[i].n, "class and length of character %zu", i);
	}
	ok(utf8_valid("\xc3\xa9") && !utf8_valid("a" BAD) && utf8_valid(""), "what is UTF-8");
}

static void test_shown(void)
{
	_cleanup_buf_ struct buf b = {0};
	char s[4 * TEXT_SHOWN + 1];

	wants(buf_add_shown, "one\ntwo\t\x1b[2J", "one two \\x1b[2J", "a line's text: as on a terminal");
	for (size_t n = 0; n < sizeof(s); n++) {
		memset(s, 'x', n);
		s[n] = 0;
		buf_clear(&b);
		buf_add_shown(&b, s);
		if (b.len != MIN(n, (size_t)TEXT_SHOWN) || (n > TEXT_SHOWN) != endswith(buf_str(&b), "x..."))
			ok(false, "of %zu bytes %zu came out", n, b.len);
	}
	for (size_t i = 0; i + 4 < sizeof(s); i += 3)
		memcpy(s + i, "\xe2\x82\xac", 4);
	buf_clear(&b);
	buf_add_shown(&b, s);
	ok(utf8_valid(b.s) && b.len <= TEXT_SHOWN && endswith(b.s, "..."), "cut between characters");
}

static void test_term(void)
{
	_cleanup_buf_ struct buf b = {0};

	wants(buf_add_term, NASTY,
	      "a\\xe2\\x80\\xae\\xe2\\x80\\x8b"
	      "\\xf3\\xa0\\x81\\x81\\xe2\\x80\\xa8\\xc2\\x9b\\xff\\x1b[2J\\x7f\\xef\\xbb\\xbf" "b",
	      "terminal: nothing that drives it or hides");
	wants(buf_add_term, "one\ntwo\tJos\xc3\xa9", "one two Jos\xc3\xa9", "terminal: one line");
	test_shown();
	wants(buf_add_term_lines, "one\ntwo\t\r", "one\ntwo\t\\x0d",
	      "terminal: lines stay, but nothing writes over them");
	for (int c = 1; c < 256; c++) {
		char s[2] = {(char)c, 0};

		buf_clear(&b);
		buf_add_term(&b, s);
		if (b.len == 1 && ((unsigned char)b.s[0] < 0x20 || (unsigned char)b.s[0] > 0x7e))
			ok(false, "byte 0x%02x came out raw", c);
	}
}

static void test_csv(void)
{
	static const char *const formulas[] = {"=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "\n=1", "-",
					       "=cmd|' /C calc'!A0", "\xef\xbb\xbf=1", ZWSP RLO "@x",
					       "\xef\xbc\x9d" "1"};
	static const char *const numbers[] = {"-3.5", "+1e-5", "0", "17", "-0"};

	for (size_t i = 0; i < ARRAY_SIZE(formulas); i++) {
		_cleanup_buf_ struct buf b = {0};

		buf_add_csv(&b, formulas[i]);
		ok(b.s[b.s[0] == '"'] == '\'', "no formula: case %zu", i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		wants(buf_add_csv, numbers[i], numbers[i], "a number stays one");
	wants(buf_add_csv, "x;=cmd|' /C calc'!A0", "\"x;'=cmd|' /C calc'!A0\"", "nor one for who separates by ;");
	wants(buf_add_csv, "x\t" ZWSP "@SUM(A1);+1;-2;-x\n=1,2", "\"x\t'" ZWSP "@SUM(A1);+1;-2;'-x\n'=1,2\"",
	      "or tab, or breaks at our newline");
	wants(buf_add_csv, "a,\"b\"", "\"a,\"\"b\"\"\"", "quotes");
	wants(buf_add_csv, "a\r\n" "b\x1b" CSI8 BAD, "\"a\\x0d\nb\\x1b\\xc2\\x9b\\xff\"",
	      "control characters and bad bytes");
	wants(buf_add_csv, "a" RLO "\xc3\xa9", "a" RLO "\xc3\xa9", "other text is exact");
}

static void test_html_shell(void)
{
	static const char *const texts[] = {"", "plain", "it's", "$(id) `id` \\ \"", NASTY, "\x1b", "-n", "a\nb\n",
					    "\r\n" BAD BAD, "'\x01'"};

	wants(buf_add_html, "<a href=\"x\">&'" RLO "\x01" BAD "\n",
	      "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\n", "HTML");
	wants(buf_add_shell, "Jos\xc3\xa9's", "'Jos\xc3\xa9'\\''s'", "shell: whole characters");
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_buf_ struct buf cmd = {0}, out = {0}, seen = {0};

		buf_adds(&cmd, "printf '%s|' ");
		buf_add_shell(&cmd, texts[i]);
		buf_adds(&out, texts[i]);
		buf_addc(&out, '|');
		is_int(proc_ok(ARGV("sh", "-c", cmd.s), NULL, &seen), 0, "the shell takes word %zu", i);
		ok(seen.len == out.len && !memcmp(seen.s, out.s, out.len), "and gets it byte for byte");
		buf_clear(&out);
		buf_add_term_lines(&out, cmd.s);
		is_str(out.s, cmd.s, "while nothing in it drives a terminal");
	}
}

static void test_git(void)
{
	static const char *const bad[] = {"", "a..b", "a b", "a:b", "a^", "a~1", "*", "a?", "[", "a\\b", "/a", "a/",
					  "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.", "@{", "a\n", "a\x7f"};
	_cleanup_free_ char *option = git_branch_ref("--upload-pack=touch${IFS}x"),
			    *ref = git_branch_ref("refs/heads/a");

	is_str(option, "refs/heads/--upload-pack=touch${IFS}x", "a branch that looks like an option is a full ref");
	is_str(ref, "refs/heads/refs/heads/a", "whatever it is called");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_free_ char *none = git_branch_ref(bad[i]);

		ok(!none, "no branch: case %zu", i);
	}
	ok(!git_branch_ref(NULL), "no branch: none");
}

static void add_name(struct buf *b, const char *s) { buf_add_filename(b, s, 10); }

static void test_filename(void)
{
	wants(add_name, "../../etc/passwd", "etc-passwd", "no way up");
	wants(add_name, "-rf", "rf", "no option");
	wants(add_name, "\n" BAD, "_", "never empty");
	wants(add_name, "a/b\nc" BAD "d.x", "a-b-c-d.x", "no folder, no newline");
}

static void test_urls(void)
{
	static const struct { const char *url, *shown; bool secret; } c[] = {
		{"https://example.org/x.git", "https://example.org/x.git", false},
		{"https://me:pw@example.org/x.git", "https://example.org/x.git", true},
		{"https://TOKEN@example.org/x.git", "https://example.org/x.git", true},
		{"https://me:p@w@example.org:8080/x", "https://example.org:8080/x", true},
		{"https://me:p/w@example.org/x", "https://example.org/x", true},
		{"https://me:p'\"<w@example.org/x", "https://example.org/x", true},
		{"HTTPS://me:pw@example.org", "HTTPS://example.org", true},
		{"https://example.org/x.git?private_token=s", "https://example.org/x.git", true},
		{"https://example.org/a@b", "https://example.org/a@b", false},
		{"https://[::1]:80/a@b", "https://[::1]:80/a@b", false},
		{"ssh://git@example.org/x", "ssh://git@example.org/x", false},
		{"ssh://git:pw@example.org/x", "ssh://git@example.org/x", true},
		{"git+ssh://git:pw@example.org/x", "git+ssh://git@example.org/x", true},
		{"git@example.org:x.git", "git@example.org:x.git", false},
		{"smtp://me:pw@mail.example.org:587", "smtp://mail.example.org:587", true},
		{"smtps://me@mail.example.org", "smtps://mail.example.org", true},
		{"me:pw@example.org:x.git", "me@example.org:x.git", true},
		{"https:/me:p@w@example.org/x", "https@example.org/x", true},
		{"git@example.org:x@y.git", "git@example.org:x@y.git", false},
		{"/srv/a:b@c", "/srv/a:b@c", false},
		{"/srv/a@b.git", "/srv/a@b.git", false},
		{"file:///srv/a@b?.git", "file:///srv/a@b?.git", false},
		{"git://me:pw@example.org/x", "git://example.org/x", true},
		{"ext::https://me:pw@example.org", "ext::https://example.org", true},
		{"http://x/https://me:pw@example.org/", "http://x/https://example.org/", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		_cleanup_free_ char *shown = url_shown(c[i].url);

		is_str(shown, c[i].shown, "shown: %s", c[i].shown);
		is_int(url_has_secret(c[i].url), c[i].secret, "holds a secret: %d", c[i].secret);
	}
	wants(buf_add_term, "fatal: 'https://me:pw@example.org/x/' and http://t@b.example.org",
	      "fatal: 'https://example.org/x/' and http://b.example.org", "URLs within a text");
	wants(buf_add_csv, "https://me:pw@example.org", "https://example.org", "and in CSV");
	wants(buf_add_html, "https://me:pw@example.org", "https://example.org", "and in HTML");
}

static void test_json(void)
{
	struct json_object *o = json_object_new_object(), *back, *v;
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *line = NULL;

	json_object_object_add(o, "text", json_text(NASTY));
	json_object_object_add(o, "none", json_text(NULL));
	json_object_object_add(o, "key" BAD CSI8, json_text("https://me:pw@example.org/"));
	buf_add_json(&b, o, true);
	ok(utf8_valid(b.s) && !strpbrk(b.s, "\x1b\x7f") && !strstr(b.s, RLO) && !strstr(b.s, CSI8) && !strstr(b.s, LS),
	   "valid, and safe to look at");
	ok(!strstr(b.s, "pw@"), "no password");
	ok(strstr(b.s, "\"none\": null") || strstr(b.s, "\"none\":null"), "NULL is null");
	back = json_tokener_parse(b.s);
	ok(back && json_object_object_get_ex(back, "text", &v) &&
	   streq(json_object_get_string(v), "a" RLO ZWSP TAG LS CSI8 "\xef\xbf\xbd\x1b[2J\x7f\xef\xbb\xbf" "b"),
	   "the text comes back");
	line = json_line(o);
	ok(utf8_valid(line) && strstr(line, "me:pw@") && !strchr(line, '\n'),
	   "for the database: valid, exact, one line");
	json_object_put(back);
	json_object_put(o);
}

static void test_table(void)
{
	_cleanup_table_ struct table t = {0};
	_cleanup_free_ char *text = NULL;
	size_t n;
	FILE *f = tmpfile();

	table_column(&t, "a", false);
	table_column(&t, "b", true);
	table_row(&t);
	table_text(&t, 0, "=1" BAD);
	table_num(&t, 1, -1.5);
	is_int(table_print(&t, TABLE_CSV, f), 0, "a table as CSV");
	rewind(f);
	text = xcalloc(100, 1);
	n = fread(text, 1, 99, f);
	is_str(text, "a,b\n'=1\\xff,-1.5\n", "text is guarded, the number is one (%zu bytes)", n);
	fclose(f);
}

static void test_mail(void)
{
	_cleanup_buf_ struct buf b = {0};

	mail_header(&b, "Subject", "a" RLO ZWSP TAG "b\x1b\ncc: x" BAD);
	is_str(b.s, "Subject: =?utf-8?Q?ab__cc=3A_x=EF=BF=BD?=\n", "mail: subject");
	buf_clear(&b);
	mail_header_persons(&b, "To", &(struct mail_person){"Jo" RLO "se\xcc\x81" ZWSP, "jo@example.org"}, 1);
	is_str(b.s, "To: =?utf-8?Q?Jose=CC=81?= <jo@example.org>\n", "mail: no bidirectional override in a name");
	buf_clear(&b);
	mail_body(&b, NASTY "\n", strlen(NASTY "\n"));
	is_str(b.s, "a?\xef\xbf\xbd?[2J?b\n", "mail: body");
}

static int mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : (int)(st.st_mode & 0777);
}

static void test_private(void)
{
	static const char *const own[] = {"mine*", NULL};
	_cleanup_free_ char *tmp = xstrdup("/tmp/kpb-escape-XXXXXX"), *dir = NULL, *file = NULL, *other = NULL;

	dir = xasprintf("%s/a/b", mkdtemp(tmp));
	file = xasprintf("%s/mine.db", dir);
	other = xasprintf("%s/other", dir);
	umask(0);
	is_int(fs_mkdir_private(dir, own), 0, "makes a private folder");
	is_int(mode_of(dir), 0700, "for us alone, whatever the umask");
	is_int(fs_make_private(file), 0, "makes a private file");
	is_int(mode_of(file), 0600, "for us alone");
	chmod(dir, 0755);
	chmod(file, 0664);
	is_int(fs_mkdir_private(dir, own), 0, "takes one that is there");
	is_int(mode_of(dir), 0700, "and closes it");
	is_int(fs_make_private(file), 0, "the file, too");
	is_int(mode_of(file), 0600, "is closed");
	fs_write_atomic(other, "", 0);
	chmod(dir, 0755);
	is_int(fs_mkdir_private(dir, own), 1, "a folder that holds other things is told");
	is_int(mode_of(dir), 0755, "and left alone");
	chmod(dir, 01777);
	is_int(fs_mkdir_private(dir, (const char *const[]){"*", NULL}), 1, "so is a folder for all");
	is_int(mode_of(dir), 0777, "which stays as it is");
	fs_rm_rf(tmp);
}

static void test_hosts(void)
{
	static const struct { const char *url, *host; } c[] = {
		{"https://git.example.org/net.git", "git.example.org"},
		{"HTTPS://GIT.Example.org.:8443/a", "git.example.org"}, {"git://127.0.0.1:9418/x", "127.0.0.1"},
		{"ssh://me@git.example.org:22/x", "git.example.org"},
		{"git@git.example.org:a/b@c.git", "git.example.org"}, {"git.example.org:x", "git.example.org"},
		{"ssh://[2001:db8::1]:22/x", "[2001:db8::1]"}, {"me@[2001:db8::1]:x", "[2001:db8::1]"},
		{"https://a:b@git.example.org?x", "git.example.org"}, {"http://git.example.org#@x", "git.example.org"},
		{"/srv/git/A.git", "/srv/git/A.git"}, {"./a:b", "./a:b"}, {"file:///srv/git/A.git", "/srv/git/A.git"},
		{"", ""}};

	for (size_t i = 0; i < ARRAY_SIZE(c); i++) {
		_cleanup_free_ char *host = url_host(c[i].url);

		ok(streq(host, c[i].host), "the server of '%s' is '%s'", c[i].url, host);
	}
}

int main(void)
{
	test_hosts();
	test_utf8();
	test_term();
	test_csv();
	test_html_shell();
	test_git();
	test_filename();
	test_urls();
	test_json();
	test_table();
	test_mail();
	test_private();
	return tap_done();
}
