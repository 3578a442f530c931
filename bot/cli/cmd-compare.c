/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/compare-columns.h"
#include "bot/cli/compare-view.h"
#include "bot/engine/engine.h"
#include "bot/cli/profile-compare.h"
#include "bot/engine/reach.h"
#include "bot/cli/verb.h"
#include "db/setup.h"
#include "jobs/check.h"
#include "lib/fs.h"

extern const struct verb verb_compare;

enum { COLUMNS_MAX = 26 };      /* A to Z */

struct compare_options {
	bool all, changed, runs, averages, lkp, table, profile;
	const char *rule, *tree, *kconfig, *job, *machine, *matrix;
	struct strv metric, patches;
	double fdr, confidence, min_effect;
	int64_t history, rows;
};

/* ---- from the database ---- */

/* The spread that each metric had in earlier builds, as its prior: what the last builds say, counted half (spreads
 * drift) and as at most 30 degrees of freedom. */
static int add_builds(struct ctx *c, const struct compare_options *o, const struct columns *col,
		      const struct db_measured *place, struct dataset_history *h)
{
	_cleanup_free_ int64_t *build = NULL;
	size_t n = 0;
	int r = store_recent_builds(c->store, place->job, place->tbox_group, (size_t)o->history + col->n, &build, &n);

	for (size_t i = 0, used = 0; r >= 0 && i < n && used < (size_t)o->history; i++) {
		struct matrix m = {0};
		bool is_own = false;

		for (size_t k = 0; k < col->n; k++)
			is_own = is_own || col->v[k].at->build == build[i];
		if (is_own)
			continue;
		used++;
		r = store_matrix(c->store, build[i], place->job, place->tbox_group, &m);
		if (r >= 0)
			dataset_history_add(h, &m);
		matrix_release(&m);
	}
	return r;
}

static int add_history(struct ctx *c, const struct compare_options *o, const struct columns *col, struct dataset *d)
{
	struct dataset_history h = {0};
	int r = 0;

	for (size_t k = 0; r >= 0 && k < col->n && o->history > 0; k++) {
		bool seen = false;

		for (size_t i = 0; i < k; i++)
			seen = seen || streq(col->v[i].at->job, col->v[k].at->job);
		if (!seen)
			r = add_builds(c, o, col, col->v[k].at, &h);
	}
	if (r >= 0)
		dataset_history_apply(&h, d);
	dataset_history_release(&h);
	return r;
}

/* Runs that failed a check are left out already; a link at its limit is not, but may hide a change. */
static int add_validity(struct ctx *c, const struct column *col, struct view *v)
{
	_cleanup_free_ char *who = col->label ? xstrdup(col->label) : xasprintf("%.12s", col->commit);
	struct db_check *list = NULL;
	size_t n = 0;
	int r = store_checks(c->store, col->at->build, col->at->job, col->at->tbox_group, &list, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct db_check *k = &list[i];

		if (k->fail)
			strv_addf(&v->validity,
				  "%s: %s failed in %" PRId64 " of %" PRId64 " runs, which are left out: %s", who,
				  k->name, k->fail, k->pass + k->fail + k->unknown, k->evidence);
		else if (k->capped)
			strv_addf(&v->validity,
				  "%s: %s capped in %" PRId64 " of %" PRId64 " runs, which may hide a change: %s", who,
				  k->name, k->unknown, k->pass + k->unknown, k->evidence);
	}
	DB_LIST_RELEASE(list, n, db_check_release);
	return r;
}

/* Does the job execute what changed from the first column's commit to this one? As the engine has stored it, or from a
 * profile. */
