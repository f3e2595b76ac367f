// SPDX-License-Identifier: Apache-2.0
#include "symbols/module_keep.h"

#include <gelf.h>
#include <string.h>
#include <sys/stat.h>

#include "base/elf_string.h"
#include "base/file_stat.h"
#include "elf/elf_open.h"
#include "symbols/debug_info.h"
#include "symbols/dwfl_file.h"
#include "symbols/location_file.h"
#include "symbols/name_source.h"
#include "symbols/names_parts.h"

/* A debug file from the root of a process may be forged by anyone. */
static bool can_keep_locations(const struct module *module)
{
	struct stat st;

	return module->names->cache.fd >= 0 && module->fd >= 0 && module->build_id[0] != '\0' &&
	       module->debug_fd <= 0 && fstat(module->fd, &st) == 0 &&
	       file_is_same_time(&st.st_mtim, &module->written) &&
	       file_is_same_time(&st.st_ctim, &module->changed);
}

static struct location_place place_of(const struct module *module)
{
	return (struct location_place){ .path = module->path,
					.build_id = module->build_id,
					.fd = module->fd };
}

void module_read_locations(struct module *module)
{
	const struct location_place place = place_of(module);
	struct names *names = module->names;

	if (module->locations_tried)
		return;
	module->locations_tried = true;
	if (can_keep_locations(module) &&
	    location_file_read(&names->cache, &names->options, &place, &module->files,
			       &module->locations) == 0)
		module->keeps_locations = true;
}

/*
 * Without debug information, look-ups are fast, and it may become available later, as may its parts
 * in other files. So nothing is kept.
 */
void module_keep_locations(struct module *module)
{
	const struct location_place place = place_of(module);
	struct names *names = module->names;

	if (module->n_new > 0 && module->keeps_locations && !module->is_partial &&
	    !module->no_debug && can_keep_locations(module) &&
	    name_files_hash(&module->files, module->fd) == 0 &&
	    location_file_write(&names->cache, &names->options, &place, &module->files,
				&module->locations) == 0)
		module->n_new = 0;
}

/* Whether kept locations are of files that were not steady. */
static bool has_copies(const struct name_files *files)
{
	for (size_t i = 0; i < files->n; i++)
		if (files->list[i].version.identity.inode == 0)
			return true;
	return false;
}

/* Such a file is not looked at, since it will not be copied. */
static bool is_too_large(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || (uint64_t)st.st_size > NAME_COPY_MAX;
}

/* Maps the file: a section of names may be nearly all of it, and would be read as a whole. */
static bool has_debug_sections(int fd)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	Elf_Scn *section = NULL;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name;
		GElf_Shdr header;

		name = gelf_getshdr(section, &header) ? elf_string(elf, names, header.sh_name) :
							NULL;
		if (name && (strcmp(name, ".debug_info") == 0 || strcmp(name, ".zdebug_info") == 0))
			return true;
	}
	return false;
}

static void pin_files(struct module *module)
{
	struct name_files *files = &module->files;

	if (files->mode != NAME_FILES_IGNORED || module->is_pinned)
		return;
	module->is_pinned = true;
	if (!can_keep_locations(module))
		return;
	files->mode = has_copies(files) ? NAME_FILES_COPIED : NAME_FILES_NOTED;
	(void)name_files_add(files, module->fd, "");
	if (files->mode == NAME_FILES_COPIED || !files->is_incomplete ||
	    (!is_too_large(module->fd) && !has_debug_sections(module->fd)))
		return;
	files->mode = NAME_FILES_COPIED;
	files->is_incomplete = false;
	(void)name_files_add(files, module->fd, "");
}

int module_read_fd(struct module *module)
{
	int copy;

	pin_files(module);
	copy = name_files_copy(&module->files);
	return copy >= 0 ? copy : module->fd;
}

void module_stop_keeping(struct module *module)
{
	module->is_pinned = true;
}

static int open_debug(struct module *module)
{
	struct dwfl_source source = module_dwfl_source(module);

	if (module->files.mode == NAME_FILES_IGNORED)
		source.fd = module->fd;
	return debug_info_new(&source, &module->debug);
}

/* Whether there are names that were read before files are copied. */
static bool has_other_names(const struct module *module)
{
	return module->keeps_locations || module->go || module->symtab || module->plt ||
	       module->starts;
}

/*
 * Opens it again, from the files themselves, whose directories matter. Copies are closed, and then
 * are memory no more, unless other names are read from them.
 */
static int open_in_place(struct module *module)
{
	module->debug = debug_info_free(module->debug);
	if (module->go || module->symtab)
		module->files.mode = NAME_FILES_IGNORED;
	else
		name_files_reset(&module->files, NAME_FILES_IGNORED);
	return open_debug(module);
}

/* Opens it again, from copies of files that are not steady. */
static int open_copies(struct module *module)
{
	int err;

	module->debug = debug_info_free(module->debug);
	name_files_reset(&module->files, NAME_FILES_COPIED);
	(void)name_files_add(&module->files, module->fd, "");
	err = open_debug(module);
	return err < 0 ? open_in_place(module) : err;
}

int module_open_debug(struct module *module)
{
	struct name_files *files = &module->files;
	int err;

	err = open_debug(module);
	if (err == 0 && files->mode == NAME_FILES_NOTED && files->is_incomplete &&
	    !debug_info_opens_files(module->debug) && !has_other_names(module))
		err = open_copies(module);
	if (err == 0 && debug_info_opens_files(module->debug)) {
		if (files->mode == NAME_FILES_COPIED)
			err = open_in_place(module);
		files->is_incomplete = true;
	}
	return err;
}
