/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - one expanded job: its identity, its KPIs, its needs. */
#include "jobs/program.h"
#include "lib/fs.h"
#include "lib/json.h"

void job_release(struct job *j)
{
	for (size_t i = 0; i < j->n_params; i++) {
		free(j->param[i].key);
		free(j->param[i].value);
	}
	free(j->param);
	strv_release(&j->monitors);
	free(j->name);
	free(j->point);
	free(j->patches);
	free(j->file);
	free(j->suite);
	free(j->testcase);
	free(j->category);
	free(j->program);
	free(j->canonical);
	free(j->id);
	*j = (struct job){0};
}

void job_list_release(struct job_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		job_release(&l->v[i]);
	free(l->v);
	*l = (struct job_list){0};
}

const char *job_param(const struct job *j, const char *key)
{
	for (size_t i = 0; i < j->n_params; i++)
		if (!strcmp(j->param[i].key, key))
			return j->param[i].value;
	return NULL;
}

void job_add_param(struct job *j, const char *key, const char *value)
{
	GROW(j->param, j->n_params, j->cap_params);
	j->param[j->n_params++] = (struct job_param){xstrdup(key), xstrdup(value)};
}

const char *job_value(const struct job *j, const struct program_def *d, const char *key)
{
	const char *v = job_param(j, key);
	const struct param_def *p = v ? NULL : program_def_param(d, key);

	return v ? v : p && p->dflt ? p->dflt : "";
}

/* The text of a {parameter} pattern for this job. */
static char *fill_pattern(const struct job *j, const struct program_def *d, const char *pattern)
{
	struct buf b = {0};
	const char *end;

	for (const char *p = pattern; *p; p++) {
		if (*p == '{' && (end = strchr(p, '}'))) {
			_cleanup_free_ char *key = xstrndup(p + 1, end - p - 1);

			buf_adds(&b, job_value(j, d, key));
			p = end;
		} else {
			buf_addc(&b, *p);
		}
	}
	return buf_take(&b);
}

void job_set_patches(struct job *j, const char *path)
{
	_cleanup_free_ char *word = path && !streq(path, "none") ? fs_word(path) : NULL;

	free(j->patches);
	free(j->point);
	j->patches = word ? xstrdup(path) : NULL;
	j->point = word ? xasprintf("%s+%s", j->name, word) : xstrdup(j->name);
}

/* ---- identity ---- */

static int by_key(const void *a, const void *b)
{
	return strcmp((*(const struct job_param *const *)a)->key, (*(const struct job_param *const *)b)->key);
}

/* {"monitors":[...],"params":{...},"program":"..."[,"time_limit":S]}, all sorted. A parameter that says what is the
 * default anyway is left out, so that neither writing it down nor a later new parameter changes the identity. */
static char *canonical_form(const struct job *j, const struct program_def *d)
{
	struct json_object *top = json_object_new_object(), *params = json_object_new_object();
	struct json_object *mon = json_object_new_array();
	const struct job_param **v = xcalloc(j->n_params + 1, sizeof(*v));
	_cleanup_strv_ struct strv names = {0};
	char *text;

	for (size_t i = 0; i < j->n_params; i++)
		v[i] = &j->param[i];
	qsort(v, j->n_params, sizeof(*v), by_key);
	for (size_t i = 0; i < j->n_params; i++) {
		const struct param_def *p = program_def_param(d, v[i]->key);

		if (!p || !streq(p->dflt, v[i]->value))
			json_object_object_add(params, v[i]->key, json_text(v[i]->value));
	}
	for (size_t i = 0; i < j->monitors.n; i++)
		strv_add(&names, j->monitors.v[i]);
	strv_sort_uniq(&names);
	for (size_t i = 0; i < names.n; i++)
		json_object_array_add(mon, json_text(names.v[i]));
	json_object_object_add(top, "monitors", mon);
	json_object_object_add(top, "params", params);
	json_object_object_add(top, "program", json_text(j->program));
	if (j->time_limit_s > 0) /* asked for; the default is not part of the identity */
		json_object_object_add(top, "time_limit", json_object_new_double(j->time_limit_s));
	text = json_line(top);
	json_object_put(top);
	free(v);
	return text;
}

/* Generous: the machine may be an emulated one whose second takes several of ours. */
static double time_limit(const struct job *j, const struct program_def *d)
{
	double total = d->time_limit_s, s;

	for (size_t i = 0; i < d->n_params; i++)
		if (d->param[i].kind == PARAM_SECONDS && parse_seconds(job_value(j, d, d->param[i].name), &s) == 0)
			total += 4 * s;
	return total;
}

int job_finish(struct job *j)
{
	const struct program_def *d;
	char hex[SHA256_HEX];
	int r = program_def_get(j->program, &d);

	if (r < 0)
		return r;
	free(j->canonical);
	free(j->id);
	j->canonical = canonical_form(j, d);
	sha256_hex(j->canonical, strlen(j->canonical), hex);
	j->id = xstrndup(hex, 16);
	if (!(j->time_limit_s > 0))
		j->time_limit_s = time_limit(j, d);
	return 0;
}

