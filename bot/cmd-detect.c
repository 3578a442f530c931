/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bisect/detect.h"
#include "bot/verb.h"
#include "kernels/tree.h"
#include "lib/csv.h"
#include "lib/fs.h"

#include <json-c/json.h>

extern const struct verb verb_detect;

struct options { const char *tree, *kconfig, *job, *machine, *metric; double min_effect, penalty; int64_t min_segment; };
/* commit: of each index, NULL for files. */
struct points { int64_t *index; double *value; size_t n, cap[2]; char **commit; size_t n_commits; };

static void points_release(struct points *p)
{
	for (size_t i = 0; i < p->n_commits; i++)
		free(p->commit[i]);
	free(p->commit);
	free(p->index);
	free(p->value);
}

static void add_point(struct points *p, int64_t index, double value)
{
	GROW(p->index, p->n, p->cap[0]);
	if (p->cap[1] < p->cap[0]) {
		p->cap[1] = p->cap[0];
		p->value = xrealloc_array(p->value, p->cap[1], sizeof(*p->value));
	}
	p->index[p->n] = index;
	p->value[p->n++] = value;
}

/* ---- files ---- */

static int read_point(struct csv *c, int index, int value, struct points *p)
{
	double v = NAN;
	int64_t i;

	if (c->n <= (size_t)MAX(index, value))
		return csv_err(c, -EINVAL, "%zu fields where the first line has at least %d", c->n, MAX(index, value) + 1);
	if (parse_i64(c->field[index], &i) < 0)
		return csv_err(c, -EINVAL, "index '%.40s' is no whole number", c->field[index]);
	if (csv_number(c, (size_t)value, &v) < 0)
		return -EINVAL;
	if (p->n && i < p->index[p->n - 1])
		return csv_err(c, -EINVAL, "index %" PRId64 " comes after %" PRId64 "; sort the series first", i, p->index[p->n - 1]);
	add_point(p, i, v);
	return 0;
}

static int read_file(const char *path, struct points *p)
{
	_cleanup_buf_ struct buf b = {0};
	struct csv c;
	int index, value, r = fs_read(path, 1ULL << 30, &b);

	if (r < 0)
		return r;
	buf_adds(&b, "");
	csv_init(&c, path, b.s ? b.s : (char[1]){0}, b.len);
	r = csv_next(&c);
	if (r == 0)
		r = err_set(-EINVAL, "%s: empty; a first line 'index,value' is needed", path);
	index = r > 0 ? csv_column(&c, "index") : 0;
	value = r > 0 ? csv_column(&c, "value") : 0;
	if (r > 0 && (index < 0 || value < 0))
		r = csv_err(&c, -EINVAL, "there is no column '%s'; the first line must name index and value",
			    index < 0 ? "index" : "value");
	while (r >= 0 && (r = csv_next(&c)) > 0)
		r = read_point(&c, index, value, p);
	if (r >= 0 && !p->n)
		r = csv_err(&c, -EINVAL, "there are no values below the first line");
	csv_release(&c);
	return r;
}

/* ---- database ---- */

static bool same_place(const struct db_measured *a, const struct db_measured *b)
{
	return streq(a->tree, b->tree) && streq(a->kconfig, b->kconfig) && streq(a->job, b->job) &&
	       streq(a->tbox_group, b->tbox_group);
}

static int one_place(const struct options *o, const struct db_point *p, size_t n)
{
	_cleanup_buf_ struct buf list = {0};
	size_t places = 0;

	if (!n)
		return err_set(-ENOENT, "there are no values of metric '%s' with these options; 'kperfbot query metrics' lists some",
			       o->metric);
	for (size_t i = 0; i < n; i++) {
		const struct db_measured *m = &p[i].place;

		if (i && same_place(m, &p[i - 1].place))
			continue;
		places++;
		buf_addf(&list, "\n  --tree=%s --kconfig=%s --job=%s --machine=%s (%s)", m->tree, m->kconfig, m->job, m->tbox_group,
			 m->job_name);
	}
	return places == 1 ? 0 : err_set(-EINVAL, "'%s' was measured in %zu ways, choose one:%s", o->metric, places, list.s);
}

