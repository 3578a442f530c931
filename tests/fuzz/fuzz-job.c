/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Job files: whatever loads must have names and identities, render, and come back from its canonical form. */
#include "tests/fuzz/parser.h"

static void check_job(const struct job *j)
{
	_cleanup_buf_ struct buf script = {0};
	struct job again = {0};

	FUZZ_CHECK(j->name[0] && strlen(j->id) == 16 && j->time_limit_s > 0);
	FUZZ_CHECK(!strpbrk(j->name, "/ \n'\"$`"));
	FUZZ_CHECK(job_render(j, &script) == 0);
	FUZZ_CHECK(job_from_canonical(j->name, j->canonical, &again) == 0);
	FUZZ_CHECK(!strcmp(again.id, j->id));
	job_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = xstrndup((const char *)data, size);
	struct job_list l = {0};

	if (job_load_text("fuzz.yaml", text, strlen(text), NULL, &l) < 0) {
		FUZZ_CHECK(*err_msg());
		return 0;
	}
	FUZZ_CHECK(l.n > 0);
	for (size_t i = 0; i < l.n && i < 20; i++)
		check_job(&l.v[i]);
	job_list_release(&l);
	return 0;
}
