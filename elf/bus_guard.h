/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_BUS_GUARD_H
#define DP_ELF_BUS_GUARD_H

/*
 * The files that tables and names are read from stay mapped while they are, and
 * anyone who may write to them can cut them off, as a compiler does: reading
 * behind the new end raises SIGBUS. From here on such a page reads as zeros,
 * which no parser takes for anything, and the program goes on.
 *
 * Only reads of data are helped, outside of the program and its libraries: a
 * program whose own files are gone cannot go on. Any other SIGBUS ends it as
 * before. Returns 0 or a negative errno.
 *
 * A signal's handler is the process's, so that it is for a program to install this one, and for
 * no library, which would take that of its host away. Nothing else is kept. Without it, all
 * works as well, but that a file that is cut off at such a moment ends the process, or is a matter
 * of the handler that the host has.
 */
int bus_guard_install(void);

#endif
