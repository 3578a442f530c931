/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/parsed.h"

#define JOB "monitors: [\"null\"]\ncommand: {run: \"true\"}\n"

int main(void)
{
	const struct program_ops *ops = monitor_find("null");
	_cleanup_buf_ struct buf script = {0};
	PARSED p = {0};

	parse_fixture(&p, ops, JOB, "monitors/null.txt", 0, NULL);
	is_int(p.r, 0, "a real output parses");
	is_near(value(&p, "null.seconds"), 2.5, 1e-9, "with the right value");
	is_int(job_render(&p.l.v[0], &script), 0, "a job with it renders");
	ok(strstr(buf_str(&script), "monitor_null_start() {"), "and the script has it");
	never_cut_off(ops, JOB, "monitors/null.txt", 0, 1);
	parse_again(&p, ops, "start 3\nstop 2\n", 15, 0);
	is_int(p.r, -EBADMSG, "a clock that went back is no value");
	return tap_done();
}
