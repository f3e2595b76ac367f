// SPDX-License-Identifier: Apache-2.0
/*
 * Memory that fetchers read, and what becomes of those that do not come back. This program is also the
 * helper.
 */
#include "sandbox/fetchers.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "sandbox/fetch_shares.h"
#include "sandbox/helper.h"
#include "sandbox/process_user.h"
#include "sandbox/tests/faulty.h"
#include "sandbox/tests/helper_test.h"

#define DIES 'd' /* before it says hello */

/* Addresses that only a fetcher meets: it never comes back, ends, or takes SLOW_MS. */
#define ENDLESS 0x666000u
#define DEADLY 0x667000u
#define SLOW 0x668000u
#define SLOW_MS 60
#define PAGE ((unsigned int)DP_USER_PAGE_SIZE)

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
				const struct iovec *remote, unsigned long n_remote,
				unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
				const struct iovec *remote, unsigned long n_remote,
				unsigned long flags);

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local, unsigned long n_local,
				const struct iovec *remote, unsigned long n_remote,
				unsigned long flags)
{
	int word = 0;

	while ((uintptr_t)remote->iov_base == ENDLESS)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT, word, NULL, NULL, 0);
	if ((uintptr_t)remote->iov_base == DEADLY)
		_exit(1);
	if ((uintptr_t)remote->iov_base == SLOW)
		(void)syscall(SYS_futex, &word, FUTEX_WAIT, word,
			      &(struct timespec){ .tv_nsec = SLOW_MS * 1000000 }, NULL, 0);
	return __real_process_vm_readv(pid, local, n_local, remote, n_remote, flags);
}

bool __real_confine_fetcher(struct confinement *ret);
bool __wrap_confine_fetcher(struct confinement *ret);

bool __wrap_confine_fetcher(struct confinement *ret)
{
	if (read_fault() == DIES)
		_exit(1);
	return __real_confine_fetcher(ret);
}

int main(int argc, char **argv)
{
	if (helper_is_one(argv[0]))
		return helper_main(argc, argv);
	return run_tests(argc, argv);
}

static struct parsers *parsers;
static struct fetchers *fetchers;

static void begin(void)
{
	if (geteuid() != 0)
		cr_skip("they need CAP_SYS_PTRACE");
	faulty_begin();
	cr_assert(parsers_new(program, &parsers) == 0);
	cr_assert(fetchers_new(parsers, &fetchers) == 0);
}

static void end(void)
{
	fetchers_free(fetchers);
	parsers_drop(parsers);
	faulty_end();
}

TestSuite(fetchers, .init = begin, .fini = end, .timeout = 60);

static int read_word(pid_t pid, const void *address, uint64_t *ret)
{
	return fetchers_read(fetchers, pid, (uint64_t)(uintptr_t)address, ret, sizeof(*ret));
}

/* The same, if there may be no fetcher for a moment. */
static int read_soon(pid_t pid, const void *address, uint64_t *ret)
{
	int err;

	while ((err = read_word(pid, address, ret)) == -EAGAIN)
		usleep(1000);
	return err;
}

/* 0: there is none. One that was killed may take a while to end. */
static pid_t fetcher(void)
{
	pid_t spawner[16], found[16];
	size_t n;

	cr_assert_geq(children(getpid(), spawner), 1);
	while ((n = children(spawner[0], found)) > 1)
		usleep(1000);
	return n > 0 ? found[0] : 0;
}

