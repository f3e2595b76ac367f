// SPDX-License-Identifier: Apache-2.0
/* A thread-local variable that is not alone in its block, and where it is: for test_tls.c. */
#include <stdint.h>

#ifndef MODEL
#define MODEL
#endif

extern __thread uint64_t tls_others[OTHERS];
extern __thread uint64_t tls_variable MODEL;
extern __thread uint64_t tls_last;

__thread uint64_t tls_others[OTHERS] = { 1 };
__thread uint64_t tls_variable MODEL = 2;
__thread uint64_t tls_last = 3;

const uint64_t *tls_address(void);
uint64_t tls_before(void);
uint64_t tls_after(void);

/* The others' slots are before and behind that of the variable. */
uint64_t tls_before(void)
{
	return tls_others[0];
}

const uint64_t *tls_address(void)
{
	return &tls_variable;
}

uint64_t tls_after(void)
{
	return tls_last;
}
