/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions of people. Each row of the table below is one question: its columns, where they come from, and by which
 * filters it can be narrowed. A filter is a condition with a fixed argument number; those not given are left out of the
 * statement, so that each question costs only the joins it needs.
 *
 * Lists run from old to new; a limit keeps the newest.
 */
#include "db/store-internal.h"
#include "lib/buf.h"

#include <time.h>

enum filter { F_TREE, F_COMMIT, F_JOB, F_MACHINE, F_METRIC, F_VERDICT, F_SINCE, F_UNTIL, F_STATE, F_CASE, N_FILTERS };
static const char *const filter_name[N_FILTERS] = {"tree",    "commit", "job",	 "machine", "metric",
						   "verdict", "since",	"until", "state",   "case"};

enum column_kind { K_TEXT, K_NUMBER };
struct query_column { const char *name, *sql; enum column_kind kind; };

struct query_topic {
	const char *what;
	const char *from;
	struct query_column col[24];
	const char *where[N_FILTERS];   /* NULL: this filter makes no sense here */
	const struct words *states;     /* right ones for --state */
	const char *tail;               /* GROUP BY */
	const char *order;              /* oldest first: one direction, reversed for the limit by "DESC" */
	const char *needs;              /* a filter that must be given */
};

/* Shared conditions. The argument's number is the filter's + 1; ?11 is query_filter.send_option. */
#define ONE_OF(col, n) "instr(',' || ?" n " || ',', ',' || " col " || ',')"
#define JOB_IS(alias) "(" alias ".id = ?3 OR " alias ".name = ?3 OR " alias ".name GLOB ?3)"
#define MACHINE_IS(alias) "(" alias ".name = ?4 OR " alias ".tbox_group = ?4)"
#define RUNS_OF(cond) "v.run IN (SELECT r.id FROM run r JOIN build b ON b.id = r.build WHERE " cond ")"
#define RUN_JOINS                                                                                                      \
	"run r JOIN build b ON b.id = r.build JOIN tree t ON t.id = b.tree JOIN job j ON j.id = r.job "                \
	"JOIN machine m ON m.id = r.machine"
#define RUN_FILTERS                                                                                                    \
	[F_TREE] = "t.name = ?1", [F_COMMIT] = "b.commit_oid = ?2", [F_JOB] = JOB_IS("j"), [F_MACHINE] = MACHINE_IS("m"), \
	[F_SINCE] = "r.started >= ?7", [F_UNTIL] = "r.started < ?8", [F_VERDICT] = ONE_OF("r.verdict", "6")
#define CASE_RUNS CASE_JOB("r.job")
#define CASE_JOB(job)                                                                                                  \
	"(b.tree, " job ") IN (SELECT q.tree, q.job FROM \"case\" c JOIN comparison q ON q.id = c.comparison "           \
	"WHERE c.id = ?10) AND m.tbox_group IN (SELECT g.tbox_group FROM \"case\" c JOIN comparison q ON "             \
	"q.id = c.comparison JOIN machine g ON g.id = q.machine WHERE c.id = ?10)"
/* A case that nobody has heard of says why, and how people will. */
#define CASE_NOTE                                                                                                      \
	"CASE c.state "                                                                                                \
	"WHEN 'unmailed' THEN 'by hand, so not mailed; ''kperfbot report send ' || c.id || ?11 || ''' mails it' "      \
	"WHEN 'undelivered' THEN 'nobody has the report' || coalesce(("                                                \
	"SELECT ': ' || w.result || '; ''kperfbot report send ' || c.id || ?11 || "                                    \
	"' --force'' tries again' FROM task w WHERE w.\"case\" = c.id AND w.kind IN ('send', 'report') "            \
	"AND w.state IN ('failed', 'cancelled') ORDER BY w.key DESC LIMIT 1), '') "                                    \
	"WHEN 'found' THEN coalesce((SELECT 'the report waits: ' || d.recipient || ': ' || d.detail "                  \
	"FROM delivery d JOIN report p ON p.id = d.report "                                                            \
	"WHERE p.\"case\" = c.id AND d.recipient <> '' AND d.state = 'waiting' LIMIT 1), c.note) ELSE "         \
	"coalesce(c.note, 'fails: ' || c.failure) END"
