/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The script of a case in a user-space tree is run for real: it clones, builds both commits, runs the job and
 * compares. */
#include "bot/engine/points.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "reporters/facts.h"
#include "reporters/report.h"
#include "tests/tap.h"

static char top[PATH_MAX], tmp[] = "/tmp/kpb-reproduce-XXXXXX";

static void sh(const char *script)
{
	if (proc_ok(ARGV("sh", "-ec", script), NULL, NULL) < 0) {
		printf("Bail out! %s\n", err_msg());
		exit(1);
	}
}

static char *oid(const char *rev)
{
	struct buf out = {0};

	if (proc_ok(ARGV("git", "-C", "it's src", "rev-parse", rev), NULL, &out) < 0)
		exit(1);
	out.s[strcspn(out.s, "\n")] = 0;
	return buf_take(&out);
}

static const char make_tree[] =
	"export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A\n"
	"export GIT_COMMITTER_EMAIL=a@example.org\n"
	"git init -q -b main \"it's src\"; cd \"it's src\"\n"
	"printf 'all:\\n\\tmkdir -p out && printf \"#!/bin/sh\\\\necho noise\\\\necho speed: %%s ops/s\\\\n\" "
	"\"$$(cat speed)\" >out/bench && chmod +x out/bench\\n' >Makefile\n"
	"echo 200 >speed; git add -A; git commit -qm 'bench: start'\n"
	"echo 190 >speed; git add -A; git commit -qm 'bench: slower'\n"
	"echo >README; git add -A; git commit -qm 'doc: more'\n";

static char *put_job(struct store *s)
{
	static const char yaml[] = "suite: command\ntestcase: bench\ncategory: benchmark\ncommand:\n"
				   "  run: '\"$KPB_ARTEFACT\"'\n  kpi: speed\n";
	struct job_list l = {0};
	struct db_job j = {0};
	char *id = NULL, *script;

	fs_write_atomic("bench.yaml", yaml, strlen(yaml));
	ok(job_load("bench.yaml", NULL, NULL, &l) == 0 && job_to_db(&l.v[0], &j) == 0, "a job");
	script = xasprintf("%s# \x1b[2J\xff\n", j.script);
	free(j.script);
	j.script = script;
	if (!ok(store_job_put(s, &j) == 0, "with a line that is no text"))
		printf("# %s\n", err_msg());
	id = xstrdup(j.id);
	db_job_release(&j);
	job_list_release(&l);
	return id;
}

static void put_case(struct store *s, char *good, char *bad, int64_t *ret_id)
{
	struct db_tree t = {.name = (char *)"bench",
			    .kind = (char *)"program",
			    .enabled = true,
			    .url = xasprintf("%s/it's src", tmp),
			    .settings = (char *)"{\"build_command\": \"make all\", \"artefact\": \"out/bench\"}"};
	struct db_machine m = {.name = (char *)"local",
			       .driver = (char *)"local",
			       .tbox_group = (char *)"local",
			       .settings = (char *)"{}"};
	struct db_comparison c = {.branch = (char *)"main",
				  .base = good,
				  .kconfig = (char *)"program",
				  .created = 1,
				  .state = COMPARISON_OPEN};
	_cleanup_free_ char *job = put_job(s), *tip = oid("HEAD");
	struct db_proof proof = DB_PROOF_INIT;
	struct db_case k = {.metric = (char *)"command.speed", .state = CASE_FOUND, .culprit = bad, .confidence = 0.99,
			    .posterior = 0.999, .effect = -0.05, .effect_lo = -0.051, .effect_hi = -0.049, .opened = 1,
			    .changed = 1};

	store_tree_put(s, &t, &c.tree);
	store_machine_put(s, &m, &c.machine);
	c.head = tip;
	c.job = job;
	is_int(store_comparison_put(s, &c, &k.comparison), 0, "a comparison");
	is_int(store_case_put(s, &k, ret_id), 0, "a case");
	proof.case_id = *ret_id;
	proof.state = PROOF_SHOWN;
	proof.commit = bad;
	proof.parent = good;
	proof.boots_parent = proof.boots_culprit = 5;
	proof.effect = -0.05;
	proof.lo = -0.051;
	proof.hi = -0.049;
	proof.p = 1e-6;
	is_int(store_proof_put(s, &proof), 0, "its proof");
	free(t.url);
}

