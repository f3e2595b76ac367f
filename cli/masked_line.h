/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_MASKED_LINE_H
#define DP_CLI_MASKED_LINE_H

/*
 * Copies a command line for storing and showing, without the values of --header and the secrets in URLs. Ends with
 * NULL, as the words do. NULL: out of memory.
 */
char **masked_line_new(char **words);
/* Accepts NULL. Returns NULL. */
char **masked_line_free(char **line);

#endif
