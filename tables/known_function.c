// SPDX-License-Identifier: Apache-2.0
#include "known_function.h"

#include <string.h>

#include "base/array.h"
#include "pattern.h"

/* What holds where in a function. */
enum known_rule {
	RULE_ROOT,      /* nobody has called it, or it never returns to who did */
	RULE_GOROUTINE, /* on the system's stack, for the goroutine that the thread runs */
	RULE_CGO,       /* the same, for a call of C */
};

/* A function is known by how it begins and by the instructions from where on the rule holds. */
struct shape {
	enum known_rule rule;
	bool is_whole; /* `start` is all of the function */
	const char *start;
	const char *from;  /* NULL: it holds for all of the function */
	const char *until; /* what comes right behind `from`: the last of it ends the rule */
};

#define FS "25 f8 ff ff ff" /* a goroutine's struct g is known to its thread at %fs:-8 */

/*
 * runtime/asm_amd64.s, runtime/sys_linux_amd64.s. Which of them are a stack's root
 * is what Go says itself: those that are marked TOPFRAME.
 */
static const struct shape shapes[] = {
	/* goexit(): as if it had called a goroutine's function, behind its first `nop` */
	{ RULE_ROOT, true, "90 e8 ?? ?? ?? ?? 90", NULL, NULL },
	/* rt0_go(), which the entry jumps to */
	{ RULE_ROOT, false, "48 89 f8 48 89 f3 48 83 ec ?? 48 83 e4 f0 48 89 44 24 ?? 48 89 5c 24",
	  NULL, NULL },
	/* clone(): in the new thread, whose stack %rsi is */
	{ RULE_ROOT, false, "8b 7c 24 08 48 8b 74 24 10",
	  "b8 38 00 00 00 0f 05 48 83 f8 00 74 05 89 44 24 ?? c3 48 89 f4", NULL },
	/* mcall(): the goroutine is left, and may go on in another thread */
	{ RULE_ROOT, false, "48 89 c2 48 8b 1c 24 49 89 5e 40", "64 4c 89 34 " FS " 49 8b 66 38",
	  NULL },
	/* morestack(): the goroutine's stack is about to be copied to another place */
	{ RULE_ROOT, false, "64 48 8b 1c " FS " 48 8b 5b 30", "48 8b 63 38", NULL },
	/* systemstack(), up to 1.20: mov %rbx,%rsp; mov %rdi,%rdx; mov (%rdi),%rdi; call *%rdi */
	{ RULE_GOROUTINE, false, "48 8b 7c 24 08 64 48 8b 04 " FS " 48 8b 58 30", "48 89 dc",
	  "48 89 fa 48 8b 3f ff d7 64 48 8b 04 " FS
	  " 48 8b 58 30 48 8b 83 ?? ?? ?? ?? 64 48 89 04 " FS " 48 8b 60 38" },
	/* asmcgocall(): mov %rdi,0x30(%rsp); ...; mov %rdi,0x28(%rsp); ...; call *%rax */
	{ RULE_CGO, false, "48 8b 44 24 08 48 8b 5c 24 10 48 89 e2",
	  "48 89 7c 24 30 48 8b 7f 08 48 29 d7 48 89 7c 24 28",
	  "48 89 df 48 89 d9 ff d0 48 8b 7c 24 30 48 8b 77 08 48 2b 74 24 28 64 48 89 3c " FS
	  " 48 89 f4" },
};

/* Members of the runtime's structs: g.stack.hi, g.m, g.sched.sp, m.g0. */
#define G_STACK_HI 0x08
#define G_M 0x30
#define G_SP 0x38
#define M_G0 0x00

#define OP(name, argument, number)                                                                 \
	(struct dp_op)                                                                             \
	{                                                                                          \
		.code = DP_OP_##name, .arg = (argument), .value = (number)                         \
	}

#define OPS(program, ...)                                                                          \
	do {                                                                                       \
		const struct dp_op ops[] = { __VA_ARGS__ };                                        \
                                                                                                   \
		(program)->n_ops = ARRAY_SIZE(ops);                                                \
		memcpy((program)->ops, ops, sizeof(ops));                                          \
	} while (0)

/*
 * The caller is on the goroutine's stack, where its return address was put before
 * g.sched.sp was set. r14 is the g that runs, here the thread's g0, unless a function
 * in assembly uses it for something else: 0, for none, if it is not its own m's g0.
 */
