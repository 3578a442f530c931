/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store: every kind of row there and back, tasks between processes, crashes, a full disk. */
#include "db/store-internal.h"
#include "lib/fs.h"
#include "tests/tap.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NASTY "O'Hara \"x\"; DROP TABLE run; -- \xc3\xa4\xe2\x82\xac\xf0\x9f\x90\xa7\n\t%s ,"
static char dir[] = "/tmp/kperfbot-store-XXXXXX";

static char *in_dir(const char *name) { return xasprintf("%s/%s", dir, name); }

static struct store *fresh(const char *name)
{
	_cleanup_free_ char *path = in_dir(name);
	struct store *s = NULL;

	if (store_open(path, false, &s) < 0)
		printf("Bail out! %s\n", err_msg());
	return s;
}

static const char *oid(int n)
{
	static char ring[4][41];
	static int k;

	snprintf(ring[k = (k + 1) % 4], 41, "%08xdeadbeefdeadbeefdeadbeefdeadbeef", n);
	return ring[k];
}

/* A tree, a machine, a job, a build: what a run needs. */
static int64_t basics(struct store *s)
{
	struct db_tree t = {.name = (char *)"net-next", .url = (char *)"git://example.org/net-next", .enabled = true};
	struct db_machine m = {.name = (char *)"vm1", .driver = (char *)"qemu", .tbox_group = (char *)"qemu-2c"};
	struct db_job j = {
		(char *)"0123456789abcdef", (char *)"stress-ng-sockfd", (char *)"stress-ng", (char *)"{}", (char *)"{}",
		(char *)"#!/bin/sh\n"};
	struct db_build b = {.commit = (char *)oid(1), .kconfig = (char *)"vm-min", .state = BUILD_OK, .seconds = 10};
	int64_t id = 0;

	if (store_tree_put(s, &t, &b.tree) < 0 || store_machine_put(s, &m, NULL) < 0 || store_job_put(s, &j) < 0 ||
	    store_build_put(s, &b, &id) < 0)
		printf("Bail out! %s\n", err_msg());
	return id;
}

static struct db_run a_run(int64_t build)
{
	return (struct db_run){.build = build, .machine = 1, .job = (char *)"0123456789abcdef", .boot = (char *)"b1",
			       .verdict = RUN_OK, .seconds = 5, .boot_seconds = 2, .replicate = 1, .started = 1000000};
}

static void fill(struct metric_set *m, int n, double base)
{
	for (int i = 0; i < n; i++) {
		_cleanup_free_ char *name = xasprintf("m.%04d", i);

		GROW(m->v, m->n, m->cap); /* not metric_set_add(): that looks for the name each time */
		m->v[m->n++] = (struct metric_value){TAKE_PTR(name), base + i, "n", 1, i == 0};
	}
}

/* fork(), but never with -1: kill() takes that for everybody. */
static pid_t spawn(void)
{
	pid_t pid;

	fflush(stdout);
	for (int i = 0; (pid = fork()) < 0 && i < 50; i++)
		usleep(100000);
	if (pid < 0) {
		printf("Bail out! cannot fork: %s\n", strerror(errno));
		exit(1);
	}
	return pid;
}

static int64_t count(struct store *s, const char *table)
{
	_cleanup_free_ char *sql = xasprintf("SELECT count(*) FROM %s", table);
	int64_t n = -1;

	db_scalar(s, &n, sql);
	return n;
}

/* ---- rows ---- */

static void test_trees(void)
{
	_cleanup_store_ struct store *s = fresh("trees.db");
	struct db_tree t = {.name = (char *)NASTY, .url = (char *)"u1", .enabled = true}, got = {0}, *all;
	struct db_branch *br;
	int64_t id = 0, id2 = 0, b = 0;
	size_t n;

	is_int(store_tree_put(s, &t, &id), 0, "a tree with nasty text");
	t.url = (char *)NASTY;
	t.settings = (char *)"{\"a\": 1}";
	is_int(store_tree_put(s, &t, &id2), 0, "the same name again");
	is_int(id2, id, "updates the row");
	is_int(store_tree_get(s, NASTY, &got), 0, "found by name");
	is_str(got.url, NASTY, "text comes back as it was");
	is_str(got.kind, "kernel", "default kind");
	ok(got.enabled && !got.poll_error && !got.last_poll, "other fields");
	db_tree_release(&got);
	is_int(store_tree_polled(s, id, 5, 10, "down"), 0, "poll failed");
	store_tree_polled(s, id, 6, 11, "down");
	store_tree_by_id(s, id, &got);
	ok(got.poll_failures == 2 && streq(got.poll_error, "down") && got.next_poll == 11, "failures are counted");
	db_tree_release(&got);
	store_tree_polled(s, id, 7, 12, NULL);
	store_tree_by_id(s, id, &got);
	ok(got.poll_failures == 0 && !got.poll_error, "and forgotten after a success");
	db_tree_release(&got);

	is_int(store_branch_head(s, id, "main", oid(1), false, &b), 1, "a new branch moved");
	is_int(store_branch_head(s, id, "main", oid(1), false, NULL), 0, "the same head did not");
	is_int(store_branch_head(s, id, "main", oid(2), true, &b), 1, "a forced one did");
	is_int(store_branch_tested(s, b, oid(1)), 0, "tested");
	is_int(store_branch_head(s, id, "main", NULL, false, NULL), 1, "deleted");
	is_int(store_branches(s, id, &br, &n), 0, "branches");
	ok(n == 1 && !br[0].head && streq(br[0].tested, oid(1)) && br[0].seen > 0,
	   "deleted branch keeps what was tested");
	DB_LIST_RELEASE(br, n, db_branch_release);
	is_int(count(s, "head_event"), 3, "each move is kept");
	is_int(store_branch_head(s, 77, "main", oid(1), false, NULL), -ENOENT, "no branch of a tree that is not there");
	is_int(store_tree_remove(s, NASTY), 0, "remove");
	is_int(store_tree_remove(s, NASTY), -ENOENT, "remove again");
	is_int(count(s, "head_event"), 0, "its rows went too");
	is_int(store_trees(s, &all, &n), 0, "no trees");
	is_int(n, 0, "none");
	free(all);
}

#define COLOURS(X) X(RED, "red") X(NO_COLOUR, "") X(BLUE, "blue")
WORDS_ENUM(colour, COLOURS);
WORDS_DEFINE(colour, COLOURS, "colour");
struct flower { int64_t id; char *name; enum colour colour; };
static const struct field FLOWER_FIELDS[] = {
	FIELD(struct flower, id, "id", FT_INT, .key = true),
	FIELD(struct flower, name, "name", FT_TEXT),
	FIELD(struct flower, colour, "colour", FT_WORD, .words = &colour_words),
};
ENTITY(FLOWER, "flower", "flower", flower);

static void test_words(void)
{
	_cleanup_store_ struct store *s = fresh("words.db");
	struct flower f = {.name = (char *)"tulip", .colour = BLUE}, got = {0}, *all = NULL;
	int64_t id = 0;
	size_t n = 7;

	db_exec(s, "CREATE TABLE flower (id INTEGER PRIMARY KEY, name TEXT, colour TEXT)");
	is_int(db_insert(s, &FLOWER, &f, "", &id), 0, "an enum is written");
	is_int(count(s, "flower WHERE colour = 'blue'"), 1, "as its word");
	f.colour = NO_COLOUR;
	is_int(db_update(s, &FLOWER, &f, id), 0, "and over that");
	is_int(count(s, "flower WHERE colour = ''"), 1, "another one");
	is_int(db_get(s, &FLOWER, &got, "WHERE id = ?", INT(id)), 0, "it is read");
	ok(got.colour == NO_COLOUR && streq(got.name, "tulip"), "as the enum");
	row_release(&FLOWER, &got);
	f.colour = (enum colour)3;
	is_int(db_insert(s, &FLOWER, &f, "", NULL), -EINVAL, "a number out of the list is not written: %s", err_msg());
	is_int(db_update(s, &FLOWER, &f, id), -EINVAL, "nor over another one");
	is_int(count(s, "flower WHERE colour = ''"), 1, "nothing has changed");
	db_exec(s, "INSERT INTO flower (name, colour) VALUES ('rose', 'mauve')");
	got.colour = BLUE;
	is_int(db_get(s, &FLOWER, &got, "WHERE name = 'rose'"), -EBADMSG, "a word that is not known is an error");
	is_str(err_msg(),
	       "table 'flower' of the database, column 'colour': 'mauve' is no colour; there are: red, '', blue",
	       "that names it");
	ok(!got.name && got.colour == BLUE, "and leaves the result alone");
	is_int(db_list(s, &FLOWER, &all, &n, "ORDER BY id"), -EBADMSG, "in a list, too");
	ok(!all && n == 7, "which leaves the result alone");
	db_exec(s, "UPDATE flower SET colour = NULL");
	is_int(db_get(s, &FLOWER, &got, "LIMIT 1"), -EBADMSG, "NULL is no word: %s", err_msg());
}

static void test_builds(void)
{
	_cleanup_store_ struct store *s = fresh("builds.db");
	int64_t id = basics(s), id2 = 0;
	struct db_build b = {.tree = 1, .commit = (char *)oid(1), .kconfig = (char *)"vm-min", .state = BUILD_BROKEN,
			     .error = (char *)NASTY, .seconds = NAN}, got = {0}, *all;
	struct db_job j = {(char *)"fedcba9876543210",
			   (char *)"stress-ng-sockfd",
			   (char *)"p",
			   (char *)"{}",
			   (char *)"{}",
			   (char *)NASTY},
		      gj = {0};
	struct db_machine m = {.name = (char *)"vm1", .driver = (char *)"local", .tbox_group = (char *)"g2"}, gm = {0},
			  *ms;
	struct build_costs k;
	size_t n;

	is_int(store_build_costs(s, 1, "vm-min", &k), 0, "costs");
	ok(k.n_incremental == 1 && k.incremental == 10 && isnan(k.clean) && !k.n_clean, "of a build after a neighbour");
	for (int i = 0; i < 5; i++) {
		char own[41];
		struct db_build more = {.tree = 1, .commit = own, .kconfig = (char *)"vm-min", .state = BUILD_OK,
					.seconds = i == 4 ? 500 : 30 + i, .clean = i < 3, .cached = i == 3,
					.time = 5000000 + i};

		snprintf(own, sizeof(own), "%040d", 20 + i);
		store_build_put(s, &more, NULL);
	}
	is_int(store_build_costs(s, 1, "vm-min", &k), 0, "costs again");
	ok(k.n_clean == 3 && k.clean == 31, "medians of those from nothing");
	ok(k.n_incremental == 2 && k.incremental == 500, "and of the others, without what came out of the cache");
	is_int(store_build_put(s, &b, &id2), 0, "the same build again");
	is_int(id2, id, "keeps its id");
	is_int(store_build_get(s, 1, oid(1), "vm-min", &got), 0, "found");
	ok(got.state == BUILD_BROKEN && streq(got.error, NASTY) && isnan(got.seconds) && !got.image_hash && got.time,
	   "replaced");
	db_build_release(&got);
	is_int(store_build_costs(s, 1, "vm-net", &k), 0, "another configuration");
	ok(isnan(k.clean) && isnan(k.incremental), "no cost known");
	is_int(store_build_get(s, 1, oid(9), "vm-min", &got), -ENOENT, "not there");
	b.state = (enum build_state)9;
	is_int(store_build_put(s, &b, NULL), -EINVAL, "a state that is none is refused");
	is_int(store_builds(s, 1, NULL, &all, &n), 0, "list");
	is_int(n, 6, "all of them");
	DB_LIST_RELEASE(all, n, db_build_release);

	is_int(store_job_put(s, &j), 0, "a job");
	is_int(store_job_put(s, &j), 0, "twice is fine");
	is_int(store_job_get(s, "stress-ng-sockfd", &gj), 0, "by name");
	is_str(gj.id, j.id, "the newest of that name");
	is_str(gj.script, NASTY, "its script");
	db_job_release(&gj);
	is_int(store_job_get(s, "0123456789abcdef", &gj), 0, "by id");
	db_job_release(&gj);
	is_int(store_job_get(s, "nope", &gj), -ENOENT, "no such job");

	is_int(store_machine_state(s, 1, MACHINE_SUSPECT, 2, "hung"), 0, "a sick machine");
	is_int(store_machine_put(s, &m, &id2), 0, "put again");
	is_int(store_machine_get(s, "vm1", &gm), 0, "get");
	ok(gm.state == MACHINE_SUSPECT && gm.failures == 2 && streq(gm.tbox_group, "g2") && streq(gm.note, "hung"),
	   "keeps its state");
	db_machine_release(&gm);
	is_int(store_machine_state(s, 1, (enum machine_state)9, 0, NULL), -EINVAL, "no such state");
	is_int(store_machines(s, &ms, &n), 0, "machines");
	is_int(n, 1, "one machine");
	DB_LIST_RELEASE(ms, n, db_machine_release);
}

