// SPDX-License-Identifier: Apache-2.0
#include "tables/known_code.h"

#include <string.h>

#include "base/array.h"
#include "tables/x86_64/crt_function.h"
#include "tables/x86_64/pattern.h"
#include "tables/rule.h"

/* The bytes that can be seen from one address on. */
struct view {
	const struct code_range *range;
	uint64_t address;
	const uint8_t *bytes;
	uint64_t size; /* to the end of the part that may get rows */
};

#define JUMP_GOT "ff 25 ?? ?? ?? ??"
#define PUSH_NUMBER "68 ?? ?? ?? ??"
#define JUMP "e9 ?? ?? ?? ??"

/* Adds a row; none for a size of 0. */
static void add_row(struct known_code *code, uint64_t start, uint64_t size, uint8_t reg,
		    int32_t offset)
{
	if (size > 0)
		code->rows[code->n_rows++] = (struct known_row){
			.start = start,
			.end = start + size,
			.cfa_reg = reg,
			.cfa_offset = offset,
		};
}

/* The same where the previous one ends. */
static void next_row(struct known_code *code, uint64_t size, uint8_t reg, int32_t offset)
{
	add_row(code, code->rows[code->n_rows - 1].end, size, reg, offset);
}

/* The first and last instructions of a function of .init or .fini. */
struct frame_shape {
	const char *prologue, *epilogue;
	unsigned int align; /* shorter patterns require an aligned address */
	bool has_rbp;
};

/* glibc's crti.S and crtn.S; those of older versions and uClibc; musl's. */
static const struct frame_shape shapes[] = {
	{ "48 83 ec 08", "48 83 c4 08 c3", 4, false },
	{ "55 48 89 e5", "5d c3", 4, true },
	{ "55 48 89 e5", "c9 c3", 4, true },
	{ "50", "58 c3", 16, false },
	{ "50", "59 c3", 16, false },
};

/* The instructions of such functions; none of them changes rsp or rbp. */
static const char *const body[] = {
	"e8 ?? ?? ?? ??",       /* call */
	"ff 15 ?? ?? ?? ??",    /* call *GOT */
	"ff d0",                /* call *%rax */
	"48 8b 05 ?? ?? ?? ??", /* mov GOT, %rax */
	"48 c7 c0 ?? ?? ?? ??", /* the same, if the linker knows the contents of the GOT */
	"48 85 c0",             /* test %rax, %rax */
	"31 c0",                /* xor %eax, %eax */
	"90",
	"66 90",
	"0f 1f 00",
	"0f 1f 40 00",
	"0f 1f 44 00 00",
	"66 0f 1f 44 00 00",
};

#define MAX_FUNCTION 128

/*
 * Matches the function's bytes from `at`, behind the prologue, up to the epilogue; its only kind of
 * jump skips a call. A straight line from the prologue to a `ret` is proof enough: the return
 * address is where `ret` finds it.
 */
static bool match_body(const struct view *v, size_t at, const char *epilogue, size_t *ret)
{
	uint64_t size = v->size < MAX_FUNCTION ? v->size : MAX_FUNCTION;
	size_t jump_to = 0;

	while (at < size) {
		size_t n;

		if (jump_to == at)
			jump_to = 0;
		if (jump_to != 0 && jump_to < at)
			return false;
		if (pattern_match(v->bytes + at, size - at, epilogue)) {
			*ret = at;
			return jump_to == 0;
		}
		n = pattern_match(v->bytes + at, size - at, "74 ??");
		if (n > 0) {
			if (jump_to != 0 || v->bytes[at + 1] > INT8_MAX)
				return false;
			jump_to = at + n + v->bytes[at + 1];
		} else {
			n = pattern_match_any(v->bytes + at, size - at, body, ARRAY_SIZE(body));
		}
		if (n == 0)
			return false;
		at += n;
	}
	return false;
}

static bool find_function(const struct view *v, struct known_code *code)
{
	size_t start = pattern_match(v->bytes, v->size, PATTERN_ENDBR64);

	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		const struct frame_shape *s = &shapes[i];
		size_t prologue = pattern_match(v->bytes + start, v->size - start, s->prologue);
		size_t end, epilogue;

		if (prologue == 0 ||
		    (v->address % s->align != 0 && v->address != v->range->address))
			continue;
		if (!match_body(v, start + prologue, s->epilogue, &end))
			continue;
		epilogue = pattern_match(v->bytes + end, v->size - end, s->epilogue);
		if (s->has_rbp) {
			add_row(code, v->address, start + 1, DP_RSP, 8);
			next_row(code, prologue - 1, DP_RSP, 16);
			code->rows[code->n_rows - 1].fp_saved = true;
			next_row(code, end - start - prologue + epilogue - 1, DP_RBP, 16);
			code->rows[code->n_rows - 1].fp_saved = true;
		} else {
			add_row(code, v->address, start + prologue, DP_RSP, 8);
			/* Behind the epilogue's first instruction only `ret` remains. */
			next_row(code, end - start - prologue + epilogue - 1, DP_RSP, 16);
		}
		next_row(code, 1, DP_RSP, 8);
		return true;
	}
	return false;
}