struct order { const struct db_point *p; int64_t time; size_t at; };

static int cmp_order(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	int c = (x->time > y->time) - (x->time < y->time);

	if (!c)
		c = strcmp(x->p->commit, y->p->commit);
	return c ? c : (x->at > y->at) - (x->at < y->at);
}

/* By the date of the commits; where one cannot be read from the mirror, by the time of each commit's first boot. */
static void order_points(const struct ctx *c, struct order *o, size_t n)
{
	_cleanup_free_ char *dir = xasprintf("%s/trees/%s.git", c->config.state_dir, o[0].p->place.tree);
	bool dated = fs_is_dir(dir);

	for (size_t i = 0; i < n && dated; i++) {
		struct commit_info info = {0};

		if (i && streq(o[i].p->commit, o[i - 1].p->commit)) {
			o[i].time = o[i - 1].time;
			continue;
		}
		dated = tree_commit(dir, o[i].p->commit, &info) >= 0;
		o[i].time = info.time;
		commit_info_release(&info);
	}
	for (size_t i = 0; i < n && !dated; i++) {
		o[i].time = (int64_t)o[i].p->started;
		for (size_t k = 0; k < i; k++)  /* histories are short: some thousand boots */
			if (o[k].p->place.build == o[i].p->place.build) {
				o[i].time = o[k].time;
				break;
			}
	}
	qsort(o, n, sizeof(*o), cmp_order);
}

static int read_store(struct ctx *c, const struct options *o, struct points *p)
{
	_cleanup_free_ struct order *order = NULL;
	struct db_point *list = NULL;
	size_t n = 0;
	int r = ctx_store(c, true);

	if (r >= 0)
		r = store_points(c->store, o->tree, o->kconfig, o->job, o->machine, o->metric, &list, &n);
	if (r < 0)
		return r;
	r = one_place(o, list, n);
	if (r >= 0) {
		order = xcalloc(n, sizeof(*order));
		p->commit = xcalloc(n, sizeof(*p->commit));
		for (size_t i = 0; i < n; i++)
			order[i] = (struct order){&list[i], 0, i};
		order_points(c, order, n);
		for (size_t i = 0; i < n; i++) {
			if (!i || !streq(order[i].p->commit, order[i - 1].p->commit))
				p->commit[p->n_commits++] = xstrdup(order[i].p->commit);
			add_point(p, (int64_t)p->n_commits - 1, order[i].p->value);
		}
	}
	DB_LIST_RELEASE(list, n, db_point_release);
	return r;
}

/* ---- output ---- */

static const char *commit_of(const struct points *p, const struct detect_point *d)
{
	return p->commit ? p->commit[d->index] : NULL;
}

static int print_json(const struct points *p, const struct detect_result *res)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < res->n; i++) {
		const struct detect_point *d = &res->v[i];
		struct json_object *x = json_object_new_object();

		json_object_object_add(x, "index", json_object_new_int64(d->index));
		if (commit_of(p, d))
			json_object_object_add(x, "commit", json_object_new_string(commit_of(p, d)));
		json_object_object_add(x, "before", json_object_new_double(d->before));
		json_object_object_add(x, "after", json_object_new_double(d->after));
		json_object_object_add(x, "change_pct",
				       d->before != 0 ? json_object_new_double(100 * (d->after - d->before) / fabs(d->before)) : NULL);
		json_object_object_add(x, "strength", json_object_new_double(d->strength));
		json_object_object_add(x, "provisional", json_object_new_boolean(d->provisional));
		json_object_array_add(list, x);
	}
	json_object_object_add(o, "values", json_object_new_int64((int64_t)p->n));
	json_object_object_add(o, "sigma", json_object_new_double(res->sigma));
	json_object_object_add(o, "changepoints", list);
	printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
	return fflush(stdout) || ferror(stdout) ? err_set(-EIO, "cannot write the output: %s", strerror(errno)) : 0;
}

