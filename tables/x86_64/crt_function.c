// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/crt_function.h"

#include <string.h>

#include "base/array.h"
#include "tables/x86_64/pattern.h"

/* The contents of the stack. */
enum state {
	STATE_NONE,   /* no instruction starts here, or none that is ever executed */
	STATE_CALLED, /* the return address */
	STATE_PUSHED, /* rbp, and the return address behind it */
};

enum effect {
	EFFECT_NONE,
	EFFECT_NOP,    /* none, and it need not be executed: it is alignment */
	EFFECT_PUSHED, /* none, if rbp is on the stack */
	EFFECT_PUSH,
	EFFECT_POP,
	EFFECT_BRANCH, /* to the target in the last byte, or to the next instruction */
	EFFECT_JUMP,  /* to the target in the last byte or last four, here or in another function */
	EFFECT_LEAVE, /* to another function */
	EFFECT_RETURN,
};

struct instruction {
	const char *pattern;
	enum effect effect;
};

static const struct instruction instructions[] = {
	{ "48 8d 3d ?? ?? ?? ??", EFFECT_NONE },    /* lea data, %rdi */
	{ "48 8d 35 ?? ?? ?? ??", EFFECT_NONE },    /* %rsi */
	{ "48 8d 15 ?? ?? ?? ??", EFFECT_NONE },    /* %rdx */
	{ "48 8d 05 ?? ?? ?? ??", EFFECT_NONE },    /* %rax */
	{ "48 8b 05 ?? ?? ?? ??", EFFECT_NONE },    /* mov data, %rax */
	{ "48 8b 15 ?? ?? ?? ??", EFFECT_NONE },    /* %rdx */
	{ "48 8b 3d ?? ?? ?? ??", EFFECT_NONE },    /* %rdi */
	{ "b8 ?? ?? ?? ??", EFFECT_NONE },          /* mov $number, %eax */
	{ "ba ?? ?? ?? ??", EFFECT_NONE },          /* %edx */
	{ "be ?? ?? ?? ??", EFFECT_NONE },          /* %esi */
	{ "bf ?? ?? ?? ??", EFFECT_NONE },          /* %edi */
	{ "48 c7 c0 ?? ?? ?? ??", EFFECT_NONE },    /* mov $number, %rax */
	{ "48 c7 c2 ?? ?? ?? ??", EFFECT_NONE },    /* %rdx */
	{ "48 c7 c7 ?? ?? ?? ??", EFFECT_NONE },    /* %rdi */
	{ "48 85 c0", EFFECT_NONE },                /* test %rax, %rax */
	{ "48 85 d2", EFFECT_NONE },                /* test %rdx, %rdx */
	{ "48 39 f8", EFFECT_NONE },                /* cmp %rdi, %rax */
	{ "48 3d ?? ?? ?? ??", EFFECT_NONE },       /* cmp $number, %rax */
	{ "48 83 f8 ??", EFFECT_NONE },             /* the same */
	{ "48 83 3f 00", EFFECT_NONE },             /* cmpq $0, (%rdi) */
	{ "48 83 3d ?? ?? ?? ?? 00", EFFECT_NONE }, /* cmpq $0, data */
	{ "80 3d ?? ?? ?? ?? 00", EFFECT_NONE },    /* cmpb $0, data */
	{ "c6 05 ?? ?? ?? ?? 01", EFFECT_NONE },    /* movb $1, data */
	{ "48 89 c6", EFFECT_NONE },                /* mov %rax, %rsi */
	{ "48 89 f0", EFFECT_NONE },                /* mov %rsi, %rax */
	{ "48 89 c2", EFFECT_NONE },                /* mov %rax, %rdx */
	{ "48 29 fe", EFFECT_NONE },                /* sub %rdi, %rsi */
	{ "48 29 f8", EFFECT_NONE },                /* sub %rdi, %rax */
	{ "48 2d ?? ?? ?? ??", EFFECT_NONE },       /* sub $number, %rax */
	{ "48 81 ee ?? ?? ?? ??", EFFECT_NONE },    /* sub $number, %rsi */
	{ "48 01 c6", EFFECT_NONE },                /* add %rax, %rsi */
	{ "48 01 d0", EFFECT_NONE },                /* add %rdx, %rax */
	{ "48 c1 f8 ??", EFFECT_NONE },             /* sar $number, %rax */
	{ "48 c1 fe ??", EFFECT_NONE },             /* sar $number, %rsi */
	{ "48 c1 e8 ??", EFFECT_NONE },             /* shr $number, %rax */
	{ "48 c1 ee ??", EFFECT_NONE },             /* shr $number, %rsi */
	{ "48 c1 ea ??", EFFECT_NONE },             /* shr $number, %rdx */
	{ "48 d1 f8", EFFECT_NONE },                /* sar %rax */
	{ "48 d1 fe", EFFECT_NONE },                /* sar %rsi */
	{ "48 89 e5", EFFECT_PUSHED },              /* mov %rsp, %rbp */
	{ "e8 ?? ?? ?? ??", EFFECT_PUSHED },        /* call */
	{ "67 e8 ?? ?? ?? ??", EFFECT_PUSHED },     /* the same, by the linker */
	{ "ff d0", EFFECT_PUSHED },                 /* call *%rax */
	{ "ff 15 ?? ?? ?? ??", EFFECT_PUSHED },     /* call *data */
	{ "55", EFFECT_PUSH },
	{ "5d", EFFECT_POP },
	{ "74 ??", EFFECT_BRANCH }, /* je */
	{ "75 ??", EFFECT_BRANCH }, /* jne */
	{ "76 ??", EFFECT_BRANCH }, /* jbe */
	{ "77 ??", EFFECT_BRANCH }, /* ja */
	{ "eb ??", EFFECT_JUMP },
	{ "e9 ?? ?? ?? ??", EFFECT_JUMP },
	{ "ff e0", EFFECT_LEAVE }, /* jmp *%rax */
	{ "ff e2", EFFECT_LEAVE }, /* jmp *%rdx */
	{ "c3", EFFECT_RETURN },
	{ "f3 c3", EFFECT_RETURN }, /* repz ret */
};

