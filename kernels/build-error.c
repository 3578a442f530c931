/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a build's log to the one line that says why it failed. */
#include "kernels/build-internal.h"
#include "kernels/tree.h"
#include "lib/proc.h"

#include <ctype.h>

#define LINE_MAX_SHOWN 300
#define MODULES_MAX (1u << 20)

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

/* A recipe that failed: what it said stands in the line before. */
static char *recipe_failed(const char *before, const char *line, size_t n)
{
	_cleanup_free_ char *why = NULL, *make = tidy_line(line, n);
	size_t len = before ? strcspn(before, "\n") : 0;

	if (!len || !strstr(make, "] Error ") || startswith(before, "make[") || startswith(before, "make:") ||
	    (startswith(before, "  ") && before[2] >= 'A' && before[2] <= 'Z'))
		return TAKE_PTR(make);
	why = tidy_line(before, MIN(len, (size_t)LINE_MAX_SHOWN));
	return xasprintf("%s (%s)", why, make);
}

char *build_first_error(const char *log, bool kernel, bool *ret_infra)
{
	enum class best = C_NONE;
	_cleanup_free_ char *found = NULL, *last = NULL;
	const char *before = NULL;

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
			tidy = patterns[i].class == C_MAKE ? recipe_failed(before, l, end - l) : tidy_line(l, end - l);
			free(found);
			found = xasprintf("%s%s", patterns[i].prefix, tidy);
			best = patterns[i].class;
		}
		if (!startswith(line, "Stopping at filesystem boundary")) /* the second line of git's error */
			before = l;
	}
	*ret_infra = false;
	if (found)
		return TAKE_PTR(found);
	last = last_line(log);
	return tidy_line(last, strlen(last));
}

/* ---- what a checkout has not ---- */

static bool in_name(char c) { return c && (isalnum((unsigned char)c) || strchr("_-+", c)); }

/* The path as a whole: "vendor/lib/x" and "/src/vendor/lib" name vendor/lib, "vendor/library" and "vendor/lib.c" do
 * not. */
static bool names_path(const char *text, const char *path)
{
	for (const char *at = text; (at = strstr(at, path)); at++) {
		const char *end = at + strlen(path);

		if ((at == text || (!in_name(at[-1]) && at[-1] != '.')) && !in_name(*end) &&
		    (*end != '.' || !in_name(end[1])))
			return true;
	}
	return false;
}

/* A submodule's path that the text speaks of, as a new string, or NULL. */
static char *submodule_in(const char *modules, const char *text)
{
	for (const char *l = modules; *l; l += strcspn(l, "\n"), l += *l == '\n') {
		const char *p = l + strspn(l, " \t");
		_cleanup_free_ char *path = NULL;

		if (!startswith(p, "path"))
			continue;
		p += strlen("path");
		p += strspn(p, " \t");
		if (*p++ != '=')
			continue;
		p += strspn(p, " \t");
		path = xstrndup(p, MIN(strcspn(p, "\r\n"), (size_t)LINE_MAX_SHOWN));
		if (strlen(path) > 1 && names_path(text, path))
			return TAKE_PTR(path);
	}
	return NULL;
}

char *build_error_hint(const struct build_job *j, const char *log, const char *error)
{
	bool compiler = strstr(error, ": error: ") || strstr(error, ": fatal error: ");
	_cleanup_buf_ struct buf modules = {0}, attributes = {0};
	_cleanup_free_ char *path = NULL;

	if (tree_file_at(j->q->git_dir, j->q->commit, ".gitmodules", &modules) >= 0 && modules.len <= MODULES_MAX)
		path = submodule_in(buf_str(&modules), error);
	if (path) {
		_cleanup_free_ char *shown = term_safe(path);

		return xasprintf("; '%s' is a submodule, and submodules are not fetched", shown);
	}
	if (!compiler && strstr(log, "not a git repository"))
		return xstrdup("; it asked git, and a build sees no history");
	if (!compiler && tree_file_at(j->q->git_dir, j->q->commit, ".gitattributes", &attributes) >= 0 &&
	    strstr(buf_str(&attributes), "filter=lfs"))
		return xstrdup("; files of Git LFS are pointers here");
	return NULL;
}
