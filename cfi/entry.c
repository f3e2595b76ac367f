// SPDX-License-Identifier: Apache-2.0
#include "cfi/entry.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "cfi/fde_sort.h"
#include "cfi/machine.h"

/* One record, its extent known: offsets in the section. */
struct record {
	uint64_t offset; /* of the length field */
	uint64_t id_at;  /* of the CIE pointer or id */
	uint64_t id;
	bool wide;          /* 64-bit DWARF format */
	struct cursor body; /* after the id, to the record's end */
};

enum cfi_reason cfi_read_pointer(const struct cfi_section *section, struct cursor *c,
				 uint8_t encoding, uint64_t *ret)
{
	uint64_t at = section->address + cursor_offset(c);
	union {
		uint16_t u16;
		uint32_t u32;
		uint64_t u64;
		int64_t s64;
	} v = { 0 };
	enum cfi_reason r;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		r = cursor_u64(c, &v.u64);
		break;
	case DW_EH_PE_udata4:
		r = cursor_u32(c, &v.u32);
		break;
	case DW_EH_PE_sdata4:
		r = cursor_u32(c, &v.u32);
		v.s64 = (int32_t)v.u32;
		break;
	case DW_EH_PE_udata2:
		r = cursor_u16(c, &v.u16);
		break;
	case DW_EH_PE_sdata2:
		r = cursor_u16(c, &v.u16);
		v.s64 = (int16_t)v.u16;
		break;
	case DW_EH_PE_uleb128:
		r = cursor_uleb(c, &v.u64);
		break;
	case DW_EH_PE_sleb128:
		r = cursor_sleb(c, &v.s64);
		break;
	default:
		c->mark = c->pos;
		return CFI_BAD_ENCODING;
	}
	if (r != CFI_NONE)
		return r;

	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		*ret = v.u64;
		return CFI_NONE;
	case DW_EH_PE_pcrel:
		*ret = v.u64 + at;
		return CFI_NONE;
	default:
		return CFI_BAD_ENCODING;
	}
}

/*
 * Read the length and id at the cursor. CFI_NONE with wide ids, or the reason
 * why nothing after this record can be found.
 */
static enum cfi_reason read_record(struct cursor *c, struct record *ret)
{
	uint32_t word = 0;
	uint64_t length;
	enum cfi_reason r;

	ret->offset = cursor_offset(c);
	ret->wide = false;
	r = cursor_u32(c, &word);
	length = word;
	if (r == CFI_NONE && word == UINT32_MAX) {
		ret->wide = true;
		r = cursor_u64(c, &length);
	} else if (r == CFI_NONE && word >= 0xfffffff0) {
		return CFI_BAD_LENGTH;
	}
	if (r != CFI_NONE)
		return r;
	if (length > cursor_left(c))
		return CFI_TRUNCATED;

	ret->body = *c;
	ret->body.end = c->pos + length;
	c->pos += length;
	ret->id_at = cursor_offset(&ret->body);
	ret->id = 0;
	return CFI_NONE;
}

/*
 * The id follows the length: 4 bytes in .eh_frame even in the 64-bit format
 * (LSB Core 5.0 §10.6.1.1), 8 bytes in a 64-bit .debug_frame.
 */
static enum cfi_reason read_id(const struct cfi_section *section, struct record *rec)
{
	uint32_t word = 0;
	enum cfi_reason r;

	if (rec->wide && section->debug_frame)
		return cursor_u64(&rec->body, &rec->id);
	r = cursor_u32(&rec->body, &word);
	rec->id = word;
	if (r == CFI_NONE && section->debug_frame && word == UINT32_MAX)
		rec->id = UINT64_MAX;
	return r;
}

static bool record_is_cie(const struct cfi_section *section, const struct record *rec)
{
	return rec->id == (section->debug_frame ? UINT64_MAX : 0);
}

/* The CIE that an FDE's id points at: an offset, or a distance back from the id itself. */
static uint64_t record_cie_offset(const struct cfi_section *section, const struct record *rec)
{
	return section->debug_frame ? rec->id : rec->id_at - rec->id;
}

