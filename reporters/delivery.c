/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reporters/delivery.h"

#define MAX_ATTEMPTS 30
#define FIRST_PAUSE (15 * USEC_PER_SEC)
#define LONGEST_PAUSE (6 * 3600 * USEC_PER_SEC)

static void become(struct db_delivery *d, enum delivery_state state, char *detail)
{
	free(d->detail);
	d->detail = detail;
	d->state = state;
	d->time = now_usec();
}

static _printf_(1, 0) char *vtext(const char *fmt, va_list ap)
{
	char *t = NULL;

	if (vasprintf(&t, fmt, ap) < 0)
		abort();
	return t;
}

void delivery_is(struct db_delivery *d, enum delivery_state state, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	become(d, state, vtext(fmt, ap));
	va_end(ap);
}

int delivery_set(struct store *s, struct db_delivery *d, enum delivery_state state, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	become(d, state, vtext(fmt, ap));
	va_end(ap);
	return store_delivery_put(s, d);
}

bool delivery_waits(const struct db_delivery *d)
{
	usec_t now = now_usec();

	return d->state == DELIVERY_WAITING && d->next_try > now && d->time <= now;
}

void delivery_is_later(struct db_delivery *d, const char *text)
{
	usec_t pause = FIRST_PAUSE;
	bool enough = d->attempts + 1 >= MAX_ATTEMPTS;

	for (int64_t i = 0; i < d->attempts && pause < LONGEST_PAUSE; i++)
		pause *= 2;
	d->attempts++;
	d->next_try = enough ? 0 : now_usec() + MIN(pause, LONGEST_PAUSE);
	become(d, enough ? DELIVERY_FAILED : DELIVERY_WAITING,
	       xasprintf(enough ? "%s; given up after %" PRId64 " attempts" : "%s", text, d->attempts));
}

int delivery_later(struct store *s, struct db_delivery *d, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	text = vtext(fmt, ap);
	va_end(ap);
	delivery_is_later(d, text);
	r = store_delivery_put(s, d);
	return r < 0 ? r : err_set(d->state == DELIVERY_FAILED ? -ETIMEDOUT : -EAGAIN, "%s", d->detail);
}

int delivery_load(struct store *s, const struct db_report *rep, const char *way, struct db_delivery *ret)
{
	struct db_delivery d = {0};
	int r = store_delivery_get(s, rep->id, way, NULL, &d);

	if (r == -ENOENT)
		d = (struct db_delivery){.report = rep->id, .way = xstrdup(way)};
	else if (r < 0)
		return r;
	*ret = d;
	if (d.state == DELIVERY_SENT)
		return 0;
	if (d.state == DELIVERY_FAILED || d.state == DELIVERY_UNKNOWN)
		return err_set(-ECONNREFUSED, "%s", d.detail ? d.detail : delivery_state_word(d.state));
	if (delivery_waits(&d))
		return err_set(-EAGAIN, "waits until its next attempt: %s", d.detail ? d.detail : "");
	return 1;
}

int report_standing(struct store *s, int64_t case_id, const char *way, struct report_standing *ret)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	struct report_standing st = {0};
	struct db_delivery *d = NULL;
	size_t n = 0;
	int r = store_report_by_case(s, case_id, &rep);

	if (r >= 0)
		r = store_deliveries(s, rep.id, way, &d, &n);
	if (r < 0 && r != -ENOENT)
		return r;
	st.n = n;
	for (size_t i = 0; i < n; i++) {
		bool waits = d[i].state == DELIVERY_WAITING;

		st.sent += d[i].state == DELIVERY_SENT;
		st.failed += d[i].state == DELIVERY_FAILED;
		st.unknown += d[i].state == DELIVERY_UNKNOWN;
		st.waiting += waits || d[i].state == DELIVERY_SENDING;
		if (waits && d[i].next_try && (!st.next_try || d[i].next_try < st.next_try))
			st.next_try = d[i].next_try;
	}
	DB_LIST_RELEASE(d, n, db_delivery_release);
	*ret = st;
	return 0;
}

/* What is being sent stays: its row knows where a torn copy may be, or that the text went out. */
int report_again(struct store *s, int64_t case_id, const char *way)
{
	_cleanup_(db_report_release) struct db_report rep = {0};
	struct report_standing st = {0};
	int r = store_report_by_case(s, case_id, &rep);

	if (r >= 0)
		r = store_deliveries_again(s, rep.id, way, "sent again by hand");
	if (r == 0)
		r = report_standing(s, case_id, way, &st);
	if (r >= 0 && st.n && st.sent == st.n)
		r = err_set(-EEXIST, "case %" PRId64 " was sent by %s already", case_id, way);
	return MIN(r, 0);
}