Test(fetchers, read_what_is_there)
{
	uint8_t page[DP_USER_PAGE_SIZE],
		*pages = mmap(NULL, (size_t)2 * PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t word = 4711, found = 0;

	cr_assert(pages != MAP_FAILED && munmap(pages + PAGE, PAGE) == 0);
	memset(pages, 99, PAGE);
	cr_assert_eq(read_word(getpid(), &word, &found), 0);
	cr_assert_eq(found, word);
	cr_assert_eq(fetchers_read(fetchers, getpid(), (uint64_t)(uintptr_t)pages, page,
				   sizeof(page)),
		     0);
	cr_assert_eq(memcmp(page, pages, PAGE), 0);
	cr_assert_eq(read_word(getpid(), pages + PAGE, &found), -EFAULT);
	cr_assert_eq(read_word(getpid(), pages + PAGE - 4, &found), -EFAULT);
	cr_assert_eq(read_word(999999999, &word, &found), -ESRCH);
	cr_assert_gt(fetcher(), 0);
	cr_assert_eq(n_said("warning"), 0);
}

/* Where a mapping ends, so do they. */
Test(fetchers, touch_pages)
{
	enum { N = 20 };
	uint8_t *pages =
		mmap(NULL, (size_t)(N + 1) * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t first = (uint64_t)(uintptr_t)pages, word;
	size_t n = 0;

	cr_assert(pages != MAP_FAILED && munmap(pages + (size_t)N * PAGE, PAGE) == 0);
	fetchers_bring(fetchers, getpid(), first); /* not counted */
	n += fetchers_touch(fetchers, getpid(), first, FETCH_MAX_PAGES);
	n += fetchers_touch(fetchers, getpid(), first + 17 * PAGE, FETCH_MAX_PAGES);
	cr_assert_eq(read_word(getpid(), &n, &word), 0); /* they are in order */
	n += fetchers_touch(fetchers, getpid(), first + N * PAGE, FETCH_MAX_PAGES);
	cr_assert_eq(n, 16 + 3);
	for (int i = 0; i < 1000; i++)
		fetchers_bring(fetchers, getpid(), first);
	cr_assert_eq(read_word(getpid(), &n, &word), 0);
	cr_assert_eq(n_said("warning"), 0);
}

/* A process of another user, which waits. */
static pid_t start_other(void)
{
	int ready[2];
	pid_t pid;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		if ((geteuid() == 0 && setuid(65432) < 0) ||
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
	return pid;
}

/* It costs the user of that memory twice the time, and nobody else. */
Test(fetchers, are_given_up)
{
	uint64_t began = clock_now_ns(), word = 0;
	pid_t other, first = 0;

	cr_assert_eq(read_word(getpid(), &word, &word), 0);
	other = start_other();
	for (unsigned int i = 0; i < FETCHERS_PER_USER; i++) {
		cr_assert_eq(read_soon(getpid(), &word, &word), 0);
		cr_assert(fetcher() > 0 && fetcher() != first);
		first = fetcher();
		cr_assert_eq(read_word(getpid(), (void *)ENDLESS, &word), -ETIMEDOUT);
		cr_assert_lt(clock_now_ns() - began, 20 * FETCHERS_TIME_NS);
	}
	while (fetcher() > 0)
		usleep(1000); /* they are killed */
	cr_assert_eq(read_word(getpid(), (void *)ENDLESS, &word), -ETIMEDOUT);
	cr_assert_eq(read_word(getpid(), &word, &word), -ETIMEDOUT);
	cr_assert_eq(fetchers_touch(fetchers, getpid(), ENDLESS, 1), 0);
	cr_assert_eq(fetcher(), 0);
	if (geteuid() == 0)
		cr_assert_eq(read_soon(other, &began, &word), 0);
	cr_assert_eq(n_said("warning"), 1);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

/* A user whose memory is slow gets no more than a share of the time, but for who has time. */
Test(fetchers, are_not_waited_for_all_the_time)
{
	uint64_t word = 0;
	int n = 0;

	while (read_word(getpid(), (void *)SLOW, &word) == -EFAULT)
		n++;
	cr_assert(n > 0 && n <= (int)(FETCHERS_WAITED_NS / (SLOW_MS * UINT64_C(1000000))) + 1, "%d",
		  n);
	cr_assert_eq(read_word(getpid(), &word, &word), -ETIMEDOUT);
	fetchers_free(fetchers);
	cr_assert(fetchers_new(parsers, &fetchers) == 0);
	fetchers_be_patient(fetchers);
	for (int i = 0; i < n + 3; i++)
		cr_assert_eq(read_word(getpid(), (void *)SLOW, &word), -EFAULT);
	cr_assert_eq(n_said("warning"), 0);
}

/* Whoever waits for nothing does not wait for one that is stuck: it could not call so often. */
Test(fetchers, do_not_hold_up_who_touches)
{
	int n = 0;

	for (; n_said("warning") == 0; n++) {
		cr_assert_eq(fetchers_touch(fetchers, getpid(), ENDLESS, 1), 0);
		usleep(1000);
	}
	cr_assert_gt(n, 3);
}

/* Nobody is to blame for it. */
Test(fetchers, are_replaced)
{
	static const int signals[] = { SIGKILL, SIGSTOP };
	uint64_t word;

	cr_assert_eq(read_word(getpid(), (void *)DEADLY, &word), -EAGAIN);
	cr_assert_eq(read_soon(getpid(), &word, &word), 0);
	for (unsigned int i = 0; i < 3 * FETCHERS_PER_USER; i++) {
		cr_assert_eq(kill(fetcher(), signals[i % 2]), 0);
		while (read_word(getpid(), &word, &word) < 0)
			continue;
	}
	cr_assert_eq(n_said("warning"), 0);
}

/* What fails takes no descriptor of this process for its own. */
Test(fetchers, that_do_not_start_again)
{
	struct stat was, is;
	pid_t spawner[16];
	uint64_t word;

	cr_assert_eq(read_soon(getpid(), &word, &word), 0);
	cr_assert(dup2(said, STDIN_FILENO) == STDIN_FILENO && fstat(said, &was) == 0);
	cr_assert(children(getpid(), spawner) == 1 && unlink(program) == 0);
	cr_assert(kill(fetcher(), SIGKILL) == 0 && kill(spawner[0], SIGKILL) == 0);
	cr_assert_eq(waitid(P_PID, (id_t)spawner[0], NULL, WEXITED | WNOWAIT), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(read_word(getpid(), &word, &word), -EAGAIN);
	fetchers = fetchers_free(fetchers);
	cr_assert(fstat(STDIN_FILENO, &is) == 0 && is.st_ino == was.st_ino);
}

/* In a container, the host may be who adopts what its spawner leaves. */
Test(fetchers, leave_no_children_to_a_host_that_adopts)
{
	uint64_t word = 1, read = 0;

	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	cr_assert_eq(read_soon(getpid(), &word, &read), 0);
	fetchers = fetchers_free(fetchers);
	parsers = parsers_drop(parsers);
	cr_assert(waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT) < 0);
	cr_assert_eq(errno, ECHILD);
}

/* This process reads, and says so once. */
Test(fetchers, that_do_not_start)
{
	uint64_t word, here = 42;

	set_fault(DIES);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(read_word(getpid(), &here, &word), 0);
		cr_assert_eq(word, here);
		fetchers_bring(fetchers, getpid(), (uint64_t)(uintptr_t)&here);
		cr_assert_eq(fetchers_touch(fetchers, getpid(), (uint64_t)(uintptr_t)&here, 1), 1);
	}
	while (fetcher() > 0)
		usleep(1000);
	cr_assert_eq(n_said("itself, with its rights"), 1);
	fetchers = fetchers_free(fetchers);
	cr_assert_eq(read_word(getpid(), &here, &word), 0); /* without any, likewise */
}

/* In a namespace of its own, with users that its maker was given. */
Test(fetchers, know_whose_a_process_is)
{
	enum { FORBIDDEN = 2 }; /* the system allows nobody such a namespace */
	int made[2], mapped[2], end;
	uid_t user;
	pid_t pid;
	FILE *map;
	char path[32];

	cr_assert(pipe(made) == 0 && pipe(mapped) == 0);
	pid = fork();
	if (pid == 0) {
		bool ok = setgid(65432) == 0 && setuid(65432) == 0;

		if (ok && unshare(CLONE_NEWUSER) < 0)
			_exit(FORBIDDEN);
		ok = ok && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
		     write(made[1], "x", 1) == 1 && read(mapped[0], path, 1) == 1 &&
		     setuid(0) == 0 && write(made[1], "x", 1) == 1;

		if (ok)
			pause();
		_exit(1);
	}
	close(made[1]);
	cr_assert(process_user(getpid(), &user) == 0 && user == 0);
	if (read(made[0], path, 1) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
		map = fopen(path, "we");
		cr_assert(map && fputs("0 70000 10", map) > 0 && fclose(map) == 0);
		cr_assert(write(mapped[1], "x", 1) == 1 && read(made[0], path, 1) == 1);
		cr_assert_eq(process_user(pid, &user), 0);
		cr_assert_eq(user, 65432);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	} else {
		cr_assert_eq(waitpid(pid, &end, 0), pid);
		cr_assert(WIFEXITED(end) && WEXITSTATUS(end) == FORBIDDEN);
	}
	cr_assert_eq(process_user(pid, &user), -ESRCH);
}

Test(fetchers, hold_what_they_need)
{
	const uint64_t all = geteuid() == 0 ? 1u << CAP_SYS_PTRACE : 0;
	uint64_t word;

	cr_assert_eq(read_word(getpid(), &word, &word), 0);
	cr_assert_eq(status(fetcher(), "Seccomp", 10), 2);
	cr_assert_eq(status(fetcher(), "NoNewPrivs", 10), 1);
	cr_assert_eq(status(fetcher(), "CapEff", 16), all);
	cr_assert_eq(status(fetcher(), "CapPrm", 16), all);
	cr_assert(geteuid() != 0 || status(fetcher(), "Uid", 10) == 65533);
}
