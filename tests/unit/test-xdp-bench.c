/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xdp-bench 1.3.1 and 1.6.3 as they really print: all modes, terse and extended, with and without grouped digits, and
 * every way to end without a number. */
#include "jobs/check.h"
#include "jobs/expand.h"
#include "lib/fs.h"
#include "tests/tap.h"

#define DIR "tests/fixtures/xdp-bench/"

struct run { struct metric_set m; struct check_set k; struct parse_ctx c; struct job_list l; int r; };

static void run_release(struct run *p)
{
	metric_set_release(&p->m);
	check_set_release(&p->k);
	job_list_release(&p->l);
	free(p->c.cause);
}
#define RUN _cleanup_(run_release) struct run

static struct run_facts facts = {.nr_cpu = 2};

static void parse_text(struct run *p, const char *mode, int warmup, int seconds, const char *more, const char *text,
		       size_t len)
{
	_cleanup_free_ char *job = xasprintf("warmup: %ds\nruntime: %ds\nmonitors: []\nxdp-bench: {mode: %s%s}\n",
					     warmup, seconds, mode, more ? more : "");

	*p = (struct run){0};
	if (job_load_text("x.yaml", job, strlen(job), NULL, &p->l) < 0) {
		ok(false, "a job: %s", err_msg());
		return;
	}
	p->c = (struct parse_ctx){.job = &p->l.v[0],
				  .facts = &facts,
				  .result_dir = "/nonexistent",
				  .out = &p->m,
				  .verdict = RUN_OK,
				  .checks = &p->k};
	p->r = program_find("xdp-bench")->parse(&p->c, text, len);
}

/* A sample, between texts of our own. */
static void parse(struct run *p, const char *mode, int warmup, int seconds, const char *file, const char *before,
		  const char *after)
{
	_cleanup_free_ char *path = xasprintf(DIR "%s", file);
	_cleanup_buf_ struct buf b = {0}, all = {0};

	if (fs_read(path, 0, &b) < 0)
		ok(false, "%s: %s", file, err_msg());
	buf_adds(&all, before);
	buf_add(&all, buf_str(&b), b.len);
	buf_adds(&all, after);
	parse_text(p, mode, warmup, seconds, strstr(file, "skb") ? ", xdp_mode: skb" : NULL, buf_str(&all), all.len);
}

static double value(const struct run *p, const char *name)
{
	_cleanup_free_ char *full = xasprintf("xdp-bench.%s", name);
	const struct metric_value *v = metric_set_get(&p->m, full);

	return v ? v->value : NAN;
}

static const char *verdict(const struct run *p, const char *check)
{
	const struct check *k = check_set_get(&p->k, check);

	return k ? check_verdict_word(k->verdict) : "(none)";
}

