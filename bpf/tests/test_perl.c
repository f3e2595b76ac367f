// SPDX-License-Identifier: Apache-2.0
/* Perl's stacks of contexts in memory, in the layout of no version. */
#include "bpf/runtime.h"
#include "bpf/tests/world_fixture.h"

#define VARIABLE (WORLD_STACK + 0x1000)
#define INTERPRETER (WORLD_STACK + 0x1100)
#define STACKS (WORLD_STACK + 0x1200)
#define CONTEXTS (WORLD_STACK + 0x2000)
#define FUNCTIONS (WORLD_STACK + 0x4000)
#define STATEMENTS (WORLD_STACK + 0x6000)
#define CALL_OP (WORLD_STACK + 0x7000)
#define HEK (WORLD_STACK + 0x8000)

/* In the interpreter, a stack, a context, the bodies of a CV and of a GV, and a statement. */
enum { STACK = 8, STATEMENT = 16, OP = 24, SAVED = 32 };
enum { ARRAY = 0, PREVIOUS = 8, LAST = 16, LAST_SUB = 20 };
enum { TYPE = 0, CALLER = 8, SAVED_BEFORE = 16, RESUME = 24, FUNCTION = 32, SIZE = 0x40 };
enum { PACKAGE = 0, START = 8, NAME = 16, FLAGS = 24 };
enum { GV_NAME = 0, GV_PACKAGE = 8 };
enum { NEXT_OP = 0, OP_TYPE = 16, LINE = 20, FILE_NAME = 24, SEQUENCE = 32 };
enum { NATIVE = 1, NAMED = 2, LEXICAL = 4 };
enum { CALL = 4, GOTO = 5, NEXT = 6, DEBUG = 7 };
enum { NONE, BLOCK, SUB, FORMAT, EVAL, DEFER, OTHER };
enum { REUSED = 0x10, EVAL_BLOCK = 0x40, FAKE = 0x80 };

static struct dp_perl *layout(void)
{
	struct dp_runtime_image *image =
		world_cell(w, WORLD_IMAGE_CELL + sizeof(struct dp_image) / DP_CELL_SIZE);

	return &image->perl;
}

static void poke_half(uint64_t address, uint32_t value)
{
	memcpy((uint8_t *)w->stack + (address - WORLD_STACK), &value, sizeof(value));
}

static uint64_t stack_at(unsigned int i)
{
	return STACKS + i * 0x40;
}

static uint64_t context_at(unsigned int stack, unsigned int i)
{
	return CONTEXTS + stack * 0x800 + i * SIZE;
}

static uint64_t function_at(unsigned int i)
{
	return FUNCTIONS + i * 0x100;
}

static uint64_t gv_at(unsigned int i)
{
	return function_at(i) + 0x80;
}

static uint64_t statement_at(unsigned int i)
{
	return STATEMENTS + i * 0x80;
}

/* Each function has a variable with its name, and begins with the statement 10 + its number. */
static void put_function(unsigned int i)
{
	uint64_t body = function_at(i) + 0x40, gv = gv_at(i);

	world_poke(w, function_at(i), body);
	world_poke(w, body + PACKAGE, 0x2000 + i);
	world_poke(w, body + START, statement_at(10 + i));
	world_poke(w, body + NAME, gv);
	world_poke(w, body + FLAGS, 0);
	world_poke(w, gv, gv + 0x20);
	world_poke(w, gv + 0x20 + GV_NAME, 0x3000 + i);
	world_poke(w, gv + 0x20 + GV_PACKAGE, 0x4000 + i);
}

static void put_statement(unsigned int i)
{
	poke_half(statement_at(i) + OP_TYPE, NEXT | 0x200);
	poke_half(statement_at(i) + LINE, 100 + i);
	poke_half(statement_at(i) + SEQUENCE, 200 + i);
	world_poke(w, statement_at(i) + FILE_NAME, 0x5000 + i);
}

/* A context whose caller is at the statement of this number. */
static void put_context(unsigned int stack, unsigned int i, unsigned int type, unsigned int caller,
			uint64_t resume)
{
	uint64_t at = context_at(stack, i);

	/* Only one byte is the type. */
	poke_half(at + TYPE, 0xabc00 | type);
	world_poke(w, at + CALLER, statement_at(caller));
	world_poke(w, at + RESUME, resume);
	world_poke(w, at + FUNCTION, 0);
}

