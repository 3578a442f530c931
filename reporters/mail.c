/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/mail.h"
#include <ctype.h>
#include <fnmatch.h>
#include <strings.h>
#include <time.h>

#define FOLD_AT 78
#define NAME_MAX_BYTES 200
#define VALUE_MAX_BYTES 4000
static const char replacement[] = "\xef\xbf\xbd";

/* Valid UTF-8 without control and hidden characters, blanks at the ends taken off, at most max bytes. */
static char *clean_value(const char *s, size_t max)
{
	struct buf b = {0};
	enum utf8_class class;
	size_t left, n;

	while (isspace((unsigned char)*s))
		s++;
	for (left = strlen(s); left && b.len < max; s += n, left -= n) {
		n = utf8_next(s, left, &class, NULL);
		if (class == UTF8_INVALID)
			buf_adds(&b, replacement);
		else if (class == UTF8_CONTROL)
			buf_addc(&b, ' ');
		else if (class == UTF8_PLAIN)
			buf_add(&b, s, n);
	}
	while (b.len && b.s[b.len - 1] == ' ')
		b.s[--b.len] = 0;
	return buf_take(&b);
}

static bool plain_ascii(const char *s)
{
	if (strstr(s, "=?"))
		return false;
	for (; *s; s++)
		if ((unsigned char)*s >= 0x7f || (unsigned char)*s < 0x20)
			return false;
	return true;
}

static size_t longest_word(const char *s)
{
	size_t max = 0, n = 0;

	for (; *s; s++) {
		n = *s == ' ' ? 0 : n + 1;
		max = MAX(max, n);
	}
	return max;
}

/* RFC 2047 "Q" words, no longer than 75 columns, split between characters only. Only what RFC 2047 section 5 (3) lets
 * stand in a phrase stays bare, so that one form serves subjects and names. */
static void add_encoded(struct buf *out, const char *s, size_t column)
{
	static const char head[] = "=?utf-8?Q?";
	size_t width = 0, left = strlen(s);

	while (left) {
		enum utf8_class class;
		size_t n = utf8_next(s, left, &class, NULL), cost = 0;

		for (size_t i = 0; i < n; i++)
			cost += isalnum((unsigned char)s[i]) || s[i] == ' ' ? 1 : 3;
		if (!width || width + cost + 2 > 75 || column + width + cost + 2 > FOLD_AT) {
			if (width) {
				buf_adds(out, "?=\n ");
				column = 1;
			} else if (column + strlen(head) + cost + 2 > FOLD_AT && column > 1) {
				buf_adds(out, "\n ");
				column = 1;
			}
			buf_adds(out, head);
			width = strlen(head);
		}
		for (size_t i = 0; i < n; i++) {
			unsigned char c = s[i];

			if (c == ' ')
				buf_addc(out, '_');
			else if (c < 0x80 && isalnum(c))
				buf_addc(out, c);
			else
				buf_addf(out, "=%02X", c);
		}
		width += cost;
		s += n;
		left -= n;
	}
	if (width)
		buf_adds(out, "?=");
}

/* Breaks before runs of blanks, so that taking the newlines out gives the very text again. */
static void add_folded(struct buf *out, const char *s, size_t column)
{
	while (*s) {
		size_t blanks = strspn(s, " "), word = strcspn(s + blanks, " ");

		if (blanks && column > 1 && column + blanks + word > FOLD_AT) {
			buf_addc(out, '\n');
			column = 0;
		}
		buf_add(out, s, blanks + word);
		column += blanks + word;
		s += blanks + word;
	}
}

void mail_header(struct buf *out, const char *name, const char *value)
{
	_cleanup_free_ char *v = clean_value(value ? value : "", VALUE_MAX_BYTES);

	buf_addf(out, "%s: ", name);
	if (plain_ascii(v) && longest_word(v) < 900)
		add_folded(out, v, strlen(name) + 2);
	else
		add_encoded(out, v, strlen(name) + 2);
	buf_addc(out, '\n');
}

