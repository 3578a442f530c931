/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/ask.h"
#include "reporters/deliver.h"

#include <json-c/json.h>

extern const struct verb verb_bisect;
int cmd_bisect_simulate(int argc, char **argv, struct ctx *ctx);

/* Its report was written, and who has not got it must wait: the daemon goes on with that. */
static bool waits_for_mail(struct ctx *c, const struct db_case *k)
{
	struct report_standing st = {0};

	return streq(k->state, "found") && report_standing(c->store, k->id, "smtp", &st) >= 0 && st.waiting;
}

/* Ended when the comparison has ended and each of its cases has, or only waits for a mail server. */
static int all_ended(void *arg, struct ctx *c)
{
	int64_t id = *(int64_t *)arg;
	struct db_comparison cmp = {0};
	struct db_case *cases = NULL;
	size_t n = 0;
	bool open = store_comparison_by_id(c->store, id, &cmp) < 0 || streq(cmp.state, "open");

	if (!open && store_cases(c->store, NULL, &cases, &n) >= 0)
		for (size_t i = 0; i < n; i++)
			open |= cases[i].comparison == id && db_case_lives(&cases[i]) && !waits_for_mail(c, &cases[i]);
	DB_LIST_RELEASE(cases, n, db_case_release);
	db_comparison_release(&cmp);
	return !open;
}

static struct json_object *case_json(const struct db_case *k)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "case", json_object_new_int64(k->id));
	json_object_object_add(o, "metric", json_text(k->metric));
	json_object_object_add(o, "state", json_text(k->state));
	json_object_object_add(o, "asked", json_text(k->asked));
	if (k->culprit)
		json_object_object_add(o, "culprit", json_text(k->culprit));
	if (isfinite(k->posterior))
		json_object_object_add(o, "posterior", json_object_new_double(k->posterior));
	json_object_object_add(o, "effect", json_object_new_double(k->effect));
	json_object_object_add(o, "boots", json_object_new_int64(k->boots));
	json_object_object_add(o, "builds", json_object_new_int64(k->builds));
	if (k->proof)
		json_object_object_add(o, "proof", json_tokener_parse(k->proof));
	return o;
}

static void print_mailed(const struct ctx *c, const struct db_case *k)
{
	const char *smtp = c->config.mail_smtp_enabled ? " --smtp" : "";
	struct report_standing st = {0};

	if ((streq(k->state, "reported") || streq(k->state, "found")) &&
	    report_standing(c->store, k->id, "smtp", &st) >= 0 && st.waiting)
		printf("%zu of %zu recipients have to wait: the daemon tries again\n", st.waiting, st.n);
	if (streq(k->state, "unmailed"))
		printf("not mailed: asked by hand, without --mail; 'kperfbot report send %" PRId64 "%s' mails it\n",
		       k->id, smtp);
	else if (streq(k->state, "undelivered"))
		printf("not mailed: nobody took it; 'kperfbot case show %" PRId64 "' tells why, 'kperfbot report send "
		       "%" PRId64 "%s --force' tries again\n", k->id, k->id, smtp);
}

static int print_result(struct ctx *c, int64_t id, bool *ret_found)
{
	struct db_comparison cmp = {0};
	struct db_case *cases = NULL;
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();
	size_t n = 0;
	int r = store_comparison_by_id(c->store, id, &cmp);

	if (r >= 0)
		r = store_cases(c->store, NULL, &cases, &n);
	if (r >= 0 && !c->json)
		term_printf(stdout, "%.12s..%.12s: %s: %s\n", cmp.base, cmp.head, cmp.state,
			    cmp.reason ? cmp.reason : "");
	for (size_t i = 0; r >= 0 && i < n; i++) {
		const struct db_case *k = &cases[i];

		if (k->comparison != id)
			continue;
		*ret_found |= k->culprit && (streq(k->state, "found") || streq(k->state, "reported") ||
					     streq(k->state, "unmailed") || streq(k->state, "undelivered"));
		json_object_array_add(list, case_json(k));
		if (!c->json)
			term_printf(stdout, "case %" PRId64 ": %s: %s %+.3f%%%s%s (posterior %.4f, %" PRId64 " boots, "
				    "%" PRId64 " builds)\n", k->id, k->state, k->metric, 100 * k->effect,
				    k->culprit ? " by " : "", k->culprit ? k->culprit : "", k->posterior, k->boots,
				    k->builds);
		if (!c->json)
			print_mailed(c, k);
	}
	if (r >= 0 && c->json) {
		json_object_object_add(o, "comparison", json_text(cmp.state));
		json_object_object_add(o, "reason", json_text(cmp.reason ? cmp.reason : ""));
		json_object_object_add(o, "cases", json_object_get(list));
		json_print(stdout, o, true);
	}
	json_object_put(list);
	json_object_put(o);
	DB_LIST_RELEASE(cases, n, db_case_release);
	db_comparison_release(&cmp);
	return r;
}