#define MAX_CRT 128
#define NO_TAIL UINT64_MAX

/* A function that is being read, from its first byte on. */
struct crt {
	const struct code_range *range;
	uint64_t start;
	const uint8_t *bytes;
	size_t size; /* available bytes */

	/* enum state at each instruction: of those read, and of jump targets */
	uint8_t states[MAX_CRT];
	size_t jumped_to; /* the last jump target */
	bool returns;     /* a `ret` was found */
	uint64_t tail;    /* target of one of its tail calls, or NO_TAIL */
};

/* Size of the alignment that compilers emit here, prefixes included; 0: it is none. */
static size_t nop_size(const uint8_t *bytes, size_t size)
{
	static const char *const nops[] = {
		"90",
		"0f 1f 00",
		"0f 1f 40 00",
		"0f 1f 44 00 00",
		"0f 1f 80 00 00 00 00",
		"0f 1f 84 00 00 00 00 00",
	};
	size_t prefixes = 0, n;

	while (prefixes < size && (bytes[prefixes] == 0x66 || bytes[prefixes] == 0x2e))
		prefixes++;
	n = pattern_match_any(bytes + prefixes, size - prefixes, nops, ARRAY_SIZE(nops));
	return n > 0 ? prefixes + n : 0;
}

/*
 * Requires the state at a jump target of the instruction before `end`. An instruction that was read
 * must already have it; the others are read later.
 */
static bool crt_reach(struct crt *f, size_t end, size_t to, enum state state)
{
	if (f->states[to] != STATE_NONE)
		return f->states[to] == state;
	if (to < end)
		return false;
	f->states[to] = (uint8_t)state;
	if (to > f->jumped_to)
		f->jumped_to = to;
	return true;
}

/* Leaves for another function, as if its caller had called that one. */
static bool crt_leave(struct crt *f, uint64_t to, enum state *state)
{
	bool is_called = *state == STATE_CALLED;

	*state = STATE_NONE;
	f->tail = to;
	return is_called;
}

/* Jumps by the displacement that ends the instruction before `end`. */
static bool crt_jump(struct crt *f, size_t end, size_t size, bool always, enum state *state)
{
	int64_t to = (int64_t)end;
	int32_t far;
	bool is_fine;

	if (size > 2) {
		memcpy(&far, f->bytes + end - sizeof(far), sizeof(far));
		to += far;
	} else {
		to += (int8_t)f->bytes[end - 1];
	}
	if (always && (to < 0 || to >= (int64_t)f->size))
		return crt_leave(f, f->start + (uint64_t)to, state);
	is_fine = to >= 0 && to < (int64_t)f->size && crt_reach(f, end, (size_t)to, *state);
	if (always)
		*state = STATE_NONE;
	return is_fine;
}

/* Applies an instruction of `size` bytes before `end`. */
static bool crt_do(struct crt *f, size_t end, size_t size, enum effect effect, enum state *state)
{
	switch (effect) {
	case EFFECT_NONE:
	case EFFECT_NOP:
		return true;
	case EFFECT_PUSHED:
		return *state == STATE_PUSHED;
	case EFFECT_PUSH:
	case EFFECT_POP:
		if (*state != (effect == EFFECT_PUSH ? STATE_CALLED : STATE_PUSHED))
			return false;
		*state = effect == EFFECT_PUSH ? STATE_PUSHED : STATE_CALLED;
		return true;
	case EFFECT_BRANCH:
	case EFFECT_JUMP:
		return crt_jump(f, end, size, effect == EFFECT_JUMP, state);
	case EFFECT_LEAVE:
		return crt_leave(f, NO_TAIL, state);
	case EFFECT_RETURN:
		f->returns = true;
		return crt_leave(f, f->tail, state);
	}
	return false;
}

