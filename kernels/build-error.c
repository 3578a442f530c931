/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a build's log to the one line that says why it failed. */
#include "kernels/build-priv.h"
#include "lib/proc.h"

#define LINE_MAX_SHOWN 300

enum class { C_NONE, C_MAKE, C_BOX, C_SOURCE };

static const struct { enum class class; const char *needle, *prefix; } patterns[] = {
	{C_SOURCE, ": error: ", ""},
	{C_SOURCE, ": fatal error: ", ""},
	{C_SOURCE, ": Error: ", ""},                    /* the assembler */
	{C_SOURCE, "undefined reference to ", ""},
	{C_SOURCE, ": multiple definition of ", ""},
	{C_SOURCE, "ERROR: modpost: ", ""},
	{C_SOURCE, "cannot find -l", ""},
	{C_BOX, "Read-only file system", "the build tried to write outside its folders: "},
	{C_BOX, "Network is unreachable", "the build tried to reach the network: "},
	{C_BOX, "Could not resolve host", "the build tried to reach the network: "},
	{C_BOX, "Temporary failure in name resolution", "the build tried to reach the network: "},
	{C_BOX, "Name or service not known", "the build tried to reach the network: "},
	{C_BOX, "unable to resolve host", "the build tried to reach the network: "},
	{C_BOX, "Failed to connect to ", "the build tried to reach the network: "},
	{C_MAKE, " *** ", ""},
};

static const char *const tools[] = {"gcc", "cc",   "ld",  "as",	     "ar",    "make", "flex", "bison",
				    "bc",  "perl", "awk", "objcopy", "strip", "lz4",  "cpio", "python3"};

/* "sh: 1: flex: not found", "make: gcc: No such file or directory", "bc: command not found": the tool's name. */
static const char *missing_tool(const char *line)
{
	if (!strstr(line, "not found") && !strstr(line, "No such file or directory"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		_cleanup_free_ char *a = xasprintf(": %s: not found", tools[i]),
				    *b = xasprintf("%s: command not found", tools[i]),
				    *c = xasprintf("make: %s: No such file or directory", tools[i]);
		const char *at = strstr(line, b);

		if (strstr(line, a) || strstr(line, c) || (at && (at == line || at[-1] == ' ')))
			return tools[i];
	}
	return NULL;
}

bool build_tool_missing(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!proc_have(tools[i]))
			return true;
	return false;
}

/* Paths as the tree knows them, without those of the sandbox. */
static char *tidy_line(const char *line, size_t n)
{
	static const char *const drop[] = {BOX_SRC "/", BOX_OUT "/", "../src/"};
	_cleanup_free_ char *s = xstrndup(line, MIN(n, (size_t)4 * LINE_MAX_SHOWN)), *safe = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(drop); i++)
		for (char *p; (p = strstr(s, drop[i]));)
			memmove(p, p + strlen(drop[i]), strlen(p + strlen(drop[i])) + 1);
	safe = term_safe(s);
	return xstrndup(safe, LINE_MAX_SHOWN);
}

char *build_first_error(const char *log, bool kernel, bool *ret_infra)
{
	enum class best = C_NONE;
	_cleanup_free_ char *found = NULL, *last = NULL;

	for (const char *l = log, *end; *l; l = *end ? end + 1 : end) {
		_cleanup_free_ char *line = NULL;
		const char *tool;

		end = strchrnul(l, '\n');
		line = xstrndup(l, MIN(end - l, 4096));
		if (strstr(line, "No space left on device")) {
			*ret_infra = true;
			return tidy_line(l, end - l);
		}
		tool = kernel ? missing_tool(line) : NULL;
		if (tool) {
			*ret_infra = true;
			return xasprintf("'%s' is missing on this machine; install it", tool);
		}
		for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
			_cleanup_free_ char *tidy = NULL;

			if (patterns[i].class <= best || !strstr(line, patterns[i].needle))
				continue;
			tidy = tidy_line(l, end - l);
			free(found);
			found = xasprintf("%s%s", patterns[i].prefix, tidy);
			best = patterns[i].class;
		}
	}
	*ret_infra = false;
	if (found)
		return TAKE_PTR(found);
	last = last_line(log);
	return tidy_line(last, strlen(last));
}
