/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/engine.h"
#include "bot/cli/verb.h"
#include "jobs/check.h"
#include "lib/fs.h"
#include "reporters/facts.h"
#include <json-c/json.h>

extern const struct verb verb_case;

/* A story is a list of labelled values: lines for people, an object for programs. */
struct story { struct json_object *o; struct buf text; };

static void _printf_(4, 5) tell(struct story *s, const char *key, const char *label, const char *fmt, ...)
{
	_cleanup_buf_ struct buf safe = {0};
	char *t = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&t, fmt, ap) < 0)
		abort();
	va_end(ap);
	buf_add_term(&safe, t);
	buf_addf(&s->text, "%-14s %s\n", label, buf_str(&safe));
	json_object_object_add(s->o, key, json_text(t));
	free(t);
}

static void number(struct story *s, const char *key, double v)
{
	if (isfinite(v))
		json_object_object_add(s->o, key, json_object_new_double(v));
}

static void count(struct story *s, const char *key, int64_t v)
{
	json_object_object_add(s->o, key, json_object_new_int64(v));
}

static void tell_commit(struct story *s, const char *key, const char *label, const char *oid,
			const struct commit_info *info)
{
	if (info->oid)
		tell(s, key, label, "%.12s (\"%s\")", oid, info->subject);
	else
		tell(s, key, label, "%.12s", oid);
	json_object_object_add(s->o, key, json_text(oid));
}

static void tell_effect(struct story *s, const char *key, const char *label, double effect, double lo, double hi,
			const char *more)
{
	_cleanup_free_ char *name_lo = xasprintf("%s_lo", key), *name_hi = xasprintf("%s_hi", key);
	_cleanup_buf_ struct buf b = {0};

	if (isnan(effect))
		return;
	add_signed_percent(&b, effect);
	if (isfinite(effect) && isfinite(lo) && isfinite(hi)) {
		buf_adds(&b, " (");
		add_signed_percent(&b, lo);
		buf_adds(&b, " to ");
		add_signed_percent(&b, hi);
		buf_adds(&b, ")");
	}
	tell(s, key, label, "%s%s", b.s, more);
	number(s, key, effect);
	number(s, name_lo, lo);
	number(s, name_hi, hi);
}

static void tell_what(struct story *s, const struct facts *f)
{
	_cleanup_buf_ struct buf params = {0};
	_cleanup_free_ char *url = url_shown(f->tree.url);

	tell(s, "metric", "metric", "%s%s", f->c.metric, f->metric.direction > 0 ? ", higher is better" :
							 f->metric.direction < 0 ? ", lower is better" : "");
	json_object_object_add(s->o, "metric", json_text(f->c.metric));
	if (f->c.failure)
		tell(s, "failure", "fails", "%s", f->c.failure);
	tell(s, "verdict", "verdict", "%s", facts_verdict_word(f));
	if (!f->c.failure)
		tell_effect(s, "change", "whole change", f->c.effect, f->c.effect_lo, f->c.effect_hi, "");
	if (f->cmp.reason)
		tell(s, "comparison", "comparison", "%s: %s", comparison_state_word(f->cmp.state), f->cmp.reason);
	tell(s, "tree", "tree", "%s %s, %s", f->tree.name, f->cmp.branch ? f->cmp.branch : "", url);
	tell(s, "job", "job", "%s", f->job.name);
	for (size_t i = 0; i < f->keys.n; i++)
		buf_addf(&params, "%s%s=%s", i ? " " : "", f->keys.v[i], f->values.v[i]);
	if (params.len)
		tell(s, "params", "parameters", "%s", params.s);
	tell(s, "machine", "machine", "%s, %s", f->machine.name,
	     f->machine.description ? f->machine.description : f->machine.driver);
	tell(s, "range", "range", "%.12s..%.12s, %" PRId64 " commits, %zu of them cannot matter", f->cmp.base,
	     f->cmp.head, f->commits, f->n_dropped);
	if (f->series.commit)
		tell(s, "series", "patch series", "%s, %s%" PRId64 " of %" PRId64 " on %.12s", f->series.name,
		     f->single ? "patch " : "up to patch ", f->patch, f->series.patches, f->series.base);
}

