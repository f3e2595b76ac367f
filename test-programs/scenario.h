/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_SCENARIO_H
#define DP_TEST_SCENARIO_H

/*
 * The ways of making a stack that are worth testing. Each is a function that
 * calls oracle_check() at chosen moments, and works long enough for the timer
 * to interrupt it at others.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Where the shared libraries of this build are; NULL in a static one. */
extern const char *scenario_library_dir;

void scenario_recursion(void); /* 60 and 1,500 frames */
void scenario_callback(void);  /* through several libraries, and qsort() */
void scenario_dynamic(void);   /* alloca() and variable-length arrays */
void scenario_realign(void);   /* frames with an alignment of their own */
void scenario_plt(void);       /* first calls through the lazy binding resolver */
void scenario_signal(void);    /* handlers on the normal and on an alternate stack */
void scenario_throw(void);     /* C++ exceptions in flight */
void scenario_landing(void);   /* and the moments when one is caught */
void scenario_threads(void);
void scenario_dlopen(void);   /* code that was mapped a moment ago */
void scenario_noreturn(void); /* a call that is its function's last instruction */
void scenario_prologue(void); /* small functions, interrupted anywhere */

#ifdef __cplusplus
}
#endif

#endif
