// SPDX-License-Identifier: Apache-2.0
/* What a thread is working on, in memory as programs publish it, and each way to find it. */
#include "bpf/labels.h"
#include "bpf/tests/world_fixture.h"

/* The thread-local pointer; where the image says that it is; the C library's list; the record. */
#define VARIABLE (WORLD_STACK + 0x1000)
#define SLOT (WORLD_STACK + 0x1100)
#define ARGUMENT (WORLD_STACK + 0x1200)
#define BLOCKS (WORLD_STACK + 0x1300)
#define PLAIN (WORLD_STACK + 0x3000)
#define RECORD (WORLD_STACK + 0x3ff0)
#define NOWHERE 0x1000

enum { DISTANCE = 0x20, IN_BLOCK = 0x18, MODULE = 3, GENERATION = 7 };

static struct dp_tls *place(void)
{
	struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);

	return &image->variable;
}

static void set_place(enum dp_tls_kind kind, uint64_t value)
{
	place()->kind = kind;
	place()->value = value;
}

static uint64_t record_at;

static void put_record(const char *attributes, size_t size, unsigned int valid)
{
	uint8_t *to = (uint8_t *)w->stack + (record_at - WORLD_STACK);
	const struct dp_thread_record record = {
		.trace_id = { 1, 2, 3 },
		.span_id = { 4, 5, 6 },
		.valid = (uint8_t)valid,
		.attributes_size = (uint16_t)size,
	};

	memcpy(to, &record, sizeof(record));
	if (attributes)
		memcpy(to + sizeof(record), attributes, size);
	world_poke(w, VARIABLE, record_at);
}

/* Of a program, whose distance from the base is known. */
static void begin_context(void)
{
	struct dp_image *image;

	begin();
	image = world_cell(w, WORLD_IMAGE_CELL);
	image->labels_form = DP_LABELS_CONTEXT;
	set_place(DP_TLS_OFFSET, (uint64_t)-DISTANCE);
	w->port.thread_base = VARIABLE + DISTANCE;
	w->walk.labels.mapping = 3;
	record_at = RECORD;
	put_record("", 0, 1);
}

TestSuite(context, .init = begin_context, .fini = end);

/* size: of the attributes; negative: the record cannot be read. */
static void expect(const char *attributes, int size, bool is_cut)
{
	const struct walk_labels *l = &w->walk.labels;
	const size_t all = size < 0 ? 0 : sizeof(struct dp_thread_record) + (size_t)size;

	cr_assert(labels_or_context_read(&w->walk));
	cr_assert_eq(l->head.part.type, DP_RECORD_CONTEXT);
	cr_assert(l->size == all && l->context.size == all, "%u %u", l->size, l->context.size);
	cr_assert_eq(l->context.is_cut, is_cut);
	if (size < 0)
		return;
	cr_assert(l->bytes[1] == 2 && l->bytes[17] == 5 && l->bytes[24] == 1);
	if (attributes)
		cr_assert_eq(memcmp(l->bytes + sizeof(struct dp_thread_record), attributes,
				    (size_t)size),
			     0);
}

static void expect_none(void)
{
	cr_assert(!labels_or_context_read(&w->walk));
}

Test(context, reads_a_record)
{
	expect("", 0, false);
	put_record("\1\3abc\0\1x", 8, 1);
	expect("\1\3abc\0\1x", 8, false);
}

/* While the thread changes it, and when it works on nothing. */
Test(context, reads_no_record_that_is_not_valid)
{
	put_record("", 0, 0);
	expect_none();
	put_record("", 0, 2);
	expect_none();
	put_record("", 0, 1);
	world_poke(w, VARIABLE, 0);
	expect_none();
}

Test(context, says_what_cannot_be_read)
{
	world_poke(w, VARIABLE, NOWHERE);
	expect(NULL, -1, false);
	/* The record crosses pages; then its attributes begin the next one. */
	put_record("\1\3abc", 5, 1);
	world_fault(w, RECORD + sizeof(struct dp_thread_record));
	expect(NULL, -1, false);
	record_at = RECORD + 0x10 - sizeof(struct dp_thread_record);
	put_record("\1\3abc", 5, 1);
	expect(NULL, 0, true);
	w->n_faults = 0;
	expect("\1\3abc", 5, false);
	/* Nobody has written to the variable's page. */
	world_fault(w, VARIABLE);
	expect_none();
}

