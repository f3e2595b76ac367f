// SPDX-License-Identifier: Apache-2.0
/* Hints about code without names at the end of a report. */
#include <criterion/criterion.h>

#include "text/hints.h"

static struct module libc = { .name = "libc.so.6", .path = (char *)"/lib/libc.so.6" };
static struct module git = { .name = "git", .path = (char *)"/usr/bin/git" };
static struct module node = { .name = "node", .path = (char *)"/usr/bin/node" };
static struct module exporter = { .name = "node_exporter", .path = (char *)"/bin/node_exporter" };
static struct module python = { .name = "python3.11", .path = (char *)"/usr/bin/python3.11" };

static const struct hint_machine debian = { .has_debian = true };
static struct hints hints;
static char *text;
static size_t size;

/* A frame of a file that was examined, or, without a module, of JIT code. */
static struct symbolized_frame frame_of(struct module *module, bool is_named)
{
	return (struct symbolized_frame){ .kind = SYMBOLIZED_USER,
					  .module = module,
					  .name = "some",
					  .is_named = is_named,
					  .is_sought = module != NULL };
}

static void add(struct symbolized_frame leaf, struct symbolized_frame root, uint64_t value)
{
	struct symbolized_frame frames[] = { leaf, root };
	const struct symbolized_stack stack = { .items = frames, .n = 2 };

	cr_assert_eq(hints_add(&hints, &stack, value), 0);
}

static void expect(const struct hint_machine *machine, const char *expected)
{
	FILE *to = open_memstream(&text, &size);

	hints_print(&hints, machine, 1000, to);
	fclose(to);
	cr_assert_str_eq(text, expected);
	free(text);
	hints_done(&hints);
	memset(&hints, 0, sizeof(hints));
}

/* Each stack counts once; less than a hundredth, and names that were not looked up, do not. */
Test(hints, say_which_binaries_had_no_names)
{
	struct symbolized_frame missing = frame_of(&python, false);

	missing.is_sought = false;
	add(frame_of(&libc, false), frame_of(&libc, false), 500);
	add(frame_of(&git, true), frame_of(&git, true), 300);
	add(missing, frame_of(&git, true), 5);
	expect(&debian, "\nFunctions without names: 50.0 % in libc.so.6\n"
			"  Debug symbols have them: install libc6-dbg, or set DEBUGINFOD_URLS to "
			"servers that have them\n");
	add(frame_of(&libc, false), frame_of(&git, false), 20);
	add(frame_of(&git, false), frame_of(&git, true), 30);
	add(frame_of(&node, false), frame_of(&git, true), 9);
	expect(&(struct hint_machine){ .has_debian = true, .has_servers = true },
	       "\nFunctions without names: 5.0 % in git, 2.0 % in libc.so.6\n"
	       "  Debug symbols have them: install libc6-dbg and PACKAGE-dbgsym; no server in "
	       "DEBUGINFOD_URLS gave them\n");
	add(frame_of(&git, false), frame_of(&git, true), 10);
	expect(&(struct hint_machine){ 0 },
	       "\nFunctions without names: 1.0 % in git\n"
	       "  Debug symbols have them, or set DEBUGINFOD_URLS to servers that have them\n");
	add(frame_of(&git, true), frame_of(&libc, true), 1000);
	expect(&debian, "");
}

Test(hints, say_what_makes_a_runtime_tell_its_functions)
{
	add(frame_of(NULL, false), frame_of(&node, true), 400);
	add(frame_of(&python, true), frame_of(&python, true), 200);
	add(frame_of(&exporter, true), frame_of(NULL, false), 100);
	expect(&debian, "\nnode ran without a perf map: node --perf-basic-prof names JavaScript "
			"functions\n"
			"python3.11 ran without a perf map: python3 -X perf, from 3.12 on, names "
			"Python functions\n");
	/* It has written one. */
	add(frame_of(NULL, false), frame_of(&node, true), 400);
	add(frame_of(NULL, true), frame_of(&node, true), 100);
	add(frame_of(&python, true), frame_of(&python, true), 9);
	expect(&debian, "");
}
