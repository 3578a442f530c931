/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/setting.h"
#include "lib/escape.h"
#include "lib/json.h"
#include "lib/yaml.h"


/* A member by its type; words are stored as enums, which have the room of an unsigned int. */
union member { void *p; char **text; int *i; int64_t *i64; double *d; bool *b; struct strv *list; unsigned int *word; };
union const_member {
	const void *p; char *const *text; const int *i; const int64_t *i64; const double *d; const bool *b;
	const struct strv *list; const unsigned int *word;
};

static union member member(const struct setting *s, void *base)
{
	return (union member){(char *)base + s->offset};
}

static union const_member value(const struct setting *s, const void *base)
{
	return (union const_member){(const char *)base + s->offset};
}

const struct setting *setting_find(const struct setting *table, const char *name)
{
	for (; table->name; table++)
		if (streq(table->name, name))
			return table;
	return NULL;
}

struct strv *setting_list(const struct setting *s, void *base)
{
	return member(s, base).list;
}

/* ---- numbers as text ---- */

/* The fewest digits that are read back as the same number. */
static char *number_text(double d)
{
	for (int digits = 6; digits < 17; digits++) {
		char *s = xasprintf("%.*g", digits, d);
		double back;

		if (parse_double(s, &back) == 0 && back == d)
			return s;
		free(s);
	}
	return xasprintf("%.17g", d);
}

static char *seconds_text(double d)
{
	static const struct { double s; char letter; } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}};
	_cleanup_free_ char *s = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (d > 0 && fmod(d, units[i].s) == 0)
			return xasprintf("%.0f%c", d / units[i].s, units[i].letter);
	s = number_text(d);
	return xasprintf("%ss", s);
}

static char *limit_text(const struct setting *s, double limit)
{
	if (s->type == SETTING_T_SECONDS)
		return seconds_text(limit);
	return s->type == SETTING_T_NUMBER ? number_text(limit) : xasprintf("%.0f", limit);
}

/* ---- from text ---- */

static bool limited(const struct setting *s)
{
	return s->max > s->min;
}

static int not_a_word(const struct setting *s, const char *text)
{
	_cleanup_buf_ struct buf b = {0};

	for (int i = 0; i < s->words->n; i++)
		buf_addf(&b, "%s'%s'", i == 0 ? "" : i + 1 < s->words->n ? ", " : " or ", s->words->word[i]);
	return err_set(-EINVAL, "'%s' takes %s (%s), not '%s'", s->name, buf_str(&b), s->help, text);
}

static int set_bool(const struct setting *s, const char *text, bool *ret)
{
	if (!streq(text, "true") && !streq(text, "false") && !streq(text, "yes") && !streq(text, "no"))
		return err_set(-EINVAL, "'%s' takes true or false, not '%s'", s->name, text);
	*ret = *text == 't' || *text == 'y';
	return 0;
}

static int out_of_limits(const struct setting *s, double min, double max, const char *text)
{
	_cleanup_free_ char *from = limit_text(s, min), *to = limit_text(s, max);

	return err_set(-ERANGE, "'%s' must lie between %s and %s, not %s", s->name, from, to, text);
}

static int set_whole(const struct setting *s, const char *text, bool limits, union member p)
{
	int64_t i;
	int r = parse_i64(text, &i);

	if (r < 0)
		return err_prefix(r, "'%s'", s->name);
	if (limits && limited(s) && !(i >= s->min && i <= s->max))
		return out_of_limits(s, s->min, s->max, text);
	if (s->type == SETTING_T_INT && (i < INT_MIN || i > INT_MAX))
		return out_of_limits(s, INT_MIN, INT_MAX, text);
	if (s->type == SETTING_T_INT)
		*p.i = (int)i;
	else
		*p.i64 = i;
	return 0;
}

static int set_real(const struct setting *s, const char *text, bool limits, double *ret)
{
	double d;
	int r = (s->type == SETTING_T_SECONDS ? parse_seconds : parse_double)(text, &d);

	if (r < 0)
		return err_prefix(r, "'%s'", s->name);
	if (limits && limited(s) && !(d >= s->min && d <= s->max))
		return out_of_limits(s, s->min, s->max, text);
	if (!isfinite(d))
		return err_set(-ERANGE, "'%s' must be a finite number, not %s", s->name, text);
	*ret = d;
	return 0;
}