static int read_canonical(struct json_object *top, struct job *j)
{
	struct json_object *params = json_get(top, "params"), *mon = json_get(top, "monitors"), *one;
	const char *program = json_get_text(top, "program");
	const struct program_def *d;
	int r;

	if (!program || !json_object_is_type(params, json_type_object) || !json_object_is_type(mon, json_type_array))
		return err_set(-EINVAL, "a stored job must hold 'program', 'params' and 'monitors'");
	j->program = xstrdup(program);
	j->time_limit_s = MAX(json_get_double(top, "time_limit", 0), 0);
	r = program_def_get(j->program, &d);
	if (r < 0)
		return r;
	json_object_object_foreach(params, key, val) {
		const struct param_def *p = program_def_param(d, key);
		const char *text = json_object_get_string(val);

		p = p ? p : common_param(key);
		if (!p || !text)
			return err_set(-EINVAL, "program '%s' has no parameter '%s'", j->program, key);
		r = param_check(p, text);
		if (r < 0)
			return r;
		job_add_param(j, key, text);
	}
	for (size_t i = 0; i < json_n(mon); i++) {
		one = json_at(mon, i);
		r = json_object_is_type(one, json_type_string) ? monitor_def_get(json_object_get_string(one), &d)
							       : err_set(-EINVAL, "a monitor must be a text");
		if (r < 0)
			return r;
		strv_add(&j->monitors, json_object_get_string(one));
	}
	return 0;
}

int job_from_canonical(const char *name, const char *canonical_json, struct job *ret)
{
	_cleanup_json_ struct json_object *top = json_object_of(canonical_json);
	struct job j = {.name = xstrdup(name), .point = xstrdup(name)};
	int r = top ? read_canonical(top, &j) : err_set(-EINVAL, "not a JSON object");

	if (r == 0)
		r = job_finish(&j);
	if (r < 0) {
		job_release(&j);
		return err_prefix(r, "stored job '%s'", name ? name : "");
	}
	*ret = j;
	return 0;
}

/* ---- KPIs and needs ---- */

const char *const *job_kpis(const struct job *j)
{
	const struct program_def *d;
	const char *list[16];
	size_t n = 0;

	if (program_def_get(j->program, &d) < 0)
		return intern_list(NULL, 0);
	for (size_t i = 0; i < d->n_kpis && n < ARRAY_SIZE(list); i++) {
		_cleanup_free_ char *metric = fill_pattern(j, d, d->kpi[i].metric);

		list[n++] = intern(metric);
	}
	return intern_list(list, n);
}

double job_kpi_threshold(const struct job *j, const char *metric)
{
	const struct program_def *d;

	if (program_def_get(j->program, &d) < 0)
		return 0.002;
	for (size_t i = 0; i < d->n_kpis; i++) {
		_cleanup_free_ char *name = fill_pattern(j, d, d->kpi[i].metric);

		if (!strcmp(name, metric))
			return d->kpi[i].threshold;
	}
	return 0.002;
}

/* Our own programs, and what a parameter's value asks for. A value may hold {parameter}. */
static void add_needs(const struct job *j, const struct program_def *d, struct strv *packages, struct strv *programs)
{
	for (size_t i = 0; i < d->own.n; i++)
		strv_add(programs, own_name(d->own.v[i]));
	for (size_t i = 0; i < d->n_needs; i++) {
		if (strcmp(job_value(j, d, d->need[i].param), d->need[i].value))
			continue;
		strv_addv(packages, (const char *const *)d->need[i].packages.v);
		for (size_t k = 0; k < d->need[i].own.n; k++)
			strv_add(programs, own_name(d->need[i].own.v[k]));
		for (size_t k = 0; k < d->need[i].programs.n; k++) {
			_cleanup_free_ char *name = fill_pattern(j, d, d->need[i].programs.v[k]);

			strv_add(programs, name);
		}
	}
}

int job_needs(const struct job *j, struct strv *ret_packages, struct strv *ret_programs)
{
	_cleanup_strv_ struct strv packages = {0}, programs = {0};
	const struct program_def *d;
	int r = program_def_get(j->program, &d);

	if (r == 0)
		add_needs(j, d, &packages, &programs);
	for (size_t i = 0; r == 0; i++) {
		strv_addv(&packages, (const char *const *)d->packages.v);
		strv_addv(&programs, (const char *const *)d->programs.v);
		if (i == j->monitors.n)
			break;
		r = monitor_def_get(j->monitors.v[i], &d);
	}
	if (r < 0)
		return r;
	strv_sort_uniq(&packages);
	strv_sort_uniq(&programs);
	strv_addv(ret_packages, (const char *const *)packages.v);
	strv_addv(ret_programs, (const char *const *)programs.v);
	return 0;
}
