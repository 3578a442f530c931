/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample-table.c - tables with a column for each CPU. Their lines may be longer than any line buffer.
 *
 * Each CPU's count is followed by itself, by the header's word above it: /proc/interrupts has the CPUs that are online,
 * so with one more or less the columns are others. What a CPU counted is known where it was in all samples.
 */
#include "jobs/check.h"
#include "jobs/sample.h"

#define MAX_CPUS 4096
#define MAX_SHOWN_CPUS 16
#define MAX_CELLS (4u << 20)    /* CPUs by rows */
#define PLAIN 0                 /* slot of a row's only count, which is no CPU's */
#define NO_SLOT UINT_MAX

/* sample: the last one that had it */
struct sample_cell { double last, counted; unsigned sample, samples; bool fell; };
struct row { struct sample_cell *cell; size_t n; unsigned sample, samples; bool twice; };
struct cpu_table {
	struct sampled_set names;    /* of the rows */
	struct row *row;
	size_t n_rows, cap_rows, cells;
	unsigned sample;        /* counted from 1 */
	unsigned slot[MAX_CPUS], cpu[MAX_CPUS + 1];     /* of a CPU; and back */
	size_t n_slots;
	unsigned column[MAX_CPUS];      /* slots of this sample's columns */
	size_t n_columns;
};
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

/* " LOC: ... Local timer interrupts" is LOC:Local_timer_interrupts, " 24: ... PCI-MSI 512-edge eth0"
 * 24:PCI-MSI.512-edge.eth0, and " NET_RX: ..." plain NET_RX, as lkp-tests has them. */
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

/* "  CPU0  CPU2  CPU3" */
static void read_header(struct cpu_table *t, struct cursor k)
{
	char w[64], *end;

	for (t->n_columns = 0; t->n_columns < MAX_CPUS && word(&k, w, sizeof(w)) && startswith(w, "CPU");
	     t->n_columns++) {
		unsigned long id = strtoul(w + 3, &end, 10);
		bool known = end > w + 3 && !*end && id < MAX_CPUS;

		if (known && !t->slot[id]) {
			t->slot[id] = (unsigned)++t->n_slots;
			t->cpu[t->n_slots] = (unsigned)id;
		}
		t->column[t->n_columns] = known ? t->slot[id] : NO_SLOT;
	}
}

static struct row *row_of(struct cpu_table *t, const char *name)
{
	ssize_t i = sampled_index(&t->names, name);

	if (i < 0)
		return NULL;
	while (t->n_rows <= (size_t)i) {
		GROW(t->row, t->n_rows, t->cap_rows);
		t->row[t->n_rows++] = (struct row){0};
	}
	return &t->row[i];
}

/* The counters are unsigned int in the kernel (kstat_irqs_cpu(), irq_stat): one near its end that is small now went
 * round. */
static void add_count(struct sample_cell *c, unsigned sample, double v)
{
	const double round = 0x1p32;

	if (c->samples && c->sample + 1 == sample) {
		double d = v - c->last;

		if (d < 0 && c->last < round && d + round < round / 4)
			d += round;
		c->fell |= d < 0;
		c->counted += d;
	}
	c->last = v;
	c->sample = sample;
	c->samples++;
}

static void put_counts(struct cpu_table *t, const char *name, const unsigned *slot, const double *v, size_t n)
{
	struct row *r = row_of(t, name);

	if (!r)
		return;
	if (r->n <= t->n_slots) {
		size_t more = t->n_slots + 1 - r->n;

		if (t->cells + more > MAX_CELLS)
			return;
		t->cells += more;
		r->cell = xrealloc_array(r->cell, t->n_slots + 1, sizeof(*r->cell));
		memset(r->cell + r->n, 0, more * sizeof(*r->cell));
		r->n = t->n_slots + 1;
	}
	r->twice |= r->sample == t->sample;
	r->sample = t->sample;
	r->samples++;
	for (size_t i = 0; i < n; i++)
		if (slot[i] != NO_SLOT)
			add_count(&r->cell[slot[i]], t->sample, v[i]);
}

