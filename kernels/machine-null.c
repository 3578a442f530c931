/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine-null.c - no machine at all: invents runs, for tests of everything around a machine. It is also what to copy
 * for a driver of your own: everything that a driver is stands in this file, and one row in machine.c lists it.
 *
 * A run leaves what the program "command" (jobs/programs/command) reads, one line "METRIC: NUMBER". The same seed,
 * build and replicate give the same number; other ones scatter by the noise. Nothing of what is built runs.
 *
 *	machines:
 *	  invented:
 *	    driver: "null"          # in quotes: without, YAML takes it for nothing
 *	    noise: 0.5
 *
 * With value_of_build, what is built is a text file "VALUE [FAILURE_RATE]" (the artefact of a program's tree): so
 * commits can be better or worse, or fail more often, than their parents.
 */
#include "kernels/machine-internal.h"
#include "lib/fs.h"

#include <poll.h>

/* 1. Settings: a struct, and its table. What a user may write below the machine's name in machines.yaml is here and
 * nowhere else; machine.c allocates the struct, and by the table it is read, checked, shown and stored. */
#define FAILURES(X)                                                                                                    \
	X(FAIL_CRASH, "crashed") X(FAIL_BOOT, "boot-failed") X(FAIL_TIME, "timeout") X(FAIL_EXIT, "failed")
WORDS_ENUM(null_failure, FAILURES);
WORDS_DEFINE(null_failure, FAILURES, "kind of failure");

struct null {
	int64_t seed;
	char *metric;
	double value, noise_pct, failure_rate, seconds;
	bool value_of_build;
	enum null_failure failure;
};
static const struct setting null_options[] = {
	SETTING(null, seed, "seed", "other seeds give other runs", .dflt = "1"),
	SETTING(null, metric, "metric", "name of the figure", .dflt = "value"),
	SETTING(null, value, "value", "its average", .dflt = "1000"),
	SETTING(null, value_of_build, "value_of_build",
		"the built file says the value, and maybe a failure rate behind"),
	SETTING(null, noise_pct, "noise", "standard deviation in per cent of the value", .min = 0, .max = 100,
		.dflt = "1"),
	SETTING(null, failure_rate, "failure_rate", "share of the runs that fail", .min = 0, .max = 1),
	SETTING_WORD(null, failure, "failure", &null_failure_words, "how they fail", .dflt = "crashed"),
	SETTING_TIME(null, seconds, "takes", "time that a run takes", .min = 0, .max = 3600),
	SETTING_END,
};

static const struct null *options(const struct machine *m) { return m->options; }

/* 2. check: can it work here? It is asked by 'machine check' and before each run. An error says what to do about it. */
static int null_check(const struct machine *m)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
	const char *s = options(m)->metric;

	if (s && *s && strspn(s, name) == strlen(s))
		return 0;
	return err_set(-EINVAL, "machine '%s': 'metric' wants letters, digits, _ and .", m->name);
}

/* 3. describe: "test machine:" in reports. What changes it may change the numbers: runs with another text are not laid
 * side by side without a word about it (db/setup.h). */
static char *null_describe(const struct machine *m)
{
	const struct null *o = options(m);

	return xasprintf("no machine, numbers invented from seed %" PRId64 " with %g%% noise", o->seed, o->noise_pct);
}

/* 4. boot: runs q->script (for a driver with MACHINE_BOOTS: boots q->image with q->root_image before that) and leaves
 * in q->out_dir the folder result/ with what the script wrote to $RESULT_DIR. Says by ret->verdict and boot_verdict()
 * how it went; returns negative only for trouble of our own, which is no fault of the commit's. It ends by itself, and
 * soon when *q->cancel is set. */
struct invented { double value, failure_rate; };

static int invent_for(const struct boot_request *q, struct invented *ret)
{
	const struct null *o = options(q->machine);
	_cleanup_buf_ struct buf text = {0};
	_cleanup_free_ char *words = NULL;
	char *save = NULL, *value, *rate;
	int r;

	*ret = (struct invented){o->value, o->failure_rate};
	if (!o->value_of_build)
		return 0;
	if (!q->image)
		return err_set(-EINVAL, "machine '%s' has 'value_of_build', and nothing was built", q->machine->name);
	r = fs_read(q->image, 4096, &text);
	if (r < 0)
		return r;
	words = xstrdup(buf_str(&text));
	value = strtok_r(words, " \t\n", &save);
	rate = strtok_r(NULL, " \t\n", &save);
	r = parse_double(value ? value : "", &ret->value);
	if (r == 0 && rate)
		r = parse_double(rate, &ret->failure_rate);
	return r < 0 ? err_prefix(r, "'%s' holds no 'VALUE [FAILURE_RATE]'", q->image) : 0;
}

