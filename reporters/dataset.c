/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/dataset.h"

#include "lib/csv.h"
#include "lib/fs.h"

#include <fnmatch.h>

#define MAX_CELLS 100000000ULL  /* 800 MB: beyond, a file lists runs that share no metrics */

/* ---- CSV ---- */

struct sample_row { uint32_t metric, run; double value; size_t line; };
struct csv_samples {
	struct csv csv;
	int metric, run, boot, value;   /* columns */
	struct hash metrics, runs, boots;
	uint32_t *run_boot; size_t n_run_boots, cap_run_boots;
	struct sample_row *row; size_t n_rows, cap_rows;
};

static int read_head(struct csv_samples *s)
{
	int r = csv_next(&s->csv);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(-EINVAL, "%s: empty; a first line 'metric,run,value' is needed", s->csv.name);
	s->metric = csv_column(&s->csv, "metric");
	s->run = csv_column(&s->csv, "run");
	s->boot = csv_column(&s->csv, "boot");
	s->value = csv_column(&s->csv, "value");
	if (s->metric < 0 || s->run < 0 || s->value < 0)
		return csv_err(&s->csv, -EINVAL,
			       "there is no column '%s'; the first line must name metric, run and value",
			       s->metric < 0 ? "metric"
			       : s->run < 0  ? "run"
					     : "value");
	return 0;
}

static int read_row(struct csv_samples *s)
{
	struct csv *c = &s->csv;
	size_t need = (size_t)MAX(MAX(s->metric, s->run), MAX(s->boot, s->value));
	_cleanup_free_ char *run = NULL;
	struct sample_row row = {.line = c->line};
	int r;

	if (c->n <= need)
		return csv_err(c, -EINVAL, "%zu fields where the first line has at least %zu", c->n, need + 1);
	if (!*c->field[s->metric])
		return csv_err(c, -EINVAL, "the metric has no name");
	if (!*c->field[s->run] && s->boot < 0)
		return csv_err(c, -EINVAL, "the run has no name");
	r = csv_number(c, (size_t)s->value, &row.value);
	if (r < 0)
		return r;
	if (s->boot >= 0)
		run = xasprintf("%s/%s", c->field[s->boot], c->field[s->run]);
	row.metric = (uint32_t)hash_add_text(&s->metrics, c->field[s->metric]);
	row.run = (uint32_t)hash_add_text(&s->runs, run ? run : c->field[s->run]);
	if (row.run == s->n_run_boots) {
		GROW(s->run_boot, s->n_run_boots, s->cap_run_boots);
		s->run_boot[s->n_run_boots++] =
			s->boot < 0 ? row.run : (uint32_t)hash_add_text(&s->boots, c->field[s->boot]);
	}
	GROW(s->row, s->n_rows, s->cap_rows);
	s->row[s->n_rows++] = row;
	return 0;
}

static struct metric_series *add_series(struct dataset_build *b, const char *name, size_t n, const uint32_t *boot)
{
	struct metric_series *x;

	GROW(b->series, b->n_series, b->cap_series);
	x = &b->series[b->n_series++];
	*x = (struct metric_series){xstrdup(name), xcalloc(n + 1, sizeof(double)), n, boot};
	for (size_t i = 0; i < n; i++)
		x->v[i] = NAN;
	return x;
}

static int spread_rows(struct csv_samples *s, struct dataset_build *b)
{
	size_t n = s->runs.n;
	_cleanup_free_ uint32_t *seen = NULL;

	if (n * s->metrics.n > MAX_CELLS)
		return err_set(-E2BIG, "%s: %zu metrics of %zu runs are too many", s->csv.name, s->metrics.n, n);
	seen = xcalloc((n * s->metrics.n + 31) / 32 + 1, sizeof(*seen));
	for (size_t i = 0; i < s->metrics.n; i++)
		add_series(b, hash_key(&s->metrics, i), n, b->boot);
	for (size_t i = 0; i < s->n_rows; i++) {
		const struct sample_row *row = &s->row[i];
		size_t at = row->metric * n + row->run;

		if (seen[at / 32] >> at % 32 & 1)
			return err_set(-EINVAL, "%s:%zu: a second value of metric '%s' in run '%s'", s->csv.name,
				       row->line, hash_key(&s->metrics, row->metric), hash_key(&s->runs, row->run));
		seen[at / 32] |= 1u << at % 32;
		b->series[row->metric].v[row->run] = row->value;
	}
	return 0;
}

static struct dataset_build *new_build(struct dataset *d, const char *name, const char *subject)
{
	d->build = xrealloc_array(d->build, d->n_builds + 1, sizeof(*d->build));
	d->build[d->n_builds] = (struct dataset_build){.name = xstrdup(name), .subject = xstrdup(subject)};
	return &d->build[d->n_builds++];
}

