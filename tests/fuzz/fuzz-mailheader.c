/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a subject, a name, an address, a body: headers stay one header of plain ASCII in lines of legal length,
 * and a plain subject comes back when the line ends are taken out. */
#include "reporters/mail.h"
#include "tests/fuzz/parser.h"

static void check_header(const struct buf *b, const char *name)
{
	size_t column = 0, n = strlen(name);

	FUZZ_CHECK(b->len > n && !memcmp(b->s, name, n) && b->s[b->len - 1] == '\n');
	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = b->s[i];

		FUZZ_CHECK(c < 0x7f && (c >= 0x20 || c == '\n' || c == '\t'));
		column = c == '\n' ? 0 : column + 1;
		FUZZ_CHECK(column <= MAIL_LINE_MAX);
		/* every line but the last is followed by one that goes on with more than blanks */
		if (c == '\n' && i + 1 < b->len)
			FUZZ_CHECK((b->s[i + 1] == ' ' || b->s[i + 1] == '\t') &&
				   b->s[i + 1 + strspn(b->s + i + 1, " \t")] != '\n');
	}
}

static void check_plain(const char *text)
{
	_cleanup_buf_ struct buf b = {0};
	size_t k = 0;

	mail_header(&b, "Subject", text);
	check_header(&b, "Subject: ");
	if (strlen(text) > 800 || strstr(text, "=?") || text[0] == ' ' || !*text || text[strlen(text) - 1] == ' ')
		return;
	for (const char *p = text; *p; p++)
		if (*p < 0x20 || *p >= 0x7f)
			return;
	for (size_t i = 0; i < b.len; i++)
		if (b.s[i] != '\n')
			b.s[k++] = b.s[i];
	FUZZ_CHECK(k == strlen(text) + strlen("Subject: ") &&
		   !memcmp(b.s + strlen("Subject: "), text, k - strlen("Subject: ")));
}

static void check_persons(const char *text)
{
	_cleanup_free_ char *name = NULL, *address = NULL;
	_cleanup_buf_ struct buf b = {0};
	struct mail_person p[3] = {{text, "a@example.org"}, {"B", text}, {text, "c@example.org"}};

	mail_header_persons(&b, "Cc", p, 3);
	check_header(&b, "Cc: ");
	FUZZ_CHECK(strstr(b.s, "a@example.org") && strstr(b.s, "c@example.org"));
	if (mail_address_parse(text, &name, &address) == 0)
		FUZZ_CHECK(mail_address_ok(address) && !strpbrk(address, " \r\n<>,;:\"\\"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = xstrndup((const char *)data, size);
	_cleanup_buf_ struct buf body = {0};
	size_t column = 0;

	check_plain(text);
	check_persons(text);
	mail_body(&body, (const char *)data, size);
	for (size_t i = 0; i < body.len; i++) {
		unsigned char c = body.s[i];

		column = c == '\n' ? 0 : column + 1;
		FUZZ_CHECK(column <= MAIL_LINE_MAX && (c >= 0x20 || c == '\n' || c == '\t') && c != 0x7f);
	}
	return 0;
}
