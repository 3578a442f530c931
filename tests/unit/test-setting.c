/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/escape.h"
#include "lib/setting.h"
#include "lib/yaml.h"
#include "tests/tap.h"

#include <json-c/json.h>

#define SORTS(X) X(BY_NAME, "name") X(BY_SIZE, "size") X(UNSORTED, "none")
WORDS_ENUM(sort, SORTS);
WORDS_DEFINE(sort, SORTS, "order");

struct echo {
	char *text, *from, *home;
	int count;
	int64_t bytes;
	double ratio, pause_s;
	bool loud, kept;
	struct strv to;
	enum sort order;
};
static const struct setting table[] = {
	SETTING(echo, text, "text", "what it says", .dflt = "hello"),
	SETTING(echo, from, "from", "who says it", .otherwise = "nobody"),
	SETTING(echo, home, "home", "its page", .url = true),
	SETTING(echo, count, "count", "how often", .min = 1, .max = 100, .dflt = "7"),
	SETTING(echo, bytes, "bytes", "how much", .min = 0, .max = 1e15, .otherwise = "what there is"),
	SETTING(echo, ratio, "ratio", "of what", .min = 0.25, .max = 0.75, .dflt = "0.5"),
	SETTING_TIME(echo, pause_s, "pause", "between two", .min = 1, .max = 86400, .dflt = "5m"),
	SETTING(echo, loud, "loud", "in capitals", .dflt = "true"),
	SETTING(echo, to, "to", "who hears it", .dflt = "*"),
	SETTING_WORD(echo, order, "order", &sort_words, "how they are sorted", .dflt = "size"),
	SETTING_END,
};
struct more { int depth; };
static const struct setting more_table[] = {
	SETTING(more, depth, "depth", "levels", .dflt = "-1", .min = 0, .max = 10),
	SETTING_END,
};

static const struct setting *row(const char *name)
{
	return setting_find(table, name);
}

static void is_shown(const struct echo *e, const char *name, const char *want, const char *what)
{
	_cleanup_free_ char *s = setting_shown(row(name), e);

	is_str(s, want, "%s: %s", name, what);
}

static void is_text(const struct echo *e, const char *name, const char *want, const char *what)
{
	_cleanup_free_ char *s = setting_text(row(name), e);

	is_str(s, want, "%s: %s", name, what);
}

static void test_defaults(void)
{
	struct echo e = {.kept = true};
	_cleanup_free_ char *a = setting_default_shown(row("from")), *b = setting_default_shown(row("pause")),
			    *c = setting_default_shown(row("home")), *whole = setting_limits(row("count")),
			    *time = setting_limits(row("pause")), *words = setting_limits(row("order")),
			    *number = setting_limits(row("ratio")), *any = setting_limits(row("text"));

	settings_default(table, &e);
	is_str(e.text, "hello", "a text has its default");
	ok(!e.from && !e.home, "or none");
	is_int(e.count, 7, "an int has it");
	is_int(e.bytes, 0, "an int64 without one is 0");
	ok(e.ratio == 0.5 && e.pause_s == 300, "numbers and times have it");
	ok(e.loud, "a bool has it");
	ok(e.to.n == 1 && streq(e.to.v[0], "*"), "a list has it as its element");
	is_int(e.order, BY_SIZE, "a choice has it");
	ok(e.kept, "a member without a row is left alone");
	is_str(a, "nobody", "the default in words goes before");
	is_str(b, "5m", "the default's text");
	is_str(c, "none", "no default");
	is_str(whole, "1 to 100", "limits of whole numbers");
	is_str(number, "0.25 to 0.75", "of others");
	is_str(time, "1s to 1d", "of times");
	is_str(words, "name, size, none", "what may be chosen");
	ok(!any, "a text has none");
	for (const struct setting *s = table; s->name; s++)
		ok(setting_is_default(s, &e), "%s is the default", s->name);
	settings_default(table, &e);
	is_int(e.to.n, 1, "once more leaks and doubles nothing");
	settings_release(table, &e);
	ok(!e.text && !e.to.n && !e.count, "released members are empty");
}

