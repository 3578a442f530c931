/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time -v of GNU time or busybox: "<tab>label: value" lines, as PROGRAM.time.<lkp-tests' name>. What Linux never counts
 * (shared text size, swaps, socket messages, signals) is left out rather than reported as zero.
 */
#include "jobs/program.h"
#include "lib/text.h"

static const struct { const char *label, *name, *unit; } figures[] = {
	{"User time (seconds): ", "user_time", "s"},
	{"System time (seconds): ", "system_time", "s"},
	{"Percent of CPU this job got: ", "percent_of_cpu_this_job_got", "%"},
	{"Elapsed (wall clock) time (h:mm:ss or m:ss): ", "elapsed_time", "s"},
	{"Maximum resident set size (kbytes): ", "maximum_resident_set_size", "kB"},
	{"Major (requiring I/O) page faults: ", "major_page_faults", NULL},
	{"Minor (reclaiming a frame) page faults: ", "minor_page_faults", NULL},
	{"Voluntary context switches: ", "voluntary_context_switches", NULL},
	{"Involuntary context switches: ", "involuntary_context_switches", NULL},
	{"File system inputs: ", "file_system_inputs", NULL},
	{"File system outputs: ", "file_system_outputs", NULL},
	{"Page size (bytes): ", "page_size", "B"},
};

/* "1:02:03", "2:03.45" of GNU time; "1h 2m 03s", "2m 3.45s" of busybox. */
static bool clock_time(const char *s, double *ret)
{
	double total = 0;

	for (int parts = 0; parts < 4; parts++) {
		size_t n = strspn(s, "0123456789.");
		_cleanup_free_ char *digits = xstrndup(s, n);
		double v;

		if (!n || !number(digits, &v))
			return false;
		total = total * 60 + v;
		s += n;
		if (!*s || !strcmp(s, "s")) {
			*ret = total;
			return parts > 0;
		}
		if (*s == ':')
			s++;
		else if ((*s == 'h' || *s == 'm') && s[1] == ' ')
			s += 2;
		else
			return false;
	}
	return false;
}

static void read_line(struct parse_ctx *c, char *line)
{
	for (size_t i = 0; i < ARRAY_SIZE(figures); i++) {
		char *text = line + strlen(figures[i].label);
		size_t n = strlen(figures[i].label);
		double v;

		if (!startswith(line, figures[i].label))
			continue;
		n = strlen(text);
		if (n && text[n - 1] == '%') /* "?%" where no time passed */
			text[n - 1] = 0;
		if (streq(figures[i].name, "elapsed_time") ? !clock_time(text, &v) : !number(text, &v))
			return;

		_cleanup_free_ char *name = xasprintf("%s.time.%s", c->job->program, figures[i].name);

		metric_set_add(c->out, name, v, figures[i].unit, 0, false);
		if (streq(figures[i].name, "elapsed_time")) {
			_cleanup_free_ char *max = xasprintf("%s.max", name); /* lkp-tests has both */

			metric_set_add(c->out, max, v, figures[i].unit, 0, false);
		}
		return;
	}
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	char last[LINE_MAX_BYTES] = "";
	bool finished = false;

	while (next_line(&it)) {
		char *line = it.line + strspn(it.line, " \t");

		if (*line)
			memcpy(last, line, strlen(line) + 1);
		if (!it.ended)
			break;
		finished |= startswith(line, "Exit status: ");
		read_line(c, line);
	}
	if (!*last)
		return parse_fail(c, RUN_INCOMPLETE, "time printed nothing");
	return finished ? 0 : parse_fail(c, RUN_FAILED, "the output of time is cut off after: %s", last);
}

const struct program_ops monitor_time = {.name = "time", .parse = parse, .file = "time"};
