/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bisect/detect.h"
#include "bot/engine/detect.h"
#include "bot/cli/verb.h"
#include "db/setup.h"
#include "lib/change.h"
#include "lib/csv.h"
#include "lib/fs.h"

#include <json-c/json.h>

extern const struct verb verb_detect;

struct detect_options {
	const char *tree, *kconfig, *job, *machine, *metric, *branch;
	double min_effect, penalty;
	int64_t min_segment;
	bool ask, mail;
};

/* ---- files ---- */

static int read_point(struct csv *c, int index, int value, struct history *p)
{
	double v = NAN;
	int64_t i;

	if (c->n <= (size_t)MAX(index, value))
		return csv_err(c, -EINVAL, "%zu fields where the first line has at least %d", c->n,
			       MAX(index, value) + 1);
	if (parse_i64(c->field[index], &i) < 0)
		return csv_err(c, -EINVAL, "index '%.40s' is no whole number", c->field[index]);
	if (csv_number(c, (size_t)value, &v) < 0)
		return -EINVAL;
	if (p->n && i < p->index[p->n - 1])
		return csv_err(c, -EINVAL, "index %" PRId64 " comes after %" PRId64 "; sort the series first", i,
			       p->index[p->n - 1]);
	history_add(p, i, v);
	return 0;
}

static int read_file(const char *path, struct history *p)
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

/* ---- series that was not measured in one way all along ---- */

/* Point by point of the result: what measured changed there, so that it is no commit's; NULL: it is. */
struct notes { char **v; size_t n; };

static void notes_release(struct notes *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
}

struct findings { struct finding { struct detect_point p; char *note; } *v; size_t n, cap; };

static int by_index(const void *a, const void *b)
{
	int64_t x = ((const struct finding *)a)->p.index, y = ((const struct finding *)b)->p.index;

	return (x > y) - (x < y);
}

/* Each way of measuring is a series of its own. */
static int detect_alike(const struct detect_config *cfg, const struct history *h, size_t group, struct findings *f)
{
	_cleanup_(detect_result_release) struct detect_result res = {0};
	_cleanup_free_ int64_t *index = xcalloc(h->n + 1, sizeof(*index));
	_cleanup_free_ double *value = xcalloc(h->n + 1, sizeof(*value));
	size_t n = 0;
	int r;

	for (size_t i = 0; i < h->n; i++)
		if (h->group[i] == group) {
			index[n] = h->index[i];
			value[n++] = h->value[i];
		}
	r = detect_run(cfg, index, value, n, &res);
	for (size_t i = 0; r >= 0 && i < res.n; i++) {
		GROW(f->v, f->n, f->cap);
		f->v[f->n++] = (struct finding){res.v[i], NULL};
	}
	return r;
}

#define BESIDE 5                /* commits on each side of a step that tell how it was measured */

/* How most of the commits beside a place were measured. */
static size_t usual_group(const struct history *h, int64_t from, int64_t to)
{
	_cleanup_free_ size_t *count = xcalloc(h->n_setups + 1, sizeof(*count));
	size_t best = 0;

	for (size_t i = 0; i < h->n; i++)
		count[h->group[i]] += h->index[i] >= from && h->index[i] < to;
	for (size_t g = 0; g < h->n_setups; g++)
		best = count[g] > count[best] ? g : best;
	return best;
}

/* A step of all values together which no way of measuring has by itself: what measured changed there. */
static void add_parting(const struct history *h, const struct detect_point *p, size_t n_alike, struct findings *f)
{
	size_t before = usual_group(h, p->index - BESIDE, p->index);
	size_t after = usual_group(h, p->index, p->index + BESIDE);
	_cleanup_buf_ struct buf words = {0};

	for (size_t i = 0; i < n_alike; i++)
		if (llabs(f->v[i].p.index - p->index) <= 2)
			return;
	if (before == after)
		return;
	setup_words(h->setup[before], h->setup[after], &words);
	GROW(f->v, f->n, f->cap);
	f->v[f->n++] = (struct finding){*p, xstrdup(words.len ? buf_str(&words) : "measured in another way")};
}

static int detect_series(const struct detect_config *cfg, const struct history *h, struct detect_result *res,
			 struct notes *notes)
{
	struct findings f = {0};
	size_t n_alike;
	int r = detect_run(cfg, h->index, h->value, h->n, res);

