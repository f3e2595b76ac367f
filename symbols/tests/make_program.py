#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: make_program.py [-n UNITS] [-j JOBS] [-d DIRECTORY] OUTPUT [COMPILER [FLAG...]]

Builds a C++ program (default: of 60 units, by g++ -O2 -g). Each unit uses many templates of the
standard library, so the program is large and most of its code is inlined. `OUTPUT SECONDS` then
works for that long. Sources and objects are kept in DIRECTORY.
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import tempfile

UNIT = """
#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace part_N {
namespace {
struct point { int x, y; bool operator<(const point &o) const { return x < o.x || (x == o.x && y < o.y); } };
using value = std::variant<int, double, std::string, std::vector<int>>;

template <typename T, typename F> T fold(const std::vector<T> &items, T start, F f)
{
	for (const T &item : items)
		start = f(start, item);
	return start;
}

size_t weigh(const value &v)
{
	return std::visit([](const auto &x) -> size_t {
		if constexpr (std::is_arithmetic_v<std::decay_t<decltype(x)>>)
			return (size_t)x + N;
		else
			return x.size() * N;
	}, v);
}

size_t words(const std::string &text)
{
	static const std::regex word("([a-z]+)([0-9]*)");
	std::unordered_map<std::string, int> count;
	size_t sum = 0;
	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
		count[(*i)[1].str()] += (int)(*i)[2].length() + 1;
	for (const auto &[name, n] : count)
		sum += name.size() * (size_t)n;
	return sum;
}

size_t order(unsigned seed)
{
	std::mt19937 random(seed + N);
	std::vector<point> points(200);
	std::map<point, std::string> names;
	std::set<std::string> sorted;
	for (point &p : points)
		p = { (int)(random() % 50), (int)(random() % 50) };
	std::sort(points.begin(), points.end());
	std::stable_sort(points.begin(), points.end(), [](const point &a, const point &b) { return a.y < b.y; });
	for (const point &p : points) {
		std::ostringstream out;
		out << p.x << ',' << p.y;
		names[p] = out.str();
		sorted.insert(out.str());
	}
	return fold(points, point{}, [&](point a, point b) { return point{ a.x + b.x, a.y ^ b.y + (int)names.count(b) }; }).x + sorted.size();
}
}

size_t work(unsigned seed)
{
	std::vector<value> values;
	std::function<size_t(unsigned)> f = [&](unsigned n) -> size_t { return n < 2 ? n : f(n - 1) + f(n - 2) + values.size(); };
	std::string text;
	for (unsigned i = 0; i < 20; i++) {
		values.emplace_back((int)i);
		values.emplace_back(i * 0.5);
		values.emplace_back(std::string(i, 'x'));
		values.emplace_back(std::vector<int>(i, N));
		text += "abc" + std::to_string(i * seed) + " de" + std::to_string(i % 3) + ' ';
	}
	std::optional<size_t> best;
	for (const value &v : values)
		if (!best || weigh(v) > *best)
			best = weigh(v);
	return words(text) + order(seed) + *best + f(10);
}
}
"""

MAIN = """
#include <cstdio>
#include <cstdlib>
#include <ctime>
DECLARATIONS
int main(int argc, char **argv)
{
	time_t end = time(nullptr) + (argc > 1 ? atoi(argv[1]) : 0);
	size_t sum = 0;
	unsigned seed = 1;
	do {
CALLS
		seed++;
	} while (time(nullptr) < end);
	printf("%zu\\n", sum & 1);
}
"""


def make(directory, output, n, jobs, compiler):
    numbers = range(n)

    def compile_unit(name, text):
        path = os.path.join(directory, name + ".cpp")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run([*compiler, "-std=c++17", "-c", "-o", path + ".o", path], check=True)
        return path + ".o"

    text = MAIN.replace("DECLARATIONS", "\n".join(
        f"namespace part_{i} {{ size_t work(unsigned); }}" for i in numbers))
    text = text.replace("CALLS", "\n".join(f"\t\tsum += part_{i}::work(seed);" for i in numbers))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        objects = [pool.submit(compile_unit, "main", text)]
        for i in numbers:
            objects.append(pool.submit(compile_unit, f"part_{i}",
                                       re.sub(r"\bN\b", str(i + 1), UNIT)
                                       .replace("part_N", f"part_{i}")))
        subprocess.run([*compiler, "-o", output, *(o.result() for o in objects)], check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=60)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("-d")
    parser.add_argument("output")
    parser.add_argument("compiler", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    compiler = options.compiler or ["g++", "-O2", "-g"]
    if options.d:
        make(options.d, options.output, options.n, options.j, compiler)
    else:
        with tempfile.TemporaryDirectory() as directory:
            make(directory, options.output, options.n, options.j, compiler)


if __name__ == "__main__":
    main()
