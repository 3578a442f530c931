/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mean and variance that come one by one: the digits are there where a sum of squares has none left. */
#include "lib/spread.h"
#include "tests/tap.h"

int main(void)
{
	struct spread none = {0}, one = {0}, far = {0}, tiny = {0};

	ok(isnan(spread_variance(&none)), "of nothing there is none");
	spread_add(&one, 42);
	ok(one.mean == 42 && spread_variance(&one) == 0, "of one number it is 0");
	for (int i = 1; i <= 4; i++)
		spread_add(&far, 1e15 + i);     /* squares of these differ by less than a double can hold */
	is_near(far.mean, 1e15 + 2.5, 0.2, "the mean of large numbers");
	is_near(spread_variance(&far), 1.25, 0.05, "their variance");
	for (int i = 0; i < 1000; i++)
		spread_add(&tiny, 1 + (i % 2 ? 1e-7 : -1e-7));
	is_near(spread_variance(&tiny), 1e-14, 1e-20, "a spread of a ten-millionth");
	return tap_done();
}
