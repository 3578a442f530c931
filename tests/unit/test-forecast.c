/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long it still takes, against questions whose whole course is known: simulated, with fixed seeds. */
#include "bot/cli/forecast.h"
#include "tests/tap.h"

static unsigned long long seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (double)(seed >> 11) / 9007199254740992.0;
}

/* Around x, up to a quarter off. */
static double about(double x) { return x * (0.75 + 0.5 * uniform()); }

struct step { bool build; enum forecast_phase phase; double seconds; };
struct course { struct step step[400]; size_t n; double total; };

static void put(struct course *c, enum forecast_phase phase, bool build, double seconds)
{
	c->step[c->n++] = (struct step){build, phase, seconds};
	c->total += seconds;
}

struct world { bool kernel, exact; double commits, clean, incremental, boot; };

/* As the bot does it: both ends, boots of each, a search that halves, the proof with a revert. */
static void play(const struct world *w, struct course *c)
{
	int ends = w->exact ? 2 : 3 + (int)(3 * uniform()),
	    halvings = (int)ceil(log2(w->commits)) + (int)(3 * uniform()) - 1;
	int per_candidate = w->exact ? 1 : 1 + (int)(4 * uniform()), proof = w->exact ? 3 : 5;

	*c = (struct course){0};
	put(c, FORECAST_COMPARING, true, about(w->clean));
	put(c, FORECAST_COMPARING, true, about(w->kernel ? w->incremental : w->clean));
	for (int i = 0; i < 2 * ends; i++)
		put(c, FORECAST_COMPARING, false, about(w->boot));
	for (int i = 0; i < halvings; i++) {
		put(c, FORECAST_SEARCHING, true, about(w->kernel ? w->incremental : w->clean));
		for (int k = 0; k < per_candidate; k++)
			put(c, FORECAST_SEARCHING, false, about(w->boot));
	}
	for (int i = 0; i < 2 * proof; i++)
		put(c, FORECAST_PROVING, false, about(w->boot));
	put(c, FORECAST_PROVING, true, about(w->kernel ? w->incremental : w->clean));
	for (int i = 0; i < proof; i++)
		put(c, FORECAST_PROVING, false, about(w->boot));
}

struct learnt { double clean, incremental, boot; int n_clean, n_incremental, n_boot; };

static void learn(const struct world *w, const struct step *s, struct learnt *l)
{
	double *mean = !s->build ? &l->boot : w->kernel && l->n_clean ? &l->incremental : &l->clean;
	int *n = !s->build ? &l->n_boot : w->kernel && l->n_clean ? &l->n_incremental : &l->n_clean;

	*mean = *n ? (*mean * *n + s->seconds) / (*n + 1) : s->seconds;
	++*n;
}

struct outcome { double inside, seconds, rises, rises_without_event, still, last_hi, width; };

/* A look each second of the course. */
static void watch(const struct world *w, const struct course *c, struct outcome *o)
{
	struct learnt l = {NAN, NAN, NAN, 0, 0, 0};
	struct countdown down = {0};
	enum forecast_phase phase = FORECAST_COMPARING;
	double now = 0, still = 0, shown = -1;
	int searched = 0, builds_done = 0, boots_in_phase = 0, builds_in_phase = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct step *s = &c->step[i];
		bool event = true;

		if (s->phase != phase)
			boots_in_phase = builds_in_phase = 0;
		phase = s->phase;
		searched += s->build && phase == FORECAST_SEARCHING;
		for (double gone = 0; gone < s->seconds; gone++, event = false) {
			struct forecast_work work = {.phase = phase,
						     .exact = w->exact,
						     .sure = true,
						     .nothing_built = !l.n_clean,
						     .commits = w->commits,
						     .searched = searched,
						     .ends_missing = MAX(2 - builds_done, 0),
						     .phase_builds = builds_in_phase,
						     .phase_boots = boots_in_phase,
						     .builds = s->build,
						     .boots = !s->build,
						     .min_boots = 3,
						     .proof_boots = 5,
						     .building_s = s->build ? gone : 0,
						     .booting_s = s->build ? 0 : gone};
			struct forecast_costs costs;
			struct forecast f;
			double before = down.left.hi, left = c->total - now - gone;
			const char *raised;

			forecast_costs(w->kernel, l.clean, l.incremental, l.boot, &costs);
			forecast_left(&work, &costs, &f);
			raised = countdown_update(&down, f.seconds, 1, event ? "something" : NULL);
			o->rises += raised != NULL;
			o->rises_without_event += before > 0 && now + gone > 0 && down.left.hi > before && !raised;
			o->inside += left >= down.left.lo - 1 && left <= down.left.hi + 1;
			o->width += down.left.hi / MAX(left, 30);
			o->seconds++;
			still = shown == down.left.hi ? still + 1 : 0;
			o->still = MAX(o->still, still);
			shown = down.left.hi;
		}
		now += s->seconds;
		learn(w, s, &l);
		builds_done += s->build;
		builds_in_phase += s->build;
		boots_in_phase = s->build && phase == FORECAST_PROVING ? 0 : boots_in_phase + !s->build;
	}
	o->last_hi = MAX(o->last_hi, down.left.hi);
}