static void test_sets(void)
{
	struct metric_set m = {0};

	is_int(metric_set_add(&m, "a", 1, "ns", -1, false), 0, "add");
	is_int(metric_set_add(&m, "b", 2, NULL, 0, true), 0, "add another");
	is_int(metric_set_add(&m, "a", 3, "ns", -1, false), 0, "replace");
	ok(m.n == 2 && metric_set_get(&m, "a")->value == 3 && !metric_set_get(&m, "c"), "get");
	is_int(metric_set_add(&m, "c", NAN, "", 0, false), -EINVAL, "NaN is refused");
	is_int(metric_set_add(&m, "c", INFINITY, "", 0, false), -EINVAL, "infinity too");
	is_int(m.n, 2, "neither is left in it");
	metric_set_release(&m);
}

static void test_runs(void)
{
	_cleanup_store_ struct store *s = fresh("runs.db");
	int64_t build = basics(s), id = 0;
	struct db_run run = a_run(build), *all;
	struct metric_set m = {0}, few = {0};
	struct metric_info info = {0};
	struct sample sample = {0};
	struct matrix mx = {0};
	size_t n;

	run.cause = (char *)NASTY;
	fill(&m, 3000, 0.5);
	is_int(store_run_put(s, &run, &m, &id), 0, "a run with 3000 values");
	is_int(count(s, "value"), 3000, "all there");
	is_int(store_runs(s, build, run.job, "qemu-2c", false, &all, &n), 0, "read back");
	ok(n == 1 && all[0].id == id && streq(all[0].cause, NASTY) && all[0].seconds == 5 &&
		   all[0].started == 1000000 && all[0].task == 0,
	   "its fields");
	DB_LIST_RELEASE(all, n, db_run_release);

	m.v[2999].value = NAN;
	is_int(store_run_put(s, &run, &m, NULL), -EINVAL, "a bad last value fails the run");
	ok(strstr(err_msg(), "m.2999"), "and is named: %s", err_msg());
	m.v[2999].value = 7;
	free(m.v[2999].name);
	m.v[2999].name = xstrdup("m.0000");
	is_int(store_run_put(s, &run, &m, NULL), -EEXIST, "a metric twice fails the run");
	ok(count(s, "run") == 1 && count(s, "value") == 3000, "nothing of them was stored");
	run.verdict = (enum run_verdict)99;
	is_int(store_run_put(s, &run, NULL, NULL), -EINVAL, "a verdict that is none");
	run.verdict = RUN_OK;
	run.build = 99;
	is_int(store_run_put(s, &run, NULL, NULL), -ENOENT, "a build that is not there");
	run.build = build;

	metric_set_add(&few, "m.0001", 100, "", 0, true);
	metric_set_add(&few, "only.here", 0.1, "s", -1, false);
	run.started = 500000;
	run.boot = (char *)"b0";
	is_int(store_run_put(s, &run, &few, NULL), 0, "a later run with few values, by a clock that went back");
	run.verdict = RUN_CRASHED;
	run.started = 2000000;
	is_int(store_run_put(s, &run, NULL, NULL), 0, "a run without values");
	is_int(store_metric_info(s, "m.0001", &info), 0, "metric");
	ok(streq(info.unit, "n") && info.direction == 1 && info.kpi, "knowledge of a metric only grows");
	metric_info_release(&info);

	is_int(store_runs(s, build, run.job, "qemu-2c", false, &all, &n), 0, "runs of the group");
	ok(n == 3 && streq(all[1].boot, "b0") && all[2].verdict == RUN_CRASHED, "three, in their order");
	DB_LIST_RELEASE(all, n, db_run_release);
	is_int(store_runs(s, build, run.job, "other", false, &all, &n), 0, "runs of another group");
	is_int(n, 0, "none");
	free(all);
	is_near(store_run_cost(s, run.job, "qemu-2c"), 5, 0, "cost of a run, its boot included");
	ok(isnan(store_run_cost(s, run.job, "other")), "no cost without runs");

	is_int(store_sample(s, build, run.job, "qemu-2c", "m.0001", &sample), 0, "sample");
	ok(sample.n == 2 && sample.value[0] == 1.5 && sample.value[1] == 100 && streq(sample.boot[1], "b0"),
	   "in their order");
	sample_release(&sample);

	is_int(store_matrix(s, build, run.job, "qemu-2c", &mx), 0, "matrix");
	ok(mx.n_metrics == 3001 && mx.n_runs == 3, "its size");
	is_str(mx.metric[3000].name, "only.here", "in order of names");
	ok(mx.v[0] == 0.5 && isnan(mx.v[1]) && mx.v[3] == 1.5 && mx.v[4] == 100 && isnan(mx.v[5]), "values and holes");
	ok(mx.v[3000 * 3 + 1] == 0.1 && isnan(mx.v[3000 * 3]), "a metric that one run has");
	ok(mx.v[2999 * 3] == 2999.5 && mx.verdict[2] == RUN_CRASHED, "the last ones");
	matrix_release(&mx);
	is_int(store_matrix(s, 99, run.job, NULL, &mx), 0, "matrix of nothing");
	ok(mx.n_metrics == 0 && mx.n_runs == 0, "is empty");
	matrix_release(&mx);
	metric_set_release(&m);
	metric_set_release(&few);
}

/* A program that chooses its units by size: all of a metric's values are in the first one. */
static void test_units(void)
{
	static const struct { double value; const char *unit; double want; } came[] = {
		{900, "us", 900}, {1.1, "ms", 1100}, {0.002, "s", 2000}, {950, "us", 950}, {800, "", 800},
	};
	_cleanup_store_ struct store *s = fresh("units.db");
	struct db_run run = a_run(basics(s));
	struct metric_info info = {0};
	struct sample sample = {0};

	for (size_t i = 0; i < ARRAY_SIZE(came); i++) {
		_cleanup_(metric_set_release) struct metric_set m = {0};

		metric_set_add(&m, "command.lat", came[i].value, came[i].unit, -1, true);
		run.started = 1000000 * (i + 1);
		is_int(store_run_put(s, &run, &m, NULL), 0, "%g %s", came[i].value, came[i].unit);
		is_near(m.v[0].value, came[i].value, 0, "the caller's value stays");
	}
	is_int(store_sample(s, run.build, run.job, "qemu-2c", "command.lat", &sample), 0, "they are read back");
	for (size_t i = 0; i < ARRAY_SIZE(came) && sample.n == ARRAY_SIZE(came); i++)
		is_near(sample.value[i], came[i].want, 1e-9, "%g %s in us", came[i].value, came[i].unit);
	is_int(store_metric_info(s, "command.lat", &info), 0, "the metric");
	is_str(info.unit, "us", "has its first unit");
	metric_info_release(&info);
	sample_release(&sample);
}

static int64_t a_comparison(struct store *s)
{
	struct db_comparison c = {.tree = 1, .machine = 1, .base = (char *)oid(1), .head = (char *)oid(2),
				  .kconfig = (char *)"vm-min", .job = (char *)"0123456789abcdef"};
	int64_t id = 0;

	store_comparison_put(s, &c, &id);
	return id;
}

static void test_cases(void)
{
	_cleanup_store_ struct store *s = fresh("cases.db");
	int64_t build = basics(s), q, id = 0, id2 = 0, rep = 0;
	struct db_run run = a_run(build);
	struct metric_set m = {0};
	struct db_comparison cmp = {0}, *cs;
	struct db_case c = {.metric = (char *)"m.0000", .state = CASE_CONFIRMED, .confidence = 0.99, .effect = NAN,
			    .effect_lo = NAN, .effect_hi = NAN, .posterior = NAN}, got = {0}, *all;
	struct db_report r = {.message_id = (char *)"<1@example.org>",
			      .subject = (char *)NASTY,
			      .recipients = (char *)"[]",
			      .text = (char *)NASTY},
			 gr = {0};
	struct db_delivery d = {.way = (char *)"mbox", .state = DELIVERY_SENDING, .detail = (char *)"123"}, gd = {0};
	size_t n;

	fill(&m, 2, 1);
	store_run_put(s, &run, &m, NULL);
	q = c.comparison = a_comparison(s);
	is_int(a_comparison(s), q, "the same comparison keeps its id");
	is_int(store_comparison_end(s, q, COMPARISON_DIFFERENT, FAULT_NONE, NASTY), 0, "ended");
	is_int(a_comparison(s), q, "asked again");
	store_comparison_by_id(s, q, &cmp);
	ok(cmp.state == COMPARISON_DIFFERENT && streq(cmp.reason, NASTY) && cmp.ended && streq(cmp.branch, ""),
	   "is unchanged");
	db_comparison_release(&cmp);
	is_int(store_comparison_again(s, q), 0, "measured afresh");
	store_comparison_by_id(s, q, &cmp);
	ok(cmp.disturbed == 1 && cmp.after_run == 1 && cmp.fault == FAULT_NONE, "is counted, and only new boots hold");
	db_comparison_release(&cmp);
	is_int(store_comparison_again(s, q + 1000), -ENOENT, "no such comparison");
	is_int(store_comparisons_in(s, COMPARISON_OPEN, &cs, &n), 0, "open ones");
	is_int(n, 0, "none");
	free(cs);

	is_int(store_case_put(s, &c, &id), 0, "a case");
	is_int(store_case_put(s, &c, NULL), -EEXIST, "not twice");
	c.metric = (char *)"no.such";
	is_int(store_case_put(s, &c, NULL), -ENOENT, "nor of a metric nobody measured");
	is_int(store_case_by_id(s, id, &got), 0, "read");
	ok(streq(got.metric, "m.0000") && isnan(got.effect) && !got.culprit && got.opened, "its fields");
	got.state = CASE_FOUND;
	got.culprit = xstrdup(oid(3));
	got.effect = -0.031;
	is_int(store_case_put(s, &got, &id2), 0, "update");
	is_int(id2, id, "same id");
	db_case_release(&got);
	is_int(store_cases(s, &all, &n), 0, "all of them");
	ok(n == 1 && all[0].state == CASE_FOUND && all[0].effect == -0.031 && streq(all[0].culprit, oid(3)), "updated");
	DB_LIST_RELEASE(all, n, db_case_release);

	r.case_id = id;
	is_int(store_report_put(s, &r, &rep), 0, "a report");
	is_int(store_report_put(s, &r, NULL), -EEXIST, "never two for one case");
	is_int(store_report_by_case(s, id, &gr), 0, "read it");
	ok(streq(gr.text, NASTY) && gr.id == rep && gr.case_id == id, "its text");
	db_report_release(&gr);
	is_int(store_report_by_case(s, 55, &gr), -ENOENT, "no report");
	d.report = rep;
	is_int(store_delivery_put(s, &d), 0, "a delivery");
	d.state = DELIVERY_SENT;
	d.attempts = 2;
	is_int(store_delivery_put(s, &d), 0, "replaced");
	is_int(store_delivery_get(s, rep, "mbox", NULL, &gd), 0, "read");
	ok(gd.state == DELIVERY_SENT && gd.attempts == 2 && streq(gd.detail, "123"), "its fields");
	db_delivery_release(&gd);
	is_int(store_delivery_get(s, rep, "smtp", "", &gd), -ENOENT, "no other way");
	store_event(s, id, q, 0, "hello %d", 5);
	is_int(count(s, "event WHERE text = 'hello 5' AND task IS NULL"), 1, "an event");
	metric_set_release(&m);
}

