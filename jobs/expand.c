/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jobs/expand.h"
#include "lib/fs.h"

#define MAX_JOBS 10000

struct pair { const struct ynode *key, *val; };
struct dim { const struct param_def *def; struct strv value; };     /* one parameter with the values it takes */
struct doc {
	const char *file;
	struct pair *pair; size_t n_pairs, cap_pairs;
	const struct program_def *program;
	const struct ynode *program_key;
	struct dim *dim; size_t n_dims, cap_dims;
	struct strv monitors; bool has_monitors;
	char *suite, *testcase, *category;
	double time_limit_s;
};

static void doc_release(struct doc *d)
{
	for (size_t i = 0; i < d->n_dims; i++)
		strv_release(&d->dim[i].value);
	free(d->dim);
	free(d->pair);
	strv_release(&d->monitors);
	free(d->suite);
	free(d->testcase);
	free(d->category);
}

static void overlay(struct doc *d, const struct ynode *map)
{
	for (size_t i = 0; map && map->kind == Y_MAP && i < map->n; i++) {
		size_t k = 0;

		while (k < d->n_pairs && strcmp(d->pair[k].key->text, map->key[i]->text))
			k++;
		if (k == d->n_pairs) {
			GROW(d->pair, d->n_pairs, d->cap_pairs);
			d->n_pairs++;
		}
		d->pair[k] = (struct pair){map->key[i], map->val[i]};
	}
}

/* ---- refusals ---- */

static const char *const fixed_keys[] = {"suite", "testcase", "category", "monitors", "time_limit"};

static int unknown_key(const struct doc *d, const struct ynode *key, const char *where)
{
	static const char *const shell[] = {"if ", "for ", "while ", "until ", "case ", "function "};
	const char *k = key->text, *near;
	_cleanup_strv_ struct strv known = {0};

	for (size_t i = 0; i < ARRAY_SIZE(shell); i++)
		if (startswith(k, shell[i]))
			return ynode_err(key, -EINVAL, "shell key '%s' is not supported: put shell code into a program "
					 "(docs/JOBS.md)", k);
	if (*k && (endswith(k, "+") || endswith(k, "-")))
		return ynode_err(key, -EINVAL, "incremental key '%s' is not supported: write the whole value", k);
	for (size_t i = 0; d->program && i < d->program->n_params; i++)
		strv_add(&known, d->program->param[i].name);
	if (!where) {
		for (size_t i = 0; i < ARRAY_SIZE(fixed_keys); i++)
			strv_add(&known, fixed_keys[i]);
		for (size_t i = 0; common_param_at(i, false); i++)
			strv_add(&known, common_param_at(i, false)->name);
		strv_addv(&known, program_names());
		strv_addv(&known, monitor_names());
	}
	near = nearest_word(k, (const char *const *)known.v, known.n);
	return ynode_err(key, -EINVAL, "unknown %s '%s'%s%s%s", where ? where : "key or program", k,
			 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- reading ---- */

static struct dim *dim_of(struct doc *d, const struct param_def *p)
{
	for (size_t i = 0; i < d->n_dims; i++)
		if (d->dim[i].def == p)
			return &d->dim[i];
	GROW(d->dim, d->n_dims, d->cap_dims);
	d->dim[d->n_dims] = (struct dim){.def = p};
	return &d->dim[d->n_dims++];
}

static bool is_patches(const struct param_def *p) { return p == common_param(PATCHES_AXIS); }

/* A path in a job file begins at the file's folder, one of the command line where the user is. */
static char *patches_path(const struct doc *d, bool in_file, const char *text)
{
	const char *slash = strrchr(d->file, '/');

	if (!in_file || *text == '/' || !slash || streq(text, "none"))
		return xstrdup(text);
	return xasprintf("%.*s/%s", (int)(slash - d->file), d->file, text);
}

static int add_value(const struct doc *d, struct dim *m, const struct ynode *at, const char *value)
{
	bool in_file = at && streq(at->file, d->file);
	_cleanup_free_ char *text = is_patches(m->def) ? patches_path(d, in_file, value) : xstrdup(value);
	int r;

	if (at && at->kind != Y_SCALAR)
		return ynode_err(at, -EINVAL, "'%s' takes one text or a list of texts", m->def->name);
	if (at && m->def->kind != PARAM_TEXT && strstr(text, "{{"))
		return ynode_err(at, -EINVAL, "'{{ }}' expressions are not supported: write the value down");
	r = param_check(m->def, text);
	if (r == 0 && is_patches(m->def) && !streq(text, "none") && !fs_exists(text))
		r = err_set(-EINVAL, "there is no patch series '%s'", text);
	if (r < 0) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		return at ? ynode_err(at, r, "%s", why) : r;
	}
	if (!strv_has(&m->value, text))
		strv_add(&m->value, text);
	return 0;
}

static int read_param(struct doc *d, const struct param_def *p, const struct ynode *val)
{
	struct dim *m = dim_of(d, p);
	int r = 0;

	strv_release(&m->value);
	if (val->kind == Y_NULL)
		return 0;
	if (val->kind != Y_LIST)
		return add_value(d, m, val, val->text);
	if (!val->n)
		return ynode_err(val, -EINVAL, "the list of '%s' is empty", p->name);
	if (val->n > MAX_JOBS)
		return ynode_err(val, -E2BIG, "more than %d values", MAX_JOBS);
	for (size_t i = 0; r == 0 && i < val->n; i++)
		r = add_value(d, m, val->val[i], val->val[i]->text);
	return r;
}

static int add_monitor(struct doc *d, const struct ynode *at, const char *name)
{
	const struct program_def *def;
	int r = monitor_def_get(name, &def);

	if (r < 0) {
		_cleanup_free_ char *why = xstrdup(err_msg());

		return at ? ynode_err(at, -EINVAL, "%s", why) : r;
	}
	d->has_monitors = true;
	if (!strv_has(&d->monitors, name))
		strv_add(&d->monitors, name);
	return 0;
}

static int read_monitors(struct doc *d, const struct ynode *val)
{
	int r = 0;

	d->has_monitors = true;
	if (val->kind == Y_SCALAR)
		return add_monitor(d, val, val->text);
	if (val->kind == Y_MAP)
		return ynode_err(val, -EINVAL, "'monitors' takes a list of names");
	for (size_t i = 0; r == 0 && i < val->n; i++)
		r = val->val[i]->kind == Y_NULL
			    ? ynode_err(val->val[i], -EINVAL,
					"no monitor is named; the one called null is written \"null\"")
			    : add_monitor(d, val->val[i], val->val[i]->text);
	return r;
}

static int read_fixed(struct doc *d, const struct ynode *key, const struct ynode *val)
{
	char **slot = streq(key->text, "suite")	     ? &d->suite
		      : streq(key->text, "testcase") ? &d->testcase
						     : &d->category;

	if (streq(key->text, "monitors"))
		return read_monitors(d, val);
	if (val->kind != Y_SCALAR)
		return ynode_err(val, -EINVAL, "'%s' takes one text", key->text);
	if (streq(key->text, "time_limit")) {
		if (parse_seconds(val->text, &d->time_limit_s) < 0 || !(d->time_limit_s > 0))
			return ynode_err(val, -EINVAL, "'time_limit' wants a time like 10m, not '%s'", val->text);
		return 0;
	}
	free(*slot);
	*slot = xstrdup(val->text);
	return 0;
}

static bool is_fixed(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(fixed_keys); i++)
		if (!strcmp(key, fixed_keys[i]))
			return true;
	return false;
}

