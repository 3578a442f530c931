/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine makes of runs: a comparison from the question to the verdict, with the tasks done by hand. The runs
 * are xdp-bench's recorded output, through its parser, its checks and the database.
 */
#include "bot/engine/case.h"
#include "bot/engine/engine.h"
#include "bot/engine/known.h"
#include "bot/engine/points.h"
#include "bot/engine/reach.h"
#include "db/setup.h"
#include "jobs/check.h"
#include "jobs/job.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/tap.h"

#include <json-c/json.h>

#define MAX_TASKS 200
#define SAMPLE "tests/fixtures/xdp-bench/131-drop-e-i1.txt"     /* after 4 intervals: 43591, 44450, 37941 pkt/s */

#define N_LINE 8                /* commits of the branch "line", the first on top of oid[0] */

static char dir[] = "/tmp/kperfbot-engine-XXXXXX", *oid[2], *older, *line[N_LINE], *beside, *hidden[3];

/* What a run of a side gives. */
struct side {
	int slower;             /* per mille */
	double speed;           /* Mb/s of the link */
	double sent;            /* pkt/s of the generator; 0: not known here */
	int weak_boot;          /* of this boot (from 1) the generator was too weak, and the rate another */
};
/* What becomes of a commit, in a job or in all. */
struct fate {
	const char *commit, *job;       /* commit "*": that of all others; job: how its name begins; NULL: in all */
	bool unbuildable, infra;        /* infra: its build fails on our side */
	enum run_verdict verdict;       /* of its runs */
	const char *cause;
	int slower;                     /* per mille */
	int lies;                       /* so many first runs of it are slower, or as fast as the others, against
					   that */
	int flaky;                      /* of so many runs one ends by that verdict; 0: all */
	int ours_after;                 /* after so many of its runs all fail on our side; 0: none do */
};
struct world {
	const struct fate *fate; size_t n_fates;        /* NULL: sides */
	struct store *s;
	struct config cfg;
	struct engine e;
	struct side side[2];
	const char *ran;        /* function that the head's profile has; NULL: counting fails */
	const char *means;      /* NULL: plugin */
	const char *base;       /* NULL: oid[0] */
	char *since;            /* what the last profile's task was to watch */
	int64_t cmp;
	usec_t back;            /* so far does the clock go back after the question was asked */
	int runs[2], profiles;
	bool aligned_fails;     /* whatever has aligned functions crashes */
	int old_runs;           /* the first ones had an older root image, with which all is slower by half */
};

static void write_file(const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

	fs_mkdir_parent(path);
	fs_write_atomic(path, text, strlen(text));
}

static void configure(const char *jobs)
{
	_cleanup_free_ char *text = xasprintf("trees:\n  net:\n    url: https://git.example.org/net.git\n"
					      "    machine: qemu\n    jobs: %s\n", jobs);

	write_file("etc/trees.yaml", text);
}

static void git(const char *const *args, struct buf *out)
{
	_cleanup_strv_ struct strv a = {0};
	_cleanup_free_ char *up = xasprintf("%s/up", dir);

	strv_addv(&a, ARGV("git", "-c", "user.name=A", "-c", "user.email=a@example.org"));
	strv_addv(&a, args);
	if (proc_ok((const char *const *)a.v, up, out) < 0)
		printf("Bail out! %s\n", err_msg());
}

static char *commit(const char *text)
{
	_cleanup_buf_ struct buf out = {0};

	write_file("up/net/core/filter.c", text);
	git(ARGV("add", "-A"), NULL);
	git(ARGV("commit", "-q", "-m", "x"), NULL);
	git(ARGV("rev-parse", "HEAD"), &out);
	return xstrndup(buf_str(&out), strcspn(buf_str(&out), "\n"));
}

static char *parent_of(const char *commit)
{
	_cleanup_free_ char *rev = xasprintf("%s^", commit);
	_cleanup_buf_ struct buf out = {0};

	git(ARGV("rev-parse", rev), &out);
	return xstrndup(buf_str(&out), strcspn(buf_str(&out), "\n"));
}

static void make_tree(void)
{
	write_file("up/README", "x\n");
	git(ARGV("init", "-q", "-b", "main"), NULL);
	older = commit(
		"int xdp_do_redirect(int a)\n{\n\treturn a;\n}\n\nint bpf_prog_run_xdp(int a)\n{\n\treturn a - 1;\n}\n");
	oid[0] = commit(
		"int xdp_do_redirect(int a)\n{\n\treturn a;\n}\n\nint bpf_prog_run_xdp(int a)\n{\n\treturn a;\n}\n");
	oid[1] = commit(
		"int xdp_do_redirect(int a)\n{\n\treturn a + 1;\n}\n\nint bpf_prog_run_xdp(int a)\n{\n\treturn a;\n}\n");
	git(ARGV("checkout", "-q", "-b", "line", oid[0]), NULL);
	for (int i = 0; i < N_LINE; i++) {
		_cleanup_free_ char *text = xasprintf("int line(void)\n{\n\treturn %d;\n}\n", i);

		line[i] = commit(text);
	}
	git(ARGV("checkout", "-q", "-b", "beside", line[0]), NULL);
	beside = commit("int beside(void)\n{\n\treturn 1;\n}\n");
	git(ARGV("checkout", "-q", "-b", "hidden", line[0]), NULL);
	hidden[0] = commit("int hidden(void)\n{\n\treturn 0;\n}\n");
	git(ARGV("commit", "-q", "--allow-empty", "-m", "changes no file"), NULL);
	hidden[2] = commit("int hidden(void)\n{\n\treturn 2;\n}\n");
	hidden[1] = parent_of(hidden[2]);
	git(ARGV("clone", "-q", "--bare", ".", "../state/trees/net.git"), NULL);
	write_file("k/System.map", "ffffffff81000100 T xdp_do_redirect\nffffffff81000200 T bpf_prog_run_xdp\n");
	configure("[drop]");
	write_file("etc/pass.yaml",
		   "suite: xdp-bench\ntestcase: xdp-bench\ncategory: benchmark\nwarmup: 4s\nruntime: 3s\nmonitors: []\n"
		   "xdp-bench:\n  mode: pass\n");
	write_file("etc/drop.yaml",
		   "suite: xdp-bench\ntestcase: xdp-bench\ncategory: benchmark\nwarmup: 4s\nruntime: 3s\nmonitors: []\n"
		   "xdp-bench:\n  mode: drop\n");
}

