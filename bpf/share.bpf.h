/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_SHARE_BPF_H
#define DP_BPF_SHARE_BPF_H

/* The share of a sample's process (share.h). Included by dwarfprof.bpf.c. */

/* True if the process is over its share: its walks are short, and so are copies of its stacks. */
PORT_GLOBAL int walk_is_short(struct scratch *s)
{
	if (!s || !share_is_taken(&s->shares, s->walk.out.sample.pid, s->walk.out.sample.time_ns))
		return 0;
	if (s->max_chunks > SHARE_FREE_CHUNKS)
		s->max_chunks = SHARE_FREE_CHUNKS;
	return 1;
}

/* Counts a walk that took long, or copied much. */
PORT_GLOBAL int walk_charge(struct scratch *s, int is_short)
{
	struct dp_sample *sample;

	if (!s)
		return 0;
	sample = &s->walk.out.sample;
	if (is_short && sample->outcome == DP_WALK_LIMIT)
		sample->outcome = DP_WALK_SHARE;
	share_charge(&s->shares, sample->pid, sample->time_ns, bpf_ktime_get_ns());
	return 0;
}

#endif
