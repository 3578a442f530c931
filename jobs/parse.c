/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parse.c - from the files a run left behind to its verdict and values. */
#include "jobs/check.h"
#include "jobs/program.h"
#include "lib/fs.h"
#include "lib/text.h"

#define MAX_FILE (64u << 20)

int parse_fail(struct parse_ctx *c, enum run_verdict verdict, const char *fmt, ...)
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

/* What a result file says of a failure, "" where there is nothing. */
static char *words_of(const struct parse_ctx *c, const char *name, const struct program_ops *ops_or_null)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", c->result_dir, name);
	_cleanup_buf_ struct buf b = {0};

	if (fs_read(path, MAX_FILE, &b) < 0)
		return xstrdup("");
	if (ops_or_null && ops_or_null->reason)
		return ops_or_null->reason(c, buf_str(&b), b.len);
	return last_words(buf_str(&b), b.len);
}

static int check_exit(struct parse_ctx *c, const struct program_ops *ops)
{
	_cleanup_free_ char *cause = words_of(c, "cause", NULL), *said = words_of(c, ops->file, ops);
	_cleanup_free_ char *path = xasprintf("%s/started", c->result_dir);
	int status = c->facts->exit_status;
	bool started = fs_exists(path);

	/* a benchmark may end with 99, too */
	if (status == 99 && (*cause || !started))
		return parse_fail(c, RUN_INCOMPLETE, "%s", *cause ? cause : "set-up failed and did not say why");
	if (status)
		return parse_fail(c, RUN_FAILED, "exit status %d%s%s", status, *said ? ": " : "", said);
	if (!started)
		return parse_fail(c, RUN_INCOMPLETE, "the measured part never began");
	return 0;
}

static int parse_one(struct parse_ctx *c, const struct program_ops *ops)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", c->result_dir, ops->file);
	_cleanup_buf_ struct buf b = {0};
	int r = fs_read(path, MAX_FILE, &b);

	if (r == -ENOENT)
		return ops->optional ? 0 : parse_fail(c, RUN_INCOMPLETE, "no output of %s", ops->name);
	if (r == -EFBIG)
		return parse_fail(c, RUN_FAILED, "the output of %s is larger than %u MiB", ops->name, MAX_FILE >> 20);
	if (r < 0)
		return r;
	return ops->parse(c, buf_str(&b), b.len);
}

static int run_parsers(struct parse_ctx *c)
{
	const struct program_ops *ops = program_find(c->job->program);
	int r;

	if (!ops)
		return err_set(-ENOENT, "no program '%s'", c->job->program);
	r = check_exit(c, ops);
	if (r == 0)
		r = parse_one(c, ops);
	for (size_t i = 0; r == 0 && i < c->job->monitors.n; i++) {
		const struct program_ops *m = monitor_find(c->job->monitors.v[i]);

		if (m)
			r = parse_one(c, m);
	}
	return r;
}

/* Ran well, but a check failed: the values stay and are not used. */
static void distrust(struct parse_ctx *c)
{
	for (size_t i = 0; i < c->checks->n; i++)
		if (c->checks->v[i].verdict == CHECK_FAIL) {
			(void)parse_fail(c, RUN_UNTRUSTED, "%s: %s", c->checks->v[i].name, c->checks->v[i].evidence);
			return;
		}
}

int job_parse_checked(const struct job *j, const char *result_dir, const struct run_facts *facts,
		      struct metric_set *ret_values, struct check_set *ret_checks, enum run_verdict *ret_verdict,
		      char **ret_cause)
{
	struct metric_set values = {0};
	struct check_set checks = {0};
	struct parse_ctx c = {.job = j, .facts = facts, .result_dir = result_dir, .out = &values, .verdict = RUN_OK,
			      .checks = &checks};
	const char *const *kpi = job_kpis(j);
	int r = run_parsers(&c);

	if (r < 0 && r != -EBADMSG) {
		free(c.cause);
		metric_set_release(&values);
		check_set_release(&checks);
		return r;
	}
	if (r < 0) /* half of the values would be as bad as none */
		metric_set_release(&values);
	else
		distrust(&c);
	if (r >= 0 && c.verdict == RUN_OK && kpi && *kpi && !metric_set_get(&values, *kpi))
		(void)parse_fail(&c, RUN_FAILED, "it has no figure of %s that can be judged", *kpi);
	*ret_values = values;
	*ret_verdict = c.verdict;
	*ret_cause = c.cause;
	if (ret_checks)
		*ret_checks = checks;
	else
		check_set_release(&checks);
	return 0;
}

int job_parse(const struct job *j, const char *result_dir, const struct run_facts *facts, struct metric_set *ret_values,
	      enum run_verdict *ret_verdict, char **ret_cause)
{
	return job_parse_checked(j, result_dir, facts, ret_values, NULL, ret_verdict, ret_cause);
}
