// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/go_switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

/* The functions that are read, all found in one pass. */
enum looked_at {
	LOOK_MSTART,
	LOOK_CROSSCALL,
	LOOK_CALLBACK,
	LOOK_ASMCGOCALL,
	LOOK_SYSTEMSTACK,
	LOOK_MORESTACK,
	LOOK_SET_LABELS,
	N_LOOKED_AT,
};

static const struct {
	const char *name;
	uint8_t flags; /* distinguishes it from a wrapper of the same name */
} looked_at[N_LOOKED_AT] = {
	[LOOK_MSTART] = { "runtime.mstart", PCLNTAB_TOP_FRAME },
	[LOOK_CROSSCALL] = { "crosscall2", 0 },
	[LOOK_CALLBACK] = { "runtime.cgocallback", PCLNTAB_SP_WRITE },
	[LOOK_ASMCGOCALL] = { "runtime.asmcgocall", PCLNTAB_SP_WRITE },
	[LOOK_SYSTEMSTACK] = { "runtime.systemstack", PCLNTAB_SP_WRITE },
	[LOOK_MORESTACK] = { "runtime.morestack", PCLNTAB_SP_WRITE },
	[LOOK_SET_LABELS] = { "runtime/pprof.runtime_setProfLabel", 0 },
};

/* Functions that newstack() calls when it does not return. */
static const char *const giving[] = {
	"runtime.gopreempt_m",
	"runtime.goschedImpl",
	"runtime.preemptPark",
};

/* Go 1.16 has no flag for functions that load rsp. */
static const char *const switching[] = {
	"runtime.systemstack",
	"runtime.asmcgocall",
	"runtime.cgocallback",
	"runtime.gogo",
	"runtime.nanotime1",
	"runtime.walltime1",
	"time.now",
	"runtime.sigfwd",
	"racecall",
	"runtime.callCgoMmap",
	"runtime.callCgoMunmap",
};

bool go_switch_is_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(switching); i++)
		if (strcmp(name, switching[i]) == 0)
			return true;
	return false;
}

static void look(struct go_code *code, struct pclntab_function found[N_LOOKED_AT])
{
	const struct pclntab *t = code->table;
	bool has_flags = t->layout != PCLNTAB_GO_1_16;
	struct pclntab_function f;

	for (uint64_t i = 0; i < t->n_functions; i++) {
		size_t first = 0;

		if (pclntab_function(t, i, &f) < 0)
			continue;
		/* Functions written in Go have no flags, those in assembly do. */
		if (has_flags && f.flags == 0)
			first = LOOK_SET_LABELS;
		for (size_t k = first; k < N_LOOKED_AT; k++) {
			uint8_t flags = looked_at[k].flags;

			if (strcmp(f.name, looked_at[k].name) == 0 &&
			    ((f.flags & flags) == flags || (!has_flags && !found[k].name)))
				found[k] = f;
		}
	}
}

/*
 * Finds a call of a function, or of the wrapper of the same name that calls it (assembly functions
 * have another ABI than Go functions). *ret is the function itself, *ret_call the instruction that
 * calls it, and *ret_depth the size of the wrapper's frame. The instructions are those of *caller
 * or *wrapper, both owned by the caller.
 */
static int find_callee(struct go_code *code, const struct go_code_function *caller,
		       const char *name, struct go_code_function *wrapper,
		       struct pclntab_function *ret, const struct instruction **ret_call,
		       int32_t *ret_depth)
{
	const struct instruction *inner;
	struct pclntab_function f;
	int err = go_code_find_call(code, caller, name, ret_call, &f);

	*ret_depth = 0;
	if (err == 0)
		err = go_code_read(code, &f, wrapper);
	if (err < 0)
		return err;
	*ret = f;
	if (go_code_find_call(code, wrapper, name, &inner, &f) < 0 || f.start == ret->start)
		return 0;
	*ret = f;
	/* A wrapper that jumps has no frame. */
	if (inner->kind == INSTRUCTION_JUMP)
		return 0;
	*ret_call = inner;
	err = go_code_depth(code, &wrapper->f, inner->start, ret_depth);
	*ret_depth += 8;
	return err;
}

/*
 * mstart1() stores the place of its call as the start of the thread's stack: in mstart0(), which
 * was called by mstart(), the root.
 */
