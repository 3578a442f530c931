/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What cannot be planned: tried again where that may help, ended with its reason where it cannot. */
#include "bot/engine/points.h"
#include "bot/engine/trouble.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

#define ABSENT "0123456789012345678901234567890123456789"

static char dir[] = "/tmp/kperfbot-trouble-XXXXXX";
static char *head;
static struct config cfg;
static struct store *s;
static struct db_tree tree;
static struct tree_config tcfg;
static struct db_job job;
static struct troubles troubles;

static void write_file(const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

	fs_mkdir_parent(path);
	fs_write_atomic(path, text, strlen(text));
}

static char *sh(const char *script)
{
	_cleanup_buf_ struct buf out = {0};

	if (proc_ok(ARGV("sh", "-c", script), dir, &out) < 0)
		printf("Bail out! %s\n", err_msg());
	return xstrndup(buf_str(&out), strcspn(buf_str(&out), "\n"));
}

static void set_up(void)
{
	_cleanup_free_ char *etc = xasprintf("%s/etc", dir);
	struct job_list jobs = {0};

	free(sh("mkdir -p etc state/trees && git init -q --bare -b main state/trees/t.git && "
		"printf 'commit refs/heads/main\\nmark :1\\ncommitter A <a@example.org> 1700000000 +0000\\ndata 1\\nx\\n"
		"commit refs/heads/main\\ncommitter A <a@example.org> 1700000001 +0000\\ndata 1\\ny\\nfrom :1\\n' | "
		"git --git-dir=state/trees/t.git fast-import --quiet"));
	head = sh("git --git-dir=state/trees/t.git rev-parse main");
	write_file("etc/bench.yaml", "suite: command\ntestcase: bench\ncategory: benchmark\nmonitors: []\ncommand:\n"
		   "  run: 'true'\n  kpi: ops\n  better: higher\n");
	write_file("etc/trees.yaml", "trees:\n  t:\n    url: https://git.example.org/t.git\n    program: true\n"
		   "    artefact: bench\n    machine: local\n    jobs: [bench]\n");
	if (config_load(etc, &cfg) < 0 || store_open(":memory:", false, &s) < 0 || config_to_store(&cfg, s) < 0 ||
	    store_tree_get(s, "t", &tree) < 0 || tree_config_from_db(&tree, &tcfg) < 0 ||
	    job_load("bench", etc, NULL, &jobs) < 0 || job_to_db(&jobs.v[0], &job) < 0)
		printf("Bail out! %s\n", err_msg());
	job_list_release(&jobs);
}

/* So that the metric is known. */
static void store_one_run(void)
{
	struct db_build b = {.tree = tree.id, .commit = head, .kconfig = (char *)"program", .state = BUILD_OK,
			     .image_hash = head};
	struct metric_set m = {0};
	struct db_machine local = {0};
	struct db_run run = {.job = job.id, .boot = (char *)"1.1", .verdict = RUN_OK};
	int64_t id = 0;

	is_int(metric_set_add(&m, "command.ops", 5, "", 1, true), 0, "a value");
	if (store_build_put(s, &b, &run.build) < 0 || store_machine_get(s, "local", &local) < 0 ||
	    store_job_put(s, &job) < 0)
		printf("Bail out! %s\n", err_msg());
	run.machine = local.id;
	is_int(store_run_put(s, &run, &m, &id), 0, "of a run");
	metric_set_release(&m);
	db_machine_release(&local);
}

/* One plan in which nothing waits for its turn. */
static void plan(void)
{
	struct engine e = {.store = s, .cfg = &cfg, .troubles = &troubles};

	troubles_try_now(&troubles);
	is_int(engine_plan(&e), 0, "a plan");
	engine_release(&e);
}

static int64_t ask(const char *base)
{
	struct engine e = {.store = s, .cfg = &cfg};
	int64_t id = 0;

	is_int(engine_ask(&e, &tree, &tcfg, "", base, head, &job, "local", &id), 0, "a question");
	return id;
}

