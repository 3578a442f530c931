/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse.c - from the files a run left behind to its verdict and values. */
#include "jobs/program.h"
#include "lib/fs.h"
#include "lib/proc.h"

#define MAX_FILE (64u << 20)

int parse_fail(struct parse_ctx *c, const char *verdict, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		text = NULL;
	free(c->cause);
	c->cause = term_safe(text ? text : "");
	c->verdict = verdict;
	return -EBADMSG;
}

/* The last line of a result file, "" where there is none. */
static char *file_last_line(const char *dir, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	_cleanup_buf_ struct buf b = {0};

	if (fs_read(path, MAX_FILE, &b) < 0)
		return xstrdup("");
	return last_line(buf_str(&b));
}

static int check_exit(struct parse_ctx *c, const struct program_ops *ops)
{
	_cleanup_free_ char *cause = file_last_line(c->result_dir, "cause");
	_cleanup_free_ char *said = file_last_line(c->result_dir, ops->file);
	_cleanup_free_ char *started = xasprintf("%s/started", c->result_dir);
	int status = c->facts->exit_status;

	if (status == 99)
		return parse_fail(c, "incomplete", "%s", *cause ? cause : "set-up failed and did not say why");
	if (status)
		return parse_fail(c, "failed", "exit status %d%s%s", status, *said ? ": " : "", said);
	if (!fs_exists(started))
		return parse_fail(c, "incomplete", "the measured part never began");
	return 0;
}

static int parse_one(struct parse_ctx *c, const struct program_ops *ops)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", c->result_dir, ops->file);
	_cleanup_buf_ struct buf b = {0};
	int r = fs_read(path, MAX_FILE, &b);

	if (r == -ENOENT)
		return ops->optional ? 0 : parse_fail(c, "incomplete", "no output of %s", ops->name);
	if (r == -EFBIG)
		return parse_fail(c, "failed", "the output of %s is larger than %u MiB", ops->name, MAX_FILE >> 20);
	if (r < 0)
		return r;
	return ops->parse(c, buf_str(&b), b.len);
}

int job_parse(const struct job *j, const char *result_dir, const struct run_facts *facts, struct metric_set *ret_values,
	      const char **ret_verdict, char **ret_cause)
{
	const struct program_ops *ops = program_find(j->program);
	struct metric_set values = {0};
	struct parse_ctx c = {.job = j, .facts = facts, .result_dir = result_dir, .out = &values, .verdict = "ok"};
	int r;

	if (!ops)
		return err_set(-ENOENT, "no program '%s'", j->program);
	r = check_exit(&c, ops);
	if (r == 0)
		r = parse_one(&c, ops);
	for (size_t i = 0; r == 0 && i < j->monitors.n; i++) {
		const struct program_ops *m = monitor_find(j->monitors.v[i]);

		if (m)
			r = parse_one(&c, m);
	}
	if (r < 0 && r != -EBADMSG) {
		free(c.cause);
		metric_set_release(&values);
		return r;
	}
	if (r < 0) /* half of the values would be as bad as none */
		metric_set_release(&values);
	*ret_values = values;
	*ret_verdict = c.verdict;
	*ret_cause = c.cause;
	return 0;
}
