/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_BASE_LIBRARY_H
#define DP_BASE_LIBRARY_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

/*
 * A library that is loaded when first needed: loading it with its dependencies takes longer than starting a profile,
 * and each helper would load it, too (sandbox/helper.h).
 */

/* A function's name, and where the pointer to it is in a struct of such pointers. */
struct library_function {
	const char *name;
	size_t at;
};

/*
 * Loads the library and sets the pointers in the struct at `ret`. 0, or -ENOSYS if it is not
 * installed or lacks one of the functions. It stays loaded.
 */
static inline int library_load(const char *soname, const struct library_function *functions,
			       size_t n_functions, void *ret)
{
	void *handle = dlopen(soname, RTLD_NOW);

	if (!handle)
		return -ENOSYS;
	for (size_t i = 0; i < n_functions; i++) {
		void **to = (void **)(void *)((char *)ret + functions[i].at);

		*to = dlsym(handle, functions[i].name);
		if (!*to)
			return -ENOSYS;
	}
	return 0;
}

#endif
