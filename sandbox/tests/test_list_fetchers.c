// SPDX-License-Identifier: Apache-2.0
/*
 * Lists of mappings that fetchers read, and what becomes of those that do not come back. This program is
 * also the helper. What the list of a process does to who reads it, the process's name says.
 */
#include "sandbox/list_fetchers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/fetch_shares.h"
#include "sandbox/fetcher.h"
#include "sandbox/helper.h"
#include "sandbox/tests/faulty.h"
#include "sandbox/tests/helper_test.h"

#define DIES 'd'  /* before it says hello */
#define DELAY 's' /* it takes START_MS to say that */
#define START_MS 1500

#define ENDLESS "endless"
#define DEADLY "deadly"
#define LARGE "large"
#define SLOW "slow"
#define SLOW_MS 700
#define CALM "calm"
#define HUGE_MARK '=' /* and the end of the test's directory, which has the list */
#define HUGE_PATH "/tmp/dwarfprof-test-%s/list"

static const char *name_of(pid_t pid, char name[16]);

static void wait_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	int word = 0;

	(void)syscall(SYS_futex, &word, FUTEX_WAIT, word, ms > 0 ? &time : NULL, NULL, 0);
}

/* Where a list is opened. What is to happen while it is read happens here. */
static const char *meet(const char *path)
{
	static char huge[64];
	char name[16] = "", end = 0;
	pid_t pid;

	if (sscanf(path, "/proc/%d/map%c", &pid, &end) != 2 || end != 's')
		return path;
	name_of(pid, name);
	while (strcmp(name, ENDLESS) == 0)
		wait_ms(0);
	if (strcmp(name, DEADLY) == 0)
		_exit(1);
	if (strcmp(name, SLOW) == 0)
		wait_ms(SLOW_MS);
	if (name[0] == HUGE_MARK) {
		snprintf(huge, sizeof(huge), HUGE_PATH, name + 1);
		return huge;
	}
	return strcmp(name, LARGE) == 0 ? "/dev/zero" : path;
}

#define WRAP_OPEN(name)                                                                            \
	int __real_##name(const char *path, int flags, ...);                                       \
	int __wrap_##name(const char *path, int flags, ...);                                       \
	int __wrap_##name(const char *path, int flags, ...)                                        \
	{                                                                                          \
		va_list arguments;                                                                 \
		int mode;                                                                          \
                                                                                                   \
		va_start(arguments, flags);                                                        \
		mode = flags & O_CREAT ? va_arg(arguments, int) : 0;                               \
		va_end(arguments);                                                                 \
		return __real_##name(meet(path), flags, mode);                                     \
	}

WRAP_OPEN(open)
WRAP_OPEN(open64)

static const char *name_of(pid_t pid, char name[16])
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	fd = __real_open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, name, 15);
	name[n > 0 ? n - 1 : 0] = '\0';
	if (fd >= 0)
		close(fd);
	return name;
}

bool __real_confine_fetcher(struct confinement *ret);
bool __wrap_confine_fetcher(struct confinement *ret);

bool __wrap_confine_fetcher(struct confinement *ret)
{
	char fault = read_fault();

	if (fault == DIES)
		_exit(1);
	if (fault == DELAY)
		wait_ms(START_MS);
	return __real_confine_fetcher(ret);
}

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

#define N_OTHERS 8
static struct parsers *parsers;
static struct list_fetchers *fetchers;
static pid_t others[N_OTHERS];
static size_t n_others;

static void begin(void)
{
	if (geteuid() != 0)
		cr_skip("they need CAP_SYS_PTRACE");
	faulty_begin();
	cr_assert(parsers_new(program, &parsers) == 0);
}

static void begin_well(void)
{
	begin();
	cr_assert(list_fetchers_new(parsers, &fetchers) == 0);
}

static void end(void)
{
	list_fetchers_free(fetchers);
	parsers_drop(parsers);
	for (size_t i = 0; i < n_others; i++) {
		kill(others[i], SIGKILL);
		waitpid(others[i], NULL, 0);
	}
	faulty_end();
}

TestSuite(list_fetchers, .init = begin_well, .fini = end, .timeout = 60);
TestSuite(list_fetchers_at_first, .init = begin, .fini = end, .timeout = 60);

