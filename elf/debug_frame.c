// SPDX-License-Identifier: Apache-2.0
#include "elf/debug_frame.h"

#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_file.h"
#include "elf/elf_open.h"
#include "limits/limits.h"

static Elf_Scn *find_section(Elf *elf, const char *wanted)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr header;
		const char *name;

		if (!gelf_getshdr(scn, &header) || header.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (name && strcmp(name, wanted) == 0)
			return scn;
	}
	return NULL;
}

/*
 * Decompresses a section compressed as in the ELF standard or, if `old`, as earlier GNU tools did.
 */
static bool uncompress(Elf_Scn *scn, bool old)
{
	GElf_Shdr header;
	GElf_Chdr compressed;

	if (old)
		return elf_compress_gnu(scn, 0, 0) >= 0;
	if (!gelf_getshdr(scn, &header))
		return false;
	if (!(header.sh_flags & SHF_COMPRESSED))
		return true;
	return gelf_getchdr(scn, &compressed) && compressed.ch_size <= DEBUG_FRAME_MAX &&
	       elf_compress(scn, 0, 0) >= 0;
}

void debug_frame_read(Elf *elf, struct cfi_section *ret)
{
	Elf_Scn *scn = find_section(elf, ".debug_frame");
	bool old = !scn;
	Elf_Data *data;

	*ret = (struct cfi_section){ .debug_frame = true };
	if (!scn)
		scn = find_section(elf, ".zdebug_frame");
	if (!scn || !uncompress(scn, old))
		return;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return;
	ret->data = data->d_buf;
	ret->size = data->d_size;
}

/* The CRC-32 of zlib and of GDB's description of .gnu_debuglink. */
static uint32_t checksum(const uint8_t *bytes, size_t size)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (size_t i = 0; i < size; i++)
		crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

static bool has_checksum(Elf *elf, uint32_t wanted)
{
	size_t size;
	const char *bytes = elf_rawfile(elf, &size);

	return bytes && checksum((const uint8_t *)bytes, size) == wanted;
}

/* Build ids are compared as far as struct elf_file keeps them. False: the file has none. */
static bool read_build_id(Elf *elf, char ret[ELF_BUILD_ID_SIZE])
{
	Elf_Scn *scn = find_section(elf, ".note.gnu.build-id");
	Elf_Data *notes = scn ? elf_getdata(scn, NULL) : NULL;
	size_t name, desc;
	GElf_Nhdr note;

	if (!notes || gelf_getnote(notes, 0, &note, &name, &desc) == 0 ||
	    note.n_type != NT_GNU_BUILD_ID || note.n_descsz == 0)
		return false;
	for (size_t i = 0; i < note.n_descsz && 2 * i + 2 < ELF_BUILD_ID_SIZE; i++)
		snprintf(ret + 2 * i, 3, "%02x", ((const uint8_t *)notes->d_buf)[desc + i]);
	return true;
}

bool debug_file_belongs(Elf *elf, const struct debug_wanted *wanted)
{
	char build_id[ELF_BUILD_ID_SIZE];

	if (wanted->build_id[0] && read_build_id(elf, build_id))
		return strcmp(build_id, wanted->build_id) == 0;
	return wanted->link && *wanted->link && has_checksum(elf, wanted->checksum);
}

const char *debug_link_read(Elf *elf, uint32_t *ret_checksum)
{
	Elf_Scn *scn = find_section(elf, ".gnu_debuglink");
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;
	const char *name;
	size_t length;

	if (!data || !data->d_buf)
		return NULL;
	name = data->d_buf;
	/* The checksum follows the name, aligned to 4 bytes. */
	length = strnlen(name, data->d_size);
	if (length / 4 * 4 + 8 > data->d_size || !debug_link_is_name(name))
		return NULL;
	memcpy(ret_checksum, name + length / 4 * 4 + 4, sizeof(*ret_checksum));
	return name;
}

static bool belongs(void *arg, int fd, const struct debug_wanted *wanted)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);

	(void)arg;
	return elf && debug_file_belongs(elf, wanted);
}

Elf *debug_file_open(Elf *file, int fd, const char *build_id)
{
	const struct debug_reader reader = { .belongs = belongs };
	struct debug_wanted wanted = { .build_id = build_id };
	_cleanup_close_ int found = -1;
	_cleanup_elf_ Elf *elf = NULL;

	wanted.link = debug_link_read(file, &wanted.checksum);
	found = debug_search(fd, &wanted, &reader);
	if (found < 0)
		return NULL;
	elf = elf_open(found);
	/* The descriptor is not needed from here on. */
	if (elf && elf_cntl(elf, ELF_C_FDREAD) < 0)
		return NULL;
	return steal_ptr(elf);
}
