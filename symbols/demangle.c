// SPDX-License-Identifier: Apache-2.0
#include "demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Longer names stay as they are: the demangler's time grows faster than they do. */
#define MAX_MANGLED 4096

/* Length of the name without the endings of clones, and without a version. */
static size_t plain_length(const char *symbol)
{
	static const char *const endings[] = { ".constprop.", ".isra.", ".part.", ".cold",
					       ".llvm." };
	const char *version = strchr(symbol, '@');
	size_t length = version && version != symbol ? (size_t)(version - symbol) : strlen(symbol);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *at = strstr(symbol, endings[i]);

		if (at && at != symbol && (size_t)(at - symbol) < length)
			length = (size_t)(at - symbol);
	}
	return length;
}

char *demangle(const char *symbol)
{
	_cleanup_free_ char *plain = strndup(symbol, plain_length(symbol));
	char *name = NULL;

	if (!plain)
		return NULL;
	if (strlen(plain) <= MAX_MANGLED) {
		/* Rust's first: its older scheme is C++'s with a hash at the end. */
		if (strncmp(plain, "_R", 2) == 0 || strncmp(plain, "_ZN", 3) == 0)
			name = rust_demangle(plain, DMGL_NO_OPTS);
		if (!name && strncmp(plain, "_Z", 2) == 0)
			name = cplus_demangle_v3(plain, DMGL_ANSI);
	}
	return name ? name : steal_ptr(plain);
}