static void open_world(struct world *w)
{
	_cleanup_free_ char *etc = xasprintf("%s/etc", dir);

	if (config_load(etc, &w->cfg) < 0 || store_open(":memory:", false, &w->s) < 0 ||
	    config_to_store(&w->cfg, w->s) < 0)
		printf("Bail out! %s\n", err_msg());
	w->e = (struct engine){.store = w->s, .cfg = &w->cfg};
}

static void ask(struct world *w)
{
	_cleanup_free_ char *etc = xasprintf("%s/etc", dir);
	struct job_list jobs = {0};
	struct db_job row = {0};
	struct db_tree tree = {0};
	struct tree_config t = {0};

	if ((!w->s && (config_load(etc, &w->cfg) < 0 || store_open(":memory:", false, &w->s) < 0)) ||
	    config_to_store(&w->cfg, w->s) < 0 || job_load("drop", etc, NULL, &jobs) < 0 ||
	    job_to_db(&jobs.v[0], &row) < 0 || store_tree_get(w->s, "net", &tree) < 0 ||
	    tree_config_from_db(&tree, &t) < 0)
		printf("Bail out! %s\n", err_msg());
	w->e = (struct engine){.store = w->s, .cfg = &w->cfg};
	is_int(engine_ask(&w->e, &tree, &t, "main", w->base ? w->base : oid[0], oid[1], &row, "qemu", &w->cmp), 0,
	       "a question");
	tree_config_release(&t);
	db_tree_release(&tree);
	db_job_release(&row);
	job_list_release(&jobs);
}

static void world_release(struct world *w)
{
	free(w->since);
	engine_release(&w->e);
	config_release(&w->cfg);
	store_close(w->s);
}
#define WORLD _cleanup_(world_release) struct world

/* ---- the work, done by hand ---- */

static const struct fate *fate_of(const struct world *w, const char *commit, const char *job)
{
	static const struct fate good = {0};

	for (size_t i = 0; i < w->n_fates; i++)
		if ((streq(w->fate[i].commit, commit) || streq(w->fate[i].commit, "*")) &&
		    (!w->fate[i].job || !job || startswith(job, w->fate[i].job)))
			return &w->fate[i];
	return &good;
}

static int do_build(struct world *w, const struct task_payload *p)
{
	const char *c = p->commit;
	const struct fate *f = fate_of(w, c, NULL);
	_cleanup_free_ char *image = xasprintf("%s/k/bzImage", dir);
	struct db_build b = {.tree = 1, .commit = (char *)c, .kconfig = p->kconfig, .state = BUILD_OK,
			     .image_path = image, .image_hash = (char *)c, .seconds = 1};

	if (f->infra)
		return err_set(-EIO, "the disk is gone");
	if (f->unbuildable) {
		b.state = BUILD_BROKEN;
		b.error = (char *)"filter.c:1: error: no such thing";
	}
	return store_build_put(w->s, &b, NULL);
}

/* The recorded rates, lower by so many per mille. */
static void add_sample(const char *text, int slower, struct buf *out)
{
	static const char *const rates[] = {"43591", "44450", "37941"};

	for (const char *p = text; *p;) {
		size_t i = 0;

		while (i < ARRAY_SIZE(rates) && !startswith(p, rates[i]))
			i++;
		if (i < ARRAY_SIZE(rates)) {
			buf_addf(out, "%ld", atol(rates[i]) * (1000 - slower) / 1000);
			p += 5;
		} else {
			buf_addc(out, *p++);
		}
	}
}

static void add_output(const struct side *x, int boot, struct buf *out)
{
	_cleanup_buf_ struct buf b = {0};
	bool weak = boot == x->weak_boot;
	double sent = weak ? 20000 : x->sent;

	if (fs_read(SAMPLE, 0, &b) < 0)
		printf("Bail out! %s\n", err_msg());
	buf_addf(out, "# receiver: eth0 driver ixgbe speed %g mode native cpu 0\n", x->speed);
	if (sent > 0)
		buf_addf(
			out,
			"# generator: eth1 driver ixgbe cpu 1 threads 1\n# ---- before\n@ 10.00 pktgen eth1@1\n     pkts-sofar: 1000  errors: 0\n"
			"# ---- after\n@ 20.00 pktgen eth1@1\n     pkts-sofar: %.0f  errors: 0\n",
			1000 + 10 * sent);
	add_sample(buf_str(&b), weak ? 500 : x->slower, out);
	buf_adds(out, "# ---- end\n");
}

static int runs_of(struct world *w, const struct db_build *b, const struct db_job *j)
{
	struct db_machine m = {0};
	struct db_run *runs = NULL;
	size_t n = 0;

	if (store_machine_get(w->s, "qemu", &m) < 0 ||
	    store_runs(w->s, b->id, j->id, m.tbox_group, false, &runs, &n) < 0)
		printf("Bail out! %s\n", err_msg());
	DB_LIST_RELEASE(runs, n, db_run_release);
	db_machine_release(&m);
	return (int)n;
}