static int read_block(struct doc *d, const struct ynode *block)
{
	int r = 0;

	if (block->kind == Y_NULL)
		return 0;
	if (block->kind != Y_MAP)
		return ynode_err(block, -EINVAL, "'%s' takes its parameters as 'key: value'", d->program->name);
	for (size_t i = 0; r == 0 && i < block->n; i++) {
		_cleanup_free_ char *where = xasprintf("parameter of '%s':", d->program->name);
		const struct param_def *p = program_def_param(d->program, block->key[i]->text);

		r = p ? read_param(d, p, block->val[i]) : unknown_key(d, block->key[i], where);
	}
	return r;
}

static int read_pair(struct doc *d, const struct pair *p, const struct ynode *block)
{
	const char *k = p->key->text;
	const struct param_def *param = program_def_param(d->program, k);

	if (p->key == d->program_key)
		return read_block(d, block);
	if (is_fixed(k))
		return read_fixed(d, p->key, p->val);
	if (!param)
		param = common_param(k);
	if (param)
		return read_param(d, param, p->val);
	if (monitor_find(k)) {
		if (p->val->kind != Y_NULL && !(p->val->kind == Y_MAP && !p->val->n))
			return ynode_err(p->val, -EINVAL, "monitor '%s' takes no settings", k);
		return add_monitor(d, p->key, k);
	}
	return unknown_key(d, p->key, NULL);
}

/* Where no program is named, what some program would take is no mistake by itself. */
static bool known_somewhere(const char *key)
{
	const struct program_def *def;

	if (is_fixed(key) || common_param(key) || monitor_find(key))
		return true;
	for (const char *const *name = program_names(); *name; name++)
		if (program_def_get(*name, &def) == 0 && program_def_param(def, key))
			return true;
	return false;
}

