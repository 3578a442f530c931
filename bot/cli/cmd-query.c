/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/verb.h"

/* Full ids are for programs; on a terminal 12 digits tell as much and leave room. */
static void shorten_ids(struct table *t)
{
	static const char *const ids[] = {"commit", "base", "head", "culprit"};

	for (size_t c = 0; c < t->n_cols; c++)
		for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
			for (size_t r = 0; streq(t->col[c].name, ids[i]) && r < t->n_rows; r++) {
				char *text = t->cell[r * t->n_cols + c].text;

				if (text && strlen(text) > 12)
					text[12] = 0;
			}
}

static void hide_secrets(struct table *t)
{
	for (size_t c = 0; c < t->n_cols; c++)
		for (size_t r = 0; streq(t->col[c].name, "url") && r < t->n_rows; r++) {
			char **text = &t->cell[r * t->n_cols + c].text, *shown = url_shown(*text);

			free(*text);
			*text = shown;
		}
}

extern const struct verb verb_query;

static int cmd_query(int argc, char **argv, struct ctx *c)
{
	struct query_filter f = {0};
	_cleanup_table_ struct table t = {0};
	const struct opt opts[] = {
		OPT_TEXT('t', "tree", "NAME", &f.tree, "only this tree"),
		OPT_TEXT('c', "commit", "ID", &f.commit, "only this commit (6 or more digits)"),
		OPT_TEXT('j', "job", "JOB", &f.job, "only this job: name, glob or id"),
		OPT_TEXT('m', "machine", "NAME", &f.machine, "only this machine or tbox group"),
		OPT_TEXT(0, "metric", "GLOB", &f.metric_glob, "only matching metrics, as in 'perf-stat.*'"),
		OPT_TEXT(0, "since", "TIME", &f.since,
			 "only from this time on: 2024-05-01, 2024-05-01T12:00 (UTC) or an age like 2d"),
		OPT_TEXT(0, "until", "TIME", &f.until, "only before this time"),
		OPT_TEXT(0, "state", "STATE", &f.state, "only these states (comma-separated)"),
		OPT_TEXT(0, "verdict", "VERDICT", &f.verdict,
			 "only runs with these verdicts (comma-separated); series: default ok"),
		OPT_INT(0, "case", "N", &f.case_id, "only what belongs to this case"),
		OPT_INT('n', "limit", "N", &f.limit, "the newest N rows (default: all)"),
		OPT_END,
	};
	_cleanup_free_ char *send = NULL;
	int r;

	r = verb_options(&verb_query, &argc, &argv, opts, c);
	if (r >= 0)
		return r;
	f.send_option = send = config_send_option(&c->config);
	if (argc != 1)
		return verb_usage(
			c,
			"query what? runs, checks, metrics, series, builds, patches, cases, trees, machines, queue or events");
	if ((r = ctx_store(c, true)) < 0 || (r = store_query(c->store, argv[0], &f, &t)) < 0)
		return verb_fail(c, r);
	hide_secrets(&t);
	if (ctx_form(c) == TABLE_TERM)
		shorten_ids(&t);
	r = table_print(&t, ctx_form(c), stdout);
	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

const struct verb verb_query = {
	.name = "query",
	.usage = "runs|checks|metrics|series|builds|patches|cases|trees|machines|queue|events [OPTION...]",
	.summary = "what the database knows: runs, their checks, metrics, series of a metric, builds, cases",
	.text = "Prints rows from old to new. All columns also come as --csv and --json, with full commit ids there.\n"
		"\n"
		"series needs --metric and gives one row per build, job and tbox group: the number of boots and runs, the mean over\n"
		"boots (runs of one boot are averaged first), the standard deviation over boots in per cent of the mean (population,\n"
		"as in the reports), the smallest and the largest value. Only runs with the verdict ok count, unless --verdict says\n"
		"otherwise.\n"
		"\n"
		"checks shows whether the tests were valid: what each check of a run saw. --state fail shows what made runs untrusted.\n"
		"\n"
		"  kperfbot query series --metric stress-ng.sockfd.ops_per_sec --tree net-next --since 14d\n"
		"  kperfbot query runs --verdict crashed,boot-failed --csv\n"
		"  kperfbot query checks --state fail --since 7d\n"
		"  kperfbot query metrics --metric 'perf-stat.*' --commit 1a2b3c4d5e",
	.run = cmd_query,
};
