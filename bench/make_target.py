#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C program with many functions for bench/target.c, with realistic stacks.

usage: make_target.py FUNCTIONS TABLE

A ring of functions that call each other, for deep stacks: frames of many sizes, and as many return
addresses as in stacks of real programs. And a forest of functions that call each other at random,
for profiles without a hot spot. The output is always the same.
"""
import random
import sys

LINKS = 64  # functions in the ring
TREES = 8192  # a power of two: choosing one takes no division

HEAD = """/* SPDX-License-Identifier: Apache-2.0 */
/* Written by bench/make_target.py. */
#include "bench/target.h"

#define NOINLINE __attribute__((noinline))
"""

LINK = """NOINLINE static unsigned int link_{i}(unsigned int depth, unsigned int x)
{{
	volatile unsigned int space[{size}];

	space[x % {size}] = x;
	x = depth == 0 ? target_work(x) : link_{next}(depth - 1, x + {i});
	return x ^ space[x % {size}];
}}
"""

TREE = """unsigned int tree_{i}(unsigned int depth, unsigned int x)
{{
	volatile unsigned int space[{size}];

	x = x * {odd}U + {i};
	space[{last}] = x;
	if (depth > 0)
		x = trees[x >> 8 & {mask}](depth - 1, x);
	return x ^ space[{last}];
}}
"""


def write_functions(file, pick):
    file.write(HEAD)
    file.writelines(f"static unsigned int link_{i}(unsigned int depth, unsigned int x);\n"
                    for i in range(LINKS))
    for i in range(LINKS):
        file.write(LINK.format(i=i, next=(i + 1) % LINKS, size=pick.randint(2, 24)))
    file.write("unsigned int target_chain(unsigned int depth, unsigned int x)\n"
               "{\n\treturn link_0(depth, x);\n}\n"
               "extern unsigned int (*const trees[])(unsigned int, unsigned int);\n")
    for i in range(TREES):
        size = pick.randint(1, 24)
        file.write(TREE.format(i=i, size=size, last=size - 1, mask=TREES - 1,
                               odd=2 * pick.randint(1 << 16, 1 << 20) + 1))
    file.write("unsigned int target_forest(unsigned int depth, unsigned int x)\n"
               f"{{\n\treturn trees[x % {TREES}](depth, x);\n}}\n")


def write_table(file):
    """In a separate file, because gcc takes minutes for functions that it sees in a table."""
    file.write("/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by bench/make_target.py. */\n")
    file.writelines(f"unsigned int tree_{i}(unsigned int, unsigned int);\n" for i in range(TREES))
    file.write("unsigned int (*const trees[])(unsigned int, unsigned int) = {\n")
    file.writelines(f"\ttree_{i},\n" for i in range(TREES))
    file.write("};\n")


def main():
    with open(sys.argv[1], "w") as functions, open(sys.argv[2], "w") as table:
        write_functions(functions, random.Random(1))
        write_table(table)


if __name__ == "__main__":
    main()