static void put_sub(unsigned int stack, unsigned int i, unsigned int function, unsigned int caller,
		    uint64_t resume)
{
	put_context(stack, i, SUB, caller, resume);
	world_poke(w, context_at(stack, i) + FUNCTION, function_at(function));
}

static void put_stack(unsigned int i, uint64_t previous, int last, int last_sub)
{
	world_poke(w, stack_at(i) + ARRAY, context_at(i, 0));
	world_poke(w, stack_at(i) + PREVIOUS, previous);
	poke_half(stack_at(i) + LAST, (uint32_t)last);
	poke_half(stack_at(i) + LAST_SUB, (uint32_t)last_sub);
}

/* The script has called function 0 at statement 0, and that function 1 at 1, which is at 2. */
static void begin_perl(void)
{
	struct dp_image *image;

	begin();
	image = world_cell(w, WORLD_IMAGE_CELL);
	image->runtime_kind = DP_RUNTIME_PERL;
	*layout() = (struct dp_perl){
		.variable = VARIABLE - WORLD_LIBRARY,
		.place = DP_TLS_NONE,
		.is_threaded = 1,
		.stack = STACK,
		.statement = STATEMENT,
		.op = OP,
		.saved = SAVED,
		.contexts = ARRAY,
		.previous = PREVIOUS,
		.last = LAST,
		.last_sub = LAST_SUB,
		.context_size = SIZE,
		.type = TYPE,
		.caller = CALLER,
		.saved_before = SAVED_BEFORE,
		.resume = RESUME,
		.function = FUNCTION,
		.package = PACKAGE,
		.start = START,
		.name = NAME,
		.flags = FLAGS,
		.gv_name = GV_NAME,
		.gv_package = GV_PACKAGE,
		.op_type = OP_TYPE,
		.line = LINE,
		.file = FILE_NAME,
		.sequence = SEQUENCE,
		.is_native = NATIVE,
		.is_named = NAMED,
		.is_lexical = LEXICAL,
		.op_call = CALL,
		.op_goto = GOTO,
		.op_next = NEXT,
		.op_debug = DEBUG,
		.kind_null = NONE,
		.kind_block = BLOCK,
		.kind_sub = SUB,
		.kind_format = FORMAT,
		.kind_eval = EVAL,
		.kind_defer = DEFER,
		.is_reused = REUSED,
		.is_fake = FAKE,
		.is_eval_block = EVAL_BLOCK,
	};
	w->walk.runtime.mapping = 3;
	for (unsigned int i = 0; i < 3; i++)
		put_function(i);
	for (unsigned int i = 0; i < 20; i++)
		put_statement(i);
	world_poke(w, VARIABLE, INTERPRETER);
	world_poke(w, INTERPRETER + STACK, stack_at(0));
	world_poke(w, INTERPRETER + STATEMENT, statement_at(2));
	put_stack(0, 0, 3, 3);
	put_context(0, 0, BLOCK, 9, 0);
	put_sub(0, 1, 0, 0, 0x77);
	put_context(0, 2, OTHER, 8, 0);
	put_sub(0, 3, 1, 1, 0x78);
}

TestSuite(perl, .init = begin_perl, .fini = end);

static void expect(enum dp_runtime_outcome outcome, unsigned int n)
{
	const struct dp_runtime *head = &w->walk.runtime.head;

	w->walk.at.cost = 0;
	cr_assert_eq(runtime_read(&w->walk), n > 0 || outcome != DP_RUNTIME_COMPLETE);
	cr_assert(head->outcome == outcome, "outcome %d", head->outcome);
	cr_assert(head->n == n, "%d frames", head->n);
}

/* statement: -1: none. */
static void expect_code(size_t at, uint64_t code, uint32_t check, int statement, uint64_t flags)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[at];
	uint32_t i = (uint32_t)statement;

	cr_assert_eq(f->code, code);
	cr_assert_eq(f->tag >> 32, check);
	cr_assert(f->position == (flags | (statement < 0 ? 0 : statement_at(i))), "position %llx",
		  (unsigned long long)f->position);
	cr_assert_eq((uint32_t)f->tag,
		     statement < 0 ? 0 :
				     perl_check((uint64_t)(100 + i) << 32 | (200 + i), 0x5000 + i));
}

