#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the bounds of chance.py against the exact distributions.

The sums use integers and fractions, without rounding.
"""
import fractions
import math
import random
import unittest

import chance
import harness


def tail(n, share, k):
    """The probability of k or more."""
    share = fractions.Fraction(share)
    return sum(math.comb(n, i) * share ** i * (1 - share) ** (n - i) for i in range(k, n + 1))


class Most(unittest.TestCase):
    def test_is_the_first_that_chance_does_not_pass(self):
        for n, share in ((1, 0.5), (10, 0.01), (50, 0.5), (300, 0.02), (300, 0.9)):
            with self.subTest(n=n, share=share):
                k = chance.most(n, share)
                self.assertLess(tail(n, share, k + 1), chance.LIMIT)
                self.assertGreaterEqual(tail(n, share, k), chance.LIMIT)

    def test_of_what_always_and_never_happens(self):
        self.assertEqual((chance.most(7, 0), chance.most(7, 1)), (0, 7))
        self.assertEqual((chance.least(7, 0), chance.least(7, 1)), (0, 7))


class Least(unittest.TestCase):
    def test_is_the_last_that_chance_does_not_pass(self):
        for n, share in ((50, 0.5), (300, 0.1), (300, 0.98)):
            with self.subTest(n=n, share=share):
                k = chance.least(n, share)
                self.assertLess(1 - tail(n, share, k), chance.LIMIT)
                self.assertGreaterEqual(1 - tail(n, share, k + 1), chance.LIMIT)


class Enough(unittest.TestCase):
    def test_are_at_most_the_bound_from_there_on(self):
        for usual, bound in ((0.001, 0.05), (0.1, 0.5), (0.5, 0.75)):
            least = chance.enough(usual, bound)
            for n in range(least, least + 40):
                with self.subTest(usual=usual, bound=bound, n=n):
                    self.assertLess(tail(n, usual, math.floor(bound * n) + 1), chance.LIMIT)
            # It is no more than twice what is needed.
            self.assertGreater(tail(least // 2, usual, math.floor(bound * (least // 2)) + 1), chance.LIMIT)


class Rare(unittest.TestCase):
    def test_is_what_few_of_enough_samples_are(self):
        n = chance.enough(0.001, 0.01)
        self.assertTrue(chance.is_rare(math.floor(0.01 * n), n, 0.001, 0.01))
        self.assertFalse(chance.is_rare(math.floor(0.01 * n) + 1, n, 0.001, 0.01))

    def test_is_not_known_of_too_few(self):
        n = chance.enough(0.001, 0.01) - 1
        for found in 0, n:
            self.assertRaisesRegex(AssertionError, f"{n} samples", chance.is_rare, found, n, 0.001, 0.01)


class Events(unittest.TestCase):
    def test_are_those_of_poisson(self):
        for expected in (0.5, 7, 400):
            with self.subTest(expected=expected):
                low, high = chance.events(expected)
                below = math.fsum(math.exp(-expected + i * math.log(expected) - math.lgamma(i + 1)) for i in range(low))
                above = math.fsum(math.exp(-expected + i * math.log(expected) - math.lgamma(i + 1))
                                  for i in range(high + 1, high + 300))
                self.assertLess(below, chance.LIMIT)
                self.assertLess(above, chance.LIMIT)
                self.assertLess(high, expected + 6 * math.sqrt(expected) + 12)
                self.assertGreater(low, expected - 6 * math.sqrt(expected) - 1)


class Sigmas(unittest.TestCase):
    def test_hold_what_is_drawn(self):
        draw = random.Random(1)
        for _ in range(1000):
            self.assertLess(abs(sum(draw.random() for _ in range(48)) - 24), chance.SIGMAS * 2)


if __name__ == "__main__":
    harness.run_tests()
