/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any text by any way out: what comes out is what the way's readers take, and a second look finds nothing left
 * to hide. */
#include "lib/csv.h"
#include "lib/escape.h"
#include "reporters/mail.h"
#include "tests/fuzz/check.h"

#include <json-c/json.h>

/* Plain characters and those of also. */
static bool plain(const char *s, const char *also)
{
	enum utf8_class class;

	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_next(s, left, &class, NULL);
		if (class != UTF8_PLAIN && !strchr(also, *s))
			return false;
	}
	return true;
}

static void check_term(const char *s)
{
	_cleanup_free_ char *once = term_safe(s), *twice = term_safe(once), *url = url_shown(s),
			    *again = url_shown(url),
			    *ref = git_branch_ref(s);
	_cleanup_buf_ struct buf lines = {0}, shell = {0}, name = {0};

	FUZZ_CHECK(plain(once, "") && streq(once, twice));
	FUZZ_CHECK(plain(url, "") && streq(url, again) && !url_has_secret(url));
	buf_add_term_lines(&lines, s);
	FUZZ_CHECK(plain(buf_str(&lines), "\n\t"));
	buf_add_shell(&shell, s);
	FUZZ_CHECK(plain(buf_str(&shell), "\n\t") && shell.len >= 1);
	buf_add_filename(&name, s, 20);
	FUZZ_CHECK(name.len && name.len <= 20 && !strchr(name.s, '/') && *name.s != '.' && *name.s != '-');
	FUZZ_CHECK(!ref || (startswith(ref, "refs/heads/") && !strpbrk(ref, " :*?[\n")));
}

static void check_csv(const char *s)
{
	_cleanup_buf_ struct buf b = {0};
	struct csv c;
	double number;

	buf_add_csv(&b, s);
	if (!b.len)
		return;
	csv_init(&c, "cell", b.s, b.len);
	if (csv_next(&c) == 1) {
		FUZZ_CHECK(c.n == 1 && utf8_valid(c.field[0]));
		FUZZ_CHECK(!*c.field[0] || !strchr("=+-@\t\r\n", *c.field[0]) ||
			   parse_double(c.field[0], &number) == 0);
		for (const char *p = c.field[0]; *p; p++)
			FUZZ_CHECK((unsigned char)*p >= 0x20 || *p == '\n' || *p == '\t');
	}
	csv_release(&c);
}

static void check_json(const char *s)
{
	struct json_object *o = json_object_new_object(), *back;
	_cleanup_buf_ struct buf b = {0};
	_cleanup_free_ char *line = NULL;

	json_object_object_add(o, s, json_text(s));
	buf_add_json(&b, o, true);
	line = json_line(o);
	FUZZ_CHECK(plain(b.s, "\n") && utf8_valid(line) && !strchr(line, '\n'));
	back = json_tokener_parse(b.s);
	FUZZ_CHECK(json_object_is_type(back, json_type_object) && json_object_object_length(back) == 1);
	json_object_put(back);
	json_object_put(o);
}

static void check_mail(const char *s, const uint8_t *data, size_t size)
{
	_cleanup_buf_ struct buf body = {0}, head = {0}, html = {0};
	size_t column = 0;

	mail_body(&body, (const char *)data, size);
	FUZZ_CHECK(plain(buf_str(&body), "\n\t"));
	for (size_t i = 0; i < body.len; i++) {
		column = body.s[i] == '\n' ? 0 : column + 1;
		FUZZ_CHECK(column <= MAIL_LINE_MAX);
	}
	mail_header(&head, "Subject", s);
	mail_header_persons(&head, "To", &(struct mail_person){s, "a@example.org"}, 1);
	FUZZ_CHECK(plain(head.s, "\n\t"));
	buf_add_html(&html, s);
	FUZZ_CHECK(plain(buf_str(&html), "\n\t") && !strpbrk(buf_str(&html), "<>\"'"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *s = xmalloc(size + 1);

	if (size)
		memcpy(s, data, size);
	s[size] = 0;
	check_term(s);
	check_csv(s);
	check_json(s);
	check_mail(s, data, size);
	return 0;
}
