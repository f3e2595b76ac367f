// SPDX-License-Identifier: Apache-2.0
/* ELF files with compressed parts that claim any size. */
#include "elf/decompressed.h"

#include <criterion/criterion.h>
#include <lzma.h>
#include <string.h>

#include "elf/tests/elf_bytes.h"
#include "limits/limits.h"

struct section {
	const char *name;
	uint32_t type;
	uint64_t flags;
	const void *bytes;
	size_t size;
};

struct file {
	char bytes[4096];
	size_t size;
};

static uint64_t append(struct file *file, const void *bytes, size_t size)
{
	uint64_t at = file->size;

	cr_assert_leq(size, sizeof(file->bytes) - file->size);
	memcpy(file->bytes + file->size, bytes, size);
	file->size += (size + 7) & ~(size_t)7;
	return at;
}

/* A file with one section, and a section with the names of both. */
static void make_file(const struct section *section, struct file *ret)
{
	const Elf64_Ehdr header = elf_header(0, 3);
	char names[64] = "\0.shstrtab";
	Elf64_Shdr headers[3] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 11,
		  .sh_type = section->type,
		  .sh_flags = section->flags,
		  .sh_size = section->size,
		  .sh_addralign = 8 },
		{ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_size = sizeof(names) },
	};

	strcpy(names + 11, section->name);
	*ret = (struct file){ .size = sizeof(header) + sizeof(headers) };
	headers[1].sh_offset = append(ret, section->bytes, section->size);
	headers[2].sh_offset = append(ret, names, sizeof(names));
	memcpy(ret->bytes, &header, sizeof(header));
	memcpy(ret->bytes + sizeof(header), headers, sizeof(headers));
}

static bool fits(const struct section *section, bool (*asked)(Elf *))
{
	struct file file;
	bool fits;
	Elf *elf;

	make_file(section, &file);
	elf_version(EV_CURRENT);
	elf = elf_memory(file.bytes, file.size);
	cr_assert(elf && elf_kind(elf) == ELF_K_ELF);
	fits = asked(elf);
	elf_end(elf);
	return fits;
}

/* The older compression format is recognised by section names. */
static bool zdebug_fits(const char *name, uint64_t size)
{
	unsigned char bytes[16] = "ZLIB";

	for (int i = 0; i < 8; i++)
		bytes[4 + i] = (unsigned char)(size >> (56 - 8 * i));
	return fits(&(struct section){ name, SHT_PROGBITS, 0, bytes, sizeof(bytes) },
		    decompressed_debug_fits);
}

Test(decompressed, bounds_debug_information)
{
	const uint64_t free = DECOMPRESSED_DEBUG_FREE;

	cr_assert(zdebug_fits(".zdebug_info", free));
	cr_assert(!zdebug_fits(".zdebug_info", free + DECOMPRESSED_DEBUG_RATIO * 4096));
	cr_assert(!zdebug_fits(".zdebug_info", UINT64_MAX));
	/* Sections that are not decompressed may claim any size. */
	cr_assert(zdebug_fits(".data", UINT64_MAX));
}

static struct section compressed_symbols(const Elf64_Chdr *bytes)
{
	return (struct section){ ".symtab", SHT_SYMTAB, SHF_COMPRESSED, bytes, sizeof(*bytes) };
}

Test(decompressed, bounds_symbols)
{
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB,
			      .ch_size = DECOMPRESSED_SYMBOLS_MAX,
			      .ch_addralign = 8 };
	struct section symbols = compressed_symbols(&header);

	cr_assert(fits(&symbols, decompressed_symbols_fit));
	header.ch_size++;
	cr_assert(!fits(&symbols, decompressed_symbols_fit));
	cr_assert(!fits(&symbols, decompressed_debug_fits));
}

/* A file inside a file may also have compressed symbols. */
Test(decompressed, bounds_symbols_in_the_file_in_debugdata)
{
	Elf64_Chdr header = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = 1000, .ch_addralign = 8 };
	struct section symbols = compressed_symbols(&header);

	for (int i = 0; i < 2; i++) {
		struct section debugdata = { ".gnu_debugdata", SHT_PROGBITS };
		unsigned char packed[2048];
		struct file inner;

		header.ch_size = i ? DECOMPRESSED_SYMBOLS_MAX + 1 : 1000;
		make_file(&symbols, &inner);
		cr_assert_eq(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL,
						     (const uint8_t *)inner.bytes, inner.size,
						     packed, &debugdata.size, sizeof(packed)),
			     LZMA_OK);
		debugdata.bytes = packed;
		cr_assert_eq(fits(&debugdata, decompressed_debugdata_fits), i == 0);
	}
}
