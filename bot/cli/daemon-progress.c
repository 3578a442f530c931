/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/daemon-progress.h"

#define LINE_EVERY (30 * USEC_PER_SEC)

int daemon_progress_begin(struct daemon_progress *p, struct ctx *c, const char *since)
{
	usec_t now = now_usec(), when = now;
	int64_t event = store_last_event(c->store);
	int r = since ? store_event_before(c->store, since, &event, &when) : 0;

	if (r < 0)
		return r;
	*p = (struct daemon_progress){.terminal = isatty(1) && !getenv("NO_COLOR"), .last_event = event,
				      .start = mono_usec() - (now - MIN(when, now)),
				      .last_line = mono_usec()};
	return 0;
}

static unsigned gone(const struct daemon_progress *p) { return (mono_usec() - p->start) / USEC_PER_SEC; }

static void print_line(struct daemon_progress *p, const char *text, bool stays)
{
	_cleanup_free_ char *safe = term_safe(text);
	unsigned s = gone(p);

	printf("%s[%2u:%02u] %s%s", p->terminal ? "\r\033[K" : "", s / 60, s % 60, safe, stays ? "\n" : "");
	fflush(stdout);
	if (stays)
		p->last_line = mono_usec();
}

static void show_events(struct daemon_progress *p, struct ctx *c)
{
	_cleanup_table_ struct table t = {0};

	if (store_events_after(c->store, p->last_event, &t) < 0)
		return;
	for (size_t i = 0; i < t.n_rows; i++) {
		(void)parse_i64(t.cell[i * t.n_cols].text, &p->last_event);
		print_line(p, t.cell[i * t.n_cols + 1].text, true);
	}
}

/* Open, or with a case that lives: 0 where there is none. */
static int64_t oldest_question(struct ctx *c)
{
	struct db_comparison *q = NULL;
	struct db_case *k = NULL;
	size_t n_q = 0, n_k = 0;
	int64_t id = 0;

	(void)store_comparisons_in(c->store, COMPARISON_OPEN, &q, &n_q);
	(void)store_cases(c->store, &k, &n_k);
	for (size_t i = 0; i < n_q; i++)
		id = id ? MIN(id, q[i].id) : q[i].id;
	for (size_t i = 0; i < n_k; i++)
		if (db_case_lives(&k[i]))
			id = id ? MIN(id, k[i].comparison) : k[i].comparison;
	DB_LIST_RELEASE(q, n_q, db_comparison_release);
	DB_LIST_RELEASE(k, n_k, db_case_release);
	return id;
}

static bool find_question(struct daemon_progress *p, struct ctx *c)
{
	int64_t id = oldest_question(c);

	if (p->question.n && p->question.comparison[0] == id)
		return true;
	progress_release(&p->question);
	if (!id)
		return false;
	progress_begin(&p->question, c, &id, 1, true);
	progress_search(&p->question, c, true);
	return true;
}

static void show_question(struct daemon_progress *p, struct ctx *c)
{
	_cleanup_(progress_view_release) struct progress_view v = {0};
	_cleanup_free_ char *line = NULL;
	size_t all;

	if (!find_question(p, c) || progress_look(&p->question, c, &v) < 0)
		return;
	all = MAX(v.done + (size_t)ceil((v.steps.lo + v.steps.hi) / 2), 1u);
	line = xasprintf("step %zu of about %zu, %s%s%s%s: %s", MIN(v.done + 1, all), all, v.left, v.raised ? " (" : "",
			 v.raised ? v.raised : "", v.raised ? ")" : "", v.text);
	if (p->terminal)
		print_line(p, line, false);
	else if ((v.changed && !v.program) || mono_usec() - p->last_line > LINE_EVERY)
		print_line(p, line, true);
}

int daemon_progress_tick(void *arg, struct ctx *c)
{
	struct daemon_progress *p = arg;

	show_events(p, c);
	show_question(p, c);
	return 0;
}

void daemon_progress_end(struct daemon_progress *p, struct ctx *c)
{
	show_events(p, c);
	progress_release(&p->question);
	if (p->terminal)
		fputs("\r\033[K", stdout);
}
