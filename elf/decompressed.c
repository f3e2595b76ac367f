// SPDX-License-Identifier: Apache-2.0
#include "elf/decompressed.h"

#include <gelf.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_open.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

static bool take(uint64_t *left, uint64_t size)
{
	if (size > *left)
		return false;
	*left -= size;
	return true;
}

/* The decompressed size of a section; 0 if it is not compressed or cannot be read. */
static uint64_t section_size(Elf_Scn *section)
{
	GElf_Shdr header;
	GElf_Chdr chdr;

	if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_COMPRESSED))
		return 0;
	return gelf_getchdr(section, &chdr) ? chdr.ch_size : 0;
}

/* The older format: .zdebug_info begins with "ZLIB" and the size in big-endian order. */
static uint64_t zdebug_size(Elf_Scn *section, const char *name)
{
	Elf_Data *data;
	uint64_t size = 0;

	data = strncmp(name, ".zdebug", 7) == 0 ? elf_rawdata(section, NULL) : NULL;
	if (!data || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4) != 0)
		return 0;
	for (int i = 4; i < 12; i++)
		size = size << 8 | ((const unsigned char *)data->d_buf)[i];
	return size;
}

/* "" if it has none. elf_strptr() decompresses the section of names, which was checked before. */
static const char *section_name(Elf *elf, Elf_Scn *section, size_t names)
{
	GElf_Shdr header;
	const char *name = NULL;

	if (gelf_getshdr(section, &header))
		name = elf_strptr(elf, names, header.sh_name);
	return name ? name : "";
}

static bool exceeds_symbols(void)
{
	LIMIT_HIT(DECOMPRESSED_SYMBOLS_MAX);
	return false;
}

static bool exceeds_debug(bool by_ratio)
{
	if (by_ratio)
		LIMIT_HIT(DECOMPRESSED_DEBUG_RATIO);
	else
		LIMIT_HIT(DECOMPRESSED_DEBUG_MAX);
	return false;
}

bool decompressed_symbols_fit(Elf *elf)
{
	uint64_t left = DECOMPRESSED_SYMBOLS_MAX;
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return true; /* nothing to decompress */
	if (!take(&left, section_size(elf_getscn(elf, names))))
		return exceeds_symbols();
	while ((section = elf_nextscn(elf, section)) != NULL) {
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) ||
		    (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM &&
		     header.sh_type != SHT_SYMTAB_SHNDX))
			continue;
		/* The strings may be in a section of any type. */
		if (!take(&left, section_size(section)) ||
		    !take(&left, section_size(elf_getscn(elf, header.sh_link))))
			return exceeds_symbols();
	}
	return true;
}

bool decompressed_debug_fits(Elf *elf)
{
	uint64_t left = DECOMPRESSED_DEBUG_MAX, ratio;
	Elf_Scn *section = NULL;
	size_t names, file = 0;

	if (!decompressed_symbols_fit(elf))
		return false;
	if (elf_getshdrstrndx(elf, &names) != 0)
		return true;
	elf_rawfile(elf, &file);
	ratio = DECOMPRESSED_DEBUG_FREE + DECOMPRESSED_DEBUG_RATIO * (uint64_t)file;
	left = ratio < left ? ratio : left;
	while ((section = elf_nextscn(elf, section)) != NULL)
		if (!take(&left, section_size(section)) ||
		    !take(&left, zdebug_size(section, section_name(elf, section, names))))
			return exceeds_debug(ratio < DECOMPRESSED_DEBUG_MAX);
	return true;
}

/*
 * Decompresses into the same buffer repeatedly, in the way libdw does. Returns the total size and
 * whether the data are complete. The index at the end of the data also has the size, but may be
 * wrong.
 */
static uint64_t decode(const Elf_Data *data, unsigned char *buffer, size_t size, bool *ret_whole)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret result = lzma_auto_decoder(&stream, DECOMPRESSED_DICTIONARY_MAX, 0);
	uint64_t n;

	stream.next_in = data->d_buf;
	stream.avail_in = data->d_size;
	while (result == LZMA_OK && stream.total_out <= DECOMPRESSED_SYMBOLS_MAX) {
		if (stream.avail_out == 0) {
			stream.next_out = buffer;
			stream.avail_out = size;
		}
		result = lzma_code(&stream, LZMA_FINISH);
	}
	if (result == LZMA_MEMLIMIT_ERROR)
		LIMIT_HIT(DECOMPRESSED_DICTIONARY_MAX);
	n = result == LZMA_MEMLIMIT_ERROR || result == LZMA_MEM_ERROR ? UINT64_MAX :
									stream.total_out;
	*ret_whole = result == LZMA_STREAM_END;
	lzma_end(&stream);
	return n;
}

/* The file inside may have compressed sections, too. */
static bool inner_fits(const Elf_Data *data, size_t size)
{
	_cleanup_free_ unsigned char *buffer = malloc(size + 1);
	_cleanup_elf_ Elf *elf = NULL;
	bool whole;

	if (!buffer || decode(data, buffer, size + 1, &whole) != size)
		return false;
	elf = elf_open_memory(buffer, size);
	return !elf || decompressed_symbols_fit(elf);
}

static bool debugdata_fits(const Elf_Data *data)
{
	unsigned char buffer[16 << 10];
	bool whole;
	uint64_t size = decode(data, buffer, sizeof(buffer), &whole);

	if (size > DECOMPRESSED_SYMBOLS_MAX)
		return size == UINT64_MAX ? false : exceeds_symbols();
	/* libdw discards data that it cannot decompress completely. */
	return !whole || size == 0 || inner_fits(data, (size_t)size);
}

bool decompressed_debugdata_fits(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return true;
	if (!decompressed_symbols_fit(elf))
		return false; /* includes the section of names */
	while ((section = elf_nextscn(elf, section)) != NULL)
		if (strcmp(section_name(elf, section, names), ".gnu_debugdata") == 0) {
			Elf_Data *data = elf_rawdata(section, NULL);

			/* libdw reads only the first such section. */
			return !data || !data->d_buf || debugdata_fits(data);
		}
	return true;
}