static int do_run(struct world *w, const struct task_payload *p, const struct db_build *b, struct db_job *dj)
{
	_cleanup_free_ char *res = xasprintf("%s/result", dir), *path = xasprintf("%s/result/xdp-bench", dir),
			    *boot = NULL, *cause = NULL;
	int side = streq(b->commit, oid[1]), r;
	struct side x = w->side[side];
	bool old;
	_cleanup_buf_ struct buf text = {0};
	struct run_facts facts = {.nr_cpu = 2};
	struct metric_set values = {0};
	struct check_set checks = {0};
	struct job j = {0};
	enum run_verdict verdict = RUN_OK;
	const struct fate *f = fate_of(w, b->commit, dj->name);
	struct side own = {.speed = 10000, .sent = 60000, .slower = f->slower};
	int64_t id = 0;

	if (f->lies > runs_of(w, b, dj))
		own.slower = f->slower ? 0 : 80;
	boot = xasprintf("%d.%d", side, ++w->runs[side]);
	old = w->runs[0] + w->runs[1] <= w->old_runs;
	if (old)
		x.slower = 500;
	add_output(w->fate ? &own : &x, w->runs[side], &text);
	write_file("result/started", "");
	fs_write_atomic(path, text.s, text.len);
	r = job_from_canonical(dj->name, dj->canonical, &j);
	if (r >= 0)
		r = job_parse_checked(&j, res, &facts, &values, &checks, &verdict, &cause);
	if (f->verdict != RUN_OK && (!f->flaky || w->runs[side] % f->flaky == 0)) {
		verdict = f->verdict;
		cause = xstrdup(f->cause);
		metric_set_release(&values);
	}
	if (w->aligned_fails && endswith(p->kconfig, KCONFIG_ALIGNED)) {
		verdict = RUN_CRASHED;
		metric_set_release(&values);
	}
	if (f->ours_after && runs_of(w, b, dj) >= f->ours_after)
		verdict = RUN_INFRA;
	if (r >= 0) {
		struct db_run row = {.build = b->id,
				     .machine = 2,
				     .job = dj->id,
				     .boot = boot,
				     .verdict = verdict,
				     .cause = cause,
				     .replicate = p->replicate,
				     .started = now_usec() - w->back,
				     .seconds = 1};
		struct db_machine m = {0};

		if (store_machine_get(w->s, "qemu", &m) >= 0)
			row.machine = m.id;
		db_machine_release(&m);
		r = store_run_put(w->s, &row, &values, &id);
	}
	if (r >= 0)
		r = store_checks_put(w->s, id, &checks);
	if (r >= 0)
		r = store_setup_put(w->s, id, old ? "root image\taaaa\n" : "root image\tbbbb\n");
	metric_set_release(&values);
	check_set_release(&checks);
	job_release(&j);
	return r;
}

static int do_profile(struct world *w, const struct task_payload *p, const struct db_build *b, const struct db_job *j)
{
	struct db_machine m = {0};
	int r = store_machine_get(w->s, "qemu", &m);
	const struct db_profile row = {.build = b->id,
				       .job = j->id,
				       .tbox_group = m.tbox_group,
				       .operations = 1000,
				       .instructions = 1,
				       .means = (char *)w->means};
	const struct db_reach reach = {(char *)w->ran, 3000, 90000};

	w->profiles++;
	free(w->since);
	w->since = xstrdup(p->base);
	if (r >= 0)
		r = w->ran ? store_profile_put(w->s, &row, &reach, 1, NULL) : err_set(-ENODATA, "no profile here");
	db_machine_release(&m);
	return r;
}

static bool work_one(struct world *w, const char *resource)
{
	struct db_task t = {0};
	struct db_build b = {0};
	struct db_job j = {0};
	struct task_payload p = {0};
	int r = store_task_claim(w->s, resource, "me", 1000000000, &t);

	if (r < 0)
		return false;
	r = task_payload_read(t.kind, t.payload, &p);
	if (r >= 0 && t.kind == TASK_BUILD) {
		r = do_build(w, &p);
	} else if (r >= 0) {
		r = store_build_get(w->s, 1, p.commit, p.kconfig, &b);
		if (r >= 0)
			r = store_job_get(w->s, p.job, &j);
		if (r >= 0)
			r = t.kind == TASK_PROFILE ? do_profile(w, &p, &b, &j) : do_run(w, &p, &b, &j);
	}
	(void)store_task_end(w->s, t.id, r >= 0, 0, r < 0 ? err_msg() : "done");
	db_job_release(&j);
	db_build_release(&b);
	task_payload_release(&p);
	db_task_release(&t);
	return true;
}

/* Plans and works until the question is answered. */
static void answer(struct world *w, const char *want, struct db_comparison *ret)
{
	ask(w);
	for (int i = 0; i < MAX_TASKS; i++) {
		struct db_comparison c = {0};
		bool done;

		if (engine_plan(&w->e) < 0)
			ok(false, "planning: %s", err_msg());
		if (store_comparison_by_id(w->s, w->cmp, &c) < 0)
			break;
		done = c.state != COMPARISON_OPEN;
		db_comparison_release(&c);
		if (done)
			break;
		while (work_one(w, "build") || work_one(w, "machine:qemu"))
			;
	}
	(void)store_comparison_by_id(w->s, w->cmp, ret);
	is_str(comparison_state_word(ret->state), want, "%s", ret->reason ? ret->reason : "no reason");
}

static bool says(const struct db_comparison *c, const char *text) { return c->reason && strstr(c->reason, text); }

static size_t cases_of(struct world *w)
{
	struct db_case *list = NULL;
	size_t n = 0;

	(void)store_cases(w->s, &list, &n);
	DB_LIST_RELEASE(list, n, db_case_release);
	return n;
}

static void is_reach(struct world *w, const char *verdict, const char *evidence)
{
	struct query_filter f = {.commit = oid[1]};
	_cleanup_table_ struct table t = {0};
	size_t found = SIZE_MAX;

	is_int(store_query(w->s, "checks", &f, &t), 0, "query checks");
	for (size_t i = 0; i < t.n_rows; i++)
		if (streq(t.cell[i * t.n_cols + 8].text, CHECK_REACH))
			found = i * t.n_cols;
	if (!ok(found != SIZE_MAX, "has one of the pair of commits"))
		return;
	is_str(t.cell[found + 4].text, oid[0], "against the base");
	is_str(t.cell[found + 9].text, verdict, "its verdict");
	ok(strstr(t.cell[found + 10].text, evidence) != NULL, "its evidence: %s", t.cell[found + 10].text);
}

/* ---- a branch whose heads come one after the other ---- */

static void work_off(struct world *w)
{
	for (int i = 0, idle = 0; i < MAX_TASKS && idle < 2; i++) {
		int64_t event = store_last_event(w->s);
		bool did = false;

		engine_release(&w->e); /* as after a restart: all is in the database */
		w->e = (struct engine){.store = w->s, .cfg = &w->cfg};
		if (engine_plan(&w->e) < 0)
			ok(false, "planning: %s", err_msg());
		while (work_one(w, "build") || work_one(w, "machine:qemu"))
			did = true;
		idle = did || store_last_event(w->s) != event ? 0 : idle + 1;
	}
}