bool mail_address_ok(const char *a)
{
	/* of RFC 5322's atext all but what has routed mail elsewhere: host!user, user%host, |command, /file */
	static const char local[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.#$&'*+-=?^_{}~";
	static const char host[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
	size_t n, m;

	if (!a)
		return false;
	n = strspn(a, local);
	if (n == 0 || n > 64 || a[n] != '@' || a[0] == '.' || a[0] == '-' || a[n - 1] == '.' || strstr(a, "..") ||
	    strstr(a, "=?"))
		return false;
	m = strspn(a + n + 1, host);
	return m > 0 && m <= 253 && !a[n + 1 + m] && a[n + 1] != '.' && a[n + 1] != '-' && a[n + m] != '.';
}

static bool is_word(const char *s, size_t n, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == n && !strncasecmp(s, *words, n))
			return true;
	return false;
}

/* Mailman, mlmmj, ezmlm, Majordomo, Sympa, LISTSERV; debbugs; RFC 2142, aliases(5). */
bool mail_address_acts(const char *a)
{
	static const char *const offices[] = {
		"majordomo", "listserv", "mailman", "mlmmj", "ezmlm", "sympa", "listmaster", "listar", "ecartis",
		"smartlist", "petidomo", "mailer-daemon", "mailer", "postmaster", "hostmaster", "webmaster", "abuse",
		"noc", "spam", "root", "daemon", "bin", "nobody", "uucp", "usenet", "news", "www-data", "operator",
		"admin", "administrator", "noreply", "no-reply", "devnull", "control", "subscribe", "unsubscribe",
		"subscriptions", NULL};
	static const char *const commands[] = {
		"subscribe", "unsubscribe", "sub", "unsub", "confsub", "confunsub", "request", "owner", "bounce",
		"bounces", "join", "leave", "confirm", "help", "admin", "accept", "reject", "approve", "approval",
		"moderate", "moderator", "editor", "return", "outgoing", "daemon", "close", "done", "control", NULL};
	static const char *const first[] = {"owner", "request", "subscribe", "unsubscribe", "confirm", "bounce",
					    "bounces", "approve", NULL};
	size_t n = strcspn(a, "@"), k = strcspn(a, "@+-");

	if (memchr(a, '=', n) || is_word(a, n, offices) || (k < n && (is_word(a, k, offices) || is_word(a, k, first))))
		return true;
	for (const char *s = a + k; *s == '+' || *s == '-'; s += k) {
		k = strcspn(++s, "@+-.");
		if (is_word(s, k, commands))
			return true;
		k = strcspn(s, "@+-");
	}
	return false;
}

/* "Last, First" in quotes -> Last, First. */
static char *unquote(const char *s, size_t n)
{
	struct buf b = {0};

	while (n && isspace((unsigned char)*s))
		s++, n--;
	while (n && isspace((unsigned char)s[n - 1]))
		n--;
	if (n >= 2 && s[0] == '"' && s[n - 1] == '"') {
		for (size_t i = 1; i + 1 < n; i++) {
			if (s[i] == '\\' && i + 2 < n)
				i++;
			buf_addc(&b, s[i]);
		}
	} else {
		buf_add(&b, s, n);
	}
	return buf_take(&b);
}

int mail_address_parse(const char *text, char **ret_name, char **ret_address)
{
	const char *lt = strrchr(text, '<'), *gt = lt ? strchr(lt, '>') : NULL;
	_cleanup_free_ char *name = NULL, *address = NULL;

	if (gt) {
		name = unquote(text, lt - text);
		address = xstrndup(lt + 1, gt - lt - 1);
	} else {
		text += strspn(text, " \t");
		address = xstrndup(text, strcspn(text, " \t\r\n("));
		name = xstrdup("");
	}
	if (!mail_address_ok(address)) {
		_cleanup_free_ char *shown = term_safe(text);

		return err_set(-EINVAL, "'%.200s' holds no mail address", shown);
	}
	*ret_name = TAKE_PTR(name);
	*ret_address = TAKE_PTR(address);
	return 0;
}

/* Each half on its own: no star reaches over the '@', and "*example.org" does not let evil-example.org through. */
static bool glob_allows(const char *glob, const char *address)
{
	const char *glob_at = strrchr(glob, '@'), *at = strrchr(address, '@');
	_cleanup_free_ char *glob_local = NULL, *local = NULL;

	if (!glob_at)
		return streq(glob, "*");
	glob_local = xstrndup(glob, glob_at - glob);
	local = xstrndup(address, at - address);
	return fnmatch(glob_local, local, FNM_CASEFOLD) == 0 && fnmatch(glob_at + 1, at + 1, FNM_CASEFOLD) == 0;
}

bool mail_allowed(const char *address, const char *const *globs)
{
	if (!mail_address_ok(address))
		return false;
	for (; globs && *globs; globs++)
		if (glob_allows(*globs, address))
			return true;
	return false;
}

/* A display name: bare where it is atoms, quoted where it is ASCII, else encoded. */
static void add_name(struct buf *out, const char *name, size_t column)
{
	static const char atom[] = " abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~";

	if (!plain_ascii(name)) {
		add_encoded(out, name, column);
	} else if (name[strspn(name, atom)] == 0) {
		buf_adds(out, name);
	} else {
		buf_addc(out, '"');
		for (; *name; name++) {
			if (*name == '"' || *name == '\\')
				buf_addc(out, '\\');
			buf_addc(out, *name);
		}
		buf_addc(out, '"');
	}
}

void mail_header_persons(struct buf *out, const char *header, const struct mail_person *p, size_t n)
{
	size_t column = 0, shown = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = clean_value(p[i].name ? p[i].name : "", NAME_MAX_BYTES);
		_cleanup_buf_ struct buf one = {0};
		const char *last;

		if (!mail_address_ok(p[i].address))
			continue;
		if (!shown++) {
			buf_addf(out, "%s: ", header);
			column = strlen(header) + 2;
		} else {
			buf_addc(out, ',');
			column += 1;
		}
		/* 8: the width of the tab that begins a folded line */
		if (*name)
			add_name(&one, name, 8);
		buf_addf(&one, *name ? " <%s>" : "%s", p[i].address);
		if (shown > 1) {
			bool fold = column + 1 + one.len > FOLD_AT;

			buf_adds(out, fold ? "\n\t" : " ");
			column = fold ? 8 : column + 1;
		}
		buf_add(out, one.s, one.len);
		last = strrchr(buf_str(&one), '\n');
		column = last ? strlen(last) : column + one.len;
	}
	if (shown)
		buf_addc(out, '\n');
}