/* ---- tasks ---- */

static int64_t add(struct store *s, const char *key, int64_t prio, const int64_t *needs)
{
	struct db_task t = {.kind = TASK_RUN, .key = (char *)key, .resource = (char *)"machine:vm1", .priority = prio,
			    .payload = (char *)NASTY};
	int64_t id = 0;

	return store_task_add(s, &t, needs, &id) < 0 ? -1 : id;
}

static bool task_is(struct store *s, int64_t id, enum task_state state, const char *result_part)
{
	struct db_task t = {0};
	bool good = store_task_by_id(s, id, &t) == 0 && t.state == state &&
		    (!result_part || (t.result && strstr(t.result, result_part)));

	if (!good)
		printf("# task %" PRId64 ": %s, %s\n", id, task_state_word(t.state), t.result ?: "-");
	db_task_release(&t);
	return good;
}

/* Which task a claim gives; 0 for none. */
static int64_t claimed(struct store *s, const char *resource, const char *owner)
{
	struct db_task t = {0};
	int64_t id = store_task_claim(s, resource, owner, USEC_PER_SEC, &t) < 0 ? 0 : t.id;

	db_task_release(&t);
	return id;
}

static void test_tasks(void)
{
	_cleanup_store_ struct store *s = fresh("tasks.db"), *other = fresh("tasks.db");
	struct db_task t = {.kind = TASK_RUN, .key = (char *)"a", .resource = (char *)"x"}, *all;
	int64_t a = add(s, "a", 0, NULL), b = add(s, "b", 5, NULL), c = add(s, "c", 9, (int64_t[]){a, b, 0}), id = 0;
	size_t n;

	is_int(store_task_add(s, &t, NULL, &id), 1, "the same key is not queued twice");
	is_int(id, a, "its id comes back");
	is_int(add(s, "d", 0, (int64_t[]){999, 0}), -1, "no need that does not exist");
	is_int(count(s, "task"), 3, "and nothing of it is stored");
	is_int(claimed(s, "build", "w1"), 0, "nothing for another resource");
	is_int(claimed(s, "machine", "w1"), 0, "nor for half a word");
	is_int(claimed(s, "machine:", "w1"), b, "highest priority that needs nothing, by prefix");
	is_int(claimed(other, "machine:vm1", "w2"), a, "the next one from another connection");
	is_int(claimed(other, "machine:vm1", "w2"), 0, "then none: c waits");
	ok(store_task_next_time(s) == 0, "none waiting for its time");
	is_int(store_task_end(s, a, true, 0, "good"), 0, "a done");
	is_int(claimed(s, "machine:", "w1"), 0, "c still waits for b");
	is_int(store_task_end(s, b, false, 0, "no boot"), 0, "b fails for good");
	ok(task_is(s, c, TASK_FAILED, "needs task 2 (b), which failed: no boot"), "c fails with it and names it");
	is_int(store_task_end(s, b, true, 0, ""), -ENOENT, "what ended cannot end again");
	is_int(store_task_heartbeat(s, b, 5), -ENOENT, "nor beat");

	is_int(store_task_retry(s, c), 0, "retry c");
	ok(task_is(s, b, TASK_READY, NULL) && task_is(s, c, TASK_READY, NULL), "brings b back too");
	is_int(store_task_retry(s, c), -EINVAL, "a ready one cannot be retried");
	is_int(claimed(s, "machine:", "w1"), b, "b again");
	is_int(store_task_cancel(s, b), 0, "cancel the running b");
	ok(task_is(s, c, TASK_FAILED, "was cancelled"), "c fails with it");
	is_int(store_task_cancel(s, b), -EINVAL, "not twice");
	is_int(store_task_retry(s, b), 0, "retry b");
	ok(task_is(s, c, TASK_READY, NULL), "brings c back");

	is_int(claimed(s, "machine:", "w1"), b, "b once more");
	is_int(store_task_end(s, b, false, 3600 * USEC_PER_SEC, "busy"), 0, "fails with a later try");
	ok(task_is(s, b, TASK_READY, "busy"), "is ready again");
	is_int(claimed(s, "machine:", "w1"), 0, "but not yet");
	ok(store_task_next_time(s) > now_usec() + 3500 * USEC_PER_SEC, "in an hour");
	/* all of that happened by a clock that was ten years ahead */
	db_exec(s, "UPDATE task SET not_before = not_before + 315360000000000, started = started + 315360000000000");
	is_int(claimed(s, "machine:", "w1"), b, "at once where the clock was set back");
	is_int(store_task_end(s, b, false, 1, "busy"), 0, "fails");
	db_exec(s, "UPDATE task SET not_before = 0");
	for (int i = 0; i < 1; i++) {
		is_int(claimed(s, "machine:", "w1"), b, "try %d", i + 3);
		is_int(store_task_end(s, b, false, 1, "busy"), 0, "fails again");
		db_exec(s, "UPDATE task SET not_before = 0");
	}
	ok(task_is(s, b, TASK_FAILED, "busy"), "no attempts left");

	id = add(s, "e", 0, NULL);
	is_int(claimed(s, "machine:", "dead"), id, "claimed by one that dies");
	is_int(store_task_reap(s, "alive", NULL), 0, "others lose nothing");
	is_int(store_task_reap(s, NULL, NULL), 0, "the lease still holds");
	is_int(store_task_reap(s, "dead", NULL), 1, "given back");
	is_int(store_task_by_id(s, id, &t), 0, "it");
	ok(t.state == TASK_READY && t.attempts == 0 && !t.owner && streq(t.payload, NASTY), "as if never tried");
	db_task_release(&t);
	claimed(s, "machine:", "w1");
	is_int(store_task_heartbeat(s, id, 1000 * USEC_PER_SEC), 0, "heartbeat");
	is_int(store_task_reap(s, NULL, NULL), 0, "keeps it");
	db_exec(s, "UPDATE task SET lease_until = 5 WHERE state = 'running'");
	is_int(store_task_reap(s, NULL, "w1"), 0, "nor does a clock that jumps take it from who is known to be alive");
	is_int(store_task_reap(s, NULL, NULL), 1, "a lease that ran out does not");
	is_int(store_tasks_in(s, TASK_FAILED, &all, &n), 0, "list by a state");
	is_int(n, 2, "b, c");
	DB_LIST_RELEASE(all, n, db_task_release);
	is_int(store_tasks_living(s, &all, &n), 0, "list of those in which there is something to be done");
	is_int(n, 1, "e");
	DB_LIST_RELEASE(all, n, db_task_release);
	is_int(add(s, "f", 0, (int64_t[]){b, 0}) > 0, 1, "needs one that has failed already");
	is_int(count(s, "task WHERE key = 'f' AND state = 'failed'"), 1, "fails at once");
}

/* A tree with a question that tasks can be of. */
static int64_t a_question(struct store *s, const char *tree)
{
	struct db_tree t = {.name = (char *)tree, .url = (char *)"git://example.org/x", .enabled = true};
	struct db_comparison c = {.machine = 1, .base = (char *)oid(1), .head = (char *)oid(2),
				  .kconfig = (char *)"vm-min",
				  .job = (char *)"0123456789abcdef"};
	int64_t id = -1;

	return store_tree_put(s, &t, &c.tree) < 0 || store_comparison_put(s, &c, &id) < 0 ? -1 : id;
}

static int64_t add_for(struct store *s, int64_t comparison, const char *resource, const char *key, int64_t prio,
		       const int64_t *needs)
{
	struct db_task t = {.kind = TASK_RUN, .key = (char *)key, .resource = (char *)resource, .priority = prio,
			    .comparison = comparison};
	int64_t id = 0;

	return store_task_add(s, &t, needs, &id) < 0 ? -1 : id;
}

/* The keys that claims give, one after the other. */
static char *claim_order(struct store *s, const char *resource, int n)
{
	_cleanup_buf_ struct buf b = {0};
	struct db_task t = {0};

	for (int i = 0; i < n && store_task_claim(s, resource, "w", USEC_PER_SEC, &t) == 0; i++) {
		buf_addf(&b, "%s ", t.key);
		db_task_release(&t);
		t = (struct db_task){0};
	}
	return buf_take(&b);
}

static void test_withdraw(void)
{
	_cleanup_store_ struct store *s = fresh("withdraw.db");
	int64_t mine = add(s, "build:mine", 0, NULL), both = add(s, "build:both", 0, NULL),
		a = add(s, "run:a", 0, (int64_t[]){mine, 0}), b = add(s, "run:b", 0, (int64_t[]){both, 0}),
		other = add(s, "run:other", 0, (int64_t[]){both, 0}), again;
	_cleanup_free_ char *key = xasprintf("run:a~%" PRId64, a);
	struct db_task t = {0};

	is_int(claimed(s, "machine:", "w1"), mine, "one is running");
	is_int(store_tasks_withdraw(s, (int64_t[]){mine, both, a, b}, 4, "gone"), 3, "all but what another one needs");
	ok(task_is(s, mine, TASK_CANCELLED, "gone") && task_is(s, a, TASK_CANCELLED, "gone") &&
		   task_is(s, b, TASK_CANCELLED, "gone"),
	   "running and ready ones are cancelled");
	ok(task_is(s, both, TASK_READY, NULL) && task_is(s, other, TASK_READY, NULL), "the other's stay");
	is_int(store_task_by_key(s, "run:a", &t), -ENOENT, "its key is free");
	is_int(store_task_by_key(s, key, &t), 0, "and what it was can be read");
	db_task_release(&t);
	again = add(s, "run:a", 0, NULL);
	ok(again > other, "so the same is queued anew");
	is_int(store_task_retry(s, a), -EINVAL, "the old one is not tried again: %s", err_msg());
	is_int(store_tasks_withdraw(s, (int64_t[]){a, 12345}, 2, "x"), 0,
	       "what has ended, or never was, counts for nothing");
	is_int(store_tasks_withdraw(s, (int64_t[]){both, other, again}, 3, "x"), 3, "in any order");
	is_int(count(s, "task"), 6, "no row is lost");
}

