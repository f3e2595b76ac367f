// SPDX-License-Identifier: Apache-2.0
#include "samples/span_list.h"

#include <stdbool.h>
#include <string.h>

#include "report/sample.h"
#include "samples/probed_code.h"

/* All that the kernel may send, and one in front. */
#define MAX_SENT (DP_MAX_SPANS + 1)

static void add_innermost(struct span_list *list, uint64_t begin_ns)
{
	memmove(list->begins + 1, list->begins, list->n * sizeof(*list->begins));
	list->begins[0] = begin_ns;
	list->n++;
}

/* User space does not believe the walk, from some frame on. */
static void cut(struct span_list *list)
{
	list->root = 0;
	if (list->begins[list->n - 1] && list->n < MAX_SENT)
		list->begins[list->n++] = 0;
}

static bool knows_some(const struct span_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->begins[i])
			return true;
	return false;
}

void span_list_take(const struct probed_code *code, const struct dp_spans *raw,
		    const struct snapshot *snapshot, const struct sample *sample,
		    struct span_list *ret)
{
	*ret = (struct span_list){ 0 };
	if (raw) {
		ret->n = raw->n < MAX_SENT ? raw->n : MAX_SENT;
		ret->root = raw->root;
		memcpy(ret->begins, raw + 1, ret->n * sizeof(*ret->begins));
	}
	if (!snapshot) {
		ret->root = 0; /* a frame may be one of a call that is not in the list */
	} else if (!knows_some(ret)) {
		ret->n = probed_code_may_run(code, snapshot, sample);
		ret->begins[0] = 0;
	} else {
		if (sample->outcome != DP_COMPLETE)
			cut(ret);
		if (ret->begins[0] && probed_code_may_hide(code, snapshot, sample))
			add_innermost(ret, 0);
	}
}
