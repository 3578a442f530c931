/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/verb.h"

#include <json-c/json.h>

extern const struct verb verb_machine;

/* What is known of one machine: the configuration names it, the database holds its state. */
struct view { const struct machine *m; struct db_machine db; bool in_db; };

static void view_get(struct ctx *c, const struct machine *m, struct view *ret)
{
	*ret = (struct view){.m = m};
	ret->in_db = c->store && store_machine_get(c->store, m->name, &ret->db) >= 0;
}

static char *text_of(const struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);

	return m->description ? xstrdup(m->description) : ops ? ops->describe(m) : xstrdup("unknown driver");
}

static int list(struct ctx *c)
{
	static const char *const columns[] = {"name", "driver", "group", "state", "failures", "note", "description"};
	_cleanup_table_ struct table t = {0};

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		table_column(&t, columns[i], i == 4);
	for (size_t i = 0; i < c->config.n_machines; i++) {
		_cleanup_free_ char *text = text_of(&c->config.machine[i]);
		struct view v;

		view_get(c, &c->config.machine[i], &v);
		table_row(&t);
		table_text(&t, 0, v.m->name);
		table_text(&t, 1, v.m->driver);
		table_text(&t, 2, v.m->tbox_group);
		table_text(&t, 3, v.in_db ? v.db.state : "healthy");
		table_int(&t, 4, v.in_db ? v.db.failures : 0);
		table_text(&t, 5, v.in_db ? v.db.note : NULL);
		table_text(&t, 6, text);
		db_machine_release(&v.db);
	}
	return table_print(&t, ctx_form(c), stdout) < 0 ? EXIT_NO : EXIT_DONE;
}

static void put(struct json_object *o, const char *key, struct json_object *v) { json_object_object_add(o, key, v); }

static void put_text(struct json_object *o, const char *key, const char *v)
{
	put(o, key, v ? json_object_new_string(v) : NULL);
}

/* One object serves both forms: JSON as it is, or "key: value" lines. */
static int show(struct ctx *c, const struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);
	_cleanup_free_ char *text = text_of(m);
	struct json_object *o = json_object_new_object();
	struct view v;

	view_get(c, m, &v);
	put_text(o, "name", m->name);
	put_text(o, "driver", m->driver);
	put_text(o, "driver_help", ops ? ops->help : NULL);
	put_text(o, "group", m->tbox_group);
	put_text(o, "state", v.in_db ? v.db.state : "healthy");
	put(o, "failures", json_object_new_int64(v.in_db ? v.db.failures : 0));
	put_text(o, "note", v.in_db ? v.db.note : NULL);
	put_text(o, "description", text);
	put(o, "deterministic", json_object_new_boolean(ops && (ops->flags & MACHINE_DETERMINISTIC)));
	if (ops && (ops->flags & MACHINE_NEEDS_IMAGE)) {
		put(o, "cpus", json_object_new_int(m->cpus));
		put(o, "memory_mb", json_object_new_int(m->memory_mb));
		put_text(o, "append", m->append);
	}
	if (c->json) {
		printf("%s\n", json_object_to_json_string_ext(o, JSON_C_TO_STRING_NOSLASHESCAPE));
	} else {
		json_object_object_foreach(o, key, val) {
			_cleanup_free_ char *safe = term_safe(val ? json_object_get_string(val) : "-");

			printf("%-14s %s\n", key, safe);
		}
	}
	json_object_put(o);
	db_machine_release(&v.db);
	return EXIT_DONE;
}

/* Can its driver work here? Of all machines, or of the named one. */
static int check(struct ctx *c, const struct machine *only)
{
	_cleanup_table_ struct table t = {0};
	int bad = 0;

	table_column(&t, "name", false);
	table_column(&t, "ok", false);
	table_column(&t, "message", false);
	for (size_t i = 0; i < c->config.n_machines; i++) {
		const struct machine *m = &c->config.machine[i];
		const struct machine_ops *ops = machine_driver(m->driver);
		int r;

		if (only && only != m)
			continue;
		r = ops ? ops->check(m) : err_set(-ENOENT, "there is no driver '%s'", m->driver);
		bad += r < 0;
		table_row(&t);
		table_text(&t, 0, m->name);
		table_text(&t, 1, r < 0 ? "no" : "yes");
		table_text(&t, 2, r < 0 ? err_msg() : NULL);
	}
	if (table_print(&t, ctx_form(c), stdout) < 0)
		return EXIT_NO;
	return bad ? EXIT_NO : EXIT_DONE;
}

/* drain: what runs there ends, nothing new starts; resume: as new, also after it was taken out. */
static int set_state(struct ctx *c, const struct machine *m, const char *what)
{
	bool drain = streq(what, "drain");
	struct db_machine db = {0};
	int r = config_to_store(&c->config, c->store);

	if (r >= 0)
		r = store_machine_get(c->store, m->name, &db);
	if (r >= 0)
		r = store_machine_state(c->store, db.id, drain ? "drained" : "healthy", 0, drain ? "drained by hand" : NULL);
	db_machine_release(&db);
	if (r < 0)
		return verb_fail(c, r);
	return c->json ? show(c, m) : (printf("machine '%s': %s\n", m->name, drain ? "drained" : "healthy"), EXIT_DONE);
}

static int no_machine(struct ctx *c, const char *name)
{
	const char *names[64], *near;
	size_t n = 0;

	for (; n < c->config.n_machines && n < ARRAY_SIZE(names); n++)
		names[n] = c->config.machine[n].name;
	near = nearest_word(name, names, n);
	return verb_fail(c, err_set(-ENOENT, "there is no machine '%s'%s%s%s; 'kperfbot machine list' shows them", name,
				    near ? ", did you mean '" : "", near ? near : "", near ? "'?" : ""));
}

static int run_machine(int argc, char **argv, struct ctx *c)
{
	static const struct opt opts[] = {OPT_END};
	const struct machine *m = NULL;
	const char *what;
	bool writes;
	int r = verb_options(&verb_machine, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	what = argc ? argv[0] : "list";
	writes = streq(what, "drain") || streq(what, "resume");
	if (argc > 2 || (argc == 2 && streq(what, "list")) || (argc == 1 && (writes || streq(what, "show"))) ||
	    (!writes && !streq(what, "list") && !streq(what, "show") && !streq(what, "check")))
		return verb_usage(c, "machine list, show NAME, check [NAME], drain NAME or resume NAME");
	if (argc == 2 && !(m = config_machine(&c->config, argv[1])))
		return no_machine(c, argv[1]);
	r = ctx_store(c, !writes); /* list, show and check work without a database too */
	if (r < 0 && (writes || r != -ENOENT))
		return verb_fail(c, r);
	if (writes)
		return set_state(c, m, what);
	return streq(what, "list") ? list(c) : streq(what, "show") ? show(c, m) : check(c, m);
}

const struct verb verb_machine = {
	.name = "machine",
	.usage = "list\nshow NAME\ncheck [NAME]\ndrain NAME\nresume NAME",
	.summary = "the test machines and their health",
	.text = "'check' asks each driver whether it can work here. A drained machine finishes what it does and gets nothing new;\n"
		"'resume' makes it healthy again, also one that was taken out after too many failures of its own.\n"
		"Machines are named in machines.yaml; 'local', 'qemu' and 'qemu-icount' are always there.",
	.run = run_machine,
};
