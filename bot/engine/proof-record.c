/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/proof-record.h"

#include <json-c/json.h>

/* A member of the proof's JSON, with a reference of its own; NULL where there is none. */
static struct json_object *proof_member(const struct db_case *c, const char *key)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *v = NULL;

	if (json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v))
		json_object_get(v);
	json_object_put(o);
	return v;
}

double proof_number(const struct db_case *c, const char *key)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *v;
	double d = json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v)
			   ? json_object_get_double(v) : NAN;

	json_object_put(o);
	return d;
}

char *proof_text(const struct db_case *c, const char *key)
{
	struct json_object *o = c->proof ? json_tokener_parse(c->proof) : NULL, *v;
	char *s = json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, key, &v) && v
			  ? xstrdup(json_object_get_string(v)) : NULL;

	json_object_put(o);
	return s;
}

void proof_contradicted(const struct db_case *c, struct strv *ret)
{
	struct json_object *list = proof_member(c, "contradicted");
	size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *commit = json_object_object_get(json_object_array_get_idx(list, i), "commit");

		if (commit)
			strv_add(ret, json_object_get_string(commit));
	}
	json_object_put(list);
}

void proof_begin(struct db_case *c, const char *parent, int64_t after_run)
{
	struct json_object *o = json_object_new_object(), *before = proof_member(c, "contradicted");
	double tries = proof_number(c, "tries");

	json_object_object_add(o, "parent", json_text(parent));
	json_object_object_add(o, "after_run", json_object_new_int64(after_run));
	json_object_object_add(o, "tries", json_object_new_int(isfinite(tries) ? tries + 1 : 1));
	if (before)
		json_object_object_add(o, "contradicted", before);
	free(c->proof);
	c->proof = json_line(o);
	json_object_put(o);
}

void proof_keep(struct db_case *c, const char *parent, const struct pairs_result *x)
{
	const struct verdict_result *v = &x->v;
	struct json_object *o = json_tokener_parse(c->proof);
	const struct { const char *key; double v; } numbers[] = {
		{"boots_parent", x->n_a}, {"boots_culprit", x->n_b}, {"mean_parent", v->mean_a}, {"mean_culprit", v->mean_b},
		{"sd", v->sd}, {"effect", v->effect}, {"lo", v->lo}, {"hi", v->hi}, {"p", v->p}};

	json_object_object_add(o, "parent", json_text(parent));
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (isfinite(numbers[i].v))
			json_object_object_add(o, numbers[i].key, json_object_new_double(numbers[i].v));
	free(c->proof);
	c->proof = json_line(o);
	json_object_put(o);
}

void proof_contradict(struct db_case *c, const char *parent, double effect)
{
	struct json_object *o = json_object_new_object(), *list = proof_member(c, "contradicted");
	struct json_object *one = json_object_new_object();

	if (!json_object_is_type(list, json_type_array)) {
		json_object_put(list);
		list = json_object_new_array();
	}
	json_object_object_add(one, "commit", json_text(c->culprit));
	json_object_object_add(one, "parent", json_text(parent));
	json_object_object_add(one, "effect", isfinite(effect) ? json_object_new_double(effect) : NULL);
	json_object_array_add(list, one);
	json_object_object_add(o, "contradicted", list);
	free(c->proof);
	c->proof = json_line(o);
	free(c->culprit);
	c->culprit = NULL;
	c->posterior = NAN;
	json_object_put(o);
}

static void proof_set(struct db_case *c, const char *key, struct json_object *value)
{
	struct json_object *o = json_tokener_parse(c->proof);

	json_object_object_add(o, key, value);
	free(c->proof);
	c->proof = json_line(o);
	json_object_put(o);
}

void proof_set_text(struct db_case *c, const char *key, const char *text)
{
	proof_set(c, key, json_text(text));
}

void proof_set_number(struct db_case *c, const char *key, double v)
{
	proof_set(c, key, json_object_new_double(v));
}

int proof_mark(struct engine *e, struct db_case *c, const char *key)
{
	int64_t last = 0;
	int r = store_last_run(e->store, &last);

	if (r >= 0)
		proof_set(c, key, json_object_new_int64(last));
	return r;
}
