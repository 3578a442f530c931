/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison block of a report: all metrics of two builds, judged, as LKP's table. */
#include "reporters/facts.h"
#include "reporters/report.h"

#define MAX_BLOCK (100u << 10)  /* mail servers and readers do not like more; the database has the rest */

/* Two matrices side by side: the union of their metrics in name order. */
struct block_side { struct matrix m; uint32_t *boot; };
struct block {
	struct block_side side[2];
	size_t n, cap;
	struct cmp_metric *metric;
	const double **value;           /* two per metric, as are boot and runs */
	const uint32_t **boot;
	size_t *runs;
};

/* boot[]: number of the first run with the same boot, so equal for runs of one boot. Runs that did not end well keep
 * their place but lose their values. */
static void number_boots(struct block_side *s)
{
	s->boot = xcalloc(s->m.n_runs + 1, sizeof(*s->boot));
	for (size_t i = 0; i < s->m.n_runs; i++) {
		size_t k = 0;

		while (!streq(s->m.boot[k], s->m.boot[i]) && k < i)
			k++;
		s->boot[i] = k;
		for (size_t m = 0; m < s->m.n_metrics && s->m.verdict[i] != RUN_OK; m++)
			s->m.v[m * s->m.n_runs + i] = NAN;
	}
}

static void add_metric(struct block *b, const char *name, const size_t *at, const char *kpi)
{
	b->metric[b->n] = (struct cmp_metric){.name = name, .value = b->value + 2 * b->n, .boot = b->boot + 2 * b->n,
					      .n = b->runs + 2 * b->n, .min_effect = streq(name, kpi) ? 0 : -1};
	for (int k = 0; k < 2; k++) {
		const struct block_side *s = &b->side[k];
		bool has = at[k] < s->m.n_metrics;

		b->value[2 * b->n + k] = has ? s->m.v + at[k] * s->m.n_runs : NULL;
		b->boot[2 * b->n + k] = has ? s->boot : NULL;
		b->runs[2 * b->n + k] = has ? s->m.n_runs : 0;
	}
	b->n++;
}

static void merge(struct block *b, const char *kpi)
{
	size_t i[2] = {0, 0}, all = b->side[0].m.n_metrics + b->side[1].m.n_metrics + 1;

	b->metric = xcalloc(all, sizeof(*b->metric));
	b->value = xcalloc(2 * all, sizeof(*b->value));
	b->boot = xcalloc(2 * all, sizeof(*b->boot));
	b->runs = xcalloc(2 * all, sizeof(*b->runs));
	while (i[0] < b->side[0].m.n_metrics || i[1] < b->side[1].m.n_metrics) {
		const char *name[2];
		size_t at[2] = {SIZE_MAX, SIZE_MAX};
		int c;

		for (int k = 0; k < 2; k++)
			name[k] = i[k] < b->side[k].m.n_metrics ? b->side[k].m.metric[i[k]].name : NULL;
		c = !name[0] ? 1 : !name[1] ? -1 : strcmp(name[0], name[1]);
		if (c <= 0)
			at[0] = i[0]++;
		if (c >= 0)
			at[1] = i[1]++;
		add_metric(b, c <= 0 ? name[0] : name[1], at, kpi);
	}
}

static void block_release(struct block *b)
{
	for (int k = 0; k < 2; k++) {
		matrix_release(&b->side[k].m);
		free(b->side[k].boot);
	}
	free(b->metric);
	free(b->value);
	free(b->boot);
	free(b->runs);
}

/* "/" divides LKP's axes, so no value may hold one. */
static void axis_value(struct strv *l, const char *s)
{
	_cleanup_buf_ struct buf b = {0};

	buf_add_shown(&b, s);
	for (char *p = b.s; p && *p; p++)
		*p = *p == '/' ? '-' : *p;
	strv_add(l, buf_str(&b));
}

