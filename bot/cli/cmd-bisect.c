/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/ask.h"
#include "lib/git.h"
#include "lib/log.h"
#include "reporters/reporter.h"

#include <json-c/json.h>

extern const struct verb verb_bisect;
int cmd_bisect_simulate(int argc, char **argv, struct ctx *ctx);

/* Its report was written, and who has not got it must wait: the daemon goes on with that. */
static bool waits_for_mail(struct ctx *c, const struct db_case *k)
{
	struct report_standing st = {0};

	return k->state == CASE_FOUND && report_waits(c->store, k->id, &st);
}

/* Ended when the comparison has ended and each of its cases has, or only waits for a mail server. */
static int all_ended(void *arg, struct ctx *c)
{
	int64_t id = *(int64_t *)arg;
	struct db_comparison cmp = {0};
	struct db_case *cases = NULL;
	size_t n = 0;
	bool open = store_comparison_by_id(c->store, id, &cmp) < 0 || cmp.state == COMPARISON_OPEN;

	if (!open && store_cases(c->store, &cases, &n) >= 0)
		for (size_t i = 0; i < n; i++)
			open |= cases[i].comparison == id && db_case_lives(&cases[i]) && !waits_for_mail(c, &cases[i]);
	DB_LIST_RELEASE(cases, n, db_case_release);
	db_comparison_release(&cmp);
	return !open;
}

static void add_finite(struct json_object *o, const char *key, double v)
{
	if (isfinite(v))
		json_object_object_add(o, key, json_object_new_double(v));
}

/* The commits that cannot be told apart, as [{"commit", "posterior"}, ...]; NULL where the answer is no set. */
static struct json_object *case_set(struct store *s, const struct db_case *k)
{
	struct json_object *set = json_object_new_array();
	struct db_candidate *list = NULL;
	size_t n = 0;

	if (!k->culprit)
		(void)store_candidates(s, k->id, &list, &n);
	for (size_t i = 0; i < n; i++) {
		struct json_object *x = json_object_new_object();

		json_object_object_add(x, "commit", json_text(list[i].commit));
		add_finite(x, "posterior", list[i].posterior);
		if (list[i].state == CANDIDATE_LEFT)
			json_object_array_add(set, x);
		else
			json_object_put(x);
	}
	DB_LIST_RELEASE(list, n, db_candidate_release);
	if (json_object_array_length(set))
		return set;
	json_object_put(set);
	return NULL;
}

static void add_text(struct json_object *o, const char *key, const char *v)
{
	if (v)
		json_object_object_add(o, key, json_text(v));
}

static void add_count(struct json_object *o, const char *key, int64_t v)
{
	if (v)
		json_object_object_add(o, key, json_object_new_int64(v));
}

static void proof_json(const struct db_proof *p, struct json_object *o)
{
	add_text(o, "parent", p->parent);
	add_count(o, "after_run", p->after_run);
	add_count(o, "tries", p->tries);
	add_count(o, "boots_parent", p->boots_parent);
	add_count(o, "boots_culprit", p->boots_culprit);
	add_finite(o, "mean_parent", p->mean_parent);
	add_finite(o, "mean_culprit", p->mean_culprit);
	add_finite(o, "sd", p->sd);
	add_finite(o, "effect", p->effect);
	add_finite(o, "lo", p->lo);
	add_finite(o, "hi", p->hi);
	add_finite(o, "p", p->p);
	add_count(o, "align", p->align);
	add_count(o, "aligned_after", p->aligned_after);
	add_finite(o, "aligned_effect", p->aligned_effect);
	add_text(o, "aligned", p->aligned);
	add_text(o, "revert_commit", p->revert_commit);
	add_count(o, "revert_after", p->revert_after);
	add_text(o, "revert", p->revert);
}

/* The proof of the culprit, and those that contradicted the search before; NULL: none yet. */
static struct json_object *case_proof(struct store *s, const struct db_case *k)
{
	struct json_object *o = json_object_new_object(), *contradicted = json_object_new_array();
	struct db_proof *p = NULL;
	size_t n = 0;

