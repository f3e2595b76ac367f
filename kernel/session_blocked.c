// SPDX-License-Identifier: Apache-2.0
#include "kernel/session_blocked.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "kernel/session.h"
#include "dwarfprof.skel.h"

int session_add_blocked(struct session *s, uint32_t kernel_tid, const struct dp_blocked *blocked)
{
	return bpf_map_update_elem(bpf_map__fd(s->bpf->maps.dp_blocked), &kernel_tid, blocked,
				   BPF_NOEXIST);
}

void session_drop_blocked(struct session *s, uint32_t kernel_tid)
{
	bpf_map_delete_elem(bpf_map__fd(s->bpf->maps.dp_blocked), &kernel_tid);
}

bool session_has_seen(const struct session *s, uint32_t kernel_tid)
{
	struct dp_blocked blocked;

	return bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.dp_blocked), &kernel_tid, &blocked) ==
	       0;
}

int session_each_seen(const struct session *s, int (*fn)(void *, const struct dp_blocked *),
		      void *arg)
{
	int fd = bpf_map__fd(s->bpf->maps.dp_blocked), err = 0;
	uint32_t key, *last = NULL;

	while (err == 0 && bpf_map_get_next_key(fd, last, &key) == 0) {
		struct dp_blocked blocked;

		last = &key;
		if (bpf_map_lookup_elem(fd, &key, &blocked) == 0)
			err = fn(arg, &blocked);
	}
	return err;
}

struct blocked_until {
	const struct session *session;
	uint64_t until_ns;
	int (*fn)(void *arg, const struct dp_blocked *blocked, uint64_t time_ns);
	void *arg;
};

static int call_if_blocked(void *arg, const struct dp_blocked *blocked)
{
	const struct blocked_until *b = arg;
	uint64_t time_ns = b->until_ns - blocked->since_ns;

	if (blocked->since_ns == 0 || blocked->since_ns > b->until_ns ||
	    time_ns < b->session->min_block_ns || time_ns > b->session->max_block_ns)
		return 0;
	return b->fn(b->arg, blocked, time_ns);
}

int session_each_blocked(const struct session *s, uint64_t until_ns,
			 int (*fn)(void *, const struct dp_blocked *, uint64_t), void *arg)
{
	struct blocked_until b = { s, until_ns, fn, arg };

	return session_each_seen(s, call_if_blocked, &b);
}
