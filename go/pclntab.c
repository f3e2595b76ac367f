// SPDX-License-Identifier: Apache-2.0
#include "go/pclntab.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cfi/cursor.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

/* internal/abi/symtab.go, PCLnTabMagic */
#define MAGIC_GO_1_16 0xfffffffa
#define MAGIC_GO_1_18 0xfffffff0
#define MAGIC_GO_1_20 0xfffffff1

/* runtime/symtab.go, struct pcHeader: its first eight bytes, and the words that follow. */
struct header {
	uint32_t magic;
	uint8_t zero[2];
	uint8_t min_instruction;
	uint8_t pointer_size;
};

enum { WORD_FUNCTIONS, WORD_FILES, WORD_TEXT, WORD_NAMES, N_WORDS = 8 };

/* Address of a function, and offset of its record: functab, runtime/symtab.go. */
struct entry_1_16 {
	uint64_t address, record;
};

struct entry {
	uint32_t distance, record;
};

/*
 * runtime/runtime2.go, struct _func, without its address. Since Go 1.20 the line precedes the id.
 */
struct record {
	int32_t name;
	int32_t args;
	uint32_t defer_return;
	uint32_t sp, file, line;
	uint32_t n_values;
	uint32_t unit;
};

struct record_end {
	uint8_t id, flags, zero, n_data;
};

static bool read_at(const struct pclntab *t, uint64_t offset, void *ret, size_t size)
{
	if (offset > t->size || size > t->size - offset)
		return false;
	memcpy(ret, t->data + offset, size);
	return true;
}

static bool layout_of(const struct header *h, enum pclntab_layout *ret)
{
	if (h->zero[0] != 0 || h->zero[1] != 0 || h->min_instruction != 1 || h->pointer_size != 8)
		return false;
	switch (h->magic) {
	case MAGIC_GO_1_16:
		*ret = PCLNTAB_GO_1_16;
		return true;
	case MAGIC_GO_1_18:
		*ret = PCLNTAB_GO_1_18;
		return true;
	case MAGIC_GO_1_20:
		*ret = PCLNTAB_GO_1_20;
		return true;
	}
	return false;
}

static uint64_t entry_size(const struct pclntab *t)
{
	return t->layout == PCLNTAB_GO_1_16 ? sizeof(struct entry_1_16) : sizeof(struct entry);
}

/* A number for which the table has no room says that it is none. */
static bool has_few_functions(const struct pclntab *t)
{
	if (t->n_functions <= PCLNTAB_FUNCTIONS_MAX)
		return true;
	if (t->n_functions < t->size / entry_size(t))
		LIMIT_HIT(PCLNTAB_FUNCTIONS_MAX);
	return false;
}

/* True if all parts, and the functions' entries, are inside the table. */
static bool has_parts(const struct pclntab *t)
{
	if (t->size > PCLNTAB_SIZE_MAX)
		LIMIT_HIT(PCLNTAB_SIZE_MAX);
	return t->size <= PCLNTAB_SIZE_MAX && has_few_functions(t) && t->names <= t->size &&
	       t->units <= t->size && t->files <= t->size && t->values <= t->size &&
	       t->functions <= t->size && t->n_functions < (t->size - t->functions) / entry_size(t);
}

int pclntab_init(struct pclntab *ret, const uint8_t *data, uint64_t size, uint64_t text)
{
	struct pclntab t = { .data = data, .size = size };
	uint64_t words[N_WORDS] = { 0 };
	struct header header;
	size_t n;

	if (!read_at(&t, 0, &header, sizeof(header)) || !layout_of(&header, &t.layout))
		return -EBADMSG;
	/* Go 1.16 has no word for the text's address. */
	n = t.layout == PCLNTAB_GO_1_16 ? WORD_TEXT : WORD_NAMES;
	if (!read_at(&t, sizeof(header), words, n * sizeof(*words)) ||
	    !read_at(&t, sizeof(header) + n * sizeof(*words), &words[WORD_NAMES],
		     (N_WORDS - WORD_NAMES) * sizeof(*words)))
		return -EBADMSG;
	t.n_functions = words[WORD_FUNCTIONS];
	if (t.layout != PCLNTAB_GO_1_16)
		t.text = text != 0 ? text : words[WORD_TEXT];
	t.names = words[WORD_NAMES];
	t.units = words[WORD_NAMES + 1];
	t.files = words[WORD_NAMES + 2];
	t.values = words[WORD_NAMES + 3];
	t.functions = words[WORD_NAMES + 4];
	if (!has_parts(&t))
		return -EBADMSG;
	*ret = t;
	return 0;
}

/* Reads the address and the offset of a function's record; behind the last function, its end. */
static bool read_entry(const struct pclntab *t, uint64_t number, uint64_t *ret_address,
		       uint64_t *ret_record)
{
	uint64_t offset = t->functions + number * entry_size(t);
	struct entry_1_16 old;
	struct entry entry;

	if (number > t->n_functions)
		return false;
	if (t->layout == PCLNTAB_GO_1_16) {
		/* There is no record behind the last function. */
		if (!read_at(t, offset, &old, number < t->n_functions ? sizeof(old) : 8))
			return false;
		*ret_address = old.address;
		*ret_record = number < t->n_functions ? old.record : 0;
		return true;
	}
	if (!read_at(t, offset, &entry, number < t->n_functions ? sizeof(entry) : 4))
		return false;
	*ret_address = t->text + entry.distance;
	*ret_record = number < t->n_functions ? entry.record : 0;
	return true;
}

