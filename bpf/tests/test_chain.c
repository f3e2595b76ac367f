// SPDX-License-Identifier: Apache-2.0
#include "bpf/tests/chain_world.h"

TestSuite(chain, .init = begin_chain, .fini = end);

Test(chain, reads_a_list)
{
	put_list();
	expect_three();
}

Test(chain, reads_an_array)
{
	put_array();
	expect_three();
	world_poke(w, THREAD + WORDS, (0x80 + 0x40) / 8);
	expect(DP_RUNTIME_COMPLETE, 1);
}

/* Reads frames after a walk with this outcome, whose last frame ends so many bytes below the stack's start. */
static enum dp_outcome root_outcome(enum dp_outcome walked, uint64_t below)
{
	w->walk.out.sample.outcome = walked;
	w->walk.at.left_sp = MACHINE_STACK - below;
	expect_three();
	return (enum dp_outcome)w->walk.out.sample.outcome;
}

Test(chain, a_coroutine_ends_where_its_stack_begins)
{
	put_array();
	world_poke(w, THREAD + MACHINE, MACHINE_STACK + 8); /* is aligned */
	cr_expect_eq(root_outcome(DP_NULL_RETURN, 0), DP_NULL_RETURN);
	layout()->chain.machine = MACHINE + 1;
	cr_expect_eq(root_outcome(DP_NULL_RETURN, 0), DP_COMPLETE);
	cr_expect_eq(root_outcome(DP_NULL_RETURN, 16), DP_NULL_RETURN);
	cr_expect_eq(root_outcome(DP_READ_FAULT, 0), DP_READ_FAULT);
}

/* The other runtime is in the same mapping, so its frames are the same. */
Test(chain, two_runtimes_follow_each_other)
{
	struct walk_runtime *r = &w->walk.runtime;

	put_list();
	r->other = 3;
	cr_assert(runtime_read_all(&w->walk));
	cr_assert_eq(r->head.n, 7);
	cr_expect_eq(r->head.kind, DP_RUNTIME_PHP | DP_RUNTIME_TWO);
	cr_expect_eq(r->head.outcome, DP_RUNTIME_COMPLETE);
	for (unsigned int i = 0; i < 6; i++)
		expect_frame(i, i % 3, i % 3 != 1);
	cr_expect_eq(r->frames[6].code, 3);
	cr_expect_eq(r->frames[6].position, DP_RUNTIME_PHP | DP_RUNTIME_COMPLETE << 8);
	/* Reading the same again begins at the beginning. */
	r->mapping = 3;
	r->head.n = 0;
	r->other = 0;
	cr_assert(runtime_read_all(&w->walk));
	cr_expect_eq(r->head.n, 3);
	cr_expect_eq(r->head.kind, DP_RUNTIME_PHP);
}

Test(chain, two_runtimes_have_room_for_one)
{
	struct walk_runtime *r = &w->walk.runtime;
	unsigned int n = DP_MAX_RUNTIME_FRAMES;

	put_list();
	world_poke(w, frame_at(2) + NEXT, frame_at(0));
	r->other = 3;
	cr_assert(runtime_read_all(&w->walk));
	cr_expect_eq(r->head.n, n);
	cr_expect_eq(r->head.kind, DP_RUNTIME_PHP);
	cr_expect_eq(r->head.outcome, DP_RUNTIME_MANY_FRAMES);
	/* Of the second one, what is at the root has none. */
	r->mapping = 3;
	r->head = (struct dp_runtime){ .kind = DP_RUNTIME_HOTSPOT, .n = (__u16)(n - 2) };
	cr_assert(runtime_read_all(&w->walk));
	cr_expect_eq(r->head.n, n);
	cr_expect_eq(r->head.kind, DP_RUNTIME_HOTSPOT | DP_RUNTIME_TWO);
	expect_frame(n - 2, 0, true);
	cr_expect_eq(r->frames[n - 1].code, n - 2);
	cr_expect_eq(r->frames[n - 1].position, DP_RUNTIME_PHP | DP_RUNTIME_MANY_FRAMES << 8);
}

