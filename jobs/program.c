/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobs/program.h"
#include "lib/fs.h"
#include "lib/yaml.h"

#include <pthread.h>

#define JOB_PROGRAM(id, name) extern const struct program_ops program_##id;
#define JOB_MONITOR(id, name) extern const struct program_ops monitor_##id;
#include "generated/job-list.h"
#undef JOB_PROGRAM
#undef JOB_MONITOR

static const struct program_ops *const all_programs[] = {
#define JOB_PROGRAM(id, name) &program_##id,
#define JOB_MONITOR(id, name)
#include "generated/job-list.h"
#undef JOB_PROGRAM
#undef JOB_MONITOR
};
static const struct program_ops *const all_monitors[] = {
#define JOB_PROGRAM(id, name)
#define JOB_MONITOR(id, name) &monitor_##id,
#include "generated/job-list.h"
#undef JOB_PROGRAM
#undef JOB_MONITOR
};

#define FIND_IN(list, want)                                                                                            \
	do {                                                                                                           \
		for (size_t i_ = 0; i_ < ARRAY_SIZE(list); i_++)                                                       \
			if (streq((list)[i_]->name, want))                                                             \
				return (list)[i_];                                                                     \
		return NULL;                                                                                           \
	} while (0)
const struct program_ops *program_find(const char *name) { FIND_IN(all_programs, name); }
const struct program_ops *monitor_find(const char *name) { FIND_IN(all_monitors, name); }

const char *const *program_names(void)
{
	static const char *names[ARRAY_SIZE(all_programs) + 1];

	for (size_t i = 0; i < ARRAY_SIZE(all_programs); i++)
		names[i] = all_programs[i]->name;
	return names;
}

const char *const *monitor_names(void)
{
	static const char *names[ARRAY_SIZE(all_monitors) + 1];

	for (size_t i = 0; i < ARRAY_SIZE(all_monitors); i++)
		names[i] = all_monitors[i]->name;
	return names;
}

/* ---- texts and definitions that live as long as the process ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct strv interned;
static struct { const char *kind, *dir; struct program_def *def; } *loaded;
static size_t n_loaded, cap_loaded;

const char *intern(const char *s)
{
	const char *found = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < interned.n && !found; i++)
		if (!strcmp(interned.v[i], s))
			found = interned.v[i];
	if (!found) {
		strv_add(&interned, s);
		found = interned.v[interned.n - 1];
	}
	pthread_mutex_unlock(&lock);
	return found;
}

const char *const *intern_list(const char *const *v, size_t n)
{
	static const char ***lists;
	static size_t n_lists, cap_lists;
	const char **found = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_lists && !found; i++) {
		size_t k = 0;

		while (k < n && lists[i][k] == v[k])
			k++;
		if (k == n && !lists[i][k])
			found = lists[i];
	}
	if (!found) {
		found = xcalloc(n + 1, sizeof(*found));
		if (n)
			memcpy(found, v, n * sizeof(*found));
		GROW(lists, n_lists, cap_lists);
		lists[n_lists++] = found;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* ---- reading program.yaml ---- */

static const struct { const char *name; enum param_kind kind; } kinds[] = {
	{"text", PARAM_TEXT}, {"word", PARAM_WORD}, {"seconds", PARAM_SECONDS},
	{"threads", PARAM_THREADS}, {"count", PARAM_COUNT}, {"choice", PARAM_CHOICE},
};

static int read_list(const struct ynode *n, struct strv *ret)
{
	if (!n || n->kind == Y_NULL)
		return 0;
	if (n->kind != Y_LIST)
		return ynode_err(n, -EINVAL, "a list [..] is wanted here");
	for (size_t i = 0; i < n->n; i++)
		strv_add(ret, n->val[i]->text);
	return 0;
}

static int read_param_def(const char *name, const struct ynode *n, struct program_def *d)
{
	const char *kind = ynode_text(n, "kind", "word");
	struct param_def *p;
	size_t k = 0;

	while (k < ARRAY_SIZE(kinds) && strcmp(kinds[k].name, kind))
		k++;
	if (k == ARRAY_SIZE(kinds))
		return ynode_err(n, -EINVAL, "no such kind of parameter: '%s'", kind);
	if (!*name || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(name))
		return ynode_err(n, -EINVAL, "parameter '%s' must be [a-z0-9_]: it becomes a shell variable", name);
	GROW(d->param, d->n_params, d->cap_params);
	p = &d->param[d->n_params++];
	*p = (struct param_def){.name = xstrdup(name), .dflt = xstrdup(ynode_text(n, "default", NULL)),
				.help = xstrdup(ynode_text(n, "help", "")), .kind = kinds[k].kind,
				.required = streq(ynode_text(n, "required", NULL), "true")};
	return read_list(ynode_get(n, "choice"), &p->choice);
}

