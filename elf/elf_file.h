/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_FILE_H
#define DP_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/entry.h"
#include "go/go_file.h"
#include "tables/image.h"

/*
 * What unwinding needs of an ELF file: its segments, its identity and its unwind information. The
 * file is mapped, not read; if it is truncated meanwhile, it reads as zeros behind its end
 * (bus_guard.h).
 */

/* One PT_LOAD. */
struct elf_segment {
	uint64_t offset; /* in the file */
	uint64_t address;
	uint64_t file_size, memory_size;
	bool executable, writable;
	uint64_t align; /* of the address; 0 or 1: any */
};

/* A section of code with bytes in the file; without section headers, a segment. */
struct elf_section {
	const char *name; /* in the file */
	uint64_t address, size;
	const uint8_t *bytes; /* in the file */
};

/*
 * Where the unwind information comes from. Compilers write .eh_frame. If they were told not to,
 * there may be a .debug_frame, in the file or in a separate one.
 *
 *   X(enumerator, word, section)
 */
#define ELF_SOURCES(X)                                                                             \
	X(NONE, "none", "none")                                                                    \
	X(EH_FRAME, "eh_frame", ".eh_frame")                                                       \
	X(EH_FRAME_HDR, "eh_frame_hdr", ".eh_frame (by its header)")                               \
	X(DEBUG_FRAME, "debug_frame", ".debug_frame")                                              \
	X(DEBUG_FILE, "debug_file", ".debug_frame (of a separate file)")                           \
	X(GO, "gopclntab", ".gopclntab (of Go)")

#define X(name, word, section) ELF_SOURCE_##name,
enum elf_source { ELF_SOURCES(X) ELF_N_SOURCES };
#undef X

const char *elf_source_word(enum elf_source source);
const char *elf_source_section(enum elf_source source);

/* The only machine that is supported, as in `uname -m`. */
#define ELF_ARCH DP_ARCH

/* A build id in hex. Linkers generate 8 to 20 bytes; a longer one, set by hand, is truncated. */
#define ELF_BUILD_ID_SIZE (2 * 20 + 1)

struct elf_file {
	const uint8_t *bytes; /* the whole file */
	size_t size;
	struct elf_handles *handles; /* of libelf, which keep the bytes; private */
	struct elf_segment *segments;
	size_t n_segments;
	struct elf_section *code_sections; /* by address */
	size_t n_code_sections, code_sections_size;
	struct code_range *ranges;        /* the bytes of code_sections */
	struct image_input code;          /* from the first to the last executable byte */
	char build_id[ELF_BUILD_ID_SIZE]; /* "" if there is none */
	/* A word of the mapped file that distinguishes it from others, and its address; 0: none */
	uint64_t cookie, cookie_address;
	struct cfi_section cfi; /* size 0 if there is none */
	enum elf_source source; /* of cfi */
	struct go_file go;      /* Go's own tables; empty if there are none */
	/* The range of Go's functions; empty if it has none */
	uint64_t go_start, go_end;
	/* In .gnu_debuglink, a name and a checksum; NULL: there is none */
	const char *debug_link;
	uint32_t debug_link_checksum;
	const char *packer; /* the packer's name (packed.h); NULL if it is not packed */
};

/*
 * Reads the ELF file behind fd, or in size bytes of memory. The caller keeps fd and the memory
 * until elf_file_done(). elf_file_init_fd() searches for a separate debug file if there is no other
 * unwind information; the others open no file. Return 0, -ENOMEM, -ENOEXEC if it is no ELF program
 * or library, -ENOTSUP if it is of another machine, or
 * -EBADMSG if it is damaged.
 */
int elf_file_init_fd(struct elf_file *ret, int fd);
int elf_file_init_fd_only(struct elf_file *ret, int fd);
int elf_file_init_memory(struct elf_file *ret, const void *data, size_t size);
void elf_file_done(struct elf_file *file);

/*
 * Reads only the build id, of a file of any machine and type: the one behind fd, which the caller
 * keeps, or if fd is negative, size bytes of memory. "": there is none, or it is no ELF file.
 */
void elf_file_read_build_id(int fd, const void *memory, size_t size, char ret[ELF_BUILD_ID_SIZE]);

/* Whether only a separate debug file may have unwind information for compiled code. */
bool elf_file_lacks_cfi(const struct elf_file *file);

/*
 * Uses the separate debug file behind fd, which the caller keeps open until elf_file_done(), for
 * such a file. False: it is not the file's own.
 */
bool elf_file_add_debug(struct elf_file *file, int fd);

#endif