static int print_table(const struct points *p, const struct detect_result *res, enum table_form form)
{
	_cleanup_table_ struct table t = {0};
	size_t shift = p->commit != NULL;

	table_column(&t, "index", true);
	if (shift)
		table_column(&t, "commit", false);
	table_column(&t, "before", true);
	table_column(&t, "after", true);
	table_column(&t, "change%", true);
	table_column(&t, "strength", true);
	table_column(&t, "provisional", false);
	for (size_t i = 0; i < res->n; i++) {
		const struct detect_point *d = &res->v[i];

		table_row(&t);
		table_int(&t, 0, d->index);
		if (shift)
			table_text(&t, 1, commit_of(p, d));
		table_num(&t, 1 + shift, d->before);
		table_num(&t, 2 + shift, d->after);
		table_numf(&t, 3 + shift, 100 * (d->after - d->before) / fabs(d->before), 2);
		table_numf(&t, 4 + shift, d->strength, 1);
		table_text(&t, 5 + shift, d->provisional ? "yes: more boots" : "no");
	}
	if (form == TABLE_TERM && !res->n) {
		printf("no change point in %zu values; their noise is %.4g\n", p->n, res->sigma);
		return 0;
	}
	return table_print(&t, form, stdout);
}

static int run_detect(int argc, char **argv, struct ctx *c)
{
	struct options o = {.min_effect = .2, .min_segment = 5};
	const struct opt opts[] = {
		OPT_TEXT('m', "metric", "NAME", &o.metric, "metric of the stored series"),
		OPT_TEXT('t', "tree", "NAME", &o.tree, "tree of the stored series"),
		OPT_TEXT('j', "job", "JOB", &o.job, "its job (name or id)"),
		OPT_TEXT(0, "machine", "GROUP", &o.machine, "its machine"),
		OPT_TEXT(0, "kconfig", "NAME", &o.kconfig, "its kernel configuration"),
		OPT_DOUBLE(0, "min-effect", "PERCENT", &o.min_effect, "smallest change of interest (0.2)"),
		OPT_DOUBLE(0, "penalty", "P", &o.penalty, "price of a change point in units of ln(n) (10); less finds more"),
		OPT_INT(0, "min-segment", "N", &o.min_segment, "fewest commits of a level (5); newer ones are provisional"),
		OPT_END,
	};
	_cleanup_(points_release) struct points p = {0};
	_cleanup_(detect_result_release) struct detect_result res = {0};
	int r = verb_options(&verb_detect, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	if (argc > 1 || (argc == 1) == (o.metric != NULL))
		return verb_usage(c, "detect needs either a CSV file with the columns index,value or --metric NAME");
	if (o.min_effect < 0 || o.penalty < 0 || o.min_segment < 1 || !(o.min_effect < 1e6))
		return verb_usage(c, "--min-effect, --penalty and --min-segment are not negative");
	r = argc ? read_file(argv[0], &p) : read_store(c, &o, &p);
	if (r >= 0) {
		struct detect_config cfg = {o.min_effect / 100, o.penalty, (size_t)o.min_segment};

		r = detect_run(&cfg, p.index, p.value, p.n, &res);
	}
	if (r >= 0)
		r = c->json ? print_json(&p, &res) : print_table(&p, &res, ctx_form(c));
	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

const struct verb verb_detect = {
	.name = "detect",
	.usage = "[options] FILE.csv\n[options] --metric NAME [--tree T] [--job J] [--machine M]",
	.summary = "where a series changed its level",
	.text = "A file has the columns index,value; equal indexes are repeated measurements of one commit. A stored series is\n"
		"put in the order of the commits' dates, one value per boot. index is the first one of the new level. A point\n"
		"with too few commits behind it is provisional: boot its commit and the one before it some more times.",
	.run = run_detect,
};
