// SPDX-License-Identifier: Apache-2.0
#include "profiler/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int output_open(const char *path, struct output *ret)
{
	_cleanup_close_ int fd = -1;
	bool made = true;

	if (!path) {
		*ret = (struct output){ .file = stdout };
		return 0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST) {
		made = false;
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	}
	if (fd < 0)
		return -errno;
	*ret = (struct output){ .path = path, .file = fdopen(fd, "w"), .made = made };
	if (!ret->file)
		return -errno;
	steal_fd(&fd);
	return 0;
}

int output_begin(struct output *o)
{
	struct stat st;

	o->begun = true;
	if (!o->path)
		return 0;
	if (fstat(fileno(o->file), &st) < 0)
		return -errno;
	/* Pipes and devices have no size. */
	return S_ISREG(st.st_mode) && ftruncate(fileno(o->file), 0) < 0 ? -errno : 0;
}

int output_close(struct output *o)
{
	int err = 0;

	if (!o->path)
		return fflush(o->file) != 0 ? -errno : 0;
	if (fclose(o->file) != 0)
		err = -errno;
	if (o->made && !o->begun)
		unlink(o->path);
	*o = (struct output){ 0 };
	return err;
}
