# SPDX-License-Identifier: Apache-2.0
"""How far chance goes, where samples are counted.

A program that is right exceeds each bound with a probability below LIMIT. Some hundred such bounds
are tried in a run of all tests, so that at most one run of a million fails for no reason.
"""
import math
import statistics

LIMIT = 1e-6 / 100

# Of a sum of many independent values: so many standard deviations, to both sides.
SIGMAS = statistics.NormalDist().inv_cdf(1 - LIMIT / 2)


def most(n, share):
    """So many of n samples, at most, are of a kind of which each one is with a probability of `share`."""
    if share <= 0 or share >= 1:
        return n if share >= 1 else 0
    # The binomial distribution, summed up from its upper end.
    chance, k = 0.0, n
    while True:
        chance += math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) +
                           k * math.log(share) + (n - k) * math.log1p(-share))
        if chance >= LIMIT:
            return k
        k -= 1


def least(n, share):
    """And so many at least."""
    return n - most(n, 1 - share)


def events(expected):
    """How many there may be of independent events, of which so many are expected (Poisson): at least, at most."""
    n = 1000 * max(1, math.ceil(expected))  # chances, of which each is hardly ever taken
    return least(n, expected / n), most(n, expected / n)
