/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine.h"
#include "bot/verb.h"

extern const struct verb verb_queue;

static int list(struct ctx *c, bool all, bool events)
{
	struct query_filter f = {.state = all || events ? NULL : "ready,running", .limit = 200};
	_cleanup_table_ struct table t = {0};
	int r = store_query(c->store, events ? "events" : "queue", &f, &t);

	return r < 0 ? verb_fail(c, r) : table_print(&t, ctx_form(c), stdout) < 0 ? EXIT_NO : EXIT_DONE;
}

static int one(struct ctx *c, const char *what, const char *text)
{
	int64_t id;
	int r = parse_i64(text, &id);

	if (r >= 0)
		r = streq(what, "cancel") ? store_task_cancel(c->store, id) : store_task_retry(c->store, id);
	if (r < 0)
		return verb_fail(c, r);
	if (!c->json)
		printf("task %" PRId64 ": %s\n", id, streq(what, "cancel") ? "cancelled" : "ready again");
	return EXIT_DONE;
}

static int run_queue(int argc, char **argv, struct ctx *c)
{
	bool all = false, events = false;
	const struct opt opts[] = {
		OPT_FLAG('a', "all", &all, "ended tasks too"),
		OPT_FLAG('l', "log", &events, "what happened, newest last"),
		OPT_END,
	};
	const char *what;
	int r = verb_options(&verb_queue, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	what = argc ? argv[0] : "list";
	r = ctx_store(c, streq(what, "list"));
	if (r < 0)
		return verb_fail(c, r);
	if (streq(what, "list") && argc <= 1)
		return list(c, all, events);
	if ((streq(what, "cancel") || streq(what, "retry")) && argc == 2)
		return one(c, what, argv[1]);
	return verb_usage(c, "queue list, queue cancel ID or queue retry ID; work is added by 'run', 'bisect' and the watcher");
}

const struct verb verb_queue = {
	.name = "queue",
	.usage = "list [--all] [--log]\ncancel ID\nretry ID",
	.summary = "what is being done and what waits",
	.text = "Work comes into the queue by the watcher, by 'kperfbot run' (with --queue: without waiting) and 'kperfbot bisect'.",
	.run = run_queue,
};