static void test_text(void)
{
	struct echo e = {0}, f = {0};
	_cleanup_free_ char *none = NULL;

	settings_default(table, &e);
	settings_default(table, &f);
	is_int(setting_set(row("count"), &e, "100"), 0, "the largest");
	is_int(setting_set(row("count"), &e, "101"), -ERANGE, "and one more");
	is_str(err_msg(), "'count' must lie between 1 and 100, not 101", "with both limits");
	is_int(e.count, 100, "which leaves the value");
	is_int(setting_set(row("count"), &e, "9x"), -EINVAL, "what is no number");
	ok(strstr(err_msg(), "'count': '9x'"), "named: %s", err_msg());
	is_int(setting_set(row("ratio"), &e, "nan"), -ERANGE, "not a number");
	is_int(setting_set(row("ratio"), &e, "0.3"), 0, "a number");
	is_int(setting_set(row("pause"), &e, "2d"), -ERANGE, "a time that is too long");
	is_str(err_msg(), "'pause' must lie between 1s and 1d, not 2d", "with both limits");
	is_int(setting_set(row("pause"), &e, "90"), 0, "a time");
	is_int(setting_set(row("loud"), &e, "perhaps"), -EINVAL, "no bool");
	is_str(err_msg(), "'loud' takes true or false, not 'perhaps'", "named");
	is_int(setting_set(row("loud"), &e, "no"), 0, "a bool");
	is_int(setting_set(row("order"), &e, "colour"), -EINVAL, "no choice");
	is_str(err_msg(), "'order' takes 'name', 'size' or 'none' (how they are sorted), not 'colour'",
	       "named with the choices");
	is_int(setting_set(row("order"), &e, "none"), 0, "a choice");
	is_int(setting_set(row("to"), &e, "ann@example.org"), 0, "a list takes one");
	strv_add(setting_list(row("to"), &e), "bob@example.org");
	is_int(setting_set(row("home"), &e, "https://ann:secret@example.org/x"), 0, "a URL");
	is_text(&e, "ratio", "0.3", "as short as it was");
	is_text(&e, "pause", "90s", "in seconds where no larger unit fits");
	is_text(&f, "pause", "5m", "in the largest unit that fits");
	is_text(&e, "loud", "false", "a word");
	is_text(&e, "order", "none", "its word");
	is_text(&e, "to", "ann@example.org, bob@example.org", "all of them");
	none = setting_text(row("from"), &e);
	ok(!none, "no text is no text");
	is_shown(&e, "from", "nobody", "shown in words");
	is_shown(&e, "bytes", "what there is", "0 is shown in words where there are some");
	is_shown(&e, "home", "https://example.org/x", "shown without the login");
	for (const struct setting *s = table; s->name; s++)
		is_int(setting_is_default(s, &e), streq(s->name, "text") || streq(s->name, "from") ||
		       streq(s->name, "bytes"),
		       "%s: whether it is the default", s->name);
	settings_copy(table, &f, &e);
	for (const struct setting *s = table; s->name; s++)
		ok(setting_equal(s, &e, &f), "%s is copied", s->name);
	ok(e.home != f.home && e.to.v != f.to.v, "as strings of its own");
	settings_release(table, &e);
	settings_release(table, &f);
}

/* The mistakes of a text, read into e and x. */
static char *read_into(const char *text, struct echo *e, struct more *x, const char *of)
{
	static const char *const others[] = {"canary", NULL};
	const struct settings parts[] = {{table, e}, {more_table, x}, {0}};
	struct mistakes m = {0};
	struct yaml y = {0};
	char *s;

	settings_default(table, e);
	settings_default(more_table, x);
	is_int(yaml_load_text("x.yaml", text, strlen(text), &y), 0, "the YAML is right");
	settings_read(y.doc[0], parts, others, of, &m);
	s = xstrdup(buf_str(&m.text));
	buf_release(&m.text);
	yaml_release(&y);
	return s;
}

