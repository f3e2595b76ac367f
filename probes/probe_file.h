/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_PROBES_PROBE_FILE_H
#define DP_PROBES_PROBE_FILE_H

#include <sys/types.h>

#include "kernel/uprobe_places.h"

struct parsers;

/*
 * Opens a file to set a probe in. The kernel reads the file for that, in an uninterruptible wait, so it has to be on
 * a local file system (stored_file_is_local()).
 *
 * Returns a descriptor; -ESTALE: it is no regular file; -EREMOTE: its file system is another one; -ETIMEDOUT,
 * -EBUSY: it does not answer; or the negative errno of opening it. The parsers' finders open it; NULL: this
 * process does.
 */
int probe_file_open(void *parsers, const char *path);

/*
 * The same for the file that `reference` refers to; the caller keeps it. If a file system does not answer, only
 * requests of `user` have to wait (finders.h).
 */
int probe_file_reopen(struct parsers *parsers, uid_t user, int reference);

/* Opens files in that way, and has the parsers read them. */
struct uprobe_reader probe_file_reader(struct parsers *parsers);

#endif
