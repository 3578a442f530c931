/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What cannot be planned. An error may go by itself (a full disk, a lock): it is tried again after 1, 2, 4 ... s, at
 * most an hour, and told each time that it is a new one, then once an hour. One that stays whoever looks and however
 * often (a commit that is not there) ends its case or comparison when it was met three times in a row: what reads a
 * mirror while git packs it anew may miss an object once. A branch does not end: its next head may be a better one.
 */
#include "bot/engine/trouble.h"
#include "bot/engine/case-state.h"
#include "bot/engine/proof.h"
#include "lib/fs.h"

#define WAIT_MAX_S 3600
#define FINAL_TIMES 3

static const char *const nouns[] = {[PLAN_CASE] = "case", [PLAN_COMPARISON] = "comparison", [PLAN_BRANCH] = "branch"};

static struct trouble *find(const struct engine *e, enum planned kind, int64_t id)
{
	for (size_t i = 0; e->troubles && i < e->troubles->n; i++)
		if (e->troubles->v[i].kind == kind && e->troubles->v[i].id == id)
			return &e->troubles->v[i];
	return NULL;
}

bool trouble_waits(struct engine *e, enum planned kind, int64_t id)
{
	struct trouble *t = find(e, kind, id);

	if (t)
		t->met = true;
	return t && t->next > mono_usec();
}

static void forget(struct engine *e, struct trouble *t)
{
	free(t->text);
	*t = e->troubles->v[--e->troubles->n];
}

void troubles_release(struct troubles *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i].text);
	free(t->v);
	*t = (struct troubles){0};
}

void troubles_try_now(struct troubles *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->v[i].next = 0;
}

bool troubles_pending(const struct troubles *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].final && t->v[i].kind != PLAN_BRANCH)
			return true;
	return false;
}

/* The comparison that a case or comparison is about; 0 for a branch. */
static int64_t comparison_of(struct engine *e, enum planned kind, int64_t id)
{
	struct db_case c = {0};
	int64_t cmp = kind == PLAN_COMPARISON ? id : 0;

	if (kind == PLAN_CASE && store_case_by_id(e->store, id, &c) >= 0)
		cmp = c.comparison;
	db_case_release(&c);
	return cmp;
}

/* Without a mirror nothing is there, and the next fetch makes one. */
static bool mirror_there(struct engine *e, int64_t comparison)
{
	struct db_comparison c = {0};
	struct db_tree t = {0};
	bool there = true;

	if (comparison && store_comparison_by_id(e->store, comparison, &c) >= 0 &&
	    store_tree_by_id(e->store, c.tree, &t) >= 0) {
		_cleanup_free_ char *dir = engine_git_dir(e->cfg, t.name);

		there = fs_is_dir(dir);
	}
	db_tree_release(&t);
	db_comparison_release(&c);
	return there;
}

static bool is_final(int error)
{
	static const int final[] = {-ENOENT, -EFBIG, -EBADMSG, -E2BIG, -EINVAL, -ERANGE, -ENOTUNIQ, -ENOTSUP, -EEXIST,
				    -ENODEV};

	for (size_t i = 0; i < ARRAY_SIZE(final); i++)
		if (error == final[i])
			return true;
	return false;
}

/* What is proven by then is found all the same. */
static int end_case(struct engine *e, int64_t id, const char *why)
{
	struct db_case c = {0};
	struct scope s = {0};
	int r = store_case_by_id(e->store, id, &c), found = 0;

	if (r >= 0 && engine_scope(e, c.comparison, &s) >= 0)
		found = r = proof_cut_short(e, &s, &c, why);
	if (r >= 0 && !found) {
		c.stopped = STOPPED_BY_ERROR;
		case_note(&c, why);
		r = case_state(e, &c, CASE_NOT_REPRODUCED, "%s", why);
	}
	scope_release(&s);
	db_case_release(&c);
	return MIN(r, 0);
}

/* Nobody would ever claim what waits for it. */
static void cancel_runs(struct engine *e, enum planned kind, int64_t id)
{
	for (size_t i = 0; i < e->n_active; i++) {
		const struct db_task *t = &e->active[i];

		if (task_takes_machine(t->kind) && t->state == TASK_READY &&
		    (kind == PLAN_CASE ? t->case_id : t->comparison) == id)
			(void)store_task_cancel(e->store, t->id);
	}
}