static void add_reach(struct ctx *c, const struct column *a, const struct column *x, struct view *v)
{
	_cleanup_free_ char *git_dir = engine_git_dir(&c->config, x->at->tree);
	struct db_pair_check k = {0};
	struct db_build b = {0};
	const struct reach_pair q = {&b, a->commit, git_dir, x->at->job, x->at->tbox_group};
	int r;

	if (streq(a->commit, x->commit) || !streq(a->at->tree, x->at->tree) || !streq(a->at->job, x->at->job))
		return;
	r = store_pair_check_get(c->store, x->at->build, a->commit, x->at->job, x->at->tbox_group, CHECK_REACH, &k);
	if (r < 0 && store_build_by_id(c->store, x->at->build, &b) >= 0 && !streq(b.kconfig, "program"))
		r = reach_check(c->store, &q, "no boot has checked; 'kperfbot run JOB --commit REV --profile' makes one",
				&k);
	if (r >= 0)
		strv_addf(&v->validity, "%.12s: %s %s: %s", x->commit, k.name,
			  k.verdict == CHECK_PASS ? "passed" : k.verdict == CHECK_FAIL ? "failed" : "unknown", k.evidence);
	db_pair_check_release(&k);
	db_build_release(&b);
}

/* A column that was measured otherwise than the first, or in two ways by itself: what differs may be that. */
static int add_setups(struct ctx *c, const struct columns *col, struct view *v)
{
	struct db_setup *first = NULL, *own = NULL;
	size_t n_first = 0, n = 0;
	int r = 0;

	for (size_t k = 0; r >= 0 && k < col->n; k++) {
		const struct db_measured *at = col->v[k].at;
		_cleanup_free_ char *who =
			col->v[k].label ? xstrdup(col->v[k].label) : xasprintf("%.12s", col->v[k].commit);
		_cleanup_buf_ struct buf w = {0}, within = {0};

		r = store_setups(c->store, at->build, at->job, at->tbox_group, k ? &own : &first, k ? &n : &n_first);
		if (r < 0)
			break;
		setup_words_among(k ? own : first, k ? n : n_first, &within);
		if (within.len)
			strv_addf(&v->validity, "%s was measured in %zu ways: %s", who, k ? n : n_first,
				  buf_str(&within));
		if (k && n_first && n)
			setup_words(first[0].text, own[0].text, &w);
		if (w.len)
			strv_addf(&v->validity,
				  "%s was measured in another way than the first, which may be the only difference: %s", who,
				  buf_str(&w));
		if (k)
			DB_LIST_RELEASE(own, n, db_setup_release);
		own = NULL;
		n = 0;
	}
	DB_LIST_RELEASE(first, n_first, db_setup_release);
	return MIN(r, 0);
}

/* What the engine found about the machine when it asked the same question. */
static int add_disturbed(struct ctx *c, const struct columns *col, struct view *v)
{
	struct db_comparison *list = NULL;
	size_t n_list = 0;
	int r = store_comparisons_in(c->store, COMPARISON_DISTURBED, &list, &n_list);

	for (size_t i = 0; r >= 0 && i < n_list; i++)
		for (size_t k = 1; k < col->n; k++)
			if (streq(list[i].base, col->v[0].commit) && streq(list[i].head, col->v[k].commit))
				strv_addf(&v->validity, "%.12s..%.12s: undecided: %s", list[i].base, list[i].head,
					  list[i].reason);
	DB_LIST_RELEASE(list, n_list, db_comparison_release);
	return r;
}

/* A series' last patch says little of the whole. */
static char *subject_of(struct ctx *c, const struct column *col)
{
	const struct db_patched *p = &col->patches;

	if (!p->commit)
		return view_subject(&c->config, col->at->tree, col->commit);
	return xasprintf("%s, %" PRId64 " %s on %.12s", p->name, p->patches, p->patches == 1 ? "patch" : "patches",
			 p->base);
}

static int load_columns(struct ctx *c, const struct compare_options *o, const struct columns *col, struct dataset *d,
			struct view *v)
{
	int r = 0;