/* Of each sample the intervals after the first `warmup`; means worked out by hand from the text. */
static void test_samples(void)
{
	static const struct { const char *file, *mode; int warmup,
			     seconds; const char *metric; double want; } good[] = {
		{"131-drop-e-i1.txt", "drop", 4, 3, "rx_pps", (43591 + 44450 + 37941) / 3.0},
		{"131-drop-e-i1.txt", "drop", 4, 3, "drop_pps", (43591 + 44450 + 37941) / 3.0},
		{"131-drop-e-i1.txt", "drop", 3, 2, "cpu0.rx_pps", (32092 + 43591) / 2.0},
		{"131-drop.txt", "drop", 1, 2, "rx_pps", (9735 + 30467) / 2.0},
		{"131-drop-rxq-e.txt", "drop", 3, 2, "rx_pps", (39181 + 33682) / 2.0},
		{"131-drop-rxq-e.txt", "drop", 3, 2, "drop_pps", (39181 + 33682) / 2.0},
		{"131-drop-toggle.txt", "drop", 3, 4, "rx_pps", (16120 + 25948 + 25727 + 28372) / 4.0},
		{"131-drop-sigterm.txt", "drop", 3, 2, "rx_pps", (9663 + 43063) / 2.0},
		{"131-drop-skb-e.txt", "drop", 3, 3, "cpu1.rx_pps", (3400 + 4065 + 2714) / 3.0},
		{"131-pass-e.txt", "pass", 4, 2, "rx_pps", (20264 + 23925) / 2.0},
		{"131-tx-e.txt", "tx", 4, 2, "rx_pps", (38929 + 45389) / 2.0},
		{"131-redirect-e.txt", "redirect", 4, 2, "rx_pps", (20895 + 19077) / 2.0},
		{"131-redirect-e.txt", "redirect", 4, 2, "xmit_pps", (20898 + 19077) / 2.0},
		{"131-redirect-e.txt", "redirect", 4, 2, "xmit_bulk_avg", 1},
		{"131-redirect-s-toggle.txt", "redirect", 4, 2, "redir_pps", (33422 + 32038) / 2.0},
		{"131-redirect-map-e.txt", "redirect-map", 4, 2, "xmit_pps", (29584 + 28574) / 2.0},
		{"131-redirect-map-X-s.txt", "redirect-map", 4, 2, "redir_pps", (31347 + 30809) / 2.0},
		{"131-redirect-multi.txt", "redirect-multi", 4, 2, "rx_pps", (30585 + 29586) / 2.0},
		{"131-redirect-multi-e-s.txt", "redirect-multi", 4, 2, "xmit_pps", (31364 + 31404) / 2.0},
		{"131-redirect-multi-e-s.txt", "redirect-multi", 4, 2, "redir_pps", (31365 + 31402) / 2.0},
		{"131-redirect-cpu-e.txt", "redirect-cpu", 4, 2, "rx_pps", (21172 + 21903) / 2.0},
		{"131-redirect-cpu-e.txt", "redirect-cpu", 4, 2, "remote_drop_pps", (21157 + 21920) / 2.0},
		{"131-redirect-cpu0-toggle.txt", "redirect-cpu", 4, 3, "enqueue_pps", (22186 + 16859 + 23486) / 3.0},
		{"131-redirect-cpu0-toggle.txt", "redirect-cpu", 5, 2, "kthread_sched", (16085 + 22569) / 2.0},
		{"131-redirect-cpu2-pass-s-toggle.txt", "redirect-cpu", 4, 3, "remote_pass_pps",
		 (22628 + 21770 + 17980) / 3.0},
		{"131-redirect-cpu2-rr-redirect-toggle.txt", "redirect-cpu", 4, 3, "enqueue_pps",
		 (8102 + 8102 + 9183 + 9184 + 9450 + 9449) / 3.0},
		{"131-redirect-cpu2-rr-redirect-toggle.txt", "redirect-cpu", 4, 3, "kthread_pps",
		 (16202 + 18296 + 18979) / 3.0},
		{"131-redirect-cpu2-rr-redirect-toggle.txt", "redirect-cpu", 4, 3, "cpu1.kthread_pps",
		 (8099 + 9113 + 9530) / 3.0},
		{"131-redirect-cpu2-rr-redirect-toggle.txt", "redirect-cpu", 4, 3, "remote_redir_pps",
		 (16202 + 18296 + 18979) / 3.0},
		{"131-redirect-cpu2-rr-redirect-toggle.txt", "redirect-cpu", 4, 3, "xmit_bulk_avg",
		 (1.23 * 16261 + 1.28 * 18289 + 1.35 * 18982) / (16261 + 18289 + 18982)},
		{"163-drop-e-i1.txt", "drop", 2, 1, "rx_pps", 2993324},
		{"163-drop-enUS.txt", "drop", 1, 1, "rx_pps", 2999857},
		{"163-drop-enUS.txt", "drop", 1, 1, "cpu0.rx_pps", 2999856},
		{"163-drop-rxq.txt", "drop", 2, 2, "rx_pps", (869749 + 2363759) / 2.0},
		{"163-drop-toggle.txt", "drop", 1, 2, "rx_pps", (1822880 + 1185164) / 2.0},
		{"163-drop.txt", "drop", 1, 2, "rx_pps", (138154 + 1327697) / 2.0},
		{"163-pass-e.txt", "pass", 2, 3, "rx_pps", (239495 + 223219 + 244722) / 3.0},
		{"163-tx-e.txt", "tx", 1, 2, "rx_pps", (72057 + 2946358) / 2.0},
		{"163-redirect-e.txt", "redirect", 1, 2, "xmit_bulk_avg", 16},
		{"163-redirect-s.txt", "redirect", 1, 3, "rx_pps", (764856 + 1594225 + 647645) / 3.0},
		{"163-redirect-map-e-s.txt", "redirect-map", 1, 2, "xmit_pps", (1793216 + 1213333) / 2.0},
		{"163-redirect-multi.txt", "redirect-multi", 1, 2, "rx_pps", (2392322 + 614889) / 2.0},
		{"163-redirect-multi-e-s.txt", "redirect-multi", 1, 2, "rx_pps", (1941337 + 1058942) / 2.0},
		{"163-redirect-cpu-noaction.txt", "redirect-cpu", 1, 2, "kthread_pps", (136634 + 381557) / 2.0},
		{"163-redirect-cpu-noaction-enUS.txt", "redirect-cpu", 1, 1, "enqueue_drop_pps", 2063721},
		{"163-redirect-cpu-noaction-enUS.txt", "redirect-cpu", 1, 1, "enqueue_bulk_avg", 8},
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		RUN p;

		parse(&p, good[i].mode, good[i].warmup, good[i].seconds, good[i].file, "", "# ---- end\n");
		if (!ok(p.r == 0, "%s", good[i].file))
			printf("# %s: %s\n", run_verdict_word(p.c.verdict), p.c.cause ? p.c.cause : "");
		is_near(value(&p, good[i].metric), good[i].want, 1e-6 * good[i].want, "%s: %s", good[i].file,
			good[i].metric);
	}
}

