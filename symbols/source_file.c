// SPDX-License-Identifier: Apache-2.0
#include "symbols/source_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/write_all.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "symbols/names_parts.h"

#define AT_ONCE 16384

/* Returns how many bytes there were, at most `size`. */
static int copy(int from, int to, int size)
{
	char bytes[AT_ONCE];
	int done = 0;

	while (done < size) {
		int left = size - done;
		ssize_t n = read(from, bytes, (size_t)(left < AT_ONCE ? left : AT_ONCE));
		int err;

		if (n <= 0)
			return n < 0 ? -errno : done;
		err = write_all(to, bytes, (size_t)n);
		if (err < 0)
			return err;
		done += (int)n;
	}
	return done;
}

static int open_source(const char *path, bool links)
{
	if (path[0] != '/')
		return -ENOENT;
	return links ? regular_file_open(path, 0) : linkless_file_open(-1, path, 0);
}

int source_file_copy(const char *path, bool links, int to)
{
	_cleanup_close_ int from = open_source(path, links);
	struct stat st;

	if (from < 0)
		return from;
	if (fstat(from, &st) < 0 || lseek(to, 0, SEEK_SET) < 0)
		return -errno;
	return st.st_size > SOURCE_FILE_MAX ? -EFBIG : copy(from, to, (int)st.st_size);
}

int source_file_open(const struct names *names, const char *path)
{
	const struct name_reader *reader = names->reader;
	_cleanup_close_ int text = memfd_create("source", MFD_CLOEXEC);
	int size;

	if (text < 0)
		return -errno;
	size = reader && reader->copy_source ? reader->copy_source(names->reader_arg, path, text) :
					       source_file_copy(path, true, text);
	if (size < 0)
		return size;
	/* One that was asked before, and has ended, may have copied more. */
	if (ftruncate(text, size) < 0 || lseek(text, 0, SEEK_SET) < 0)
		return -errno;
	return steal_fd(&text);
}