static void read_row(struct cpu_table *t, struct cursor k, double *v)
{
	static const unsigned plain[] = {PLAIN};
	char w[64], label[64], name[200];
	size_t n = 0, end;

	if (!word(&k, label, sizeof(label)) || !(end = strlen(label)) || label[end - 1] != ':')
		return;
	label[end - 1] = 0;
	while (n < t->n_columns && word(&k, w, sizeof(w)) && number(w, &v[n]))
		n++;
	if (n == t->n_columns) {
		row_name(name, sizeof(name), label, k);
		put_counts(t, name, t->column, v, n);
	} else if (n == 1) { /* "ERR: 0": one count, no columns; what was read too far is no description */
		metric_word(name, sizeof(name), label);
		put_counts(t, name, plain, v, 1);
	}
}

static void read_sample(struct cpu_table *t, const struct proc_sample *s, double *v)
{
	const char *p = s->s, *end = s->s + s->len;

	t->sample++;
	t->n_columns = 0;
	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		struct cursor k = {p, nl ? nl : end}, start = k;
		char w[64];

		p = k.end + 1;
		if (!word(&start, w, sizeof(w)))
			continue;
		if (startswith(w, "CPU"))
			read_header(t, k);
		else if (t->n_columns)
			read_row(t, k, v);
	}
}

static void store_cpu(struct parse_ctx *c, const char *prefix, const char *name, unsigned cpu, double v)
{
	_cleanup_free_ char *metric = xasprintf("%s.CPU%u.%s", prefix, cpu, name);

	metric_set_add(c->out, metric, v, NULL, 0, false);
}

static void store_row(struct parse_ctx *c, const char *prefix, const struct cpu_table *t, size_t i,
		      struct check_set *left_out)
{
	_cleanup_free_ char *metric = xasprintf("%s.%s", prefix, t->names.v[i].name);
	const struct row *r = &t->row[i];
	double sum = 0;
	size_t n = 0;
	bool fell = false;

	if (r->samples != t->sample || r->twice || (r->cell[PLAIN].samples && r->cell[PLAIN].samples != t->sample))
		return;
	for (size_t s = 0; s < r->n; s++) {
		const struct sample_cell *x = &r->cell[s];
		bool whole = x->samples == t->sample;

		if (x->samples && !whole && s != PLAIN)
			check_set_add(left_out, "figures", CHECK_UNKNOWN,
				      "%s: CPU %u came or went, what it counted is in no figure", prefix, t->cpu[s]);
		fell |= x->fell;
		if (!whole || x->fell)
			continue;
		sum += x->counted;
		n++;
		if (s != PLAIN && t->n_slots <= MAX_SHOWN_CPUS)
			store_cpu(c, prefix, t->names.v[i].name, t->cpu[s], x->counted);
	}
	if (fell)
		check_set_add(left_out, "figures", CHECK_UNKNOWN, "%s is left out, since it fell", metric);
	else if (n)
		metric_set_add(c->out, metric, sum, NULL, 0, false);
}

static void cpu_table_release(struct cpu_table *t)
{
	for (size_t i = 0; i < t->n_rows; i++)
		free(t->row[i].cell);
	free(t->row);
	sampled_release(&t->names);
	free(t);
}

int store_cpu_table(struct parse_ctx *c, const char *prefix, const char *text, size_t len)
{
	struct proc_samples it = {.text = text, .len = len};
	_cleanup_free_ double *v = xcalloc(MAX_CPUS, sizeof(*v));
	struct cpu_table *t = xcalloc(1, sizeof(*t));
	struct check_set left_out = {0};
	struct proc_sample s;
	int r = 0;

	while (next_sample(&it, &s))
		read_sample(t, &s, v);
	if (t->sample < 2 || !t->n_rows)
		r = no_samples(c, prefix, text, len);
	for (size_t i = 0; r == 0 && i < t->n_rows; i++)
		store_row(c, prefix, t, i, &left_out);
	if (left_out.n)
		check_say(c, left_out.v[0].name, left_out.v[0].verdict, "%s", left_out.v[0].evidence);
	check_set_release(&left_out);
	cpu_table_release(t);
	return r;
}
