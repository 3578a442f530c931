/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Means over the samples, in kB. Memused is MemTotal - MemFree, max_used_kB its maximum (lkp-tests gives the mean of
 * the maximum so far).
 */
#include "jobs/sample.h"

static void read_sample(struct sampled_set *l, const struct proc_sample *s)
{
	struct lines it = {.text = s->s, .len = s->len};
	double total = NAN, unused = NAN;

	while (next_line(&it)) {
		char *w[4], name[80];
		double v;

		if (split(it.line, w, ARRAY_SIZE(w)) < 2 || !endswith(w[0], ":") || !number(w[1], &v))
			continue;
		w[0][strlen(w[0]) - 1] = 0;
		/* no kernel has brackets elsewhere, and lkp-tests keeps them: Active(anon) */
		snprintf(name, sizeof(name), "%s", w[0]);
		for (char *p = name; *p; p++)
			if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_()", *p))
				*p = '_';
		sampled_add(l, name, v);
		if (!strcmp(name, "MemTotal"))
			total = v;
		if (!strcmp(name, "MemFree"))
			unused = v;
	}
	sampled_add(l, "Memused", total - unused);
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct proc_samples it = {.text = text, .len = len};
	_cleanup_sampled_ struct sampled_set l = {0};
	struct proc_sample s;
	size_t n = 0;

	for (; next_sample(&it, &s); n++)
		read_sample(&l, &s);
	if (n < 2 || !l.n)
		return no_samples(c, "meminfo", text, len);
	for (size_t i = 0; i < l.n; i++) {
		sampled_store(c, "meminfo", &l.v[i], n, false, startswith(l.v[i].name, "HugePages") ? NULL : "kB");
		if (!strcmp(l.v[i].name, "Memused"))
			metric_set_add(c->out, "meminfo.max_used_kB", l.v[i].max, "kB", 0, false);
	}
	return 0;
}

const struct program_ops monitor_meminfo = {.name = "meminfo", .parse = parse, .file = "meminfo"};
