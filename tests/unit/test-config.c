/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration's files and what the database keeps of them. */
#include "bot/config/config.h"
#include "lib/fs.h"
#include "tests/tap.h"

static char dir[] = "/tmp/kperfbot-config-XXXXXX";

static void write_file(const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

	if (fs_write_atomic(path, text, strlen(text)) < 0)
		printf("Bail out! %s\n", err_msg());
}

/* A setting of the machine's driver. */
static void is_own(const struct config *c, const char *name, const char *key, const char *value)
{
	struct settings part[MACHINE_PARTS];
	_cleanup_free_ char *text = NULL;

	machine_settings(config_machine(c, name), part);
	text = setting_text(setting_find(part[2].table, key), part[2].base);
	is_str(text, value, "machine %s: %s", name, key);
}

/* Each driver has its own. */
static void test_driver_settings(void)
{
	struct config c = {0};

	write_file("kperfbot.yaml", "machines:\n  m:\n    driver: qemu\n    icount_shift: 3\n    memory: 100\n"
		   "  local:\n    memory_mb: 512\n  n:\n    driver: qenu\n");
	is_int(config_load(dir, &c), -EINVAL, "settings that their drivers do not have");
	ok(strstr(err_msg(), ":4:5: driver 'qemu' has no setting 'icount_shift'"), "another driver's");
	ok(strstr(err_msg(), ":5:5: driver 'qemu' has no setting 'memory', did you mean 'memory_mb'?"),
	   "the nearest one");
	ok(strstr(err_msg(), ":7:5: driver 'local' has no setting 'memory_mb'"), "of a builtin machine");
	ok(strstr(err_msg(), "8:3: machine 'n' needs a 'driver', one of: local "), "a driver that is none");
	write_file("kperfbot.yaml", "machines:\n  qemu:\n    driver: qemu-icount\n    icount_shift: 1\n");
	is_int(config_load(dir, &c), 0, "a builtin machine may get another driver");
	is_own(&c, "qemu", "icount_shift", "1");
	config_release(&c);
}

/* Each number is as wide as its key says, and touches no other. */
static void test_numbers(void)
{
	struct config c = {0};

	write_file("kperfbot.yaml", "build_slots: 256\nbuild_jobs: 1024\nmin_free_mb: 16777216\n"
		   "build_memory_mb: 16777216\nbuild_disk_mb: 16777216\nbuild_files: 1073741824\n"
		   "judge:\n  min_boots: 1000\n  max_boots: 10000\n"
		   "  proof_boots: 1000\n  detect_boots: 100\nmail:\n  max_recipients: 1000\n  max_per_day: 100000\n"
		   "trees:\n  t:\n    url: https://example.org/t.git\n    max_commits: 1000000\n    interval: 720h\n"
		   "machines:\n  m:\n    driver: qemu\n    cpus: 4096\n    memory_mb: 16777216\n"
		   "  n:\n    driver: qemu-icount\n    icount_shift: 10\n");
	is_int(config_load(dir, &c), 0, "all numbers at their upper ends");
	is_int(c.build_slots, 256, "build_slots");
	is_int(c.build_jobs, 1024, "build_jobs");
	is_int(c.min_free_mb, 1 << 24, "min_free_mb");
	is_int(c.build_memory_mb, 1 << 24, "build_memory_mb");
	is_int(c.build_disk_mb, 1 << 24, "build_disk_mb");
	is_int(c.build_files, 1 << 30, "build_files");
	is_int(c.min_boots, 1000, "min_boots");
	is_int(c.max_boots, 10000, "max_boots");
	is_int(c.proof_boots, 1000, "proof_boots");
	is_int(c.detect_boots, 100, "detect_boots");
	is_int(c.mail_max_recipients, 1000, "max_recipients");
	is_int(c.mail_max_per_day, 100000, "max_per_day");
	is_int(c.n_trees ? c.tree[0].max_commits : 0, 1000000, "max_commits");
	is_int(c.n_trees ? (int64_t)c.tree[0].interval_s : 0, 30 * 86400, "interval");
	is_int(config_machine(&c, "m")->cpus, 4096, "cpus");
	is_own(&c, "m", "memory_mb", "16777216");
	is_own(&c, "n", "icount_shift", "10");
	is_own(&c, "n", "memory_mb", "512");
	config_release(&c);
}

/* Trees as older programs stored them, and what comes back of a whole one. */
static void test_stored_trees(void)
{
	static const char old[] =
		"{\"branches\":[],\"interval\":60.0,\"kconfig\":\"vm-net\",\"jobs\":[\"a\"],\"mail_cc\":[],"
		"\"max_commits\":20000,\"of_file\":true,\"machine\":\"qemu\",\"forgotten\":1}";
	struct db_tree row = {.name = (char *)"t", .url = (char *)"https://example.org/t.git", .kind = (char *)"kernel",
			      .enabled = true, .settings = (char *)old};
	struct settings a[TREE_PARTS], b[TREE_PARTS];
	struct tree_config t = {0}, back = {0};
	_cleanup_free_ char *json = NULL;

	is_int(tree_config_from_db(&row, &t), 0, "an old row");
	ok(t.interval_s == 60 && t.branches.n == 0 && t.jobs.n == 1 && t.of_file && !t.trusted, "has its settings");
	is_str(t.kconfig, "vm-net", "its kconfig");
	ok(!t.build_command && !t.artefact && !t.branch_label, "and no others");
	json = tree_config_to_json(&t);
	row.settings = json;
	is_int(tree_config_from_db(&row, &back), 0, "stored again");
	tree_config_settings(&t, a);
	tree_config_settings(&back, b);
	for (size_t i = 0; a[i].table; i++)
		for (const struct setting *s = a[i].table; s->name; s++)
			ok(setting_equal(s, a[i].base, b[i].base), "%s comes back", s->name);
	ok(back.of_file, "as does where it is from");
	tree_config_release(&t);
	tree_config_release(&back);
	row.settings = NULL;
	row.kind = (char *)"program";
	is_int(tree_config_from_db(&row, &t), 0, "a row without settings");
	ok(t.interval_s == 300 && t.max_commits == 20000 && streq(t.branches.v[0], "*"), "has the defaults");
	ok(streq(t.kconfig, "program") && streq(t.build_command, "make") && streq(t.machine, machine_default(true)),
	   "those of a program");
	tree_config_release(&t);
	row.settings = (char *)"[1]";
	is_int(tree_config_from_db(&row, &t), -EBADMSG, "what is no object");
	ok(strstr(err_msg(), "tree 't'"), "names the tree");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_numbers();
	test_stored_trees();
	test_driver_settings();
	fs_rm_rf(dir);
	return tap_done();
}