/* LSB Core 5.0 §10.6.1.1.1: the letters say what the augmentation data holds, in order. */
static enum cfi_reason read_augmentation(const struct cfi_section *section, struct cursor *c,
					 const uint8_t *letters, struct cfi_cie *cie)
{
	struct cursor data;
	uint64_t size, pointer;
	uint8_t encoding;
	enum cfi_reason r;

	if (*letters == '\0')
		return CFI_NONE;
	if (*letters != 'z')
		return CFI_BAD_AUGMENTATION;
	r = cursor_uleb(c, &size);
	if (r != CFI_NONE)
		return r;
	data = *c;
	r = cursor_skip(c, size);
	if (r != CFI_NONE)
		return r;
	data.end = c->pos;
	cie->has_augmentation = true;

	while (*++letters != '\0') {
		switch (*letters) {
		case 'R':
			r = cursor_u8(&data, &cie->fde_encoding);
			break;
		case 'L':
			r = cursor_u8(&data, &encoding);
			break;
		case 'P':
			r = cursor_u8(&data, &encoding);
			if (r == CFI_NONE && (encoding & 0x70) == DW_EH_PE_aligned)
				r = CFI_BAD_ENCODING;
			/* What the personality routine is relative to is of no interest here. */
			if (r == CFI_NONE)
				r = cfi_read_pointer(section, &data, encoding & 0x0f, &pointer);
			break;
		case 'S':
			cie->signal = true;
			break;
		default:
			r = CFI_BAD_AUGMENTATION;
		}
		if (r != CFI_NONE) {
			c->mark = data.mark;
			return r;
		}
	}
	return CFI_NONE;
}

/* The version, and where the augmentation string is; the cursor stands behind it. */
static enum cfi_reason read_cie_start(struct cursor *c, uint8_t *ret_version,
				      const uint8_t **ret_letters)
{
	uint8_t byte;
	enum cfi_reason r = cursor_u8(c, ret_version);

	if (r == CFI_NONE && *ret_version != 1 && *ret_version != 3 && *ret_version != 4)
		r = CFI_BAD_CIE_VERSION;
	if (r != CFI_NONE)
		return r;
	*ret_letters = c->pos;
	do
		r = cursor_u8(c, &byte);
	while (r == CFI_NONE && byte != '\0');
	return r;
}

/* Version 4 tells how wide addresses and segment selectors are: 8 bytes, and none. */
static enum cfi_reason read_cie_sizes(struct cursor *c, uint8_t version)
{
	uint16_t sizes;
	enum cfi_reason r;

	if (version < 4)
		return CFI_NONE;
	r = cursor_u16(c, &sizes);
	return r == CFI_NONE && sizes != 8 ? CFI_BAD_ADDRESS_SIZE : r;
}

/* The column of the return address: one byte in version 1. */
static enum cfi_reason read_return_register(struct cursor *c, uint8_t version)
{
	uint64_t column;
	uint8_t byte;
	enum cfi_reason r;

	if (version == 1) {
		r = cursor_u8(c, &byte);
		column = byte;
	} else {
		r = cursor_uleb(c, &column);
	}
	return r == CFI_NONE && column != CFI_RIP ? CFI_BAD_RETURN_REGISTER : r;
}

/* The fixed fields of a CIE, up to its initial instructions. */
static enum cfi_reason read_cie(const struct cfi_section *section, struct record *rec,
				struct cfi_cie *cie)
{
	struct cursor *c = &rec->body;
	const uint8_t *letters;
	uint8_t version;
	enum cfi_reason r;

	r = read_cie_start(c, &version, &letters);
	if (r == CFI_NONE)
		r = read_cie_sizes(c, version);
	if (r == CFI_NONE)
		r = cursor_uleb(c, &cie->code_factor);
	if (r == CFI_NONE)
		r = cursor_sleb(c, &cie->data_factor);
	if (r == CFI_NONE)
		r = read_return_register(c, version);
	if (r == CFI_NONE)
		r = read_augmentation(section, c, letters, cie);
	return r;
}

static int index_refuse(struct cfi_index *index, enum cfi_reason reason, uint64_t offset)
{
	if (array_reserve(index->refusals, index->n_refusals, index->refusals_size) < 0)
		return -ENOMEM;
	index->refusals[index->n_refusals++] = (struct cfi_refusal){ reason, offset };
	return 0;
}

static int index_add_cie(struct cfi_index *index, const struct cfi_section *section,
			 struct record *rec)
{
	struct cfi_cie *cie;
	struct cfi_refusal initial;
	enum cfi_reason r;