static void expect_function(size_t at, unsigned int function, int statement, uint64_t flags)
{
	expect_code(at, gv_at(function) | DP_PERL_GV,
		    perl_check(0x3000 + function, 0x4000 + function), statement, flags);
}

static void expect_main(size_t at, int statement)
{
	expect_code(at, DP_PERL_MAIN, 0, statement, DP_RUNTIME_ENTRY);
}

static void expect_loop(size_t at)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[at];

	cr_assert_eq(f->code, 0);
	cr_assert_eq(f->position, DP_RUNTIME_ENTRY | DP_PERL_IDLE);
}

Test(perl, functions_have_the_statements_in_which_they_call)
{
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 2, 0);
	expect_function(1, 0, 1, 0);
	expect_main(2, 0);
}

Test(perl, stacks_follow_each_other)
{
	put_stack(1, stack_at(0), 0, 0);
	put_sub(1, 0, 2, 3, 0);
	world_poke(w, INTERPRETER + STACK, stack_at(1));
	expect(DP_RUNTIME_COMPLETE, 4);
	expect_function(0, 2, 2, DP_RUNTIME_ENTRY);
	expect_function(1, 1, 3, 0);
	expect_main(3, 0);
	/* An empty one, such as that of native code that is about to call. */
	put_stack(1, stack_at(0), -1, -1);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 2, 0);
}

Test(perl, the_script_runs_below_a_block)
{
	put_context(0, 0, OTHER, 9, 0);
	expect(DP_RUNTIME_COMPLETE, 2);
	/* Not that of another stack. */
	put_stack(0, stack_at(1), 3, 3);
	put_stack(1, 0, -1, -1);
	put_context(0, 0, BLOCK, 9, 0);
	expect(DP_RUNTIME_COMPLETE, 2);
}

Test(perl, evals_of_text_are_frames_and_blocks_are_not)
{
	put_context(0, 2, EVAL, 4, 0x79);
	expect(DP_RUNTIME_COMPLETE, 4);
	expect_code(1, DP_PERL_EVAL, 0, 1, 0);
	expect_function(2, 0, 4, 0);
	put_context(0, 2, EVAL, 4, 0);
	expect(DP_RUNTIME_COMPLETE, 4);
	expect_code(1, DP_PERL_EVAL, 0, 1, DP_RUNTIME_ENTRY);
	put_context(0, 2, EVAL | EVAL_BLOCK, 4, 0);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(1, 0, 1, 0);
	/* It has no statement of its own yet. */
	put_stack(0, 0, 2, 2);
	put_context(0, 2, EVAL, 2, 0x79);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_code(0, DP_PERL_EVAL, 0, -1, 0);
	expect_function(1, 0, 2, 0);
}

Test(perl, loops_within_functions)
{
	unsigned int types[] = { NONE, DEFER, SUB | FAKE };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		put_context(0, 2, types[i], 4, 0x79);
		expect(DP_RUNTIME_COMPLETE, 4);
		expect_loop(1);
		expect_function(2, 0, 1, 0);
	}
	put_sub(0, 2, 2, 4, 0);
	poke_half(context_at(0, 2) + TYPE, SUB | REUSED);
	expect(DP_RUNTIME_COMPLETE, 4);
	expect_function(1, 2, 1, DP_RUNTIME_ENTRY | DP_PERL_IDLE);
	put_sub(0, 2, 2, 4, 0x79);
	poke_half(context_at(0, 2) + TYPE, FORMAT | FAKE);
	expect(DP_RUNTIME_COMPLETE, 4);
	expect_function(1, 2, 1, 0);
}

Test(perl, names_are_in_several_places)
{
	uint64_t body = function_at(1) + 0x40;

	world_poke(w, body + FLAGS, NAMED);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_code(0, function_at(1) | DP_PERL_CV, perl_check(gv_at(1), 0x2001), 2, 0);
	world_poke(w, body + FLAGS, NAMED | LEXICAL);
	world_poke(w, body + NAME, HEK);
	world_poke(w, HEK, 0x1234);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_code(0, HEK | DP_PERL_HEK, perl_check(0x1234, 0), 2, 0);
	world_poke(w, body + NAME, 0);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_code(0, DP_PERL_NAMELESS, 0, 2, 0);
	world_poke(w, body + FLAGS, NATIVE);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, 1, 0);
}

