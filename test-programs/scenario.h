/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_SCENARIO_H
#define DP_TEST_SCENARIO_H

/*
 * Kinds of stacks that are worth testing. Each function calls oracle_check() at chosen moments, and
 * works long enough for the timer to interrupt it at others.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* The directory of this build's shared libraries; NULL in a static one. */
extern const char *scenario_library_dir;

void scenario_recursion(void); /* 60 and 1,500 frames */
void scenario_callback(void);  /* through several libraries, and qsort() */
void scenario_dynamic(void);   /* alloca() and variable-length arrays */
void scenario_realign(void);   /* frames with a stricter alignment */
void scenario_plt(void);       /* first calls, through the lazy binding resolver */
void scenario_signal(void);    /* handlers on the normal and on an alternate stack */
void scenario_throw(void);     /* during the throw of C++ exceptions */
void scenario_landing(void);   /* while exceptions are caught */
void scenario_threads(void);
void scenario_dlopen(void);   /* code that has just been mapped */
void scenario_noreturn(void); /* a call as the last instruction of a function */
void scenario_prologue(void); /* small functions, interrupted anywhere */

#ifdef __cplusplus
}
#endif

#endif