	if (r < 0 || h->n_setups < 2)
		return r;
	for (size_t g = 0; r >= 0 && g < h->n_setups; g++)
		r = detect_alike(cfg, h, g, &f);
	n_alike = f.n;
	for (size_t i = 0; r >= 0 && i < res->n; i++)
		add_parting(h, &res->v[i], n_alike, &f);
	if (f.n)
		qsort(f.v, f.n, sizeof(*f.v), by_index);
	res->v = xrealloc_array(res->v, f.n + 1, sizeof(*res->v));
	notes->v = xcalloc(f.n + 1, sizeof(*notes->v));
	res->n = notes->n = f.n;
	for (size_t i = 0; i < f.n; i++) {
		res->v[i] = f.v[i].p;
		notes->v[i] = f.v[i].note;
	}
	free(f.v);
	return r;
}

/* ---- output ---- */

static const char *commit_of(const struct history *p, const struct detect_point *d)
{
	return p->commit ? p->commit[d->index] : NULL;
}

static const char *note_of(const struct notes *t, size_t i) { return i < t->n ? t->v[i] : NULL; }

static int print_json(const struct history *p, const struct detect_result *res, const struct notes *notes,
		      const char *asked)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < res->n; i++) {
		const struct detect_point *d = &res->v[i];
		struct json_object *x = json_object_new_object();
		double change = change_relative(d->before, d->after);

		json_object_object_add(x, "index", json_object_new_int64(d->index));
		if (commit_of(p, d))
			json_object_object_add(x, "commit", json_text(commit_of(p, d)));
		json_object_object_add(x, "before", json_object_new_double(d->before));
		json_object_object_add(x, "after", json_object_new_double(d->after));
		json_object_object_add(x, "change_pct", isfinite(change) ? json_object_new_double(100 * change) : NULL);
		json_object_object_add(x, "strength", json_object_new_double(d->strength));
		json_object_object_add(x, "first", json_object_new_int64(d->first));
		json_object_object_add(x, "last", json_object_new_int64(d->last));
		json_object_object_add(x, "provisional", json_object_new_boolean(d->provisional && !note_of(notes, i)));
		if (p->n_setups)
			json_object_object_add(x, "measured_otherwise", json_text(note_of(notes, i)));
		json_object_array_add(list, x);
	}
	json_object_object_add(o, "values", json_object_new_int64((int64_t)p->n));
	json_object_object_add(o, "sigma", json_object_new_double(res->sigma));
	if (p->branch) {
		json_object_object_add(o, "branch", json_text(p->branch));
		json_object_object_add(o, "beside", json_object_new_int64((int64_t)p->beside));
	}
	if (p->n_setups) {
		json_object_object_add(o, "setups", json_object_new_int64((int64_t)p->n_setups));
		json_object_object_add(o, "otherwise", json_object_new_int64((int64_t)p->otherwise));
	}
	if (asked)
		json_object_object_add(o, "asked", json_text(asked));
	json_object_object_add(o, "changepoints", list);
	json_print(stdout, o, false);
	json_object_put(o);
	return fflush(stdout) || ferror(stdout) ? err_set(-EIO, "cannot write the output: %s", strerror(errno)) : 0;
}

static void add_change_cell(struct table *t, size_t col, const struct detect_point *d, enum table_form form)
{
	double change = change_relative(d->before, d->after);
	_cleanup_buf_ struct buf b = {0};

	if (isfinite(change) || form != TABLE_TERM) {
		table_numf(t, col, 100 * change, 2);
		return;
	}
	add_signed_percent(&b, change);
	table_text(t, col, buf_str(&b));
}

static void print_head(const struct history *p)
{
	if (p->branch)
		term_printf(stdout, "branch %s of %s: %zu commits%s\n", p->branch, p->place.tree, p->n_commits,
			    p->beside ? "; commits measured beside its line are left out" : "");
	if (p->n_setups > 1)
		term_printf(stdout, "measured in %zu ways (root image, compiler, ...), each searched by itself\n",
			    p->n_setups);
	if (p->otherwise)
		term_printf(stdout, "%zu boots that were measured otherwise than the newest are left out\n",
			    p->otherwise);
}

