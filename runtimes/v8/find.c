// SPDX-License-Identifier: Apache-2.0
/*
 * Finds V8 in a file, by the constants that it exports for debuggers (tools/gen-postmortem-metadata.py):
 * ints. A member's constant is called by its class, its own name and its type, of which the last changes
 * between versions, as do some names.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_symbols.h"
#include "runtimes/v8/v8.h"

#define PREFIX "v8dbg_"

/* Offsets larger than that are not V8's. */
#define MAX_OFFSET 256

struct constant {
	const char *name; /* after the prefix; with `__` at its end, any type may follow */
	size_t at;        /* in struct dp_v8_names */
	const char * or ; /* another name, or NULL */
};

#define AT(member) offsetof(struct dp_v8_names, member)

/* Each version has all of these. */
static const struct constant constants[] = {
	{ "class_HeapObject__map__", AT(map), NULL },
	{ "class_Map__instance_type__", AT(instance_type), NULL },
	{ "type_SharedFunctionInfo__", AT(type_shared), NULL },
	{ "type_ScopeInfo__", AT(type_scope_info), NULL },
	{ "type_Script__", AT(type_script), NULL },
	{ "type_BytecodeArray__", AT(type_bytecode), NULL },
	{ "type_ByteArray__", AT(type_bytes), NULL },
	{ "type_FixedArray__", AT(type_array), NULL },
	{ "type_Code__", AT(type_code), NULL },
	{ "type_InterpreterData__", AT(type_interpreter_data), NULL },
	{ "type_Oddball__", AT(type_oddball), NULL },
	{ "FirstNonstringType", AT(first_nonstring), NULL },
	{ "StringEncodingMask", AT(encoding_mask), NULL },
	{ "OneByteStringTag", AT(one_byte), NULL },
	{ "StringRepresentationMask", AT(representation_mask), NULL },
	{ "SeqStringTag", AT(sequential), NULL },
	{ "ConsStringTag", AT(cons), NULL },
	{ "ExternalStringTag", AT(external), NULL },
	{ "SlicedStringTag", AT(sliced), NULL },
	{ "ThinStringTag", AT(thin), NULL },
	{ "class_String__length__", AT(string_length), NULL },
	{ "class_SeqOneByteString__chars__", AT(one_byte_chars), NULL },
	{ "class_SeqTwoByteString__chars__", AT(two_byte_chars), NULL },
	{ "class_ConsString__first__", AT(cons_first), NULL },
	{ "class_ConsString__second__", AT(cons_second), NULL },
	{ "class_ThinString__actual__", AT(thin_actual), NULL },
	{ "class_SlicedString__parent__", AT(sliced_parent), NULL },
	{ "class_SlicedString__offset__", AT(sliced_offset), NULL },
	{ "scopeinfo_idx_ncontextlocals", AT(n_locals), NULL },
	{ "scopeinfo_idx_first_vars", AT(first_local), NULL },
	{ "class_Script__name__", AT(script_name), NULL },
	{ "class_Script__line_ends__", AT(script_line_ends), NULL },
	{ "class_Script__source__", AT(script_source), NULL },
	{ "class_FixedArrayBase__length__", AT(array_length), NULL },
	{ "class_FixedArray__data__", AT(array_data), NULL },
	{ "class_BytecodeArray__data__", AT(bytecode_data), NULL },
	{ "class_JSFunction__shared__", AT(function_shared), NULL },
	{ "class_SharedFunctionInfo__name_or_scope_info__", AT(shared_name), NULL },
	{ "class_SharedFunctionInfo__script_or_debug_info__", AT(shared_script),
	  "class_SharedFunctionInfo__script__" },
};

/* Some versions have these; others have no object of such a type, or do not describe it. */
static const struct constant some[] = {
	{ "class_Code__instruction_start__", AT(code_start), NULL },
	{ "type_InstructionStream__", AT(type_stream), NULL },
	{ "type_ProtectedFixedArray__", AT(type_protected_array), NULL },
	{ "class_InstructionStream__instruction_start__", AT(stream_start), NULL },
	{ "DeoptimizationDataLiteralArrayIndex", AT(deopt_literals), NULL },
	{ "DeoptimizationDataInliningPositionsIndex", AT(deopt_inlined), NULL },
	{ "DeoptimizationDataSharedFunctionInfoIndex", AT(deopt_shared),
	  "DeoptimizationDataWrappedSharedFunctionInfoIndex" },
	{ "type_TrustedByteArray__", AT(type_trusted_bytes), NULL },
	{ "type_TrustedFixedArray__", AT(type_trusted_array), NULL },
};

/* What is built in, of which a build with compressed pointers differs. */
static const struct {
	const char *name;
	int32_t value;
} fixed[] = {
	{ "HeapObjectTag", DP_V8_OBJECT_TAG },
	{ "HeapObjectTagMask", DP_V8_TAG_MASK },
	{ "SmiTag", 0 },
	{ "SmiTagMask", 1 },
	{ "SmiShiftSize", DP_V8_SMI_SHIFT - 1 },
};

