/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A case in a database in memory, a git tree, and the mail that comes of them: byte for byte as in
 * tests/fixtures/report/ (KPB_WRITE_FIXTURES=1 writes them anew), and in the order of blocks of a real LKP mail.
 */
#include "bot/engine/points.h"
#include "db/setup.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "reporters/facts.h"
#include "reporters/recipients.h"
#include "tests/unit/given.h"
#include <sys/stat.h>

#define T0 1712130833ULL        /* 3 Apr 2024, 07:53:53 */
static char top[PATH_MAX], tmp[] = "/tmp/kpb-report-XXXXXX";
static char *good, *bad;

/* ---- the world ---- */

static void git(const char *const *args)
{
	_cleanup_strv_ struct strv a = {0};
	struct buf out = {0};

	strv_addv(&a, ARGV("git", "-C", "src", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=master"));
	strv_addv(&a, args);
	if (proc_ok((const char *const *)a.v, NULL, &out) < 0) {
		printf("Bail out! %s\n", err_msg());
		exit(1);
	}
	buf_release(&out);
}

static char *head(void)
{
	struct buf out = {0};

	if (proc_ok(ARGV("git", "-C", "src", "rev-parse", "HEAD"), NULL, &out) < 0)
		exit(1);
	out.s[strcspn(out.s, "\n")] = 0;
	return buf_take(&out);
}

static void commit(const char *path, const char *text, const char *message)
{
	_cleanup_free_ char *full = xasprintf("src/%s", path);

	fs_mkdir_parent(full);
	fs_write_atomic(full, text, strlen(text));
	git(ARGV("add", "-A"));
	git(ARGV("commit", "-q", "-m", message));
}

static void make_tree(void)
{
	static const char maintainers[] =
		"Maintainers List\n----------------\n\nNETWORKING [UNIX SOCKETS]\nM:\tKim Example <kim@example.org>\n"
		"L:\tnetdev@example.org\nS:\tMaintained\nF:\tnet/unix/\n\nTHE REST\nM:\tLast Example <last@example.org>\n"
		"L:\tlinux-kernel@example.org\nF:\t*\nF:\t*/\n";

	fs_mkdir_p("src");
	setenv("GIT_AUTHOR_NAME", "J\xc3\xbcrgen Example", 1);
	setenv("GIT_AUTHOR_EMAIL", "juergen@example.org", 1);
	setenv("GIT_COMMITTER_NAME", "Carla Committer", 1);
	setenv("GIT_COMMITTER_EMAIL", "carla@example.org", 1);
	setenv("GIT_AUTHOR_DATE", "1712000000 +0000", 1);
	setenv("GIT_COMMITTER_DATE", "1712000000 +0000", 1);
	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	git(ARGV("init", "-q"));
	commit("MAINTAINERS", maintainers, "start");
	commit("net/unix/garbage.c", "int inflight;\n", "net: dsa: fix digital interface select macro for EXT0");
	good = head();
	commit("net/unix/garbage.c", "int inflight, files;\n", "af_unix: count the files in flight");
	bad = head();
	commit("Documentation/x", "x\n", "Documentation: say x");
}

static int64_t put_build(struct store *s, int64_t tree, const char *oid, const char *hash)
{
	struct db_build b = {.tree = tree, .commit = (char *)oid, .kconfig = (char *)"vm-min", .state = BUILD_OK,
			     .image_path = (char *)"img/bzImage", .image_hash = (char *)hash, .time = T0 * USEC_PER_SEC,
			     .toolchain = (char *)"gcc (Debian 12.2.0-14) 12.2.0, GNU ld 2.40", .seconds = 100};
	int64_t id;

	is_int(store_build_put(s, &b, &id), 0, "a build is stored");
	return id;
}

static void put_runs(struct store *s, int64_t build, const char *job, int64_t machine, double level)
{
	for (int i = 0; i < 8; i++) {
		_cleanup_(metric_set_release) struct metric_set m = {0};
		_cleanup_free_ char *boot = xasprintf("boot-%" PRId64 "-%d", build, i);
		struct db_run r = {.build = build, .machine = machine, .replicate = i, .job = (char *)job, .boot = boot,
				   .verdict = RUN_OK, .root_image = (char *)"0123456789abcdef0123456789abcdef",
				   .started = (T0 - 5000 + 60 * i) * USEC_PER_SEC, .seconds = 20, .boot_seconds = 3};
		double jitter = (i * 7 % 5 - 2) * 0.5;
		int64_t id;

		metric_set_add(&m, "stress-ng.sockfd.ops_per_sec", level / 5 + jitter / 5, "ops/s", 1, true);
		metric_set_add(&m, "stress-ng.sockfd.ops", level + jitter, "ops", 1, false);
		metric_set_add(&m, "icount.instructions_per_op", 10800 * 57751 / (level + jitter), "insns", -1, true);
		metric_set_add(&m, "vmstat.system.in", 250 + i % 3, NULL, 0, false);
		if (store_run_put(s, &r, &m, &id) < 0)
			ok(false, "a run is stored: %s", err_msg());
	}
}

static char *put_job(struct store *s)
{
	static const char yaml[] =
		"suite: stress-ng\ntestcase: stress-ng\ncategory: benchmark\nnr_threads: 1\ntesttime: 5s\n"
		"stress-ng:\n  test: sockfd\n";
	struct job_list l = {0};
	struct db_job j = {0};
	char *id = NULL;

	fs_write_atomic("sockfd.yaml", yaml, strlen(yaml));
	if (!ok(job_load("sockfd.yaml", NULL, NULL, &l) == 0 && job_to_db(&l.v[0], &j) == 0, "the job loads"))
		printf("# %s\n", err_msg());
	is_int(store_job_put(s, &j), 0, "the job is stored");
	id = xstrdup(j.id);
	db_job_release(&j);
	job_list_release(&l);
	return id;
}

struct world { struct store *s; int64_t tree, comparison, good_build, bad_build; };

static void make_world(struct world *w, const char *url, double good_level, double bad_level)
{
	struct db_tree t = {.name = (char *)"linus", .url = (char *)url, .kind = (char *)"kernel", .enabled = true,
			    .settings = (char *)"{\"mail_cc\": [\"oe-lkp@example.org\"]}"};
	struct db_machine m = {.name = (char *)"qemu-icount",
			       .driver = (char *)"qemu-icount",
			       .tbox_group = (char *)"vm-icount-1p",
			       .settings = (char *)"{}",
			       .description = (char *)"QEMU 7.2 TCG, 1 CPU (qemu64) with 512M memory"};
	struct db_comparison c = {
		.branch = (char *)"master", .base = good, .kconfig = (char *)"vm-min", .created = T0 * USEC_PER_SEC};
	_cleanup_free_ char *job = NULL, *tip = head();

	is_int(store_open(":memory:", false, &w->s), 0, "a database in memory");
	is_int(store_tree_put(w->s, &t, &w->tree), 0, "a tree");
	is_int(store_machine_put(w->s, &m, &c.machine), 0, "a machine");
	job = put_job(w->s);
	c.tree = w->tree;
	c.head = tip;
	c.job = job;
	c.state = COMPARISON_OPEN;
	is_int(store_comparison_put(w->s, &c, &w->comparison), 0, "a comparison");
	w->good_build = put_build(w->s, w->tree, good, "aa");
	w->bad_build = put_build(w->s, w->tree, bad, "bb");
	put_runs(w->s, w->good_build, job, c.machine, good_level);
	put_runs(w->s, w->bad_build, job, c.machine, bad_level);
}

static int64_t put_case(struct world *w, const char *metric, const char *culprit, struct db_proof *proof, double effect)
{
	struct db_case c = {.comparison = w->comparison, .metric = (char *)metric, .state = CASE_FOUND,
			    .culprit = (char *)culprit, .confidence = 0.99,
			    .effect = effect, .effect_lo = effect - 0.0002, .effect_hi = effect + 0.0002,
			    .posterior = 0.99763,
			    .boots = 41, .builds = 6, .opened = (T0 - 9000) * USEC_PER_SEC,
			    .changed = T0 * USEC_PER_SEC};
	int64_t id = 0;

	is_int(store_case_put(w->s, &c, &id), 0, "a case");
	if (proof) {
		proof->case_id = id;
		is_int(store_proof_put(w->s, proof), 0, "its proof");
	}
	return id;
}

static struct db_proof proof_of(double effect, double a, double b)
{
	struct db_proof p = DB_PROOF_INIT;

	p.state = PROOF_SHOWN;
	p.commit = bad;
	p.parent = good;
	p.boots_parent = p.boots_culprit = 8;
	p.mean_parent = a;
	p.mean_culprit = b;
	p.effect = effect;
	p.lo = effect - 1e-4;
	p.hi = effect + 1e-4;
	p.p = 3.1e-9;
	return p;
}

static const struct report_config config = {
	.robot_name = "kperfbot", .robot_address = "bot@robot.example.org", .reproduce_dir = "cases",
	.max_recipients = 20,
	.settings = &settings,
};

static char *compose(struct world *w, int64_t id, const struct report_config *cfg, struct db_report *rep)
{
	int64_t report;

	is_int(report_compose(w->s, id, "src/.git", cfg, &report), 0, "composed");
	is_int(store_report_by_case(w->s, id, rep), 0, "and stored");
	return rep->text ? rep->text : (char *)"";
}

/* ---- tests ---- */

static void is_fixture(const char *text, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/tests/fixtures/report/%s", top, name);
	_cleanup_buf_ struct buf want = {0};

	if (getenv("KPB_WRITE_FIXTURES"))
		fs_write_atomic(path, text, strlen(text));
	if (fs_read(path, 0, &want) < 0)
		ok(false, "%s", err_msg());
	else if (!ok(streq(buf_str(&want), text), "the mail is that of tests/fixtures/report/%s", name))
		printf("# see 'git diff' after a run with KPB_WRITE_FIXTURES=1\n");
}

/* The blocks of a mail of LKP in their order: seed mail of 3 Apr 2024 with the lines that came since (config,
 * compiler). */
static void has_layout(const char *text)
{
	static const char *const order[] = {
		"\n\n\nHello,\n\nkperfbot noticed a ", "\n\n\ncommit: ",
		" (\"af_unix: count the files in flight\")\nhttps://", " master\n",
		"\nposterior: ", "\nproof: ", "\nseen between: ", "\nspent: ", "\nmeasured on: ", "\nreproduce: ",
		"\n\ntestcase: ",
		"\nconfig: ", "\ncompiler: ", "\ntest machine: ", "\nparameters:\n\n\t", "\ttesttime: 5s\n",
		"\ttest: sockfd\n", "\n\n\n",
		"| Reported-by: kperfbot <", "| Closes: https://lore.kernel.org/r/kperfbot.",
		"\n\n\nDetails are as below:\n-----------",
		"->\n\n\n", "The kernel config and materials to reproduce are available at:\n",
		"\n=====================================",
		"\ncompiler/kconfig/", ":\n  gcc-12/vm-min/", "\n\ncommit: \n  ", "\n  ", "\n---------------- ",
		"         %stddev     %change         %stddev\n             \\          |                \\  \n",
		"stress-ng.sockfd.ops_per_sec\n", "\n\nDisclaimer:\n", "\n\n\n-- \nkperfbot\n", NULL};
	const char *at = text;

	for (size_t i = 0; order[i]; i++) {
		const char *p = strstr(at, order[i]);

		if (!ok(p != NULL, "block %zu follows", i))
			printf("# no '%s'\n", order[i]);
		at = p ? p : at;
	}
}

static void test_regression(void)
{
	struct world w = {0};
	_cleanup_(db_report_release) struct db_report rep = {0};
	struct db_proof proof;
	_cleanup_buf_ struct buf script = {0};
	int64_t id, again;
	const char *text;

	make_world(&w, "https://git.example.org/linux.git", 57751, 57618);
	proof = proof_of(-0.0023, 11550.2, 11523.6);
	id = put_case(&w, "stress-ng.sockfd.ops_per_sec", bad, &proof, -0.0024);
	is_int(store_candidates_put(w.s, id, &(struct db_candidate){id, bad, CANDIDATE_DROPPED, DROPPED_DOCS, NAN}, 1),
	       0, "one was dropped");
	text = compose(&w, id, &config, &rep);
	is_fixture(text, "regression.eml");
	has_layout(text);
	ok(startswith(rep.subject, "[linus:master] [af_unix]  ") &&
		   endswith(rep.subject, ":  stress-ng.sockfd.ops_per_sec 0.23% regression"),
	   "subject: %s", rep.subject);
	ok(strstr(text, "counts") || strstr(text, "count instructions"), "it says that instructions were counted");
	ok(strstr(text, "\nX-kperfbot-would-go-to: =?utf-8?Q?J=C3=BCrgen_Example?= <juergen@example.org>\n") != NULL,
	   "the author would get it");
	ok(strstr(text, "\nTo: kperfbot <bot@robot.example.org>\n") != NULL,
	   "but with an empty allow-list only the robot's owner does");
	ok(strstr(text, "<kim@example.org> M: NETWORKING [UNIX SOCKETS]") != NULL, "the maintainer has a reason");
	ok(!strstr(text, "\nCc:"), "nobody is in copy");
	is_int(report_compose(w.s, id, "src/.git", &config, &again), -EEXIST, "there is one report of a case");
	is_int(report_deliver(w.s, id, "smtp", &config), -EUNATCH, "SMTP sends to nobody: %s", err_msg());
	ok(fs_exists("cases/case-1/reproduce.sh") && fs_exists("cases/case-1/job.sh") &&
		   fs_exists("cases/case-1/config"),
	   "the case has its folder");
	ok(proc_ok(ARGV("sh", "-n", "cases/case-1/reproduce.sh"), NULL, &script) == 0, "its script is a shell script");
	store_close(w.s);
}

/* What the checks of both kernels' runs saw stands under the proof. */
static void test_validity(void)
{
	struct world w = {0};
	_cleanup_(db_report_release) struct db_report rep = {0};
	struct db_proof proof;
	const char *text;

	make_world(&w, "https://git.example.org/linux.git", 57751, 57618);
	for (int run = 1; run <= 16; run++) {
		struct check_set c = {0};

		check_set_add(&c, "generator", run == 3 ? CHECK_FAIL : CHECK_PASS,
			      run == 3 ? "offered %d, \033[1mreceived 100" : "offered %d", run);
		if (run > 8)
			check_set_add(&c, "steady", CHECK_PASS, "+0.1%%");
		is_int(store_checks_put(w.s, run, &c), 0, "checks of run %d", run);
		check_set_release(&c);
	}
	proof = proof_of(-0.0023, 11550.2, 11523.6);
	text = compose(&w, put_case(&w, "stress-ng.sockfd.ops_per_sec", bad, &proof, -0.0024), &config, &rep);
	ok(strstr(text, "\nvalidity:\n  generator: passed in 15 of 16 boots, failed in 1 (not used); offered 3, ") !=
		   NULL,
	   "counted, with the worst");
	ok(strstr(text, "\n  steady: passed in 8 of 8 boots; +0.1%\n") != NULL, "a check that only one side has");
	ok(!strchr(text, '\033'), "evidence drives no terminal");
	store_close(w.s);
}

/* One sign in all of a mail, and no percentage of 0. */
static void test_odd_levels(void)
{
	struct world w = {0}, z = {0};
	_cleanup_(db_report_release) struct db_report rep = {0}, zero = {0};
	struct db_proof proof = proof_of(-0.125, -40, -45), from_0 = proof_of(1, 0, 5);
	const char *text;

	make_world(&w, "https://git.example.org/linux.git", -200, -225);
	text = compose(&w, put_case(&w, "stress-ng.sockfd.ops_per_sec", bad, &proof, -0.125), &config, &rep);
	ok(strstr(text, "-40 -> -45, -12.50%") != NULL, "the proof of a negative level that falls");
	ok(strstr(text, "-12.5%     -45.00 ") && !strstr(text, "+12.5"), "the table has the same sign");
	ok(strstr(rep.subject, " 12.5% regression") != NULL, "subject: %s", rep.subject);
	store_close(w.s);
	make_world(&z, "https://git.example.org/linux.git", 0, 25);
	text = compose(&z, put_case(&z, "stress-ng.sockfd.ops_per_sec", bad, &from_0, 1), &config, &zero);
	ok(strstr(text, "0 -> 5, no") != NULL, "the proof of a change from 0");
	ok(endswith(zero.subject, "ops_per_sec improvement") && strstr(text, "noticed an improvement of "),
	   "subject: %s", zero.subject);
	ok(strstr(text, "      0.00 ") && strstr(text, "   from 0        5.00 ") && !strstr(text, "e+"), "the table");
	store_close(z.s);
}

/* The table has boots that were measured otherwise than the others: the mail names what differs. */
static void test_measured_otherwise(void)
{
	struct world w = {0};
	_cleanup_(db_report_release) struct db_report rep = {0};
	struct db_proof proof = proof_of(-0.0023, 11550.2, 11523.6);
	const char *text;

	make_world(&w, "https://git.example.org/linux.git", 57751, 57618);
	for (int run = 1; run <= 16; run++)
		is_int(store_setup_put(w.s, run,
				       run <= 3 ? "file usr/bin/stress-ng\t0.15\n"
						: "file usr/bin/stress-ng\t\033[1m0.16\n"),
		       0, "what measured run %d", run);
	text = compose(&w, put_case(&w, "stress-ng.sockfd.ops_per_sec", bad, &proof, -0.0024), &config, &rep);
	ok(strstr(text, "\nmeasured otherwise: between boots of the table below (not of the proof):") != NULL,
	   "is said on the first screen");
	ok(strstr(text, "usr/bin/stress-ng 0.15 -> ") && !strchr(text, '\033'),
	   "with the file's name, which drives no terminal");
	store_close(w.s);
}

/* A difference that the changed functions cannot have made is reported all the same, and with a warning. */
static void test_reach(void)
{
	static const struct { enum check_verdict verdict; const char *says; bool warns; } cases[] = {
		{CHECK_PASS, "\n  reach: passed: 1 of 1 changed function executed\n", false},
		{CHECK_FAIL, "\n  reach: failed: this benchmark never executes f\n", true},
		{CHECK_UNKNOWN, "\n  reach: unknown: inlined\n", false},
	};
	static const char *const evidence[] = {"1 of 1 changed function executed", "this benchmark never executes f",
					       "inlined"};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w = {0};
		struct db_comparison cmp = {0};
		_cleanup_(db_report_release) struct db_report rep = {0};
		struct db_proof proof = proof_of(-0.0023, 11550.2, 11523.6);
		const char *text;

		make_world(&w, "https://git.example.org/linux.git", 57751, 57618);
		is_int(store_comparison_by_id(w.s, w.comparison, &cmp), 0, "the comparison");
		const struct db_pair_check k = {.build = w.bad_build,
						.base = good,
						.job = cmp.job,
						.tbox_group = (char *)"vm-icount-1p",
						.name = (char *)"reach",
						.verdict = cases[i].verdict,
						.evidence = (char *)evidence[i]};

		is_int(store_pair_check_put(w.s, &k), 0, "was it reached: %s", check_verdict_word(k.verdict));
		text = compose(&w, put_case(&w, "stress-ng.sockfd.ops_per_sec", bad, &proof, -0.0024), &config, &rep);
		ok(strstr(text, cases[i].says) != NULL, "the mail says so:%s", cases[i].says);
		ok(!strstr(text, "\nwarning: the job never executes the changed functions") == !cases[i].warns,
		   "a warning only where it failed");
		db_comparison_release(&cmp);
		store_close(w.s);
	}
}

static void test_allowed(void)
{
	static const char *const allow[] = {"*@example.org", NULL},
	*const cc[] = {"perf list <perf@example.org>", NULL};
	struct report_config cfg = config;
	struct world w = {0};
	_cleanup_(db_report_release) struct db_report rep = {0};
	struct db_proof proof = proof_of(0.069, 100, 106.9);
	int64_t id;
	const char *text;

	cfg.allow = allow;
	cfg.always_cc = cc;
	make_world(&w, "https://git.example.org/linux.git", 50000, 53450);
	id = put_case(&w, "stress-ng.sockfd.ops_per_sec", bad, &proof, 0.07);
	text = compose(&w, id, &cfg, &rep);
	is_fixture(text, "improvement.eml");
	ok(endswith(rep.subject, "ops_per_sec 6.9% improvement"), "subject: %s", rep.subject);
	ok(strstr(text, "\nTo: =?utf-8?Q?J=C3=BCrgen_Example?= <juergen@example.org>\n") != NULL, "to the author");
	ok(strstr(text, "netdev@example.org") && strstr(text, "perf@example.org"), "lists are in copy");
	ok(!strstr(text, "kim@example.org") && !strstr(text, "carla@example.org"),
	   "an improvement bothers no maintainer in person");
	ok(!strstr(text, "Reported-by"), "and asks for no tags");
	ok(!strstr(text, "would-go-to"), "all are allowed");
	store_close(w.s);
}

static void test_limit(void)
{
	static const char *const allow[] = {"*", NULL};
	struct report_config cfg = config;
	struct world w = {0};
	_cleanup_(db_report_release) struct db_report rep = {0};
	_cleanup_(recipients_release) struct recipients people = {0};
	struct db_proof proof = proof_of(-0.02, 100, 98);

	cfg.allow = allow;
	cfg.max_recipients = 2;
	make_world(&w, "https://git.example.org/linux.git", 50000, 49000);
	compose(&w, put_case(&w, "stress-ng.sockfd.ops_per_sec", bad, &proof, -0.02), &cfg, &rep);
	is_int(recipients_parse(rep.recipients, &people), 0, "recipients are stored");
	is_int(people.n, 2, "no more than the limit");
	ok(strstr(rep.text, "\nX-kperfbot-recipients: ") != NULL, "the mail says that some were left out");
	store_close(w.s);
}

static void is_private(const char *text, const char *what)
{
	ok(!strstr(text, "@example.org") && strstr(text, "\nTo: kperfbot <bot@robot.example.org>\n"),
	   "%s: to the robot's owner only", what);
	ok(!strstr(text, "nan") && !strstr(text, "inf%"), "%s: no garbage", what);
	ok(!strstr(text, "Reported-by"), "%s: asks for no tags", what);
}

static void test_unproven(void)
{
	static const char *const allow[] = {"*", NULL};
	struct report_config cfg = config;
	struct world w = {0};
	struct db_report rep = {0};
	struct db_proof begun = DB_PROOF_INIT;
	struct db_candidate set[2];
	int64_t id;

	cfg.allow = allow;
	make_world(&w, "https://git.example.org/linux.git", 50000, 49000);
	id = put_case(&w, "stress-ng.sockfd.ops_per_sec", NULL, NULL, -0.02);
	set[0] = (struct db_candidate){id, good, CANDIDATE_LEFT, DROPPED_NOT, 0.5};
	set[1] = (struct db_candidate){id, bad, CANDIDATE_LEFT, DROPPED_NO_BUILD, 0.5};
	is_int(store_candidates_put(w.s, id, set, 2), 0, "two are left");
	is_private(compose(&w, id, &cfg, &rep), "a set");
	ok(strstr(rep.text, "on one of these:") && strstr(rep.text, "commit: one of "),
	   "it says that it is one of these");
	ok(strstr(rep.subject, "one of 2 commits up to "), "subject: %s", rep.subject);
	db_report_release(&rep);
	begun.commit = bad;
	begun.parent = (char *)"x";
	begun.tries = 1;
	is_private(compose(&w, put_case(&w, "stress-ng.sockfd.ops", bad, &begun, -0.02), &cfg, &rep),
		   "a culprit without a proof");
	db_report_release(&rep);
	is_private(compose(&w, put_case(&w, "icount.instructions_per_op", NULL, NULL, NAN), &cfg, &rep),
		   "nothing known");
	db_report_release(&rep);
	store_close(w.s);
}

static void test_hostile(void)
{
	struct world w = {0};
	_cleanup_(db_report_release) struct db_report rep = {0};
	char *old = bad, *old_good = good;
	struct db_proof proof;
	_cleanup_buf_ struct buf out = {0};

	setenv("GIT_AUTHOR_NAME", "Evil\" <a@b>, =?utf-8?Q?x?= \xff", 1);
	good = head();
	commit("net/unix/garbage.c", "int x;\n",
	       "af_unix: $(touch owned) `touch owned` '; touch owned; ' \x1b[31m =?utf-8?Q?x?=");
	bad = head();
	make_world(&w, "https://git.example.org/'; touch owned; '", 57751, 57618);
	proof = proof_of(-0.0023, 11550.2, 11523.6);
	compose(&w, put_case(&w, "stress-ng.sockfd.ops_per_sec", bad, &proof, -0.0024), &config, &rep);
	ok(!strchr(rep.text, 0x1b) && !strchr(rep.text, '\r'), "nothing drives a terminal");
	ok(proc_ok(ARGV("sh", "-n", "cases/case-1/reproduce.sh"), NULL, &out) == 0, "the script is still one");
	(void)proc_ok(ARGV("sh", "cases/case-1/reproduce.sh", "compare"), NULL, &out);
	ok(!fs_exists("owned"), "and runs nothing from a subject or an address");
	store_close(w.s);
	free(good);
	good = TAKE_PTR(old_good);
	free(bad);
	bad = TAKE_PTR(old);
}

int main(void)
{
	if (!getcwd(top, sizeof(top)) || !mkdtemp(tmp) || chdir(tmp) < 0)
		return 1;
	setenv("KPERFBOT_DATA", top, 1);
	give("mbox", "mbox", "out.mbox");
	give("smtp", "smtp_url", "smtp://127.0.0.1:1");
	give("smtp", "smtp", "true");
	make_tree();
	fs_mkdir_p("img");
	fs_write_atomic("img/bzImage", "x", 1);
	fs_write_atomic("img/config", "CONFIG_64BIT=y\n", strlen("CONFIG_64BIT=y\n"));
	test_regression();
	test_validity();
	test_odd_levels();
	test_measured_otherwise();
	test_reach();
	test_allowed();
	test_limit();
	test_unproven();
	test_hostile();
	free(good);
	free(bad);
	if (chdir(top) == 0)
		fs_rm_rf(tmp);
	report_settings_release(&settings);
	return tap_done();
}
