/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * failure.h - does one commit fail more often than another one? Sequential, valid at any stopping time. Pure.
 *
 * Boots in turns are blocks of one boot of each side. The measure is an e-value for two Bernoulli streams (Turner, Ly,
 * Gruenwald, "Generic E-variables for exact sequential k-sample tests that allow for optional stopping", 2024): the
 * product over blocks of
 *
 *	p_a(y_a) p_b(y_b) / (p_0(y_a) p_0(y_b)),	p_0 = (p_a + p_b) / 2
 *
 * with p_a, p_b the failure rates that the blocks before lead one to expect. Where both fail at the same rate, whatever
 * it is, its expectation is at most 1 at every look, so P(E >= 1/alpha ever) <= alpha. The rates expected begin at .05
 * and .95 with the weight of four boots: a commit that always fails beside one that never does takes 4 boots a side at
 * alpha .01, 6 at .001.
 */
#ifndef KPB_BISECT_FAILURE_H
#define KPB_BISECT_FAILURE_H
#include "bisect/verdict.h"

struct failure_result {
	enum verdict verdict;           /* DIFFERENT: b fails more often than a */
	size_t fails_a, fails_b;        /* of all boots given */
	double p;                       /* sequentially valid p-value of "not more often" */
	size_t more_boots;              /* MORE: boots a side to add next */
	const char *why;                /* static */
};
/* a, b: whether each boot failed, in the order of the boots; the last ones of the longer side are not in the test.
 * max_boots: a side; then SAME. */
void verdict_fails(double alpha, size_t max_boots, const bool *a, size_t na, const bool *b, size_t nb,
		   struct failure_result *ret);

#endif