static void test_turns(void)
{
	_cleanup_store_ struct store *s = fresh("turns.db");
	_cleanup_free_ char *order = NULL, *machine = NULL, *later = NULL;
	int64_t loud, meek, blocked, first;

	basics(s);
	loud = a_question(s, "loud");
	meek = a_question(s, "meek");
	blocked = a_question(s, "blocked");
	first = add_for(s, loud, "build", "l1", 200, NULL);
	add_for(s, loud, "build", "l2", 300, NULL);
	add_for(s, loud, "build", "l3", 300, NULL);
	add_for(s, loud, "build", "l4", 200, NULL);
	add_for(s, meek, "build", "m1", 0, NULL);
	add_for(s, meek, "build", "m2", 100, NULL);
	add_for(s, 0, "build", "n1", 0, NULL);
	add_for(s, blocked, "build", "b1", 400, (int64_t[]){first, 0});
	order = claim_order(s, "build", 10);
	ok(streq(order, "l2 m2 n1 l3 m1 l1 l4 "), "trees take turns, priority and id count within: %s", order);
	add_for(s, loud, "machine:a", "a1", 0, NULL);
	add_for(s, meek, "machine:a", "a2", 0, NULL);
	add_for(s, loud, "machine:b", "c1", 9, NULL);
	add_for(s, meek, "machine:b", "c2", 0, NULL);
	machine = claim_order(s, "machine:a", 9);
	ok(streq(machine, "a1 a2 "), "each machine has turns of its own: %s", machine);
	is_int(store_task_end(s, first, true, 0, ""), 0, "what the waiting tree needs is done");
	add_for(s, loud, "build", "l5", 900, NULL);
	add_for(s, meek, "build", "m3", 900, NULL);
	later = claim_order(s, "build", 9);
	ok(streq(later, "b1 m3 l5 "), "who waited longest is first: %s", later);
	is_int(claimed(s, "machine:b", "w") > 0, 1, "and the other machine");
}

/* A hundred thousand tasks of one tree, ready, or waiting for a build: the other one's is found at once. */
static void test_many_tasks(void)
{
	_cleanup_store_ struct store *s = fresh("many.db");
	int64_t loud, meek, need;
	usec_t begin;

	basics(s);
	loud = a_question(s, "loud");
	meek = a_question(s, "meek");
	need = add_for(s, loud, "build", "need", 0, NULL);
	db_exec(s,
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) "
		"INSERT INTO task (kind, key, payload, state, resource, priority, comparison, tree, created) "
		"SELECT 'run', 'k' || i, '{}', iif(i % 4, 'done', 'ready'), "
		"iif(i % 8, 'machine:vm1', 'build'), 200, ?1, (SELECT tree FROM comparison WHERE id = ?1), 1 FROM n",
		INT(loud));
	db_exec(s, "INSERT INTO task_dep SELECT id, ? FROM task WHERE state = 'ready' AND resource <> 'build'",
		INT(need));
	is_int(count(s, "task"), 100001, "many tasks");
	for (int i = 0; i < 20; i++) {
		_cleanup_free_ char *key = xasprintf("meek%d", i);

		add_for(s, meek, i % 2 ? "build" : "machine:vm1", key, 0, NULL);
	}
	begin = cpu_usec();
	for (int i = 0; i < 20; i++)
		claimed(s, i % 2 ? "build" : "machine:vm1", "w");
	printf("# a claim takes %.2f ms\n", (cpu_usec() - begin) / 20e3);
	ok(cpu_usec() - begin < 5 * USEC_PER_SEC, "20 claims in time");
	is_int(count(s, "task WHERE state = 'running' AND key LIKE 'meek%'"), 15,
	       "of which all machines' and half of the builds' are the meek's");
}

/* Four processes claim 200 tasks: each task is claimed once. */
static void test_claim_race(void)
{
	_cleanup_store_ struct store *s = fresh("race.db");
	_cleanup_free_ char *path = in_dir("race.db");
	int64_t got = 0;
	pid_t pid[4];

	for (int i = 0; i < 200; i++) {
		char key[16];

		snprintf(key, sizeof(key), "k%d", i);
		add(s, key, 0, NULL);
	}
	for (int p = 0; p < 4; p++) {
		pid[p] = spawn();
		if (!pid[p]) {
			struct store *mine;
			struct db_task t = {0};
			char owner[16];
			int n = 0;

			snprintf(owner, sizeof(owner), "p%d", p);
			if (store_open(path, false, &mine) < 0)
				_exit(255);
			while (store_task_claim(mine, "machine:", owner, USEC_PER_SEC, &t) == 0) {
				n++;
				db_exec(mine, "INSERT INTO event (time, task, text) VALUES (1, ?, 'claimed')",
					INT(t.id));
				db_task_release(&t);
			}
			store_close(mine);
			_exit(n);
		}
	}
	for (int p = 0; p < 4; p++) {
		int st;

		waitpid(pid[p], &st, 0);
		got += WEXITSTATUS(st);
	}
	is_int(got, 200, "four processes claimed 200 tasks in all");
	db_scalar(s, &got, "SELECT count(DISTINCT task) FROM event");
	is_int(got, 200, "each of them once");
	db_scalar(s, &got, "SELECT min(attempts) = 1 AND max(attempts) = 1 FROM task");
	is_int(got, 1, "with one attempt");
}

/* ---- files, versions, transactions ---- */

static void test_open(void)
{
	_cleanup_free_ char *path = in_dir("sub/folder/new.db"), *none = in_dir("none.db"), *junk = in_dir("junk.db"),
			    *foreign = in_dir("foreign.db");
	struct store *s = NULL, *ro = NULL;
	int64_t v;

	is_int(store_open(none, true, &s), -ENOENT, "nothing to read: %s", err_msg());
	ok(!s && !fs_exists(none), "and nothing made");
	is_int(store_open(path, false, &s), 0, "made with its folders");
	db_scalar(s, &v, "PRAGMA user_version");
	is_int(v, db_schema.version, "version");
	is_int(store_open(path, true, &ro), 0, "open for reading at the same time");
	basics(s);
	is_int(count(ro, "tree"), 1, "the reader sees what was written");
	is_int(store_tree_remove(ro, "net-next"), -EROFS, "and cannot write");
	store_close(ro);
	db_exec(s, "PRAGMA user_version = 1000");
	store_close(s);
	s = NULL;
	is_int(store_open(path, false, &s), -EINVAL, "a newer file is refused");
	ok(strstr(err_msg(), "newer kperfbot") && strstr(err_msg(), "1000"), "with words: %s", err_msg());
	fs_write_atomic(
		junk,
		"this is no database, but long enough to be taken for one by its size alone: ........................",
		100);
	is_int(store_open(junk, false, &s), -EINVAL, "a file that is no database");
	ok(strstr(err_msg(), "not a database"), "with words: %s", err_msg());
	is_int(store_open(dir, false, &s), -EISDIR, "a folder");
	{
		sqlite3 *db;

		sqlite3_open(foreign, &db);
		sqlite3_exec(db, "CREATE TABLE x (y)", NULL, NULL, NULL);
		sqlite3_close(db);
	}
	is_int(store_open(foreign, false, &s), -EINVAL, "a database of others");
	ok(strstr(err_msg(), "another program"), "with words: %s", err_msg());
	is_int(store_open(":memory:", false, &s), 0, "in memory");
	basics(s);
	is_int(count(s, "build"), 1, "works");
	store_close(s);
}

static void test_migrate(void)
{
	/* from the newest version on: step[v] makes version v + 1 out of v */
	int v0 = db_schema.version;
	_cleanup_free_ const char **step = xcalloc(v0 + 3, sizeof(*step));
	const struct schema later = {NULL, v0 + 2, step}, bad = {NULL, v0 + 3, step};
	_cleanup_store_ struct store *s = fresh("migrate.db");
	_cleanup_free_ char *path = in_dir("migrate.db");
	struct store *again = NULL;
	int64_t v = 0;

	step[v0] = "CREATE TABLE extra (x INTEGER) STRICT; INSERT INTO extra SELECT count(*) FROM tree";
	step[v0 + 1] = "ALTER TABLE extra ADD COLUMN y TEXT";
	step[v0 + 2] = "CREATE TABLE z (a); CREATE TABLE tree (b)";
	basics(s);
	is_int(migrate(s, &later), 0, "two steps");
	db_scalar(s, &v, "PRAGMA user_version");
	is_int(v, v0 + 2, "two versions on");
	db_scalar(s, &v, "SELECT x FROM extra WHERE y IS NULL");
	is_int(v, 1, "both were done, in order, with the rows kept");
	ok(migrate(s, &bad) < 0, "a step that fails: %s", err_msg());
	db_scalar(s, &v, "PRAGMA user_version");
	is_int(v, v0 + 2, "leaves the version");
	is_int(count(s, "sqlite_schema WHERE name = 'z'"), 0, "and nothing of itself");
	is_int(store_open(path, false, &again), -EINVAL, "a program that is older refuses it");
}

/* ---- databases of earlier formats ---- */

/* tests/fixtures/db has one of each format; a new format brings its own (tests/fixtures/db/make). */
static bool make_old(int version, const char *path)
{
	_cleanup_free_ char *file = xasprintf("tests/fixtures/db/format-%d.sql", version);
	_cleanup_buf_ struct buf sql = {0};
	sqlite3 *db = NULL;
	bool done = fs_read(file, 0, &sql) >= 0 && sqlite3_open(path, &db) == SQLITE_OK &&
		    sqlite3_exec(db, sql.s, NULL, NULL, NULL) == SQLITE_OK;

	ok(done, "a database of format %d: %s", version, db ? sqlite3_errmsg(db) : err_msg());
	sqlite3_close(db);
	return done;
}

/* "CREATE TABLE x (a, b)" without comments, quotes and spaces. */
static char *plain_sql(const char *sql)
{
	_cleanup_buf_ struct buf b = {0};

	for (const char *p = sql; *p; p++) {
		if (p[0] == '-' && p[1] == '-')
			p += strcspn(p, "\n");
		if (!strchr(" \t\n\"", *p))
			buf_addc(&b, *p);
	}
	buf_adds(&b, "");
	return buf_take(&b);
}

/* What a database is made of, one thing a line; the columns of a table in any order. */
static char *shape(struct store *s)
{
	_cleanup_strv_ struct strv parts = {0};
	_cleanup_table_ struct table t = {0};
	_cleanup_buf_ struct buf b = {0};

	store_sql(s, "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'", &t);
	for (size_t i = 0; i < t.n_rows; i++) {
		_cleanup_free_ char *sql = plain_sql(t.cell[2 * i + 1].text);
		char *start = strchr(sql, '('), *p = start;

		for (int depth = 0; p && *p; p++) {
			depth += (*p == '(') - (*p == ')');
			if ((depth == 1 && *p == ',') || (depth == 0 && *p == ')')) {
				strv_addf(&parts, "%s: %.*s", t.cell[2 * i].text, (int)(p - start - 1), start + 1);
				start = p;
			}
		}
		strv_addf(&parts, "%s: %s%s", t.cell[2 * i].text, startswith(sql, "CREATEVIEW") ? sql : "",
			  start ? start : "");
	}
	strv_sort_uniq(&parts);
	for (size_t i = 0; i < parts.n; i++)
		buf_addf(&b, "%s\n", parts.v[i]);
	buf_adds(&b, "");
	return buf_take(&b);
}

static const char *const kept[] = {"tree", "branch", "head_event", "build", "job", "machine", "run", "value", "metric",
				   "comparison",
				   "\"case\"", "report", "task", "event"};

static void count_kept(const char *path, int64_t *n)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *st;

	sqlite3_open(path, &db);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		_cleanup_free_ char *sql = xasprintf("SELECT count(*) FROM %s", kept[i]);

		n[i] = sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW
			       ? sqlite3_column_int64(st, 0) : -1;
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
}

