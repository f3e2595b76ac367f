// SPDX-License-Identifier: Apache-2.0
#include "runtimes/hotspot/scope.h"

#include <errno.h>

#include "limits/limits.h"

/* UNSIGNED5: six bits of each byte but the last one count, the others say that one follows. */
#define DIGIT_BITS 6
#define LAST_DIGITS (256 - (1 << DIGIT_BITS))
#define MAX_DIGITS 5

/* A byte of a table of lines that numbers follow. */
#define LINE_ESCAPE 0xff
#define LINE_BITS 3

/* A PcDesc, as the layout has it. */
#define MAX_DESC 64
/* A mark of HotSpot's that there is nothing, where an offset in the stream would be. */
#define NO_SCOPE 0
/* Numbers of a scope that lead to values: of local variables, operands, and monitors. */
#define N_VALUES 3

struct sections {
	uint64_t descs;
	uint32_t n_descs;
	uint64_t scopes, scopes_end;
	uint64_t metadata;
	uint32_t n_metadata;
	uint64_t method;
};

struct scope_reader {
	const struct hotspot_layout *layout;
	hotspot_read *read;
	void *memory;
};

static int read_digit(struct hotspot_stream *s, uint8_t *ret)
{
	if (s->at >= s->end)
		return -ESTALE;
	return s->read(s->memory, ret, 1, s->at++);
}

int hotspot_stream_int(struct hotspot_stream *s, uint32_t *ret)
{
	uint32_t sum = 0;
	uint8_t digit;

	for (unsigned int i = 0; i < MAX_DIGITS; i++) {
		int err = read_digit(s, &digit);

		if (err < 0)
			return err;
		if (digit < s->excluded)
			return -ESTALE;
		sum += (digit - s->excluded) << (i * DIGIT_BITS);
		if (digit < LAST_DIGITS)
			break;
	}
	*ret = sum;
	return 0;
}

static int stream_signed(struct hotspot_stream *s, int64_t *ret)
{
	uint32_t value;
	int err = hotspot_stream_int(s, &value);

	if (err == 0)
		*ret = value & 1 ? -(int64_t)(value >> 1) - 1 : (int64_t)(value >> 1);
	return err;
}

int hotspot_lines_read(struct hotspot_stream *s, uint32_t code_size, struct hotspot_line *ret,
		       size_t *ret_n)
{
	int64_t bci = 0, line = 0, more_bci, more_line;
	uint8_t next;

	for (size_t n = 0; n < HOTSPOT_MAX_LINES; n++) {
		int err = read_digit(s, &next);

		*ret_n = n;
		if (err < 0 || next == 0)
			return err;
		more_bci = next >> LINE_BITS;
		more_line = next & ((1 << LINE_BITS) - 1);
		if (next == LINE_ESCAPE)
			err = stream_signed(s, &more_bci) ?: stream_signed(s, &more_line);
		if (err < 0)
			return err;
		bci += more_bci;
		line += more_line;
		if (bci < 0 || bci >= code_size || bci > UINT16_MAX || line <= 0 ||
		    line > UINT16_MAX)
			return -ESTALE;
		ret[n] = (struct hotspot_line){ (uint16_t)bci, (uint16_t)line };
	}
	return -ESTALE;
}

static int read_u32(const struct scope_reader *r, uint64_t object, enum hotspot_member member,
		    uint32_t *ret)
{
	if (!hotspot_layout_has(r->layout, member))
		return -ENOTSUP;
	return r->read(r->memory, ret, sizeof(*ret), object + r->layout->at[member]);
}

static int read_u64(const struct scope_reader *r, uint64_t object, enum hotspot_member member,
		    uint64_t *ret)
{
	if (!hotspot_layout_has(r->layout, member))
		return -ENOTSUP;
	return r->read(r->memory, ret, sizeof(*ret), object + r->layout->at[member]);
}

/* Sets the numbers of entries between two addresses. -ESTALE: there cannot be so many. */
static int count(uint64_t start, uint64_t end, uint64_t size, uint32_t *ret)
{
	uint64_t n = end >= start ? (end - start) / size : UINT64_MAX;

	if (n > HOTSPOT_MAX_DESCS)
		return -ESTALE;
	*ret = (uint32_t)n;
	return 0;
}

