// SPDX-License-Identifier: GPL-2.0-only
/* Times look-ups in the kernel: in the rows of an image, and in plain rows of 4 bytes. */
#include "bench/lookup_request.h"

#include "bpf/lookup_row.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

struct walk {
	struct port_world world;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LOOKUP_ADDRESSES);
	__type(key, __u32);
	__type(value, __u64);
} addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lookup_request);
} state SEC(".maps");

static __always_inline __u64 address_number(__u32 i)
{
	__u32 key = i & (LOOKUP_ADDRESSES - 1);
	__u64 *address = bpf_map_lookup_elem(&addresses, &key);

	return address ? *address : 0;
}

static struct lookup_request *get_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&state, &zero);
}

static long step_dense(__u32 i, void *ctx)
{
	struct lookup_request *s = get_state();
	struct port_world world = { 0 };

	if (!s)
		return 1;
	s->sum += lookup_rule_number(&world, s->cell, address_number(i));
	return 0;
}

static __noinline __u32 plain_rule_number(__u32 cell, __u64 address)
{
	const struct plain_table *table = port_pool(NULL, cell);
	__u16 low = address & (PLAIN_PAGE_SIZE - 1);
	const struct plain_page *page;
	const struct plain_row *rows;
	__u32 n, at = 0;
	__u64 number;

	if (!table)
		return 0;
	number = (address - table->base) >> PLAIN_PAGE_BITS;
	if (number >= table->n_pages)
		return 0;
	page = port_pool(NULL, cell + table->pages + (__u32)number);
	if (!page)
		return 0;
	n = page->n_rows;
	if (n == 0)
		return page->rule;
	rows = port_pool(NULL, cell + page->rows);
	if (!rows)
		return 0;
	for (int i = 0; i < PLAIN_SEARCH_STEPS && n > 1; i++) {
		__u32 half = n / 2;
		const struct plain_row *row = &rows[port_index(at + half, DP_SEGMENT_SLACK / 4)];

		at += half & ((__u32)is_above(row->pc, low) - 1);
		n = port_opaque(n - half);
	}
	at = port_index(at, DP_SEGMENT_SLACK / 4);
	return rows[at].pc > low ? page->rule : rows[at].rule;
}

static long step_plain(__u32 i, void *ctx)
{
	struct lookup_request *s = get_state();

	if (!s)
		return 1;
	s->sum += plain_rule_number(s->cell, address_number(i));
	return 0;
}

/* The cost of the loop itself. */
static long step_nothing(__u32 i, void *ctx)
{
	struct lookup_request *s = get_state();

	if (!s)
		return 1;
	s->sum += address_number(i);
	return 0;
}

static __always_inline int run(struct lookup_request *request, void *step)
{
	struct lookup_request *s = get_state();
	__u64 start;

	if (!s)
		return -1;
	*s = *request;
	s->sum = 0;
	start = bpf_ktime_get_ns();
	bpf_loop(request->n_lookups, step, NULL, 0);
	request->ns = bpf_ktime_get_ns() - start;
	request->sum = s->sum;
	return 0;
}

SEC("syscall")
int lookup_dense(struct lookup_request *request)
{
	return run(request, step_dense);
}

SEC("syscall")
int lookup_plain(struct lookup_request *request)
{
	return run(request, step_plain);
}

SEC("syscall")
int lookup_nothing(struct lookup_request *request)
{
	return run(request, step_nothing);
}