	if (array_reserve(index->cies, index->n_cies, index->cies_size) < 0)
		return -ENOMEM;
	cie = &index->cies[index->n_cies];
	*cie = (struct cfi_cie){ .offset = rec->offset, .fde_encoding = DW_EH_PE_absptr };

	r = read_cie(section, rec, cie);
	if (r != CFI_NONE)
		return index_refuse(index, r, cursor_mark(&rec->body));
	cie->ops = cursor_offset(&rec->body);
	cie->ops_end = cie->ops + cursor_left(&rec->body);
	initial = cfi_machine_initial(section, cie);
	if (initial.reason != CFI_NONE)
		return index_refuse(index, initial.reason, initial.offset);
	index->n_cies++;
	return 0;
}

/* CIEs are appended in the order of the section, so that they are sorted by offset. */
static size_t index_find_cie(const struct cfi_index *index, uint64_t offset)
{
	size_t lo = 0, hi = index->n_cies;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (index->cies[mid].offset < offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < index->n_cies && index->cies[lo].offset == offset)
		return lo;
	return SIZE_MAX;
}

/* An FDE as compilers write it on x86-64: addresses of 4 bytes, counted from where they are. */
#define SHORT_ENCODING (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define SHORT_SIZE 9 /* with the size of the augmentation data */

/* False leaves the FDE to read_fde(). */
static inline bool read_fde_short(const struct cfi_section *section, const struct cfi_cie *cie,
				  struct cursor *c, struct cfi_fde *fde)
{
	const uint8_t *p = cursor_peek(c, SHORT_SIZE);
	int32_t start, length;

	if (!p || cie->fde_encoding != SHORT_ENCODING || !cie->has_augmentation)
		return false;
	memcpy(&start, p, sizeof(start));
	memcpy(&length, p + 4, sizeof(length));
	fde->start = section->address + cursor_offset(c) + (uint64_t)start;
	fde->end = fde->start + (uint64_t)length;
	if (fde->end < fde->start || length < 0 || p[8] >= 0x80)
		return false;
	return cursor_skip(c, SHORT_SIZE + (uint64_t)p[8]) == CFI_NONE;
}

static enum cfi_reason read_fde(const struct cfi_section *section, const struct cfi_cie *cie,
				struct cursor *c, struct cfi_fde *fde)
{
	uint64_t start, length, size;
	enum cfi_reason r;

	r = cfi_read_pointer(section, c, cie->fde_encoding, &start);
	/* The length has the address's size but is relative to nothing. */
	if (r == CFI_NONE)
		r = cfi_read_pointer(section, c, cie->fde_encoding & 0x0f, &length);
	if (r == CFI_NONE && __builtin_add_overflow(start, length, &fde->end))
		r = CFI_BAD_RANGE;
	if (r == CFI_NONE && cie->has_augmentation) {
		r = cursor_uleb(c, &size);
		if (r == CFI_NONE)
			r = cursor_skip(c, size);
	}
	if (r == CFI_NONE)
		fde->start = start;
	return r;
}

static int index_add_fde(struct cfi_index *index, const struct cfi_section *section,
			 struct record *rec)
{
	uint64_t cie_offset = record_cie_offset(section, rec);
	size_t cie = index->n_cies - 1;
	struct cfi_fde *fde;
	enum cfi_reason r = CFI_NONE;

	/* Nearly always the CIE seen last. */
	if (index->n_cies == 0 || index->cies[cie].offset != cie_offset)
		cie = index_find_cie(index, cie_offset);
	if (cie == SIZE_MAX)
		return index_refuse(index, CFI_NO_CIE, rec->id_at);
	if (array_reserve(index->fdes, index->n_fdes, index->fdes_size) < 0)
		return -ENOMEM;

	fde = &index->fdes[index->n_fdes];
	if (!read_fde_short(section, &index->cies[cie], &rec->body, fde))
		r = read_fde(section, &index->cies[cie], &rec->body, fde);
	if (r != CFI_NONE)
		return index_refuse(index, r, cursor_mark(&rec->body));
	if (fde->start == fde->end)
		return 0; /* left behind by a linker that dropped the function */
	fde->cie = (uint32_t)cie;
	fde->offset = (uint32_t)rec->offset;
	fde->ops = (uint32_t)cursor_offset(&rec->body);
	fde->ops_end = fde->ops + (uint32_t)cursor_left(&rec->body);
	index->n_fdes++;
	return 0;
}

