/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/ask.h"
#include "bot/compare-view.h"
#include "bot/profile.h"
#include "bot/verb.h"
#include "jobs/check.h"
#include "lib/fs.h"

extern const struct verb verb_compare;

struct options {
	bool all, changed, runs, lkp, table, profile;
	const char *rule, *tree, *kconfig, *job, *machine;
	struct strv metric;
	double fdr, confidence, min_effect;
	int64_t history, rows;
};

/* ---- from the database ---- */

struct choice { struct db_measured *m; size_t n; };     /* of one commit */

static bool same_place(const struct db_measured *a, const struct db_measured *b)
{
	return streq(a->tree, b->tree) && streq(a->kconfig, b->kconfig) && streq(a->job, b->job) &&
	       streq(a->tbox_group, b->tbox_group);
}

static bool asked_for(const struct options *o, const struct db_measured *m)
{
	return (!o->tree || streq(o->tree, m->tree)) && (!o->kconfig || streq(o->kconfig, m->kconfig)) &&
	       (!o->job || streq(o->job, m->job) || streq(o->job, m->job_name)) &&
	       (!o->machine || streq(o->machine, m->tbox_group));
}

static const struct db_measured *find_place(const struct choice *c, const struct db_measured *like)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->m[i].runs && same_place(&c->m[i], like))
			return &c->m[i];
	return NULL;
}

/* The one combination of tree, kconfig, job and machine in which all commits were measured. */
static int choose(const struct options *o, const struct choice *c, size_t n, char *const *oid, const struct db_measured **ret)
{
	_cleanup_buf_ struct buf list = {0};
	size_t found = 0;

	for (size_t i = 0; i < c[0].n; i++) {
		const struct db_measured *m = &c[0].m[i];
		bool everywhere = m->runs && asked_for(o, m);

		for (size_t k = 1; k < n && everywhere; k++)
			everywhere = find_place(&c[k], m) != NULL;
		if (!everywhere)
			continue;
		if (!found++)
			*ret = m;
		buf_addf(&list, "\n  --tree=%s --kconfig=%s --job=%s --machine=%s (%s)", m->tree, m->kconfig, m->job, m->tbox_group,
			 m->job_name);
	}
	if (found == 1)
		return 0;
	if (found)
		return err_set(-EINVAL, "these commits were measured in %zu ways, choose one:%s", found, list.s);
	for (size_t k = 0; k < n; k++)
		if (!c[k].n)
			return err_set(-ENOENT, "commit '%.12s' has no runs yet; 'kperfbot run' makes some", oid[k]);
	return err_set(-ENOENT, "these commits were never measured with the same job on the same machine%s",
		       o->tree || o->job || o->machine || o->kconfig ? " that fits the options" : "");
}

/* The spread that each metric had in earlier builds, as its prior: what the last builds say, counted half (spreads
 * drift) and as at most 30 degrees of freedom. */
static int add_history(struct ctx *c, const struct options *o, const struct db_measured *place, const int64_t *own,
		       struct dataset *d)
{
	_cleanup_free_ int64_t *build = NULL;
	struct dataset_history h = {0};
	size_t n = 0;
	int r = 0;

	if (o->history <= 0)
		return 0;
	r = store_recent_builds(c->store, place->job, place->tbox_group, (size_t)o->history + d->n_builds, &build, &n);
	for (size_t i = 0, used = 0; r >= 0 && i < n && used < (size_t)o->history; i++) {
		struct matrix m = {0};
		bool is_own = false;

		for (size_t b = 0; b < d->n_builds; b++)
			is_own = is_own || own[b] == build[i];
		if (is_own)
			continue;
		used++;
		r = store_matrix(c->store, build[i], place->job, place->tbox_group, &m);
		if (r >= 0)
			dataset_history_add(&h, &m);
		matrix_release(&m);
	}
	if (r >= 0)
		dataset_history_apply(&h, d);
	dataset_history_release(&h);
	return r;
}

/* Runs that failed a check are left out already; a link at its limit is not, but may hide a change. */
static int add_validity(struct ctx *c, const struct db_measured *place, int64_t build, const char *oid, struct view *v)
{
	struct db_check *list = NULL;
	size_t n = 0;
	int r = store_checks(c->store, build, place->job, place->tbox_group, &list, &n);

	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct db_check *k = &list[i];

		if (k->fail)
			strv_addf(&v->validity, "%.12s: %s failed in %" PRId64 " of %" PRId64 " runs, which are left out: %s", oid, k->name,
				  k->fail, k->pass + k->fail + k->unknown, k->evidence);
		else if (k->unknown && startswith(k->evidence, CHECK_CAPPED))
			strv_addf(&v->validity, "%.12s: %s capped in %" PRId64 " of %" PRId64 " runs, 'same' may hide a change: %s", oid,
				  k->name, k->unknown, k->pass + k->unknown, k->evidence);
	}
	DB_LIST_RELEASE(list, n, db_check_release);
	return r;
}

