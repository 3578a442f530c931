/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table.h - one table, three forms: for the terminal (libsmartcols), CSV and JSON, all from the same cells.
 *
 *	struct table t = {0};
 *	table_column(&t, "commit", false);
 *	table_column(&t, "boots", true);           right-aligned in the terminal
 *	table_text(&t, 0, oid);                    starts no row by itself: table_row() does
 *	...
 *	table_print(&t, TABLE_TERM, stdout);
 *	table_release(&t);
 *
 * Each form goes out by lib/escape.h: CSV is exact but for control characters, bytes that are no UTF-8 and cells that
 * look like formulas (buf_add_csv()); on a terminal what is invisible there is shown as \xNN, too.
 *
 * JSON is one array of objects, {"commit": "...", "boots": 6}; cells never set are null there and empty elsewhere.
 */
#ifndef KPB_LIB_TABLE_H
#define KPB_LIB_TABLE_H
#include "lib/buf.h"

enum table_form { TABLE_TERM, TABLE_CSV, TABLE_JSON };

struct table_cell { char *text; enum { CELL_NONE, CELL_TEXT, CELL_NUMBER } kind; };
struct table_column { char *name; bool right; };
struct table {
	struct table_column *col; size_t n_cols, cap_cols;
	struct table_cell *cell; size_t n_rows, cap_cells; /* row-major */
};

void table_column(struct table *t, const char *name, bool right);
void table_row(struct table *t);                                /* starts a row */
void table_text(struct table *t, size_t col, const char *s);    /* NULL leaves the cell unset */
void table_int(struct table *t, size_t col, int64_t v);
void table_num(struct table *t, size_t col, double v);          /* %.10g; NaN and infinities leave the cell unset */
/* Fixed digits after the point; as table_num() from 1e15 on. */
void table_numf(struct table *t, size_t col, double v, int digits);
int table_print(const struct table *t, enum table_form form, FILE *out);
void table_release(struct table *t);
#define _cleanup_table_ _cleanup_(table_release)

#endif
