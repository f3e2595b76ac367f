/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOG_TESTS_SAID_H
#define DP_LOG_TESTS_SAID_H

#include <criterion/criterion.h>
#include <stdio.h>

/* Returns what the function writes to stderr. The caller frees it. */
static inline char *said(void (*speak)(void))
{
	FILE *terminal = stderr;
	char *text = NULL;
	size_t size;

	stderr = open_memstream(&text, &size);
	cr_assert(stderr);
	speak();
	fclose(stderr);
	stderr = terminal;
	return text;
}

#endif
