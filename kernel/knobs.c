// SPDX-License-Identifier: Apache-2.0
#include "kernel/knobs.h"

#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

#include "bpf/share.h"
#include "kernel/filter.h"
#include "kernel/kernel_types.h"
#include "kernel/ring_size.h"
#include "kernel/session.h"
#include "symbols/kallsyms.h"
#include "dwarfprof.skel.h"

/* Does not create maps of unused filters: no loaded program refers to them. */
static void set_filter(struct dwarfprof_bpf *bpf, const struct session_options *options)
{
	const struct filter *f = options->filter;

	bpf->rodata->dp_by_cpu = f->cpus != NULL;
	bpf->rodata->dp_by_user = f->user != NULL;
	bpf->rodata->dp_by_cgroup = f->cgroup != NULL;
	bpf->rodata->dp_by_comm = f->comm != NULL;
	bpf->rodata->dp_by_thread = options->n_threads > 0;
	memcpy((void *)bpf->rodata->dp_cpus, f->mask, sizeof(f->mask));
	bpf->rodata->dp_user = f->uid;
	bpf_map__set_autocreate(bpf->maps.dp_cgroup, f->cgroup != NULL);
	bpf_map__set_autocreate(bpf->maps.dp_other_comms, f->comm != NULL);
	bpf_map__set_autocreate(bpf->maps.dp_threads, options->n_threads > 0);
	if (options->n_threads > 0)
		bpf_map__set_max_entries(bpf->maps.dp_threads, (uint32_t)options->n_threads);
}

/* Is the program for this kind of event to be loaded? */
static bool loads(const struct session_options *options, enum dp_event event)
{
	return options->needs.programs >> event & 1;
}

static void set_off_cpu(struct dwarfprof_bpf *bpf, const struct session_options *options)
{
	bpf_program__set_autoload(bpf->progs.dp_switch, loads(options, DP_EVENT_OFF_CPU));
	if (!loads(options, DP_EVENT_OFF_CPU))
		return;
	bpf->rodata->dp_min_block_ns = options->min_block_ns;
	bpf->rodata->dp_max_block_ns = options->max_block_ns;
	bpf->rodata->dp_states = options->states;
	bpf->rodata->dp_own_pid = (uint32_t)getpid();
	bpf->rodata->dp_has_prev_state = kernel_types_have_prev_state(options->btf);
	bpf_map__set_max_entries(bpf->maps.dp_blocked, DP_MAX_BLOCKED);
}

/* If no CPU's event may interrupt them, they have the only rings. */
static void set_rings(struct dwarfprof_bpf *bpf, const struct session_options *options)
{
	const unsigned int n_rings = options->needs.rings_per_cpu * options->n_cpus;

	bpf->rodata->dp_ring_size = ring_size(n_rings);
	if (loads(options, DP_EVENT_OFF_CPU) || loads(options, DP_EVENT_CRASH) ||
	    options->needs.has_slots)
		bpf->rodata->dp_off_cpu_rings =
			(options->needs.rings_per_cpu - 1) * options->n_cpus;
}

/* Without entries, it is not made. */
static void set_map(struct bpf_map *map, unsigned int n_entries)
{
	bpf_map__set_autocreate(map, n_entries > 0);
	if (n_entries > 0)
		bpf_map__set_max_entries(map, n_entries);
}

/* A CPU that adds one sets aside up to so many entries (LOCAL_FREE_TARGET, kernel/bpf/bpf_lru_list.c). */
#define LRU_SET_ASIDE 128

/* How many entries the map is sure to take before it evicts one. */
static uint32_t owners_kept(void)
{
	const int n_cpus = libbpf_num_possible_cpus();

	if (n_cpus <= 0 || n_cpus >= DP_MAX_SPAN_OWNERS / LRU_SET_ASIDE)
		return 0;
	return DP_MAX_SPAN_OWNERS - (uint32_t)n_cpus * LRU_SET_ASIDE;
}

static void set_values(struct dwarfprof_bpf *bpf, const struct session_needs *needs,
		       unsigned int n_walks)
{
	bpf->rodata->dp_has_values = needs->has_values;
	bpf->rodata->dp_has_times = needs->has_times;
	bpf->rodata->dp_has_spans = needs->label_probes > 0;
	bpf->rodata->dp_label_probes = needs->label_probes;
	bpf->rodata->dp_has_span_times = needs->has_span_times;
	bpf->rodata->dp_span_min_ns = needs->span_min_ns;
	set_map(bpf->maps.dp_arguments,
		needs->has_values || needs->label_probes > 0 || needs->has_exceptions ?
			DP_MAX_ARGUMENT_LISTS :
			0);
	set_map(bpf->maps.dp_value_room, needs->has_values ? n_walks : 0);
	bpf->rodata->dp_has_exceptions = needs->has_exceptions;
	bpf->rodata->dp_has_slots = needs->has_slots;
	set_map(bpf->maps.dp_call_begins, needs->has_times ? DP_MAX_CALLS : 0);
	set_map(bpf->maps.dp_span_times, needs->has_span_times ? 1 : 0);
	/* There is one of each always: before Linux 6.8, global functions are verified if not called, too. */
	set_map(bpf->maps.dp_whats, needs->has_exceptions ? DP_MAX_ARGUMENT_LISTS : 1);
	set_map(bpf->maps.dp_spans, needs->label_probes > 0 ? DP_MAX_SPAN_THREADS : 1);
	set_map(bpf->maps.dp_probes, needs->has_slots ? DP_MAX_PROBES : 1);
	set_map(bpf->maps.dp_probe_rates, needs->has_slots ? DP_MAX_PROBES : 1);
	set_map(bpf->maps.dp_span_code, needs->label_probes > 0 ? DP_MAX_SPAN_PROCESSES : 1);
	bpf->rodata->dp_span_owners_kept = owners_kept();
	set_map(bpf->maps.dp_span_owners, needs->label_probes > 0 ? DP_MAX_SPAN_OWNERS : 1);
}

