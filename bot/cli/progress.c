/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/progress.h"
#include "lib/git.h"
#include "lib/log.h"

#include <json-c/json.h>
#include <sys/ioctl.h>

#define LINE_EVERY (60 * USEC_PER_SEC)
#define SOON_S 60               /* nobody asks why it is not sooner */
#define OTHERS 3                /* running tasks that are named at once */

void progress_begin(struct progress *p, const struct ctx *c _unused_, const int64_t *comparison, size_t n, bool quiet)
{
	const char *term = getenv("TERM");

	*p = (struct progress){.out = quiet ? NULL : stderr, .start = mono_usec(), .n = n,
			       .terminal = !quiet && isatty(2) && term && strcmp(term, "dumb")};
	p->comparison = xcalloc(n + 1, sizeof(*p->comparison));
	for (size_t i = 0; i < n; i++)
		p->comparison[i] = comparison[i];
	log_status_line(p->terminal);
}

/* How many commits may be the one; a guess where git does not tell in time: it is for the forecast. */
static double count_commits(const char *git_dir, const char *good, const char *bad)
{
	_cleanup_(proc_result_release) struct proc_result p = {0};
	_cleanup_free_ char *range = xasprintf("%s..%s", good, bad);
	int r = git_exec(
		&(struct git_spec){.git_dir = git_dir, .args = ARGV("rev-list", "--count", range), .timeout_s = 20},
		&p);
	double n = r < 0 || git_status(&p) < 0 ? 0 : strtod(buf_str(&p.out), NULL);

	return n > 0 ? n : 1000;
}

void progress_search(struct progress *p, const struct ctx *c, bool sure)
{
	struct db_comparison q = {0};
	struct db_tree tree = {0};

	p->search = true;
	p->sure = sure;
	if (store_comparison_by_id(c->store, p->comparison[0], &q) >= 0 &&
	    store_tree_by_id(c->store, q.tree, &tree) >= 0) {
		_cleanup_free_ char *git_dir = engine_git_dir(&c->config, tree.name);

		p->commits = count_commits(git_dir, q.base, q.head);
	}
	db_comparison_release(&q);
	db_tree_release(&tree);
}

void progress_release(struct progress *p)
{
	progress_clear(p);
	if (p->terminal)
		log_status_line(false);
	free(p->comparison);
	free(p->task);
	free(p->state);
	*p = (struct progress){0};
}

void progress_view_release(struct progress_view *v)
{
	free(v->state);
	free(v->text);
}

char *progress_time(double seconds)
{
	unsigned s = (unsigned)MAX(seconds, 0);

	return s < 3600 ? xasprintf("%u:%02u", s / 60, s % 60)
			: xasprintf("%u:%02u:%02u", s / 3600, s / 60 % 60, s % 60);
}

/* ---- the tasks ---- */

static bool is_ours(const struct progress *p, const struct db_task *t)
{
	for (size_t i = 0; i < p->n; i++)
		if (t->comparison == p->comparison[i])
			return true;
	return false;
}

static struct seen_task *find_seen(struct progress *p, int64_t id)
{
	for (size_t i = 0; i < p->n_tasks; i++)
		if (p->task[i].id == id)
			return &p->task[i];
	return NULL;
}

/* Takes in what is active now; what was and is not any more is done. Returns how many have ended or begun. */
static size_t take_in(struct progress *p, const struct db_task *t, size_t n)
{
	size_t changes = 0;

	for (size_t i = 0; i < p->n_tasks; i++)
		p->task[i].active = false;
	for (size_t i = 0; i < n; i++) {
		struct seen_task *s = is_ours(p, &t[i]) ? find_seen(p, t[i].id) : NULL;

		if (!s && is_ours(p, &t[i])) {
			GROW(p->task, p->n_tasks, p->cap_tasks);
			s = &p->task[p->n_tasks++];
			*s = (struct seen_task){.id = t[i].id, .build = t[i].kind == TASK_BUILD};
			changes++;
		}
		if (!s)
			continue;
		s->active = true;
		s->ended = false;
		if (t[i].state != TASK_RUNNING)
			s->running = 0;
		else if (!s->running)
			s->running = mono_usec();
	}
	for (size_t i = 0; i < p->n_tasks; i++) {
		struct seen_task *s = &p->task[i];

		if (s->active || s->ended)
			continue;
		s->ended = true;
		changes++;
		p->phase_builds += s->build;
		p->phase_boots = s->build && p->phase == FORECAST_PROVING ? 0 : p->phase_boots + !s->build;
	}
	return changes;
}

