/* SPDX-License-Identifier: GPL-2.0-or-later */
/* "compare --profile A B": instructions per operation by function. */
#include "bot/cli/ask.h"
#include "bot/cli/profile-compare.h"
#include "bot/engine/profile.h"
#include "lib/fs.h"

/* ---- which two ---- */

static bool fits(const struct profile_question *q, const struct db_profile *p)
{
	return (!q->tree || streq(q->tree, p->tree)) && (!q->kconfig || streq(q->kconfig, p->kconfig)) &&
	       (!q->job || streq(q->job, p->job) || streq(q->job, p->job_name)) &&
	       (!q->machine || streq(q->machine, p->tbox_group));
}

static const struct db_profile *same_place(const struct db_profile *v, size_t n, const struct db_profile *like)
{
	for (size_t i = 0; i < n; i++)
		if (streq(v[i].tree, like->tree) && streq(v[i].kconfig, like->kconfig) && streq(v[i].job, like->job) &&
		    streq(v[i].tbox_group, like->tbox_group))
			return &v[i];
	return NULL;
}

struct list { struct db_profile *v; size_t n; };

/* The one job and machine in which both commits have a profile. */
static int choose(const struct profile_question *q, const struct list l[2], char *const oid[2],
		  const struct db_profile *ret[2])
{
	_cleanup_buf_ struct buf list = {0};
	size_t found = 0;

	for (size_t i = 0; i < l[0].n; i++) {
		const struct db_profile *a = &l[0].v[i], *b = same_place(l[1].v, l[1].n, a);

		if (!b || !fits(q, a))
			continue;
		if (!found++) {
			ret[0] = a;
			ret[1] = b;
		}
		buf_addf(&list, "\n  --tree=%s --kconfig=%s --job=%s --machine=%s (%s)", a->tree, a->kconfig, a->job,
			 a->tbox_group, a->job_name);
	}
	if (found == 1)
		return 0;
	if (found)
		return err_set(-EINVAL, "these commits have %zu pairs of profiles, choose one:%s", found, list.s);
	for (int k = 0; k < 2; k++)
		if (!l[k].n)
			return err_set(
				-ENOENT,
				"commit '%.12s' has no profile yet; 'kperfbot run JOB --commit %.12s --profile' makes one",
				oid[k], oid[k]);
	return err_set(-ENOENT, "there is no job and machine with profiles of both commits%s",
		       q->tree || q->job || q->machine || q->kconfig ? " that matches the options" : "");
}

static int load_commits(struct ctx *c, const struct profile_question *q, const char *const rev[2], struct profile p[2])
{
	struct list l[2] = {0};
	char *oid[2] = {0};
	const struct db_profile *found[2] = {0};
	int r = ctx_store(c, true);

	for (int k = 0; r >= 0 && k < 2; k++) {
		r = ask_revision(c, q->tree, rev[k], &oid[k]);
		if (r >= 0)
			r = store_profiles(c->store, oid[k], &l[k].v, &l[k].n);
	}
	if (r >= 0)
		r = choose(q, l, oid, found);
	for (int k = 0; r >= 0 && k < 2; k++)
		r = found[k]->path ? profile_read(found[k]->path, &p[k])
				   : err_set(-ENODATA, "what %.12s executes was only watched by %s, not counted",
					     oid[k], found[k]->means);
	for (int k = 0; k < 2; k++) {
		DB_LIST_RELEASE(l[k].v, l[k].n, db_profile_release);
		free(oid[k]);
	}
	return r;
}

/* A profile file, or the folder of a boot with one. NULL: neither. */
static char *file_of(const char *arg)
{
	char *in = xasprintf("%s/" PROFILE_FILE, arg);

	if (fs_is_dir(arg) && fs_exists(in))
		return in;
	free(in);
	return fs_exists(arg) && !fs_is_dir(arg) ? xstrdup(arg) : NULL;
}

static int load(struct ctx *c, const struct profile_question *q, const char *const arg[2], struct profile p[2])
{
	_cleanup_free_ char *a = file_of(arg[0]), *b = file_of(arg[1]);
	int r;

	if (!a && !b)
		return load_commits(c, q, arg, p);
	if (!a || !b)
		return err_set(-ENOENT, "'%s' is neither a profile file nor a folder with a " PROFILE_FILE, arg[a ? 1 : 0]);
	r = profile_read(a, &p[0]);
	return r < 0 ? r : profile_read(b, &p[1]);
}

/* ---- the table ---- */

static void add_row(struct table *t, const struct profile_row *r, bool entries, int digits)
{
	table_row(t);
	table_text(t, 0, r->name);
	for (int k = 0; k < 2; k++) {
		if (entries)
			table_numf(t, 1 + k, r->entries[k], digits ? 3 : 0);
		table_numf(t, 3 + k, r->insns[k], digits);
	}
	table_numf(t, 5, r->delta, digits);
}

/* Rows worth to be shown: half an instruction an operation is what the start and end of a test can change. */
static size_t worth(const struct profile_question *q, const struct profile_row *row, size_t n_rows)
{
	size_t n = 0, max = q->all ? n_rows : (size_t)q->rows;

	while (n < n_rows && n < max && (q->all || fabs(row[n].delta) >= 0.5))
		n++;
	return n;
}

static void fill(const struct profile_question *q, const struct profile_diff *d, int digits, struct table *t)
{
	static const char *const columns[] = {"function", "entries_A", "entries_B", "instructions_A", "instructions_B",
					      "change"};
	struct profile_row rest;
	size_t n = worth(q, d->row, d->n), n_inlined = worth(q, d->inlined, d->n_inlined);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(t, columns[i], i > 0);
	for (size_t i = 0; i < n; i++)
		add_row(t, &d->row[i], true, digits);
	profile_diff_rest(d, n, &rest);
	add_row(t, &rest, false, digits);
	add_row(t, &d->user, false, digits);
	add_row(t, &d->total, false, digits);
	for (size_t i = 0; i < n_inlined; i++) {
		_cleanup_free_ char *name = xasprintf("inlined: %s", d->inlined[i].name);
		struct profile_row row = d->inlined[i];

		row.name = name;
		add_row(t, &row, false, digits);
	}
}

int profile_compare(struct ctx *c, const struct profile_question *q, const char *a, const char *b)
{
	const char *const arg[2] = {a, b};
	struct profile p[2] = {0};
	_cleanup_(profile_diff_release) struct profile_diff d = {0};
	_cleanup_table_ struct table t = {0};
	int r = load(c, q, arg, p);

	if (r >= 0)
		r = profile_diff(&p[0], &p[1], &d);
	if (r >= 0) {
		fill(q, &d, p[0].operations > 0 ? 1 : 0, &t);
		r = table_print(&t, ctx_form(c), stdout);
	}
	if (r >= 0 && ctx_form(c) == TABLE_TERM) {
		if (p[0].operations > 0)
			printf("per operation; A: %.10g operations, B: %.10g\n", p[0].operations, p[1].operations);
		else
			puts("per run: the number of operations is not known");
	}
	profile_release(&p[0]);
	profile_release(&p[1]);
	return r;
}
