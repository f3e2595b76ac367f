/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_KERNEL_TRACE_RECORD_H
#define DP_KERNEL_TRACE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct btf;
struct btf_type;

/* The record that a kernel event passes to the program, and its readable fields. */
enum trace_field_kind {
	TRACE_FIELD_NUMBER,
	TRACE_FIELD_POINTER,
	TRACE_FIELD_TEXT,    /* the bytes are in the record, and end with a zero */
	TRACE_FIELD_LOCATED, /* the first 16 bits are the text's offset in the record */
	TRACE_FIELD_OTHER,   /* cannot be read */
	TRACE_FIELD_NOWHERE, /* an argument whose location is not known */
};

#define TRACE_NAME_SIZE 128

struct trace_field {
	char name[64];
	enum trace_field_kind kind;
	uint32_t offset, size; /* bytes */
	bool is_signed;
	uint32_t type; /* its number in the record's types; 0: not known */
};

struct trace_record {
	struct btf *btf; /* of the kernel; NULL: not known */
	struct trace_field *fields;
	size_t n, size;
	bool is_numbered; /* the fields are arguments, which may also be called arg1, arg2, ... */
	bool is_syscall;  /* the program has chosen what the fields point to */
};

/* The most arguments of a tracepoint or function: MAX_BPF_FUNC_ARGS, include/linux/bpf.h */
#define TRACE_MAX_ARGUMENTS 12

/* All fill in *ret, which trace_record_done() frees, also after an error. 0 or a negative errno. */

/*
 * From a file `format` of tracefs (Documentation/trace/events.rst). The first 8 bytes of the record
 * are not the program's to see (perf_trace_run_bpf_submit(), kernel/events/core.c). Of a system call,
 * it sees only what the record has always had: its texts are at the pointers.
 */
int trace_record_read(FILE *format, bool is_syscall, struct trace_record *ret);
/*
 * Of a function: its parameters, by the types in a file (kernel_types.h). -ENOENT: it has no type.
 * Of a tracepoint by its name: what it passes, of any type if that is not known.
 */
int trace_record_of_function(const char *path, const char *function, struct trace_record *ret);
int trace_record_of_tracepoint(const char *path, const char *name, struct trace_record *ret);
/* Makes the registers at a function's entry (struct pt_regs) its record instead. */
void trace_record_use_registers(struct trace_record *record);
void trace_record_done(struct trace_record *record);

/* A type without its qualifiers and names; NULL: not known. */
const struct btf_type *trace_type(const struct btf *btf, uint32_t id);
/* Sets type, kind, size and sign of a field. */
void trace_type_describe(const struct btf *btf, uint32_t id, struct trace_field *field);

/* NULL: there is none. number: from 1; 0: by name. */
const struct trace_field *trace_record_find(const struct trace_record *record, const char *name,
					    unsigned int number);
/* Writes "dfd, filename, flags". */
void trace_record_list(const struct trace_record *record, FILE *to);

#endif