	for (size_t k = 0; r >= 0 && k < col->n; k++) {
		const struct column *x = &col->v[k];
		_cleanup_free_ char *subject = subject_of(c, x);
		struct matrix m = {0};

		r = store_matrix(c->store, x->at->build, x->at->job, x->at->tbox_group, &m);
		if (r >= 0)
			r = dataset_add_matrix(d, x->commit, subject, &m);
		if (r >= 0)
			r = add_validity(c, x, v);
		if (r >= 0 && k)
			add_reach(c, &col->v[0], x, v);
		matrix_release(&m);
	}
	if (r >= 0)
		r = add_setups(c, col, v);
	if (r >= 0)
		r = add_disturbed(c, col, v);
	if (r >= 0)
		r = dataset_finish(d, &o->metric);
	if (r >= 0)
		r = add_history(c, o, col, d);
	return r < 0 ? r : view_place(c->store, col->v[0].at, v);
}

static int load_commits(struct ctx *c, const struct compare_options *o, char **arg, size_t n, struct dataset *d,
			struct view *v)
{
	const struct place_filter f = {o->tree, o->kconfig, o->job, o->machine};
	_cleanup_strv_ struct strv points = {0};
	int r = ctx_store(c, true);

	if (r >= 0 && o->matrix)
		r = columns_of_matrix(c, &f, o->matrix, &o->patches, arg, n, &points);
	if (r >= 0 && points.n > COLUMNS_MAX)
		r = err_set(-EINVAL, "job '%s' has %zu points; compare takes at most %d", o->matrix, points.n,
			    COLUMNS_MAX);
	if (r >= 0)
		r = columns_find(c, &f, o->matrix ? points.v : arg, o->matrix ? points.n : n, &v->col);
	return r < 0 ? r : load_columns(c, o, &v->col, d, v);
}

/* ---- from files ---- */

static int load_files(const struct compare_options *o, char **arg, size_t n, struct dataset *d)
{
	int r = 0;

	for (size_t k = 0; r >= 0 && k < n; k++)
		r = dataset_add_csv(d, arg[k]);
	return r < 0 ? r : dataset_finish(d, &o->metric);
}

static bool is_file(const char *arg) { return fs_exists(arg) && !fs_is_dir(arg); }

static int load(struct ctx *c, const struct compare_options *o, char **arg, size_t n, struct dataset *d, struct view *v)
{
	size_t files = 0;

	for (size_t k = 0; k < n; k++)
		files += is_file(arg[k]);
	if (files == n && !o->matrix)
		return load_files(o, arg, n, d);
	for (size_t k = 0; k < n; k++)
		if (!is_file(arg[k]) &&
		    (files || *arg[k] == '/' || startswith(arg[k], "./") || endswith(arg[k], ".csv")))
			return err_set(-ENOENT, "there is no file '%s'", arg[k]);
	return load_commits(c, o, arg, n, d, v);
}

/* ---- the verb ---- */

static int check_options(const struct ctx *c, const struct compare_options *o, int argc)
{
	if (o->matrix && (argc < 1 || o->profile))
		return verb_usage(c, "compare --matrix JOB needs one or more commits, and no --profile");
	if (o->patches.n && !o->matrix)
		return verb_usage(c, "--patches goes with --matrix; elsewhere write REV+NAME");
	if (argc < 2 && !o->matrix)
		return verb_usage(
			c,
			"compare needs two or more commits or revisions, or CSV files with the columns metric,run,value");
	if (argc > COLUMNS_MAX)
		return verb_usage(c, "compare takes at most %d builds", COLUMNS_MAX);
	if (!streq(o->rule, "moderated") && !streq(o->rule, "lkp"))
		return verb_usage(c, "--rule is 'moderated' or 'lkp', not '%s'", o->rule);
	if (!(o->fdr > 0 && o->fdr < 1))
		return verb_usage(c, "--fdr must lie between 0 and 1, not %g", o->fdr);
	if (!(o->confidence > 0 && o->confidence < 1))
		return verb_usage(c, "--confidence must lie between 0 and 1, not %g", o->confidence);
	if (o->min_effect < 0)
		return verb_usage(c, "--min-effect is a percentage, 0 or more, not %g", o->min_effect);
	if (o->profile && argc != 2)
		return verb_usage(c, "compare --profile takes two builds, not %d", argc);
	if (o->rows < 0)
		return verb_usage(c, "--rows is a number of rows, not %" PRId64, o->rows);
	if (o->history < 0)
		return verb_usage(c, "--history is a number of builds, not %" PRId64, o->history);
	return -1;
}

