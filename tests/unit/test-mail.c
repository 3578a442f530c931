/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers, addresses and MAINTAINERS. */
#include "reporters/mail.h"
#include "reporters/maintainers.h"
#include "tests/tap.h"

static char *header(const char *name, const char *value)
{
	struct buf b = {0};

	mail_header(&b, name, value);
	return buf_take(&b);
}

static void is_header(const char *value, const char *want, const char *what)
{
	_cleanup_free_ char *got = header("Subject", value);

	is_str(got, want, "%s", what);
}

static size_t longest_line(const char *s)
{
	size_t max = 0;

	for (; *s; s += strcspn(s, "\n") + (s[strcspn(s, "\n")] != 0))
		max = MAX(max, strcspn(s, "\n"));
	return max;
}

static void test_headers(void)
{
	char text[5000];
	_cleanup_free_ char *got = NULL, *many = NULL;

	is_header("short", "Subject: short\n", "a short subject");
	is_header("[linus:master] [net]  2b0cfa6e49:  stress-ng.sockfd.ops_per_sec 6.9% improvement",
		  "Subject: [linus:master] [net]  2b0cfa6e49:  stress-ng.sockfd.ops_per_sec 6.9%\n improvement\n",
		  "a long one is folded before a blank, double blanks stay");
	is_header("a\r\nBcc: x@example.org", "Subject: a  Bcc: x@example.org\n", "no header comes out of a subject");
	is_header("=?utf-8?Q?evil?=", "Subject: =?utf-8?Q?=3D=3Futf=2D8=3FQ=3Fevil=3F=3D?=\n",
		  "an encoded word comes through as text");
	is_header("na\xc3\xafve", "Subject: =?utf-8?Q?na=C3=AFve?=\n", "UTF-8 is encoded");
	is_header("bad \xff byte", "Subject: =?utf-8?Q?bad_=EF=BF=BD_byte?=\n", "what is no UTF-8 is replaced");
	is_header("c1 \xc2\x85 control", "Subject: c1   control\n", "a C1 control is a blank");
	is_header("", "Subject: \n", "an empty value");
	is_header(NULL, "Subject: \n", "none");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	got = header("Subject", text);
	ok(longest_line(got) <= 78, "a word without blanks is split by encoding (%zu columns)", longest_line(got));
	for (size_t i = 0; i + 3 < sizeof(text); i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	many = header("X-kperfbot-reason", text);
	ok(longest_line(many) <= 78, "so are many characters of three bytes (%zu)", longest_line(many));
	ok(!strstr(many, "=E2=82?="), "never inside a character");
}

static void persons(const struct mail_person *p, size_t n, const char *want, const char *what)
{
	_cleanup_buf_ struct buf b = {0};

	mail_header_persons(&b, "Cc", p, n);
	is_str(buf_str(&b), want, "%s", what);
}

static void test_persons(void)
{
	const struct mail_person plain[] = {{"Ann Example", "ann@example.org"}, {"", "netdev@example.org"}};
	const struct mail_person odd[] = {{"Doe, J. \"JD\"", "jd@example.org"}, {"J\xc3\xbcrgen", "j@example.org"},
					  {"Evil\r\nBcc: z", "evil@example.org"}, {"No", "no\r\n@example.org"},
					  {"No", "a@b@example.org"}, {"No", NULL}};
	struct mail_person many[12];

	persons(plain, 2, "Cc: Ann Example <ann@example.org>, netdev@example.org\n", "plain names");
	persons(odd, 6, "Cc: \"Doe, J. \\\"JD\\\"\" <jd@example.org>, =?utf-8?Q?J=C3=BCrgen?= <j@example.org>,\n"
			"\t\"Evil  Bcc: z\" <evil@example.org>\n", "odd names, and addresses that are none");
	persons(odd + 3, 3, "", "nothing where no address is good");
	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = plain[0];
	_cleanup_buf_ struct buf b = {0};
	mail_header_persons(&b, "Cc", many, ARRAY_SIZE(many));
	ok(longest_line(b.s) <= 78, "a long list is folded");
}

static void is_parsed(const char *text, const char *name, const char *address)
{
	_cleanup_free_ char *n = NULL, *a = NULL;
	int r = mail_address_parse(text, &n, &a);

	if (!address) {
		is_int(r, -EINVAL, "'%s' is no address", text);
		return;
	}
	ok(r == 0 && streq(n, name) && streq(a, address), "'%s' is <%s>", text, address);
}

static void test_addresses(void)
{
	const char *const globs[] = {"*@example.org", "one@else.example", NULL};

	is_parsed("Ann Example <ann@example.org>", "Ann Example", "ann@example.org");
	is_parsed("\"Doe, \\\"J\" <j@example.org>", "Doe, \"J", "j@example.org");
	is_parsed("netdev@example.org (moderated for non-subscribers)", "", "netdev@example.org");
	is_parsed("  x+y@example.org", "", "x+y@example.org");
	is_parsed("Nobody", NULL, NULL);
	is_parsed("<>", NULL, NULL);
	is_parsed("a@", NULL, NULL);
	is_parsed("a@-x.example", NULL, NULL);
	is_parsed("a b@example.org <c d@example.org>", NULL, NULL);
	ok(mail_allowed("Ann@Example.ORG", globs), "the allow-list does not look at case");
	ok(!mail_allowed("two@else.example", globs), "who is not in it is not allowed");
	ok(!mail_allowed("ann@example.org", NULL), "an empty one allows nobody");
	ok(!mail_allowed("ann@example.org.evil.example", globs), "a glob fits the whole address");
}

/* Addresses that an allow-list of *@example.org seems to let through, and which lead or might lead elsewhere. */
static void test_address_tricks(void)
{
	static const char *const bad[] = {
		"victim%evil.example@example.org", "evil.example!victim@example.org",
		"victim@evil.example@example.org", "\"victim@evil.example\"@example.org",
		"@evil.example:victim@example.org", "victim@evil.example,x@example.org",
		"victim@evil.example x@example.org", "victim(@evil.example)@example.org", "|sh@example.org",
		"/var/mail/x@example.org", "`id`@example.org", "-fx@example.org",
		"x@example.org\r\nRCPT TO:<victim@evil.example>", "x@example.org>", "<x@example.org",
		"vic\xc5\xa5im@example.org", "x@ex\xd0\xb0mple.org", "x\t@example.org", "x@example.org.",
		"x@-example.org", ".x@example.org", "x..y@example.org", "=?utf-8?Q?x?=@example.org", "x@[127.0.0.1]",
		"@example.org", "x@", "x"};
	static const char *const globs[] = {"*@example.org", "*", NULL},
			  *const careless[] = {"*example.org", "example.org", "*@example.*", NULL};
	static const char *const good[] = {"o'brien@example.org", "a+b=c@example.org", "x_y.z@example.org",
					   "X@EXAMPLE.ORG"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		ok(!mail_allowed(bad[i], globs), "not let through: %zu", i);
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		ok(mail_allowed(good[i], globs), "let through: %s", good[i]);
	ok(!mail_allowed("x@evil-example.org", careless), "a glob without @ lets nobody through");
	ok(mail_allowed("x@example.org", careless), "one with it does");
	ok(!mail_allowed("a@evil.example.org", careless), "a star stays in its half");
}

/* What a tree may name, and what makes software act. */
static void test_acting(void)
{
	static const char *const bad[] = {
		"linux-kernel+subscribe", "linux-kernel+UnSubscribe", "list-request", "list-owner", "owner-list",
		"list-bounces", "list-join", "list-leave", "list-confirm+0123abcd", "list-help", "list-admin",
		"list-subscribe-victim=evil.example", "a=b", "list-bounces+x", "majordomo", "Majordomo", "listserv",
		"mailer-daemon", "postmaster", "postmaster+x", "abuse", "root", "list+confsub-1", "x-sub.1",
		"list-accept-1", "12345-done", "control", "sympa", "bugzilla-daemon", "request-x"};
	static const char *const good[] = {"ann", "linux-kernel", "netdev", "ann+lists", "jean-paul", "o'brien",
					   "security", "root.ann", "x+y", "kernel-team", "rust-for-linux", "admiral",
					   "helper", "subscriber", "iommu", "mptcp", "u-boot"};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_free_ char *a = xasprintf("%s@lists.example.org", bad[i]);

		ok(mail_address_ok(a) && mail_address_acts(a), "acts: %s", a);
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_free_ char *a = xasprintf("%s@subscribe-help.example.org", good[i]);

		ok(mail_address_ok(a) && !mail_address_acts(a), "a person or a list: %s", a);
	}
}

static void test_dates(void)
{
	_cleanup_buf_ struct buf b = {0};

	mail_date(&b, 1712130833ULL * USEC_PER_SEC);
	is_str(b.s, "Wed, 03 Apr 2024 07:53:53 +0000", "Date:");
	buf_clear(&b);
	mail_ctime(&b, 1712130833ULL * USEC_PER_SEC);
	is_str(b.s, "Wed Apr  3 07:53:53 2024", "mbox date");
}

static void test_body(void)
{
	_cleanup_buf_ struct buf b = {0}, many = {0};
	char long_line[3000];

	mail_body(&b, "a\r\nb\x1b[31m\tc\xff", strlen("a\r\nb\x1b[31m\tc\xff"));
	is_str(b.s, "a\nb?[31m\tc\xef\xbf\xbd\n", "control characters and bad bytes");
	buf_clear(&b);
	memset(long_line, 'y', sizeof(long_line));
	mail_body(&b, long_line, sizeof(long_line));
	is_int(longest_line(b.s), 998, "no line over 998 bytes");
	ok(startswith(b.s + 998, "\n    y"), "the rest of a broken line is indented");
	buf_clear(&b);
	memset(long_line, '\n', sizeof(long_line));
	for (int i = 0; i < 300; i += 3)
		memcpy(long_line + 10 * i, "a line", 6);
	for (int i = 0; i < 80; i++)
		buf_add(&many, long_line, sizeof(long_line));
	mail_body(&b, many.s, many.len);
	ok(b.len <= MAIL_BODY_MAX && b.len > MAIL_BODY_MAX - 2000, "no body is longer than %u (%zu)", MAIL_BODY_MAX,
	   b.len);
	ok(endswith(b.s, "\n[The rest is left out: it is too long for a mail.]\n"), "and it says so");
}

static const char maintainers_text[] =
	"List of maintainers\n\tM: Not Me <not@example.org>\n\nMaintainers List\n----------------\n\n"
	"NETWORKING [GENERAL]\nM:\tDavid Example <david@example.org>\nM:\tNoAddress\nR:\tRita Example <rita@example.org>\n"
	"L:\tnetdev@example.org\nS:\tMaintained\nF:\tnet/\nF:\tdrivers/net/*\nX:\tnet/wireless/\n\n"
	"UNIX SOCKETS\nM:\tKim \"the unix\" Example <kim@example.org>\nL:\tclosed@example.org (subscribers-only)\n"
	"L:\tnetdev@example.org (moderated for non-subscribers)\nF:\tnet/unix/\nF:\tinclude/net/af_unix.h\n\n"
	"WIRELESS\nM:\tWill Example <will@example.org>\nF:\tnet/wireless\nN:\twifi[^/]*\\.c$\n\n"
	"PAGE POOL\nM:\tPia Example <pia@example.org>\nF:\tnet/core/page_pool.c\nK:\t\\bpage_pool_[a-z]+\\(\n\n"
	"BAD PATTERNS\nM:\tBad Example <bad@example.org>\nN:\t((((\nN:\t(a*){1,9999}\nK:\t[\n\n"
	"THE REST\nM:\tLast Example <last@example.org>\nL:\tlkml@example.org\nF:\t*\nF:\t*/\n";

/* "M david@example.org, ..." for paths in a blank-separated list */
static char *who(const char *list, const char *changed)
{
	_cleanup_strv_ struct strv paths = {0};
	_cleanup_(maintainers_release) struct maintainers m = {0};
	_cleanup_free_ char *copy = xstrdup(list);
	struct buf b = {0};

	for (char *save = NULL, *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save))
		strv_add(&paths, p);
	maintainers_match(maintainers_text, strlen(maintainers_text), &paths, changed, &m);
	for (size_t i = 0; i < m.n; i++)
		buf_addf(&b, "%s%c %.*s", i ? ", " : "", "MRL"[m.v[i].role], (int)strcspn(m.v[i].address, "@"),
			 m.v[i].address);
	return buf_take(&b);
}

