/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hosts of the runs that are compared, by what each run noted of its own ($RESULT_DIR/host-facts, "key: value"):
 * said
 * only where the two sides differ, or where something could not be set.
 */
#include "reporters/facts.h"
#include "lib/fs.h"

/* A guest may write anything; where a job's own script wrote it, it is some hundred short lines. */
#define FILE_MAX (1u << 20)
#define FACTS_MAX (64u << 10)   /* looked at */
#define LINES_OF_RUN 1000
#define FACTS_OF_SIDE 1000
#define KEY_MAX 64
#define VALUE_SHOWN 90
#define LINES_MAX 12

struct fact { char *key, *value; size_t runs; };
struct host_side { struct fact *v; size_t n, cap, runs; };

/* These are another in each run, or belong to the kernel under test. */
static bool is_passing(const char *key)
{
	static const char *const keys[] = {"kernel", "kernel_version", "load_average", "busy_before_percent"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (streq(keys[i], key))
			return true;
	return false;
}

static void side_release(struct host_side *s)
{
	for (size_t i = 0; i < s->n; i++) {
		free(s->v[i].key);
		free(s->v[i].value);
	}
	free(s->v);
}

static void note(struct host_side *s, const char *key, const char *value)
{
	for (size_t i = 0; i < s->n; i++)
		if (streq(s->v[i].key, key) && streq(s->v[i].value, value)) {
			s->v[i].runs++;
			return;
		}
	if (s->n >= FACTS_OF_SIDE)
		return;
	GROW(s->v, s->n, s->cap);
	s->v[s->n++] = (struct fact){xstrdup(key), xstrdup(value), 1};
}

/* As jobs/prelude.sh writes them, ethtool's among them. */
static bool is_key(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ()/+_.-");

	return n && n <= KEY_MAX && !s[n] && *s != ' ';
}

static void read_run(const char *dir, struct host_side *s)
{
	_cleanup_free_ char *path = xasprintf("%s/result/host-facts", dir);
	_cleanup_buf_ struct buf b = {0};
	char *save = NULL;
	int lines = 0, r = fs_read(path, FILE_MAX, &b);

	if (r < 0 && r != -EFBIG) /* cleaned up, or the set-up failed before */
		return;
	s->runs++;
	if (r < 0 || b.len > FACTS_MAX)
		note(s, "warning", "host-facts is too long, so not all of it was looked at");
	if (b.len > FACTS_MAX)
		b.s[FACTS_MAX] = 0;
	for (char *l = b.s ? strtok_r(b.s, "\n", &save) : NULL; l && lines < LINES_OF_RUN;
	     l = strtok_r(NULL, "\n", &save), lines++) {
		char *colon = strstr(l, ": ");

		if (!colon)
			continue;
		*colon = 0;
		if (is_key(l) && !is_passing(l))
			note(s, l, colon + 2);
	}
}

static int load_facts(struct store *s, const struct facts *f, const struct db_build *b, struct host_side *ret)
{
	struct db_run *runs = NULL;
	size_t n = 0;
	int r = b->id ? store_runs(s, b->id, f->cmp.job, f->machine.tbox_group, true, &runs, &n) : 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (runs[i].result_dir)
			read_run(runs[i].result_dir, ret);
	DB_LIST_RELEASE(runs, n, db_run_release);
	return r;
}

static size_t runs_with(const struct host_side *s, const struct fact *x)
{
	for (size_t i = 0; i < s->n; i++)
		if (streq(s->v[i].key, x->key) && streq(s->v[i].value, x->value))
			return s->v[i].runs;
	return 0;
}

static bool differs(const struct host_side *a, const struct host_side *b, const char *key)
{
	for (size_t i = 0; i < a->n; i++)
		if (streq(a->v[i].key, key) && !runs_with(b, &a->v[i]))
			return true;
	return false;
}

/* "performance", or "performance in 2, powersave in 4 of 6 runs" */
static void add_values(const struct host_side *s, const char *key, struct buf *out)
{
	size_t n = 0, kinds = 0;

	for (size_t i = 0; i < s->n; i++)
		kinds += streq(s->v[i].key, key);
	for (size_t i = 0; i < s->n && n < 3; i++) {
		_cleanup_free_ char *cut = NULL;

		if (!streq(s->v[i].key, key))
			continue;
		cut = xasprintf("%.*s%s", VALUE_SHOWN, s->v[i].value, strlen(s->v[i].value) > VALUE_SHOWN ? "..." : "");
		buf_adds(out, n++ ? ", " : "");
		buf_add_shown(out, cut);
		if (kinds > 1 || s->v[i].runs < s->runs)
			buf_addf(out, " in %zu of %zu runs", s->v[i].runs, s->runs);
	}
	if (!n)
		buf_adds(out, "not told");
}

static void add_fact_change(const struct host_side *good, const struct host_side *bad, const char *key,
			    struct strv *ret)
{
	_cleanup_buf_ struct buf b = {0};

	buf_add_shown(&b, key);
	buf_adds(&b, ": ");
	add_values(good, key, &b);
	buf_adds(&b, " -> ");
	add_values(bad, key, &b);
	strv_add(ret, buf_str(&b));
}

static bool said(const struct host_side *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (streq(s->v[k].key, s->v[i].key))
			return true;
	return false;
}

static void add_warnings(const struct host_side side[2], struct strv *ret)
{
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < side[k].n; i++) {
			const struct fact *x = &side[k].v[i];
			size_t other = runs_with(&side[!k], x);
			_cleanup_buf_ struct buf b = {0};

			if (!streq(x->key, "warning") || (k && other))
				continue;
			buf_addf(&b, "warning in %zu of %zu runs before and %zu of %zu after: ", k ? other : x->runs,
				 side[0].runs, k ? x->runs : other, side[1].runs);
			buf_add_shown(&b, x->value);
			strv_add(ret, buf_str(&b));
		}
}

int report_host(struct store *s, const struct facts *f, struct strv *ret)
{
	struct host_side side[2] = {0};
	struct strv lines = {0};
	int r = load_facts(s, f, &f->good_build, &side[0]);

	if (r >= 0)
		r = load_facts(s, f, &f->bad_build, &side[1]);
	for (int k = 0; r >= 0 && side[0].runs && side[1].runs && k < 2; k++)
		for (size_t i = 0; i < side[k].n; i++) {
			const char *key = side[k].v[i].key;

			if (streq(key, "warning") || said(&side[k], i) || !differs(&side[k], &side[!k], key))
				continue;
			if (!k || !differs(&side[0], &side[1], key)) /* not twice */
				add_fact_change(&side[0], &side[1], key, &lines);
		}
	if (r >= 0)
		add_warnings(side, &lines);
	for (size_t i = 0; r >= 0 && i < lines.n && i < LINES_MAX; i++)
		strv_add(ret, lines.v[i]);
	if (r >= 0 && lines.n > LINES_MAX)
		strv_addf(ret, "and %zu more", lines.n - LINES_MAX);
	strv_release(&lines);
	side_release(&side[0]);
	side_release(&side[1]);
	return MIN(r, 0);
}
