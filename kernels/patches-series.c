/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernels/patches-series.h"
#include "lib/buf.h"
#include "lib/escape.h"

#define MAX_NUMBER 9999
#define MAX_NAMED 10            /* in a message */
#define MAX_GROUPS 50           /* versions; what has more is a list's archive */

/* ---- subjects ---- */

/* "Re: ", "RE[2]: ", "AW: ": how long, 0: none. Two letters that kernel subjects begin with, too, count in front of
 * brackets only. */
static size_t answer_prefix(const char *s)
{
	static const struct { const char *word; bool unsure; } words[] = {
		{"re", false}, {"aw", false}, {"antw", false}, {"fwd", false}, {"\xe5\x9b\x9e\xe5\xa4\x8d", false},
		{"\xe7\xad\x94\xe5\xa4\x8d", false}, {"fw", true}, {"sv", true}, {"wg", true}, {"vs", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *p = s + strlen(words[i].word);

		if (strncasecmp(s, words[i].word, strlen(words[i].word)))
			continue;
		if (*p == '[' || *p == '^') {
			p += 1 + strspn(p + 1, "0123456789");
			p += *p == ']';
		}
		p += strspn(p, " ");
		if (*p == ':')
			p++;
		else if (startswith(p, "\xef\xbc\x9a")) /* a full-width colon */
			p += 3;
		else
			continue;
		p += strspn(p, " \t");
		if (!words[i].unsure || *p == '[')
			return (size_t)(p - s);
	}
	return 0;
}

/* "v2", "V2.1" */
static bool read_version(const char *s, double *ret)
{
	double v;

	if ((*s != 'v' && *s != 'V') || s[1] < '0' || s[1] > '9' || strspn(s + 1, "0123456789.") != strlen(s + 1) ||
	    strlen(s) > 8 || parse_double(s + 1, &v) < 0)
		return false;
	*ret = v;
	return true;
}

/* "2/3", "02/24", "1/3v2" */
static bool read_number(const char *s, struct patch_subject *p)
{
	size_t n = strspn(s, "0123456789"), k;
	double version;

	if (!n || n > 4 || s[n] != '/' || !(k = strspn(s + n + 1, "0123456789")) || k > 4)
		return false;
	if (s[n + 1 + k] && !read_version(s + n + 1 + k, &version))
		return false;
	if (s[n + 1 + k])
		p->version = version;
	p->numbered = true;
	p->number = (unsigned)strtoul(s, NULL, 10);
	p->total = (unsigned)strtoul(s + n + 1, NULL, 10);
	return true;
}

static void read_token(const char *s, struct patch_subject *p)
{
	static const char *const with_version[] = {"patches", "patch", "rfc", "resend"};

	if (read_version(s, &p->version) || (!p->numbered && read_number(s, p)))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(with_version); i++) {
		const char *w = with_version[i], *behind = s + strlen(w);

		if (strncasecmp(s, w, strlen(w)))
			continue;
		p->rfc |= streq(w, "rfc");
		p->resend |= streq(w, "resend");
		behind += strspn(behind, "-_/");
		(void)read_version(behind, &p->version);
		p->rfc |= !strcasecmp(behind, "rfc");
		p->resend |= !strcasecmp(behind, "resend");
		return;
	}
}

static void read_brackets(const char *s, size_t n, struct patch_subject *p)
{
	_cleanup_free_ char *copy = xstrndup(s, n);

	for (char *save = NULL, *w = strtok_r(copy, " ,\t", &save); w; w = strtok_r(NULL, " ,\t", &save))
		read_token(w, p);
}

void patch_subject_parse(const char *subject, struct patch_subject *ret)
{
	const char *s = subject;

	*ret = (struct patch_subject){.version = 1};
	for (;;) {
		size_t k;

		s += strspn(s, " \t");
		k = answer_prefix(s);
		if (k) {
			ret->answer = true;
			s += k;
		} else if (*s == '[' && strchr(s, ']')) {
			k = strcspn(s, "]");
			read_brackets(s + 1, k - 1, ret);
			s += k + 1;
		} else {
			break;
		}
	}
	ret->rest = s;
}

/* ---- a mailbox ---- */