/* Was the changed code executed? Of the pair of commits that the case is about. */
static void tell_reach(struct story *s, struct ctx *c, const struct facts *f)
{
	struct db_pair_check k = {0};

	if (f->bad_build.id && store_pair_check_get(c->store, f->bad_build.id, f->good, f->cmp.job,
						    f->machine.tbox_group, CHECK_REACH, &k) >= 0) {
		tell(s, "reach", "reach", "%s: %s", check_verdict_word(k.verdict), k.evidence);
		json_object_object_add(s->o, "reach_verdict", json_text(check_verdict_word(k.verdict)));
	}
	db_pair_check_release(&k);
}

/* What the hosts of the two sides' runs noted, where it differs or warns. */
static void tell_host(struct story *s, struct ctx *c, const struct facts *f)
{
	_cleanup_strv_ struct strv lines = {0};
	struct json_object *list = json_object_new_array();

	json_object_object_add(s->o, "host", list);
	(void)report_host(c->store, f, &lines);
	for (size_t i = 0; i < lines.n; i++) {
		buf_addf(&s->text, "%-14s %s\n", i ? "" : "host", lines.v[i]);
		json_object_array_add(list, json_text(lines.v[i]));
	}
}

static void tell_culprit(struct story *s, const struct facts *f)
{
	if (isfinite(f->c.posterior)) {
		tell(s, "posterior", "how sure", "%.6g of %.6g asked for", f->c.posterior, f->c.confidence);
		number(s, "posterior", f->c.posterior);
	}
	if (f->single) {
		tell_commit(s, "culprit", "culprit", f->bad, &f->bad_info);
		tell_commit(s, "parent", "its parent", f->good, &f->good_info);
		if (f->bad_info.oid)
			tell(s, "author", "author", "%s <%s>", f->bad_info.author_name, f->bad_info.author_mail);
	}
	for (size_t i = 0; !f->single && i < f->left.n && i < 10; i++)
		buf_addf(&s->text, "%-14s %.12s\n", i ? "" : "one of", f->left.v[i]);
	if (!f->single && f->left.n) {
		struct json_object *set = json_object_new_array();

		for (size_t i = 0; i < f->left.n; i++)
			json_object_array_add(set, json_text(f->left.v[i]));
		json_object_object_add(s->o, "set", set);
	}
	if (f->proof.state == PROOF_SHOWN && f->c.failure) {
		tell(s, "proof", "proof",
		     "fails in %.0f%% of %" PRId64 " boots, its parent in %.0f%% of %" PRId64 ", in turns, p = %.2g",
		     100 * f->proof.mean_culprit, f->proof.boots_culprit, 100 * f->proof.mean_parent,
		     f->proof.boots_parent, f->proof.p);
		number(s, "p", f->proof.p);
		if (f->proof.revert)
			tell(s, "revert", "revert", "%s", f->proof.revert);
	} else if (f->proof.state == PROOF_SHOWN) {
		_cleanup_free_ char *more =
			xasprintf(", p = %.2g, %" PRId64 " boots of the parent and %" PRId64 " of the commit in turns",
				  f->proof.p, f->proof.boots_parent, f->proof.boots_culprit);

		tell_effect(s, "proof", "proof", f->proof.effect, f->proof.lo, f->proof.hi, more);
		number(s, "p", f->proof.p);
		if (f->proof.revert)
			tell(s, "revert", "revert", "%s", f->proof.revert);
		if (f->proof.aligned)
			tell(s, "aligned", "code layout", "%s", f->proof.aligned);
	} else {
		tell(s, "proof_state", "proof", "none yet");
	}
	tell(s, "spent", "spent", "%" PRId64 " boots, %" PRId64 " builds", f->c.boots, f->c.builds);
	count(s, "boots", f->c.boots);
	count(s, "builds", f->c.builds);
	if (f->c.note)
		tell(s, "note", "note", "%s", f->c.note);
}

static struct json_object *delivery_json(const struct db_delivery *d)
{
	const struct { const char *key, *text; } texts[] = {
		{"way", d->way}, {"recipient", d->recipient}, {"state", delivery_state_word(d->state)},
		{"words", d->detail}};
	struct json_object *o = json_object_new_object();

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		json_object_object_add(o, texts[i].key, json_text(texts[i].text));
	json_object_object_add(o, "attempts", json_object_new_int64(d->attempts));
	return o;
}

