// SPDX-License-Identifier: Apache-2.0
/*
 * Starts children by vfork(), which execute a program or exit, and overwrites what they have left
 * on the stack as soon as it runs again.
 *
 * usage: vforks SECONDS
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seconds.h"

#define NOINLINE __attribute__((noinline))

NOINLINE static void end_child(const char *program)
{
	if (program)
		execl(program, program, "0", (char *)NULL);
	_exit(0);
}

NOINLINE static void descend(int depth, const char *program)
{
	if (depth > 0)
		descend(depth - 1, program);
	else
		end_child(program);
	/* Prevents a tail call. */
	__asm__ volatile("");
}

NOINLINE static void overwrite(void)
{
	char bytes[4096];

	memset(bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

NOINLINE static pid_t start_child(const char *program)
{
	pid_t pid = vfork();

	if (pid == 0)
		descend(10, program);
	return pid;
}

int main(int argc, char *argv[])
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	double end = seconds_now() + seconds;

	if (seconds <= 0)
		return 0;
	for (unsigned int i = 0; seconds_now() < end; i++) {
		if (start_child(i % 2 ? "/proc/self/exe" : NULL) < 0)
			return 1;
		overwrite();
		wait(NULL);
	}
	return 0;
}