static int read_kpi(const struct ynode *n, struct program_def *d)
{
	const char *metric = ynode_text(n, "metric", NULL), *text = ynode_text(n, "threshold", "0.002");
	double threshold;

	if (!metric)
		return ynode_err(n, -EINVAL, "a kpi needs 'metric'");
	if (parse_double(text, &threshold) < 0 || !(threshold >= 0))
		return ynode_err(n, -EINVAL, "threshold '%s' is not a part like 0.002", text);
	GROW(d->kpi, d->n_kpis, d->cap_kpis);
	d->kpi[d->n_kpis++] = (struct kpi_def){xstrdup(metric), threshold};
	return 0;
}

/* needs: {engine: {iperf3: {packages: [iperf3], programs: [iperf3]}}} */
static int read_needs(const struct ynode *needs, struct program_def *d)
{
	int r = 0;

	for (size_t i = 0; r == 0 && needs && needs->kind == Y_MAP && i < needs->n; i++) {
		const struct ynode *values = needs->val[i];

		for (size_t k = 0; r == 0 && values->kind == Y_MAP && k < values->n; k++) {
			struct need_def *n;

			GROW(d->need, d->n_needs, d->cap_needs);
			n = &d->need[d->n_needs++];
			*n = (struct need_def){.param = xstrdup(needs->key[i]->text),
					       .value = xstrdup(values->key[k]->text)};
			r = read_list(ynode_get(values->val[k], "packages"), &n->packages);
			if (r == 0)
				r = read_list(ynode_get(values->val[k], "programs"), &n->programs);
			if (r == 0)
				r = read_list(ynode_get(values->val[k], "own"), &n->own);
		}
	}
	return r;
}

static int read_def(const struct ynode *top, struct program_def *d)
{
	static const char *const known[] = {"summary", "params", "kpi", "packages", "programs", "own", "needs",
					     "time_limit"};
	const struct ynode *params = ynode_get(top, "params"), *kpi = ynode_get(top, "kpi");
	int r = 0;

	for (size_t i = 0; top->kind == Y_MAP && i < top->n; i++) {
		size_t k = 0;

		while (k < ARRAY_SIZE(known) && strcmp(known[k], top->key[i]->text))
			k++;
		if (k == ARRAY_SIZE(known))
			return ynode_err(top->key[i], -EINVAL, "unknown key '%s'", top->key[i]->text);
	}
	d->summary = xstrdup(ynode_text(top, "summary", ""));
	for (size_t i = 0; r == 0 && params && params->kind == Y_MAP && i < params->n; i++)
		r = read_param_def(params->key[i]->text, params->val[i], d);
	for (size_t i = 0; r == 0 && kpi && i < kpi->n; i++)
		r = read_kpi(kpi->val[i], d);
	if (r == 0)
		r = read_list(ynode_get(top, "packages"), &d->packages);
	if (r == 0)
		r = read_list(ynode_get(top, "programs"), &d->programs);
	if (r == 0)
		r = read_list(ynode_get(top, "own"), &d->own);
	if (r == 0)
		r = read_needs(ynode_get(top, "needs"), d);
	if (r == 0)
		r = parse_seconds(ynode_text(top, "time_limit", "0"), &d->time_limit_s);
	return r;
}

static void def_free(struct program_def *d)
{
	for (size_t i = 0; i < d->n_params; i++) {
		free(d->param[i].name);
		free(d->param[i].dflt);
		free(d->param[i].help);
		strv_release(&d->param[i].choice);
	}
	for (size_t i = 0; i < d->n_kpis; i++)
		free(d->kpi[i].metric);
	for (size_t i = 0; i < d->n_needs; i++) {
		free(d->need[i].param);
		free(d->need[i].value);
		strv_release(&d->need[i].packages);
		strv_release(&d->need[i].programs);
		strv_release(&d->need[i].own);
		strv_release(&d->need[i].own_source);
	}
	free(d->need);
	strv_release(&d->own);
	strv_release(&d->own_source);
	free(d->param);
	free(d->kpi);
	strv_release(&d->packages);
	strv_release(&d->programs);
	free(d->name);
	free(d->summary);
	free(d->run);
	free(d);
}