static void simulate(const char *what, const struct world *w)
{
	struct outcome o = {0};

	for (int i = 1; i <= 50; i++) {
		struct course c;

		seed = 1000 + i;
		for (int k = 0; k < 10; k++)
			uniform();
		play(w, &c);
		watch(w, &c, &o);
	}
	printf("# %s: inside %.3f, rises %.2f each, stands still at most %.0f s, upper end %.2f of the truth\n", what,
	       o.inside / o.seconds, o.rises / 50, o.still, o.width / o.seconds);
	ok(o.inside / o.seconds > 0.8, "%s: the truth lies in the range in four of five looks", what);
	ok(o.rises_without_event == 0, "%s: it never rises without an event", what);
	ok(o.rises / 50 < 3, "%s: and seldom with one", what);
	ok(o.last_hi < 4 * w->boot + 5, "%s: at the end next to nothing is left", what);
}

static void texts(const char *want, double lo, double hi)
{
	char buf[64];

	forecast_text((struct span){lo, hi}, buf, sizeof(buf));
	is_str(buf, want, "%g to %g s", lo, hi);
}

int main(void)
{
	struct countdown c = {0};
	struct forecast_costs costs;
	struct forecast f;

	texts("under 1 min left", 0, 60);
	texts("at most 4 min left", 10, 200);
	texts("3 to 8 min left", 190, 470);
	texts("about 3 min left", 180, 180);
	ok(!countdown_update(&c, (struct span){100, 200}, 0, NULL) && c.left.hi == 200,
	   "the first look is taken as it is");
	ok(!countdown_update(&c, (struct span){150, 300}, 0, NULL) && c.left.hi == 200 && c.left.lo == 100,
	   "nothing happened: no rise");
	ok(!countdown_update(&c, (struct span){90, 210}, 10, NULL) && c.left.hi == 190 && c.left.lo == 90,
	   "it counts down");
	ok(!countdown_update(&c, (struct span){90, 290}, 10, NULL) && c.left.hi == 190, "but not below the middle");
	ok(!countdown_update(&c, (struct span){95, 250}, 0, "a build") && c.left.hi == 190, "a little more is no news");
	is_str(countdown_update(&c, (struct span){190, 260}, 0, "a build"), "a build", "much more is, with its reason");
	ok(c.left.hi == 260, "and is shown");
	/* only boots that wait: run */
	forecast_costs(true, NAN, NAN, 10, &costs);
	forecast_left(&(struct forecast_work){.phase = FORECAST_RUNS, .boots = 6, .booting_s = 5}, &costs, &f);
	ok(f.seconds.lo <= 55 && f.seconds.hi >= 55 && f.seconds.hi < 90 && f.steps.lo == 6,
	   "six boots of 10 s, 5 s gone: %g to %g s", f.seconds.lo, f.seconds.hi);
	forecast_costs(true, 180, 20, NAN, &costs);
	ok(costs.build.lo < 20 && costs.build.hi > 20 && costs.build.hi < 60,
	   "what a build after another one took counts");
	simulate("kernel, exact", &(struct world){true, true, 30, 200, 25, 9});
	simulate("kernel, long history", &(struct world){true, true, 5000, 400, 60, 12});
	simulate("kernel, noise", &(struct world){true, false, 200, 150, 30, 20});
	simulate("program", &(struct world){false, false, 64, 2, 2, 1.5});
	return tap_done();
}
