// SPDX-License-Identifier: Apache-2.0
#include "log/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Maximum length of a line of foreign text. */
#define MAX_LINE 1000
/* Maximum length of a progress line. */
#define MAX_PROGRESS 150

static _Atomic enum log_level log_threshold = LOG_INFO;
static _Atomic bool log_priorities;
static _Atomic bool progress_shown; /* written, like the line itself, under stderr's lock */

static _Thread_local FILE *answer;

void log_answer_to(FILE *file)
{
	answer = file;
}

void log_set_level(enum log_level level)
{
	log_threshold = level;
}

bool log_enabled(enum log_level level)
{
	return level <= log_threshold;
}

void log_set_priorities(bool with)
{
	log_priorities = with;
}

bool log_is_journal(void)
{
	const char *text = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return text && sscanf(text, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

/* syslog(3)'s */
static const char *priority(enum log_level level)
{
	switch (level) {
	case LOG_ERROR:
		return "<3>";
	case LOG_WARNING:
		return "<4>";
	case LOG_INFO:
		return "<6>";
	case LOG_DEBUG:
		break;
	}
	return "<7>";
}

static void clear_progress(void)
{
	if (!progress_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress_shown = false;
}

void log_progress_clear(void)
{
	flockfile(stderr);
	clear_progress();
	funlockfile(stderr);
}

bool log_progress_is_shown(void)
{
	return progress_shown;
}

/* Messages may contain names chosen by others, so control characters are made harmless. */
static void put_line(FILE *to, const char *format, va_list args)
{
	_cleanup_free_ char *text = NULL;

	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return;
	}
	text_make_plain(text);
	fputs(text, to);
	fputc('\n', to);
}

void log_message(enum log_level level, const char *format, ...)
{
	va_list args;

	if (!log_enabled(level))
		return;
	if (answer && level == LOG_ERROR) {
		va_start(args, format);
		put_line(answer, format, args);
		va_end(args);
		return;
	}
	flockfile(stderr);
	clear_progress();
	if (log_priorities)
		fputs(priority(level), stderr);
	fputs("dwarfprof: ", stderr);
	if (level == LOG_WARNING)
		fputs("warning: ", stderr);
	va_start(args, format);
	put_line(stderr, format, args);
	va_end(args);
	funlockfile(stderr);
}

void log_lines(enum log_level level, const char *text)
{
	while (*text) {
		size_t size = strcspn(text, "\n");

		log_message(level, "%.*s", size < MAX_LINE ? (int)size : MAX_LINE, text);
		text += size;
		text += *text == '\n';
	}
}

void log_detail(const char *format, ...)
{
	FILE *to = answer ?: stderr;
	va_list args;

	flockfile(to);
	fputs("  ", to);
	va_start(args, format);
	put_line(to, format, args);
	va_end(args);
	funlockfile(to);
}

void log_progress(const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	if (!isatty(STDERR_FILENO) || log_threshold < LOG_INFO)
		return;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text)
		return;
	text_make_plain(text);
	flockfile(stderr);
	fprintf(stderr, "\r\033[K%.*s", MAX_PROGRESS,
		text); /* a line that wraps could not be cleared */
	fflush(stderr);
	progress_shown = true;
	funlockfile(stderr);
}