struct mail_item {
	const struct series_mail *m;
	struct patch_subject s;
	ssize_t parent;                 /* what it answers, -1: not here */
	bool out;                       /* none of the series */
};
struct group {
	struct patch_subject s;
	size_t patches, first;          /* how many; a mail of it */
	bool version;                   /* of the series that is wanted */
};
struct series_box {
	const char *name;
	struct mail_item *v;
	size_t n;
	bool listed;
	struct group *g;
	size_t n_groups, cap_groups;
	struct buf note;
};

static int refuse_series(const struct series_box *b, const char *fmt, ...) _printf_(2, 3);
static int refuse_series(const struct series_box *b, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	return err_set(-ENOTSUP, "patch series '%s' %s", b->name, text);
}

static bool is_patch(const struct mail_item *x) { return !x->out && (!x->s.numbered || x->s.number); }

static bool same_version(const struct patch_subject *a, const struct patch_subject *b)
{
	return a->rfc == b->rfc && a->resend == b->resend && a->version == b->version;
}

static bool same_group(const struct patch_subject *a, const struct patch_subject *b)
{
	return same_version(a, b) && a->numbered == b->numbered && a->total == b->total;
}

/* "[RFC PATCH v2 n/3]" */
static void add_group(struct buf *out, const struct patch_subject *s)
{
	buf_addf(out, "[%s%sPATCH", s->rfc ? "RFC " : "", s->resend ? "RESEND " : "");
	if (s->version != 1)
		buf_addf(out, " v%g", s->version);
	if (s->numbered)
		buf_addf(out, " n/%u", s->total);
	buf_adds(out, "]");
}

static void add_subject(struct buf *out, const struct mail_item *x)
{
	_cleanup_free_ char *safe = term_safe(x->m->subject);

	buf_addf(out, "\"%.100s\"", safe);
}

static void find_parents(struct series_box *b)
{
	for (size_t i = 0; i < b->n; i++) {
		b->v[i].parent = -1;
		for (size_t k = 0; *b->v[i].m->parent && k < b->n; k++)
			if (k != i && streq(b->v[k].m->id, b->v[i].m->parent)) {
				b->v[i].parent = (ssize_t)k;
				break;
			}
	}
}

/* A copy that another list delivered. */
static bool is_copy(const struct series_box *b, size_t i)
{
	for (size_t k = 0; *b->v[i].m->id && k < i; k++)
		if (streq(b->v[k].m->id, b->v[i].m->id))
			return true;
	return false;
}

static bool newer(const struct patch_subject *a, const struct patch_subject *b)
{
	return a->version > b->version || (a->version == b->version && a->resend > b->resend);
}

/* An answer with another subject: below a patch or an answer, and no other patch of a series nor a new version. */
static bool is_below(const struct series_box *b, const struct mail_item *x)
{
	const struct mail_item *p = x->parent >= 0 ? &b->v[x->parent] : NULL;

	if (!p)
		return false;
	if (x->s.numbered)
		return p->s.numbered && p->s.number == x->s.number && same_group(&p->s, &x->s);
	if (newer(&x->s, &p->s) && streq(x->s.rest, p->s.rest))
		return false;
	return p->s.answer || !p->s.numbered || p->s.number;
}

static int no_diff(const struct series_box *b, size_t i)
{
	const struct series_mail *m = b->v[i].m;
	_cleanup_free_ char *file = term_safe(m->file), *subject = term_safe(m->subject);

	return err_set(-ENOTSUP, "patch series '%s': mail %zu (%s%s%.120s%s) %s", b->name, i + 1, file,
		       *subject ? ", \"" : "", subject, *subject ? "\"" : "",
		       m->has_author ? "has no diff in it" : "is no mail as git format-patch writes it");
}

/* Marks what is none of the series; refuses a patch that lost its diff. */
static int sort_out(struct series_box *b)
{
	size_t diffs = 0;

	find_parents(b);
	for (size_t i = 0; i < b->n; i++) {
		struct mail_item *x = &b->v[i];
		bool cover = x->s.numbered && !x->s.number;

		x->out = x->s.answer || is_copy(b, i) || is_below(b, x);
		diffs += x->out && x->m->has_diff && !is_copy(b, i);
		if (x->out || x->m->has_diff || cover)
			continue;
		if (x->s.numbered || !*x->m->parent)
			return no_diff(b, i);
		x->out = true;
	}
	if (diffs)
		buf_addf(&b->note, "%s%zu answer%s with a diff passed over", b->note.len ? "; " : "", diffs,
			 diffs == 1 ? "" : "s");
	return 0;
}