static int find_program(struct doc *d)
{
	for (size_t i = 0; i < d->n_pairs; i++) {
		const struct ynode *key = d->pair[i].key;
		int r;

		if (!program_find(key->text))
			continue;
		if (d->program)
			return ynode_err(key, -EINVAL, "a job runs one program: '%s' or '%s', not both",
					 d->program->name, key->text);
		r = program_def_get(key->text, &d->program);
		if (r < 0)
			return r;
		d->program_key = key;
	}
	return 0;
}

/* ---- "key=value" of the command line ---- */

static int override_param(struct doc *d, const struct param_def *p, const char *value)
{
	_cleanup_(yaml_release) struct yaml y = {0};
	struct dim *m;
	int r;

	if (*value == '[') {
		r = yaml_load_text("override", value, strlen(value), &y);
		if (r == 0 && (!y.n_docs || y.doc[0]->kind != Y_LIST))
			r = err_set(-EINVAL, "not a list");
		return r < 0 ? r : read_param(d, p, y.doc[0]);
	}
	m = dim_of(d, p);
	strv_release(&m->value);
	return *value ? add_value(d, m, NULL, value) : 0;
}

static int override_one(struct doc *d, const char *text)
{
	const char *eq = strchr(text, '=');
	_cleanup_free_ char *key = xstrndup(text, eq ? (size_t)(eq - text) : 0);
	_cleanup_strv_ struct strv known = {0};
	const struct param_def *p;
	const char *near;

	if (!eq || eq == text)
		return err_set(-EINVAL, "write it as key=value");
	p = program_def_param(d->program, key);
	if (!p)
		p = common_param(key);
	if (p)
		return override_param(d, p, eq + 1);
	if (streq(key, "time_limit"))
		return parse_seconds(eq + 1, &d->time_limit_s);
	if (streq(key, "monitors")) {
		_cleanup_free_ char *list = xstrdup(eq + 1);
		char *save = NULL;
		int r = 0;

		strv_release(&d->monitors);
		d->has_monitors = true;
		for (char *w = strtok_r(list, " ,[]", &save); r == 0 && w; w = strtok_r(NULL, " ,[]", &save))
			r = add_monitor(d, NULL, w);
		return r;
	}
	for (size_t i = 0; i < d->program->n_params; i++)
		strv_add(&known, d->program->param[i].name);
	for (size_t i = 0; common_param_at(i, false); i++)
		strv_add(&known, common_param_at(i, false)->name);
	strv_add(&known, "monitors");
	strv_add(&known, "time_limit");
	near = nearest_word(key, (const char *const *)known.v, known.n);
	return err_set(-EINVAL, "unknown parameter '%s'%s%s%s", key, near ? "; did you mean '" : "", near ? near : "",
		       near ? "'?" : "");
}

static int apply_overrides(struct doc *d, const char *const *overrides)
{
	int r = 0;

	for (; r == 0 && overrides && *overrides; overrides++) {
		r = override_one(d, *overrides);
		if (r < 0)
			return err_prefix(r, "'%s'", *overrides);
	}
	return r;
}

/* ---- the matrix ---- */

/* A file name made of any text: at most n bytes, all but [-A-Za-z0-9+=:.%] as '_'. */
static void add_path_value(struct buf *b, const char *s, size_t n)
{
	for (size_t i = 0; s[i] && i < n; i++) {
		bool plain = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
			     strchr("0123456789-+=:.%", s[i]);

		buf_addc(b, plain ? s[i] : '_');
	}
}

static int dim_by_name(const void *a, const void *b)
{
	return strcmp((*(const struct dim *const *)a)->def->name, (*(const struct dim *const *)b)->def->name);
}

/* The file's name and lkp-tests' path_params: the values in the order of their parameters' names, 31 characters of
 * each. */
static char *job_name(const struct doc *d, const size_t *at)
{
	const struct dim **v = xcalloc(d->n_dims + 1, sizeof(*v));
	const char *base = strrchr(d->file, '/');
	bool any = false;
	struct buf b = {0};

	base = base ? base + 1 : d->file;
	add_path_value(&b, base, endswith(base, ".yaml") ? strlen(base) - 5 : strlen(base));
	for (size_t i = 0; i < d->n_dims; i++)
		v[i] = &d->dim[i];
	qsort(v, d->n_dims, sizeof(*v), dim_by_name);
	for (size_t i = 0; i < d->n_dims; i++)
		if (v[i]->value.n && !is_patches(v[i]->def)) {
			buf_addc(&b, '-');
			add_path_value(&b, v[i]->value.v[at[v[i] - d->dim]], 31);
			any = true;
		}
	if (!any)
		buf_adds(&b, "-defaults");
	free(v);
	return buf_take(&b);
}

static bool same_patches(const struct job *a, const struct job *b)
{
	return a->patches && b->patches ? streq(a->patches, b->patches) : a->patches == b->patches;
}

