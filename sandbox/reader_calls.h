/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_READER_CALLS_H
#define DP_SANDBOX_READER_CALLS_H

#include <stdbool.h>

/*
 * Forbids this process, which has only one thread, the system calls that one that reads recordings
 * (confine_reader()) does not need, and that could gain it rights, reach other processes, or change what
 * files are beyond their content. `asks_servers`: it may use sockets of the Internet. False: this failed.
 */
bool reader_calls_restrict(bool asks_servers);

#endif
