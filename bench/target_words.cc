// SPDX-License-Identifier: Apache-2.0
// Typical work of C++ programs: small functions of the standard library.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include "bench/target.h"
}

// Makes up words, counts them, sorts them by count, and returns the first one.
unsigned int target_words(unsigned int x)
{
	std::map<std::string, unsigned int> counts;
	std::vector<std::pair<unsigned int, std::string>> sorted;

	for (int i = 0; i < 200; i++) {
		x = x * 1664525 + 1013904223;
		counts["word number " + std::to_string(x >> 25)]++;
	}
	for (const auto &[word, count] : counts)
		sorted.emplace_back(count, word);
	std::sort(sorted.begin(), sorted.end());
	return x + sorted.back().first + static_cast<unsigned int>(sorted.front().second.size());
}
