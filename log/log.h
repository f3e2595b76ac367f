/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_LOG_LOG_H
#define DP_LOG_LOG_H

#include <stdbool.h>

/*
 * What the program says to a person, on stderr. Every line starts with the
 * program's name, but for the lines of detail under an error. A message is one
 * line: control characters in it, and bytes that are not UTF-8, become `?`.
 *
 * stderr and its terminal are the process's, whoever writes to them: so are the level, and
 * the line that is being shown, which the next message of anybody has to clear. There is one of each,
 * therefore, and no object to hand down. The program sets the level; libraries only ask for it.
 * Any thread may say something: a message is whole, as stderr is locked for it.
 */
enum log_level {
	LOG_ERROR,
	LOG_WARNING,
	LOG_INFO,
	LOG_DEBUG,
};

/* Say only what is at least as grave as this; LOG_INFO at first. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

void log_message(enum log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line under the error before it: what is needed, what to type. */
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Say a text of many lines, of which very long ones are cut: what libraries and the kernel say. */
void log_lines(enum log_level level, const char *text);

#define log_error(...) log_message(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_message(LOG_DEBUG, __VA_ARGS__)

/*
 * Show a line that the next one replaces, while the program works. Does
 * nothing unless stderr is a terminal. Ordinary messages clear it first.
 */
void log_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_progress_clear(void);

#endif