static size_t find_instruction(const uint8_t *bytes, size_t size, enum effect *ret)
{
	size_t n = nop_size(bytes, size);

	*ret = EFFECT_NOP;
	for (size_t i = 0; i < ARRAY_SIZE(instructions) && n == 0; i++) {
		n = pattern_match(bytes, size, instructions[i].pattern);
		*ret = instructions[i].effect;
	}
	return n;
}

/* True if no byte in between is a jump target. */
static bool is_not_jumped_to(const struct crt *f, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		if (f->states[i] != STATE_NONE)
			return false;
	return true;
}

/* Reads the function up to its end. Returns its size; 0: it is not one of these. */
static size_t crt_read(struct crt *f)
{
	size_t at = pattern_match(f->bytes, f->size, PATTERN_ENDBR64);
	enum state state = STATE_CALLED;

	f->states[0] = STATE_CALLED;
	while (at < f->size) {
		enum effect effect;
		size_t n;

		if (state == STATE_NONE && at > f->jumped_to)
			return at;
		if (state != STATE_NONE && f->states[at] != STATE_NONE && f->states[at] != state)
			return 0;
		if (state == STATE_NONE)
			state = (enum state)f->states[at];
		f->states[at] = (uint8_t)state;
		n = find_instruction(f->bytes + at, f->size - at, &effect);
		if (n == 0 || !is_not_jumped_to(f, at + 1, at + n))
			return 0;
		if (state == STATE_NONE && effect != EFFECT_NOP)
			return 0;
		at += n;
		if (!crt_do(f, at, n, effect, &state))
			return 0;
	}
	return state == STATE_NONE && at > f->jumped_to ? at : 0;
}

/* A quick look: it begins with endbr64, a load, a comparison, a frame, or a jump. */
static bool may_be_crt(const uint8_t *bytes, size_t size)
{
	uint32_t first = 0;

	memcpy(&first, bytes, size < sizeof(first) ? size : sizeof(first));
	switch (first & 0xff) {
	case 0x48:
		first &= 0xffffff;
		return first == 0x3d8d48 || first == 0x058d48 || first == 0x3d8348;
	case 0x80:
		return (first & 0xffff) == 0x3d80;
	case 0xf3:
		return first == 0xfa1e0ff3;
	case 0x55:
	case 0xb8:
	case 0xbe:
	case 0xbf:
	case 0xe9:
	case 0xeb:
		return true;
	}
	return false;
}

static bool crt_begin(struct crt *f, const struct code_range *range, uint64_t at, uint64_t end)
{
	const uint8_t *bytes = range->bytes + (at - range->address);
	size_t size = end - at < MAX_CRT ? end - at : MAX_CRT;

	if (!may_be_crt(bytes, size))
		return false;
	*f = (struct crt){
		.range = range, .start = at, .bytes = bytes, .size = size, .tail = NO_TAIL
	};
	return true;
}

/* A function that only jumps to one of them counts as one too. */
static bool leads_to_crt(const struct crt *f)
{
	uint64_t range_end = f->range->address + f->range->size;
	struct crt next;

	return f->tail >= f->range->address && f->tail < range_end &&
	       crt_begin(&next, f->range, f->tail, range_end) && crt_read(&next) > 0 &&
	       next.returns;
}

static bool crt_rows(const struct crt *f, size_t size, struct known_code *ret)
{
	enum state last = STATE_NONE;

	*ret = (struct known_code){ 0 };
	for (size_t at = 0; at < size; at++) {
		enum state state = (enum state)f->states[at];

		if (state != STATE_NONE && state != last) {
			if (ret->n_rows == KNOWN_MAX_ROWS) {
				ret->n_rows = 0;
				return false;
			}
			ret->rows[ret->n_rows++] = (struct known_row){
				.start = f->start + at,
				.fp_saved = state == STATE_PUSHED,
				.cfa_reg = DP_RSP,
				.cfa_offset = state == STATE_PUSHED ? 16 : 8,
			};
			last = state;
		}
		ret->rows[ret->n_rows - 1].end = f->start + at + 1;
	}
	return true;
}

bool crt_function_find(const struct code_range *range, uint64_t at, uint64_t end,
		       struct known_code *ret)
{
	struct crt f;
	size_t size = crt_begin(&f, range, at, end) ? crt_read(&f) : 0;

	return size > 0 && (f.returns || leads_to_crt(&f)) && crt_rows(&f, size, ret);
}
