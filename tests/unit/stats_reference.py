#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers for test-stats.c, computed another way: scipy's distributions, enumeration, quadrature and root finding.

Reads "NAME number..." lines, writes one line of numbers for each."""
import itertools
import sys

import numpy as np
from scipy import integrate, optimize, stats


def t_p(t, df):
    return [2 * stats.t.sf(abs(t), df) if np.isfinite(df) else 2 * stats.norm.sf(abs(t))]


def t_crit(conf, df):
    return [stats.t.ppf(.5 + conf / 2, df) if np.isfinite(df) else stats.norm.ppf(.5 + conf / 2)]


def rank(na, *v):
    na, r = int(na), stats.rankdata(v)
    if len(v) > 40:
        return [stats.mannwhitneyu(v[:na], v[na:], method="asymptotic", use_continuity=True).pvalue]
    mid, seen = na * (len(v) + 1) / 2, sum(r[:na])
    sums = [sum(c) for c in itertools.combinations(r, na)]
    return [np.mean([abs(s - mid) >= abs(seen - mid) - 1e-9 for s in sums])]


def fisher(hits_a, a, hits_b, b):
    return [stats.fisher_exact([[hits_a, a - hits_a], [hits_b, b - hits_b]])[1]]


def bh(*p):
    p = np.array(p)
    order = np.argsort(p)
    q = p[order] * len(p) / np.arange(1, len(p) + 1)
    q = np.minimum.accumulate(q[::-1])[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum(q, 1)
    return out


def log_f(df, df0):
    return stats.f(df, df0) if np.isfinite(df0) else stats.f(df, 1e10)


def winsorised(df, df0, low=.05, high=.1):
    d = log_f(df, df0)
    a, b = np.log(d.ppf(low)), np.log(d.ppf(1 - high))

    def part(f):
        inner = integrate.quad(lambda z: f(z) * d.pdf(np.exp(z)) * np.exp(z), a, b, epsabs=1e-12, limit=200)[0]
        return inner + low * f(a) + high * f(b)
    mean = part(lambda z: z)
    return mean, part(lambda z: z * z) - mean ** 2


def prior(df, *s2):
    """The winsorised fit of Phipson et al. 2016; then what each metric may borrow."""
    s2 = np.array(s2)
    z = np.sort(np.log(s2))
    n = len(z)
    lo, hi = int(.05 * n), n - 1 - int(.1 * n)
    z[:lo], z[hi + 1:] = z[lo], z[hi]
    var = np.var(z, ddof=1)
    if var <= winsorised(df, np.inf)[1]:
        df0 = np.inf
    else:
        df0 = np.exp(optimize.brentq(lambda x: winsorised(df, np.exp(x))[1] - var, np.log(.01), np.log(1e4)))
    s0 = np.exp(np.mean(z) - winsorised(df, df0)[0])
    tail = log_f(df, df0).sf(s2 / s0)
    cap = min(df0, 1e4)
    out = np.full(n, df0)
    order = [i for i in np.argsort(-s2) if s2[i] > s0]
    if order and tail[order[0]] < .5 / n:
        worst, least = np.log(.5) / np.log(max(tail[order[0]], 1e-300)) * cap, 0
        for k, i in enumerate(order):
            w = tail[i] * n / (k + .5)
            if w >= 1:
                break
            least = max(least, w * cap + (1 - w) * worst)
            out[i] = least
    return [s0, df0, *out]


for line in sys.stdin:
    name, *rest = line.split()
    print(*("%.17g" % x for x in globals()[name](*map(float, rest))))
