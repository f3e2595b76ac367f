/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_MAPPING_H
#define DP_REPORT_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/code_pages.h"
#include "symbols/module.h"

/*
 * Where the code of samples is, for formats that list it separately from the stacks: a mapping for
 * each executable segment of a binary, in the binary's own address space, and one for the kernel.
 */
struct mapping {
	uint64_t number;             /* from 1; 0: unused */
	const struct module *module; /* NULL: the kernel */
	struct code_pages range;
	bool is_used;
	/* For the format: whether all of its locations have these */
	bool has_functions, has_files, has_lines;
};

struct mapping_list {
	struct mapping_binary *binaries; /* by module, in the order of first use */
	struct mapping **mappings;       /* the used ones, by number - 1, after numbering */
	size_t n;
};

void mapping_list_done(struct mapping_list *list);

/* Stores where a binary's code is, while its file is still open. NULL: the kernel. 0 or -ENOMEM. */
int mapping_list_add(struct mapping_list *list, const struct module *module);

/* Counts code of a stack in a binary that was added, with the name of the process. 0 or -ENOMEM. */
int mapping_list_use(struct mapping_list *list, const struct module *module, uint64_t address,
		     uint64_t count, const char *comm);

/*
 * Numbers the used mappings. The first are those of the profiled program: the binary that most
 * stacks of processes with its name have code in. 0 or -ENOMEM.
 */
int mapping_list_number(struct mapping_list *list);

/* Finds the mapping of an address that was counted. */
struct mapping *mapping_list_find(const struct mapping_list *list, const struct module *module,
				  uint64_t address);

#endif
