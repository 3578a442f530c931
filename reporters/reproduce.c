/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The script that reproduces a case: what differs from case to case is written here as shell variables and
 * here-documents, the rest is reporters/reproduce.sh.
 */
#include "reporters/facts.h"
#include "reporters/report.h"
#include "jobs/job.h"
#include "kernels/build.h"
#include "kernels/machine.h"
#include "lib/fs.h"
#include <json-c/json.h>
#include <sys/stat.h>

#define MAX_CONFIG (8u << 20)

static void set(struct buf *b, const char *name, const char *value)
{
	buf_addf(b, "%s=", name);
	buf_add_shell(b, value ? value : "");
	buf_addc(b, '\n');
}

static void comment(struct buf *b, const char *label, const char *text)
{
	buf_addf(b, "# %s", label);
	buf_add_term(b, text ? text : "");
	buf_addc(b, '\n');
}

/* Nothing in it drives a terminal or hides from who reads it. */
static bool is_readable(const char *s)
{
	enum utf8_class class;

	for (size_t left = strlen(s), n; left; s += n, left -= n) {
		n = utf8_next(s, left, &class, NULL);
		if (class != UTF8_PLAIN && *s != '\n' && *s != '\t')
			return false;
	}
	return true;
}

/* RFC 4648, in lines of 76. */
static void add_base64(struct buf *b, const char *text)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *s = (const unsigned char *)text;
	size_t left = strlen(text), groups = 0;

	while (left) {
		size_t n = MIN(left, (size_t)3);
		uint32_t v = s[0] << 16 | (n > 1 ? s[1] << 8 : 0) | (n > 2 ? s[2] : 0);

		for (size_t i = 0; i < 4; i++)
			buf_addc(b, i <= n ? digit[v >> (18 - 6 * i) & 63] : '=');
		s += n;
		left -= n;
		if (++groups % 19 == 0 || !left)
			buf_addc(b, '\n');
	}
}

/* A function that prints text: as it is where people can read it, else encoded, which is byte for byte. The end mark
 * cannot be in the text: it is made of the text's own hash. */
static void add_document(struct buf *b, const char *function, const char *text)
{
	bool plain = is_readable(text);
	char hex[SHA256_HEX];

	sha256_hex(text, strlen(text), hex);
	buf_addf(b, "\n%s() {\n\t%s <<'KPB_%.24s'\n", function, plain ? "cat" : "base64 -d", hex);
	if (plain)
		buf_adds(b, text);
	else
		add_base64(b, text);
	buf_addf(b, "%sKPB_%.24s\n}\n", b->s[b->len - 1] == '\n' ? "" : "\n", hex);
}

static char *config_path(const struct facts *f)
{
	const struct db_build *b = f->bad_build.image_path ? &f->bad_build : &f->good_build;
	const char *slash = b->image_path ? strrchr(b->image_path, '/') : NULL;

	return slash ? xasprintf("%.*s/config", (int)(slash - b->image_path), b->image_path) : NULL;
}

/* The config that both kernels are built from; builds of older robots may hold what none hands on now. */
static int read_config(const struct facts *f, struct buf *ret)
{
	_cleanup_free_ char *path = config_path(f);

	if (!path || fs_read(path, MAX_CONFIG, ret) < 0)
		return err_set(-ENODATA, "the kernel config of %.10s is gone: build it again with 'kperfbot build %s'",
			       f->bad, f->bad);
	return kconfig_check(ret->s, ret->len) < 0 ? err_prefix(-ENODATA, "%.10s", f->bad) : 0;
}

static void words(const struct strv *l, struct buf *out)
{
	for (size_t i = 0; i < l->n; i++)
		buf_addf(out, "%s%s", out->len ? " " : "", l->v[i]);
}

