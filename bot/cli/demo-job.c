/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/demo-job.h"
#include "jobs/job.h"

#include <fnmatch.h>

static const struct {
	const char *program, *param, *value, *slows, *kconfig;  /* value: a glob */
} kinds[] = {
	{"stress-ng", "test", "sockfd", "", "vm-min"},
	{"xdp-bench", "mode", "redirect-cpu", "redirect-cpu", "vm-net"},
	{"xdp-bench", "mode", "redirect*", "redirect", "vm-net"},
	{"xdp-bench", "mode", "*", "veth", "vm-net"},
	{"udp-sink", "rps", "*", "rps", "vm-net"},
	{"neper", "test", "tcp*", "tcp", "vm-net"},
};

static char *quick_name(const char *job, const char *extra_dir)
{
	_cleanup_strv_ struct strv names = {0};
	_cleanup_free_ char *quick = xasprintf("%s-quick", job);

	if (job_names(extra_dir, &names) < 0)
		return NULL;
	for (size_t i = 0; i < names.n; i++)
		if (streq(names.v[i], quick))
			return xstrdup(quick);
	return NULL;
}

/* Where runs differ by several per cent, half a per cent would take hundreds of boots: something loud is planted. */
static char *slows_for(const char *slows, bool exact)
{
	return exact ? xstrdup(slows) : xasprintf("%s%sloud", slows, *slows ? "-" : "");
}

int demo_job(const char *job, const struct machine *m, const char *extra_dir, struct demo_job *ret)
{
	const struct machine_ops *ops = machine_driver(m->driver);
	bool exact = ops && (ops->flags & MACHINE_DETERMINISTIC);
	_cleanup_free_ char *name = quick_name(job, extra_dir);
	struct job_list jobs = {0};
	int r;

	if (!name)
		name = xstrdup(job);
	r = job_load(name, extra_dir, NULL, &jobs);
	if (r < 0)
		return r;
	r = err_set(-EINVAL, "the demo plants nothing that slows the job '%s': take stress-ng-sockfd, an xdp-bench, udp-sink or neper-tcp one",
		    job);
	for (size_t i = 0; r < 0 && i < ARRAY_SIZE(kinds); i++) {
		const char *value = job_param(&jobs.v[0], kinds[i].param);

		if (!streq(jobs.v[0].program, kinds[i].program) || !value || fnmatch(kinds[i].value, value, 0))
			continue;
		*ret = (struct demo_job){.job = xstrdup(name), .slows = slows_for(kinds[i].slows, exact), .kconfig = kinds[i].kconfig};
		r = 0;
	}
	job_list_release(&jobs);
	return r;
}
