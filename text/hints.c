// SPDX-License-Identifier: Apache-2.0
#include "text/hints.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/sum.h"
#include "base/text.h"

/* The most binaries to name, and the least share of all values, in percent. */
#define SHOWN_BINARIES 5
#define MIN_SHARE 1.0

struct hint_binary {
	UT_hash_handle hh;
	const struct module *module;
	uint64_t value;      /* of stacks with an unnamed function in it */
	uint64_t last_stack; /* the last such stack */
};

/* Names with which a runtime's binaries begin, and what makes it write a perf map. */
static const struct runtime {
	const char *binaries[3];
	const char *hint;
} runtimes[] = {
	{ { "libjvm.so" }, "jcmd PID Compiler.perfmap, while it runs, names Java methods" },
	{ { "node", "libnode.so" }, "node --perf-basic-prof names JavaScript functions" },
	{ { "python3", "libpython3" }, "python3 -X perf, from 3.12 on, names Python functions" },
	{ { "ruby", "libruby" }, "ruby --yjit --yjit-perf, from 3.3 on, names Ruby methods" },
	{ { "php", "libphp" }, "php -d opcache.jit_debug=16, with its JIT, names PHP functions" },
	{ { "libcoreclr.so" }, "DOTNET_PerfMapEnabled=1 in its environment names .NET methods" },
};
_Static_assert(ARRAY_SIZE(runtimes) == HINT_RUNTIMES, "");

void hints_done(struct hints *hints)
{
	struct hint_binary *b, *next;

	HASH_ITER(hh, hints->binaries, b, next) {
		HASH_DEL(hints->binaries, b);
		free(b);
	}
}

static int add_nameless(struct hints *hints, const struct module *module, uint64_t value,
			uint64_t stack)
{
	struct hint_binary *b;

	HASH_FIND_PTR(hints->binaries, &module, b);
	if (!b) {
		b = calloc(1, sizeof(*b));
		if (!b)
			return -ENOMEM;
		b->module = module;
		HASH_ADD_PTR(hints->binaries, module, b);
		if (!HASH_IS_ADDED(hh, b)) {
			free(b);
			return -ENOMEM;
		}
	}
	if (b->last_stack != stack)
		sum_increase(&b->value, value);
	b->last_stack = stack;
	return 0;
}

/* "python3.11" belongs to "python3", but "phpdbg-tool" and "node_exporter" belong to no runtime. */
static bool is_binary_of(const struct runtime *runtime, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtime->binaries) && runtime->binaries[i]; i++) {
		size_t n = strlen(runtime->binaries[i]);

		if (strncmp(name, runtime->binaries[i], n) == 0 &&
		    strspn(name + n, "0123456789.so-") == strlen(name + n))
			return true;
	}
	return false;
}

/* HINT_RUNTIMES: none. */
static size_t find_runtime(const char *name)
{
	size_t i = 0;

	while (i < HINT_RUNTIMES && !is_binary_of(&runtimes[i], name))
		i++;
	return i;
}

int hints_add(struct hints *hints, const struct symbolized_stack *stack, uint64_t value)
{
	uint64_t number = ++hints->n_stacks;
	size_t runtime = HINT_RUNTIMES;
	bool has_functions = false;
	int err = 0;

	for (size_t i = 0; err == 0 && i < stack->n; i++) {
		const struct symbolized_frame *s = &stack->items[i];

		if (s->kind != SYMBOLIZED_USER)
			continue;
		if (!s->module) {
			has_functions |= s->is_named;
			continue;
		}
		if (runtime == HINT_RUNTIMES) {
			runtime = find_runtime(s->module->name);
			if (runtime < HINT_RUNTIMES)
				hints->runtimes[runtime].name = s->module->name;
		}
		if (!s->is_named && s->is_sought)
			err = add_nameless(hints, s->module, value, number);
	}
	if (runtime < HINT_RUNTIMES) {
		sum_increase(&hints->runtimes[runtime].value, value);
		hints->runtimes[runtime].has_functions |= has_functions;
	}
	return err;
}

static int value_compare(struct hint_binary *a, struct hint_binary *b)
{
	if (a->value != b->value)
		return a->value > b->value ? -1 : 1;
	return strcmp(a->module->path, b->module->path);
}

static double percent(uint64_t value, double all)
{
	return all > 0 ? 100 * (double)value / all : 0;
}

static void print_plain(const char *name, FILE *to)
{
	_cleanup_free_ char *copy = strdup(name);

	if (!copy)
		return;
	text_make_plain(copy);
	fputs(copy, to);
}

/* Debian has these in libc6-dbg, not in packages of their own. */
static bool is_of_libc(const char *name)
{
	return strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libm.so", 7) == 0 ||
	       strncmp(name, "ld-linux", 8) == 0;
}

static void print_help(const struct hint_machine *machine, bool of_libc, bool of_others, FILE *to)
{
	fputs("  Debug symbols have them", to);
	if (machine->has_debian)
		fprintf(to, ": install %s%s%s", of_libc ? "libc6-dbg" : "",
			of_libc && of_others ? " and " : "", of_others ? "PACKAGE-dbgsym" : "");
	if (machine->has_servers)
		fputs("; no server in DEBUGINFOD_URLS gave them\n", to);
	else
		fputs(", or set DEBUGINFOD_URLS to servers that have them\n", to);
}

/* Returns whether it printed anything. */
static bool print_binaries(struct hints *hints, const struct hint_machine *machine, double all,
			   FILE *to)
{
	bool of_libc = false, of_others = false;
	size_t n = 0;

	HASH_SORT(hints->binaries, value_compare);
	for (const struct hint_binary *b = hints->binaries; b && n < SHOWN_BINARIES;
	     b = b->hh.next) {
		double share = percent(b->value, all);

		if (share < MIN_SHARE)
			break;
		fprintf(to, "%s%.1f %% in ", n++ > 0 ? ", " : "\nFunctions without names: ", share);
		print_plain(b->module->name, to);
		if (is_of_libc(b->module->name))
			of_libc = true;
		else
			of_others = true;
	}
	if (n == 0)
		return false;
	fputc('\n', to);
	print_help(machine, of_libc, of_others, to);
	return true;
}

void hints_print(struct hints *hints, const struct hint_machine *machine, double all, FILE *to)
{
	bool is_first = !print_binaries(hints, machine, all, to);

	for (size_t i = 0; i < HINT_RUNTIMES; i++) {
		const struct hint_runtime *r = &hints->runtimes[i];

		if (!r->name || r->has_functions || percent(r->value, all) < MIN_SHARE)
			continue;
		fputs(is_first ? "\n" : "", to);
		is_first = false;
		print_plain(r->name, to);
		fprintf(to, " ran without a perf map: %s\n", runtimes[i].hint);
	}
}
