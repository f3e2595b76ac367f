/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SANDBOX_PARSE_H
#define DP_SANDBOX_PARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cache/file_digest.h"
#include "elf/code_lines.h"
#include "elf/elf_facts.h"
#include "elf/elf_file.h"
#include "functions/allocator.h"
#include "functions/function_search.h"
#include "sandbox/container_file.h"
#include "sandbox/process_context.h"
#include "sandbox/table_view.h"
#include "symbols/jit_reader.h"
#include "tables/image.h"
#include "values/cxx_runtime.h"
#include "values/parameters.h"
#include "values/usdt.h"

/*
 * All that parsers do with the contents of files. It opens no files: it gets descriptors, and returns
 * values and bytes that belong to the caller. So it can run in a process that has nothing else
 * (parser.h), or in this one if there is no such process.
 */

enum parse_kind {
	PARSE_FACTS, /* of the file */
	PARSE_IMAGE, /* of its unwind information */
	PARSE_SAME,  /* do the file and the other one result in the same image? By these digests */
	PARSE_DEBUG, /* is the other file the separate debug file of the first? */
	PARSE_PARAMETERS,   /* where are parameters of a function? */
	PARSE_USDT,         /* its USDT probes */
	PARSE_FUNCTIONS,    /* its functions with a name */
	PARSE_JIT,          /* what does it say about code that a process generates? */
	PARSE_DIGEST,       /* of all its bytes, whatever they are */
	PARSE_TABLE_DIGEST, /* of what its image is made of (table_digest.h) */
	PARSE_CONTAINER,    /* what does a runtime's file say about a container? */
	PARSE_CONTEXT,      /* a process context, in a copy of the process's memory */
	PARSE_CXX,          /* where its C++ runtime, or Python, throws (cxx_runtime.h) */
	PARSE_ALLOCATOR,    /* its allocator (allocator.h) */
	PARSE_TYPE, /* a type as in the source, from a file with the name in its std::type_info */
	PARSE_BUILD_ID, /* of any ELF file, in facts.origin; "": it has none */
	PARSE_TABLE,    /* a view of its unwind table (table_view.h); and as FACTS, what it lacks */
	PARSE_CODE,     /* its instructions as text (code_lines_read()) */
	PARSE_OBJECT, /* as a program, what a compiler says of code in memory (elf/jit_object.h) */
	PARSE_DUMP,   /* as a program, a jitdump's unwind information (symbols/jit_unwind.h) */
	PARSE_N_KINDS,
};

struct parse_request {
	enum parse_kind kind;
	int fd; /* of the file; the caller keeps both */
	int other; /* FACTS, IMAGE, TABLE, PARAMETERS: its debug file, for its unwind information or names; or -1 */
	/* User of the process that has the files; for files only referred to (O_PATH), which need parsers_ask() */
	uid_t user;
	/* PARAMETERS: where the function begins in the file, and at most DP_MAX_ARGUMENTS; 0: a list of all */
	uint64_t offset;
	const struct parameter_wanted *wanted;
	size_t n_wanted;
	/* FUNCTIONS */
	struct function_query functions;
	/* JIT: read from this position on, with names demangled in this style */
	enum jit_kind jit_kind;
	struct jit_position position;
	enum names_demangle style;
	const char *container_id; /* CONTAINER; shorter than CONTAINER_ID_SIZE */
	enum table_rows rows;     /* TABLE */
	uint64_t start, end;      /* CODE: addresses in the file */
	/*
	 * How long a parser may compute, and sleep over a file that may not answer, in ns. 0: PARSERS_CPU_NS,
	 * and PARSERS_STUCK of it
	 */
	uint64_t cpu_ns, stuck_ns;
	const bool *ends; /* set, atomically, by who does not wait any longer; NULL: nobody */
};

/* Longer names of types remain as they are. */
#define PARSE_TYPE_SIZE 1024

/* The name of a debug file, as in .gnu_debuglink. */
#define PARSE_LINK_SIZE 256

struct parse_result {
	/* FACTS */
	struct elf_facts facts;
	/* And TABLE */
	bool lacks_cfi;                   /* its debug file may have unwind information */
	char debug_link[PARSE_LINK_SIZE]; /* "": none */
	uint32_t debug_link_checksum;
	/* SAME, DEBUG */
	bool is_so;
	/* PARAMETERS */
	struct parameter parameters[DP_MAX_ARGUMENTS];
	struct enumerators names; /* of their values, or the list of parameters_list() */
	/* USDT */
	struct usdt_place *usdt;
	size_t n_usdt;
	/* FUNCTIONS */
	struct function_list functions;
	/* JIT: as jit_file_read() */
	bool has_more;
	struct jit_position position;
	struct jit_pieces pieces;
	/* DIGEST, TABLE_DIGEST */
	struct file_digest digest;
	/* CONTAINER */
	struct container_names container;
	/* CONTEXT */
	struct process_context *context;
	struct cxx_runtime cxx;     /* CXX */
	struct allocator allocator; /* ALLOCATOR */
	char type[PARSE_TYPE_SIZE]; /* TYPE */
	/* TABLE */
	struct table_view *table;
	size_t table_size; /* in bytes */
	/* CODE */
	struct code_line *lines;
	size_t n_lines;
	/* OBJECT, DUMP */
	uint8_t *object;
	size_t object_size;
	/* IMAGE: without the list of refusals */
	struct image image;
};

/*
 * Serves a request in this process. 0, or errors of elf_file_init_fd(), image_build(), parameters_find(),
 * usdt_find(), function_search(), file_digest_read(), container_file_read() and
 * process_context_read(); -ENODATA: it has no C++ runtime, or no name of a type.
 * parse_result_done() frees *ret, which is empty on failure.
 */
int parse_here(const struct parse_request *request, struct parse_result *ret);
void parse_result_done(struct parse_result *result);

/* The facts of a file in memory, which the caller keeps; and its image. Errors as above. */
int parse_memory(enum parse_kind kind, const void *bytes, size_t size, struct parse_result *ret);

#endif
