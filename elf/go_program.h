/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_GO_PROGRAM_H
#define DP_ELF_GO_PROGRAM_H

#include "go/go_file.h"

/* A file with Go's tables, which stays mapped because they are large. */
struct go_program;

/*
 * Opens the file behind fd, which the caller keeps until go_program_free(). 0, -ENOENT if it is no ELF
 * file, or the errors of go_file_init().
 */
int go_program_new(int fd, struct go_program **ret);
/* NULL is allowed. Returns NULL. */
struct go_program *go_program_free(struct go_program *program);

/* The tables, which the program owns. */
const struct go_file *go_program_tables(const struct go_program *program);

#endif
