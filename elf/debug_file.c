// SPDX-License-Identifier: Apache-2.0
#include "elf/debug_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_open.h"

/* Larger than the .debug_frame of any program. A damaged header must not exhaust the memory. */
#define MAX_FRAME_SIZE (UINT64_C(1) << 30)

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
	return gelf_getchdr(scn, &compressed) && compressed.ch_size <= MAX_FRAME_SIZE &&
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

bool debug_file_has_checksum(Elf *elf, uint32_t wanted)
{
	size_t size;
	const char *bytes = elf_rawfile(elf, &size);

	return bytes && checksum((const uint8_t *)bytes, size) == wanted;
}

bool debug_file_has_build_id(Elf *elf, const char *wanted)
{
	Elf_Scn *scn = find_section(elf, ".note.gnu.build-id");
	Elf_Data *notes = scn ? elf_getdata(scn, NULL) : NULL;
	size_t name, desc;
	GElf_Nhdr note;

	if (!notes || gelf_getnote(notes, 0, &note, &name, &desc) == 0 ||
	    note.n_type != NT_GNU_BUILD_ID || 2 * (size_t)note.n_descsz != strlen(wanted))
		return false;
	for (size_t i = 0; i < note.n_descsz; i++) {
		char digits[3];

		snprintf(digits, sizeof(digits), "%02x", ((const uint8_t *)notes->d_buf)[desc + i]);
		if (strncmp(digits, wanted + 2 * i, 2) != 0)
			return false;
	}
	return true;
}

/* NULL if there is no such file. Opening anything but a regular file might block. */
static Elf *open_elf(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	Elf *elf;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	elf = elf_open(fd);
	/* The descriptor is not needed from here on. */
	if (elf && elf_cntl(elf, ELF_C_FDREAD) < 0) {
		elf_end(elf);
		return NULL;
	}
	return elf;
}

static Elf *open_by_build_id(const char *build_id)
{
	char path[PATH_MAX];
	Elf *elf;

	if (strlen(build_id) < 4)
		return NULL;
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	elf = open_elf(path);
	if (elf && !debug_file_has_build_id(elf, build_id)) {
		elf_end(elf);
		return NULL;
	}
	return elf;
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
	if (length == 0 || length / 4 * 4 + 8 > data->d_size || memchr(name, '/', length))
		return NULL;
	memcpy(ret_checksum, name + length / 4 * 4 + 4, sizeof(*ret_checksum));
	return name;
}

static Elf *open_by_link(Elf *file, int fd)
{
	static const char *const places[][2] = { { "", "" },
						 { "", "/.debug" },
						 { DEBUG_ROOT, "" } };
	char self[64], directory[PATH_MAX];
	uint32_t wanted;
	const char *name = debug_link_read(file, &wanted);
	ssize_t n;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = name ? readlink(self, directory, sizeof(directory) - 1) : -1;
	if (n <= 0 || directory[0] != '/')
		return NULL;
	directory[n] = '\0';
	*strrchr(directory, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *path;
		Elf *elf;

		if (asprintf(&path, "%s%s%s/%s", places[i][0], directory, places[i][1], name) < 0)
			return NULL;
		elf = open_elf(path);
		free(path);
		if (elf && debug_file_has_checksum(elf, wanted))
			return elf;
		elf_end(elf);
	}
	return NULL;
}

Elf *debug_file_open(Elf *elf, int fd, const char *build_id)
{
	Elf *found = open_by_build_id(build_id);

	return found ? found : open_by_link(elf, fd);
}
