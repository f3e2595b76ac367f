/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_FORMATS_CODE_MAPPINGS_H
#define DP_FORMATS_CODE_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/code_pages.h"
#include "report/profile.h"
#include "report/symbolized.h"
#include "symbols/module.h"

/* The file name by which readers recognise the kernel. */
#define CODE_MAPPING_KERNEL "[kernel.kallsyms]"

/*
 * Where the code of samples is, for formats that list it separately from the stacks: a mapping for
 * each executable segment of a binary, in the binary's own address space, and one for the kernel.
 */
struct code_mapping {
	uint64_t number;             /* from 1; 0: unused */
	const struct module *module; /* NULL: the kernel */
	const char *hash;            /* of its file (file_hash.h); "": not known */
	struct code_pages range;
	bool is_used;
	/* For the format: whether all of its locations have these */
	bool has_functions, has_files, has_lines;
};

struct code_mappings {
	struct code_mappings_binary *binaries; /* by module, in the order of first use */
	struct code_mapping **mappings;        /* the used ones, by number - 1, after numbering */
	size_t n;
	bool hashes; /* set by the user: they are needed */
};

void code_mappings_done(struct code_mappings *list);

/* Stores where the binaries of a sample are, while their files are still open. 0 or -ENOMEM. */
int code_mappings_add(struct code_mappings *list, const struct sample *sample);

/* Counts the code of a stack whose samples were added. 0 or -ENOMEM. */
int code_mappings_use(struct code_mappings *list, const struct stack *stack);

/*
 * Numbers the used mappings. The first are those of the profiled program: the binary that most
 * stacks of processes with its name have code in. 0 or -ENOMEM.
 */
int code_mappings_number(struct code_mappings *list);

/* Finds the mapping of code that was counted. NULL: it is in no file, or a mark. */
struct code_mapping *code_mappings_find(const struct code_mappings *list,
					const struct symbolized_frame *symbolized);

/* The kernel names processes after the first 15 bytes of their files: is this one the binary's? */
bool code_mapping_is_called(const struct module *module, const char *comm);

#endif