static int64_t events(const char *text)
{
	struct table t = {0};
	int64_t n = 0;

	(void)store_events_after(s, 0, &t);
	for (size_t i = 0; i < t.n_rows; i++)
		n += strstr(t.cell[i * t.n_cols + 1].text, text) != NULL;
	table_release(&t);
	return n;
}

/* The range of a case has an end that is not in the mirror. */
static void test_case(void)
{
	struct db_case c = {.comparison = ask(ABSENT), .metric = (char *)"command.ops", .state = CASE_BISECTING,
			    .confidence = 0.99, .effect = 0.1, .posterior = NAN}, got = {0};
	int64_t id = 0;

	is_int(store_comparison_end(s, c.comparison, COMPARISON_DIFFERENT, FAULT_NONE, "x"), 0,
	       "which has been answered");
	is_int(store_case_put(s, &c, &id), 0, "a case");
	plan();
	ok(troubles.n == 1 && troubles.v[0].final && troubles_pending(&troubles), "an error that will stay");
	is_int(events("case 1: "), 1, "is told");
	plan();
	is_int(events("case 1: "), 1, "once");
	plan();
	is_int(store_case_by_id(s, id, &got), 0, "the third time");
	is_str(case_state_word(got.state), "not-reproduced", "ends the case");
	ok(got.note && strstr(got.note, "cannot go on: ") && strstr(got.note, ABSENT), "with its reason: %s", got.note);
	db_case_release(&got);
	plan();
	is_int(troubles.n, 0, "and nothing is left of it");
}

/* The mirror is away: the next fetch makes a new one. */
static void test_no_mirror(void)
{
	struct db_case c = {.comparison = ask(ABSENT), .metric = (char *)"command.ops", .state = CASE_BISECTING,
			    .confidence = 0.99, .effect = 0.1, .posterior = NAN, .part = 1}, got = {0};
	int64_t id = 0;

	is_int(store_case_put(s, &c, &id), 0, "a case");
	free(sh("mv state/trees/t.git away.git"));
	for (int i = 0; i < 5; i++)
		plan();
	is_int(store_case_by_id(s, id, &got), 0, "without a mirror");
	is_str(case_state_word(got.state), "bisecting", "no case ends");
	ok(troubles.n == 1 && !troubles.v[0].final && !troubles_pending(&troubles), "it is tried again");
	ok(troubles.v[0].times == 5 && troubles.v[0].next, "and again");
	free(sh("mv away.git state/trees/t.git"));
	db_case_release(&got);
	c.id = id;
	c.state = CASE_IGNORED;
	is_int(store_case_put(s, &c, &id), 0, "a case that a person ends");
	plan();
	is_int(troubles.n, 0, "is no trouble any more");
}

static void is_trouble(int64_t branch, const char *want)
{
	struct db_branch *b = NULL;
	size_t n = 0;

	is_int(store_branches(s, tree.id, &b, &n), 0, "branches");
	for (size_t i = 0; i < n; i++)
		if (b[i].id == branch)
			ok(want ? b[i].trouble && strstr(b[i].trouble, want) : !b[i].trouble, "trouble: %s",
			   b[i].trouble ? b[i].trouble : "none");
	DB_LIST_RELEASE(b, n, db_branch_release);
}

/* A job that went away: the branch waits and says so, and goes on when it is back. */
static void test_branch(void)
{
	_cleanup_free_ char *base = sh("git --git-dir=state/trees/t.git rev-parse main~1");
	int64_t id = 0, told;

	is_int(store_branch_head(s, tree.id, "main", head, false, &id), 1, "a branch with a new head");
	is_int(store_branch_tested(s, id, base), 0, "and a base");
	free(sh("mv etc/bench.yaml etc/away"));
	for (int i = 0; i < 4; i++)
		plan();
	is_trouble(id, "t/main: ");
	told = events("t/main: ");
	is_int(told, 1, "told once");
	ok(!troubles_pending(&troubles), "no daemon waits for it");
	free(sh("mv etc/away etc/bench.yaml"));
	plan();
	is_trouble(id, NULL);
	is_int(troubles.n, 0, "over");
}

