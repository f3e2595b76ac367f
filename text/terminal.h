/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_TEXT_TERMINAL_H
#define DP_TEXT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Lays out text for people so that terminals do not break words. Names are shortened in the middle, because both ends
 * of a C++ name or a path matter more; sentences wrap. Files and pipes get lines of any length.
 */

/* The columns of the terminal behind a stream, at least TERMINAL_MIN_COLUMNS; 0: no limit. */
#define TERMINAL_MIN_COLUMNS 60
size_t terminal_columns(FILE *to, bool wide);

/* Shortens UTF-8 text in place: "std::__detai...s::_M_run", at most `columns` characters. */
void terminal_shorten(char *name, size_t columns);

/* Columns of a text, not counting colours. */
size_t terminal_width(const char *text, size_t size);

/* Writes lines of up to `columns`; longer ones go on at a word, below their last column. */
void terminal_write(const char *text, size_t columns, FILE *to);

/* Buffers what is written to `to` until terminal_end(), which lays it out. */
struct terminal {
	FILE *to;       /* in memory; with no limit, the stream itself */
	size_t columns; /* 0: no limit */
	FILE *stream;
	char *text;
	size_t size;
};

/* 0 or a negative errno. */
int terminal_begin(struct terminal *ret, FILE *stream, bool wide);
#define TERMINAL_NAMES 32

/*
 * Ends a row with the names of a function and of its binary, of which `taken` columns are used:
 * both are shortened where there is no room, and the binary's is left out in less than
 * TERMINAL_NAMES columns. The function's has `width` columns, if there is no
 * limit; dim and normal switch to the binary's colour and back. 0 or -ENOMEM.
 */
int terminal_put_names(const struct terminal *terminal, size_t taken, int width,
		       const char *function, const char *binary, const char *dim,
		       const char *normal);

/* Also frees, whether or not it could be written, which ferror(stream) tells. 0 or -ENOMEM. */
int terminal_end(struct terminal *terminal);

#endif
