/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bot/cli/forecast.h"

#define MORE_BOOTS 6            /* a candidate of the search may want on a machine with noise */
#define STEP_S 0.5              /* at most, between two steps */
#define RISE 1.05

void forecast_costs(bool kernel, double clean, double incremental, double boot, struct forecast_costs *ret)
{
	struct forecast_costs c = {.first = kernel ? (struct span){60, 900} : (struct span){0.2, 20},
				   .build = kernel ? (struct span){10, 150} : (struct span){0.2, 20},
				   .boot = kernel ? (struct span){4, 60} : (struct span){0.2, 10}};

	if (isfinite(incremental))
		c.build = (struct span){0.6 * incremental, 1.5 * incremental};
	else if (isfinite(clean) && kernel)
		c.build = (struct span){clean / 20, clean / 1.5};
	else if (isfinite(clean))
		c.build = (struct span){0.6 * clean, 1.6 * clean};
	if (isfinite(boot))
		c.boot = (struct span){0.8 * boot, 1.3 * boot};
	*ret = c;
}

static void add(struct span *to, double lo, double hi)
{
	to->lo += MAX(lo, 0);
	to->hi += MAX(hi, MAX(lo, 0));
}

static int side_boots(const struct forecast_work *w, int n, int exact) { return w->exact ? MIN(n, exact) : n; }

/* Halving, a build each; what lies in the way of that is the upper end. */
static void add_search(const struct forecast_work *w, int searched, struct span *builds, struct span *boots)
{
	int halvings = (int)ceil(log2(MAX(w->commits, 1)));
	double lo = MAX(halvings - 1 - searched, 0), hi = MAX(halvings + 2 - searched, 1);

	add(builds, lo, hi);
	add(boots, lo, hi * (w->exact ? 2 : MORE_BOOTS));
}

/* Runs in turns, then the revert: a build and runs of its own. A parent that nobody has built comes before. */
static void add_proof(const struct forecast_work *w, bool now, struct span *builds, struct span *boots)
{
	int n = side_boots(w, w->proof_boots, 3), done = now ? w->phase_boots : 0;

	if (now && w->phase_builds) {
		add(boots, 0, n - done);
		return;
	}
	add(builds, 0, 2);
	add(boots, 2 * n - done, (w->exact ? 3 : 4) * n - done);
}

static void steps_left(const struct forecast_work *w, struct span *builds, struct span *boots)
{
	struct span more_builds = {0}, more_boots = {0};
	int n = side_boots(w, w->min_boots, 2), ends = MAX(2 * n - w->phase_boots, 0);

	switch (w->phase) {
	case FORECAST_COMPARING:
		add(builds, w->ends_missing, w->ends_missing);
		add(boots, ends, ends + 1 + (w->exact ? 2 : 4 * n));
		add_search(w, 0, &more_builds, &more_boots);
		add_proof(w, false, &more_builds, &more_boots);
		add(builds, w->sure ? more_builds.lo : 0, more_builds.hi);
		add(boots, w->sure ? more_boots.lo : 0, more_boots.hi);
		break;
	case FORECAST_SEARCHING: /* the one that is built or booted now is one of those asked for */
		add(builds, w->builds, w->builds);
		add(boots, w->builds + w->boots, (w->builds + w->boots) * 2);
		add_search(w, w->searched, builds, boots);
		add_proof(w, false, builds, boots);
		break;
	case FORECAST_PROVING:
		add_proof(w, true, builds, boots);
		break;
	default:
		break;
	}
	/* what waits is done in any case */
	builds->lo = MAX(builds->lo, w->builds);
	builds->hi = MAX(builds->hi, builds->lo);
	boots->lo = MAX(boots->lo, w->boots);
	boots->hi = MAX(boots->hi, boots->lo);
}

struct forecast_sum { double middle, down, up; };        /* down, up: squares of the deviations to either side */

/* n times cost. What one costs is known up to a factor: its middle is the geometric mean. */
static void add_product(struct forecast_sum *s, struct span n, struct span cost)
{
	double m = (n.lo + n.hi) / 2, dm = (n.hi - n.lo) / 2, k = sqrt(MAX(cost.lo, cost.hi / 20) * cost.hi);

	s->middle += m * k;
	s->down += m * m * (k - cost.lo) * (k - cost.lo) + k * k * dm * dm;
	s->up += m * m * (cost.hi - k) * (cost.hi - k) + k * k * dm * dm;
}

/* Of what runs the rest is to come; what takes longer than was thought is about to end. */
static struct span rest_of(struct span cost, double gone)
{
	return (struct span){MAX(cost.lo - gone, 0), MAX(cost.hi - gone, 0.05 * cost.hi)};
}

static void take_one(struct span *n) { *n = (struct span){MAX(n->lo - 1, 0), MAX(n->hi - 1, 0)}; }

void forecast_left(const struct forecast_work *w, const struct forecast_costs *c, struct forecast *ret)
{
	struct span builds = {0}, boots = {0}, all_builds, all_boots, build = c->build, boot = c->boot;
	const struct span one = {1, 1};
	struct forecast_sum s = {0};
	double floor_s;

	steps_left(w, &builds, &boots);
	all_builds = builds;
	all_boots = boots;
	build.hi += STEP_S;
	boot.hi += STEP_S;
	if ((w->nothing_built && builds.lo > 0) || w->building_s > 0) {
		take_one(&builds);
		add_product(&s, one, rest_of(w->nothing_built ? c->first : build, w->building_s));
	}
	if (w->booting_s > 0) {
		take_one(&boots);
		add_product(&s, one, rest_of(boot, w->booting_s));
	}
	add_product(&s, builds, build);
	add_product(&s, boots, boot);
	floor_s = MAX(w->builds - 1, 0) * c->build.lo + MAX(w->boots - 1, 0) * c->boot.lo;
	s.up = MAX(s.middle + sqrt(s.up), floor_s) + (w->phase != FORECAST_RUNS); /* the report */
	*ret = (struct forecast){.seconds = {MAX(s.middle - sqrt(s.down), floor_s), s.up},
				 .steps = {all_builds.lo + all_boots.lo, all_builds.hi + all_boots.hi}};
}

const char *countdown_update(struct countdown *c, struct span now, double gone, const char *event)
{
	double middle = (now.lo + now.hi) / 2, before = c->left.hi;
	bool rises = c->begun && event && middle > RISE * MAX(before - gone, 0);

	if (!c->begun || rises) {
		c->left = now;
	} else {
		c->left.hi = MIN(before - gone, now.hi);
		c->left.hi = MAX(c->left.hi, MIN(before, middle));
		c->left.lo = event ? now.lo : MIN(c->left.lo, now.lo);
	}
	c->begun = true;
	c->left.lo = MIN(c->left.lo, c->left.hi);
	return rises && c->left.hi > before ? event : NULL;
}

void forecast_text(struct span left, char *buf, size_t n)
{
	double lo = floor(left.lo / 60), hi = ceil(left.hi / 60);

	if (hi <= 1)
		snprintf(buf, n, "under 1 min left");
	else if (lo < 1)
		snprintf(buf, n, "at most %.0f min left", hi);
	else if (lo == hi)
		snprintf(buf, n, "about %.0f min left", hi);
	else
		snprintf(buf, n, "%.0f to %.0f min left", lo, hi);
}
