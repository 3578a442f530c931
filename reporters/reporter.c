/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/reporter.h"

/* The list: report_NAME of reporters/NAME.c each. The first is what 'report send' uses without an option. */
#define REPORTERS(X) X(mbox) X(smtp)

#define DECLARE(name) extern const struct report_ops report_##name;
REPORTERS(DECLARE)

const struct report_ops *const *reporters(void)
{
#define ROW(name) &report_##name,
	static const struct report_ops *const list[] = {REPORTERS(ROW) NULL};

	return list;
}

const struct report_ops *reporter_find(const char *name)
{
	for (const struct report_ops *const *o = reporters(); *o; o++)
		if (streq((*o)->name, name))
			return *o;
	return NULL;
}

size_t reporter_count(void)
{
	size_t n = 0;

	while (reporters()[n])
		n++;
	return n;
}

void report_settings_init(struct report_settings *s)
{
	s->own = xcalloc(reporter_count(), sizeof(*s->own));
	for (size_t i = 0; reporters()[i]; i++) {
		const struct report_ops *o = reporters()[i];

		if (o->settings)
			settings_default(o->settings, s->own[i] = xcalloc(1, o->size));
	}
}

void report_settings_release(struct report_settings *s)
{
	for (size_t i = 0; s->own && reporters()[i]; i++) {
		if (s->own[i])
			settings_release(reporters()[i]->settings, s->own[i]);
		free(s->own[i]);
	}
	free(s->own);
	s->own = NULL;
}

void *report_settings_of(const struct report_settings *s, const struct report_ops *ops)
{
	for (size_t i = 0; s && s->own && reporters()[i]; i++)
		if (reporters()[i] == ops)
			return s->own[i];
	return NULL;
}

bool reporter_enabled(const struct report_ops *ops, const struct report_config *cfg)
{
	return cfg->settings && ops->enabled(report_settings_of(cfg->settings, ops));
}

const struct report_ops *reporter_that_counts(const struct report_config *cfg)
{
	const struct report_ops *best = NULL;

	for (const struct report_ops *const *o = reporters(); *o; o++)
		if (reporter_enabled(*o, cfg) && (!best || (*o)->reach > best->reach))
			best = *o;
	return best;
}

char *reporter_option(const struct report_ops *ops)
{
	return !ops || ops == reporters()[0] ? xstrdup("") : xasprintf(" --%s", ops->name);
}

static int unknown(const char *way)
{
	_cleanup_buf_ struct buf all = {0};

	for (const struct report_ops *const *o = reporters(); *o; o++)
		buf_addf(&all, "%s'%s'", !all.len ? "" : o[1] ? ", " : " and ", (*o)->name);
	return err_set(-EINVAL, "no way out is called '%s': there are %s", way, buf_str(&all));
}

static int put(struct store *s, const struct report_ops *ops, const struct db_report *rep,
	       const struct report_config *cfg)
{
	_cleanup_(db_delivery_release) struct db_delivery d = {0};
	_cleanup_free_ char *option = reporter_option(ops), *why = NULL;
	int r = delivery_load(s, rep, ops->name, &d);

	if (r == -ECONNREFUSED) {
		why = xstrdup(err_msg());
		return err_set(r, "writing case %" PRId64 " to %s failed for good (%s); 'kperfbot report send %" PRId64
			       "%s --force' tries again", rep->case_id, ops->title, why, rep->case_id, option);
	}
	if (r <= 0)
		return r;
	r = ops->put(s, rep, &d, cfg, report_settings_of(cfg->settings, ops));
	if (r == 0 && d.state == DELIVERY_SENT) /* and not by another process meanwhile */
		store_event(s, rep->case_id, 0, 0, "report sent by %s: %s", ops->name, d.detail ? d.detail : "");
	return r;
}

static int switched_off(const struct report_ops *ops)
{
	const char *section = ops->section ? ops->section : "reports";

	return !ops->where ? err_set(-ENOTSUP, "%s is switched off", ops->name) :
	       err_set(-ENOTSUP, "%s is switched off; set '%s' in the %s section", ops->name, ops->where, section);
}

int report_deliver(struct store *s, int64_t case_id, const char *way, const struct report_config *cfg)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	const struct report_ops *ops = reporter_find(way);
	int r;

	if (!ops)
		return unknown(way);
	if (!reporter_enabled(ops, cfg))
		return switched_off(ops);
	r = store_report_by_case(s, case_id, &rep);
	if (r < 0)
		return r == -ENOENT ? err_set(r, "case %" PRId64 " has no report yet", case_id) : r;
	return ops->put ? put(s, ops, &rep, cfg) :
		ops->deliver(s, &rep, cfg, report_settings_of(cfg->settings, ops));
}

bool report_waits(struct store *s, int64_t case_id, struct report_standing *ret)
{
	for (const struct report_ops *const *o = reporters(); *o; o++)
		if ((*o)->reach == REPORT_PEOPLE && report_standing(s, case_id, (*o)->name, ret) >= 0 && ret->waiting)
			return true;
	return false;
}
