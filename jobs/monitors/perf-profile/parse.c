/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf report -g folded --children --sort dso,symbol, as lkp-tests reads it:
 *
 *	perf-profile.children.EVENT.SYMBOL      per cent of the samples with the function in their chain
 *	perf-profile.self.EVENT.SYMBOL          per cent with it at the top
 *	perf-profile.calltrace.EVENT.A.B.C.D.E  the first five functions of a chain, callee first
 *
 * .isra.N, .constprop.N and .part.N are cut off and equal names added up; what comes to less than 0.05 % is left out.
 * EVENT is what the report's own header says was sampled: perf falls back from cycles:pp to cpu-clock without a word.
 * The modifiers of a software event mean nothing and are cut off: cpu-clock:ppH is cpu-clock, cycles:pp cycles-pp.
 *
 * Where there is a report by CPU besides: perf-profile.cpuN.EVENT.SYMBOL, per cent of that CPU's own samples.
 */
#include "jobs/sample.h"
#include "lib/fs.h"

#define MIN_PERCENT 0.05

struct perf_profile { struct sampled_set sums; char event[40]; double lost; bool has_lost, finished; };

static void cut_suffixes(char *symbol)
{
	static const char *const suffix[] = {".isra.", ".constprop.", ".part."};

	for (size_t i = 0; i < ARRAY_SIZE(suffix); i++)
		for (char *at; (at = strstr(symbol, suffix[i]));) {
			size_t n = strlen(suffix[i]), digits = strspn(at + n, "0123456789");

			if (!digits)
				break;
			memmove(at, at + n + digits, strlen(at + n + digits) + 1);
		}
}

/* "# Samples: 4K of event 'cpu-clock:ppH'"; newer perf adds a comma and more events */
static void read_event(struct perf_profile *p, const char *line)
{
	const char *from = strstr(line, " of event '"), *colon;
	char name[40];

	if (!from)
		return;
	from += strlen(" of event '");
	snprintf(name, sizeof(name), "%.*s", (int)MIN(strcspn(from, "'"), sizeof(name) - 1), from);
	colon = strchr(name, ':');
	if (colon && (startswith(name, "cpu-clock") || startswith(name, "task-clock")))
		name[colon - name] = 0;
	for (char *s = name; *s; s++)
		if (*s == ':')
			*s = '-';
	metric_word(p->event, sizeof(p->event), name);
}

static void add(struct perf_profile *p, const char *what, const char *symbol, double v)
{
	char plain[500], name[600];

	metric_word(plain, sizeof(plain), symbol);
	snprintf(name, sizeof(name), "%s.%s.%s", what, p->event, plain);
	sampled_add(&p->sums, name, v);
}

static bool percent(const char *s, double *ret)
{
	char word[16];
	size_t n = strlen(s);

	if (n < 2 || n > sizeof(word) || s[n - 1] != '%')
		return false;
	memcpy(word, s, n - 1);
	word[n - 1] = 0;
	return number(word, ret) && *ret <= 100;
}

/* "18.64% a;b;c;d;e;f" */
static void read_chain(struct perf_profile *p, char *chain, double v)
{
	char name[LINE_MAX_BYTES] = "", *save = NULL;
	size_t n = 0, depth = 0;

	for (char *f = strtok_r(chain, ";", &save); f && depth < 5; f = strtok_r(NULL, ";", &save), depth++) {
		cut_suffixes(f);
		n += (size_t)snprintf(name + n, sizeof(name) - n, "%s%s", depth ? "." : "", f);
		n = MIN(n, sizeof(name) - 1);
	}
	if (*name)
		add(p, "calltrace", name, v);
}