Test(perl, contexts_that_are_being_made_are_none)
{
	/* The function is what was there before. */
	put_stack(0, 0, 3, 1);
	put_sub(0, 3, 2, 7, 0x78);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, 2, 0);
	world_poke(w, context_at(0, 3) + FUNCTION, 0);
	world_poke(w, INTERPRETER + OP, CALL_OP);
	poke_half(CALL_OP + OP_TYPE, CALL);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, 2, 0);
	/* That it is the innermost one of its own is known, not what it is. */
	put_stack(0, 0, 3, 3);
	world_poke(w, context_at(0, 3) + FUNCTION, 0);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, 7, 0);
}

Test(perl, contexts_that_are_being_left_are_none)
{
	put_stack(0, 0, 3, 1);
	put_context(0, 3, SUB, 1, 0x78);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, 1, 0);
	world_poke(w, INTERPRETER + OP, CALL_OP);
	poke_half(CALL_OP + OP_TYPE, CALL + 1);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, 1, 0);
	world_poke(w, INTERPRETER + OP, 0);
	world_poke(w, INTERPRETER + STATEMENT, statement_at(1));
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, 1, 0);
	/* What frees it may be a call. */
	put_stack(0, 0, 3, 3);
	put_stack(1, stack_at(0), 0, 0);
	put_sub(1, 0, 2, 4, 0);
	world_poke(w, INTERPRETER + STACK, stack_at(1));
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 2, 1, DP_RUNTIME_ENTRY);
	expect_function(1, 0, 1, 0);
	/* An eval that is. */
	world_poke(w, INTERPRETER + STACK, stack_at(0));
	put_stack(0, 0, 3, 1);
	put_context(0, 3, EVAL, 5, 0x78);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, -1, 0);
}

Test(perl, a_function_begins_with_its_first_statement)
{
	uint64_t context = context_at(0, 3);

	/* Its first op is about to run. */
	world_poke(w, INTERPRETER + OP, statement_at(11));
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 11, 0);
	expect_function(1, 0, 1, 0);
	/* The op that called it still runs. */
	world_poke(w, INTERPRETER + OP, CALL_OP);
	world_poke(w, INTERPRETER + STATEMENT, statement_at(1));
	world_poke(w, CALL_OP + NEXT_OP, 0x78);
	world_poke(w, INTERPRETER + SAVED, 0xfff00000005ULL);
	poke_half(context + SAVED_BEFORE, 5);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 11, 0);
	expect_function(1, 0, 1, 0);
	/* It has kept something, so that it runs, and calls itself; */
	poke_half(context + SAVED_BEFORE, 4);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 1, 0);
	/* it runs another op; it runs another statement. */
	poke_half(context + SAVED_BEFORE, 5);
	world_poke(w, CALL_OP + NEXT_OP, 0x79);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 1, 0);
	world_poke(w, CALL_OP + NEXT_OP, 0x78);
	world_poke(w, INTERPRETER + STATEMENT, statement_at(2));
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 2, 0);
	/* The innermost function need not have the innermost context. */
	world_poke(w, context_at(0, 1) + RESUME, 0x78);
	world_poke(w, INTERPRETER + STATEMENT, statement_at(0));
	put_context(0, 3, OTHER, 9, 0);
	put_stack(0, 0, 3, 1);
	poke_half(context_at(0, 1) + SAVED_BEFORE, 5);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_function(0, 0, 10, 0);
	expect_main(1, 0);
}

Test(perl, what_is_no_statement_has_no_line)
{
	world_poke(w, INTERPRETER + OP, statement_at(11));
	poke_half(statement_at(11) + OP_TYPE, NEXT + 0x100);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, -1, 0);
	poke_half(statement_at(11) + OP_TYPE, DEBUG);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 11, 0);
	world_poke(w, INTERPRETER + OP, CALL_OP);
	poke_half(CALL_OP + OP_TYPE, GOTO);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, -1, 0);
	expect_function(1, 0, 1, 0);
	world_poke(w, INTERPRETER + OP, 0);
	world_poke(w, INTERPRETER + STATEMENT, 8);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, -1, 0);
}