Test(chain, finds_thread_local_variables)
{
	struct dp_chain *c = &layout()->chain;

	put_list();
	w->port.thread_base = VARIABLE + 0x20;
	c->place = DP_TLS_OFFSET;
	c->variable = (uint64_t)-0x20;
	expect_three();
	c->place = DP_TLS_SLOT;
	c->variable = THREAD - WORLD_LIBRARY;
	world_poke(w, THREAD, (uint64_t)-0x20);
	expect_three();
	/* The third block begins 0x18 bytes in front of the variable. */
	c->place = DP_TLS_MODULE;
	world_poke(w, THREAD, 3);
	world_poke(w, THREAD + 8, 0x18);
	world_poke(w, w->port.thread_base + DP_THREAD_BLOCKS, FLAGS);
	world_poke(w, FLAGS - 16, 3);
	world_poke(w, FLAGS + 3 * 16, VARIABLE - 0x18);
	expect_three();
	world_poke(w, FLAGS + 3 * 16, ~0ULL);
	expect(DP_RUNTIME_COMPLETE, 0);
	w->port.thread_base = 0;
	expect(DP_RUNTIME_READ_FAULT, 0);
}

Test(chain, some_frames_are_not_sent)
{
	put_list();
	put_frame(0, SKIP | ENTRY);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_frame(0, 1, false);
	put_frame(0, ENTRY);
	world_poke(w, frame_at(1) + FLAG, NO_KIND);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_frame(1, 2, true);
	world_poke(w, frame_at(1) + FLAG, 0xb0);
	expect_three();
	world_poke(w, frame_at(0) + CODE, 0);
	expect(DP_RUNTIME_COMPLETE, 2);
}

Test(chain, native_functions_enter_no_loop)
{
	put_list();
	world_poke(w, function_at(0) + TYPE, NATIVE | 0x500);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_frame(0, 0, false);
}

/* In what follows frame 1's flags are elsewhere, and in front of them its method. */
enum {
	C_KIND = 0x50,
	METHOD = 16,
	DEFINITION = 8,
	NAME = 48,
	TYPE_MASK = 0xff0,
	IS_METHOD = 0x630
};
#define METHODS (WORLD_STACK + 0x5000)
#define NAMES 0x1230

static void put_c_function(uint64_t type)
{
	struct dp_chain *c = &layout()->chain;

	put_list();
	c->flags_far = 1;
	c->c_kind = C_KIND;
	c->c_names = NAMES;
	c->c_method = METHOD;
	c->c_type_mask = TYPE_MASK;
	c->c_type = IS_METHOD;
	c->c_definition = DEFINITION;
	c->c_name = NAME;
	for (unsigned int i = 0; i < 3; i++) {
		world_poke(w, FLAGS + 0x40 * i, i != 1 ? ENTRY : C_KIND | SKIP | ENTRY);
		world_poke(w, frame_at(i) + FLAG, FLAGS + 0x40 * i);
	}
	world_poke(w, frame_at(1) + CODE, 0);
	world_poke(w, FLAGS + 0x40 - METHOD, METHODS);
	world_poke(w, METHODS, type);
	world_poke(w, METHODS + DEFINITION, METHODS + 0x40);
	world_poke(w, METHODS + 0x40 + NAME, 0x4321);
}

Test(chain, functions_in_c_have_a_number)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[1];

	put_c_function(IS_METHOD | 0xf00d00f);
	expect(DP_RUNTIME_COMPLETE, 3);
	expect_frame(0, 0, true);
	expect_frame(2, 2, true);
	cr_expect_eq(f->code, 0x4321);
	cr_expect_eq(f->tag, WORLD_LIBRARY + NAMES);
	cr_expect_eq(f->position, DP_RUNTIME_C);
	/* Where names are is not known. */
	layout()->chain.c_names = 0;
	expect(DP_RUNTIME_COMPLETE, 2);
}

