/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A database file with reports to deliver, for the tests of the ways out. */
#ifndef KPB_TESTS_UNIT_DELIVERY_H
#define KPB_TESTS_UNIT_DELIVERY_H
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/unit/given.h"

static char top[PATH_MAX], tmp[] = "/tmp/kpb-deliver-XXXXXX";

static void enter(void)
{
	if (!getcwd(top, sizeof(top)) || !mkdtemp(tmp) || chdir(tmp) < 0)
		exit(1);
}

static void leave(void)
{
	report_settings_release(&settings);
	if (chdir(top) == 0)
		fs_rm_rf(tmp);
}

/* The rows that a case hangs on. */
static int64_t put_comparison(struct store *s)
{
	struct db_tree t = {
		.name = (char *)"t", .kind = (char *)"program", .url = (char *)"x", .settings = (char *)"{}"};
	struct db_machine m = {.name = (char *)"m",
			       .driver = (char *)"local",
			       .tbox_group = (char *)"local",
			       .settings = (char *)"{}"};
	struct db_job j = {.id = (char *)"0123456789abcdef", .name = (char *)"j", .program = (char *)"command",
			   .canonical = (char *)"{}", .params = (char *)"{}", .script = (char *)"true\n"};
	struct db_build b = {.commit = (char *)"aa", .kconfig = (char *)"program", .state = BUILD_OK, .time = 1};
	struct db_run r = {.job = j.id, .boot = (char *)"x", .verdict = RUN_OK, .started = 1};
	struct db_comparison c = {.branch = (char *)"b",
				  .base = (char *)"aa",
				  .head = (char *)"bb",
				  .kconfig = (char *)"program",
				  .job = j.id,
				  .state = COMPARISON_OPEN,
				  .created = 1};
	struct metric_set v = {0};
	int64_t id = 0;

	store_tree_put(s, &t, &b.tree);
	store_machine_put(s, &m, &r.machine);
	store_job_put(s, &j);
	store_build_put(s, &b, &r.build);
	metric_set_add(&v, "speed", 1, NULL, 1, true);
	store_run_put(s, &r, &v, &id);
	metric_set_release(&v);
	c.tree = b.tree;
	c.machine = r.machine;
	if (store_comparison_put(s, &c, &id) < 0)
		ok(false, "a comparison: %s", err_msg());
	return id;
}

/* A case with a report; returns the case. */
static int64_t put_report(struct store *s, int64_t comparison, int n, const char *recipients)
{
	struct db_case c = {.comparison = comparison,
			    .part = n,
			    .metric = (char *)"speed",
			    .state = CASE_FOUND,
			    .confidence = 0.99,
			    .effect = NAN,
			    .effect_lo = NAN,
			    .effect_hi = NAN,
			    .posterior = NAN,
			    .opened = 1,
			    .changed = 1};
	_cleanup_free_ char *id = xasprintf("<report-%d@robot.example.org>", n), *text = NULL;
	struct db_report r = {.message_id = id, .subject = (char *)"s", .recipients = (char *)recipients,
			      .created = 1712130833ULL * USEC_PER_SEC};
	struct buf body = {0};
	int64_t row;

	for (int i = 0; i < 200; i++)
		buf_addf(&body, "line %d of report %d\nFrom here on\n>From there\n.\n..dots\n", i, n);
	text = xasprintf(
		"Date: Wed, 03 Apr 2024 07:53:53 +0000\nFrom: bot <bot@robot.example.org>\nSubject: report %d\nMessage-ID: %s\n"
		"To: someone@example.org\n\nHello,\n\n%s",
		n, id, body.s);
	r.text = text;
	if (store_case_put(s, &c, &r.case_id) < 0 || store_report_put(s, &r, &row) < 0)
		ok(false, "a report: %s", err_msg());
	buf_release(&body);
	return r.case_id;
}

#endif
