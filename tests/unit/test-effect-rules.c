/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bisect/effect-rules.h"
#include "tests/tap.h"

static bool near(double a, double b) { return fabs(a - b) < 1e-12; }

int main(void)
{
	struct effect_rules r = {0};

	ok(isnan(effect_rules_find(&r, "vmstat.system.cs")), "no rule, no value");
	is_int(effect_rules_add(&r, "*_per_sec", .002), 0, "a glob");
	is_int(effect_rules_add(&r, "stress-ng.*_per_sec", .003), 0, "a longer one");
	is_int(effect_rules_add(&r, "stress-ng.sockfd.ops_per_sec", .5), 0, "a full name");
	is_int(effect_rules_add(&r, "monitor", .04), 0, "a class");
	is_int(effect_rules_add(&r, "percent", 2), 0, "the class of shares, in points");
	is_int(effect_rules_add(&r, "perf-profile", .3), 0, "and of profiles");
	is_int(effect_rules_add(&r, "vmstat.s?", .01), 0, "a glob that is shorter than what it fits");
	ok(near(effect_rules_find(&r, "stress-ng.sockfd.ops_per_sec"), .5), "the full name goes first");
	ok(near(effect_rules_find(&r, "stress-ng.fork.ops_per_sec"), .003), "then the longest glob");
	ok(near(effect_rules_find(&r, "command.ops_per_sec"), .002), "then a shorter one");
	ok(near(effect_rules_find(&r, "vmstat.si"), .01), "a glob goes before its class");
	ok(near(effect_rules_find(&r, "vmstat.system.cs"), .04), "then the class");
	ok(near(effect_rules_find(&r, "turbostat.Busy%"), 2), "shares before monitors");
	ok(near(effect_rules_find(&r, "perf-profile.self.cycles-pp.fget"), .3), "profiles before shares");
	ok(isnan(effect_rules_find(&r, "command.latency")), "programs have no rule here");
	is_int(effect_rules_add(&r, "ab*.x", .1), 0, "one of two equally long globs");
	is_int(effect_rules_add(&r, "a*b.x", .2), 0, "the other");
	ok(near(effect_rules_find(&r, "abb.x"), .1), "the first holds");

	is_int(effect_rules_add(&r, "monitors", .1), -EINVAL, "no such class");
	ok(strstr(err_msg(), "did you mean 'monitor'?"), "the nearest one is named");
	is_int(effect_rules_add(&r, "a.b", 0), -ERANGE, "nothing at all is no smallest effect");
	is_int(effect_rules_add(&r, "a.b", -1), -ERANGE, "nor less");
	is_int(effect_rules_add(&r, "a.b", 2), -ERANGE, "200 per cent is a slip");
	is_int(effect_rules_add(&r, "a.b", NAN), -ERANGE, "NaN");
	is_int(effect_rules_add(&r, "turbostat.Busy%", 2), 0, "but 2 points are not");
	is_int(effect_rules_add(&r, "monitor", .1), -EEXIST, "twice the same");
	effect_rules_release(&r);
	is_int(r.n, 0, "released");
	return tap_done();
}