static int print_table(const struct history *p, const struct detect_result *res, const struct notes *notes,
		       enum table_form form)
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
	table_column(&t, "first", true);
	table_column(&t, "last", true);
	if (notes->n)
		table_column(&t, "measured otherwise from here", false);
	for (size_t i = 0; i < res->n; i++) {
		const struct detect_point *d = &res->v[i];

		table_row(&t);
		table_int(&t, 0, d->index);
		if (shift)
			table_text(&t, 1, commit_of(p, d));
		table_num(&t, 1 + shift, d->before);
		table_num(&t, 2 + shift, d->after);
		add_change_cell(&t, 3 + shift, d, form);
		table_numf(&t, 4 + shift, d->strength, 1);
		table_text(&t, 5 + shift, d->provisional && !note_of(notes, i) ? "yes: more boots" : "no");
		table_int(&t, 6 + shift, d->first);
		table_int(&t, 7 + shift, d->last);
		if (notes->n)
			table_text(&t, 8 + shift, note_of(notes, i));
	}
	if (form == TABLE_TERM)
		print_head(p);
	if (form == TABLE_TERM && !res->n) {
		term_printf(stdout, "no change point in %zu values; their noise is %.4g\n", p->n, res->sigma);
		return 0;
	}
	return table_print(&t, form, stdout);
}

/* ---- detect --ask ---- */

