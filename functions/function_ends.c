// SPDX-License-Identifier: Apache-2.0
#include "functions/function_ends.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "limits/limits.h"
#include "tables/function_exits.h"

struct ends {
	int fd;
	const struct function_list *list; /* of functions and parts */
	uint64_t n_read;                  /* bytes of code so far */
	struct function_list found;
};

static bool is_code(const struct listed_function *f)
{
	return f->kind == LISTED_FUNCTION || f->kind == LISTED_PART;
}

static uint64_t owner_of(const struct listed_function *f)
{
	return f->kind == LISTED_PART ? f->of : f->offset;
}

/* Is code at an offset a function's own? What may be is not taken for another one's. */
static bool is_own(const struct function_list *list, uint64_t owner, uint64_t offset)
{
	struct listed_function f;

	for (size_t at = 0; function_list_next(list, &at, &f);) {
		bool is_its = (is_code(&f) && owner_of(&f) == owner) || f.kind == LISTED_MAYBE_PART;

		if (is_its && offset - f.offset < f.size)
			return true;
	}
	return false;
}

static uint8_t *read_code(int fd, uint64_t offset, size_t size)
{
	uint8_t *code = malloc(size);
	size_t have = 0;
	ssize_t n;

	for (; code && have < size; have += (size_t)n) {
		n = pread(fd, code + have, size - have, (off_t)(offset + have));
		if (n <= 0) {
			free(code);
			return NULL;
		}
	}
	return code;
}

static int add_exit(struct ends *e, const struct listed_function *of,
		    const struct function_exit *exit)
{
	const struct listed_function f = {
		LISTED_EXIT, exit->at, 0, of->symbol, "", owner_of(of),
	};

	/* Conditional jumps are not known to be taken. */
	if (exit->may_stay)
		return 0;
	/* At its first instruction, a function begins. */
	if (exit->at == f.of || (exit->to && is_own(e->list, f.of, exit->to)))
		return 0;
	return function_list_add(&e->found, &f);
}

static int add_exits(struct ends *e, const struct listed_function *f)
{
	_cleanup_free_ struct function_exit *exits = NULL;
	_cleanup_free_ uint8_t *code = NULL;
	size_t n;
	int err;

	if (f->size == 0 || f->size > FUNCTION_ENDS_MAX_CODE ||
	    f->size > FUNCTION_ENDS_MAX_ALL - e->n_read)
		return 0;
	code = read_code(e->fd, f->offset, f->size);
	if (!code)
		return 0;
	e->n_read += f->size;
	err = function_exits_find(code, f->offset, f->size, &exits, &n);
	if (err == -EBADMSG)
		return 0;
	for (size_t i = 0; err == 0 && i < n; i++)
		err = add_exit(e, f, &exits[i]);
	return err;
}

int function_ends_add(int fd, struct function_list *list)
{
	struct ends e = { .fd = fd, .list = list };
	struct listed_function f;
	size_t n = 0;
	int err = 0;

	for (size_t at = 0; function_list_next(list, &at, &f); n++)
		if (n == FUNCTION_ENDS_MAX_LISTED)
			return 0;
	for (size_t at = 0; err == 0 && function_list_next(list, &at, &f);)
		if (is_code(&f))
			err = add_exits(&e, &f);
	for (size_t at = 0; err == 0 && function_list_next(&e.found, &at, &f);)
		err = function_list_add(list, &f);
	function_list_done(&e.found);
	return err;
}
