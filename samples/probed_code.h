/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SAMPLES_PROBED_CODE_H
#define DP_SAMPLES_PROBED_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/elf_file.h"

struct frame;
struct sample;
struct snapshot;

struct code_extent {
	uint64_t offset, size; /* in the file */
};

/* The functions of a file whose calls label samples. */
struct probed_code {
	uint64_t device, inode;
	char build_id
		[ELF_BUILD_ID_SIZE]; /* by which it is recognised through an overlay; "": none */
	size_t list;                 /* the first of the lists of values of its calls */
	size_t n;
	uint64_t starts[DP_MAX_SPAN_PLACES]; /* in the file */
	struct dp_span_places places;
	struct code_extent
		*maybe; /* code that may belong to one of their calls; the owner frees it */
	size_t n_maybe;
};

/* Whether two of them have a function in common. */
bool probed_code_is_shared(const struct probed_code *a, const struct probed_code *b);

/*
 * Whether one of their calls may be on the stack of a sample, which was walked with the mappings of a
 * snapshot. The kernel only knows calls that began after the probe was set. True if a frame is in one of
 * the functions, or if the process maps the file and the walk is incomplete.
 */
bool probed_code_may_run(const struct probed_code *code, const struct snapshot *snapshot,
			 const struct sample *sample);

/*
 * Whether another call may be nested in the one that the kernel has found to be innermost: one that runs code
 * which the kernel does not know to belong to the functions.
 */
bool probed_code_may_hide(const struct probed_code *code, const struct snapshot *snapshot,
			  const struct sample *sample);

/*
 * Marks the innermost frame in one of the functions, whose call labels the sample, with the number of a
 * probe, or all frames in them. frames: the sample's.
 */
void probed_code_mark(const struct probed_code *code, const struct snapshot *snapshot,
		      const struct sample *sample, unsigned int probe, bool all,
		      struct frame *frames);
/*
 * The CFA of the innermost frame in one of the functions, by the CFAs of all frames, and the number of
 * its function. 0: there is none, or it is not known.
 */
uint64_t probed_code_cfa(const struct probed_code *code, const struct snapshot *snapshot,
			 const struct sample *sample, const uint64_t *cfas, size_t *ret_place);

#endif
