// SPDX-License-Identifier: Apache-2.0
#include "kernel/span_counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "dwarfprof.skel.h"
#include "kernel/session.h"

/* Of one that is removed meanwhile, the kernel begins again: max bounds that. */
static int count_keys(const struct bpf_map *map, uint64_t max, uint64_t *ret)
{
	uint64_t key = 0, next;
	void *last = NULL;

	for (*ret = 0; *ret < max; ++*ret) {
		if (bpf_map_get_next_key(bpf_map__fd(map), last, &next) < 0)
			return errno == ENOENT ? 0 : -errno;
		key = next;
		last = &key;
	}
	return 0;
}

static uint64_t rest(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

int span_counts_forgotten(const struct session *s, struct span_counts *ret)
{
	struct span_counts left = { 0 };
	int err = count_keys(s->bpf->maps.dp_spans, DP_MAX_SPAN_THREADS, &left.n_threads);

	if (err == 0)
		err = count_keys(s->bpf->maps.dp_span_code, DP_MAX_SPAN_PROCESSES,
				 &left.n_processes);
	if (err < 0)
		return err;
	ret->n_threads = rest(s->bpf->bss->dp_span_threads, left.n_threads);
	ret->n_processes = rest(s->bpf->bss->dp_span_processes, left.n_processes);
	return 0;
}

static void add_times(struct dp_span_times *to, const struct dp_span_times *from)
{
	to->n_begun += from->n_begun;
	to->n_long += from->n_long;
	to->n_unknown += from->n_unknown;
	for (size_t i = 0; i < DP_SPAN_STEPS; i++)
		to->n_returned[i] += from->n_returned[i];
}

int session_span_times(const struct session *s, struct dp_span_times *ret)
{
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ struct dp_span_times *of = NULL;
	const uint32_t zero = 0;

	*ret = (struct dp_span_times){ 0 };
	if (n_cpus < 0)
		return n_cpus;
	of = calloc((size_t)n_cpus, sizeof(*of));
	if (!of)
		return -ENOMEM;
	if (bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.dp_span_times), &zero, of) < 0)
		return -errno;
	for (int i = 0; i < n_cpus; i++)
		add_times(ret, &of[i]);
	return 0;
}