static void goroutine_program(int32_t curg, struct rule_program *ret)
{
	OPS(ret, OP(REGISTER, DP_R14, G_M), OP(DEREF, 8, 0), OP(PICK, 0, 0),
	    OP(ADD_CONSTANT, 0, M_G0), OP(DEREF, 8, 0), OP(REGISTER, DP_R14, 0), OP(EQ, 0, 0),
	    OP(SWAP, 0, 0), OP(ADD_CONSTANT, 0, curg), OP(DEREF, 8, 0), OP(ADD_CONSTANT, 0, G_SP),
	    OP(DEREF, 8, 0), OP(ADD_CONSTANT, 0, 8), OP(MUL, 0, 0));
}

/* asmcgocall() has saved g, and how far below its stack's upper end the stack pointer was. */
static void cgo_program(struct rule_program *ret)
{
	OPS(ret, OP(REGISTER, DP_RSP, 0x30), OP(DEREF, 8, 0), OP(ADD_CONSTANT, 0, G_STACK_HI),
	    OP(DEREF, 8, 0), OP(REGISTER, DP_RSP, 0x28), OP(DEREF, 8, 0), OP(SUB, 0, 0),
	    OP(ADD_CONSTANT, 0, 8));
}

static void set_rule(const struct shape *s, const uint8_t *until, struct known_function *ret)
{
	int32_t curg;

	ret->rule = (struct dp_rule){ .cfa = DP_CFA_SWITCH,
				      .ra = { .kind = DP_WHERE_CFA, .offset = -8 } };
	switch (s->rule) {
	case RULE_ROOT:
		ret->rule = (struct dp_rule){ .cfa = DP_CFA_REGISTER,
					      .cfa_reg = DP_RSP,
					      .cfa_offset = 8,
					      .ra = { .kind = DP_WHERE_UNDEFINED } };
		break;
	case RULE_GOROUTINE:
		memcpy(&curg, until + 24, sizeof(curg));
		goroutine_program(curg, &ret->programs.of[RULE_PART_CFA]);
		break;
	case RULE_CGO:
		cgo_program(&ret->programs.of[RULE_PART_CFA]);
		break;
	}
}

/* Where in the function the rule holds. */
static bool match_shape(const struct shape *s, const uint8_t *bytes, uint64_t size,
			struct known_function *ret)
{
	size_t at = pattern_match(bytes, size, s->start), length = 0, until = 0;

	if (at == 0 || (s->is_whole && at < size))
		return false;
	if (!s->from) {
		ret->end = ret->start + size;
		set_rule(s, NULL, ret);
		return true;
	}
	while (at < size && (length = pattern_match(bytes + at, size - at, s->from)) == 0)
		at++;
	at += length;
	if (s->until)
		until = pattern_match(bytes + at, size - at, s->until);
	if (length == 0 || at == size || (s->until && until == 0))
		return false;
	set_rule(s, bytes + at, ret);
	ret->end = ret->start + (until > 0 ? at + until : size);
	ret->start += at;
	return true;
}

/* How each shape begins, so that nearly all functions get no further than this. */
static bool can_start(const uint8_t *bytes)
{
	uint32_t first;

	memcpy(&first, bytes, sizeof(first));
	switch (first) {
	case 0x48f88948: /* rt0_go() */
	case 0x08247c8b: /* clone() */
	case 0x48c28948: /* mcall() */
	case 0x1c8b4864: /* morestack() */
	case 0x247c8b48: /* systemstack() */
	case 0x24448b48: /* asmcgocall() */
		return true;
	}
	return (first & 0xffff) == 0xe890; /* goexit() */
}

/*
 * systemstack_switch() does nothing but return, and nobody calls it. A goroutine that
 * has left its stack returns there, at its very start: the byte before is the one that
 * is looked up.
 */
static bool find_switch(const uint8_t *bytes, uint64_t gap, uint64_t size,
			struct known_function *ret)
{
	if (size != 1 || gap < 2 || !pattern_match(bytes - 2, 3, "cc cc c3"))
		return false;
	ret->rule = (struct dp_rule){ .cfa = DP_CFA_REGISTER,
				      .cfa_reg = DP_RSP,
				      .cfa_offset = 8,
				      .ra = { .kind = DP_WHERE_CFA, .offset = -8 } };
	ret->end = ret->start + 1;
	ret->start--;
	return true;
}

bool known_function_find(const struct code_range *range, uint64_t gap, uint64_t start, uint64_t end,
			 struct known_function *ret)
{
	const uint8_t *bytes = range->bytes + (start - range->address);

	*ret = (struct known_function){ .start = start };
	if (find_switch(bytes, gap, end - start, ret))
		return true;
	if (end - start < sizeof(uint32_t) || !can_start(bytes))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		if (match_shape(&shapes[i], bytes, end - start, ret))
			return true;
	}
	return false;
}
