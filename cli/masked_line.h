/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_CLI_MASKED_LINE_H
#define DP_CLI_MASKED_LINE_H

/*
 * The words of a command line as they may be kept and shown: without the values of --header, and
 * what is secret in URLs. Ends with NULL, as the words do. NULL: there is no memory.
 */
char **masked_line_new(char **words);
/* Accepts NULL. Returns NULL. */
char **masked_line_free(char **line);

#endif
