/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/profile.h"
#include "kernels/traced.h"
#include "lib/fs.h"

double profile_operations(const struct metric_set *values)
{
	for (size_t i = 0; i < values->n; i++)
		if (streq(values->v[i].unit, "ops"))
			return values->v[i].value;
	return 0;
}

static int make(const char *counts, const char *image, const struct metric_set *values, const char *out,
		struct profile *ret)
{
	_cleanup_free_ char *map = symbols_path(image), *debug = debug_path(image);
	_cleanup_(counts_release) struct counts c = {0};
	_cleanup_(symbols_release) struct symbols sym = {0};
	const struct metric_value *per_op;
	int r = counts_read_file(counts, &c);

	if (r >= 0)
		r = symbols_read(map, &sym);
	if (r >= 0)
		r = profile_make(&c, &sym, ret);
	if (r >= 0 && debug)
		r = profile_lines(&c, debug, ret);
	if (r < 0)
		return r;
	ret->operations = profile_operations(values);
	per_op = metric_set_get(values, "icount.instructions_per_op");
	/* a rate is all that xdp-bench knows: then by what each takes */
	if (ret->operations <= 0 && per_op && per_op->value > 0)
		ret->operations = ret->insns / per_op->value;
	return profile_write(ret, out);
}

int profile_of_boot(const char *dir, const char *image, const struct metric_set *values, struct profile *ret)
{
	_cleanup_free_ char *counts = xasprintf("%s/" PROFILE_COUNTS, dir), *out = xasprintf("%s/" PROFILE_FILE, dir);
	struct profile p = {0};
	int r = make(counts, image, values, out, &p);

	if (r < 0 || !ret)
		profile_release(&p);
	if (r < 0)
		return r;
	(void)unlink(counts);
	if (ret)
		*ret = p;
	return 0;
}

int profile_store(struct store *s, int64_t build, const char *job, const char *tbox_group, const char *dir,
		  const struct profile *p)
{
	_cleanup_free_ struct db_reach *reach = xcalloc(p->n + 1, sizeof(*reach));
	_cleanup_free_ char *path = xasprintf("%s/" PROFILE_FILE, dir);
	const struct db_profile row = {.build = build,
				       .job = (char *)job,
				       .tbox_group = (char *)tbox_group,
				       .path = path,
				       .operations = p->operations > 0 ? p->operations : NAN,
				       .instructions = (int64_t)p->insns,
				       .user = (int64_t)p->user};

	for (size_t i = 0; i < p->n; i++)
		reach[i] = (struct db_reach){p->fn[i].name, (int64_t)p->fn[i].entries, (int64_t)p->fn[i].insns};
	return store_profile_put(s, &row, reach, p->n, NULL);
}

int traced_store(struct store *s, int64_t build, const char *job, const char *tbox_group, double operations,
		  const struct traced *w)
{
	_cleanup_free_ struct db_reach *reach = xcalloc(w->n + 1, sizeof(*reach));
	const struct db_profile row = {.build = build,
				       .job = (char *)job,
				       .tbox_group = (char *)tbox_group,
				       .means = (char *)w->means,
				       .operations = operations > 0 ? operations : NAN};

	for (size_t i = 0; i < w->n; i++)
		reach[i] = (struct db_reach){w->v[i].name, (int64_t)w->v[i].hits, 0};
	return store_profile_put(s, &row, reach, w->n, NULL);
}
