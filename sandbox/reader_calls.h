/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_READER_CALLS_H
#define DP_SANDBOX_READER_CALLS_H

#include <stdbool.h>

/*
 * Forbids this single-threaded process system calls that a reader of recordings (confine_reader()) does not need, and
 * that could gain it privileges, reach other processes, or change more of files than their content. asks_servers:
 * Internet sockets are allowed. False: this failed.
 */
bool reader_calls_restrict(bool asks_servers);

#endif
