// SPDX-License-Identifier: Apache-2.0
#include "probes/probe_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "binaries/foreign_file.h"
#include "cache/stored_file.h"
#include "probes/probe_catalog.h"
#include "sandbox/finders.h"
#include "sandbox/parsers.h"

int probe_file_reopen(struct parsers *parsers, uid_t user, int reference)
{
	struct found_file found;
	struct stat st = { 0 };
	int err = file_stat(reference, &st);

	if (err < 0)
		return err;
	if (!S_ISREG(st.st_mode))
		return -ESTALE;
	err = finders_open(parsers_finders(parsers), user, reference, &found);
	if (err < 0)
		return err;
	if (!found.is_foreign && stored_file_is_local(found.fd))
		return found.fd;
	foreign_file_close(found.fd);
	return -EREMOTE;
}

int probe_file_open(void *parsers, const char *path)
{
	_cleanup_close_ int place = open(path, O_PATH | O_CLOEXEC);

	return place < 0 ? -errno : probe_file_reopen(parsers, FINDERS_NOBODY, place);
}

struct uprobe_reader probe_file_reader(struct parsers *parsers)
{
	return (struct uprobe_reader){ probe_file_open, probe_catalog_list, parsers_explain,
				       parsers };
}
