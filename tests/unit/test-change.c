/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Odd pairs of values: what their change is, and how it is written. */
#include "lib/change.h"
#include "tests/tap.h"

static void pairs(void)
{
	static const struct { double a, b, relative; const char *text; } t[] = {
		{100, 110, .1, "+10.00%"}, {100, 90, -.1, "-10.00%"}, {100, 100, 0, "+0.000%"}, {0, 0, 0, "+0.000%"},
		{-40, -35, .125, "+12.50%"}, {-40, -45, -.125, "-12.50%"}, {-40, 40, 2, "+200.00%"},
		{40, -40, -2, "-200.00%"},
		{0, 5, INFINITY, "from 0 to 5"}, {-0.0, -5, -INFINITY, "from 0 to -5"},
		{1.5e-16, 1003, INFINITY, "from 0 to 1003"},
		{-1.5e-16, 1003, INFINITY, "from 0 to 1003"}, {5, 0, -1, "-100.00%"}, {1, 2000000, 1999999, "+2e+08%"},
		{9990, 9992, 2 / 9990., "+0.020%"}, {1e9, 1e9 + 4, 4e-9, "+4e-07%"}, {1e9, 1e9 - 4, -4e-9, "-4e-07%"},
		{1e18, 1.1e18, .1, "+10.00%"}, {1e308, -1e308, -2, "-200.00%"}, {-1e308, 1.5e308, 2.5, "+250.00%"},
		{5e-324, 1e-323, 1, "+100.00%"}, {0, 5e-324, INFINITY, "from 0 to 4.94066e-324"},
		{0, 1e300, INFINITY, "from 0 to 1e+300"},
		{NAN, 1, NAN, ""}, {1, NAN, NAN, ""}, {1, INFINITY, NAN, ""}, {-INFINITY, 0, NAN, ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_buf_ struct buf b = {0};
		double x = change_relative(t[i].a, t[i].b);

		ok((isnan(x) && isnan(t[i].relative)) || x == t[i].relative ||
			   fabs(x - t[i].relative) <= 1e-7 * fabs(x),
		   "%g -> %g is %g", t[i].a, t[i].b, t[i].relative);
		add_change(&b, t[i].a, t[i].b);
		is_str(buf_str(&b), t[i].text, "%g -> %g", t[i].a, t[i].b);
	}
}

/* Whatever the pair: one sign, a few characters, and no zero for what is none. */
static void always(void)
{
	static const double v[] = {0, -0.0, 5e-324, 1e-300, 1e-17, 1e-9, .001, .999, 1, 1.001, 99999, 1e8, 4294967296,
				   1.8e19, 1e100,
				   1.7e308};
	int wrong_sign = 0, wide = 0, rounded = 0, disagree = 0;

	for (size_t k = 0; k < 4 * ARRAY_SIZE(v) * ARRAY_SIZE(v); k++) {
		double a = v[k / 4 % ARRAY_SIZE(v)] * (k & 1 ? -1 : 1), b = v[k / 4 / ARRAY_SIZE(v)] * (k & 2 ? -1 : 1);
		double rel = change_relative(a, b);
		_cleanup_buf_ struct buf s = {0}, u = {0};

		add_signed_percent(&s, rel);
		add_percent(&u, rel);
		wrong_sign += (rel > 0) != (b > a) || (rel < 0) != (b < a);
		wide += s.len > 10 || u.len > 10;
		rounded += isfinite(rel) && rel != 0 && strtod(buf_str(&s), NULL) == 0;
		disagree += isfinite(rel) && (buf_str(&s)[0] == '-') != (rel < 0);
	}
	is_int(wrong_sign, 0, "the sign is the direction");
	is_int(wide, 0, "ten characters at most");
	is_int(rounded, 0, "no zero for a change");
	is_int(disagree, 0, "the text has the number's sign");
}

static void parts(void)
{
	_cleanup_buf_ struct buf b = {0};

	add_percent(&b, NAN);
	add_percent(&b, INFINITY);
	add_signed_percent(&b, NAN);
	add_signed_points(&b, INFINITY);
	add_number(&b, NAN);
	is_int((int64_t)b.len, 0, "nothing is written for what is no number");
	add_percent(&b, -.0234);
	add_percent(&b, 0.00002);
	add_signed_points(&b, 1.25);
	add_signed_points(&b, -0.0004);
	add_number(&b, -0.0);
	is_str(buf_str(&b), "2.3%0.002%+1.25-0.00040", "the others");
}

int main(void)
{
	pairs();
	always();
	parts();
	return tap_done();
}
