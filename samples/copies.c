// SPDX-License-Identifier: Apache-2.0
#include "samples/copies.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

void copies_done(struct copies *c)
{
	for (size_t i = 0; i < c->n; i++)
		stack_copy_free(c->all[i]);
	free(c->all);
	*c = (struct copies){ 0 };
}

/* Index of a sample's copy, or c->n. */
static size_t find(const struct copies *c, uint32_t tid, uint64_t time_ns)
{
	size_t i = 0;

	while (i < c->n && (c->all[i]->tid != tid || c->all[i]->time_ns != time_ns))
		i++;
	return i;
}

static struct stack_copy *take(struct copies *c, size_t i)
{
	struct stack_copy *copy = c->all[i];

	c->all[i] = c->all[--c->n];
	return copy;
}

int copies_add(struct copies *c, const struct dp_chunk *chunk)
{
	size_t i = find(c, chunk->tid, chunk->time_ns);
	int err;

	if (i < c->n)
		return stack_copy_add(&c->all[i], chunk);
	if (array_reserve(c->all, c->n, c->size) < 0)
		return -ENOMEM;
	c->all[i] = NULL;
	err = stack_copy_add(&c->all[i], chunk);
	if (c->all[i])
		c->n++;
	return err;
}

struct stack_copy *copies_take(struct copies *c, uint32_t tid, uint64_t time_ns)
{
	size_t i = find(c, tid, time_ns);

	return i < c->n ? take(c, i) : NULL;
}

void copies_forget(struct copies *c, uint64_t before)
{
	for (size_t i = c->n; i-- > 0;)
		if (c->all[i]->time_ns < before)
			stack_copy_free(take(c, i));
}