/* The option holds for all metrics, before the configuration; else the class of a metric tells (-1). */
static void set_min_effects(const struct effect_rules *rules, const struct compare_options *o, struct dataset *d)
{
	for (size_t i = 0; i < d->n_metrics; i++) {
		struct cmp_metric *m = &d->metric[i];
		double rule = effect_rules_find(rules, m->name);

		if (isfinite(o->min_effect))
			m->min_effect = metric_is_points(m->name) ? o->min_effect : o->min_effect / 100;
		else if (isfinite(rule))
			m->min_effect = rule;
	}
}

static int compare_profiles(struct ctx *c, const struct compare_options *o, char **arg)
{
	const struct profile_question q = {o->tree, o->kconfig, o->job, o->machine, o->all, o->rows};
	int r = profile_compare(c, &q, arg[0], arg[1]);

	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

/* One boot of each build says nothing about the spread: the empty table must not look like "nothing changed". */
static void note_untested(const struct dataset *d, const struct cmp_result *res, struct view *v)
{
	for (size_t i = 0; i < res->n_rows; i++)
		for (size_t b = 1; b < res->n_builds; b++)
			if (!isnan(res->row[i].delta[b].p))
				return;
	for (size_t b = 0; b < d->n_builds; b++)
		if (d->build[b].n_runs > 1)
			return;
	if (res->n_rows && v->cfg->rule == CMP_MODERATED)
		strv_addf(&v->validity,
			  "one run of each build: nothing can be tested, so nothing is called changed; "
			  "--all shows the values, and 'kperfbot run JOB --commit REV -n 4' measures more");
}

/* LKP's text has no place for what is said against the runs, and stays as it is, byte for byte. */
static int lkp_text(const struct view *v)
{
	for (size_t i = 0; i < v->validity.n; i++) {
		_cleanup_free_ char *safe = term_safe(v->validity.v[i]);

		fprintf(stderr, "%s\n", safe);
	}
	return view_lkp(v, stdout);
}

static int run_compare(int argc, char **argv, struct ctx *c)
{
	struct compare_options o = {
		.rule = "moderated", .fdr = .05, .confidence = .95, .min_effect = NAN, .history = 8, .rows = 20};
	const struct opt opts[] = {
		OPT_FLAG('a', "all", &o.all, "unchanged metrics, too"),
		OPT_FLAG(0, "changed", &o.changed, "only changed metrics in JSON and CSV, too"),
		OPT_FLAG(0, "lkp", &o.lkp, "LKP's text table (the default when not on a terminal)"),
		OPT_FLAG(0, "table", &o.table, "table with q, effect, interval and n (the default on a terminal)"),
		OPT_FLAG(0, "runs", &o.runs, "every run, averages and differences, as people mail them"),
		OPT_FLAG(0, "averages", &o.averages, "the same without the individual runs: one line per build"),
		OPT_FLAG(0, "profile", &o.profile, "exact instructions per operation by function (see below)"),
		OPT_INT(0, "rows", "N", &o.rows, "functions shown by --profile (20; --all for all)"),
		OPT_TEXT(0, "rule", "RULE", &o.rule, "'moderated' t-test, or 'lkp' for the decision of lkp-tests"),
		OPT_LIST('m', "metric", "GLOB", &o.metric, "only these metrics (repeatable)"),
		OPT_DOUBLE(0, "fdr", "RATE", &o.fdr, "share of false positives among the changed metrics (0.05)"),
		OPT_DOUBLE(0, "confidence", "C", &o.confidence, "confidence of the intervals (0.95)"),
		OPT_DOUBLE(0, "min-effect", "PERCENT", &o.min_effect,
			   "smallest change of interest, for all metrics (default: judge: min_effects)"),
		OPT_INT(0, "history", "N", &o.history, "learn each metric's spread from the last N other builds (8)"),
		OPT_TEXT('t', "tree", "NAME", &o.tree, "tree, where commits were measured in several"),
		OPT_TEXT(0, "kconfig", "NAME", &o.kconfig, "configuration, where there are several"),
		OPT_TEXT('j', "job", "JOB", &o.job, "job (name or id), where there are several"),
		OPT_TEXT(0, "machine", "GROUP", &o.machine, "machine, where there are several"),
		OPT_TEXT(0, "matrix", "JOB", &o.matrix,
			 "all points of this job's matrix, as 'run --matrix' measured them"),
		OPT_LIST(0, "patches", "FILE", &o.patches, "the patch series that were given to 'run --matrix'"),
		OPT_END,
	};
	_cleanup_(dataset_release) struct dataset d = {0};
	_cleanup_(view_release) struct view v = {0};
	_cleanup_(cmp_result_release) struct cmp_result res = {0};
	struct cmp_config cfg;
	int r = verb_options(&verb_compare, &argc, &argv, opts, c);

	if (r < 0)
		r = check_options(c, &o, argc);
	if (r >= 0) {
		strv_release(&o.metric);
		strv_release(&o.patches);
		return r;
	}
	if (o.profile) {
		strv_release(&o.metric);
		return compare_profiles(c, &o, argv);
	}
	r = load(c, &o, argv, (size_t)argc, &d, &v);
	if (r >= 0 && o.metric.n && !d.n_metrics)
		r = err_set(-ENOENT, "no metric of these builds matches '%s'%s", o.metric.v[0],
			    o.metric.n > 1 ? " or the others" : "");
	strv_release(&o.metric);
	strv_release(&o.patches);
	if (r < 0)
		return verb_fail(c, r);
	set_min_effects(&c->config.min_effects, &o, &d);
	cfg = (struct cmp_config){streq(o.rule, "lkp") ? CMP_LKP : CMP_MODERATED, d.n_builds, o.fdr, o.confidence,
				  o.all};
	r = cmp_run(&cfg, d.metric, d.n_metrics, &res);
	if (r < 0)
		return verb_fail(c, r);
	v.d = &d;
	v.r = &res;
	v.cfg = &cfg;
	note_untested(&d, &res, &v);
	v.all = o.all || ((c->json || c->csv) && !o.changed);
	if (o.runs || o.averages)
		r = view_runs(&v, o.averages, ctx_form(c), stdout);
	else if (c->json)
		r = view_json(&v, stdout);
	else if (c->csv || o.table || (!o.lkp && isatty(STDOUT_FILENO)))
		r = view_table(&v, ctx_form(c), stdout);
	else
		r = lkp_text(&v);
	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

const struct verb verb_compare = {
	.name = "compare",
	.usage = "[options] A B [C...]\n[options] --matrix JOB REV... [key=value ...]",
	.summary = "which metrics differ between builds, by how much, and how sure that is",
	.text = "A, B, ... are measured commits: 6 or more digits of an id, or a revision (branch, tag, main~3) of\n"
		"the only tree, of --tree, or of NAME as in NAME:main~3. Or they are CSV files with the columns\n"
		"metric,run,value and optionally boot (no database is needed then; an empty value is a run without\n"
		"that metric). Each is compared with the first one.\n\n"
		"REV+NAME is REV with the patch series NAME on top. REV@JOB is that commit in another job,\n"
		"REV@KEY=VALUE in the first column's job except for this parameter: 'main@rps=off main@rps=on\n"
		"main+fix@rps=off main+fix@rps=on'. --matrix writes such a list by itself for all points of a job\n"
		"file.\n\n"
		"Boots are the unit: runs of one boot are averaged first. q is the expected share of false positives\n"
		"among all metrics called changed at that q or below. effect and interval are in per cent of A, or in\n"
		"points for metrics that are already shares (perf-profile.*, names ending in %). docs/JUDGING.md\n"
		"explains how a verdict is reached.\n\n"
		"--profile compares the counts of 'run --profile' or 'machine boot --profile' (A and B may be folders\n"
		"of such boots): every executed instruction by function. See docs/PROFILE.md.",
	.run = run_compare,
};
