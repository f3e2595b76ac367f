/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_SHARE_BPF_H
#define DP_BPF_SHARE_BPF_H

/* The share of a sample's process (share.h). Included by dwarfprof.bpf.c. */

/* share_of_rate() */
const volatile __u64 dp_share_ns;

/* If the process is over its share, the walk is to be short, and so are copies and lists of frames. */
PORT_GLOBAL int walk_shorten(struct scratch *s)
{
	if (!s || !share_is_taken(&s->shares, s->walk.out.sample.pid, s->walk.out.sample.time_ns,
				  dp_share_ns))
		return 0;
	s->walk.at.cost = WALK_MAX_COST - SHARE_FREE_COST;
	s->walk.runtime.is_short = 1;
	if (s->max_chunks > SHARE_FREE_CHUNKS)
		s->max_chunks = SHARE_FREE_CHUNKS;
	return 0;
}

/* Counts a sample that took long: its walk, what was copied, or read. */
PORT_GLOBAL int sample_charge(struct scratch *s)
{
	const struct dp_sample *sample;

	if (!s)
		return 0;
	sample = &s->walk.out.sample;
	share_charge(&s->shares, sample->pid, sample->time_ns, bpf_ktime_get_ns(), dp_share_ns);
	return 0;
}

#endif