	(void)store_proofs(s, k->id, &p, &n);
	for (size_t i = 0; i < n; i++)
		if (p[i].state == PROOF_CONTRADICTED) {
			struct json_object *x = json_object_new_object();

			json_object_object_add(x, "commit", json_text(p[i].commit));
			json_object_object_add(x, "parent", json_text(p[i].parent));
			json_object_object_add(x, "effect",
					       isfinite(p[i].effect) ? json_object_new_double(p[i].effect) : NULL);
			json_object_array_add(contradicted, x);
		} else if (streq(p[i].commit, k->culprit)) {
			proof_json(&p[i], o);
		}
	DB_LIST_RELEASE(p, n, db_proof_release);
	if (json_object_array_length(contradicted))
		json_object_object_add(o, "contradicted", json_object_get(contradicted));
	json_object_put(contradicted);
	if (json_object_object_length(o))
		return o;
	json_object_put(o);
	return NULL;
}

static struct json_object *case_json(struct store *s, const struct db_case *k)
{
	struct json_object *set = case_set(s, k), *proof = case_proof(s, k);
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "case", json_object_new_int64(k->id));
	json_object_object_add(o, "metric", json_text(k->metric));
	json_object_object_add(o, "state", json_text(case_state_word(k->state)));
	json_object_object_add(o, "asked", json_text(asked_by_word(k->asked)));
	if (k->culprit)
		json_object_object_add(o, "culprit", json_text(k->culprit));
	if (set)
		json_object_object_add(o, "set", set);
	add_finite(o, "posterior", k->posterior);
	add_finite(o, "effect", k->effect);
	if (k->failure)
		json_object_object_add(o, "failure", json_text(k->failure));
	json_object_object_add(o, "boots", json_object_new_int64(k->boots));
	json_object_object_add(o, "builds", json_object_new_int64(k->builds));
	if (proof)
		json_object_object_add(o, "proof", proof);
	return o;
}

static void print_mailed(const struct ctx *c, const struct db_case *k)
{
	_cleanup_free_ char *option = config_send_option(&c->config);
	struct report_standing st = {0};

	if ((k->state == CASE_REPORTED || k->state == CASE_FOUND) && report_waits(c->store, k->id, &st))
		printf("%zu of %zu recipients have to wait: the daemon tries again\n", st.waiting, st.n);
	if (k->state == CASE_UNMAILED)
		printf("not mailed: asked by hand, without --mail; 'kperfbot report send %" PRId64 "%s' mails it\n",
		       k->id, option);
	else if (k->state == CASE_UNDELIVERED)
		printf("not mailed: nobody took it; 'kperfbot case show %" PRId64 "' tells why, 'kperfbot report send "
		       "%" PRId64 "%s --force' tries again\n", k->id, k->id, option);
}

static void print_case(struct store *s, const struct db_case *k)
{
	_cleanup_free_ char *what = k->failure ? xasprintf("fails (%s)", k->failure)
					       : xasprintf("%s %+.3f%%", k->metric, 100 * k->effect);
	struct json_object *set = case_set(s, k);

	term_printf(stdout, "case %" PRId64 ": %s: %s%s%s (posterior %.4f, %" PRId64 " boots, %" PRId64 " builds)\n",
		    k->id, case_state_word(k->state), what, k->culprit ? " by " : "", k->culprit ? k->culprit : "",
		    k->posterior, k->boots, k->builds);
	for (size_t i = 0; set && i < json_object_array_length(set); i++)
		term_printf(stdout, "%s %s\n", i ? "      " : "one of", json_object_get_string(
			    json_object_object_get(json_object_array_get_idx(set, i), "commit")));
	json_object_put(set);
}

