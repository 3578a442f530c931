/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * words.h - an enum and the words that stand for it in the database, in files and on the command line: one list makes
 * both, so that no state is ever compared as text.
 *
 * In a header:
 *	#define TASK_STATES(X) X(TASK_READY, "ready") X(TASK_RUNNING, "running") X(TASK_DONE, "done")
 *	WORDS_ENUM(task_state, TASK_STATES);
 * and in its .c file:
 *	WORDS_DEFINE(task_state, TASK_STATES, "task state");
 *
 * That declares enum task_state { TASK_READY, ... }, counting from 0 in the order of the list; task_state_words, its
 * table; and
 *	const char *task_state_word(enum task_state v)          "?" for a number out of the list
 *	int task_state_from(const char *word, enum task_state *ret)     0, or -EINVAL that names the word and the list
 */
#ifndef KPB_LIB_WORDS_H
#define KPB_LIB_WORDS_H
#include "lib/base.h"

struct words { const char *what; const char *const *word; int n; };
const char *words_text(const struct words *w, int v);
/* NULL is no word. ret_ untouched on failure. */
int words_find(const struct words *w, const char *word, int *ret);

#define WORDS_MEMBER_(id, word) id,
#define WORDS_TEXT_(id, word) word,
#define WORDS_ENUM(type, LIST)                                                                                         \
	enum type { LIST(WORDS_MEMBER_) };                                                                             \
	extern const struct words type##_words;                                                                        \
	const char *type##_word(enum type v);                                                                          \
	int type##_from(const char *word, enum type *ret)
#define WORDS_DEFINE(type, LIST, noun)                                                                                 \
	static const char *const type##_list[] = {LIST(WORDS_TEXT_)};                                                  \
	const struct words type##_words = {noun, type##_list, ARRAY_SIZE(type##_list)};                                \
	const char *type##_word(enum type v) { return words_text(&type##_words, (int)v); }                             \
	int type##_from(const char *word, enum type *ret)                                                              \
	{                                                                                                              \
		int v, r = words_find(&type##_words, word, &v);                                                        \
                                                                                                                       \
		if (r == 0)                                                                                            \
			*ret = (enum type)v;                                                                           \
		return r;                                                                                              \
	}                                                                                                              \
	_Static_assert(true, "a semicolon follows")

#endif
