// SPDX-License-Identifier: Apache-2.0
/*
 * usage: churn_starter COUNTS PER_SECOND N_CGROUPS CGROUP_PREFIX N_WORDS COMMAND...
 *
 * Starts so many of the commands per second, each of N_WORDS arguments, in turns; or fewer on a
 * machine that cannot, but never more, until its standard input ends. With N_CGROUPS > 0 each starts
 * in a cgroup of its own, as containers do, whose name is the prefix and four hexadecimal digits, in
 * turns, and which is made before and removed after it.
 * Processes are cloned from this small one: what makes containers is small, too, and a child of an
 * interpreter would have the interpreter's hundreds of mappings until it executes its program.
 *
 * COUNTS is a file of two 64-bit numbers that stay current: started, and of those that ended, failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* On a machine that cannot do what is asked for, what is late is left out. */
#define MAX_RUNNING 200
#define MAX_LATE_NS INT64_C(1000000000)
#define LOOK_MS 5
#define PATH_SIZE 512
#define MAX_WORDS 8

struct counts {
	uint64_t started, failed;
};

struct running {
	pid_t pid;
	char cgroup[PATH_SIZE]; /* empty: none */
};

struct starter {
	struct counts *counts;
	char **words;
	size_t n_words; /* of a command */
	size_t n_commands;
	const char *prefix;
	unsigned long n_cgroups;
	struct running running[MAX_RUNNING];
	size_t n_running;
};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int make_cgroup(const struct starter *s, char path[PATH_SIZE])
{
	int fd;

	snprintf(path, PATH_SIZE, "%s%04" PRIx64 ".scope", s->prefix,
		 s->counts->started % s->n_cgroups);
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		die(path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		die(path);
	return fd;
}

static pid_t start(const struct starter *s, int cgroup)
{
	struct clone_args args = { .exit_signal = SIGCHLD };
	char *argv[MAX_WORDS + 1] = { 0 };
	pid_t pid;

	memcpy(argv, s->words + s->counts->started % s->n_commands * s->n_words,
	       s->n_words * sizeof(*argv));

	if (cgroup >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup;
	}
	pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		die("clone3");
	if (pid == 0) {
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static void start_next(struct starter *s)
{
	struct running *one = &s->running[s->n_running++];
	int cgroup = -1;

	one->cgroup[0] = '\0';
	if (s->n_cgroups > 0)
		cgroup = make_cgroup(s, one->cgroup);
	one->pid = start(s, cgroup);
	if (cgroup >= 0)
		close(cgroup);
	s->counts->started++;
}

/* Takes those that have ended; with `wait`, all. */
static void take_ended(struct starter *s, bool wait)
{
	for (size_t i = 0; i < s->n_running;) {
		struct running *one = &s->running[i];
		int status;

		if (waitpid(one->pid, &status, wait ? 0 : WNOHANG) == 0) {
			i++;
			continue;
		}
		s->counts->failed += status != 0;
		if (one->cgroup[0])
			(void)rmdir(one->cgroup);
		*one = s->running[--s->n_running];
	}
}

static bool is_over(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&input, 1, LOOK_MS) != 0;
}

static void run(struct starter *s, int64_t period)
{
	int64_t due = now_ns();

	while (!is_over()) {
		int64_t now = now_ns();

		for (; due <= now && s->n_running < MAX_RUNNING; due += period)
			start_next(s);
		if (due < now - MAX_LATE_NS)
			due = now - MAX_LATE_NS;
		take_ended(s, false);
	}
	take_ended(s, true);
}

static struct counts *map_counts(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *counts;

	if (fd < 0)
		die(path);
	counts = mmap(NULL, sizeof(struct counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counts == MAP_FAILED)
		die(path);
	close(fd);
	return counts;
}

int main(int argc, char **argv)
{
	static struct starter s;
	double per_second;

	if (argc < 7)
		return 2;
	per_second = strtod(argv[2], NULL);
	s.n_cgroups = strtoul(argv[3], NULL, 10);
	s.prefix = argv[4];
	s.n_words = strtoul(argv[5], NULL, 10);
	s.words = argv + 6;
	if (!(per_second > 0) || s.n_words == 0 || s.n_words > MAX_WORDS)
		return 2;
	s.n_commands = (size_t)(argc - 6) / s.n_words;
	s.counts = map_counts(argv[1]);
	run(&s, (int64_t)(1e9 / per_second));
	return 0;
}
