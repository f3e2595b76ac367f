/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_SYMBOLIZED_H
#define DP_REPORT_SYMBOLIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/profile.h"
#include "report/report.h"

enum symbolized_kind {
	SYMBOLIZED_USER,
	SYMBOLIZED_KERNEL,
	SYMBOLIZED_MARK, /* no frame, but what is to be known of the stack: `[truncated: ...]` */
};

/* A function as reports show it. A frame is one of these, or several where functions were inlined. */
struct symbolized_frame {
	enum symbolized_kind kind;
	bool is_named;    /* `name` is that of a function */
	bool is_sought;   /* a name was looked for, where there could be one */
	bool is_inlined;  /* into the next one, its caller */
	bool has_start;   /* it has no name, but it is known where it begins */
	bool is_call;     /* the address is a return address: the call is before it */
	const char *name; /* of the function, else what frame_label() makes; never NULL */
	const char *
		binary; /* path of the file; of the kernel: REPORT_KERNEL or its module; NULL: not known */
	struct module *module;     /* of user code; NULL: not in a known binary */
	uint64_t address;          /* in the module's own address space where there is one */
	uint64_t start;            /* in that, too */
	const char *file, *dir;    /* NULL: not known; see struct source_location */
	unsigned int line, column; /* 0: not known */
};

/* A whole stack of them, the leaf first. The memory is used again for the next one. */
struct symbolized_stack {
	struct symbolized_frame *items;
	size_t n, size;
};

void symbolized_stack_done(struct symbolized_stack *stack);

/* What else is wanted of a stack, or'ed. */
enum symbolized_wanted {
	SYMBOLIZED_LINES = 1,  /* files and lines are looked up */
	SYMBOLIZED_LABELS = 2, /* each label of its set is a mark, `[key=value]` */
};

/*
 * All that is to be shown of a stack: `[off-cpu S]` with --wall, the kernel's functions,
 * the user's, a mark at the root of a stack that is not whole, and behind that, labels. The names
 * and files live as long as the report, or if it streams, until the next sample. 0 or -ENOMEM.
 */
int symbolized_stack_make(struct report *report, const struct stack *stack, unsigned int wanted,
			  struct symbolized_stack *ret);

/* The same, of a sample. */
int symbolized_stack_make_sample(struct report *report, const struct sample *sample,
				 unsigned int wanted, struct symbolized_stack *ret);

#endif
