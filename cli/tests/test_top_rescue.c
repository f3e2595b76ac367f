// SPDX-License-Identifier: Apache-2.0
/* Signals that end a program, on a terminal of its own whose settings it has changed. */
#include "cli/top_rescue.h"

#include <criterion/criterion.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/array.h"
#include "elf/bus_guard.h"

static int master, terminal, status; /* of the program that has ended */

static void open_terminal(void)
{
	cr_assert(openpty(&master, &terminal, NULL, NULL, NULL) == 0);
}

static void close_terminal(void)
{
	close(master);
	close(terminal);
}

TestSuite(top_rescue, .init = open_terminal, .fini = close_terminal);

static bool is_changed(void)
{
	struct termios now;

	return tcgetattr(terminal, &now) == 0 && !(now.c_lflag & ICANON);
}

static void change_settings(void)
{
	struct termios now;

	if (tcgetattr(STDIN_FILENO, &now) < 0)
		_exit(100);
	now.c_lflag &= ~(tcflag_t)ICANON;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &now) < 0)
		_exit(101);
}

static void begin(void)
{
	if (bus_guard_install() < 0 || top_rescue_keep_settings() < 0)
		_exit(102);
	change_settings();
	top_rescue_begin(NULL);
}

static const int numbers[] = { SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGSEGV };

/* Sanitizers have handlers, which exit. */
static void reset_signals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		signal(numbers[i], SIG_DFL);
}

static pid_t start(void (*code)(int number), int number)
{
	pid_t pid = fork();

	cr_assert(pid >= 0);
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
		reset_signals();
		if (setsid() < 0 || ioctl(terminal, TIOCSCTTY, 0) < 0 ||
		    dup2(terminal, STDIN_FILENO) < 0 || dup2(terminal, STDOUT_FILENO) < 0)
			_exit(103);
		code(number);
		_exit(0);
	}
	return pid;
}

/* Runs a program's code to its end. */
static void run(void (*code)(int number), int number)
{
	pid_t pid = start(code, number);

	cr_assert(waitpid(pid, &status, 0) == pid);
}

static void expect_signal(int number)
{
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == number, "%x, not signal %d", status,
		  number);
}

static void begin_and_raise(int number)
{
	begin();
	kill(getpid(), number);
}

Test(top_rescue, gives_the_terminal_back)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		run(begin_and_raise, numbers[i]);
		expect_signal(numbers[i]);
		cr_expect(!is_changed(), "signal %d", numbers[i]);
	}
}

static void begin_and_stop(int number)
{
	begin();
	close(master);
	raise(number);
}

Test(top_rescue, lets_a_terminal_that_is_gone_end_the_program)
{
	pid_t pid = start(begin_and_stop, SIGSTOP);

	cr_assert(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	close(master); /* it goes on, with a signal */
	master = -1;
	cr_assert(waitpid(pid, &status, 0) == pid);
	expect_signal(SIGHUP);
}

static void end_and_raise(int number)
{
	begin();
	top_rescue_end();
	top_rescue_end();
	kill(getpid(), number);
}

Test(top_rescue, is_no_more_after_its_end)
{
	run(end_and_raise, SIGHUP);
	expect_signal(SIGHUP);
	cr_expect(is_changed());
	run(end_and_raise, SIGBUS);
	expect_signal(SIGBUS);
}

static void ignore_and_raise(int number)
{
	signal(number, SIG_IGN);
	begin_and_raise(number);
}

Test(top_rescue, leaves_an_ignored_hangup_ignored)
{
	run(ignore_and_raise, SIGHUP);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_expect(is_changed());
}

static __attribute__((noinline)) int overflow(volatile int *depth)
{
	volatile char frame[1024] = { 0 };

	if (++*depth == 0) /* never, but what does a compiler know */
		return 0;
	return overflow(depth) + frame[0];
}

static void *overflow_in_a_thread(void *unused)
{
	int depth = 0;

	top_rescue_cover_thread();
	(void)unused;
	return (void *)(intptr_t)overflow(&depth);
}

static void begin_and_overflow(int in_a_thread)
{
	pthread_t thread;

	begin();
	if (!in_a_thread)
		overflow_in_a_thread(NULL);
	if (pthread_create(&thread, NULL, overflow_in_a_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

Test(top_rescue, needs_nothing_of_a_stack_that_has_overflowed)
{
	for (int in_a_thread = 0; in_a_thread < 2; in_a_thread++) {
		run(begin_and_overflow, in_a_thread);
		expect_signal(SIGSEGV);
		cr_expect(!is_changed(), "%d", in_a_thread);
	}
}

/* Whoever had a stack for handlers, such as a sanitizer, has it again. */
Test(top_rescue, uncovers_a_thread)
{
	static char bytes[64 * 1024];
	stack_t own = { .ss_sp = bytes, .ss_size = sizeof(bytes) }, before, now;

	cr_assert(sigaltstack(&own, &before) == 0);
	top_rescue_cover_thread();
	top_rescue_cover_thread();
	cr_assert(sigaltstack(NULL, &now) == 0);
	cr_expect(now.ss_sp != bytes && now.ss_flags == 0);
	top_rescue_uncover_thread();
	top_rescue_uncover_thread();
	cr_assert(sigaltstack(NULL, &now) == 0);
	cr_expect(now.ss_sp == bytes && now.ss_flags == 0);
	cr_assert(sigaltstack(&before, NULL) == 0);
}

/* As a shell's job in the background. */
static void begin_and_raise_in_the_background(int number)
{
	pid_t pid;

	begin();
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		kill(getpid(), number);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		_exit(106);
}

/* Its settings are those of the program that has it now. */
Test(top_rescue, leaves_a_terminal_of_others_alone)
{
	run(begin_and_raise_in_the_background, SIGABRT);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_expect(is_changed());
}

static void leave_and_raise(int number)
{
	begin();
	top_rescue_set_drawn(true);
	top_rescue_set_drawn(false);
	kill(getpid(), number);
}

/* So are those of a terminal that it has given back. */
Test(top_rescue, gives_nothing_back_twice)
{
	run(leave_and_raise, SIGABRT);
	expect_signal(SIGABRT);
	cr_expect(is_changed());
}

/* Reads behind the end of a file, which is no reason to end, and then perhaps writes there. */
static void truncate_file(int is_written)
{
	int fd = memfd_create("test", 0);
	volatile char *page;

	begin();
	if (ftruncate(fd, 4096) < 0)
		_exit(104);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED || ftruncate(fd, 0) < 0)
		_exit(105);
	if (is_written)
		page[0] = 1;
	_exit(page[0]);
}

Test(top_rescue, leaves_truncated_files_to_their_guard)
{
	run(truncate_file, true);
	expect_signal(SIGBUS);
	cr_expect(!is_changed());
	run(truncate_file, false);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cr_expect(is_changed());
}