static void read_line(struct perf_profile *p, char *line)
{
	double children, self;
	char *w[7];
	size_t n;

	if (startswith(line, "# Total Lost Samples: ")) {
		p->has_lost = number(line + strlen("# Total Lost Samples: "), &p->lost);
		return;
	}
	if (*line == '#') {
		if (!*p->event && startswith(line, "# Samples: "))
			read_event(p, line);
		p->finished |= !strcmp(line, "# end of report");
		return;
	}
	n = split(line, w, ARRAY_SIZE(w));
	if (!*p->event || n < 2 || !percent(w[0], &children))
		return;
	if (n == 2)
		read_chain(p, w[1], children);
	if (n < 5 || !percent(w[1], &self) || w[3][0] != '[')
		return;
	cut_suffixes(w[4]);
	add(p, "children", w[4], children);
	add(p, "self", w[4], self);
}

/* "    13.65%  001  [k] pvm_irq_enable", perhaps with two more columns */
static int read_cpus(struct parse_ctx *c, const struct perf_profile *p)
{
	_cleanup_free_ char *path = xasprintf("%s/perf-profile-cpu", c->result_dir);
	_cleanup_sampled_ struct sampled_set rows = {0}, totals = {0};
	_cleanup_buf_ struct buf text = {0};
	struct lines it;
	int r = fs_read(path, 64u << 20, &text);

	if (r < 0) /* nobody asked for it */
		return r == -ENOENT ? 0 : r;
	it = (struct lines){.text = buf_str(&text), .len = text.len};
	while (next_line(&it) && it.ended) {
		char *w[5], name[600], plain[500], cpu[32];
		double v, id;

		if (split(it.line, w, ARRAY_SIZE(w)) < 4 || !percent(w[0], &v) || !number(w[1], &id) || id > 9999 ||
		    w[2][0] != '[')
			continue;
		cut_suffixes(w[3]);
		metric_word(plain, sizeof(plain), w[3]);
		snprintf(cpu, sizeof(cpu), "cpu%.0f", id);
		snprintf(name, sizeof(name), "%s.%s.%s", cpu, p->event, plain);
		sampled_add(&rows, name, v);
		sampled_add(&totals, cpu, v);
	}
	for (size_t i = 0; i < rows.n; i++)
		for (size_t k = 0; k < totals.n; k++) {
			size_t n = strlen(totals.v[k].name);
			double share = totals.v[k].sum > 0 ? 100 * rows.v[i].sum / totals.v[k].sum : 0;

			if (strncmp(rows.v[i].name, totals.v[k].name, n) || rows.v[i].name[n] != '.' ||
			    share < MIN_PERCENT)
				continue;
			_cleanup_free_ char *name = xasprintf("perf-profile.%s", rows.v[i].name);

			metric_set_add(c->out, name, share, "%", 0, false);
		}
	return 0;
}

static int parse(struct parse_ctx *c, const char *text, size_t len)
{
	struct lines it = {.text = text, .len = len};
	struct perf_profile p = {0};
	char last[LINE_MAX_BYTES] = "";
	int r = 0;

	while (next_line(&it) && it.ended) {
		if (it.line[0] != '#' && it.line[strspn(it.line, " \t")])
			memcpy(last, it.line, sizeof(last));
		read_line(&p, it.line);
	}
	if (!*p.event || !p.sums.n)
		r = parse_fail(c, RUN_INCOMPLETE, "perf-profile has no samples%s%s", *last ? ": " : "", last);
	else if (!p.finished)
		r = parse_fail(c, RUN_FAILED, "the report of perf-profile is cut off after: %s", last);
	for (size_t i = 0; r == 0 && i < p.sums.n; i++) {
		_cleanup_free_ char *name = xasprintf("perf-profile.%s", p.sums.v[i].name);

		if (p.sums.v[i].sum >= MIN_PERCENT)
			metric_set_add(c->out, name, p.sums.v[i].sum, "%", 0, false);
	}
	if (r == 0 && p.has_lost)
		metric_set_add(c->out, "perf-profile.lost_samples", p.lost, NULL, 0, false);
	if (r == 0)
		r = read_cpus(c, &p);
	sampled_release(&p.sums);
	return r;
}

const struct program_ops monitor_perf_profile = {.name = "perf-profile", .parse = parse, .file = "perf-profile"};