static void axes(const struct facts *f, struct strv *keys, struct strv *values)
{
	_cleanup_buf_ struct buf compiler = {0};
	_cleanup_free_ char *root = f->root_image ? xasprintf("initramfs-%.12s", f->root_image) : NULL;

	facts_compiler(f, &compiler);
	const char *const fixed[][2] = {
		{"compiler", compiler.len ? compiler.s : NULL},
		{"kconfig", streq(f->tree.kind, "program") ? NULL : f->cmp.kconfig},
		{"rootfs", root},
		{"tbox_group", f->machine.tbox_group},
		{"testcase", f->testcase},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++)
		if (fixed[i][1]) {
			strv_add(keys, fixed[i][0]);
			axis_value(values, fixed[i][1]);
		}
	for (size_t i = 0; i < f->keys.n; i++)
		if (!strv_has(keys, f->keys.v[i])) {
			axis_value(keys, f->keys.v[i]);
			axis_value(values, f->values.v[i]);
		}
}

static int print(const struct facts *f, struct cmp_result *res, struct buf *out)
{
	_cleanup_strv_ struct strv keys = {0}, values = {0};
	_cleanup_free_ char *good = term_safe(f->good_info.subject), *bad = term_safe(f->bad_info.subject);
	const struct lkp_column col[2] = {{f->good, good}, {f->bad, bad}};
	_cleanup_free_ struct lkp_axis *axis = NULL;

	axes(f, &keys, &values);
	axis = xcalloc(keys.n + 1, sizeof(*axis));
	for (size_t i = 0; i < keys.n; i++)
		axis[i] = (struct lkp_axis){keys.v[i], values.v[i]};
	/* the proof has shown the KPI's change: its row is always there */
	for (size_t i = 0; i < res->n_rows; i++)
		if (f->proven && streq(res->row[i].name, f->c.metric) && isfinite(res->row[i].delta[1].change))
			res->row[i].delta[1].verdict = CMP_CHANGED;
	return lkp_table(res, col, 2, axis, keys.n, false, out);
}

/* Cuts a table that is too long for a mail behind a whole line and says so. */
static void limit(const struct facts *f, struct buf *table)
{
	size_t lines = 0, n = MAX_BLOCK;

	if (table->len <= MAX_BLOCK)
		return;
	while (n && table->s[n - 1] != '\n')
		n--;
	for (const char *p = table->s + n; (p = strchr(p, '\n')); p++)
		lines++;
	table->len = n;
	table->s[n] = 0;
	buf_addf(table, "[%zu more rows: kperfbot compare %s %s]\n", lines, f->good, f->bad);
}

int report_block(struct store *s, const struct facts *f, const struct effect_rules *rules, struct buf *out)
{
	const struct db_build *build[2] = {&f->good_build, &f->bad_build};
	const struct cmp_config cfg = {.rule = CMP_MODERATED, .n_builds = 2, .fdr = 0.05, .confidence = 0.95};
	_cleanup_(block_release) struct block b = {0};
	_cleanup_(cmp_result_release) struct cmp_result res = {0};
	_cleanup_buf_ struct buf table = {0};
	int r;

	for (int k = 0; k < 2; k++) {
		if (!build[k]->id)
			return err_set(-ENODATA, "no build of %.10s is stored", k ? f->bad : f->good);
		r = store_matrix(s, build[k]->id, f->cmp.job, f->machine.tbox_group, &b.side[k].m);
		if (r < 0)
			return r;
		if (!b.side[k].m.n_runs)
			return err_set(-ENODATA, "no run of %.10s is stored", k ? f->bad : f->good);
		number_boots(&b.side[k]);
	}
	merge(&b, f->c.metric);
	for (size_t i = 0; rules && i < b.n; i++)
		if (b.metric[i].min_effect < 0 && isfinite(effect_rules_find(rules, b.metric[i].name)))
			b.metric[i].min_effect = effect_rules_find(rules, b.metric[i].name);
	r = cmp_run(&cfg, b.metric, b.n, &res);
	if (r < 0)
		return r;
	r = print(f, &res, &table);
	if (r < 0)
		return r;
	limit(f, &table);
	buf_add(out, table.s, table.len);
	return 0;
}