Test(perl, without_threads_variables_are_in_the_file)
{
	struct dp_perl *l = layout();
	struct dp_mapping *m = world_cell(w, dp_mapping_cell(w->walk.in.snapshot_cell, 3));

	l->is_threaded = 0;
	l->variable = 0;
	l->stack = INTERPRETER + STACK - WORLD_LIBRARY;
	l->statement = INTERPRETER + STATEMENT - WORLD_LIBRARY;
	l->op = INTERPRETER + OP - WORLD_LIBRARY;
	l->saved = INTERPRETER + SAVED - WORLD_LIBRARY;
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_function(0, 1, 2, 0);
	expect_main(2, 0);
	/* At the addresses of a program that is not position-independent. */
	m->bias = 0;
	l->stack += WORLD_LIBRARY;
	l->statement += WORLD_LIBRARY;
	l->op += WORLD_LIBRARY;
	l->saved += WORLD_LIBRARY;
	expect(DP_RUNTIME_COMPLETE, 3);
}

Test(perl, threads_without_an_interpreter_have_no_frames)
{
	world_poke(w, VARIABLE, 0);
	expect(DP_RUNTIME_COMPLETE, 0);
	/* Nor what another sample has left. */
	world_poke(w, VARIABLE, INTERPRETER);
	expect(DP_RUNTIME_COMPLETE, 3);
	world_poke(w, VARIABLE, 0);
	expect(DP_RUNTIME_COMPLETE, 0);
	layout()->variable = 0;
	expect(DP_RUNTIME_READ_FAULT, 0);
}

Test(perl, lists_without_end_end)
{
	put_stack(0, stack_at(0), 3, 3);
	/* Five steps for two frames, and three more. */
	expect(DP_RUNTIME_MANY_FRAMES, 2 * DP_MAX_RUNTIME_FRAMES / 5 * 2 + 1);
	put_stack(0, stack_at(0), -1, -1);
	expect(DP_RUNTIME_MANY_FRAMES, 0);
	put_context(0, 0, NONE, 0, 0);
	layout()->context_size = 0;
	put_stack(0, 0, INT32_MAX, -1);
	expect(DP_RUNTIME_MANY_FRAMES, DP_MAX_RUNTIME_FRAMES);
	put_stack(0, 0, INT32_MIN, -1);
	expect(DP_RUNTIME_COMPLETE, 0);
}

Test(perl, lists_are_limited_by_their_cost)
{
	put_stack(0, stack_at(0), 3, 3);
	w->walk.at.cost = RUNTIME_MAX_COST - 500;
	cr_assert(runtime_read(&w->walk));
	cr_expect_eq(w->walk.runtime.head.outcome, DP_RUNTIME_MANY_FRAMES);
	cr_expect(w->walk.runtime.head.n > 3 && w->walk.runtime.head.n < 20, "%u frames",
		  w->walk.runtime.head.n);
}

Test(perl, unreadable_memory_ends_it)
{
	world_poke(w, gv_at(0), 8);
	expect(DP_RUNTIME_READ_FAULT, 1);
	world_poke(w, function_at(0), 8);
	expect(DP_RUNTIME_READ_FAULT, 1);
	put_stack(0, 8, 0, -1);
	put_context(0, 0, NONE, 0, 0);
	expect(DP_RUNTIME_READ_FAULT, 1);
	world_poke(w, stack_at(0) + ARRAY, 8);
	expect(DP_RUNTIME_READ_FAULT, 0);
	world_poke(w, INTERPRETER + STACK, 8);
	expect(DP_RUNTIME_READ_FAULT, 0);
	world_poke(w, VARIABLE, 8);
	expect(DP_RUNTIME_READ_FAULT, 0);
}

Test(perl, offsets_of_a_forged_layout_are_bounded)
{
	struct dp_perl *l = layout();

	l->contexts = l->previous = l->last = l->last_sub = ~0U;
	runtime_read(&w->walk);
	l->contexts = ARRAY;
	l->last = LAST;
	l->type = l->caller = l->resume = l->function = l->saved_before = ~0U;
	runtime_read(&w->walk);
	l->type = TYPE;
	l->function = FUNCTION;
	l->package = l->start = l->name = l->flags = l->gv_name = l->gv_package = ~0U;
	l->op_type = l->line = l->file = l->sequence = ~0U;
	runtime_read(&w->walk);
}
