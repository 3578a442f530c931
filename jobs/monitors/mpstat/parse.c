/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mpstat's figures, made from /proc/stat itself: for each interval the share of each kind of time, then the mean over the
 * intervals. guest time is counted in user time by the kernel and taken out again, as mpstat does.
 *
 *	mpstat.cpu.all.usr% ...         all CPUs
 *	mpstat.cpu.N.usr% ...           each, where there are no more than 64
 *	mpstat.max_utilization_pct      the busiest interval of all CPUs together, and .seconds, when that was. (lkp-tests takes
 *	                                the busiest single CPU too, so that one busy CPU always gives 100.)
 */
#include "jobs/sample.h"

#define MAX_CPUS 64
#define SHORTEST 0.5            /* s; the interval that the test's end cut off would weigh as much as a whole one */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFT, STEAL, GUEST, GNICE, N_TIMES };
static const char *const kind[] = {"usr", "nice", "sys", "idle", "iowait", "irq", "soft", "steal", "guest", "gnice"};

struct times { double v[N_TIMES]; bool seen; };
struct machine { struct times cpu[MAX_CPUS + 1]; };     /* [MAX_CPUS]: all */

static void read_stat(struct machine *m, const struct proc_sample *s)
{
	struct lines it = {.text = s->s, .len = s->len};
	char *w[N_TIMES + 2];

	while (next_line(&it)) {
		size_t n = split(it.line, w, ARRAY_SIZE(w)), which = MAX_CPUS;
		struct times t = {.seen = true};
		bool good = n >= 5;
		double id = 0;

		if (!n || !startswith(w[0], "cpu") || (w[0][3] && !number(w[0] + 3, &id)) || id != floor(id))
			continue;
		if (w[0][3] && id >= MAX_CPUS)
			continue;
		if (w[0][3])
			which = (size_t)id;
		for (size_t i = 1; good && i < n && i <= N_TIMES; i++)
			good = number(w[i], &t.v[i - 1]) && t.v[i - 1] < 1e18;
		t.v[USER] -= t.v[GUEST];
		t.v[NICE] -= t.v[GNICE];
		if (good)
			m->cpu[which] = t;
	}
}

/* Returns the utilization of the interval in per cent, NAN where no time passed. */
static double add_interval(struct series *l, const char *who, const struct times *a, const struct times *b)
{
	double d[N_TIMES], total = 0;
	char name[48];

	for (size_t i = 0; i < N_TIMES; i++) {
		d[i] = MAX(b->v[i] - a->v[i], 0); /* iowait can fall */
		total += d[i];
	}
	if (!a->seen || !b->seen || !(total > 0))
		return NAN;
	for (size_t i = 0; i < N_TIMES; i++) {
		snprintf(name, sizeof(name), "cpu.%s.%s%%", who, kind[i]);
		series_add(l, name, 100 * d[i] / total);
	}
	return 100 - 100 * (d[IDLE] + d[IOWAIT]) / total;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct proc_samples it = {.text = text, .len = len};
	_cleanup_series_ struct series l = {0};
	struct machine *before = xcalloc(2, sizeof(*before)), *now = before + 1;
	double max = NAN, at = NAN, start = NAN, last = NAN;
	struct proc_sample s;
	size_t n = 0;

	while (next_sample(&it, &s)) {
		double used;

		if (n > 1 && s.uptime - last < SHORTEST)
			continue;
		*now = (struct machine){0};
		read_stat(now, &s);
		last = s.uptime;
		if (!n++) {
			start = s.uptime;
			*before = *now;
			continue;
		}
		used = add_interval(&l, "all", &before->cpu[MAX_CPUS], &now->cpu[MAX_CPUS]);
		if (isfinite(used) && !(used <= max)) {
			max = used;
			at = s.uptime - start;
		}
		for (unsigned i = 0; i < MAX_CPUS; i++) {
			char who[16];

			snprintf(who, sizeof(who), "%u", i);
			(void)add_interval(&l, who, &before->cpu[i], &now->cpu[i]);
		}
		*before = *now;
	}
	free(before);
	if (n < 2 || !l.n)
		return no_samples(c, "mpstat", text, len);
	for (size_t i = 0; i < l.n; i++)
		serie_store(c, "mpstat", &l.v[i], l.v[i].n, false, "%");
	if (isfinite(max))
		metric_set_add(c->out, "mpstat.max_utilization_pct", max, "%", 0, false);
	if (isfinite(at))
		metric_set_add(c->out, "mpstat.max_utilization.seconds", at, "s", 0, false);
	return 0;
}

const struct program_ops monitor_mpstat = {.name = "mpstat", .parse = parse, .file = "mpstat"};
