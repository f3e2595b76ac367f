// SPDX-License-Identifier: Apache-2.0
#include "values/cxx_runtime.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "elf/elf_symbols.h"
#include "elf/elf_usdt.h"
#include "limits/limits.h"
#include "values/java_fill.h"
#include "values/python_raise.h"
#include "values/usdt_argument.h"

#define PROVIDER "libstdcxx"
#define VTABLE "_ZTV"
/*
 * A vtable has an offset and the class's type_info before what objects point to, which has two
 * ~T().
 */
#define VTABLE_WHAT 32

/*
 * Of those that define __cxa_throw(), some only note that, and call the runtime's. It defines this,
 * too.
 */
#define RUNTIME_SYMBOL "__cxa_begin_catch"
/* Only libc++abi has it, beside __cxa_throw() in its cxa_exception.cpp. */
#define LLVM_SYMBOL "__cxa_increment_exception_refcount"
/*
 * The name of a type that only the runtime itself defines; its type_info is in any that can throw.
 * Its first letter, which has no other before it, is left out: this program has no such name.
 */
static const char own_type[] = "10__cxxabiv117__class_type_infoE";

#define X(name) DP_##name,
static const uint8_t registers[] = { DP_ARGUMENT_REGISTERS(X) };
#undef X

static const struct {
	const char *name;
	enum cxx_throw which;
	bool has_object, has_type, is_held; /* in the registers of the first arguments */
} symbols[] = {
	{ "__cxa_throw", CXX_THROW, true, true, false },
	{ "__cxa_rethrow", CXX_RETHROW, false, false, false },
	/* libstdc++: an object of a class with a destructor is passed by its address */
	{ "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE", CXX_RETHROW_HELD, true,
	  false, true },
	/* libc++abi, for libc++ */
	{ "__cxa_rethrow_primary_exception", CXX_RETHROW_HELD, true, false, false },
};

static const char *const probes[CXX_N_THROWS] = {
	[CXX_THROW] = "throw",
	[CXX_RETHROW] = "rethrow",
};

static const char *const classes[DP_N_WHATS] = {
#define X(name, class, message) class,
	DP_WHATS(X)
#undef X
};

/* 0: no segment has it. */
static uint64_t address_of(const struct elf_file *file, uint64_t offset)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];

		if (offset >= s->offset && offset - s->offset < s->file_size)
			return offset - s->offset + s->address;
	}
	return 0;
}

struct search {
	const struct elf_file *file;
	struct cxx_runtime *to;
	struct cxx_place noted[CXX_N_THROWS];
	size_t n_noted[CXX_N_THROWS];
	bool is_runtime, is_llvm;
	struct python_raise python;
	struct java_fill java;
};

static void note_class(struct cxx_runtime *to, const struct elf_symbol *s)
{
	const char *class = s->name + strlen(VTABLE);

	if (s->size < VTABLE_WHAT + sizeof(uint64_t))
		return;
	for (size_t i = 0; i < DP_N_WHATS; i++)
		if (strcmp(class, classes[i]) == 0)
			to->what[i] = s->address + VTABLE_WHAT;
}

static void note_throw(const struct search *search, const struct elf_symbol *s)
{
	struct cxx_place place = { .address = s->address };

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (strcmp(s->name, symbols[i].name) != 0 ||
		    !elf_offset_of(search->file, s->address, &place.offset))
			continue;
		place.object = symbols[i].has_object ? registers[0] + 1U : 0;
		place.type = symbols[i].has_type ? registers[1] + 1U : 0;
		place.is_held = symbols[i].is_held;
		search->to->throws[symbols[i].which] = place;
	}
}

static int on_symbol(void *arg, const struct elf_symbol *s)
{
	struct search *search = arg;

	if (strncmp(s->name, VTABLE, strlen(VTABLE)) == 0)
		note_class(search->to, s);
	else if (s->is_function)
		note_throw(search, s);
	python_raise_note(&search->python, s);
	java_fill_note(&search->java, s);
	search->is_runtime |= strcmp(s->name, RUNTIME_SYMBOL) == 0;
	search->is_llvm |= strcmp(s->name, LLVM_SYMBOL) == 0;
	return 0;
}

/* What both name in different ways. */
static void tell_apart(struct cxx_runtime *to, bool is_llvm)
{
	to->what[is_llvm ? DP_WHAT_BAD_ARRAY_NEW_LENGTH : DP_WHAT_BAD_ARRAY_NEW_LENGTH_LLVM] = 0;
}