/* A machine that left the configuration. */
static void test_machine(void)
{
	struct db_machine gone = {.name = (char *)"gone", .driver = (char *)"local", .tbox_group = (char *)"gone"};
	struct engine e = {.store = s, .cfg = &cfg};
	struct db_comparison c = {0};
	struct db_task t = {.kind = TASK_RUN, .key = (char *)"run:x", .payload = (char *)"{}",
			    .resource = (char *)"machine:gone"};
	int64_t id = 0, task = 0;

	is_int(store_machine_put(s, &gone, NULL), 0, "a machine that is not in the files");
	is_int(engine_ask(&e, &tree, &tcfg, "", ABSENT, head, &job, "gone", &id), 0, "and a question");
	t.comparison = id;
	is_int(store_task_add(s, &t, NULL, &task), 0, "with a run that waits");
	for (int i = 0; i < 3; i++)
		plan();
	is_int(store_comparison_by_id(s, id, &c), 0, "the question");
	is_str(comparison_state_word(c.state), "broken", "ends");
	ok(c.reason && strstr(c.reason, "machine 'gone' is not in the configuration any more"), "with its reason");
	db_comparison_release(&c);
	t = (struct db_task){0};
	is_int(store_task_by_id(s, task, &t), 0, "its run");
	is_int(t.state, TASK_CANCELLED, "is not waited for");
	db_task_release(&t);
}

/* Who asked has stopped while it was planned: the error is nobody's any more. */
static void test_cancelled_meanwhile(void)
{
	struct engine e = {.store = s, .cfg = &cfg, .troubles = &troubles};
	struct db_comparison c = {0};
	int64_t id = ask("2" ABSENT);

	is_int(store_comparison_end(s, id, COMPARISON_CANCELLED, FAULT_NONE, "stopped"), 0, "a question that was taken back");
	is_int(trouble_note(&e, PLAN_COMPARISON, id, err_set(-EIO, "cannot read")), 0, "and an error of its plan");
	is_int(store_comparison_by_id(s, id, &c), 0, "the question");
	is_str(comparison_state_word(c.state), "cancelled", "stays as it was");
	is_str(c.reason, "stopped", "with its reason");
	is_int(troubles.n, 0, "and nothing is tried again");
	db_comparison_release(&c);
}

/* A machine that left the configuration where only the last step of a proof is left. */
static void test_proven(void)
{
	struct db_case c = {.metric = (char *)"command.ops", .state = CASE_PROVING, .confidence = 0.99, .culprit = head},
		       got = {0};
	struct engine e = {.store = s, .cfg = &cfg};
	struct db_proof p = DB_PROOF_INIT;
	int64_t id = 0;

	is_int(engine_ask(&e, &tree, &tcfg, "", "1" ABSENT, head, &job, "gone", &c.comparison), 0, "a question");
	is_int(store_comparison_end(s, c.comparison, COMPARISON_DIFFERENT, FAULT_NONE, "x"), 0, "which has been answered");
	is_int(store_case_put(s, &c, &id), 0, "a case");
	p.case_id = id;
	p.commit = head;
	p.state = PROOF_SHOWN;
	p.effect = p.p = 0.1;
	is_int(store_proof_put(s, &p), 0, "which is proven");
	for (int i = 0; i < 3; i++)
		plan();
	is_int(store_case_by_id(s, id, &got), 0, "in the end");
	is_str(case_state_word(got.state), "found", "it is found");
	ok(got.stopped == STOPPED_NOT, "and not stopped");
	db_case_release(&got);
}

int main(void)
{
	_cleanup_free_ char *state = NULL;

	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	if (!mkdtemp(dir))
		return 1;
	state = xasprintf("%s/state", dir);
	setenv("KPERFBOT_STATE", state, 1);
	set_up();
	store_one_run();
	test_case();
	test_no_mirror();
	test_branch();
	test_machine();
	test_proven();
	test_cancelled_meanwhile();
	troubles_release(&troubles);
	db_job_release(&job);
	tree_config_release(&tcfg);
	db_tree_release(&tree);
	store_close(s);
	config_release(&cfg);
	free(head);
	fs_rm_rf(dir);
	return tap_done();
}