/* Debian packages and commands: the build's, the machine's, the job's. The job's alone are in ret_job, too. */
static void needs(const struct facts *f, bool kernel, const char *machine, struct buf *packages, struct buf *programs,
		  struct buf *ret_job)
{
	struct job j = {0};
	_cleanup_strv_ struct strv pk = {0}, pr = {0};

	buf_adds(packages, "git make gcc");
	if (kernel)
		buf_adds(packages, " flex bison bc perl libelf-dev libssl-dev");
	if (machine)
		buf_addf(packages, " %s", machine);
	if (job_from_canonical(f->job.name, f->job.canonical ? f->job.canonical : "{}", &j) < 0)
		return;
	if (job_needs(&j, &pk, &pr) == 0) {
		words(&pk, packages);
		words(&pk, ret_job);
		words(&pr, programs);
	}
	job_release(&j);
}

/* The machine that measured, as it was stored; of a driver that is not known any more (or of none) nothing is known. */
static int load_machine(const struct facts *f, struct machine *ret)
{
	int r = machine_driver(f->machine.driver) ? 0 : -ENOENT;

	if (r == 0)
		r = machine_from_json(f->machine.name, f->machine.driver, f->machine.settings, ret);
	return r == -ENOENT ? 0 : r;
}

/* What is to be fetched; commits of a patch series cannot be, they are made of its mails. */
static int add_commits(const struct facts *f, struct buf *b)
{
	const char *base = f->series.base;
	_cleanup_free_ char *commits = !base					   ? xasprintf("%s %s", f->good, f->bad)
				       : f->good_in_series || streq(f->good, base) ? xstrdup(base)
										   : xasprintf("%s %s", f->good, base);

	if (base && !f->mbox.len)
		return err_set(-ENODATA,
			       "the patches of %.12s are gone from the mirror: apply series '%s' on %.12s again",
			       f->bad, f->series.name, base);
	set(b, "commits", commits);
	set(b, "series_base", base);
	if (base)
		add_document(b, "series", f->mbox.s);
	return 0;
}

static void add_header(const struct facts *f, const char *packages, const struct machine_script *machine, struct buf *b)
{
	_cleanup_buf_ struct buf what = {0};
	_cleanup_free_ char *failure = f->c.failure ? facts_failure(f) : NULL;

	add_percent(&what, f->effect);
	buf_addf(b, "#!/bin/sh\n# Case %" PRId64 ": ", f->c.id);
	if (failure) {
		buf_add_shown(b, failure);
	} else {
		buf_adds(b, buf_str(&what));
		buf_addf(b, " %s of ", facts_verdict_word(f));
		buf_add_shown(b, f->c.metric);
	}
	buf_adds(b, "\n#\n");
	buf_addf(b, "# culprit: %s ", f->bad);
	buf_add_shown(b, f->bad_info.subject ? f->bad_info.subject : "");
	buf_addf(b, "\n# parent:  %s ", f->good);
	buf_add_shown(b, f->good_info.subject ? f->good_info.subject : "");
	buf_adds(b, "\n#\n# Builds both, runs the job on each in turns and prints both values:\n"
		    "#\n#	sh reproduce.sh                         all of it\n"
		    "#	sh reproduce.sh build | run parent 1 | run culprit 1 | compare\n#\n"
		    "# BOOTS=N (default 3) runs a side; KPB_WORK=DIR is where everything goes (default ./kperfbot-case-N).\n"
		    "# As root on a Debian machine with:\n");
	comment(b, "	apt-get install ", packages);
	if (facts_machine_kind(f))
		comment(b, "Measured on: ", facts_machine_kind(f));
	buf_adds(b, buf_str(&machine->comments));
	buf_adds(b, "\nset -eu\n\n");
}

