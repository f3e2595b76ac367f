/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_GO_PCLNTAB_H
#define DP_GO_PCLNTAB_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What a Go program says of its own code: the table that its runtime walks stacks and
 * finds names with (runtime/symtab.go, internal/abi/symtab.go). The linker writes it into
 * every program, also into stripped ones. Its layout has a number of its own:
 *
 *   0xfffffffa  Go 1.16, 1.17
 *   0xfffffff0  Go 1.18, 1.19
 *   0xfffffff1  Go 1.20 and later
 *
 * All reads are bounded by the table; what it says is not trusted.
 */

/* Several times those of the largest programs that there are. */
#define PCLNTAB_SIZE_MAX (UINT64_C(1) << 30)
#define PCLNTAB_FUNCTIONS_MAX UINT64_C(4000000)

enum pclntab_layout { PCLNTAB_GO_1_16, PCLNTAB_GO_1_18, PCLNTAB_GO_1_20 };

struct pclntab {
	const uint8_t *data; /* from the header on; the caller's */
	uint64_t size;
	enum pclntab_layout layout;
	uint64_t text; /* functions lie at distances from here; of Go 1.16, 0 */
	uint64_t n_functions;
	/* Where the parts start */
	uint64_t names, units, files, values, functions;
};

/* internal/abi/symtab.go, FuncFlag. Go 1.16 has none, Go 1.17 only the first two. */
enum pclntab_flag {
	PCLNTAB_TOP_FRAME = 1, /* stacks end here, as far as Go's own traces go */
	PCLNTAB_SP_WRITE = 2,  /* it loads the stack pointer with what the table cannot say */
	PCLNTAB_ASM = 4,
};

struct pclntab_function {
	uint64_t start; /* in the file's own address space */
	uint64_t next;  /* where the next function starts */
	const char *name;
	uint8_t id; /* FuncID; numbered differently from version to version, 0: an ordinary one */
	uint8_t flags;
	uint32_t sp, file, line; /* of the values' part; 0: there are none */
	uint32_t unit;           /* what numbers of its files are relative to */
	/* What more is said of it, by number: values, and data outside of the table */
	uint64_t more;
	uint32_t n_values;
	uint8_t n_data;
};

/* internal/abi/symtab.go: the functions that were inlined */
#define PCLNTAB_VALUES_INLINED 2
#define PCLNTAB_DATA_INLINED 3

/* Longer names are none. */
#define PCLNTAB_NAME_MAX 65536

/* What holds in an address range: [start, end) has a value. */
struct pclntab_value {
	uint64_t start, end;
	int64_t value;
};

/* A sequence of such, in ascending order without gaps, from a function's start on. */
struct pclntab_values {
	const struct pclntab *table;
	uint64_t at; /* 0: it has ended */
	struct pclntab_value last;
};

/*
 * Read the header of a table. `text` is where Go's code starts, 0: what the header says,
 * which since Go 1.26 is nothing. 0, or -EBADMSG for what is no such table.
 */
int pclntab_init(struct pclntab *ret, const uint8_t *data, uint64_t size, uint64_t text);

/* One of the functions, which are in ascending order. 0 or -EBADMSG. */
int pclntab_function(const struct pclntab *t, uint64_t number, struct pclntab_function *ret);

/* The function that has an address, if any has. 0, -ENOENT or -EBADMSG. */
int pclntab_find(const struct pclntab *t, uint64_t address, struct pclntab_function *ret);

/* Values of a function at an offset of the values' part, such as `sp`. */
void pclntab_values_init(struct pclntab_values *ret, const struct pclntab *t,
			 const struct pclntab_function *f, uint32_t offset);
/* False: there are no more, or they cannot be read. */
bool pclntab_values_next(struct pclntab_values *values);

/* More values of a function, as PCLNTAB_VALUES_INLINED: their offset in the values' part; 0: none. */
uint32_t pclntab_more_values(const struct pclntab *t, const struct pclntab_function *f,
			     uint32_t number);

/*
 * Where data of a function is, as PCLNTAB_DATA_INLINED: how far behind go:func.*, of Go 1.16
 * an address. False: there is none.
 */
bool pclntab_data(const struct pclntab *t, const struct pclntab_function *f, uint32_t number,
		  uint64_t *ret);

/* The name of a function at an offset of the names' part; NULL if there is none. */
const char *pclntab_name(const struct pclntab *t, int32_t offset);

/* The source file of that number, which is one of f->file's values; NULL if it is not known. */
const char *pclntab_file(const struct pclntab *t, const struct pclntab_function *f, int64_t number);

/*
 * Where a function's last instruction ends: the bytes up to the next function are
 * padding. The function's start, if the table does not say.
 */
uint64_t pclntab_function_end(const struct pclntab *t, const struct pclntab_function *f);

#endif
