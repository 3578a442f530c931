/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mail of a case: LKP's layout, filled from the database, with how sure and how proven on its first screen. */
#include "reporters/facts.h"
#include "reporters/mail.h"
#include "reporters/recipients.h"
#include "reporters/report.h"
#include "db/setup.h"
#include "jobs/check.h"
#include "lib/fs.h"

#define WRAP_AT 100
#define MAX_LISTED 10

/* "key: text", further lines indented below the text. */
static void add_wrapped(struct buf *out, const char *key, const char *text)
{
	size_t indent = strlen(key) + 2, column = indent;

	buf_addf(out, "%s: ", key);
	while (*text) {
		size_t word = strcspn(text, " ");

		if (column > indent && column + 1 + word > WRAP_AT) {
			buf_addf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			buf_addc(out, ' ');
			column++;
		}
		buf_add(out, text, word);
		column += word;
		text += word + strspn(text + word, " ");
	}
	buf_addc(out, '\n');
}

/* What an earlier step wrote down; it may hold a message about a tree. */
static void add_told(struct buf *out, const char *key, const char *text)
{
	_cleanup_buf_ struct buf t = {0};

	if (!text || !*text)
		return;
	buf_add_shown(&t, text);
	add_wrapped(out, key, buf_str(&t));
}

/* 1234567890 ("subject") */
static void add_commit(struct buf *out, const char *oid, const struct commit_info *c)
{
	buf_addf(out, "%.10s", oid);
	if (c->subject) {
		buf_adds(out, " (\"");
		buf_add_shown(out, c->subject);
		buf_adds(out, "\")");
	}
}

static void add_interval(struct buf *out, const struct facts *f)
{
	if (!isfinite(f->lo) || !isfinite(f->hi))
		return;
	buf_adds(out, ", 95% interval ");
	add_signed_percent(out, f->lo);
	buf_adds(out, " to ");
	add_signed_percent(out, f->hi);
}

static void add_posterior(const struct facts *f, struct buf *out)
{
	_cleanup_buf_ struct buf t = {0};

	if (!isfinite(f->c.posterior))
		return;
	/* never rounded up to a certainty that nobody has */
	buf_addf(&t, "%.*f%% that it is %s", f->c.posterior > 0.9995 ? 4 : 2, floor(1e6 * f->c.posterior) / 1e4,
		 f->single ? "this commit" : "one of these");
	if (f->commits > 0)
		buf_addf(&t, ", of %" PRId64 " in the range", f->commits);
	if (f->n_dropped)
		buf_addf(&t, " (%zu left out: they cannot matter or do not build)", f->n_dropped);
	if (isfinite(f->c.confidence) && f->c.confidence > 0)
		buf_addf(&t, "; asked for: %.6g%%", 100 * f->c.confidence);
	add_wrapped(out, "posterior", buf_str(&t));
}

static const char *boots_word(const struct facts *f) { return facts_booted(f) ? "boots" : "runs"; }

static void add_failure_proof(const struct facts *f, struct buf *out)
{
	const struct db_proof *p = &f->proof;
	_cleanup_buf_ struct buf t = {0};

	buf_addf(&t,
		 "parent and commit run in turns%s: the parent failed in %.0f of %" PRId64 " %s, the commit in %.0f of "
		 "%" PRId64 ", p = %.2g (valid at any stopping time)",
		 facts_booted(f) ? " on fresh boots" : "", p->mean_parent * p->boots_parent, p->boots_parent,
		 boots_word(f), p->mean_culprit * p->boots_culprit, p->boots_culprit, p->p);
	add_wrapped(out, "proof", buf_str(&t));
}