static void head(struct world *w, const char *commit)
{
	if (!w->s)
		open_world(w);
	if (store_branch_head(w->s, 1, "main", commit, false, NULL) < 0)
		printf("Bail out! %s\n", err_msg());
	work_off(w);
}

/* The state of the comparison of two commits, "none" where nobody has asked. */
static const char *between(struct world *w, const char *base, const char *commit, const char *job)
{
	static char state[80];
	struct db_comparison *all = NULL;
	size_t n = 0;

	snprintf(state, sizeof(state), "none");
	(void)store_comparisons(w->s, &all, &n);
	for (size_t i = 0; i < n; i++) {
		struct db_job j = {0};

		if (streq(all[i].base, base) && streq(all[i].head, commit) &&
		    store_job_get(w->s, all[i].job, &j) >= 0 && (!job || startswith(j.name, job)))
			snprintf(state, sizeof(state), "%s%s%s", comparison_state_word(all[i].state),
				 all[i].fault ? " " : "", fault_word(all[i].fault));
		db_job_release(&j);
	}
	DB_LIST_RELEASE(all, n, db_comparison_release);
	return state;
}

#define HEADS(...) _cleanup_(world_release) struct world w = {.ran = "xdp_do_redirect", .fate = (const struct fate[]){__VA_ARGS__}, \
							      .n_fates = ARRAY_SIZE(((const struct fate[]){__VA_ARGS__}))}

/* A head that does not build hides nothing: the next one is compared with the last that was measured. */
static void test_unbuildable_head(void)
{
	HEADS({.commit = line[2], .unbuildable = true}, {.commit = line[3], .slower = 80},
	      {.commit = line[4], .slower = 80});

	for (int i = 0; i < 5; i++)
		head(&w, line[i]);
	is_str(between(&w, line[0], line[1], NULL), "same", "good heads");
	is_str(between(&w, line[1], line[2], NULL), "broken head", "one that does not build");
	is_str(between(&w, line[1], line[3], NULL), "different", "the next is compared with the last measured one");
	is_str(between(&w, line[3], line[4], NULL), "same", "and the one after that with this");
}

static void test_failing_head(void)
{
	HEADS({.commit = line[1], .verdict = RUN_BOOT_FAILED, .cause = "panic"},
	      {.commit = line[2], .verdict = RUN_UNTRUSTED, .cause = "generator"}, {.commit = line[3], .slower = 80});

	for (int i = 0; i < 4; i++)
		head(&w, line[i]);
	is_str(between(&w, line[0], line[1], NULL), "broken head", "a head that does not boot");
	is_str(between(&w, line[0], line[2], NULL), "broken head", "one that cannot be measured");
	is_str(between(&w, line[0], line[3], NULL), "different", "are not the base of the next");
}

/* The first head does not build, nor does the second: what is compared starts with the first that does. */
static void test_first_head_broken(void)
{
	HEADS({.commit = line[0], .unbuildable = true}, {.commit = line[1], .unbuildable = true},
	      {.commit = line[3], .slower = 80});

	for (int i = 0; i < 4; i++)
		head(&w, line[i]);
	is_str(between(&w, line[0], line[1], NULL), "broken both", "two that do not build");
	is_str(between(&w, line[0], line[2], NULL), "broken base", "with one that does");
	is_str(between(&w, line[2], line[3], NULL), "different", "which is the base of the next");
}

/* Our own trouble says nothing about a head, nor does a machine that was not steady. */
static void test_head_not_ours(void)
{
	HEADS({.commit = line[1], .infra = true}, {.commit = line[3], .slower = 80});
	struct db_comparison *open = NULL;
	size_t n = 0;

	head(&w, line[0]);
	head(&w, line[1]);
	is_str(between(&w, line[0], line[1], NULL), "broken infra", "the disk is gone");
	if (store_branch_head(w.s, 1, "main", line[2], false, NULL) < 0 || engine_plan(&w.e) < 0 ||
	    store_comparisons_in(w.s, COMPARISON_OPEN, &open, &n) < 0)
		printf("Bail out! %s\n", err_msg());
	is_int(n, 1, "a comparison");
	store_comparison_end(w.s, n ? open[0].id : 0, COMPARISON_DISTURBED, FAULT_NONE, "not steady");
	DB_LIST_RELEASE(open, n, db_comparison_release);
	head(&w, line[3]);
	is_str(between(&w, line[0], line[2], NULL), "disturbed", "is disturbed");
	is_str(between(&w, line[0], line[3], NULL), "different",
	       "the next is compared with the last measured head all the same");
}

static void test_forced_meanwhile(void)
{
	HEADS({.commit = line[2], .unbuildable = true}, {.commit = beside, .slower = 80});

	head(&w, line[0]);
	head(&w, line[1]);
	head(&w, line[2]);
	head(&w, beside);
	is_str(between(&w, line[0], beside, NULL), "different",
	       "after a force push: from the merge base with the last measured head");
}

/* One of two jobs cannot be measured on a head: each goes on from its own last one. */
static void test_two_jobs(void)
{
	HEADS({.commit = line[1], .job = "drop", .verdict = RUN_BOOT_FAILED, .cause = "panic"},
	      {.commit = line[2], .slower = 80});

	configure("[drop, pass]");
	head(&w, line[0]);
	head(&w, line[1]);
	head(&w, line[2]);
	is_str(between(&w, line[0], line[1], "drop"), "broken head", "one job fails");
	is_str(between(&w, line[0], line[1], "pass"), "same", "the other one does not");
	is_str(between(&w, line[0], line[2], "drop"), "different", "the first goes on from before");
	is_str(between(&w, line[1], line[2], "pass"), "different", "the second from there");
	configure("[drop]");
}