/* Every row can be read: no state that this program does not know. */
static void read_all(struct store *s, bool payloads)
{
	struct db_task *task = NULL;
	struct db_case *cases = NULL;
	struct db_comparison *q = NULL;
	struct db_machine *m = NULL;
	struct db_build *b = NULL;
	size_t n = 0, bad = 0;

	for (enum task_state st = 0; st < (enum task_state)task_state_words.n; st++) {
		bad += store_tasks_in(s, st, &task, &n) < 0;
		for (size_t i = 0; payloads && i < n; i++) {
			_cleanup_payload_ struct task_payload p = {0};
			_cleanup_free_ char *again = NULL;

			bad += task_payload_read(task[i].kind, task[i].payload, &p) < 0;
			again = task_payload_json(task[i].kind, &p);
			bad += !streq(again, task[i].payload);
		}
		DB_LIST_RELEASE(task, n, db_task_release);
		task = NULL;
		n = 0;
	}
	is_int(bad, 0, "tasks of all states, and what they are about: %s", bad ? err_msg() : "ok");
	is_int(store_cases(s, &cases, &n), 0, "cases: %s", err_msg());
	DB_LIST_RELEASE(cases, n, db_case_release);
	is_int(store_comparisons(s, &q, &n), 0, "questions");
	DB_LIST_RELEASE(q, n, db_comparison_release);
	is_int(store_machines(s, &m, &n), 0, "machines");
	DB_LIST_RELEASE(m, n, db_machine_release);
	is_int(store_builds(s, 1, NULL, &b, &n), 0, "builds");
	DB_LIST_RELEASE(b, n, db_build_release);
}

/* The promise: a state folder of any earlier format opens, and nothing in it is lost. */
static void test_formats(void)
{
	_cleanup_store_ struct store *new = fresh("format-new.db");
	_cleanup_free_ char *want = shape(new);

	for (int v = 1; v <= db_schema.version; v++) {
		_cleanup_free_ char *name = xasprintf("format-%d.db", v), *path = in_dir(name), *got = NULL;
		int64_t before[ARRAY_SIZE(kept)], after[ARRAY_SIZE(kept)], n = 0;
		struct store *s = NULL;

		if (!make_old(v, path))
			continue;
		count_kept(path, before);
		is_int(store_open(path, false, &s), 0, "opens: %s", s ? "yes" : err_msg());
		if (!s)
			continue;
		count_kept(path, after);
		for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
			is_int(after[i], before[i], "%s: all kept", kept[i]);
		got = shape(s);
		if (!ok(streq(got, want), "it is like a new one"))
			printf("# got\n%s# wanted\n%s", got, want);
		db_scalar(s, &n, "SELECT count(*) FROM pragma_foreign_key_check");
		is_int(n, 0, "nothing refers to nothing");
		is_int(count(s, "pragma_integrity_check WHERE integrity_check <> 'ok'"), 0, "the file is whole");
		read_all(s, v >= 4);
		store_close(s);
	}
}

/* What went out before format 6 is still known, and a way that this program has never heard of is kept, too. */
static void test_any_way(void)
{
	_cleanup_free_ char *path = in_dir("ways.db");
	_cleanup_store_ struct store *s = NULL;
	struct db_delivery d = {.report = 1,
				.way = (char *)"pigeon",
				.recipient = (char *)"ann",
				.state = DELIVERY_SENT},
			   *all = NULL;
	size_t n = 0;

	if (!make_old(5, path))
		return;
	is_int(store_open(path, false, &s), 0, "opens");
	is_int(store_delivery_put(s, &d), 0, "a delivery by pigeon");
	is_int(store_deliveries(s, 1, NULL, &all, &n), 0, "all of that report");
	ok(n == 2 && streq(all[0].way, "mbox") && all[0].state == DELIVERY_SENT &&
		   streq(all[0].detail, "/var/lib/kperfbot/mbox") && streq(all[1].way, "pigeon") &&
		   streq(all[1].recipient, "ann"),
	   "the old one and the new one");
	DB_LIST_RELEASE(all, n, db_delivery_release);
}

/* Of the first format: who asked is told by the branch, who got the mail by the allow-list of that day. */
static void test_format_1(void)
{
	_cleanup_free_ char *path = in_dir("first.db");
	_cleanup_store_ struct store *s = NULL;
	struct db_case c = {0};
	struct db_delivery d = {0};
	struct db_comparison q = {0};
	_cleanup_free_ char *base = NULL;
	int64_t branch = 0;

	make_old(1, path);
	is_int(store_open(path, false, &s), 0, "opens: %s", err_msg());
	is_int(count(s, "task WHERE tree = id % 2"), 2, "its tasks know their trees");
	is_int(store_branch_head(s, 1, "main", oid(1), false, &branch), 1, "a branch");
	is_int(store_branch_trouble(s, branch, "no way"), 0, "may have trouble");
	is_int(count(s, "branch WHERE trouble = 'no way'"), 1, "which is kept");
	is_int(store_branch_troubles_over(s), 0, "until it is over");
	is_int(count(s, "branch WHERE trouble IS NULL"), 1, "everywhere");
	is_int(store_case_by_id(s, 7, &c), 0, "its case");
	ok(c.asked == ASKED_DAEMON && db_case_mails(&c) && c.changed == 2, "of a branch: the daemon asked");
	db_case_release(&c);
	is_int(store_case_by_id(s, 8, &c), 0, "the other one");
	ok(c.asked == ASKED_HAND && !db_case_mails(&c), "of no branch: by hand");
	db_case_release(&c);
	is_int(store_delivery_get(s, 3, "mbox", NULL, &d), 0, "the mbox");
	ok(d.state == DELIVERY_SENDING && streq(d.detail, "offset 12"), "as it was");
	db_delivery_release(&d);
	is_int(store_delivery_get(s, 3, "smtp", "ann@example.org", &d), 0, "who was allowed");
	ok(d.state == DELIVERY_SENT && d.attempts == 2, "has it");
	db_delivery_release(&d);
	is_int(store_delivery_get(s, 3, "smtp", "bob@example.org", &d), -ENOENT, "who was not has not");
	is_int(store_comparison_by_id(s, 4, &q), 0, "a question");
	is_int(q.after_run, 4, "knows the last run before it");
	db_comparison_release(&q);
	is_int(store_base_get(s, 1, "j", 1, "k", &base), 0, "its branch");
	is_str(base, "h1", "goes on from the last head that was measured");
	is_int(count(s,
		     "value JOIN run ON run.id = value.run WHERE value.value = run.id + 6 OR value.value = run.id + 3"),
	       2, "the runs and their values are kept");
	is_int(count(s, "v_points WHERE metric = 'm.0000'"), 2, "the view shows them");
	db_exec(s, "DELETE FROM run");
	db_exec(s, "INSERT INTO run (build, job, machine, boot, replicate, verdict, started, seconds) "
		   "VALUES (1, 'j', 1, 'z', 3, 'ok', 1, 1)");
	is_int(count(s, "run WHERE id = 10"), 1, "a number is not given again");
	c = (struct db_case){.id = 8, .comparison = 2, .metric = (char *)"m.0000", .state = CASE_UNMAILED,
			     .confidence = 0.9};
	is_int(store_case_put(s, &c, NULL), 0, "a new state");
}

/* Of the sixth: proofs and candidates were JSON, here in all the shapes that were ever written, and some that were
 * not. */
static void test_format_6(void)
{
	static const struct { int id; const char *state, *culprit, *note, *proof, *candidates; } rows[] = {
		{101, "found", "c1", NULL,
		 "{\"parent\":\"p1\",\"after_run\":7,\"tries\":2,\"contradicted\":[{\"commit\":\"c0\",\"parent\":\"p0\",\"effect\":0.001},"
		 "{\"commit\":\"cx\",\"parent\":\"px\",\"effect\":null}],\"boots_parent\":6.0,\"boots_culprit\":5,\"mean_parent\":100.5,"
		 "\"mean_culprit\":95,\"sd\":0.25,\"effect\":-0.05,\"lo\":-0.06,\"hi\":-0.04,\"p\":1e-7,\"align\":1,\"aligned_after\":20,"
		 "\"aligned_effect\":-0.01,\"aligned\":\"remains\",\"revert_commit\":\"r1\",\"revert_after\":21,\"revert\":\"undone\"}",
		 "{\"commits\":9,\"set\":[],\"dropped\":[{\"commit\":\"d1\",\"why\":\"documentation only\"},"
		 "{\"commit\":\"d2\",\"why\":\"does not build\"},{\"commit\":\"c0\",\"why\":\"measured again, it does not differ from its "
		 "parent\"},{\"commit\":\"d3\",\"why\":\"no such reason\"}]}"},
		{102, "found", NULL, NULL, NULL,
		 "{\"commits\":4,\"set\":[{\"commit\":\"s1\",\"posterior\":0.75},{\"commit\":\"s2\"}],\"dropped\":[{\"commit\":\"s2\","
		 "\"why\":\"does not build\"}]}"},
		{103, "bisecting", NULL, NULL,
		 "{\"contradicted\":[{\"commit\":\"c9\",\"parent\":\"p9\",\"effect\":0}]}", NULL},
		{104, "proving", "c4", NULL, "{\"parent\":\"p4\",\"after_run\":3,\"tries\":1}", "{\"commits\":2}"},
		{105, "proving", "c5", NULL,
		 "{\"parent\":\"p5\",\"after_run\":3,\"effect\":-0.1,\"aligned_effect\":Infinity}", NULL},
		{106, "suspected", "c6", NULL, "{\"effect\":\"x\",\"contradicted\":3}", "[1,{},null]"},
		{107, "fixed", "c7", NULL, "no JSON", "{\"set\":[1,\"x\",{}],\"dropped\":{}}"},
		{108, "not-reproduced", NULL, "cannot go on: no commit", NULL, NULL},
		{109, "ignored", NULL, "stopped before the end; the same 'bisect' goes on", "{}", "{}"},
		{110, "ignored", NULL, "ignored by ann: cannot go on: known", NULL, NULL},
	};
	_cleanup_free_ char *path = in_dir("sixth.db");
	_cleanup_store_ struct store *s = NULL;
	struct db_case c = {.id = 101, .culprit = (char *)"c1"};
	struct db_proof p = {0};
	sqlite3_stmt *st;
	sqlite3 *db;

	make_old(6, path);
	sqlite3_open(path, &db);
	sqlite3_prepare_v2(
		db,
		"INSERT INTO \"case\" (id, comparison, metric, state, part, confidence, culprit, note, proof, candidates, "
		"opened, changed) VALUES (?1, 1, 1, ?2, ?1, 0.9, ?3, ?4, ?5, ?6, 1, 1)",
		-1, &st, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *text[] = {rows[i].state, rows[i].culprit, rows[i].note, rows[i].proof, rows[i].candidates};

		sqlite3_bind_int(st, 1, rows[i].id);
		for (int k = 0; k < 5; k++)
			sqlite3_bind_text(st, k + 2, text[k], -1, SQLITE_STATIC);
		is_int(sqlite3_step(st), SQLITE_DONE, "an old case: %s", sqlite3_errmsg(db));
		sqlite3_reset(st);
	}
	sqlite3_finalize(st);
	sqlite3_exec(
		db,
		"INSERT INTO comparison (id, tree, branch, base, head, kconfig, job, machine, created, state, reason) SELECT "
		"201, tree, '', 'x', 'y', kconfig, job, machine, 1, 'same', 'no change shown: +0.1%, not excluded' FROM "
		"comparison WHERE id = 1",
		NULL, NULL, NULL);
	sqlite3_close(db);
	is_int(store_open(path, false, &s), 0, "opens: %s", s ? "yes" : err_msg());
	if (!s)
		return;
	is_int(store_proof_get(s, &c, &p), 0, "a whole proof");
	ok(streq(p.parent, "p1") && p.state == PROOF_SHOWN && p.after_run == 7 && p.tries == 2 && p.boots_parent == 6 &&
		   p.boots_culprit == 5 && p.mean_parent == 100.5 && p.mean_culprit == 95 && p.sd == 0.25 &&
		   p.effect == -0.05 && p.lo == -0.06 && p.hi == -0.04 && p.p == 1e-7,
	   "all of its numbers");
	ok(p.align && p.aligned_after == 20 && p.aligned_effect == -0.01 && streq(p.aligned, "remains") &&
	   streq(p.revert_commit, "r1") && p.revert_after == 21 && streq(p.revert, "undone"), "and what came after it");
	db_proof_release(&p);
	is_int(count(s,
		     "proof WHERE \"case\" = 101 AND state = 'contradicted' AND commit_oid = 'c0' AND parent = 'p0' AND effect = 0.001"),
	       1, "one that contradicted");
	is_int(count(s,
		     "proof WHERE \"case\" = 101 AND state = 'contradicted' AND commit_oid = 'cx' AND effect IS NULL"),
	       1, "and another");
	is_int(count(s, "candidate WHERE \"case\" = 101 AND state = 'dropped' AND (commit_oid, reason) IN "
			"(VALUES ('d1', 'docs'), ('d2', 'no-build'), ('c0', 'cleared'), ('d3', ''))"), 4,
			"who was dropped, and why");
	is_int(count(s,
		     "candidate WHERE \"case\" = 102 AND state = 'left' AND (posterior = 0.75 OR reason = 'no-build')"),
	       2, "who is left, also where it does not build");
	is_int(count(s, "\"case\" WHERE (id, commits) IN (VALUES (101, 9), (102, 4), (104, 2), (106, 0))"), 4,
	       "of how many");
	is_int(count(s, "proof WHERE \"case\" = 103"), 1, "a case that names nobody keeps what was contradicted");
	is_int(count(s, "proof WHERE \"case\" = 104 AND state = 'open' AND after_run = 3"), 1,
	       "a proof that has begun");
	is_int(count(s, "proof WHERE \"case\" = 105 AND state = 'shown' AND aligned_effect IS NULL"), 1,
	       "a number that was none");
	is_int(count(s, "proof WHERE \"case\" IN (106, 107)") + count(s, "candidate WHERE \"case\" IN (106, 107)"), 0,
	       "what was no proof");
	is_int(count(s, "event WHERE \"case\" = 107 AND text LIKE '%no JSON'"), 1, "is told where it cannot be read");
	is_int(count(s, "\"case\" WHERE (id, state, stopped) IN (VALUES (106, 'confirmed', ''), (107, 'reported', ''),"
			" (108, 'not-reproduced', 'error'), (109, 'ignored', 'asker'), (110, 'ignored', ''))"), 5,
			"states");
	is_int(count(s, "comparison WHERE id = 201 AND state = 'no change shown' AND reason = '+0.1%, not excluded'"),
	       1, "nothing was shown");
	is_int(count(s, "comparison WHERE state = 'no change shown'"), 1, "only there");
}