static void add_proof(const struct facts *f, struct buf *out)
{
	const struct db_proof *p = &f->proof;
	_cleanup_buf_ struct buf t = {0};

	if (!f->proven) {
		buf_adds(&t, !f->single ? "none, there is no single commit to prove" :
			     f->c.note ? "none: " : "none, the commit was not run against its parent");
		if (f->single && f->c.note)
			buf_add_shown(&t, f->c.note);
		add_wrapped(out, "proof", buf_str(&t));
		return;
	}
	if (f->c.failure) {
		add_failure_proof(f, out);
		add_told(out, "revert", p->revert);
		return;
	}
	if (p->boots_parent && p->boots_culprit)
		buf_addf(&t, "parent (%" PRId64 " %s) and commit (%" PRId64 " %s) run in turns%s: ", p->boots_parent,
			 boots_word(f), p->boots_culprit, boots_word(f), facts_booted(f) ? " on fresh boots" : "");
	if (isfinite(p->mean_parent) && isfinite(p->mean_culprit)) {
		add_number(&t, p->mean_parent);
		buf_adds(&t, " -> ");
		add_number(&t, p->mean_culprit);
		buf_adds(&t, ", ");
	}
	if (isinf(p->effect))
		buf_adds(&t, "no percentage, since the parent's value is 0");
	else
		add_signed_percent(&t, p->effect);
	add_interval(&t, f);
	if (p->p < 1e-12)
		buf_adds(&t, ", p < 1e-12 (valid at any stopping time)");
	else
		buf_addf(&t, ", p = %.2g (valid at any stopping time)", p->p);
	add_wrapped(out, "proof", buf_str(&t));
	add_told(out, "revert", p->revert);
	add_told(out, "code layout", p->aligned);
}

static int64_t seen(const struct db_check *c) { return c->pass + c->fail + c->unknown; }

/* "generator: pass in 12 of 12 boots"; what did not pass, with its evidence. */
static void add_check(const struct facts *f, const struct db_check *good, const struct db_check *bad, struct buf *out)
{
	const struct db_check none = {0}, *worse = good;
	_cleanup_buf_ struct buf t = {0};

	good = good ? good : &none;
	if (!worse || (bad && bad->fail + bad->unknown >= good->fail + good->unknown))
		worse = bad;
	bad = bad ? bad : &none;
	buf_addf(&t, "passed in %" PRId64 " of %" PRId64 " %s", good->pass + bad->pass, seen(good) + seen(bad),
		 boots_word(f));
	if (good->fail + bad->fail)
		buf_addf(&t, ", failed in %" PRId64 " (not used)", good->fail + bad->fail);
	if (worse->evidence && *worse->evidence) {
		buf_adds(&t, "; ");
		buf_add_shown(&t, worse->evidence);
	}
	buf_adds(out, "  ");
	add_wrapped(out, worse->name, buf_str(&t));
}

/* What the two kernels' difference has to do with what ran; a difference all the same, if not by these functions. */
static void add_reach(struct store *s, const struct facts *f, bool first, struct buf *out)
{
	struct db_pair_check k = {0};
	_cleanup_buf_ struct buf t = {0};

	if (!f->bad_build.id ||
	    store_pair_check_get(s, f->bad_build.id, f->good, f->cmp.job, f->machine.tbox_group, CHECK_REACH, &k) < 0)
		return;
	if (first)
		buf_adds(out, "validity:\n");
	buf_addf(&t, "%s: ",
		 k.verdict == CHECK_PASS	? "passed"
		 : k.verdict == CHECK_FAIL ? "failed"
						: "unknown");
	buf_add_shown(&t, k.evidence);
	buf_adds(out, "  ");
	add_wrapped(out, k.name, buf_str(&t));
	if (k.verdict == CHECK_FAIL)
		add_wrapped(
			out, "warning",
			"the job never executes the changed functions, and yet the results differ: the place of code in "
			"memory may have done it, or something else than these functions. 'kperfbot case reopen --aligned' "
			"tells whether it was the place of code.");
	db_pair_check_release(&k);
}

/* Was the test valid? Both kernels' runs together, one line a check. */
static void add_validity(struct store *s, const struct facts *f, struct buf *out)
{
	struct db_check *good = NULL, *bad = NULL;
	size_t n_good = 0, n_bad = 0, g = 0;

	if (f->good_build.id)
		(void)store_checks(s, f->good_build.id, f->cmp.job, f->machine.tbox_group, &good, &n_good);
	if (f->bad_build.id)
		(void)store_checks(s, f->bad_build.id, f->cmp.job, f->machine.tbox_group, &bad, &n_bad);
	if (n_good + n_bad)
		buf_adds(out, "validity:\n");
	for (size_t b = 0; g < n_good || b < n_bad;) { /* both are sorted by name */
		int order = g == n_good ? 1 : b == n_bad ? -1 : strcmp(good[g].name, bad[b].name);

		add_check(f, order <= 0 ? &good[g] : NULL, order >= 0 ? &bad[b] : NULL, out);
		g += order <= 0;
		b += order >= 0;
	}
	DB_LIST_RELEASE(good, n_good, db_check_release);
	DB_LIST_RELEASE(bad, n_bad, db_check_release);
	add_reach(s, f, !n_good && !n_bad, out);
}

