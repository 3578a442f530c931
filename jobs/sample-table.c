/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample-table.c - tables with a column for each CPU. Their lines may be longer than any line buffer. */
#include "jobs/sample.h"

#define MAX_CPUS 4096
#define MAX_SHOWN_CPUS 16

struct cursor { const char *p, *end; };

/* The next blank-separated word of the line, cut to size; false at its end. */
static bool word(struct cursor *k, char *w, size_t size)
{
	size_t n = 0;

	while (k->p < k->end && (*k->p == ' ' || *k->p == '\t'))
		k->p++;
	if (k->p == k->end)
		return false;
	for (; k->p < k->end && *k->p != ' ' && *k->p != '\t'; k->p++)
		if (n + 1 < size)
			w[n++] = *k->p;
	w[n] = 0;
	return true;
}

/* " LOC: ... Local timer interrupts" is LOC:Local_timer_interrupts, " 24: ... PCI-MSI 512-edge eth0" 24:PCI-MSI.512-edge.eth0,
 * and " NET_RX: ..." plain NET_RX, as lkp-tests has them. */
static void row_name(char *out, size_t size, const char *label, struct cursor rest)
{
	bool irq = label[0] >= '0' && label[0] <= '9';
	char w[64], plain[64];
	size_t n;

	metric_word(out, size, label);
	n = strlen(out);
	while (n + 1 < size && word(&rest, w, sizeof(w))) {
		metric_word(plain, sizeof(plain), w);
		n += (size_t)snprintf(out + n, size - n, "%s%s", strchr(out, ':') ? irq ? "." : "_" : ":", plain);
		n = MIN(n, size - 1);
	}
}

static void read_row(struct series *l, struct cursor k, const unsigned *cpu, size_t n_cpus)
{
	char w[64], label[64], name[200], full[240];
	double v[MAX_SHOWN_CPUS], sum = 0, x;
	size_t n = 0, end;

	if (!word(&k, label, sizeof(label)) || !(end = strlen(label)) || label[end - 1] != ':')
		return;
	label[end - 1] = 0;
	for (; n < n_cpus && word(&k, w, sizeof(w)) && number(w, &x); n++) {
		if (n < MAX_SHOWN_CPUS)
			v[n] = x;
		sum += x;
	}
	if (!n) /* no count at all */
		return;
	if (n < n_cpus) /* "ERR: 0": one count, no columns; what was read too far is no description */
		k.p = k.end;
	row_name(name, sizeof(name), label, k);
	series_add(l, name, sum);
	for (size_t i = 0; i < n && n == n_cpus && n_cpus <= MAX_SHOWN_CPUS; i++) {
		snprintf(full, sizeof(full), "CPU%u.%s", cpu[i], name);
		series_add(l, full, v[i]);
	}
}

static void read_sample(struct series *l, const struct proc_sample *s)
{
	static const size_t limit = MAX_CPUS;
	unsigned *cpu = xcalloc(limit, sizeof(*cpu));
	const char *p = s->s, *end = s->s + s->len;
	size_t n_cpus = 0;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		struct cursor k = {p, nl ? nl : end}, start = k;
		char w[64];

		p = k.end + 1;
		if (!word(&start, w, sizeof(w)))
			continue;
		if (startswith(w, "CPU")) {
			for (n_cpus = 0; n_cpus < limit && word(&k, w, sizeof(w)) && startswith(w, "CPU"); n_cpus++)
				cpu[n_cpus] = (unsigned)strtoul(w + 3, NULL, 10);
		} else if (n_cpus) {
			read_row(l, k, cpu, n_cpus);
		}
	}
	free(cpu);
}

int store_cpu_table(struct parse_ctx *c, const char *prefix, const char *text, size_t len)
{
	struct proc_samples it = {.text = text, .len = len};
	_cleanup_series_ struct series l = {0};
	struct proc_sample s;
	size_t n = 0;

	for (; next_sample(&it, &s); n++)
		read_sample(&l, &s);
	if (n < 2 || !l.n)
		return no_samples(c, prefix, text, len);
	for (size_t i = 0; i < l.n; i++)
		serie_store(c, prefix, &l.v[i], n, true, NULL);
	return 0;
}
