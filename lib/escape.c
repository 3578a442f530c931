/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/escape.h"
#include "lib/buf.h"

#include <ctype.h>
#include <json-c/json.h>

static const char replacement[] = "\xef\xbf\xbd";

struct range { uint32_t from, to; };
static const struct range hidden[] = { /* sorted; DerivedCoreProperties.txt of Unicode 15, and what the header names */
	{0xad, 0xad}, {0x34f, 0x34f}, {0x61c, 0x61c}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
	{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164}, {0xfdd0, 0xfdef}, {0xfe00, 0xfe0f},
	{0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
	{0xe0000, 0xe0fff},
};

static enum utf8_class class_of(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return UTF8_CONTROL;
	for (size_t i = 0; i < ARRAY_SIZE(hidden) && c >= hidden[i].from; i++)
		if (c <= hidden[i].to)
			return UTF8_HIDDEN;
	return (c & 0xfffe) == 0xfffe ? UTF8_HIDDEN : UTF8_PLAIN;
}

size_t utf8_next(const char *str, size_t left, enum utf8_class *ret_class, uint32_t *ret_c)
{
	const unsigned char *s = (const unsigned char *)str;
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	uint32_t c = n > 1 ? s[0] & (0x7f >> n) : s[0];
	bool good = n && n <= left;

	for (size_t i = 1; good && i < n; i++) {
		good = (s[i] & 0xc0) == 0x80;
		c = c << 6 | (s[i] & 0x3f);
	}
	good = good && !(n == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) &&
	       !(n == 4 && (c < 0x10000 || c > 0x10ffff));
	*ret_class = good ? class_of(c) : UTF8_INVALID;
	if (ret_c)
		*ret_c = good ? c : s[0];
	return good ? n : 1;
}

bool utf8_valid(const char *s)
{
	enum utf8_class class;

	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_next(s, left, &class, NULL);
		if (class == UTF8_INVALID)
			return false;
	}
	return true;
}

/* ---- URLs ---- */

struct url { const char *scheme, *user, *host, *stop; }; /* user..host: "user:password@", empty where there is none */

/* The URL around "://" at sep, in text; it stops before one of ends. With a raw '/' in its password it looks as if it
 * had a bad port: the credentials then go on to the last @. */
static struct url split_url(const char *text, const char *sep, const char *ends)
{
	const char *user = sep + 3, *stop = user + strcspn(user, ends), *path = MIN(user + strcspn(user, "/?#"), stop);
	const char *at = memrchr(user, '@', path - user), *host = at ? at + 1 : user;
	const char *colon = memrchr(host, ':', path - host);

	if (colon && *host != '[' && colon + 1 + strspn(colon + 1, "0123456789") < path) {
		at = memrchr(path, '@', stop - path);
		host = at ? at + 1 : host;
	}
	while (sep > text && (isalnum((unsigned char)sep[-1]) || strchr("+-.", sep[-1])))
		sep--;
	return (struct url){sep, user, host, stop};
}

static bool is_ssh(const struct url *u) { return memmem(u->scheme, u->user - u->scheme, "ssh", 3) != NULL; }
static bool is_http(const struct url *u) { return !strncasecmp(u->scheme, "http", 4); }
static const char *query(const struct url *u) { return is_http(u) ? memchr(u->host, '?', u->stop - u->host) : NULL; }

/* All URLs in s without credentials. */
static char *without_secrets(const char *s, const char *ends)
{
	struct buf b = {0};

	for (const char *sep; (sep = strstr(s, "://"));) {
		struct url u = split_url(s, sep, ends);
		const char *colon = memchr(u.user, ':', u.host - u.user);

		buf_add(&b, s, u.user - s);
		if (u.host > u.user && is_ssh(&u)) {
			buf_add(&b, u.user, (colon ? colon : u.host - 1) - u.user);
			buf_addc(&b, '@');
		}
		s = u.host;
	}
	buf_adds(&b, s);
	return buf_take(&b);
}

static char *text_shown(const char *s) { return without_secrets(s, " \t\r\n'\"<>`\\"); }

/* "me:password@host:path", "https:/me:password@host": what somebody took for the short form of ssh. The colon before
 * the password, and in *ret_at the @ behind it; NULL for "git@host:path" and for paths. */
static char *short_secret(const char *url, char **ret_at)
{
	char *colon = strchr(url, ':');

	*ret_at = strrchr(url, '@');
	if (!colon || *ret_at < colon || memchr(url, '/', colon - url) || memchr(url, '@', colon - url))
		return NULL;
	return colon;
}

bool url_has_secret(const char *url)
{
	const char *sep = strstr(url, "://");
	struct url u;
	char *at;

	if (!sep)
		return short_secret(url, &at) != NULL;
	u = split_url(url, sep, "");
	return (u.host > u.user && (!is_ssh(&u) || memchr(u.user, ':', u.host - u.user))) || query(&u);
}

