/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmd-job.c - job files: what there is, what a file expands to, the script that will run. */
#include "bot/cli/job-suggest.h"
#include "jobs/job.h"
#include "lib/fs.h"

#include <json-c/json.h>

extern const struct verb verb_job;

static char *params_text(const struct job *j)
{
	struct buf b = {0};

	for (size_t i = 0; i < j->n_params; i++) {
		buf_addf(&b, "%s%s=", i ? " " : "", j->param[i].key);
		buf_add_shell(&b, j->param[i].value);
	}
	return buf_take(&b);
}

static int list(struct ctx *c, const char *dir)
{
	_cleanup_table_ struct table t = {0};
	_cleanup_strv_ struct strv names = {0};
	int r = job_names(dir, &names);

	if (r < 0)
		return verb_fail(c, r);
	table_column(&t, "name", false);
	table_column(&t, "points", true);
	table_column(&t, "program", false);
	table_column(&t, "kpi", false);
	table_column(&t, "error", false);
	for (size_t i = 0; i < names.n; i++) {
		_cleanup_(job_list_release) struct job_list l = {0};

		table_row(&t);
		table_text(&t, 0, names.v[i]);
		if (job_load(names.v[i], dir, NULL, &l) < 0) {
			table_text(&t, 4, err_msg());
			continue;
		}
		table_int(&t, 1, l.n);
		table_text(&t, 2, l.v[0].program);
		table_text(&t, 3, job_kpis(&l.v[0])[0]);
	}
	return table_print(&t, ctx_form(c), stdout) < 0 ? EXIT_NO : EXIT_DONE;
}

static int expand(struct ctx *c, const struct job_list *l)
{
	_cleanup_table_ struct table t = {0};
	bool patches = false;

	table_column(&t, "name", false);
	table_column(&t, "id", false);
	table_column(&t, "program", false);
	table_column(&t, "parameters", false);
	for (size_t i = 0; i < l->n; i++)
		patches |= l->v[i].patches != NULL;
	if (patches)
		table_column(&t, "patches", false);
	for (size_t i = 0; i < l->n; i++) {
		_cleanup_free_ char *params = params_text(&l->v[i]);

		table_row(&t);
		if (patches)
			table_text(&t, 4, l->v[i].patches);
		table_text(&t, 0, l->v[i].point);
		table_text(&t, 1, l->v[i].id);
		table_text(&t, 2, l->v[i].program);
		table_text(&t, 3, params);
	}
	return table_print(&t, ctx_form(c), stdout) < 0 ? EXIT_NO : EXIT_DONE;
}

static struct json_object *strings(const char *const *v)
{
	struct json_object *a = json_object_new_array();

	for (; v && *v; v++)
		json_object_array_add(a, json_text(*v));
	return a;
}

static struct json_object *kpis_json(const struct job *j)
{
	struct json_object *a = json_object_new_array();