#define PATCHES "(SELECT p.name FROM patched p WHERE p.tree = b.tree AND p.commit_oid = b.commit_oid)"
/* Checks of runs, and those of two commits: these have no run, and stand for all machines of their tbox group. */
#define ALL_CHECKS                                                                                                     \
	"(SELECT x.id AS run, x.build AS build, x.job AS job, x.machine AS machine, x.started AS time, NULL AS base, "      \
	"k.name AS name, k.verdict AS verdict, k.evidence AS evidence FROM run_check k JOIN run x ON x.id = k.run "          \
	"UNION ALL SELECT NULL, p.build, p.job, (SELECT min(id) FROM machine WHERE tbox_group = p.tbox_group), p.time, "     \
	"p.base, p.name, p.verdict, p.evidence FROM pair_check p) c JOIN build b ON b.id = c.build "                         \
	"JOIN tree t ON t.id = b.tree JOIN job j ON j.id = c.job JOIN machine m ON m.id = c.machine "                        \
	"LEFT JOIN run r ON r.id = c.run"
/* Boots are what is counted: runs of one boot are averaged first. */
#define BOOTS                                                                                                          \
	"(SELECT t.name AS tree, b.id AS build, b.commit_oid AS oid, b.kconfig AS kconfig, j.name AS job, j.id AS job_id, " \
	PATCHES " AS patches, m.tbox_group AS tbox, k.id AS metric, k.name AS metric_name, k.unit AS unit, "                    \
	"min(r.started) AS started, min(r.id) AS first_run, "                                                          \
	"count(*) AS runs, avg(v.value) AS x, min(v.value) AS lo, max(v.value) AS hi FROM metric k JOIN " RUN_JOINS    \
	" JOIN value v ON v.run = r.id AND v.metric = k.id WHERE {where} GROUP BY b.id, j.id, m.tbox_group, k.id, r.boot)"