/* Only where it says something against the comparison. */
static void add_host(struct store *s, const struct facts *f, struct buf *out)
{
	_cleanup_strv_ struct strv lines = {0};

	if (report_host(s, f, &lines) < 0 || !lines.n)
		return;
	buf_adds(out, "host:\n");
	for (size_t i = 0; i < lines.n; i++)
		buf_addf(out, "  %s\n", lines.v[i]);
}

/* The proof compares like with like; the table below has all boots. */
static void add_setups(struct store *s, const struct facts *f, struct buf *out)
{
	const int64_t build[] = {f->good_build.id, f->bad_build.id};
	struct db_setup *v[2] = {NULL, NULL};
	size_t n[2] = {0, 0};
	_cleanup_buf_ struct buf words = {0}, shown = {0};

	for (int k = 0; k < 2; k++)
		if (build[k])
			(void)store_setups(s, build[k], f->cmp.job, f->machine.tbox_group, &v[k], &n[k]);
	if (n[0] && n[1])
		setup_words(v[0][0].text, v[1][0].text, &words);
	for (int k = 0; k < 2 && !words.len; k++)
		setup_words_among(v[k], n[k], &words);
	if (words.len) {
		buf_adds(&shown, f->proven ? "between boots of the table below (not of the proof): "
					   : "between the boots that were compared: ");
		buf_add_shown(&shown, buf_str(&words));
		add_wrapped(out, "measured otherwise", buf_str(&shown));
	}
	for (int k = 0; k < 2; k++)
		DB_LIST_RELEASE(v[k], n[k], db_setup_release);
}

static void add_range(const struct facts *f, struct buf *out)
{
	_cleanup_buf_ struct buf t = {0};

	buf_addf(&t, "%.10s (good) .. %.10s (bad)", f->cmp.base, f->cmp.head);
	if (f->commits > 0)
		buf_addf(&t, ", %" PRId64 " commit%s", f->commits, f->commits == 1 ? "" : "s");
	if (isfinite(f->c.effect) && f->proof.state == PROOF_SHOWN && !f->c.failure) {
		buf_adds(&t, "; the whole range: ");
		add_signed_percent(&t, f->c.effect);
	}
	add_wrapped(out, "seen between", buf_str(&t));
}

/* What the reader of a robot's mail asks first. */
static void add_first_screen(struct store *s, const struct facts *f, const char *dir, struct buf *out)
{
	_cleanup_buf_ struct buf how = {0};
	const char *kind = facts_machine_kind(f);

	add_told(out, "fails", f->c.failure);
	add_posterior(f, out);
	add_proof(f, out);
	add_validity(s, f, out);
	add_host(s, f, out);
	add_setups(s, f, out);
	add_range(f, out);
	if (f->c.boots > 0)
		buf_addf(out, "spent: %" PRId64 " %s, %" PRId64 " builds\n", f->c.boots, boots_word(f), f->c.builds);
	if (kind)
		add_wrapped(out, "measured on", kind);
	if (!dir)
		return;
	buf_adds(&how, "sh reproduce.sh, in ");
	buf_add_term(&how, dir);
	add_wrapped(out, "reproduce", buf_str(&how));
}

static void add_candidates(const struct facts *f, struct buf *out)
{
	for (size_t i = 0; i < f->left.n && i < MAX_LISTED; i++)
		buf_addf(out, "commit: one of %s\n", f->left.v[i]);
	if (f->left.n > MAX_LISTED)
		buf_addf(out, "commit: or one of %zu more\n", f->left.n - MAX_LISTED);
	if (!f->left.n) {
		buf_adds(out, "commit: one of those up to ");
		add_commit(out, f->bad, &f->bad_info);
		buf_addc(out, '\n');
	}
}

static void add_noticed(const struct facts *f, const struct report_config *cfg, struct buf *out)
{
	buf_add_shown(out, cfg->robot_name ? cfg->robot_name : "kperfbot");
	if (f->c.failure) {
		_cleanup_free_ char *what = facts_failure(f);

		buf_adds(out, " noticed that ");
		buf_add_shown(out, what);
		buf_addc(out, ' ');
	} else {
		buf_adds(out, !isfinite(f->effect) && *facts_verdict_word(f) == 'i' ? " noticed an " : " noticed a ");
		add_percent(out, f->effect);
		buf_addf(out, isfinite(f->effect) ? " %s of %s " : "%s of %s ", facts_verdict_word(f), f->c.metric);
	}
	buf_adds(out, f->single ? "on:\n\n\n" : "on one of these:\n\n\n");
}

