/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_RESULT_FILE_H
#define DP_SANDBOX_RESULT_FILE_H

/*
 * A file in memory in which a helper returns what it was asked for, once. Once it is sealed, nobody who has it
 * writes to it or changes its size. Memory that is mapped already stays as it is: confined helpers can share
 * none, and what is read is checked as a copy.
 */

/* A descriptor or a negative errno. */
int result_file_new(const char *name);

/* 0; -ECONNABORTED: another helper may be asked; -EPROTO: it was sealed against this, as none is by an honest one. */
int result_file_seal(int fd);

#endif
