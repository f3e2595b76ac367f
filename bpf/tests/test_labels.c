// SPDX-License-Identifier: Apache-2.0
/* Labels in memory, in Go's layout. */
#include "bpf/labels.h"
#include "bpf/tests/world_fixture.h"

/* Where the program finds labels; the test's data follows. */
#define PLACE (WORLD_STACK + 0x1000)
#define DATA (PLACE + 0x1000)

static uint64_t data;

/* The image's program is *(fs base - 8). */
static void begin_labels(void)
{
	const struct dp_op ops[] = { { DP_OP_REGISTER, DP_THREAD_BASE, 0, -8 },
				     { DP_OP_DEREF, 8, 0, 0 } };
	struct dp_image *image;

	begin();
	world_program(w, 3, ops, 2);
	image = world_cell(w, WORLD_IMAGE_CELL);
	image->labels = WORLD_PROGRAM(3);
	w->port.thread_base = PLACE + 8;
	w->walk.labels.mapping = 3;
	data = DATA;
}

TestSuite(labels, .init = begin_labels, .fini = end);

static void set_form(enum dp_labels_form form)
{
	struct dp_image *image = world_cell(w, WORLD_IMAGE_CELL);

	image->labels_form = form;
}

static uint64_t put(const void *bytes, size_t size)
{
	uint64_t at = data;

	memcpy((uint8_t *)w->stack + (at - WORLD_STACK), bytes, size);
	data += (size + 15) & ~(size_t)7;
	return at;
}

static struct label_text put_string(const char *text, size_t size)
{
	return (struct label_text){ put(text, size), size };
}

static struct label_pair put_label(const char *key, const char *value)
{
	return (struct label_pair){ put_string(key, strlen(key)),
				    put_string(value, strlen(value)) };
}

/* As the kernel sends it: sizes, key and value, of all. */
static void expect(const char *bytes, unsigned int n, unsigned int n_left_out, unsigned int n_cut)
{
	const struct dp_labels *l = &w->walk.labels.head;

	cr_assert(labels_read(&w->walk));
	cr_assert(l->n == n && l->n_left_out == n_left_out && l->n_cut == n_cut, "%u %u %u", l->n,
		  l->n_left_out, l->n_cut);
	if (!bytes)
		return;
	cr_assert_eq(w->walk.labels.size, strlen(bytes));
	cr_assert_eq(memcmp(w->walk.labels.bytes, bytes, strlen(bytes)), 0);
}

static void put_list(const struct label_pair *labels, size_t n)
{
	struct go_slice list = { put(labels, n * sizeof(*labels)), n, n };

	set_form(DP_LABELS_GO_LIST);
	world_poke(w, PLACE, put(&list, sizeof(list)));
}

/* What is read beside a walk counts as well. */
Test(labels, are_charged)
{
	struct label_pair labels[] = { put_label("a", "1"), put_label("path", "/x") };
	uint32_t of_one;

	put_list(labels, 1);
	expect("\1\1a1", 1, 0, 0);
	of_one = w->walk.at.cost;
	put_list(labels, 2);
	w->walk.at.cost = 0;
	expect(NULL, 2, 0, 0);
	cr_assert_eq(w->walk.at.cost - of_one, 3 * WALK_COST_PEEK);
}

Test(labels, reads_a_list)
{
	struct label_pair labels[] = { put_label("a", "1"), put_label("path", "/x") };

	put_list(labels, 2);
	expect("\1\1a1\4\2path/x", 2, 0, 0);
	/* A goroutine without labels, and no goroutine. */
	world_poke(w, PLACE, 0);
	cr_assert(!labels_read(&w->walk));
	w->port.thread_base = 0x1000;
	cr_assert(!labels_read(&w->walk));
}

Test(labels, cuts_what_is_too_long)
{
	static char text[DP_LABEL_CUT];
	struct label_pair labels[40];

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 40; i++)
		labels[i] =
			(struct label_pair){ put_string("k", 1), put_string(text, i ? 1 : 255) };
	put_list(labels, 40);
	expect(NULL, DP_MAX_LABELS, 8, 1);
	cr_assert_eq(w->walk.labels.bytes[1], DP_LABEL_CUT);
	cr_assert_eq(w->walk.labels.size, 2 + 1 + 255 + 31 * 4);
	/* 254 bytes are not cut, and there is room for seven and a half such labels. */
	for (int i = 0; i < 20; i++)
		labels[i] = (struct label_pair){ put_string("k", 1), put_string(text, 254) };
	put_list(labels, 20);
	expect(NULL, 7, 13, 0);
}

