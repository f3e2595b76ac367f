// SPDX-License-Identifier: Apache-2.0
/* Names and lines of this program, which it looks up like those of any binary. */
#include "symbols/module.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/disk_cache.h"
#include "symbols/debug_info.h"
#include "symbols/module_keep.h"
#include "symbols/names.h"
#include "symbols/names_parts.h"
#include "symbols/symtab.h"
#include "symbols/tests/some_names.h"

extern const char __executable_start[];

/* A function whose location in the file this test knows. */
__attribute__((noinline, used)) static int landmark(int n)
{
	return n * 3 + 1;
}

static uint64_t address_in_file(const void *address)
{
	return (uint64_t)address - (uint64_t)__executable_start;
}

static uint64_t landmark_address(void)
{
	return address_in_file((const void *)landmark);
}

static const char *call_address;

__attribute__((noinline)) static void note_call(void)
{
	call_address = __builtin_return_address(0);
}

enum { CALL_LINE = __LINE__ + 4 };

static inline __attribute__((always_inline)) void inner(void)
{
	note_call();
	__asm__ volatile("");
}

__attribute__((noinline)) static void outer(void)
{
	inner();
	__asm__ volatile("");
}

static struct module *this_program(struct names *names)
{
	struct module *module = module_new(names, "/proc/self/exe", "",
					   open("/proc/self/exe", O_RDONLY | O_CLOEXEC));

	cr_assert(module);
	return module;
}

Test(module, reads_symbols_when_asked_and_stops_when_told)
{
	struct names *names = names_with((struct names_options){ 0 });
	struct module *module = this_program(names);
	const struct source_location *locations;

	cr_assert_str_eq(module->name, "exe");
	cr_assert(module->symtab == NULL);
	cr_assert_eq(module_find_locations(module, landmark_address(), false, &locations), 1);
	cr_assert_str_eq(locations[0].function, "landmark");
	cr_assert(module->symtab != NULL);
	names_disable(names);
	cr_assert_eq(module_find_locations(module, landmark_address(), false, &locations), 0);
	module_free(module);
	names_free(names);
}

Test(module, finds_places_and_knows_them_when_its_debug_information_is_closed)
{
	struct names *names = names_with((struct names_options){ 0 });
	struct module *module = this_program(names);
	const struct source_location *locations;

	cr_assert_eq(module_find_locations(module, landmark_address(), true, &locations), 1);
	cr_assert_str_eq(locations[0].function, "landmark");
	cr_assert(strstr(locations[0].file, "/test_module.c") && locations[0].line > 0);
	cr_assert(!locations[0].inlined && module->debug);
	module_free(module);

	/* The least recently used is closed; the last one stays open if it fits. */
	module = this_program(names);
	cr_assert_eq(module_find_locations(module, landmark_address(), true, &locations), 1);
	names_limit_debug(names, 0);
	cr_assert(!module->debug);
	cr_assert_eq(module_find_locations(module, landmark_address(), true, &locations), 1);
	cr_assert_str_eq(locations[0].function, "landmark");
	cr_assert(!module->debug);
	/* A new address opens it again. */
	cr_assert_eq(module_find_locations(module, landmark_address() + 1, true, &locations), 1);
	cr_assert(module->debug && locations[0].line > 0);
	module_free(module);
	names_free(names);
}

Test(module, keeps_only_so_many_open)
{
	struct names *names = names_with((struct names_options){ 0 });
	struct module *modules[MODULE_DEBUG_OPEN + 2];
	const size_t n = sizeof(modules) / sizeof(modules[0]);
	const struct source_location *locations;

	for (size_t i = 0; i < n; i++) {
		modules[i] = this_program(names);
		cr_assert_eq(module_find_locations(modules[i], landmark_address(), false,
						   &locations),
			     1);
	}
	cr_assert(!modules[0]->debug && !modules[1]->debug);
	cr_assert(modules[2]->debug && modules[n - 1]->debug);
	for (size_t i = 0; i < n; i++)
		module_free(modules[i]);
	names_free(names);
}

Test(module, leaves_out_what_is_not_wanted)
{
	struct names *names =
		names_with((struct names_options){ .no_inlines = true, .no_lines = true });
	struct module *module = this_program(names);
	const struct source_location *locations;

	cr_assert_eq(module_find_locations(module, landmark_address(), true, &locations), 1);
	cr_assert_str_eq(locations[0].function, "landmark");
	cr_assert(!locations[0].file && !module->debug);
	module_free(module);
	names_free(names);
}

/* Nobody can tell that of a file in memory nothing changes. */
static int copy_file(const char *path)
{
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("exe", MFD_CLOEXEC);

	cr_assert(from >= 0 && fd >= 0);
	while (sendfile(fd, from, NULL, 1 << 20) > 0)
		;
	return fd;
}