static void add_head(struct store *s, const struct facts *f, const struct report_config *cfg, const char *dir,
		     struct buf *out)
{
	_cleanup_free_ char *url = url_shown(f->tree.url);

	buf_adds(out, "\nHello,\n\n");
	add_noticed(f, cfg, out);
	if (f->single) {
		buf_addf(out, "commit: %s", f->bad);
		if (f->bad_info.subject) {
			buf_adds(out, " (\"");
			buf_add_shown(out, f->bad_info.subject);
			buf_adds(out, "\")");
		}
		buf_addc(out, '\n');
	} else {
		add_candidates(f, out);
	}
	if (f->series.commit)
		buf_addf(out, "%s %" PRId64 " of %" PRId64 " of the patch series %s, applied on %s of\n",
			 f->single ? "patch" : "up to patch", f->patch, f->series.patches, f->series.name,
			 f->series.base);
	buf_adds(out, url);
	if (f->cmp.branch && *f->cmp.branch) {
		buf_addc(out, ' ');
		buf_add_shown(out, f->cmp.branch);
	}
	buf_adds(out, "\n\n");
	add_first_screen(s, f, dir, out);
}

static void add_test(const struct facts *f, struct buf *out)
{
	_cleanup_buf_ struct buf compiler = {0};

	facts_compiler(f, &compiler);
	buf_adds(out, "\ntestcase: ");
	buf_add_shown(out, f->testcase);
	if (!streq(f->tree.kind, "program")) {
		buf_adds(out, "\nconfig: ");
		buf_add_shown(out, f->cmp.kconfig);
	}
	if (compiler.len)
		buf_addf(out, "\ncompiler: %s", compiler.s);
	buf_adds(out, "\ntest machine: ");
	buf_add_shown(out, f->machine.description ? f->machine.description : f->machine.tbox_group);
	if (f->exposed)
		buf_adds(out, "\nnot isolated: the code of this tree ran with all rights of the robot, so it could "
			      "have made these numbers itself");
	buf_adds(out, "\nparameters:\n\n");
	for (size_t i = 0; i < f->keys.n; i++) {
		buf_addc(out, '\t');
		buf_add_shown(out, f->keys.v[i]);
		buf_adds(out, ": ");
		buf_add_shown(out, f->values.v[i]);
		buf_addc(out, '\n');
	}
	buf_adds(out, "\n\n");
}

/* Only for proven regressions: asking for tags on a guess, or on a gain, makes no sense. */
static void add_fix_block(const struct facts *f, const struct report_config *cfg, const char *message_id,
			  struct buf *out)
{
	if (f->verdict >= 0 || !f->proven)
		return;
	buf_adds(
		out,
		"If you fix this in a separate commit (not in a new version of the same patch), please add these tags:\n"
		"| Reported-by: ");
	buf_add_shown(out, cfg->robot_name ? cfg->robot_name : "kperfbot");
	if (cfg->robot_address)
		buf_addf(out, " <%s>", cfg->robot_address);
	buf_addf(out, "\n| Closes: https://lore.kernel.org/r/%.*s\n\n\n", (int)strlen(message_id) - 2, message_id + 1);
}

/* A command is never cut: where the branch's name is too long for a line, the commit's id does as well. */
static char *ref_to_fetch(const struct facts *f)
{
	char *ref = git_branch_ref(f->cmp.branch);

	if (ref && strlen(ref) <= TEXT_SHOWN)
		return ref;
	free(ref);
	return xstrdup(f->series.commit ? f->series.base : f->bad);
}

static void add_materials(const struct facts *f, const char *dir, struct buf *out)
{
	bool program = streq(f->tree.kind, "program");
	_cleanup_free_ char *url = url_shown(f->tree.url), *ref = ref_to_fetch(f);

	buf_adds(out, "Details are as below:\n");
	for (int i = 0; i < 98; i++)
		buf_addc(out, '-');
	buf_adds(out, ">\n\n\n");
	if (dir) {
		buf_addf(out, "The %smaterials to reproduce are available at:\n", program ? "" : "kernel config and ");
		buf_add_term(out, dir);
		buf_adds(out, "\n\n");
	}
	buf_adds(out, "To reproduce:\n\n\tgit fetch -- ");
	buf_add_shell(out, url);
	buf_addc(out, ' ');
	buf_add_shell(out, ref);
	buf_addc(out, '\n');
	if (f->series.commit)
		buf_addf(out, "\tgit checkout %s && git am -k patches.mbox    # %" PRId64 " of the series; then "
			      "without the last one\n", f->series.base, f->patch);
	else
		buf_addf(out, "\tgit checkout %s    # and then %s, its parent\n", f->bad, f->good);
	if (program)
		buf_adds(out, "\t# build it, then: KPB_ARTEFACT=PROGRAM sh job.sh runs=3\n\n");
	else
		buf_adds(out, "\tcp config .config && make olddefconfig bzImage\n"
			      "\t# boot it, then as root: sh job.sh runs=3\n\n");
}

