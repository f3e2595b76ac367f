// SPDX-License-Identifier: Apache-2.0
#include "cfi/entry.h"

#include <dwarf.h>
#include <string.h>

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

enum cfi_reason cfi_record_read(struct cursor *c, struct cfi_record *ret)
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

enum cfi_reason cfi_record_read_id(const struct cfi_section *section, struct cfi_record *rec)
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

bool cfi_record_is_cie(const struct cfi_section *section, const struct cfi_record *rec)
{
	return rec->id == (section->debug_frame ? UINT64_MAX : 0);
}

uint64_t cfi_record_cie_offset(const struct cfi_section *section, const struct cfi_record *rec)
{
	return section->debug_frame ? rec->id : rec->id_at - rec->id;
}

/* LSB Core 5.0 §10.6.1.1.1: the letters give the contents of the augmentation data, in order. */
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
			/* The base of the personality routine's address does not matter. */
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

/* Reads the version, and finds the augmentation string. The cursor stands behind it. */
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

/* Version 4 has the sizes of addresses and segment selectors, which must be 8 and 0. */
static enum cfi_reason read_cie_sizes(struct cursor *c, uint8_t version)
{
	uint16_t sizes;
	enum cfi_reason r;

	if (version < 4)
		return CFI_NONE;
	r = cursor_u16(c, &sizes);
	return r == CFI_NONE && sizes != 8 ? CFI_BAD_ADDRESS_SIZE : r;
}

/* Reads the column of the return address: one byte in version 1. */
static enum cfi_reason read_return_register(struct cursor *c, uint8_t version)
{
	uint64_t column = 0;
	uint8_t byte = 0;
	enum cfi_reason r;

	if (version == 1) {
		r = cursor_u8(c, &byte);
		column = byte;
	} else {
		r = cursor_uleb(c, &column);
	}
	return r == CFI_NONE && column != CFI_RA ? CFI_BAD_RETURN_REGISTER : r;
}

enum cfi_reason cfi_cie_read(const struct cfi_section *section, struct cfi_record *rec,
			     struct cfi_cie *ret)
{
	struct cursor *c = &rec->body;
	const uint8_t *letters;
	uint8_t version;
	enum cfi_reason r;

	*ret = (struct cfi_cie){ .offset = rec->offset, .fde_encoding = DW_EH_PE_absptr };
	r = read_cie_start(c, &version, &letters);
	if (r == CFI_NONE)
		r = read_cie_sizes(c, version);
	if (r == CFI_NONE)
		r = cursor_uleb(c, &ret->code_factor);
	if (r == CFI_NONE)
		r = cursor_sleb(c, &ret->data_factor);
	if (r == CFI_NONE)
		r = read_return_register(c, version);
	if (r == CFI_NONE)
		r = read_augmentation(section, c, letters, ret);
	ret->ops = cursor_offset(c);
	ret->ops_end = ret->ops + cursor_left(c);
	return r;
}

/* An FDE as compilers write it: pc-relative addresses of 4 bytes. */
#define SHORT_ENCODING (DW_EH_PE_pcrel | DW_EH_PE_sdata4)
#define SHORT_SIZE 9 /* with the size of the augmentation data */

/* Returns false to leave the FDE to read_fde(). */
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
	/* The length has the size of an address but is not relative. */
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

enum cfi_reason cfi_fde_read(const struct cfi_section *section, const struct cfi_cie *cie,
			     struct cfi_record *rec, struct cfi_fde *ret)
{
	enum cfi_reason r = CFI_NONE;

	if (!read_fde_short(section, cie, &rec->body, ret))
		r = read_fde(section, cie, &rec->body, ret);
	if (r != CFI_NONE)
		return r;
	ret->offset = (uint32_t)rec->offset;
	ret->ops = (uint32_t)cursor_offset(&rec->body);
	ret->ops_end = ret->ops + (uint32_t)cursor_left(&rec->body);
	return CFI_NONE;
}
