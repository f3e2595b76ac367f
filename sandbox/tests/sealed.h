/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_TESTS_SEALED_H
#define DP_SANDBOX_TESTS_SEALED_H

#include <fcntl.h>
#include <stdbool.h>

/* Whether nobody can change a file any more. */
static inline bool is_sealed(int file)
{
	const int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;

	return (fcntl(file, F_GET_SEALS) & all) == all;
}

#endif