static int print_result(struct ctx *c, int64_t id, bool *ret_found)
{
	struct db_comparison cmp = {0};
	struct db_case *cases = NULL;
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	_cleanup_free_ char *told = NULL;
	const char *reason;
	size_t n = 0;
	int r = store_comparison_by_id(c->store, id, &cmp);

	if (r >= 0)
		r = store_cases(c->store, &cases, &n);
	told = xasprintf("%s: %s", comparison_state_word(cmp.state), cmp.reason ? cmp.reason : "");
	reason = cmp.state == COMPARISON_UNSHOWN ? told : cmp.reason ? cmp.reason : "";
	if (r >= 0 && !c->json)
		term_printf(stdout, "%.12s..%.12s: %s\n", cmp.base, cmp.head, told);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct db_case *k = &cases[i];

		if (k->comparison != id)
			continue;
		*ret_found |= k->culprit && db_case_found(k);
		json_object_array_add(list, case_json(c->store, k));
		if (!c->json)
			print_case(c->store, k);
		if (!c->json)
			print_mailed(c, k);
	}
	if (r >= 0 && c->json) {
		json_object_object_add(o, "comparison", json_text(comparison_state_word(cmp.state)));
		json_object_object_add(o, "reason", json_text(reason));
		json_object_object_add(o, "cases", json_object_get(list));
		json_print(stdout, o, true);
	}
	json_object_put(list);
	json_object_put(o);
	DB_LIST_RELEASE(cases, n, db_case_release);
	db_comparison_release(&cmp);
	return r;
}

struct bisect_options {
	const char *tree, *machine, *job, *good, *bad;
	bool mail, queue_only, quiet;
	double confidence;
};

/* The command again with other ends, for people to copy. */
static void add_command(const struct ctx *c, const struct bisect_options *o, const char *good, const char *bad,
			struct buf *b)
{
	const struct {
		const char *name, *value;
	} given[] = {{"job", o->job}, {"tree", o->tree}, {"machine", o->machine}};

	buf_add_self(c, b);
	buf_adds(b, " bisect ");
	buf_add_shell(b, good);
	buf_addc(b, ' ');
	buf_add_shell(b, bad);
	for (size_t i = 0; i < ARRAY_SIZE(given); i++)
		if (given[i].value) {
			buf_addf(b, " --%s ", given[i].name);
			buf_add_shell(b, given[i].value);
		}
	if (o->confidence != 0)
		buf_addf(b, " --confidence %.10g", o->confidence);
	buf_adds(b, o->mail ? " --mail" : "");
}

/* Two ends that lie side by side: where they parted, which is where a search can begin. */
static int say_parted(const struct ctx *c, const struct asked *a, const struct bisect_options *o, const char *good,
		      const char *bad)
{
	_cleanup_free_ char *base = NULL, *text = NULL, *subject = NULL;
	_cleanup_buf_ struct buf command = {0};
	struct commit_info info = {0};
	int r = tree_merge_base(a->git_dir, good, bad, &base);

	if (r == -ENOENT)
		return err_set(
			-EINVAL,
			"'%s' (%.12s) and '%s' (%.12s) have no common ancestor: there is nothing to search between "
			"them",
			o->good, good, o->bad, bad);
	if (r < 0)
		return r;
	if (tree_commit(a->git_dir, base, &info) >= 0)
		subject = term_safe(info.subject);
	commit_info_release(&info);
	text = xasprintf("%.12s", base);
	add_command(c, o, text, o->bad, &command);
	return err_set(-EINVAL,
		       "'%s' (%.12s) is not an ancestor of '%s' (%.12s): they parted at their merge base %s%s%s%s\n"
		       "to search what '%s' has had since then, start at the merge base: %s",
		       o->good, good, o->bad, bad, text, subject ? " (\"" : "", subject ? subject : "",
		       subject ? "\")" : "", o->bad, buf_str(&command));
}

