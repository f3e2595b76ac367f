// SPDX-License-Identifier: Apache-2.0
/*
 * usage: programs_loaded [-t|-l]
 *
 * Loads each BPF program of the profiler separately, but dp_end_span with dp_begin_span, set up as in a
 * run, and prints its sizes, tab-separated: instructions in the object, instructions processed by the
 * verifier, and bytes after the kernel's translation and after its JIT compiler; with -t also the time to
 * load it, in milliseconds, with -l as with calls that label samples, those of exceptions too. Needs root.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "bpf/abi.h"
#include "kernel/filter.h"
#include "kernel/knobs.h"
#include "kernel/session.h"
#include "dump.skel.h"
#include "dwarfprof.skel.h"

DEFINE_CLEANUP(struct dump_bpf *, dump_bpf__destroy)
DEFINE_CLEANUP(struct dwarfprof_bpf *, dwarfprof_bpf__destroy)

/* As session_open() sets it up with default options for this program. */
static void set_up(struct dwarfprof_bpf *bpf, const struct bpf_program *program, bool with_spans)
{
	bool is_uprobe = program == bpf->progs.dp_sample_uprobe;
	bool is_switch = program == bpf->progs.dp_switch;
	bool is_crash = program == bpf->progs.dp_crash;
	bool is_trace = program == bpf->progs.dp_sample_trace;
	bool is_alloc = program == bpf->progs.dp_begin_alloc || program == bpf->progs.dp_end_alloc;
	struct session_options options = {
		.n_cpus = 1,
		.needs = {
			.programs = 1U << (is_uprobe ? DP_EVENT_UPROBE :
					   is_switch ? DP_EVENT_OFF_CPU :
					   is_crash  ? DP_EVENT_CRASH :
					   is_trace  ? DP_EVENT_TRACE :
					   is_alloc  ? DP_EVENT_ALLOC :
						       DP_EVENT_CPU),
			.levels = is_uprobe || is_alloc ? DP_UPROBE_LEVELS : DP_CPU_LEVELS,
			.rings_per_cpu = 1,
			.label_probes = with_spans ? DP_MAX_LABEL_PROBES :
					program == bpf->progs.dp_begin_span ||
						program == bpf->progs.dp_end_span,
			.has_span_times = with_spans || program == bpf->progs.dp_end_span,
			.has_values = with_spans && is_uprobe,
			.has_exceptions = with_spans && is_uprobe,
			.has_slots = with_spans,
		},
		.inherit = true,
		.unwind = DP_UNWIND_AUTO,
		.max_frames = 1024,
		.states = 1U << DP_STATE_SLEEPING | 1U << DP_STATE_DISK_SLEEP,
	};
	struct filter filter;
	struct bpf_program *other;

	filter_init(&filter);
	options.filter = &filter;
	knobs_set(bpf, &options);
	bpf_object__for_each_program(other, bpf->obj)
		bpf_program__set_autoload(other, other == program);
	/* Which keeps more of each call then. */
	bpf_program__set_autoload(bpf->progs.dp_begin_span,
				  program == bpf->progs.dp_begin_span ||
					  program == bpf->progs.dp_end_span);
	filter_done(&filter);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* ms: time to load it; negative: do not print it. */
static int print_program(const struct bpf_program *program, double ms)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) < 0)
		return -errno;
	printf("%s\t%zu\t%u\t%u\t%u", bpf_program__name(program), bpf_program__insn_cnt(program),
	       info.verified_insns, info.xlated_prog_len, info.jited_prog_len);
	if (ms >= 0)
		printf("\t%.0f", ms);
	printf("\n");
	return 0;
}

/* Returns 1 if there is no program of that number. */
static int load_program(size_t number, bool with_time, bool with_spans)
{
	_cleanup_(dwarfprof_bpf__destroyp) struct dwarfprof_bpf *bpf = dwarfprof_bpf__open();
	struct bpf_program *program, *wanted = NULL;
	double start;
	size_t i = 0;
	int err;

	if (!bpf)
		return -errno;
	bpf_object__for_each_program(program, bpf->obj) if (i++ == number) wanted = program;
	if (!wanted)
		return 1;
	set_up(bpf, wanted, with_spans);
	start = now_ms();
	err = dwarfprof_bpf__load(bpf);
	return err < 0 ? err : print_program(wanted, with_time ? now_ms() - start : -1);
}

/* The program of `dwarfprof dump` has an object of its own; set up as for root. */
static int load_dump(bool with_time)
{
	_cleanup_(dump_bpf__destroyp) struct dump_bpf *bpf = dump_bpf__open();
	double start;
	int err;

	if (!bpf)
		return -errno;
	bpf->rodata->dp_kernel_stacks = true;
	start = now_ms();
	err = dump_bpf__load(bpf);
	return err < 0 ? err : print_program(bpf->progs.dp_dump, with_time ? now_ms() - start : -1);
}

int main(int argc, char **argv)
{
	bool with_time = argc > 1 && strcmp(argv[1], "-t") == 0;
	bool with_spans = argc > 1 && strcmp(argv[1], "-l") == 0;
	int err = 0;

	printf("program\tinstructions\tverified\txlated\tjited%s\n", with_time ? "\tms" : "");
	for (size_t i = 0; err == 0; i++)
		err = load_program(i, with_time, with_spans);
	if (err == 1)
		err = load_dump(with_time);
	if (err < 0)
		fprintf(stderr, "programs_loaded: %s\n", strerror(-err));
	return err < 0;
}
