// SPDX-License-Identifier: Apache-2.0
#include "cli/file_table.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/log.h"
#include "sandbox/debug_of_file.h"
#include "sandbox/finders.h"

static int ask(struct parsers *parsers, int fd, int debug_fd, enum table_rows rows,
	       struct parse_result *ret)
{
	const struct parse_request request = { .kind = PARSE_TABLE,
					       .fd = fd,
					       .other = debug_fd,
					       .user = geteuid(),
					       .rows = rows,
					       .cpu_ns = FILE_TABLE_CPU_NS };
	clockid_t clock = 0;

	return parsers_ask(parsers, &request, &clock, ret);
}

static int open_file(struct parsers *parsers, const char *path, uint64_t inode)
{
	struct found_file found;
	int err;

	if (inode == 0)
		return regular_file_open(path, 0);
	err = finders_look_up(parsers_finders(parsers), geteuid(), -1, path, inode, &found);
	return err < 0 ? err : found.fd;
}

/* What the debug file does to its reader costs only what it has. */
static void add_debug_file(struct parsers *parsers, const char *path, int fd, enum table_rows rows,
			   struct parse_result *result)
{
	_cleanup_close_ int debug_fd =
		debug_of_file(parsers, geteuid(), fd, FILE_TABLE_CPU_NS, result);
	_cleanup_(parse_result_done) struct parse_result both = { 0 };
	struct parse_result own = *result;
	int err = debug_fd;

	if (err == -ENOENT)
		return;
	if (err >= 0)
		err = ask(parsers, fd, debug_fd, rows, &both);
	if (err < 0) {
		log_warning("%s: its debug file is left out: %s", path, file_table_error(err));
		return;
	}
	*result = both;
	both = own;
}

int file_table_init(struct file_table *ret, struct parsers *parsers, const char *path,
		    uint64_t inode, enum table_rows rows)
{
	_cleanup_(parse_result_done) struct parse_result result = { 0 };
	_cleanup_close_ int fd = open_file(parsers, path, inode);
	int err;

	if (fd < 0)
		return fd;
	err = ask(parsers, fd, -1, rows, &result);
	if (err == 0 && result.lacks_cfi)
		add_debug_file(parsers, path, fd, rows, &result);
	*ret = (struct file_table){ path, steal_ptr(result.table) };
	return err;
}

void file_table_done(struct file_table *table)
{
	free(steal_ptr(table->view));
}

const char *file_table_error(int err)
{
	switch (err) {
	case -ENOEXEC:
		return "it is no ELF program or library";
	case -ENOTSUP:
		return "it is for another machine than " ELF_ARCH;
	case -EBADMSG:
		return "it is damaged or not complete";
	case -EFBIG:
		return "its code or its unwind information spans 4 GiB or more, or has too many CIEs";
	default:
		return parsers_explain(err);
	}
}
