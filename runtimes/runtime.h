/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_RUNTIME_H
#define DP_RUNTIMES_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "elf/elf_file.h"
#include "limits/limits.h"

/*
 * The runtimes of languages whose functions are not native code. Each has a folder with a struct
 * runtime_source, a row in runtime.c, a kind in bpf/runtime_layout.h, and a bounded step in the kernel
 * that sends its frames with a sample (bpf/runtime.h).
 */

/* Longer names are cut. */
#define RUNTIME_NAME_SIZE 512

/* A function as a runtime knows it, with what gives the lines of positions in it. */
struct runtime_code {
	char function[RUNTIME_NAME_SIZE]; /* UTF-8 */
	char file[RUNTIME_NAME_SIZE];     /* "": not known */
	unsigned int first_line;          /* 0: not known */
	size_t lines_size;
	uint8_t lines[]; /* in the runtime's own form */
};

/* Reads memory of a process: 0 or a negative errno. */
struct runtime_memory {
	int (*read)(void *arg, void *ret, size_t size, uint64_t address);
	void *arg;
	/* Reads from here on see memory as it is now; NULL: all do */
	void (*forget)(void *arg);
};

struct runtime_source {
	enum dp_method method; /* of its frames */
	uint64_t kinds; /* bits of positions that say what code is; the others, where in it */
	uint64_t near;  /* the bit that expand() sets for functions of a place nearby; 0: none */
	const char *unloaded; /* in place of the name of code that is not there any more */
	/*
	 * Recognises it in a file, by what that defines and contains, and learns its layout. 0, -ENOENT
	 * if the file has none, or -ENOTSUP for a version that is not known.
	 */
	int (*find)(const struct elf_file *file,
		    struct dp_runtime_image *ret); /* NULL: not in files */
	size_t layout_size; /* of what is called layout below: of a struct dp_runtime_image or another */
	/*
	 * Reads the code of a frame, which the caller frees with free(). What is read may be anything: the
	 * result is bounded. 0; -ESTALE if there is other code now; or an error of reading.
	 */
	int (*read)(const void *layout, const struct dp_runtime_frame *frame,
		    const struct runtime_memory *memory, struct runtime_code **ret);
	/*
	 * The functions at a frame's position, innermost first, if several have been compiled into one:
	 * frames that read() takes, the first one perhaps with `near`. Their number, at most
	 * RUNTIME_MAX_INLINED; 0: it has none but its own, or they are not known; -ESTALE: there is other
	 * code now; or an error of reading.
	 */
	int (*expand)(const void *layout, const struct dp_runtime_frame *frame,
		      const struct runtime_memory *memory,
		      struct dp_runtime_frame *ret); /* NULL: no code has any */
	/* The line of a frame's position in its code; 0: it has none. */
	unsigned int (*line)(const void *layout, const struct runtime_code *code,
			     const struct dp_runtime_frame *frame);
	/* Likewise the column in that line, in the language's characters. */
	unsigned int (*column)(const void *layout, const struct runtime_code *code,
			       const struct dp_runtime_frame *frame); /* NULL: none is known */
};

extern const struct runtime_source runtime_python, runtime_hotspot, runtime_v8, runtime_ruby,
	runtime_php, runtime_perl;

/* By enum dp_runtime_kind; NULL: there is none. */
const struct runtime_source *runtime_source(unsigned int kind);

/*
 * Tries all: the kind that was found, with DP_RUNTIME_UNKNOWN if its version is not known and *ret says
 * nothing; or DP_RUNTIME_NONE.
 */
unsigned int runtime_find(const struct elf_file *file, struct dp_runtime_image *ret);

#endif