static int find_mstart(struct go_switch *found, struct go_code *code,
		       const struct pclntab_function *mstart)
{
	_cleanup_(go_code_function_done) struct go_code_function root = { 0 }, wrapper = { 0 },
								 start = { 0 };
	const struct instruction *call, *inner;
	struct pclntab_function f;
	int32_t depth;
	int err = go_code_read(code, mstart, &root);

	if (err == 0)
		err = find_callee(code, &root, "runtime.mstart0", &wrapper, &f, &call, &depth);
	if (err == 0)
		err = go_code_read(code, &f, &start);
	if (err == 0)
		err = go_code_find_call(code, &start, "runtime.mstart1", &inner, NULL);
	if (err == 0)
		err = go_code_depth(code, &f, inner->start, &depth);
	if (err < 0)
		return err;
	found->frames[found->n_frames++] = (struct go_frame){ depth, call->end, inner->end };
	return 0;
}

/* The first call that a function makes on another stack. */
static const struct instruction *switched_call(const struct go_code_function *f)
{
	for (size_t i = 0; i < f->path.n; i++)
		if (f->points[i].is_switched && f->path.instructions[i].kind == INSTRUCTION_CALL)
			return &f->path.instructions[i];
	return NULL;
}

/*
 * Distance from asmcgocall()'s last rsp on the thread's stack up to the stack's start. It aligns
 * rsp, so this holds for the start that a callback from C sets: C's calls are aligned too.
 */
static int find_outer(struct go_code *code, const struct pclntab_function *asmcgocall,
		      int32_t depth, int32_t *ret)
{
	_cleanup_(go_code_function_done) struct go_code_function f = { 0 };
	int err = go_code_read_points(code, asmcgocall, &f);

	if (err < 0)
		return err;
	for (size_t i = 0; i < f.path.n; i++) {
		struct sum begin, of;
		int64_t mask, below;

		/* Another call is for callers that are on the thread's stack already. */
		if (f.path.instructions[i].kind != INSTRUCTION_CALL || !f.points[i].is_switched ||
		    !sum_is_masked(&f.path.parts, &f.points[i].sp, &of, &mask) || mask != -16 ||
		    f.points[i].sp.number != 0)
			continue;
		below = -of.number;
		begin = of;
		begin.number = 0;
		if (!sum_is_word(&f.path.parts, &begin, &of) || below < 0 || below > INT16_MAX)
			continue;
		/* rsp + 8 is a multiple of 16 at the start of crosscall2(). */
		*ret = (int32_t)(below + ((-depth - below) & 15));
		return 0;
	}
	return -ENOENT;
}

/*
 * While C has called Go, the thread's stack starts with the frame of cgocallback(), which
 * crosscall2() has called.
 */
static int find_callback(struct go_switch *found, struct go_code *code,
			 const struct pclntab_function f[N_LOOKED_AT])
{
	const struct pclntab_function *crosscall = &f[LOOK_CROSSCALL];
	const struct pclntab_function *cgocallback = &f[LOOK_CALLBACK];
	struct go_callback *to = &found->callback;
	_cleanup_(go_code_function_done) struct go_code_function from = { 0 }, callback = { 0 };
	const struct instruction *call, *inner;
	struct return_values values;
	int32_t depth, outer;
	int err = go_code_read(code, crosscall, &from);

	if (err == 0)
		err = go_code_read_points(code, cgocallback, &callback);
	if (err == 0)
		err = go_code_find_call(code, &from, "runtime.cgocallback", &call, NULL);
	if (err < 0)
		return err;
	inner = switched_call(&callback);
	if (!inner)
		return -ENOENT;
	err = go_code_depth(code, cgocallback, inner->start, &depth);
	if (err < 0)
		return err;
	found->frames[found->n_frames++] = (struct go_frame){ depth, call->end, inner->end };
	err = go_code_depth(code, crosscall, call->start, &outer);
	if (err == 0)
		err = find_outer(code, &f[LOOK_ASMCGOCALL], outer + depth, &to->outer);
	if (err < 0 ||
	    return_path_find(&callback.path, (size_t)(inner - callback.path.instructions),
			     &values) != RETURN_FOUND)
		return err;
	to->size = (int32_t)values.sp.number;
	to->sp = values.sp;
	to->sp.number = 0;
	to->parts = callback.path.parts;
	/* The frame has the same size on both stacks. */
	if (to->size != depth + 8)
		return -ENOENT;
	to->return_address = call->end;
	to->start = inner->start;
	to->end = inner->end;
	return 0;
}

/* Where systemstack() finds the goroutine's rsp at the time of the call. */
static int find_goroutine_sp(struct go_code *code, const struct pclntab_function *systemstack,
			     struct sum_parts *ret_parts, struct sum *ret)
{
	_cleanup_(go_code_function_done) struct go_code_function f = { 0 };
	struct return_values values;
	const struct instruction *call;
	int err = go_code_read_points(code, systemstack, &f);