char *url_shown(const char *url)
{
	_cleanup_free_ char *s = without_secrets(url ? url : "", "");
	char *sep = strstr(s, "://"), *cut, *at;

	if (!sep && (cut = short_secret(s, &at)))
		memmove(cut, at, strlen(at) + 1);
	if (sep) {
		struct url u = split_url(s, sep, "");

		cut = (char *)query(&u);
		if (cut)
			*cut = 0;
	}
	return term_safe(s);
}

char *url_host(const char *url)
{
	const char *sep = strstr(url, "://"), *host = url, *stop = url + strcspn(url, "/"), *at;
	char *s, *end;

	if (sep && !strncasecmp(url, "file:", 5))
		return xstrdup(sep + 3);
	if (sep) {
		struct url u = split_url(url, sep, "");

		host = u.host;
		stop = host + strcspn(host, "/?#");
	} else if (!memchr(url, ':', stop - url)) {
		return xstrdup(url);
	} else if ((at = memrchr(url, '@', stop - url))) { /* user@host:path */
		host = at + 1;
	}
	s = xstrndup(host, stop - host);
	end = *s == '[' ? strchr(s, ']') : NULL;
	end = end ? end + 1 : s + strcspn(s, ":");
	while (end > s && end[-1] == '.')
		end--;
	*end = 0;
	for (char *c = s; *c; c++)
		*c = tolower((unsigned char)*c);
	return s;
}

/* ---- terminal ---- */

static void add_hex(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_addf(b, "\\x%02x", (unsigned char)s[i]);
}

static void add_term(struct buf *b, const char *s, bool lines)
{
	_cleanup_free_ char *clean = text_shown(s);
	enum utf8_class class;

	s = clean;
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_next(s, left, &class, NULL);
		if (*s == '\n' || *s == '\t')
			buf_addc(b, lines ? *s : ' ');
		else if (class == UTF8_PLAIN)
			buf_add(b, s, n);
		else
			add_hex(b, s, n);
	}
}

void buf_add_term(struct buf *b, const char *s) { add_term(b, s, false); }
void buf_add_term_lines(struct buf *b, const char *s) { add_term(b, s, true); }

void buf_add_shown(struct buf *b, const char *s)
{
	_cleanup_buf_ struct buf all = {0};
	enum utf8_class class;
	size_t k = 0, n;

	buf_add_term(&all, s ? s : "");
	if (all.len <= TEXT_SHOWN) {
		buf_add(b, buf_str(&all), all.len);
		return;
	}
	while (k + (n = utf8_next(all.s + k, all.len - k, &class, NULL)) + strlen("...") <= TEXT_SHOWN)
		k += n;
	buf_add(b, all.s, k);
	buf_adds(b, "...");
}

char *term_safe(const char *s)
{
	struct buf b = {0};

	buf_add_term(&b, s ? s : "");
	return buf_take(&b);
}

void term_puts(FILE *out, const char *s)
{
	_cleanup_buf_ struct buf b = {0};

	buf_add_term_lines(&b, s);
	fwrite(buf_str(&b), 1, b.len, out);
}

void term_printf(FILE *out, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	term_puts(out, text);
}

/* ---- CSV, HTML ---- */

static bool is_number(const char *s)
{
	char *end;

	(void)strtod(s, &end);
	return end > s && !*end && !strpbrk(s, "xXnN \t\r\n");
}

/* Also behind hidden characters (readers take a byte order mark off), and in full width. */
static bool is_formula(const char *s)
{
	static const uint32_t first[] = {'=', '+', '-', '@', '\t', '\n', 0xff1d, 0xff0b, 0xff0d, 0xff20};
	enum utf8_class class = UTF8_HIDDEN;
	const char *text = s;
	uint32_t c = 0;

	for (size_t left = strlen(s); left && class == UTF8_HIDDEN;) {
		size_t n = utf8_next(s, left, &class, &c);

		s += n;
		left -= n;
	}
	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		if (c == first[i])
			return !is_number(text);
	return false;
}

static bool is_formula_until(const char *s, const char *ends)
{
	_cleanup_free_ char *part = xstrndup(s, strcspn(s, ends));

	return is_formula(part);
}

void buf_add_csv(struct buf *b, const char *s)
{
	/* where readers end cells who take ; or a tab for the separator: for them no quotes begin at ours */
	static const char other_ends[] = ";\t\n";
	_cleanup_free_ char *clean = text_shown(s);
	_cleanup_buf_ struct buf cell = {0};
	enum utf8_class class;

	s = clean;
	if (is_formula(s))
		buf_addc(&cell, '\'');
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		if (s > clean && strchr(other_ends, s[-1]) && is_formula_until(s, other_ends))
			buf_addc(&cell, '\'');
		n = utf8_next(s, left, &class, NULL);
		if ((class == UTF8_CONTROL && *s != '\n' && *s != '\t') || class == UTF8_INVALID)
			add_hex(&cell, s, n);
		else
			buf_add(&cell, s, n);
	}
	if (!strpbrk(buf_str(&cell), ",\";\t\n")) {
		buf_add(b, buf_str(&cell), cell.len);
		return;
	}
	buf_addc(b, '"');
	for (const char *p = buf_str(&cell); *p; p++) {
		if (*p == '"')
			buf_addc(b, '"');
		buf_addc(b, *p);
	}
	buf_addc(b, '"');
}

