// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_file.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cfi/index.h"
#include "elf/build_id.h"
#include "elf/debug_frame.h"
#include "elf/eh_frame.h"
#include "elf/elf_open.h"
#include "elf/elf_handles.h"
#include "elf/go_tables.h"
#include "elf/packed.h"

const char *elf_source_word(enum elf_source source)
{
	static const char *const words[] = {
#define X(name, word, section) word,
		ELF_SOURCES(X)
#undef X
	};

	return words[source];
}

const char *elf_source_section(enum elf_source source)
{
	static const char *const sections[] = {
#define X(name, word, section) section,
		ELF_SOURCES(X)
#undef X
	};

	return sections[source];
}

static int read_header(Elf *elf)
{
	GElf_Ehdr header;

	if (!gelf_getehdr(elf, &header))
		return -ENOEXEC;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != DP_ELF_MACHINE)
		return -ENOTSUP;
	/* Object files and core dumps are not mapped as code; their addresses mean nothing. */
	if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
		return -ENOEXEC;
	return 0;
}

/* Bytes of the file; NULL if it does not have all of them. */
static const uint8_t *bytes_at(const struct elf_file *file, uint64_t offset, uint64_t size)
{
	uint64_t end;

	if (__builtin_add_overflow(offset, size, &end) || end > file->size)
		return NULL;
	return file->bytes + offset;
}

static int read_segments(struct elf_file *file)
{
	GElf_Ehdr header;
	size_t n;

	if (!gelf_getehdr(file->handles->elf, &header) ||
	    elf_getphdrnum(file->handles->elf, &n) < 0)
		return -EBADMSG;
	file->segments = calloc(n ? n : 1, sizeof(*file->segments));
	if (!file->segments)
		return -ENOMEM;
	file->code.start = UINT64_MAX;
	file->code.entry = header.e_entry;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;
		struct elf_segment *s = &file->segments[file->n_segments];

		if (!gelf_getphdr(file->handles->elf, (int)i, &p))
			return -EBADMSG;
		if (p.p_type != PT_LOAD)
			continue;
		if (p.p_vaddr + p.p_memsz < p.p_vaddr || p.p_offset + p.p_filesz < p.p_offset)
			return -EBADMSG;
		*s = (struct elf_segment){
			.offset = p.p_offset,
			.address = p.p_vaddr,
			.file_size = p.p_filesz,
			.memory_size = p.p_memsz,
			.executable = p.p_flags & PF_X,
			.writable = p.p_flags & PF_W,
			.align = p.p_align,
		};
		file->n_segments++;
		if (!s->executable)
			continue;
		if (s->address < file->code.start)
			file->code.start = s->address;
		if (s->address + p.p_memsz > file->code.end)
			file->code.end = s->address + p.p_memsz;
	}
	return 0;
}

static void read_build_id(struct elf_file *file)
{
	struct build_id id;

	if (!build_id_find(file->handles->elf, &id))
		return;
	build_id_print(&id, file->build_id);
	if (id.address != 0 && id.size >= sizeof(file->cookie)) {
		memcpy(&file->cookie, id.bytes, sizeof(file->cookie));
		file->cookie_address = id.address;
	}
}

/*
 * Without a build id: the offset of the section headers, which depends on everything in the file.
 */
static void read_header_cookie(struct elf_file *file)
{
	GElf_Ehdr header;

	if (file->cookie_address != 0 || !gelf_getehdr(file->handles->elf, &header) ||
	    header.e_shoff == 0)
		return;
	for (size_t i = 0; i < file->n_segments; i++) {
		if (file->segments[i].offset != 0)
			continue;
		file->cookie = header.e_shoff;
		file->cookie_address = file->segments[i].address + offsetof(Elf64_Ehdr, e_shoff);
		return;
	}
}

static void take_cfi(struct elf_file *file, const struct cfi_section *cfi, enum elf_source source)
{
	file->cfi = *cfi;
	file->source = source;
}

static int read_eh_frame(struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *header)
{
	struct cfi_section cfi = { .address = header->sh_addr };
	Elf_Data *data;

	if (header->sh_size == 0 || (header->sh_flags & SHF_COMPRESSED))
		return 0;
	data = elf_rawdata(scn, NULL);
	if (!data || !data->d_buf)
		return -EBADMSG;
	cfi.data = data->d_buf;
	cfi.size = data->d_size;
	take_cfi(file, &cfi, ELF_SOURCE_EH_FRAME);
	return 0;
}