Test(chain, what_is_no_method_is_no_function_in_c)
{
	put_c_function(IS_METHOD ^ 0x100);
	expect(DP_RUNTIME_COMPLETE, 2);
	expect_frame(1, 2, true);
	/* Others without code are not sent, as ever. */
	world_poke(w, FLAGS + 0x40, 0x60);
	world_poke(w, METHODS, IS_METHOD);
	expect(DP_RUNTIME_COMPLETE, 2);
	world_poke(w, FLAGS + 0x40, C_KIND);
	world_poke(w, FLAGS + 0x40 - METHOD, 8);
	expect(DP_RUNTIME_READ_FAULT, 1);
}

/* In what follows function 1 may be gone soon. */
enum { HASH = 8, SIZE = 16, TEXT = 24, FLEETING = 0x300 };
#define FILE_NAME (WORLD_STACK + 0x3800)
#define NAME_TEXT (WORLD_STACK + 0x3a00)
#define CLASS (WORLD_STACK + 0x3c00)
#define CLASS_TEXT (WORLD_STACK + 0x3e00)
/* A string whose text would be behind all memory. */
#define LAST_TEXT (WORLD_STACK + WORLD_STACK_PAGES * DP_USER_PAGE_SIZE - TEXT)
#define STEPS FLAGS

/* Its file, the number of its instructions and its first line; `name`: its first tag. */
static void put_fleeting(uint64_t name)
{
	struct dp_chain *c = &layout()->chain;

	c->file = BODY + 1;
	c->hash = HASH;
	c->n_steps = 40;
	c->first_line = 44;
	c->step_size = 16;
	c->step_line = 4;
	c->fleeting = FLEETING;
	c->scope = SCOPE;
	c->class_name = 16;
	put_list();
	world_poke(w, function_at(1) + TAG, name);
	world_poke(w, function_at(1) + OTHER_TAG, STEPS);
	world_poke(w, function_at(1) + BODY, FILE_NAME);
	world_poke(w, function_at(2) + BODY, FILE_NAME);
	world_poke(w, function_at(1) + 40, 7ULL << 32 | 2);
	world_poke(w, STEPS, 8ULL << 32);
	world_poke(w, STEPS + 16, 9ULL << 32);
	world_poke(w, STEPS + 32, 10ULL << 32);
	world_poke(w, frame_at(1) + POSITION, STEPS + 16);
	world_poke(w, frame_at(1) + FLAG, ENTRY);
}

/* Of at most eight characters. */
static uint64_t word_of(const char *text)
{
	uint64_t word = 0;

	memcpy(&word, text, strlen(text));
	return word;
}

static void put_text(uint64_t at, const char *text)
{
	world_poke(w, at + SIZE, strlen(text));
	world_poke(w, at + TEXT, word_of(text));
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = chain_hash(strlen(text), word_of(text));

	for (unsigned int i = 1; i < DP_CHAIN_TEXT_WORDS; i++)
		hash = chain_hash(hash, 0);
	return hash;
}

/* What eval() executes: PHP does not make the hash of its file's name. */
Test(chain, files_without_a_hash_have_a_text)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[1];

	put_fleeting(0);
	put_text(FILE_NAME, "a(12)");
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, FILE_NAME | DP_CHAIN_FILE | DP_CHAIN_TEXT);
	cr_assert_eq(f->position, 9 | DP_RUNTIME_ENTRY);
	cr_assert_eq(f->tag, hash_of("a(12)"));
	put_text(FILE_NAME, "a(13)");
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->tag, hash_of("a(13)"));
	/* Of what follows it, which may be anything, nothing counts. */
	put_text(FILE_NAME + 8, "x");
	put_text(FILE_NAME, "a(13)");
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->tag, hash_of("a(13)"));
	/* Of what cannot be read there may be any other at these addresses. */
	world_poke(w, function_at(1) + BODY, LAST_TEXT);
	world_poke(w, LAST_TEXT + SIZE, 9);
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1));
	cr_assert_eq(f->tag, 0);
}

