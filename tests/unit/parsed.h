/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parsed.h - a parser run over a fixture, whole or cut off, for the tests of parsers. */
#ifndef KPB_TESTS_UNIT_PARSED_H
#define KPB_TESTS_UNIT_PARSED_H
#include "jobs/expand.h"
#include "lib/fs.h"
#include "tests/tap.h"

struct parsed { struct metric_set m; struct parse_ctx c; struct job_list l; struct buf text; int r; };

static inline void parsed_release(struct parsed *p)
{
	metric_set_release(&p->m);
	job_list_release(&p->l);
	buf_release(&p->text);
	free(p->c.cause);
}
#define PARSED _cleanup_(parsed_release) struct parsed

/* Parses the first n bytes (0: all) of tests/fixtures/FILE for the job of this text. dir: its result folder. */
static inline void parse_fixture(struct parsed *p, const struct program_ops *ops, const char *job, const char *file,
				 size_t n, const char *dir)
{
	static const struct run_facts facts = {.nr_cpu = 2};
	_cleanup_free_ char *path = xasprintf("tests/fixtures/%s", file);

	parsed_release(p);
	*p = (struct parsed){0};
	if (job_load_text("x.yaml", job, strlen(job), NULL, &p->l) < 0 || fs_read(path, 0, &p->text) < 0) {
		ok(false, "%s: %s", file, err_msg());
		p->r = -ENOENT;
		return;
	}
	p->c = (struct parse_ctx){.job = &p->l.v[0],
				  .facts = &facts,
				  .result_dir = dir ? dir : "/nonexistent",
				  .out = &p->m,
				  .verdict = RUN_OK};
	p->r = ops->parse(&p->c, buf_str(&p->text), n ? MIN(n, p->text.len) : p->text.len);
}

/* The same text again, on a machine that counts instructions of ns each. */
static inline void parse_again(struct parsed *p, const struct program_ops *ops, const char *text, size_t len, double ns)
{
	static struct run_facts facts;

	facts = (struct run_facts){.nr_cpu = 1, .ns_per_insn = ns};
	metric_set_release(&p->m);
	free(p->c.cause);
	p->c.cause = NULL;
	p->c.verdict = RUN_OK;
	p->c.facts = &facts;
	p->r = ops->parse(&p->c, text, len);
}

static inline double value(const struct parsed *p, const char *name)
{
	const struct metric_value *v = metric_set_get(&p->m, name);

	return v ? v->value : NAN;
}

/* No prefix of the file, short of its last spare bytes, may give values. */
static inline void never_cut_off(const struct program_ops *ops, const char *job, const char *file, size_t spare,
				 size_t step)
{
	size_t good = 0, n;
	PARSED all = {0};

	parse_fixture(&all, ops, job, file, 0, NULL);
	n = all.text.len;
	is_int(all.r, 0, "%s: whole it parses", file);
	for (size_t i = 1; i + spare < n; i += step) {
		PARSED p = {0};

		parse_fixture(&p, ops, job, file, i, NULL);
		good += p.r == 0;
		if (p.r != 0 && (p.r != -EBADMSG || !p.c.cause || !*p.c.cause))
			good++;
	}
	is_int((long)good, 0, "%s: cut off it never gives a value", file);
}

#endif
