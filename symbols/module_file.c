// SPDX-License-Identifier: Apache-2.0
#include "symbols/module_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "elf/elf_file.h"
#include "symbols/module.h"
#include "symbols/name_reader.h"
#include "symbols/names_parts.h"

static bool has_build_id(int fd, const void *memory, size_t size, const char *build_id)
{
	char found[ELF_BUILD_ID_SIZE];

	elf_file_read_build_id(fd, memory, size, found);
	return found[0] != '\0' && strcmp(found, build_id) == 0;
}

static const struct name_reader *reader_of(const struct module_file *file)
{
	return file->names ? file->names->reader : NULL;
}

/* 0; -ESTALE: it is another; or another negative errno. */
static int compare(int fd, const struct module_file *file)
{
	const struct name_reader *reader = reader_of(file);
	char found[MODULE_BUILD_ID_SIZE];
	bool is_right;
	struct stat st;
	int err = 0;

	if (file->build_id[0] == '\0') {
		is_right = file_stat(fd, &st) == 0 && st.st_size == file->size &&
			   st.st_mtim.tv_sec == file->written.tv_sec;
	} else if (!reader || !reader->read_build_id) {
		is_right = has_build_id(fd, NULL, 0, file->build_id);
	} else {
		err = reader->read_build_id(file->names->reader_arg, fd, found);
		is_right = err == 0 && strcmp(found, file->build_id) == 0;
	}
	return err < 0 || is_right ? err : -ESTALE;
}

static int open_path(const struct module_file *file, const char *path)
{
	const struct name_reader *reader = reader_of(file);
	struct stat st;
	int fd;

	if (reader && reader->open_file)
		return reader->open_file(file->names->reader_arg, path);
	/* A recording may name anything, and opening a device may have effects. */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return -ESTALE;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* *ret_err becomes the most specific error. */
static bool try(const char *dir, const char *path, const struct module_file *file, int *ret_fd,
		int *ret_err)
{
	_cleanup_free_ char *whole = NULL;
	_cleanup_close_ int fd = -1;
	int err;

	if (asprintf(&whole, "%s%s%s", dir, path[0] == '/' ? "" : "/", path) < 0) {
		*ret_err = -ENOMEM;
		return false;
	}
	fd = open_path(file, whole);
	if (fd < 0) {
		if (fd == -ESTALE || (fd != -ENOENT && fd != -ENOTDIR && *ret_err == -ENOENT))
			*ret_err = fd;
		return false;
	}
	err = compare(fd, file);
	if (err < 0) {
		*ret_err = err;
		return false;
	}
	*ret_fd = steal_fd(&fd);
	return true;
}

int module_file_open(const struct module_file *file, const char *root, int *ret_fd)
{
	const char *slash = strrchr(file->path, '/');
	char debug[sizeof("/usr/lib/debug/.build-id/xx/.debug") + ELF_BUILD_ID_SIZE];
	int err = -ENOENT;

	if (root && (try(root, file->path, file, ret_fd, &err) ||
		     try(root, slash ? slash : file->path, file, ret_fd, &err)))
		return 0;
	/*
	 * A name that is no path, such as [vdso], must not be looked up in the working directory.
	 */
	if (slash == NULL)
		return err;
	if (file->path[0] == '/' && try("", file->path, file, ret_fd, &err))
		return 0;
	if (strlen(file->build_id) < 3 || strlen(file->build_id) >= ELF_BUILD_ID_SIZE)
		return err;
	snprintf(debug, sizeof(debug), "/usr/lib/debug/.build-id/%.2s/%s.debug", file->build_id,
		 file->build_id + 2);
	if ((root && try(root, debug, file, ret_fd, &err)) || try("", debug, file, ret_fd, &err))
		return 0;
	return err;
}

int module_file_copy_vdso(const char *build_id, void **ret, size_t *ret_size)
{
	const Elf64_Ehdr *head = (const void *)getauxval(AT_SYSINFO_EHDR);
	_cleanup_free_ void *copy = NULL;
	size_t size;

	if (!head)
		return -ESTALE;
	/* It ends with the section headers (the kernel links it as a library, entry/vdso). */
	size = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, head, size);
	if (!has_build_id(-1, copy, size, build_id))
		return -ESTALE;
	*ret = steal_ptr(copy);
	*ret_size = size;
	return 0;
}
