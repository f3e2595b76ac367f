/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_RESULT_FILE_H
#define DP_SANDBOX_RESULT_FILE_H

/*
 * A file in memory for a helper's result, used once. Once it is sealed, no holder can write to it or resize it.
 * Existing mappings would stay writable, but confined helpers cannot make shared ones, and what is read is copied
 * before it is checked.
 */

/* A descriptor or a negative errno. */
int result_file_new(const char *name);

/* 0; -ECONNABORTED: ask another helper; -EPROTO: the helper has sealed it against sealing, as no honest one does. */
int result_file_seal(int fd);

#endif
