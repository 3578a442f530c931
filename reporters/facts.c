/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/facts.h"
#include "kernels/machine.h"
#include "lib/git.h"
#include "lib/json.h"
#include <ctype.h>

#define MAX_COMMITS 20000

static char *text_of(json_object *o, const char *key)
{
	return xstrdup(json_get_text(o, key));
}

static int load_candidates(struct store *s, struct facts *f)
{
	struct db_candidate *list = NULL;
	size_t n = 0;
	int r = store_candidates(s, f->c.id, &list, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (list[i].state == CANDIDATE_LEFT)
			strv_add(&f->left, list[i].commit);
	for (size_t i = 0; r >= 0 && i < n; i++)
		f->n_dropped += list[i].reason || list[i].state == CANDIDATE_DROPPED;
	DB_LIST_RELEASE(list, n, db_candidate_release);
	f->commits = f->c.commits;
	return r;
}

static int load_proof(struct store *s, struct facts *f)
{
	int r = store_proof_get(s, &f->c, &f->proof);

	if (r == -ENOENT)
		f->proof = DB_PROOF_INIT;
	return r == -ENOENT ? 0 : r;
}

static int load_job(struct facts *f)
{
	_cleanup_json_ json_object *params = json_object_of(f->job.params), *whole = json_object_of(f->job.canonical);

	if (params) {
		json_object_object_foreach(params, key, val) {
			strv_add(&f->keys, key);
			strv_add(&f->values, val ? json_object_get_string(val) : "");
		}
	}
	f->testcase = text_of(whole, "testcase");
	if (!f->testcase)
		f->testcase = xstrdup(f->job.program);
	return 0;
}

static void load_build(struct store *s, const struct facts *f, const char *oid, struct db_build *ret)
{
	if (oid)
		(void)store_build_get(s, f->tree.id, oid, f->cmp.kconfig, ret);        /* missing: id stays 0 */
}

static void load_runs(struct store *s, const struct db_build *b, struct facts *f)
{
	struct db_run *runs = NULL;
	size_t n = 0;

	f->exposed |= b->exposed;
	if (!b->id || store_runs(s, b->id, f->cmp.job, f->machine.tbox_group, true, &runs, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		f->exposed |= runs[i].exposed;
		if (!f->root_image)
			f->root_image = xstrdup(runs[i].root_image);
	}
	DB_LIST_RELEASE(runs, n, db_run_release);
}

static int load_rows(struct store *s, int64_t id, struct facts *f)
{
	int r = store_case_by_id(s, id, &f->c);

	r = r < 0 ? r : store_comparison_by_id(s, f->c.comparison, &f->cmp);
	r = r < 0 ? r : store_tree_by_id(s, f->cmp.tree, &f->tree);
	r = r < 0 ? r : store_machine_by_id(s, f->cmp.machine, &f->machine);
	r = r < 0 ? r : store_job_get(s, f->cmp.job, &f->job);
	r = r < 0 ? r : store_metric_info(s, f->c.metric, &f->metric);
	return r < 0 ? r : load_job(f);
}

static void judge(struct facts *f)
{
	bool own = f->proof.state == PROOF_SHOWN;

	f->single = f->c.culprit && f->left.n <= 1;
	f->proven = f->single && f->proof.state == PROOF_SHOWN;
	f->effect = own ? f->proof.effect : f->c.effect;
	f->lo = own ? f->proof.lo : f->c.effect_lo;
	f->hi = own ? f->proof.hi : f->c.effect_hi;
	if (f->c.failure)
		f->verdict = -1;
	else if (isfinite(f->effect) && f->effect != 0 && f->metric.direction)
		f->verdict = (f->effect > 0) == (f->metric.direction > 0) ? 1 : -1;
	if (own && change_no_base(f->proof.mean_parent, f->proof.mean_culprit)) {
		f->effect = f->proof.effect = change_relative(f->proof.mean_parent, f->proof.mean_culprit);
		f->lo = f->hi = NAN;
	}
}

static void load_commits(const char *git_dir, struct facts *f)
{
	struct tree_range range = {0};

	if (git_dir && f->c.culprit && f->single) {
		if (tree_commit(git_dir, f->c.culprit, &f->bad_info) == 0 && !f->proof.parent && f->bad_info.n_parents)
			f->proof.parent = xstrdup(f->bad_info.parents[0]);
	}
	f->bad = xstrdup(f->single ? f->c.culprit : f->cmp.head);
	f->good = xstrdup(f->single && f->proof.parent ? f->proof.parent : f->cmp.base);
	if (!git_dir)
		return;
	if (!f->bad_info.oid)
		(void)tree_commit(git_dir, f->bad, &f->bad_info);
	(void)tree_commit(git_dir, f->good, &f->good_info);
	if (!f->commits && tree_range(git_dir, f->cmp.base, f->cmp.head, MAX_COMMITS, &range) == 0) {
		f->commits = range.dag.n ? range.dag.n - 1 - range.n_forks : 0;
		tree_range_release(&range);
	}
}

/* Commits of a series are in nobody's repository: its mails say what was measured. */
static void load_series(struct store *s, const char *git_dir, struct facts *f)
{
	struct db_patched p = {0};
	struct tree_range range = {0};
	_cleanup_(proc_result_release) struct proc_result r = {0};
	_cleanup_free_ char *commits = NULL;

	if (!git_dir || store_patched_get(s, f->cmp.head, &p) < 0)
		return;
	if (streq(p.base, f->bad) || tree_is_ancestor(git_dir, p.base, f->bad) != 1 ||
	    tree_range(git_dir, p.base, f->bad, MAX_COMMITS, &range) < 0) {
		db_patched_release(&p);
		return;
	}
	f->series = p;
	f->patch = range.dag.n - 1 - range.n_forks;
	f->good_in_series = !streq(p.base, f->good) && tree_is_ancestor(git_dir, p.base, f->good) == 1;
	tree_range_release(&range);
	commits = xasprintf("%s..%s", p.base, f->bad);
	/* -k keeps subjects as they are: the same commits come of it */
	if (git_exec(&(struct git_spec){.git_dir = git_dir,
					.args = ARGV("format-patch", "-k", "--stdout", "--no-signature",
						     "--no-ext-diff", "--no-textconv", "--binary", "--full-index",
						     "--end-of-options", commits)}, &r) >= 0 &&
	    !r.status && !r.truncated)
		buf_add(&f->mbox, buf_str(&r.out), r.out.len);
}

int facts_load(struct store *s, int64_t case_id, const char *git_dir, struct facts *ret)
{
	_cleanup_facts_ struct facts f = {0};
	int r = load_rows(s, case_id, &f);

	if (r < 0)
		return err_prefix(r, "case %" PRId64, case_id);
	r = load_proof(s, &f);
	if (r >= 0)
		r = load_candidates(s, &f);
	if (r < 0)
		return r;
	judge(&f);
	load_commits(git_dir, &f);
	load_series(s, git_dir, &f);
	load_build(s, &f, f.good, &f.good_build);
	load_build(s, &f, f.bad, &f.bad_build);
	load_runs(s, &f.bad_build, &f);
	load_runs(s, &f.good_build, &f);
	*ret = f;
	f = (struct facts){0};
	return 0;
}

void facts_release(struct facts *f)
{
	db_case_release(&f->c);
	db_comparison_release(&f->cmp);
	db_tree_release(&f->tree);
	db_job_release(&f->job);
	db_machine_release(&f->machine);
	metric_info_release(&f->metric);
	db_proof_release(&f->proof);
	strv_release(&f->left);
	free(f->good);
	free(f->bad);
	commit_info_release(&f->good_info);
	commit_info_release(&f->bad_info);
	db_build_release(&f->good_build);
	db_build_release(&f->bad_build);
	db_patched_release(&f->series);
	buf_release(&f->mbox);
	free(f->root_image);
	free(f->testcase);
	strv_release(&f->keys);
	strv_release(&f->values);
	*f = (struct facts){0};
}

char *facts_failure(const struct facts *f)
{
	switch (failure_kind(f->c.failure)) {
	case RUN_BOOT_FAILED: return xstrdup("the kernel does not boot");
	case RUN_CRASHED: return xasprintf("%s crashes the kernel", f->testcase);
	case RUN_TIMEOUT: return xasprintf("%s does not end in time", f->testcase);
	case RUN_INCOMPLETE: return xasprintf("%s gives no results", f->testcase);
	default: return xasprintf("%s fails", f->testcase);
	}
}

const char *facts_verdict_word(const struct facts *f)
{
	return f->verdict < 0 ? "regression" : f->verdict > 0 ? "improvement" : "change";
}

void facts_compiler(const struct facts *f, struct buf *out)
{
	const char *t = f->bad_build.toolchain ? f->bad_build.toolchain : f->good_build.toolchain, *v = NULL;
	/* "gcc (Debian 12.2.0-14) 12.2.0, GNU ld ...": the version is the last word before the comma */
	_cleanup_free_ char *cc = t ? xstrndup(t, strcspn(t, ",")) : NULL;
	const char *name = !cc ? NULL : strcasestr(cc, "clang") ? "clang" : strcasestr(cc, "gcc") ? "gcc" : NULL;

	if (!cc || !*cc)
		return;
	for (v = strrchr(cc, ' ') ? strrchr(cc, ' ') + 1 : cc; *v && !isdigit((unsigned char)*v); v++)
		;
	if (name && *v)
		buf_addf(out, "%s-%.*s", name, (int)strspn(v, "0123456789"), v);
	else
		buf_add_shown(out, cc);
}

const char *facts_machine_kind(const struct facts *f)
{
	const struct machine_ops *ops = machine_driver(f->machine.driver);

	return ops ? ops->measured_on : NULL;
}

bool facts_booted(const struct facts *f)
{
	const struct machine_ops *ops = machine_driver(f->machine.driver);

	return !ops || (ops->flags & MACHINE_BOOTS);
}

char *facts_setting(const struct facts *f, const char *key)
{
	_cleanup_json_ json_object *o = json_object_of(f->tree.settings);

	return text_of(o, key);
}

int facts_setting_list(const struct facts *f, const char *key, struct strv *ret)
{
	_cleanup_json_ json_object *o = json_object_of(f->tree.settings);

	json_get_list(o, key, ret);
	return 0;
}