/* A question about the history that was not answered now is asked again; one that is too long for ever is not. */
static void test_no_answer_yet(void)
{
	static volatile int stopped = 1;
	HEADS({.commit = line[3], .slower = 80});
	struct query_filter f = {0};
	_cleanup_table_ struct table t = {0};
	bool said = false;

	head(&w, line[0]);
	if (store_branch_head(w.s, 1, "main", line[3], false, NULL) < 0)
		printf("Bail out! %s\n", err_msg());
	proc_cancel_on(&stopped);
	is_int(engine_plan(&w.e), -ECANCELED, "no answer: %s", err_msg());
	proc_cancel_on(NULL);
	is_str(between(&w, line[0], line[3], NULL), "none", "nothing is asked");
	work_off(&w);
	is_str(between(&w, line[0], line[3], NULL), "different", "the next time it is, and nothing is lost");
	configure("[drop]\n    max_commits: 2");
	config_release(&w.cfg);
	{
		_cleanup_free_ char *etc = xasprintf("%s/etc", dir);

		if (config_load(etc, &w.cfg) < 0 || config_to_store(&w.cfg, w.s) < 0)
			printf("Bail out! %s\n", err_msg());
	}
	head(&w, line[6]);
	is_str(between(&w, line[3], line[6], NULL), "none", "too long a range is not compared");
	is_int(store_query(w.s, "events", &f, &t), 0, "events");
	for (size_t i = 0; i < t.n_rows; i++)
		said |= strstr(t.cell[i * t.n_cols + 4].text, "starting afresh there: more than 2 commits") != NULL;
	ok(said, "which is said");
	head(&w, line[7]);
	is_str(between(&w, line[6], line[7], NULL), "same", "and it goes on from there");
	configure("[drop]");
}

/* The same at the first comparison there would be, of a job that nobody has run. */
static void test_afresh_at_once(void)
{
	HEADS({.commit = line[7], .slower = 80});

	configure("[drop]\n    max_commits: 2");
	head(&w, line[0]);
	head(&w, line[6]);
	is_str(between(&w, line[0], line[6], NULL), "none", "too long a range at once");
	head(&w, line[7]);
	is_str(between(&w, line[6], line[7], NULL), "different", "and it goes on from there");
	configure("[drop]");
}

/* ---- the first commit that fails ---- */

#define FAILS(i) {.commit = line[i], .verdict = RUN_FAILED, .cause = "exit status 1: bench: no such protocol"}

#define OOPS .verdict = RUN_CRASHED, .cause = "Oops"
#define PANIC .verdict = RUN_BOOT_FAILED, .cause = "panic"

/* The only case; NULL and a failed test where there are others. */
static struct db_case *one_case(struct world *w, struct db_case *ret)
{
	struct db_case *all = NULL;
	size_t n = 0;

	*ret = (struct db_case){0};
	(void)store_cases(w->s, &all, &n);
	is_int(n, 1, "one case");
	if (n) {
		*ret = all[0];
		all[0] = (struct db_case){0};
	}
	DB_LIST_RELEASE(all, n, db_case_release);
	return ret;
}

/* How many commits are left, or were dropped for that reason; commit NULL: any. */
static size_t candidates(struct world *w, const struct db_case *c, enum candidate_state state, enum dropped reason,
			 const char *commit)
{
	struct db_candidate *list = NULL;
	size_t n = 0, k = 0;

	(void)store_candidates(w->s, c->id, &list, &n);
	for (size_t i = 0; i < n; i++)
		k += list[i].state == state && (state == CANDIDATE_LEFT || list[i].reason == reason) &&
		     (!commit || streq(list[i].commit, commit));
	DB_LIST_RELEASE(list, n, db_candidate_release);
	return k;
}

static void test_failure_found(void)
{
	HEADS(FAILS(4), FAILS(5), FAILS(6), FAILS(7));
	struct db_proof p = {0};
	struct db_case c;

	head(&w, line[0]);
	head(&w, line[6]);
	is_str(between(&w, line[0], line[6], NULL), "broken head", "the head fails");
	one_case(&w, &c);
	is_str(c.failure, "failed: exit status 1: bench: no such protocol",
	       "about the failure, in the benchmark's words");
	is_str(c.culprit, line[4], "the first commit that fails");
	is_str(case_state_word(c.state), "found", "is found");
	is_int(store_proof_get(w.s, &c, &p), 0, "its proof");
	ok(p.state == PROOF_SHOWN && p.mean_parent == 0 && p.mean_culprit == 1 && streq(p.parent, line[3]), "shown");
	ok(p.boots_parent == 6 && p.boots_culprit == 6, "by fresh boots in turns");
	db_proof_release(&p);
	ok(c.boots < 60, "%ld boots in all", (long)c.boots);
	db_case_release(&c);
	head(&w, line[7]);
	is_str(between(&w, line[0], line[7], NULL), "broken head", "the next head fails, too");
	is_int(cases_of(&w), 1, "which is no news");
}

/* It fails now and then on the good side, too, and not always on the bad one. */
static void test_failure_flaky(void)
{
	HEADS({.commit = line[4], OOPS}, {.commit = line[5], OOPS}, {.commit = line[6], OOPS},
	      {.commit = line[0], OOPS, .flaky = 9}, {.commit = line[2], OOPS, .flaky = 9});
	struct db_case c;

	head(&w, line[0]);
	head(&w, line[6]);
	one_case(&w, &c);
	is_str(c.culprit, line[4], "one oops of nine on the good side is no culprit");
	db_case_release(&c);
}

/* Commits that fail in another way say nothing about this one. */
static void test_failure_hidden(void)
{
	HEADS({.commit = line[2], PANIC}, {.commit = line[3], PANIC}, FAILS(4), FAILS(5), FAILS(6));
	struct db_case c;

	head(&w, line[0]);
	head(&w, line[6]);
	one_case(&w, &c);
	ok(c.state == CASE_FOUND && !c.culprit, "no single commit");
	is_int(candidates(&w, &c, CANDIDATE_LEFT, 0, NULL), 3, "one of three");
	ok(candidates(&w, &c, CANDIDATE_DROPPED, DROPPED_OTHER_FAILURE, NULL) +
		   candidates(&w, &c, CANDIDATE_LEFT, 0, line[2]),
	   "the others fail in another way");
	is_int(c.commits, 6, "of six");
	db_case_release(&c);
}

