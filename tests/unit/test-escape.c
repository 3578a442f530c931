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

/* ---- read back by the programs that such texts end in ---- */

static const char *const hostile[] = {
	"",
	"plain",
	"a,b;c\td",
	"\"",
	"\"\"",
	"a\"b\",\"c\"",
	"two\nlines",
	"cr\r\nlf\r",
	"\n",
	"'",
	"'=1",
	"=1+1",
	"-x",
	"@SUM(A1)",
	"</p><script>alert(1)</script>",
	"\" onmouseover=\"x",
	"' onmouseover='x",
	"&lt;&#60;&#x3c;&amp;",
	"<!--",
	"-->",
	"]]>",
	"<?x?>",
	"&",
	"&am",
	"\\",
	"\\\"",
	"\\u0041",
	"{\"a\": 1}",
	"\"}, {\"x\": \"",
	"null",
	"Jos\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
	NASTY,
	BAD,
	"\xc3",
	"\x01\x02\x7f",
	"\x1b[2J\x1b]0;x\x07",
	"\xc0\xaf",
	"\xed\xa0\x80",
	"\xf4\x90\x80\x80",
	RLO "=1",
	ZWSP,
};

static const char *const reader_py =
	"import csv, html.parser, io, json, re, sys, unicodedata\n"
	"def text(b):\n"
	"    return re.sub('\\ufffd+', '\\ufffd', b.decode('utf-8', 'replace'))\n"
	"class Page(html.parser.HTMLParser):\n"
	"    def __init__(self):\n"
	"        super().__init__()\n"
	"        self.seen, self.data = [], ''\n"
	"    def handle_starttag(self, tag, attrs):\n"
	"        self.seen.append((tag, attrs))\n"
	"    def handle_endtag(self, tag):\n"
	"        self.seen.append('/' + tag)\n"
	"    def handle_data(self, data):\n"
	"        self.data += data\n"
	"    def handle_comment(self, data):\n"
	"        self.seen.append(data)\n"
	"    handle_decl = handle_pi = unknown_decl = handle_comment\n"
	"def plain(t):\n"
	"    return not any(unicodedata.category(c) in ('Cc', 'Cf', 'Cs', 'Zl', 'Zp') or c == '\\ufffd' for c in t)\n"
	"bad = []\n"
	"for line in open(sys.argv[1]):\n"
	"    raw, as_csv, as_html, line, shown = [bytes.fromhex(x) for x in line.rstrip('\\n').split(' ')]\n"
	"    rows = list(csv.reader(io.StringIO(as_csv.decode() + ',end\\n', newline='')))\n"
	"    if len(rows) != 1 or len(rows[0]) != 2 or rows[0][1] != 'end':\n"
	"        bad.append(('csv: not one cell', raw, rows))\n"
	"    elif plain(text(raw)) and rows[0][0] not in (text(raw), \"'\" + text(raw)):\n"
	"        bad.append(('csv: another text', raw, rows))\n"
	"    page = Page()\n"
	"    page.feed('<p title=\"%s\">%s</p>' % ((as_html.decode(),) * 2))\n"
	"    page.close()\n"
	"    if page.seen != [('p', [('title', page.data)]), '/p']:\n"
	"        bad.append(('html: not one paragraph', raw, page.seen))\n"
	"    elif plain(text(raw)) and page.data != text(raw):\n"
	"        bad.append(('html: another text', raw, page.data))\n"
	"    for form in line, shown:\n"
	"        o = json.loads(form.decode())\n"
	"        if list(o) != ['t'] or re.sub('\\ufffd+', '\\ufffd', o['t']) != text(raw):\n"
	"            bad.append(('json', raw, o))\n"
	"sys.exit('\\n'.join(map(str, bad)) or 0)\n";

static void add_hex(struct buf *out, const char *s, const char *end)
{
	for (; *s; s++)
		buf_addf(out, "%02x", (unsigned char)*s);
	buf_adds(out, end);
}

/* Python's csv, html.parser and json read one cell, one paragraph and one member, with the text in it. */
static void test_readers(void)
{
	_cleanup_free_ char *path = xstrdup("/tmp/kpb-escape-XXXXXX");
	_cleanup_buf_ struct buf all = {0};
	int fd = mkstemp(path);

	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		struct json_object *o = json_object_new_object();
		_cleanup_buf_ struct buf csv = {0}, html = {0}, shown = {0};
		_cleanup_free_ char *line = NULL;

		json_object_object_add(o, "t", json_text(hostile[i]));
		line = json_line(o);
		buf_add_json(&shown, o, false);
		buf_add_csv(&csv, hostile[i]);
		buf_add_html(&html, hostile[i]);
		add_hex(&all, hostile[i], " ");
		add_hex(&all, buf_str(&csv), " ");
		add_hex(&all, buf_str(&html), " ");
		add_hex(&all, line, " ");
		add_hex(&all, shown.s, "\n");
		json_object_put(o);
	}
	ok(fd >= 0 && write(fd, all.s, all.len) == (ssize_t)all.len, "%zu texts", ARRAY_SIZE(hostile));
	is_int(proc_ok(ARGV("/usr/bin/python3", "-c", reader_py, path), NULL, NULL), 0, "Python reads each as it was");
	close(fd);
	unlink(path);
}