static int add_code(struct elf_file *file, const char *name, uint64_t address, uint64_t offset,
		    uint64_t size)
{
	const uint8_t *bytes = bytes_at(file, offset, size);
	uint64_t end;

	if (!bytes || __builtin_add_overflow(address, size, &end))
		return -EBADMSG;
	if (array_reserve(file->code_sections, file->n_code_sections, file->code_sections_size) < 0)
		return -ENOMEM;
	file->code_sections[file->n_code_sections++] =
		(struct elf_section){ name, address, size, bytes };
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct elf_section *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* libelf treats a file with truncated section headers like one without any. */
static bool section_headers_are_whole(const struct elf_file *file)
{
	GElf_Ehdr header;
	size_t n;

	if (!gelf_getehdr(file->handles->elf, &header) ||
	    elf_getshdrnum(file->handles->elf, &n) < 0)
		return false;
	if (n < header.e_shnum)
		n = header.e_shnum;
	/* The first header exists even if it only holds their number. */
	return header.e_shoff == 0 ||
	       bytes_at(file, header.e_shoff, (n > 0 ? n : 1) * sizeof(Elf64_Shdr));
}

/* Skips sections without bytes, as in a separate debug file. */
static int read_section(struct elf_file *file, Elf_Scn *scn, const GElf_Shdr *header,
			const char *name)
{
	if (header->sh_type == SHT_NOBITS)
		return 0;
	if (strcmp(name, ".eh_frame") == 0)
		return read_eh_frame(file, scn, header);
	if ((header->sh_flags & SHF_ALLOC) && (header->sh_flags & SHF_EXECINSTR) &&
	    header->sh_size > 0)
		return add_code(file, name, header->sh_addr, header->sh_offset, header->sh_size);
	return 0;
}

static int read_sections(struct elf_file *file)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (!section_headers_are_whole(file) || elf_getshdrstrndx(file->handles->elf, &names) < 0)
		return -EBADMSG;
	while ((scn = elf_nextscn(file->handles->elf, scn))) {
		GElf_Shdr header;
		const char *name;
		int err;

		if (!gelf_getshdr(scn, &header))
			return -EBADMSG;
		name = elf_strptr(file->handles->elf, names, header.sh_name);
		err = read_section(file, scn, &header, name ? name : "");
		if (err < 0)
			return err;
	}
	return 0;
}

/*
 * .eh_frame_hdr gives the start of .eh_frame (LSB Core 5.0 §10.6.2) but not its end, which is at
 * most that of the segment.
 */
static void read_eh_frame_hdr(struct elf_file *file, const GElf_Phdr *hdr)
{
	const struct cfi_section section = {
		.data = bytes_at(file, hdr->p_offset, hdr->p_filesz),
		.size = hdr->p_filesz,
		.address = hdr->p_vaddr,
	};
	struct cfi_section cfi = { 0 };

	if (!section.data || eh_frame_hdr_read(&section, &cfi.address) < 0)
		return;
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *s = &file->segments[i];
		uint64_t at = cfi.address - s->address;

		if (cfi.address < s->address || at >= s->file_size)
			continue;
		cfi.size = s->file_size - at;
		cfi.data = bytes_at(file, s->offset + at, cfi.size);
		if (cfi.data)
			cfi.size = cfi_section_measure(&cfi);
		if (cfi.data && cfi.size > 0)
			take_cfi(file, &cfi, ELF_SOURCE_EH_FRAME_HDR);
		return;
	}
}

/* Without section headers, such as after sstrip, segments have to do. */
static int read_program_headers(struct elf_file *file)
{
	size_t n;

	if (elf_getphdrnum(file->handles->elf, &n) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;
		int err = 0;

		if (!gelf_getphdr(file->handles->elf, (int)i, &p))
			return -EBADMSG;
		if (p.p_type == PT_GNU_EH_FRAME)
			read_eh_frame_hdr(file, &p);
		else if (p.p_type == PT_LOAD && (p.p_flags & PF_X) && p.p_filesz > 0)
			err = add_code(file, "PT_LOAD", p.p_vaddr, p.p_offset, p.p_filesz);
		if (err < 0)
			return err;
	}
	return 0;
}

/* Lists the ranges of code for image_build(). */
static int list_ranges(struct elf_file *file)
{
	size_t n = file->n_code_sections;

	file->ranges = calloc(n ? n : 1, sizeof(*file->ranges));
	if (!file->ranges)
		return -ENOMEM;
	if (n > 0)
		qsort(file->code_sections, n, sizeof(*file->code_sections), compare_addresses);
	for (size_t i = 0; i < n; i++) {
		const struct elf_section *s = &file->code_sections[i];

		file->ranges[i] = (struct code_range){ s->address, s->size, s->bytes };
	}
	file->code.ranges = file->ranges;
	file->code.n_ranges = n;
	return 0;
}

/* Reads this file's .debug_frame for code without .eh_frame, such as Go code linked with C. */
static void read_debug_frame(struct elf_file *file)
{
	struct cfi_section cfi;

	debug_frame_read(file->handles->elf, &cfi);
	if (cfi_section_has_fdes(&file->cfi))
		file->code.fallback = cfi;
	else if (cfi_section_has_fdes(&cfi))
		take_cfi(file, &cfi, ELF_SOURCE_DEBUG_FRAME);
}

