/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/deliver.h"

#define MAX_ATTEMPTS 30
#define FIRST_PAUSE (15 * USEC_PER_SEC)
#define LONGEST_PAUSE (6 * 3600 * USEC_PER_SEC)

static int put(struct store *s, struct db_delivery *d, const char *state, char *detail)
{
	free(d->detail);
	free(d->state);
	d->detail = detail;
	d->state = xstrdup(state);
	d->time = now_usec();
	return store_delivery_put(s, d);
}

static _printf_(1, 0) char *vtext(const char *fmt, va_list ap)
{
	char *t = NULL;

	if (vasprintf(&t, fmt, ap) < 0)
		abort();
	return t;
}

int delivery_set(struct store *s, struct db_delivery *d, const char *state, const char *fmt, ...)
{
	va_list ap;
	char *t;

	va_start(ap, fmt);
	t = vtext(fmt, ap);
	va_end(ap);
	return put(s, d, state, t);
}

int delivery_later(struct store *s, struct db_delivery *d, const char *fmt, ...)
{
	usec_t pause = FIRST_PAUSE;
	_cleanup_free_ char *kept = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	kept = vtext(fmt, ap);
	va_end(ap);
	for (int64_t i = 0; i < d->attempts && pause < LONGEST_PAUSE; i++)
		pause *= 2;
	d->attempts++;
	d->next_try = now_usec() + MIN(pause, LONGEST_PAUSE);
	if (d->attempts >= MAX_ATTEMPTS) {
		d->next_try = 0;
		r = put(s, d, "failed", xstrdup(kept));
		return r < 0 ? r : err_set(-ETIMEDOUT, "%s; given up after %d attempts", kept, MAX_ATTEMPTS);
	}
	r = put(s, d, "waiting", xstrdup(kept));
	return r < 0 ? r : err_set(-EAGAIN, "%s", kept);
}

static int refuse(const struct db_delivery *d, int64_t case_id)
{
	const char *why = d->detail ? d->detail : "";

	if (streq(d->state, "unknown"))
		return err_set(-EALREADY, "it is not known whether case %" PRId64 " was mailed (%s); ask a recipient, then 'kperfbot report "
			       "send %" PRId64 " --%s --force' sends it again", case_id, why, case_id, d->way);
	return err_set(-ECONNREFUSED, "sending case %" PRId64 " by %s failed for good (%s); 'kperfbot report send %" PRId64
		       " --%s --force' tries again", case_id, d->way, why, case_id, d->way);
}

int report_deliver(struct store *s, int64_t case_id, const char *way, const struct report_config *cfg)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	_cleanup_(db_delivery_release) struct db_delivery d = {0};
	bool mbox = streq(way, "mbox");
	int r;

	if (!mbox && !streq(way, "smtp"))
		return err_set(-EINVAL, "no way out is called '%s': there are 'mbox' and 'smtp'", way);
	if (!(mbox ? cfg->mbox : cfg->smtp_url))
		return err_set(-ENOTSUP, "%s is switched off; set '%s' in the mail section", way, mbox ? "mbox" : "smtp_url");
	r = store_report_by_case(s, case_id, &rep);
	if (r < 0)
		return r == -ENOENT ? err_set(r, "case %" PRId64 " has no report yet", case_id) : r;
	r = store_delivery_get(s, rep.id, way, &d);
	if (r == -ENOENT)
		d = (struct db_delivery){.report = rep.id, .way = xstrdup(way), .state = xstrdup("waiting")};
	else if (r < 0)
		return r;
	if (streq(d.state, "sent"))
		return 0;
	if (streq(d.state, "failed") || streq(d.state, "unknown"))
		return refuse(&d, case_id);
	if (streq(d.state, "waiting") && d.next_try > now_usec())
		return err_set(-EAGAIN, "waits until its next attempt: %s", d.detail ? d.detail : "");
	r = mbox ? mbox_deliver(s, &rep, &d, cfg->mbox) : smtp_deliver(s, &rep, &d, cfg);
	if (r == 0)
		store_event(s, case_id, 0, 0, "report %s by %s: %s", d.state, way, d.detail ? d.detail : "");
	return r;
}

int report_again(struct store *s, int64_t case_id, const char *way)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	_cleanup_(db_delivery_release) struct db_delivery d = {0};
	int r = store_report_by_case(s, case_id, &rep);

	if (r < 0)
		return r;
	r = store_delivery_get(s, rep.id, way, &d);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (streq(d.state, "sent"))
		return err_set(-EEXIST, "case %" PRId64 " was sent by %s already (%s)", case_id, way, d.detail ? d.detail : "");
	/* a mbox that was being written is still looked through for a torn copy */
	if (streq(d.state, "sending"))
		return 0;
	d.attempts = 0;
	d.next_try = 0;
	return delivery_set(s, &d, "waiting", "sent again by hand");
}