/* Every code point there is, after Python's tables of them. */
static void test_all_characters(void)
{
	static const char *const check =
		"import sys, unicodedata\n"
		"text = open(sys.argv[1], encoding='utf-8', newline='').read()\n"
		"bidi = {'LRE', 'RLE', 'PDF', 'LRO', 'RLO', 'LRI', 'RLI', 'FSI', 'PDI'}\n"
		"sys.exit(' '.join('%04x' % ord(c) for c in set(text) if unicodedata.category(c) in ('Cc', 'Cs', 'Zl', 'Zp')\n"
		"                  or unicodedata.bidirectional(c) in bidi) or len(set(text)) < 100000)\n";
	_cleanup_free_ char *path = xstrdup("/tmp/kpb-escape-XXXXXX");
	_cleanup_buf_ struct buf in = {0}, out = {0};
	int fd = mkstemp(path);

	for (uint32_t c = 1; c <= 0x10ffff; c++) {
		if (c >= 0x800)
			buf_addc(&in, (char)(c < 0x10000 ? 0xe0 | c >> 12 : 0xf0 | c >> 18));
		if (c >= 0x10000)
			buf_addc(&in, (char)(0x80 | (c >> 12 & 63)));
		if (c >= 0x80)
			buf_addc(&in, (char)(c < 0x800 ? 0xc0 | c >> 6 : 0x80 | (c >> 6 & 63)));
		buf_addc(&in, (char)(c < 0x80 ? c : 0x80 | (c & 63)));
	}
	buf_add_term(&out, in.s);
	ok(fd >= 0 && write(fd, out.s, out.len) == (ssize_t)out.len, "all code points, for a terminal");
	is_int(proc_ok(ARGV("/usr/bin/python3", "-c", check, path), NULL, NULL), 0, "none that drives it is left");
	close(fd);
	unlink(path);
}

/* git's own word on what it takes. */
static void test_git_agrees(void)
{
	static const char *const names[] = {"main",  "net-next", "a/b",	 "--help", "-",		  "@",
					    "a@{1}", "HEAD",	 "a..b", "a b",	   "a.lock",	  "a.",
					    ".a",    "a//b",	 "a~",	 "a\x7f",  "\xc3\xa9",	  "$(id)",
					    "a'b",   "a\"b",	 "a;b",	 "{a,b}",  "refs/heads/x"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *ref = git_branch_ref(names[i]), *wanted = xasprintf("refs/heads/%s", names[i]);
		bool takes = proc_ok(ARGV("git", "check-ref-format", wanted), NULL, NULL) == 0;

		ok(takes ? streq(ref, wanted) : !ref, "'%s' is %s branch for git, too", names[i], ref ? "a" : "no");
	}
}

/* A hostile name makes one file in the folder, and no other anywhere. */
static void test_files(void)
{
	_cleanup_free_ char *dir = xstrdup("/tmp/kpb-escape-XXXXXX"), *inner = NULL;
	static const char *const names[] = {"..",      ".", "/",    "../x", "/etc/x", "a/../../b", "-rf", "--",
					    ".hidden", "~", "a\nb", BAD,    "con:",   "*",	   ""};

	inner = xasprintf("%s/in", mkdtemp(dir));
	fs_mkdir_p(inner);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_strv_ struct strv in = {0}, out = {0};
		_cleanup_buf_ struct buf name = {0};
		_cleanup_free_ char *path = NULL;

		buf_add_filename(&name, names[i], 40);
		path = xasprintf("%s/%s", inner, buf_str(&name));
		is_int(fs_write_atomic(path, "x", 1), 0, "a file '%s'", buf_str(&name));
		fs_list(inner, &in);
		fs_list(dir, &out);
		ok(in.n == 1 && out.n == 1 && streq(in.v[0], buf_str(&name)), "one file, in its folder");
		unlink(path);
	}
	fs_rm_rf(dir);
}

/* What is shown of a URL has the same server for Python's urllib, and no login. */
static void test_urllib(void)
{
	static const char *const check =
		"import sys, urllib.parse\n"
		"a, b = [urllib.parse.urlsplit(x) for x in sys.argv[1:3]]\n"
		"assert a.hostname == b.hostname == sys.argv[3] and a.path == b.path and a.port == b.port, (a, b)\n"
		"assert b.password is None and (b.username is None or b.scheme.endswith('ssh')), b\n"
		"assert b.scheme not in ('http', 'https') or not b.query, b\n";
	static const char *const urls[] = {"https://example.org/a/b.git",
					   "https://me:pw@example.org:8443/a",
					   "https://me:p%40w@example.org/a?token=x",
					   "https://t%2Fx@example.org/",
					   "ssh://git:pw@example.org:22/x",
					   "smtp://me:pw@example.org:587",
					   "git://example.org/x"};

	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		_cleanup_free_ char *shown = url_shown(urls[i]), *host = url_host(urls[i]);

		is_int(proc_ok(ARGV("/usr/bin/python3", "-c", check, urls[i], shown, host), NULL, NULL), 0,
		       "urllib reads %s", shown);
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
	test_readers();
	test_all_characters();
	test_git_agrees();
	test_files();
	test_urllib();
	return tap_done();
}
