/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines "name: number [unit]" or "name=number [unit]" of any command; everything else it prints is passed over. A name
 * that comes several times (repeat) gives the mean.
 */
#include "jobs/program.h"
#include "jobs/text.h"

#define MAX_FIGURES 500
struct figure { char name[64]; double sum; int64_t n; const char *unit; };
struct figures { struct figure v[MAX_FIGURES]; size_t n; };

static const char *known_unit(const char *s)
{
	static const char *const units[] = {"s", "ms", "us", "ns", "%", "B", "kB", "MB", "B/s", "kB/s", "MB/s", "MiB/s",
					    "GB/s", "bit/s", "Mbit/s", "Gbit/s", "/s", "ops", "ops/s", "op/s", "insns",
					    "cycles", "ns/op", "us/op", "ms/op", "pps", "Mpps"};

	for (size_t i = 0; s && i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i], s))
			return units[i];
	return NULL;
}

static void read_line(struct figures *f, char *line)
{
	static const char name_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.%/-";
	char *name = line + strspn(line, " \t"), *w[3];
	size_t n = strspn(name, name_chars), words, i = 0;
	double v;

	if (!n || n >= sizeof(f->v[0].name) || (name[n] != ':' && name[n] != '='))
		return;
	name[n] = 0;
	words = split(name + n + 1, w, ARRAY_SIZE(w));
	if (!words || words > 2 || !signed_number(w[0], &v))
		return;
	while (i < f->n && strcmp(f->v[i].name, name))
		i++;
	if (i == MAX_FIGURES)
		return;
	if (i == f->n) {
		memcpy(f->v[i].name, name, n + 1);
		f->v[i].unit = known_unit(words > 1 ? w[1] : NULL);
		f->n++;
	}
	f->v[i].sum += v;
	f->v[i].n++;
}

static void add(struct parse_ctx *c, const struct figure *f, const char *name, bool kpi)
{
	_cleanup_free_ char *metric = xasprintf("command.%s", name);
	int better = streq(job_param(c->job, "better"), "lower") ? -1 : 1;

	metric_set_add(c->out, metric, f->sum / (double)f->n, f->unit, kpi ? better : 0, kpi);
}

static int finish(struct parse_ctx *c, const struct figures *f, const char *last)
{
	const char *want = job_param(c->job, "kpi"), *repeat = job_param(c->job, "repeat");
	bool lower = streq(job_param(c->job, "better"), "lower");
	int64_t times = repeat ? strtoll(repeat, NULL, 10) : 1;
	const struct figure *kpi = NULL;

	for (size_t i = 0; i < f->n && !kpi; i++)
		if (!strcmp(f->v[i].name, want ? want : "kpi"))
			kpi = &f->v[i];
	if (!kpi && f->n && !want)
		kpi = &f->v[0];
	if (!kpi)
		return parse_fail(c, "failed", "the command printed no '%s: number' line%s%s", want ? want : "name",
				  *last ? "; its last line: " : "", last);
	if (kpi->n < times)
		return parse_fail(c, "failed", "'%s' came %" PRId64 " times in %" PRId64 " runs", kpi->name, kpi->n, times);
	if (kpi->sum == 0 && !lower)
		return parse_fail(c, "failed", "the command did nothing: '%s' is 0", kpi->name);
	for (size_t i = 0; i < f->n; i++)
		add(c, &f->v[i], f->v[i].name, kpi == &f->v[i] && (want || !strcmp(kpi->name, "kpi")));
	if (!want && strcmp(kpi->name, "kpi")) /* a KPI must have a name that is known before the first run */
		add(c, kpi, "kpi", true);
	return 0;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	struct figures *f = xcalloc(1, sizeof(*f));
	char last[LINE_MAX_BYTES] = "";
	int r;

	while (next_line(&it)) {
		if (it.line[strspn(it.line, " \t")])
			memcpy(last, it.line, sizeof(last));
		read_line(f, it.line);
	}
	r = finish(c, f, last);
	free(f);
	return r;
}

const struct program_ops program_command = {.name = "command", .parse = parse, .file = "command"};