/* Three numbers from 0 up to 1, of all that makes this run another one than its like. */
static void dice(const struct boot_request *q, double ret[3])
{
	const char *image = q->image ? q->image : "", *build = strrchr(image, '/');
	_cleanup_free_ char *text = NULL;
	char hex[SHA256_HEX];

	while (build && build > image && build[-1] != '/') /* the last folder tells builds apart */
		build--;
	text = xasprintf("%" PRId64 " %" PRId64 " %s", options(q->machine)->seed, q->perturb, build ? build : image);
	sha256_hex(text, strlen(text), hex);
	for (int i = 0; i < 3; i++) {
		char digits[14] = {0};

		memcpy(digits, hex + 13 * i, 13);
		ret[i] = (double)strtoull(digits, NULL, 16) / (double)(1ull << 52);
	}
}

static int write_result(const struct boot_request *q, const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/result/%s", q->out_dir, name);

	return fs_write_atomic(path, text, strlen(text));
}

static int write_results(const struct boot_request *q, double value)
{
	_cleanup_free_ char *dir = xasprintf("%s/result", q->out_dir), *line = NULL;
	int r = fs_rm_rf(dir); /* of an earlier run in the same folder */

	line = xasprintf("%s: %.10g\n", options(q->machine)->metric, value);
	r = r < 0 ? r : fs_mkdir_p(dir);
	r = r < 0 ? r : write_result(q, "started", "");
	return r < 0 ? r : write_result(q, "command", line);
}

/* False: it was stopped. */
static bool wait_for_end(const struct boot_request *q, double seconds)
{
	const usec_t end = mono_usec() + (usec_t)(seconds * USEC_PER_SEC);

	while (mono_usec() < end && !(q->cancel && *q->cancel))
		(void)poll(NULL, 0, (int)MIN((end - mono_usec()) / 1000 + 1, (usec_t)25));
	return !(q->cancel && *q->cancel);
}

static int fail(enum null_failure how, struct boot_result *ret)
{
	switch (how) {
	case FAIL_CRASH: return boot_verdict(ret, RUN_CRASHED, "an invented crash");
	case FAIL_BOOT: return boot_verdict(ret, RUN_BOOT_FAILED, "an invented boot that failed");
	case FAIL_TIME: return boot_verdict(ret, RUN_TIMEOUT, "an invented run without an end");
	case FAIL_EXIT: ret->exit_status = 1; break;
	}
	return 0;
}

static int null_boot(const struct boot_request *q, struct boot_result *ret)
{
	const struct null *o = options(q->machine);
	struct invented x = {0};
	double d[3], normal, limit = q->script_timeout_s > 0 ? q->script_timeout_s : INFINITY;
	int r = invent_for(q, &x);

	dice(q, d);
	normal = sqrt(-2 * log(1 - d[0])) * cos(2 * M_PI * d[1]); /* Box and Muller's way */
	r = r < 0 ? r : write_results(q, x.value * (1 + o->noise_pct / 100 * normal));
	if (r < 0)
		return r;
	ret->isolated = true; /* nothing foreign ran */
	ret->verdict = RUN_OK;
	ret->console_tail = xstrdup("");
	if (!wait_for_end(q, MIN(o->seconds, limit)))
		return boot_verdict(ret, RUN_INFRA, "the run was stopped");
	if (o->seconds > limit)
		return boot_verdict(ret, RUN_TIMEOUT, "the script took longer than %g s", limit);
	return d[2] < x.failure_rate ? fail(o->failure, ret) : 0;
}

/* 5. The row. What it may have besides (flags, its part of the script of a case, counting of instructions and of what a
 * guest executes) is told in machine.h. */
const struct machine_ops machine_null = {
	.name = "null",
	.help = "for tests: no machine, invents runs from a seed",
	.measured_on = "no machine: the numbers are invented (driver null), for tests",
	.at_once = 4,
	.options = null_options,
	.options_size = sizeof(struct null),
	.check = null_check,
	.boot = null_boot,
	.describe = null_describe,
};