	if (err < 0)
		return err;
	call = switched_call(&f);
	if (!call || return_path_find(&f.path, (size_t)(call - f.path.instructions), &values) !=
			     RETURN_FOUND)
		return -ENOENT;
	/* It is a word, plus what the function pops. */
	values.sp.number = 0;
	if (!sum_is_word(&f.path.parts, &values.sp, ret))
		return -ENOENT;
	*ret_parts = f.path.parts;
	return 0;
}

/*
 * morestack() stores its caller in the goroutine's struct g: the return address, and rsp behind it.
 * The distance between the two is the same wherever the struct is.
 */
static int find_goroutine(struct go_switch *found, struct go_code *code,
			  const struct pclntab_function *systemstack,
			  const struct pclntab_function *morestack)
{
	_cleanup_(go_code_function_done) struct go_code_function f = { 0 };
	struct sum at = sum_register(DP_RSP), eight = sum_number(8), behind, word, sp, pc, further;
	int64_t apart;
	int err = find_goroutine_sp(code, systemstack, &found->parts, &found->sp);

	if (err == 0)
		err = go_code_read_points(code, morestack, &f);
	if (err < 0)
		return err;
	word = sum_word(&f.path.parts, &at);
	behind = sum_add(&at, &eight, 1);
	/* Both functions must find rsp at the same offset of struct g. */
	if (!return_path_written(&f.path, &behind, &sp) ||
	    !return_path_written(&f.path, &word, &pc) || !sum_distance(&pc, &sp, &apart) ||
	    sp.number != found->sp.number)
		return -ENOENT;
	further = sum_number(apart);
	found->pc = sum_add(&found->sp, &further, 1);
	found->goroutine = found->sp;
	found->goroutine.number = 0;
	found->sp = sum_word(&found->parts, &found->sp);
	found->pc = sum_word(&found->parts, &found->pc);
	found->has_goroutine = found->sp.is_known && found->pc.is_known;
	return 0;
}

