/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/recipients.h"
#include "kernels/patches.h"
#include "lib/git.h"
#include "lib/json.h"
#include "reporters/mail.h"
#include "reporters/maintainers.h"
#include <strings.h>

#define DEFAULT_MAX 20
#define MAX_PATCH (1u << 20)

void recipients_release(struct recipients *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->v[i].name);
		free(r->v[i].address);
		free(r->v[i].reason);
	}
	free(r->v);
	free(r->left_out);
	*r = (struct recipients){0};
}

/* No-op for an address that is there already or is none. */
static void add_recipient(struct recipients *r, bool to, const char *name, const char *address, const char *reason)
{
	if (!mail_address_ok(address))
		return;
	for (size_t i = 0; i < r->n; i++)
		if (!strcasecmp(r->v[i].address, address))
			return;
	GROW(r->v, r->n, r->cap);
	r->v[r->n++] = (struct recipient){xstrdup(name ? name : ""), xstrdup(address), xstrdup(reason), to};
}

/* Whom a tree names. */
static void add_of_tree(struct recipients *r, bool to, const char *name, const char *address, const char *reason)
{
	if (mail_address_ok(address) && mail_address_acts(address))
		r->acting++;
	else
		add_recipient(r, to, name, address, reason);
}

/* "Name <address>" or a bare address, as configuration has them. */
static void add_text(struct recipients *r, const char *text, const char *reason)
{
	_cleanup_free_ char *name = NULL, *address = NULL;

	if (mail_address_parse(text, &name, &address) == 0)
		add_recipient(r, false, name, address, reason);
}

/* The patch's added and removed lines, for K: patterns; NULL where git cannot say. */
static char *changed_lines(const char *git_dir, const struct facts *f)
{
	const char *parent = f->bad_info.n_parents ? f->bad_info.parents[0] : NULL;
	struct git_spec g = {.git_dir = git_dir, .max_output = MAX_PATCH,
			     .args = ARGV("diff-tree", "-p", "-U0", "--no-color", "--no-ext-diff", "--no-textconv",
					  "--end-of-options", parent, f->bad)};
	_cleanup_(proc_result_release) struct proc_result res = {0};
	struct buf out = {0};

	if (!parent || git_exec(&g, &res) < 0 || res.status)
		return NULL;
	for (const char *s = buf_str(&res.out), *nl; *s; s = nl + (*nl != 0)) {
		nl = s + strcspn(s, "\n");
		if ((*s == '+' && !startswith(s, "+++ ")) || (*s == '-' && !startswith(s, "--- "))) {
			buf_add(&out, s + 1, nl - s - 1);
			buf_addc(&out, '\n');
		}
	}
	return buf_take(&out);
}

static void add_maintainers(struct recipients *r, const struct facts *f, const char *git_dir)
{
	static const char *const roles[] = {"M", "R", "L"};
	_cleanup_buf_ struct buf text = {0};
	_cleanup_strv_ struct strv paths = {0};
	_cleanup_(maintainers_release) struct maintainers m = {0};
	_cleanup_free_ char *changed = NULL;
	int e;

	e = tree_file_at(git_dir, f->bad, "MAINTAINERS", &text);
	if (e == -ENOENT)
		return; /* a tree without */
	if (e >= 0)
		e = tree_changed_paths(git_dir, f->bad, &paths);
	if (e < 0) {
		r->left_out = xasprintf("maintainers: %s", err_msg());
		return;
	}
	changed = changed_lines(git_dir, f);
	maintainers_match(buf_str(&text), text.len, &paths, changed, &m);
	if (m.left_out)
		r->left_out = xasprintf("maintainers: %s", m.left_out);
	for (size_t i = 0; i < m.n; i++) {
		_cleanup_free_ char *why = xasprintf("%s: %s", roles[m.v[i].role], m.v[i].section);

		/* improvements are reported quietly: lists know, nobody in person but who wrote it */
		if (f->verdict <= 0 || m.v[i].role == MAINTAINER_L)
			add_of_tree(r, false, m.v[i].name, m.v[i].address, why);
	}
}

static void add_culprit_people(struct recipients *r, const struct facts *f)
{
	const struct commit_info *c = &f->bad_info;
	_cleanup_free_ char *author = xasprintf("author of %.10s", f->bad),
			    *committer = xasprintf("committer of %.10s", f->bad);

	if (!c->oid)
		return;
	add_of_tree(r, true, c->author_name, c->author_mail, author);
	if (f->verdict <= 0 && !streq(c->committer_mail, PATCH_COMMITTER_MAIL)) /* ours, of a patch series */
		add_of_tree(r, false, c->committer_name, c->committer_mail, committer);
}

