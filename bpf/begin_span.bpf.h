/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_BEGIN_SPAN_BPF_H
#define DP_BPF_BEGIN_SPAN_BPF_H

/*
 * Where a call begins that labels samples (spans.bpf.h), and where it returns, if its time matters
 * (span_times.bpf.h). Included by dwarfprof.bpf.c. A call may move to a CPU that is sampled, so it is
 * kept on all.
 */

/* Keeps the values of a call that begins. */
static __always_inline void span_begin(struct pt_regs *ctx, __u64 pid_tgid)
{
	struct thread_spans *t = thread_spans_of(pid_tgid);
	__u64 cookie = bpf_get_attach_cookie(ctx), cfa = DP_FRAME_CFA(REGS_SP(ctx)), old;
	__u32 n_cells, id = DP_SPAN_ID_OF(cookie);
	struct span_key *key;
	struct span *s;
	__u32 chosen;

	if (!t)
		return;
	chosen = port_index(span_choose(t, cfa, DP_SPAN_PROBE(id)), SPANS);
	key = &t->keys[chosen];
	s = &t->of[chosen];
	old = key->cfa;
	*(volatile __u64 *)&key->cfa = 0;
	if (dp_has_span_times && old != 0)
		span_give_up(key, s, old == cfa);
	REGS_COPY(&t->regs, ctx);
	t->moves[chosen] = span_code_note(pid_tgid >> 32, id, t->regs.reg[DP_REG_PC]);
	/* Behind it: what it finds is noted there. */
	span_own(cfa, pid_tgid, id);
	values_fill(&t->values, &t->regs, (__u32)cookie & 0xffff, 0, SPAN_CELLS, false);
	t->values.head.part = (struct dp_part){
		DP_RECORD_VALUES,
		(__u16)(sizeof(s->head) + t->values.n_cells * DP_CELL_SIZE),
	};
	key->id = id;
	n_cells = t->values.n_cells;
	n_cells = port_opaque(n_cells);
	key->n_cells = (__u16)n_cells;
	if (n_cells > SPAN_CELLS ||
	    copy_cells(&s->head, sizeof(s->head) + n_cells * DP_CELL_SIZE, &t->values.head) < 0)
		return;
	if (dp_has_span_times)
		span_note_begin(key, s, (__u32)pid_tgid);
	*(volatile __u64 *)&key->cfa = cfa;
}

/*
 * A call that is not kept takes the place on the stack of one that is over. A process that others have left is not
 * sampled until user space knows it, but may have inherited calls (fork_span.bpf.h).
 */
static __always_inline void span_forget(struct pt_regs *ctx, __u64 pid_tgid)
{
	struct thread_spans *t = bpf_map_lookup_elem(&dp_spans, &pid_tgid);
	__u64 cfa = DP_FRAME_CFA(REGS_SP(ctx));

	for (__u32 i = 0; t && i < SPANS; i++)
		if (t->keys[port_index(i, SPANS)].cfa == cfa)
			*(volatile __u64 *)&t->keys[port_index(i, SPANS)].cfa = 0;
}

SEC("uprobe")
int dp_begin_span(struct pt_regs *ctx)
{
	__u64 pid_tgid = current_pid_tgid();
	const __u32 *cell;

	keep_to_own_stack(ctx);
	if (bpf_get_attach_cookie(ctx) == DP_SPAN_COOKIE_MOVES) {
		span_code_move(pid_tgid >> 32);
		return 0;
	}
	if (dp_has_slots && !probe_hit(bpf_get_attach_cookie(ctx), pid_tgid >> 32))
		return 0;
	if (!is_wanted_somewhere(pid_tgid, &cell)) {
		span_forget(ctx, pid_tgid);
		return 0;
	}
	if (dp_has_slots)
		probe_count(bpf_get_attach_cookie(ctx));
	span_begin(ctx, pid_tgid);
	return 0;
}

/* At an instruction that leaves the function: its frame is the return address again, as at its start. */
SEC("uprobe")
int dp_end_span(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 pid_tgid = current_pid_tgid();
	const __u32 *cell;

	keep_to_own_stack(ctx);
	/* A call that is not kept would seem to be an earlier one, which did not return. */
	if (dp_has_slots && probe_is_over(bpf_get_attach_cookie(ctx) >> DP_PROBE_SHIFT))
		return 0;
	if (is_wanted_somewhere(pid_tgid, &cell))
		span_return(ctx, pid_tgid, now);
	return 0;
}

#endif