static int compare_given(const void *a, const void *b)
{
	const struct go_given *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* morestack() calls newstack() right at the start of the thread's stack. */
static int find_given(struct go_switch *found, struct go_code *code,
		      const struct pclntab_function *morestack)
{
	_cleanup_(go_code_function_done) struct go_code_function f = { 0 }, wrapper = { 0 },
								 newstack = { 0 };
	const struct instruction *call;
	struct pclntab_function callee;
	int32_t outer, depth;
	int err = go_code_read(code, morestack, &f);

	if (err == 0)
		err = find_callee(code, &f, "runtime.newstack", &wrapper, &callee, &call, &outer);
	if (err == 0)
		err = go_code_read(code, &callee, &newstack);
	for (size_t i = 0; err == 0 && i < ARRAY_SIZE(giving) && found->n_given < GO_MAX_GIVEN;
	     i++) {
		if (go_code_find_call(code, &newstack, giving[i], &call, NULL) == 0 &&
		    go_code_depth(code, &callee, call->start, &depth) == 0)
			found->given[found->n_given++] =
				(struct go_given){ call->start, call->end,
						   (int64_t)depth + 8 + outer };
	}
	if (err == 0 && found->n_given > 0)
		qsort(found->given, found->n_given, sizeof(*found->given), compare_given);
	return err;
}

int go_switch_init(struct go_switch *ret, struct go_code *code)
{
	struct pclntab_function f[N_LOOKED_AT] = { 0 };
	int err;

	*ret = (struct go_switch){ 0 };
	look(code, f);
	ret->set_labels = f[LOOK_SET_LABELS];
	err = find_mstart(ret, code, &f[LOOK_MSTART]);
	if (err != -ENOMEM)
		err = find_callback(ret, code, f);
	if (err != -ENOMEM)
		err = find_goroutine(ret, code, &f[LOOK_SYSTEMSTACK], &f[LOOK_MORESTACK]);
	if (err != -ENOMEM)
		err = find_given(ret, code, &f[LOOK_MORESTACK]);
	return err == -ENOMEM ? err : 0;
}

bool go_switch_goroutine_rule(const struct go_switch *found, struct dp_rule *ret,
			      struct rule_programs *ret_programs)
{
	if (!found->has_goroutine)
		return false;
	*ret = (struct dp_rule){ .cfa = DP_CFA_SWITCH,
				 .ra = { .kind = DP_WHERE_VALUE },
				 .fp = { .kind = DP_WHERE_UNKNOWN } };
	return sum_compile(&found->parts, &found->sp, 0, &ret_programs->of[RULE_PART_CFA]) &&
	       sum_compile(&found->parts, &found->pc, 1, &ret_programs->of[RULE_PART_RA]);
}

static void add_op(struct rule_program *program, enum dp_opcode code, uint8_t arg, int64_t value)
{
	program->ops[program->n_ops++] =
		(struct dp_op){ .code = code, .arg = arg, .value = (int32_t)value };
}

static bool is_in_reach(uint64_t address)
{
	return address <= INT32_MAX;
}

/* The pc of the first frame whose return address is in place; 0 if there is none. */
bool go_switch_thread_rule(const struct go_switch *found, int64_t depth, struct dp_rule *ret,
			   struct rule_programs *ret_programs)
{
	struct rule_program *pc = &ret_programs->of[RULE_PART_RA];
	struct rule_program *cfa = &ret_programs->of[RULE_PART_CFA];

	if (found->n_frames == 0 || depth != (int32_t)depth)
		return false;
	*ret = (struct dp_rule){ .cfa = DP_CFA_SWITCH,
				 .ra = { .kind = DP_WHERE_VALUE },
				 .fp = { .kind = DP_WHERE_UNKNOWN } };
	cfa->n_ops = pc->n_ops = 0;
	add_op(cfa, DP_OP_REGISTER, DP_RSP, depth);
	for (size_t i = 0; i < found->n_frames; i++) {
		const struct go_frame *f = &found->frames[i];

		if (!is_in_reach(f->return_address) || !is_in_reach(f->pc))
			return false;
		/* The CFA is there already, and from the second frame on the sum so far. */
		add_op(pc, DP_OP_PICK, i > 0, 0);
		add_op(pc, DP_OP_ADD_CONSTANT, 0, f->at);
		add_op(pc, DP_OP_DEREF, 8, 0);
		add_op(pc, DP_OP_REGISTER, DP_BIAS, (int64_t)f->return_address);
		add_op(pc, DP_OP_EQ, 0, 0);
		add_op(pc, DP_OP_REGISTER, DP_BIAS, (int64_t)f->pc);
		add_op(pc, DP_OP_MUL, 0, 0);
		if (i > 0)
			add_op(pc, DP_OP_ADD, 0, 0);
	}
	return true;
}

/*
 * With the thread's rsp on the stack: that of the outer callback, if the walk came from above it.
 */
static void add_choice(const struct go_callback *c, struct rule_program *to)
{
	add_op(to, DP_OP_PICK, 0, 0);
	add_op(to, DP_OP_REGISTER, DP_LEFT_SP, 0);
	add_op(to, DP_OP_LT, 0, 0);
	add_op(to, DP_OP_REGISTER, DP_LEFT_SP, c->outer);
	add_op(to, DP_OP_PICK, 2, 0);
	add_op(to, DP_OP_SUB, 0, 0);
	add_op(to, DP_OP_MUL, 0, 0);
	add_op(to, DP_OP_ADD, 0, 0);
}

/* If crosscall2()'s return address is above it, the CFA is on that stack, else on this one. */
static void add_proof(const struct go_callback *c, struct rule_program *to)
{
	add_op(to, DP_OP_PICK, 0, 0);
	add_op(to, DP_OP_ADD_CONSTANT, 0, c->size - 8);
	add_op(to, DP_OP_DEREF, 8, 0);
	add_op(to, DP_OP_REGISTER, DP_BIAS, (int64_t)c->return_address);
	add_op(to, DP_OP_EQ, 0, 0);
	add_op(to, DP_OP_SWAP, 0, 0);
	add_op(to, DP_OP_REGISTER, DP_RSP, 0);
	add_op(to, DP_OP_SUB, 0, 0);
	add_op(to, DP_OP_MUL, 0, 0);
	add_op(to, DP_OP_REGISTER, DP_RSP, c->size);
	add_op(to, DP_OP_ADD, 0, 0);
}

#define N_CHOICE_OPS 8
#define N_PROOF_OPS 11

bool go_switch_callback_rule(const struct go_switch *found, struct dp_rule *ret,
			     struct rule_programs *ret_programs)
{
	struct rule_program *cfa = &ret_programs->of[RULE_PART_CFA];
	const struct go_callback *c = &found->callback;

	if (c->end == 0 || !is_in_reach(c->return_address) ||
	    !sum_compile(&c->parts, &c->sp, 0, cfa) ||
	    cfa->n_ops + N_CHOICE_OPS + N_PROOF_OPS > DP_MAX_OPS)
		return false;
	/* Up to Go 1.20, the goroutine continues at the start of systemstack_switch(). */
	*ret = (struct dp_rule){ .cfa = DP_CFA_SWITCH,
				 .lands = DP_LANDS_MAYBE,
				 .ra = { .kind = DP_WHERE_CFA, .offset = -8 },
				 .fp = { .kind = DP_WHERE_CFA, .offset = -16 } };
	add_choice(c, cfa);
	add_proof(c, cfa);
	return true;
}