/* The string at an offset of a part; NULL if it is not terminated. */
static const char *string_at(const struct pclntab *t, uint64_t part, uint32_t offset)
{
	uint64_t at = part + offset, room;

	if (at >= t->size)
		return NULL;
	room = t->size - at < PCLNTAB_NAME_MAX ? t->size - at : PCLNTAB_NAME_MAX;
	if (memchr(t->data + at, '\0', room))
		return (const char *)t->data + at;
	if (room == PCLNTAB_NAME_MAX)
		LIMIT_HIT(PCLNTAB_NAME_MAX);
	return NULL;
}

const char *pclntab_name(const struct pclntab *t, int32_t offset)
{
	return offset < 0 ? NULL : string_at(t, t->names, (uint32_t)offset);
}

/* runtime/symtab.go, funcfile(): each unit has a list of its source files. */
const char *pclntab_file(const struct pclntab *t, const struct pclntab_function *f, int64_t number)
{
	const char *file;
	uint32_t offset;

	if (number < 0 || number > UINT32_MAX ||
	    !read_at(t, t->units + 4 * ((uint64_t)f->unit + (uint64_t)number), &offset,
		     sizeof(offset)) ||
	    offset == UINT32_MAX)
		return NULL;
	file = string_at(t, t->files, offset);
	return file && file[0] != '\0' ? file : NULL;
}

int pclntab_function(const struct pclntab *t, uint64_t number, struct pclntab_function *ret)
{
	struct pclntab_function f = { 0 };
	struct record record;
	struct record_end end;
	uint64_t at, next;

	if (number >= t->n_functions || !read_entry(t, number, &f.start, &at) ||
	    !read_entry(t, number + 1, &f.next, &next) || f.next < f.start ||
	    at > t->size - t->functions)
		return -EBADMSG;
	at += t->functions + (t->layout == PCLNTAB_GO_1_16 ? 8 : 4);
	if (!read_at(t, at, &record, sizeof(record)))
		return -EBADMSG;
	at += sizeof(record) + (t->layout == PCLNTAB_GO_1_20 ? 4 : 0);
	if (!read_at(t, at, &end, sizeof(end)))
		return -EBADMSG;
	f.name = pclntab_name(t, record.name);
	if (!f.name)
		return -EBADMSG;
	f.id = end.id;
	f.flags = end.flags;
	f.sp = record.sp;
	f.file = record.file;
	f.line = record.line;
	f.unit = record.unit;
	f.more = at + sizeof(end);
	f.n_values = record.n_values;
	f.n_data = end.n_data;
	*ret = f;
	return 0;
}

int pclntab_find(const struct pclntab *t, uint64_t address, struct pclntab_function *ret)
{
	uint64_t low = 0, high = t->n_functions, start, record;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_entry(t, middle, &start, &record))
			return -EBADMSG;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return -ENOENT;
	if (pclntab_function(t, low - 1, ret) < 0)
		return -EBADMSG;
	return address < ret->next ? 0 : -ENOENT;
}

void pclntab_values_init(struct pclntab_values *ret, const struct pclntab *t,
			 const struct pclntab_function *f, uint32_t offset)
{
	*ret = (struct pclntab_values){
		.table = t,
		.at = offset == 0 ? 0 : t->values + offset,
		.last = { f->start, f->start, -1 },
	};
}

/*
 * runtime/symtab.go, step(): the change of the value, in zigzag encoding, and the size of its
 * range.
 */
bool pclntab_values_next(struct pclntab_values *v)
{
	uint64_t change, length;
	bool is_first = v->last.start == v->last.end;
	struct cursor c;

	if (v->at == 0 || v->at >= v->table->size)
		return false;
	cursor_init(&c, v->table->data, v->at, v->table->size);
	if (cursor_uleb(&c, &change) != CFI_NONE || (change == 0 && !is_first) ||
	    cursor_uleb(&c, &length) != CFI_NONE || length == 0 || length > UINT32_MAX ||
	    change > UINT32_MAX || v->last.end + length < v->last.end) {
		v->at = 0;
		return false;
	}
	v->last.start = v->last.end;
	v->last.end += length;
	v->last.value += (int64_t)(change >> 1) ^ -(int64_t)(change & 1);
	v->at = cursor_offset(&c);
	return true;
}

uint32_t pclntab_more_values(const struct pclntab *t, const struct pclntab_function *f,
			     uint32_t number)
{
	uint32_t offset;

	if (number >= f->n_values || !read_at(t, f->more + 4 * (uint64_t)number, &offset, 4))
		return 0;
	return offset;
}

bool pclntab_data(const struct pclntab *t, const struct pclntab_function *f, uint32_t number,
		  uint64_t *ret)
{
	uint64_t at = f->more + 4 * (uint64_t)f->n_values;
	uint32_t offset;

	if (number >= f->n_data)
		return false;
	if (t->layout == PCLNTAB_GO_1_16) {
		/* The table itself has a larger alignment. */
		at = (at + 7) & ~UINT64_C(7);
		return read_at(t, at + 8 * (uint64_t)number, ret, 8) && *ret != 0;
	}
	if (!read_at(t, at + 4 * (uint64_t)number, &offset, 4) || offset == UINT32_MAX)
		return false;
	*ret = offset;
	return true;
}

uint64_t pclntab_function_end(const struct pclntab *t, const struct pclntab_function *f)
{
	struct pclntab_values values;

	pclntab_values_init(&values, t, f, f->sp);
	while (values.last.end < f->next && pclntab_values_next(&values))
		;
	return values.last.end < f->next ? values.last.end : f->next;
}
