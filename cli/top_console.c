// SPDX-License-Identifier: Apache-2.0
#include "cli/top_console.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <wchar.h>

#include "base/array.h"
#include "base/signals.h"
#include "cli/top_keys.h"
#include "cli/top_rescue.h"
#include "log/log.h"
#include "text/top_table.h"

/* A program that ends at once, as without permission, should not make the screen flash. */
#define FIRST_DRAWING_MS 200

/* Many messages may come in an interval, which may take hours. */
#define TRIM_MS 1000

/* Of the handler, which has no access to the console. */
static volatile sig_atomic_t signals_to = -1;

static const int caught[TOP_CONSOLE_SIGNALS] = { SIGTSTP, SIGCONT, SIGWINCH, SIGQUIT };

static void on_signal(int number)
{
	char byte = (char)number;
	int saved_errno = errno;

	/* If the pipe is full, enough is known. */
	(void)!write(signals_to, &byte, 1);
	errno = saved_errno;
}

static void catch_signal(int number)
{
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	sigaction(number, &action, NULL);
}

static sigset_t caught_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaddset(&set, caught[i]);
	return set;
}

/*
 * What was ignored when the program began stays so. Only the console's thread gets them: a signal
 * interrupts the kernel's verifier, and libbpf tries only a few times (EAGAIN).
 */
static void catch_signals(struct top_console *c)
{
	const sigset_t set = caught_set();

	pthread_sigmask(SIG_BLOCK, &set, &c->mask);
	signals_to = c->signals[1];
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		if (sigaction(caught[i], NULL, &c->before[i]) == 0 &&
		    c->before[i].sa_handler != SIG_IGN)
			catch_signal(caught[i]);
}

static void release_signals(struct top_console *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &c->before[i], NULL);
}

static void restore_mask(const struct top_console *c)
{
	pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
}

/* Gives the terminal back. */
static void leave(struct top_console *c)
{
	if (!c->screen.to)
		return;
	release_signals(c);
	top_rescue_end();
	top_screen_close(&c->screen);
	if (c->keeps_messages)
		stderr_buffer_end(&c->messages);
}

