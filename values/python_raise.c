// SPDX-License-Identifier: Apache-2.0
#include "values/python_raise.h"

#include <string.h>

/*
 * Where a compact str has its text (PyASCIIObject, Include/cpython/unicodeobject.h): 3.12 has no `wstr` in
 * front of it any more. That of 3.14 is not known.
 */
#define TEXT_AT 48
#define TEXT_AT_3_12 40
#define VERSION_3_12 0x030c0000
#define VERSION_3_13 0x030d0000
#define VERSION_3_14 0x030e0000
/* `const unsigned long Py_Version`, since 3.11 */
#define VERSION_SIZE 8

#define X(name) DP_##name,
static const uint8_t registers[] = { DP_ARGUMENT_REGISTERS(X) };
#undef X

void python_raise_note(struct python_raise *raise, const struct elf_symbol *s)
{
	if (strcmp(s->name, "PyErr_SetObject") == 0) {
		raise->outer = s->address;
		raise->outer_size = s->size;
	} else if (strcmp(s->name, "_PyErr_SetObject") == 0) {
		raise->inner = s->address;
		raise->inner_size = s->size;
	} else if (strcmp(s->name, "_PyErr_SetObject.part.0") == 0) {
		raise->split = s->address;
	} else if (strcmp(s->name, "Py_Version") == 0) {
		raise->version = s->address;
	} else if (strcmp(s->name, "PyString_Type") == 0 ||
		   strcmp(s->name, "_Py_MergeZeroLocalRefcount") == 0) {
		raise->is_other = 1; /* Python 2, and 3 without a global lock */
	}
}

/* 0: before 3.11. */
static uint64_t version_of(const struct python_raise *raise, const struct elf_file *file)
{
	const void *bytes =
		raise->version ? elf_bytes_at(file, raise->version, VERSION_SIZE) : NULL;
	uint64_t version = 0;

	if (bytes)
		memcpy(&version, bytes, sizeof(version));
	return version;
}

/* first: the number of the argument with the exception's type, which its value follows. */
static void add(const struct elf_file *file, uint64_t address, size_t first, uint32_t text,
		enum cxx_throw which, struct cxx_runtime *ret)
{
	struct cxx_place place = { .address = address,
				   .type = registers[first] + 1U,
				   .object = registers[first + 1] + 1U,
				   .text = text };

	if (address && elf_offset_of(file, address, &place.offset))
		ret->throws[which] = place;
}

/* Has the compiler put the function that it calls into it? Else it is much shorter. */
static bool is_whole(const struct python_raise *raise)
{
	return raise->outer_size > raise->inner_size / 2;
}

/*
 * gcc has left only the beginning of the inner function, and called the rest something that a file without symbols
 * does not tell. Most calls go to that.
 */
#define WHOLE_SIZE 256

static bool is_rest_hidden(const struct python_raise *raise)
{
	return raise->inner_size > 0 && raise->inner_size < WHOLE_SIZE && !raise->split;
}

void python_raise_find(const struct python_raise *raise, const struct elf_file *file,
		       struct cxx_runtime *ret)
{
	const uint64_t version = version_of(raise, file);
	const uint64_t inner = raise->split ? raise->split : raise->inner;
	const uint32_t text = version >= VERSION_3_14 ? 0 :
			      version >= VERSION_3_12 ? TEXT_AT_3_12 :
							TEXT_AT;

	if (!raise->outer || raise->is_other)
		return;
	if ((!inner && version >= VERSION_3_13) || is_rest_hidden(raise)) {
		ret->hides = CXX_HIDES_PYTHON;
		return;
	}
	add(file, inner, 1, text, CXX_RAISE, ret);
	if (!inner || (!raise->split && is_whole(raise)))
		add(file, raise->outer, 0, text, CXX_RAISE_WHOLE, ret);
}
