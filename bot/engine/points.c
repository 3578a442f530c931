/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/points.h"
#include "kernels/patches.h"
#include "lib/log.h"

#include <json-c/json.h>

int job_to_db(const struct job *j, struct db_job *ret)
{
	struct json_object *params = json_object_new_object();
	_cleanup_buf_ struct buf script = {0};
	int r = job_render(j, &script);

	if (r == 0) {
		for (size_t i = 0; i < j->n_params; i++)
			json_object_object_add(params, j->param[i].key, json_text(j->param[i].value));
		*ret = (struct db_job){
			.id = xstrdup(j->id), .name = xstrdup(j->name), .program = xstrdup(j->program),
			.canonical = xstrdup(j->canonical), .script = buf_take(&script),
			.params = json_line(params),
		};
	}
	json_object_put(params);
	return r;
}

void points_release(struct points *p)
{
	for (size_t i = 0; i < p->n; i++) {
		db_job_release(&p->v[i].job);
		free(p->v[i].name);
		free(p->v[i].commit);
	}
	free(p->v);
	*p = (struct points){0};
}

int points_patch(struct store *s, const struct db_tree *tree, const char *git_dir, const char *base, const char *path,
		 bool wait, char **ret_oid)
{
	_cleanup_(patches_release) struct patches series = {0};
	_cleanup_(patched_release) struct patched made = {0};
	struct db_patched row = {.tree = tree->id, .base = (char *)base};
	int r = patches_read(path, &series);

	if (r >= 0)
		r = patches_apply(git_dir, base, &series, wait, &made);
	if (r < 0)
		return r;
	if (made.note)
		log_note("patch series '%s': %s", series.name, made.note);
	row.commit = made.oid;
	row.name = series.name;
	row.hash = series.hash;
	row.patches = (int64_t)made.patches;
	r = store_patched_put(s, &row);
	if (r >= 0)
		*ret_oid = TAKE_PTR(made.oid);
	return r;
}

static int check_names(const struct job_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < i; k++)
			if (streq(l->v[i].point, l->v[k].point))
				return err_set(-EINVAL, "'%s' and '%s' make two points called '%s': rename one",
					       l->v[k].patches ? l->v[k].patches : "none",
					       l->v[i].patches ? l->v[i].patches : "none", l->v[i].point);
	return 0;
}

/* Series as the outer axis, in place of the job's own one. */
static int load_with(const char *name, const char *dir, const char *const *overrides, const struct strv *series,
		     struct job_list *out)
{
	_cleanup_strv_ struct strv words = {0};
	int r = 0;

	if (overrides)
		strv_addv(&words, overrides);
	strv_add(&words, "patches=");
	for (size_t i = 0; r >= 0 && i < series->n; i++) {
		struct job_list l = {0};

		r = job_load(name, dir, (const char *const *)words.v, &l);
		for (size_t k = 0; r >= 0 && k < l.n; k++) {
			job_set_patches(&l.v[k], series->v[i]);
			GROW(out->v, out->n, out->cap);
			out->v[out->n++] = l.v[k];
			l.v[k] = (struct job){0};
		}
		job_list_release(&l);
	}
	return r < 0 ? r : check_names(out);
}

int points_jobs(const char *name, const char *dir, const char *const *overrides, const struct strv *asked,
		const struct strv *dflt, struct job_list *ret)
{
	struct job_list l = {0};
	bool own = false;
	int r = asked->n ? load_with(name, dir, overrides, asked, &l) : job_load(name, dir, overrides, &l);

	for (size_t i = 0; i < l.n; i++)
		own |= l.v[i].patches != NULL;
	if (r >= 0 && !asked->n && !own && dflt->n) {
		job_list_release(&l);
		r = load_with(name, dir, overrides, dflt, &l);
	}
	if (r < 0) {
		job_list_release(&l);
		return r;
	}
	*ret = l;
	return 0;
}

int points_make(struct store *s, const struct db_tree *tree, const char *git_dir, const struct job_list *l,
		const char *base, struct points *ret)
{
	struct points p = {.v = xcalloc(l->n + 1, sizeof(*p.v))};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < l->n; i++) {
		struct point *x = &p.v[p.n];

		r = job_to_db(&l->v[i], &x->job);
		if (r < 0)
			break;
		p.n++;
		x->name = xstrdup(l->v[i].point);
		if (l->v[i].patches)
			r = points_patch(s, tree, git_dir, base, l->v[i].patches, true, &x->commit);
		else
			x->commit = xstrdup(base);
	}
	if (r < 0) {
		points_release(&p);
		return r;
	}
	*ret = p;
	return 0;
}
