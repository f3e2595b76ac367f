// SPDX-License-Identifier: Apache-2.0
#include "elf/frames_join.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "limits/limits.h"

#define ALIGN sizeof(uint64_t)

bool frames_join_has(const struct frames_join *j, uint64_t number, uint64_t address)
{
	return j->bytes && j->number == number && j->section.address == address;
}

static void forget_section(struct frames_join *j)
{
	cfi_index_done(&j->index);
	free(j->bytes);
	j->index = (struct cfi_index){ 0 };
	j->section = (struct cfi_section){ 0 };
	j->bytes = NULL;
}

int frames_join_take(struct frames_join *j, uint64_t number, uint64_t address, uint8_t *bytes,
		     size_t size)
{
	int err;

	forget_section(j);
	j->bytes = bytes;
	j->number = number;
	j->section.data = bytes;
	j->section.size = size;
	j->section.address = address;
	err = cfi_index_init(&j->index, &j->section);
	return err == -ENOMEM ? err : 0;
}

bool frames_join_begins_at(const struct frames_join *j, uint64_t start)
{
	return j->index.n_fdes > 0 && j->index.fdes[0].start == start;
}

static int put(struct frames_join *j, const void *bytes, size_t size)
{
	size_t room = j->room;
	uint8_t *joined;

	while (room < j->size + size)
		room = room == 0 ? 4096 : 2 * room;
	joined = room > j->room ? realloc(j->joined, room) : j->joined;
	if (!joined)
		return -ENOMEM;
	j->joined = joined;
	j->room = room;
	memcpy(joined + j->size, bytes, size);
	j->size += size;
	return 0;
}

static int put_u8(struct frames_join *j, uint8_t value)
{
	return put(j, &value, sizeof(value));
}

static int put_u32(struct frames_join *j, uint32_t value)
{
	return put(j, &value, sizeof(value));
}

static int put_uleb(struct frames_join *j, uint64_t value)
{
	int err;

	do
		err = put_u8(j, (value & 0x7f) | (value > 0x7f ? 0x80 : 0));
	while ((value >>= 7) != 0 && err == 0);
	return err;
}

/* All bytes of it, so that the last one has the sign. */
static int put_sleb(struct frames_join *j, int64_t value)
{
	uint64_t bits = (uint64_t)value;
	int err = 0;

	for (unsigned int shift = 0; shift < 63 && err == 0; shift += 7)
		err = put_u8(j, (bits >> shift & 0x7f) | 0x80);
	return err ?: put_u8(j, value < 0 ? 0x7f : 0);
}

/* Ends the record that begins there. */
static int end_record(struct frames_join *j, size_t at)
{
	uint32_t length;
	int err = 0;

	while (err == 0 && (j->size - at) % ALIGN != 0)
		err = put_u8(j, DW_CFA_nop);
	length = (uint32_t)(j->size - at - sizeof(length));
	if (err == 0)
		memcpy(j->joined + at, &length, sizeof(length));
	return err;
}

static bool is_last_cie(const struct frames_join *j, const struct cfi_cie *cie)
{
	return j->ops != 0 && j->fields.code_factor == cie->code_factor &&
	       j->fields.data_factor == cie->data_factor && j->fields.signal == cie->signal &&
	       j->ops_size == cie->ops_end - cie->ops &&
	       memcmp(j->joined + j->ops, j->bytes + cie->ops, j->ops_size) == 0;
}

static int put_cie(struct frames_join *j, const struct cfi_cie *cie)
{
	static const char plain[] = "zR", signal[] = "zRS";
	size_t at = j->size;
	int err;

	if (is_last_cie(j, cie))
		return 0;
	err = put_u32(j, 0)         ?:
		      put_u32(j, 0) ?:
		      put_u8(j, 1)  ?:
		      put(j, cie->signal ? signal : plain, cie->signal ? sizeof(signal) : sizeof(plain)) ?:
		      put_uleb(j, cie->code_factor) ?:
		      put_sleb(j, cie->data_factor) ?:
		      put_u8(j, CFI_RA)             ?:
		      put_uleb(j, 1)                ?:
						      put_u8(j, DW_EH_PE_absptr);
	if (err < 0)
		return err;
	j->cie = at;
	j->fields = *cie;
	j->ops = j->size;
	j->ops_size = cie->ops_end - cie->ops;
	return put(j, j->bytes + cie->ops, j->ops_size) ?: end_record(j, at);
}

static int put_fde(struct frames_join *j, const struct cfi_fde *fde)
{
	int err = put_cie(j, &j->index.cies[fde->cie]);
	const uint64_t range[] = { fde->start, fde->end - fde->start };
	size_t at = j->size;

	if (err < 0)
		return err;
	return put_u32(j, 0)                                                  ?:
		       put_u32(j, (uint32_t)(at + sizeof(uint32_t) - j->cie)) ?:
		       put(j, range, sizeof(range))                           ?:
		       put_uleb(j, 0)                                         ?:
		       put(j, j->bytes + fde->ops, fde->ops_end - fde->ops)   ?:
										end_record(j, at);
}

/* With a CIE, beside the instructions of both. */
#define FIELDS_SIZE 128

static bool has_room(const struct frames_join *j, const struct cfi_fde *fde)
{
	const struct cfi_cie *cie = &j->index.cies[fde->cie];

	return j->size + (cie->ops_end - cie->ops) + (fde->ops_end - fde->ops) + FIELDS_SIZE <=
	       FRAMES_JOINED_MAX;
}

/* The first one from there on. */
static size_t find_fde(const struct cfi_index *index, uint64_t start)
{
	size_t lo = 0, hi = index->n_fdes;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (index->fdes[mid].start < start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int frames_join_add(struct frames_join *j, uint64_t start, uint64_t end)
{
	size_t before = j->size;
	int err = 0;

	for (size_t i = find_fde(&j->index, start); i < j->index.n_fdes && err == 0; i++) {
		const struct cfi_fde *fde = &j->index.fdes[i];

		if (fde->start >= end || !has_room(j, fde))
			break;
		if (fde->end <= end)
			err = put_fde(j, fde);
	}
	if (err < 0 || j->size == before)
		return err;
	if (array_reserve(j->code, j->n, j->n_room) < 0)
		return -ENOMEM;
	j->code[j->n++] = (struct frames_code){ start, end };
	return 0;
}

int frames_join_end(const struct frames_join *j, uint8_t **ret, size_t *ret_size)
{
	const struct cfi_section section = {
		.data = j->joined,
		.size = j->size,
		.address = j->n > 0 ? j->code[0].start : 0,
	};

	return frames_object_make(&section, j->code, j->n, ret, ret_size);
}

void frames_join_done(struct frames_join *j)
{
	forget_section(j);
	free(j->joined);
	free(j->code);
	*j = (struct frames_join){ 0 };
}
