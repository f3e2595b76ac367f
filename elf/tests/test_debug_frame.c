// SPDX-License-Identifier: Apache-2.0
/* Separate debug files and .debug_frame, in files with a few sections. */
#include "elf/debug_frame.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cfi/tests/assembler.h"

struct section {
	const char *name;
	uint32_t type;
	const void *bytes;
	size_t size;
};

/* A file with these sections, the last of which has all names. */
static void put_file(struct assembler *a, const struct section *sections, size_t n)
{
	Elf64_Ehdr header = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(n + 2),
		.e_shstrndx = (uint16_t)(n + 1),
	};
	Elf64_Shdr headers[8] = { 0 };
	size_t names;

	cr_assert(n + 2 <= ARRAY_SIZE(headers));
	put_bytes(a, &header, sizeof(header));
	for (size_t i = 0; i < n; i++) {
		headers[i + 1].sh_type = sections[i].type;
		headers[i + 1].sh_offset = a->size;
		headers[i + 1].sh_size = sections[i].size;
		if (sections[i].bytes)
			put_bytes(a, sections[i].bytes, sections[i].size);
	}
	names = a->size;
	put_u8(a, 0);
	for (size_t i = 0; i < n; i++) {
		headers[i + 1].sh_name = (uint32_t)(a->size - names);
		put_string(a, sections[i].name);
	}
	headers[n + 1] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				       .sh_offset = names,
				       .sh_size = a->size - names };
	while (a->size % 8 != 0)
		put_u8(a, 0);
	header.e_shoff = a->size;
	put_bytes(a, headers, (n + 2) * sizeof(*headers));
	memcpy(a->bytes, &header, sizeof(header));
}

static Elf *open_bytes(struct assembler *a)
{
	Elf *elf = elf_memory((char *)a->bytes, a->size);

	cr_assert(elf);
	return elf;
}

static void begin(void)
{
	elf_version(EV_CURRENT);
}

TestSuite(debug_frame, .init = begin);

static void expect_frame(const struct section *sections, size_t n, const char *bytes)
{
	struct assembler a = { .size = 0 };
	struct cfi_section found;
	Elf *elf;

	put_file(&a, sections, n);
	elf = open_bytes(&a);
	debug_frame_read(elf, &found);
	cr_assert_eq(found.size, strlen(bytes), "%zu, not %s", found.size, bytes);
	cr_assert(found.debug_frame);
	cr_assert(found.size == 0 || memcmp(found.data, bytes, found.size) == 0);
	elf_end(elf);
}

/* A stripped section has a header and a size, but no bytes. */
Test(debug_frame, has_a_frame_section_only_with_its_bytes)
{
	static const struct section sections[] = {
		{ ".debug_frame", SHT_NOBITS, NULL, 64 },
		{ ".eh_frame", SHT_PROGBITS, "wrong", 5 },
		{ ".debug_frame", SHT_PROGBITS, "right", 5 },
	};

	expect_frame(sections, 3, "right");
	expect_frame(sections, 2, "");
	expect_frame(sections + 2, 1, "right");
}

/* A program without a build id, and candidates for its debug file. */
static char directory[] = "/tmp/dwarfprof-test-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* Writes a file with a single section of these bytes. Returns its checksum. */
static uint32_t make_file(const char *path, const char *name, const void *bytes, size_t size)
{
	const struct section section = { name, SHT_PROGBITS, bytes, size };
	_cleanup_close_ int fd = creat(path, 0600);
	struct assembler a = { .size = 0 };

	put_file(&a, &section, 1);
	cr_assert(write(fd, a.bytes, a.size) == (ssize_t)a.size);
	return (uint32_t)crc32(0, a.bytes, (uInt)a.size);
}

/* Expects a debug file with this content to be found; "": none. */
static void expect_found(uint32_t checksum, const char *says)
{
	static const char name[16] = "program.debug"; /* aligned to 4 bytes */
	struct assembler link = { .size = 0 };
	struct cfi_section frame = { 0 };
	Elf *elf, *debug;
	int fd;

	put_bytes(&link, name, sizeof(name));
	put_u32(&link, checksum);
	make_file(path_of("program"), ".gnu_debuglink", link.bytes, link.size);
	fd = open(path_of("program"), O_RDONLY | O_CLOEXEC);
	cr_assert(fd >= 0);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	debug = debug_file_open(elf, fd, "");
	if (debug)
		debug_frame_read(debug, &frame);
	cr_assert_eq(frame.size, strlen(says), "%zu, not %s", frame.size, says);
	cr_assert(frame.size == 0 || memcmp(frame.data, says, frame.size) == 0);
	elf_end(debug);
	elf_end(elf);
	close(fd);
}

/* In the places listed in GDB's manual; a file of another build has another checksum. */
Test(debug_frame, is_found_by_a_link)
{
	uint32_t beside, below;

	cr_assert(mkdtemp(directory) && mkdir(path_of(".debug"), 0700) == 0);
	expect_found(0, "");
	below = make_file(path_of(".debug/program.debug"), ".debug_frame", "below", 5);
	expect_found(below, "below");
	expect_found(below ^ 1, "");
	beside = make_file(path_of("program.debug"), ".debug_frame", "beside", 6);
	expect_found(beside, "beside");
	expect_found(below, "below");
	unlink(path_of("program.debug"));
	expect_found(beside, "");
	/* Opening a FIFO without a writer would never return. */
	cr_assert(mkfifo(path_of("program.debug"), 0600) == 0);
	expect_found(below, "below");
	unlink(path_of("program.debug"));
	unlink(path_of("program"));
	unlink(path_of(".debug/program.debug"));
	rmdir(path_of(".debug"));
	rmdir(directory);
}