/* Takes over elf, the separate debug file. */
static void read_debug_file(struct elf_file *file, Elf *elf)
{
	struct cfi_section cfi;

	file->handles->debug = elf;
	if (!elf)
		return;
	debug_frame_read(elf, &cfi);
	if (cfi_section_has_fdes(&cfi))
		take_cfi(file, &cfi, ELF_SOURCE_DEBUG_FILE);
}

static void find_go_functions(struct elf_file *file)
{
	const struct pclntab *t = &file->go.table;
	struct pclntab_function first, last;

	if (t->n_functions == 0 || pclntab_function(t, 0, &first) < 0 ||
	    pclntab_function(t, t->n_functions - 1, &last) < 0)
		return;
	file->go_start = first.start;
	file->go_end = pclntab_function_end(t, &last);
}

/* Go's tables have less information than the other sections, but remain in stripped files. */
static int read_go(struct elf_file *file)
{
	int err = go_tables_read(file->handles->elf, &file->go);

	if (err < 0)
		return err == -ENOMEM ? err : 0;
	file->code.go = file->go.table;
	file->code.go_minor = file->go.minor;
	find_go_functions(file);
	if (!cfi_section_has_fdes(&file->cfi))
		file->source = ELF_SOURCE_GO;
	return 0;
}

/* Takes over elf, even on failure. */
static int set_handles(struct elf_file *file, Elf *elf)
{
	file->handles = malloc(sizeof(*file->handles));
	if (!file->handles) {
		elf_end(elf);
		return -ENOMEM;
	}
	*file->handles = (struct elf_handles){ .elf = elf };
	file->bytes = (const uint8_t *)elf_rawfile(elf, &file->size);
	return file->bytes ? 0 : -EBADMSG;
}

static int read_file(struct elf_file *file)
{
	Elf *elf = file->handles->elf;
	int err = read_header(elf);

	if (err == 0)
		err = read_segments(file);
	if (err == 0)
		err = read_sections(file);
	if (err == 0 && !elf_nextscn(elf, NULL))
		err = read_program_headers(file);
	if (err == 0)
		err = list_ranges(file);
	if (err < 0)
		return err;
	read_debug_frame(file);
	read_build_id(file);
	read_header_cookie(file);
	file->debug_link = debug_link_read(elf, &file->debug_link_checksum);
	file->packer = packed_by((const char *)file->bytes, file->size);
	return read_go(file);
}

/* Takes over elf, even on failure. */
static int elf_file_init(struct elf_file *ret, Elf *elf)
{
	struct elf_file file = { 0 };
	int err = set_handles(&file, elf);

	if (err == 0)
		err = read_file(&file);
	if (err < 0) {
		elf_file_done(&file);
		return err;
	}
	*ret = file;
	return 0;
}

int elf_file_init_fd_only(struct elf_file *ret, int fd)
{
	Elf *elf = elf_open(fd);

	return elf ? elf_file_init(ret, elf) : -ENOEXEC;
}

bool elf_file_lacks_cfi(const struct elf_file *file)
{
	return !cfi_section_has_fdes(&file->cfi);
}

bool elf_file_add_debug(struct elf_file *file, int fd)
{
	const struct debug_wanted wanted = {
		.build_id = file->build_id,
		.link = file->debug_link,
		.checksum = file->debug_link_checksum,
	};
	_cleanup_elf_ Elf *elf = elf_open(fd);

	if (!elf || !debug_file_belongs(elf, &wanted))
		return false;
	read_debug_file(file, steal_ptr(elf));
	return true;
}

int elf_file_init_fd(struct elf_file *ret, int fd)
{
	int err = elf_file_init_fd_only(ret, fd);

	if (err == 0 && elf_file_lacks_cfi(ret))
		read_debug_file(ret, debug_file_open(ret->handles->elf, fd, ret->build_id));
	return err;
}

int elf_file_init_memory(struct elf_file *ret, const void *data, size_t size)
{
	Elf *elf = elf_open_memory(data, size);

	return elf ? elf_file_init(ret, elf) : -ENOEXEC;
}

void elf_file_read_build_id(int fd, const void *memory, size_t size, char ret[ELF_BUILD_ID_SIZE])
{
	_cleanup_elf_ Elf *elf = fd >= 0 ? elf_open(fd) : elf_open_memory(memory, size);
	struct build_id id;

	ret[0] = '\0';
	if (elf && build_id_find(elf, &id))
		build_id_print(&id, ret);
}

void elf_file_done(struct elf_file *file)
{
	free(file->segments);
	free(file->code_sections);
	free(file->ranges);
	go_file_done(&file->go);
	if (file->handles) {
		elf_end(file->handles->debug);
		elf_end(file->handles->elf);
		free(file->handles);
	}
	*file = (struct elf_file){ 0 };
}