/* Since JDK 24: what does not change is in memory of its own, and so is what collectors change. */
static int find_apart(const struct scope_reader *r, uint64_t nmethod, struct sections *ret)
{
	uint32_t descs, scopes, size, relocation, mutable_size;
	uint64_t immutable, mutable;
	int err = read_u64(r, nmethod, HOTSPOT_NMETHOD_IMMUTABLE, &immutable);

	if (err == 0)
		err = read_u32(r, nmethod, HOTSPOT_NMETHOD_IMMUTABLE_SIZE, &size);
	if (err == 0)
		err = read_u32(r, nmethod, HOTSPOT_NMETHOD_DESCS, &descs);
	if (err == 0)
		err = read_u32(r, nmethod, HOTSPOT_NMETHOD_SCOPES, &scopes);
	if (err == 0)
		err = read_u64(r, nmethod, HOTSPOT_BLOB_MUTABLE, &mutable);
	if (err == 0)
		err = read_u32(r, nmethod, HOTSPOT_BLOB_MUTABLE_SIZE, &mutable_size);
	if (err == 0)
		err = read_u32(r, nmethod, HOTSPOT_BLOB_RELOCATION_SIZE, &relocation);
	if (err < 0)
		return err;
	if (scopes > size || descs > scopes || relocation > mutable_size)
		return -ESTALE;
	ret->descs = immutable + descs;
	ret->scopes = immutable + scopes;
	ret->scopes_end = immutable + size;
	ret->metadata = mutable + relocation;
	return count(ret->descs, ret->scopes, r->layout->desc_size, &ret->n_descs) ?:
		       count(relocation, mutable_size, sizeof(uint64_t), &ret->n_metadata);
}

/* Up to JDK 8, an offset leads to scopes; then, an address. */
static int find_scopes(const struct scope_reader *r, uint64_t nmethod, uint64_t *ret)
{
	uint32_t offset = 0;
	int err;

	if (hotspot_layout_has(r->layout, HOTSPOT_COMPILED_SCOPES))
		return read_u64(r, nmethod, HOTSPOT_COMPILED_SCOPES, ret);
	err = read_u32(r, nmethod, HOTSPOT_NMETHOD_SCOPES, &offset);
	*ret = nmethod + offset;
	return err;
}

/* Before: all of it follows the header. */
static int find_within(const struct scope_reader *r, uint64_t nmethod, struct sections *ret)
{
	uint32_t descs, dependencies, metadata;
	int err = find_scopes(r, nmethod, &ret->scopes);

	if (err == 0)
		err = read_u32(r, nmethod, HOTSPOT_NMETHOD_DESCS, &descs);
	if (err == 0)
		err = read_u32(r, nmethod, HOTSPOT_NMETHOD_DEPENDENCIES, &dependencies);
	if (err == 0)
		err = read_u32(r, nmethod, HOTSPOT_NMETHOD_METADATA, &metadata);
	if (err < 0)
		return err;
	ret->descs = nmethod + descs;
	ret->scopes_end = ret->descs;
	ret->metadata = nmethod + metadata;
	return count(descs, dependencies, r->layout->desc_size, &ret->n_descs) ?:
		       count(ret->metadata, ret->scopes, sizeof(uint64_t), &ret->n_metadata);
}

static int find_sections(const struct scope_reader *r, uint64_t nmethod, struct sections *ret)
{
	const struct hotspot_layout *l = r->layout;
	bool is_apart = hotspot_layout_has(l, HOTSPOT_NMETHOD_IMMUTABLE);
	bool is_own = hotspot_layout_has(l, HOTSPOT_NMETHOD_METHOD);
	int err;

	if (l->desc_size < 2 * sizeof(int32_t) || l->desc_size > MAX_DESC)
		return -ENOTSUP;
	err = is_apart ? find_apart(r, nmethod, ret) : find_within(r, nmethod, ret);
	return err   ?:
		       read_u64(r, nmethod,
				is_own ? HOTSPOT_NMETHOD_METHOD : HOTSPOT_COMPILED_METHOD,
				&ret->method);
}

/* The offset of code of a description, which are in its order. */
static int read_desc(const struct scope_reader *r, const struct sections *s, uint32_t i,
		     enum hotspot_member member, int32_t *ret)
{
	return read_u32(r, s->descs + i * r->layout->desc_size, member, (uint32_t *)ret);
}

