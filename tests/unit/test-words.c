/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/words.h"
#include "tests/tap.h"

#define COLOURS(X) X(RED, "red") X(NO_COLOUR, "") X(DARK_BLUE, "dark-blue")
WORDS_ENUM(colour, COLOURS);
WORDS_DEFINE(colour, COLOURS, "colour");

int main(void)
{
	enum colour c = NO_COLOUR;

	is_str(colour_word(RED), "red", "the first word");
	is_str(colour_word(DARK_BLUE), "dark-blue", "the last word");
	is_str(colour_word((enum colour)3), "?", "a number behind the list has no word");
	is_str(colour_word((enum colour)-1), "?", "and none before it");
	is_int(colour_from("dark-blue", &c), 0, "a word is found");
	is_int(c, DARK_BLUE, "and is the right one");
	is_int(colour_from("", &c), 0, "an empty word can be in the list");
	is_int(c, NO_COLOUR, "and is the right one");
	c = RED;
	is_int(colour_from("green", &c), -EINVAL, "another word is refused");
	is_str(err_msg(), "'green' is no colour; there are: red, '', dark-blue", "by name, with the list");
	is_int(c, RED, "and leaves the result alone");
	is_int(colour_from(NULL, &c), -EINVAL, "no word is none");
	return tap_done();
}
