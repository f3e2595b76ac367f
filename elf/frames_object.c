// SPDX-License-Identifier: Apache-2.0
#include "elf/frames_object.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/arch.h"
#include "cfi/index.h"
#include "limits/limits.h"

/* Functions are this near each other, or in other memory. */
#define NEAR 4096
/* Beyond that, no table can be built. */
#define TABLE_SPAN ((uint64_t)1 << 32)

enum { NONE, EH_FRAME, NAMES, N_SECTIONS };

static const char names[] = "\0.eh_frame\0.shstrtab";

struct program {
	Elf64_Ehdr header;
	Elf64_Shdr sections[N_SECTIONS];
	char names[sizeof(names)];
};

/* Joins ranges between which there is at most `gap`. Returns their number. */
static size_t join(struct frames_code *code, size_t n, uint64_t gap)
{
	size_t last = 0;

	for (size_t i = 1; i < n; i++) {
		if (code[i].start <= code[last].end || code[i].start - code[last].end <= gap) {
			if (code[i].end > code[last].end)
				code[last].end = code[i].end;
			continue;
		}
		code[++last] = code[i];
	}
	return last + 1;
}

/* A mapping for each range would be too many. */
static size_t join_near(struct frames_code *code, size_t n)
{
	uint64_t gap = NEAR;

	n = join(code, n, gap);
	while (n > FRAMES_MAX_CODE) {
		gap *= 2;
		n = join(code, n, gap);
	}
	return n;
}

static Elf64_Ehdr make_header(size_t n)
{
	return (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = DP_ELF_MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(struct program),
		.e_shoff = offsetof(struct program, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)n,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_SECTIONS,
		.e_shstrndx = NAMES,
	};
}

static void write_program(const struct cfi_section *section, const struct frames_code *code,
			  size_t n, uint8_t *to)
{
	struct program program = { .header = make_header(n) };
	size_t frames_at = sizeof(program) + n * sizeof(Elf64_Phdr);

	program.sections[EH_FRAME] = (Elf64_Shdr){ .sh_name = 1,
						   .sh_type = SHT_PROGBITS,
						   .sh_flags = SHF_ALLOC,
						   .sh_addr = section->address,
						   .sh_offset = frames_at,
						   .sh_size = section->size,
						   .sh_addralign = 1 };
	program.sections[NAMES] = (Elf64_Shdr){ .sh_name = 11,
						.sh_type = SHT_STRTAB,
						.sh_offset = offsetof(struct program, names),
						.sh_size = sizeof(names),
						.sh_addralign = 1 };
	memcpy(program.names, names, sizeof(names));
	memcpy(to, &program, sizeof(program));
	for (size_t i = 0; i < n; i++) {
		const Elf64_Phdr segment = { .p_type = PT_LOAD,
					     .p_flags = PF_R | PF_X,
					     .p_vaddr = code[i].start,
					     .p_paddr = code[i].start,
					     .p_memsz = code[i].end - code[i].start,
					     .p_align = 1 };

		memcpy(to + sizeof(program) + i * sizeof(segment), &segment, sizeof(segment));
	}
	memcpy(to + frames_at, section->data, section->size);
}

int frames_object_make(const struct cfi_section *section, const struct frames_code *code, size_t n,
		       uint8_t **ret, size_t *ret_size)
{
	_cleanup_free_ struct frames_code *joined = calloc(n ? n : 1, sizeof(*joined));
	size_t size;

	if (n == 0 || section->size == 0)
		return -ENODATA;
	if (!joined)
		return -ENOMEM;
	memcpy(joined, code, n * sizeof(*code));
	n = join_near(joined, n);
	if (joined[n - 1].end - joined[0].start >= TABLE_SPAN)
		return -EFBIG;
	size = sizeof(struct program) + n * sizeof(Elf64_Phdr) + section->size;
	*ret = malloc(size);
	if (!*ret)
		return -ENOMEM;
	write_program(section, joined, n, *ret);
	*ret_size = size;
	return 0;
}

/* Sorted by address, as its index is. */
static size_t list_code(const struct cfi_index *index, struct frames_code *code)
{
	size_t n = 0;

	for (size_t i = 0; i < index->n_fdes; i++)
		if (index->fdes[i].end > index->fdes[i].start)
			code[n++] =
				(struct frames_code){ index->fdes[i].start, index->fdes[i].end };
	return n;
}

int frames_object_link(const uint8_t *bytes, size_t size, uint8_t **ret, size_t *ret_size)
{
	_cleanup_free_ struct frames_code *code = NULL;
	struct cfi_section section = { 0 };
	struct cfi_index index;
	struct frames_copy copy;
	int err;

	if (size < sizeof(copy))
		return -EBADMSG;
	memcpy(&copy, bytes, sizeof(copy));
	if (copy.magic != FRAMES_COPY_MAGIC)
		return -EBADMSG;
	section.data = bytes + sizeof(copy);
	section.size = size - sizeof(copy);
	section.address = copy.address;
	err = cfi_index_init(&index, &section);
	if (err < 0)
		return err;
	code = calloc(index.n_fdes ? index.n_fdes : 1, sizeof(*code));
	err = code ? frames_object_make(&section, code, list_code(&index, code), ret, ret_size) :
		     -ENOMEM;
	cfi_index_done(&index);
	return err;
}
