/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "db/setup.h"
#include "db/store-internal.h"

#define VALUE_MAX 300
#define FILES_NAMED 3

/* ---- text ---- */

void setup_add(struct strv *l, const char *name, const char *value)
{
	_cleanup_free_ char *cut = value && *value ? xstrndup(value, VALUE_MAX) : NULL, *safe = NULL;

	if (!cut)
		return;
	for (char *p = cut; *p; p++)
		if (*p == '\t' || *p == '\n')
			*p = ' ';
	safe = term_safe(cut);
	strv_addf(l, "%s\t%s", name, safe);
}

char *setup_text(struct strv *l)
{
	_cleanup_buf_ struct buf b = {0};

	strv_sort_uniq(l);
	for (size_t i = 0; i < l->n; i++)
		buf_addf(&b, "%s\n", l->v[i]);
	return b.len ? buf_take(&b) : xstrdup("");
}

struct setup_item { const char *name, *value; size_t name_len, value_len; };

static bool next_item(const char **p, struct setup_item *ret)
{
	size_t n = strcspn(*p, "\n"), tab = strcspn(*p, "\t");

	if (!**p || tab >= n)
		return false;
	*ret = (struct setup_item){*p, *p + tab + 1, tab, n - tab - 1};
	*p += n + ((*p)[n] == '\n');
	return true;
}

static bool find_item(const char *text, const struct setup_item *want, struct setup_item *ret)
{
	while (next_item(&text, ret))
		if (ret->name_len == want->name_len && !memcmp(ret->name, want->name, want->name_len))
			return true;
	return false;
}

static bool is_named(const struct setup_item *i, const char *name)
{
	return name && strlen(name) == i->name_len && !memcmp(i->name, name, i->name_len);
}

static bool is_file(const struct setup_item *i)
{
	return i->name_len > strlen(SETUP_FILE) && !memcmp(i->name, SETUP_FILE, strlen(SETUP_FILE));
}

static bool has_files(const char *text)
{
	struct setup_item i;

	while (next_item(&text, &i))
		if (is_file(&i))
			return true;
	return false;
}

typedef void (*differing)(const struct setup_item *a, const struct setup_item *b, void *arg);

static size_t walk(const char *a, const char *b, const char *skip, differing f, void *arg)
{
	bool both_listed = a && b && has_files(a) && has_files(b);
	struct setup_item x, y;
	size_t n = 0;

	while (a && b && next_item(&a, &x)) {
		if (is_named(&x, skip) || (both_listed && is_named(&x, "root image")) || !find_item(b, &x, &y) ||
		    (x.value_len == y.value_len && !memcmp(x.value, y.value, x.value_len)))
			continue;
		n++;
		if (f)
			f(&x, &y, arg);
	}
	return n;
}

size_t setup_differs(const char *a, const char *b, const char *skip) { return walk(a, b, skip, NULL, NULL); }

struct setup_words { struct buf *out, files; size_t n_files; };

static void add_words(const struct setup_item *a, const struct setup_item *b, void *arg)
{
	struct setup_words *w = arg;
	bool file = is_file(a);
	size_t skip = file ? strlen(SETUP_FILE) : 0;
	struct buf *out = file ? &w->files : w->out;
	const char *name = is_named(a, SETUP_FILE "init") ? "the bot's agent" : NULL;

	if (file && ++w->n_files > FILES_NAMED)
		return;
	if (out->len)
		buf_adds(out, file ? ", " : "; ");
	if (name)
		buf_adds(out, name);
	else
		buf_add(out, a->name + skip, a->name_len - skip);
	buf_addf(out, " %.*s -> %.*s", (int)a->value_len, a->value, (int)b->value_len, b->value);
}

void setup_words(const char *a, const char *b, struct buf *out)
{
	struct setup_words w = {.out = out};

	walk(a, b, NULL, add_words, &w);
	if (w.n_files)
		buf_addf(out, "%sfiles that measure: %s", out->len ? "; " : "", buf_str(&w.files));
	if (w.n_files > FILES_NAMED)
		buf_addf(out, " and %zu more", w.n_files - FILES_NAMED);
	buf_release(&w.files);
}

void setup_words_among(const struct db_setup *v, size_t n, struct buf *out)
{
	for (size_t i = 1; i < n && !out->len; i++)
		setup_words(v[i].text, v[0].text, out);
}

/* ---- the database ---- */