static int set(const struct setting *s, void *base, const char *text, bool limits)
{
	union member p = member(s, base);
	int v;

	switch (s->type) {
	case SETTING_T_TEXT:
		free(*p.text);
		*p.text = xstrdup(text);
		return 0;
	case SETTING_T_LIST:
		strv_release(p.list);
		strv_add(p.list, text);
		return 0;
	case SETTING_T_BOOL: return set_bool(s, text, p.b);
	case SETTING_T_INT:
	case SETTING_T_INT64: return set_whole(s, text, limits, p);
	case SETTING_T_NUMBER:
	case SETTING_T_SECONDS: return set_real(s, text, limits, p.d);
	case SETTING_T_WORD:
		if (words_find(s->words, text, &v) < 0)
			return not_a_word(s, text);
		*p.word = (unsigned int)v;
		return 0;
	}
	return err_set(-EINVAL, "'%s' has no type", s->name);
}

int setting_set(const struct setting *s, void *base, const char *text)
{
	return set(s, base, text, true);
}

/* ---- all members ---- */

static void clear(const struct setting *s, union member p)
{
	switch (s->type) {
	case SETTING_T_TEXT:
		free(*p.text);
		*p.text = NULL;
		break;
	case SETTING_T_LIST: strv_release(p.list); break;
	case SETTING_T_BOOL: *p.b = false; break;
	case SETTING_T_INT: *p.i = 0; break;
	case SETTING_T_INT64: *p.i64 = 0; break;
	case SETTING_T_NUMBER:
	case SETTING_T_SECONDS: *p.d = 0; break;
	case SETTING_T_WORD: *p.word = 0; break;
	}
}

void setting_reset(const struct setting *s, void *base)
{
	clear(s, member(s, base));
	if (s->dflt && set(s, base, s->dflt, false) < 0)
		abort(); /* a table that contradicts itself; tests/unit sets each */
}

void settings_default(const struct setting *table, void *base)
{
	for (; table->name; table++)
		setting_reset(table, base);
}

void settings_release(const struct setting *table, void *base)
{
	for (; table->name; table++)
		clear(table, member(table, base));
}

static void copy(const struct setting *s, union member to, union const_member from)
{
	struct strv list = {0};
	char *text;

	switch (s->type) {
	case SETTING_T_TEXT:
		text = xstrdup(*from.text);
		free(*to.text);
		*to.text = text;
		break;
	case SETTING_T_LIST:
		if (from.list->n)
			strv_addv(&list, (const char *const *)from.list->v);
		strv_release(to.list);
		*to.list = list;
		break;
	case SETTING_T_BOOL: *to.b = *from.b; break;
	case SETTING_T_INT: *to.i = *from.i; break;
	case SETTING_T_INT64: *to.i64 = *from.i64; break;
	case SETTING_T_NUMBER:
	case SETTING_T_SECONDS: *to.d = *from.d; break;
	case SETTING_T_WORD: *to.word = *from.word; break;
	}
}

void settings_copy(const struct setting *table, void *to, const void *from)
{
	for (; table->name; table++)
		copy(table, member(table, to), value(table, from));
}

/* ---- shown ---- */

static char *list_text(const struct strv *l)
{
	_cleanup_buf_ struct buf b = {0};

	for (size_t i = 0; i < l->n; i++)
		buf_addf(&b, "%s%s", i ? ", " : "", l->v[i]);
	return l->n ? xstrdup(buf_str(&b)) : NULL;
}

char *setting_text(const struct setting *s, const void *base)
{
	union const_member p = value(s, base);

	switch (s->type) {
	case SETTING_T_TEXT: return xstrdup(*p.text);
	case SETTING_T_LIST: return list_text(p.list);
	case SETTING_T_BOOL: return xstrdup(*p.b ? "true" : "false");
	case SETTING_T_INT: return xasprintf("%d", *p.i);
	case SETTING_T_INT64: return xasprintf("%" PRId64, *p.i64);
	case SETTING_T_NUMBER: return number_text(*p.d);
	case SETTING_T_SECONDS: return seconds_text(*p.d);
	case SETTING_T_WORD: return xstrdup(words_text(s->words, (int)*p.word));
	}
	return NULL;
}

/* Where `otherwise` holds. */
static bool no_value(const struct setting *s, union const_member p)
{
	switch (s->type) {
	case SETTING_T_TEXT: return !*p.text;
	case SETTING_T_LIST: return !p.list->n;
	case SETTING_T_INT: return *p.i <= 0;
	case SETTING_T_INT64: return *p.i64 <= 0;
	case SETTING_T_NUMBER:
	case SETTING_T_SECONDS: return *p.d <= 0;
	case SETTING_T_BOOL:
	case SETTING_T_WORD: break;
	}
	return false;
}

char *setting_shown(const struct setting *s, const void *base)
{
	char *text;

	if (s->otherwise && no_value(s, value(s, base)))
		return xstrdup(s->otherwise);
	if (s->url && s->type == SETTING_T_TEXT && *value(s, base).text)
		return url_shown(*value(s, base).text);
	text = setting_text(s, base);
	return text ? text : xstrdup("");
}