/* The C texts of our own programs; "udp-sink/kpb-udp-send" is one of another program's folder. */
static int read_own(const char *dir, const struct strv *own, struct strv *ret_source)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < own->n; i++) {
		const char *slash = strchr(own->v[i], '/');
		_cleanup_free_ char *path =
			slash ? xasprintf("%s/../%.*s/guest/%s.c", dir, (int)(slash - own->v[i]), own->v[i], slash + 1)
			      : xasprintf("%s/guest/%s.c", dir, own->v[i]);
		_cleanup_buf_ struct buf text = {0};

		r = fs_read(path, 1 << 20, &text);
		if (r == 0)
			strv_add(ret_source, buf_str(&text));
	}
	return r;
}

static int read_all_own(const char *dir, struct program_def *d)
{
	int r = read_own(dir, &d->own, &d->own_source);

	for (size_t i = 0; r == 0 && i < d->n_needs; i++)
		r = read_own(dir, &d->need[i].own, &d->need[i].own_source);
	return r;
}

const char *own_name(const char *own)
{
	const char *slash = strchr(own, '/');

	return slash ? slash + 1 : own;
}

/* kind: "program" or "monitor". */
static int load_def(const char *kind, const char *name, struct program_def **ret)
{
	_cleanup_free_ char *dir = xasprintf("%s/jobs/%ss/%s", fs_data_dir(), kind, name);
	_cleanup_free_ char *path = xasprintf("%s/%s.yaml", dir, kind), *run = xasprintf("%s/run.sh", dir);
	struct program_def *d = xcalloc(1, sizeof(*d));
	_cleanup_(yaml_release) struct yaml y = {0};
	_cleanup_buf_ struct buf text = {0};
	int r = yaml_load_file(path, &y);

	d->name = xstrdup(name);
	if (r == 0)
		r = y.n_docs ? read_def(y.doc[0], d) : err_set(-EINVAL, "'%s' is empty", path);
	if (r == 0)
		r = fs_read(run, 1 << 20, &text);
	if (r == 0)
		r = read_all_own(dir, d);
	if (r < 0) {
		def_free(d);
		return r;
	}
	d->run = buf_take(&text);
	*ret = d;
	return 0;
}

static int def_get(const char *kind, const char *name, const struct program_def **ret)
{
	const char *dir = intern(fs_data_dir());
	struct program_def *d = NULL;
	int r = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_loaded && !d; i++)
		if (loaded[i].kind == kind && loaded[i].dir == dir && streq(loaded[i].def->name, name))
			d = loaded[i].def;
	if (!d && (r = load_def(kind, name, &d)) == 0) {
		GROW(loaded, n_loaded, cap_loaded);
		loaded[n_loaded].kind = kind;
		loaded[n_loaded].dir = dir;
		loaded[n_loaded++].def = d;
	}
	pthread_mutex_unlock(&lock);
	if (r == 0)
		*ret = d;
	return r;
}

static size_t names_count(const char *const *v)
{
	size_t n = 0;

	while (v[n])
		n++;
	return n;
}

static int no_such(const char *kind, const char *name, const char *const *names)
{
	const char *near = nearest_word(name, names, names_count(names));

	return near ? err_set(-ENOENT, "no %s '%s'; did you mean '%s'?", kind, name, near)
		    : err_set(-ENOENT, "no %s '%s' under jobs/%ss", kind, name, kind);
}

int program_def_get(const char *name, const struct program_def **ret)
{
	return program_find(name) ? def_get("program", name, ret) : no_such("program", name, program_names());
}

int monitor_def_get(const char *name, const struct program_def **ret)
{
	return monitor_find(name) ? def_get("monitor", name, ret) : no_such("monitor", name, monitor_names());
}

const struct param_def *program_def_param(const struct program_def *d, const char *key)
{
	for (size_t i = 0; i < d->n_params; i++)
		if (!strcmp(d->param[i].name, key))
			return &d->param[i];
	return NULL;
}