/* Which records a pass over the section looks at. */
enum {
	PASS_CIES = 1 << 0,
	PASS_FDES = 1 << 1,
};

/* `said`: an earlier pass has listed the records that cannot be read. */
static int index_pass(struct cfi_index *index, const struct cfi_section *section,
		      unsigned int passes, bool said)
{
	struct cursor c;

	cursor_init(&c, section->data, 0, section->size);
	while (cursor_left(&c) > 0) {
		struct record rec;
		enum cfi_reason r = read_record(&c, &rec);
		bool is_cie;
		int err = 0;

		if (r != CFI_NONE)
			return said ? 0 : index_refuse(index, r, rec.offset);
		/*
		 * A zero length ends the section for libgcc. Linkers that join
		 * sections can leave one in the middle, and .eh_frame_hdr then
		 * still leads to what follows.
		 */
		if (cursor_left(&rec.body) == 0)
			continue;
		r = read_id(section, &rec);
		is_cie = record_is_cie(section, &rec);
		if (r != CFI_NONE)
			err = said ? 0 : index_refuse(index, r, rec.offset);
		else if (is_cie && (passes & PASS_CIES))
			err = index_add_cie(index, section, &rec);
		else if (!is_cie && (passes & PASS_FDES))
			err = index_add_fde(index, section, &rec);
		if (err < 0)
			return err;
	}
	return 0;
}

/* There are no more FDEs to come: nor does there have to be room for them. */
static int index_sort(struct cfi_index *index)
{
	struct cfi_fde *fdes;

	if (index->n_fdes == 0)
		return 0;
	fdes = reallocarray(index->fdes, index->n_fdes, sizeof(*fdes));
	if (!fdes)
		return -ENOMEM;
	index->fdes = fdes;
	index->fdes_size = index->n_fdes;
	return fde_sort(&index->fdes, index->n_fdes);
}

int cfi_index_init(struct cfi_index *ret, const struct cfi_section *section)
{
	struct cfi_index index = { 0 };
	int err;

	if (section->size > UINT32_MAX)
		return -EFBIG;
	if (section->size == 0) { /* nor need there be an address to start from */
		*ret = index;
		return 0;
	}
	/* An FDE of .eh_frame points back to its CIE; in .debug_frame it may come before it. */
	if (!section->debug_frame) {
		err = index_pass(&index, section, PASS_CIES | PASS_FDES, false);
	} else {
		err = index_pass(&index, section, PASS_CIES, false);
		if (err == 0)
			err = index_pass(&index, section, PASS_FDES, true);
	}
	if (err == 0)
		err = index_sort(&index);
	if (err < 0) {
		cfi_index_done(&index);
		return err;
	}
	*ret = index;
	return 0;
}

uint64_t cfi_section_measure(const struct cfi_section *section)
{
	_cleanup_(cfi_index_done) struct cfi_index index = { 0 };
	uint64_t end = 0;
	struct record rec;
	struct cursor c;

	cursor_init(&c, section->data, 0, section->size);
	while (read_record(&c, &rec) == CFI_NONE && cursor_left(&rec.body) > 0) {
		if (read_id(section, &rec) != CFI_NONE)
			break;
		if (record_is_cie(section, &rec)) {
			if (index_add_cie(&index, section, &rec) < 0)
				break;
		} else if (index_find_cie(&index, record_cie_offset(section, &rec)) == SIZE_MAX) {
			break;
		}
		if (index.n_refusals > 0)
			break;
		end = cursor_offset(&c);
	}
	return end;
}

bool cfi_section_has_fdes(const struct cfi_section *section)
{
	struct record rec;
	struct cursor c;

	if (section->size == 0)
		return false;
	cursor_init(&c, section->data, 0, section->size);
	while (cursor_left(&c) > 0 && read_record(&c, &rec) == CFI_NONE)
		if (cursor_left(&rec.body) > 0 && read_id(section, &rec) == CFI_NONE &&
		    !record_is_cie(section, &rec))
			return true;
	return false;
}

void cfi_index_done(struct cfi_index *index)
{
	free(index->cies);
	free(index->fdes);
	free(index->refusals);
	*index = (struct cfi_index){ 0 };
}