int reproduce_script(const struct facts *f, struct buf *out)
{
	_cleanup_(machine_script_release) struct machine_script machine = {0};
	_cleanup_machine_ struct machine m = {0};
	bool kernel = !streq(f->tree.kind, "program");
	_cleanup_buf_ struct buf b = {0}, packages = {0}, programs = {0}, job_packages = {0}, config = {0}, fixed = {0},
				 expected = {0};
	_cleanup_free_ char *command = facts_setting(f, "build_command"), *artefact = facts_setting(f, "artefact"),
			    *number = NULL, *ns = NULL, *url = url_shown(f->tree.url),
			    *ref = git_branch_ref(f->cmp.branch),
			    *path = xasprintf("%s/reporters/reproduce.sh", fs_data_dir());
	int r = fs_read(path, 1 << 20, &fixed);

	r = r < 0 ? r : load_machine(f, &m);
	if (r < 0)
		return r;
	if (kernel)
		machine_script(&m, &machine);
	if (kernel && (r = read_config(f, &config)) < 0)
		return r;
	needs(f, kernel, machine.packages, &packages, &programs, &job_packages);
	add_header(f, buf_str(&packages), &machine, &b);
	number = xasprintf("%" PRId64, f->c.id);
	if (machine_ns_per_insn(&m) > 0)
		ns = xasprintf("%g", machine_ns_per_insn(&m));
	add_signed_percent(&expected, f->effect);
	const char *const values[][2] = {
		{"case_number", number},
		{"url", url},
		{"branch", ref},
		{"culprit", f->bad},
		{"parent", f->good},
		{"kpi", f->c.metric},
		{"expected", buf_str(&expected)},
		{"packages", buf_str(&packages)},
		{"job_packages", buf_str(&job_packages)},
		{"programs", buf_str(&programs)},
		{"kind", kernel ? "kernel" : "program"},
		{"fails", f->c.failure ? "yes" : ""},
		{"how", !kernel ? "here" : machine.how ? machine.how : "by_hand"},
		{"build_command", command && *command ? command : "make"},
		{"artefact", artefact},
		{"ns_per_insn", ns},
	};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		set(&b, values[i][0], values[i][1]);
	r = add_commits(f, &b);
	if (r < 0)
		return r;
	buf_adds(&b, "boots=${BOOTS:-3}\n");
	buf_adds(&b, buf_str(&machine.variables));
	add_document(&b, "job_script", f->job.script ? f->job.script : "");
	if (kernel)
		add_document(&b, "kernel_config", buf_str(&config));
	buf_add(&b, buf_str(&fixed), fixed.len);
	buf_add(out, b.s, b.len);
	return 0;
}

int reproduce_folder(const struct facts *f, const struct report_config *cfg, char **ret_dir)
{
	_cleanup_free_ char *dir = xasprintf("%s/case-%" PRId64, cfg->reproduce_dir, f->c.id);
	_cleanup_free_ char *sh = xasprintf("%s/reproduce.sh", dir), *job = xasprintf("%s/job.sh", dir),
			    *mbox = xasprintf("%s/patches.mbox", dir), *conf = xasprintf("%s/config", dir),
			    *canonical = xasprintf("%s/job.json", dir);
	_cleanup_buf_ struct buf text = {0}, config = {0};
	const char *script = f->job.script ? f->job.script : "";
	int r = fs_mkdir_p(dir);

	r = r < 0 ? r : reproduce_script(f, &text);
	r = r < 0 ? r : fs_write_atomic(sh, text.s, text.len);
	r = r < 0 ? r : fs_write_atomic(job, script, strlen(script));
	if (r == 0 && f->mbox.len)
		r = fs_write_atomic(mbox, f->mbox.s, f->mbox.len);
	if (r == 0 && f->job.canonical)
		r = fs_write_atomic(canonical, f->job.canonical, strlen(f->job.canonical));
	if (r == 0 && !streq(f->tree.kind, "program"))
		r = read_config(f, &config);
	if (r == 0 && config.len)
		r = fs_write_atomic(conf, config.s, config.len);
	if (r < 0)
		return r;
	(void)chmod(sh, 0755);
	(void)chmod(job, 0755);
	*ret_dir = TAKE_PTR(dir);
	return 0;
}