static char *on_off[] = {(char *)"on", (char *)"off", NULL};
static char *passes[] = {(char *)"beside", (char *)"warmup", NULL};
static char *thp[] = {(char *)"always", (char *)"madvise", (char *)"never", NULL};
static const struct param_def common[] = {
	{.name = (char *)"cpufreq_governor", .kind = PARAM_WORD,
	 .help = (char *)"set on every CPU that has cpufreq, and put back afterwards"},
	{.name = (char *)"turbo", .kind = PARAM_CHOICE, .choice = {on_off, 2, 2},
	 .help = (char *)"clock above the nominal one"},
	{.name = (char *)"cstates", .kind = PARAM_COUNT,
	 .help = (char *)"idle states that take longer to leave, in microseconds, are not used; 0: none is"},
	{.name = (char *)"thp", .kind = PARAM_CHOICE, .choice = {thp, 3, 3}, .help = (char *)"transparent huge pages"},
	{.name = (char *)"aslr", .kind = PARAM_CHOICE, .choice = {on_off, 2, 2}, .help = (char *)"random addresses"},
	{.name = (char *)"nic", .kind = PARAM_WORD,
	 .help = (char *)"the network device that nic_* and irq_cpus are for"},
	{.name = (char *)"nic_offloads", .kind = PARAM_TEXT,
	 .help = (char *)"as ethtool -K takes them: gro off tso off"},
	{.name = (char *)"nic_rings", .kind = PARAM_TEXT, .help = (char *)"as ethtool -G takes them: rx 1024 tx 1024"},
	{.name = (char *)"nic_coalesce", .kind = PARAM_TEXT, .help = (char *)"as ethtool -C takes them: rx-usecs 50"},
	{.name = (char *)"irq_cpus", .kind = PARAM_TEXT,
	 .help = (char *)"CPU list; the interrupts of nic go there, one each in turn"},
	{.name = (char *)"idle_check", .kind = PARAM_COUNT,
	 .help = (char *)"wait for at most 10 s until less than so many per cent of the CPUs are busy"},
	{.name = (char *)"monitor_pass", .kind = PARAM_CHOICE, .choice = {passes, 2, 2},
	 .help = (char *)"warmup: monitors watch the warm-up, not the measured run, which they then cannot blur"},
	{.name = (char *)"kconfig", .kind = PARAM_WORD, .help = (char *)"kernel configuration to build"},
	{.name = (char *)"commit", .kind = PARAM_WORD, .help = (char *)"commit to build"},
	{.name = (char *)"rootfs", .kind = PARAM_WORD, .help = (char *)"root image"},
	{.name = (char *)"compiler", .kind = PARAM_WORD, .help = (char *)"compiler to build with"},
	{.name = (char *)PATCHES_AXIS, .kind = PARAM_TEXT,
	 .help = (char *)"patch series to apply before building; none: nothing"},
};
#define N_AXES 5

const struct param_def *common_param_at(size_t i, bool for_script)
{
	return i < ARRAY_SIZE(common) - (for_script ? N_AXES : 0) ? &common[i] : NULL;
}

const struct param_def *common_param(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(common); i++)
		if (!strcmp(key, common[i].name))
			return &common[i];
	return NULL;
}

int param_check(const struct param_def *p, const char *v)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+:";
	size_t digits = strspn(v, "0123456789");
	double s;

	switch (p->kind) {
	case PARAM_TEXT:
		if (!utf8_valid(v))
			return err_set(-EINVAL, "'%s' is not UTF-8", p->name);
		return *v ? 0 : err_set(-EINVAL, "'%s' is empty", p->name);
	case PARAM_WORD:
		if (*v && *v != '-' && strlen(v) < 128 && strspn(v, word) == strlen(v))
			return 0;
		return err_set(-EINVAL, "'%s' wants one word of letters, digits and -_.+:, not '%s'", p->name, v);
	case PARAM_SECONDS:
		if (parse_seconds(v, &s) == 0 && s >= 0 && s <= 7 * 86400 && s == floor(s))
			return 0;
		return err_set(-EINVAL, "'%s' wants a time of whole seconds like 60s, 5m or 1h, not '%s'", p->name, v);
	case PARAM_THREADS:
		if (digits && digits < 7 && (!v[digits] || !strcmp(v + digits, "%")) && strtol(v, NULL, 10) > 0)
			return 0;
		return err_set(-EINVAL, "'%s' wants a number like 4, or a part of the CPUs like 50%%, not '%s'",
			       p->name, v);
	case PARAM_COUNT:
		if (digits && digits < 10 && !v[digits])
			return 0;
		return err_set(-EINVAL, "'%s' wants a whole number, not '%s'", p->name, v);
	case PARAM_CHOICE:
		if (strv_has(&p->choice, v))
			return 0;
		return err_set(-EINVAL, "'%s' takes '%s'%s%s%s%s, not '%s'", p->name, p->choice.n ? p->choice.v[0] : "",
			       p->choice.n > 1 ? " or '" : "", p->choice.n > 1 ? p->choice.v[1] : "",
			       p->choice.n > 1 ? "'" : "", p->choice.n > 2 ? " ..." : "", v);
	}
	return -EINVAL;
}