static const struct query_topic questions[] = {
	{.what = "runs", .from = RUN_JOINS,
	 .col = {{"id", "r.id", K_NUMBER}, {"time", "iso_time(r.started)"}, {"tree", "t.name"},
		 {"commit", "b.commit_oid"},
		 {"kconfig", "b.kconfig"}, {"job", "j.name"}, {"machine", "m.name"}, {"boot", "r.boot"},
		 {"replicate", "r.replicate", K_NUMBER}, {"verdict", "r.verdict"},
		 {"seconds", "round(r.seconds, 3)", K_NUMBER},
		 {"boot_seconds", "round(r.boot_seconds, 3)", K_NUMBER},
		 {"metrics", "(SELECT count(*) FROM value WHERE run = r.id)", K_NUMBER}, {"task", "r.task", K_NUMBER},
		 {"result_dir", "r.result_dir"}, {"cause", "r.cause"}, {"patches", PATCHES}},
	 .where = {RUN_FILTERS,
		   [F_METRIC] = "EXISTS (SELECT 1 FROM value v JOIN metric k ON k.id = v.metric WHERE v.run = r.id AND k.name GLOB ?5)",
		   [F_CASE] = CASE_RUNS},
	 .order = "r.id{dir}"},
	{.what = "checks", .from = ALL_CHECKS,
	 .col = {{"run", "c.run", K_NUMBER}, {"time", "iso_time(c.time)"}, {"tree", "t.name"},
		 {"commit", "b.commit_oid"},
		 {"against", "c.base"}, {"job", "j.name"}, {"machine", "m.name"}, {"run_verdict", "r.verdict"},
		 {"check", "c.name"},
		 {"verdict", "c.verdict"}, {"evidence", "c.evidence"}},
	 .where = {[F_TREE] = "t.name = ?1", [F_COMMIT] = "?2 IN (b.commit_oid, c.base)", [F_JOB] = JOB_IS("j"),
		   [F_MACHINE] = MACHINE_IS("m"), [F_SINCE] = "c.time >= ?7", [F_UNTIL] = "c.time < ?8",
		   [F_VERDICT] = ONE_OF("r.verdict", "6"), [F_STATE] = ONE_OF("c.verdict", "9"),
		   [F_CASE] = CASE_JOB("c.job")},
	 .states = &check_verdict_words, .order = "c.time{dir}, c.run{dir}, c.name{dir}"},
	{.what = "metrics", .from = "metric k JOIN value v ON v.metric = k.id",
	 .col = {{"metric", "k.name"}, {"unit", "k.unit"},
		 {"better", "CASE k.direction WHEN 1 THEN 'higher' WHEN -1 THEN 'lower' END"},
		 {"kpi", "k.kpi", K_NUMBER},
		 {"runs", "count(*)", K_NUMBER}, {"min", "min(v.value)", K_NUMBER}, {"mean", "avg(v.value)", K_NUMBER},
		 {"max", "max(v.value)", K_NUMBER}},
	 .where = {[F_TREE] = RUNS_OF("b.tree = (SELECT id FROM tree WHERE name = ?1)"),
		   [F_COMMIT] = RUNS_OF("b.commit_oid = ?2"),
		   [F_JOB] = RUNS_OF("r.job IN (SELECT j.id FROM job j WHERE " JOB_IS("j") ")"),
		   [F_MACHINE] = RUNS_OF("r.machine IN (SELECT m.id FROM machine m WHERE " MACHINE_IS("m") ")"),
		   [F_METRIC] = "k.name GLOB ?5", [F_VERDICT] = RUNS_OF(ONE_OF("r.verdict", "6")),
		   [F_SINCE] = RUNS_OF("r.started >= ?7"), [F_UNTIL] = RUNS_OF("r.started < ?8")},
	 .tail = " GROUP BY k.id", .order = "k.name{dir}"},
	{.what = "series", .from = BOOTS,
	 .col = {{"time", "iso_time(min(started))"}, {"tree", "tree"}, {"commit", "oid"}, {"kconfig", "kconfig"},
		 {"job", "job"},
		 {"job_id", "job_id"}, {"tbox_group", "tbox"}, {"metric", "metric_name"},
		 {"boots", "count(*)", K_NUMBER},
		 {"runs", "sum(runs)", K_NUMBER}, {"mean", "avg(x)", K_NUMBER},
		 {"stddev_pct", "round(100 * stddev_pop(x) / abs(avg(x)), 4)", K_NUMBER}, {"min", "min(lo)", K_NUMBER},
		 {"max", "max(hi)", K_NUMBER}, {"unit", "unit"}, {"patches", "patches"}},
	 .where = {RUN_FILTERS, [F_METRIC] = "k.name GLOB ?5"},
	 .tail = " GROUP BY build, job_id, tbox, metric",
	 .order = "min(first_run){dir}, build{dir}, job_id{dir}, metric_name{dir}",
	 .needs = "metric"},
	{.what = "builds", .from = "build b JOIN tree t ON t.id = b.tree",
	 .col = {{"id", "b.id", K_NUMBER}, {"time", "iso_time(b.time)"}, {"tree", "t.name"}, {"commit", "b.commit_oid"},
		 {"kconfig", "b.kconfig"}, {"state", "b.state"}, {"seconds", "round(b.seconds, 1)", K_NUMBER},
		 {"cached", "b.cached", K_NUMBER}, {"image", "substr(b.image_hash, 1, 12)"},
		 {"config", "substr(b.config_hash, 1, 12)"}, {"toolchain", "b.toolchain"},
		 {"runs", "(SELECT count(*) FROM run WHERE build = b.id)", K_NUMBER}, {"warnings", "b.warnings"},
		 {"log", "b.log_path"}, {"error", "b.error"}, {"patches", PATCHES}},
	 .where = {[F_TREE] = "t.name = ?1", [F_COMMIT] = "b.commit_oid = ?2", [F_SINCE] = "b.time >= ?7",
		   [F_UNTIL] = "b.time < ?8",
		   [F_STATE] = ONE_OF("b.state", "9"),
		   [F_JOB] = "b.id IN (SELECT r.build FROM run r JOIN job j ON j.id = r.job WHERE " JOB_IS("j") ")",
		   [F_MACHINE] = "b.id IN (SELECT r.build FROM run r JOIN machine m ON m.id = r.machine WHERE " MACHINE_IS("m") ")"},
	 .states = &build_state_words, .order = "b.time{dir}, b.id{dir}"},
	{.what = "patches", .from = "patched a JOIN tree t ON t.id = a.tree",
	 .col = {{"time", "iso_time(a.time)"}, {"tree", "t.name"}, {"base", "a.base"}, {"patches", "a.name"},
		 {"count", "a.patches", K_NUMBER},
		 {"commit", "a.commit_oid"}, {"sha256", "substr(a.hash, 1, 12)"},
		 {"runs",
		  "(SELECT count(*) FROM run r JOIN build b ON b.id = r.build WHERE b.tree = a.tree AND b.commit_oid = a.commit_oid)",
		  K_NUMBER}},
	 .where = {[F_TREE] = "t.name = ?1", [F_COMMIT] = "?2 IN (a.base, a.commit_oid)", [F_SINCE] = "a.time >= ?7",
		   [F_UNTIL] = "a.time < ?8"},
	 .order = "a.id{dir}"},
	{.what = "cases",
	 .from = "\"case\" c JOIN comparison q ON q.id = c.comparison JOIN tree t ON t.id = q.tree JOIN job j ON j.id = q.job "
		 "JOIN machine m ON m.id = q.machine JOIN metric k ON k.id = c.metric",
	 .col = {{"case", "c.id", K_NUMBER}, {"state", "c.state"}, {"tree", "t.name"}, {"branch", "q.branch"},
		 {"job", "j.name"},
		 {"tbox_group", "m.tbox_group"}, {"metric", "k.name"}, {"base", "q.base"}, {"head", "q.head"},
		 {"effect_pct", "round(100 * c.effect, 4)", K_NUMBER},
		 {"effect_lo", "round(100 * c.effect_lo, 4)", K_NUMBER},
		 {"effect_hi", "round(100 * c.effect_hi, 4)", K_NUMBER}, {"culprit", "c.culprit"},
		 {"posterior", "round(c.posterior, 6)", K_NUMBER}, {"boots", "c.boots", K_NUMBER},
		 {"builds", "c.builds", K_NUMBER},
		 {"opened", "iso_time(c.opened)"}, {"changed", "iso_time(c.changed)"}, {"note", CASE_NOTE},
		 {"asked", "c.asked"}},
	 .where = {[F_TREE] = "t.name = ?1", [F_COMMIT] = "?2 IN (q.base, q.head, c.culprit)", [F_JOB] = JOB_IS("j"),
		   [F_MACHINE] = MACHINE_IS("m"), [F_METRIC] = "k.name GLOB ?5", [F_SINCE] = "c.changed >= ?7",
		   [F_UNTIL] = "c.changed < ?8", [F_STATE] = ONE_OF("c.state", "9"), [F_CASE] = "c.id = ?10"},
	 .states = &case_state_words,
	 .order = "c.id{dir}"},
	{.what = "trees", .from = "tree t",
	 .col = {{"tree", "t.name"}, {"kind", "t.kind"}, {"enabled", "t.enabled", K_NUMBER},
		 {"branches", "(SELECT count(*) FROM branch WHERE tree = t.id AND head IS NOT NULL)", K_NUMBER},
		 {"builds", "(SELECT count(*) FROM build WHERE tree = t.id)", K_NUMBER},
		 {"last_poll", "iso_time(t.last_poll)"},
		 {"next_poll", "iso_time(t.next_poll)"}, {"failures", "t.poll_failures", K_NUMBER}, {"url", "t.url"},
		 {"error", "t.poll_error"}},
	 .where = {[F_TREE] = "t.name = ?1", [F_SINCE] = "t.last_poll >= ?7", [F_UNTIL] = "t.last_poll < ?8"},
	 .order = "t.name{dir}"},
	{.what = "machines", .from = "machine m",
	 .col = {{"machine", "m.name"}, {"driver", "m.driver"}, {"tbox_group", "m.tbox_group"}, {"state", "m.state"},
		 {"failures", "m.failures", K_NUMBER}, {"runs", "(SELECT count(*) FROM run WHERE machine = m.id)",
							K_NUMBER},
		 {"last_run", "(SELECT iso_time(started) FROM run WHERE machine = m.id ORDER BY id DESC LIMIT 1)"},
		 {"description", "m.description"}, {"note", "m.note"}},
	 .where = {[F_MACHINE] = MACHINE_IS("m"), [F_STATE] = ONE_OF("m.state", "9")},
	 .states = &machine_state_words, .order = "m.name{dir}"},
	{.what = "queue", .from = "task w",
	 .col = {{"task", "w.id", K_NUMBER}, {"state", "w.state"}, {"priority", "w.priority", K_NUMBER},
		 {"kind", "w.kind"},
		 {"key", "w.key"}, {"resource", "w.resource"}, {"case", "w.\"case\"", K_NUMBER},
		 {"comparison", "w.comparison", K_NUMBER}, {"attempts", "w.attempts", K_NUMBER},
		 {"of", "w.max_attempts", K_NUMBER},
		 {"waits_for", "(SELECT group_concat(d.needs, ' ') FROM task_dep d JOIN task n ON n.id = d.needs "
			       "WHERE d.task = w.id AND n.state <> 'done' AND w.state = 'ready')"},
		 {"not_before", "iso_time(w.not_before)"}, {"owner", "w.owner"},
		 {"lease_until", "iso_time(w.lease_until)"},
		 {"created", "iso_time(w.created)"}, {"started", "iso_time(w.started)"}, {"ended", "iso_time(w.ended)"},
		 {"result", "w.result"}},
	 .where = {[F_STATE] = ONE_OF("w.state", "9"), [F_SINCE] = "w.created >= ?7", [F_UNTIL] = "w.created < ?8",
		   [F_MACHINE] = "w.resource = 'machine:' || ?4",
		   [F_TREE] = "w.comparison IN (SELECT q.id FROM comparison q JOIN tree t ON t.id = q.tree WHERE t.name = ?1)",
		   [F_CASE] = "w.\"case\" = ?10"},
	 .states = &task_state_words, .order = "w.id{dir}"},
	{.what = "events", .from = "event e",
	 .col = {{"time", "iso_time(e.time)"}, {"case", "e.\"case\"", K_NUMBER},
		 {"comparison", "e.comparison", K_NUMBER},
		 {"task", "e.task", K_NUMBER}, {"event", "e.text"}},
	 .where = {[F_SINCE] = "e.time >= ?7", [F_UNTIL] = "e.time < ?8",
		   [F_CASE] = "(e.\"case\" = ?10 OR e.comparison = (SELECT comparison FROM \"case\" WHERE id = ?10))",
		   [F_TREE] = "e.comparison IN (SELECT q.id FROM comparison q JOIN tree t ON t.id = q.tree WHERE t.name = ?1)"},
	 .order = "e.id{dir}"},
};

