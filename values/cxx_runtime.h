/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_CXX_RUNTIME_H
#define DP_VALUES_CXX_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/elf_file.h"

/*
 * The runtime that throws C++ exceptions (libstdc++ or libc++abi), in a library or linked into a program: where it
 * throws, and where its classes' vtables are. Also finds where Python raises (python_raise.h) and HotSpot creates
 * (java_fill.h) exceptions.
 *
 * libstdc++ has USDT probes `libstdcxx:throw` and `:rethrow` (gcc's libsupc++/eh_throw.cc). Where
 * there are notes of them, these tell the places: they are in stripped programs, too; of what is
 * thrown again, they have the object; and they are at a `nop`, which the kernel need not execute
 * out of line. Else the symbols __cxa_throw and __cxa_rethrow do (Itanium C++ ABI, "Exception
 * Handling", 2.4.3 and 2.5.4). What an exception_ptr holds is thrown by a function of each library.
 */

enum cxx_throw {
	CXX_THROW,        /* `throw object;` */
	CXX_RETHROW,      /* `throw;` */
	CXX_RETHROW_HELD, /* `std::rethrow_exception(pointer);` */
	CXX_RAISE,        /* Python's _PyErr_SetObject(), or */
	CXX_RAISE_WHOLE,  /* PyErr_SetObject(), if it does not call that one */
	CXX_FILL,         /* where HotSpot gives an exception its stack */
	CXX_N_THROWS,
};

struct cxx_place {
	uint64_t offset;  /* in the file */
	uint64_t address; /* in the file's own address space; 0: there is no such place */
	uint64_t counter; /* offset in the file of its USDT semaphore; 0: none */
	/*
	 * Where the object and its std::type_info, or type in Python, are: enum dp_register and 1; 0: not
	 * known. Once it was thrown, the type is known by the object.
	 */
	uint32_t object, type;
	uint32_t is_held; /* 1: the address of what points to the object is in its place */
	uint32_t text;    /* where in a str of Python its text is; 0: not known */
};

struct cxx_runtime {
	struct cxx_place throws[CXX_N_THROWS];
	uint64_t what[DP_MAX_WHATS]; /* addresses of their pointers to what() (DP_WHATS); 0: none */
	uint32_t hides;              /* it is there, but nothing tells where: enum cxx_hidden */
};

enum cxx_hidden {
	CXX_HIDES_NONE,
	CXX_HIDES_CXX,
	CXX_HIDES_PYTHON,
};

/* True if it throws anything that can be seen. */
bool cxx_runtime_throws(const struct cxx_runtime *runtime);

/*
 * Finds it in a file, which is also open as fd. 0, or -ENOENT: the file does not throw itself, as
 * most do not.
 */
int cxx_runtime_find(const struct elf_file *file, int fd, struct cxx_runtime *ret);

/* May it be one that this program has made? */
bool cxx_runtime_is_sound(const struct cxx_runtime *runtime);

#endif