static void find_groups(struct series_box *b)
{
	for (size_t i = 0; i < b->n; i++) {
		size_t k = 0;

		if (b->v[i].out)
			continue;
		while (k < b->n_groups && !same_group(&b->g[k].s, &b->v[i].s))
			k++;
		if (k == b->n_groups) {
			GROW(b->g, b->n_groups, b->cap_groups);
			b->g[b->n_groups++] = (struct group){.s = b->v[i].s, .first = i};
		}
		b->g[k].patches += is_patch(&b->v[i]);
	}
	/* "[PATCH 0/1]" above a "[PATCH]" is its cover letter and no series */
	for (size_t k = 0; k < b->n_groups; k++)
		if (b->n_groups > 1 && !b->g[k].patches && b->g[k].s.total <= 1)
			b->g[k--] = b->g[--b->n_groups];
}

static bool in_group(const struct series_box *b, size_t i, const struct group *g)
{
	return !b->v[i].out && same_group(&b->v[i].s, &g->s);
}

/* Versions of one series have a subject in common. */
static bool related(const struct series_box *b, const struct group *g, const struct group *h)
{
	for (size_t i = 0; i < b->n; i++)
		for (size_t k = 0; in_group(b, i, g) && k < b->n; k++)
			if (in_group(b, k, h) && *b->v[i].s.rest && streq(b->v[i].s.rest, b->v[k].s.rest))
				return true;
	return false;
}

/* Marks the groups that are versions of one series with g: by a subject in common, or over others. */
static void find_versions(struct series_box *b, struct group *g)
{
	g->version = true;
	for (size_t k = 0; k < b->n_groups; k++)
		if (!b->g[k].version && b->g[k].s.rfc == g->s.rfc && related(b, g, &b->g[k]))
			find_versions(b, &b->g[k]);
}

static int several(const struct series_box *b)
{
	_cleanup_buf_ struct buf list = {0};

	for (size_t k = 0; k < b->n_groups && k < MAX_NAMED; k++) {
		buf_addf(&list, "%s", k ? ", " : "");
		add_group(&list, &b->g[k].s);
		buf_addf(&list, " (%zu patch%s, ", b->g[k].patches, b->g[k].patches == 1 ? "" : "es");
		add_subject(&list, &b->v[b->g[k].first]);
		buf_adds(&list, ")");
	}
	if (b->n_groups > MAX_NAMED)
		buf_addf(&list, " and %zu more", b->n_groups - MAX_NAMED);
	return refuse_series(
		b,
		"is more than one series: %s. Leave one of them; or list all files in their order in a file "
		"'series'",
		buf_str(&list));
}

/* The newest version, where all others are older ones of the same series. */
static int newest_version(struct series_box *b, const struct group **ret)
{
	struct group *best = &b->g[0];

	for (size_t k = 1; k < b->n_groups; k++)
		if (newer(&b->g[k].s, &best->s))
			best = &b->g[k];
	if (b->n_groups > MAX_GROUPS)
		return several(b);
	find_versions(b, best);
	for (size_t k = 0; k < b->n_groups; k++)
		if (&b->g[k] != best && (!b->g[k].version || !newer(&best->s, &b->g[k].s)))
			return several(b);
	for (size_t k = 0; k < b->n_groups; k++) {
		if (&b->g[k] == best)
			continue;
		buf_adds(&b->note, b->note.len ? ", " : "");
		add_group(&b->note, &b->g[k].s);
		buf_addf(&b->note, " (%zu patches) passed over for the newer ", b->g[k].patches);
		add_group(&b->note, &best->s);
	}
	*ret = best;
	return 0;
}

