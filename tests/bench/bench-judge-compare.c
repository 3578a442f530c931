/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What compare reaches: power and false alarms by simulation (fixed seeds), and how long they take. Prints one
 * line a figure: what | target | measured. The whole-process figure runs the program beside this one.
 */
#include "bisect/compare.h"
#include "db/store.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tests/bench/bench.h"

/* ---- compare ---- */

struct data { size_t n_metrics, runs; double *v; const double **value; size_t n[2]; char (*name)[16];
	struct cmp_metric *m; };

static void data_new(struct data *d, size_t n_metrics, size_t runs)
{
	*d = (struct data){n_metrics, runs, xcalloc(2 * n_metrics * runs, sizeof(double)),
			   xcalloc(2 * n_metrics, sizeof(double *)), {runs, runs}, xcalloc(n_metrics, 16),
			   xcalloc(n_metrics, sizeof(*d->m))};
	for (size_t i = 0; i < n_metrics; i++) {
		for (size_t b = 0; b < 2; b++)
			d->value[2 * i + b] = d->v + (2 * i + b) * runs;
		snprintf(d->name[i], 16, "x.m%zu", i);
		d->m[i] =
			(struct cmp_metric){.name = d->name[i], .value = &d->value[2 * i], .n = d->n, .min_effect = -1};
	}
}

/* Levels from 10 to 1e8, spread 2 % (times exp(N(0, mixed))); the first n_shifted metrics move by shift sigmas. */
static void data_draw(struct data *d, size_t n_shifted, double shift, double mixed, double outliers)
{
	for (size_t i = 0; i < d->n_metrics; i++) {
		double mean = pow(10, 1 + 7 * uniform()), sd = mean * .02 * exp(mixed * normal());

		for (size_t k = 0; k < 2 * d->runs; k++) {
			double v = normal();

			if (outliers > 0 && uniform() < outliers)
				v += 6;
			d->v[2 * i * d->runs + k] = mean + sd * (v + (k >= d->runs && i < n_shifted ? shift : 0));
		}
	}
}

static void data_free(struct data *d)
{
	free(d->v);
	free(d->value);
	free(d->name);
	free(d->m);
}

static size_t changed(const struct data *d, double fdr, enum cmp_rule rule, size_t n_shifted, size_t *ret_false)
{
	struct cmp_config c = {.rule = rule, .n_builds = 2, .fdr = fdr};
	struct cmp_result r;
	size_t hits = 0;

	*ret_false = 0;
	if (cmp_run(&c, d->m, d->n_metrics, &r) < 0)
		exit(1);
	for (size_t i = 0; i < r.n_rows; i++)
		if (cmp_is_change(r.row[i].delta[1].verdict))
			*(i < n_shifted ? &hits : ret_false) += 1;
	cmp_result_release(&r);
	return hits;
}

/* One metric alone: nothing to borrow from. */
static void two_samples(double outliers)
{
	static const struct { double shift; const char *target; int trials; } rows[] = {{3, ">= .98", 20000},
											{2, ">= .65", 20000},
											{0, "<= .001", 300000}};
	struct data d;

	data_new(&d, 1, 10);
	for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
		for (int rule = 0; rule < 2; rule++) {
			_cleanup_free_ char *what = xasprintf(
				"10+10 runs, %g sigma%s, share called changed at .001%s", rows[k].shift,
				outliers > 0 ? ", 5 % outliers at +6 sigma" : "", rule ? " (rule of lkp-tests)" : "");
			size_t hits = 0, wrong;

			state = 4711;
			for (int t = 0; t < rows[k].trials; t++) {
				data_draw(&d, 1, rows[k].shift, 0, outliers);
				hits += changed(&d, .001, rule ? CMP_LKP : CMP_MODERATED, 1, &wrong);
			}
			line(what, rule || outliers > 0 ? "" : rows[k].target, "%.5f", (double)hits / rows[k].trials);
		}
	data_free(&d);
}

static void many_metrics(double mixed, double outliers, const char *note)
{
	enum { TRIALS = 100 };
	double power = 0, fdr = 0, power_lkp = 0, null_lkp = 0;
	_cleanup_free_ char *what =
		xasprintf("3,000 metrics 6+6, 300 shifted by 3 sigma%s: power, false discoveries", note);
	struct data d;

	data_new(&d, 3000, 6);
	state = 99;
	for (int t = 0; t < TRIALS; t++) {
		size_t wrong, hits;

		data_draw(&d, 300, 3, mixed, outliers);
		hits = changed(&d, .05, CMP_MODERATED, 300, &wrong);
		power += (double)hits / 300 / TRIALS;
		fdr += hits + wrong ? (double)wrong / (double)(hits + wrong) / TRIALS : 0;
		hits = changed(&d, .05, CMP_LKP, 300, &wrong);
		power_lkp += (double)hits / 300 / TRIALS;
		null_lkp += (double)wrong / 2700 / TRIALS;
	}
	line(what, *note ? "" : ">= .95, <= .05", "%.3f, %.3f (rule of lkp-tests: %.3f, %.2f %% of unchanged ones)",
	     power, fdr, power_lkp, 100 * null_lkp);
	data_free(&d);
}