/* A closure: what is shown of it, but the line, is in its tag. */
Test(chain, functions_that_may_be_gone_soon_have_what_is_shown)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[1];
	uint64_t tag;

	put_fleeting(NAME_TEXT);
	put_text(NAME_TEXT, "f");
	/* As long as it does not say so, it is like others. */
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1));
	cr_assert_eq(f->position, (STEPS + 16) | DP_RUNTIME_ENTRY);
	world_poke(w, function_at(1) + TYPE, 0x100ULL << 32);
	world_poke(w, FILE_NAME + HASH, 99);
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1) | DP_CHAIN_LINE);
	cr_assert_eq(f->position, 9 | DP_RUNTIME_ENTRY);
	cr_assert_eq(f->tag, chain_tag(99, chain_tag(hash_of("f"), 0)));
	/* With the same addresses, it may be of any class. */
	world_poke(w, function_at(1) + SCOPE, CLASS);
	world_poke(w, CLASS + 16, CLASS_TEXT);
	put_text(CLASS_TEXT, "C");
	tag = chain_tag(hash_of("f"), hash_of("C"));
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->tag, chain_tag(99, tag));
	world_poke(w, FILE_NAME + HASH, 0);
	put_text(FILE_NAME, "a(12)");
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1) | DP_CHAIN_LINE | DP_CHAIN_TEXT);
	cr_assert_eq(f->tag, chain_tag(hash_of("a(12)"), tag));
	/* What is native code is there. */
	world_poke(w, function_at(1) + TYPE, 0x100ULL << 32 | NATIVE);
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1));
	cr_assert_eq(f->tag, chain_tag(NAME_TEXT, STEPS));
}

/* Of a text of so many bytes, of which the first ones that are read are the same. */
static uint64_t hash_of_long(uint64_t size)
{
	uint64_t hash = size;

	for (unsigned int i = 0; i < DP_CHAIN_TEXT_WORDS; i++)
		hash = chain_hash(hash, i + 1 < DP_CHAIN_TEXT_WORDS ? ~0ULL : ~0ULL >> 8);
	return hash;
}

/* Such are names of closures in others, and of classes that have none, with paths. */
Test(chain, long_texts_are_known_by_their_sizes_and_beginnings)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[1];

	put_fleeting(NAME_TEXT);
	world_poke(w, function_at(1) + TYPE, 0x100ULL << 32);
	world_poke(w, FILE_NAME + HASH, 99);
	for (unsigned int i = 0; i <= DP_CHAIN_TEXT_WORDS; i++)
		world_poke(w, NAME_TEXT + TEXT + 8 * i, ~0ULL);
	for (unsigned int i = 0; i < 3; i++) {
		const uint64_t sizes[] = { DP_CHAIN_TEXT_SIZE, DP_CHAIN_TEXT_SIZE + 1, UINT64_MAX };

		world_poke(w, NAME_TEXT + SIZE, sizes[i]);
		expect(DP_RUNTIME_COMPLETE, 3);
		cr_assert_eq(f->code, function_at(1) | DP_CHAIN_LINE);
		cr_assert_eq(f->tag, chain_tag(99, chain_tag(hash_of_long(sizes[i]), 0)));
	}
}

static void expect_left_alone(uint64_t name)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[1];

	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1));
	cr_assert_eq(f->position, (STEPS + 16) | DP_RUNTIME_ENTRY);
	cr_assert_eq(f->tag, chain_tag(name, STEPS));
}

/* What of a shared memory only other processes have used is not mapped. */
Test(chain, closures_are_left_alone_where_a_text_cannot_be_read)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[1];

	put_fleeting(LAST_TEXT);
	world_poke(w, function_at(1) + TYPE, 0x100ULL << 32);
	world_poke(w, FILE_NAME + HASH, 99);
	world_poke(w, LAST_TEXT + SIZE, 9);
	expect_left_alone(LAST_TEXT);
	world_poke(w, function_at(1) + TAG, 8);
	expect_left_alone(8);
	/* The class's. */
	world_poke(w, function_at(1) + TAG, NAME_TEXT);
	put_text(NAME_TEXT, "f");
	world_poke(w, function_at(1) + SCOPE, 8);
	expect_left_alone(NAME_TEXT);
	world_poke(w, function_at(1) + SCOPE, CLASS);
	world_poke(w, CLASS + 16, LAST_TEXT);
	expect_left_alone(NAME_TEXT);
	/* But not in what eval() executes: any other may have these addresses. */
	world_poke(w, FILE_NAME + HASH, 0);
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1));
	cr_assert_eq(f->tag, 0);
}