void recipients_of(const struct facts *f, const char *git_dir, const struct report_config *cfg, struct recipients *ret)
{
	struct recipients r = {0};
	_cleanup_strv_ struct strv lists = {0};
	_cleanup_free_ char *list_reason = xasprintf("list of tree %s", f->tree.name);
	size_t max = cfg->max_recipients ? cfg->max_recipients : DEFAULT_MAX;

	/* nobody is bothered with a guess */
	if (f->proven) {
		add_culprit_people(&r, f);
		facts_setting_list(f, "mail_cc", &lists);
		for (size_t i = 0; i < lists.n; i++)
			add_text(&r, lists.v[i], list_reason);
		for (size_t i = 0; cfg->always_cc && cfg->always_cc[i]; i++)
			add_text(&r, cfg->always_cc[i], "always in copy");
		if (git_dir)
			add_maintainers(&r, f, git_dir);
	}
	if (r.acting) {
		char *other = r.left_out;

		r.left_out = xasprintf("%zu addresses that make mail software act%s%s", r.acting, other ? "; " : "",
				       other ? other : "");
		free(other);
	}
	if (!r.n || !r.v[0].to)
		add_recipient(&r, true, cfg->robot_name, cfg->robot_address,
			      f->proven ? "the culprit's author has no usable address"
					: "owner of the robot; not proven, so nobody else");
	for (; r.n > max; r.cut++) {
		r.n--;
		free(r.v[r.n].name);
		free(r.v[r.n].address);
		free(r.v[r.n].reason);
	}
	*ret = r;
}

char *recipients_json(const struct recipients *r, const struct report_config *cfg)
{
	json_object *l = json_object_new_array();
	char *s;

	for (size_t i = 0; i < r->n; i++) {
		const struct recipient *p = &r->v[i];
		json_object *o = json_object_new_object();

		json_object_object_add(o, "address", json_text(p->address));
		json_object_object_add(o, "name", json_text(p->name));
		json_object_object_add(o, "header", json_text(p->to ? "To" : "Cc"));
		json_object_object_add(o, "reason", json_text(p->reason));
		json_object_object_add(o, "allowed", json_object_new_boolean(mail_allowed(p->address, cfg->allow)));
		json_object_array_add(l, o);
	}
	if (r->left_out) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, "left_out", json_text(r->left_out));
		json_object_array_add(l, o);
	}
	s = json_line(l);
	json_object_put(l);
	return s;
}

int recipients_parse(const char *json, struct recipients *ret)
{
	json_object *l = json_tokener_parse(json ? json : "");
	struct recipients r = {0};

	if (!json_object_is_type(l, json_type_array)) {
		json_object_put(l);
		return err_set(-EINVAL, "the stored recipients are no JSON list");
	}
	for (size_t i = 0; i < json_n(l); i++) {
		json_object *o = json_at(l, i);
		const char *reason;

		if (!json_object_is_type(o, json_type_object))
			continue;
		if (!r.left_out)
			r.left_out = xstrdup(json_get_text(o, "left_out"));
		reason = json_get_text(o, "reason");
		add_recipient(&r, streq(json_get_text(o, "header"), "To"), json_get_text(o, "name"),
			      json_get_text(o, "address"), reason ? reason : "");
	}
	json_object_put(l);
	*ret = r;
	return 0;
}

static void add_line(struct buf *out, bool to, const char *header, const struct recipients *r,
		     const struct report_config *cfg)
{
	struct mail_person *p = xcalloc(r->n + 1, sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].to == to && mail_allowed(r->v[i].address, cfg->allow))
			p[n++] = (struct mail_person){r->v[i].name, r->v[i].address};
	mail_header_persons(out, header, p, n);
	free(p);
}

void recipients_header(const struct recipients *r, const struct report_config *cfg, struct buf *out)
{
	size_t before = out->len;

	add_line(out, true, "To", r, cfg);
	if (out->len == before) {
		if (mail_address_ok(cfg->robot_address))
			mail_header_persons(out, "To", &(struct mail_person){cfg->robot_name, cfg->robot_address}, 1);
		else
			buf_adds(out, "To: undisclosed-recipients:;\n");
	}
	add_line(out, false, "Cc", r, cfg);
	for (size_t i = 0; i < r->n; i++) {
		const struct recipient *p = &r->v[i];
		_cleanup_buf_ struct buf line = {0};

		if (!mail_allowed(p->address, cfg->allow))
			mail_header_persons(out, "X-kperfbot-would-go-to", &(struct mail_person){p->name, p->address},
					    1);
		buf_addf(&line, "<%s> %s", p->address, p->reason);
		mail_header(out, "X-kperfbot-reason", buf_str(&line));
	}
	if (r->left_out)
		mail_header(out, "X-kperfbot-left-out", r->left_out);
}
