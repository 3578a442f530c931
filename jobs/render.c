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

static void add_words(struct buf *b, const char *label, const struct strv *words)
{
	struct buf line = {0};

	for (size_t i = 0; i < words->n; i++)
		buf_addf(&line, "%s%s", i ? " " : "", words->v[i]);
	add_comment(b, label, buf_str(&line));
	buf_release(&line);
}

static int add_header(const struct job *j, const struct program_def *d, struct buf *b)
{
	_cleanup_strv_ struct strv packages = {0}, programs = {0};
	int r = job_needs(j, &packages, &programs);

	if (r < 0)
		return r;
	buf_adds(b, "#!/bin/sh\n# shellcheck disable=SC2034,SC2209,SC2317,SC3045 # values and functions used by name; every sh has ulimit -n\n");
	add_comment(b, "job ", j->name);
	add_comment(b, "program: ", d->summary);
	add_comment(b, "identity: ", j->id);
	buf_adds(b, "#\n# To run it by hand, as root:   sh SCRIPT\n");
	add_words(b, "Debian packages it needs: ", &packages);
	buf_adds(b, "# Results go to $RESULT_DIR, by default the folder ./result.\n"
		    "# $KPB_PERTURB=N (default 0) varies the start a little, for machines that always repeat themselves.\n"
		    "# Exit status: 0 it ran; 99 it could not be set up; anything else: the benchmark failed.\n\n");
	return 0;
}

static void add_values(const struct job *j, const struct program_def *d, struct buf *b)
{
	const struct param_def *common;

	buf_adds(b, "program=");
	buf_add_shell(b, j->program);
	buf_addc(b, '\n');
	for (size_t i = 0; i < d->n_params; i++) {
		buf_addf(b, "%s=", d->param[i].name);
		buf_add_shell(b, job_value(j, d, d->param[i].name));
		buf_addc(b, '\n');
	}
	for (size_t i = 0; (common = common_param_at(i, true)); i++) {
		if (program_def_param(d, common->name)) /* the program has one of its own of that name */
			continue;
		buf_addf(b, "%s=", common->name);
		buf_add_shell(b, job_value(j, d, common->name));
		buf_addc(b, '\n');
	}
	buf_adds(b, "monitors='");
	for (size_t i = 0; i < j->monitors.n; i++) {
		buf_addc(b, ' ');
		for (const char *p = j->monitors.v[i]; *p; p++)
			buf_addc(b, *p == '-' ? '_' : *p);
	}
	buf_adds(b, "'\n\n");
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
static void add_own(const struct program_def *d, struct buf *b)
{
	for (size_t i = 0; i < d->own.n; i++) {
		buf_adds(b, "\nsource_");
		for (const char *p = d->own.v[i]; *p; p++)
			buf_addc(b, *p == '-' ? '_' : *p);
		buf_addf(b, "() {\n\tcat <<'END_OF_SOURCE'\n%sEND_OF_SOURCE\n}\n", d->own_source.v[i]);
	}
}

int job_render(const struct job *j, struct buf *ret)
{
	_cleanup_buf_ struct buf b = {0};
	const struct program_def *d, *m;
	int r = program_def_get(j->program, &d);

	if (r == 0)
		r = add_header(j, d, &b);
	if (r < 0)
		return r;
	add_values(j, d, &b);
	r = add_file("prelude.sh", &b);
	for (size_t i = 0; r == 0 && i < j->monitors.n; i++) {
		r = monitor_def_get(j->monitors.v[i], &m);
		if (r == 0)
			add_part("monitor", m, &b);
	}
	if (r < 0)
		return r;
	add_own(d, &b);
	add_part("program", d, &b);
	buf_addc(&b, '\n');
	r = add_file("main.sh", &b);
	if (r == 0)
		buf_add(ret, buf_str(&b), b.len);
	return r;
}
