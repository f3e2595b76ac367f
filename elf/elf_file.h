/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_ELF_FILE_H
#define DP_ELF_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "cfi/entry.h"
#include "go/go_file.h"
#include "tables/image.h"

/*
 * An ELF file as far as unwinding needs it: where its segments go, its
 * identity, and its unwind information. The file is mapped, not read: one that
 * is cut off meanwhile reads as zeros behind its end (bus_guard.h).
 */

/* One PT_LOAD. */
struct elf_segment {
	uint64_t offset; /* in the file */
	uint64_t address;
	uint64_t file_size;
	bool executable;
	uint64_t align; /* of the address; 0 or 1: any */
};

/* A section of code whose bytes the file has; without section headers, a segment. */
struct elf_section {
	const char *name; /* in the file */
	uint64_t address, size;
	const uint8_t *bytes; /* in the file */
};

/*
 * Where the unwind information is from. Compilers write .eh_frame; where they
 * were told not to, there may be a .debug_frame, also in a separate file.
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

/* The machine whose files are taken, as `uname -m` calls it. */
#define ELF_ARCH DP_ARCH

/* A build id in hex. Linkers make 8 to 20 bytes; a longer one, given by hand, is cut. */
#define ELF_BUILD_ID_SIZE (2 * 20 + 1)

struct elf_file {
	struct Elf *elf, *debug; /* debug: the separate file, or NULL */
	struct elf_segment *segments;
	size_t n_segments;
	struct elf_section *code_sections; /* by address */
	size_t n_code_sections, code_sections_size;
	struct code_range *ranges;        /* their bytes */
	struct image_extent code;         /* from the first to the last executable byte */
	char build_id[ELF_BUILD_ID_SIZE]; /* "" if there is none */
	/* A word of the mapped file that sets it apart from others, and its address; 0: none */
	uint64_t cookie, cookie_address;
	struct cfi_section cfi; /* size 0 if there is none */
	enum elf_source source; /* of cfi */
	struct go_file go;      /* Go's own tables; empty if there are none */
	/* Its functions are between these; the same, if it has none */
	uint64_t go_start, go_end;
	const char *packer; /* who has packed it (packed.h), or NULL */
};

/*
 * Read the ELF file behind fd, or in size bytes of memory. The caller keeps
 * fd and the memory, and both only while *ret is used. Separate files are
 * looked for only where there is an fd. Returns 0 or
 * -ENOMEM, -ENOEXEC for what is no ELF program or library, -ENOTSUP for one of
 * another machine, -EBADMSG for one that is damaged.
 */
int elf_file_init_fd(struct elf_file *ret, int fd);
int elf_file_init_memory(struct elf_file *ret, const void *data, size_t size);
void elf_file_done(struct elf_file *file);

#endif
