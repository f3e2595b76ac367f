// SPDX-License-Identifier: Apache-2.0
#include "functions/function_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_functions.h"

#define COLD ".cold"

/* A function with one of the names. */
struct named {
	size_t name;
	uint64_t unit, offset;
};

struct part {
	struct named of; /* its own unit and offset */
	uint64_t size;
	bool has_number;
	char *symbol;
	bool is_sure; /* of this function: */
	uint64_t owner;
};

struct parts {
	uint64_t *starts; /* of the listed functions, ascending */
	size_t n_starts, starts_size;
	char **names; /* that these functions have, in order, each once */
	size_t n_names, names_size;
	struct named *named; /* by name, unit and offset, each once */
	size_t n_named, named_size;
	struct part *all;
	size_t n_all, all_size;
};

static void parts_done(struct parts *p)
{
	for (size_t i = 0; i < p->n_names; i++)
		free(p->names[i]);
	for (size_t i = 0; i < p->n_all; i++)
		free(p->all[i].symbol);
	free(p->starts);
	free(p->names);
	free(p->named);
	free(p->all);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_starts(const void *a, const void *b)
{
	return compare_numbers(*(const uint64_t *)a, *(const uint64_t *)b);
}

static bool is_listed(const struct parts *p, uint64_t offset)
{
	return p->n_starts > 0 &&
	       bsearch(&offset, p->starts, p->n_starts, sizeof(*p->starts), compare_starts) != NULL;
}

static int take_starts(struct parts *p, const struct function_list *list)
{
	struct listed_function f;

	for (size_t at = 0; function_list_next(list, &at, &f);) {
		if (f.kind != LISTED_FUNCTION)
			continue;
		if (array_reserve(p->starts, p->n_starts, p->starts_size) < 0)
			return -ENOMEM;
		p->starts[p->n_starts++] = f.offset;
	}
	if (p->n_starts > 0)
		qsort(p->starts, p->n_starts, sizeof(*p->starts), compare_starts);
	return 0;
}

static int note_name(void *arg, const struct elf_function *f)
{
	struct parts *p = arg;
	char *name;

	if (!is_listed(p, f->offset))
		return 0;
	name = strndup(f->symbol, strcspn(f->symbol, "@"));
	if (!name || array_reserve(p->names, p->n_names, p->names_size) < 0) {
		free(name);
		return -ENOMEM;
	}
	p->names[p->n_names++] = name;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_names(struct parts *p)
{
	size_t n = 0;

	if (p->n_names > 0)
		qsort(p->names, p->n_names, sizeof(*p->names), compare_names);
	for (size_t i = 0; i < p->n_names; i++) {
		if (n > 0 && strcmp(p->names[i], p->names[n - 1]) == 0)
			free(p->names[i]);
		else
			p->names[n++] = p->names[i];
	}
	p->n_names = n;
}

struct text {
	const char *at;
	size_t n;
};

static int compare_text(const void *key, const void *name)
{
	const struct text *text = key;
	const char *other = *(char *const *)name;
	int order = strncmp(text->at, other, text->n);

	return order != 0 ? order : -(other[text->n] != '\0');
}

/* The number of the name that is the first n bytes of a symbol. False: it is none. */
static bool find_name(const struct parts *p, const char *symbol, size_t n, size_t *ret)
{
	const struct text key = { symbol, n };
	char **found =
		p->n_names ? bsearch(&key, p->names, p->n_names, sizeof(*p->names), compare_text) :
			     NULL;

	if (found)
		*ret = (size_t)(found - p->names);
	return found != NULL;
}

/* The length of the name of the function that a symbol is of a part of; 0: it is of none. */
static size_t find_base(const char *symbol, bool *ret_has_number)
{
	const char *end = symbol + strlen(symbol), *at = end;

	while (at > symbol && at[-1] >= '0' && at[-1] <= '9')
		at--;
	*ret_has_number = at > symbol && at < end && at[-1] == '.';
	end = *ret_has_number ? at - 1 : end;
	if (end - symbol <= (ptrdiff_t)strlen(COLD) ||
	    strncmp(end - strlen(COLD), COLD, strlen(COLD)) != 0)
		return 0;
	return (size_t)(end - symbol) - strlen(COLD);
}

static int add_part(struct parts *p, const struct elf_function *f, const struct part *part)
{
	if (array_reserve(p->all, p->n_all, p->all_size) < 0)
		return -ENOMEM;
	p->all[p->n_all] = *part;
	p->all[p->n_all].symbol = strdup(f->symbol);
	return p->all[p->n_all++].symbol ? 0 : -ENOMEM;
}

static int note_function(void *arg, const struct elf_function *f)
{
	struct parts *p = arg;
	struct part part = { .of = { 0, f->unit, f->offset }, .size = f->size };
	size_t n = find_base(f->symbol, &part.has_number);

	if (n > 0)
		return find_name(p, f->symbol, n, &part.of.name) ? add_part(p, f, &part) : 0;
	if (!find_name(p, f->symbol, strcspn(f->symbol, "@"), &part.of.name))
		return 0;
	if (array_reserve(p->named, p->n_named, p->named_size) < 0)
		return -ENOMEM;
	p->named[p->n_named++] = part.of;
	return 0;
}

static int compare_named(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	return compare_numbers(x->name, y->name)         ?:
		       compare_numbers(x->unit, y->unit) ?:
							   compare_numbers(x->offset, y->offset);
}

static void sort_named(struct parts *p)
{
	size_t n = 0;

	if (p->n_named > 0)
		qsort(p->named, p->n_named, sizeof(*p->named), compare_named);
	for (size_t i = 0; i < p->n_named; i++)
		if (n == 0 || compare_named(&p->named[i], &p->named[n - 1]) != 0)
			p->named[n++] = p->named[i];
	p->n_named = n;
}

/* The first that is not before this one. */
static size_t lower_bound(const struct parts *p, const struct named *wanted)
{
	size_t low = 0, high = p->n_named;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_named(&p->named[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many functions have a name in units first to last. *ret: where the first of them is. */
static size_t count(const struct parts *p, size_t name, uint64_t first, uint64_t last,
		    uint64_t *ret)
{
	const struct named begin = { name, first, 0 }, end = { name, last, UINT64_MAX };
	size_t from = lower_bound(p, &begin), to = lower_bound(p, &end);

	if (from < to)
		*ret = p->named[from].offset;
	return to - from;
}

static void find_owner(const struct parts *p, struct part *part)
{
	size_t name = part->of.name, n = count(p, name, part->of.unit, part->of.unit, &part->owner);

	if (n == 0)
		n = count(p, name, 0, 0, &part->owner);
	if (n == 0)
		n = count(p, name, 0, UINT64_MAX, &part->owner);
	part->is_sure = n == 1;
}

static int compare_owners(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return compare_numbers(y->is_sure, x->is_sure)     ?:
		       compare_numbers(x->owner, y->owner) ?:
		       compare_numbers(x->of.offset, y->of.offset);
}

static bool have_one_owner(const struct part *a, const struct part *b)
{
	return a->is_sure && b->is_sure && a->owner == b->owner;
}

/* A function has one such part. */
static bool is_only_one(const struct parts *p, size_t i)
{
	return (i == 0 || !have_one_owner(&p->all[i], &p->all[i - 1])) &&
	       (i + 1 == p->n_all || !have_one_owner(&p->all[i], &p->all[i + 1]));
}

static int add_to_list(const struct parts *p, struct function_list *list)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < p->n_all; i++) {
		const struct part *part = &p->all[i];
		struct listed_function f = {
			LISTED_MAYBE_PART, part->of.offset, part->size, part->symbol, "", 0
		};

		if (part->is_sure && !is_listed(p, part->owner))
			continue;
		if (part->is_sure && !part->has_number && is_only_one(p, i)) {
			f.kind = LISTED_PART;
			f.of = part->owner;
		}
		err = function_list_add(list, &f);
	}
	return err;
}

int function_parts_add(int fd, struct function_list *list)
{
	_cleanup_(parts_done) struct parts p = { 0 };
	int err = take_starts(&p, list);

	if (err == 0 && p.n_starts > 0)
		err = elf_functions_each(fd, note_name, &p);
	sort_names(&p);
	if (err == 0 && p.n_names > 0)
		err = elf_functions_each(fd, note_function, &p);
	sort_named(&p);
	for (size_t i = 0; i < p.n_all; i++)
		find_owner(&p, &p.all[i]);
	if (p.n_all > 0)
		qsort(p.all, p.n_all, sizeof(*p.all), compare_owners);
	return err < 0 ? err : add_to_list(&p, list);
}