/* A process of a user with a name, which waits. */
static pid_t start_other(uid_t user, const char *name)
{
	int ready[2];
	pid_t pid;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		if (setuid(user) < 0 || prctl(PR_SET_NAME, name, 0, 0, 0) < 0 ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
			_exit(1);
		close(ready[0]);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	cr_assert_eq(read(ready[0], &(char){ 0 }, 1), 0);
	close(ready[0]);
	cr_assert_lt(n_others, N_OTHERS);
	return others[n_others++] = pid;
}

static uint64_t ask(pid_t pid)
{
	uint64_t number = 0;

	cr_assert_eq(list_fetchers_ask(fetchers, pid, pid, &number), 0);
	return number;
}

/* The next one that comes. */
static struct fetched_list take(void)
{
	struct fetched_list list;

	while (!list_fetchers_take(fetchers, &list))
		list_fetchers_wait(fetchers, 10);
	return list;
}

/* Asks, and returns what it comes to, if no other is asked for. */
static int fetch(pid_t pid)
{
	uint64_t number = ask(pid);
	struct fetched_list list = take();

	cr_assert(list.number == number && list.pid == pid);
	cr_assert(list.err == 0 ? list.size > 0 : !list.bytes);
	free(list.bytes);
	return list.err;
}

static size_t find_fetchers(pid_t ret[16])
{
	pid_t spawner[16];

	cr_assert_geq(children(getpid(), spawner), 1); /* it was started first */
	return children(spawner[0], ret);
}

static size_t count_fetchers(void)
{
	pid_t found[16];

	return find_fetchers(found);
}

/* The only fetcher. One that was killed may take a while to end. */
static pid_t fetcher(void)
{
	pid_t found[16];

	while (find_fetchers(found) != 1) {
		list_fetchers_look(fetchers);
		usleep(1000);
	}
	return found[0];
}

Test(list_fetchers, read_what_is_there)
{
	pid_t pid = start_other(0, CALM);
	_cleanup_free_ char *text = NULL;
	struct fetched_list list;
	char path[32];
	size_t n = 0;
	FILE *file;

	ask(pid);
	list = take();
	cr_assert_eq(list.err, 0);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	cr_assert(file);
	text = malloc(list.size + 1);
	cr_assert(text);
	n = fread(text, 1, list.size + 1, file);
	fclose(file);
	cr_assert_eq(n, list.size);
	cr_assert_eq(memcmp(text, list.bytes, n), 0);
	free(list.bytes);
	cr_assert_eq(list_fetchers_ask(fetchers, 999999999, 999999999, &(uint64_t){ 0 }), -ESRCH);
	cr_assert_eq(n_said("warning"), 0);
}

/* Whoever applies it has to know what has happened until somebody looked. */
Test(list_fetchers, come_when_somebody_looks)
{
	pid_t pid = start_other(0, CALM);
	struct fetched_list list;

	cr_assert_eq(fetch(pid), 0);
	ask(pid);
	for (int i = 0; i < 5; i++) {
		usleep(20000);
		ask(pid); /* notices replies, too */
		cr_assert(!list_fetchers_take(fetchers, &list));
	}
	list_fetchers_look(fetchers);
	cr_assert(list_fetchers_take(fetchers, &list) && list.err == 0);
	free(list.bytes);
}

Test(list_fetchers, are_bounded)
{
	pid_t large = start_other(0, LARGE), calm = start_other(0, CALM);

	for (int i = 0; i < 3; i++) {
		cr_assert_eq(fetch(large), -EFBIG);
		cr_assert_eq(fetch(calm), 0);
	}
	cr_assert_eq(n_said("warning"), 0);
}

/* Lists are read no faster than somebody takes them. */
Test(list_fetchers, are_not_piled_up)
{
	enum { N = 8, SIZE = 15 << 20, MOST = 4 };
	char path[64], name[16];
	struct fetched_list list;
	int fd, n = 0;
	pid_t huge;

	snprintf(name, sizeof(name), "%c%s", HUGE_MARK, strrchr(directory, '-') + 1);
	snprintf(path, sizeof(path), HUGE_PATH, name + 1);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	cr_assert(fd >= 0 && fchmod(fd, 0644) == 0 && ftruncate(fd, SIZE) == 0);
	close(fd);
	huge = start_other(0, name);
	for (int i = 0; i < N; i++)
		ask(huge);
	for (int i = 0; i < 50; i++) {
		usleep(20000);
		list_fetchers_look(fetchers);
	}
	for (; list_fetchers_take(fetchers, &list); n++) {
		cr_assert(list.err == 0 && list.size == SIZE);
		free(list.bytes);
	}
	cr_assert_leq(n, MOST);
	for (; n < N; n++) {
		list = take();
		cr_assert(list.err == 0 && list.size == SIZE);
		free(list.bytes);
	}
	unlink(path);
}

/* It costs the user two fetchers, and nobody else anything. */
Test(list_fetchers, are_given_up)
{
	enum { USER = 65432, N = 5 };
	pid_t calm = start_other(0, CALM), of_user = start_other(USER, CALM);
	uint64_t began, endless = 0, other;

	cr_assert_eq(fetch(calm), 0);
	began = clock_now_ns();
	for (int i = 0; i < N - 1; i++)
		endless += ask(start_other(USER, ENDLESS));
	other = ask(calm);
	endless += ask(others[n_others - 1]);
	for (int i = 0; i < N + 1; i++) {
		struct fetched_list list = take();

		cr_assert_leq(count_fetchers(), FETCHERS_PER_USER + 1);
		cr_assert_eq(list.err, list.number == other ? 0 : -ETIMEDOUT);
		endless -= list.number == other ? 0 : list.number;
		free(list.bytes);
	}
	cr_assert_eq(endless, 0, "each has its number");
	cr_assert_lt(clock_now_ns() - began, 10 * LIST_FETCHERS_TIME_NS);
	cr_assert_eq(fetch(of_user), -ETIMEDOUT);
	cr_assert_eq(fetch(calm), 0);
	cr_assert_eq(n_said("warning"), 1);
}

/* One that waits for others of its user is not wanted any more. */
Test(list_fetchers, are_not_read_once_cancelled)
{
	pid_t endless = start_other(0, ENDLESS);
	uint64_t cancelled;

	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++)
		ask(endless);
	cancelled = ask(endless);
	list_fetchers_cancel(fetchers, cancelled);
	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++) {
		struct fetched_list list = take();

		cr_assert(list.number < cancelled && list.err == -ETIMEDOUT);
	}
	cr_assert_eq(fetch(start_other(65432, CALM)), 0);
}