/* Of the seventh: a limit that was reached stood in the words of a check. */
static void test_format_7(void)
{
	_cleanup_free_ char *path = in_dir("seventh.db");
	_cleanup_store_ struct store *s = NULL;
	sqlite3 *db;

	make_old(7, path);
	sqlite3_open(path, &db);
	ok(sqlite3_exec(
		   db,
		   "INSERT INTO run_check SELECT min(id), 'line-rate', 'unknown', 'at the limit: 14854233 pkt/s are 99.8%' FROM run;"
		   "INSERT INTO run_check SELECT max(id), 'line-rate', 'unknown', 'the speed of the link is not known' FROM run",
		   NULL, NULL, NULL) == SQLITE_OK,
	   "with checks: %s", sqlite3_errmsg(db));
	sqlite3_close(db);
	is_int(store_open(path, false, &s), 0, "opens: %s", err_msg());
	is_int(count(s, "run_check WHERE capped"), 1, "one is capped");
	is_int(count(s, "run_check WHERE capped AND evidence LIKE 'at the limit: %'"), 1, "the one that says so");
}

/* Of the fourth: extra boots were runs with a flag, and a way out could be missing. */
static void test_format_4(void)
{
	static const char odd[] =
		"INSERT INTO task (id, kind, key, payload, resource, created) VALUES (101, 'send', 'old', '{\"case\":1}', 'mail', 1),"
		" (102, 'run', 'no json', 'x', 'build', 1), (103, 'run', 'false', '{\"profile\":false}', 'build', 1);"
		"INSERT INTO build (id, tree, commit_oid, kconfig, state, time) VALUES (101, 1, 'x', 'k', 'infra', 1)";
	_cleanup_free_ char *path = in_dir("fourth.db");
	_cleanup_payload_ struct task_payload p = {0};
	_cleanup_store_ struct store *s = NULL;
	struct db_task t = {0};
	sqlite3 *db;

	make_old(4, path);
	sqlite3_open(path, &db);
	ok(sqlite3_exec(db, odd, NULL, NULL, NULL) == SQLITE_OK, "with odd rows: %s", sqlite3_errmsg(db));
	sqlite3_close(db);
	is_int(store_open(path, false, &s), 0, "opens: %s", err_msg());
	is_int(count(s, "task WHERE kind = 'profile' AND key LIKE 'profile:%' AND payload NOT LIKE '%profile%'"), 2,
	       "two extra boots");
	is_int(count(s, "task WHERE kind = 'profile' AND state = 'cancelled'"), 1, "one of them cancelled");
	is_int(count(s, "task WHERE kind = 'run' AND key LIKE 'profile:%'"), 0, "none is left a run");
	is_int(count(s, "task WHERE id = 101 AND payload = '{\"case\":1,\"way\":\"mbox\"}'"), 1,
	       "what goes out has a way");
	is_int(count(s, "task WHERE id IN (102, 103) AND kind = 'run'"), 2, "no JSON, or a flag that says no: a run");
	is_int(count(s, "task_dep JOIN task ON task.id = needs WHERE kind = 'build'"), count(s, "task_dep"),
	       "who waits for what is kept");
	is_int(count(s, "build WHERE id = 101"), 0, "a build that failed on our side is made again");
	is_int(store_task_claim(s, "machine:qemu", "w", USEC_PER_SEC, &t), 0, "the one that waits is claimed: %s",
	       err_msg());
	is_int(t.kind, TASK_PROFILE, "as what it is");
	is_int(task_payload_read(t.kind, t.payload, &p), 0, "and can be read: %s", err_msg());
	ok(streq(p.tree, "kern") && streq(p.kconfig, "vm-min") && streq(p.machine, "qemu") && !p.base, "all of it");
	db_task_release(&t);
}

/* From where each job is compared. */
static void test_base(void)
{
	_cleanup_store_ struct store *s = fresh("base.db");
	_cleanup_free_ char *a = NULL, *b = NULL, *any = NULL, *none = NULL;
	struct db_base row = {.machine = 1, .kconfig = (char *)"k", .job = (char *)"0123456789abcdef"};

	basics(s);
	store_branch_head(s, 1, "main", oid(1), false, &row.branch);
	is_int(store_base_get(s, row.branch, NULL, 0, NULL, &none), -ENOENT, "nothing was measured: %s", err_msg());
	row.oid = (char *)oid(7);
	is_int(store_base_put(s, &row), 0, "a head was");
	row.machine = 2;
	db_exec(s, "INSERT INTO machine (id, name, driver, tbox_group) VALUES (2, 'other', 'local', 'other')");
	row.oid = (char *)oid(8);
	is_int(store_base_put(s, &row), 0, "and another one elsewhere");
	row.machine = 1;
	row.oid = (char *)oid(9);
	is_int(store_base_put(s, &row), 0, "and the next one");
	is_int(store_base_get(s, row.branch, row.job, 1, "k", &a), 0, "read");
	is_str(a, oid(9), "the newer one");
	is_int(store_base_get(s, row.branch, row.job, 2, "k", &b), 0, "the other machine");
	is_str(b, oid(8), "has its own");
	is_int(store_base_get(s, row.branch, NULL, 0, NULL, &any), 0, "for one that is new");
	is_str(any, oid(9), "the last that was written");
	is_int(store_base_get(s, row.branch, row.job, 1, "other", &none), -ENOENT, "another kconfig has none");
}

/* The clock goes back between two runs: their order does not. */
static void test_clock_back(void)
{
	_cleanup_store_ struct store *s = fresh("clock.db");
	struct db_run run = a_run(basics(s)), *all = NULL;
	struct db_point *points = NULL;
	struct sample x = {0};
	struct metric_set m = {0};
	const usec_t now = 1800000000000000;
	int64_t last = 0, other = 0;
	size_t n = 0;

	is_int(store_last_run(s, &last), 0, "no run yet");
	is_int(last, 0, "is 0");
	for (int i = 0; i < 3; i++) {
		char boot[8];

		snprintf(boot, sizeof(boot), "b%d", i);
		run.boot = boot;
		run.replicate = i + 1;
		run.started = now - i * 3600 * USEC_PER_SEC;
		metric_set_add(&m, "x.ops", i, "ops/s", 1, true);
		is_int(store_run_put(s, &run, &m, &other), 0, "a run an hour before the last one");
	}
	is_int(store_last_run(s, &last), 0, "the newest");
	is_int(last, other, "is the last one stored");
	store_runs(s, run.build, run.job, "qemu-2c", false, &all, &n);
	ok(n == 3 && all[0].replicate == 1 && all[2].replicate == 3, "runs in their order");
	DB_LIST_RELEASE(all, n, db_run_release);
	store_sample(s, run.build, run.job, "qemu-2c", "x.ops", &x);
	ok(x.n == 3 && x.value[0] == 0 && x.value[2] == 2 && x.run[2] == last, "values, too");
	sample_release(&x);
	store_points(s, NULL, NULL, NULL, NULL, "x.ops", &points, &n);
	ok(n == 3 && points[0].value == 0 && points[2].value == 2 && points[2].first_run == last, "and points");
	DB_LIST_RELEASE(points, n, db_point_release);
	metric_set_release(&m);
}

/* What was sent by a clock that was ten years ahead does not fill a day for ten years. */
static void test_full_by_a_wrong_clock(void)
{
	_cleanup_store_ struct store *s = fresh("full.db");
	const usec_t day = 86400 * USEC_PER_SEC, years = 3650 * day;
	struct db_delivery d = {.way = (char *)"smtp", .recipient = (char *)"ann@example.org", .state = DELIVERY_SENT};
	usec_t oldest = 0;

	db_exec(s, "PRAGMA foreign_keys = OFF");
	for (d.report = 1; d.report <= 2; d.report++) {
		d.time = now_usec() + (d.report == 1 ? years : 3600 * USEC_PER_SEC);
		is_int(store_delivery_put(s, &d), 0, "sent");
	}
	is_int(store_deliveries_full(s, d.recipient, 2, now_usec() - day, &oldest), 0, "two a day");
	is_int(oldest, 0, "one of them counts");
	is_int(store_deliveries_full(s, d.recipient, 1, now_usec() - day, &oldest), 0, "one a day");
	ok(oldest > now_usec(), "the one that is an hour ahead");
}