static void wake(struct top_console *c)
{
	(void)!write(c->wake_fd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* Called by the thread that makes reports. */
static void on_interval(void *arg, struct top_interval *interval)
{
	struct top_console *c = arg;
	struct top_interval *old;

	top_rescue_cover_thread();
	pthread_mutex_lock(&c->lock);
	old = c->next;
	c->next = interval;
	pthread_mutex_unlock(&c->lock);
	top_interval_free(old);
	if (c->keeps_messages)
		stderr_buffer_trim(&c->messages);
	wake(c);
}

/* Takes the newest interval. Returns whether the console is to be closed. */
static bool take_news(struct top_console *c, struct top_interval **ret)
{
	uint64_t n;
	bool is_over;

	(void)!read(c->wake_fd, &n, sizeof(n));
	pthread_mutex_lock(&c->lock);
	*ret = c->next;
	c->next = NULL;
	is_over = c->is_over;
	pthread_mutex_unlock(&c->lock);
	return is_over;
}

static int show(struct top_console *c, struct top_interval *interval)
{
	if (!interval)
		return 0;
	if (!c->is_paused)
		return top_view_show(&c->view, interval);
	top_interval_free(c->latest);
	c->latest = interval;
	return 0;
}

static int pause_or_resume(struct top_console *c)
{
	struct top_interval *latest = c->latest;

	c->is_paused = !c->is_paused;
	c->latest = NULL;
	return show(c, latest);
}

static int edit_filter(struct top_console *c, int code)
{
	char text[TOP_FILTER_SIZE];
	size_t n = strlen(c->view.filter), size;
	mbstate_t state = { 0 };

	strcpy(text, c->view.filter);
	switch (code) {
	case '\r':
	case '\n':
		c->edits_filter = false;
		return 0;
	case 0x1b:
		c->edits_filter = false;
		text[0] = '\0';
		break;
	case 0x15: /* Ctrl-U */
		text[0] = '\0';
		break;
	case 0x7f:
	case '\b':
		while (n > 0 && (text[--n] & 0xc0) == 0x80)
			;
		text[n] = '\0';
		break;
	default:
		if (code < ' ' || n + MB_LEN_MAX >= sizeof(text))
			return 0;
		size = wcrtomb(text + n, (wchar_t)code, &state);
		text[size == (size_t)-1 ? n : n + size] = '\0';
	}
	return top_view_filter(&c->view, text);
}

/* By how many rows does an action move? 0: by none. */
static long rows_moved(enum top_action action, size_t page)
{
	switch (action) {
	case TOP_UP:
		return -1;
	case TOP_DOWN:
		return 1;
	case TOP_PAGE_UP:
		return -(long)page;
	case TOP_PAGE_DOWN:
		return (long)page;
	case TOP_FIRST:
		return -LONG_MAX;
	case TOP_LAST:
		return LONG_MAX;
	default:
		return 0;
	}
}

static int act(struct top_console *c, enum top_action action)
{
	struct top_view *view = &c->view;

	switch (action) {
	case TOP_QUIT:
		leave(c);
		kill(getpid(), SIGINT);
		return 0;
	case TOP_HELP:
		c->shows_help = true;
		c->screen.first_of_help = 0;
		return 0;
	case TOP_UP:
	case TOP_DOWN:
	case TOP_PAGE_UP:
	case TOP_PAGE_DOWN:
	case TOP_FIRST:
	case TOP_LAST:
		top_view_move(view, rows_moved(action, top_screen_page(view)));
		return 0;
	case TOP_EXPAND:
		return top_view_expand(view);
	case TOP_FILTER:
		c->edits_filter = true;
		return 0;
	case TOP_CLEAR:
		return view->filter[0] ? top_view_filter(view, "") : top_view_collapse(view);
	case TOP_PAUSE:
		return pause_or_resume(c);
	case TOP_SORT_NEXT:
	case TOP_SORT_BEFORE:
		return top_view_sort(view, action == TOP_SORT_NEXT ? 1 : -1);
	case TOP_LIST_FUNCTIONS:
		return top_view_choose_list(view, TOP_FUNCTIONS);
	case TOP_LIST_PROCESSES:
		return top_view_choose_list(view, TOP_PROCESSES);
	case TOP_LIST_THREADS:
		return top_view_choose_list(view, TOP_THREADS);
	case TOP_REDRAW:
		top_screen_renew();
		return 0;
	case TOP_NOTHING:
		break;
	}
	return 0;
}

static int obey(struct top_console *c, int code)
{
	if (c->shows_help) {
		long lines = rows_moved(top_keys_find(code), top_screen_help_page());

		c->shows_help = lines != 0;
		top_screen_scroll_help(&c->screen, lines);
		return 0;
	}
	if (c->edits_filter && code > 0)
		return edit_filter(c, code);
	return act(c, top_keys_find(code));
}

/* All that was typed. A terminal that is gone is always readable, but has nothing to read. */
static int obey_keys(struct top_console *c, short events)
{
	int code = top_screen_read(), err = 0;

	if (code == 0 && events & (POLLHUP | POLLERR))
		return -EIO;
	for (; err == 0 && code != 0; code = c->screen.to ? top_screen_read() : 0)
		err = obey(c, code);
	return err;
}

/* Does what SIGTSTP does by default: it stops the program, until SIGCONT. */
static void stop(void)
{
	top_screen_leave();
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	catch_signal(SIGTSTP);
}

static void obey_signals(struct top_console *c)
{
	char numbers[64];
	ssize_t n = read(c->signals[0], numbers, sizeof(numbers));

	for (ssize_t i = 0; i < n; i++) {
		if (numbers[i] == SIGTSTP)
			stop();
		if (numbers[i] == SIGQUIT) {
			leave(c);
			raise(SIGQUIT); /* ends the program */
			return;
		}
		/* A shell may have used the terminal meanwhile, in a state of its own. */
		if (numbers[i] == SIGCONT)
			top_screen_leave();
	}
	top_screen_renew();
}

static int draw(struct top_console *c)
{
	if (c->shows_help)
		return top_screen_draw_help(&c->screen);
	return top_screen_draw(&c->screen, &c->view, c->is_paused, c->edits_filter);
}

/* As poll(); a negative time-out is none. */
static int wait_for_any(struct top_console *c, struct pollfd *fds, nfds_t n_fds, int timeout_ms)
{
	int n;

	do {
		n = poll(fds, n_fds, timeout_ms < 0 ? TRIM_MS : timeout_ms);
		if (c->keeps_messages)
			stderr_buffer_trim(&c->messages);
	} while (n == 0 && timeout_ms < 0);
	return n;
}

/* Waits for something to do, and does it. */
static int serve(struct top_console *c, int timeout_ms)
{
	struct top_interval *interval;
	struct pollfd fds[] = {
		{ .fd = c->end_fd, .events = POLLIN },
		{ .fd = c->wake_fd, .events = POLLIN },
		{ .fd = c->signals[0], .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};
	int err = 0;

	if (wait_for_any(c, fds, ARRAY_SIZE(fds), timeout_ms) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[1].revents) {
		c->ended_by_itself = take_news(c, &interval) && !fds[0].revents;
		err = show(c, interval);
	}
	if (fds[0].revents || c->ended_by_itself)
		leave(c);
	if (c->screen.to && fds[2].revents)
		obey_signals(c);
	if (c->screen.to && err == 0 && fds[3].revents)
		err = obey_keys(c, fds[3].revents);
	return err;
}

static void *run(void *arg)
{
	struct top_console *c = arg;
	sigset_t of_jobs = caught_set();
	int err;

	top_rescue_cover_thread();
	/* If the terminal is another program's, the process has to stop. */
	sigaddset(&of_jobs, SIGTTOU);
	sigaddset(&of_jobs, SIGTTIN);
	pthread_sigmask(SIG_UNBLOCK, &of_jobs, NULL);
	err = serve(c, FIRST_DRAWING_MS);
	while (c->screen.to && err == 0)
		err = draw(c) ?: serve(c, -1);
	if (c->screen.to) {
		act(c, TOP_QUIT);
		log_error("cannot show more: %s", strerror(-err));
		c->err = err;
	}
	return NULL;
}

bool top_console_is_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static void close_all(struct top_console *c)
{
	leave(c);
	top_rescue_uncover_thread();
	restore_mask(c);
	for (size_t i = 0; i < 2; i++)
		if (c->signals[i] >= 0)
			close(c->signals[i]);
	if (c->wake_fd >= 0)
		close(c->wake_fd);
	if (c->end_fd >= 0)
		close(c->end_fd);
	top_view_done(&c->view);
	top_interval_free(c->latest);
	top_interval_free(c->next);
	pthread_mutex_destroy(&c->lock);
}

int top_console_open(struct top_console *ret)
{
	int err;

	*ret = (struct top_console){
		.viewer = { .show = on_interval, .arg = ret },
		.end_fd = -1,
		.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
		.signals = { -1, -1 },
	};
	pthread_sigmask(SIG_SETMASK, NULL, &ret->mask);
	pthread_mutex_init(&ret->lock, NULL);
	top_view_init(&ret->view);
	err = ret->wake_fd < 0 || pipe2(ret->signals, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
	if (err == 0) {
		/* Before curses, which would catch signals itself that nobody does. */
		catch_signals(ret);
		err = top_screen_open(&ret->screen);
		if (err < 0)
			release_signals(ret);
	}
	if (err < 0)
		close_all(ret);
	ret->keeps_messages = err == 0 && isatty(STDERR_FILENO);
	if (ret->keeps_messages)
		stderr_buffer_begin(&ret->messages);
	return err;
}

int top_console_start(struct top_console *c, int end_fd)
{
	sigset_t old;
	int err;

	c->end_fd = fcntl(end_fd, F_DUPFD_CLOEXEC, 0);
	if (c->end_fd < 0)
		return -errno;
	top_rescue_cover_thread();
	top_rescue_begin(c->keeps_messages ? &c->messages : NULL);
	signals_block(&old);
	err = pthread_create(&c->thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	c->has_thread = true;
	pthread_setname_np(c->thread, "console");
	return 0;
}

/* The last table, as the screen that showed it is gone: all functions, by self. */
static int print_last(struct top_console *c)
{
	struct top_interval *last = c->latest ? c->latest : c->view.interval;
	int err;

	if (!last)
		return 0;
	err = top_table_print(
		&(struct top_table){ .head = { last->target, last->last, last->labels },
				     .functions = &last->functions,
				     .value = last->value },
		false, stdout);
	if (err < 0)
		log_error("cannot print the last table: %s", strerror(-err));
	return err;
}

int top_console_close(struct top_console *c)
{
	int err;

	if (c->has_thread) {
		pthread_mutex_lock(&c->lock);
		c->is_over = true;
		pthread_mutex_unlock(&c->lock);
		wake(c);
		pthread_join(c->thread, NULL);
	}
	leave(c);
	err = c->ended_by_itself && c->err == 0 ? print_last(c) : c->err;
	close_all(c);
	return err;
}