static int run_bisect(int argc, char **argv, struct ctx *c)
{
	const char *tree = NULL, *machine = NULL, *job_name = NULL;
	bool mail = false;
	double confidence = 0;
	const struct opt opts[] = {
		OPT_TEXT('j', "job", "JOB", &job_name, "job that shows the change (default: the tree's first)"),
		OPT_TEXT('t', "tree", "NAME", &tree, "tree (where there are several)"),
		OPT_TEXT('m', "machine", "NAME", &machine, "machine (default: the tree's)"),
		OPT_FLAG(0, "mail", &mail, "mail what is found (default: only 'report send' does)"),
		OPT_DOUBLE(0, "confidence", "P", &confidence, "posterior to reach (default: the configuration's)"),
		OPT_END,
	};
	struct engine e = {.cfg = &c->config};
	struct asked a = {0};
	struct db_job job = {0};
	_cleanup_free_ char *good = NULL, *bad = NULL;
	bool found = false, stopped = false;
	int64_t id = 0;
	int r;

	if (argc > 1 && streq(argv[1], "simulate"))
		return cmd_bisect_simulate(argc - 1, argv + 1, c);
	r = verb_options(&verb_bisect, &argc, &argv, opts, c);
	if (r >= 0)
		return r;
	if (argc != 2)
		return verb_usage(c, "bisect wants GOOD and BAD; --help tells more");
	if (confidence != 0 && !(confidence >= 0.5 && confidence < 1))
		return verb_usage(c, "--confidence must lie between 0.5 and 1");
	if (confidence != 0)
		c->config.confidence = confidence;
	r = ctx_store(c, false);
	e.store = c->store;
	e.asked = mail ? ASKED_HAND_MAIL : ASKED_HAND;
	if (r >= 0)
		r = ask_tree(c, tree, &a);
	if (r >= 0)
		r = ask_commit(c, &a, argv[0], &good);
	if (r >= 0)
		r = ask_commit(c, &a, argv[1], &bad);
	if (r >= 0 && tree_is_ancestor(a.git_dir, good, bad) != 1)
		r = err_set(-EINVAL, "'%s' is no ancestor of '%s'; start from their merge base", argv[0], argv[1]);
	if (r >= 0 && streq(good, bad))
		r = err_set(-EINVAL, "'%s' and '%s' are the same commit", argv[0], argv[1]);
	if (r >= 0 && !job_name && !a.tcfg.jobs.n)
		r = err_set(-EINVAL, "tree '%s' has no jobs: name one with --job", a.tree.name);
	if (r >= 0)
		r = ask_job(c, job_name ? job_name : a.tcfg.jobs.v[0], NULL, &job);
	if (r >= 0)
		r = ask_machine(c, machine ? machine : a.tcfg.machine);
	if (r >= 0)
		r = engine_ask(&e, &a.tree, &a.tcfg, "", good, bad, &job, machine ? machine : a.tcfg.machine, &id);
	if (r >= 0)
		r = ask_wait(c, all_ended, &id);
	stopped = r > 0;
	if (r >= 0)
		r = print_result(c, id, &found);
	db_job_release(&job);
	asked_release(&a);
	return r < 0 ? verb_fail(c, r) : stopped ? EXIT_STOPPED : found ? EXIT_DONE : EXIT_NO;
}

const struct verb verb_bisect = {
	.name = "bisect",
	.usage = "GOOD BAD [--job JOB] [--tree NAME] [--machine NAME] [--mail]\nsimulate --n N --snr S ...",
	.summary = "find the commit that changed a job's KPI between two commits",
	.text = "Measures both ends, and when they differ searches the commits between, and proves the culprit against its parent.\n"
		"Uses the running daemon, or does the work itself. Without --mail nobody is mailed and the mbox is\n"
		"not written: the case ends as unmailed, and 'report send' mails it. Where a branch asks the same,\n"
		"the daemon mails it. Exit 1 when nobody was found. 'bisect simulate --help' tells of the test bench.",
	.run = run_bisect,
};