/* ---- right and wrong words ---- */

/* "no X 'word' (did you mean 'near'?); there are: a, b, c" */
static int wrong_word(int r, const char *thing, const char *word, const struct strv *right)
{
	const char *near = nearest_word(word, (const char *const *)right->v, right->n);
	_cleanup_buf_ struct buf b = {0};

	for (size_t i = 0; i < right->n; i++)
		buf_addf(&b, "%s%s", i ? ", " : "", right->v[i]);
	return err_set(r, "no %s '%s'%s%s%s; %s%s", thing, word, near ? " (did you mean '" : "", near ?: "",
		       near ? "'?)" : "", right->n ? "there are: " : "there are none yet", buf_str(&b));
}

static void split_words(const char *text, struct strv *out)
{
	for (size_t n; *text; text += n + (text[n] != 0)) {
		_cleanup_free_ char *w = NULL;

		n = strcspn(text, ",");
		w = xstrndup(text, n);
		if (n)
			strv_add(out, w);
	}
}

static int check_filter(const char *thing, const char *given, const struct words *right)
{
	_cleanup_strv_ struct strv have = {0}, want = {0};

	split_words(given, &have);
	for (int i = 0; i < right->n; i++)
		strv_add(&want, right->word[i]);
	if (!have.n)
		return wrong_word(-EINVAL, thing, given, &want);
	for (size_t i = 0; i < have.n; i++)
		if (!strv_has(&want, have.v[i]))
			return wrong_word(-EINVAL, thing, have.v[i], &want);
	return 0;
}