static int end(struct engine *e, enum planned kind, int64_t id, const char *text)
{
	_cleanup_free_ char *why = xasprintf("cannot go on: %s", text);

	cancel_runs(e, kind, id);
	if (kind == PLAN_CASE)
		return end_case(e, id, why);
	store_event(e->store, 0, id, 0, "comparison %" PRId64 " broken: %s", id, why);
	return store_comparison_end(e->store, id, COMPARISON_BROKEN, FAULT_INFRA, why);
}

/* For "tree list"; NULL: it is over. */
static void keep_text(struct engine *e, enum planned kind, int64_t id, const char *text)
{
	if (kind == PLAN_BRANCH)
		(void)store_branch_trouble(e->store, id, text);
	else if (kind == PLAN_COMPARISON)
		(void)store_comparison_end(e->store, id, COMPARISON_OPEN, FAULT_NONE, text);
}

static void tell(struct engine *e, struct trouble *t, const char *text, double wait_s)
{
	int64_t cmp = comparison_of(e, t->kind, t->id), last;

	if (streq(t->text, text) && wait_s < WAIT_MAX_S)
		return;
	free(t->text);
	t->text = xstrdup(text);
	keep_text(e, t->kind, t->id, text);
	last = store_last_event(e->store);
	if (t->kind == PLAN_BRANCH) /* the text names it */
		store_event(e->store, 0, 0, 0, "%s; it is tried again", text);
	else
		store_event(e->store, t->kind == PLAN_CASE ? t->id : 0, cmp, 0, "%s %" PRId64 ": %s; it is tried again",
			    nouns[t->kind], t->id, text);
	t->unheard = store_last_event(e->store) == last;
}

static int over(struct engine *e, struct trouble *t)
{
	keep_text(e, t->kind, t->id, NULL);
	if (t->kind != PLAN_BRANCH)
		store_event(e->store, 0, comparison_of(e, t->kind, t->id), 0,
			    "%s %" PRId64 " goes on after %d failed tries", nouns[t->kind], t->id, t->times);
	forget(e, t);
	return 0;
}

void troubles_sweep(struct engine *e)
{
	for (size_t i = e->troubles ? e->troubles->n : 0; i-- > 0;) {
		struct trouble *t = &e->troubles->v[i];

		if (!t->met && t->kind == PLAN_BRANCH)
			keep_text(e, t->kind, t->id, NULL);
		if (t->met)
			t->met = false;
		else
			forget(e, t);
	}
}

/* Has it an answer, or was it taken back while it was planned? */
static bool has_ended(struct engine *e, int64_t comparison)
{
	struct db_comparison c = {0};
	bool ended = store_comparison_by_id(e->store, comparison, &c) >= 0 && c.state != COMPARISON_OPEN;

	db_comparison_release(&c);
	return ended;
}

int trouble_note(struct engine *e, enum planned kind, int64_t id, int r)
{
	struct trouble *t = find(e, kind, id);
	_cleanup_free_ char *text = NULL;
	double wait_s;

	if (!e->troubles || (r >= 0 && !t))
		return r;
	text = xstrdup(err_msg());
	if (kind == PLAN_COMPARISON && has_ended(e, id)) { /* with a reason of its own */
		if (t)
			forget(e, t);
		return MAX(r, 0);
	}
	if (r >= 0)
		return over(e, t);
	if (!t) {
		GROW(e->troubles->v, e->troubles->n, e->troubles->cap);
		t = &e->troubles->v[e->troubles->n++];
		*t = (struct trouble){.kind = kind, .id = id, .met = true};
	}
	t->times++;
	t->final = is_final(r) && (r != -ENOENT || mirror_there(e, comparison_of(e, kind, id)));
	wait_s = MIN(pow(2, MIN(t->times - 1, 20)), WAIT_MAX_S);
	t->next = mono_usec() + (usec_t)(wait_s * USEC_PER_SEC);
	if (t->final && t->times >= FINAL_TIMES && kind != PLAN_BRANCH && end(e, kind, id, text) >= 0)
		forget(e, t);
	else
		tell(e, t, text, wait_s);
	return 0;
}
