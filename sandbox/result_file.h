/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_RESULT_FILE_H
#define DP_SANDBOX_RESULT_FILE_H

/*
 * A file in memory in which a helper returns what it was asked for, once. Whoever has it then, it cannot be
 * changed any more once it is sealed, not even while it is copied.
 */

/* A descriptor or a negative errno. */
int result_file_new(const char *name);

/* 0; -EPROTO: somebody keeps it from being sealed, as no honest helper does. */
int result_file_seal(int fd);

#endif