static int copy_program(void)
{
	return copy_file("/proc/self/exe");
}

/* Function names then come from debug information. */
static void remove_symbols(int fd)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;

	cr_assert_eq(pread(fd, &header, sizeof(header), 0), sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		off_t at = (off_t)(header.e_shoff + i * sizeof(section));

		cr_assert_eq(pread(fd, &section, sizeof(section), at), sizeof(section));
		if (section.sh_type != SHT_SYMTAB)
			continue;
		section.sh_type = SHT_PROGBITS;
		cr_assert_eq(pwrite(fd, &section, sizeof(section), at), sizeof(section));
	}
}

/* If inlined functions are left out, the enclosing one gets the line of the address. */
static void expect_call(bool has_symbols)
{
	const uint64_t address = address_in_file(call_address - 1);
	const struct source_location *locations;

	for (int no_inlines = 0; no_inlines < 2; no_inlines++) {
		struct names *names =
			names_with((struct names_options){ .no_inlines = no_inlines });
		struct module *module;
		int fd = copy_program();

		if (!has_symbols)
			remove_symbols(fd);
		module = module_new(names, "/tmp/exe", "", fd);
		cr_assert(module);
		cr_assert_eq(module_find_locations(module, address, true, &locations),
			     no_inlines ? 1 : 2);
		cr_expect_eq(!module->symtab || !symtab_find_symbol(module->symtab, address),
			     !has_symbols);
		cr_expect_eq(locations[0].line, CALL_LINE);
		cr_expect_eq(locations[0].inlined, !no_inlines);
		cr_expect_str_eq(locations[0].function, no_inlines ? "outer" : "inner");
		cr_expect_str_eq(locations[!no_inlines].function, "outer");
		module_free(module);
		names_free(names);
	}
}

Test(module, shows_functions_without_what_was_inlined)
{
	outer();
	expect_call(true);
	expect_call(false);
}

/* The number of open copies of files that are not steady. */
static size_t n_copies(void)
{
	_cleanup_closedir_ DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	size_t n = 0;

	while ((entry = readdir(directory))) {
		char path[64] = "";

		if (readlinkat(dirfd(directory), entry->d_name, path, sizeof(path) - 1) > 0)
			n += strncmp(path, "/memfd:copy ", 12) == 0;
	}
	return n;
}

/* Names of its parts in .dwo files, which libdw opens by itself, are not kept. */
Test(module, has_no_copy_of_a_file_that_is_read_in_place)
{
	struct names *names = names_with((struct names_options){ 0 });
	char directory[] = "/tmp/module.XXXXXX", command[64];
	const struct source_location *locations;
	struct module *module;
	struct disk_cache disk;

	cr_assert(mkdtemp(directory));
	cr_assert_eq(disk_cache_open(directory, 16 << 20, &disk), 0);
	names_set_cache(names, &disk);
	module = module_new(names, "/tmp/split", "0123456789abcdef", copy_file(getenv("SPLIT")));
	cr_assert(module);
	module_find_locations(module, 0, true, &locations);
	cr_assert(module->debug && debug_info_opens_files(module->debug));
	cr_expect_eq(n_copies(), 0);
	cr_expect(names->copies.n == 0 && names->copies.bytes == 0);
	module_free(module);
	names_set_cache(names, NULL);
	names_free(names);
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	cr_assert_eq(system(command), 0);
}

/* What was found when it was open before may be missing when it is opened again. */
Test(module, looks_again_for_what_dwz_has_shared)
{
	struct names *names = names_with((struct names_options){ 0 });
	struct module *module = this_program(names);
	const struct source_location *locations;

	module->files.has_shared = true;
	cr_assert_eq(module_find_locations(module, landmark_address(), true, &locations), 1);
	cr_expect(module->debug && !module->files.has_shared);
	module_free(module);
	names_free(names);
}

/* The bytes that this process has read. */
static uint64_t n_read(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/io", "re");
	uint64_t n;

	cr_assert(file && fscanf(file, "rchar: %" SCNu64, &n) == 1);
	return n;
}

/* A file whose section names are a hole of a size. */
static int file_of_names(uint64_t size)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(header),
		.e_ehsize = sizeof(header),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 2,
		.e_shstrndx = 1,
	};
	const Elf64_Shdr sections[2] = {
		[1] = { .sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = size },
	};
	int fd = memfd_create("names", MFD_CLOEXEC);

	cr_assert(fd >= 0 && ftruncate(fd, (off_t)(4096 + size)) == 0);
	cr_assert_eq(write(fd, &header, sizeof(header)), sizeof(header));
	cr_assert_eq(write(fd, sections, sizeof(sections)), sizeof(sections));
	return fd;
}

