/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines "name: number [unit]" or "name=number [unit]" of any command; everything else it prints is passed over. A name
 * that comes several times (repeat) gives the mean. Numbers may have groups (1,234,567), units may stand right behind
 * them (12.3M, 900us). Common units stay as printed, others come to their base (lib/unit.h): 12.3 Mops/s is 12300000
 * ops/s. A name that comes with different units is counted in the first one, and where they measure different things it
 * has no figure.
 */
#include "jobs/check.h"
#include "jobs/program.h"
#include "lib/text.h"
#include "lib/unit.h"

#define MAX_FIGURES 500
struct command_figure { char name[64], word[32], other[32]; double sum; int64_t n; const char *unit; };
struct command_figures {
	struct command_figure v[MAX_FIGURES];
	size_t n;
	const char *want;
	bool named;             /* by the job; else the figure called kpi counts, or the first */
	char refused[LINE_MAX_BYTES], absent[LINE_MAX_BYTES];
};

/* As printed where it is common, else its base and the value in it. NULL: none that is known. */
static const char *stored_unit(const char *s, double *v)
{
	static const char *const units[] = {"s", "ms", "us", "ns", "%", "B", "kB", "MB", "B/s", "kB/s", "MB/s", "MiB/s",
					    "GB/s", "bit/s", "Mbit/s", "Gbit/s", "/s", "ops", "ops/s", "op/s", "insns",
					    "cycles", "ns/op", "us/op", "ms/op", "pps", "Mpps"};
	struct unit u;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(units[i], s))
			return units[i];
	if (!unit_parse(s, &u))
		return NULL;
	*v *= u.scale;
	return u.base;
}

static struct command_figure *figure_of(struct command_figures *f, const char *name)
{
	size_t i = 0;

	while (i < f->n && strcmp(f->v[i].name, name))
		i++;
	if (i == MAX_FIGURES)
		return NULL;
	if (i == f->n)
		snprintf(f->v[f->n++].name, sizeof(f->v[i].name), "%s", name);
	return &f->v[i];
}

static void add_value(struct command_figures *f, const char *name, double v, const char *word)
{
	struct command_figure *x = figure_of(f, name);
	const char *unit = stored_unit(word, &v);
	double factor = 1;

	if (!x)
		return;
	if (!x->n++) {
		snprintf(x->word, sizeof(x->word), "%s", word);
		x->unit = unit;
	} else if (unit && x->unit ? strcmp(unit, x->unit) && !unit_factor(unit, x->unit, &factor)
				   : strcmp(word, x->word) != 0) {
		snprintf(x->other, sizeof(x->other), "%s", *word ? word : "none");
	}
	x->sum += v * factor;
}

/* The value and unit of a line's words; false: they are no figure. */
static bool value_of(char *const *w, size_t n, double *ret, const char **ret_unit)
{
	const char *behind;
	struct unit prefix;

	if (!n || n > 2 || !figure(w[0], ret, &behind))
		return false;
	*ret_unit = n == 2 ? w[1] : behind;
	if (n == 1 || !*behind)
		return n == 1 || !strchr("0123456789", w[1][0]);
	/* "12.3M ops/s" */
	if (!unit_parse(behind, &prefix) || *prefix.base)
		return false;
	*ret *= prefix.scale;
	return true;
}

/* nan and inf; "warnings: none" is no figure that is missing. */
static bool not_finite(const char *s)
{
	const char *word = s + (*s == '-' || *s == '+');

	return no_value(s) && (!strncasecmp(word, "nan", 3) || !strncasecmp(word, "inf", 3));
}

