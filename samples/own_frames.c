// SPDX-License-Identifier: Apache-2.0
#include "samples/own_frames.h"

#include <string.h>

#include "base/array.h"
#include "symbols/kallsyms.h"

#define MAX_OWN_FRAMES 8

/*
 * How their names begin: include/trace/bpf_probe.h, include/trace/perf.h, kernel/trace/bpf_trace.c,
 * kernel/trace/trace_syscalls.c, kernel/bpf/trampoline.c.
 */
static const char *const names[] = {
	"bpf_prog_",   "bpf_trace_run",  "__bpf_trace_",   "bpf_trampoline_", "__traceiter_",
	"perf_trace_", "trace_call_bpf", "perf_call_bpf_", "perf_syscall_",
};

static const char *name_of(const struct kallsyms *kallsyms, uint64_t return_address)
{
	uint64_t offset;

	return kallsyms_find(kallsyms, return_address - 1, &offset);
}

static bool is_own(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(names); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * The program itself may have no name. Others of these names may follow further out: the place may be
 * traced while another program runs.
 */
size_t own_frames(const struct kallsyms *kallsyms, const __u64 *kernel, size_t n)
{
	size_t most = n < MAX_OWN_FRAMES ? n : MAX_OWN_FRAMES, unnamed = 0, i;

	if (!kallsyms)
		return 0;
	while (unnamed < most && !name_of(kallsyms, kernel[unnamed]))
		unnamed++;
	for (i = unnamed; i < most && is_own(name_of(kallsyms, kernel[i]));)
		i++;
	return i > unnamed ? i : 0;
}
