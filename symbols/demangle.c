// SPDX-License-Identifier: Apache-2.0
#include "symbols/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "limits/limit_hits.h"
#include "limits/limits.h"

enum mangling mangling_find(const char *symbol)
{
	if (symbol[0] != '_')
		return MANGLING_NONE;
	switch (symbol[1]) {
	case 'Z':
		return MANGLING_CPLUS;
	case 'R':
		return MANGLING_RUST;
	case 'D':
		return MANGLING_D;
	}
	return MANGLING_NONE;
}

/* The length of the name without a version and, unless `full`, without the suffixes of clones. */
static size_t plain_length(const char *symbol, bool full)
{
	static const char *const endings[] = { ".constprop.", ".isra.", ".part.", ".cold",
					       ".llvm." };
	const char *version = strchr(symbol, '@');
	size_t length = version && version != symbol ? (size_t)(version - symbol) : strlen(symbol);

	for (size_t i = 0; !full && i < sizeof(endings) / sizeof(endings[0]); i++) {
		const char *at = strstr(symbol, endings[i]);

		if (at && at != symbol && (size_t)(at - symbol) < length)
			length = (size_t)(at - symbol);
	}
	return length;
}

/* Collects a name piece by piece until it is too long. */
struct sink {
	jmp_buf too_long;
	char *text; /* DEMANGLE_MAX_NAME bytes */
	size_t size;
};

static void sink_add(const char *piece, size_t size, void *arg)
{
	struct sink *sink = arg;

	/* The demanglers cannot be stopped; the C++ one allocates no memory here. */
	if (size >= DEMANGLE_MAX_NAME - sink->size) {
		LIMIT_HIT(DEMANGLE_MAX_NAME);
		longjmp(sink->too_long, 1);
	}
	memcpy(sink->text + sink->size, piece, size);
	sink->size += size;
}

/* libiberty's demanglers for C++ and Rust. False if the name is neither, or too long. */
static bool demangle_into(struct sink *sink, const char *symbol, bool full)
{
	const int parameters = full ? DMGL_PARAMS : DMGL_NO_OPTS;
	const enum mangling mangling = mangling_find(symbol);

	if (setjmp(sink->too_long) != 0)
		return false;
	/* Rust first: its legacy scheme looks like C++ with a hash at the end. */
	if ((mangling == MANGLING_RUST || mangling == MANGLING_CPLUS) &&
	    rust_demangle_callback(symbol, DMGL_NO_OPTS, sink_add, sink))
		return true;
	sink->size = 0;
	return mangling == MANGLING_CPLUS &&
	       cplus_demangle_v3_callback(symbol, DMGL_ANSI | parameters, sink_add, sink);
}

/* Removes the last parentheses and the rest: "std.stdio.writeln!(char).writeln(char)". */
static void cut_parameters(char *name)
{
	char *at = strrchr(name, ')');
	int depth = 0;

	for (; at && at > name; at--) {
		depth += (*at == ')') - (*at == '(');
		if (depth == 0)
			break;
	}
	if (at && at > name && at[-1] != '!')
		*at = '\0';
}

static char *demangle_d(const char *symbol, bool full)
{
	int n = 0;
	char *name;

	if (mangling_find(symbol) != MANGLING_D)
		return NULL;
	for (const char *at = strchr(symbol, 'Q'); at; at = strchr(at + 1, 'Q'))
		n++;
	if (n > DEMANGLE_MAX_D_REFERENCES) {
		LIMIT_HIT(DEMANGLE_MAX_D_REFERENCES);
		return NULL;
	}
	name = dlang_demangle(symbol, DMGL_NO_OPTS);
	if (name && !full)
		cut_parameters(name);
	return name;
}

static bool is_too_long(const char *name)
{
	if (strlen(name) <= DEMANGLE_MAX_MANGLED)
		return false;
	LIMIT_HIT(DEMANGLE_MAX_MANGLED);
	return true;
}

static char *demangle_function(const char *symbol, enum names_demangle style)
{
	bool full = style == NAMES_DEMANGLE_FULL;
	_cleanup_free_ char *plain = NULL, *text = NULL;
	struct sink sink = { .size = 0 };
	char *name;

	plain = strndup(symbol, plain_length(symbol, full));
	if (!plain || mangling_find(plain) == MANGLING_NONE || is_too_long(plain))
		return steal_ptr(plain);
	text = sink.text = malloc(DEMANGLE_MAX_NAME);
	if (!text)
		return NULL;
	if (demangle_into(&sink, plain, full))
		return strndup(text, sink.size);
	name = demangle_d(plain, full);
	return name ? name : steal_ptr(plain);
}

/* The suffix of a stub (plt.h), which is not a version. */
#define STUB "@plt"

char *demangle(const char *symbol, enum names_demangle style)
{
	_cleanup_free_ char *function = NULL, *shown = NULL;
	size_t size = strlen(symbol), ending = strlen(STUB);
	char *stub;

	if (style == NAMES_DEMANGLE_NONE)
		return strdup(symbol);
	if (size <= ending || strcmp(symbol + size - ending, STUB) != 0)
		return demangle_function(symbol, style);
	function = strndup(symbol, size - ending);
	shown = function ? demangle_function(function, style) : NULL;
	if (!shown || asprintf(&stub, "%s" STUB, shown) < 0)
		return NULL;
	return stub;
}

/* runtime/traceback.go, funcNameForPrint() */
char *demangle_go(const char *name, enum names_demangle style)
{
	const char *first = strchr(name, '['), *last = strrchr(name, ']');
	char *shown;

	if (style != NAMES_DEMANGLE_SIMPLE || !first || !last || last < first)
		return strdup(name);
	if (asprintf(&shown, "%.*s[...]%s", (int)(first - name), name, last + 1) < 0)
		return NULL;
	return shown;
}

static bool demangle_type_into(struct sink *sink, const char *name)
{
	if (setjmp(sink->too_long) != 0)
		return false;
	return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_TYPES, sink_add, sink);
}

char *demangle_type(const char *name)
{
	struct sink sink = { .size = 0 };
	_cleanup_free_ char *text = NULL;

	name += *name == '*';
	if (is_too_long(name))
		return strdup(name);
	text = sink.text = malloc(DEMANGLE_MAX_NAME);
	if (!text)
		return NULL;
	return demangle_type_into(&sink, name) ? strndup(text, sink.size) : strdup(name);
}