/* What a task does: state is the same for all boots of a commit. */
static void describe(const struct db_task *t, struct buf *state, struct buf *text)
{
	static const char *const doing[] = {[TASK_BUILD] = "building", [TASK_RUN] = "measuring",
					    [TASK_PROFILE] = "counting",
					    [TASK_REPORT] = "writing the report", [TASK_SEND] = "sending the report"};
	_cleanup_payload_ struct task_payload p = {0};
	const char *commit;

	(void)task_payload_read(t->kind, t->payload, &p);
	commit = p.commit ? p.commit : "";
	buf_addf(state, "%s%s%s%.12s", state->len ? ", " : "", doing[t->kind], *commit ? " " : "", commit);
	buf_addf(text, "%s%s%s%.12s", text->len ? ", " : "", doing[t->kind], *commit ? " " : "", commit);
	if (t->kind == TASK_RUN)
		buf_addf(text, " boot %" PRId64, p.replicate);
}

/* ---- where the question stands ---- */

struct job_cost { struct build_costs build; double boot; bool kernel, exact, nothing_built; struct db_comparison cmp; };

static int look_up(struct progress *p, struct ctx *c, struct job_cost *k)
{
	struct engine e = {.store = c->store, .cfg = &c->config};
	struct scope s = {0};
	int r = p->n ? engine_scope(&e, p->comparison[0], &s) : -ENOENT;

	if (r < 0)
		return r;
	k->kernel = !s.tcfg.program;
	k->exact = engine_deterministic(&s);
	k->boot = store_run_cost(c->store, s.job.id, s.machine.tbox_group);
	r = store_build_costs(c->store, s.tree.id, s.cmp.kconfig, &k->build);
	k->nothing_built = !k->build.n_clean && !k->build.n_incremental;
	k->cmp = s.cmp;
	s.cmp = (struct db_comparison){0};
	scope_release(&s);
	return r;
}

static bool is_built(struct ctx *c, const struct db_comparison *q, const char *commit)
{
	struct db_build b = {0};
	bool yes = store_build_get(c->store, q->tree, commit, q->kconfig, &b) >= 0;

	db_build_release(&b);
	return yes;
}

