/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * log.h - the daemon's and the workers' log: one line a message on stderr, with a <N> priority in front when stderr is
 * systemd's journal (JOURNAL_STREAM set), with the time otherwise. Text is made terminal-safe. Only bot/ calls it.
 */
#ifndef KPB_LIB_LOG_H
#define KPB_LIB_LOG_H
#include "lib/base.h"

enum log_level { LOG_ERR_ = 3, LOG_WARN_ = 4, LOG_NOTE_ = 5, LOG_INFO_ = 6, LOG_DBG_ = 7 };
extern enum log_level log_max_level;    /* LOG_INFO_ by default */
void log_msg(enum log_level level, const char *fmt, ...) _printf_(2, 3);
/* A line that changes stands on the terminal: messages take its place, also those of the children. */
void log_status_line(bool on);
/* At the start of a program: from who started it. */
void log_inherit(void);
#define log_error(...) log_msg(LOG_ERR_, __VA_ARGS__)
#define log_warn(...) log_msg(LOG_WARN_, __VA_ARGS__)
#define log_note(...) log_msg(LOG_NOTE_, __VA_ARGS__)
#define log_info(...) log_msg(LOG_INFO_, __VA_ARGS__)
#define log_debug(...) log_msg(LOG_DBG_, __VA_ARGS__)

#endif