static void test_refused(void)
{
	static const struct { const char *file, *mode; int warmup, seconds; const char *before, *verdict,
			     *cause; } bad[] = {
		{"131-redirect-nopeer-e.txt", "redirect", 4, 2, "", "failed",
		 "sent nothing on: 41712 pkt/s received, 83243 errors/s"},
		{"163-redirect-nopeer-e.txt", "redirect", 1, 2, "", "failed",
		 "sent nothing on: 1498980 pkt/s received, 1498979 errors/s (EOPNOTSUPP)"},
		{"163-redirect-cpu-e.txt", "redirect-cpu", 1, 2, "", "incomplete",
		 "status 1: Create CPU entry failed: Cannot allocate memory"},
		{"163-redirect-cpu-toggle.txt", "redirect-cpu", 1, 2, "", "incomplete", "Create CPU entry failed"},
		{"163-redirect-cpu2-pass.txt", "redirect-cpu", 1, 2, "", "incomplete", "Create CPU entry failed"},
		{"163-redirect-cpu2-redirect.txt", "redirect-cpu", 1, 2, "", "incomplete", "Create CPU entry failed"},
		{"163-redirect-map.txt", "redirect-map", 1, 2, "", "incomplete", "status 4: "},
		{"131-on-6.18-fails.txt", "drop", 1, 2, "# exit status: 4\n# ---- stderr\n", "incomplete",
		 "status 4: Failed to attach XDP program: No such process"},
		{"131-errors.txt", "drop", 1, 2, "# exit status: 1\n# ---- stderr\n", "incomplete",
		 "Unable to read PID from lockfile: File exists"},
		{"163-errors.txt", "drop", 1, 2, "# exit status: 4\n# ---- stderr\n", "incomplete", "status 4: "},
		{"131-nobpffs-redirect-cpu.txt", "redirect-cpu", 1, 2, "# exit status: 0\n# ---- stdout\n", "failed",
		 "no packet arrived"},
		{"131-kill9-stale-lock.txt", "drop", 1, 2, "# exit status: 137\n# ---- stderr\n", "incomplete",
		 "status 137"},
		{"131-drop-e-i1.txt", "drop", 3, 9, "", "failed",
		 "printed 7 intervals, 3 of the warm-up and 9 were wanted"},
		{"131-drop-e-i1.txt", "drop", 0, 3, "", "failed", "no packet arrived"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		RUN p;

		parse(&p, bad[i].mode, bad[i].warmup, bad[i].seconds, bad[i].file, bad[i].before, "\n# ---- end\n");
		is_int(p.r, -EBADMSG, "%s gives no number", bad[i].file);
		is_str(run_verdict_word(p.c.verdict), bad[i].verdict, "it is %s", bad[i].verdict);
		if (!ok(p.c.cause && strstr(p.c.cause, bad[i].cause), "cause: '%s'", bad[i].cause))
			printf("# got '%s'\n", p.c.cause ? p.c.cause : "(null)");
		is_int(p.m.n, 0, "and no metric");
	}
}

static void test_checks(void)
{
	RUN a, b, c, d;

	parse(&a, "redirect-cpu", 4, 3, "131-redirect-cpu0-toggle.txt", "", "# ---- end\n");
	is_str(verdict(&a, "placement"), "fail", "redirected to the CPU that receives");
	parse(&b, "redirect-cpu", 1, 1, "163-redirect-cpu-noaction-enUS.txt", "", "# ---- end\n");
	is_str(verdict(&b, "errors"), "fail", "most packets dropped at the queue");
	is_str(verdict(&b, "placement"), "pass", "CPU 0 to CPU 1");
	parse(&c, "redirect-cpu", 4, 2, "131-redirect-cpu-e.txt", "", "# ---- end\n");
	is_str(verdict(&c, "placement"), "unknown", "terse output tells of no CPUs");
	is_str(verdict(&c, "generator"), "unknown", "a generator without counters");
	is_str(verdict(&c, "cross-check"), "unknown", "no driver counters");
	parse(&d, "redirect", 4, 2, "131-redirect-e.txt", "", "# ---- end\n");
	is_str(verdict(&d, "errors"), "pass", "nothing lost");
	is_str(verdict(&d, "steady"), "unknown", "too short");
}

/* What a real guest with three CPUs left: one sends, one receives, the third takes redirected packets. */
static void test_guest(void)
{
	static const struct { const char *name; double want; } values[] = {
		{"xdp-bench.rx_pps", (37778 + 33958 + 35513 + 47683 + 52650 + 58192 + 59091 + 60508 + 41527) / 9.0},
		{"pktgen.pps", (681888 - 169104) / (26.67 - 15.54)},
		{"pktgen.errors_per_sec", (1020760 - 248438) / (26.67 - 15.54)},
		{"ethtool.receiver.rx_queue_0_xdp_packets", (706498 - 183248) / (27.36 - 15.99)},
	};
	RUN p;

	parse(&p, "redirect-cpu", 3, 10, "guest-redirect-cpu.txt", "", "");
	is_int(p.r, 0, "a whole run parses%s%s", p.c.cause ? ": " : "", p.c.cause ? p.c.cause : "");
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		const struct metric_value *v = metric_set_get(&p.m, values[i].name);

		is_near(v ? v->value : NAN, values[i].want, 0.01, "%s", values[i].name);
	}
	ok(metric_set_get(&p.m, "xdp-bench.rx_pps") && metric_set_get(&p.m, "xdp-bench.rx_pps")->kpi, "the KPI is one");
	is_str(job_kpis(&p.l.v[0])[0], "xdp-bench.rx_pps", "named in program.yaml");
	is_str(verdict(&p, "generator"), "pass", "the generator outran the receiver");
	is_str(verdict(&p, "placement"), "pass", "CPUs apart");
	is_str(verdict(&p, "line-rate"), "pass", "a veth has no wire");
	is_str(verdict(&p, "interference"), "pass", "nothing stolen");
	for (size_t i = 0; i < p.k.n; i++)
		printf("# %s: %s: %s\n", p.k.v[i].name, check_verdict_word(p.k.v[i].verdict), p.k.v[i].evidence);
}

