/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_ANNOTATION_H
#define DP_REPORT_ANNOTATION_H

#include <stdint.h>

#include "base/hash.h"
#include "report/sample.h"
#include "report/value.h"

/* Where inside a function samples were taken, by instruction. */

struct annotation_site {
	UT_hash_handle hh;
	struct annotation_key {
		struct module *module;
		uint64_t address; /* in the module's own address space */
	} key;
	uint64_t code; /* the same, but in the call where the address is a return address */
	uint64_t value;
	uint64_t blocked; /* of it, off CPU */
	bool is_listed;   /* for whoever shows them */
};

struct annotation {
	const char *function; /* as reports show it */
	struct value value;   /* what is counted */
	uint64_t all;         /* that the samples have */
	uint64_t self;        /* of these, while the function itself ran */
	uint64_t inlined;     /* while it ran inlined into another: in no site */
	uint64_t compiled;    /* while code of it ran that is in no file: in no site either */
	struct annotation_site *sites;
};

void annotation_done(struct annotation *annotation);

/* Counts a sample. 0 or -ENOMEM. */
int annotation_add(struct annotation *annotation, const struct sample *sample);

#endif
