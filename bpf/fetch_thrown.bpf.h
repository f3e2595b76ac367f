/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_FETCH_THROWN_BPF_H
#define DP_BPF_FETCH_THROWN_BPF_H

/*
 * Brings the name of an exception's type into memory, where it may not be when the type is thrown
 * for the first time: nothing else reads it. A program that may sleep can wait for that, in the
 * thread that throws, as it would itself. It is attached after dp_sample_uprobe: the kernel calls
 * what was added last first (consumer_add(), kernel/events/uprobes.c). Included by dwarfprof.bpf.c.
 */

static __always_inline __u64 fetch_word(__u64 address)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (const void *)address) < 0)
		bpf_copy_from_user(&word, sizeof(word), (const void *)address);
	return word;
}

SEC("uprobe.s")
int dp_fetch_thrown(struct pt_regs *ctx)
{
	__u32 list = (__u32)bpf_get_attach_cookie(ctx), reg;
	const struct dp_arguments *arguments = bpf_map_lookup_elem(&dp_arguments, &list);
	const struct dp_argument *type;
	struct dp_regs regs;
	__u64 value;

	if (!arguments || regs_are_compat(REGS_COPY(&regs, ctx)))
		return 0;
	type = &arguments->of[DP_ARGUMENT_TYPE];
	reg = port_opaque((__u32)type->reg);
	if (!type->is_text || reg >= DP_N_REGISTERS)
		return 0;
	value = regs.reg[reg];
	for (__u32 i = 0; i < DP_MAX_DEREFS && i < type->n_derefs; i++)
		value = fetch_word(value + (__s64)type->derefs[i]);
	/* The name may reach into the next page. */
	fetch_word(value);
	fetch_word(value + DP_TEXT_CUT);
	return 0;
}

#endif