/* A name that must be in the database: exists counts it, all lists the right ones. */
static int check_name(struct store *s, const char *thing, const char *name, const char *exists, const char *all)
{
	_cleanup_strv_ struct strv right = {0};
	sqlite3_stmt *st;
	int64_t n;
	int r = db_scalar(s, &n, exists, TEXT(name));

	if (r < 0 || n)
		return MIN(r, 0);
	r = stmt_get(s, all, NULL, &st);
	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) {
		_cleanup_free_ char *w = column_text(st, 0);

		strv_add(&right, w ?: "");
	}
	stmt_put(s, st);
	return r < 0 ? r : wrong_word(-ENOENT, thing, name, &right);
}

/* ---- times ---- */

/* "2024-05-01", with " 12:00" or "T12:00:30Z" behind it: UTC. */
static bool parse_date(const char *text, usec_t *ret)
{
	static const char *const form[] = {"%Y-%m-%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S",
					   "%Y-%m-%dT%H:%M:%S"};

	for (size_t i = 0; i < ARRAY_SIZE(form); i++) {
		struct tm tm = {0};
		const char *end = strptime(text, form[i], &tm);
		struct tm norm;
		time_t t;

		if (!end || (strcmp(end, "") && strcmp(end, "Z")))
			continue;
		norm = tm;
		t = timegm(&norm);
		if (norm.tm_mday != tm.tm_mday || t < 0) /* no 30th of February */
			return false;
		*ret = (usec_t)t * USEC_PER_SEC;
		return true;
	}
	return false;
}