char *setting_limits(const struct setting *s)
{
	_cleanup_free_ char *from = NULL, *to = NULL;
	_cleanup_buf_ struct buf b = {0};

	for (int i = 0; s->words && i < s->words->n; i++)
		buf_addf(&b, "%s%s", i ? ", " : "", s->words->word[i]);
	if (s->words)
		return xstrdup(buf_str(&b));
	if (!limited(s))
		return NULL;
	from = limit_text(s, s->min);
	to = limit_text(s, s->max);
	return xasprintf("%s to %s", from, to);
}

char *setting_default_shown(const struct setting *s)
{
	bool none = s->type == SETTING_T_TEXT || s->type == SETTING_T_LIST;

	if (s->otherwise || s->dflt)
		return xstrdup(s->otherwise ? s->otherwise : s->dflt);
	if (s->type == SETTING_T_WORD)
		return xstrdup(words_text(s->words, 0));
	return xstrdup(none ? "none" : s->type == SETTING_T_BOOL ? "false" : "0");
}

static bool list_equal(const struct strv *a, const struct strv *b)
{
	for (size_t i = 0; i < a->n && i < b->n; i++)
		if (!streq(a->v[i], b->v[i]))
			return false;
	return a->n == b->n;
}

bool setting_equal(const struct setting *s, const void *a, const void *b)
{
	union const_member x = value(s, a), y = value(s, b);

	switch (s->type) {
	case SETTING_T_TEXT: return (!*x.text && !*y.text) || streq(*x.text, *y.text);
	case SETTING_T_LIST: return list_equal(x.list, y.list);
	case SETTING_T_BOOL: return *x.b == *y.b;
	case SETTING_T_INT: return *x.i == *y.i;
	case SETTING_T_INT64: return *x.i64 == *y.i64;
	case SETTING_T_NUMBER:
	case SETTING_T_SECONDS: return *x.d == *y.d;
	case SETTING_T_WORD: return *x.word == *y.word;
	}
	return false;
}

/* A value on its own, at offset 0. */
union any { char *text; int i; int64_t i64; double d; bool b; struct strv list; unsigned int word; };

bool setting_is_default(const struct setting *s, const void *base)
{
	struct setting alone = *s;
	union any d = {.list = {0}}, v = {.list = {0}};
	bool same;

	alone.offset = 0;
	setting_reset(&alone, &d);
	copy(&alone, member(&alone, &v), value(s, base));
	same = setting_equal(&alone, &v, &d);
	clear(&alone, member(&alone, &d));
	clear(&alone, member(&alone, &v));
	return same;
}

/* ---- YAML ---- */

#define MISTAKES_MAX 50

void mistake(struct mistakes *m, int r)
{
	if (r >= 0)
		return;
	if (m->n++ < MISTAKES_MAX)
		buf_addf(&m->text, "%s%s", m->text.len ? "\n" : "", err_msg());
}

static int read_list(const struct ynode *v, struct strv *out)
{
	strv_release(out);
	if (v->kind == Y_SCALAR) {
		strv_add(out, v->text);
		return 0;
	}
	if (v->kind != Y_LIST)
		return ynode_err(v, -EINVAL, "wants a list");
	for (size_t i = 0; i < v->n; i++) {
		if (v->val[i]->kind != Y_SCALAR)
			return ynode_err(v->val[i], -EINVAL, "wants plain text");
		strv_add(out, v->val[i]->text);
	}
	return 0;
}

static int read_one(const struct setting *s, const struct ynode *v, void *base)
{
	int r;

	if (s->type == SETTING_T_LIST)
		return read_list(v, member(s, base).list);
	if (s->type == SETTING_T_TEXT && v->kind == Y_NULL) {
		clear(s, member(s, base));
		return 0;
	}
	if (v->kind != Y_SCALAR)
		return ynode_err(v, -EINVAL, "'%s' takes one value", s->name);
	r = setting_set(s, base, v->text);
	if (r < 0) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		return ynode_err(v, r, "%s", why);
	}
	return 0;
}