/* Lists that take long are read as long as they do not take all the time. */
Test(list_fetchers, are_not_waited_for_all_the_time)
{
	const int most = (int)(LIST_FETCHERS_WAITED_NS / (SLOW_MS * UINT64_C(1000000))) + 1;
	pid_t slow = start_other(65432, SLOW);
	int n = 0, err;

	while ((err = fetch(slow)) == 0)
		n++;
	cr_assert_eq(err, -ETIMEDOUT);
	cr_assert(n > 0 && n <= most, "%d", n);
	cr_assert_eq(fetch(start_other(0, CALM)), 0);
	cr_assert_eq(n_said("warning"), 0);
}

/* Nobody is to blame for it. */
Test(list_fetchers, are_replaced)
{
	static const int signals[] = { SIGKILL, SIGSTOP };
	pid_t calm = start_other(0, CALM);

	cr_assert_eq(fetch(start_other(0, DEADLY)), -EAGAIN);
	cr_assert_eq(fetch(calm), 0);
	for (unsigned int i = 0; i < 3 * FETCHERS_PER_USER; i++) {
		cr_assert_eq(kill(fetcher(), signals[i % 2]), 0);
		cr_assert_eq(fetch(calm), 0);
	}
	cr_assert_eq(n_said("warning"), 0);
}

/* Who is asked for meanwhile does not pay for it. */
Test(list_fetchers_at_first, may_start_slowly)
{
	pid_t calm = start_other(65432, CALM);
	uint64_t began = clock_now_ns();

	set_fault(DELAY);
	cr_assert(list_fetchers_new(parsers, &fetchers) == 0);
	for (int i = 0; i < 10; i++)
		ask(calm);
	for (int i = 0; i < 10; i++) {
		struct fetched_list list = take();

		cr_assert_eq(list.err, 0);
		free(list.bytes);
	}
	cr_assert_gt(clock_now_ns() - began, START_MS / 2 * UINT64_C(1000000), "it did not");
	cr_assert_eq(fetch(calm), 0);
	cr_assert_eq(n_said("warning"), 0);
}

/* This process reads, and says so once. */
Test(list_fetchers_at_first, that_do_not_start)
{
	pid_t calm = start_other(0, CALM);
	struct fetched_list list;
	uint64_t number;

	set_fault(DIES);
	cr_assert(list_fetchers_new(parsers, &fetchers) == 0);
	cr_assert_eq(fetch(calm), 0);
	cr_assert_eq(list_fetchers_ask(fetchers, calm, calm, &number), -ESHUTDOWN);
	list_fetch_here(calm, calm, &list);
	cr_assert(list.err == 0 && list.size > 0);
	free(list.bytes);
	cr_assert_eq(list_fetchers_ask(NULL, calm, calm, &number), -ESHUTDOWN);
	cr_assert(!list_fetchers_take(NULL, &list) && !list_fetchers_wait(NULL, 10));
	cr_assert_eq(n_said("itself, with its rights"), 1);
}
