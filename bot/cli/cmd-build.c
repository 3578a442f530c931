/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/ask.h"
#include "bot/engine/points.h"
#include "kernels/build.h"
#include "kernels/tree.h"
#include "lib/fs.h"

#include <json-c/json.h>
#include <signal.h>

extern const struct verb verb_build;

static volatile int stop;

static void on_signal(int sig _unused_) { stop = 1; }

#define LINE_EVERY (60 * USEC_PER_SEC)

/* On a terminal one line that changes, else one a minute: the log has it all. */
struct build_view { bool on, terminal; usec_t start, last; unsigned lines; char *usual; };

static void show(void *arg, const char *line)
{
	struct build_view *v = arg;
	_cleanup_free_ char *safe = term_safe(line), *since = progress_time((mono_usec() - v->start) / 1e6);

	v->lines++;
	if (!v->on || (!v->terminal && mono_usec() - v->last < LINE_EVERY))
		return;
	fprintf(stderr, "%s[%s%s] %5u lines  %.80s%s", v->terminal ? "\r\033[K" : "", since, v->usual, v->lines, safe,
		v->terminal ? "" : "\n");
	v->last = mono_usec();
}

/* Which commit, and how long such a build took as a rule. */
static void begin(struct ctx *c, const struct asked *a, const char *commit, struct build_view *v)
{
	struct build_costs k = {.clean = NAN, .incremental = NAN};
	_cleanup_free_ char *time = NULL;
	double s;

	(void)store_build_costs(c->store, a->tree.id, a->tcfg.kconfig, &k);
	s = isfinite(k.incremental) ? k.incremental : k.clean;
	time = progress_time(s);
	v->usual = isfinite(s) && s >= 1 ? xasprintf(", usually %s", time) : xstrdup("");
	v->start = v->last = mono_usec();
	if (v->on)
		term_printf(stderr, "building %.12s of %s (%s)%s\n", commit, a->tree.name, a->tcfg.kconfig, v->usual);
}

static int keep_row(struct ctx *c, const struct asked *a, const struct build_request *q, const struct build_result *b)
{
	struct db_build row = {.tree = a->tree.id, .commit = (char *)q->commit, .kconfig = (char *)q->kconfig,
			       .state = b->state, .image_path = b->image_path, .image_hash = b->image_hash,
			       .config_hash = b->config_hash, .source_hash = b->source_hash, .toolchain = b->toolchain,
			       .error = b->error, .warnings = b->warnings, .log_path = b->log_path,
			       .seconds = b->seconds,
			       .exposed = !b->isolated, .clean = b->clean, .cached = b->cached, .time = now_usec()};

	return b->state == BUILD_INFRA ? 0 : store_build_put(c->store, &row, NULL);
}

static void print_json(const struct build_request *q, const struct build_result *b)
{
	const struct { const char *key, *text; } texts[] = {
		{"commit", q->commit}, {"kconfig", q->kconfig}, {"state", build_state_word(b->state)},
		{"image", b->image_path},
		{"image_hash", b->image_hash}, {"config_hash", b->config_hash}, {"source_hash", b->source_hash},
		{"toolchain", b->toolchain}, {"error", b->error}, {"warnings", b->warnings}, {"log", b->log_path},
	};
	struct json_object *o = json_object_new_object();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_object_object_add(o, texts[i].key, json_text(texts[i].text));
	json_object_object_add(o, "seconds", json_object_new_double(b->seconds));
	json_object_object_add(o, "cached", json_object_new_boolean(b->cached));
	json_object_object_add(o, "isolated", json_object_new_boolean(b->isolated));
	json_print(stdout, o, true);
	json_object_put(o);
}

static void print_text(const struct build_request *q, const struct build_result *b)
{
	_cleanup_free_ char *warnings = xstrdup(b->warnings);

	term_printf(stdout, "%.12s %s: %s, %.1f s%s\n", q->commit, q->kconfig, build_state_word(b->state), b->seconds,
		    b->cached ? " (kept from before)" : "");
	if (b->error)
		term_printf(stdout, "error: %s\n", b->error);
	for (char *save = NULL, *l = warnings ? strtok_r(warnings, "\n", &save) : NULL; l;
	     l = strtok_r(NULL, "\n", &save))
		term_printf(stdout, "warning: %s\n", l);
	if (!b->isolated)
		puts("not isolated: the tree's code ran with your rights (sandbox: none)");
	if (b->image_path)
		term_printf(stdout, "image: %s\nsha256: %s\n", b->image_path, b->image_hash);
	if (b->log_path)
		term_printf(stdout, "log: %s\n", b->log_path);
}

