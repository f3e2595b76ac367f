// SPDX-License-Identifier: Apache-2.0
#include "kernel/exception_lists.h"

#include <errno.h>
#include <string.h>

/* In a std::type_info, behind its vtable: the address of the type's name. */
#define TYPE_NAME 8
/*
 * From an object that is thrown, where that of its std::type_info is: struct __cxa_exception, of
 * gcc's libsupc++/unwind-cxx.h and LLVM's libcxxabi/src/cxa_exception.h.
 */
#define OBJECT_TYPE (-0x70)
/* Of a type of Python: the address of its name (Include/cpython/object.h, PyTypeObject). */
#define PYTHON_NAME 24

static struct dp_argument constant(int64_t value)
{
	return (struct dp_argument){ .base = DP_BASE_CONSTANT,
				     .size = sizeof(uint64_t),
				     .add = value };
}

static struct dp_argument in_register(uint32_t reg)
{
	return (struct dp_argument){ .reg = (uint8_t)(reg - 1), .size = sizeof(uint64_t) };
}

static void follow(struct dp_argument *a, int32_t offset)
{
	a->derefs[a->n_derefs++] = offset;
}

/* Where the object is, and so its type. */
static struct dp_argument object_of(const struct cxx_place *place)
{
	struct dp_argument object = in_register(place->object);

	if (place->is_held)
		follow(&object, 0);
	return object;
}

static struct dp_argument type_of(const struct cxx_place *place)
{
	struct dp_argument type;

	if (place->type) {
		type = in_register(place->type);
	} else {
		type = object_of(place);
		follow(&type, OBJECT_TYPE);
	}
	follow(&type, TYPE_NAME);
	type.is_text = 1;
	return type;
}

static void fill_python(const struct cxx_place *place, struct dp_argument *of)
{
	of[EXCEPTION_LANGUAGE] = constant(EXCEPTION_IS_PYTHON);
	of[EXCEPTION_RETHROWN] = constant(0);
	of[EXCEPTION_TYPE] = in_register(place->type);
	follow(&of[EXCEPTION_TYPE], PYTHON_NAME);
	of[EXCEPTION_TYPE].is_text = 1;
	if (!place->text)
		return;
	of[EXCEPTION_MESSAGE] = in_register(place->object);
	of[EXCEPTION_MESSAGE].is_what = (uint8_t)place->text;
}

static void fill_java(const struct cxx_place *place, struct dp_argument *of)
{
	of[EXCEPTION_LANGUAGE] = constant(EXCEPTION_IS_JAVA);
	of[EXCEPTION_RETHROWN] = constant(0);
	of[EXCEPTION_TYPE] = in_register(place->object);
	of[EXCEPTION_TYPE].is_what = DP_THROWN_JAVA;
}

static void fill(const struct cxx_runtime *runtime, enum cxx_throw which,
		 struct exception_list *ret)
{
	const struct cxx_place *place = &runtime->throws[which];
	struct dp_argument *of = ret->arguments.of;

	/* They are compared as bytes. */
	memset(ret, 0, sizeof(*ret));
	ret->arguments.n = EXCEPTION_N_VALUES;
	of[EXCEPTION_TYPE] = of[EXCEPTION_MESSAGE] = constant(0);
	of[EXCEPTION_RETHROWN] = constant(which != CXX_THROW);
	of[EXCEPTION_LANGUAGE] = constant(EXCEPTION_IS_CXX);
	if (which == CXX_FILL) {
		fill_java(place, of);
		return;
	}
	if (which >= CXX_RAISE) {
		fill_python(place, of);
		return;
	}
	if (!place->object)
		return;
	of[EXCEPTION_TYPE] = type_of(place);
	of[EXCEPTION_MESSAGE] = object_of(place);
	of[EXCEPTION_MESSAGE].is_what = 1;
	for (size_t i = 0; i < DP_N_WHATS; i++)
		if (runtime->what[i])
			ret->whats.at[i] = (int64_t)(runtime->what[i] - place->address);
}

static bool is_same(const struct exception_list *a, const struct exception_list *b)
{
	return memcmp(&a->arguments, &b->arguments, sizeof(a->arguments)) == 0 &&
	       memcmp(&a->whats, &b->whats, sizeof(a->whats)) == 0;
}

int exception_lists_take(struct exception_lists *lists, const struct cxx_runtime *runtime,
			 enum cxx_throw place, bool *ret_new)
{
	struct exception_list wanted, *unused = NULL;

	*ret_new = false;
	fill(runtime, place, &wanted);
	for (size_t i = EXCEPTION_FIRST_LIST; i < DP_MAX_ARGUMENT_LISTS; i++) {
		struct exception_list *l = &lists->of[i];

		if (l->n_users > 0 && is_same(l, &wanted)) {
			l->n_users++;
			return (int)i;
		}
		if (l->n_users == 0 && !unused)
			unused = l;
	}
	if (!unused)
		return -E2BIG;
	*unused = wanted;
	unused->n_users = 1;
	*ret_new = true;
	return (int)(unused - lists->of);
}

void exception_lists_drop(struct exception_lists *lists, uint32_t number)
{
	lists->of[number].n_users--;
}