/* The culprit's parent fails in another way: asking it again and again would tell nothing. */
static void test_failure_not_proven(void)
{
	HEADS({.commit = hidden[1], PANIC}, {.commit = hidden[2], .verdict = RUN_FAILED, .cause = "exit status 1"});
	struct db_case c;

	head(&w, line[0]);
	head(&w, hidden[2]);
	one_case(&w, &c);
	is_str(case_state_word(c.state), "found", "%s", c.note);
	is_str(c.culprit, hidden[2], "the first that fails");
	ok(c.note && strstr(c.note, "no proof"), "without a proof");
	ok(c.boots < 40, "%ld boots", (long)c.boots);
	db_case_release(&c);
}

static void test_failure_of_both(void)
{
	HEADS(FAILS(0), FAILS(1), {.commit = line[3], .verdict = RUN_INFRA, .cause = "no network"});
	size_t n;

	head(&w, line[0]);
	head(&w, line[1]);
	is_str(between(&w, line[0], line[1], NULL), "broken both", "both fail");
	head(&w, line[2]);
	head(&w, line[3]);
	is_str(between(&w, line[2], line[3], NULL), "broken infra", "our own failure");
	n = cases_of(&w);
	is_int(n, 0, "is nobody's case");
}

/* It fails, and then the machine does nothing any more: the question ends, whoever is to blame for that. */
static void test_failure_then_ours(void)
{
	HEADS({.commit = line[2], .verdict = RUN_FAILED, .cause = "exit status 1", .ours_after = 3});

	head(&w, line[0]);
	head(&w, line[2]);
	is_str(between(&w, line[0], line[2], NULL), "broken infra", "there is no verdict");
}

/* Two jobs see that a kernel does not boot: one case. */
static void test_no_boot(void)
{
	HEADS({.commit = line[2], PANIC}, {.commit = line[3], PANIC});
	struct db_case c;

	configure("[drop, pass]");
	head(&w, line[0]);
	head(&w, line[3]);
	one_case(&w, &c);
	is_str(c.culprit, line[2], "the first that does not boot");
	db_case_release(&c);
	configure("[drop]");
}

/* What another compiler or configuration made of commits tells a search nothing. */
static void test_search_other_epoch(void)
{
	HEADS(FAILS(4), FAILS(5), FAILS(6));
	struct scope q = {0};
	struct known_range f = {0};
	struct db_case c;

	head(&w, line[0]);
	head(&w, line[6]);
	one_case(&w, &c);
	is_int(engine_scope(&w.e, c.comparison, &q), 0, "its question");
	is_int(known_load(&w.e, &q, &c, &f), 0, "what is known of its range");
	ok(f.node[0].build && f.node[f.range.dag.n - 1].build, "the ends are built");
	known_release(&f);
	free(q.cmp.epoch);
	q.cmp.epoch = xstrdup("other");
	is_int(known_load(&w.e, &q, &c, &f), 0, "asked under another compiler");
	ok(!f.node[0].build && !f.node[f.range.dag.n - 1].build, "they are not");
	known_release(&f);
	scope_release(&q);
	db_case_release(&c);
}

/* Somebody ignores a case while a step of it is planned: that holds. */
static void test_ignored_meanwhile(void)
{
	WORLD w = {0};
	struct db_case c = {.metric = (char *)"fails", .state = CASE_CONFIRMED, .confidence = 0.99}, now = {0};

	ask(&w);
	if (store_metric_put(w.s, &(struct metric_value){(char *)"fails", 0, "", -1, false}) < 0)
		printf("Bail out! %s\n", err_msg());
	c.comparison = w.cmp;
	is_int(store_case_put(w.s, &c, &c.id), 0, "a case");
	is_int(store_case_by_id(w.s, c.id, &now), 0, "as the daemon has read it");
	c.state = CASE_IGNORED;
	c.note = (char *)"ignored by ann";
	is_int(store_case_put(w.s, &c, NULL), 0, "is ignored");
	is_int(engine_plan_case(&w.e, &now), 0, "and its step planned");
	db_case_release(&now);
	is_int(store_case_by_id(w.s, c.id, &now), 0, "afterwards");
	is_str(case_state_word(now.state), "ignored", "it still is");
	is_str(now.note, "ignored by ann", "by her");
	db_case_release(&now);
}

/* ---- proofs that contradict the search ---- */

#define SLOW(i) {.commit = line[i], .slower = 80}

/* One commit is slow while it is searched and fast when it is proven: the next best is named, once. */
static void test_proof_contradicts(void)
{
	HEADS({.commit = line[3], .lies = 3}, SLOW(5), SLOW(6));
	struct db_proof *p = NULL;
	struct db_case c;
	size_t n = 0;

	head(&w, line[0]);
	head(&w, line[6]);
	one_case(&w, &c);
	is_str(case_state_word(c.state), "found", "a culprit is found: %s", c.note ? c.note : "");
	is_str(c.culprit, line[5], "it is the right one");
	is_int(store_proofs(w.s, c.id, &p, &n), 0, "its proofs");
	ok(n == 2 && p[0].state == PROOF_CONTRADICTED && streq(p[0].commit, line[3]) && p[1].state == PROOF_SHOWN,
	   "what was named before is kept");
	is_int(candidates(&w, &c, CANDIDATE_DROPPED, DROPPED_CLEARED, line[3]), 1, "and left out");
	DB_LIST_RELEASE(p, n, db_proof_release);
	ok(c.boots < 60, "%ld boots in all", (long)c.boots);
	db_case_release(&c);
}

/* The head's own change goes away while the search lasts: nobody is named, and it is told why. */
static void test_proof_nobody(void)
{
	HEADS({.commit = line[2], .lies = 5});
	struct db_case c;

	head(&w, line[0]);
	head(&w, line[2]);
	one_case(&w, &c);
	is_str(case_state_word(c.state), "not-reproduced", "nobody is named");
	ok(!c.culprit, "in the case neither");
	ok(c.note && strstr(c.note, "was named by the search, but measured again"), "its note: %s",
	   c.note ? c.note : "(none)");
	db_case_release(&c);
}

/* ---- proven, and then something else fails ---- */