static int parse_when(const char *option, const char *text, usec_t *ret)
{
	double age;

	if (parse_date(text, ret))
		return 0;
	if (!strchr(text, '-') && parse_seconds(text, &age) == 0 && age * USEC_PER_SEC < now_usec()) {
		*ret = now_usec() - (usec_t)(age * USEC_PER_SEC);
		return 0;
	}
	return err_set(-EINVAL,
		       "--%s '%s' is not a time; write 2024-05-01, 2024-05-01T12:00 (UTC), or an age like 2d or 6h",
		       option, text);
}

int store_event_before(struct store *s, const char *since, int64_t *ret_id, usec_t *ret_when)
{
	usec_t when = 0;
	int64_t id = 0;
	int r = parse_when("since", since, &when);

	if (r >= 0)
		r = db_scalar(s, &id, "SELECT coalesce(max(id), 0) FROM event WHERE time < ?", INT(when));
	if (r < 0)
		return r;
	*ret_id = id;
	*ret_when = when;
	return 0;
}

/* ---- putting it together ---- */

static const struct query_topic *find_question(const char *what)
{
	_cleanup_strv_ struct strv right = {0};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		if (!strcmp(questions[i].what, what))
			return &questions[i];
		strv_add(&right, questions[i].what);
	}
	wrong_word(-EINVAL, "query", what, &right);
	return NULL;
}

