/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * change.h - what a change between two values is, and how it is written: the only place for either, so that tables,
 * mails, CSV and JSON say the same of one pair.
 *
 * A relative change is (b - a) / |a|: its sign is the direction in which the value went, also where a is negative.
 * Where the base is 0, or so small beside the other value that it is nothing but rounding (below CHANGE_DUST of it),
 * there is no relative change: it is infinite, with the sign of the direction, and what is written is the two values.
 */
#ifndef KPB_LIB_CHANGE_H
#define KPB_LIB_CHANGE_H
#include "lib/buf.h"

#define CHANGE_DUST 1e-9

/* True where a change to b cannot be told in parts of a. */
bool change_no_base(double a, double b);
/* Fraction of |a|, 0 for equal values, +-INFINITY without a base, NAN where a value is not finite. */
double change_relative(double a, double b);

/* "12.5%", "0.042%", "1.2e+07%" without a sign; nothing where it is not finite. relative: a fraction. */
void add_percent(struct buf *out, double relative);
/* "+12.50%", "-0.042%", "-0.0004%": never a rounded zero for what is none, never more than ten characters; "from 0"
 * where it is infinite, nothing where it is NAN. */
void add_signed_percent(struct buf *out, double relative);
/* The same for a change in points: "+1.25", "-0.0004". */
void add_signed_points(struct buf *out, double points);
/* A value: at most six significant digits, whole numbers below 1e15 in full; nothing where it is not finite. */
void add_number(struct buf *out, double v);
/* "+12.50%", or "from 0 to 5" where there is no base. */
void add_change(struct buf *out, double a, double b);

#endif