/* Who asks: inherited, raised by who mails, never lowered. */
static void test_asked(void)
{
	_cleanup_store_ struct store *s = fresh("asked.db");
	int64_t build = basics(s), q, id = 0, part = 0;
	struct db_run run = a_run(build);
	struct metric_set m = {0};
	struct db_comparison c = {.tree = 1, .machine = 1, .base = (char *)oid(1), .head = (char *)oid(2),
				  .kconfig = (char *)"vm-min",
				  .job = (char *)"0123456789abcdef"};
	struct db_case k = {.metric = (char *)"m.0000", .state = CASE_FOUND, .confidence = 0.99}, got = {0};
	static const struct { enum asked_by asks, is; } turns[] = {
		{ASKED_HAND, ASKED_HAND}, {ASKED_HAND_MAIL, ASKED_HAND_MAIL}, {ASKED_HAND, ASKED_HAND_MAIL},
		{ASKED_DAEMON, ASKED_HAND_MAIL}, {ASKED_HAND, ASKED_HAND_MAIL}};

	fill(&m, 2, 1);
	store_run_put(s, &run, &m, NULL);
	metric_set_release(&m);
	store_comparison_put(s, &c, &q);
	k.comparison = q;
	is_int(store_case_put(s, &k, &id), 0, "a case");
	for (size_t i = 0; i < ARRAY_SIZE(turns); i++) {
		c.asked = turns[i].asks;
		is_int(store_comparison_put(s, &c, &q), 0, "asked by %s", asked_by_word(turns[i].asks));
		store_case_by_id(s, id, &got);
		ok(got.asked == turns[i].is, "its case: %s", asked_by_word(turns[i].is));
		db_case_release(&got);
	}
	store_case_asked(s, id, ASKED_HAND);
	k.part = 1;
	store_case_put(s, &k, &part);
	store_case_by_id(s, part, &got);
	ok(got.asked == ASKED_HAND, "reopened by hand: the next culprit is by hand, too, whoever asked first");
	got.asked = ASKED_DAEMON;
	store_case_put(s, &got, NULL);
	db_case_release(&got);
	store_case_by_id(s, part, &got);
	ok(got.asked == ASKED_HAND, "an update with what was read earlier does not undo it");
	db_case_release(&got);
	c.asked = ASKED_DAEMON;
	store_comparison_put(s, &c, &q);
	store_case_by_id(s, part, &got);
	ok(got.asked == ASKED_HAND, "nor does the daemon's asking again");
	db_case_release(&got);
	c.head = (char *)oid(3);
	c.asked = ASKED_HAND;
	store_comparison_put(s, &c, &q);
	k.comparison = q;
	k.part = 0;
	store_case_put(s, &k, &id);
	c.asked = ASKED_DAEMON;
	store_comparison_put(s, &c, &q);
	store_case_by_id(s, id, &got);
	ok(got.asked == ASKED_DAEMON, "what a branch brings is mailed, though somebody asked before");
	db_case_release(&got);
}

static void test_open_race(void)
{
	_cleanup_free_ char *path = in_dir("open-race.db");
	int bad = 0;

	for (int i = 0; i < 8; i++)
		if (!spawn()) {
			struct store *s;
			int r = store_open(path, false, &s);

			if (r == 0)
				store_close(s);
			_exit(r != 0);
		}
	for (int i = 0, st; i < 8; i++)
		bad += wait(&st) < 0 || st != 0;
	is_int(bad, 0, "eight processes make the same database at once");
}

static void test_transactions(void)
{
	_cleanup_store_ struct store *s = fresh("tx.db");
	int64_t build = basics(s);
	struct db_run run = a_run(build);
	struct metric_set m = {0};

	fill(&m, 5, 0);
	store_begin(s);
	is_int(store_run_put(s, &run, &m, NULL), 0, "a run inside");
	m.v[4].value = NAN;
	is_int(store_run_put(s, &run, &m, NULL), -EINVAL, "one that fails inside");
	m.v[4].value = 4;
	is_int(store_run_put(s, &run, &m, NULL), 0, "another good one");
	is_int(store_commit(s), 0, "commit");
	ok(count(s, "run") == 2 && count(s, "value") == 10, "the good ones are there, whole");
	store_begin(s);
	store_begin(s);
	store_run_put(s, &run, &m, NULL);
	store_commit(s);
	store_rollback(s);
	ok(count(s, "run") == 2 && s->depth == 0, "the outer one decides");
	metric_set_release(&m);
}

/* ---- the hard ones ---- */

/* Only whole runs: each one has all its 50 values. */
static bool all_whole(struct store *s)
{
	int64_t bad = -1, good = 0;

	db_scalar(s, &bad, "SELECT count(*) FROM run WHERE (SELECT count(*) FROM value WHERE run = run.id) <> 50");
	db_scalar(s, &good, "SELECT integrity_check = 'ok' FROM pragma_integrity_check LIMIT 1");
	return bad == 0 && good == 1;
}

/* Stores runs until it is killed; a byte into ready after the first one. */
static void write_for_ever(const char *path, int64_t build, int ready)
{
	struct db_run run = a_run(build);
	struct metric_set m = {0};
	struct store *s;

	fill(&m, 50, 1);
	if (store_open(path, false, &s) < 0)
		_exit(1);
	for (int i = 0; store_run_put(s, &run, &m, NULL) == 0; i++)
		if (i == 0 && write(ready, "", 1) != 1)
			break;
	_exit(1);
}

static pid_t start_writer(const char *path, int64_t build)
{
	int fd[2];
	char c;
	pid_t pid;

	if (pipe(fd) < 0) {
		printf("Bail out! cannot make a pipe: %s\n", strerror(errno));
		exit(1);
	}
	pid = spawn();
	if (!pid)
		write_for_ever(path, build, fd[1]);
	close(fd[1]);
	if (read(fd[0], &c, 1) != 1)
		printf("# the writer stored nothing\n");
	close(fd[0]);
	return pid;
}