static void tell_report(struct story *s, struct ctx *c, int64_t id)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	struct json_object *list;
	struct db_delivery *d = NULL;
	size_t n = 0;

	if (store_report_by_case(c->store, id, &rep) < 0)
		return;
	tell(s, "subject", "report", "%s", rep.subject);
	tell(s, "message_id", "", "%s", rep.message_id);
	list = json_object_new_array();
	(void)store_deliveries(c->store, rep.id, NULL, &d, &n);
	for (size_t i = 0; i < n; i++) {
		tell(s, d[i].way, d[i].way, "%s%s%s: %s%s", d[i].recipient, *d[i].recipient ? " " : "",
		     delivery_state_word(d[i].state),
		     d[i].detail ? d[i].detail : "", d[i].state == DELIVERY_WAITING ? ", tried again later" : "");
		json_object_array_add(list, delivery_json(&d[i]));
	}
	json_object_object_add(s->o, "deliveries", list);
	DB_LIST_RELEASE(d, n, db_delivery_release);
}

/* Who asked, and what became of the report where that is nobody's. */
static void tell_asked(struct story *s, const struct ctx *c, const struct db_case *one)
{
	_cleanup_free_ char *option = config_send_option(&c->config);

	tell(s, "asked", "asked by", "%s", one->asked == ASKED_DAEMON ? "the daemon" :
	     db_case_mails(one) ? "hand, to be mailed" : "hand, so nobody is mailed");
	json_object_object_add(s->o, "asked", json_text(asked_by_word(one->asked)));
	if (one->state == CASE_UNMAILED)
		tell(s, "todo", "to mail it", "kperfbot report send %" PRId64 "%s", one->id, option);
	else if (one->state == CASE_UNDELIVERED)
		tell(s, "todo", "to try again", "kperfbot report send %" PRId64 "%s --force", one->id, option);
}

static void tell_events(struct story *s, struct ctx *c, int64_t id)
{
	struct query_filter q = {.case_id = id, .limit = 12};
	struct json_object *list = json_object_new_array();
	_cleanup_table_ struct table t = {0};
	size_t time = 0, text = 0;

	json_object_object_add(s->o, "events", list);
	if (store_query(c->store, "events", &q, &t) < 0)
		return;
	for (size_t i = 0; i < t.n_cols; i++) {
		time = streq(t.col[i].name, "time") ? i : time;
		text = streq(t.col[i].name, "event") ? i : text;
	}
	if (t.n_rows)
		buf_adds(&s->text, "\nlately\n");
	for (size_t i = 0; i < t.n_rows; i++) {
		const char *when = t.cell[i * t.n_cols + time].text, *what = t.cell[i * t.n_cols + text].text;
		_cleanup_free_ char *safe = term_safe(what);
		struct json_object *e = json_object_new_object();

		buf_addf(&s->text, "  %s  %s\n", when ? when : "", safe);
		json_object_object_add(e, "time", json_text(when ? when : ""));
		json_object_object_add(e, "event", json_text(what ? what : ""));
		json_object_array_add(list, e);
	}
}

static void tell_further(struct story *s, const struct ctx *c, const struct facts *f)
{
	_cleanup_free_ char *script = xasprintf("%s/cases/case-%" PRId64 "/reproduce.sh", c->config.state_dir, f->c.id);
	_cleanup_buf_ struct buf self = {0};

	buf_adds(&s->text, "\nto look further\n");
	buf_add_self(c, &self);
	buf_addf(&s->text, "  %s report render %" PRId64 "\n", self.s, f->c.id);
	if (f->good_build.id && f->bad_build.id)
		buf_addf(&s->text, "  %s compare %.12s %.12s\n", self.s, f->good, f->bad);
	buf_addf(&s->text, "  %s query runs --tree ", self.s);
	buf_add_shell(&s->text, f->tree.name);
	buf_addf(&s->text, " --commit %.12s\n", f->bad);
	if (fs_exists(script)) {
		buf_addf(&s->text, "  sh %s\n", script);
		json_object_object_add(s->o, "reproduce", json_text(script));
	}
}

