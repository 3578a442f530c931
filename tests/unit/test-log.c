/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log: one line a message, for the journal and for a terminal, whatever is in it. */
#include "lib/log.h"
#include "lib/buf.h"
#include "tests/tap.h"

#include <sys/mman.h>

/* What a message looks like on stderr. */
static char *logged(enum log_level level, const char *text)
{
	int keep = dup(2), fd = memfd_create("log", 0);
	char b[4096];
	ssize_t k;

	dup2(fd, 2);
	log_msg(level, "%s", text);
	dup2(keep, 2);
	close(keep);
	k = pread(fd, b, sizeof(b) - 1, 0);
	close(fd);
	b[MAX(k, (ssize_t)0)] = 0;
	return xstrdup(b);
}

static void says(enum log_level level, const char *text, const char *want, const char *name)
{
	_cleanup_free_ char *got = logged(level, text);
	size_t stamp = strlen("12:34:56 ");
	const char *p = got;

	if (!getenv("JOURNAL_STREAM") && strlen(got) > stamp && startswith(got, "\r\033[K"))
		p += strlen("\r\033[K");
	if (!getenv("JOURNAL_STREAM") && strlen(p) > stamp)
		p += stamp;
	is_str(p, want, "%s", name);
}

int main(void)
{
	_cleanup_free_ char *plain = NULL, *over = NULL;
	char text[5000];

	unsetenv("JOURNAL_STREAM");
	plain = logged(LOG_INFO_, "x");
	ok(strlen(plain) == 11 && plain[2] == ':' && plain[5] == ':' && plain[8] == ' ', "the time stands in front: %s",
	   plain);
	says(LOG_INFO_, "hello", "hello\n", "a message");
	says(LOG_WARN_, "hello", "warning: hello\n", "a warning");
	says(LOG_ERR_, "hello", "error: hello\n", "an error");
	says(LOG_DBG_, "hello", "", "nothing above the level");
	log_max_level = LOG_DBG_;
	says(LOG_DBG_, "hello", "hello\n", "but with a higher level");
	says(LOG_INFO_, "two\nlines\x1b[2J", "two lines\\x1b[2J\n", "one line, and nothing that drives a terminal");
	says(LOG_INFO_, "https://me:pw@example.org/x", "https://example.org/x\n", "no password");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	over = logged(LOG_INFO_, text);
	ok(strlen(over) < 2100 && endswith(over, "a\n"), "a long one is cut, and ends");
	setenv("JOURNAL_STREAM", "1:2", 1);
	says(LOG_ERR_, "hello", "<3>hello\n", "the journal gets the priority, and no time");
	says(LOG_INFO_, "<3>hello", "<6><3>hello\n", "which a text cannot change");
	unsetenv("JOURNAL_STREAM");
	log_status_line(true);
	free(TAKE_PTR(plain));
	plain = logged(LOG_INFO_, "x");
	ok(startswith(plain, "\r\033[K"), "a line that changes is taken away first");
	log_status_line(false);
	ok(!getenv("KPERFBOT_STATUS_LINE"), "nobody else is told any more");
	log_status_line(true);
	log_inherit();
	ok(!getenv("KPERFBOT_STATUS_LINE"), "a child knows, and what it measures does not");
	log_status_line(false);
	return tap_done();
}
