// SPDX-License-Identifier: Apache-2.0
#include "elf/loader_level.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

int loader_level_of_path(const char *path)
{
	static const char directory[] = "/glibc-hwcaps/x86-64-v";
	const char *at = strstr(path, directory);

	if (!at)
		return INT_MAX;
	at += strlen(directory);
	return isdigit((unsigned char)at[0]) && at[1] == '/' ? at[0] - '0' : INT_MAX;
}

/* By some of what each level has added (the psABI lists all): CPUs that have these have the rest. */
int loader_level_of_cpu(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt"))
		return 1;
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi2") ||
	    !__builtin_cpu_supports("fma"))
		return 2;
	if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
	    !__builtin_cpu_supports("avx512vl"))
		return 3;
	return 4;
}
