/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/json.h"
#include "lib/fs.h"

struct json_object *json_object_of(const char *text)
{
	struct json_object *o = text ? json_tokener_parse(text) : NULL;

	if (json_object_is_type(o, json_type_object))
		return o;
	json_object_put(o);
	return NULL;
}

struct json_object *json_object_of_file(const char *path, size_t max)
{
	_cleanup_buf_ struct buf b = {0};

	return fs_exists(path) && fs_read(path, max, &b) == 0 ? json_object_of(buf_str(&b)) : NULL;
}

struct json_object *json_get(struct json_object *o, const char *key)
{
	return json_object_is_type(o, json_type_object) ? json_object_object_get(o, key) : NULL;
}

const char *json_get_text(struct json_object *o, const char *key)
{
	struct json_object *v = json_get(o, key);

	return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : NULL;
}

int64_t json_get_int64(struct json_object *o, const char *key, int64_t otherwise)
{
	return isfinite(json_get_double(o, key, NAN)) ? json_object_get_int64(json_get(o, key)) : otherwise;
}

double json_get_double(struct json_object *o, const char *key, double otherwise)
{
	struct json_object *v = json_get(o, key);
	bool number = json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double);

	return number && isfinite(json_object_get_double(v)) ? json_object_get_double(v) : otherwise;
}

size_t json_n(struct json_object *list)
{
	return json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0;
}

struct json_object *json_at(struct json_object *list, size_t i)
{
	return i < json_n(list) ? json_object_array_get_idx(list, i) : NULL;
}

void json_get_list(struct json_object *o, const char *key, struct strv *out)
{
	struct json_object *l = json_get(o, key);

	for (size_t i = 0; i < json_n(l); i++)
		if (json_object_is_type(json_at(l, i), json_type_string))
			strv_add(out, json_object_get_string(json_at(l, i)));
}