static void add_table(struct store *s, const struct facts *f, const struct report_config *cfg, struct buf *out)
{
	_cleanup_buf_ struct buf block = {0};

	if (f->c.failure) /* what fails has no values */
		return;
	if (report_block(s, f, cfg->min_effects, &block) < 0) {
		buf_adds(out, "[no table: ");
		buf_add_shown(out, err_msg());
		buf_adds(out, "]\n");
	} else {
		buf_adds(
			out,
			"All runs of both commits are in this table, those of the search too: %change is that of the means,\n"
			"%stddev that of the runs; only rows that changed significantly are shown.\n\n");
		buf_add(out, block.s, block.len);
	}
	buf_adds(out, "\n\n");
}

static void add_end(const struct report_config *cfg, struct buf *out)
{
	buf_adds(
		out,
		"Disclaimer:\nThe numbers hold for the machine, config and job named above and are given for information only.\n"
		"Other hardware or software may behave differently.\n\n\n-- \n");
	buf_add_shown(out, cfg->robot_name ? cfg->robot_name : "kperfbot");
	buf_adds(out, "\nmade by kperfbot\n");
}

/* "net" of "net: add x"; a subject without a topic gives none. */
static void add_topic(const struct facts *f, struct buf *out)
{
	const char *s = f->bad_info.subject;
	size_t n = s ? strcspn(s, ":") : 0;

	if (n && s[n] && n <= 60) {
		_cleanup_free_ char *topic = xstrndup(s, n);

		buf_adds(out, " [");
		buf_add_shown(out, topic);
		buf_addc(out, ']');
	}
}

static void subject(const struct facts *f, struct buf *out)
{
	_cleanup_free_ char *label = facts_setting(f, "branch_label");
	const char *branch = label && *label ? label : f->cmp.branch;

	buf_addc(out, '[');
	buf_add_shown(out, f->tree.name);
	if (branch && *branch) {
		buf_addc(out, ':');
		buf_add_shown(out, branch);
	}
	buf_addc(out, ']');
	if (f->single)
		add_topic(f, out);
	if (f->single)
		buf_addf(out, "  %.10s:  ", f->bad);
	else if (f->left.n > 1)
		buf_addf(out, "  one of %zu commits up to %.10s:  ", f->left.n, f->bad);
	else
		buf_addf(out, "  %.10s..%.10s:  ", f->good, f->bad);
	if (f->c.failure) {
		_cleanup_free_ char *what = facts_failure(f);

		buf_add_shown(out, what);
		return;
	}
	buf_addf(out, "%s ", f->c.metric);
	add_percent(out, f->effect);
	buf_addf(out, isfinite(f->effect) ? " %s" : "%s", facts_verdict_word(f));
}

/* The same case has the same id for ever: whoever mails it twice is caught by every mail program. */
static char *message_id(const struct facts *f, const struct report_config *cfg)
{
	const char *at = cfg->robot_address ? strchr(cfg->robot_address, '@') : NULL;
	_cleanup_free_ char *url = url_shown(f->tree.url);
	_cleanup_free_ char *text =
		xasprintf("%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%" PRId64 "\n", f->tree.name, url, f->cmp.base, f->cmp.head,
			  f->cmp.kconfig, f->cmp.job, f->machine.tbox_group, f->c.metric, f->c.part);
	char hex[SHA256_HEX];

	sha256_hex(text, strlen(text), hex);
	return xasprintf("<kperfbot.%.24s@%s>", hex, mail_address_ok(cfg->robot_address) ? at + 1 : "localhost");
}

/* Headers that are not about recipients; those come last, so that delivery can put them in anew. */
static void add_headers(const struct facts *f, const struct report_config *cfg, const struct db_report *rep,
			struct buf *out)
{
	_cleanup_buf_ struct buf id = {0};
	const char *robot = mail_address_ok(cfg->robot_address) ? cfg->robot_address : "kperfbot@localhost";