/* What the engine found about the machine when it asked the same question. */
static int add_disturbed(struct ctx *c, char *const *oid, size_t n, struct view *v)
{
	struct db_comparison *list = NULL;
	size_t n_list = 0;
	int r = store_comparisons(c->store, "disturbed", &list, &n_list);

	for (size_t i = 0; r >= 0 && i < n_list; i++)
		for (size_t k = 1; k < n; k++)
			if (streq(list[i].base, oid[0]) && streq(list[i].head, oid[k]))
				strv_addf(&v->validity, "%.12s..%.12s: undecided: %s", oid[0], oid[k], list[i].reason);
	DB_LIST_RELEASE(list, n_list, db_comparison_release);
	return r;
}

static int load_place(struct ctx *c, const struct options *o, const struct choice *choice, char *const *oid, size_t n,
		      struct dataset *d, struct view *v)
{
	_cleanup_free_ int64_t *own = xcalloc(n, sizeof(*own));
	const struct db_measured *place = NULL;
	int r = choose(o, choice, n, oid, &place);

	for (size_t k = 0; r >= 0 && k < n; k++) {
		struct matrix m = {0};

		own[k] = find_place(&choice[k], place)->build;
		r = store_matrix(c->store, own[k], place->job, place->tbox_group, &m);
		if (r >= 0) {
			_cleanup_free_ char *subject = view_subject(&c->config, place->tree, oid[k]);

			r = dataset_add_matrix(d, oid[k], subject, &m);
		}
		if (r >= 0)
			r = add_validity(c, place, own[k], oid[k], v);
		matrix_release(&m);
	}
	if (r >= 0)
		r = add_disturbed(c, oid, n, v);
	if (r >= 0)
		r = dataset_finish(d, &o->metric);
	if (r >= 0)
		r = add_history(c, o, place, own, d);
	return r < 0 ? r : view_place(c->store, place, v);
}

static int load_commits(struct ctx *c, const struct options *o, char **arg, size_t n, struct dataset *d, struct view *v)
{
	_cleanup_strv_ struct strv oid = {0};
	struct choice *choice = xcalloc(n, sizeof(*choice));
	int r = ctx_store(c, true);

	for (size_t k = 0; r >= 0 && k < n; k++) {
		char *full;

		r = ask_revision(c, o->tree, arg[k], &full);
		if (r < 0)
			break;
		strv_add(&oid, full);
		free(full);
		r = store_measured(c->store, oid.v[k], &choice[k].m, &choice[k].n);
	}
	if (r >= 0)
		r = load_place(c, o, choice, oid.v, n, d, v);
	for (size_t k = 0; k < n; k++)
		DB_LIST_RELEASE(choice[k].m, choice[k].n, db_measured_release);
	free(choice);
	return r;
}

/* ---- from files ---- */

static int load_files(const struct options *o, char **arg, size_t n, struct dataset *d)
{
	int r = 0;

	for (size_t k = 0; r >= 0 && k < n; k++)
		r = dataset_add_csv(d, arg[k]);
	return r < 0 ? r : dataset_finish(d, &o->metric);
}

static bool is_file(const char *arg) { return fs_exists(arg) && !fs_is_dir(arg); }

static int load(struct ctx *c, const struct options *o, char **arg, size_t n, struct dataset *d, struct view *v)
{
	size_t files = 0;

	for (size_t k = 0; k < n; k++)
		files += is_file(arg[k]);
	if (files == n)
		return load_files(o, arg, n, d);
	for (size_t k = 0; k < n; k++)
		if (!is_file(arg[k]) && (files || *arg[k] == '/' || startswith(arg[k], "./") || endswith(arg[k], ".csv")))
			return err_set(-ENOENT, "there is no file '%s'", arg[k]);
	return load_commits(c, o, arg, n, d, v);
}

/* ---- the verb ---- */

static int check_options(const struct ctx *c, const struct options *o, int argc)
{
	if (argc < 2)
		return verb_usage(c, "compare needs two or more commits or revisions, or CSV files with the columns metric,run,value");
	if (argc > 26)
		return verb_usage(c, "compare takes at most 26 builds");
	if (!streq(o->rule, "moderated") && !streq(o->rule, "lkp"))
		return verb_usage(c, "--rule is 'moderated' or 'lkp', not '%s'", o->rule);
	if (!(o->fdr > 0 && o->fdr < 1) || !(o->confidence > 0 && o->confidence < 1))
		return verb_usage(c, "--fdr and --confidence lie between 0 and 1");
	if (o->min_effect < 0)
		return verb_usage(c, "--min-effect is a number of per cent from 0 on, not %g", o->min_effect);
	if (o->profile && argc != 2)
		return verb_usage(c, "compare --profile takes two builds, not %d", argc);
	if (o->rows < 0)
		return verb_usage(c, "--rows is a number of rows, not %" PRId64, o->rows);
	return -1;
}

