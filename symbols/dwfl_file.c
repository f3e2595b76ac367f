// SPDX-License-Identifier: Apache-2.0
#include "symbols/dwfl_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/decompressed.h"
#include "elf/elf_open.h"
#include "symbols/debug_server.h"
#include "symbols/names.h"

/*
 * libdwfl decompresses a file that is no ELF file completely, whatever the result, and (0.188,
 * __libdw_open_elf_memory()) writes through the null pointer that libelf returns for memory.
 */
static bool is_elf(int fd, const void *memory, size_t size)
{
	_cleanup_elf_ Elf *elf = fd < 0 ? elf_open_memory(memory, size) : elf_open(fd);

	return elf != NULL;
}

static Dwfl_Module *report_module(Dwfl *dwfl, const struct dwfl_source *source)
{
	const char *path = source->path;
	Dwfl_Module *module;
	int own;

	if (!is_elf(source->fd, source->memory, source->size))
		return NULL;
	if (source->fd < 0)
		return dwfl_report_offline_memory(dwfl, path, path, (char *)source->memory,
						  source->size);
	own = dup(source->fd); /* libdwfl closes the descriptor that it gets */
	if (own < 0)
		return NULL;
	module = dwfl_report_offline(dwfl, path, path, own);
	if (!module)
		close(own);
	return module;
}

static bool debug_file_is_sound(int fd)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);

	return elf && decompressed_debug_fits(elf);
}

/*
 * Fetches the debug file from a server by build id; if `shared`, the file that dwz has moved common
 * parts to, which the already opened debug file refers to by its own build id.
 */
static int fetch_debug_file(Dwfl_Module *module, const struct dwfl_source *source, bool shared)
{
	struct debug_server *server = names_debug_server(source->names);
	const unsigned char *build_id;
	const void *shared_id;
	const char *name;
	Dwarf_Addr bias;
	Dwarf *dwarf;
	ssize_t size;

	if (!shared) {
		size = dwfl_module_build_id(module, &build_id, &bias);
		return size > 0 ? debug_server_fetch(server, build_id, (size_t)size, source->path,
						     source->awaited) :
				  -1;
	}
	dwarf = dwfl_module_getdwarf(module, &bias);
	size = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &shared_id) : 0;
	return size > 0 ? debug_server_fetch(server, shared_id, (size_t)size, source->path,
					     source->awaited) :
			  -1;
}

/*
 * libdwfl's own search ends with the servers in DEBUGINFOD_URLS, at any time and without a limit.
 * If they are set, only the local build-id directories are searched, and servers are asked when
 * that is allowed.
 */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **ret_file)
{
	const struct dwfl_source *source = *user;
	/* For the file that dwz has moved common parts to, there is no checksum. */
	bool is_shared = link && crc == 0;
	int fd;

	if (names_disabled(source->names))
		return -1;
	if (getenv("DEBUGINFOD_URLS"))
		fd = dwfl_build_id_find_debuginfo(module, user, name, base, file, link, crc,
						  ret_file);
	else
		fd = dwfl_standard_find_debuginfo(module, user, name, base, file, link, crc,
						  ret_file);
	if (fd < 0 && !is_shared && source->debug_fd > 0)
		fd = dup(source->debug_fd);
	if (fd < 0)
		fd = fetch_debug_file(module, source, is_shared);
	if (fd >= 0 && !debug_file_is_sound(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sets the source of the only module while it is being opened. */
static void set_source(Dwfl_Module *module, const struct dwfl_source *source)
{
	void **user;

	if (dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL))
		*user = (void *)source;
}

int dwfl_file_open(const struct dwfl_source *source, Dwfl **ret, Dwfl_Module **ret_module)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_debuginfo,
		.section_address = dwfl_offline_section_address,
	};
	_cleanup_dwfl_ Dwfl *dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *module;

	if (!dwfl)
		return -ENOMEM;
	module = report_module(dwfl, source);
	if (!module || dwfl_report_end(dwfl, NULL, NULL) != 0)
		return -ENOEXEC;
	set_source(module, source);
	*ret = steal_ptr(dwfl);
	*ret_module = module;
	return 0;
}
