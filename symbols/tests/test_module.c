// SPDX-License-Identifier: Apache-2.0
/* Names and lines of this program, which it looks up like those of any binary. */
#include "symbols/module.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache/disk_cache.h"
#include "cache/stored_file.h"
#include "limits/limits.h"
#include "symbols/names.h"
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

static void look_up_one_more(struct module *module, uint64_t number)
{
	const struct source_location *locations;

	cr_assert_eq(module_find_locations(module, landmark_address() + number, true, &locations),
		     1);
	cr_assert_str_eq(locations[0].function, "landmark");
}

/* First those of the binary that was looked up in the longest ago; they are found again. */
Test(module, frees_locations_that_take_too_much)
{
	struct names *names = names_with((struct names_options){ 0 });
	struct module *old = this_program(names), *last = this_program(names);
	const struct names_kept one = (look_up_one_more(old, 0), names_kept(names));
	struct names_kept both, kept;

	cr_assert(one.symbols > 0 && one.strings > strlen("landmark"));
	look_up_one_more(last, 0);
	both = names_kept(names);
	cr_assert(both.symbols == 2 * one.symbols && both.strings == 2 * one.strings);
	names_set_limits(names, both.symbols, both.strings);
	look_up_one_more(last, 1); /* is there before it counts */
	kept = names_kept(names);
	cr_assert(kept.symbols == 3 * one.symbols && kept.strings == both.strings);
	cr_assert_eq(kept.n_forgotten, 0);
	look_up_one_more(last, 1);
	kept = names_kept(names);
	cr_assert(kept.symbols == both.symbols && kept.strings == one.strings);
	cr_assert(kept.n_forgotten == 1 && old->locations.n_entries == 0);
	names_set_limits(names, 0, one.strings - 1);
	look_up_one_more(old, 0);
	kept = names_kept(names);
	cr_assert(kept.n_forgotten == 2 && last->locations.n_entries == 0);
	cr_assert(kept.symbols == one.symbols && kept.strings == one.strings);
	module_free(old);
	module_free(last);
	kept = names_kept(names);
	cr_assert(kept.symbols == 0 && kept.strings == 0);
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

static int copy_program(void)
{
	_cleanup_close_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("exe", MFD_CLOEXEC);

	cr_assert(from >= 0 && fd >= 0);
	while (sendfile(fd, from, NULL, 1 << 20) > 0)
		;
	return fd;
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

/* A copy of this program that is no longer being changed, so its locations can be kept. */
static int open_settled_copy(void)
{
	struct stored_identity source;
	int fd = copy_program();

	while (stored_file_identify(fd, &source) == -ESTALE)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	return fd;
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
	_cleanup_close_ int copy = open_settled_copy();
	const struct source_location *locations;
	struct module *referring;
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
	/* Where a file is that is only referred to, nobody looks, and it cannot be read either. */
	snprintf(command, sizeof(command), "/proc/self/fd/%d", copy);
	referring = module_new(names, "/tmp/exe", "0123456789abcdef",
			       open(command, O_PATH | O_CLOEXEC));
	cr_assert_eq(module_find_locations(referring, addresses[0], true, &locations), 0);
	module_free(referring);
	names_set_cache(names, NULL);
	names_free(names);
	snprintf(command, sizeof(command), "rm -r '%s'", directory);
	cr_assert_eq(system(command), 0);
}