static bool given(const struct arg *args, int filter) { return args[filter].type != ARG_END; }

/* A filter that makes no sense for this question is a mistake, not something to pass over. */
static int check_filters(const struct query_topic *q, const struct arg *args)
{
	_cleanup_buf_ struct buf right = {0};

	for (int i = 0; i < N_FILTERS; i++)
		if (q->where[i])
			buf_addf(&right, "--%s, ", filter_name[i]);
	for (int i = 0; i < N_FILTERS; i++) {
		if (given(args, i) && !q->where[i])
			return err_set(-EINVAL, "--%s does not fit 'query %s'; what fits: %s--limit", filter_name[i],
				       q->what, buf_str(&right));
		if (!given(args, i) && streq(q->needs, filter_name[i]))
			return err_set(-EINVAL, "'query %s' needs --%s; 'query metrics' lists them", q->what,
				       filter_name[i]);
	}
	return 0;
}

static int check_values(struct store *s, const struct query_topic *q, const struct query_filter *f)
{
	int r = 0;

	if (f->tree)
		r = check_name(s, "tree", f->tree, "SELECT count(*) FROM tree WHERE name = ?",
			       "SELECT name FROM tree ORDER BY 1");
	if (r >= 0 && f->machine)
		r = check_name(s, "machine or tbox group", f->machine,
			       "SELECT count(*) FROM machine WHERE name = ?1 OR tbox_group = ?1",
			       "SELECT name FROM machine UNION SELECT tbox_group FROM machine ORDER BY 1");
	if (r >= 0 && f->job)
		r = check_name(s, "job", f->job, "SELECT count(*) FROM job WHERE id = ?1 OR name = ?1 OR name GLOB ?1",
			       "SELECT DISTINCT name FROM job ORDER BY 1");
	if (r >= 0 && f->verdict)
		r = check_filter("verdict", f->verdict, &run_verdict_words);
	if (r >= 0 && f->state && q->states)
		r = check_filter("state", f->state, q->states);
	return r;
}

