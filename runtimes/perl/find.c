// SPDX-License-Identifier: Apache-2.0
/*
 * Finds Perl in a file, which may be its program, libperl, or one that embeds it. From 5.36 on, those with
 * threads, as Debian's are, export PL_current_context, a thread-local pointer to the thread's interpreter;
 * those without export the interpreter's variables. Its version decides the layout (layouts.h), unless it was
 * built to have another.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "runtimes/exports.h"
#include "runtimes/perl/perl.h"

static const struct dp_runtime_image layouts[] = {
#include "runtimes/perl/layouts.h"
};

/*
 * PL_revision and PL_version are the version's numbers, of a byte each; PL_interp_size has two bytes;
 * PL_bincompat_options is a text. Only a build for debugging, whose structures are larger, has
 * Perl_pad_setsv(). Then come variables of the interpreter, and functions that begin loops.
 */
enum mark {
	LOOP,
	REVISION,
	VERSION,
	SIZE,
	OPTIONS,
	DEBUGGED,
	STACK,
	STATEMENT,
	OP,
	SAVED,
	CALL,
	EVAL,
	OVERLOADED,
	N_MARKS
};

static const char *const marks[N_MARKS] = {
	[LOOP] = "Perl_runops_standard",
	[REVISION] = "PL_revision",
	[VERSION] = "PL_version",
	[SIZE] = "PL_interp_size",
	[OPTIONS] = "PL_bincompat_options",
	[DEBUGGED] = "Perl_pad_setsv",
	[STACK] = "PL_curstackinfo",
	[STATEMENT] = "PL_curcop",
	[OP] = "PL_op",
	[SAVED] = "PL_savestack_ix",
	[CALL] = "Perl_call_sv",
	[EVAL] = "Perl_eval_sv",
	[OVERLOADED] = "Perl_amagic_call",
};

/* Options that make numbers larger, which share structures with what is read. */
static const char *const options[] = { "USE_LONG_DOUBLE", "USE_QUADMATH" };

/* The bytes of a mark. NULL: the file has none, or not so many. */
static const void *bytes_of(const struct elf_file *file, const struct elf_symbol *symbol,
			    size_t size)
{
	return symbol->address && symbol->size >= size ? elf_bytes_at(file, symbol->address, size) :
							 NULL;
}

/* Has it been built to have other structures than its version's? */
static bool is_different(const struct elf_file *file, const struct elf_symbol found[N_MARKS])
{
	const struct elf_symbol *text = &found[OPTIONS];
	const void *bytes = bytes_of(file, text, text->size);

	if (found[DEBUGGED].address)
		return true;
	for (size_t i = 0; bytes && i < ARRAY_SIZE(options); i++)
		if (memmem(bytes, text->size, options[i], strlen(options[i])))
			return true;
	return false;
}

/* The size of an interpreter's structure; 0: there is none. */
static uint32_t interpreter_size_of(const struct elf_file *file,
				    const struct elf_symbol found[N_MARKS])
{
	const void *bytes = bytes_of(file, &found[SIZE], sizeof(uint16_t));
	uint16_t size = 0;

	if (bytes)
		memcpy(&size, bytes, sizeof(size));
	return size;
}

/* major << 8 | minor; 0: not known. */
static uint32_t version_of(const struct elf_file *file, const struct elf_symbol found[N_MARKS])
{
	const uint8_t *revision = bytes_of(file, &found[REVISION], 1);
	const uint8_t *version = bytes_of(file, &found[VERSION], 1);

	return revision && version ? (uint32_t)*revision << 8 | *version : 0;
}

/* Says where the interpreter, or its variables, are. -ENOTSUP: that is not known. */
static int find_interpreter(const struct elf_file *file, const struct elf_symbol found[N_MARKS],
			    struct dp_perl *ret)
{
	struct dp_chain place;

	*ret = (struct dp_perl){ .place = DP_TLS_NONE };
	if (exports_find_variable(file, "PL_current_context", &place) == 0) {
		ret->is_threaded = 1;
		ret->place = place.place;
		ret->variable = place.variable;
		return 0;
	}
	ret->stack = found[STACK].address;
	ret->statement = found[STATEMENT].address;
	ret->op = found[OP].address;
	ret->saved = found[SAVED].address;
	return ret->stack && ret->statement && ret->op && ret->saved ? 0 : -ENOTSUP;
}

static void add_callers(const struct elf_symbol found[N_MARKS],
			struct dp_runtime_range ranges[DP_RUNTIME_RANGES])
{
	static const enum mark callers[] = { CALL, EVAL, OVERLOADED };
	size_t n = 0;

	while (n < DP_RUNTIME_RANGES && ranges[n].end != 0)
		n++;
	for (size_t i = 0; n < DP_RUNTIME_RANGES && i < ARRAY_SIZE(callers); i++) {
		const struct elf_symbol *s = &found[callers[i]];

		ranges[n++] = (struct dp_runtime_range){ .start = s->address,
							 .end = s->address + s->size,
							 .calls = true };
	}
}

static int find(const struct elf_file *file, struct dp_runtime_image *ret)
{
	struct elf_symbol found[N_MARKS];
	struct dp_perl interpreter;
	uint32_t version, size;
	int err;

	exports_find(file, marks, N_MARKS, found);
	if (found[LOOP].address == 0)
		return -ENOENT;
	version = version_of(file, found);
	size = interpreter_size_of(file, found);
	if (is_different(file, found) || find_interpreter(file, found, &interpreter) < 0)
		return -ENOTSUP;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		const struct dp_perl_names *l = &layouts[i].perl_names;

		if (l->version != version || l->interpreter_size != size ||
		    layouts[i].perl.is_threaded != interpreter.is_threaded)
			continue;
		*ret = layouts[i];
		ret->perl.place = interpreter.place;
		ret->perl.variable = interpreter.variable;
		ret->perl.stack += interpreter.stack;
		ret->perl.statement += interpreter.statement;
		ret->perl.op += interpreter.op;
		ret->perl.saved += interpreter.saved;
		err = exports_find_loop(file, marks[LOOP], ret->ranges);
		if (err == 0)
			add_callers(found, ret->ranges);
		return err;
	}
	return -ENOTSUP;
}

const struct runtime_source runtime_perl = {
	.method = DP_METHOD_PERL,
	.unloaded = "[perl, unloaded]",
	.find = find,
	.layout_size = sizeof(struct dp_runtime_image),
	.read = perl_read_code,
	.line = perl_code_line,
};
