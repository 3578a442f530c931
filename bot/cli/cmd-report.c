/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/engine/engine.h"
#include "bot/cli/verb.h"
#include "reporters/reporter.h"
#include "reporters/facts.h"
#include "lib/fs.h"
#include <json-c/json.h>

extern const struct verb verb_report;

/* The configuration of reports, as the daemon's workers have it. dir is the caller's to free. */
static void report_setup(const struct ctx *c, struct report_config *rc, char **ret_dir)
{
	*ret_dir = xasprintf("%s/cases", c->config.state_dir);
	config_report(&c->config, rc);
	rc->reproduce_dir = *ret_dir;
}

static int print_report(const struct ctx *c, const struct db_report *rep)
{
	struct json_object *o;

	if (!c->json) {
		term_puts(stdout, rep->text);
		return EXIT_DONE;
	}
	o = json_object_new_object();
	json_object_object_add(o, "case", json_object_new_int64(rep->case_id));
	json_object_object_add(o, "message_id", json_text(rep->message_id));
	json_object_object_add(o, "subject", json_text(rep->subject));
	json_object_object_add(o, "recipients", json_tokener_parse(rep->recipients));
	json_object_object_add(o, "text", json_text(rep->text));
	json_print(stdout, o, true);
	json_object_put(o);
	return EXIT_DONE;
}

static int show(struct ctx *c, int64_t id)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	int r = store_report_by_case(c->store, id, &rep);

	if (r == -ENOENT)
		r = err_set(r,
			    "case %" PRId64 " has no report yet; 'kperfbot report render %" PRId64
			    "' shows what it would say",
			    id, id);
	return r < 0 ? verb_fail(c, r) : print_report(c, &rep);
}

static int load(struct ctx *c, int64_t id, struct facts *ret, char **ret_git_dir)
{
	struct db_case one = {0};
	struct db_comparison cmp = {0};
	struct db_tree tree = {0};
	_cleanup_free_ char *git_dir = NULL;
	int r = store_case_by_id(c->store, id, &one);

	r = r < 0 ? r : store_comparison_by_id(c->store, one.comparison, &cmp);
	r = r < 0 ? r : store_tree_by_id(c->store, cmp.tree, &tree);
	if (r >= 0) {
		git_dir = engine_git_dir(&c->config, tree.name);
		r = facts_load(c->store, id, fs_is_dir(git_dir) ? git_dir : NULL, ret);
	}
	db_tree_release(&tree);
	db_comparison_release(&cmp);
	db_case_release(&one);
	if (r >= 0)
		*ret_git_dir = TAKE_PTR(git_dir);
	return r;
}

static int render(struct ctx *c, int64_t id)
{
	_cleanup_facts_ struct facts f = {0};
	_cleanup_(db_report_release) struct db_report rep = {0};
	_cleanup_free_ char *dir = NULL, *git_dir = NULL;
	struct report_config rc;
	int r = load(c, id, &f, &git_dir);

	report_setup(c, &rc, &dir);
	r = r < 0 ? r : report_build(c->store, &f, fs_is_dir(git_dir) ? git_dir : NULL, &rc, &rep);
	return r < 0 ? verb_fail(c, r) : print_report(c, &rep);
}

/* The case knows, and the daemon goes on with those who are to be tried again. Keeps the message of what was tried. */
static int after(struct ctx *c, int64_t id, const char *way, int result)
{
	struct engine e = {.store = c->store, .cfg = &c->config};
	_cleanup_(db_case_release) struct db_case one = {0};
	_cleanup_free_ char *message = xstrdup(err_msg());
	int r = store_case_by_id(c->store, id, &one);

	if (r >= 0 && !db_case_lives(&one)) /* else the engine does it */
		r = engine_settle(&e, &one);
	if (r >= 0 && result == -EAGAIN)
		r = engine_send_later(&e, &one, way);
	if (r >= 0)
		err_set(0, "%s", message);
	return r;
}

/* Of a report that has gone to one place, its row says where. */
static void print_place(struct ctx *c, int64_t id, const char *way)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	_cleanup_(db_delivery_release) struct db_delivery d = {0};
	int r = store_report_by_case(c->store, id, &rep);

	r = r < 0 ? r : store_delivery_get(c->store, rep.id, way, NULL, &d);
	term_printf(stdout, "report of case %" PRId64 " is in %s\n", id, r >= 0 && d.detail ? d.detail : way);
}