/* The first entry of a PLT: push GOT[1]; jmp *GOT[2]. The caller has pushed a number. */
static bool is_plt0(const uint8_t *bytes, uint64_t size)
{
	size_t jump =
		pattern_match(bytes, size, "ff 35 ?? ?? ?? ?? " JUMP_GOT " 0f 1f 40 00") ? 6 : 0;
	int32_t first, second;

	if (jump == 0 && pattern_match(bytes, size, "ff 35 ?? ?? ?? ?? f2 " JUMP_GOT " 0f 1f 00"))
		jump = 7;
	if (jump == 0)
		return false;
	memcpy(&first, bytes + 2, sizeof(first));
	memcpy(&second, bytes + jump + 2, sizeof(second));
	/* Relative to the ends of the two instructions: neighbours in the GOT. */
	return (int64_t)second + (int64_t)jump + 6 == (int64_t)first + 6 + 8;
}

/* True if the jump with its operand at `at` leads to the first entry of a PLT. */
static bool leads_to_plt0(const struct view *v, size_t at)
{
	uint64_t target;
	int32_t distance;

	memcpy(&distance, v->bytes + at, sizeof(distance));
	target = v->address + at + sizeof(distance) + (uint64_t)(int64_t)distance -
		 v->range->address;
	return target < v->range->size &&
	       is_plt0(v->range->bytes + target, v->range->size - target);
}

/*
 * For a PLT entry of 16 bytes: how many of them precede the end of the push; 0: not a PLT entry.
 * The first instructions are sufficient: hardly anything else pushes after a jump. (In static
 * programs the second jump may lead nowhere: it is never taken.)
 */
static size_t plt_entry_push(const struct view *v)
{
	if (pattern_match(v->bytes, v->size, JUMP_GOT PUSH_NUMBER JUMP))
		return 11;
	if (pattern_match(v->bytes, v->size, PATTERN_ENDBR64 PUSH_NUMBER JUMP " 66 90") &&
	    leads_to_plt0(v, 10))
		return 9;
	if (pattern_match(v->bytes, v->size, PATTERN_ENDBR64 PUSH_NUMBER " f2 " JUMP " 90") &&
	    leads_to_plt0(v, 11))
		return 9;
	if (pattern_match(v->bytes, v->size, PUSH_NUMBER " f2 " JUMP " 0f 1f 44 00 00") &&
	    leads_to_plt0(v, 7))
		return 5;
	return 0;
}

/* Size of an entry that only jumps, as in .plt.got and .plt.sec; 0: it is none. */
static size_t plt_stub_size(const uint8_t *bytes, uint64_t size)
{
	static const char *const stubs[] = {
		JUMP_GOT " 66 90",
		"f2 " JUMP_GOT " 90",
		PATTERN_ENDBR64 " " JUMP_GOT " 66 0f 1f 44 00 00",
		PATTERN_ENDBR64 " f2 " JUMP_GOT " 0f 1f 44 00 00",
	};

	return pattern_match_any(bytes, size, stubs, ARRAY_SIZE(stubs));
}

/* A single jump could be in the middle of a function; in a table it has neighbours. */
static bool is_in_table(const struct view *v)
{
	uint64_t before = v->address - v->range->address;
	struct view last = *v;

	if (before == 0)
		return true;
	if (before >= 8 && plt_stub_size(v->bytes - 8, 8) == 8)
		return true;
	if (before < 16)
		return false;
	last.address -= 16;
	last.bytes -= 16;
	last.size = 16;
	return plt_stub_size(last.bytes, 16) == 16 || plt_entry_push(&last) > 0 ||
	       is_plt0(last.bytes, 16);
}

static bool find_plt(const struct view *v, struct known_code *code)
{
	size_t size = 0;

	if (v->address % 8 != 0)
		return false;
	if (v->address % 16 == 0 && v->size >= 16 && is_plt0(v->bytes, v->size)) {
		add_row(code, v->address, 6, DP_RSP, 16);
		next_row(code, 10, DP_RSP, 24);
		return true;
	}
	if (v->address % 16 == 0)
		size = plt_entry_push(v);
	if (size > 0) {
		add_row(code, v->address, size, DP_RSP, 8);
		next_row(code, 16 - size, DP_RSP, 16);
		return true;
	}
	size = plt_stub_size(v->bytes, v->size);
	if (size == 0 || !is_in_table(v))
		return false;
	add_row(code, v->address, size, DP_RSP, 8);
	return true;
}

/* mov $15, %rax; syscall */
static const uint8_t trampoline[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };

/* Handlers are not called from it but return to its start: the byte before is looked up. */
static bool find_trampoline(const struct code_range *range, uint64_t at, uint64_t start,
			    uint64_t end, struct known_code *code)
{
	uint64_t offset = at - range->address;
	uint64_t first = at > start ? at - 1 : at;
	uint64_t last = end - at > sizeof(trampoline) ? at + sizeof(trampoline) : end;

	if (range->size - offset < sizeof(trampoline) || first >= last ||
	    memcmp(range->bytes + offset, trampoline, sizeof(trampoline)) != 0)
		return false;
	add_row(code, first, last - first, DP_RSP, DP_SIGCONTEXT_AT);
	code->rows[0].signal = true;
	return true;
}

