// SPDX-License-Identifier: Apache-2.0
/* A thread-local variable that is not alone in its block, and where it is: for test_tls.c. */
#include <stdint.h>

#ifndef MODEL
#define MODEL
#endif

#define HIDDEN __attribute__((visibility("hidden")))
#define DYNAMIC __attribute__((tls_model("global-dynamic")))

extern __thread uint64_t tls_others[OTHERS];
extern __thread uint64_t tls_variable MODEL;

__thread uint64_t tls_others[OTHERS] = { 1 };
__thread uint64_t tls_variable MODEL = 2;
static __thread uint64_t before DYNAMIC = 3;
static __thread uint64_t after DYNAMIC = 4;

#ifdef OWN
/* What the code uses has no name for the dynamic linker. */
extern __thread uint64_t tls_own __attribute__((alias("tls_variable"))) HIDDEN DYNAMIC;
#else
#define tls_own tls_variable
#endif

const uint64_t *tls_address(void);
uint64_t tls_member(void);
uint64_t tls_before(void);
uint64_t tls_after(void);

/* The others' slots are before and behind that of the variable. */
uint64_t tls_before(void)
{
	return ++before + tls_others[0];
}

const uint64_t *tls_address(void)
{
	return &tls_own;
}

/* Of what the variable leads to, if it were a pointer. */
uint64_t tls_member(void)
{
	return ((const uint64_t *)tls_own)[15];
}

uint64_t tls_after(void)
{
	return ++after;
}
