/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values and checks of a run by name, and what a verdict means. */
#include "lib/metrics.h"
#include "lib/states.h"
#include "tests/tap.h"

static void test_values(void)
{
	struct metric_set m = {0};
	char name[] = "speed";

	ok(!metric_set_get(&m, "speed"), "none yet");
	is_int(metric_set_add(&m, name, 1, "B/s", 1, true), 0, "a value");
	name[0] = 'x';
	ok(metric_set_get(&m, "speed") && metric_set_get(&m, "speed")->value == 1, "by a name of its own");
	is_int(metric_set_add(&m, "speed", 2, "B/s", 1, true), 0, "the same again");
	ok(m.n == 1 && metric_set_get(&m, "speed")->value == 2, "is replaced");
	ok(metric_set_add(&m, "bad", NAN, NULL, 0, false) == -EINVAL &&
		   metric_set_add(&m, "bad", INFINITY, NULL, 0, false) == -EINVAL,
	   "%s", err_msg());
	ok(!metric_set_get(&m, "bad"), "what is no number is not there");
	for (int i = 0; i < 500; i++) {
		char n[20];

		snprintf(n, sizeof(n), "m%d", i);
		metric_set_add(&m, n, i, NULL, 0, false);
	}
	ok(m.n == 501 && metric_set_get(&m, "m499")->value == 499, "many");
	metric_set_release(&m);
}

static void test_checks(void)
{
	static const enum check_verdict verdicts[] = {CHECK_PASS, CHECK_UNKNOWN, CHECK_FAIL};
	/* what stands there after a first and a second verdict */
	static const enum check_verdict after[3][3] = {{CHECK_PASS, CHECK_UNKNOWN, CHECK_FAIL},
						       {CHECK_UNKNOWN, CHECK_UNKNOWN, CHECK_FAIL},
						       {CHECK_FAIL, CHECK_FAIL, CHECK_FAIL}};

	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 3; b++) {
			struct check_set c = {0};
			const struct check *k;

			check_set_add(&c, "clock", verdicts[a], "first");
			check_set_add(&c, "clock", verdicts[b], "second\x1b[2J");
			k = check_set_get(&c, "clock");
			ok(c.n == 1 && k && k->verdict == after[a][b], "%s, then %s: %s", check_verdict_word(verdicts[a]),
			   check_verdict_word(verdicts[b]), k ? check_verdict_word(k->verdict) : "none");
			ok(k && !strchr(k->evidence, '\x1b'), "its evidence is safe to look at");
			check_set_release(&c);
		}
}

static void test_verdicts(void)
{
	enum run_verdict v;
	enum build_state b;

	for (int i = 0; i < run_verdict_words.n; i++)
		ok(run_verdict_from(run_verdict_word((enum run_verdict)i), &v) == 0 && v == (enum run_verdict)i &&
			   run_measured(v) + run_failed(v) + (v == RUN_INFRA) == 1,
		   "%s is one of three kinds", run_verdict_word(v));
	ok(run_measured(RUN_UNTRUSTED) && !run_failed(RUN_INFRA) && run_failed(RUN_CRASHED), "and of the right one");
	ok(build_state_from("broken", &b) == 0 && b == BUILD_BROKEN && build_state_from("failed", &b) == -EINVAL,
	   "builds have words of their own");
}

int main(void)
{
	test_values();
	test_checks();
	test_verdicts();
	return tap_done();
}