/* All numbers once, from 1 to the total. */
static int check_numbers(const struct series_box *b, const struct group *g)
{
	_cleanup_free_ size_t *where = xcalloc(MAX_NUMBER + 1, sizeof(*where));
	_cleanup_buf_ struct buf missing = {0}, name = {0};
	unsigned n = 0;

	add_group(&name, &g->s);
	for (size_t i = 0; i < b->n; i++) {
		unsigned number = b->v[i].s.number;

		if (!in_group(b, i, g) || !number)
			continue;
		if (number > g->s.total)
			return refuse_series(b, "has a patch %u/%u, which is no number of a series", number,
					     g->s.total);
		if (where[number])
			return refuse_series(b, "has %u/%u of %s twice: mails %zu and %zu", number, g->s.total,
					     buf_str(&name), where[number], i + 1);
		where[number] = i + 1;
	}
	for (unsigned k = 1; k <= g->s.total; k++)
		if (!where[k] && n++ < MAX_NAMED)
			buf_addf(&missing, "%s%u/%u", missing.len ? ", " : "", k, g->s.total);
	if (n > MAX_NAMED)
		buf_addf(&missing, " and %u more", n - MAX_NAMED);
	return n ? refuse_series(b,
				 "is not whole: of %s %s %s missing (what a file 'series' lists is applied as it is)",
				 buf_str(&name), buf_str(&missing), n == 1 ? "is" : "are")
		 : 0;
}

/* Patches without numbers in a list's mailbox are nobody's series; git format-patch -N writes mails without ids. */
static int check_unnumbered(const struct series_box *b, const struct group *g)
{
	_cleanup_buf_ struct buf list = {0};
	size_t n = 0, ids = 0, boxes[2] = {SIZE_MAX, 0};

	for (size_t i = 0; i < b->n; i++) {
		if (!in_group(b, i, g))
			continue;
		ids += *b->v[i].m->id != 0;
		boxes[0] = MIN(boxes[0], b->v[i].m->file_index);
		boxes[1] = MAX(boxes[1], b->v[i].m->file_index);
		if (n++ < MAX_NAMED) {
			buf_adds(&list, n > 1 ? ", " : "");
			add_subject(&list, &b->v[i]);
		}
	}
	if (n < 2 || !ids || boxes[0] != boxes[1])
		return 0;
	return refuse_series(b, "has %zu patches without numbers in one mailbox, which nobody can put in order: %s", n,
		      buf_str(&list));
}

static void take_group(const struct series_box *b, const struct group *g_or_null, size_t *order, size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < b->n; i++)
		if (is_patch(&b->v[i]) && (!g_or_null || in_group(b, i, g_or_null)))
			order[(*ret_n)++] = i;
	/* by number, stable; there are few */
	for (size_t i = 1; g_or_null && i < *ret_n; i++)
		for (size_t k = i; k && b->v[order[k - 1]].s.number > b->v[order[k]].s.number; k--) {
			size_t t = order[k];

			order[k] = order[k - 1];
			order[k - 1] = t;
		}
}

/* Files of one patch each, whose order a list tells. */
static bool one_in_each(const struct series_box *b)
{
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < b->n; i++) {
		if (!is_patch(&b->v[i]))
			continue;
		if (b->v[i].m->file_index == last)
			return false;
		last = b->v[i].m->file_index;
	}
	return true;
}

static int pick(struct series_box *b, size_t *order, size_t *ret_n)
{
	const struct group *g = NULL;
	size_t patches = 0;
	int r = sort_out(b);

	if (r < 0)
		return r;
	find_groups(b);
	for (size_t k = 0; k < b->n_groups; k++)
		patches += b->g[k].patches;
	if (!patches)
		return refuse_series(b, "holds no patch");
	if (b->listed && one_in_each(b)) {
		take_group(b, NULL, order, ret_n);
		return 0;
	}
	r = newest_version(b, &g);
	if (r >= 0)
		r = g->s.numbered ? check_numbers(b, g) : check_unnumbered(b, g);
	if (r >= 0)
		take_group(b, g, order, ret_n);
	return r;
}

int series_pick(const char *name, const struct series_mail *mails, size_t n, bool listed, size_t **ret_order,
		size_t *ret_n, char **ret_note)
{
	struct series_box b = {.name = name, .v = xcalloc(n + 1, sizeof(*b.v)), .n = n, .listed = listed};
	_cleanup_free_ size_t *order = xcalloc(n + 1, sizeof(*order));
	size_t taken = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		b.v[i].m = &mails[i];
		patch_subject_parse(mails[i].subject, &b.v[i].s);
	}
	r = pick(&b, order, &taken);
	if (r >= 0) {
		*ret_order = TAKE_PTR(order);
		*ret_n = taken;
		*ret_note = b.note.len ? xstrdup(buf_str(&b.note)) : NULL;
	}
	free(b.v);
	free(b.g);
	buf_release(&b.note);
	return MIN(r, 0);
}