static void compare_speed(void)
{
	enum { TIMES = 20 };
	struct data d;
	size_t wrong;
	double t;

	data_new(&d, 3000, 6);
	state = 5;
	data_draw(&d, 300, 3, .8, 0);
	t = cpu_seconds();
	for (int i = 0; i < TIMES; i++)
		changed(&d, .05, CMP_MODERATED, 300, &wrong);
	line("cmp_run() on 3,000 metrics x 6 x 2, CPU ms", "a few", "%.1f", 1e3 * (cpu_seconds() - t) / TIMES);
	data_free(&d);
}

static int must(int r)
{
	if (r < 0) {
		fprintf(stderr, "bench-judge-compare: %s\n", err_msg());
		exit(1);
	}
	return r;
}

static void fill_database(struct store *s, char oid[2][41])
{
	struct db_tree tree = {.name = (char *)"net-next", .url = (char *)"u", .enabled = true};
	struct db_job job = {(char *)"0123456789abcdef",
			     (char *)"bench",
			     (char *)"stress-ng",
			     (char *)"{}",
			     (char *)"{}",
			     (char *)"x"};
	struct db_machine machine = {
		.name = (char *)"m", .driver = (char *)"qemu", .tbox_group = (char *)"m", .settings = (char *)"{}"};
	int64_t tree_id, machine_id;

	must(store_tree_put(s, &tree, &tree_id));
	must(store_job_put(s, &job));
	must(store_machine_put(s, &machine, &machine_id));
	state = 8;
	for (int b = 0; b < 2; b++) {
		struct db_build build = {
			.tree = tree_id, .commit = oid[b], .kconfig = (char *)"vm-net", .state = BUILD_OK};
		int64_t id;

		snprintf(oid[b], 41, "%040x", 0xabc + b);
		must(store_build_put(s, &build, &id));
		for (int i = 0; i < 6; i++) {
			char boot[32];
			struct metric_set set = {0};
			struct db_run run = {.build = id,
					     .machine = machine_id,
					     .job = job.id,
					     .boot = boot,
					     .verdict = RUN_OK,
					     .seconds = 60,
					     .started = 1000000ULL * (unsigned)(b * 10 + i + 1)};

			snprintf(boot, sizeof(boot), "boot-%d-%d", b, i);
			for (int k = 0; k < 3000; k++) {
				GROW(set.v, set.n, set.cap);
				set.v[set.n++] = (struct metric_value){xasprintf("perf-profile.self.cycles-pp.f%d", k),
								       10 + .1 * normal(), "%", -1, false};
			}
			must(store_run_put(s, &run, &set, NULL));
			metric_set_release(&set);
		}
	}
}

static void whole_process(const char *program)
{
	char dir[] = "/tmp/kperfbot-bench-XXXXXX", oid[2][41];
	struct store *s;
	double best = INFINITY, sum = 0, cpu = 0;
	enum { TIMES = 15 };

	if (!mkdtemp(dir) || access(program, X_OK) < 0) {
		line("compare of two builds in the database, whole process, ms", "<= 30",
		     "not measured: no program '%s'", program);
		return;
	}
	_cleanup_free_ char *path = xasprintf("%s/kperfbot.db", dir);

	must(store_open(path, false, &s));
	fill_database(s, oid);
	store_close(s);
	setenv("KPERFBOT_STATE", dir, 1);
	for (int i = 0; i < TIMES; i++) {
		struct proc_spec p = {.argv = ARGV(program, "compare", "--lkp", oid[0], oid[1])};
		struct proc_result r = {0};
		double ms;

		must(proc_run(&p, &r));
		if (r.status) {
			fprintf(stderr, "bench-judge-compare: %s\n", buf_str(&r.err));
			exit(1);
		}
		ms = 1e3 * r.seconds;
		sum += ms / TIMES;
		cpu += 1e3 * (r.user_s + r.sys_s) / TIMES;
		best = MIN(best, ms);
		proc_result_release(&r);
	}
	line("compare of 3,000 metrics x 6 runs x 2 in the database, whole process, ms", "<= 30",
	     "%.1f best, %.1f mean; %.1f of CPU", best, sum, cpu);
	fs_rm_rf(dir);
}

int main(int argc, char **argv)
{
	line("compare: what", "target", "measured");
	two_samples(0);
	two_samples(.05);
	many_metrics(0, 0, "");
	many_metrics(.8, 0, " (spreads differ by exp(N(0, .8)))");
	many_metrics(0, .05, " (5 % outliers)");
	compare_speed();
	whole_process(argc > 1 ? argv[1] : "build/kperfbot");
	return 0;
}
