/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bisect/compare-class.h"

#include <fnmatch.h>

/* Where a name's first component is one of these, a monitor wrote it; any other is the program's own. First those that
 * only lkp-tests has. */
static const char *const monitors[] = {
	"boot-memory", "boot-meminfo", "boot-slabinfo", "boot-time", "buddyinfo", "cpuidle", "diskstats", "energy",
	"iostat", "latency_stats", "lock_stat", "nfsiostat", "numa-meminfo", "numa-numastat", "numa-vmstat",
	"pagetypeinfo", "perf-c2c", "perf-sched", "pmeter", "proc-stat", "slabinfo", "uptime",
#define JOB_PROGRAM(id, name)
#define JOB_MONITOR(id, name) name,
#include "generated/job-list.h"
#undef JOB_PROGRAM
#undef JOB_MONITOR
};

static bool glob(const char *pattern, const char *name) { return fnmatch(pattern, name, 0) == 0; }

static size_t base_len(const char *name) { return strcspn(name, "."); }

bool metric_is_program(const char *name)
{
	size_t len = base_len(name);

	for (size_t i = 0; i < ARRAY_SIZE(monitors); i++)
		if (strlen(monitors[i]) == len && !strncmp(monitors[i], name, len))
			return false;
	return true;
}

bool metric_is_points(const char *name) { return startswith(name, "perf-profile") || endswith(name, "%"); }

/* The word stands after a dot that has something before it, and no '_' follows. */
static bool ends_in_failure(const char *name)
{
	static const char *const words[] = {".error", ".warn", ".fail"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (const char *p = name; *p && (p = strstr(p + 1, words[i]));)
			if (!strchr(p + strlen(words[i]), '_'))
				return true;
	return false;
}

bool metric_is_fail(const char *name)
{
	static const char *const never[] = {".time.", ".timestamp:", ".bootstage:"};
	static const char *const begins[] = {"dmesg", "kmsg", "stderr", "last_state"};
	const char *leak;

	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (strstr(name, never[i]))
			return false;
	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (startswith(name, begins[i]))
			return true;
	leak = strstr(name, "kmemleak");
	return (*name && strstr(name + 1, "killed_by")) || (leak && strstr(leak, "unreferenced_object")) ||
	       (strlen(name) > 5 && endswith(name, ".pass")) || ends_in_failure(name);
}

double metric_min_effect(const char *name)
{
	if (startswith(name, "perf-profile"))
		return .01;     /* points: the last digit shown */
	if (metric_is_points(name))
		return .1;
	return metric_is_program(name) ? .0005 : .005;
}

/* ---- lkp-tests' filters ---- */

static const char *const perf_metrics[] = {     /* 1 % is enough for these monitors, too */
	"perf-stat.*", "proc-vmstat.*", "vmstat.cpu.*", "vmstat.io.*", "vmstat.swap.*", "vmstat.system.*", "iostat.*",
	"energy.*",
	"boot-time.*", "boot-slabinfo.*", "turbostat.%Busy", "turbostat.Bzy_MHz", "turbostat.C[16]%", "turbostat.C1E%",
	"turbostat.POLL%", "turbostat.Pk%*", "turbostat.PkgWatt", "turbostat.CorWatt", "turbostat.RAMWatt",
	"turbostat.PkgTmp",
	"perf-c2c.HITM.total", "pmeter.*", "time.*", "*.time.*",
};

double metric_lkp_ratio(const char *name)
{
	if (metric_is_program(name))
		return 1.01;
	for (size_t i = 0; i < ARRAY_SIZE(perf_metrics); i++)
		if (glob(perf_metrics[i], name))
			return 1.01;
	return 1.05;
}

/* Hidden where the larger value is below max, or the difference below delta; the first row that matches decides. */
static const struct floor { const char *pattern; double max, delta; } floors[] = {
	{"*.time.*voluntary_context_switches", 1000, 500}, {"*.time.*_page_faults", 1000, 500},
	{"*.time.swaps", 1000, 500},
	{"*.time.elapsed_time*", 10, 5}, {"*.time.system_time", 10, 5}, {"*.time.user_time", 10, 5},
	{"*.time.file_system_*", 10000, 5000}, {"*.time.socket_messages_*", 10000, 5000},
	{"vmstat.system.*", 100, 50}, {"vmstat.cpu.sy", 50, 25}, {"vmstat.cpu.*", 10, 5}, {"vmstat.io.*", 100, 50},
	{"iostat*.util", 10, 5}, {"iostat*await", 50, 25}, {"iostat*[rw]/s", 50, 25}, {"iostat*kB/s", 100, 50},
	{"iostat*", 1, 0},
	{"perf-c2c.HITM.total", 3000, 1500}, {"slabinfo.*", 0, 100}, {"buddyinfo.*", 0, 100},
	{"pagetypeinfo.*", 0, 100},
	{"proc-vmstat.*", 1000, 0}, {"*meminfo.*", 1000, 0}, {"interrupts.*", 10000, 0}, {"softirqs.*", 10000, 0},
	{"lock_stat.*", 0, 1000},
};

bool metric_lkp_hidden(const char *name, double max, double delta)
{
	for (size_t i = 0; i < ARRAY_SIZE(floors); i++)
		if (glob(floors[i].pattern, name))
			return max < floors[i].max || delta < floors[i].delta;
	return false;
}
