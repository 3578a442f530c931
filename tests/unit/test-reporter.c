/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of reporters, which one counts, and the row of a report that goes to one place. */
#include "tests/unit/delivery.h"

static void list(void)
{
	/* options that 'report' has beside the reporters' names */
	static const char *const taken[] = {"force", "json", "csv", "help"};
	const struct report_ops *const *all = reporters();
	struct strv names = {0};
	size_t n = 0;

	for (; all[n]; n++) {
		const struct report_ops *o = all[n];

		ok(reporter_find(o->name) == o, "%s is found by its name", o->name);
		ok(o->help && o->title && o->enabled && (!o->where || setting_find(o->settings, o->where)) &&
			   !o->put != !o->deliver,
		   "%s is complete", o->name);
		strv_add(&names, o->name);
	}
	is_int(reporter_count(), n, "their number");
	strv_addv(&names, (const char *const[]){taken[0], taken[1], taken[2], taken[3], NULL});
	strv_sort_uniq(&names);
	is_int(names.n, n + ARRAY_SIZE(taken), "no name twice, and none that is another option's");
	strv_release(&names);
	ok(!reporter_find("pigeon") && !reporter_find(NULL), "no other");
}

/* The options stand in messages that people type after us. */
static void counts(void)
{
	struct report_config cfg = {.settings = &settings};
	_cleanup_free_ char *none = reporter_option(NULL), *first = reporter_option(reporters()[0]), *people = NULL;

	report_settings_init(&settings);
	ok(!reporter_that_counts(&(struct report_config){0}) && !reporter_that_counts(&cfg), "all off: none counts");
	is_str(none, "", "no option for none");
	is_str(first, "", "no option for the first");
	give("mbox", "mbox", "box");
	is_str(reporter_that_counts(&cfg)->name, "mbox", "a copy counts where there is nothing else");
	give("smtp", "smtp_url", "smtp://127.0.0.1:1");
	give("smtp", "smtp", "true");
	is_str(reporter_that_counts(&cfg)->name, "smtp", "what reaches people counts more");
	people = reporter_option(reporter_that_counts(&cfg));
	is_str(people, " --smtp", "its option");
	report_settings_release(&settings);
	give("smtp", "smtp_url", "smtp://127.0.0.1:1");
	give("smtp", "smtp", "true");
	is_str(reporter_that_counts(&cfg)->name, "smtp", "with the copy switched off, too");
}

/* What stands open follows from the state folder; what does not fit is told with its key. */
static void own_settings(void)
{
	const struct report_ops *mbox = reporter_find("mbox"), *smtp = reporter_find("smtp");
	struct report_config cfg = {.settings = &settings};
	const char *key = NULL;

	report_settings_release(&settings);
	report_settings_init(&settings);
	ok(!reporter_enabled(mbox, &cfg) && smtp->check(report_settings_of(&settings, smtp), &key) == 0,
	   "nothing is set, nothing is wrong");
	mbox->complete(report_settings_of(&settings, mbox), "/srv/state");
	ok(reporter_enabled(mbox, &cfg), "the mbox has a place in the state folder");
	give("smtp", "smtp", "true");
	is_int(smtp->check(report_settings_of(&settings, smtp), &key), -EINVAL, "%s", err_msg());
	is_str(key, "smtp", "about this key");
	give("smtp", "smtp_url", "http://example.org");
	is_int(smtp->check(report_settings_of(&settings, smtp), &key), -EINVAL, "%s", err_msg());
	is_str(key, "smtp_url", "about that one");
	give("smtp", "smtp_url", "smtp://me:pw@example.org");
	is_int(smtp->check(report_settings_of(&settings, smtp), &key), -EINVAL, "%s", err_msg());
	ok(!strstr(err_msg(), "pw"), "without the password");
	for (const struct report_ops *const *o = reporters(); *o; o++)
		for (const struct setting *s = (*o)->settings; s && s->name; s++)
			ok(s->help && *s->help && (*o)->size > s->offset, "%s: %s says what it is for", (*o)->name,
			   s->name);
}

static void rows(void)
{
	struct store *s = NULL;
	_cleanup_(db_report_release) struct db_report rep = {0};
	struct db_delivery d = {0};
	int64_t id;
	usec_t later;

	is_int(store_open("db", false, &s), 0, "a database");
	id = put_report(s, put_comparison(s), 1, "[]");
	store_report_by_case(s, id, &rep);
	is_int(delivery_load(s, &rep, "mbox", &d), 1, "a row that is not there yet is due");
	is_int(delivery_later(s, &d, "%s", "no room"), -EAGAIN, "%s", err_msg());
	later = d.next_try;
	db_delivery_release(&d);
	is_int(delivery_load(s, &rep, "mbox", &d), -EAGAIN, "%s", err_msg());
	ok(d.next_try == later && d.attempts == 1, "its time and its attempts are kept");
	is_int(report_again(s, id, "mbox"), 0, "a person does not want to wait");
	db_delivery_release(&d);
	is_int(delivery_load(s, &rep, "mbox", &d), 1, "due again");
	for (int i = 0, r = -EAGAIN; i < 100 && r == -EAGAIN; i++)
		r = delivery_later(s, &d, "%s", "still none");
	ok(d.attempts < 100, "given up after %d attempts", (int)d.attempts);
	db_delivery_release(&d);
	is_int(delivery_load(s, &rep, "mbox", &d), -ECONNREFUSED, "%s", err_msg());
	delivery_set(s, &d, DELIVERY_SENT, "%s, and %s", "here", d.detail);
	db_delivery_release(&d);
	is_int(delivery_load(s, &rep, "mbox", &d), 0, "sent is sent");
	ok(startswith(d.detail, "here, and still none"), "%s", d.detail);
	db_delivery_release(&d);
	is_int(report_deliver(s, id, "mbox", &(struct report_config){0}), -ENOTSUP, "%s", err_msg());
	is_int(report_deliver(s, id, "pigeon", &(struct report_config){0}), -EINVAL, "%s", err_msg());
	store_close(s);
}

int main(void)
{
	enter();
	list();
	counts();
	own_settings();
	rows();
	leave();
	return tap_done();
}
