// SPDX-License-Identifier: Apache-2.0
/*
 * usage: crash KIND [wait]
 *
 * Gets a signal in a function that main() has called by handle(), outer() and inner(): as KIND
 * says. With `wait`, prints "ready" and first reads a line. Prints "survived" if it goes on. The
 * lines where these functions go inwards are marked.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define APART __attribute__((noinline, noclone)) static

/* Calls are not the last thing that functions do: they would be jumps. */
static volatile int after;
static volatile int zero;

static const int constant = 1;
static int *volatile nowhere = (int *)0x10;
static int *volatile fixed = (int *)&constant;
/* In neither half of the address space */
static int *volatile impossible = (int *)0x8000000000000000;
static int data[16] = { 1 };
static void (*volatile nothing)(void);
static void (*volatile garbage)(void) = (void (*)(void))0x123456789000;

APART void at_null(void)
{
	*nowhere = 1; /* at_null */
	after++;
}

APART void at_constant(void)
{
	*fixed = 2; /* at_constant */
	after++;
}

APART void at_impossible(void)
{
	*impossible = 1; /* at_impossible */
	after++;
}

/* The second page of a file of one. */
APART void at_end_of_file(void)
{
	int fd = memfd_create("file", 0);
	volatile char *pages;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		exit(2);
	pages = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		exit(2);
	after += pages[4096]; /* at_end_of_file */
}

APART void at_illegal(void)
{
	__asm__ volatile("ud2"); /* at_illegal */
	after++;
}

APART void at_division(void)
{
	after = after / zero; /* at_division */
}

APART void at_breakpoint(void)
{
	__asm__ volatile("int3");
	after++;
}

APART void at_abort(void)
{
	abort(); /* at_abort */
}

APART void at_system_call(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		exit(2);
	after += (int)syscall(SYS_getppid); /* at_system_call */
}

APART int overflow(int n)
{
	volatile char frame[256];

	frame[n & 255] = (char)n;
	n = overflow(n + 1); /* overflow */
	frame[0] = (char)n;
	return frame[1];
}

APART void at_overflow(void)
{
	after += overflow(0); /* at_overflow */
}

APART void at_nothing(void)
{
	nothing(); /* at_nothing */
	after++;
}

APART void at_garbage(void)
{
	garbage(); /* at_garbage */
	after++;
}

APART void at_data(void)
{
	void (*volatile to_data)(void) = (void (*)(void))(uintptr_t)data;

	to_data(); /* at_data */
	after++;
}

/* For another process. */
APART void at_pause(void)
{
	puts("ready");
	fflush(stdout);
	pause(); /* at_pause */
	after++;
}

APART void *in_thread(void *arg)
{
	pthread_setname_np(pthread_self(), "worker");
	at_null(); /* in_thread */
	after++;
	return arg;
}

APART void at_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
		exit(2);
	pthread_join(thread, NULL);
}

static sigjmp_buf back;

static void go_back(int number)
{
	siglongjmp(back, number);
}

APART void survive(void)
{
	signal(SIGSEGV, go_back);
	for (int i = 0; i < 100; i++)
		if (sigsetjmp(back, 1) == 0)
			at_null();
}

static void raise_again(int number)
{
	signal(number, SIG_DFL);
	raise(number); /* raise_again */
	after++;
}

static void return_again(int number)
{
	signal(number, SIG_DFL);
}

static void handle_with(void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	if (sigaction(SIGSEGV, &action, NULL) < 0)
		exit(2);
}

static void use_other_stack(void)
{
	const size_t size = 65536;
	stack_t stack = { .ss_sp = malloc(size), .ss_size = size };

	if (!stack.ss_sp || sigaltstack(&stack, NULL) < 0)
		exit(2);
}

/* Otherwise the signal is blocked until its handler has returned, and what that raises waits. */
APART void raise_at_null(void)
{
	handle_with(raise_again, SA_NODEFER);
	at_null(); /* raise_at_null */
	after++;
}

APART void raise_later_at_null(void)
{
	handle_with(raise_again, 0);
	at_null(); /* raise_later_at_null */
	after++;
}

APART void raise_at_overflow(void)
{
	use_other_stack();
	handle_with(raise_again, SA_ONSTACK | SA_NODEFER);
	after += overflow(0);
}

APART void return_at_overflow(void)
{
	use_other_stack();
	handle_with(return_again, SA_ONSTACK);
	after += overflow(0);
}

/* The kernel has no room for its frame. */
APART void overflow_without_room(void)
{
	handle_with(raise_again, 0);
	after += overflow(0);
}

APART void ignore(void)
{
	signal(SIGQUIT, SIG_IGN);
	raise(SIGQUIT);
}

static const struct {
	const char *name;
	void (*run)(void);
} kinds[] = {
	{ "null", at_null },
	{ "constant", at_constant },
	{ "impossible", at_impossible },
	{ "end-of-file", at_end_of_file },
	{ "illegal", at_illegal },
	{ "division", at_division },
	{ "breakpoint", at_breakpoint },
	{ "abort", at_abort },
	{ "system-call", at_system_call },
	{ "overflow", at_overflow },
	{ "nothing", at_nothing },
	{ "garbage", at_garbage },
	{ "data", at_data },
	{ "pause", at_pause },
	{ "thread", at_thread },
	{ "survive", survive },
	{ "ignore", ignore },
	{ "raise", raise_at_null },
	{ "raise-later", raise_later_at_null },
	{ "raise-overflow", raise_at_overflow },
	{ "return-overflow", return_at_overflow },
	{ "overflow-without-room", overflow_without_room },
};

APART void inner(void (*run)(void))
{
	run(); /* inner */
	after++;
}

APART void outer(void (*run)(void))
{
	inner(run); /* outer */
	after++;
}

APART void handle(const char *kind, int length)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strcmp(kinds[i].name, kind) == 0)
			outer(kinds[i].run); /* handle */
	after += length;
}

int main(int argc, char **argv)
{
	if (argc != 2 && argc != 3)
		return 2;
	if (argc == 3) {
		puts("ready");
		fflush(stdout);
		getchar();
	}
	handle(argv[1], (int)strlen(argv[1])); /* main */
	puts("survived");
	return 0;
}
