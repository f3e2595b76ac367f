/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TESTS_SEALED_H
#define DP_SANDBOX_TESTS_SEALED_H

#include <fcntl.h>
#include <stdbool.h>

/* Whether nobody can write to a file, or change its size, any more. */
static inline bool is_sealed(int file)
{
	const int size = F_SEAL_SHRINK | F_SEAL_GROW;
	int seals = fcntl(file, F_GET_SEALS);

	return (seals & size) == size && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));
}

#endif
