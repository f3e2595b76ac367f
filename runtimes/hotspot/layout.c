// SPDX-License-Identifier: Apache-2.0
#include "runtimes/hotspot/layout.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "bpf/arch.h"
#include "limits/limits.h"

#define MAX_STRIDE 512
/* Longer names are none of those that are looked for. */
#define MAX_NAME 64

struct tables {
	const struct vm_structs *at;
	uint64_t bias;
	hotspot_read *read;
	void *memory;
};

static const struct member {
	const char *type, *name;
} members[HOTSPOT_N_MEMBERS] = {
#define X(name, type, member) { type, member },
	HOTSPOT_MEMBERS(X)
#undef X
};

static int read_word(const struct tables *t, uint64_t address, uint64_t *ret)
{
	return t->read(t->memory, ret, sizeof(*ret), address);
}

/* The value of a variable that the library exports. */
static int read_exported(const struct tables *t, enum vm_struct which, uint64_t *ret)
{
	return read_word(t, t->bias + t->at->at[which], ret);
}

/* Reads a string, as far as there is room. It may end right in front of memory that is not there. */
static int read_name(const struct tables *t, uint64_t address, char ret[MAX_NAME])
{
	size_t n = 0;
	int err = 0;

	while (n < MAX_NAME - 1) {
		size_t left = DP_USER_PAGE_SIZE - (address + n) % DP_USER_PAGE_SIZE;
		size_t part = left < MAX_NAME - 1 - n ? left : MAX_NAME - 1 - n;

		err = t->read(t->memory, ret + n, part, address + n);
		if (err < 0 || memchr(ret + n, '\0', part))
			break;
		n += part;
	}
	ret[MAX_NAME - 1] = '\0';
	return err;
}

/* Reads the string to which an entry has a pointer. 1: it is the last entry. */
static int read_name_of(const struct tables *t, uint64_t entry, uint64_t offset, char ret[MAX_NAME])
{
	uint64_t pointer;
	int err = read_word(t, entry + offset, &pointer);

	if (err < 0)
		return err;
	return pointer == 0 ? 1 : read_name(t, pointer, ret);
}

/* Where a table begins, and the distance of its entries. */
static int open_table(const struct tables *t, enum vm_struct table, enum vm_struct stride,
		      uint64_t *ret, uint64_t *ret_stride)
{
	int err = read_exported(t, table, ret);

	if (err == 0)
		err = read_exported(t, stride, ret_stride);
	if (err == 0 && (*ret == 0 || *ret_stride == 0 || *ret_stride > MAX_STRIDE))
		err = -EAGAIN; /* its constructors have not run */
	return err;
}

static int read_exported_all(const struct tables *t, const enum vm_struct *which, size_t n,
			     uint64_t *ret)
{
	int err = 0;

	for (size_t i = 0; i < n && err == 0; i++) {
		err = read_exported(t, which[i], &ret[i]);
		if (err == 0 && ret[i] >= MAX_STRIDE)
			err = -ENOTSUP;
	}
	return err;
}

static int find_member(const char *type, const char *name)
{
	for (int i = 0; i < HOTSPOT_N_MEMBERS; i++)
		if (strcmp(type, members[i].type) == 0 && strcmp(name, members[i].name) == 0)
			return i;
	return -1;
}

enum { TYPE, FIELD, FIELD_TYPE, IS_STATIC, OFFSET, ADDRESS, N_PARTS };

static int note_member(const struct tables *t, uint64_t entry, const uint64_t part[N_PARTS],
		       int member, struct hotspot_layout *ret)
{
	char type[MAX_NAME];
	int32_t is_static;
	uint64_t value;
	int err = t->read(t->memory, &is_static, sizeof(is_static), entry + part[IS_STATIC]);

	if (err == 0)
		err = read_word(t, entry + part[is_static ? ADDRESS : OFFSET], &value);
	if (err < 0)
		return err;
	ret->at[member] = value;
	if (member != HOTSPOT_BLOB_COMPLETE)
		return 0;
	err = read_name_of(t, entry, part[FIELD_TYPE], type);
	ret->complete_is_short = err == 0 && strcmp(type, "int16_t") == 0;
	return err < 0 ? err : 0;
}

static int read_members(const struct tables *t, struct hotspot_layout *ret)
{
	static const enum vm_struct which[N_PARTS] = { VM_STRUCT_TYPE,       VM_STRUCT_FIELD,
						       VM_STRUCT_FIELD_TYPE, VM_STRUCT_IS_STATIC,
						       VM_STRUCT_OFFSET,     VM_STRUCT_ADDRESS };
	uint64_t part[N_PARTS], entry, stride;
	char type[MAX_NAME], name[MAX_NAME];
	int err = open_table(t, VM_STRUCTS, VM_STRUCT_STRIDE, &entry, &stride);

	if (err == 0)
		err = read_exported_all(t, which, N_PARTS, part);
	for (size_t i = 0; err == 0 && i < HOTSPOT_MAX_ENTRIES; i++, entry += stride) {
		int member;

		err = read_name_of(t, entry, part[TYPE], type);
		if (err == 0)
			err = read_name_of(t, entry, part[FIELD], name);
		member = err == 0 ? find_member(type, name) : -1;
		if (member >= 0)
			err = note_member(t, entry, part, member, ret);
	}
	return err < 0 ? err : 0;
}

