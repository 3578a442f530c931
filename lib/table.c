/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/table.h"

#include <json-c/json.h>
#include <libsmartcols/libsmartcols.h>

void table_column(struct table *t, const char *name, bool right)
{
	GROW(t->col, t->n_cols, t->cap_cols);
	t->col[t->n_cols++] = (struct table_column){xstrdup(name), right};
}

void table_row(struct table *t)
{
	size_t need = (t->n_rows + 1) * t->n_cols;

	if (need > t->cap_cells) {
		t->cap_cells = MAX(2 * t->cap_cells, need);
		t->cell = xrealloc_array(t->cell, t->cap_cells, sizeof(*t->cell));
	}
	memset(t->cell + t->n_rows * t->n_cols, 0, t->n_cols * sizeof(*t->cell));
	t->n_rows++;
}

static void set_cell(struct table *t, size_t col, char *text, int kind)
{
	struct table_cell *c = &t->cell[(t->n_rows - 1) * t->n_cols + col];

	free(c->text);
	c->text = text;
	c->kind = kind;
}

void table_text(struct table *t, size_t col, const char *s)
{
	if (s)
		set_cell(t, col, xstrdup(s), CELL_TEXT);
}

void table_int(struct table *t, size_t col, int64_t v) { set_cell(t, col, xasprintf("%" PRId64, v), CELL_NUMBER); }

void table_num(struct table *t, size_t col, double v)
{
	if (isfinite(v))
		set_cell(t, col, xasprintf("%.10g", v), CELL_NUMBER);
}

void table_numf(struct table *t, size_t col, double v, int digits)
{
	if (isfinite(v) && fabs(v) < 1e15)
		set_cell(t, col, xasprintf("%.*f", digits, v), CELL_NUMBER);
	else
		table_num(t, col, v);
}

static const struct table_cell *cell(const struct table *t, size_t row, size_t col)
{
	return &t->cell[row * t->n_cols + col];
}

static int print_csv(const struct table *t, FILE *out)
{
	_cleanup_buf_ struct buf b = {0};

	for (size_t c = 0; c < t->n_cols; c++) {
		buf_adds(&b, c ? "," : "");
		buf_add_csv(&b, t->col[c].name);
	}
	buf_addc(&b, '\n');
	for (size_t r = 0; r < t->n_rows; r++) {
		for (size_t c = 0; c < t->n_cols; c++) {
			buf_adds(&b, c ? "," : "");
			if (cell(t, r, c)->kind == CELL_NUMBER)
				buf_adds(&b, cell(t, r, c)->text);
			else if (cell(t, r, c)->text)
				buf_add_csv(&b, cell(t, r, c)->text);
		}
		buf_addc(&b, '\n');
	}
	if (isatty(fileno(out)))
		term_puts(out, buf_str(&b));
	else
		fwrite(buf_str(&b), 1, b.len, out);
	return 0;
}

static int print_json(const struct table *t, FILE *out)
{
	struct json_object *list = json_object_new_array();

	for (size_t r = 0; r < t->n_rows; r++) {
		struct json_object *o = json_object_new_object();

		for (size_t c = 0; c < t->n_cols; c++) {
			const struct table_cell *x = cell(t, r, c);
			struct json_object *v = NULL;

			if (x->kind == CELL_TEXT)
				v = json_text(x->text);
			else if (x->kind == CELL_NUMBER)
				v = json_object_new_double_s(strtod(x->text, NULL), x->text);
			json_object_object_add(o, t->col[c].name, v);
		}
		json_object_array_add(list, o);
	}
	json_print(out, list, true);
	json_object_put(list);
	return 0;
}

static int print_term(const struct table *t, FILE *out)
{
	struct libscols_table *s;
	bool tty = isatty(fileno(out));

	scols_init_debug(0);
	s = scols_new_table();
	if (!s)
		return err_set(-ENOMEM, "no memory for a table");
	for (size_t c = 0; c < t->n_cols; c++) {
		_cleanup_free_ char *safe = term_safe(t->col[c].name);

		scols_table_new_column(s, safe, 0,
				       (t->col[c].right ? SCOLS_FL_RIGHT : 0) |
					       (tty && c + 1 == t->n_cols ? SCOLS_FL_TRUNC : 0));
	}
	for (size_t r = 0; r < t->n_rows; r++) {
		struct libscols_line *l = scols_table_new_line(s, NULL);

		for (size_t c = 0; c < t->n_cols; c++)
			if (cell(t, r, c)->text) {
				_cleanup_free_ char *safe = term_safe(cell(t, r, c)->text);

				scols_line_set_data(l, c, safe);
			}
	}
	scols_table_set_stream(s, out);
	scols_table_enable_nowrap(s, 1);
	scols_table_enable_noencoding(s, 1); /* made safe already */
	if (!tty)
		scols_table_set_termforce(s, SCOLS_TERMFORCE_NEVER);
	scols_print_table(s);
	scols_unref_table(s);
	return 0;
}

int table_print(const struct table *t, enum table_form form, FILE *out)
{
	int r = form == TABLE_CSV ? print_csv(t, out) : form == TABLE_JSON ? print_json(t, out) : print_term(t, out);

	if (r == 0 && (fflush(out) != 0 || ferror(out)))
		r = err_set(-EIO, "cannot write the output: %s", strerror(errno));
	return r;
}

void table_release(struct table *t)
{
	for (size_t i = 0; i < t->n_rows * t->n_cols; i++)
		free(t->cell[i].text);
	for (size_t i = 0; i < t->n_cols; i++)
		free(t->col[i].name);
	free(t->cell);
	free(t->col);
	*t = (struct table){0};
}
