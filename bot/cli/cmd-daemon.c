/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/daemon-progress.h"
#include "bot/daemon.h"
#include "bot/watch.h"
#include "bot/work.h"
#include "lib/log.h"
#include "lib/proc.h"

#include <signal.h>
#include <sys/prctl.h>

extern const struct verb verb_daemon, verb_work;

static int run_daemon(int argc, char **argv, struct ctx *c)
{
	struct daemon_progress shown = {0};
	bool idle = false, progress = false;
	const char *since = NULL;
	const struct opt opts[] = {
		OPT_FLAG(0, "until-idle", &idle, "end when nothing is left to do"),
		OPT_FLAG('p', "progress", &progress,
			 "show on stdout what happens, and how much longer the oldest open question will take"),
		OPT_TEXT(0, "since", "TIME", &since,
			 "progress: show and count from this time on: 2024-05-01T12:00 (UTC), or an age like 10m"),
		OPT_END,
	};
	struct daemon_options o = {0};
	int r = verb_options(&verb_daemon, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	if (argc)
		return verb_usage(c, "'%s': daemon takes no operands", argv[0]);
	if (since && !progress)
		return verb_usage(c, "--since belongs to --progress");
	o.once_idle = idle;
	if (ctx_private_folders(&c->config) > 0)
		log_warn("'%s' stays readable for others since it holds other things, too: give the state a folder of "
			 "its own", c->config.state_dir);
	if (progress) {
		o.tick = daemon_progress_tick;
		o.arg = &shown;
		o.by_hand = true;
		r = ctx_store(c, false);
		if (r >= 0)
			r = daemon_progress_begin(&shown, c, since);
		if (r < 0)
			return verb_fail(c, r);
	}
	r = daemon_run(c, &o);
	if (progress)
		daemon_progress_end(&shown, c);
	return r < 0 ? verb_fail(c, r) : EXIT_DONE;
}

const struct verb verb_daemon = {
	.name = "daemon",
	.usage = "[--until-idle] [--progress [--since TIME]]",
	.summary = "watch the trees, build, boot, measure, judge, bisect, report",
	.text = "Runs in the foreground and logs to stderr; etc/kperfbot.service runs it under systemd. SIGTERM and\n"
		"Ctrl-C stop it cleanly. SIGHUP reads the configuration again; until then the one read at the start\n"
		"holds, whatever happens to the files. All state is in the database: after kill -9 or a power cut the\n"
		"next start resumes where the last one was. 'kperfbot queue list' shows what it is doing.\n"
		"--progress is for a person at a terminal. It assumes that there is a change to be found: where there\n"
		"is none, a question takes less time than shown. A closed terminal stops the daemon, too, and SIGHUP\n"
		"does not read the configuration again.\n"
		"At most 16 trees are fetched at once, and one from each server. A tree's mirror gets at most a\n"
		"quarter of the disk that the state folder is on. A tree has at most 100 open comparisons of new\n"
		"heads; more branches wait for their turn.",
	.run = run_daemon,
};

static volatile int cancelled;
static void on_term(int sig _unused_) { cancelled = 1; }

/* Started by the daemon only; not shown in --help. */
static int run_work(int argc, char **argv, struct ctx *c)
{
	struct sigaction sa = {.sa_handler = on_term};
	int64_t id;
	int r;

	if (argc != 3)
		return verb_usage(c, "work is started by the daemon");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	proc_cancel_on(&cancelled);
	r = ctx_store(c, false);
	if (r >= 0 && streq(argv[1], "fetch"))
		r = watch_fetch(c, argv[2], false);
	else if (r >= 0 && streq(argv[1], "task"))
		r = parse_i64(argv[2], &id) < 0 ? -EINVAL : work_task(c, id, &cancelled);
	else if (r >= 0)
		r = err_set(-EINVAL, "work task ID or work fetch TREE");
	if (r < 0)
		log_debug("%s", err_msg());
	return r < 0 ? EXIT_NO : EXIT_DONE;
}

const struct verb verb_work = {
	.name = "work", .usage = "task ID\nfetch TREE", .summary = "(used by the daemon)", .text = "", .run = run_work};
