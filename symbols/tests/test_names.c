// SPDX-License-Identifier: Apache-2.0
/* Several struct names in one process are independent of each other. */
#include "symbols/names.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols/debug_server.h"
#include "symbols/jit.h"
#include "symbols/kallsyms.h"
#include "symbols/module.h"
#include "symbols/tests/some_names.h"

/* A function whose location in the file this test knows, with a name that depends on the style. */
static int landmark(int n) __asm__("_ZN1a1bEi");

__attribute__((noinline, used)) static int landmark(int n)
{
	return n * 3 + 1;
}

static uint64_t landmark_address(void)
{
	extern const char __executable_start;

	return (uint64_t)(uintptr_t)&landmark - (uint64_t)(uintptr_t)&__executable_start;
}

static struct module *this_program(struct names *names)
{
	struct module *module = module_new(names, "/proc/self/exe", "",
					   open("/proc/self/exe", O_RDONLY | O_CLOEXEC));

	cr_assert(module);
	return module;
}

static void expect_location(struct module *module, const char *function, bool has_line)
{
	const struct source_location *locations = NULL;

	cr_assert_eq(module_find_locations(module, landmark_address(), true, &locations), 1);
	cr_expect_str_eq(locations[0].function, function);
	cr_expect((locations[0].line > 0) == has_line && (locations[0].file != NULL) == has_line);
}

static void expect_no_location(struct module *module)
{
	const struct source_location *locations;

	cr_expect_eq(module_find_locations(module, landmark_address(), true, &locations), 0);
}

Test(names, look_as_each_of_them_wants)
{
	struct names *simple = names_with((struct names_options){ 0 });
	struct names *raw = names_with(
		(struct names_options){ .demangle = NAMES_DEMANGLE_NONE, .no_lines = true });
	struct names *none = names_with((struct names_options){ .none = true });
	struct names *full = names_with((struct names_options){ .demangle = NAMES_DEMANGLE_FULL });
	struct module *a = this_program(simple), *b = this_program(raw);
	struct module *c = this_program(none), *d = this_program(full);

	for (int i = 0; i < 2; i++) { /* from the binary, and from the cache */
		expect_location(a, "a::b", true);
		expect_location(b, "_ZN1a1bEi", false);
		expect_no_location(c);
		expect_location(d, "a::b(int)", true);
	}
	names_free(simple);
	names_free(raw);
	names_free(none);
	names_free(full);
}

static struct kallsyms *some_kallsyms(const struct names *names)
{
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	static const char text[] = "ffffffff81000000 T first\n";
	struct kallsyms *kallsyms;
	int fd = mkstemp(path);

