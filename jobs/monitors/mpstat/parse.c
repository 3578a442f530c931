/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mpstat's figures, made from /proc/stat itself: for each interval the share of each kind of time, then the mean over
 * the intervals. guest time is counted in user time by the kernel and taken out again, as mpstat does.
 *
 *	mpstat.cpu.all.usr% ...         all CPUs
 *	mpstat.cpu.N.usr% ...           each of the first 64
 *	mpstat.max_utilization_pct      the busiest interval of all CPUs together, and .seconds, when that was.
 *	                                (lkp-tests takes the busiest single CPU too, so that one busy CPU always gives
 *	                                100.)
 */
#include "jobs/check.h"
#include "jobs/sample.h"

#define MAX_CPUS 4096
#define MAX_SHOWN_CPUS 64
#define SHORTEST 0.5            /* s; the interval that the test's end cut off would weigh as much as a whole one */
#define TICKS 100.0             /* /proc/stat counts in 1/100 s on every architecture (USER_HZ) */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFT, STEAL, GUEST, GNICE, N_TIMES };
static const char *const kind[] = {"usr", "nice", "sys", "idle", "iowait", "irq", "soft", "steal", "guest", "gnice"};

struct times { double v[N_TIMES]; bool seen; };
struct mpstat_cpus { struct times cpu[MAX_CPUS + 1]; };     /* [MAX_CPUS]: all */
struct reading {
	struct sampled_set l;
	double max, at;         /* the busiest interval */
	size_t odd;             /* intervals in which CPUs came, went or counted wrongly */
};

static void read_stat(struct mpstat_cpus *m, const struct proc_sample *s)
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

/*
 * What passed, and false where it cannot be: iowait may fall a little, but where idle time falls, or more passes than
 * there was, the CPU was off line in between (then /proc/stat takes its idle time from elsewhere, get_idle_time()).
 */
static bool passed(const struct times *a, const struct times *b, double seconds, double d[N_TIMES])
{
	double total = 0;

	for (size_t i = 0; i < N_TIMES; i++) {
		d[i] = b->v[i] - a->v[i];
		if (d[i] < 0 && i == IDLE)
			return false;
		d[i] = MAX(d[i], 0);
		total += d[i];
	}
	return a->seen && b->seen && total > 0 && total <= (1.5 * seconds + 1) * TICKS;
}

static void add_shares(struct sampled_set *l, const char *who, const double d[N_TIMES])
{
	double total = 0;
	char name[48];

	for (size_t i = 0; i < N_TIMES; i++)
		total += d[i];
	for (size_t i = 0; total > 0 && i < N_TIMES; i++) {
		snprintf(name, sizeof(name), "cpu.%s.%s%%", who, kind[i]);
		sampled_add(l, name, 100 * d[i] / total);
	}
}

/* The kernel's own sum is over all CPUs there may be: with others on line it is another one, so then those that were
 * are summed. */
static void add_all(struct reading *k, const struct mpstat_cpus *before, const struct mpstat_cpus *now, double seconds,
		    const double sum[N_TIMES], bool same, double when)
{
	const struct times *a = &before->cpu[MAX_CPUS], *b = &now->cpu[MAX_CPUS];
	double d[N_TIMES], total = 0, used;

	if (!same || !passed(a, b, seconds * MAX_CPUS, d))
		memcpy(d, sum, sizeof(d));
	for (size_t i = 0; i < N_TIMES; i++)
		total += d[i];
	if (!(total > 0))
		return;
	add_shares(&k->l, "all", d);
	used = 100 - 100 * (d[IDLE] + d[IOWAIT]) / total;
	if (!(used <= k->max)) {
		k->max = used;
		k->at = when;
	}
}

static void add_interval(struct reading *k, const struct mpstat_cpus *before, const struct mpstat_cpus *now,
			 double seconds, double when)
{
	double sum[N_TIMES] = {0}, d[N_TIMES];
	bool same = true;

	for (unsigned i = 0; i < MAX_CPUS; i++) {
		const struct times *a = &before->cpu[i], *b = &now->cpu[i];
		char who[16];

		if (!a->seen && !b->seen)
			continue;
		if (!passed(a, b, seconds, d)) {
			same = false;
			continue;
		}
		snprintf(who, sizeof(who), "%u", i);
		if (i < MAX_SHOWN_CPUS)
			add_shares(&k->l, who, d);
		for (size_t t = 0; t < N_TIMES; t++)
			sum[t] += d[t];
	}
	k->odd += !same;
	add_all(k, before, now, seconds, sum, same, when);
}

static size_t read_all(struct reading *k, const char *text, size_t len)
{
	struct proc_samples it = {.text = text, .len = len};
	struct mpstat_cpus *before = xcalloc(2, sizeof(*before)), *now = before + 1;
	double start = NAN, last = NAN;
	struct proc_sample s;
	size_t n = 0;

	while (next_sample(&it, &s)) {
		if (n > 1 && s.uptime - last < SHORTEST)
			continue;
		*now = (struct mpstat_cpus){0};
		read_stat(now, &s);
		if (n++)
			add_interval(k, before, now, s.uptime - last, s.uptime - start);
		else
			start = s.uptime;
		last = s.uptime;
		*before = *now;
	}
	free(before);
	return n;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct reading k = {.max = NAN, .at = NAN};
	size_t n = read_all(&k, text, len);
	int r = n < 2 || !k.l.n ? no_samples(c, "mpstat", text, len) : 0;

	for (size_t i = 0; r == 0 && i < k.l.n; i++)
		sampled_store(c, "mpstat", &k.l.v[i], k.l.v[i].n, false, "%");
	if (r == 0 && isfinite(k.max))
		metric_set_add(c->out, "mpstat.max_utilization_pct", k.max, "%", 0, false);
	if (r == 0 && isfinite(k.at))
		metric_set_add(c->out, "mpstat.max_utilization.seconds", k.at, "s", 0, false);
	if (r == 0 && k.odd)
		check_say(c, "figures", CHECK_UNKNOWN,
			  "mpstat: CPUs came, went or counted wrongly in %zu of %zu intervals; they are not in these",
			  k.odd, n - 1);
	sampled_release(&k.l);
	return r;
}

const struct program_ops monitor_mpstat = {.name = "mpstat", .parse = parse, .file = "mpstat"};