/* The option holds for all metrics, before the configuration; else the class of a metric tells (-1). */
static void set_min_effects(const struct effect_rules *rules, const struct options *o, struct dataset *d)
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

static int compare_profiles(struct ctx *c, const struct options *o, char **arg)
{
	const struct profile_question q = {o->tree, o->kconfig, o->job, o->machine, o->all, o->rows};
	int r = profile_compare(c, &q, arg[0], arg[1]);

	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

static int run_compare(int argc, char **argv, struct ctx *c)
{
	struct options o = {.rule = "moderated", .fdr = .05, .confidence = .95, .min_effect = NAN, .history = 8, .rows = 20};
	const struct opt opts[] = {
		OPT_FLAG('a', "all", &o.all, "unchanged metrics, too"),
		OPT_FLAG(0, "changed", &o.changed, "only changed metrics in JSON and CSV, too"),
		OPT_FLAG(0, "lkp", &o.lkp, "LKP's text table (the default when not on a terminal)"),
		OPT_FLAG(0, "table", &o.table, "table with q, effect, interval and n (the default on a terminal)"),
		OPT_FLAG(0, "runs", &o.runs, "every run, averages and differences, as people mail them"),
		OPT_FLAG(0, "profile", &o.profile, "exact instructions per operation by function (see below)"),
		OPT_INT(0, "rows", "N", &o.rows, "functions shown by --profile (20; --all for all)"),
		OPT_TEXT(0, "rule", "RULE", &o.rule, "'moderated' t-test, or 'lkp' for the decision of lkp-tests"),
		OPT_LIST('m', "metric", "GLOB", &o.metric, "only these metrics (repeatable)"),
		OPT_DOUBLE(0, "fdr", "RATE", &o.fdr, "share of false ones among the changed metrics (0.05)"),
		OPT_DOUBLE(0, "confidence", "C", &o.confidence, "of the intervals (0.95)"),
		OPT_DOUBLE(0, "min-effect", "PERCENT", &o.min_effect, "smallest change of interest, for all metrics (default: judge: min_effects)"),
		OPT_INT(0, "history", "N", &o.history, "learn each metric's spread from the last N other builds (8)"),
		OPT_TEXT('t', "tree", "NAME", &o.tree, "where commits were measured in several trees"),
		OPT_TEXT(0, "kconfig", "NAME", &o.kconfig, "... or with several configurations"),
		OPT_TEXT('j', "job", "JOB", &o.job, "... or jobs (name or id)"),
		OPT_TEXT(0, "machine", "GROUP", &o.machine, "... or machines"),
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
		return r;
	}
	if (o.profile) {
		strv_release(&o.metric);
		return compare_profiles(c, &o, argv);
	}
	r = load(c, &o, argv, (size_t)argc, &d, &v);
	strv_release(&o.metric);
	if (r < 0)
		return verb_fail(c, r);
	set_min_effects(&c->config.min_effects, &o, &d);
	cfg = (struct cmp_config){streq(o.rule, "lkp") ? CMP_LKP : CMP_MODERATED, d.n_builds, o.fdr, o.confidence, o.all};
	r = cmp_run(&cfg, d.metric, d.n_metrics, &res);
	if (r < 0)
		return verb_fail(c, r);
	v.d = &d;
	v.r = &res;
	v.cfg = &cfg;
	v.all = o.all || ((c->json || c->csv) && !o.changed);
	if (o.runs)
		r = view_runs(&v, ctx_form(c), stdout);
	else if (c->json)
		r = view_json(&v, stdout);
	else if (c->csv || o.table || (!o.lkp && isatty(STDOUT_FILENO)))
		r = view_table(&v, ctx_form(c), stdout);
	else
		r = view_lkp(&v, stdout);
	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

const struct verb verb_compare = {
	.name = "compare",
	.usage = "[options] A B [C...]",
	.summary = "which metrics differ between builds, by how much, and how sure that is",
	.text = "A, B, ... are measured commits: 6 or more digits of an id, or a revision (branch, tag, main~3) of the only tree, of\n"
		"--tree, or of NAME as in NAME:main~3. Or they are CSV files with the columns metric,run,value and perhaps boot (no\n"
		"database is needed then; an empty value is a run without that metric). Each is compared with the first one.\n\n"
		"Boots are the unit: runs of one boot are averaged first. q is the share of false ones to expect among all\n"
		"metrics called changed at that q or below. effect and interval are in per cent of A, or in points for metrics\n"
		"that are shares already (perf-profile.*, names ending in %). docs/JUDGING.md tells how a verdict is reached.\n\n"
		"--profile compares what was counted by 'run --profile' or 'machine boot --profile' (A and B may be folders of such\n"
		"boots): every executed instruction by function. docs/PROFILE.md.",
	.run = run_compare,
};
