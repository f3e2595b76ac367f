/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FUNCTIONS_LINE_PLACES_H
#define DP_FUNCTIONS_LINE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* FILE:LINE, as users write it: the end of a path of a source file. */
struct source_line {
	const char *file; /* not terminated */
	size_t n;         /* its bytes */
	uint32_t line;
};

/* False: it is the name of a function. */
bool source_line_parse(const char *text, struct source_line *ret);

#define LINE_PLACES_NAME_SIZE 256

struct line_places {
	uint64_t *addresses; /* of the file, ascending, each once */
	size_t n, size;
	char file[LINE_PLACES_NAME_SIZE];  /* as the compiler has it */
	char other[LINE_PLACES_NAME_SIZE]; /* -EEXIST: another one */
	uint32_t next;                     /* -ESRCH: the next line with code; 0: there is none */
};

/*
 * Finds where the code of a line begins, by the line table (DWARF 5 section 6.2) of the file behind fd: at each row
 * that begins a statement (is_stmt) and does not merely continue the same line.
 *
 * 0; -ENODATA: there is no line table; -ENOENT: it has no such file; -EEXIST: it has several; -ESRCH: the
 * line has no code; -E2BIG: there are too many places; -ENOEXEC; or -ENOMEM.
 * line_places_done() frees *ret, also then.
 */
int line_places_find(int fd, const struct source_line *line, struct line_places *ret);
void line_places_done(struct line_places *places);

#endif
