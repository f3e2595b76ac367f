/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_ORACLE_H
#define DP_TEST_ORACLE_H

/*
 * Stacks that can be compared exactly. oracle_check() lists its callers' frames with libgcc's
 * unwinder, and then calls oracle_mark(), where a uprobe makes dwarfprof walk the same stack at the
 * same moment. The lists are written at the end of the program.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Records this moment. Safe in a signal handler; a nested call is skipped. */
void oracle_check(void);

/* With 0, makes oracle_check() do nothing: only the timer chooses moments. */
void oracle_set_chosen(int chosen);
int oracle_is_chosen(void);

/* Starts a timer whose signal calls oracle_check() at random moments, about every `us`. */
void oracle_timer_start(long us);
void oracle_timer_stop(void);

/*
 * Pauses the timer: in longjmp() libgcc's unwinder would read registers while they are replaced,
 * and might crash.
 */
void oracle_timer_pause(int pause);

/*
 * Returns the number of moments that this thread has recorded, and how many of them the timer
 * chose.
 */
unsigned int oracle_count(void);
unsigned int oracle_timer_count(void);

/* Returns how many moments of all threads were lost because libgcc's unwinder crashed. */
unsigned int oracle_crash_count(void);

/* Writes all lists to a file: a line per moment, `TID ADDRESS...`, innermost first. */
int oracle_write(const char *path);

#ifdef __cplusplus
}
#endif

#endif
