/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RECORDING_INTERN_TABLE_H
#define DP_RECORDING_INTERN_TABLE_H

#include "base/hash.h"
#include "recording/recording.h"
#include "recording/recording_reader.h"
#include "report/bytes.h"

/* The records of a recording that samples refer to by number. */

/*
 * A binary, even if stated several times, or a kernel function. They are never freed: reports refer
 * to them.
 */
struct interned_module {
	UT_hash_handle hh;     /* by its record */
	struct module *module; /* owned */
	size_t size;
	uint8_t record[];
};

struct interned_function {
	UT_hash_handle hh; /* by its record */
	uint64_t start;
	char *name, *module; /* "": the kernel itself */
	size_t size;
	uint8_t record[];
};

/* A JIT function. Never freed either. */
struct interned_compiled {
	UT_hash_handle hh; /* by its record */
	uint64_t located;  /* for jit_find() */
	size_t size;
	uint8_t record[];
};

/* Records of a kind that is read each time a sample refers to one. */
struct interned_records {
	struct interned_record **items;
	size_t n, size;
};

struct intern_table {
	const struct recording_options *options;
	struct interned_module *all_modules;
	struct interned_function *all_functions;
	struct interned_compiled *all_compiled;
	struct module
		*compiled_module; /* owned; the module of all JIT functions; NULL: not made yet */
	size_t kept;              /* memory of these */
	/* By number, since the last forget */
	struct interned_module **modules;
	size_t n_modules, modules_size;
	struct interned_function **functions;
	size_t n_functions, functions_size;
	struct interned_compiled **compiled;
	size_t n_compiled, compiled_size;
	struct interned_records records[RECORDING_N_TAGS];
	size_t memory;
};

/* The caller keeps the options. */
void intern_table_init(struct intern_table *table, const struct recording_options *options);
void intern_table_done(struct intern_table *table);

/*
 * Adds a record of a module, whose file is looked for, or of another numbered kind. 0, -ENOMEM, or
 * -EBADMSG for an invalid record, or an invalid number.
 */
int intern_table_add(struct intern_table *table, enum recording_tag tag, const struct view *record);

/* Restarts all numbering. */
void intern_table_forget(struct intern_table *table);

/* Returns the record with a number; sets `failed` in `v` if there is none. */
struct view intern_table_find(const struct intern_table *table, enum recording_tag tag,
			      uint64_t number, struct view *v);

#endif