int dataset_add_text(struct dataset *d, const char *name, char *text, size_t len)
{
	struct csv_samples s = {0};
	int r;

	csv_init(&s.csv, name, text, len);
	r = read_head(&s);
	while (r >= 0 && (r = csv_next(&s.csv)) > 0)
		r = read_row(&s);
	if (r >= 0 && !s.n_rows)
		r = csv_err(&s.csv, -EINVAL, "there are no values below the first line");
	if (r >= 0) {
		struct dataset_build *b = new_build(d, name, NULL);

		b->n_runs = s.runs.n;
		b->boot = TAKE_PTR(s.run_boot);
		r = spread_rows(&s, b);
		b->run_name = xcalloc(s.runs.n + 1, sizeof(*b->run_name));
		for (size_t i = 0; i < s.runs.n; i++)
			b->run_name[i] = xstrdup(hash_key(&s.runs, i));
	}
	csv_release(&s.csv);
	hash_release(&s.metrics);
	hash_release(&s.runs);
	hash_release(&s.boots);
	free(s.run_boot);
	free(s.row);
	return MIN(r, 0);
}

int dataset_add_csv(struct dataset *d, const char *path)
{
	_cleanup_buf_ struct buf b = {0};
	int r = fs_read(path, 1ULL << 30, &b);

	if (r < 0)
		return r;
	buf_adds(&b, "");
	return dataset_add_text(d, path, b.s ? b.s : (char[1]){0}, b.len);
}

/* ---- database ---- */

/* Failures as counts, so that a kernel that crashes now and then shows in the table. */
static void count_verdicts(struct dataset_build *b, const struct matrix *m)
{
	size_t n = 0;
	_cleanup_free_ size_t *run = xcalloc(m->n_runs + 1, sizeof(*run));

	for (size_t i = 0; i < m->n_runs; i++)
		if (m->verdict[i] != RUN_INFRA && m->verdict[i] != RUN_UNTRUSTED)
			run[n++] = i;
	b->n_all = n;
	b->all_boot = xcalloc(n + 1, sizeof(*b->all_boot));
	for (size_t k = 0; k < n; k++)
		b->all_boot[k] = (uint32_t)k;
	for (enum run_verdict v = 0; v < (enum run_verdict)run_verdict_words.n; v++) {
		_cleanup_free_ char *name = xasprintf("last_state.%s", run_verdict_word(v));
		struct metric_series *x = NULL;

		for (size_t k = 0; k < n && run_failed(v); k++) {
			if (m->verdict[run[k]] != v)
				continue;
			if (!x)
				x = add_series(b, name, n, b->all_boot);
			x->v[k] = 1;
		}
	}
}

int dataset_add_matrix(struct dataset *d, const char *name, const char *subject, const struct matrix *m)
{
	struct dataset_build *b = new_build(d, name, subject);
	struct hash boots = {0};
	_cleanup_free_ size_t *run = xcalloc(m->n_runs + 1, sizeof(*run));

	b->boot = xcalloc(m->n_runs + 1, sizeof(*b->boot));
	b->run_name = xcalloc(m->n_runs + 1, sizeof(*b->run_name));
	for (size_t i = 0; i < m->n_runs; i++) {
		if (m->verdict[i] != RUN_OK)
			continue;
		run[b->n_runs] = i;
		b->boot[b->n_runs] = (uint32_t)hash_add_text(&boots, m->boot[i]);
		b->run_name[b->n_runs++] = xasprintf("%" PRId64, m->run[i]);
	}
	hash_release(&boots);
	for (size_t i = 0; i < m->n_metrics; i++) {
		struct metric_series *x = add_series(b, m->metric[i].name, b->n_runs, b->boot);

		for (size_t k = 0; k < b->n_runs; k++)
			x->v[k] = m->v[i * m->n_runs + run[k]];
	}
	count_verdicts(b, m);
	return 0;
}

/* ---- side by side ---- */

static bool wanted(const char *name, const struct strv *globs)
{
	for (size_t i = 0; globs && i < globs->n; i++)
		if (!fnmatch(globs->v[i], name, 0))
			return true;
	return !globs || !globs->n;
}

/* A build that never had the metric: NAN in each of its runs. Failure counts look at all runs. */
static void fill_gap(const struct dataset *d, size_t b, bool all_runs, const double *nans, struct metric_series *x)
{
	const struct dataset_build *build = &d->build[b];

	all_runs = all_runs && build->all_boot;
	*x = (struct metric_series){.v = (double *)nans, .n = all_runs ? build->n_all : build->n_runs,
			     .boot = all_runs ? build->all_boot : build->boot};
}