static int unknown_key(const struct ynode *key, const struct settings *parts, const char *const *more, const char *of)
{
	_cleanup_strv_ struct strv names = {0};
	const char *near;

	for (; parts->table; parts++)
		for (const struct setting *s = parts->table; s->name; s++)
			strv_add(&names, s->name);
	for (; more && *more; more++)
		strv_add(&names, *more);
	near = nearest_word(key->text, (const char *const *)names.v, names.n);
	return ynode_err(key, -EINVAL, "%s%s '%s'%s%s%s", of ? of : "unknown", of ? " has no setting" : " key",
			 key->text, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static bool among(const char *const *words, const char *word)
{
	for (; words && *words; words++)
		if (streq(*words, word))
			return true;
	return false;
}

static int read_key(const struct ynode *key, const struct ynode *v, const struct settings *parts,
		    const char *const *more, const char *of)
{
	for (const struct settings *p = parts; p->table; p++) {
		const struct setting *s = setting_find(p->table, key->text);

		if (s)
			return read_one(s, v, p->base);
	}
	return among(more, key->text) ? 0 : unknown_key(key, parts, more, of);
}

void settings_read(const struct ynode *map, const struct settings *parts, const char *const *more, const char *of,
		   struct mistakes *m)
{
	if (map->kind == Y_NULL)
		return;
	if (map->kind != Y_MAP) {
		mistake(m, ynode_err(map, -EINVAL, "wants 'key: value' lines"));
		return;
	}
	for (size_t i = 0; i < map->n; i++)
		mistake(m, read_key(map->key[i], map->val[i], parts, more, of));
}

/* ---- JSON ---- */

static struct json_object *list_json(const struct strv *l)
{
	struct json_object *a = json_object_new_array();

	for (size_t i = 0; i < l->n; i++)
		json_object_array_add(a, json_text(l->v[i]));
	return a;
}

static struct json_object *value_json(const struct setting *s, union const_member p)
{
	switch (s->type) {
	case SETTING_T_TEXT: return json_text(*p.text);
	case SETTING_T_LIST: return list_json(p.list);
	case SETTING_T_BOOL: return json_object_new_boolean(*p.b);
	case SETTING_T_INT: return json_object_new_int(*p.i);
	case SETTING_T_INT64: return json_object_new_int64(*p.i64);
	case SETTING_T_NUMBER:
	case SETTING_T_SECONDS: return json_object_new_double(*p.d);
	case SETTING_T_WORD: return json_text(words_text(s->words, (int)*p.word));
	}
	return NULL;
}

void settings_to_json(const struct setting *table, const void *base, enum settings_form form, struct json_object *o)
{
	for (const struct setting *s = table; s->name; s++) {
		union const_member p = value(s, base);
		bool none = s->type == SETTING_T_TEXT && !*p.text;
		_cleanup_free_ char *shown = form == SETTINGS_SHOWN && s->url && !none ? setting_shown(s, base) : NULL;

		if (form == SETTINGS_SHOWN || !none || s->dflt)
			json_object_object_add(o, s->name, shown ? json_text(shown) : value_json(s, p));
	}
}

/* The default may lie outside of the limits. */
static double within(const struct setting *s, double d, double dflt)
{
	return limited(s) && d != dflt ? MIN(MAX(d, s->min), s->max) : d;
}

static int64_t whole_within(const struct setting *s, int64_t i, int64_t dflt)
{
	bool out = limited(s) && i != dflt && (i < s->min || i > s->max);

	return out ? (int64_t)within(s, i, dflt) : i; /* not through a double where it can be helped */
}

/* The key is there, and base holds the default: what has another type is left as it is. */
static void value_from_json(const struct setting *s, void *base, struct json_object *o)
{
	union member p = member(s, base);
	struct json_object *v = json_get(o, s->name);
	int64_t i;

	switch (s->type) {
	case SETTING_T_TEXT:
		if (!v)
			clear(s, p);
		/* fall through */
	case SETTING_T_WORD:
		if (json_object_is_type(v, json_type_string))
			(void)set(s, base, json_object_get_string(v), false);
		break;
	case SETTING_T_LIST:
		if (json_object_is_type(v, json_type_array))
			strv_release(p.list);
		json_get_list(o, s->name, p.list);
		break;
	case SETTING_T_BOOL:
		if (json_object_is_type(v, json_type_boolean))
			*p.b = json_object_get_boolean(v);
		break;
	case SETTING_T_INT:
		i = whole_within(s, json_get_int64(o, s->name, *p.i), *p.i);
		*p.i = (int)MIN(MAX(i, INT_MIN), INT_MAX);
		break;
	case SETTING_T_INT64: *p.i64 = whole_within(s, json_get_int64(o, s->name, *p.i64), *p.i64); break;
	case SETTING_T_NUMBER:
	case SETTING_T_SECONDS: *p.d = within(s, json_get_double(o, s->name, *p.d), *p.d); break;
	}
}

void settings_from_json(const struct setting *table, void *base, struct json_object *o)
{
	settings_default(table, base);
	for (; table->name; table++)
		if (json_object_is_type(o, json_type_object) && json_object_object_get_ex(o, table->name, NULL))
			value_from_json(table, base, o);
}