/* qemu-icount: all on one CPU, and time is instructions, 8 ns each. */
static void test_one_cpu(void)
{
	const struct metric_value *v;
	RUN p;

	facts = (struct run_facts){.nr_cpu = 1, .ns_per_insn = 8};
	parse(&p, "redirect-cpu", 2, 3, "one-cpu-redirect-cpu.txt", "", "");
	facts = (struct run_facts){.nr_cpu = 2};
	is_int(p.r, 0, "one CPU%s%s", p.c.cause ? ": " : "", p.c.cause ? p.c.cause : "");
	is_near(value(&p, "rx_pps"), (15754 + 15753 + 15749) / 3.0, 1e-6, "its rate");
	v = metric_set_get(&p.m, "icount.instructions_per_op");
	is_near(v ? v->value : NAN, 125e6 / ((15754 + 15753 + 15749) / 3.0), 1e-6,
		"is the inverse of a packet's instructions");
	ok(v && v->kpi, "a KPI");
	is_str(verdict(&p, "placement"), "unknown", "no CPUs to part");
	is_int(p.c.verdict, RUN_OK, "which is no reason not to trust it");
}

/* Cut off anywhere it is no number. */
static void test_cut(void)
{
	static const char *const files[] = {"guest-redirect-cpu.txt", "guest-drop.txt"};

	for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
		_cleanup_free_ char *path = xasprintf(DIR "%s", files[f]);
		_cleanup_buf_ struct buf b = {0};
		size_t good = 0;

		is_int(fs_read(path, 0, &b), 0, "%s", files[f]);
		for (size_t n = 0; n < b.len; n += 53) {
			RUN p;

			parse_text(&p, f ? "drop" : "redirect-cpu", 3, 10, NULL, buf_str(&b), n);
			good += p.r == 0 || p.m.n;
		}
		is_int(good, 0, "%s, cut off at any place, gives nothing", files[f]);
	}
}

