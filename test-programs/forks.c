// SPDX-License-Identifier: Apache-2.0
/*
 * usage: forks ROUNDS LOG [wait | leave]
 *
 * In each round, a call of handle() starts a process by fork(), one by vfork() and a thread. All are busy for a
 * while; that of fork() then leaves the call, is busy in another function, and in another call of handle() that
 * has the same place on the stack. LOG gets what each does when: TID, time, and the number of the innermost
 * handle() on its stack; 0: there is none, -1: it is just changing. wait: begins when it can read a byte.
 * leave: in one call only, one starts a process that leaves another one, which is busy in a call for long.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

static int log_fd;
static volatile uint64_t sum;
static uint64_t busy_ns = 50000000;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* With one write, as several processes do. */
static void note(uint64_t time, int number)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%d %lu %d\n", gettid(), time, number);

	if (write(log_fd, line, (size_t)n) != n)
		_exit(1);
}

static APART void work(void)
{
	for (uint64_t end = now() + busy_ns; now() < end;)
		sum++;
}

static void *run(void *began)
{
	note(*(const uint64_t *)began, 0);
	work();
	note(now(), -1);
	return NULL;
}

static void wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		_exit(1);
}

static void work_in(int number)
{
	note(now(), number);
	work();
	note(now(), -1);
}

/* Returns 0 in a process whose parent has gone, and when that ends. */
static pid_t leave(void)
{
	int fds[2];
	pid_t pid = pipe(fds) == 0 ? fork() : -1;

	if (pid != 0) {
		close(fds[1]);
		wait_for(pid);
		return read(fds[0], &(char){ 0 }, 1) == 0 ? pid : -1;
	}
	pid = getpid();
	if (fork() != 0)
		_exit(0);
	while (getppid() == pid)
		sched_yield();
	busy_ns *= 40;
	return 0;
}

enum act {
	IS_BUSY,
	STARTS_OTHERS,
	LEAVES_ONE,
};

/* Returns twice if it starts others. */
APART pid_t handle(int number, enum act act)
{
	pthread_t thread;
	uint64_t began = now();
	pid_t pid;

	if (act == IS_BUSY) {
		work_in(number);
		sum += (uint64_t)number;
		return 0;
	}
	if (act == LEAVES_ONE) {
		pid = leave();
		sum += (uint64_t)number;
		return pid;
	}
	pid = vfork();
	if (pid == 0) {
		note(began, number);
		work();
		note(now(), -1);
		_exit(0);
	}
	wait_for(pid);
	began = now();
	if (pthread_create(&thread, NULL, run, &began) != 0)
		_exit(1);
	pthread_join(thread, NULL);
	began = now();
	pid = fork();
	if (pid == 0) {
		note(began, number);
		work();
		note(now(), -1);
	} else {
		wait_for(pid);
	}
	sum += (uint64_t)number;
	return pid;
}

static APART void work_elsewhere(void)
{
	work_in(0);
	sum++;
}

int main(int argc, char **argv)
{
	bool waits = argc == 4, leaves = waits && strcmp(argv[3], "leave") == 0;

	log_fd = argc == 3 || waits ?
			 open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) :
			 -1;
	if (log_fd < 0) {
		fputs("usage: forks ROUNDS LOG [wait | leave]\n", stderr);
		return 2;
	}
	if (waits)
		(void)getchar();
	for (int i = 1; i <= atoi(argv[1]); i++) {
		if (handle(100 + i, leaves ? LEAVES_ONE : STARTS_OTHERS) == 0) {
			if (!leaves)
				work_elsewhere();
			(void)handle(1100 + i, IS_BUSY);
			_exit(0);
		}
	}
	puts("done");
	return 0;
}
