/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/log.h"
#include "lib/buf.h"

#include <time.h>

enum log_level log_max_level = LOG_INFO_;

#define STATUS_LINE "KPERFBOT_STATUS_LINE"

static bool status_line;

void log_status_line(bool on)
{
	status_line = on;
	if (on)
		setenv(STATUS_LINE, "1", 1);
	else
		unsetenv(STATUS_LINE);
}

void log_inherit(void)
{
	status_line = getenv(STATUS_LINE) != NULL;
	unsetenv(STATUS_LINE); /* what is measured gets the same environment each time */
}

void log_msg(enum log_level level, const char *fmt, ...)
{
	_cleanup_buf_ struct buf line = {0};
	char text[2048], stamp[32];
	time_t t = time(NULL);
	struct tm tm;
	va_list ap;

	if (level > log_max_level)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (getenv("JOURNAL_STREAM")) {
		buf_addf(&line, "<%d>", level);
	} else {
		if (status_line)
			buf_adds(&line, "\r\033[K");
		strftime(stamp, sizeof(stamp), "%H:%M:%S ", localtime_r(&t, &tm));
		buf_adds(&line, stamp);
		if (level <= LOG_WARN_)
			buf_adds(&line, level == LOG_ERR_ ? "error: " : "warning: ");
	}
	buf_add_term(&line, text);
	buf_addc(&line, '\n');
	fwrite(line.s, 1, line.len, stderr); /* one write: lines of several processes do not mix */
}
