/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef KPB_TESTS_GIVEN_H
#define KPB_TESTS_GIVEN_H
#include "reporters/reporter.h"
#include "tests/tap.h"

/* The settings of the reporters for tests of what they do; give() sets one. */
static struct report_settings settings;

static inline void give(const char *reporter, const char *key, const char *value)
{
	const struct report_ops *o = reporter_find(reporter);
	const struct setting *s = o ? setting_find(o->settings, key) : NULL;

	if (!settings.own)
		report_settings_init(&settings);
	if (!s || setting_set(s, report_settings_of(&settings, o), value) < 0)
		ok(false, "%s: %s: %s", reporter, key, err_msg());
}

#endif
