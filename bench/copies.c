// SPDX-License-Identifier: Apache-2.0
#include "bench/copies.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Copies of code are a multiple of this many bytes apart. */
#define ALIGNMENT 8192

/* Offsets of the fields of an FDE: LSB Core 5.0 §10.6.1.2. */
enum { ID_AT = 4, START_AT = 8, SIZE_AT = 12, MIN_FDE = 16 };

struct copies_cie {
	uint32_t offset, size; /* in the file's section, including the length field */
	uint32_t copied_to;    /* in the new section; UINT32_MAX: not yet in this copy */
};

struct copies_fde {
	uint32_t offset, size;
	uint32_t cie; /* index of its CIE */
	uint64_t start;
};

static uint32_t read_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static void write_u32(uint8_t *bytes, uint32_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

static int add_cie(struct copies_source *s, uint32_t offset, uint32_t size)
{
	if (array_reserve(s->cies, s->n_cies, s->cies_size) < 0)
		return -ENOMEM;
	s->cies[s->n_cies++] = (struct copies_cie){ offset, size, 0 };
	return 0;
}

/* Nearly always the same as the last time. */
static bool find_cie(const struct copies_source *s, uint32_t offset, uint32_t *ret)
{
	for (size_t i = s->n_cies; i-- > 0;) {
		if (s->cies[i].offset != offset)
			continue;
		*ret = (uint32_t)i;
		return true;
	}
	return false;
}

static int add_fde(struct copies_source *s, uint32_t offset, uint32_t size)
{
	const struct cfi_section *section = &s->file->cfi;
	const uint8_t *bytes = section->data + offset;
	struct copies_fde fde = { offset, size, 0, 0 };
	uint64_t end;

	if (size < MIN_FDE || !find_cie(s, offset + ID_AT - read_u32(bytes + ID_AT), &fde.cie))
		return -ENOTSUP;
	fde.start = section->address + offset + START_AT +
		    (uint64_t)(int32_t)read_u32(bytes + START_AT);
	end = fde.start + read_u32(bytes + SIZE_AT);
	/* Addresses in another encoding would be out of range. */
	if (fde.start < s->file->code.start || end > s->file->code.end)
		return -ENOTSUP;
	if (array_reserve(s->fdes, s->n_fdes, s->fdes_size) < 0)
		return -ENOMEM;
	s->fdes[s->n_fdes++] = fde;
	return 0;
}

static int read_records(struct copies_source *s)
{
	const struct cfi_section *section = &s->file->cfi;
	uint64_t offset = 0, size;
	int err = 0;

	for (; err == 0 && section->size - offset >= 2 * sizeof(uint32_t); offset += size) {
		const uint8_t *bytes = section->data + offset;

		size = sizeof(uint32_t) + read_u32(bytes);
		if (size == sizeof(uint32_t)) /* the terminator, or that of a part */
			continue;
		if (size < 2 * sizeof(uint32_t) || size > section->size - offset)
			return -ENOTSUP;
		if (read_u32(bytes + ID_AT) == 0)
			err = add_cie(s, (uint32_t)offset, (uint32_t)size);
		else
			err = add_fde(s, (uint32_t)offset, (uint32_t)size);
	}
	return err;
}

static int compare_starts(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int sort_starts(struct copies_source *s)
{
	s->starts = calloc(s->n_fdes, sizeof(*s->starts));
	if (!s->starts)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_fdes; i++)
		s->starts[i] = s->fdes[i].start;
	qsort(s->starts, s->n_fdes, sizeof(*s->starts), compare_starts);
	return 0;
}

int copies_source_init(struct copies_source *ret, const struct elf_file *file)
{
	int err = -ENOTSUP;

	*ret = (struct copies_source){ .file = file };
	if (file->source == ELF_SOURCE_EH_FRAME && file->cfi.size <= UINT32_MAX)
		err = read_records(ret);
	if (err == 0)
		err = ret->n_fdes > 0 ? sort_starts(ret) : -ENOTSUP;
	if (err < 0)
		copies_source_done(ret);
	return err;
}

void copies_source_done(struct copies_source *source)
{
	free(source->cies);
	free(source->fdes);
	free(source->starts);
	*source = (struct copies_source){ 0 };
}

/* Appends a record. Returns its place in memory; *ret_offset is its offset in the section. */
static uint8_t *append(struct cfi_section *to, uint8_t *bytes, const uint8_t *record, uint32_t size,
		       uint32_t *ret_offset)
{
	uint8_t *at = bytes + to->size;

	memcpy(at, record, size);
	*ret_offset = (uint32_t)to->size;
	to->size += size;
	return at;
}

static int append_fde(struct cfi_section *to, uint8_t *bytes, const struct copies_source *source,
		      const struct copies_fde *fde, uint64_t shift)
{
	const uint8_t *data = source->file->cfi.data;
	struct copies_cie *cie = &source->cies[fde->cie];
	uint32_t offset;
	int64_t distance;
	uint8_t *at;

	if (cie->copied_to == UINT32_MAX)
		append(to, bytes, data + cie->offset, cie->size, &cie->copied_to);
	at = append(to, bytes, data + fde->offset, fde->size, &offset);
	write_u32(at + ID_AT, offset + ID_AT - cie->copied_to);
	distance = (int64_t)(fde->start + shift - (to->address + offset + START_AT));
	if (distance != (int32_t)distance)
		return -EFBIG;
	write_u32(at + START_AT, (uint32_t)distance);
	return 0;
}

/* Appends the FDEs that start below an address, with their CIEs. */
static int append_copy(struct cfi_section *to, uint8_t *bytes, const struct copies_source *source,
		       uint64_t before, uint64_t shift)
{
	int err = 0;

	for (size_t i = 0; i < source->n_cies; i++)
		source->cies[i].copied_to = UINT32_MAX;
	for (size_t i = 0; err == 0 && i < source->n_fdes; i++)
		if (source->fdes[i].start < before)
			err = append_fde(to, bytes, source, &source->fdes[i], shift);
	return err;
}

static struct code_range largest_range(const struct image_input *input)
{
	struct code_range largest = { 0 };

	for (size_t i = 0; i < input->n_ranges; i++)
		if (input->ranges[i].size > largest.size)
			largest = input->ranges[i];
	return largest;
}

int copies_init(struct copies *ret, const struct copies_source *source, size_t n_fdes)
{
	const struct elf_file *file = source->file;
	const uint64_t span = file->code.end - source->starts[0];
	const uint64_t step = (span + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
	size_t n = (n_fdes + source->n_fdes - 1) / source->n_fdes;
	struct code_range *ranges = calloc(n, sizeof(*ranges));
	uint8_t *bytes = malloc(n * file->cfi.size);
	struct cfi_section section = { .data = bytes, .address = file->cfi.address };
	struct image_input input = { .start = source->starts[0], .ranges = ranges };
	int err = ranges && bytes ? 0 : -ENOMEM;

	for (; err == 0 && input.n_ranges < n; n_fdes -= source->n_fdes) {
		uint64_t before = file->code.end, shift = input.n_ranges * step;

		if (n_fdes < source->n_fdes)
			before = source->starts[n_fdes];
		err = append_copy(&section, bytes, source, before, shift);
		input.end = before + shift;
		ranges[input.n_ranges] = largest_range(&file->code);
		ranges[input.n_ranges++].address += shift;
		if (n_fdes <= source->n_fdes)
			break;
	}
	*ret = (struct copies){ section, input };
	if (err < 0)
		copies_done(ret);
	return err;
}

void copies_done(struct copies *copies)
{
	free((void *)copies->section.data);
	free((void *)copies->input.ranges);
	*copies = (struct copies){ 0 };
}
