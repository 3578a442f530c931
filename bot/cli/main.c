/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/verb.h"
#include "kernels/box.h"
#include "kernels/tree.h"
#include "lib/log.h"
#include "lib/version.h"

#include <locale.h>
#include <sys/stat.h>

static void usage(FILE *out)
{
	fputs("usage: kperfbot [--config DIR] [--state DIR] [--verbose | --quiet] VERB ...\n\n"
	      "Watches kernel trees, builds and boots their commits, measures them, finds the commit that changed\n"
	      "performance and reports it.\n\n",
	      out);
	for (const struct verb *const *v = verbs; *v; v++)
		if ((*v)->summary[0] != '(') /* internal ones */
			fprintf(out, "  %-10s %s\n", (*v)->name, (*v)->summary);
	fputs("\n'kperfbot VERB --help' tells more. Exit codes: 0 done, 1 no or failed, 2 wrong use, 3 not found,\n"
	      "130 stopped before the end (run, bisect).\n", out);
}

/* Errors before and within the options are JSON, too, wherever --json stands. */
static bool json_wanted(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--json"))
			return true;
	return false;
}

static int unknown_verb(const struct ctx *c, const char *name)
{
	const char *names[64], *near;
	size_t n = 0;

	for (const struct verb *const *v = verbs; *v && n < ARRAY_SIZE(names); v++)
		names[n++] = (*v)->name;
	near = nearest_word(name, names, n);
	return verb_usage(c, "unknown verb '%s'%s%s%s; 'kperfbot --help' lists them", name,
			  near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Only "config" may run with a broken configuration: it is the one to say what is wrong with it. */
static int load_config(struct ctx *c, const struct verb *v, const char *config_dir, const char *state_dir)
{
	int r;

	if (state_dir)
		setenv("KPERFBOT_STATE", state_dir, 1);
	if (config_dir)
		setenv("KPERFBOT_CONFIG", config_dir, 1);
	if (!strcmp(v->name, "config") || !strcmp(v->name, "man"))
		return 0;
	r = config_load(NULL, &c->config);
	if (r < 0)
		return verb_fail(c, r);
	tree_keep_free((uint64_t)c->config.min_free_mb << 20);
	box_set_mode(c->config.sandbox == SANDBOX_NONE ? BOX_NONE : BOX_ISOLATED);
	return 0;
}

/* A full disk or a closed pipe behind stdout must not look like success. */
static int finish(int r)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return r;
	err_set(-EIO, "cannot write the output: %s", strerror(errno));
	return verb_fail(NULL, -EIO);
}

int main(int argc, char **argv)
{
	const char *config_dir = NULL, *state_dir = NULL;
	struct ctx c = {0};
	const struct verb *v;
	int i = 1, r;

	setlocale(LC_CTYPE, "C.UTF-8"); /* numbers stay locale-free */
	umask(022); /* builds are read under another uid; private are the folders around them */
	log_inherit();
	c.json = json_wanted(argc, argv);
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			usage(stdout);
			return finish(EXIT_DONE);
		} else if (!strcmp(argv[i], "--version")) {
			printf("kperfbot %s\n", kperfbot_version);
			return finish(EXIT_DONE);
		} else if (!strcmp(argv[i], "--verbose")) {
			log_max_level = LOG_DBG_;
		} else if (!strcmp(argv[i], "--quiet")) {
			log_max_level = LOG_WARN_;
		} else if (startswith(argv[i], "--config=")) {
			config_dir = argv[i] + strlen("--config=");
		} else if (startswith(argv[i], "--state=")) {
			state_dir = argv[i] + strlen("--state=");
		} else if (!strcmp(argv[i], "--config") || !strcmp(argv[i], "--state")) {
			if (i + 1 == argc)
				return verb_usage(&c, "option '%s' needs a folder", argv[i]);
			*(argv[i][2] == 'c' ? &config_dir : &state_dir) = argv[i + 1];
			i++;
		} else {
			return verb_usage(&c, "unknown option '%s' before the verb; 'kperfbot --help' lists them",
					  argv[i]);
		}
	}
	if (i >= argc) {
		usage(stderr);
		return EXIT_USAGE;
	}
	c.given_config = config_dir;
	c.given_state = state_dir;
	v = verb_find(argv[i]);
	if (!v)
		return unknown_verb(&c, argv[i]);
	r = load_config(&c, v, config_dir, state_dir);
	if (r == 0)
		r = v->run(argc - i, argv + i, &c);
	store_close(c.store);
	config_release(&c.config);
	return finish(r);
}