/* The filters as arguments, in the order of enum filter. What is not given stays ARG_END. */
static int filter_args(const struct query_topic *q, const struct query_filter *f, const char *commit, struct arg *args)
{
	const char *verdict = f->verdict ?: (streq(q->what, "series") ? "ok" : NULL);
	usec_t t = 0;
	int r;

	const struct { enum filter filter; const char *text; } text[] = {
		{F_TREE, f->tree}, {F_COMMIT, commit}, {F_JOB, f->job}, {F_MACHINE, f->machine},
		{F_METRIC, f->metric_glob}, {F_VERDICT, verdict}, {F_STATE, f->state},
	};
	const struct { enum filter filter; const char *text; } when[] = {{F_SINCE, f->since}, {F_UNTIL, f->until}};

	for (size_t i = 0; i < ARRAY_SIZE(text); i++)
		if (text[i].text)
			args[text[i].filter] = TEXT(text[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(when); i++) {
		if (!when[i].text)
			continue;
		if ((r = parse_when(filter_name[when[i].filter], when[i].text, &t)) < 0)
			return r;
		args[when[i].filter] = INT(t);
	}
	if (f->case_id)
		args[F_CASE] = INT(f->case_id);
	return check_filters(q, args);
}

static void add_where(const struct query_topic *q, const struct arg *args, struct buf *b)
{
	const char *sep = "";

	for (int i = 0; i < N_FILTERS; i++)
		if (given(args, i)) {
			buf_addf(b, "%s%s", sep, q->where[i]);
			sep = " AND ";
		}
	if (!*sep)
		buf_adds(b, "1");
}

/* Text with each {word} replaced. */
static void add_filled(struct buf *b, const char *text, const char *word, const char *with)
{
	const char *p;

	for (; (p = strstr(text, word)); text = p + strlen(word)) {
		buf_add(b, text, p - text);
		buf_adds(b, with);
	}
	buf_adds(b, text);
}

/* SELECT columns FROM ... WHERE ... ORDER BY newest first LIMIT; the reader turns the rows around. */
static char *question_sql(const struct query_topic *q, const struct arg *args, int64_t limit)
{
	_cleanup_buf_ struct buf where = {0}, sql = {0};
	bool inside = strstr(q->from, "{where}");

	add_where(q, args, &where);
	for (int i = 0; q->col[i].name; i++)
		buf_addf(&sql, "%s%s", i ? ", " : "SELECT ", q->col[i].sql);
	buf_adds(&sql, " FROM ");
	add_filled(&sql, q->from, "{where}", buf_str(&where));
	if (!inside)
		buf_addf(&sql, " WHERE %s", buf_str(&where));
	buf_addf(&sql, "%s ORDER BY ", q->tail ?: "");
	add_filled(&sql, q->order, "{dir}", limit ? " DESC" : "");
	if (limit)
		buf_addf(&sql, " LIMIT %" PRId64, limit);
	return buf_take(&sql);
}

static void add_cells(sqlite3_stmt *st, const struct query_column *col, struct table *t)
{
	table_row(t);
	for (int i = 0; col[i].name; i++) {
		if (sqlite3_column_type(st, i) == SQLITE_NULL)
			continue;
		if (col[i].kind == K_TEXT)
			table_text(t, i, (const char *)sqlite3_column_text(st, i));
		else if (sqlite3_column_type(st, i) == SQLITE_INTEGER)
			table_int(t, i, sqlite3_column_int64(st, i));
		else
			table_num(t, i, sqlite3_column_double(st, i));
	}
}

static void reverse_rows(struct table *t)
{
	size_t n = t->n_cols;

	for (size_t i = 0; i < t->n_rows / 2; i++)
		for (size_t c = 0; c < n; c++) {
			struct table_cell *a = &t->cell[i * n + c], *b = &t->cell[(t->n_rows - 1 - i) * n + c],
					  tmp = *a;

			*a = *b;
			*b = tmp;
		}
}

static int ask(struct store *s, const struct query_topic *q, const struct query_filter *f, const struct arg *args,
	       struct table *t)
{
	_cleanup_free_ char *sql = question_sql(q, args, f->limit);
	sqlite3_stmt *st;
	int r = stmt_get(s, sql, NULL, &st);

	if (r < 0)
		return r;
	for (int i = 0; i < N_FILTERS; i++)
		if (given(args, i) && i < sqlite3_bind_parameter_count(st))
			stmt_bind(st, i + 1, args[i]);
	if (sqlite3_bind_parameter_count(st) > N_FILTERS)
		stmt_bind(st, N_FILTERS + 1, TEXT(f->send_option ?: ""));
	for (int i = 0; q->col[i].name; i++)
		table_column(t, q->col[i].name, q->col[i].kind == K_NUMBER);
	while ((r = stmt_step(s, st)) > 0)
		add_cells(st, q->col, t);
	stmt_put(s, st);
	if (f->limit)
		reverse_rows(t);
	return r;
}

int store_query(struct store *s, const char *what, const struct query_filter *f, struct table *ret)
{
	const struct query_topic *q = find_question(what);
	_cleanup_free_ char *commit = NULL;
	struct arg args[N_FILTERS] = {0};
	struct table t = {0};
	int r;

	if (!q)
		return -EINVAL;
	if (f->limit < 0)
		return err_set(-EINVAL, "--limit %" PRId64 " is negative; 0 is no limit", f->limit);
	if ((f->commit && (r = store_find_commit(s, f->commit, &commit)) < 0) ||
	    (r = filter_args(q, f, commit, args)) < 0 || (r = check_values(s, q, f)) < 0)
		return r;
	r = ask(s, q, f, args, &t);
	if (r < 0) {
		table_release(&t);
		return r;
	}
	*ret = t;
	return 0;
}