/* Reads the value of the entry with a name in a table of names and values. -ENOTSUP: it has none. */
static int read_value(const struct tables *t, const enum vm_struct which[4], const char *wanted,
		      size_t size, void *ret)
{
	uint64_t entry, stride, part[2];
	char name[MAX_NAME];
	int err = open_table(t, which[0], which[1], &entry, &stride);

	if (err == 0)
		err = read_exported_all(t, which + 2, 2, part);
	for (size_t i = 0; err == 0 && i < HOTSPOT_MAX_ENTRIES; i++, entry += stride) {
		err = read_name_of(t, entry, part[0], name);
		if (err == 0 && strcmp(name, wanted) == 0)
			return t->read(t->memory, ret, size, entry + part[1]);
	}
	return err < 0 ? err : -ENOTSUP;
}

static int read_value_if_any(const struct tables *t, const enum vm_struct which[4],
			     const char *wanted, uint64_t *ret)
{
	int err = read_value(t, which, wanted, sizeof(*ret), ret);

	return err == -ENOTSUP ? 0 : err;
}

static bool has_all(const struct hotspot_layout *l)
{
	/* One of each of these pairs is in each version. */
	static const enum hotspot_member pairs[][2] = {
		{ HOTSPOT_HEAPS, HOTSPOT_HEAP },
		{ HOTSPOT_BLOB_CODE_BEGIN, HOTSPOT_BLOB_CODE_OFFSET },
		{ HOTSPOT_COMPILED_METHOD, HOTSPOT_NMETHOD_METHOD },
	};
	bool is_in_pair[HOTSPOT_N_MEMBERS] = { false };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		is_in_pair[pairs[i][0]] = is_in_pair[pairs[i][1]] = true;
		if (!hotspot_layout_has(l, pairs[i][0]) && !hotspot_layout_has(l, pairs[i][1]))
			return false;
	}
	for (int i = 0; i < HOTSPOT_N_NEEDED; i++)
		if (!is_in_pair[i] && !hotspot_layout_has(l, (enum hotspot_member)i))
			return false;
	return true;
}

/* A member that earlier versions call otherwise. */
static void rename_member(struct hotspot_layout *l, enum hotspot_member to,
			  enum hotspot_member from)
{
	if (!hotspot_layout_has(l, to))
		l->at[to] = l->at[from];
}

