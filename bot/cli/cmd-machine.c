/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/ask.h"
#include "bot/engine/profile.h"
#include "jobs/job.h"
#include "kernels/traced.h"
#include "lib/fs.h"

#include <json-c/json.h>

extern const struct verb verb_machine;

/* What is known of one machine: the configuration names it, the database holds its state. */
struct machine_view { const struct machine *m; struct db_machine db; bool in_db; };

static void view_get(struct ctx *c, const struct machine *m, struct machine_view *ret)
{
	*ret = (struct machine_view){.m = m};
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
		struct machine_view v;

		view_get(c, &c->config.machine[i], &v);
		table_row(&t);
		table_text(&t, 0, v.m->name);
		table_text(&t, 1, v.m->driver);
		table_text(&t, 2, v.m->tbox_group);
		table_text(&t, 3, machine_state_word(v.db.state));
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
	put(o, key, json_text(v));
}

/* One object serves both forms: JSON as it is, or "key: value" lines. */
static int show(struct ctx *c, const struct machine *m)
{
	const struct machine_ops *ops = machine_driver(m->driver);
	_cleanup_free_ char *text = text_of(m);
	struct json_object *o = json_object_new_object();
	struct settings parts[MACHINE_PARTS];
	struct machine_view v;

	machine_settings(m, parts);
	view_get(c, m, &v);
	put_text(o, "name", m->name);
	put_text(o, "driver", m->driver);
	put_text(o, "driver_help", ops ? ops->help : NULL);
	put_text(o, "group", m->tbox_group);
	put_text(o, "state", machine_state_word(v.db.state));
	put(o, "failures", json_object_new_int64(v.in_db ? v.db.failures : 0));
	put_text(o, "note", v.in_db ? v.db.note : NULL);
	put_text(o, "description", text);
	put(o, "deterministic", json_object_new_boolean(ops && (ops->flags & MACHINE_DETERMINISTIC)));
	for (size_t i = 1; parts[i].table; i++) /* the first ones stand above */
		settings_to_json(parts[i].table, parts[i].base, SETTINGS_SHOWN, o);
	if (c->json) {
		json_print(stdout, o, false);
	} else {
		json_object_object_foreach(o, key, val) {
			_cleanup_free_ char *safe = term_safe(val ? json_object_get_string(val) : "-");

			term_printf(stdout, "%-14s %s\n", key, safe);
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
	enum machine_state to = drain ? MACHINE_DRAINED : MACHINE_HEALTHY;
	struct db_machine db = {0};
	int r = config_to_store(&c->config, c->store);

	if (r >= 0)
		r = store_machine_get(c->store, m->name, &db);
	if (r >= 0)
		r = store_machine_state(c->store, db.id, to, 0, drain ? "drained by hand" : NULL);
	db_machine_release(&db);
	if (r < 0)
		return verb_fail(c, r);
	if (c->json)
		return show(c, m);
	term_printf(stdout, "machine '%s': %s\n", m->name, machine_state_word(to));
	return EXIT_DONE;
}

/* ---- machine boot: one boot by hand ---- */

struct boot_options { const char *image, *script, *job, *out; int64_t perturb; double timeout; bool profile;
	struct strv programs, watch; };

/* The script: a file, or a job with what it needs in the root image. */
static int boot_script(struct ctx *c, struct boot_options *b, struct job *job, struct buf *script)
{
	struct db_job row = {0};
	struct strv packages = {0};
	int r;

	for (size_t i = 0; i < b->watch.n; i++)
		if (!traced_name_ok(b->watch.v[i]))
			return err_set(-EINVAL, "--watch: '%s' is not the name of a function", b->watch.v[i]);
	if (b->watch.n && !b->job)
		return err_set(-EINVAL, "--watch goes with --job: a script of your own has no place for it");
	if (!b->job)
		return fs_read(b->script, 1u << 20, script);
	r = ask_job(c, b->job, NULL, &row);
	if (r >= 0)
		r = job_from_canonical(row.name, row.canonical, job);
	if (r >= 0)
		r = job_needs(job, &packages, &b->programs);
	if (r >= 0) {
		b->timeout = job->time_limit_s;
		r = job_render_watching(job, b->watch.n ? &b->watch : NULL, script);
	}
	strv_release(&packages);
	db_job_release(&row);
	return MIN(r, 0);
}

/* What the job measured; a profile of it is told the operations. */
static int boot_values(const struct boot_options *b, const struct job *job, const struct machine *m,
		       struct boot_result *r)
{
	_cleanup_free_ char *dir = xasprintf("%s/result", b->out);
	struct run_facts facts = {r->exit_status, r->ns_per_insn, MAX(m->cpus, 1)};
	struct metric_set values = {0};
	int e = 0;

	if (job->id && r->verdict == RUN_OK) {
		free(r->cause);
		r->cause = NULL;
		e = job_parse(job, dir, &facts, &values, &r->verdict, &r->cause);
	}
	if (e >= 0 && b->profile && r->verdict == RUN_OK)
		e = profile_of_boot(b->out, b->image, &values, NULL);
	metric_set_release(&values);
	return MIN(e, 0);
}

/* What the kernel watched, for machine boot --watch. */
static int print_watched(const struct boot_options *b, struct json_object *o, bool as_json)
{
	_cleanup_free_ char *path = xasprintf("%s/result/reach", b->out);
	_cleanup_(traced_release) struct traced w = {0};
	struct json_object *list = json_object_new_array();
	int r = traced_read(path, &w);

	put(o, "watched", list);
	put_text(o, "watched_by", w.means);
	for (size_t i = 0; i < w.n; i++) {
		struct json_object *x = json_object_new_object();

		put_text(x, "function", w.v[i].name);
		put(x, "hits", json_object_new_int64((int64_t)w.v[i].hits));
		json_object_array_add(list, x);
		if (!as_json)
			term_printf(stdout, "%12" PRIu64 "  %s (%s)\n", w.v[i].hits, w.v[i].name, w.means);
	}
	return r;
}

static int print_boot(struct ctx *c, const struct boot_result *r, const struct boot_options *b)
{
	struct json_object *o = json_object_new_object();
	const char *out = b->out;
	int e = 0;

	put_text(o, "verdict", run_verdict_word(r->verdict));
	put(o, "exit_status", json_object_new_int(r->exit_status));
	put_text(o, "cause", r->cause);
	put(o, "boot_seconds", isfinite(r->boot_seconds) ? json_object_new_double(r->boot_seconds) : NULL);
	put(o, "wall_seconds", json_object_new_double(r->wall_seconds));
	put_text(o, "out", out);
	put_text(o, "console_tail", r->console_tail);
	if (b->watch.n && r->verdict == RUN_OK)
		e = print_watched(b, o, c->json);
	if (c->json)
		json_print(stdout, o, false);
	else if (r->verdict == RUN_OK)
		term_printf(stdout, "ok, the script ended with status %d after %.1f s; its files are in '%s/result'\n",
			    r->exit_status, r->wall_seconds, out);
	else
		term_printf(stdout, "%s%s: %s\n", r->console_tail ? r->console_tail : "", run_verdict_word(r->verdict),
			    r->cause ? r->cause : "");
	json_object_put(o);
	return e;
}

static int boot(struct ctx *c, const struct machine *m, struct boot_options *b)
{
	const struct machine_ops *ops = machine_driver(m->driver);
	_cleanup_(root_image_release) struct root_image root = {0};
	_cleanup_(boot_result_release) struct boot_result r = {0};
	_cleanup_free_ char *counts = b->profile ? xasprintf("%s/" PROFILE_COUNTS, b->out) : NULL;
	_cleanup_(job_release) struct job job = {0};
	_cleanup_buf_ struct buf script = {0};
	struct boot_request q = {.machine = m, .image = b->image, .perturb = b->perturb, .out_dir = b->out,
				 .profile_path = counts};
	int e = boot_script(c, b, &job, &script);

	if (e >= 0 && b->profile)
		e = machine_profile_check(m);

	if (e >= 0 && ops && (ops->flags & MACHINE_NEEDS_ROOT))
		e = root_image_make(c->config.cache_dir, (const char *const *)b->programs.v, &root);
	if (e >= 0) {
		q.script = buf_str(&script);
		q.script_timeout_s = b->timeout;
		q.root_image = root.path;
		e = machine_boot(&q, &r);
	}
	if (e >= 0)
		e = boot_values(b, &job, m, &r);
	if (e < 0)
		return verb_fail(c, e);
	e = print_boot(c, &r, b);
	if (e < 0)
		return verb_fail(c, e);
	return r.verdict == RUN_OK && !r.exit_status ? EXIT_DONE : EXIT_NO;
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
	struct boot_options b = {.timeout = 60};
	const struct opt opts[] = {
		OPT_TEXT(0, "image", "FILE", &b.image, "boot: the kernel; driver local: what $KPB_ARTEFACT names"),
		OPT_TEXT(0, "script", "FILE", &b.script, "boot: what runs there, as root"),
		OPT_TEXT(0, "job", "JOB", &b.job, "boot: or this job (one point of its matrix)"),
		OPT_FLAG(0, "profile", &b.profile, "boot: count what the kernel executes; makes DIR/profile.zst"),
		OPT_LIST(0, "watch", "FUNCTION", &b.watch,
			 "boot: count how often the job runs this kernel function, by ftrace, kprobes or perf (repeatable)"),
		OPT_TEXT(0, "out", "DIR", &b.out, "boot: gets console.log.zst and result/"),
		OPT_INT(0, "perturb", "N", &b.perturb, "boot: number of the replicate, $KPB_PERTURB"),
		OPT_SECONDS(0, "timeout", "TIME", &b.timeout, "boot: limit for the script, in the machine's time"),
		OPT_LIST(0, "program", "NAME", &b.programs, "boot: command that the root image must hold (repeatable)"),
		OPT_END,
	};
	const struct machine *m = NULL;
	const char *what;
	bool writes, boots;
	int r = verb_options(&verb_machine, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	what = argc ? argv[0] : "list";
	writes = streq(what, "drain") || streq(what, "resume");
	boots = streq(what, "boot");
	if (argc > 2 || (argc == 2 && streq(what, "list")) || (argc == 1 && (writes || boots || streq(what, "show"))) ||
	    (!writes && !boots && !streq(what, "list") && !streq(what, "show") && !streq(what, "check")))
		return verb_usage(c, "machine list, show NAME, check [NAME], drain NAME, resume NAME or boot NAME");
	if (boots && (!b.script == !b.job || !b.out))
		return verb_usage(c, "machine boot needs --out, and --script or --job");
	if (argc == 2 && !(m = config_machine(&c->config, argv[1])))
		return no_machine(c, argv[1]);
	if (boots) {
		r = boot(c, m, &b);
		strv_release(&b.programs);
		strv_release(&b.watch);
		return r;
	}
	r = ctx_store(c, !writes); /* list, show and check work without a database too */
	if (r < 0 && (writes || r != -ENOENT))
		return verb_fail(c, r);
	if (writes)
		return set_state(c, m, what);
	return streq(what, "list") ? list(c) : streq(what, "show") ? show(c, m) : check(c, m);
}

const struct verb verb_machine = {
	.name = "machine",
	.usage = "list\nshow NAME\ncheck [NAME]\ndrain NAME\nresume NAME\nboot NAME --image FILE --script FILE|--job JOB --out DIR [--perturb N] [--profile] [--watch FUNCTION ...]",
	.summary = "the test machines and their health",
	.text = "'check' asks each driver whether it can work here. A drained machine finishes what it does and gets nothing new;\n"
		"'resume' puts it back to work, even if it was taken out after too many failures of its own.\n"
		"'boot' is for trying things by hand: one kernel, one script, nothing stored; exit code 0 when both went well.\n"
		"Machines are named in machines.yaml; a driver that needs no settings always has one of its own name. The manual\n"
		"lists drivers and their settings.",
	.run = run_machine,
};
