// SPDX-License-Identifier: Apache-2.0
#include "elf/jit_object.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/arch.h"
#include "elf/relocation.h"
#include "limits/limits.h"

/*
 * Headers are copied: in the file, they may be at any address, and be what relocations change.
 */
struct object {
	uint8_t *bytes;
	size_t size; /* of the file; the new program headers are behind it */
	Elf64_Ehdr header;
	Elf64_Shdr *sections;
	size_t symbols; /* index of the section with symbols; 0: none */
	size_t left;    /* how many more relocations it may have */
};

static bool has(const struct object *o, uint64_t offset, uint64_t size)
{
	return offset <= o->size && size <= o->size - offset;
}

/* Has it code, and says where that is? */
static bool is_placed_code(const Elf64_Shdr *s)
{
	return (s->sh_flags & SHF_ALLOC) && (s->sh_flags & SHF_EXECINSTR) && s->sh_addr != 0 &&
	       s->sh_size > 0;
}

static int check_header(const uint8_t *bytes, size_t size, Elf64_Ehdr *ret)
{
	if (size < sizeof(*ret) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	memcpy(ret, bytes, sizeof(*ret));
	if (ret->e_ident[EI_CLASS] != ELFCLASS64 || ret->e_ident[EI_DATA] != ELFDATA2LSB ||
	    ret->e_machine != DP_ELF_MACHINE)
		return -ENOTSUP;
	if (ret->e_type != ET_REL && ret->e_type != ET_EXEC && ret->e_type != ET_DYN)
		return -ENOEXEC;
	if (ret->e_shnum > JIT_OBJECT_MAX_SECTIONS)
		return -E2BIG;
	if (ret->e_shentsize != sizeof(Elf64_Shdr) || ret->e_shoff > size ||
	    ret->e_shnum * sizeof(Elf64_Shdr) > size - ret->e_shoff)
		return -EBADMSG;
	return 0;
}

/* Of one with several such sections, the first one counts, as for others. */
static void find_symbols(struct object *o)
{
	for (size_t i = 1; i < o->header.e_shnum && o->symbols == 0; i++) {
		const Elf64_Shdr *s = &o->sections[i];

		if (s->sh_type == SHT_SYMTAB && has(o, s->sh_offset, s->sh_size))
			o->symbols = i;
	}
}

/* Who refers to what is not in a program's memory means its place in the section, wherever a copy of that is. */
static uint64_t address_of(const Elf64_Shdr *s)
{
	return s->sh_flags & SHF_ALLOC ? s->sh_addr : 0;
}

/* In an object file, they are relative to their sections. */
static void place_symbols(struct object *o)
{
	const Elf64_Shdr *table = &o->sections[o->symbols];

	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
		uint8_t *to = o->bytes + table->sh_offset + at;
		Elf64_Sym symbol;

		memcpy(&symbol, to, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= o->header.e_shnum)
			continue;
		symbol.st_value += address_of(&o->sections[symbol.st_shndx]);
		memcpy(to, &symbol, sizeof(symbol));
	}
}

static int relocate(struct object *o, const Elf64_Shdr *symbols, const Elf64_Shdr *target,
		    const Elf64_Rela *r)
{
	uint64_t index = ELF64_R_SYM(r->r_info);
	Elf64_Sym symbol;

	if (index >= symbols->sh_size / sizeof(symbol) || r->r_offset >= target->sh_size)
		return 0;
	memcpy(&symbol, o->bytes + symbols->sh_offset + index * sizeof(symbol), sizeof(symbol));
	if (symbol.st_shndx == SHN_UNDEF)
		return 0;
	return relocation_apply((uint32_t)ELF64_R_TYPE(r->r_info),
				symbol.st_value + (uint64_t)r->r_addend,
				address_of(target) + r->r_offset,
				o->bytes + target->sh_offset + r->r_offset,
				target->sh_size - r->r_offset);
}

/* Their targets: what describes code. That itself runs elsewhere. */
static bool is_relocated(const struct object *o, const Elf64_Shdr *s)
{
	return s->sh_type != SHT_NOBITS && !(s->sh_flags & (SHF_EXECINSTR | SHF_COMPRESSED)) &&
	       has(o, s->sh_offset, s->sh_size);
}

static void write_section(struct object *o, size_t i)
{
	memcpy(o->bytes + o->header.e_shoff + i * sizeof(*o->sections), &o->sections[i],
	       sizeof(*o->sections));
}

static bool is_handled(const struct object *o, const Elf64_Shdr *relocations)
{
	return relocations->sh_type == SHT_RELA && relocations->sh_info < o->header.e_shnum &&
	       relocations->sh_link == o->symbols;
}

/* A section of which a part would be wrong is as if it were empty. */
static int relocate_section(struct object *o, const Elf64_Shdr *relocations)
{
	size_t n = relocations->sh_size / sizeof(Elf64_Rela);
	Elf64_Shdr *target;
	int err = 0;

	if (!is_handled(o, relocations))
		return 0;
	if (!has(o, relocations->sh_offset, relocations->sh_size) || n > o->left)
		return -EBADMSG;
	o->left -= n;
	target = &o->sections[relocations->sh_info];
	for (size_t i = 0; i < n && err == 0 && is_relocated(o, target); i++) {
		Elf64_Rela r;

		memcpy(&r, o->bytes + relocations->sh_offset + i * sizeof(r), sizeof(r));
		err = relocate(o, &o->sections[o->symbols], target, &r);
	}
	if (err == 0)
		return 0;
	target->sh_size = 0;
	write_section(o, relocations->sh_info);
	return 0;
}

