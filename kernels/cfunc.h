/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfunc.h - finds the function definitions in C source text, well enough to map changed lines to functions: comments,
 * literals and preprocessor lines are skipped, braces counted, a closing brace in the first column always ends a
 * function (kernel style), so that #ifdef branches with unequal braces do no lasting harm.
 *
 * Names are those of the symbols: SYSCALL_DEFINE3(socket, ...) is "__do_sys_socket", BPF_CALL_2(bpf_x, ...) is "bpf_x".
 */
#ifndef KPB_KERNELS_CFUNC_H
#define KPB_KERNELS_CFUNC_H
#include "lib/base.h"

struct cfunc {
	char *name;
	uint32_t first, last;           /* lines from 1: from its return type to its closing brace */
	size_t body, body_len;          /* offsets in the text, of what stands between the braces */
	bool is_static, is_inline;      /* as written; the compiler inlines others, too */
};
struct cfuncs { struct cfunc *v; size_t n, cap; };
#define CFUNCS_MAX 20000        /* functions of a text; the rest of it is not looked at */
/* The text may hold anything. Functions come in order and do not overlap. */
void cfuncs_find(const char *text, size_t len, struct cfuncs *ret);
void cfuncs_release(struct cfuncs *f);
/* The function that has the line in it, NULL where it is outside of all. */
const struct cfunc *cfuncs_at(const struct cfuncs *f, uint32_t line);
/* True when the function's body calls name (an identifier followed by a parenthesis). */
bool cfunc_calls(const struct cfunc *f, const char *text, const char *name);

#endif
