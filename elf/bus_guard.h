/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_BUS_GUARD_H
#define DP_ELF_BUS_GUARD_H

#include <signal.h>
#include <stdbool.h>

/*
 * Files stay mapped while tables and names are read from them. Anyone with write permission can truncate them, as
 * compilers do; reading beyond the new end raises SIGBUS. Installs a handler that makes such a page read as zeros,
 * which no parser takes for valid data, and continues. After thousands of such pages, the rest of the mapping reads
 * as zeros, too.
 *
 * It handles only reads of data outside of the program and its libraries; a program cannot go on
 * without its own files. Any other SIGBUS ends the program as usual. Returns 0 or a negative errno.
 *
 * Signal handlers belong to the process, so a program calls this and a library must not: it would
 * replace its host's handler. Without the guard everything else works, but
 * a file that is truncated at such a moment raises SIGBUS.
 */
int bus_guard_install(void);

/*
 * What the handler does first, for programs that have a handler of SIGBUS of their own: true if the
 * program can go on. Calls only async-signal-safe functions, and keeps errno.
 */
bool bus_guard_repair(const siginfo_t *info, const void *context);

#endif
