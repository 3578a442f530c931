/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * render.c - a job as one POSIX sh script: what it is, its values, prelude.sh, the run.sh of its program and monitors,
 * main.sh. Nothing of a job file gets into it but through buf_add_shell(), or as a comment without line ends.
 */
#include "jobs/program.h"
#include "lib/fs.h"

static void add_comment(struct buf *b, const char *label, const char *text)
{
	buf_addf(b, "# %s", label);
	buf_add_term(b, text ? text : "");
	buf_addc(b, '\n');
}

static void add_words(struct buf *b, const char *separator, const struct strv *words, const char *(*name)(const char *))
{
	for (size_t i = 0; i < words->n; i++)
		buf_addf(b, "%s%s", i ? separator : "", name ? name(words->v[i]) : words->v[i]);
}

/* The parameter that says how long is measured: the first that is a time, but not the warm-up's. */
static const struct param_def *time_param(const struct program_def *d)
{
	for (size_t i = 0; i < d->n_params; i++)
		if (d->param[i].kind == PARAM_SECONDS && strcmp(d->param[i].name, "warmup"))
			return &d->param[i];
	return NULL;
}

static int add_header(const struct job *j, const struct program_def *d, struct buf *b)
{
	_cleanup_strv_ struct strv packages = {0}, programs = {0};
	_cleanup_buf_ struct buf list = {0};
	const struct param_def *time = time_param(d);
	int r = job_needs(j, &packages, &programs);

	if (r < 0)
		return r;
	buf_adds(
		b,
		"#!/bin/sh\n# shellcheck disable=SC2034,SC2209,SC2317,SC3045 # values and functions used by name; every sh has ulimit -n\n");
	add_comment(b, "job ", j->name);
	add_comment(b, "program: ", d->summary);
	add_comment(b, "identity: ", j->id);
	add_words(&list, " ", &packages, NULL);
	buf_adds(b, "#\n# To run it by hand, as root:\n#\n"
		    "#	sh SCRIPT                       once; what it measured is printed at the end\n"
		    "#	sh SCRIPT runs=5                five times, with mean and deviation\n");
	if (time)
		buf_addf(b, "#	sh SCRIPT %s=5s%*sfor a shorter time; so for every value below\n", time->name,
			 MAX(1, 19 - (int)strlen(time->name)), "");
	buf_adds(b, "#	sh SCRIPT kpis                  prints again what was measured\n"
		    "#	sh SCRIPT install               installs what is missing of its Debian packages:\n");
	buf_addf(b, "#		%s\n", buf_str(&list));
	buf_adds(
		b,
		"#\n# Results go to $RESULT_DIR, by default the folder ./result. What it sets on the machine it puts back.\n"
		"# $KPB_PERTURB=N (default 0) varies the start a little, for machines that always repeat themselves.\n"
		"# Exit status: 0 it ran; 99 it could not be set up; anything else: the benchmark failed.\n\n");
	return 0;
}

static void add_variable_name(struct buf *b, const char *s)
{
	for (; *s; s++)
		buf_addc(b, *s == '-' ? '_' : *s);
}

/* "{dir}/{test}" -> $dir/$test */
static void add_pattern(struct buf *b, const char *s)
{
	for (; *s; s++)
		if (*s == '{')
			buf_addc(b, '$');
		else if (*s != '}')
			buf_addc(b, *s);
}

static void add_need(struct buf *b, const char *indent, const struct strv *packages, const struct strv *programs,
		     const struct strv *own)
{
	const struct { const char *name; const struct strv *words; const char *(*called)(const char *); } lists[] = {
		{"need_packages", packages, NULL}, {"need_programs", programs, NULL}, {"need_own", own, own_name},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_buf_ struct buf words = {0};

		if (!lists[i].words || !lists[i].words->n)
			continue;
		add_words(&words, " ", lists[i].words, lists[i].called);
		buf_addf(b, "%s%s=\"$%s ", indent, lists[i].name, lists[i].name);
		add_pattern(b, buf_str(&words));
		buf_adds(b, "\"\n");
	}
}

/* A function, since by hand other values may be given: what is needed follows them. The texts are ours alone. */
static int add_needs_function(const struct job *j, const struct program_def *d, struct buf *b)
{
	const struct program_def *m;
	int r = 0;

	buf_adds(b, "job_needs() {\n\tneed_packages='' need_programs='' need_own=''\n");
	add_need(b, "\t", &d->packages, &d->programs, &d->own);
	for (size_t i = 0; i < d->n_needs; i++) {
		buf_addf(b, "\tcase $%s in\n\t%s)\n", d->need[i].param, d->need[i].value);
		add_need(b, "\t\t", &d->need[i].packages, &d->need[i].programs, &d->need[i].own);
		buf_adds(b, "\t\t;;\n\tesac\n");
	}
	for (size_t i = 0; r == 0 && i < j->monitors.n; i++) {
		r = monitor_def_get(j->monitors.v[i], &m);
		if (r < 0 || (!m->packages.n && !m->programs.n))
			continue;
		buf_adds(b, "\tcase \"$monitors \" in\n\t*' ");
		add_variable_name(b, m->name);
		buf_adds(b, " '*)\n");
		add_need(b, "\t\t", &m->packages, &m->programs, NULL);
		buf_adds(b, "\t\t;;\n\tesac\n");
	}
	buf_adds(b, "}\n\n");
	return r;
}