/* Quoted and blank-collapsed as in mails, kernel messages between. */
static void test_mail_form(void)
{
	static const char text[] =
		"# exit status: 0\n# ---- stdout\n"
		"| eth1->? 9,427,705 rx/s 0 err,drop/s\n| receive total 9,427,705 pkt/s 0 drop/s 0 error/s\n"
		"| cpu:17 9,427,705 pkt/s 0 drop/s 0 error/s\n[203.849809] ixgbe 0000:00:00.2 eth1: a message\n"
		"> | enqueue to cpu 3 9,427,708 pkt/s 0 drop/s 8.00 bulk-avg\n| cpu:17->3 9,427,708 pkt/s 0 drop/s 8.00 bulk-avg\n"
		"| kthread total 9,427,710 pkt/s 0 drop/s 147,276 sched\n| cpu:3 9,427,710 pkt/s 0 drop/s 147,276 sched\n"
		"| xdp_stats 0 pass/s 9,427,710 drop/s 0 redir/s\n| redirect_err 0 error/s\n| xdp_exception 0 hit/s\n"
		"  Packets received : 9,427,705\n# ---- end\n";
	RUN p;

	parse_text(&p, "redirect-cpu", 0, 1, NULL, text, strlen(text));
	is_int(p.r, 0, "a mail's lines");
	is_near(value(&p, "rx_pps"), 9427705, 0, "received");
	is_near(value(&p, "cpu17.rx_pps"), 9427705, 0, "by CPU 17");
	is_near(value(&p, "enqueue_bulk_avg"), 8, 1e-12, "in bulks of 8");
	is_near(value(&p, "kthread_sched"), 147276, 0, "sched");
	is_str(verdict(&p, "placement"), "pass", "CPU 17 to CPU 3");
}

/* The machine that only sends. */
static void test_generator_role(void)
{
	static const char text[] =
		"# role: generator\n# generator: eth2 driver ixgbe cpu 0 threads 2 burst 32\n# ---- before\n"
		"@ 10.00 pktgen eth2@0\n     pkts-sofar: 1000  errors: 0\n@ 10.00 pktgen eth2@1\n     pkts-sofar: 2000  errors: 0\n"
		"@ 10.10 ethtool generator eth2\nNIC statistics:\n     port.tx_size_64: 500\n     tx-0.packets: 7\n# ---- after\n"
		"@ 20.00 pktgen eth2@0\n     pkts-sofar: 71000  errors: 0\n@ 20.00 pktgen eth2@1\n     pkts-sofar: 82000  errors: 10\n"
		"@ 20.10 ethtool generator eth2\nNIC statistics:\n     port.tx_size_64: 1500\n     tx-0.packets: 7\n"
		"# exit status: 0\n# ---- stdout\n# ---- stderr\n# ---- generator\nDevice: eth2@0\n"
		"Result: OK: 842795(c832868+d9927) usec, 60000 (60byte,0frags)\n  71191pps 34Mb/sec (34171680bps) errors: 4\n"
		"Device: eth2@1\nResult: OK: 66300(c65851+d449) usec, 3000 (60byte,0frags)\n"
		"  45248pps 21Mb/sec (21719040bps) errors: 0\n# ---- end\n";
	static const struct { const char *name; double want; } values[] = {
		{"pktgen.pps", 15000}, {"pktgen.errors_per_sec", 1}, {"pktgen.total.pps", 71191 + 45248},
		{"pktgen.total.errors", 4},
		{"ethtool.generator.port.tx_size_64", 100},
	};
	static const char no_device[] =
		"# role: generator\n# ---- generator\nResult: ERROR: can not add device nosuch0@0\n# ---- end\n";
	static const char by_socket[] = "# role: generator\n# ---- before\n@ 10 sent eth2\npkts-sofar: 100 errors: 0\n"
					"# ---- after\n@ 20 sent eth2\npkts-sofar: 300 errors: 0\n# ---- end\n";
	RUN p, q;

	parse_text(&p, "drop", 3, 10, NULL, text, strlen(text));
	is_int(p.r, 0, "pktgen alone");
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		const struct metric_value *v = metric_set_get(&p.m, values[i].name);

		is_near(v ? v->value : NAN, values[i].want, 1e-9, "%s", values[i].name);
	}
	parse_text(&q, "drop", 3, 10, NULL, by_socket, strlen(by_socket));
	ok(q.r == 0 && metric_set_get(&q.m, "generator.pps") && metric_set_get(&q.m, "generator.pps")->value == 20,
	   "a sender with sockets");
	run_release(&q);
	ok(!metric_set_get(&p.m, "ethtool.generator.tx-0.packets"), "what did not move is left out");
	parse_text(&q, "drop", 3, 10, NULL, no_device, strlen(no_device));
	is_int(q.r, -EBADMSG, "pktgen without a device");
	ok(q.c.cause && strstr(q.c.cause, "can not add device nosuch0@0"), "in its own words");
}

int main(void)
{
	test_samples();
	test_refused();
	test_checks();
	test_guest();
	test_one_cpu();
	test_cut();
	test_mail_form();
	test_generator_role();
	return tap_done();
}