static void set_allocs(struct dwarfprof_bpf *bpf, const struct session_needs *needs,
		       unsigned int n_walks)
{
	bool has_allocs = needs->programs >> DP_EVENT_ALLOC & 1;

	bpf_program__set_autoload(bpf->progs.dp_begin_alloc, has_allocs);
	bpf_program__set_autoload(bpf->progs.dp_end_alloc, has_allocs);
	set_map(bpf->maps.dp_alloc_calls, has_allocs ? DP_MAX_ALLOC_THREADS : 0);
	set_map(bpf->maps.dp_held, has_allocs ? DP_MAX_HELD : 0);
	set_map(bpf->maps.dp_alloc_counts, has_allocs ? 1 : 0);
	if (!has_allocs)
		return;
	bpf->rodata->dp_alloc_interval = needs->alloc_interval;
	bpf->rodata->dp_has_values = true;
	set_map(bpf->maps.dp_value_room, n_walks);
}

/* Where processes start others while calls of theirs label samples. Times are those of calls that begin. */
static bool inherits_calls(const struct session_options *options)
{
	const struct session_needs *needs = &options->needs;

	return needs->label_probes > 0 && (needs->has_slots || !needs->has_span_times) &&
	       (options->inherit || options->all_processes);
}

/* A stack with as many frames as there can be, and those of the kernel, has no room for values. */
static unsigned int max_frames(const struct session_options *options)
{
	const unsigned int most = DP_MAX_FRAMES - DP_MAX_KERNEL_FRAMES;

	return loads(options, DP_EVENT_TRACE) && options->needs.has_values &&
			       options->max_frames > most ?
		       most :
		       options->max_frames;
}

/* With all processes, what the profiler does with a sample would be the next sample, without end. */
static void leave_out_own(struct dwarfprof_bpf *bpf, const struct session_options *options)
{
	if ((loads(options, DP_EVENT_TRACE) || loads(options, DP_EVENT_ALLOC)) &&
	    options->all_processes)
		bpf->rodata->dp_own_pid = (uint32_t)getpid();
}

void knobs_set(struct dwarfprof_bpf *bpf, const struct session_options *options)
{
	const struct session_needs *needs = &options->needs;
	unsigned int n_cpus = options->n_cpus;

	bpf->rodata->dp_all_processes = options->all_processes;
	bpf->rodata->dp_inherit = options->inherit;
	bpf->rodata->dp_not_inherited = (uint32_t)options->not_inherited;
	bpf->rodata->dp_unwind = options->unwind;
	bpf->rodata->dp_max_frames = max_frames(options);
	bpf->rodata->dp_levels = needs->levels;
	bpf->rodata->dp_share_ns = share_of_rate(options->hz);
	bpf->rodata->dp_verify = options->verify;
	bpf->rodata->dp_by_period = needs->by_period;
	bpf->rodata->dp_has_several = needs->has_several;
	bpf->rodata->dp_sides = options->sides;
	bpf->rodata->dp_runtimes = !options->no_runtimes;
	bpf->rodata->dp_has_cgroups = options->has_cgroups;
	bpf->rodata->dp_jit = options->sides != DP_SIDES_KERNEL && options->unwind != DP_UNWIND_FP;
	bpf->rodata->dp_kernel_hidden = options->sides != DP_SIDES_USER && !needs->user_only &&
					kallsyms_are_hidden("/proc/kallsyms");
	bpf->rodata->dp_pid_namespace = session_pid_namespace();
	set_filter(bpf, options);
	set_off_cpu(bpf, options);
	set_rings(bpf, options);
	leave_out_own(bpf, options);
	bpf->rodata->dp_max_rate = options->max_rate;
	if (options->max_rate > 0)
		bpf_map__set_max_entries(bpf->maps.dp_rates, DP_N_EVENTS * DP_RATE_SLOTS);
	bpf->rodata->dp_has_uprobes = loads(options, DP_EVENT_UPROBE) ||
				      loads(options, DP_EVENT_ALLOC) || needs->label_probes > 0;
	set_values(bpf, needs, n_cpus * needs->levels);
	set_allocs(bpf, needs, n_cpus * needs->levels);
	bpf_map__set_max_entries(bpf->maps.dp_rings, n_cpus * needs->rings_per_cpu);
	bpf_map__set_max_entries(bpf->maps.dp_losses, n_cpus);
	bpf_map__set_max_entries(bpf->maps.dp_scratch, n_cpus * needs->levels);
	bpf_program__set_autoload(bpf->progs.dp_sample_cpu, loads(options, DP_EVENT_CPU));
	bpf_program__set_autoload(bpf->progs.dp_sample_uprobe, loads(options, DP_EVENT_UPROBE));
	bpf_program__set_autoload(bpf->progs.dp_begin_span, needs->label_probes > 0);
	bpf_program__set_autoload(bpf->progs.dp_crash, loads(options, DP_EVENT_CRASH));
	bpf_program__set_autoload(bpf->progs.dp_sample_trace, loads(options, DP_EVENT_TRACE));
	bpf_program__set_autoload(bpf->progs.dp_fork_span, inherits_calls(options));
	bpf_program__set_autoload(bpf->progs.dp_exec_span, needs->label_probes > 0);
	bpf_program__set_autoload(bpf->progs.dp_end_span, needs->has_span_times);
}
