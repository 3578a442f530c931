/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/engine.h"
#include "bot/cli/verb.h"

extern const struct verb verb_queue;

#define WIDTH 100               /* a screen; CSV and JSON have all columns in full */
#define WHAT 40

static const char *text_of(const struct table *t, size_t row, const char *column)
{
	for (size_t i = 0; i < t->n_cols; i++)
		if (streq(t->col[i].name, column))
			return t->cell[row * t->n_cols + i].text ? t->cell[row * t->n_cols + i].text : "";
	return "";
}

/* "run:TREE:COMMIT:KCONFIG:JOB:GROUP:7" -> "TREE COMMIT boot 7", as far as there is room. */
static char *what_of(const char *key)
{
	_cleanup_free_ char *copy = xstrdup(key);
	char *word[8] = {0}, *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(copy, ":", &save); w && n < ARRAY_SIZE(word); w = strtok_r(NULL, ":", &save))
		word[n++] = w;
	if (n < 4)      /* report:CASE, send:CASE:WAY */
		return n < 2 ? xstrdup(key)
			     : xasprintf("case %s%s%s", word[1], n > 2 ? " by " : "", n > 2 ? word[2] : "");
	return xasprintf("%.20s %.10s%s%.6s", word[1], word[2], streq(word[0], "run") && n == 7 ? " boot " : "",
			 streq(word[0], "run") && n == 7 ? word[6] : "");
}

/* What a person wants to see, within a screen's width: what, where, and what it waits for or how it ended. */
static void shorten(const struct table *t, struct table *out)
{
	static const char *const columns[] = {"task", "state", "prio", "kind", "what", "where", "case", "tries",
					      "waits for, or result"};
	size_t used = 5 + 10 + 5 + 7 + WHAT + 5 + 6;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(out, columns[i], i == 0 || i == 2 || i == 6);
	for (size_t row = 0; row < t->n_rows; row++) {
		_cleanup_free_ char *what = what_of(text_of(t, row, "key")),
				    *tries = xasprintf("%s/%s", text_of(t, row, "attempts"), text_of(t, row, "of")),
				    *end = NULL;
		const char *where = text_of(t, row, "resource"), *waits = text_of(t, row, "waits_for");
		const char *const texts[] = {text_of(t, row, "task"), text_of(t, row, "state"),
					     text_of(t, row, "priority"),
					     text_of(t, row, "kind"), what,
					     startswith(where,
							TASK_RESOURCE_MACHINE) ? where + strlen(TASK_RESOURCE_MACHINE) : where,
					     text_of(t, row, "case"), tries, NULL};

		end = xasprintf("%.*s", (int)(WIDTH - used), *waits ? waits : text_of(t, row, "result"));
		table_row(out);
		for (size_t i = 0; texts[i]; i++)
			table_text(out, i, *texts[i] ? texts[i] : NULL);
		table_text(out, ARRAY_SIZE(columns) - 1, *end ? end : NULL);
	}
}

/* Those in which there is something to be done, as a filter. */
static char *living_states(void)
{
	_cleanup_buf_ struct buf b = {0};

	for (enum task_state s = 0; s < (enum task_state)task_state_words.n; s++)
		if (task_lives(s))
			buf_addf(&b, "%s%s", b.len ? "," : "", task_state_word(s));
	return buf_take(&b);
}

static int list(struct ctx *c, bool all, bool events)
{
	_cleanup_free_ char *living = living_states();
	struct query_filter f = {.state = all || events ? NULL : living, .limit = 200};
	_cleanup_table_ struct table t = {0}, narrow = {0};
	int r = store_query(c->store, events ? "events" : "queue", &f, &t);

	if (r >= 0 && !events && ctx_form(c) == TABLE_TERM) {
		shorten(&t, &narrow);
		return table_print(&narrow, TABLE_TERM, stdout) < 0 ? EXIT_NO : EXIT_DONE;
	}
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
		term_printf(stdout, "task %" PRId64 ": %s\n", id, streq(what, "cancel") ? "cancelled" : "ready again");
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
	return verb_usage(
		c, "queue list, queue cancel ID or queue retry ID; work is added by 'run', 'bisect' and the watcher");
}

const struct verb verb_queue = {
	.name = "queue",
	.usage = "list [--all] [--log]\ncancel ID\nretry ID",
	.summary = "what is being done and what waits",
	.text = "Work enters the queue through the watcher, 'kperfbot run' (with --queue: without waiting) and\n"
		"'kperfbot bisect'.\n"
		"Trees take turns with builds and with each machine; priority counts within a tree.\n"
		"The table is cut to the width of the screen; --json and --csv have everything.",
	.run = run_queue,
};