/* Finds the description of an offset, and where its scope is in the stream. */
static int find_desc(const struct scope_reader *r, const struct sections *s, uint64_t pc,
		     bool is_leaf, int32_t *ret)
{
	/* An instruction ends behind its first byte. */
	int64_t wanted = (int64_t)pc + is_leaf;
	uint32_t lo = 0, hi = s->n_descs;
	int32_t at;
	int err;

	while (lo < hi) {
		uint32_t middle = lo + (hi - lo) / 2;

		err = read_desc(r, s, middle, HOTSPOT_DESC_PC, &at);
		if (err < 0)
			return err;
		if (at < wanted)
			lo = middle + 1;
		else
			hi = middle;
	}
	if (lo == s->n_descs)
		return -ENOENT;
	err = read_desc(r, s, lo, HOTSPOT_DESC_PC, &at);
	if (err < 0)
		return err;
	/* The last one is a mark of the end. */
	if (lo == s->n_descs - 1 || (!is_leaf && at != wanted))
		return -ENOENT;
	err = read_desc(r, s, lo, HOTSPOT_DESC_SCOPE, ret);
	return err == 0 && *ret <= NO_SCOPE ? -ENOENT : err;
}

/* Whether a scope, whose rest this is, says where its local variables, operands or monitors are. */
static int read_values(struct hotspot_stream *stream, bool *ret)
{
	uint32_t place = NO_SCOPE;
	int err = 0;

	for (int i = 0; err == 0 && i < N_VALUES && place == NO_SCOPE; i++)
		err = hotspot_stream_int(stream, &place);
	*ret = place != NO_SCOPE;
	return err;
}

static int read_scope(const struct scope_reader *r, const struct sections *s, uint32_t at,
		      uint32_t excluded, struct hotspot_scope *ret, uint32_t *ret_sender)
{
	struct hotspot_stream stream = { r->read, r->memory, s->scopes + at, s->scopes_end,
					 excluded };
	uint32_t metadata, bci;
	int err = hotspot_stream_int(&stream, ret_sender);

	if (err == 0)
		err = hotspot_stream_int(&stream, &metadata);
	if (err == 0)
		err = hotspot_stream_int(&stream, &bci);
	if (err == 0)
		err = read_values(&stream, &ret->is_near);
	if (err < 0)
		return err;
	if (metadata == 0 || metadata > s->n_metadata || bci > UINT16_MAX + 1)
		return -ESTALE;
	ret->bci = (int32_t)bci - 1; /* InvocationEntryBci is -1, and stored as 0 */
	return r->read(r->memory, &ret->method, sizeof(ret->method),
		       s->metadata + (metadata - 1) * sizeof(ret->method));
}

static int read_chain(const struct scope_reader *r, const struct sections *s, uint32_t at,
		      uint32_t excluded, struct hotspot_scope *ret, size_t *ret_n)
{
	uint32_t sender;

	for (size_t n = 0; n < HOTSPOT_MAX_SCOPES; n++) {
		int err = read_scope(r, s, at, excluded, &ret[n], &sender);

		if (err < 0)
			return err;
		if (sender == NO_SCOPE) {
			*ret_n = n + 1;
			return ret[n].method == s->method ? 0 : -ESTALE;
		}
		if (sender >= at)
			return -ESTALE;
		at = sender;
	}
	return -ESTALE;
}

int hotspot_scopes_read(const struct hotspot_layout *layout, hotspot_read *read, void *memory,
			uint64_t nmethod, uint64_t pc, bool is_leaf,
			struct hotspot_scope ret[HOTSPOT_MAX_SCOPES], size_t *ret_n)
{
	const struct scope_reader r = { layout, read, memory };
	struct sections s = { 0 };
	int32_t at;
	int err = find_sections(&r, nmethod, &s) ?: find_desc(&r, &s, pc, is_leaf, &at);

	if (err < 0)
		return err;
	/*
	 * No table says how bytes are written. A root's sender is NO_SCOPE, a byte that does not exist in
	 * the other form; and the root is the method whose code this is.
	 */
	err = read_chain(&r, &s, (uint32_t)at, 1, ret, ret_n);
	if (err == -ESTALE)
		err = read_chain(&r, &s, (uint32_t)at, 0, ret, ret_n);
	/* A return address is of the place itself. */
	for (size_t i = 0; err == 0 && i < *ret_n; i++)
		ret[i].is_near &= is_leaf && i == 0;
	return err;
}