static int show(struct ctx *c, const struct facts *f)
{
	struct story s = {.o = json_object_new_object()};

	count(&s, "case", f->c.id);
	tell(&s, "state", "state", "%s", case_state_word(f->c.state));
	tell_asked(&s, c, &f->c);
	tell_what(&s, f);
	tell_culprit(&s, f);
	tell_reach(&s, c, f);
	tell_host(&s, c, f);
	tell_report(&s, c, f->c.id);
	tell_events(&s, c, f->c.id);
	tell_further(&s, c, f);
	if (c->json)
		json_print(stdout, s.o, true);
	else
		term_printf(stdout, "case %" PRId64 "\n\n%s", f->c.id, s.text.s);
	json_object_put(s.o);
	buf_release(&s.text);
	return EXIT_DONE;
}

static int run_show(struct ctx *c, int64_t id)
{
	_cleanup_facts_ struct facts f = {0};
	_cleanup_free_ char *git_dir = NULL;
	struct db_case one = {0};
	struct db_comparison cmp = {0};
	struct db_tree tree = {0};
	int r = store_case_by_id(c->store, id, &one);

	r = r < 0 ? r : store_comparison_by_id(c->store, one.comparison, &cmp);
	r = r < 0 ? r : store_tree_by_id(c->store, cmp.tree, &tree);
	if (r >= 0) {
		git_dir = engine_git_dir(&c->config, tree.name);
		r = facts_load(c->store, id, fs_is_dir(git_dir) ? git_dir : NULL, &f);
	}
	db_tree_release(&tree);
	db_comparison_release(&cmp);
	db_case_release(&one);
	return r < 0 ? verb_fail(c, r) : show(c, &f);
}

/* Work for a case that nobody wants any more; reopened, it is asked for again. */
static void cancel_tasks(struct ctx *c, int64_t case_id)
{
	_cleanup_free_ int64_t *id = NULL;
	struct db_task *t = NULL;
	size_t n = 0, mine = 0;

	if (store_tasks_living(c->store, &t, &n) < 0)
		return;
	id = xcalloc(n + 1, sizeof(*id));
	for (size_t i = 0; i < n; i++)
		if (t[i].case_id == case_id)
			id[mine++] = t[i].id;
	(void)store_tasks_withdraw(c->store, id, mine, "its case is ignored");
	DB_LIST_RELEASE(t, n, db_task_release);
}

/* The proof is to go on with the builds that have aligned functions; what they said before is forgotten. */
static int want_aligned(struct store *s, const struct db_case *one, struct db_proof *p)
{
	if (p->state != PROOF_SHOWN)
		return err_set(-EINVAL, "case %" PRId64 " has no proven commit to build with aligned functions",
			       one->id);
	free(p->aligned);
	p->aligned = NULL;
	p->aligned_after = 0;
	p->align = true;
	return store_proof_put(s, p);
}

/* why NULL: reopen. A case with a proven culprit is found again, or proven again with aligned functions; any other is
 * searched again with what is stored. It is by hand from now on. */
static int change(struct ctx *c, int64_t id, const char *why, bool aligned, bool mail)
{
	_cleanup_(db_case_release) struct db_case one = {0};
	_cleanup_(db_proof_release) struct db_proof proof = {0};
	_cleanup_free_ char *note = NULL;
	const char *user = getenv("SUDO_USER") ? getenv("SUDO_USER") : getenv("USER");
	int r = store_case_by_id(c->store, id, &one);

	if (r < 0)
		return verb_fail(c, r);
	if (!why && db_case_lives(&one))
		return verb_fail(
			c, err_set(-EINVAL, "case %" PRId64 " is open: it is '%s'", id, case_state_word(one.state)));
	(void)store_proof_get(c->store, &one, &proof);
	if (aligned && (r = want_aligned(c->store, &one, &proof)) < 0)
		return verb_fail(c, r);
	if (why)
		note = xasprintf("ignored by %s: %s", user ? user : "somebody", why);
	free(one.note);
	one.state = why				 ? CASE_IGNORED
		    : aligned			 ? CASE_PROVING
		    : proof.state == PROOF_SHOWN ? CASE_FOUND
						 : CASE_CONFIRMED;
	one.note = TAKE_PTR(note);
	one.stopped = STOPPED_NOT;
	one.changed = now_usec();
	/* first: the daemon is awake */
	r = why ? 0 : store_case_asked(c->store, id, mail ? ASKED_HAND_MAIL : ASKED_HAND);
	if (r >= 0)
		r = store_case_put(c->store, &one, &id);
	if (r < 0)
		return verb_fail(c, r);
	if (why)
		cancel_tasks(c, id);
	store_event(c->store, id, one.comparison, 0, "%s",
		    why	      ? one.note
		    : aligned ? "to be proven with aligned functions, too"
			      : "reopened by hand");
	if (c->json)
		printf("{\"case\": %" PRId64 ", \"state\": \"%s\"}\n", id, case_state_word(one.state));
	else
		term_printf(stdout, "case %" PRId64 " is %s now%s\n", id, case_state_word(one.state), why || mail ? "" :
			    "; what comes of it is not mailed: reopened by hand, without --mail");
	return EXIT_DONE;
}

