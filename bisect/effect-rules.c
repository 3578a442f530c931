/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bisect/effect-rules.h"
#include "bisect/compare-class.h"

#include <fnmatch.h>

static bool is_profile(const char *metric) { return startswith(metric, "perf-profile"); }
static bool is_monitor(const char *metric) { return !metric_is_program(metric); }

/* The first class that a metric belongs to holds. */
static const struct { const char *name; bool (*has)(const char *metric); } classes[] = {
	{"perf-profile", is_profile}, {"percent", metric_is_points}, {"monitor", is_monitor},
	{"program", metric_is_program},
};

static bool is_class(const char *pattern) { return !strpbrk(pattern, ".*?["); }

static const struct effect_rule *find_pattern(const struct effect_rules *r, const char *pattern)
{
	for (size_t i = 0; i < r->n; i++)
		if (streq(r->v[i].pattern, pattern))
			return &r->v[i];
	return NULL;
}

static int check_class(const char *pattern)
{
	const char *names[ARRAY_SIZE(classes)], *near;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		names[i] = classes[i].name;
		if (streq(names[i], pattern))
			return 0;
	}
	near = nearest_word(pattern, names, ARRAY_SIZE(names));
	return err_set(-EINVAL,
		       "'%s' is no class of metrics%s%s%s (the classes: program, monitor, percent, perf-profile; "
		       "names and globs of metrics hold a '.' or '*')",
		       pattern, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

bool effect_rule_points(const struct effect_rule *rule)
{
	return streq(rule->pattern, "percent") || metric_is_points(rule->pattern);
}

int effect_rules_add(struct effect_rules *r, const char *pattern, double value)
{
	struct effect_rule rule = {(char *)pattern, value};
	double max = effect_rule_points(&rule) ? 100 : 1;
	int e = is_class(pattern) ? check_class(pattern) : 0;

	if (e < 0)
		return e;
	if (!(value >= 1e-6 && value <= max))
		return err_set(-ERANGE, "the smallest effect of '%s' must lie between 1e-06 and %g%s, not %g", pattern,
			       max, max > 1 ? " points" : " (0.01 is one per cent)", value);
	if (find_pattern(r, pattern))
		return err_set(-EEXIST, "'%s' has a smallest effect already", pattern);
	GROW(r->v, r->n, r->cap);
	r->v[r->n++] = (struct effect_rule){xstrdup(pattern), value};
	return 0;
}

double effect_rules_find(const struct effect_rules *r, const char *metric)
{
	const struct effect_rule *best = find_pattern(r, metric);
	size_t len = 0;

	for (size_t i = 0; i < r->n && !(best && streq(best->pattern, metric)); i++)
		if (!is_class(r->v[i].pattern) && strlen(r->v[i].pattern) > len &&
		    !fnmatch(r->v[i].pattern, metric, 0)) {
			best = &r->v[i];
			len = strlen(best->pattern);
		}
	for (size_t i = 0; i < ARRAY_SIZE(classes) && !best; i++)
		if (classes[i].has(metric))
			best = find_pattern(r, classes[i].name);
	return best ? best->value : NAN;
}

void effect_rules_release(struct effect_rules *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->v[i].pattern);
	free(r->v);
	*r = (struct effect_rules){0};
}
