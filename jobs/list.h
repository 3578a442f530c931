/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * list.h - every program and monitor there is, one row each: JOB_PROGRAM(x) stands for `const struct program_ops
 * program_x` in programs/NAME/parse.c, JOB_MONITOR(x) for `monitor_x` in monitors/NAME/parse.c. tools/new-job adds rows.
 */
JOB_PROGRAM(command)
JOB_PROGRAM(neper)
JOB_PROGRAM(stress_ng)
JOB_PROGRAM(udp_sink)
JOB_PROGRAM(xdp_bench)
JOB_MONITOR(interrupts)
JOB_MONITOR(meminfo)
JOB_MONITOR(mpstat)
JOB_MONITOR(perf_profile)
JOB_MONITOR(perf_stat)
JOB_MONITOR(proc_vmstat)
JOB_MONITOR(sched_debug)
JOB_MONITOR(softirqs)
JOB_MONITOR(time)
JOB_MONITOR(turbostat)
JOB_MONITOR(vmstat)