static void add_values(const struct job *j, const struct program_def *d, struct buf *b)
{
	const struct param_def *common;
	_cleanup_buf_ struct buf names = {0};

	buf_adds(b, "job_name=");
	buf_add_shell(b, j->name);
	buf_adds(b, "\nprogram=");
	buf_add_shell(b, j->program);
	buf_addc(b, '\n');
	for (size_t i = 0; i < d->n_params; i++) {
		buf_addf(&names, " %s", d->param[i].name);
		buf_addf(b, "%s=", d->param[i].name);
		buf_add_shell(b, job_value(j, d, d->param[i].name));
		buf_addc(b, '\n');
	}
	for (size_t i = 0; (common = common_param_at(i, true)); i++) {
		if (program_def_param(d, common->name)) /* the program has one of its own of that name */
			continue;
		buf_addf(&names, " %s", common->name);
		buf_addf(b, "%s=", common->name);
		buf_add_shell(b, job_value(j, d, common->name));
		buf_addc(b, '\n');
	}
	buf_adds(b, "monitors='");
	for (size_t i = 0; i < j->monitors.n; i++) {
		buf_addc(b, ' ');
		add_variable_name(b, j->monitors.v[i]);
	}
	buf_addf(b, "'\njob_parameters='%s monitors'\n\n", buf_str(&names));
}

static int add_file(const char *name, struct buf *b)
{
	_cleanup_free_ char *path = xasprintf("%s/jobs/%s", fs_data_dir(), name);
	_cleanup_buf_ struct buf text = {0};
	int r = fs_read(path, 1 << 20, &text);

	if (r == 0)
		buf_add(b, buf_str(&text), text.len);
	return r;
}

static void add_part(const char *what, const struct program_def *d, struct buf *b)
{
	buf_addf(b, "\n# ---- %s %s ----\n\n%s", what, d->name, d->run);
}

/* source_NAME prints the C text of a program of ours, for a machine that does not have it. The texts are ours alone. */
static void add_own(const struct strv *own, const struct strv *source, struct buf *b)
{
	for (size_t i = 0; i < own->n; i++) {
		buf_adds(b, "\nsource_");
		add_variable_name(b, own_name(own->v[i]));
		buf_addf(b, "() {\n\tcat <<'END_OF_SOURCE'\n%sEND_OF_SOURCE\n}\n", source->v[i]);
	}
}

static void add_all_own(const struct job *j, const struct program_def *d, struct buf *b)
{
	add_own(&d->own, &d->own_source, b);
	for (size_t i = 0; i < d->n_needs; i++)
		if (streq(job_value(j, d, d->need[i].param), d->need[i].value))
			add_own(&d->need[i].own, &d->need[i].own_source, b);
}

int job_render(const struct job *j, struct buf *ret) { return job_render_watching(j, NULL, ret); }

static int add_reach(const struct strv *functions, struct buf *b)
{
	_cleanup_buf_ struct buf names = {0};

	for (size_t i = 0; i < functions->n; i++)
		buf_addf(&names, "%s%s", i ? " " : "", functions->v[i]);
	buf_adds(b, "\nreach_functions=");
	buf_add_shell(b, buf_str(&names));
	buf_addc(b, '\n');
	return add_file("reach.sh", b);
}

int job_render_watching(const struct job *j, const struct strv *functions, struct buf *ret)
{
	_cleanup_buf_ struct buf b = {0};
	const struct program_def *d, *m;
	int r = program_def_get(j->program, &d);

	if (r == 0)
		r = add_header(j, d, &b);
	if (r < 0)
		return r;
	add_values(j, d, &b);
	r = add_needs_function(j, d, &b);
	r = r < 0 ? r : add_file("prelude.sh", &b);
	for (size_t i = 0; r == 0 && i < j->monitors.n; i++) {
		r = monitor_def_get(j->monitors.v[i], &m);
		if (r == 0)
			add_part("monitor", m, &b);
	}
	if (r < 0)
		return r;
	add_all_own(j, d, &b);
	add_part("program", d, &b);
	if (functions)
		r = add_reach(functions, &b);
	buf_addc(&b, '\n');
	if (r == 0)
		r = add_file("main.sh", &b);
	if (r == 0)
		buf_add(ret, buf_str(&b), b.len);
	return r;
}