	buf_adds(out, "Date: ");
	mail_date(out, rep->created);
	buf_addc(out, '\n');
	mail_header_persons(out, "From", &(struct mail_person){cfg->robot_name ? cfg->robot_name : "kperfbot", robot},
			    1);
	mail_header(out, "Subject", rep->subject);
	buf_addf(out, "Message-ID: %s\nMIME-Version: 1.0\nContent-Type: text/plain; charset=\"utf-8\"\n"
		 "Content-Disposition: inline\nContent-Transfer-Encoding: 8bit\nPrecedence: bulk\nAuto-Submitted: auto-generated\n",
		 rep->message_id);
	buf_addf(&id, "%" PRId64, f->c.id);
	mail_header(out, "X-kperfbot-case", buf_str(&id));
	mail_header(out, "X-kperfbot-tree", f->tree.name);
	if (f->single)
		mail_header(out, "X-kperfbot-culprit", f->bad);
	mail_header(out, "X-kperfbot-metric", f->c.metric);
	mail_header(out, "X-kperfbot-proof", f->proven ? "parent against commit, interleaved" : "none");
}

static void add_executed(struct store *s, const struct facts *f, const char *git_dir, struct buf *out)
{
	if (report_executed(s, f, git_dir, out) >= 0)
		buf_adds(out, "\n\n");
}

static void add_body(struct store *s, const struct facts *f, const char *git_dir, const struct report_config *cfg,
		     const char *dir, const char *id, struct buf *out)
{
	add_head(s, f, cfg, dir, out);
	add_test(f, out);
	add_fix_block(f, cfg, id, out);
	add_materials(f, dir, out);
	add_table(s, f, cfg, out);
	add_executed(s, f, git_dir, out);
	add_end(cfg, out);
}

int report_build(struct store *s, const struct facts *f, const char *git_dir, const struct report_config *cfg,
		 struct db_report *ret)
{
	_cleanup_(recipients_release) struct recipients people = {0};
	_cleanup_buf_ struct buf head = {0}, body = {0}, subj = {0};
	_cleanup_free_ char *dir =
		cfg->reproduce_dir ? xasprintf("%s/case-%" PRId64, cfg->reproduce_dir, f->c.id) : NULL;
	struct db_report rep = {.case_id = f->c.id, .created = f->c.changed ? f->c.changed : now_usec()};

	subject(f, &subj);
	rep.subject = buf_take(&subj);
	rep.message_id = message_id(f, cfg);
	recipients_of(f, git_dir, cfg, &people);
	rep.recipients = recipients_json(&people, cfg);
	add_headers(f, cfg, &rep, &head);
	if (people.cut) {
		_cleanup_free_ char *cut = xasprintf("%zu left out by the limit of recipients", people.cut);

		mail_header(&head, "X-kperfbot-recipients", cut);
	}
	recipients_header(&people, cfg, &head);
	add_body(s, f, git_dir, cfg, dir, rep.message_id, &body);
	buf_addc(&head, '\n');
	mail_body(&head, buf_str(&body), body.len);
	rep.text = buf_take(&head);
	*ret = rep;
	return 0;
}

int report_compose(struct store *s, int64_t case_id, const char *git_dir, const struct report_config *cfg,
		   int64_t *ret_id)
{
	_cleanup_facts_ struct facts f = {0};
	_cleanup_(db_report_release) struct db_report rep = {0};
	_cleanup_free_ char *dir = NULL;
	struct report_config without = *cfg;
	int r = facts_load(s, case_id, git_dir, &f);

	if (r < 0)
		return r;
	if (!db_case_found(&f.c))
		return err_set(-EINVAL, "case %" PRId64 " is '%s': it can be reported once it is 'found'", case_id,
			       case_state_word(f.c.state));
	/* files first: a stored report must not name a folder that is not there */
	if (cfg->reproduce_dir) {
		r = reproduce_folder(&f, cfg, &dir);
		if (r == -ENODATA) {
			/* the report is worth more than its script */
			store_event(s, case_id, f.cmp.id, 0, "report without a script: %s", err_msg());
			without.reproduce_dir = NULL;
			cfg = &without;
		} else if (r < 0) {
			return r;
		}
	}
	r = report_build(s, &f, git_dir, cfg, &rep);
	if (r < 0)
		return r;
	r = store_report_put(s, &rep, ret_id);
	if (r == 0)
		store_event(s, case_id, f.cmp.id, 0, "report composed: %s", rep.subject);
	return r;
}
