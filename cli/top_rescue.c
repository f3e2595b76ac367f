// SPDX-License-Identifier: Apache-2.0
#include "cli/top_rescue.h"

#include <curses.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

/* Its macros are words that others use, too. */
#include <term.h>

#include "base/array.h"
#include "elf/bus_guard.h"

static struct termios settings;
static volatile sig_atomic_t changed, drawn; /* the settings, the screen */
static const struct stderr_buffer *messages; /* NULL: none are kept */

static const int caught[] = { SIGABRT, SIGBUS, SIGFPE, SIGHUP, SIGILL, SIGSEGV };
static struct sigaction before[ARRAY_SIZE(caught)];
static bool has_begun;

/* For the handler, in a thread whose own stack has overflowed. */
struct handler_stack {
	stack_t before;
	char bytes[64 * 1024];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t handler_stacks;

/* What is written. */
static char bytes[256];
static size_t n_bytes;

int top_rescue_keep_settings(void)
{
	if (tcgetattr(STDIN_FILENO, &settings) < 0)
		return -errno;
	changed = true;
	return 0;
}

static int add_byte(int c)
{
	if (n_bytes < sizeof(bytes))
		bytes[n_bytes++] = (char)c;
	return c;
}

void top_rescue_prepare(void)
{
	/* As endwin() does: plain text, the cursor, keys as the shell expects them, its screen. */
	static const char *const capabilities[] = { "sgr0", "cnorm", "rmkx", "rmcup" };

	n_bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		const char *text = tigetstr(capabilities[i]);

		if (text && text != (const char *)-1)
			tputs(text, 1, add_byte);
	}
}

void top_rescue_set_drawn(bool is_drawn)
{
	changed = drawn = is_drawn;
}

/* A terminal that does not control this process is nobody else's. */
bool top_rescue_is_of_others(void)
{
	pid_t owner = tcgetpgrp(STDIN_FILENO);

	return owner > 0 && owner != getpgrp();
}

static void give_back(void)
{
	if (top_rescue_is_of_others())
		return;
	if (drawn)
		(void)!write(STDOUT_FILENO, bytes, n_bytes);
	if (changed)
		tcsetattr(STDIN_FILENO, TCSANOW, &settings);
}

static void release(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &before[i], NULL);
}

/* Calls only async-signal-safe functions, before the program ends as it would have. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	if (number == SIGBUS && bus_guard_repair(info, context))
		return;
	give_back();
	if (messages)
		stderr_buffer_rescue(messages);
	release();
	/* An instruction that failed fails again. What was sent would not come again. */
	if (info->si_code <= 0 || number == SIGHUP)
		raise(number);
}

void top_rescue_begin(const struct stderr_buffer *kept)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };

	messages = kept;
	sigfillset(&action.sa_mask); /* such as SIGTTOU, which stops a program in the background */
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++) {
		sigaction(caught[i], NULL, &before[i]);
		if (caught[i] != SIGHUP || before[i].sa_handler != SIG_IGN)
			sigaction(caught[i], &action, NULL);
	}
	has_begun = true;
}

void top_rescue_end(void)
{
	if (has_begun)
		release();
	has_begun = false;
}

static void free_stack(void *stack)
{
	struct handler_stack *s = stack;

	sigaltstack(&s->before, NULL);
	free(s);
}

static void make_key(void)
{
	pthread_key_create(&handler_stacks, free_stack);
}

void top_rescue_cover_thread(void)
{
	struct handler_stack *s;

	pthread_once(&once, make_key);
	if (pthread_getspecific(handler_stacks))
		return;
	s = calloc(1, sizeof(*s));
	if (!s)
		return;
	if (sigaltstack(&(stack_t){ .ss_sp = s->bytes, .ss_size = sizeof(s->bytes) }, &s->before) <
		    0 ||
	    pthread_setspecific(handler_stacks, s) != 0)
		free_stack(s);
}

void top_rescue_uncover_thread(void)
{
	struct handler_stack *s;

	pthread_once(&once, make_key);
	s = pthread_getspecific(handler_stacks);
	if (!s)
		return;
	pthread_setspecific(handler_stacks, NULL);
	free_stack(s);
}
