// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_needed.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_open.h"
#include "limits/limits.h"

static int copy_string(char **ret, const char *from)
{
	free(*ret);
	*ret = strdup(from);
	return *ret ? 0 : -ENOMEM;
}

static int add_library(struct elf_needed *needed, const char *name)
{
	if (needed->n_libraries == ELF_NEEDED_MAX)
		return 0;
	if (array_reserve(needed->libraries, needed->n_libraries, needed->libraries_size) < 0)
		return -ENOMEM;
	needed->libraries[needed->n_libraries] = strdup(name);
	return needed->libraries[needed->n_libraries++] ? 0 : -ENOMEM;
}

static int read_dynamic(struct elf_needed *needed, Elf *elf, Elf_Scn *section,
			const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	bool has_runpath = false;
	GElf_Dyn dyn;
	int err = 0;

	for (size_t i = 0; err == 0 && i < n && gelf_getdyn(data, (int)i, &dyn); i++) {
		const char *string = NULL;

		if (dyn.d_tag == DT_NEEDED || dyn.d_tag == DT_RUNPATH || dyn.d_tag == DT_RPATH)
			string = elf_strptr(elf, header->sh_link, dyn.d_un.d_val);
		if (!string)
			continue;
		if (dyn.d_tag == DT_NEEDED)
			err = add_library(needed, string);
		else if (dyn.d_tag == DT_RUNPATH || !has_runpath)
			err = copy_string(&needed->run_path, string);
		has_runpath |= dyn.d_tag == DT_RUNPATH;
	}
	return err;
}

static int read_interpreter(struct elf_needed *needed, Elf *elf, const GElf_Phdr *header)
{
	size_t size;
	const char *file = elf_rawfile(elf, &size);

	if (!file || header->p_offset >= size ||
	    !memchr(file + header->p_offset, '\0', size - header->p_offset))
		return 0;
	return copy_string(&needed->interpreter, file + header->p_offset);
}

static int read_needed(struct elf_needed *needed, Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t n = 0;
	int err = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; err == 0 && i < n; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_INTERP)
			err = read_interpreter(needed, elf, &header);
	}
	while (err == 0 && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
			err = read_dynamic(needed, elf, section, &header);
	}
	return err;
}

int elf_needed_init(struct elf_needed *ret, int fd)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);
	struct elf_needed needed = { 0 };
	int err = elf ? read_needed(&needed, elf) : -ENOEXEC;

	if (err < 0)
		elf_needed_done(&needed);
	*ret = needed;
	return err;
}

void elf_needed_done(struct elf_needed *needed)
{
	for (size_t i = 0; i < needed->n_libraries; i++)
		free(needed->libraries[i]);
	free(needed->libraries);
	free(needed->interpreter);
	free(needed->run_path);
	*needed = (struct elf_needed){ 0 };
}