static void is_who(const char *paths, const char *changed, const char *want)
{
	_cleanup_free_ char *got = who(paths, changed);

	is_str(got, want, "%s%s%s", paths, changed ? " with " : "", changed ? changed : "");
}

static void test_maintainers(void)
{
	is_who("net/unix/garbage.c", NULL, "M kim, L netdev, M david, R rita, L lkml");
	is_who("net/ipv4/tcp.c", NULL, "M david, R rita, L netdev, L lkml");
	is_who("drivers/net/veth.c", NULL, "M david, R rita, L netdev, L lkml");
	is_who("drivers/net/wireless/x.c", NULL, "L lkml");
	is_who("net/wireless/core.c", NULL, "M will, L lkml");
	is_who("drivers/foo/wifi_main.c", NULL, "M will, L lkml");
	is_who("mm/slab.c", "x = page_pool_alloc(y);\n", "M pia, L lkml");
	is_who("mm/slab.c", "x = page_pool;\n", "L lkml");
	is_who("net/core/page_pool.c net/unix/scm.c", NULL, "M pia, M kim, L netdev, M david, R rita, L lkml");
	is_who("", NULL, "");
	ok(maintainers_path_match("*/net/*", "drivers/net/a.c"), "a star in front");
	ok(!maintainers_path_match("net/*", "net/core/a.c"), "a star stays in its folder");
	ok(maintainers_path_match("drivers/net/ethernet/*/x?.h", "drivers/net/ethernet/intel/x1.h"), "question mark");
	ok(!maintainers_path_match("", "a"), "an empty pattern fits nothing");
	ok(maintainers_path_match("a*a*a*a*a*b/", "aaaaaaaaaaaaaaaaaaaaaaaab/x"), "many stars");
}

int main(void)
{
	test_headers();
	test_persons();
	test_addresses();
	test_address_tricks();
	test_acting();
	test_dates();
	test_body();
	test_maintainers();
	return tap_done();
}