static int add_job(const struct doc *d, const size_t *at, struct job_list *out)
{
	struct job j = {
		.name = job_name(d, at), .file = xstrdup(d->file), .program = xstrdup(d->program->name),
		.suite = xstrdup(d->suite ? d->suite : d->program->name),
		.testcase = xstrdup(d->testcase ? d->testcase : d->suite ? d->suite : d->program->name),
		.category = xstrdup(d->category ? d->category : "benchmark"), .time_limit_s = d->time_limit_s,
	};
	static const char *const usual[] = {"perf-stat", "time", "vmstat"};
	const char *patches = NULL;
	int r;

	for (size_t i = 0; i < d->n_dims; i++)
		if (d->dim[i].value.n && is_patches(d->dim[i].def))
			patches = d->dim[i].value.v[at[i]];
		else if (d->dim[i].value.n)
			job_add_param(&j, d->dim[i].def->name, d->dim[i].value.v[at[i]]);
	job_set_patches(&j, patches);
	if (d->has_monitors)
		strv_addv(&j.monitors, (const char *const *)d->monitors.v);
	for (size_t i = 0; !d->has_monitors && streq(j.category, "benchmark") && i < ARRAY_SIZE(usual); i++)
		strv_add(&j.monitors, usual[i]);
	r = job_finish(&j);
	for (size_t i = 0; r == 0 && i < out->n; i++)
		if (streq(out->v[i].id, j.id) && same_patches(&out->v[i], &j)) { /* the same point twice is run once */
			job_release(&j);
			return 0;
		} else if (streq(out->v[i].id, j.id) && j.patches && streq(out->v[i].point, j.point)) {
			r = err_set(-EINVAL, "%s: two patch series are called '%s': rename one", d->file,
				    strrchr(j.point, '+') + 1);
		}
	if (r == 0 && out->n >= MAX_JOBS)
		r = err_set(-E2BIG, "%s: the matrix has more than %d points", d->file, MAX_JOBS);
	if (r < 0) {
		job_release(&j);
		return r;
	}
	GROW(out->v, out->n, out->cap);
	out->v[out->n++] = j;
	return 0;
}

static int add_matrix(const struct doc *d, struct job_list *out)
{
	_cleanup_free_ size_t *at = xcalloc(d->n_dims + 1, sizeof(*at));
	size_t i;
	int r;

	for (size_t k = 0; k < d->program->n_params; k++) {
		const struct param_def *p = &d->program->param[k];
		bool given = false;

		for (i = 0; i < d->n_dims; i++)
			given |= d->dim[i].def == p && d->dim[i].value.n;
		if (p->required && !given)
			return ynode_err(d->program_key, -EINVAL, "'%s' needs the parameter '%s' (%s)",
					 d->program->name, p->name, p->help);
	}
	do {
		r = add_job(d, at, out);
		for (i = d->n_dims; i > 0; i--) { /* an odometer: the last list turns fastest */
			if (++at[i - 1] < d->dim[i - 1].value.n)
				break;
			at[i - 1] = 0;
		}
	} while (r == 0 && i > 0);
	return r;
}

static int expand_block(struct doc *proto, const struct ynode *block, const char *const *overrides,
			struct job_list *out)
{
	struct doc d = {.file = proto->file, .program = proto->program, .program_key = proto->program_key};
	int r = 0;

	for (size_t i = 0; r == 0 && i < proto->n_pairs; i++)
		r = read_pair(&d, &proto->pair[i], block);
	if (r == 0)
		r = apply_overrides(&d, overrides);
	if (r == 0)
		r = add_matrix(&d, out);
	doc_release(&d);
	return r;
}

int expand_document(const char *file, const struct ynode *base, const struct ynode *over, bool must_run,
		    const char *const *overrides, struct job_list *out)
{
	struct doc d = {.file = file};
	const struct ynode *last = over ? over : base, *block = NULL;
	int r;

	if (last->kind != Y_MAP && last->kind != Y_NULL)
		return ynode_err(last, -EINVAL, "a job file is 'key: value' lines");
	overlay(&d, base);
	overlay(&d, over);
	r = find_program(&d);
	for (size_t i = 0; r == 0 && i < d.n_pairs; i++) {
		const struct pair *p = &d.pair[i];

		if (p->key == d.program_key)
			block = p->val;
		else if (!d.program && (must_run || over) && !known_somewhere(p->key->text))
			r = unknown_key(&d, p->key, NULL);
	}
	if (r == 0 && !d.program && (must_run || over))
		r = ynode_err(last, -EINVAL,
			      "no program in this job: one of the keys must be a folder of jobs/programs");
	if (r == 0 && block && block->kind == Y_LIST)
		for (size_t i = 0; r == 0 && i < block->n; i++)
			r = expand_block(&d, block->val[i], overrides, out);
	else if (r == 0 && block)
		r = expand_block(&d, block, overrides, out);
	doc_release(&d);
	return r;
}