static int list(struct ctx *c, const char *state, const char *tree, int64_t limit)
{
	_cleanup_free_ char *send = config_send_option(&c->config);
	struct query_filter q = {.state = state, .tree = tree, .limit = limit, .send_option = send};
	_cleanup_table_ struct table t = {0};
	int r = store_query(c->store, "cases", &q, &t);

	return r < 0 ? verb_fail(c, r) : table_print(&t, ctx_form(c), stdout) < 0 ? EXIT_NO : EXIT_DONE;
}

static int run_case(int argc, char **argv, struct ctx *c)
{
	const char *why = NULL, *state = NULL, *tree = NULL, *what;
	int64_t id = 0, limit = 100;
	bool aligned = false, mail = false;
	const struct opt opts[] = {
		OPT_TEXT('w', "why", "TEXT", &why, "ignore: the reason, kept with the case"),
		OPT_FLAG(0, "aligned", &aligned,
			 "reopen: prove it with aligned functions, too ('judge: proof_aligned')"),
		OPT_FLAG(0, "mail", &mail, "reopen: mail what comes of it"),
		OPT_TEXT('s', "state", "STATE", &state, "list: only cases in this state"),
		OPT_TEXT('t', "tree", "NAME", &tree, "list: only cases of this tree"),
		OPT_INT('n', "limit", "N", &limit, "list: at most that many, newest first"),
		OPT_END,
	};
	int r = verb_options(&verb_case, &argc, &argv, opts, c);

	if (r >= 0)
		return r;
	what = argc ? argv[0] : "list";
	if (!(streq(what, "list")
		      ? argc <= 1
		      : argc == 2 && (streq(what, "show") || streq(what, "ignore") || streq(what, "reopen"))))
		return verb_usage(c, "case list, case show N, case ignore N --why TEXT or case reopen N");
	if (argc == 2 && parse_i64(argv[1], &id) < 0)
		return verb_usage(c, "'%s' is not the number of a case; 'kperfbot case list' shows them", argv[1]);
	if ((aligned || mail) && !streq(what, "reopen"))
		return verb_usage(c, "--%s goes with case reopen", aligned ? "aligned" : "mail");
	if (streq(what, "ignore") && (!why || !*why))
		return verb_usage(c, "say why: case ignore %" PRId64 " --why 'known trade-off, see ...'", id);
	r = ctx_store(c, streq(what, "list") || streq(what, "show"));
	if (r < 0)
		return verb_fail(c, r);
	if (streq(what, "list"))
		return list(c, state, tree, limit);
	return streq(what, "show") ? run_show(c, id) : change(c, id, streq(what, "ignore") ? why : NULL, aligned, mail);
}

const struct verb verb_case = {
	.name = "case",
	.usage = "list [--state=STATE] [--tree=NAME]\nshow N\nignore N --why TEXT\nreopen N [--aligned] [--mail]",
	.summary = "changes that were found: what, how much, how sure, which commit",
	.text = "A case is a significant change of a KPI on a tree. It goes from confirmed through bisecting, proving\n"
		"and found to reported; or it ends as not-reproduced, or is ignored with a reason. ignore stops its\n"
		"work; reopen resumes it with everything measured so far.\n\n"
		"A case that was asked for or reopened by hand without --mail ends as unmailed; one whose report\n"
		"nobody has received (by SMTP; where that is off, in the mbox) as undelivered. 'report send' helps\n"
		"with both; case show says how.\n\n"
		"reopen --aligned: is it code layout? A proven commit and its parent are built once more with every\n"
		"function at a multiple of 64 bytes and booted in turns; case show says what remains.",
	.run = run_case,
};