void db_setup_release(struct db_setup *p) { free(p->text); }

int store_setup_put(struct store *s, int64_t run, const char *text)
{
	int64_t id;
	int r;

	if (!text || !*text)
		return 0;
	r = db_exec(s, "INSERT INTO setup (text) VALUES (?) ON CONFLICT (text) DO NOTHING", TEXT(text));
	if (r >= 0)
		r = db_scalar(s, &id, "SELECT id FROM setup WHERE text = ?", TEXT(text));
	if (r >= 0)
		r = db_exec(s, "INSERT OR REPLACE INTO run_setup (run, setup) VALUES (?, ?)", INT(run), INT(id));
	return MIN(r, 0);
}

static int one_text(struct store *s, sqlite3_stmt *st, char **ret)
{
	int r = stmt_step(s, st);

	if (r > 0)
		*ret = column_text(st, 0);
	stmt_put(s, st);
	return r ? MIN(r, 0) : err_set(-ENOENT, "it is not known what measured");
}

int store_setup_get(struct store *s, int64_t id, char **ret)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, "SELECT text FROM setup WHERE id = ?", ARGS(INT(id)), &st);

	return r < 0 ? r : one_text(s, st, ret);
}

int store_setup_newest(struct store *s, int64_t tree, const char *kconfig, const char *job, int64_t machine, char **ret)
{
	sqlite3_stmt *st;
	int r = stmt_get(s,
			 "SELECT text FROM run JOIN build ON build.id = run.build JOIN run_setup ON "
			 "run_setup.run = run.id JOIN setup ON setup.id = run_setup.setup WHERE job = ?3 AND "
			 "machine = ?4 AND verdict = 'ok' AND tree = ?1 AND kconfig = ?2 ORDER BY run.id DESC LIMIT 1",
			 ARGS(INT(tree), TEXT(kconfig), TEXT(job), INT(machine)), &st);

	return r < 0 ? r : one_text(s, st, ret);
}

#define OF_PLACE                                                                                                       \
	"run JOIN run_setup ON run_setup.run = run.id WHERE build = ?1 AND job = ?2 AND verdict = 'ok' AND "           \
	"(?3 IS NULL OR machine IN (SELECT id FROM machine WHERE tbox_group = ?3)) "

int store_setups(struct store *s, int64_t build, const char *job, const char *tbox_group, struct db_setup **ret,
		 size_t *ret_n)
{
	struct db_setup *list = NULL;
	size_t n = 0, cap = 0;
	sqlite3_stmt *st;
	int r = stmt_get(s,
			 "SELECT setup.id, n, text FROM (SELECT run_setup.setup AS id, count(*) AS n, "
			 "max(run.id) AS last FROM " OF_PLACE
			 "GROUP BY run_setup.setup) p JOIN setup ON setup.id = p.id ORDER BY last DESC",
			 ARGS(INT(build), TEXT(job), TEXT(tbox_group)), &st);

	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) {
		GROW(list, n, cap);
		list[n++] = (struct db_setup){sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1),
					      column_text(st, 2)};
	}
	stmt_put(s, st);
	if (r < 0) {
		DB_LIST_RELEASE(list, n, db_setup_release);
		return r;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

static int boots_of_setup(struct store *s, int64_t build, const char *job, const char *tbox_group, int64_t setup,
			  struct strv *ret)
{
	sqlite3_stmt *st;
	int r = stmt_get(s, "SELECT DISTINCT boot FROM " OF_PLACE "AND run_setup.setup = ?4",
			 ARGS(INT(build), TEXT(job), TEXT(tbox_group), INT(setup)), &st);

	if (r < 0)
		return r;
	while ((r = stmt_step(s, st)) > 0) {
		_cleanup_free_ char *boot = column_text(st, 0);

		strv_add(ret, boot);
	}
	stmt_put(s, st);
	return r;
}

int store_foreign_boots(struct store *s, int64_t build, const char *job, const char *tbox_group, const char *text,
			struct strv *ret)
{
	struct db_setup *list = NULL;
	size_t n = 0;
	int r = store_setups(s, build, job, tbox_group, &list, &n);

	for (size_t i = 0; r >= 0 && i < n; i++)
		if (setup_differs(list[i].text, text, SETUP_COMPILER))
			r = boots_of_setup(s, build, job, tbox_group, list[i].id, ret);
	DB_LIST_RELEASE(list, n, db_setup_release);
	return MIN(r, 0);
}