/* Can there be a first bad commit between them? */
static int check_ends(const struct ctx *c, const struct asked *a, const struct bisect_options *o, const char *good,
		      const char *bad)
{
	_cleanup_buf_ struct buf command = {0};
	int r;

	if (streq(good, bad))
		return err_set(-EINVAL,
			       "'%s' and '%s' are the same commit, %.12s: there is nothing to search between them",
			       o->good, o->bad, good);
	r = tree_is_ancestor(a->git_dir, good, bad);
	if (r != 0)
		return MIN(r, 0);
	r = tree_is_ancestor(a->git_dir, bad, good);
	if (r == 0)
		return say_parted(c, a, o, good, bad);
	if (r < 0)
		return r;
	add_command(c, o, o->bad, o->good, &command);
	return err_set(-EINVAL,
		       "'%s' (%.12s) is an ancestor of '%s' (%.12s): the two are swapped, GOOD is the older one: %s",
		       o->bad, bad, o->good, good, buf_str(&command));
}

/* What was stopped before the end goes on with all that was measured. Returns how many cases. */
static int go_on(struct ctx *c, const struct db_comparison *q, enum asked_by asked)
{
	struct db_case *k = NULL;
	size_t n = 0;
	int r = store_cases(c->store, &k, &n), cases = 0;

	if (r >= 0 && q->state == COMPARISON_CANCELLED)
		r = store_comparison_end(c->store, q->id, COMPARISON_OPEN, FAULT_NONE, NULL);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		if (k[i].comparison != q->id || k[i].state != CASE_IGNORED || k[i].stopped != STOPPED_BY_ASKER)
			continue;
		free(k[i].note);
		k[i].state = CASE_CONFIRMED;
		k[i].stopped = STOPPED_NOT;
		k[i].note = NULL;
		k[i].changed = now_usec();
		r = store_case_asked(c->store, k[i].id, asked);
		if (r >= 0)
			r = store_case_put(c->store, &k[i], NULL);
		if (r >= 0)
			store_event(c->store, k[i].id, q->id, 0, "case %" PRId64 " goes on: asked again", k[i].id);
		cases++;
	}
	DB_LIST_RELEASE(k, n, db_case_release);
	return r < 0 ? r : cases;
}

/* The question is ours to take back, unless it was there before and nobody sat waiting for it. */
static int take_over(struct ctx *c, int64_t id, const struct bisect_options *o, usec_t since, struct asking *a)
{
	struct db_comparison q = {0};
	int r = store_comparison_by_id(c->store, id, &q), cases = 0;
	bool ours = r >= 0 && (q.created >= since || q.state == COMPARISON_CANCELLED || asking_lives(c, id));

	if (r >= 0)
		r = cases = go_on(c, &q, o->mail ? ASKED_HAND_MAIL : ASKED_HAND);
	if (r >= 0 && !o->queue_only && (ours || cases))
		r = asking_comparison(c, a, id);
	db_comparison_release(&q);
	return MIN(r, 0);
}

static int ask_question(struct ctx *c, const struct bisect_options *o, struct asking *asking, struct progress *progress,
			int64_t *ret_id)
{
	struct engine e = {.cfg = &c->config, .store = c->store, .asked = o->mail ? ASKED_HAND_MAIL : ASKED_HAND};
	_cleanup_(asked_release) struct asked a = {0};
	_cleanup_(db_job_release) struct db_job job = {0};
	_cleanup_free_ char *good = NULL, *bad = NULL;
	const char *machine;
	usec_t since = now_usec();
	int r = ask_tree(c, o->tree, &a);

	if (r >= 0)
		r = ask_commit(c, &a, o->good, &good);
	if (r >= 0)
		r = ask_commit(c, &a, o->bad, &bad);
	if (r >= 0)
		r = check_ends(c, &a, o, good, bad);
	if (r >= 0 && !o->job && !a.tcfg.jobs.n)
		r = err_set(-EINVAL, "tree '%s' has no jobs: name one with --job", a.tree.name);
	if (r >= 0)
		r = ask_job(c, o->job ? o->job : a.tcfg.jobs.v[0], NULL, &job);
	machine = o->machine ? o->machine : a.tcfg.machine;
	if (r >= 0)
		r = ask_machine(c, machine);
	if (r >= 0 && !o->queue_only)
		r = asking_begin(c, asking);
	if (r >= 0)
		r = engine_ask(&e, &a.tree, &a.tcfg, "", good, bad, &job, machine, ret_id);
	if (r >= 0)
		r = take_over(c, *ret_id, o, since, asking);
	if (r >= 0) {
		progress_begin(progress, c, ret_id, 1, o->quiet);
		progress_search(progress, c, false);
	}
	return r;
}

