/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_PCLNTAB_H
#define DP_GO_PCLNTAB_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The table with which a Go program's runtime walks stacks and finds names (runtime/symtab.go,
 * internal/abi/symtab.go). The linker writes it into every program, even a stripped one. Its
 * layouts:
 *
 *   0xfffffffa  Go 1.16, 1.17
 *   0xfffffff0  Go 1.18, 1.19
 *   0xfffffff1  Go 1.20 and later
 *
 * All reads are bounded by the table; its contents are not trusted.
 */

enum pclntab_layout { PCLNTAB_GO_1_16, PCLNTAB_GO_1_18, PCLNTAB_GO_1_20 };

struct pclntab {
	const uint8_t *data; /* from the header on; owned by the caller */
	uint64_t size;
	enum pclntab_layout layout;
	uint64_t text; /* functions' addresses are relative to this; in Go 1.16, 0 */
	uint64_t n_functions;
	/* Offsets of the parts */
	uint64_t names, units, files, values, functions;
};

/* internal/abi/symtab.go, FuncFlag. Go 1.16 has none, Go 1.17 only the first two. */
enum pclntab_flag {
	PCLNTAB_TOP_FRAME = 1, /* stacks end here, as in Go's own traces */
	PCLNTAB_SP_WRITE = 2,  /* it loads the stack pointer in a way that the table cannot
	                        * describe */
	PCLNTAB_ASM = 4,
};

struct pclntab_function {
	uint64_t start; /* in the file's own address space */
	uint64_t next;  /* start of the next function */
	const char *name;
	uint8_t id; /* FuncID; its numbering depends on the version; 0: an ordinary function */
	uint8_t flags;
	uint32_t sp, file, line; /* in the values' part; 0: none */
	uint32_t unit;           /* base of its files' numbers */
	/* Further values, and data outside the table, by number */
	uint64_t more;
	uint32_t n_values;
	uint8_t n_data;
};

/* internal/abi/symtab.go: inlined functions */
#define PCLNTAB_VALUES_INLINED 2
#define PCLNTAB_DATA_INLINED 3

/* A value, which holds in the address range [start, end). */
struct pclntab_value {
	uint64_t start, end;
	int64_t value;
};

/* A sequence of values in ascending order, without gaps, from a function's start. */
struct pclntab_values {
	const struct pclntab *table;
	uint64_t at; /* 0: it has ended */
	struct pclntab_value last;
};

/*
 * Reads the header of a table. `text` is the address of Go's code; 0: use the header's, which is
 * empty since Go 1.26. 0, or -EBADMSG if it is no such table.
 */
int pclntab_init(struct pclntab *ret, const uint8_t *data, uint64_t size, uint64_t text);

/* Returns a function by number; they are in ascending order. 0 or -EBADMSG. */
int pclntab_function(const struct pclntab *t, uint64_t number, struct pclntab_function *ret);

/* Finds the function of an address. 0, -ENOENT or -EBADMSG. */
int pclntab_find(const struct pclntab *t, uint64_t address, struct pclntab_function *ret);

/* Starts reading values of a function at an offset in the values' part, such as `sp`. */
void pclntab_values_init(struct pclntab_values *ret, const struct pclntab *t,
			 const struct pclntab_function *f, uint32_t offset);
/* False: there are no more, or they are unreadable. */
bool pclntab_values_next(struct pclntab_values *values);

/* Offset in the values' part of further values, such as PCLNTAB_VALUES_INLINED; 0: none. */
uint32_t pclntab_more_values(const struct pclntab *t, const struct pclntab_function *f,
			     uint32_t number);

/*
 * Finds data of a function, such as PCLNTAB_DATA_INLINED: its offset in go:func.*, in Go 1.16 its
 * address. False: there is none.
 */
bool pclntab_data(const struct pclntab *t, const struct pclntab_function *f, uint32_t number,
		  uint64_t *ret);

/* The function name at an offset of the names' part, or NULL. */
const char *pclntab_name(const struct pclntab *t, int32_t offset);

/* The source file with a number from f->file's values; NULL if not known. */
const char *pclntab_file(const struct pclntab *t, const struct pclntab_function *f, int64_t number);

/*
 * The end of a function's last instruction: the bytes up to the next function are padding. The
 * function's start, if the table does not say.
 */
uint64_t pclntab_function_end(const struct pclntab *t, const struct pclntab_function *f);

#endif