Test(chain, functions_without_names_have_files)
{
	const struct dp_runtime_frame *f = &w->walk.runtime.frames[1];
	const uint64_t string = FILE_NAME, steps = STEPS;

	put_fleeting(0);
	world_poke(w, string + 8, 99);
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, string | DP_CHAIN_FILE);
	cr_assert_eq(f->position, 9 | DP_RUNTIME_ENTRY);
	cr_assert_eq(f->tag, 99);
	/* Its first line, before it has stored where it is. */
	world_poke(w, frame_at(1) + POSITION, steps + 32);
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->position, 7 | DP_RUNTIME_ENTRY);
	/* The others have names. */
	cr_assert_eq(w->walk.runtime.frames[2].code, function_at(2));
	/* Those of native code have no file there. */
	world_poke(w, function_at(1) + TYPE, NATIVE);
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1));
	world_poke(w, function_at(1) + TYPE, 0);
	/* What cannot be read does not cut the stack. */
	world_poke(w, function_at(1) + BODY, 8);
	expect(DP_RUNTIME_COMPLETE, 3);
	cr_assert_eq(f->code, function_at(1));
	cr_assert_eq(f->tag, chain_tag(0, steps));
}

Test(chain, flags_and_tags_may_be_elsewhere)
{
	struct dp_chain *c = &layout()->chain;

	put_list();
	c->flags_far = 1;
	c->tagged = BODY + 1;
	for (unsigned int i = 0; i < 3; i++) {
		world_poke(w, FLAGS + 8 * i, i != 1 ? ENTRY : 0);
		world_poke(w, frame_at(i) + FLAG, FLAGS + 8 * i);
		world_poke(w, function_at(i) + BODY, function_at(i));
	}
	expect_three();
}

Test(chain, without_frames_there_is_nothing_to_send)
{
	expect(DP_RUNTIME_COMPLETE, 0);
	put_array();
	world_poke(w, VARIABLE, 0);
	expect(DP_RUNTIME_COMPLETE, 0);
}

Test(chain, lists_without_end_end)
{
	put_list();
	world_poke(w, frame_at(2) + NEXT, frame_at(0));
	expect(DP_RUNTIME_MANY_FRAMES, DP_MAX_RUNTIME_FRAMES);
	put_frame(0, SKIP);
	put_frame(1, SKIP);
	put_frame(2, SKIP);
	expect(DP_RUNTIME_MANY_FRAMES, 0);
}

/* Frames that take more reads are fewer. */
Test(chain, lists_are_limited_by_their_cost)
{
	put_list();
	world_poke(w, frame_at(2) + NEXT, frame_at(0));
	w->walk.at.cost = RUNTIME_MAX_COST - 3 * WALK_COST_PEEK * 10;
	cr_assert(runtime_read(&w->walk));
	cr_expect_eq(w->walk.runtime.head.outcome, DP_RUNTIME_MANY_FRAMES);
	cr_expect(w->walk.runtime.head.n > 3 && w->walk.runtime.head.n < 12, "%u frames",
		  w->walk.runtime.head.n);
}

Test(chain, unreadable_memory_ends_it)
{
	put_list();
	world_poke(w, frame_at(2) + CODE, 8);
	expect(DP_RUNTIME_READ_FAULT, 2);
	world_poke(w, frame_at(0) + NEXT, 8);
	expect(DP_RUNTIME_READ_FAULT, 1);
	layout()->chain.variable = 0;
	expect(DP_RUNTIME_READ_FAULT, 0);
}

Test(chain, offsets_of_a_forged_layout_are_bounded)
{
	struct dp_chain *c = &layout()->chain;

	put_list();
	c->frame_size = ~0U;
	c->code = c->position = c->flags = c->next = ~0U;
	runtime_read(&w->walk);
}
