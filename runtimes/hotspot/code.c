// SPDX-License-Identifier: Apache-2.0
#include "runtimes/hotspot/code.h"

#include <errno.h>
#include <string.h>

/* The fixed part of an interpreter's frame has about ten words. */
#define MAX_FRAME_WORDS 256

/*
 * Where an interpreter's frame has the address of its bytecode, in words: up to JDK 8, and since JDK 9
 * (frame_x86.hpp). No table has it, but what is there is used only if it is in the method's bytecodes.
 */
#define BYTECODE_BELOW_METHOD_8 4
#define BYTECODE_BELOW_METHOD 5

/*
 * What the blob of the stubs begins with that bring frames back from the heap: JDK 25's name has no space
 * behind it, JDK 21's has one. It is among the first: so many of a heap are looked at.
 */
static const char thaw_name[] = "StubRoutines (continuation";
#define THAW_BLOBS 1024
#define THAW_PART 4096

struct code_reader {
	const struct hotspot_layout *layout;
	hotspot_read *read;
	void *memory;
};

static int read_word(const struct code_reader *r, uint64_t address, __u64 *ret)
{
	return r->read(r->memory, ret, sizeof(*ret), address);
}

static int read_int(const struct code_reader *r, uint64_t address, uint32_t *ret)
{
	return r->read(r->memory, ret, sizeof(*ret), address);
}

/* The structure to which a static variable points. */
static int read_pointer(const struct code_reader *r, enum hotspot_member variable, __u64 *ret)
{
	int err = read_word(r, r->layout->at[variable], ret);

	return err == 0 && *ret == 0 ? -EAGAIN : err;
}

static int read_interpreter(const struct code_reader *r, struct dp_hotspot *ret)
{
	const uint64_t *at = r->layout->at;
	uint32_t size = 0;
	__u64 stubs;
	int err = read_pointer(r, HOTSPOT_INTERPRETER, &stubs);

	if (err == 0)
		err = read_word(r, stubs + at[HOTSPOT_STUBS_START], &ret->interpreter_start);
	if (err == 0)
		err = read_int(r, stubs + at[HOTSPOT_STUBS_SIZE], &size);
	ret->interpreter_end = ret->interpreter_start + size;
	return err;
}

static int read_heap(const struct code_reader *r, uint64_t heap, struct dp_hotspot *code,
		     uint32_t i)
{
	const uint64_t *at = r->layout->at;
	uint64_t memory = heap + at[HOTSPOT_HEAP_MEMORY];
	struct dp_hotspot_heap *ret = &code->heaps[i];
	uint32_t bits;
	int err = read_word(r, memory + at[HOTSPOT_SPACE_START], &ret->start);

	if (err == 0)
		err = read_word(r, memory + at[HOTSPOT_SPACE_END], &ret->end);
	if (err == 0)
		err = read_word(r, heap + at[HOTSPOT_HEAP_MAP] + at[HOTSPOT_SPACE_LOW], &ret->map);
	if (err == 0)
		err = read_int(r, heap + at[HOTSPOT_HEAP_BITS], &bits);
	if (err < 0)
		return err;
	/* A heap that is being made. */
	if (ret->start == 0 || ret->map == 0)
		return -EAGAIN;
	if (ret->end <= ret->start || ret->end >> DP_METHOD_SHIFT != 0 || bits < 4 || bits > 16 ||
	    (i > 0 && bits != code->segment_bits))
		return -ENOTSUP;
	code->segment_bits = bits;
	return 0;
}

static int read_heaps(const struct code_reader *r, struct dp_hotspot *ret)
{
	const uint64_t *at = r->layout->at;
	__u64 heaps, data = 0, heap;
	uint32_t n = 0;
	int err;

	if (hotspot_layout_has(r->layout, HOTSPOT_HEAP)) {
		err = read_pointer(r, HOTSPOT_HEAP, &heap);
		return err < 0 ? err : read_heap(r, heap, ret, 0);
	}
	err = read_pointer(r, HOTSPOT_HEAPS, &heaps);
	if (err == 0)
		err = read_int(r, heaps + at[HOTSPOT_ARRAY_LENGTH], &n);
	if (err == 0)
		err = read_word(r, heaps + at[HOTSPOT_ARRAY_DATA], &data);
	if (err == 0 && n == 0)
		return -EAGAIN;
	if (err == 0 && n > DP_HOTSPOT_HEAPS)
		return -ENOTSUP;
	for (uint32_t i = 0; err == 0 && i < n; i++) {
		err = read_word(r, data + i * sizeof(heap), &heap);
		if (err == 0)
			err = read_heap(r, heap, ret, i);
	}
	return err;
}

static bool has_thaw_name(const struct code_reader *r, uint64_t blob)
{
	char name[sizeof(thaw_name) - 1];
	__u64 at;

	return read_word(r, blob + r->layout->at[HOTSPOT_BLOB_NAME], &at) == 0 &&
	       r->read(r->memory, name, sizeof(name), at) == 0 &&
	       memcmp(name, thaw_name, sizeof(name)) == 0;
}

