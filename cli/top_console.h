/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_TOP_CONSOLE_H
#define DP_CLI_TOP_CONSOLE_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "cli/stderr_buffer.h"
#include "cli/top_screen.h"
#include "text/top_view.h"

/*
 * The terminal of `dwarfprof top`: shows intervals and handles keys, in its own thread, so that sampling never waits
 * for the terminal. While it is open, it buffers stderr if that is a terminal, too, and handles SIGTSTP, SIGCONT,
 * SIGWINCH and SIGQUIT, so there is only one console at a time.
 */
#define TOP_CONSOLE_SIGNALS 4

struct top_console {
	struct top_viewer viewer; /* takes intervals from any thread */
	pthread_t thread;
	bool has_thread;
	int end_fd;     /* becomes readable, and stays so, when sampling ends */
	int wake_fd;    /* an eventfd: there is news under the lock */
	int signals[2]; /* a pipe with the numbers of those that came */
	struct sigaction before[TOP_CONSOLE_SIGNALS];
	sigset_t mask; /* of the thread that opens it, before */
	struct stderr_buffer messages;
	bool keeps_messages;

	pthread_mutex_t lock; /* protects these */
	struct top_interval *next;
	bool is_over;

	/* The thread's own. */
	struct top_screen screen;
	struct top_view view;
	struct top_interval *latest; /* while it is paused; NULL: the one that is shown */
	bool is_paused, edits_filter, shows_help;
	bool ended_by_itself; /* sampling, without a key or a signal */
	int err;              /* why it ended itself, or 0 */
};

/*
 * True if stdin and stdout are terminals. If curses does not know the terminal, top_console_open()
 * still fails.
 */
bool top_console_is_possible(void);

/*
 * Opens the screen, before sampling begins. A key may send SIGINT to the process, as Ctrl-C does. 0
 * or a negative errno.
 */
int top_console_open(struct top_console *ret);
/*
 * Begins to show and to listen. The screen is closed when end_fd becomes readable, which the caller
 * may close any time. 0 or a negative errno.
 */
int top_console_start(struct top_console *console, int end_fd);
/*
 * Leaves the terminal as it was, and writes what was kept for stderr, and the last table, if nobody
 * ended it sooner. 0, or a negative errno: it could not show all.
 */
int top_console_close(struct top_console *console);

#endif
