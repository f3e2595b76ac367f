// SPDX-License-Identifier: Apache-2.0
#include "runtimes/exports.h"

#include <errno.h>
#include <string.h>

#include "elf/elf_tls.h"

struct finder {
	const char *const *names;
	size_t n;
	struct elf_symbol *to;
};

static int on_symbol(void *arg, const struct elf_symbol *s)
{
	const struct finder *f = arg;

	for (size_t i = 0; i < f->n; i++)
		if (strcmp(s->name, f->names[i]) == 0)
			f->to[i] = *s;
	return 0;
}

void exports_find(const struct elf_file *file, const char *const *names, size_t n,
		  struct elf_symbol *ret)
{
	struct finder f = { names, n, ret };

	memset(ret, 0, n * sizeof(*ret));
	elf_symbols_each(file, false, on_symbol, &f);
}

struct loop {
	const char *name;
	struct dp_runtime_range *ranges;
	size_t n;
};

static int on_loop(void *arg, const struct elf_symbol *s)
{
	struct loop *loop = arg;
	size_t length = strlen(loop->name);

	if (!s->is_function || s->size == 0 || loop->n == DP_RUNTIME_RANGES ||
	    strncmp(s->name, loop->name, length) != 0 ||
	    (s->name[length] != '\0' && s->name[length] != '.'))
		return 0;
	for (size_t i = 0; i < loop->n; i++)
		if (loop->ranges[i].start == s->address)
			return 0;
	loop->ranges[loop->n++] =
		(struct dp_runtime_range){ s->address, s->address + s->size, true };
	return 0;
}

int exports_find_loop(const struct elf_file *file, const char *name,
		      struct dp_runtime_range ret[DP_RUNTIME_RANGES])
{
	struct loop loop = { name, ret, 0 };

	memset(ret, 0, DP_RUNTIME_RANGES * sizeof(*ret));
	elf_symbols_each(file, false, on_loop, &loop);
	elf_symbols_each(file, true, on_loop, &loop);
	return loop.n > 0 ? 0 : -ENOTSUP;
}

int exports_find_variable(const struct elf_file *file, const char *name, struct dp_chain *ret)
{
	struct dp_tls tls;

	elf_tls_find(file, name, &tls);
	if (tls.kind == DP_TLS_NONE)
		return -ENOENT;
	ret->place = tls.kind;
	ret->variable = tls.value;
	return 0;
}
