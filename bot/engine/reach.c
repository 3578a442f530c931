/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/reach.h"
#include "jobs/check.h"

int reach_look_up(void *arg, const char *name, uint64_t *ret_entries)
{
	const struct reach_source *l = arg;
	bool all = streq(l->p->means, "plugin");
	struct db_reach r = {0};
	int64_t n;

	if (store_reach(l->s, l->p->id, name, &r) < 0)
		return all ? 0 : -1;
	n = r.entries;
	db_reach_release(&r);
	*ret_entries = (uint64_t)n;
	return all || n ? 1 : streq(l->p->means, "perf") ? -1 : 0;
}

static const char *means_text(const char *means)
{
	static const struct { const char *means, *text; } texts[] = {
		{"ftrace", "watched by ftrace's function profiler in an extra run"},
		{"kprobe", "watched by kprobes in an extra run"},
		{"perf", "seen in samples of an extra run"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (streq(texts[i].means, means))
			return texts[i].text;
	return "all instructions of an extra boot were counted";
}

static int look(struct store *s, const struct reach_pair *q, const struct db_profile *p, enum check_verdict *ret_verdict,
		struct buf *evidence)
{
	static const enum check_verdict verdicts[] = {
		[REACH_YES] = CHECK_PASS, [REACH_NO] = CHECK_FAIL, [REACH_OPEN] = CHECK_UNKNOWN};
	_cleanup_free_ char *map = symbols_path(q->head->image_path ? q->head->image_path : "");
	_cleanup_(symbols_release) struct symbols sym = {0};
	_cleanup_profile_ struct profile lines = {0};
	_cleanup_touched_ struct touched t = {0};
	struct reach_source src = {s, p};
	int r = symbols_read(map, &sym);

	if (r >= 0)
		r = touched_between(q->git_dir, q->base, q->head->commit, &t);
	if (r < 0)
		return r;
	if (p->path && profile_read(p->path, &lines) < 0) /* cleaned up: the database still has the functions */
		lines = (struct profile){0};
	*ret_verdict = verdicts[touched_reached(&t, &sym, &lines, reach_look_up, &src, p->operations, evidence)];
	buf_addf(evidence, " (%s)", means_text(p->means));
	return 0;
}

int reach_check(struct store *s, const struct reach_pair *q, const char *why, struct db_pair_check *ret)
{
	enum check_verdict verdict = CHECK_UNKNOWN;
	_cleanup_buf_ struct buf evidence = {0};
	struct db_profile p = {0};
	int r = store_profile_get(s, q->head->id, q->job, q->tbox_group, &p);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r >= 0) {
		r = look(s, q, &p, &verdict, &evidence);
		why = r < 0 ? err_msg() : why;
		db_profile_release(&p);
	}
	if (r < 0) {
		verdict = CHECK_UNKNOWN;
		buf_clear(&evidence);
		buf_addf(&evidence, "it is not known what %.12s executes%s%s", q->head->commit, why ? ": " : "",
			 why ? why : "");
	}
	*ret = (struct db_pair_check){.build = q->head->id,
				      .base = xstrdup(q->base),
				      .job = xstrdup(q->job),
				      .tbox_group = xstrdup(q->tbox_group),
				      .name = xstrdup(CHECK_REACH),
				      .verdict = verdict,
				      .evidence = term_safe(buf_str(&evidence)),
				      .time = now_usec()};
	return 0;
}