Test(labels, says_what_cannot_be_read)
{
	struct label_pair labels[] = { put_label("a", "1"), put_label("b", "2"),
				       put_label("c", "3") };

	labels[1].value.at = 0x1000;
	put_list(labels, 3);
	expect("\1\1a1\1\1c3", 2, 1, 0);
	world_poke(w, PLACE, 0x1000);
	expect("", 0, 1, 0);
	/* Longer than its capacity: not a valid list. */
	world_poke(w, PLACE, put(&(struct go_slice){ DATA, 2, 1 }, sizeof(struct go_slice)));
	expect("", 0, 1, 0);
}

/* A bucket with labels in these slots. */
struct bucket {
	uint8_t used[GO_SLOTS];
	struct label_text keys[GO_SLOTS], values[GO_SLOTS];
	uint64_t next;
};

DP_ASSERT(sizeof(struct bucket) == GO_BUCKET_SIZE, "a bucket is laid out like Go's");

/* Returns the address of the map. */
static uint64_t put_map(const struct bucket *buckets, unsigned int bits, uint64_t n)
{
	uint64_t pointer;
	struct go_map map = {
		.n = n,
		.bits = (uint8_t)bits,
		.buckets = put(buckets, sizeof(*buckets) << bits),
	};

	/* put() leaves space between objects, but buckets are contiguous. */
	pointer = put(&map, sizeof(map));
	set_form(DP_LABELS_GO_MAP);
	world_poke(w, PLACE, put(&pointer, sizeof(pointer)));
	return pointer;
}

static void set(struct bucket *b, int slot, const char *key, const char *value)
{
	struct label_pair label = put_label(key, value);

	b->used[slot] = GO_FIRST_USED + 7;
	b->keys[slot] = label.key;
	b->values[slot] = label.value;
}

Test(labels, reads_a_map)
{
	struct bucket buckets[2] = { 0 }, more = { 0 };
	uint64_t pointer = 0;

	set(&buckets[0], 0, "a", "1");
	set(&buckets[0], 7, "b", "2");
	buckets[0].used[3] = GO_FIRST_USED - 1;
	set(&more, 2, "c", "3");
	buckets[0].next = put(&more, sizeof(more));
	set(&buckets[1], 1, "d", "4");
	put_map(buckets, 1, 4);
	expect("\1\1a1\1\1b2\1\1c3\1\1d4", 4, 0, 0);
	/* A bucket is missing, as while it grows. */
	put_map(buckets, 1, 5);
	expect("\1\1a1\1\1b2\1\1c3\1\1d4", 4, 1, 0);
	/*
	 * Half of the entries have not moved; of a moved one, something is left in the old bucket.
	 */
	memset(buckets, 0, sizeof(buckets));
	set(&buckets[1], 0, "a", "1");
	set(&more, 0, "a", "1");
	more.used[0] = GO_FIRST_USED - 2;
	pointer = put(&more, sizeof(more));
	world_poke(w, put_map(buckets, 1, 2) + 24, pointer);
	expect("\1\1a1\1\1c3", 2, 0, 0);
	pointer = 0;
	/* Empty, and none at all. */
	put_map(buckets, 0, 0);
	cr_assert(!labels_read(&w->walk));
	world_poke(w, PLACE, put(&pointer, sizeof(pointer)));
	cr_assert(!labels_read(&w->walk));
}

Test(labels, leaves_a_map_that_is_none)
{
	struct bucket bucket = { 0 };

	bucket.next = 0x1000;
	put_map(&bucket, 0, 3);
	expect("", 0, 3, 0);
	/* 1 << 17 buckets. */
	world_poke(w, put_map(&bucket, 0, 3) + 8, 17 << 8);
	expect("", 0, 1, 0);
	/* A circular chain. */
	bucket.next = data;
	put_map(&bucket, 0, 3);
	expect("", 0, 3, 0);
}

Test(labels, are_nowhere_without_an_image)
{
	struct label_pair labels[] = { put_label("a", "1") };
	struct dp_mapping *m =
		world_cell(w, WORLD_SPACE_CELL + sizeof(struct dp_snapshot) / DP_CELL_SIZE);

	put_list(labels, 1);
	m[2].image = DP_CELL_EVICTED;
	cr_assert(!labels_read(&w->walk));
	m[2].image = WORLD_IMAGE_CELL;
	set_form(DP_LABELS_NONE);
	cr_assert(!labels_read(&w->walk));
}