	for (const char *const *k = job_kpis(j); *k; k++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "metric", json_text(*k));
		json_object_object_add(o, "threshold", json_object_new_double(job_kpi_threshold(j, *k)));
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *job_json(const struct job *j, bool script)
{
	struct json_object *o = json_object_new_object(), *params = json_object_new_object();
	_cleanup_strv_ struct strv packages = {0}, programs = {0};
	_cleanup_buf_ struct buf text = {0};
	const struct { const char *key, *value; } texts[] = {
		{"name", j->name}, {"id", j->id}, {"file", j->file}, {"suite", j->suite}, {"testcase", j->testcase},
		{"category", j->category}, {"program", j->program}, {"canonical", j->canonical}, {"point", j->point},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_object_object_add(o, texts[i].key, json_text(texts[i].value));
	for (size_t i = 0; i < j->n_params; i++)
		json_object_object_add(params, j->param[i].key, json_text(j->param[i].value));
	json_object_object_add(o, "params", params);
	json_object_object_add(o, "patches", json_text(j->patches));
	json_object_object_add(o, "monitors", strings((const char *const *)j->monitors.v));
	json_object_object_add(o, "kpis", kpis_json(j));
	json_object_object_add(o, "time_limit_s", json_object_new_double(j->time_limit_s));
	if (job_needs(j, &packages, &programs) == 0) {
		json_object_object_add(o, "packages", strings((const char *const *)packages.v));
		json_object_object_add(o, "programs", strings((const char *const *)programs.v));
	}
	if (script && job_render(j, &text) == 0)
		json_object_object_add(o, "script", json_text(buf_str(&text)));
	return o;
}

static int print_json(const struct job_list *l, bool script)
{
	struct json_object *a = json_object_new_array();

	for (size_t i = 0; i < l->n; i++)
		json_object_array_add(a, job_json(&l->v[i], script));
	json_print(stdout, a, true);
	json_object_put(a);
	return EXIT_DONE;
}

static void show_words(const char *label, const struct strv *words)
{
	term_printf(stdout, "%-12s", label);
	for (size_t i = 0; i < words->n; i++)
		term_printf(stdout, "%s%s", i ? " " : "", words->v[i]);
	putchar('\n');
}

static int show(struct ctx *c, const struct job_list *l)
{
	if (c->json)
		return print_json(l, false);
	for (size_t i = 0; i < l->n; i++) {
		const struct job *j = &l->v[i];
		_cleanup_strv_ struct strv packages = {0}, programs = {0};
		_cleanup_free_ char *file = term_safe(j->file);

		term_printf(stdout, "%s%-12s%s\n%-12s%s\n%-12s%s\n%-12s%s\n", i ? "\n" : "", "name", j->point, "id",
			    j->id, "file", file, "program", j->program);
		for (size_t k = 0; k < j->n_params; k++) {
			_cleanup_free_ char *value = term_safe(j->param[k].value);

			term_printf(stdout, "%-12s%s: %s\n", k ? "" : "parameters", j->param[k].key, value);
		}
		if (j->patches) {
			_cleanup_free_ char *patches = term_safe(j->patches);

			term_printf(stdout, "%-12s%s\n", "patches", patches);
		}
		show_words("monitors", &j->monitors);
		for (const char *const *k = job_kpis(j); *k; k++)
			term_printf(stdout, "%-12s%s (changes from %g %% on)\n", k == job_kpis(j) ? "kpi" : "", *k,
				    100 * job_kpi_threshold(j, *k));
		if (job_needs(j, &packages, &programs) == 0)
			show_words("packages", &packages);
		term_printf(stdout, "%-12s%g s\n", "time limit", j->time_limit_s);
	}
	return EXIT_DONE;
}

static int render(struct ctx *c, const struct job_list *l)
{
	_cleanup_buf_ struct buf script = {0};
	int r;

	if (c->json)
		return print_json(l, true);
	if (l->n != 1) {
		term_printf(stderr, "these are the points; name one, or fix values with key=value:\n");
		for (size_t i = 0; i < l->n; i++)
			term_printf(stderr, "  %s\n", l->v[i].point);
		return verb_usage(c, "'%s' expands to %zu jobs; one script is one job", l->v[0].file, l->n);
	}
	r = job_render(&l->v[0], &script);
	if (r < 0)
		return verb_fail(c, r);
	fputs(buf_str(&script), stdout);
	return EXIT_DONE;
}

static const struct { const char *name; int (*run)(struct ctx *c, const struct job_list *l); } actions[] = {
	{"show", show}, {"expand", expand}, {"render", render},
};

static int run(int argc, char **argv, struct ctx *c)
{
	const char *dir = NULL, *tree = NULL, *const words[] = {"list", "show", "expand", "render", "suggest"};
	const struct opt opts[] = {
		OPT_TEXT('d', "dir", "DIR", &dir, "folder with more job files"),
		OPT_TEXT('t', "tree", "NAME", &tree, "suggest: the commit's tree (where there are several)"),
		OPT_END,
	};
	_cleanup_(job_list_release) struct job_list l = {0};
	int r = verb_options(&verb_job, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	if (dir && !fs_is_dir(dir))
		return verb_fail(c, err_set(-ENOENT, "there is no folder '%s'", dir));
	if (argc == 0 || (argc == 1 && streq(argv[0], "list")))
		return list(c, dir);
	if (streq(argv[0], "list"))
		return verb_usage(c, "job list takes no operand '%s'", argv[1]);
	if (streq(argv[0], "suggest"))
		return argc == 2 ? job_suggest(c, argv[1], tree) : verb_usage(c, "job suggest: name one commit");
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(argv[0], actions[i].name))
			continue;
		if (argc < 2)
			return verb_usage(c, "job %s: name a job or a file; 'kperfbot job list' shows the jobs",
					  argv[0]);
		r = job_load(argv[1], dir, (const char *const *)argv + 2, &l);
		return r < 0 ? verb_fail(c, r) : actions[i].run(c, &l);
	}
	const char *near = nearest_word(argv[0], words, ARRAY_SIZE(words));

	return verb_usage(c, "job: no action '%s'%s%s%s", argv[0],
			  near ? "; did you mean '" : ": list, show, expand, render, suggest", near ? near : "",
			  near ? "'?" : "");
}

const struct verb verb_job = {
	.name = "job",
	.usage = "list\nshow NAME|FILE [KEY=VALUE...]\nexpand NAME|FILE [KEY=VALUE...]\nrender NAME|FILE [KEY=VALUE...]\nsuggest COMMIT [--tree NAME]",
	.summary = "show job files, their matrix and the script that will run",
	.text = "A job file is YAML in the shape of lkp-tests. Where a parameter has a list of values, each\n"
		"combination is a separate job: 'expand' lists them. 'render' prints the one shell script that makes\n"
		"up such a job; as root, 'kperfbot job render NAME >job.sh; sh job.sh' runs it, prints the KPIs and\n"
		"leaves its files in ./result. The script needs nothing else of ours: 'sh job.sh install' gets its\n"
		"Debian packages, 'sh job.sh runs=5 KEY=VALUE' repeats it with changes.\n\n"
		"NAME is a file in the jobs folder without its .yaml, or one of the names that 'expand' shows.\n"
		"KEY=VALUE sets a parameter, 'monitors' (a comma list, may be empty) or 'time_limit'; KEY=[A,B] makes\n"
		"it a list.\n\n"
		"'suggest' says which jobs execute the functions that a commit changes, according to 'run --profile';\n"
		"exit code 1 if none does.",
	.run = run,
};
