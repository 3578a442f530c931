/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sections "cpu#0, 2400 MHz", "cfs_rq[0]:/", "rt_rq[0]:/", "dl_rq[0]:" with lines "  .field  : value". For each field
 * of each section, over the CPUs of a sample: avg, max, min and stddev (of all CPUs, not of a sample of them), then the
 * mean over the samples: sched_debug.cfs_rq:/.load_avg.avg as lkp-tests has it. Queues of groups other than the root
 * are left out.
 */
#include "jobs/sample.h"
#include "lib/spread.h"

struct sched_field { char name[128]; struct spread spread; double min, max; };
#define MAX_FIELDS 256

/* "cfs_rq[12]:/" -> cfs_rq:/; false where the section is none of ours */
static bool section_of(const char *line, char *out, size_t size)
{
	const char *close = strchr(line, ']');

	if (startswith(line, "cpu#")) {
		snprintf(out, size, "cpu");
		return true;
	}
	for (const char *const *k = (const char *const[]){"cfs_rq[", "rt_rq[", "dl_rq[", NULL}; *k; k++)
		if (startswith(line, *k) && close && (!strcmp(close, "]:/") || !strcmp(close, "]:"))) {
			snprintf(out, size, "%.*s%s", (int)(strlen(*k) - 1), *k, close + 1);
			return true;
		}
	return false;
}

static void add_value(struct sched_field *f, size_t *n, const char *name, double v)
{
	size_t i = 0;

	while (i < *n && strcmp(f[i].name, name))
		i++;
	if (i == MAX_FIELDS)
		return;
	if (i == *n) {
		f[i] = (struct sched_field){.min = v, .max = v};
		snprintf(f[i].name, sizeof(f[i].name), "%s", name);
		(*n)++;
	}
	spread_add(&f[i].spread, v);
	f[i].min = MIN(f[i].min, v);
	f[i].max = MAX(f[i].max, v);
}

/* As lkp-tests has it: curr->pid, cpu_load[0] */
static void field_word(char *out, size_t size, const char *s)
{
	metric_word(out, size, s);
	for (size_t i = 0; out[i]; i++)
		if (s[i] == '[' || s[i] == ']')
			out[i] = s[i];
}

static void read_sample(struct sched_field *f, size_t *n, const struct proc_sample *s)
{
	struct lines it = {.text = s->s, .len = s->len};
	char section[32] = "", name[128], plain[80];
	double v;

	while (next_line(&it)) {
		char *w[5], *line = it.line + strspn(it.line, " \t");

		if (*line != '.') {
			/* only lines that begin a section or stand in one that is wanted are looked at */
			if (!section_of(line, section, sizeof(section)))
				*section = 0;
			continue;
		}
		if (!*section || split(line, w, ARRAY_SIZE(w)) != 3 || strcmp(w[1], ":") || !signed_number(w[2], &v) ||
		    fabs(v) > 1e15)
			continue;
		field_word(plain, sizeof(plain), w[0] + 1);
		snprintf(name, sizeof(name), "%.15s.%.60s", section, plain);
		add_value(f, n, name, v);
	}
}

static void add_statistics(struct sampled_set *l, const struct sched_field *f)
{
	const struct { const char *name; double v; } all[] = {
		{"avg", f->spread.mean}, {"max", f->max}, {"min", f->min},
		{"stddev", sqrt(spread_variance(&f->spread))},
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		char name[140];

		snprintf(name, sizeof(name), "%s.%s", f->name, all[i].name);
		sampled_add(l, name, all[i].v);
	}
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct proc_samples it = {.text = text, .len = len};
	_cleanup_sampled_ struct sampled_set l = {0};
	struct sched_field *f = xcalloc(MAX_FIELDS, sizeof(*f));
	struct proc_sample s;
	size_t n = 0;

	for (; next_sample(&it, &s); n++) {
		size_t n_fields = 0;

		read_sample(f, &n_fields, &s);
		for (size_t i = 0; i < n_fields; i++)
			add_statistics(&l, &f[i]);
	}
	free(f);
	if (!n || !l.n)
		return no_samples(c, "sched_debug", text, len);
	for (size_t i = 0; i < l.n; i++)
		sampled_store(c, "sched_debug", &l.v[i], n, false, NULL);
	return 0;
}

const struct program_ops monitor_sched_debug = {
	.name = "sched_debug", .parse = parse, .file = "sched_debug", .optional = true};