static void test_yaml(void)
{
	struct echo e = {0};
	struct more x = {0};
	_cleanup_free_ char *good = read_into("text: ~\ncount: 3\nto: [a, b]\npause: 2h\ndepth: 4\ncanary: {a: 1}\n"
						"order: name\n", &e, &x, NULL),
			    *bad = NULL, *driver = NULL, *list = NULL;

	is_str(good, "", "no mistakes");
	ok(!e.text && e.count == 3 && e.to.n == 2 && e.pause_s == 7200 && e.order == BY_NAME, "all values are taken");
	is_int(x.depth, 4, "also those of the second table");
	settings_release(table, &e);
	bad = read_into("count: 0\nto: {a: b}\nratio: [1]\ndepht: 1\norder: up\nbytes: many\n", &e, &x, NULL);
	is_str(bad,
	       "x.yaml:1:8: 'count' must lie between 1 and 100, not 0\n"
	       "x.yaml:2:6: wants a list\n"
	       "x.yaml:3:9: 'ratio' takes one value\n"
	       "x.yaml:4:1: unknown key 'depht', did you mean 'depth'?\n"
	       "x.yaml:5:8: 'order' takes 'name', 'size' or 'none' (how they are sorted), not 'up'\n"
	       "x.yaml:6:8: 'bytes': 'many' is not a whole number", "each mistake with its place");
	is_int(x.depth, -1, "a default may lie outside of the limits");
	settings_release(table, &e);
	driver = read_into("canari: 1\n", &e, &x, "driver 'echo'");
	is_str(driver, "x.yaml:1:1: driver 'echo' has no setting 'canari', did you mean 'canary'?",
	       "whose settings they are");
	settings_release(table, &e);
	list = read_into("- 1\n", &e, &x, NULL);
	is_str(list, "x.yaml:1:3: wants 'key: value' lines", "no map");
	settings_release(table, &e);
}

/* A default may lie outside of the limits; stored, it stays what it is. */
static void test_json_outside(void)
{
	struct json_object *o = json_object_new_object();
	struct more m = {0};

	settings_default(more_table, &m);
	settings_to_json(more_table, &m, SETTINGS_STORED, o);
	settings_from_json(more_table, &m, o);
	is_int(m.depth, -1, "a default outside of the limits comes back from JSON");
	json_object_put(o);
}

static void test_json(void)
{
	static const char stored[] =
		"{\"text\":null,\"from\":\"a \\u00e4 \\\"b\\\"\",\"count\":1000000,\"bytes\":9007199254740993,"
		"\"ratio\":\"x\",\"pause\":0.001,\"loud\":3,\"to\":[\"a\",5,\"b\"],\"order\":\"up\",\"later\":{}}";
	struct json_object *o = json_tokener_parse(stored), *out = json_object_new_object();
	struct json_object *shown = json_object_new_object();
	struct echo e = {0}, f = {0};
	_cleanup_free_ char *line = NULL, *people = NULL;

	settings_from_json(table, &e, o);
	ok(!e.text, "null is no text");
	is_str(e.from, "a ä \"b\"", "a text comes back");
	is_int(e.count, 100, "a number out of its limits becomes the limit");
	is_int(e.bytes, 1000000000000000, "a large one, too");
	ok(e.ratio == 0.5 && e.loud && e.order == BY_SIZE, "what has another type, or is no choice, gets the default");
	ok(e.pause_s == 1, "a time out of its limits becomes the limit");
	ok(e.to.n == 2 && streq(e.to.v[1], "b"), "a list has its texts");
	setting_set(row("home"), &e, "https://ann:secret@example.org/x");
	settings_to_json(table, &e, SETTINGS_STORED, out);
	line = json_line(out);
	is_str(line, "{\"text\":null,\"from\":\"a ä \\\"b\\\"\","
		     "\"home\":\"https://ann:secret@example.org/x\",\"count\":100,"
		     "\"bytes\":1000000000000000,\"ratio\":0.5,\"pause\":1.0,\"loud\":true,\"to\":[\"a\",\"b\"],"
		     "\"order\":\"size\"}",
	       "is stored exactly");
	settings_from_json(table, &f, out);
	for (const struct setting *s = table; s->name; s++)
		ok(setting_equal(s, &e, &f), "%s comes back from JSON", s->name);
	settings_default(table, &f);
	strv_release(&f.to);
	settings_to_json(table, &f, SETTINGS_SHOWN, shown);
	people = json_line(shown);
	ok(strstr(people, "\"from\":null") && strstr(people, "\"to\":[]"),
	   "what has no value is shown, too: %s", people);
	json_object_put(out);
	out = json_object_new_object();
	settings_to_json(table, &f, SETTINGS_STORED, out);
	settings_from_json(table, &e, out);
	is_int(e.to.n, 0, "a list that is empty, and is not by default, stays empty");
	settings_from_json(table, &e, NULL);
	is_int(e.to.n, 1, "no JSON gives the defaults");
	test_json_outside();
	settings_release(table, &e);
	settings_release(table, &f);
	json_object_put(o);
	json_object_put(out);
	json_object_put(shown);
}

int main(void)
{
	test_defaults();
	test_text();
	test_yaml();
	test_json();
	return tap_done();
}