static void is_found(struct world *w, const char *revert)
{
	struct db_proof p = {0};
	struct db_case c;

	one_case(w, &c);
	is_str(case_state_word(c.state), "found", "what is proven is found: %s", c.note ? c.note : "");
	is_str(c.culprit, hidden[0], "it is that commit");
	is_int(store_proof_get(w->s, &c, &p), 0, "its proof");
	ok(p.state == PROOF_SHOWN && p.revert && strstr(p.revert, revert), "and what came of undoing it: %s",
	   p.revert ? p.revert : "");
	db_proof_release(&p);
	db_case_release(&c);
}

/* Undone on the tip it only crashes. */
static void test_proven_revert_fails(void)
{
	HEADS({.commit = line[0]}, {.commit = hidden[0], .slower = 80}, {.commit = hidden[1], .slower = 80},
	      {.commit = "*", OOPS});

	head(&w, line[0]);
	head(&w, hidden[1]);
	is_found(&w, "not measured: the last ");
}

/* The same of the builds with aligned functions: the case goes on without. */
static void test_proven_aligned_fails(void)
{
	HEADS({.commit = line[0]}, {.commit = hidden[0], .slower = 80}, {.commit = hidden[1], .slower = 80});
	struct db_proof p = {0};
	struct db_case c;

	w.aligned_fails = true;
	open_world(&w);
	w.cfg.proof_aligned = true;
	head(&w, line[0]);
	head(&w, hidden[1]);
	is_found(&w, "undone on top of");
	one_case(&w, &c);
	is_int(store_proof_get(w.s, &c, &p), 0, "its proof");
	ok(p.aligned && strstr(p.aligned, "not measured with aligned functions: the last "), "which says so: %s",
	   p.aligned ? p.aligned : "");
	db_proof_release(&p);
	db_case_release(&c);
}

/* A new compiler, while only the last step is left. */
static void test_proven_then_other_epoch(void)
{
	WORLD w = {0};
	struct db_proof p = DB_PROOF_INIT;
	struct db_comparison q = {.tree = 1, .base = line[0], .head = hidden[1], .kconfig = (char *)"vm-min",
				  .epoch = (char *)"old", .state = COMPARISON_DIFFERENT};
	struct db_case c = {.metric = (char *)"fails", .culprit = hidden[0], .state = CASE_PROVING, .confidence = 0.99};
	struct job_list jobs = {0};
	struct db_job row = {0};
	struct db_machine m = {0};
	_cleanup_free_ char *etc = xasprintf("%s/etc", dir);

	open_world(&w);
	if (job_load("drop", etc, NULL, &jobs) < 0 || job_to_db(&jobs.v[0], &row) < 0 || store_job_put(w.s, &row) < 0 ||
	    store_machine_get(w.s, "qemu", &m) < 0 ||
	    store_metric_put(w.s, &(struct metric_value){(char *)"fails", 0, "", -1, false}) < 0)
		printf("Bail out! %s\n", err_msg());
	q.job = row.id;
	q.machine = m.id;
	is_int(store_comparison_put(w.s, &q, &c.comparison), 0, "a question under another compiler");
	is_int(store_case_put(w.s, &c, &p.case_id), 0, "its case");
	p.commit = hidden[0];
	p.parent = line[0];
	p.state = PROOF_SHOWN;
	p.effect = -0.08;
	p.p = 1e-6;
	is_int(store_proof_put(w.s, &p), 0, "which is proven");
	is_int(engine_plan(&w.e), 0, "a plan");
	is_found(&w, "has changed meanwhile");
	db_machine_release(&m);
	db_job_release(&row);
	job_list_release(&jobs);
}

/* ---- what comes out ---- */

static const struct side fast = {.speed = 10000, .sent = 60000}, slow = {.speed = 10000, .sent = 60000, .slower = 80};

static void test_reached(void)
{
	WORLD w = {.side = {fast, fast}, .ran = "xdp_do_redirect"};
	struct db_comparison c = {0};

	answer(&w, "same", &c);
	ok(!says(&c, "not reached") && !says(&c, "capped"), "and nothing is said against it");
	is_int(w.profiles, 1, "one extra boot, of the head alone");
	is_reach(&w, "pass", "1 of 1 changed function executed: xdp_do_redirect (entered 3 times per operation)");
	db_comparison_release(&c);
}

static void test_not_reached(void)
{
	WORLD w = {.side = {fast, fast}, .ran = "bpf_prog_run_xdp"};
	struct db_comparison c = {0};

	answer(&w, "same", &c);
	ok(says(&c,
		"same, but not reached: this benchmark never executes xdp_do_redirect: its numbers say nothing about this change"),
	   "but the test could not see the change");
	is_reach(&w, "fail", "never executes xdp_do_redirect");
	is_int(cases_of(&w), 0, "no case");
	db_comparison_release(&c);
}

static void test_different_not_reached(void)
{
	WORLD w = {.side = {fast, slow}, .ran = "bpf_prog_run_xdp"};
	struct db_comparison c = {0};

	answer(&w, "different", &c);
	ok(says(&c, "warning: not reached"), "with a warning");
	is_int(cases_of(&w), 1, "it is a case all the same");
	is_reach(&w, "fail", "never executes xdp_do_redirect");
	db_comparison_release(&c);
}

static void test_not_counted(void)
{
	WORLD w = {.side = {fast, fast}};
	struct db_comparison c = {0};

	answer(&w, "same", &c);
	ok(!says(&c, "not reached"), "nothing is known, so nothing is said");
	is_reach(&w, "unknown", "it is not known what");
	is_reach(&w, "unknown", "no profile here");
	is_int(w.profiles, 1, "a boot that gave nothing is not tried again");
	db_comparison_release(&c);
}

static void test_switched_off(void)
{
	WORLD w = {.side = {fast, fast}, .ran = "xdp_do_redirect"};
	struct db_comparison c = {0};

	write_file("etc/kperfbot.yaml", "judge:\n  reach: false\n");
	answer(&w, "same", &c);
	is_int(w.profiles, 0, "no extra boot where nobody wants one");
	write_file("etc/kperfbot.yaml", "");
	db_comparison_release(&c);
}

