// SPDX-License-Identifier: Apache-2.0
/*
 * usage: execs ROUNDS LOG OTHER
 *
 * In a call of handle(ROUNDS), is busy for a while, and then executes OTHER, with a round less and itself in place
 * of OTHER, until there are none. LOG gets what it does when: PID, time, and ROUNDS, or -1 if it is in no call.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define BUSY_NS 30000000

static int log_fd;
static volatile uint64_t sum;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void note(int number)
{
	dprintf(log_fd, "%d %lu %d\n", getpid(), now(), number);
}

APART void handle(int number, char **argv)
{
	/* As long as this one's, so that the stack is the same. */
	char rounds[8], *next[] = { argv[3], rounds, argv[2], argv[0], NULL };

	note(number);
	for (uint64_t end = now() + BUSY_NS; now() < end;)
		sum++;
	note(-1);
	snprintf(rounds, sizeof(rounds), "%04d", number - 1);
	execv(next[0], next);
	perror(next[0]);
	sum += (uint64_t)number;
}

int main(int argc, char **argv)
{
	int rounds = argc == 4 ? atoi(argv[1]) : -1;

	if (rounds < 0) {
		fputs("usage: execs ROUNDS LOG OTHER\n", stderr);
		return 2;
	}
	if (rounds == 0)
		return 0;
	log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log_fd < 0) {
		perror(argv[2]);
		return 1;
	}
	handle(rounds, argv);
	return 1;
}
