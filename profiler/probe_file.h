/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROFILER_PROBE_FILE_H
#define DP_PROFILER_PROBE_FILE_H

#include <sys/types.h>

#include "kernel/uprobe_places.h"

struct parsers;

/*
 * The file that a probe is to be set in. The kernel reads it when that is done, and whoever waits for that
 * cannot be ended. So it has to be on a file system that this machine has itself (stored_file_is_local()).
 *
 * Returns a descriptor; -ESTALE: it is no regular file; -EREMOTE: its file system is another one; -ETIMEDOUT,
 * -EBUSY: it does not answer; or the negative errno of opening it. The parsers' finders open it; NULL: this
 * process does.
 */
int probe_file_open(void *parsers, const char *path);

/*
 * The same of a file that a descriptor refers to, which the caller keeps; for a user, who alone has to wait if
 * their file systems do not answer (finders.h).
 */
int probe_file_reopen(struct parsers *parsers, uid_t user, int reference);

/* Opens files in that way, and has the parsers read them. */
struct uprobe_reader probe_file_reader(struct parsers *parsers);

#endif
