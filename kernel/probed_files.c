// SPDX-License-Identifier: Apache-2.0
#include "kernel/probed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file_stat.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"

/* Is the file still what its path leads to? */
static bool is_at_path(const struct probed_file *f)
{
	int fd = open(f->path, O_PATH | O_CLOEXEC);
	struct stat st;
	bool is_there;

	if (fd < 0)
		return false;
	is_there =
		file_stat(fd, &st) == 0 && st.st_dev == f->at.st_dev && st.st_ino == f->at.st_ino;
	close(fd);
	return is_there;
}

int probed_files_add(struct probed_files *files, const struct uprobe_places *places)
{
	struct probed_file f = { .at = places->file };

	for (size_t i = 0; i < files->n; i++)
		if (files->of[i].at.st_dev == f.at.st_dev && files->of[i].at.st_ino == f.at.st_ino)
			return 0;
	if (array_reserve(files->of, files->n, files->size) < 0)
		return -ENOMEM;
	f.path = strdup(places->path);
	if (!f.path)
		return -ENOMEM;
	f.fd = fcntl(places->fd, F_DUPFD_CLOEXEC, 0);
	if (f.fd < 0) {
		free(f.path);
		return -errno;
	}
	f.has_path = is_at_path(&f);
	files->of[files->n++] = f;
	return 0;
}

void probed_files_done(struct probed_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		close(files->of[i].fd);
		free(files->of[i].path);
	}
	free(files->of);
	*files = (struct probed_files){ 0 };
}

enum probed_change probed_file_change(const struct probed_file *f)
{
	struct stat st;

	if (file_stat(f->fd, &st) == 0 &&
	    (st.st_size != f->at.st_size || !file_time_is_same(&st.st_mtim, &f->at.st_mtim)))
		return PROBED_WRITTEN;
	return f->has_path && !is_at_path(f) ? PROBED_REPLACED : PROBED_SAME;
}

void probed_files_say_changed(const struct probed_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		switch (probed_file_change(&files->of[i])) {
		case PROBED_WRITTEN:
			log_warning(
				"%s was written to while it was probed: hits may be missed, and values wrong",
				files->of[i].path);
			break;
		case PROBED_REPLACED:
			log_warning(
				"%s was replaced while it was probed: hits of programs that have started since are not seen",
				files->of[i].path);
			break;
		case PROBED_SAME:
			break;
		}
	}
}