static int run_bisect(int argc, char **argv, struct ctx *c)
{
	struct bisect_options o = {0};
	const struct opt opts[] = {
		OPT_TEXT('j', "job", "JOB", &o.job, "job that shows the change (default: the tree's first)"),
		OPT_TEXT('t', "tree", "NAME", &o.tree, "tree (where there are several)"),
		OPT_TEXT('m', "machine", "NAME", &o.machine, "machine (default: the tree's)"),
		OPT_FLAG(0, "mail", &o.mail, "mail what is found (default: only 'report send' does)"),
		OPT_FLAG('q', "queue", &o.queue_only, "only ask: the daemon does the work"),
		OPT_FLAG(0, "quiet", &o.quiet, "say nothing but the result and what goes wrong"),
		OPT_DOUBLE(0, "confidence", "P", &o.confidence, "posterior to reach (default: the configuration's)"),
		OPT_END,
	};
	_cleanup_(asking_end) struct asking asking = ASKING_INIT;
	_cleanup_(progress_release) struct progress progress = {0};
	bool found = false, stopped = false;
	int64_t id = 0;
	int r;

	if (argc > 1 && streq(argv[1], "simulate"))
		return cmd_bisect_simulate(argc - 1, argv + 1, c);
	r = verb_options(&verb_bisect, &argc, &argv, opts, c);
	if (r >= 0)
		return r;
	if (argc != 2)
		return verb_usage(c, "bisect needs GOOD and BAD; see --help");
	if (o.confidence != 0 && !(o.confidence >= 0.5 && o.confidence < 1))
		return verb_usage(c, "--confidence must lie between 0.5 and 1, not %g", o.confidence);
	if (o.confidence != 0)
		c->config.confidence = o.confidence;
	if (o.quiet)
		log_max_level = LOG_WARN_;
	o.good = argv[0];
	o.bad = argv[1];
	r = ctx_store(c, false);
	if (r >= 0)
		r = ask_question(c, &o, &asking, &progress, &id);
	if (r >= 0 && o.queue_only)
		return EXIT_DONE;
	if (r >= 0)
		r = ask_wait(c, &asking, &progress, all_ended, &id);
	stopped = r > 0;
	if (r >= 0)
		r = print_result(c, id, &found);
	return r < 0 ? verb_fail(c, r) : stopped ? EXIT_STOPPED : found ? EXIT_DONE : EXIT_NO;
}

const struct verb verb_bisect = {
	.name = "bisect",
	.usage =
		"GOOD BAD [--job JOB] [--tree NAME] [--machine NAME] [--mail] [--queue] [--quiet]\nsimulate --n N --snr S ...",
	.summary = "find the commit that changed a job's KPI between two commits",
	.text = "GOOD and BAD are branches, tags or ids of the tree, GOOD an ancestor of BAD; where it is not, the\n"
		"merge base is named.\n"
		"Measures both ends and, if they differ, searches the commits between, and proves the culprit against\n"
		"its parent.\n"
		"Where the benchmark fails on BAD but not on GOOD, it looks for the first commit that fails.\n"
		"Uses the running daemon, or does the work itself. Without --mail nobody is mailed and the mbox is\n"
		"not written: the case ends as unmailed, and 'report send' mails it. Where a branch asks the same,\n"
		"the daemon mails it. 'bisect simulate --help' describes the test bench.\n\n"
		ASK_STOP_TEXT "\n"
		"The same command resumes the search.\n\n"
		"Exit status: 0 a commit was found; 1 none was, or it failed; 2 wrong use, such as ends that are\n"
		"swapped or lie side by side; 3 no such tree, commit, job or machine; 130 stopped before the end.\n"
		"With --queue: 0 once it is asked.",
	.run = run_bisect,
};
