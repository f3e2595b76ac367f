/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DP_BPF_FIELDS_BPF_H
#define DP_BPF_FIELDS_BPF_H

/*
 * Values of the kernel's events: fields of the record, and what they point to, in the kernel or in
 * the program. A program chooses what it passes to a system call: these pointers must not lead into
 * the kernel. Included by values.bpf.h.
 */

static __always_inline int field_base(const struct values *v, const struct dp_argument *a,
				      __u64 *ret)
{
	__u16 at = 0;
	long err = 0;

	if (a->base == DP_BASE_LOCATED)
		err = bpf_probe_read_kernel(&at, sizeof(at),
					    (const void *)(v->record + (__s64)a->derefs[0]));
	*ret = v->record + at;
	return (int)err;
}

static __always_inline int field_read(void *to, __u32 size, __u64 at, bool may_be_of_kernel)
{
	if (may_be_of_kernel && is_of_kernel(at))
		return (int)bpf_probe_read_kernel(to, size, (const void *)at);
	return (int)bpf_probe_read_user(to, size, (const void *)at);
}

#endif