/* If a piece of code is that blob, notes where it is. Returns whether it is. */
static bool note_thaw(const struct code_reader *r, uint64_t blob, struct dp_hotspot *ret)
{
	uint32_t size;

	if (!has_thaw_name(r, blob) ||
	    read_int(r, blob + r->layout->at[HOTSPOT_BLOB_SIZE], &size) < 0)
		return false;
	ret->thaw_start = blob;
	ret->thaw_end = blob + size;
	return true;
}

/* Searches a heap, as far as its map can be read: in that, a piece of code begins with 0. */
static bool find_thaw(const struct code_reader *r, const struct dp_hotspot_heap *heap,
		      struct dp_hotspot *ret)
{
	uint64_t n = (heap->end - heap->start) >> ret->segment_bits;
	uint8_t map[THAW_PART];
	size_t blobs = 0;

	for (uint64_t at = 0; at < n; at += sizeof(map)) {
		size_t size = n - at < sizeof(map) ? n - at : sizeof(map);

		if (r->read(r->memory, map, size, heap->map + at) < 0)
			return false;
		for (size_t i = 0; i < size; i++) {
			uint64_t segment = heap->start + ((at + i) << ret->segment_bits);

			if (map[i] != 0)
				continue;
			if (note_thaw(r, segment + ret->header_size, ret))
				return true;
			if (++blobs == THAW_BLOBS)
				return false;
		}
	}
	return false;
}

/* The stubs are made before the interpreter. A JVM without continuations has none. */
static void find_thaw_anywhere(const struct code_reader *r, struct dp_hotspot *ret)
{
	if (!r->layout->has_continuations)
		return;
	for (size_t i = 0; i < DP_HOTSPOT_HEAPS; i++)
		if (find_thaw(r, &ret->heaps[i], ret))
			return;
}

static bool fits_blob(uint64_t offset)
{
	return offset <= DP_HOTSPOT_BLOB_SIZE - sizeof(uint64_t);
}

/* Are places of an interpreter's frame near its fp? */
static bool fits_frame(int32_t words)
{
	return words >= -MAX_FRAME_WORDS && words <= MAX_FRAME_WORDS;
}

/* What the walker needs of the layout. */
static int set_layout(const struct hotspot_layout *l, struct dp_hotspot *ret)
{
	bool is_offset = hotspot_layout_has(l, HOTSPOT_BLOB_CODE_OFFSET);
	uint64_t begin = l->at[is_offset ? HOTSPOT_BLOB_CODE_OFFSET : HOTSPOT_BLOB_CODE_BEGIN];
	int32_t below;

	if (!fits_blob(l->at[HOTSPOT_BLOB_FRAME_SIZE]) ||
	    !fits_blob(l->at[HOTSPOT_BLOB_COMPLETE]) || !fits_blob(begin) ||
	    l->block_size > DP_HOTSPOT_BLOB_SIZE || !fits_frame(l->sender_sp) ||
	    !fits_frame(l->last_sp))
		return -ENOTSUP;
	ret->header_size = (uint32_t)l->block_size;
	ret->frame_size = (uint32_t)l->at[HOTSPOT_BLOB_FRAME_SIZE];
	ret->frame_complete = (uint32_t)l->at[HOTSPOT_BLOB_COMPLETE];
	ret->complete_size = l->complete_is_short ? sizeof(int16_t) : sizeof(int32_t);
	ret->code_begin = (uint32_t)begin;
	ret->code_is_offset = is_offset;
	ret->method_id = (uint32_t)l->at[HOTSPOT_NMETHOD_ID];
	ret->method_const = (uint32_t)l->at[HOTSPOT_METHOD_CONST];
	ret->sender_sp = l->sender_sp * (int32_t)sizeof(uint64_t);
	ret->frame_method = (l->last_sp - 1) * (int32_t)sizeof(uint64_t);
	below = hotspot_layout_has(l, HOTSPOT_HEAP) ? BYTECODE_BELOW_METHOD_8 :
						      BYTECODE_BELOW_METHOD;
	ret->frame_bytecode = ret->frame_method - below * (int32_t)sizeof(uint64_t);
	return 0;
}

int hotspot_code_read(const struct hotspot_layout *layout, hotspot_read *read, void *memory,
		      struct dp_hotspot *ret)
{
	const struct code_reader r = { layout, read, memory };
	int err;

	*ret = (struct dp_hotspot){ 0 };
	err = set_layout(layout, ret);
	if (err == 0)
		err = read_heaps(&r, ret);
	if (err == 0)
		err = read_interpreter(&r, ret);
	if (err == 0)
		err = read_pointer(&r, HOTSPOT_CALL_STUB_RETURN, &ret->call_stub_return);
	if (err < 0)
		return err == -ENOTSUP ? err : -EAGAIN;
	find_thaw_anywhere(&r, ret);
	return 0;
}

bool hotspot_code_has(const struct dp_hotspot *code, uint64_t address)
{
	for (size_t i = 0; i < DP_HOTSPOT_HEAPS; i++) {
		const struct dp_hotspot_heap *h = &code->heaps[i];
		uint64_t size = h->end - h->start;

		if (address - h->start < size || address - h->map < size >> code->segment_bits)
			return true;
	}
	return false;
}
