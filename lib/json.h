/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json.h - reading JSON of json-c by key. A value that is absent, null or of another type is as good as none: what is
 * stored may be older, newer or damaged. o may be NULL or no object; texts are borrowed from it. Writing: escape.h.
 *
 *	_cleanup_json_ struct json_object *o = json_object_of(row->settings);
 *	const char *machine = json_get_text(o, "machine");
 */
#ifndef KPB_LIB_JSON_H
#define KPB_LIB_JSON_H
#include "lib/base.h"

#include <json-c/json.h>

static inline void cleanup_json(struct json_object **o) { json_object_put(*o); }
#define _cleanup_json_ _cleanup_(cleanup_json)

/* The object in text, to be freed; NULL where text is NULL, no JSON, or no object. */
struct json_object *json_object_of(const char *text);
/* The same of a file of at most max bytes; NULL also where it cannot be read. */
struct json_object *json_object_of_file(const char *path, size_t max);

struct json_object *json_get(struct json_object *o, const char *key);
const char *json_get_text(struct json_object *o, const char *key);
int64_t json_get_int64(struct json_object *o, const char *key, int64_t otherwise);
/* Finite, or otherwise. */
double json_get_double(struct json_object *o, const char *key, double otherwise);
/* An element of a list, or NULL; n of what is no list is 0. */
struct json_object *json_at(struct json_object *list, size_t i);
size_t json_n(struct json_object *list);
/* Adds the texts of a list; what is no text in it is left out. */
void json_get_list(struct json_object *o, const char *key, struct strv *out);

#endif