static bool is_eh_frame(const struct object *o, const Elf64_Shdr *s)
{
	static const char name[] = ".eh_frame";
	size_t index = o->header.e_shstrndx;
	const Elf64_Shdr *names = &o->sections[index < o->header.e_shnum ? index : 0];

	return s->sh_name < names->sh_size && sizeof(name) <= names->sh_size - s->sh_name &&
	       has(o, names->sh_offset, names->sh_size) &&
	       memcmp(o->bytes + names->sh_offset + s->sh_name, name, sizeof(name)) == 0;
}

/* Otherwise it is right where it is. */
static bool has_to_move(const struct object *o, size_t index)
{
	if (o->sections[index].sh_addr == 0)
		return true;
	for (size_t i = 1; i < o->header.e_shnum; i++) {
		const Elf64_Shdr *s = &o->sections[i];

		if (is_handled(o, s) && s->sh_info == index && s->sh_size >= sizeof(Elf64_Rela))
			return true;
	}
	return false;
}

/*
 * It refers to the code by 32-bit distances, so that it has to be near, wherever the compiler has one for
 * itself, or none.
 */
static void place_eh_frame(struct object *o, uint64_t code)
{
	for (size_t i = 1; i < o->header.e_shnum; i++) {
		Elf64_Shdr *s = &o->sections[i];

		if (!is_eh_frame(o, s) || !has_to_move(o, i))
			continue;
		s->sh_addr = code;
		write_section(o, i);
	}
}

static int place(struct object *o, uint64_t code)
{
	int err = 0;

	if (o->header.e_type != ET_REL)
		return 0;
	find_symbols(o);
	if (o->symbols == 0)
		return 0;
	place_symbols(o);
	place_eh_frame(o, code);
	/* Sections that overlap could have the same ones again and again. */
	o->left = o->size / sizeof(Elf64_Rela);
	for (size_t i = 1; i < o->header.e_shnum && err == 0; i++)
		err = relocate_section(o, &o->sections[i]);
	return err;
}

static int compare_segments(const void *a, const void *b)
{
	const Elf64_Phdr *x = a, *y = b;

	return (x->p_vaddr > y->p_vaddr) - (x->p_vaddr < y->p_vaddr);
}

static int list_code(const struct object *o, Elf64_Phdr segments[JIT_OBJECT_MAX_CODE],
		     size_t *ret_n)
{
	size_t n = 0;

	for (size_t i = 1; i < o->header.e_shnum; i++) {
		const Elf64_Shdr *s = &o->sections[i];
		bool has_bytes = s->sh_type != SHT_NOBITS;

		if (!is_placed_code(s))
			continue;
		if ((has_bytes && !has(o, s->sh_offset, s->sh_size)) ||
		    s->sh_addr + s->sh_size < s->sh_addr)
			return -EBADMSG;
		if (n == JIT_OBJECT_MAX_CODE)
			return -E2BIG;
		segments[n++] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = has_bytes ? s->sh_offset : 0,
			.p_vaddr = s->sh_addr,
			.p_paddr = s->sh_addr,
			.p_filesz = has_bytes ? s->sh_size : 0,
			.p_memsz = s->sh_size,
			.p_align = 1,
		};
	}
	qsort(segments, n, sizeof(*segments), compare_segments);
	*ret_n = n;
	return n > 0 ? 0 : -ENODATA;
}

int jit_object_link(const uint8_t *bytes, size_t size, uint8_t **ret, size_t *ret_size)
{
	_cleanup_free_ Elf64_Phdr *segments = calloc(JIT_OBJECT_MAX_CODE, sizeof(*segments));
	size_t at = (size + 7) & ~(size_t)7, n = 0;
	_cleanup_free_ Elf64_Shdr *sections = NULL;
	_cleanup_free_ uint8_t *copy = NULL;
	struct object o = { .size = size };
	int err = segments ? check_header(bytes, size, &o.header) : -ENOMEM;

	if (err < 0)
		return err;
	o.sections = sections = calloc(o.header.e_shnum + (size_t)1, sizeof(*sections));
	o.bytes = copy = calloc(1, at + JIT_OBJECT_MAX_CODE * sizeof(*segments));
	if (!sections || !copy)
		return -ENOMEM;
	memcpy(copy, bytes, size);
	memcpy(sections, bytes + o.header.e_shoff, o.header.e_shnum * sizeof(*sections));
	err = list_code(&o, segments, &n);
	if (err == 0)
		err = place(&o, segments[0].p_vaddr);
	if (err < 0)
		return err;
	o.header.e_type = ET_EXEC;
	o.header.e_phoff = at;
	o.header.e_phnum = (Elf64_Half)n;
	o.header.e_phentsize = sizeof(*segments);
	memcpy(copy, &o.header, sizeof(o.header));
	memcpy(copy + at, segments, n * sizeof(*segments));
	*ret = steal_ptr(copy);
	*ret_size = at + n * sizeof(*segments);
	return 0;
}
