// SPDX-License-Identifier: Apache-2.0
#include "kernel/probed_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file_stat.h"
#include "kernel/uprobe_places.h"
#include "log/log.h"

/* Looks a path up in the kernel's cache only (openat2(2), Linux 5.12): its file system might not answer. */
static int find_cached(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

enum found { FOUND_NOTHING, FOUND_SAME, FOUND_OTHER };

/* What its path leads to. What is not in the cache tells nothing. */
static enum found find(const struct probed_file *f)
{
	int fd = find_cached(f->path);
	struct stat st;
	int err;

	if (fd < 0)
		return FOUND_NOTHING;
	err = file_stat(fd, &st);
	close(fd);
	if (err < 0)
		return FOUND_NOTHING;
	return st.st_dev == f->at.st_dev && st.st_ino == f->at.st_ino ? FOUND_SAME : FOUND_OTHER;
}

/* What a path below /proc leads to goes with its process. */
static bool may_be_replaced(const struct probed_file *f)
{
	return strncmp(f->path, "/proc/", strlen("/proc/")) != 0 && find(f) == FOUND_SAME;
}

int probed_files_add(struct probed_files *files, const struct uprobe_places *places, bool by_path)
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
		int err = -errno;

		free(f.path);
		return err;
	}
	f.has_path = by_path && may_be_replaced(&f);
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
	struct stat st = { 0 };
	int err = file_stat(f->fd, &st);

	if (err == 0 &&
	    (st.st_size != f->at.st_size || !file_time_is_same(&st.st_mtim, &f->at.st_mtim)))
		return PROBED_WRITTEN;
	if (err == 0 && f->at.st_nlink > 0 && st.st_nlink == 0)
		return PROBED_REPLACED;
	return f->has_path && find(f) == FOUND_OTHER ? PROBED_REPLACED : PROBED_SAME;
}

const char *probed_change_explain(enum probed_change change)
{
	switch (change) {
	case PROBED_WRITTEN:
		return "was written to after it was searched: hits may be missed, and values wrong";
	case PROBED_REPLACED:
		return "was replaced after it was searched: hits of programs that have started since are not seen";
	case PROBED_SAME:
		break;
	}
	return NULL;
}

void probed_files_say_changed(const struct probed_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		const char *text = probed_change_explain(probed_file_change(&files->of[i]));

		if (text)
			log_warning("%s %s", files->of[i].path, text);
	}
}