/* Whether it is to be copied costs no memory, however large it is. */
Test(module, reads_few_bytes_of_a_large_file)
{
	struct names *names = names_with((struct names_options){ 0 });
	char directory[] = "/tmp/module.XXXXXX", command[64];
	struct disk_cache disk;

	cr_assert(mkdtemp(directory));
	cr_assert_eq(disk_cache_open(directory, 16 << 20, &disk), 0);
	names_set_cache(names, &disk);
	for (int is_huge = 0; is_huge < 2; is_huge++) {
		const uint64_t size = is_huge ? NAME_COPY_MAX : 64 << 20;
		struct module *module =
			module_new(names, "/tmp/names", "0123456789abcdef", file_of_names(size));
		uint64_t before = n_read();

		cr_assert_eq(module_read_fd(module), module->fd);
		cr_expect_lt(n_read() - before, 1 << 20, "%d", is_huge);
		cr_expect(module->files.is_incomplete && names->copies.n == 0);
		cr_expect_eq(module->files.mode, is_huge ? NAME_FILES_COPIED : NAME_FILES_NOTED);
		module_free(module);
	}
	names_set_cache(names, NULL);
	names_free(names);
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	cr_assert_eq(system(command), 0);
}

/* A symbol in a file. */
static Elf64_Sym *find_symbol(uint8_t *bytes, const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)bytes;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(bytes + header->e_shoff);

	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i];
		Elf64_Sym *symbols = (Elf64_Sym *)(bytes + s->sh_offset);

		for (size_t k = 0; s->sh_type == SHT_SYMTAB && k < s->sh_size / sizeof(*symbols);
		     k++)
			if (strcmp((const char *)bytes + sections[s->sh_link].sh_offset +
					   symbols[k].st_name,
				   name) == 0)
				return &symbols[k];
	}
	cr_assert_fail("no symbol %s", name);
	return NULL;
}

static void swap_symbols(uint8_t *bytes)
{
	Elf64_Sym *a = find_symbol(bytes, "landmark"), *b = find_symbol(bytes, "outer");
	uint32_t name = a->st_name;

	a->st_name = b->st_name;
	b->st_name = name;
}

/* Someone shows forged names to whoever reads them first, and the real ones to whoever hashes. */
Test(module, keeps_no_names_of_other_bytes)
{
	struct names *names = names_with((struct names_options){ 0 });
	char directory[] = "/tmp/module.XXXXXX", command[64];
	_cleanup_close_ int copy = copy_program();
	off_t size = lseek(copy, 0, SEEK_END);
	uint8_t *bytes = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
	const struct source_location *locations;
	struct disk_cache disk;
	uint64_t start;

	cr_assert(bytes != MAP_FAILED && mkdtemp(directory));
	cr_assert_eq(disk_cache_open(directory, 16 << 20, &disk), 0);
	names_set_cache(names, &disk);
	for (int run = 0; run < 2; run++) {
		struct module *module =
			module_new(names, "/tmp/exe", "0123456789abcdef", dup(copy));

		if (run == 0)
			swap_symbols(bytes);
		cr_assert_eq(module_find_start(module, landmark_address(), &start), 0);
		if (run == 0)
			swap_symbols(bytes);
		cr_assert_eq(module_find_locations(module, landmark_address(), true, &locations),
			     1);
		cr_expect_str_eq(locations[0].function, run == 0 ? "outer" : "landmark");
		module_free(module);
	}
	munmap(bytes, (size_t)size);
	names_set_cache(names, NULL);
	names_free(names);
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	cr_assert_eq(system(command), 0);
}

/*
 * With locations on disk, the next run does not open debug information, not even for addresses
 * without any.
 */
Test(module, keeps_places_for_the_next_run, .timeout = 60)
{
	extern const char _start[];
	const uint64_t addresses[] = { landmark_address(), address_in_file(_start), 1 };
	struct names *names = names_with((struct names_options){ 0 });
	char directory[] = "/tmp/module.XXXXXX", command[64];
	_cleanup_close_ int copy = copy_program();
	const struct source_location *locations;
	struct disk_cache disk;

	cr_assert(mkdtemp(directory));
	cr_assert_eq(disk_cache_open(directory, 16 << 20, &disk), 0);
	names_set_cache(names, &disk);
	for (int run = 0; run < 2; run++) {
		struct module *module =
			module_new(names, "/tmp/exe", "0123456789abcdef", dup(copy));

		cr_assert(module);
		cr_assert_eq(module_find_locations(module, addresses[0], true, &locations), 1);
		cr_assert(locations[0].line > 0);
		cr_assert_eq(module_find_locations(module, addresses[1], true, &locations), 1);
		cr_assert_str_eq(locations[0].function, "_start");
		cr_assert_eq(module_find_locations(module, addresses[2], true, &locations), 0);
		cr_assert_eq(!module->debug, run == 1);
		module_free(module);
	}
	names_set_cache(names, NULL);
	names_free(names);
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	cr_assert_eq(system(command), 0);
}