/* The newest case that lives says how far it is. */
static void find_phase(const struct progress *p, struct ctx *c, const struct db_comparison *q, struct forecast_work *w)
{
	struct db_case *k = NULL;
	size_t n = 0;

	w->phase = !p->search ? FORECAST_RUNS : q->state == COMPARISON_OPEN ? FORECAST_COMPARING : FORECAST_WRITING;
	if (w->phase == FORECAST_COMPARING)
		w->ends_missing = !is_built(c, q, q->base) + !is_built(c, q, q->head);
	if (w->phase != FORECAST_WRITING || store_cases(c->store, &k, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (k[i].comparison == q->id && db_case_lives(&k[i])) {
			w->phase = k[i].state == CASE_PROVING ? FORECAST_PROVING :
				   k[i].state == CASE_FOUND ? FORECAST_WRITING : FORECAST_SEARCHING;
			w->searched = (int)MAX(k[i].builds - 2, 0);
		}
	DB_LIST_RELEASE(k, n, db_case_release);
}

/* ---- the picture ---- */

struct task_counts { int builds, boots, done_boots, all_boots; double building_s, booting_s; size_t ready; };

static void count(const struct progress *p, struct task_counts *n)
{
	usec_t now = mono_usec();

	for (size_t i = 0; i < p->n_tasks; i++) {
		const struct seen_task *t = &p->task[i];
		double s = t->active && t->running ? (now - t->running) / 1e6 : 0;

		n->builds += t->active && t->build;
		n->boots += t->active && !t->build;
		n->done_boots += t->ended && !t->build;
		n->all_boots += !t->build;
		n->building_s = t->build ? MAX(n->building_s, s) : n->building_s;
		n->booting_s = t->build ? n->booting_s : MAX(n->booting_s, s);
		n->ready += t->active && !t->running;
	}
}

static const char *phase_word(enum forecast_phase f)
{
	static const char *const words[] = {NULL, "comparing the two ends", "the search begins", "the proof begins",
					    "the report is next"};

	return words[f];
}

/* What happened since the last look, in the words that explain a longer time. NULL: nothing. */
static const char *what_happened(struct progress *p, const struct forecast_work *w, const struct forecast_costs *costs,
				 size_t changes)
{
	const char *what = changes ? "more is needed than expected" : NULL;

	if (costs->boot.hi > p->costs.boot.hi)
		what = "boots take longer than expected";
	if (costs->build.hi > p->costs.build.hi)
		what = "builds take longer than expected";
	if (w->phase != p->phase) {
		what = phase_word(w->phase);
		p->phase_boots = p->phase_builds = 0;
	}
	p->phase = w->phase;
	p->costs = *costs;
	return what;
}

static void add_times(const struct task_counts *n, const struct job_cost *k, struct buf *b)
{
	double gone = MAX(n->building_s, n->booting_s), usual = NAN;
	_cleanup_free_ char *for_s = progress_time(gone), *usually = NULL;

	if (gone < 1)
		return;
	buf_addf(b, ", %s", for_s);
	if (n->building_s > 0)
		usual = isfinite(k->build.incremental) ? k->build.incremental : k->build.clean;
	else
		usual = k->boot;
	if (isfinite(usual) && usual >= 1) {
		usually = progress_time(usual);
		buf_addf(b, " (usually %s)", usually);
	}
}

/* Nothing of ours runs: who does, or what is next. */
static void say_waiting(const struct db_task *t, size_t n, const struct task_counts *k, struct buf *state,
			struct buf *text)
{
	_cleanup_buf_ struct buf others = {0}, unused = {0};
	size_t shown = 0;

	for (size_t i = 0; i < n; i++)
		if (t[i].state == TASK_RUNNING && shown++ < OTHERS)
			describe(&t[i], &unused, &others);
	buf_adds(state, !k->ready    ? "deciding what is next"
			: others.len ? "waiting for other work"
				     : "waiting for its turn");
	buf_adds(text, state->s);
	if (k->ready && others.len)
		buf_addf(text, ": %s", others.s);
}

int progress_look(struct progress *p, struct ctx *c, struct progress_view *ret)
{
	_cleanup_buf_ struct buf state = {0}, text = {0};
	struct forecast_work w = {.commits = p->commits, .sure = p->sure, .min_boots = (int)c->config.min_boots,
				  .proof_boots = (int)c->config.proof_boots};
	struct job_cost k = {0};
	struct task_counts n = {0};
	struct forecast f;
	struct forecast_costs costs;
	struct db_task *t = NULL;
	size_t n_tasks = 0, changes;
	usec_t now;
	int r = look_up(p, c, &k);

	if (r >= 0)
		r = store_tasks_living(c->store, &t, &n_tasks);
	if (r < 0)
		return r;
	changes = take_in(p, t, n_tasks);
	count(p, &n);
	find_phase(p, c, &k.cmp, &w);
	forecast_costs(k.kernel, k.build.clean, k.build.incremental, k.boot, &costs);
	*ret = (struct progress_view){.raised = what_happened(p, &w, &costs, changes), .program = !k.kernel};
	w.exact = k.exact;
	w.nothing_built = k.nothing_built;
	w.phase_builds = p->phase_builds;
	w.phase_boots = p->phase_boots;
	w.builds = n.builds;
	w.boots = n.boots;
	w.building_s = n.building_s;
	w.booting_s = n.booting_s;
	forecast_left(&w, &costs, &f);
	now = mono_usec();
	ret->raised = countdown_update(&p->countdown, f.seconds, p->last_look ? (now - p->last_look) / 1e6 : 0,
				       ret->raised);
	if (p->countdown.left.hi < SOON_S)
		ret->raised = NULL;
	p->last_look = now;
	ret->steps = f.steps;
	forecast_text(p->countdown.left, ret->left, sizeof(ret->left));
	for (size_t i = 0; i < n_tasks; i++)
		if (is_ours(p, &t[i]) && t[i].state == TASK_RUNNING)
			describe(&t[i], &state, &text);
	if (!state.len)
		say_waiting(t, n_tasks, &n, &state, &text);
	else
		add_times(&n, &k, &text);
	if (n.all_boots && !p->search)
		buf_addf(&text, ", boots %d/%d", n.done_boots, n.all_boots);
	for (size_t i = 0; i < p->n_tasks; i++)
		ret->done += p->task[i].ended;
	DB_LIST_RELEASE(t, n_tasks, db_task_release);
	db_comparison_release(&k.cmp);
	ret->state = buf_take(&state);
	ret->text = buf_take(&text);
	ret->changed = !streq(ret->state, p->state);
	free(p->state);
	p->state = xstrdup(ret->state);
	return 0;
}

static int columns(FILE *f)
{
	struct winsize w;

	return ioctl(fileno(f), TIOCGWINSZ, &w) == 0 && w.ws_col > 10 ? w.ws_col : 80;
}

void progress_show(struct progress *p, struct ctx *c)
{
	_cleanup_(progress_view_release) struct progress_view v = {0};
	_cleanup_free_ char *since = NULL, *line = NULL, *safe = NULL;
	bool due = mono_usec() - p->last_line >= LINE_EVERY;

	if (!p->out || progress_look(p, c, &v) < 0)
		return;
	if (!p->terminal && !due && !v.raised && !(v.changed && strcmp(v.state, "deciding what is next")))
		return;
	since = progress_time((mono_usec() - p->start) / 1e6);
	line = xasprintf("[%s] %s; %s%s%s%s", since, v.text, v.left, v.raised ? " (" : "", v.raised ? v.raised : "",
			 v.raised ? ")" : "");
	safe = term_safe(line);
	if (p->terminal)
		fprintf(p->out, "\r\033[K%.*s", columns(p->out) - 1, safe);
	else
		fprintf(p->out, "%s\n", safe);
	fflush(p->out);
	p->shown = true;
	p->last_line = mono_usec();
}

void progress_clear(struct progress *p)
{
	if (p->out && p->terminal && p->shown) {
		fputs("\r\033[K", p->out);
		fflush(p->out);
	}
	p->shown = false;
}