static void test_kill(void)
{
	_cleanup_free_ char *path = in_dir("kill.db");
	struct store *s = fresh("kill.db");
	int64_t build = basics(s), before = 0, runs = 0;
	int bad = 0, grown = 0;

	store_close(s);
	srandom(42);
	for (int i = 0; i < 30; i++) {
		pid_t pid = start_writer(path, build);

		usleep(random() % 30000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (store_open(path, false, &s) < 0) {
			bad++;
			printf("# %s\n", err_msg());
			continue;
		}
		bad += !all_whole(s);
		runs = count(s, "run");
		grown += runs > before;
		before = runs;
		store_close(s);
	}
	is_int(bad, 0, "after each of 30 kills the file is sound and has whole runs only");
	is_int(grown, 30, "and each kill hit a writer at work (%" PRId64 " runs)", runs);
}

static void test_reader(void)
{
	_cleanup_free_ char *path = in_dir("reader.db");
	struct store *s = fresh("reader.db"), *ro = NULL;
	int64_t build = basics(s), first, last = 0;
	int bad = 0;
	pid_t pid;

	store_close(s);
	pid = start_writer(path, build);
	is_int(store_open(path, true, &ro), 0, "a reader opens while another process writes");
	first = count(ro, "run");
	for (int i = 0; i < 5000 && (i < 20 || last < first + 20); i++) {
		int64_t now;

		bad += !all_whole(ro);
		now = count(ro, "run");
		bad += now < last;
		last = now;
		usleep(2000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	is_int(bad, 0, "it never sees half a run");
	ok(last > first, "and sees new ones (%" PRId64 ")", last - first);
	store_close(ro);
	/* without the right to write, with a log left behind by a killed writer, and without one */
	for (int clean = 0; clean < 2; clean++) {
		int st;

		if (clean) {
			store_open(path, false, &s);
			store_close(s);
		}
		if (geteuid() != 0) {
			printf("ok %d - # SKIP only root can become another user\n", ++tap_n);
			continue;
		}
		chmod(dir, 0755);
		/* the owner may let others in, as long as nothing writes */
		for (size_t i = 0; i < 3; i++) {
			_cleanup_free_ char *file = xasprintf("%s%s", path, i == 0 ? "" : i == 1 ? "-wal" : "-shm");
			struct stat m = {.st_mode = 0600};

			ok(stat(file, &m) < 0 || !(m.st_mode & 077), "nobody else reads '%s'", file);
			chmod(file, 0644);
		}
		pid = spawn();
		if (!pid) {
			if (setgid(65534) < 0 || setuid(65534) < 0)
				_exit(9);
			st = store_open(path, true, &ro) < 0 ? 1 : count(ro, "run") < last ? 2 : 0;
			if (st)
				printf("# %s\n", err_msg());
			fflush(stdout);
			_exit(st);
		}
		waitpid(pid, &st, 0);
		is_int(WEXITSTATUS(st), 0, "a user without the right to write reads it, %s",
		       clean ? "closed" : "log left behind");
	}
}

static int fill_until_full(struct store *s, int64_t build, struct metric_set *m)
{
	struct db_run run = a_run(build);
	int r = 0;

	for (int i = 0; i < 100000 && r == 0; i++)
		r = store_run_put(s, &run, m, NULL);
	return r;
}

static void full_checks(struct store *s, int64_t build, int64_t limit_lifted(void))
{
	struct metric_set m = {0};
	struct db_run run = a_run(build);
	int64_t before;
	int r;

	fill(&m, 50, 1);
	r = fill_until_full(s, build, &m);
	is_int(r, -ENOSPC, "disk full is said so: %s", err_msg());
	ok(strstr(err_msg(), s->path), "with the file's name");
	ok(all_whole(s), "only whole runs are stored");
	before = count(s, "run");
	sqlite3_exec(s->db, "PRAGMA cache_size = 20", NULL, NULL, NULL); /* so that it is written before the end */
	store_begin(s);
	while ((r = store_run_put(s, &run, &m, NULL)) == 0)
		;
	is_int(r, -ENOSPC, "full within a longer transaction");
	ok(store_commit(s) < 0, "which cannot be committed then");
	ok(count(s, "run") == before && s->depth == 0, "and leaves nothing");
	limit_lifted();
	is_int(store_run_put(s, &run, &m, NULL), 0, "with space again the same connection works");
	is_int(count(s, "run"), before + 1, "and the run is there");
	metric_set_release(&m);
}

static int64_t lift_rlimit(void)
{
	struct rlimit l;

	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = l.rlim_max;
	return setrlimit(RLIMIT_FSIZE, &l);
}

static void test_file_limit(void)
{
	struct store *s = fresh("limit.db");
	int64_t build = basics(s);
	struct rlimit l;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &l);
	l.rlim_cur = 300000;
	setrlimit(RLIMIT_FSIZE, &l);
	full_checks(s, build, lift_rlimit);
	store_close(s);
}

static int64_t grow_tmpfs(void)
{
	_cleanup_free_ char *mnt = in_dir("full");

	return mount(NULL, mnt, NULL, MS_REMOUNT, "size=16m");
}

static void test_disk_full(void)
{
	_cleanup_free_ char *mnt = in_dir("full");
	struct store *s;

	fs_mkdir_p(mnt);
	if (mount("tmpfs", mnt, "tmpfs", 0, "size=1m") < 0) {
		printf("ok %d - # SKIP cannot mount a tmpfs: %s\n", ++tap_n, strerror(errno));
		return;
	}
	s = fresh("full/full.db");
	full_checks(s, basics(s), grow_tmpfs);
	store_close(s);
	umount2(mnt, MNT_DETACH);
}

/* ---- queries ---- */

static const char *cell(const struct table *t, size_t row, const char *col)
{
	for (size_t c = 0; c < t->n_cols; c++)
		if (streq(t->col[c].name, col) && row < t->n_rows)
			return t->cell[row * t->n_cols + c].text ?: "";
	return "(none)";
}

static void some_runs(struct store *s)
{
	struct db_build b = {
		.tree = 1, .commit = (char *)oid(0x1234567), .kconfig = (char *)"vm-min", .state = BUILD_OK};
	int64_t b1 = basics(s), b2 = 0;
	static const double v[] = {100, 102, 104, 90, 90, 90};

	store_build_put(s, &b, &b2);
	for (int i = 0; i < 6; i++) {
		struct metric_set m = {0};
		struct db_run run = a_run(i < 3 ? b1 : b2);
		char boot[16];

		/* the first two share a boot */
		snprintf(boot, sizeof(boot), "b%d", i == 1 ? 0 : i);
		run.boot = boot;
		run.started = 1714564800ULL * USEC_PER_SEC + i * USEC_PER_SEC;
		metric_set_add(&m, "x.ops", v[i], "ops", 1, true);
		metric_set_add(&m, "x.ns", 1000 + i, "ns", -1, false);
		store_run_put(s, &run, &m, NULL);
		metric_set_release(&m);
	}
}

static int ask(struct store *s, const char *what, struct query_filter f, struct table *t)
{
	table_release(t);
	return store_query(s, what, &f, t);
}

static void test_checks(void)
{
	static const enum check_verdict verdict[] = {CHECK_PASS, CHECK_FAIL, CHECK_UNKNOWN};
	_cleanup_store_ struct store *s = fresh("checks.db");
	_cleanup_table_ struct table t = {0};
	struct check_set c = {0};
	struct db_check *list = NULL;
	size_t n = 0;

	some_runs(s); /* 1 to 3 are of build 1 */
	for (int i = 0; i < 3; i++) {
		check_set_add(&c, "generator", verdict[i], "boot %d", i)->capped = i == 2;
		check_set_add(&c, "steady", CHECK_PASS, "%d%%", i);
		is_int(store_checks_put(s, i + 1, &c), 0, "checks of run %d", i + 1);
		check_set_release(&c);
	}
	check_set_add(&c, "generator", CHECK_PASS, "twice");
	is_int(store_checks_put(s, 1, &c), -EEXIST, "a run has one of each name");
	is_int(store_checks_put(s, 999, &c), -ENOENT, "and must exist");
	check_set_release(&c);
	is_int(store_checks(s, 1, "0123456789abcdef", NULL, &list, &n), 0, "checks of a build");
	ok(n == 2 && streq(list[0].name, "generator") && streq(list[1].name, "steady"), "by name");
	ok(n == 2 && list[0].pass == 1 && list[0].fail == 1 && list[0].unknown == 1 && list[0].capped == 1 &&
		   !list[1].capped && list[1].pass == 3,
	   "counted");
	is_str(n ? list[0].evidence : "", "boot 1", "with the evidence of the worst");
	is_str(n == 2 ? list[1].evidence : "", "2%", "the newest of equals");
	DB_LIST_RELEASE(list, n, db_check_release);
	is_int(ask(s, "checks", (struct query_filter){.state = "fail"}, &t), 0, "failed checks");
	ok(t.n_rows == 1 && streq(cell(&t, 0, "check"), "generator") && streq(cell(&t, 0, "run"), "2"), "of run 2");
	is_int(ask(s, "checks", (struct query_filter){.state = "bad"}, &t), -EINVAL, "no such verdict");
	is_int(store_tree_remove(s, "net-next"), 0, "with the tree");
	is_int(count(s, "run_check"), 0, "its checks go");
}

static void test_query(void)
{
	static const char *const what[] = {"runs", "checks", "metrics", "series", "builds", "cases", "trees",
					   "machines", "queue", "events"};
	_cleanup_store_ struct store *s = fresh("query.db");
	_cleanup_table_ struct table t = {0};

	some_runs(s);
	for (size_t i = 0; i < ARRAY_SIZE(what); i++)
		is_int(ask(s, what[i], (struct query_filter){.metric_glob = streq(what[i], "series") ? "*" : NULL}, &t),
		       0, "query %s", what[i]);
	is_int(ask(s, "series", (struct query_filter){.metric_glob = "x.ops"}, &t), 0, "series");
	is_int(t.n_rows, 2, "a row for each commit");
	ok(streq(cell(&t, 0, "commit"), oid(1)) && streq(cell(&t, 1, "commit"), oid(0x1234567)), "in order of time");
	is_str(cell(&t, 0, "boots"), "2", "boots are counted");
	is_str(cell(&t, 0, "runs"), "3", "runs too");
	is_str(cell(&t, 0, "mean"), "102.5", "mean over boots: (101 + 104) / 2");
	is_str(cell(&t, 0, "stddev_pct"), "1.4634", "100 * 1.5 / 102.5");
	is_str(cell(&t, 1, "stddev_pct"), "0", "no spread");
	is_str(cell(&t, 0, "time"), "2024-05-01T12:00:00Z", "ISO time");
	is_int(ask(s, "series", (struct query_filter){.metric_glob = "x.ops", .limit = 1}, &t), 0, "the newest");
	ok(t.n_rows == 1 && streq(cell(&t, 0, "mean"), "90"), "one row");
	is_int(ask(s, "metrics", (struct query_filter){.commit = "01234567", .metric_glob = "x.o*"}, &t), 0,
	       "metrics of a commit");
	ok(t.n_rows == 1 && streq(cell(&t, 0, "runs"), "3") && streq(cell(&t, 0, "better"), "higher"),
	   "one, with three runs");
	is_int(ask(s, "runs", (struct query_filter){.limit = 2}, &t), 0, "two runs");
	ok(streq(cell(&t, 0, "id"), "5") && streq(cell(&t, 1, "id"), "6"), "the newest two, old to new");
	ask(s, "runs",
	    (struct query_filter){.since = "2024-05-01T12:00:03Z",
				  .until = "2024-05-01 12:00:05",
				  .tree = "net-next",
				  .machine = "qemu-2c",
				  .job = "stress-*",
				  .verdict = "ok,failed",
				  .metric_glob = "x.*"},
	    &t);
	is_int(t.n_rows, 2, "many filters at once");
	ask(s, "runs", (struct query_filter){.since = "2d"}, &t);
	is_int(t.n_rows, 0, "none in the last two days");

	static const struct { const char *what; struct query_filter f; int r; const char *says; } wrong[] = {
		{"run", {0}, -EINVAL, "did you mean 'runs'"},
		{"runs", {.tree = "net-nex"}, -ENOENT, "did you mean 'net-next'"},
		{"runs", {.machine = "vm2"}, -ENOENT, "vm1"},
		{"runs", {.job = "nothing"}, -ENOENT, "stress-ng-sockfd"},
		{"runs", {.verdict = "crash"}, -EINVAL, "did you mean 'crashed'"},
		{"runs", {.state = "ok"}, -EINVAL, "--state does not fit"},
		{"builds", {.state = "borken"}, -EINVAL, "did you mean 'broken'"},
		{"series", {0}, -EINVAL, "needs --metric"},
		{"runs", {.since = "yesterday"}, -EINVAL, "'yesterday' is not a time"},
		{"runs", {.since = "2024-02-31"}, -EINVAL, "is not a time"},
		{"runs", {.commit = "abc"}, -EINVAL, "6 or more"},
		{"runs", {.commit = "abcdef12"}, -ENOENT, "no commit 'abcdef12'"},
		{"runs", {.limit = -1}, -EINVAL, "negative"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		is_int(store_query(s, wrong[i].what, &wrong[i].f, &t), wrong[i].r, "wrong word %zu", i);
		ok(strstr(err_msg(), wrong[i].says), "%s", err_msg());
	}
}

static void test_sql(void)
{
	static const char *const forbidden[] = {"DELETE FROM run", "ATTACH 'x.db' AS y", "PRAGMA user_version = 9",
						"BEGIN",
						"SELECT 1; SELECT 2", "", "SELECT load_extension('x')",
						"PRAGMA journal_mode = DELETE",
						"SELEC 1", "VACUUM INTO 'copy.db'"};
	_cleanup_store_ struct store *s = fresh("sql.db");
	_cleanup_table_ struct table t = {0};
	_cleanup_free_ char *found = NULL;

	some_runs(s);
	is_int(store_sql(s, "SELECT id, verdict, NULL AS n, 1.5 AS x, id FROM run ORDER BY id; -- end", &t), 0, "sql");
	ok(t.n_rows == 6 && t.n_cols == 5 && streq(cell(&t, 5, "id"), "6") && streq(cell(&t, 0, "x"), "1.5") &&
		   streq(cell(&t, 0, "id:2"), "1"), "its table");
	table_release(&t);
	is_int(store_sql(s, "SELECT iso_time(time), stddev_pop(value) FROM v_points WHERE metric = 'x.ops'", &t), 0,
	       "view and functions");
	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
		ok(store_sql(s, forbidden[i], &t) < 0, "'%s': %s", forbidden[i], err_msg());
	is_int(count(s, "run"), 6, "nothing was changed");
	is_int(store_find_commit(s, "01234567", &found), 0, "a commit by its first digits");
	is_str(found, oid(0x1234567), "in full");
	free(TAKE_PTR(found));
	store_branch_head(s, 1, "main", oid(0x1234568), false, NULL);
	is_int(store_find_commit(s, "0123456", &found), -ENOTUNIQ, "two fit: %s", err_msg());
	is_int(store_find_commit(s, "012345678DEAD", &found), -ENOENT, "none fits");
	is_int(store_find_commit(s, "01234568DEAD", &found), 0, "capitals are fine");
}

/* Which series made a commit: in lists, and to name it by. */
static void test_patched(void)
{
	_cleanup_store_ struct store *s = fresh("patched.db");
	_cleanup_table_ struct table t = {0};
	_cleanup_free_ char *old = xstrdup(oid(0xaaa)), *new = xstrdup(oid(0xbbb)), *base = xstrdup(oid(0x1234567)),
			    *found = NULL;
	struct db_patched p = {.tree = 1,
			       .commit = old,
			       .base = base,
			       .name = (char *)"fix",
			       .hash = (char *)"00",
			       .patches = 3,
			       .time = 5},
			  got = {0};

	some_runs(s);
	is_int(store_patched_put(s, &p), 0, "a patched commit");
	p.commit = new;
	p.time = 4; /* the clock went back */
	is_int(store_patched_put(s, &p), 0, "and one of a newer series of that name");
	is_int(store_patched_put(s, &p), 0, "again is fine");
	is_int(store_patched_get(s, old, &got), 0, "read back");
	ok(streq(got.base, base) && streq(got.name, "fix") && got.patches == 3, "with what it is made of");
	db_patched_release(&got);
	is_int(store_find_commit(s, "01234567+fix", &found), 0, "base + series");
	is_str(found, new, "is the newest");
	free(TAKE_PTR(found));
	is_int(store_find_commit(s, "01234567+none", &found), -ENOENT, "no such series: %s", err_msg());
	is_int(store_query(s, "patches", &(struct query_filter){.commit = base}, &t), 0, "query patches");
	ok(t.n_rows == 2 && streq(cell(&t, 0, "count"), "3") && streq(cell(&t, 1, "commit"), new), "lists both");
	table_release(&t);
	p.commit = base;
	store_patched_put(s, &p);
	is_int(store_query(s, "runs", &(struct query_filter){.commit = base}, &t), 0, "query runs");
	ok(t.n_rows && streq(cell(&t, 0, "patches"), "fix"), "names the series");
	table_release(&t);
	is_int(store_query(s, "series", &(struct query_filter){.metric_glob = "x.ops", .commit = base}, &t), 0,
	       "query series");
	ok(t.n_rows && streq(cell(&t, 0, "patches"), "fix"), "too");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_open();
	test_trees();
	test_words();
	test_builds();
	test_sets();
	test_runs();
	test_units();
	test_cases();
	test_tasks();
	test_withdraw();
	test_turns();
	test_many_tasks();
	test_claim_race();
	test_migrate();
	test_base();
	test_clock_back();
	test_full_by_a_wrong_clock();
	test_formats();
	test_any_way();
	test_format_1();
	test_format_4();
	test_format_6();
	test_format_7();
	test_asked();
	test_open_race();
	test_transactions();
	test_checks();
	test_query();
	test_sql();
	test_patched();
	test_kill();
	test_reader();
	test_file_limit();
	test_disk_full();
	fs_rm_rf(dir);
	return tap_done();
}