static void rename_class_members(struct hotspot_layout *l)
{
	static const enum hotspot_member names[][2] = {
		{ HOTSPOT_FLAGS, HOTSPOT_FLAGS_12 },
		{ HOTSPOT_FLAG_COUNT, HOTSPOT_FLAG_COUNT_12 },
		{ HOTSPOT_FLAG_NAME, HOTSPOT_FLAG_NAME_12 },
		{ HOTSPOT_FLAG_ADDRESS, HOTSPOT_FLAG_ADDRESS_12 },
		{ HOTSPOT_CLASS_BASE, HOTSPOT_CLASS_BASE_13 },
		{ HOTSPOT_CLASS_SHIFT, HOTSPOT_CLASS_SHIFT_13 },
		{ HOTSPOT_CLASS_BASE, HOTSPOT_CLASS_BASE_22 },
		{ HOTSPOT_CLASS_SHIFT, HOTSPOT_CLASS_SHIFT_22 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		rename_member(l, names[i][0], names[i][1]);
}

/* Reads where the parts of an interpreter's frame are. */
static int read_frame(const struct tables *t, struct hotspot_layout *ret)
{
	static const enum vm_struct constants[] = { VM_CONSTANTS, VM_CONSTANT_STRIDE,
						    VM_CONSTANT_NAME, VM_CONSTANT_VALUE };
	int err = read_value(t, constants, "frame::interpreter_frame_sender_sp_offset",
			     sizeof(ret->sender_sp), &ret->sender_sp);

	if (err == 0)
		return read_value(t, constants, "frame::interpreter_frame_last_sp_offset",
				  sizeof(ret->last_sp), &ret->last_sp);
	/* JDK 8 does not publish them: frame_x86.hpp, frame_aarch64.hpp. */
	if (err == -ENOTSUP && hotspot_layout_has(ret, HOTSPOT_HEAP)) {
		ret->sender_sp = -1;
		ret->last_sp = -2;
		err = 0;
	}
	return err;
}

int hotspot_layout_read(struct hotspot_layout *ret, const struct vm_structs *tables, uint64_t bias,
			hotspot_read *read, void *memory)
{
	static const enum vm_struct types[] = { VM_TYPES, VM_TYPE_STRIDE, VM_TYPE_NAME,
						VM_TYPE_SIZE };
	const struct tables t = { tables, bias, read, memory };
	uint64_t chunk = 0;
	int err;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < HOTSPOT_N_MEMBERS; i++)
		ret->at[i] = HOTSPOT_MISSING;
	err = read_members(&t, ret);
	if (err == 0)
		err = read_value(&t, types, "HeapBlock", sizeof(ret->block_size), &ret->block_size);
	if (err == 0)
		err = read_value(&t, types, "ConstantPool", sizeof(ret->pool_size),
				 &ret->pool_size);
	if (err == 0)
		err = read_value_if_any(&t, types, "PcDesc", &ret->desc_size);
	if (err == 0)
		err = read_value_if_any(&t, types, "ConstMethod", &ret->const_size);
	if (err == 0)
		err = read_value_if_any(&t, types, "InstanceStackChunkKlass", &chunk);
	if (err == 0)
		err = read_frame(&t, ret);
	if (err < 0)
		return err == -ENOTSUP ? err : -EAGAIN;
	ret->has_continuations = chunk > 0;
	rename_member(ret, HOTSPOT_ARRAY_LENGTH, HOTSPOT_ARRAY_LENGTH_GENERIC);
	rename_member(ret, HOTSPOT_SYMBOL_BODY, HOTSPOT_SYMBOL_BODY_WHOLE);
	rename_class_members(ret);
	rename_member(ret, HOTSPOT_OOP_CLASS, HOTSPOT_OOP_CLASS_UNION);
	rename_member(ret, HOTSPOT_OOP_BASE, HOTSPOT_OOP_BASE_NARROW);
	rename_member(ret, HOTSPOT_OOP_SHIFT, HOTSPOT_OOP_SHIFT_NARROW);
	return has_all(ret) ? 0 : -ENOTSUP;
}

/* An option. Those that a version does not have are not set. */
static int note_flag(const struct tables *t, uint64_t address, const char *name,
		     struct hotspot_flags *flags)
{
	uint8_t *to = strcmp(name, "UseCompressedClassPointers") == 0 ? &flags->is_short :
		      strcmp(name, "UseCompactObjectHeaders") == 0    ? &flags->is_in_mark :
									NULL;
	uint64_t value;
	int err;

	if (!to)
		return 0;
	err = read_word(t, address, &value);
	return err < 0 ? err : t->read(t->memory, to, sizeof(*to), value);
}

static int read_flags(const struct tables *t, const struct hotspot_layout *l, uint64_t size,
		      struct hotspot_flags *ret)
{
	uint64_t entry, n = 0;
	char name[MAX_NAME];
	int err = read_word(t, l->at[HOTSPOT_FLAGS], &entry);

	if (err == 0)
		err = read_word(t, l->at[HOTSPOT_FLAG_COUNT], &n);
	if (err == 0 && n > HOTSPOT_MAX_ENTRIES)
		err = -ENOTSUP;
	for (uint64_t i = 0; err == 0 && i < n; i++, entry += size) {
		err = read_name_of(t, entry, l->at[HOTSPOT_FLAG_NAME], name);
		if (err == 0)
			err = note_flag(t, entry + l->at[HOTSPOT_FLAG_ADDRESS], name, ret);
	}
	return err < 0 ? err : 0;
}

static int read_flag_size(const struct tables *t, uint64_t *ret)
{
	static const enum vm_struct types[] = { VM_TYPES, VM_TYPE_STRIDE, VM_TYPE_NAME,
						VM_TYPE_SIZE };
	int err = read_value(t, types, "JVMFlag", sizeof(*ret), ret);

	if (err == -ENOTSUP)
		err = read_value(t, types, "Flag", sizeof(*ret), ret);
	return err == 0 && (*ret == 0 || *ret > MAX_STRIDE) ? -ENOTSUP : err;
}

int hotspot_flags_read(const struct hotspot_layout *layout, const struct vm_structs *tables,
		       uint64_t bias, hotspot_read *read, void *memory, struct hotspot_flags *ret)
{
	static const enum vm_struct longs[] = { VM_LONGS, VM_LONG_STRIDE, VM_LONG_NAME,
						VM_LONG_VALUE };
	const struct tables t = { tables, bias, read, memory };
	uint64_t size;
	int err;

	*ret = (struct hotspot_flags){ 0 };
	for (int i = HOTSPOT_FLAGS; i <= HOTSPOT_FLAG_ADDRESS; i++)
		if (!hotspot_layout_has(layout, (enum hotspot_member)i))
			return -ENOTSUP;
	err = read_flag_size(&t, &size);
	if (err == 0)
		err = read_flags(&t, layout, size, ret);
	if (err == 0 && ret->is_in_mark)
		err = read_value(&t, longs, "markWord::klass_shift", sizeof(ret->mark_shift),
				 &ret->mark_shift);
	return err;
}
