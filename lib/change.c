/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/change.h"

#define MANY 1e5                /* from there on in powers of ten, as in LKP's tables */

bool change_no_base(double a, double b)
{
	return fabs(a) < CHANGE_DUST * fabs(b) || (a == 0 && b != 0);
}

double change_relative(double a, double b)
{
	if (!isfinite(a) || !isfinite(b))
		return NAN;
	if (a == b)
		return 0;
	if (change_no_base(a, b))
		return b > a ? INFINITY : -INFINITY;
	return isfinite(b - a) ? (b - a) / fabs(a) : b / fabs(a) - copysign(1, a);
}

/* More digits where fewer would round it to nothing. */
static void add_fixed(struct buf *out, double v, int digits, bool sign)
{
	double least = 0.5 * pow(10, -digits);

	v = v == 0 ? 0 : v;     /* no "-0.00" */
	if (fabs(v) >= MANY - least)
		buf_addf(out, sign ? "%+.2g" : "%.2g", v);
	else if (v != 0 && fabs(v) < least)
		buf_addf(out, sign ? "%+.1g" : "%.1g", v);
	else
		buf_addf(out, sign ? "%+.*f" : "%.*f", digits, v);
}

void add_percent(struct buf *out, double relative)
{
	double v = fabs(100 * relative);

	if (!isfinite(v))
		return;
	add_fixed(out, v, v >= 0.995 || v == 0 ? 1 : v >= 0.1 ? 2 : 3, false);
	buf_addc(out, '%');
}

void add_signed_percent(struct buf *out, double relative)
{
	if (isinf(relative))
		buf_adds(out, "from 0");
	else if (isfinite(100 * relative))
		add_fixed(out, 100 * relative, fabs(relative) >= 0.001 ? 2 : 3, true);
	if (isfinite(100 * relative))
		buf_addc(out, '%');
}

void add_signed_points(struct buf *out, double points)
{
	if (isfinite(points))
		add_fixed(out, points, 2, true);
}

void add_number(struct buf *out, double v)
{
	if (isfinite(v))
		buf_addf(out, fabs(v) >= 1e5 && fabs(v) < 1e15 ? "%.0f" : "%.6g", v == 0 ? 0 : v);
}

void add_change(struct buf *out, double a, double b)
{
	if (!change_no_base(a, b) || !isfinite(a) || !isfinite(b)) {
		add_signed_percent(out, change_relative(a, b));
		return;
	}
	buf_adds(out, "from ");
	add_number(out, fabs(a) < CHANGE_DUST * fabs(b) ? 0 : a);
	buf_adds(out, " to ");
	add_number(out, b);
}