static int print_sent(struct ctx *c, int64_t id, const struct report_ops *way)
{
	struct report_standing st = {0};

	(void)report_standing(c->store, id, way->name, &st);
	if (c->json)
		printf("{\"case\": %" PRId64 ", \"way\": \"%s\", \"state\": \"sent\", \"sent\": %zu, "
		       "\"recipients\": %zu}\n", id, way->name, st.sent, st.n);
	else if (way->put)
		print_place(c, id, way->name);
	else
		printf("report of case %" PRId64 " is sent by %s to %zu of %zu recipients%s\n", id, way->title, st.sent,
		       st.n, st.sent < st.n ? "; 'kperfbot case show' tells why" : "");
	return EXIT_DONE;
}

static int deliver(struct ctx *c, int64_t id, const struct report_ops *way, bool force)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	_cleanup_facts_ struct facts f = {0};
	_cleanup_free_ char *dir = NULL, *git_dir = NULL;
	struct report_config rc;
	int64_t report;
	int r = store_report_by_case(c->store, id, &rep);

	report_setup(c, &rc, &dir);
	if (r == -ENOENT) {
		r = load(c, id, &f, &git_dir);
		r = r < 0 ? r : report_compose(c->store, id, git_dir, &rc, &report);
	}
	if (r >= 0 && force)
		r = report_again(c->store, id, way->name);
	r = r < 0 ? r : report_deliver(c->store, id, way->name, &rc);
	if (after(c, id, way->name, r) < 0)
		return verb_fail(c, r == -ENOENT ? r : -EIO);
	return r < 0 ? verb_fail(c, r) : print_sent(c, id, way);
}

/* NULL, with a message, where more than one is named. */
static const struct report_ops *chosen_way(const bool *chosen)
{
	const struct report_ops *const *all = reporters(), *way = NULL;

	for (size_t i = 0; all[i]; i++)
		if (chosen[i] && way) {
			err_set(-EINVAL, "one way at a time: --%s or --%s", way->name, all[i]->name);
			return NULL;
		} else if (chosen[i])
			way = all[i];
	return way ? way : all[0];
}

static int run_report(int argc, char **argv, struct ctx *c)
{
	size_t n = reporter_count();
	_cleanup_free_ bool *chosen = xcalloc(n, sizeof(*chosen));
	_cleanup_free_ struct opt *opts = xcalloc(n + 2, sizeof(*opts));
	const struct report_ops *way;
	bool force = false;
	int64_t id;
	int r;

	for (size_t i = 0; i < n; i++)
		opts[i] = (struct opt)OPT_FLAG(0, reporters()[i]->name, &chosen[i], reporters()[i]->help);
	opts[n] = (struct opt)OPT_FLAG('f', "force", &force,
		"send: again after it failed, or where it is not known whether it was sent");
	opts[n + 1] = (struct opt)OPT_END;
	r = verb_options(&verb_report, &argc, &argv, opts, c);
	if (r >= 0)
		return r;
	if (argc != 2 || !(streq(argv[0], "show") || streq(argv[0], "render") || streq(argv[0], "send")))
		return verb_usage(c, "report show CASE, report render CASE or report send CASE");
	r = parse_i64(argv[1], &id);
	if (r < 0)
		return verb_usage(c, "'%s' is not the number of a case; 'kperfbot case list' shows them", argv[1]);
	way = chosen_way(chosen);
	if (!way)
		return verb_usage(c, "%s", err_msg());
	r = ctx_store(c, !streq(argv[0], "send"));
	if (r < 0)
		return verb_fail(c, r);
	if (streq(argv[0], "send"))
		return deliver(c, id, way, force);
	return streq(argv[0], "show") ? show(c, id) : render(c, id);
}

const struct verb verb_report = {
	.name = "report",
	.usage = "show CASE\nrender CASE\nsend CASE [--WAY] [--force]",
	.summary = "the mail of a case: show it, render it anew, send it",
	.text = "A report is written once and kept; show prints it. render prints what would be written now and keeps\n"
		"nothing.\n"
		"send delivers it once, in the way named by an option: those who have received it do not get it\n"
		"again, whatever happens. The daemon keeps trying recipients that the server has deferred; --force\n"
		"sends the report again to those who were refused, and to those for whom it is unknown whether they\n"
		"received it. 'case show' lists each of them.\n"
		"Only addresses that 'mail: allow:' in the configuration lets through get mail; by default there are\n"
		"none.",
	.run = run_report,
};