/* The machine to boot on: the tree's own where it belongs to the group, else the first one of it. */
static int machine_of(struct ctx *c, const struct tree_config *t, const char *group, char **ret)
{
	struct db_machine *m = NULL;
	size_t n = 0;
	int r = store_machines(c->store, &m, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (streq(m[i].tbox_group, group) && (!*ret || streq(m[i].name, t->machine))) {
			free(*ret);
			*ret = xstrdup(m[i].name);
		}
	DB_LIST_RELEASE(m, n, db_machine_release);
	return r < 0 ? r : *ret ? 0 : err_set(-ENOENT, "there is no longer a machine in the group '%s'", group);
}

/* What the daemon knows of the series' place: for --ask. */
struct asker { struct engine e; struct db_tree tree; struct tree_config tcfg; struct db_job job; char *machine; };

static void asker_release(struct asker *a)
{
	db_tree_release(&a->tree);
	tree_config_release(&a->tcfg);
	db_job_release(&a->job);
	free(a->machine);
}

static int asker_load(struct ctx *c, const struct history *h, struct asker *a)
{
	int r = h->branch ? config_to_store(&c->config, c->store)
			  : err_set(-EINVAL, "the order of these commits is not known: no fetched branch has them");

	a->e = (struct engine){.store = c->store, .cfg = &c->config};
	if (r >= 0)
		r = store_tree_get(c->store, h->place.tree, &a->tree);
	if (r >= 0)
		r = tree_config_from_db(&a->tree, &a->tcfg);
	if (r >= 0)
		r = store_job_get(c->store, h->place.job, &a->job);
	if (r >= 0)
		r = machine_of(c, &a->tcfg, h->place.tbox_group, &a->machine);
	if (r >= 0) {
		free(a->tcfg.kconfig);
		a->tcfg.kconfig = xstrdup(h->place.kconfig);
	}
	return r;
}

static int detect(struct ctx *c, const struct detect_options *o, const struct history *h, struct detect_result *res,
		  struct notes *notes, char **ret_what)
{
	struct detect_config cfg = {isnan(o->min_effect) ? .002 : o->min_effect / 100, o->penalty,
				    (size_t)o->min_segment},
			     own;
	struct asker a = {0};
	int r = o->ask ? asker_load(c, h, &a) : 0;
	struct detect_scope d = {&a.tree, &a.tcfg, h->branch, a.machine, o->metric, &a.job};

	a.e.asked = o->mail ? ASKED_HAND_MAIL : ASKED_HAND;
	if (r >= 0 && o->ask && isnan(o->min_effect)) {
		r = engine_detect_config(&a.e, &d, &own);
		cfg.min_effect = r < 0 ? 0 : own.min_effect;
	}
	if (r >= 0)
		r = detect_series(&cfg, h, res, notes);
	if (r >= 0 && o->ask)
		r = engine_answer(&a.e, &d, h, res, ret_what);
	asker_release(&a);
	return MIN(r, 0);
}

static int load(struct ctx *c, const struct detect_options *o, const char *file, struct history *h)
{
	const struct history_query q = {.tree = o->tree, .kconfig = o->kconfig, .job = o->job, .machine = o->machine,
					.metric = o->metric, .branch = o->branch, .one_setup = o->ask};
	int r = file ? read_file(file, h) : ctx_store(c, !o->ask);

	return r < 0 || file ? r : history_load(c->store, &c->config, &q, h);
}

static int check_options(const struct ctx *c, const struct detect_options *o, int argc)
{
	if (argc > 1 || (argc == 1) == (o->metric != NULL))
		return verb_usage(c, "detect needs either a CSV file with the columns index,value or --metric NAME");
	if (o->min_effect < 0 || o->min_effect > 1e6)
		return verb_usage(c, "--min-effect is a percentage from 0 to 1000000, not %g", o->min_effect);
	if (o->penalty < 0)
		return verb_usage(c, "--penalty is a number, 0 or more, not %g", o->penalty);
	if (o->min_segment < 1)
		return verb_usage(c, "--min-segment is a number of commits, 1 or more, not %" PRId64, o->min_segment);
	if (o->mail && !o->ask)
		return verb_usage(c, "--mail goes with --ask");
	if (argc && (o->ask || o->branch))
		return verb_usage(c, "--ask and --branch are for stored series");
	return -1;
}

static int run_detect(int argc, char **argv, struct ctx *c)
{
	struct detect_options o = {.min_effect = NAN, .min_segment = 5};
	const struct opt opts[] = {
		OPT_TEXT('m', "metric", "NAME", &o.metric, "metric of the stored series"),
		OPT_TEXT('t', "tree", "NAME", &o.tree, "tree of the stored series"),
		OPT_TEXT('b', "branch", "NAME", &o.branch, "its branch (default: the one with most of the commits)"),
		OPT_TEXT('j', "job", "JOB", &o.job, "its job (name or id)"),
		OPT_TEXT(0, "machine", "GROUP", &o.machine, "its machine"),
		OPT_TEXT(0, "kconfig", "NAME", &o.kconfig, "its kernel configuration"),
		OPT_DOUBLE(0, "min-effect", "PERCENT", &o.min_effect,
			   "smallest change of interest (0.2; --ask: that of a comparison)"),
		OPT_DOUBLE(0, "penalty", "P", &o.penalty,
			   "price of a change point in units of ln(n) (8); less finds more"),
		OPT_INT(0, "min-segment", "N", &o.min_segment,
			"fewest commits at one level (5; half for one that stands out); newer ones are provisional"),
		OPT_FLAG(0, "ask", &o.ask, "ask for boots or a comparison, as the daemon does by itself"),
		OPT_FLAG(0, "mail", &o.mail, "--ask: mail what comes of it"),
		OPT_END,
	};
	_cleanup_(history_release) struct history h = {0};
	_cleanup_(detect_result_release) struct detect_result res = {0};
	_cleanup_(notes_release) struct notes notes = {0};
	_cleanup_free_ char *what = NULL;
	int r = verb_options(&verb_detect, &argc, &argv, opts, c);

	if (r < 0)
		r = check_options(c, &o, argc);
	if (r >= 0)
		return r;
	r = load(c, &o, argc ? argv[0] : NULL, &h);
	if (r >= 0)
		r = detect(c, &o, &h, &res, &notes, &what);
	if (r >= 0)
		r = c->json ? print_json(&h, &res, &notes, what) : print_table(&h, &res, &notes, ctx_form(c));
	if (r >= 0 && o.ask && ctx_form(c) == TABLE_TERM)
		term_printf(stdout, "%s\n%s", what ? what : "nothing to ask: every change point is known already",
		       what && !o.mail ? "what comes of it is not mailed: asked by hand, without --mail\n" : "");
	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

const struct verb verb_detect = {
	.name = "detect",
	.usage = "[options] FILE.csv\n"
		 "[options] --metric NAME [--tree T] [--branch B] [--job J] [--machine M] [--ask [--mail]]",
	.summary = "where a series changed its level",
	.text = "A file has the columns index,value; equal indexes are repeated measurements of one commit. A stored\n"
		"series is in the order of its branch's first-parent line, one value per boot; commits beside that\n"
		"line are left out (without a fetched branch the order is that of the first boots). index is that of\n"
		"the first commit at the new level. A point with too few commits after it is provisional. Values\n"
		"measured with another root image, compiler, emulator or benchmark form a separate series; where all\n"
		"values together have a step that none of the series has by itself, the change in the setup is shown\n"
		"beside it, and no commit is asked about.\n\n"
		"--ask does what the daemon does when a branch has new runs: the newest point that no comparison or\n"
		"case knows gets more boots of its commit and the one before while it is provisional ('judge:\n"
		"detect_boots'), and if it stays, a comparison of the two. The daemon does that work. A case that\n"
		"comes of it is not mailed without --mail.",
	.run = run_detect,
};