int dataset_finish(struct dataset *d, const struct strv *globs)
{
	struct hash names = {0};
	size_t N = d->n_builds, most = 0, n;
	struct metric_series *cell;
	double *nans;

	for (size_t b = 0; b < N; b++) {
		most = MAX(most, MAX(d->build[b].n_runs, d->build[b].n_all));
		for (size_t i = 0; i < d->build[b].n_series; i++)
			if (wanted(d->build[b].series[i].name, globs))
				hash_add_text(&names, d->build[b].series[i].name);
	}
	n = names.n;
	cell = xcalloc(n * N + 1, sizeof(*cell));
	for (size_t b = 0; b < N; b++)
		for (size_t i = 0; i < d->build[b].n_series; i++)
			if (wanted(d->build[b].series[i].name, globs))
				cell[hash_add_text(&names, d->build[b].series[i].name) * N + b] = d->build[b].series[i];
	/* one block: NANs, then per metric and build the pointers that cmp_metric wants */
	d->mem = xcalloc(most + 1 + 3 * n * N, 8);
	nans = d->mem;
	for (size_t i = 0; i < most; i++)
		nans[i] = NAN;
	d->metric = xcalloc(n + 1, sizeof(*d->metric));
	d->n_metrics = n;
	for (size_t i = 0; i < n; i++) {
		const double **value = (const double **)((char *)d->mem + 8 * (most + 1 + 3 * i * N));
		const uint32_t **boot = (const uint32_t **)(value + N);
		size_t *runs = (size_t *)(boot + N);

		for (size_t b = 0; b < N; b++) {
			struct metric_series *x = &cell[i * N + b];

			if (!x->v)
				fill_gap(d, b, startswith(hash_key(&names, i), "last_state."), nans, x);
			value[b] = x->v;
			boot[b] = x->boot;
			runs[b] = x->n;
		}
		for (size_t b = 0; b < N && !d->metric[i].name; b++)
			d->metric[i].name = cell[i * N + b].name;
		d->metric[i].value = value;
		d->metric[i].boot = boot;
		d->metric[i].n = runs;
		d->metric[i].min_effect = -1;
	}
	free(cell);
	hash_release(&names);
	return 0;
}

/* ---- history ---- */

static void add_spread(struct dataset_history *h, const char *name, const double *sum, const uint32_t *count, size_t n)
{
	double mean = 0, ss = 0;
	size_t k = 0, i = hash_add_text(&h->names, name);

	if (i >= h->cap) {
		size_t cap = MAX(2 * h->cap, (size_t)256);

		h->v = xrealloc_array(h->v, cap, sizeof(*h->v));
		memset(h->v + h->cap, 0, (cap - h->cap) * sizeof(*h->v));
		h->cap = cap;
	}
	for (size_t b = 0; b < n; b++)
		if (count[b]) {
			mean += sum[b] / count[b];
			k++;
		}
	mean /= k ? (double)k : 1;
	if (k < 2 || mean == 0)
		return;
	for (size_t b = 0; b < n; b++)
		if (count[b])
			ss += pow((sum[b] / count[b] - mean) / mean, 2);
	h->v[i].ss += ss;
	h->v[i].df += (double)(k - 1);
}

void dataset_history_add(struct dataset_history *h, const struct matrix *m)
{
	struct hash boots = {0};
	_cleanup_free_ uint32_t *boot = xcalloc(m->n_runs + 1, sizeof(*boot)), *count = NULL;
	_cleanup_free_ double *sum = NULL;

	for (size_t r = 0; r < m->n_runs; r++)
		boot[r] = (uint32_t)hash_add_text(&boots, m->boot[r]);
	count = xcalloc(boots.n + 1, sizeof(*count));
	sum = xcalloc(boots.n + 1, sizeof(*sum));
	for (size_t i = 0; i < m->n_metrics; i++) {
		memset(count, 0, boots.n * sizeof(*count));
		memset(sum, 0, boots.n * sizeof(*sum));
		for (size_t r = 0; r < m->n_runs; r++) {
			double v = m->v[i * m->n_runs + r];

			if (isnan(v) || m->verdict[r] != RUN_OK)
				continue;
			sum[boot[r]] += v;
			count[boot[r]]++;
		}
		add_spread(h, m->metric[i].name, sum, count, boots.n);
	}
	hash_release(&boots);
}

void dataset_history_apply(struct dataset_history *h, struct dataset *d)
{
	for (size_t i = 0; h->names.n && i < d->n_metrics; i++) {
		size_t at = hash_add_text(&h->names, d->metric[i].name);

		if (at >= h->cap || !(h->v[at].df > 0) || !(h->v[at].ss > 0))
			continue;
		d->metric[i].prior_sd = sqrt(h->v[at].ss / h->v[at].df);
		d->metric[i].prior_df = MIN(30, h->v[at].df / 2);
	}
}

void dataset_history_release(struct dataset_history *h)
{
	hash_release(&h->names);
	free(h->v);
	*h = (struct dataset_history){0};
}

void dataset_release(struct dataset *d)
{
	for (size_t b = 0; b < d->n_builds; b++) {
		struct dataset_build *x = &d->build[b];

		for (size_t i = 0; i < x->n_series; i++) {
			free(x->series[i].name);
			free(x->series[i].v);
		}
		for (size_t i = 0; i < x->n_runs; i++)
			free(x->run_name[i]);
		free(x->run_name);
		free(x->series);
		free(x->boot);
		free(x->all_boot);
		free(x->name);
		free(x->subject);
	}
	free(d->build);
	free(d->metric);
	free(d->mem);
	*d = (struct dataset){0};
}