/* In bytes from a frame pointer. */
enum slot { CONTEXT, FUNCTION, OFFSET, N_SLOTS };
static const char *const slots[N_SLOTS] = {
	[CONTEXT] = "off_fp_context",
	[FUNCTION] = "off_fp_function",
	[OFFSET] = "off_fp_bytecode_offset",
};

struct finder {
	const struct elf_file *file;
	struct dp_v8_names *to;
	bool has_any;
	uint64_t found;       /* bits by number in `constants` */
	unsigned int n_fixed; /* that are as expected */
	int32_t slots[N_SLOTS];
};

_Static_assert(ARRAY_SIZE(constants) < 64, "each has a bit");

/* Whether a symbol has this name. */
static bool is_called(const char *symbol, const char *name)
{
	size_t n = strlen(name);
	bool is_typed = n > 2 && strcmp(name + n - 2, "__") == 0;

	return name[0] == symbol[0] && strncmp(symbol, name, n) == 0 && (is_typed || !symbol[n]);
}

static int find_constant(const struct constant *list, size_t n, const char *symbol)
{
	for (size_t i = 0; i < n; i++)
		if (is_called(symbol, list[i].name) || (list[i].or &&is_called(symbol, list[i].or)))
			return (int)i;
	return -1;
}

static void set(struct finder *f, const struct constant *c, int32_t value)
{
	uint16_t small = (uint16_t)value;

	memcpy((char *)f->to + c->at, &small, sizeof(small));
}

static void note(struct finder *f, const char *name, int32_t value)
{
	int i;

	for (size_t j = 0; j < ARRAY_SIZE(fixed); j++)
		f->n_fixed += strcmp(name, fixed[j].name) == 0 && value == fixed[j].value;
	for (size_t j = 0; j < N_SLOTS; j++)
		if (strcmp(name, slots[j]) == 0)
			f->slots[j] = value;
	if (value < 0 || value > UINT16_MAX)
		return;
	i = find_constant(constants, ARRAY_SIZE(constants), name);
	if (i >= 0) {
		set(f, &constants[i], value);
		f->found |= UINT64_C(1) << i;
	}
	i = find_constant(some, ARRAY_SIZE(some), name);
	if (i >= 0)
		set(f, &some[i], value);
}

static int on_symbol(void *arg, const struct elf_symbol *s)
{
	struct finder *f = arg;
	const void *bytes;
	int32_t value = 0;

	if (strncmp(s->name, PREFIX, sizeof(PREFIX) - 1) != 0 || s->size != sizeof(value))
		return 0;
	f->has_any = true;
	/* A constant that is 0 has no bytes in the file. */
	bytes = elf_bytes_at(f->file, s->address, sizeof(value));
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	note(f, s->name + sizeof(PREFIX) - 1, value);
	return 0;
}

/*
 * How long bytecodes are, as V8 knows it: a byte each, without a prefix, and with one that doubles or
 * quadruples some of their operands (Bytecodes::kBytecodeSizes, src/interpreter/bytecodes.cc).
 */
static const char lengths_name[] = "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE";

enum { SINGLE, DOUBLE, QUADRUPLE, N_SCALES };

/* False: these are no such lengths, or too long to be kept. */
static bool set_length(const uint8_t length[N_SCALES], uint8_t *ret)
{
	unsigned int single = length[SINGLE], more = length[DOUBLE] - single;

	if (single == 0 || single != DP_V8_LENGTH(single) || length[DOUBLE] < single ||
	    more > 0xf || length[QUADRUPLE] != single + 3 * more)
		return false;
	*ret = (uint8_t)(more << 4 | single);
	return true;
}

static int on_lengths(void *arg, const struct elf_symbol *s)
{
	struct finder *f = arg;
	uint8_t *to = f->to->bytecode_lengths;
	size_t n = s->size / N_SCALES;
	const uint8_t *from;

	if (strcmp(s->name, lengths_name) != 0)
		return 0;
	from = n <= sizeof(f->to->bytecode_lengths) ?
		       elf_bytes_at(f->file, s->address, N_SCALES * n) :
		       NULL;
	for (size_t i = 0; from && i < n; i++)
		if (!set_length((const uint8_t[]){ from[i], from[n + i], from[2 * n + i] },
				&to[i])) {
			memset(to, 0, sizeof(f->to->bytecode_lengths));
			break;
		}
	return 1;
}

static void find_lengths(struct finder *f)
{
	if (elf_symbols_each(f->file, false, on_lengths, f) == 0)
		elf_symbols_each(f->file, true, on_lengths, f);
}