/* The metric must be known before a case may name it. */
static void know_metric(struct store *s, const char *commit)
{
	struct db_tree t = {
		.name = (char *)"other", .kind = (char *)"program", .url = (char *)"x", .settings = (char *)"{}"};
	struct db_machine m = {.name = (char *)"other",
			       .driver = (char *)"local",
			       .tbox_group = (char *)"local",
			       .settings = (char *)"{}"};
	struct db_build b = {.commit = (char *)commit, .kconfig = (char *)"program", .state = BUILD_OK, .time = 1};
	_cleanup_free_ char *job = put_job(s);
	_cleanup_(metric_set_release) struct metric_set set = {0};
	struct db_run r = {.job = job, .boot = (char *)"x", .verdict = RUN_OK, .started = 1};
	int64_t id;

	store_tree_put(s, &t, &b.tree);
	store_machine_put(s, &m, &r.machine);
	store_build_put(s, &b, &r.build);
	metric_set_add(&set, "command.speed", 1, "ops/s", 1, true);
	is_int(store_run_put(s, &r, &set, &id), 0, "a metric");
}

static int run(const char *args, struct buf *out)
{
	_cleanup_free_ char *line =
		xasprintf("BOOTS=2 KPB_WORK=\"$PWD/wo rk\" sh reproduce.sh %s 2>log || { cat log >&2; exit 1; }", args);
	int r = proc_ok(ARGV("sh", "-c", line), NULL, out);

	if (r < 0)
		printf("# %s\n", err_msg());
	return r;
}

int main(void)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_buf_ struct buf script = {0}, out = {0}, again = {0};
	_cleanup_facts_ struct facts facts = {0};
	_cleanup_free_ char *good = NULL, *bad = NULL;
	int64_t id = 0;

	if (!getcwd(top, sizeof(top)) || !mkdtemp(tmp) || chdir(tmp) < 0)
		return 1;
	setenv("KPERFBOT_DATA", top, 1);
	sh(make_tree);
	good = oid("HEAD~2");
	bad = oid("HEAD~1");
	is_int(store_open(":memory:", false, &s), 0, "a database");
	know_metric(s, good);
	put_case(s, good, bad, &id);
	ok(facts_load(s, id, NULL, &facts) == 0 && reproduce_script(&facts, &script) == 0, "a script");
	ok(strstr(script.s, "base64 -d <<'KPB_") && !strchr(script.s, 0x1b), "what is no plain text is encoded");
	fs_write_atomic("reproduce.sh", script.s, script.len);
	is_int(proc_ok(ARGV("sh", "-n", "reproduce.sh"), NULL, NULL), 0, "is a shell script");
	if (proc_have("shellcheck")) {
		int r = proc_ok(ARGV("shellcheck", "-s", "sh", "-e", "SC1090,SC2154,SC2034,SC2016", "reproduce.sh"),
				NULL, &out);

		if (!ok(r == 0, "shellcheck agrees"))
			printf("# %s\n", buf_str(&out));
		buf_clear(&out);
	}
	if (geteuid() != 0) {
		ok(true, "running it # SKIP jobs run as root");
	} else {
		is_int(run("", &out), 0, "it runs");
		ok(strstr(buf_str(&out), "parent   200 (sd 0, 2 boots)\n") &&
			   strstr(buf_str(&out), "culprit  190 (sd 0, 2 boots)\n") &&
			   strstr(buf_str(&out), "change   -5.000% (reported: -5.00%)\n"),
		   "it prints both numbers");
		is_int(run("run culprit 3", &again), 0, "one run more");
		is_int(run("compare", &again), 0, "compare alone");
		ok(strstr(buf_str(&again), "(sd 0, 3 boots)") != NULL, "it takes the third run in");
		sh("cd 'wo rk/result/parent'; echo 'speed: 86400000.1' >1/command; echo 'speed: 86400000.5' >2/command");
		buf_clear(&again);
		is_int(run("compare", &again), 0, "large figures that lie close together");
		ok(strstr(buf_str(&again), "parent   86400000.3 (sd 0.2, 2 boots)\n") != NULL, "have their spread: %s",
		   buf_str(&again));
	}
	if (chdir(top) == 0)
		fs_rm_rf(tmp);
	return tap_done();
}