/* The register that an argument is in, and 1; 0: it is elsewhere. */
static uint32_t register_of(const struct usdt_argument *a)
{
	const struct dp_argument *how = &a->how;
	bool is_register = how->base == DP_BASE_REGISTER && how->n_derefs == 0 && how->add == 0 &&
			   how->index == 0 && how->reg < DP_N_REGISTERS;

	return a->type < VALUE_N_TYPES && value_type_size(a->type) == sizeof(uint64_t) &&
			       is_register ?
		       how->reg + 1U :
		       0;
}

static int on_note(void *arg, const struct elf_usdt *note)
{
	struct usdt_argument arguments[USDT_MAX_ARGUMENTS];
	struct search *search = arg;
	struct cxx_place place = {
		.offset = note->offset,
		.address = address_of(search->file, note->offset),
		.counter = note->semaphore,
	};
	size_t n;

	if (strcmp(note->provider, PROVIDER) != 0 || place.address == 0)
		return 0;
	n = usdt_arguments_parse(note->arguments, arguments);
	if (n < 2)
		return 0;
	place.object = register_of(&arguments[0]);
	place.type = register_of(&arguments[1]);
	for (size_t i = 0; i < CXX_N_THROWS; i++) {
		if (!probes[i] || strcmp(note->name, probes[i]) != 0)
			continue;
		search->noted[i] = place;
		search->n_noted[i]++;
	}
	return 0;
}

/*
 * A probe that the compiler has put at several places is not used. What `rethrow` has as the type
 * is the object itself if it was thrown by an exception_ptr: then what precedes the object tells
 * the type.
 */
static void prefer_notes(const struct search *search)
{
	for (size_t i = 0; i < CXX_N_THROWS; i++) {
		struct cxx_place place = search->noted[i];

		if (search->n_noted[i] != 1 || !place.object || !place.type)
			continue;
		if (i != CXX_THROW)
			place.type = 0;
		search->to->throws[i] = place;
	}
}

static bool has_type(const char *bytes, size_t size)
{
	const char *at = bytes, *end = bytes + size;

	while ((at = memmem(at, (size_t)(end - at), own_type, sizeof(own_type)))) {
		if (at - bytes >= 2 && at[-1] == 'N' && at[-2] == '\0')
			return true;
		at++;
	}
	return false;
}

static bool has_own_type(const struct elf_file *file)
{
	uint64_t left = CXX_MAX_SEARCHED;

	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];
		uint64_t size = s->file_size < left ? s->file_size : left;
		const char *bytes = elf_bytes_at(file, s->address, size);

		if (bytes && has_type(bytes, size))
			return true;
		left -= size;
	}
	return false;
}

int cxx_runtime_find(const struct elf_file *file, int fd, struct cxx_runtime *ret)
{
	struct search search = { .file = file, .to = ret };

	memset(ret, 0, sizeof(*ret));
	elf_symbols_each(file, true, on_symbol, &search);
	elf_symbols_each(file, false, on_symbol, &search);
	tell_apart(ret, search.is_llvm);
	if (!search.is_runtime)
		memset(ret->throws, 0, sizeof(ret->throws));
	(void)elf_usdt_each(fd, on_note, &search);
	prefer_notes(&search);
	python_raise_find(&search.python, file, ret);
	java_fill_find(&search.java, file, ret);
	if (ret->throws[CXX_THROW].address == 0 && ret->throws[CXX_FILL].address == 0 &&
	    has_own_type(file))
		ret->hides = CXX_HIDES_CXX;
	return cxx_runtime_throws(ret) || ret->hides ? 0 : -ENOENT;
}

bool cxx_runtime_throws(const struct cxx_runtime *r)
{
	return r->throws[CXX_THROW].address || r->throws[CXX_RAISE].address ||
	       r->throws[CXX_RAISE_WHOLE].address || r->throws[CXX_FILL].address;
}

bool cxx_runtime_is_sound(const struct cxx_runtime *r)
{
	for (size_t i = 0; i < CXX_N_THROWS; i++)
		if (r->throws[i].object > DP_N_REGISTERS || r->throws[i].type > DP_N_REGISTERS ||
		    r->throws[i].is_held > 1 || r->throws[i].text > UINT8_MAX)
			return false;
	return r->hides <= CXX_HIDES_PYTHON;
}