/* Builtins that only lead from one function to the next: these, and families of them. */
static const char *const trampolines[] = {
	"Builtins_JSConstructEntry",        "Builtins_JSEntry",
	"Builtins_JSEntryTrampoline",       "Builtins_JSRunMicrotasksEntry",
	"Builtins_RunMicrotasksTrampoline",
};
static const char *const families[] = {
	"Builtins_BaselineOrInterpreter", "Builtins_CEntry_",     "Builtins_Call_",
	"Builtins_CallFunction_",         "Builtins_Interpreter",
};

/* The interpreter's code for each kind of bytecode follows from here on, up to the last one of these. */
static const char first_handler[] = "Builtins_WideHandler", last_handlers[] = "ExtraWideHandler";

/* V8 aligns its builtins so. */
#define CODE_ALIGNMENT 64

struct range_list {
	struct dp_runtime_range ranges[DP_RUNTIME_RANGES];
	size_t n;
	struct dp_runtime_range handlers;
};

static bool begins_with(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static bool is_trampoline(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(trampolines); i++)
		if (strcmp(name, trampolines[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		if (begins_with(name, families[i]))
			return true;
	return false;
}

/* Joins a range to one that it follows or precedes, or adds it if there is room. */
static void add_range(struct range_list *l, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < l->n; i++) {
		struct dp_runtime_range *r = &l->ranges[i];

		if (start > r->end || end < r->start)
			continue;
		r->start = start < r->start ? start : r->start;
		r->end = end > r->end ? end : r->end;
		return;
	}
	if (l->n < DP_RUNTIME_RANGES)
		l->ranges[l->n++] = (struct dp_runtime_range){ start, end, 0 };
}

static int on_builtin(void *arg, const struct elf_symbol *s)
{
	struct range_list *l = arg;
	uint64_t end =
		(s->address + s->size + CODE_ALIGNMENT - 1) & ~(CODE_ALIGNMENT - UINT64_C(1));
	size_t n = strlen(s->name), n_last = sizeof(last_handlers) - 1;

	if (s->size == 0 || !begins_with(s->name, "Builtins_"))
		return 0;
	if (strcmp(s->name, first_handler) == 0)
		l->handlers.start = s->address;
	else if (n > n_last && strcmp(s->name + n - n_last, last_handlers) == 0 &&
		 end > l->handlers.end)
		l->handlers.end = end;
	if (is_trampoline(s->name))
		add_range(l, s->address, end);
	return 0;
}

/* A file without symbols has none. */
static void find_trampolines(const struct elf_file *file, struct dp_runtime_image *ret)
{
	struct range_list l = { 0 };

	elf_symbols_each(file, true, on_builtin, &l);
	if (l.handlers.start != 0 && l.handlers.start < l.handlers.end)
		l.ranges[l.n < DP_RUNTIME_RANGES ? l.n : DP_RUNTIME_RANGES - 1] = l.handlers;
	memcpy(ret->ranges, l.ranges, sizeof(ret->ranges));
}

/* Sets what the kernel reads. False: it does not fit into what it reads. */
static bool set_walked(const struct finder *f, struct dp_v8 *ret)
{
	uint32_t places[N_SLOTS];

	for (size_t i = 0; i < N_SLOTS; i++) {
		int32_t slot = f->slots[i];

		if (slot % 8 != 0 || slot > -8 || slot < -DP_V8_SLOTS_SIZE)
			return false;
		places[i] = (uint32_t)(DP_V8_SLOTS_SIZE + slot);
	}
	*ret = (struct dp_v8){
		.function = places[FUNCTION],
		.context = places[CONTEXT],
		.offset = places[OFFSET],
		.shared = f->to->function_shared,
		.name = f->to->shared_name,
		.script = f->to->shared_script,
	};
	return ret->name <= DP_V8_READ_SIZE - 8 && ret->script <= DP_V8_READ_SIZE - 8 &&
	       ret->shared <= MAX_OFFSET;
}

/*
 * Before V8 11 a Code has its instructions itself, and its data for deoptimization is in the order that later
 * versions publish (src/objects/code.h). Whoever uses it checks what is there.
 */
static void describe_older(struct dp_v8_names *n)
{
	if (n->type_stream != 0 || n->code_start == 0)
		return;
	n->type_stream = n->type_code;
	n->stream_start = n->code_start;
	n->deopt_literals = 2;
	n->deopt_shared = 6;
	n->deopt_inlined = 7;
}

int v8_find(const struct elf_file *file, struct dp_runtime_image *ret)
{
	struct finder f = { .file = file, .to = &ret->v8_names };

	memset(ret, 0, sizeof(*ret));
	elf_symbols_each(file, false, on_symbol, &f);
	if (!f.has_any)
		return -ENOENT;
	if (f.found != (UINT64_C(1) << ARRAY_SIZE(constants)) - 1 ||
	    f.n_fixed != ARRAY_SIZE(fixed) || !set_walked(&f, &ret->v8))
		return -ENOTSUP;
	describe_older(f.to);
	find_lengths(&f);
	find_trampolines(file, ret);
	return 0;
}
