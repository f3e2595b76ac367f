# SPDX-License-Identifier: Apache-2.0
"""Bounds on chance, for tests that count samples.

A correct program exceeds each bound with a probability below LIMIT. A run of all tests checks some
hundred bounds, so at most one run in a million fails without a reason.
"""
import math
import statistics

LIMIT = 1e-6 / 100

# For a sum of many independent values: the number of standard deviations, on both sides.
SIGMAS = statistics.NormalDist().inv_cdf(1 - LIMIT / 2)


def most(n, share):
    """The most of n samples that may be of a kind that each sample has with probability `share`."""
    if share <= 0 or share >= 1:
        return n if share >= 1 else 0
    # Sums up the binomial distribution from its upper end.
    chance, k = 0.0, n
    while True:
        chance += math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) +
                           k * math.log(share) + (n - k) * math.log1p(-share))
        if chance >= LIMIT:
            return k
        k -= 1


def least(n, share):
    """The fewest of n samples, likewise."""
    return n - most(n, 1 - share)


def enough(usual, bound):
    """From how many samples on only chance below LIMIT makes more than the share `bound` of a kind that each
    sample has with a probability of up to `usual`: Chernoff's bound."""
    divergence = bound * math.log(bound / usual) + (1 - bound) * math.log((1 - bound) / (1 - usual))
    return math.ceil(-math.log(LIMIT) / divergence)


def is_rare(found, n, usual, bound):
    """Are at most the share `bound` of n samples of a kind that each sample has with a probability of up to `usual`?
    Too few samples to tell are a failure."""
    assert n >= enough(usual, bound), f"{n} samples are too few to tell"
    return found <= bound * n


def events(expected):
    """The fewest and the most independent events, of which `expected` are expected (Poisson)."""
    n = 1000 * max(1, math.ceil(expected))  # trials, each with a small probability
    return least(n, expected / n), most(n, expected / n)
