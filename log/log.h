/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOG_LOG_H
#define DP_LOG_LOG_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Messages for the user, on stderr. Each line starts with the program's name, except detail lines
 * under an error. A message is one line: control characters and invalid UTF-8 become `?`.
 *
 * The level, the priorities and the progress line are global, like stderr and its terminal: the next message of any
 * thread must clear the progress line. Only the program sets the level; libraries read it. Any
 * thread may log: stderr is locked for each message.
 */
enum log_level {
	LOG_ERROR,
	LOG_WARNING,
	LOG_INFO,
	LOG_DEBUG,
};

/* Logs only messages of at least this severity. The default is LOG_INFO. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

/*
 * Begins each message with its priority, as journald takes it: sd-daemon(3). Details have none. For
 * a program whose stderr is the journal's (log_is_journal()).
 */
void log_set_priorities(bool with);
/* Is stderr the journal's, by JOURNAL_STREAM of systemd.exec(5)? */
bool log_is_journal(void);

void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Sends this thread's errors and their details, a line each, to the client whose request has failed, instead of to
 * stderr. The caller keeps the file. NULL: to stderr.
 */
void log_answer_to(FILE *file);

/* Logs a line under the preceding error: what is needed, what to type. */
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Logs a text of many lines from libraries or the kernel; very long lines are cut. */
void log_lines(enum log_level level, const char *text);

#define log_error(...) log_message(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)

/*
 * Shows a progress line, which the next one replaces and ordinary messages clear. Does nothing
 * unless stderr is a terminal.
 */
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_progress_clear(void);
bool log_progress_is_shown(void);

#endif