static const char *html_entity(char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	default: return NULL;
	}
}

void buf_add_html(struct buf *b, const char *s)
{
	_cleanup_free_ char *clean = text_shown(s);
	enum utf8_class class;

	s = clean;
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_next(s, left, &class, NULL);
		if (class != UTF8_PLAIN && *s != '\n' && *s != '\t')
			buf_adds(b, replacement);
		else if (html_entity(*s))
			buf_adds(b, html_entity(*s));
		else
			buf_add(b, s, n);
	}
}

/* ---- shell, git, files ---- */

/* How many bytes from s on are not printable in quotes either; newline and tab are. */
static size_t unprintable(const char *s, size_t left)
{
	enum utf8_class class;
	size_t k = 0;

	while (k < left) {
		size_t n = utf8_next(s + k, left - k, &class, NULL);

		if (class == UTF8_PLAIN || s[k] == '\n' || s[k] == '\t')
			break;
		k += n;
	}
	return k;
}

void buf_add_shell(struct buf *b, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+@%=";
	size_t left = strlen(s);

	if (left && strspn(s, plain) == left) {
		buf_adds(b, s);
		return;
	}
	buf_addc(b, '\'');
	while (left) {
		size_t k = unprintable(s, left);
		enum utf8_class class;

		if (k) {
			buf_adds(b, "'\"$(printf '");
			for (size_t i = 0; i < k; i++)
				buf_addf(b, "\\%03o", (unsigned char)s[i]);
			buf_adds(b, "')\"'");
		} else if (*s == '\'') {
			buf_adds(b, "'\\''");
			k = 1;
		} else {
			k = utf8_next(s, left, &class, NULL);
			buf_add(b, s, k);
		}
		s += k;
		left -= k;
	}
	buf_addc(b, '\'');
}

/* git-check-ref-format(1): the server that gave the name need not be git's own. */
char *git_branch_ref(const char *branch)
{
	size_t n = branch ? strlen(branch) : 0;

	if (!n || strpbrk(branch, " ~^:?*[\\\x7f") || strstr(branch, "..") || strstr(branch, "//") ||
	    strstr(branch, "@{") || strstr(branch, "/.") || strstr(branch, ".lock/") || *branch == '/' ||
	    *branch == '.' || strchr("/.", branch[n - 1]) || endswith(branch, ".lock"))
		return NULL;
	for (const char *s = branch; *s; s++)
		if ((unsigned char)*s < 0x20)
			return NULL;
	return xasprintf("refs/heads/%s", branch);
}

void buf_add_filename(struct buf *b, const char *s, size_t max)
{
	size_t start = b->len;

	for (; *s && b->len - start < max; s++) {
		bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
			     strchr("-_.", *s);

		if (b->len > start || (plain && *s != '-' && *s != '.'))
			buf_addc(b, plain ? *s : '-');
	}
	if (b->len == start)
		buf_addc(b, '_');
}

/* ---- JSON ---- */

static char *utf8_mended(const char *s)
{
	struct buf b = {0};
	enum utf8_class class;

	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_next(s, left, &class, NULL);
		if (class == UTF8_INVALID)
			buf_adds(&b, replacement);
		else
			buf_add(&b, s, n);
	}
	return buf_take(&b);
}

struct json_object *json_text(const char *s)
{
	_cleanup_free_ char *text = s ? utf8_mended(s) : NULL;

	return text ? json_object_new_string(text) : NULL;
}

char *json_line(struct json_object *o)
{
	return utf8_mended(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
}

/* Outside of strings JSON is ASCII: what is not plain stands within one, keys included. */
void buf_add_json(struct buf *b, struct json_object *o, bool pretty)
{
	const char *s = json_object_to_json_string_ext(o, (pretty ? JSON_C_TO_STRING_PRETTY : JSON_C_TO_STRING_PLAIN) |
							  JSON_C_TO_STRING_NOSLASHESCAPE);
	_cleanup_free_ char *clean = text_shown(s);
	enum utf8_class class;
	uint32_t c;

	s = clean;
	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_next(s, left, &class, &c);
		if (class == UTF8_PLAIN || *s == '\n')
			buf_add(b, s, n);
		else if (class == UTF8_INVALID)
			buf_adds(b, "\\ufffd");
		else if (c < 0x10000)
			buf_addf(b, "\\u%04x", c);
		else
			buf_addf(b, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10), 0xdc00 + ((c - 0x10000) & 0x3ff));
	}
	buf_addc(b, '\n');
}

void json_print(FILE *out, struct json_object *o, bool pretty)
{
	_cleanup_buf_ struct buf b = {0};

	buf_add_json(&b, o, pretty);
	fwrite(b.s, 1, b.len, out);
}
