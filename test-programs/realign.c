// SPDX-License-Identifier: Apache-2.0
#include <alloca.h>
#include <immintrin.h>
#include <string.h>

#include "oracle.h"
#include "scenario.h"

/*
 * AVX locals need an alignment of 32 bytes, more than the ABI's 16: the prologue realigns the
 * stack.
 */
__attribute__((noinline, target("avx2"))) static int with_vectors(int n)
{
	volatile __m256i a = _mm256_set1_epi32(n);
	__m256i b;

	if (n > 0)
		a = _mm256_set1_epi32(with_vectors(n - 1));
	else
		oracle_check();
	b = _mm256_add_epi32(a, a);
	return _mm256_extract_epi32(b, 3);
}

/*
 * Realigned and of variable size, with arguments on the stack: the frame is addressed through a
 * register (DRAP), and the CFA is in memory.
 */
__attribute__((noinline, target("avx2"))) static int with_both(int n, int a, int b, int c, int d,
							       int e, int f, int g)
{
	_Alignas(64) volatile char aligned[64];
	char *space = alloca((size_t)n + 1);
	volatile __m256i v = _mm256_set1_epi32(a + b + c + d + e + f + g);

	memset(space, n, (size_t)n + 1);
	aligned[0] = space[n];
	if (n > 0)
		aligned[1] = (char)with_both(n - 1, b, c, d, e, f, g, a);
	else
		oracle_check();
	return aligned[0] + _mm256_extract_epi32(v, 0) + g;
}

void scenario_realign(void)
{
	if (!__builtin_cpu_supports("avx2"))
		return;
	for (int i = 0; i < 10; i++) {
		with_vectors(9);
		with_both(9, 1, 2, 3, 4, 5, 6, 7);
	}
}