/* The commit, with the series on top where there is one. */
static int find_commit(struct ctx *c, const struct asked *a, const char *rev, const char *patches, char **ret)
{
	_cleanup_free_ char *base = NULL;
	int r = ask_commit(c, a, rev, &base);

	if (r >= 0 && patches && !streq(patches, "none"))
		return points_patch(c->store, &a->tree, a->git_dir, base, patches, true, ret);
	if (r >= 0)
		*ret = TAKE_PTR(base);
	return r;
}

static int build(struct ctx *c, const char *rev, const char *patches, const char *tree, const char *kconfig,
		 const struct strv *options, bool quiet, bool *ret_ok)
{
	_cleanup_(asked_release) struct asked a = {0};
	_cleanup_(build_result_release) struct build_result b = {0};
	_cleanup_free_ char *commit = NULL, *log = NULL, *usual = NULL;
	struct build_view v = {.on = !quiet, .terminal = isatty(2)};
	struct build_request q;
	int r = ask_tree(c, tree, &a);

	if (r >= 0 && kconfig)
		r = ask_kconfig(&a, kconfig);
	if (r >= 0)
		r = find_commit(c, &a, rev, patches, &commit);
	if (r < 0)
		return r;
	log = xasprintf("%s/logs/build-by-hand-%d.log", c->config.state_dir, getpid());
	q = (struct build_request){.kind = a.tcfg.program ? BUILD_PROGRAM : BUILD_KERNEL, .tree = a.tree.name,
				   .git_dir = a.git_dir, .commit = commit, .kconfig = a.tcfg.kconfig,
				   .options = (const char *const *)options->v, .command = a.tcfg.build_command,
				   .artefact = a.tcfg.artefact, .state_dir = c->config.state_dir,
				   .cache_dir = c->config.cache_dir, .log_path = log, .jobs = c->config.build_jobs,
				   .timeout_s = c->config.build_timeout_s,
				   .max_memory = (uint64_t)c->config.build_memory_mb << 20,
				   .max_disk = c->config.build_disk_mb << 20, .max_files = c->config.build_files,
				   .cancel = &stop, .on_line = show, .on_line_arg = &v};
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	begin(c, &a, commit, &v);
	usual = v.usual;
	r = build_commit(&q, &b);
	if (v.on && v.terminal && v.lines)
		fputs("\r\033[K", stderr);
	if (r >= 0 && !options->n) /* a variant is not the build that comparisons speak of */
		r = keep_row(c, &a, &q, &b);
	if (r < 0)
		return r;
	*ret_ok = b.state == BUILD_OK;
	(c->json ? print_json : print_text)(&q, &b);
	return 0;
}

static int run(int argc, char **argv, struct ctx *c)
{
	const char *tree = NULL, *kconfig = NULL, *patches = NULL;
	_cleanup_strv_ struct strv options = {0};
	bool quiet = false;
	const struct opt opts[] = {
		OPT_TEXT(0, "patches", "FILE", &patches,
			 "apply this patch series first: an mbox, a mail, a folder or list of patches"),
		OPT_TEXT('t', "tree", "NAME", &tree, "the tree (needed when there are several)"),
		OPT_TEXT('k', "kconfig", "NAME", &kconfig, "kernel config (default: the tree's)"),
		OPT_LIST('o', "option", "CONFIG_X=y", &options, "one more config line (repeatable)"),
		OPT_FLAG(0, "quiet", &quiet, "say nothing but the result and what goes wrong"),
		OPT_END,
	};
	bool good = false;
	int e = verb_options(&verb_build, &argc, &argv, opts, c), r;

	if (e >= 0)
		return e;
	if (argc != 1)
		return verb_usage(c, "build: which commit? write 'kperfbot build COMMIT --tree NAME'");
	r = ctx_store(c, false);
	if (r >= 0)
		r = build(c, argv[0], patches, tree, kconfig, &options, quiet, &good);
	return r < 0 ? verb_fail(c, r) : good ? EXIT_DONE : EXIT_NO;
}

const struct verb verb_build = {
	.name = "build",
	.usage = "COMMIT [--patches FILE] [--tree NAME] [--kconfig NAME] [--quiet]",
	.summary = "build one commit now",
	.text = "COMMIT is any git revision of the tree's mirror. The build runs in a sandbox without network. An\n"
		"earlier build of the same files, config and compiler is used again.\n\n"
		"Exit status: 0 it builds; 1 it does not, or it was stopped; 2 wrong use; 3 no such commit or tree.\n\n"
		"--patches builds COMMIT with a patch series on top, applied as git am does. That makes a separate\n"
		"commit, whose id is always the same for the same two, and which is COMMIT+NAME from then on (NAME:\n"
		"the file's name without suffix).",
	.run = run,
};