/* Where functions are watched one by one, another base is another question; the same one is not asked twice. */
static void test_watched(void)
{
	WORLD w = {.side = {fast, fast}, .ran = "xdp_do_redirect", .means = "ftrace"};
	struct db_comparison c = {0}, d = {0};

	answer(&w, "same", &c);
	is_reach(&w, "pass", "watched by ftrace's function profiler");
	is_str(w.since, oid[0], "to watch what changed since the base");
	w.base = older;
	w.ran = "bpf_prog_run_xdp";
	answer(&w, "same", &d);
	is_int(w.profiles, 2, "another base: one more boot");
	is_str(w.since, older, "that watches what changed since that one");
	db_comparison_release(&d);
	d = (struct db_comparison){0};
	answer(&w, "same", &d);
	is_int(w.profiles, 2, "asked again: none");
	db_comparison_release(&c);
	db_comparison_release(&d);
}

/* 28 Mb/s carry 41,666 packets of 64 bytes a second; the sample received 41,994 on average. */
static void test_capped(void)
{
	const struct side full = {.speed = 28, .sent = 42000}, full_unknown = {.speed = 28};
	WORLD w = {.side = {full, full}, .ran = "xdp_do_redirect"},
	      u = {.side = {full_unknown, full_unknown}, .ran = "xdp_do_redirect"};
	struct db_comparison c = {0}, d = {0};

	answer(&w, "same", &c);
	ok(says(&c, "capped: the link was at its limit, which can hide a change"),
	   "at line rate it is marked as capped");
	answer(&u, "same", &d);
	ok(says(&d, "capped: "), "also where the generator is another machine");
	db_comparison_release(&c);
	db_comparison_release(&d);
}

/* A generator slower than the receiver: its number is not the kernel's. */
static void test_untrusted(void)
{
	const struct side weak = {.speed = 10000, .sent = 20000, .slower = 500},
			  once = {.speed = 10000, .sent = 60000, .weak_boot = 2};
	WORLD w = {.side = {fast, weak}, .ran = "xdp_do_redirect"},
	      o = {.side = {fast, once}, .ran = "xdp_do_redirect"};
	struct db_comparison c = {0}, d = {0};
	struct query_filter f = {.verdict = "untrusted"};
	_cleanup_table_ struct table t = {0};

	answer(&w, "broken", &c);
	ok(says(&c, "untrusted: generator: offered 20000 pkt/s"), "the check is named");
	is_int(cases_of(&w), 0, "half the rate, and no case");
	answer(&o, "same", &d);
	is_int(cases_of(&o), 0, "one such run among good ones is left out");
	ok(says(&d, "(1 of 4 runs of ") && says(&d, " failed, the last one: untrusted: generator: "), "and said: %s",
	   d.reason);
	is_int(store_query(o.s, "runs", &f, &t), 0, "query runs");
	is_int(t.n_rows, 1, "it is kept as untrusted");
	db_comparison_release(&c);
	db_comparison_release(&d);
}

/* One hour back after the question: each side gets as many boots as without that. */
static void test_clock_back(void)
{
	WORLD w = {.side = {fast, fast}, .ran = "xdp_do_redirect"}, b = w,
	      d = {.side = {fast, slow}, .ran = "xdp_do_redirect"};
	struct db_comparison c = {0};

	answer(&w, "same", &c);
	db_comparison_release(&c);
	c = (struct db_comparison){0};
	b.back = d.back = 3600 * USEC_PER_SEC;
	answer(&b, "same", &c);
	ok(b.runs[0] == w.runs[0] && b.runs[1] == w.runs[1], "%d and %d boots, %d and %d without", b.runs[0], b.runs[1],
	   w.runs[0], w.runs[1]);
	db_comparison_release(&c);
	c = (struct db_comparison){0};
	answer(&d, "different", &c);
	is_int(cases_of(&d), 1, "and a change is seen");
	db_comparison_release(&c);
}

/* A new root image in the middle: what the old one measured is no replicate of what the new one does. */
static void test_other_image(void)
{
	WORLD w = {.side = {fast, fast}, .ran = "xdp_do_redirect", .old_runs = 1};
	WORLD u = {.side = {fast, slow}, .ran = "xdp_do_redirect", .old_runs = 3};
	struct db_comparison c = {0}, d = {0};

	answer(&w, "same", &c);
	ok(says(&c, "(left out: 1 measured before the root image, or what else measures, changed)"),
	   "the old boot is left out, which is said");
	ok(says(&c, "+0.000%"), "and says nothing");
	is_int(cases_of(&w), 0, "no case");
	answer(&u, "different", &d);
	ok(says(&d, "-7.4") || says(&d, "-8.0"), "a real change is as large as it is");
	ok(says(&d, "(left out: 3 measured before"), "three are left out");
	db_comparison_release(&c);
	db_comparison_release(&d);
}

int main(void)
{
	_cleanup_free_ char *state = NULL;

	setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
	if (!mkdtemp(dir))
		return 1;
	state = xasprintf("%s/state", dir);
	setenv("KPERFBOT_STATE", state, 1);
	make_tree();
	test_reached();
	test_not_reached();
	test_different_not_reached();
	test_not_counted();
	test_switched_off();
	test_watched();
	test_capped();
	test_untrusted();
	test_clock_back();
	test_unbuildable_head();
	test_failing_head();
	test_first_head_broken();
	test_head_not_ours();
	test_forced_meanwhile();
	test_two_jobs();
	test_no_answer_yet();
	test_afresh_at_once();
	test_failure_found();
	test_failure_flaky();
	test_failure_hidden();
	test_failure_not_proven();
	test_failure_of_both();
	test_no_boot();
	test_failure_then_ours();
	test_search_other_epoch();
	test_ignored_meanwhile();
	test_proven_revert_fails();
	test_proven_aligned_fails();
	test_proven_then_other_epoch();
	test_other_image();
	test_proof_contradicts();
	test_proof_nobody();
	fs_rm_rf(dir);
	free(oid[0]);
	free(oid[1]);
	free(older);
	for (int i = 0; i < N_LINE; i++)
		free(line[i]);
	free(beside);
	for (int i = 0; i < 3; i++)
		free(hidden[i]);
	return tap_done();
}
