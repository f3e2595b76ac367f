// SPDX-License-Identifier: Apache-2.0
#include "process/frame_registry.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "limits/limits.h"
#include "log/clock.h"
#include "process/jit_copy.h"
#include "process/process_table.h"

/* struct object of libgcc's unwind-dw2-fde.h. Its bases are 0 on this machine. */
struct object {
	uint64_t lowest, text_base, data_base;
	uint64_t frames; /* .eh_frame, or if it is sorted, what begins with its address */
	uint64_t bits;
	uint64_t next; /* in a list; not used in a tree */
};

#define IS_SORTED 1 /* in bits */
#define IS_ARRAY 2  /* of several .eh_frame: nobody registers these any more */

/* struct btree_node of unwind-dw2-btree.h. */
enum node_type { INNER, LEAF };

struct inner_entry {
	uint64_t separator, child;
};

struct leaf_entry {
	uint64_t start, size, object;
};

#define NODE_SIZE 256
#define NODE_ENTRIES (NODE_SIZE - 16)
#define IS_LOCKED 1 /* in version */

struct node {
	uint64_t version;
	uint32_t n, type;
	union {
		struct inner_entry inner[NODE_ENTRIES / sizeof(struct inner_entry)];
		struct leaf_entry leaves[NODE_ENTRIES / sizeof(struct leaf_entry)];
	};
};

struct cie {
	uint32_t length, id;
	uint8_t version;
};

struct search {
	struct process_table *table;
	const struct process *process;
	frame_registry_fn fn;
	void *arg;
	uint64_t until; /* CLOCK_MONOTONIC, in ns */
	size_t n;       /* objects and nodes so far */
};

/* Counts an object or node. The thread has other things to do as well. */
static int count(struct search *s)
{
	if (++s->n > JIT_OBJECTS_WALK)
		return -E2BIG;
	return clock_now_ns() > s->until ? -ETIMEDOUT : 0;
}

static int read_bytes(const struct search *s, uint64_t from, size_t size, void *to)
{
	return jit_copy_bytes(s->table, s->process, from, size, to);
}

/* Errors that say that there is no answer now; others, that nothing is there. */
static bool is_no_answer(int err)
{
	return err == -EAGAIN || err == -ETIMEDOUT;
}

/* 1 and where it is; 0: it is no object. */
static int find_frames(const struct search *s, const struct object *o, uint64_t *ret)
{
	struct cie cie;
	int err = 0;

	if (o->text_base != 0 || o->data_base != 0 || (o->bits & IS_ARRAY))
		return 0;
	*ret = o->frames;
	if (o->bits & IS_SORTED)
		err = read_bytes(s, o->frames, sizeof(*ret), ret);
	if (err == 0)
		err = read_bytes(s, *ret, sizeof(cie), &cie);
	if (err < 0)
		return is_no_answer(err) ? err : 0;
	return cie.length >= sizeof(cie) && cie.id == 0 && (cie.version == 1 || cie.version == 3);
}

/* 1: it is an object; 0: it is none; or an error. */
static int read_object(struct search *s, uint64_t at, struct object *ret)
{
	uint64_t frames;
	int err;

	err = count(s);
	if (err < 0)
		return err;
	err = read_bytes(s, at, sizeof(*ret), ret);
	if (err < 0)
		return is_no_answer(err) ? err : 0;
	err = find_frames(s, ret, &frames);
	if (err <= 0)
		return err;
	return s->fn(s->arg, at, frames) ?: 1;
}

static bool is_node(const struct node *n)
{
	return n->n > 0 && ((n->type == INNER && n->n <= sizeof(n->inner) / sizeof(*n->inner)) ||
			    (n->type == LEAF && n->n <= sizeof(n->leaves) / sizeof(*n->leaves)));
}

static int read_leaf(struct search *s, const struct node *n)
{
	struct object object;
	int err = 0;

	for (size_t i = 0; i < n->n && err >= 0; i++)
		err = read_object(s, n->leaves[i].object, &object);
	return err < 0 ? err : 0;
}

static int read_node(struct search *s, uint64_t at, unsigned int depth)
{
	struct node n;
	int err = read_bytes(s, at, sizeof(n), &n);

	if (err < 0)
		return is_no_answer(err) ? err : 0;
	if (!is_node(&n) || depth == FRAME_REGISTRY_MAX_DEPTH)
		return 0;
	if (n.version & IS_LOCKED)
		return -ESTALE;
	err = count(s);
	if (err < 0)
		return err;
	if (n.type == LEAF)
		return read_leaf(s, &n);
	for (size_t i = 0; i < n.n && err == 0; i++)
		err = read_node(s, n.inner[i].child, depth + 1);
	return err;
}

/* What a word leads to: the first one of a list, a tree's root, or something else. */
static int read_word(struct search *s, uint64_t word)
{
	struct object object = { 0 };
	bool is_list = false;
	uint64_t at;
	int err = read_bytes(s, word, sizeof(at), &at);

	if (err < 0)
		return err;
	while (at != 0 && at % sizeof(at) == 0) {
		err = read_object(s, at, &object);
		if (err <= 0)
			break;
		is_list = true;
		at = object.next;
	}
	if (err < 0 || at == 0 || at % sizeof(at) != 0)
		return err < 0 ? err : 0;
	/* A list that leads elsewhere has changed. */
	return is_list ? -ESTALE : read_node(s, at, 0);
}

int frame_registry_each(struct process_table *table, const struct process *p,
			const struct frame_lists *lists, uint64_t bias, uint64_t until,
			frame_registry_fn fn, void *arg)
{
	struct search s = { table, p, fn, arg, until, 0 };
	int err = 0;

	for (size_t i = 0; i < N_FRAME_LISTS && lists->at[i] != 0 && err == 0; i++)
		err = read_word(&s, lists->at[i] + bias);
	return err;
}

/* A page of it at a time. */
struct page {
	uint64_t start, size;
	uint8_t bytes[DP_USER_PAGE_SIZE];
};

static int read_length(struct process_table *table, const struct process *p, struct page *page,
		       uint64_t at, uint32_t *ret)
{
	uint64_t end = (at | (DP_USER_PAGE_SIZE - 1)) + 1;
	int err;

	if (at < page->start || at - page->start + sizeof(*ret) > page->size) {
		if (end - at < sizeof(*ret))
			return jit_copy_bytes(table, p, at, sizeof(*ret), ret);
		err = jit_copy_bytes(table, p, at, end - at, page->bytes);
		if (err < 0)
			return err;
		page->start = at;
		page->size = end - at;
	}
	memcpy(ret, page->bytes + (at - page->start), sizeof(*ret));
	return 0;
}

int frame_registry_measure(struct process_table *table, const struct process *p, uint64_t eh_frame,
			   uint64_t max, uint64_t *ret)
{
	struct page page = { 0 };
	uint64_t size = 0;
	uint32_t length;

	do {
		int err = read_length(table, p, &page, eh_frame + size, &length);

		if (err < 0)
			return err;
		/* Sections of 4 GiB are not registered. */
		if (length >= 0xfffffff0)
			return -EBADMSG;
		size += sizeof(length) + length;
	} while (length != 0 && size <= max - sizeof(length));
	*ret = size;
	return length == 0 && size <= max ? 0 : -E2BIG;
}
