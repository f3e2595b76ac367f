/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEST_ORACLE_H
#define DP_TEST_ORACLE_H

/*
 * Stacks that can be compared exactly. oracle_check() has libgcc's unwinder
 * list the frames it is called from, and then calls oracle_mark(), which a
 * uprobe watches: dwarfprof walks the same stack at the same moment. The lists
 * are written when the program ends.
 */

#ifdef __cplusplus
extern "C" {
#endif

/* Record this moment. Safe in a signal handler; one that interrupts it is skipped. */
void oracle_check(void);

/* With 0, have oracle_check() do nothing: only the timer chooses moments. */
void oracle_set_chosen(int chosen);
int oracle_is_chosen(void);

/* From now on a timer signal calls oracle_check() at random moments, about every `us`. */
void oracle_timer_start(long us);
void oracle_timer_stop(void);

/*
 * Have the timer do nothing for a while: in longjmp() libgcc's unwinder reads
 * registers that are being replaced, and may crash.
 */
void oracle_timer_pause(int pause);

/* Moments recorded so far by this thread, and how many of them the timer chose. */
unsigned int oracle_count(void);
unsigned int oracle_timer_count(void);

/* Moments of all threads that were not recorded, because libgcc's unwinder crashed. */
unsigned int oracle_crash_count(void);

/* Write all lists to a file: a line for each moment, `TID ADDRESS...`, innermost first. */
int oracle_write(const char *path);

#ifdef __cplusplus
}
#endif

#endif