static void read_line(struct command_figures *f, char *line)
{
	static const char name_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.%/-";
	char *name = line + strspn(line, " \t"), *w[3], whole[LINE_MAX_BYTES];
	size_t n = strspn(name, name_chars), words;
	const char *unit;
	double v;

	if (!n || n >= sizeof(f->v[0].name) || (name[n] != ':' && name[n] != '='))
		return;
	snprintf(whole, sizeof(whole), "%s", name);
	name[n] = 0;
	words = split(name + n + 1, w, ARRAY_SIZE(w));
	if (value_of(w, words, &v, &unit))
		add_value(f, name, v, unit);
	else if (!strcmp(name, f->want) || (!f->named && !f->n && words && not_finite(w[0])))
		memcpy(f->refused, whole, sizeof(whole));
	else if (words && words <= 2 && not_finite(w[0]))
		memcpy(f->absent, whole, sizeof(whole));
}

static void add(struct parse_ctx *c, const struct command_figure *f, const char *name, bool kpi)
{
	_cleanup_free_ char *metric = xasprintf("command.%s", name);
	int better = streq(job_param(c->job, "better"), "lower") ? -1 : 1;

	metric_set_add(c->out, metric, f->sum / (double)f->n, f->unit, kpi ? better : 0, kpi);
}

static int finish(struct parse_ctx *c, const struct command_figures *f, const char *last)
{
	const char *want = job_param(c->job, "kpi"), *repeat = job_param(c->job, "repeat"),
		   *odd = *f->refused ? f->refused : last;
	bool lower = streq(job_param(c->job, "better"), "lower");
	int64_t times = repeat ? strtoll(repeat, NULL, 10) : 1;
	const struct command_figure *kpi = NULL;

	for (size_t i = 0; i < f->n && !kpi; i++)
		if (!strcmp(f->v[i].name, f->want))
			kpi = &f->v[i];
	if (!kpi && f->n && !want && !*f->refused) /* not the second one where the first is nan */
		kpi = &f->v[0];
	if (!kpi)
		return parse_fail(c, RUN_FAILED, "the command printed no '%s: number' line%s%s", want ? want : "name",
				  *f->refused ? ", but: " : *odd ? "; its last line: " : "", odd);
	if (*kpi->other)
		return parse_fail(c, RUN_FAILED, "'%s' came in units that cannot be laid side by side, '%s' and '%s'",
				  kpi->name, kpi->word, kpi->other);
	if (kpi->n < times && *f->refused)
		return parse_fail(c, RUN_FAILED, "'%s' came %" PRId64 " times in %" PRId64 " runs, and: %s", kpi->name,
				  kpi->n, times, odd);
	if (kpi->n < times)
		return parse_fail(c, RUN_FAILED, "'%s' came %" PRId64 " times in %" PRId64 " runs", kpi->name, kpi->n,
				  times);
	if (kpi->sum == 0 && !lower)
		return parse_fail(c, RUN_FAILED, "the command did nothing: '%s' is 0", kpi->name);
	if (*f->absent)
		check_say(c, "figures", CHECK_UNKNOWN, "left out, since it is no value: %s", f->absent);
	for (size_t i = 0; i < f->n; i++)
		if (*f->v[i].other)
			check_say(c, "figures", CHECK_UNKNOWN, "left out: '%s' came in '%s' and '%s'", f->v[i].name,
				  f->v[i].word, f->v[i].other);
		else
			add(c, &f->v[i], f->v[i].name, kpi == &f->v[i] && (want || !strcmp(kpi->name, "kpi")));
	if (!want && strcmp(kpi->name, "kpi")) /* a KPI must have a name that is known before the first run */
		add(c, kpi, "kpi", true);
	return 0;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	struct command_figures *f = xcalloc(1, sizeof(*f));
	_cleanup_free_ char *last = last_words(text, len);
	const char *want = job_param(c->job, "kpi");
	int r;

	f->want = want ? want : "kpi";
	f->named = want != NULL;
	while (next_line(&it))
		read_line(f, it.line);
	r = finish(c, f, last);
	free(f);
	return r;
}

const struct program_ops program_command = {.name = "command", .parse = parse, .file = "command"};