Test(context, cuts_what_is_too_long)
{
	put_record(NULL, CONTEXT_ROOM, 1);
	expect(NULL, CONTEXT_ROOM, false);
	put_record(NULL, CONTEXT_ROOM + 1, 1);
	expect(NULL, CONTEXT_ROOM, true);
	put_record(NULL, UINT16_MAX, 1);
	expect(NULL, CONTEXT_ROOM, true);
}

Test(context, is_where_a_slot_says)
{
	set_place(DP_TLS_SLOT, SLOT - WORLD_LIBRARY);
	expect_none();
	world_poke(w, SLOT, (uint64_t)-DISTANCE);
	expect("", 0, false);
	set_place(DP_TLS_SLOT, NOWHERE - WORLD_LIBRARY);
	expect(NULL, -1, false);
}

/* glibc's list of blocks: how many there are, generation, and the blocks. */
static void put_blocks(void)
{
	world_poke(w, w->port.thread_base + DP_THREAD_BLOCKS, BLOCKS);
	world_poke(w, BLOCKS - 16, MODULE);
	world_poke(w, BLOCKS, GENERATION);
	world_poke(w, BLOCKS + MODULE * 16, VARIABLE - IN_BLOCK);
}

static void expect_block(void)
{
	expect("", 0, false);
	/* The list is older than the module, or the thread has not used it yet. */
	world_poke(w, BLOCKS - 16, MODULE - 1);
	expect_none();
	world_poke(w, BLOCKS - 16, MODULE);
	world_poke(w, BLOCKS + MODULE * 16, ~0ULL);
	expect_none();
	world_poke(w, BLOCKS + MODULE * 16, 0);
	expect_none();
	put_blocks();
	expect("", 0, false);
	world_poke(w, w->port.thread_base + DP_THREAD_BLOCKS, NOWHERE);
	expect(NULL, -1, false);
}

Test(context, is_in_the_block_of_a_module)
{
	set_place(DP_TLS_MODULE, SLOT - WORLD_LIBRARY);
	put_blocks();
	expect_none();
	world_poke(w, SLOT, MODULE);
	world_poke(w, SLOT + 8, IN_BLOCK);
	expect_block();
}

/* musl's list of blocks: how many there are, and their addresses; not even a page is in front of it. */
Test(context, is_in_a_block_of_a_plain_list)
{
	set_place(DP_TLS_MODULE, SLOT - WORLD_LIBRARY);
	world_poke(w, SLOT, MODULE);
	world_poke(w, SLOT + 8, IN_BLOCK);
	world_poke(w, w->port.thread_base + DP_THREAD_BLOCKS, PLAIN);
	world_poke(w, PLAIN, MODULE);
	world_poke(w, PLAIN + 8, 0x4711);
	world_poke(w, PLAIN + MODULE * 8, VARIABLE - IN_BLOCK);
	world_fault(w, PLAIN - 1);
	expect("", 0, false);
	world_poke(w, PLAIN, MODULE - 1);
	expect_none();
	world_poke(w, PLAIN, MODULE);
	set_place(DP_TLS_DESCRIPTOR, SLOT - WORLD_LIBRARY);
	world_poke(w, SLOT + 8, ARGUMENT);
	world_poke(w, ARGUMENT, MODULE);
	world_poke(w, ARGUMENT + 8, IN_BLOCK);
	world_poke(w, ARGUMENT + 16, ~0ULL);
	expect("", 0, false);
}

Test(context, is_where_a_descriptor_says)
{
	set_place(DP_TLS_DESCRIPTOR, SLOT - WORLD_LIBRARY);
	world_poke(w, SLOT, 0x4711);
	expect_none();
	world_poke(w, SLOT + 8, (uint64_t)-DISTANCE);
	expect("", 0, false);
}

Test(context, is_in_the_block_to_which_a_descriptor_leads)
{
	set_place(DP_TLS_DESCRIPTOR, SLOT - WORLD_LIBRARY);
	put_blocks();
	world_poke(w, SLOT, 0x4711);
	world_poke(w, SLOT + 8, ARGUMENT);
	world_poke(w, ARGUMENT, MODULE);
	world_poke(w, ARGUMENT + 8, IN_BLOCK);
	world_poke(w, ARGUMENT + 16, GENERATION + 1);
	expect_none();
	world_poke(w, ARGUMENT + 16, GENERATION);
	expect_block();
	world_poke(w, SLOT + 8, NOWHERE);
	expect(NULL, -1, false);
}

/* A thread without storage of its own has published nothing that could be found. */
Test(context, needs_a_base)
{
	w->port.thread_base = 0;
	expect(NULL, -1, false);
	w->walk.labels.mapping = 2;
	expect_none();
}