/*
 * The unwind information of glibc's clone() and clone3() ends before the system call, because it
 * would be wrong in the child, and starts again where only the child runs: syscall; test; jl; je;
 * ret. Returns the size in between, or 0. Searched for only where no rule is known.
 */
static size_t clone_call_size(const uint8_t *bytes, uint64_t size)
{
	static const char *const calls[] = {
		"0f 05 48 85 c0 7c ?? 74 ?? c3",
		"0f 05 48 85 c0 0f 8c ?? ?? ?? ?? 74 ?? c3", /* in programs at a fixed address */
	};

	if (size < 2 || bytes[0] != 0x0f || bytes[1] != 0x05)
		return 0;
	return pattern_match_any(bytes, size, calls, ARRAY_SIZE(calls));
}

/* Functions and PLTs start at a multiple of this, or at a range's start. */
#define ALIGNMENT 4

/* Functions of crtbegin.o start at a multiple of this. */
#define CRT_ALIGNMENT 16

/* Possible places of known code, by its first byte. */
enum start { START_NONE, START_CRT, START_ALIGNED, START_ANY };

static const uint8_t starts[256] = {
	[0x48] = START_ANY,     [0x50] = START_ALIGNED, [0x55] = START_ALIGNED,
	[0x68] = START_ALIGNED, [0x80] = START_CRT,     [0xb8] = START_CRT,
	[0xbe] = START_CRT,     [0xbf] = START_CRT,     [0xe9] = START_CRT,
	[0xeb] = START_CRT,     [0xf2] = START_ALIGNED, [0xf3] = START_ALIGNED,
	[0xff] = START_ALIGNED,
};

/* Code without unwind information can be long: most bytes are rejected here. */
static const uint8_t *find_start(const uint8_t *from, const uint8_t *end)
{
	while (from < end && starts[*from] == START_NONE)
		from++;
	return from;
}

static bool is_aligned(const struct code_range *range, uint64_t at, uint64_t alignment)
{
	return at % alignment == 0 || at == range->address;
}

/* True if known code with such a start may be at this address. */
static bool can_start(const struct code_range *range, uint64_t at, enum start start)
{
	switch (start) {
	case START_NONE:
		return false;
	case START_CRT:
		return is_aligned(range, at, CRT_ALIGNMENT);
	case START_ALIGNED:
		return is_aligned(range, at, ALIGNMENT);
	case START_ANY:
		return true;
	}
	return false;
}

bool known_code_is_none(const struct code_range *range, uint64_t start, uint64_t end)
{
	const uint8_t *from = range->bytes + (start - range->address);
	const uint8_t *to = from + (end - start);
	bool is_behind = end - range->address < range->size;

	for (const uint8_t *at = from; (at = find_start(at, to)) < to; at++) {
		if (can_start(range, start + (uint64_t)(at - from), (enum start)starts[*at]))
			return false;
	}
	/* A trampoline's row starts one byte before it. */
	return !(is_behind && *to == trampoline[0]);
}

/*
 * Finds code that starts at aligned addresses only. 0x48 alone says nothing: half of all
 * instructions start with it.
 */
static bool find_aligned(const struct view *v, uint64_t end, struct known_code *ret)
{
	bool is_mov = v->bytes[0] == 0x48 && v->size > 1 && v->bytes[1] != 0x83;

	if (starts[v->bytes[0]] != START_CRT && !is_mov &&
	    is_aligned(v->range, v->address, ALIGNMENT) &&
	    (find_function(v, ret) || find_plt(v, ret)))
		return true;
	return is_aligned(v->range, v->address, CRT_ALIGNMENT) &&
	       crt_function_find(v->range, v->address, end, ret);
}

bool known_code_next(const struct code_range *range, uint64_t start, uint64_t end,
		     struct known_code *ret)
{
	const uint8_t *bytes = range->bytes + (start - range->address);
	const uint8_t *range_end = range->bytes + range->size;
	const uint8_t *last = range->bytes + (end - range->address);
	size_t size = clone_call_size(bytes, end - start);

	*ret = (struct known_code){ 0 };
	if (size > 0) {
		add_row(ret, start, size, DP_RSP, 8);
		ret->rows[0].clone = true;
		return true;
	}
	if (last < range_end)
		last++;
	for (; (bytes = find_start(bytes, last)) < last; bytes++) {
		uint64_t at = range->address + (uint64_t)(bytes - range->bytes);
		struct view v = { range, at, bytes, end - at };

		if (!can_start(range, at, (enum start)starts[*bytes]))
			continue;
		if (find_trampoline(range, at, start, end, ret) ||
		    (at < end && find_aligned(&v, end, ret)))
			return true;
	}
	return false;
}
