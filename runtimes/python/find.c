// SPDX-License-Identifier: Apache-2.0
/*
 * Finds CPython in a file, which may be its program, libpython, or one that embeds it. It exports
 * _PyRuntime. From 3.13 on that begins with its layout (struct _Py_DebugOffsets,
 * Include/internal/pycore_runtime.h); before, the version decides (layouts.h). From 3.11 on it exports
 * that, too (Py_Version); before, it is told by what each version added to the C API.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "elf/cold_part.h"
#include "elf/elf_symbols.h"
#include "runtimes/python/python.h"

static const struct dp_runtime_image layouts[] = {
#include "runtimes/python/layouts.h"
};

/* What marks a version, or code. */
enum mark { RUNTIME, VERSION, DEBUG, ADDED_3_8, ADDED_3_9, ADDED_3_10, N_MARKS };

static const char *const marks[N_MARKS] = {
	[RUNTIME] = "_PyRuntime",
	[VERSION] = "Py_Version",
	[DEBUG] = "_Py_NegativeRefcount", /* of builds whose objects are larger */
	[ADDED_3_8] = "PyCode_NewWithPosOnlyArgs",
	[ADDED_3_9] = "PyFrame_GetCode",
	[ADDED_3_10] = "PyIter_Send",
};

/*
 * Functions that a compiler may have cut into pieces, as NAME.cold: the evaluation loop, and what only
 * leads from one to the next.
 */
static const char loop[] = "_PyEval_EvalFrameDefault";
static const char *const helpers[] = {
	"PyEval_EvalFrame",
	"PyEval_EvalFrameEx",
	"PyObject_Call",
	"PyObject_CallFunctionObjArgs",
	"PyObject_CallNoArgs",
	"PyObject_CallOneArg",
	"PyObject_CallObject",
	"PyObject_Vectorcall",
	"PyObject_VectorcallDict",
	"PyObject_VectorcallMethod",
	"PyVectorcall_Call",
	"_PyEval_EvalCodeWithName",
	"_PyEval_EvalFrame",
	"_PyEval_Vector",
	"_PyFunction_FastCallDict",
	"_PyFunction_Vectorcall",
	"_PyObject_Call",
	"_PyObject_Call_Prepend",
	"_PyObject_FastCallDict",
	"_PyObject_FastCallDictTstate",
	"_PyObject_MakeTpCall",
	"_PyObject_Vectorcall",
	"_PyVectorcall_Call",
	"function_code_fastcall",
	"method_vectorcall",
	"object_vacall",
	"gen_send_ex",
	"gen_send_ex2",
};

struct finder {
	uint64_t marks[N_MARKS]; /* addresses; 0: not there */
	struct dp_runtime_image *to;
	size_t n_ranges;
	uint64_t loop_size; /* of all pieces */
};

/*
 * From 3.14 on, an instruction may be a function, which goes on with the next one's in its own place
 * (--with-tail-call-interp). They need not have symbols, but the loop calls the first one, and has
 * the room for that alone.
 */
#define CALLS_EACH 0x30e
#define MAX_CALLING_LOOP 4096

static bool is_piece_of(const char *symbol, const char *name)
{
	size_t n = strlen(name);

	return strncmp(symbol, name, n) == 0 && (symbol[n] == '\0' || symbol[n] == '.');
}

static bool is_helper(const char *symbol)
{
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++)
		if (is_piece_of(symbol, helpers[i]))
			return true;
	return false;
}

static void add_range(struct finder *f, const struct elf_symbol *s, bool is_loop)
{
	struct dp_runtime_range *to = f->to->ranges;

	for (size_t i = 0; i < f->n_ranges; i++)
		if (to[i].start == s->address)
			return;
	if (f->n_ranges == DP_RUNTIME_RANGES || s->size == 0)
		return;
	to[f->n_ranges++] = (struct dp_runtime_range){ s->address, s->address + s->size, is_loop };
	f->loop_size += is_loop ? s->size : 0;
}

static int on_mark(void *arg, const struct elf_symbol *s)
{
	struct finder *f = arg;

	for (size_t i = 0; i < N_MARKS; i++)
		if (strcmp(s->name, marks[i]) == 0)
			f->marks[i] = s->address;
	return 0;
}

static int on_loop(void *arg, const struct elf_symbol *s)
{
	if (s->is_function && is_piece_of(s->name, loop))
		add_range(arg, s, true);
	return 0;
}

/* A stripped file has no symbol of what a compiler has put elsewhere, which may be nearly all. */
static void add_cold_part(struct finder *f, const struct elf_file *file)
{
	const struct dp_runtime_range *loop_range = &f->to->ranges[0];
	struct elf_symbol part = { 0 };
	uint64_t end;

	if (f->n_ranges != 1 ||
	    cold_part_find(file, loop_range->start, loop_range->end, &part.address, &end) < 0)
		return;
	part.size = end - part.address;
	add_range(f, &part, true);
}

static int on_helper(void *arg, const struct elf_symbol *s)
{
	if (s->is_function && is_helper(s->name))
		add_range(arg, s, false);
	return 0;
}

/* PY_VERSION_HEX without the release: major << 8 | minor. 0: not known. */
static uint32_t version_of(const struct elf_file *file, const struct finder *f)
{
	const void *exported =
		f->marks[VERSION] ? elf_bytes_at(file, f->marks[VERSION], sizeof(uint64_t)) : NULL;
	uint64_t version;

	if (exported) {
		memcpy(&version, exported, sizeof(version));
		return (uint32_t)(version >> 16);
	}
	if (f->marks[ADDED_3_10])
		return 0x30a;
	if (f->marks[ADDED_3_9])
		return 0x309;
	return f->marks[ADDED_3_8] ? 0x308 : 0;
}

/* The layout of a version that does not publish it. */
static int find_known(uint32_t version, struct dp_runtime_image *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].names.version == version) {
			*ret = layouts[i];
			return 0;
		}
	return -ENOTSUP;
}

static int find(const struct elf_file *file, struct dp_runtime_image *ret)
{
	struct finder f = { .to = ret };
	uint32_t version;
	int err;

	elf_symbols_each(file, false, on_mark, &f);
	if (f.marks[RUNTIME] == 0)
		return -ENOENT;
	version = version_of(file, &f);
	if (version >= PYTHON_PUBLISHES)
		err = python_published(file, f.marks[RUNTIME], version, ret);
	else
		err = f.marks[DEBUG] ? -ENOTSUP : find_known(version, ret);
	if (err < 0)
		return err;
	ret->python.runtime = f.marks[RUNTIME];
	ret->python.filename = ret->names.filename;
	/* The pieces of the loop first: of the others, there may be more than fit. */
	elf_symbols_each(file, false, on_loop, &f);
	elf_symbols_each(file, true, on_loop, &f);
	add_cold_part(&f, file);
	if (f.n_ranges == 0)
		return -ENOTSUP;
	ret->names.calls_each = version >= CALLS_EACH && f.loop_size < MAX_CALLING_LOOP;
	elf_symbols_each(file, false, on_helper, &f);
	elf_symbols_each(file, true, on_helper, &f);
	return 0;
}

const struct runtime_source runtime_python = {
	.method = DP_METHOD_PYTHON,
	.kinds = PYTHON_TASK | PYTHON_TASK_NUMBER,
	.unloaded = "[python, unloaded]",
	.find = find,
	.layout_size = sizeof(struct dp_runtime_image),
	.read = python_read_code,
	.line = python_code_line,
};
