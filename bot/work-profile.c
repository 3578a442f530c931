/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An extra boot that counts what the kernel executes; it leaves no run, so it is never among the measured ones. */
#include "bot/work-internal.h"
#include "bot/engine/engine.h"
#include "bot/engine/profile.h"
#include "kernels/touched.h"
#include "kernels/traced.h"

/* Where nobody can count from outside, the kernel watches the functions that changed since the base. */
static int choose_watched(struct work *w, const struct measured_boot *x, struct strv *watch)
{
	_cleanup_free_ char *why = xstrdup(err_msg()), *map = symbols_path(x->build.image_path),
			    *git_dir = engine_git_dir(&w->c->config, x->tree.name);
	_cleanup_(symbols_release) struct symbols sym = {0};
	_cleanup_touched_ struct touched t = {0};
	_cleanup_strv_ struct strv all = {0};
	int r = symbols_read(map, &sym);

	if (r >= 0)
		r = touched_between(git_dir, w->p.base, x->build.commit, &t);
	if (r < 0)
		return r;
	touched_symbols(&t, &sym, &all);
	for (size_t i = 0; i < all.n; i++)
		if (traced_name_ok(all.v[i]))
			strv_add(watch, all.v[i]);
	return watch->n ? 0 : err_set(-ENODATA, "%s; and this kernel has none of the changed functions to watch", why);
}

/* The job as it renders today: scripts stored long ago have no marks. */
static int prepare(struct work *w, struct measured_boot *x, struct strv *watch)
{
	const struct machine *m = config_machine(&w->c->config, x->dbm.name);
	const struct machine_ops *ops = m ? machine_driver(m->driver) : NULL;
	_cleanup_buf_ struct buf script = {0};
	int r = ops ? machine_profile_check(m) : boot_no_machine(x);

	if (r < 0 && ops && (ops->flags & MACHINE_BOOTS) && x->build.image_path)
		r = choose_watched(w, x, watch);
	if (r >= 0)
		r = job_render_watching(&x->job, watch->n ? watch : NULL, &script);
	if (r < 0)
		return r;
	free(x->dbjob.script);
	x->dbjob.script = buf_take(&script);
	x->counts = watch->n ? NULL : xasprintf("%s/" PROFILE_COUNTS, x->dir);
	return 0;
}

static int keep_watched(struct work *w, struct measured_boot *x)
{
	_cleanup_free_ char *path = xasprintf("%s/result/reach", x->dir), *map = symbols_path(x->build.image_path);
	_cleanup_(symbols_release) struct symbols sym = {0};
	_cleanup_(traced_release) struct traced seen = {0};
	double operations = profile_operations(&x->values);
	int r = traced_read(path, &seen);

	if (r >= 0)
		r = symbols_read(map, &sym);
	if (r < 0)
		return r;
	traced_merge(&seen, &sym);
	r = traced_store(w->c->store, x->build.id, x->dbjob.id, x->dbm.tbox_group, operations, &seen);
	if (r >= 0)
		work_say(w, "%.12s: %zu functions watched by %s, %.10g operations", x->build.commit, seen.n, seen.means,
			 operations);
	return r;
}

static int keep_counted(struct work *w, struct measured_boot *x)
{
	_cleanup_profile_ struct profile p = {0};
	int r = profile_of_boot(x->dir, x->build.image_path, &x->values, &p);

	if (r >= 0)
		r = profile_store(w->c->store, x->build.id, x->dbjob.id, x->dbm.tbox_group, x->dir, &p);
	if (r >= 0)
		work_say(w, "%.12s profile: %zu functions, %" PRIu64 " instructions, %.10g operations", w->p.commit,
			 p.n, p.insns, p.operations);
	return r;
}

/* A run that is watched may well fail a check: it is slower, and its values are not kept. */
static int keep(struct work *w, struct measured_boot *x)
{
	bool ran = run_measured(x->verdict);
	int r;

	if (!ran)
		r = err_set(-ENODATA, "%s%s%s", run_verdict_word(x->verdict), x->cause ? ": " : "",
			    x->cause ? x->cause : "");
	else
		r = x->counts ? keep_counted(w, x) : keep_watched(w, x);
	if (r < 0)
		work_say(w, "%s%.12s: %s", ran && !x->counts ? "" : "no profile of ", w->p.commit, err_msg());
	return r;
}

int work_profile(struct work *w, usec_t *retry)
{
	_cleanup_(boot_release) struct measured_boot x = {0};
	_cleanup_strv_ struct strv watch = {0};
	int r = boot_load(w, &x, retry);

	if (r >= 0) {
		r = prepare(w, &x, &watch);
		if (r < 0)
			work_say(w, "%s", err_msg());
	}
	if (r >= 0)
		r = boot_measure(w, &x, retry);
	if (r < 0)
		return r;
	return r > 0 ? keep(w, &x) : -EIO;
}