static const char weekday[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char month[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static struct tm utc(usec_t when)
{
	time_t t = when / USEC_PER_SEC;
	struct tm tm = {0};

	gmtime_r(&t, &tm);
	return tm;
}

void mail_date(struct buf *out, usec_t when)
{
	struct tm t = utc(when);

	buf_addf(out, "%s, %02d %s %d %02d:%02d:%02d +0000", weekday[t.tm_wday], t.tm_mday, month[t.tm_mon],
		 t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

void mail_ctime(struct buf *out, usec_t when)
{
	struct tm t = utc(when);

	buf_addf(out, "%s %s %2d %02d:%02d:%02d %d", weekday[t.tm_wday], month[t.tm_mon], t.tm_mday, t.tm_hour,
		 t.tm_min, t.tm_sec, t.tm_year + 1900);
}

/* Cuts what was added since start. */
static void cut_body(struct buf *out, size_t start)
{
	static const char note[] = "[The rest is left out: it is too long for a mail.]\n";
	size_t n = start + MAIL_BODY_MAX - strlen(note);

	while (n > start && out->s[n - 1] != '\n')
		n--;
	out->len = n;
	buf_adds(out, note);
}

void mail_body(struct buf *out, const char *s, size_t len)
{
	static const char indent[] = "\n    ";
	enum utf8_class class;
	size_t column = 0, start = out->len, n;

	for (; len && out->len - start <= MAIL_BODY_MAX; s += n, len -= n) {
		const char *p;
		size_t w;

		n = utf8_next(s, len, &class, NULL);
		if (*s == '\n') {
			buf_addc(out, '\n');
			column = 0;
		}
		if (*s == '\n' || *s == '\r' || class == UTF8_HIDDEN)
			continue;
		p = class == UTF8_INVALID ? replacement : class == UTF8_CONTROL && *s != '\t' ? "?" : s;
		w = p == s ? n : strlen(p);
		if (column + w > MAIL_LINE_MAX) {
			buf_adds(out, indent);
			column = strlen(indent) - 1;
		}
		buf_add(out, p, w);
		column += w;
	}
	if (column)
		buf_addc(out, '\n');
	if (out->len - start > MAIL_BODY_MAX)
		cut_body(out, start);
}
