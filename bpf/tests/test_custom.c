// SPDX-License-Identifier: Apache-2.0
/* Labels in memory as Polar Signals' library has them, in both versions. */
#include "bpf/labels.h"
#include "bpf/tests/world_fixture.h"

/* The thread-local variable; where the image says that it is; the set; the test's data. */
#define VARIABLE (WORLD_STACK + 0x1000)
#define SLOT (WORLD_STACK + 0x1100)
#define SET (WORLD_STACK + 0x2ff8)
#define DATA (WORLD_STACK + 0x4000)
#define NOWHERE 0x1000

enum { DISTANCE = 0x20 };

static uint64_t data;

static struct dp_image *image(void)
{
	return world_cell(w, WORLD_IMAGE_CELL);
}

static void begin_custom(void)
{
	begin();
	image()->labels_form = DP_LABELS_CUSTOM_V1;
	image()->variable = (struct dp_tls){ .value = (uint64_t)-DISTANCE, .kind = DP_TLS_OFFSET };
	w->port.thread_base = VARIABLE + DISTANCE;
	w->walk.labels.mapping = 3;
	data = DATA;
}

TestSuite(custom, .init = begin_custom, .fini = end);

static uint64_t put(const void *bytes, size_t size)
{
	uint64_t at = data;

	memcpy((uint8_t *)w->stack + (at - WORLD_STACK), bytes, size);
	data += (size + 15) & ~(size_t)7;
	return at;
}

static struct dp_custom_text text(const char *bytes)
{
	return (struct dp_custom_text){ strlen(bytes), put(bytes, strlen(bytes)) };
}

static struct dp_custom_label label(const char *key, const char *value)
{
	return (struct dp_custom_label){ text(key), text(value) };
}

/* Writes a set and what leads to it; what is behind it has no meaning. */
static void put_set(const struct dp_custom_label *labels, uint64_t n, uint64_t says)
{
	uint64_t array = put(labels, n * sizeof(*labels));
	uint64_t set = image()->labels_form == DP_LABELS_CUSTOM_V0 ? VARIABLE : SET;

	if (set == SET)
		world_poke(w, VARIABLE, set);
	world_poke(w, set, array);
	world_poke(w, set + 8, says);
	world_poke(w, set + 16, 0);
}

static void expect(const char *bytes, unsigned int n, unsigned int n_left_out, unsigned int n_cut)
{
	const struct dp_labels *l = &w->walk.labels.head;

	cr_assert_eq(labels_or_context_read(&w->walk), 1);
	cr_assert_eq(l->part.type, DP_RECORD_LABELS);
	cr_assert(l->n == n && l->n_left_out == n_left_out && l->n_cut == n_cut, "%u %u %u", l->n,
		  l->n_left_out, l->n_cut);
	if (!bytes)
		return;
	cr_assert_eq(w->walk.labels.size, strlen(bytes));
	cr_assert_eq(memcmp(w->walk.labels.bytes, bytes, strlen(bytes)), 0);
}

static void expect_none(void)
{
	cr_assert_eq(labels_or_context_read(&w->walk), 0);
}

static void expect_two(void)
{
	const struct dp_custom_label labels[] = { label("a", "1"), label("path", "/x") };

	put_set(labels, 2, 2);
	expect("\1\1a1\4\2path/x", 2, 0, 0);
	put_set(labels, 2, 1);
	expect("\1\1a1", 1, 0, 0);
	put_set(labels, 2, 0);
	expect_none();
}

Test(custom, reads_a_set)
{
	expect_two();
	world_poke(w, VARIABLE, 0);
	expect_none();
}

Test(custom, reads_a_set_that_is_the_variable)
{
	image()->labels_form = DP_LABELS_CUSTOM_V0;
	expect_two();
}

/* While one is being deleted. An empty text is one. */
Test(custom, ignores_labels_without_a_key)
{
	struct dp_custom_label labels[] = { label("a", "1"), label("b", "2"), label("", "") };

	labels[0].key.at = 0;
	put_set(labels, 3, 3);
	expect(NULL, 2, 0, 0);
	cr_assert_eq(w->walk.labels.size, 6);
	cr_assert_eq(memcmp(w->walk.labels.bytes, "\1\1b2\0\0", 6), 0);
}

Test(custom, cuts_what_is_too_long)
{
	static char bytes[DP_LABEL_CUT + 1];
	struct dp_custom_label labels[DP_MAX_LABELS + 8];

	memset(bytes, 'x', sizeof(bytes) - 1);
	for (size_t i = 0; i < DP_MAX_LABELS + 8; i++)
		labels[i] = label("k", i ? "x" : bytes);
	put_set(labels, DP_MAX_LABELS + 8, DP_MAX_LABELS + 8);
	expect(NULL, DP_MAX_LABELS, 8, 1);
	cr_assert_eq(w->walk.labels.bytes[1], DP_LABEL_CUT);
	put_set(labels + 1, DP_MAX_LABELS, DP_MAX_LABELS);
	expect(NULL, DP_MAX_LABELS, 0, 0);
	/* So many cannot be. */
	put_set(labels + 1, DP_MAX_LABELS, UINT64_MAX);
	expect(NULL, DP_MAX_LABELS, DP_LABELS_MAX_SIZE, 0);
}

Test(custom, says_what_cannot_be_read)
{
	struct dp_custom_label labels[] = { label("a", "1"), label("b", "2"), label("c", "3") };

	labels[1].value.at = NOWHERE;
	put_set(labels, 3, 3);
	expect("\1\1a1\1\1c3", 2, 1, 0);
	world_poke(w, SET, NOWHERE);
	expect("", 0, 3, 0);
	world_fault(w, SET + 8);
	expect("", 0, 1, 0);
	w->n_faults = 0;
	world_poke(w, VARIABLE, NOWHERE);
	expect("", 0, 1, 0);
}

/* Nobody has written to the variable's page. */
Test(custom, has_none_in_an_untouched_page)
{
	expect_two();
	world_fault(w, VARIABLE);
	expect_none();
	image()->labels_form = DP_LABELS_CUSTOM_V0;
	expect_none();
}

Test(custom, is_where_a_descriptor_says)
{
	const struct dp_custom_label one = label("a", "1");

	image()->variable =
		(struct dp_tls){ .value = SLOT - WORLD_LIBRARY, .kind = DP_TLS_DESCRIPTOR };
	put_set(&one, 1, 1);
	world_poke(w, SLOT, 0x4711);
	expect_none();
	world_poke(w, SLOT + 8, (uint64_t)-DISTANCE);
	expect("\1\1a1", 1, 0, 0);
	image()->variable.value = NOWHERE - WORLD_LIBRARY;
	expect("", 0, 1, 0);
	image()->labels_form = DP_LABELS_CUSTOM_V0;
	expect("", 0, 1, 0);
}

/* Labels of the sample before are not those of this one. */
Test(custom, begins_anew)
{
	expect_two();
	expect_two();
	w->port.thread_base = 0;
	expect("", 0, 1, 0);
}
