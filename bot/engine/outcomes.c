/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/outcomes.h"
#include "bot/engine/measured.h"

#define HIDDEN_RUNS 3

int failure_outcome(enum run_verdict own, enum run_verdict kind)
{
	if (own == RUN_INFRA)
		return -1;
	if (!run_failed(own)) /* ended well, or what it measured is not trusted: it ran */
		return 0;
	return own == kind ? 1 : kind == RUN_BOOT_FAILED ? 0 : -1;
}

void outcomes_release(struct outcomes *o)
{
	free(o->failed);
	free(o->run);
	*o = (struct outcomes){0};
}

int engine_outcomes(struct engine *e, const struct scope *s, const char *commit, enum run_verdict kind,
		    int64_t after_run, struct outcomes *ret)
{
	struct outcomes o = {0};
	struct db_run *runs = NULL;
	size_t n = 0;
	int r = engine_run_list(e, s, commit, &runs, &n);

	if (r < 0)
		return r;
	o.failed = xcalloc(n + 1, sizeof(*o.failed));
	o.run = xcalloc(n + 1, sizeof(*o.run));
	for (size_t i = 0; i < n; i++) {
		int x = runs[i].id > after_run ? failure_outcome(runs[i].verdict, kind) : -1;

		if (x >= 0) {
			o.run[o.n] = runs[i].id;
			o.failed[o.n++] = x;
		}
		o.silent += x < 0 && runs[i].id > after_run && runs[i].verdict != RUN_INFRA;
	}
	DB_LIST_RELEASE(runs, n, db_run_release);
	*ret = o;
	return 0;
}

char *failure_words(const struct db_run *run)
{
	return xasprintf("%s: %s", run_verdict_word(run->verdict), run->cause ? run->cause : "no cause known");
}

bool outcomes_hidden(const struct outcomes *o) { return o->silent >= HIDDEN_RUNS && o->silent > o->n; }
