// SPDX-License-Identifier: Apache-2.0
/*
 * usage: stacks ORACLE-FILE [SCENARIO...]
 *
 * Runs the scenarios, by default nearly all, with a timer that interrupts them, and writes every
 * stack as libgcc's unwinder sees it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oracle.h"
#include "scenario.h"

/*
 * A scenario records its chosen moments in the first rounds, and continues until the timer has
 * interrupted it often enough.
 */
#define TIMER_US 500
#define CHOSEN_ROUNDS 3
#define ENOUGH_INTERRUPTS 40
#define MAX_ROUNDS 2000

/* A static program has no libraries. */
#ifndef LIBRARY_DIR
#define LIBRARY_DIR NULL
#endif

const char *scenario_library_dir = LIBRARY_DIR;

/* No unwinder can be right at many of its moments, so it only runs if named. */
#define LANDING "landing"

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "recursion", scenario_recursion },
	{ "callback", scenario_callback },
	{ "dynamic", scenario_dynamic },
	{ "realign", scenario_realign },
	{ "plt", scenario_plt },
	{ "signal", scenario_signal },
	{ "throw", scenario_throw },
	{ "threads", scenario_threads },
	{ "dlopen", scenario_dlopen },
	{ "noreturn", scenario_noreturn },
	{ "prologue", scenario_prologue },
	{ LANDING, scenario_landing },
};

static int is_wanted(const char *name, int argc, char **argv)
{
	if (argc <= 2)
		return strcmp(name, LANDING) != 0;
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return 1;
	return 0;
}

static int is_enough(int round, unsigned int interrupts)
{
	return round >= MAX_ROUNDS || (round >= CHOSEN_ROUNDS && interrupts >= ENOUGH_INTERRUPTS);
}

/* libgcc crashes only where a compiler's unwind information is wrong, which is rare. */
static int is_sound(void)
{
	unsigned int crashes = oracle_crash_count();

	if (crashes > 0)
		fprintf(stderr, "%u moments are left out: libgcc's unwinder crashed\n", crashes);
	return crashes * 50 <= oracle_count();
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: stacks ORACLE-FILE [SCENARIO...]\n");
		return 2;
	}
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		unsigned int before = oracle_count(), timer_before = oracle_timer_count();

		if (!is_wanted(scenarios[i].name, argc, argv))
			continue;
		oracle_timer_start(TIMER_US);
		for (int round = 0; !is_enough(round, oracle_timer_count() - timer_before);
		     round++) {
			oracle_set_chosen(round < CHOSEN_ROUNDS);
			scenarios[i].run();
		}
		oracle_timer_stop();
		fprintf(stderr, "%s: %u stacks, %u at random moments\n", scenarios[i].name,
			oracle_count() - before, oracle_timer_count() - timer_before);
	}
	return oracle_write(argv[1]) == 0 && is_sound() ? 0 : 1;
}