	cr_assert(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	cr_assert_eq(kallsyms_new(names, path, &kallsyms), 0);
	unlink(path);
	return kallsyms;
}

Test(names, end_for_one_alone)
{
	struct names *given_up = names_with((struct names_options){ 0 });
	struct names *wanted = names_with((struct names_options){ 0 });
	struct module *a = this_program(given_up), *b = this_program(wanted);
	struct kallsyms *a_kernel = some_kallsyms(given_up), *b_kernel = some_kallsyms(wanted);
	uint64_t offset;

	names_disable(given_up);
	cr_expect(names_disabled(given_up) && !names_disabled(wanted));
	expect_no_location(a);
	expect_location(b, "a::b", true);
	cr_expect_null(kallsyms_find(a_kernel, 0xffffffff81000000, &offset));
	cr_expect_str_eq(kallsyms_find(b_kernel, 0xffffffff81000000, &offset), "first");
	kallsyms_free(a_kernel);
	kallsyms_free(b_kernel);
	names_free(given_up);
	expect_location(b, "a::b", true);
	names_free(wanted);
}

Test(names, close_debug_information_of_their_own)
{
	struct names *first = names_with((struct names_options){ 0 });
	struct names *second = names_with((struct names_options){ 0 });
	struct module *a = this_program(first), *b = this_program(second);

	expect_location(a, "a::b", true);
	expect_location(b, "a::b", true);
	cr_assert(a->debug && b->debug);
	names_limit_debug(second, 0);
	cr_expect(a->debug && !b->debug);
	names_free(second);
	expect_location(a, "a::b", true);
	cr_expect_not_null(a->debug);
	names_free(first);
}

/* What is kept of each of three equal modules takes the same. */
static struct names_kept look_up_in_all(struct names *names, struct module *modules[3])
{
	for (int i = 0; i < 3; i++)
		expect_location(modules[i], "a::b", true);
	return names_kept(names);
}

static int n_with_locations(struct module *modules[3])
{
	int n = 0;

	for (int i = 0; i < 3; i++)
		n += modules[i]->locations.n_entries > 0;
	return n;
}

static void expect_all_forgotten_in_turn(struct names *names, struct module *modules[3])
{
	uint64_t before = names_kept(names).n_forgotten;

	/* Each look-up begins with forgetting what the one before it found, and is right. */
	for (int i = 0; i < 2; i++)
		look_up_in_all(names, modules);
	cr_expect_geq(names_kept(names).n_forgotten - before, 6);
	cr_expect_eq(n_with_locations(modules), 1);
	cr_expect_gt(modules[2]->locations.n_entries, 0);
}

Test(names, are_forgotten_above_their_limits)
{
	struct names *names = names_with((struct names_options){ 0 });
	struct module *modules[3];
	struct names_kept all, kept;

	for (int i = 0; i < 3; i++)
		modules[i] = this_program(names);
	all = look_up_in_all(names, modules);
	cr_assert(all.symbols > 0 && all.strings > 0 && all.n_forgotten == 0);
	cr_expect_eq(look_up_in_all(names, modules).symbols, all.symbols, "each is kept");
	names_set_limits(names, 1, 0);
	expect_all_forgotten_in_turn(names, modules);
	names_set_limits(names, 0, 1);
	expect_all_forgotten_in_turn(names, modules);
	/* Just what all of them take: nothing more is forgotten. */
	names_set_limits(names, all.symbols, all.strings);
	kept = look_up_in_all(names, modules);
	cr_expect(kept.symbols == all.symbols && kept.strings == all.strings);
	cr_expect_eq(look_up_in_all(names, modules).n_forgotten, kept.n_forgotten);
	names_free(names);
}

Test(names, of_what_was_used_longest_ago_are_forgotten_first)
{
	struct names *names = names_with((struct names_options){ 0 });
	struct module *modules[3];
	struct names_kept all;

	for (int i = 0; i < 3; i++)
		modules[i] = this_program(names);
	all = look_up_in_all(names, modules);
	expect_location(modules[0], "a::b", true);
	/* Room for two of three: without that look-up, the first one would go. */
	names_set_limits(names, all.symbols - 1, 0);
	expect_location(modules[0], "a::b", true);
	cr_expect_eq(names_kept(names).n_forgotten, 1);
	cr_expect(modules[0]->locations.n_entries > 0 && modules[2]->locations.n_entries > 0);
	cr_expect_eq(modules[1]->locations.n_entries, 0);
	expect_location(modules[1], "a::b", true);
	names_free(names);
}

/* Including generated code, and modules in memory. */
Test(names, free_what_is_theirs)
{
	struct names *names = names_with((struct names_options){ 0 });
	struct module *jit = module_new_jit(names), *memory = module_new(names, "[vdso]", "ab", -1);
	const struct source_location compiled = {
		.function = "compiled", .file = "a.js", .line = 3, .column = 5
	};
	const struct source_location *location;
	uint64_t located;

	cr_assert_eq(jit_add(jit->jit, &compiled, &located), 0);
	cr_assert_eq(module_find_locations(jit, located, true, &location), 1);
	cr_expect_str_eq(location->function, "compiled");
	cr_expect(location->line == 3 && location->column == 5);
	memory->memory = strdup("no ELF file");
	memory->memory_size = strlen(memory->memory);
	expect_no_location(memory);
	cr_expect_null(module_free(this_program(names)));
	expect_location(this_program(names), "a::b", true);
	names_free(names);
}

Test(names, ask_servers_when_they_may_themselves)
{
	struct names *allowed = names_with((struct names_options){ 0 });
	struct names *other = names_with((struct names_options){ 0 });

	setenv("DEBUGINFOD_URLS", "http://localhost:1/", 1);
	debug_server_allow(names_debug_server(allowed), 1000000000, NULL);
	cr_expect(debug_server_is_allowed(names_debug_server(allowed)));
	cr_expect(!debug_server_is_allowed(names_debug_server(other)));
	debug_server_end(names_debug_server(allowed));
	cr_expect(!debug_server_is_allowed(names_debug_server(allowed)));
	names_free(allowed);
	names_free(other);
}

/* Creates and frees modules of the same file and looks up names. */
static void *look_up(void *arg)
{
	struct names *names = arg;
	struct module *module = this_program(names);
	const struct source_location *locations;
	uint64_t n = 0;

	for (int i = 0; i < 20; i++) {
		module_free(this_program(names));
		for (uint64_t at = 0; at < 64; at++)
			n += module_find_locations(module, landmark_address() - 16 * at, true,
						   &locations);
		names_limit_debug(names, 0);
	}
	return (void *)(uintptr_t)n;
}

Test(names, work_in_threads_of_their_own)
{
	struct names *names[2];
	pthread_t threads[2];
	void *found[2];

	for (int i = 0; i < 2; i++) {
		names[i] = names_with((struct names_options){ .no_lines = i });
		cr_assert_eq(pthread_create(&threads[i], NULL, look_up, names[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pthread_join(threads[i], &found[i]), 0);
		names_free(names[i]);
	}
	cr_assert(found[0] && found[0] == found[1]);
}
