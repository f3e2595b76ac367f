// SPDX-License-Identifier: Apache-2.0
#include "kernel/uprobe.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/elf_open.h"
#include "log/log.h"

/* Opens a file in the first directory of a colon-separated list that has it; else returns -1. */
static int open_from_list(const char *list, const char *name, char path[PATH_MAX])
{
	int fd = -1;

	while (fd < 0 && list && *list) {
		size_t n = strcspn(list, ":");

		if (snprintf(path, PATH_MAX, "%.*s/%s", (int)n, list, name) < PATH_MAX)
			fd = open(path, O_RDONLY | O_CLOEXEC);
		list += n + (list[n] == ':');
	}
	return fd;
}

static int open_file(const char *file, char path[PATH_MAX])
{
	bool library = strstr(file, ".so");
	int fd;

	if (strchr(file, '/')) {
		if (snprintf(path, PATH_MAX, "%s", file) >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		return open(path, O_RDONLY | O_CLOEXEC);
	}
	fd = open_from_list(getenv(library ? "LD_LIBRARY_PATH" : "PATH"), file, path);
	if (fd >= 0)
		return fd;
	return open_from_list(library ? "/usr/lib64:/usr/lib:/usr/lib/" DP_ARCH "-linux-gnu" :
					"/usr/bin:/usr/sbin",
			      file, path);
}

/* Is this the symbol's name, with or without a version as in "malloc@@GLIBC_2.2.5"? */
static bool is_called(const char *name, const char *wanted)
{
	size_t n = strlen(wanted);

	return strncmp(name, wanted, n) == 0 && (name[n] == '\0' || name[n] == '@');
}

/* Of symbols with equal names, prefers the one that the linker would choose. */
static int binding_rank(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_LOCAL:
		return 0;
	case STB_WEAK:
		return 1;
	default:
		return 2;
	}
}

struct search {
	const char *symbol;
	int rank; /* binding rank of the best match; -1: no match */
	uint64_t address;
	bool ambiguous;
};

static void search_table(struct search *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < n && i < INT_MAX; i++) {
		GElf_Sym sym;
		const char *name;
		int rank;

		if (!gelf_getsym(data, (int)i, &sym) || GELF_ST_TYPE(sym.st_info) != STT_FUNC ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, sym.st_name);
		rank = binding_rank(&sym);
		if (!name || !is_called(name, s->symbol) || rank < s->rank)
			continue;
		s->ambiguous = rank == s->rank && (s->ambiguous || sym.st_value != s->address);
		s->rank = rank;
		s->address = sym.st_value;
	}
}

static int file_offset(Elf *elf, uint64_t address, uint64_t *ret)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr ||
		    address - p.p_vaddr >= p.p_filesz)
			continue;
		*ret = address - p.p_vaddr + p.p_offset;
		return 0;
	}
	return -ENOENT;
}

/* Searches exported symbols first, then .symtab if the file is not stripped. */
static int find_function(Elf *elf, const char *symbol, uint64_t *ret)
{
	static const GElf_Word types[] = { SHT_DYNSYM, SHT_SYMTAB };
	struct search s = { .symbol = symbol, .rank = -1 };

	for (size_t i = 0; i < ARRAY_SIZE(types) && s.rank < 0; i++) {
		Elf_Scn *section = NULL;

		while ((section = elf_nextscn(elf, section))) {
			GElf_Shdr header;

			if (gelf_getshdr(section, &header) && header.sh_type == types[i])
				search_table(&s, elf, section, &header);
		}
	}
	if (s.rank < 0)
		return -ENOENT;
	return s.ambiguous ? -ENOTUNIQ : file_offset(elf, s.address, ret);
}

static int find_in_file(int fd, const char *symbol, uint64_t *ret)
{
	_cleanup_elf_ Elf *elf = elf_open(fd);

	return elf ? find_function(elf, symbol, ret) : -ENOEXEC;
}

int uprobe_find(const char *file, const char *symbol, struct uprobe_place *ret)
{
	_cleanup_close_ int fd = open_file(file, ret->path);
	int err = fd < 0 ? -errno : find_in_file(fd, symbol, &ret->offset);

	if (fd < 0) {
		log_error("cannot read %s: %s", file, strerror(-err));
		if (!strchr(file, '/'))
			log_detail("try:  its full path; only the usual directories are searched");
	} else if (err == -ENOEXEC) {
		log_error("%s is not an ELF file", file);
	} else if (err == -ENOTUNIQ) {
		log_error("%s has more than one function %s", file, symbol);
	} else if (err < 0) {
		log_error("%s has no function %s", file, symbol);
		log_detail("try:  nm -D %s, nm %s", ret->path, ret->path);
	}
	return err;
}

/* Mirrors the attributes of bpf(BPF_LINK_CREATE), newer than the oldest headers we build with. */
struct multi_attr {
	uint32_t program, target;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets, ref_ctr_offsets, cookies;
	uint32_t n;
	uint32_t uprobe_flags;
	uint32_t pid;
	uint32_t zero;
};

static int create_link(int program, const char *path, uint64_t offset)
{
	struct multi_attr attr = {
		.program = (uint32_t)program,
		.attach_type = UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&offset,
		.n = 1,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : (int)fd;
}

int uprobe_multi_works(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)UPROBE_MULTI);
	_cleanup_close_ int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "dp_probe", "GPL", code,
						    ARRAY_SIZE(code), &opts);
	_cleanup_close_ int link = -1;

	if (program < 0)
		return errno == EPERM || errno == EACCES ? -EPERM : 0;
	/*
	 * A kernel with this link type rejects the path, which is not a regular file; others reject
	 * the type.
	 */
	link = create_link(program, "/", 0);
	return link == -EBADF;
}

int uprobe_attach_multi(int program, const struct uprobe_place *place)
{
	return create_link(program, place->path, place->offset);
}
