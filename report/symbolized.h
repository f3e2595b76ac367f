/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_SYMBOLIZED_H
#define DP_REPORT_SYMBOLIZED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/frame_kind.h"
#include "report/profile.h"
#include "report/report.h"

enum symbolized_kind {
	SYMBOLIZED_USER,
	SYMBOLIZED_KERNEL,
	SYMBOLIZED_MARK, /* not a frame but a fact about the stack: `[truncated: ...]` */
};

/* A function as reports show it. A frame has several if functions were inlined. */
struct symbolized_frame {
	enum symbolized_kind kind;
	bool is_named;            /* `name` is a function's */
	bool is_sought;           /* a name was looked for */
	bool is_inlined;          /* into the next one */
	bool is_near;             /* see frame_is_near() */
	bool has_start;           /* it has no name, but a known start */
	bool is_call;             /* the address is a return address: the call is before it */
	enum frame_kind language; /* of no mark: what kind of code it is */
	const char *name;         /* of the function, else from frame_label(); never NULL */
	const char
		*binary; /* path of the file; REPORT_KERNEL or a kernel module; NULL: not known */
	struct module *module; /* of user code; NULL: in no known binary */
	uint64_t address;      /* in the module's own address space if there is one */
	uint64_t start;        /* likewise */
	uint32_t frame; /* the number, from 1, of the user frame whose last function it is; or 0 */
	const char *file, *dir;    /* NULL: not known; see struct source_location */
	unsigned int line, column; /* 0: not known */
};

/* A whole stack, leaf first. The memory is reused for the next one. */
struct symbolized_stack {
	struct symbolized_frame *items;
	size_t n, size;
};

void symbolized_stack_done(struct symbolized_stack *stack);

/* Optional parts of a stack, or'ed. */
enum symbolized_wanted {
	SYMBOLIZED_LINES = 1,  /* look up files and lines */
	SYMBOLIZED_LABELS = 2, /* add a mark `[key=value]` for each label of its set */
};

/*
 * Makes everything shown of a stack: `[off-cpu S]` with --wall, the kernel's functions, the user's,
 * a mark at the root of an incomplete stack, and then labels. Names and files live as long as the
 * report; if it streams, until the next sample. 0 or -ENOMEM.
 */
int symbolized_stack_make(struct report *report, const struct stack *stack, unsigned int wanted,
			  struct symbolized_stack *ret);

/* The same for a sample. */
int symbolized_stack_make_sample(struct report *report, const struct sample *sample,
				 unsigned int wanted, struct symbolized_stack *ret);

/* Stands for frames in the middle of a stack that are left out (report_context.max_frames). */
extern const struct symbolized_frame symbolized_cut;

/*
 * Which of n locations to show if there may be only that many: the leaf's and the root's halves stay,
 * and a mark is between them. Returns how many of the leaf's; *ret_skipped after them are left out.
 */
size_t symbolized_keep(size_t n, size_t max, size_t *ret_skipped);

/* The address of a frame's code: a caller's is inside its call. */
uint64_t symbolized_code_address(const struct symbolized_frame *symbolized);

/* Counts the functions of the first address of n shown ones: each is inlined into the next. */
size_t symbolized_n_functions(const struct symbolized_frame *symbolized, size_t n);

/*
 * Whether formats that list addresses separately give this one, with n functions, their names.
 * Readers may look up names that nobody has looked up. If we have, each address has a function: for
 * one without, readers would replace the names of its whole mapping, and of inlined functions.
 * Marks have no address.
 */
bool symbolized_has_name(const struct symbolized_frame *symbolized, size_t n);

#endif
