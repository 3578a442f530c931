/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a task is about: as JSON and back. */
#include "db/task.h"
#include "tests/tap.h"

#define NASTY "x\"y\\z\n\xc3\xa4"

static void is_payload(enum task_kind kind, const struct task_payload *p, const char *want)
{
	_cleanup_free_ char *json = task_payload_json(kind, p), *again = NULL;
	_cleanup_payload_ struct task_payload got = {0};

	is_str(json, want, "what a '%s' is about", task_kind_word(kind));
	is_int(task_payload_read(kind, json, &got), 0, "is read: %s", err_msg());
	again = task_payload_json(kind, &got);
	is_str(again, want, "as it was");
}

static void test_there_and_back(void)
{
	const struct task_payload p = {.tree = (char *)"net",
				       .commit = (char *)NASTY,
				       .kconfig = (char *)"vm-min",
				       .job = (char *)"j",
				       .machine = (char *)"m",
				       .replicate = 7,
				       .base = (char *)"b",
				       .case_id = 1LL << 40,
				       .way = (char *)"mbox"},
				  no_base = {.tree = (char *)"t",
					     .commit = (char *)"c",
					     .kconfig = (char *)"k",
					     .job = (char *)"j",
					     .machine = (char *)"m"};

	is_payload(TASK_BUILD, &p, "{\"tree\":\"net\",\"commit\":\"x\\\"y\\\\z\\n\xc3\xa4\",\"kconfig\":\"vm-min\"}");
	is_payload(
		TASK_RUN, &no_base,
		"{\"tree\":\"t\",\"commit\":\"c\",\"kconfig\":\"k\",\"job\":\"j\",\"machine\":\"m\",\"replicate\":0}");
	is_payload(TASK_PROFILE, &no_base,
		   "{\"tree\":\"t\",\"commit\":\"c\",\"kconfig\":\"k\",\"job\":\"j\",\"machine\":\"m\"}");
	is_payload(TASK_PROFILE, &p,
		   "{\"tree\":\"net\",\"commit\":\"x\\\"y\\\\z\\n\xc3\xa4\",\"kconfig\":\"vm-min\",\"job\":\"j\","
		   "\"machine\":\"m\",\"base\":\"b\"}");
	is_payload(TASK_REPORT, &p, "{\"case\":1099511627776}");
	is_payload(TASK_SEND, &p, "{\"case\":1099511627776,\"way\":\"mbox\"}");
}

static void test_wrong(void)
{
	static const struct { enum task_kind kind; const char *json, *says; } cases[] = {
		{TASK_BUILD, "", "kind 'build' is no JSON object"},
		{TASK_BUILD, "[1]", "is no JSON object"},
		{TASK_BUILD, "{\"tree\":\"t\",\"kconfig\":\"k\"}", "kind 'build' has no text 'commit'"},
		{TASK_BUILD, "{\"tree\":\"t\",\"commit\":5,\"kconfig\":\"k\"}", "has no text 'commit'"},
		{TASK_BUILD, "{\"tree\":null,\"commit\":\"c\",\"kconfig\":\"k\"}", "has no text 'tree'"},
		{TASK_RUN, "{\"tree\":\"t\",\"commit\":\"c\",\"kconfig\":\"k\",\"job\":\"j\",\"machine\":\"m\"}",
		 "has no number 'replicate'"},
		{TASK_PROFILE,
		 "{\"tree\":\"t\",\"commit\":\"c\",\"kconfig\":\"k\",\"job\":\"j\",\"machine\":\"m\",\"base\":1}",
		 "'base'"},
		{TASK_REPORT, "{\"case\":\"1\"}", "kind 'report' has no number 'case'"},
		{TASK_SEND, "{\"case\":1}", "kind 'send' has no text 'way'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct task_payload p = {.replicate = 77};

		is_int(task_payload_read(cases[i].kind, cases[i].json, &p), -EBADMSG, "refused: %s", cases[i].json);
		ok(strstr(err_msg(), cases[i].says) != NULL, "%s", err_msg());
		ok(p.replicate == 77 && !p.tree, "and nothing is given back");
	}
}

static void test_resources(void)
{
	static const char *const want[] = {"build", "machine:vm 1", "machine:vm 1", "mail", "mail"};

	for (enum task_kind k = 0; k < (enum task_kind)task_kind_words.n; k++) {
		_cleanup_free_ char *got = task_resource(k, "vm 1");

		is_str(got, want[k], "what a '%s' occupies", task_kind_word(k));
	}
	ok(task_lives(TASK_READY) && task_lives(TASK_RUNNING) && !task_lives(TASK_DONE) && !task_lives(TASK_FAILED),
	   "who lives");
	ok(task_gave_up(TASK_FAILED) && task_gave_up(TASK_CANCELLED) && !task_gave_up(TASK_DONE), "who gave up");
}

int main(void)
{
	test_there_and_back();
	test_wrong();
	test_resources();
	return tap_done();
}
