// SPDX-License-Identifier: Apache-2.0
/* Mapped files are opened, and read even if damaged or truncated; tables are built from them. */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/bus_guard.h"
#include "elf/elf_facts.h"
#include "elf/elf_file.h"
#include "elf/mapped_file.h"
#include "tables/decode.h"

/* Opening a FIFO without a writer would never return. */
Test(mapped_file, opens_only_the_file_that_is_meant)
{
	char directory[] = "/tmp/dwarfprof-test-XXXXXX", path[64];
	struct stat st;
	int fd;

	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/name", directory);
	cr_assert(mkfifo(path, 0600) == 0 && stat(path, &st) == 0);
	alarm(10);
	cr_assert(regular_file_open(path, st.st_ino) == -ESTALE);
	cr_assert(mapped_file_open(getpid(), 0, 0, st.st_ino, path) == -ESTALE);
	unlink(path);
	cr_assert(regular_file_open(path, 0) == -ENOENT);

	close(creat(path, 0600));
	cr_assert(stat(path, &st) == 0);
	fd = regular_file_open(path, 0);
	cr_assert(fd >= 0);
	close(fd);
	cr_assert(regular_file_open(path, st.st_ino + 1) == -ESTALE);
	fd = mapped_file_open(getpid(), 0, 0, st.st_ino, path);
	cr_assert(fd >= 0);
	close(fd);
	unlink(path);
	rmdir(directory);

	/* The program is found under any name. */
	cr_assert(stat("/proc/self/exe", &st) == 0);
	fd = mapped_file_open(getpid(), 0, 0, st.st_ino, "/nonexistent");
	cr_assert(fd >= 0);
	close(fd);
}

/* A deleted file can only be reached through its mapping, which needs a capability. */
Test(mapped_file, says_when_a_permission_is_missing)
{
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	int fd = mkstemp(path);
	struct stat st;
	void *page;

	cr_assert(fd >= 0 && fstat(fd, &st) == 0 && ftruncate(fd, 4096) == 0);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert(page != MAP_FAILED && unlink(path) == 0);
	if (geteuid() == 0)
		cr_assert(seteuid(65534) == 0);
	cr_assert_eq(mapped_file_open(getpid(), (uintptr_t)page, (uintptr_t)page + 4096, st.st_ino,
				      path),
		     -EACCES);
	munmap(page, 4096);
	close(fd);
}

/* The same without waiting. The descriptor still refers to the file when nothing else does. */
Test(mapped_file, finds_the_file_that_is_meant)
{
	static const char away[] = "/proc/self/cwd/passwd";
	char directory[] = "/tmp/dwarfprof-test-XXXXXX", path[64];
	struct stat st, found;
	int fd;

	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/name", directory);
	cr_assert(mkfifo(path, 0600) == 0 && stat(path, &st) == 0);
	cr_assert_eq(mapped_file_find(getpid(), 0, 0, st.st_ino, path), -ESTALE);
	unlink(path);
	close(creat(path, 0600));
	cr_assert(stat(path, &st) == 0);
	fd = mapped_file_find(getpid(), 0, 0, st.st_ino, path);
	cr_assert(fd >= 0 && (fcntl(fd, F_GETFL) & O_PATH));
	cr_assert_eq(mapped_file_find(getpid(), 0, 0, st.st_ino + 1, path), -ESTALE);
	close(fd);
	fd = mapped_file_find_named(getpid(), st.st_ino, path);
	cr_assert(fd >= 0 && (fcntl(fd, F_GETFL) & O_PATH));
	close(fd);
	cr_assert_eq(mapped_file_find_named(getpid(), st.st_ino + 1, path), -EAGAIN);
	fd = mapped_file_find_named(INT_MAX, st.st_ino, path);
	cr_assert_geq(fd, 0);
	close(fd);
	unlink(path);
	cr_assert_lt(mapped_file_find_named(INT_MAX, st.st_ino, path), 0);
	cr_assert_eq(mapped_file_find_named(getpid(), st.st_ino, path), -EAGAIN);
	rmdir(directory);

	cr_assert(stat("/proc/self/exe", &st) == 0);
	fd = mapped_file_find(getpid(), 0, 0, st.st_ino, "/nonexistent");
	cr_assert(fd >= 0);
	close(fd);
	fd = mapped_file_find_named(getpid(), st.st_ino, "/nonexistent");
	cr_assert(fd >= 0);
	close(fd);
	fd = mapped_file_find_program(getpid());
	cr_assert(fd >= 0 && (fcntl(fd, F_GETFL) & O_PATH));
	cr_assert(fstat(fd, &found) == 0 && found.st_ino == st.st_ino && found.st_dev == st.st_dev);
	close(fd);

	/* A path that is not in the kernel's cache would have to be looked up. */
	cr_assert(chdir("/etc") == 0 && stat(away, &st) == 0);
	cr_assert_eq(mapped_file_find(getpid(), 0, 0, st.st_ino, away), -EAGAIN);
	fd = mapped_file_open(getpid(), 0, 0, st.st_ino, away);
	cr_assert(fd >= 0);
	close(fd);
}

/*
 * A deleted file can be opened long after its process has ended, through a descriptor that refers
 * to it.
 */
Test(mapped_file, opens_what_is_held)
{
	char path[] = "/tmp/dwarfprof-test-XXXXXX", byte;
	int fd = mkstemp(path), place;
	struct stat st;
	void *page;

	cr_assert(fd >= 0 && fstat(fd, &st) == 0 && pwrite(fd, "x", 1, 4095) == 1);
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert(page != MAP_FAILED && unlink(path) == 0);
	place = mapped_file_find(getpid(), (uintptr_t)page, (uintptr_t)page + 4096, st.st_ino,
				 path);
	munmap(page, 4096);
	close(fd);
	if (geteuid() != 0 && (place == -EAGAIN || place == -EACCES))
		cr_skip_test("opening files by their mappings is not permitted");
	fd = file_reopen(place);
	cr_assert(file_is_reference(place) && !file_is_reference(fd) && !file_is_reference(-1));
	close(place);
	cr_assert(fd >= 0 && pread(fd, &byte, 1, 4095) == 1 && byte == 'x');
	close(fd);
}

static struct elf_file open_self(int *ret_fd)
{
	struct elf_file file;

	*ret_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cr_assert(elf_file_init_fd(&file, *ret_fd) == 0);
	return file;
}

static int count_sections(const struct elf_file *file, const char *name)
{
	int n = 0;

	for (size_t i = 0; i < file->n_code_sections; i++)
		n += strcmp(file->code_sections[i].name, name) == 0;
	return n;
}

Test(elf_file, reads_this_program)
{
	int fd;
	struct elf_file file = open_self(&fd);

	cr_assert(file.cfi.size > 0 && file.source == ELF_SOURCE_EH_FRAME && file.n_segments >= 2);
	cr_assert(file.code.start < file.code.end);
	cr_assert(count_sections(&file, ".text") == 1 && count_sections(&file, ".data") == 0);
	for (size_t i = 0; i < file.n_code_sections; i++) {
		const struct elf_section *s = &file.code_sections[i];

		cr_assert(s->address >= file.code.start && s->size > 0);
		cr_assert(s->address + s->size <= file.code.end);
		cr_assert(i == 0 || s[-1].address + s[-1].size <= s->address);
	}
	elf_file_done(&file);
	close(fd);
}

/* The kernel's load address of this program shows whether the bias is right. */
static int find_self(struct dl_phdr_info *info, size_t size, void *ret)
{
	*(uint64_t *)ret = info->dlpi_addr;
	return 1;
}

Test(elf_file, computes_the_bias_that_the_dynamic_linker_knows)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	uint64_t start, end, offset, expected, bias = 1;
	int fd;
	struct elf_file file = open_self(&fd);
	struct elf_facts facts;

	dl_iterate_phdr(find_self, &expected);
	cr_assert(maps && elf_facts_init(&facts, &file) == 0);
	while (fscanf(maps, "%lx-%lx %*s %lx%*[^\n]", &start, &end, &offset) == 3) {
		if (start > (uint64_t)(uintptr_t)&find_self ||
		    end <= (uint64_t)(uintptr_t)&find_self)
			continue;
		cr_assert(elf_facts_bias(&facts, start, offset, &bias) == 0);
	}
	cr_assert(bias == expected, "%lx, not %lx", bias, expected);
	cr_assert(elf_facts_bias(&facts, 0x1000, UINT64_C(1) << 40, &bias) == -ENOENT);
	/* The cookie is what memory contains. */
	cr_assert(file.cookie_address != 0);
	cr_assert(memcmp((void *)(facts.cookie_address + expected), &facts.cookie, 8) == 0);
	elf_facts_done(&facts);
	fclose(maps);
	elf_file_done(&file);
	close(fd);
}

Test(elf_file, reads_the_vdso_from_memory)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct elf_file file;

	if (!vdso)
		cr_skip("valgrind hides the vDSO");
	cr_assert(elf_file_init_memory(&file, vdso, 8192) == 0);
	cr_assert(file.cfi.size > 0 && file.source == ELF_SOURCE_EH_FRAME);
	elf_file_done(&file);
}

static int init_bytes(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC), err;
	struct elf_file file;

	cr_assert(write(fd, bytes, size) == (ssize_t)size);
	err = elf_file_init_fd(&file, fd);
	if (err == 0)
		elf_file_done(&file);
	close(fd);
	return err;
}

Test(elf_file, refuses_what_is_not_for_this_machine)
{
	Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			      .e_type = ET_DYN,
			      .e_machine = EM_AARCH64,
			      .e_version = 1,
			      .e_ehsize = sizeof(header) };
	Elf64_Ehdr object = header;

	cr_assert(init_bytes("", 0) == -ENOEXEC);
	cr_assert(init_bytes("#!/bin/sh\n", 10) == -ENOEXEC);
	cr_assert(init_bytes(&header, sizeof(header)) == -ENOTSUP);
	object.e_machine = EM_X86_64;
	object.e_type = ET_REL;
	cr_assert(init_bytes(&object, sizeof(object)) == -ENOEXEC);
}

/* Of a file with one program header, directly behind it. */
static const Elf64_Ehdr one_segment = {
	.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
	.e_type = ET_DYN,
	.e_machine = EM_X86_64,
	.e_version = 1,
	.e_ehsize = sizeof(Elf64_Ehdr),
	.e_phoff = sizeof(Elf64_Ehdr),
	.e_phentsize = sizeof(Elf64_Phdr),
	.e_phnum = 1,
};

/*
 * sstrip removes all sections. The linker puts other notes first, and any note may have that type.
 */
Test(elf_file, finds_the_build_id_among_other_notes)
{
	struct note {
		Elf64_Nhdr head;
		char owner[4];
		uint8_t bytes[16];
	};
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
		struct note notes[3];
	} file = {
		.header = one_segment,
		.segment = { .p_type = PT_NOTE,
			     .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
			     .p_filesz = sizeof(file.notes) },
		.notes = { { { 4, 16, NT_GNU_PROPERTY_TYPE_0 }, "GNU", "property" },
			   { { 4, 16, NT_GNU_BUILD_ID }, "Xyz", "another's" },
			   { { 4, 16, NT_GNU_BUILD_ID }, "GNU", "0123456789abcde" } },
	};
	struct elf_file read;
	char alone[ELF_BUILD_ID_SIZE];

	cr_assert(elf_file_init_memory(&read, &file, sizeof(file)) == 0);
	cr_assert_str_eq(read.build_id, "30313233343536373839616263646500");
	elf_file_done(&read);
	file.header.e_machine = EM_AARCH64;
	elf_file_read_build_id(-1, &file, sizeof(file), alone);
	cr_assert_str_eq(alone, "30313233343536373839616263646500");
	file.notes[2].owner[0] = 'g';
	elf_file_read_build_id(-1, &file, sizeof(file), alone);
	cr_assert_str_eq(alone, "");
	elf_file_read_build_id(-1, "no ELF file", 11, alone);
	cr_assert_str_eq(alone, "");
}

/* The linker's note, as the kernel has mapped it. */
static int find_note(struct dl_phdr_info *info, size_t size, void *ret)
{
	static const char gnu[16] = { 4, 0, 0, 0,   20,  0,  0, 0, NT_GNU_BUILD_ID,
				      0, 0, 0, 'G', 'N', 'U' };

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_NOTE && !*(const uint8_t **)ret)
			*(const uint8_t **)ret = memmem((void *)(info->dlpi_addr + p->p_vaddr),
							p->p_memsz, gnu, sizeof(gnu));
	}
	return 1;
}

Test(elf_file, has_the_build_id_that_is_mapped)
{
	const uint8_t *note = NULL;
	char expected[ELF_BUILD_ID_SIZE] = "", alone[ELF_BUILD_ID_SIZE];
	int fd;
	struct elf_file file = open_self(&fd);

	dl_iterate_phdr(find_note, &note);
	cr_assert(note);
	for (int i = 0; i < 20; i++)
		snprintf(expected + 2 * i, 3, "%02x", note[16 + i]);
	cr_assert_str_eq(file.build_id, expected);
	cr_assert(memcmp(&file.cookie, note + 16, 8) == 0);
	elf_file_read_build_id(fd, NULL, 0, alone);
	cr_assert_str_eq(alone, expected);
	elf_file_done(&file);
	close(fd);
}

/* A call precedes its return address, which may be at the end of a section or near its start. */
Test(elf_facts, find_the_code_in_front_of_an_address)
{
	static struct elf_code code[] = { { 0x1000, 6, 100 }, { 0x1006, 8, 200 } };
	const struct elf_facts facts = { .code = code, .n_code = 2 };
	uint64_t offset;
	size_t n;

	cr_assert(elf_facts_code_before(&facts, 0x1006, 4, &offset, &n) == 0);
	cr_assert(offset == 102 && n == 4);
	cr_assert(elf_facts_code_before(&facts, 0x100e, 4, &offset, &n) == 0);
	cr_assert(offset == 204 && n == 4);
	cr_assert(elf_facts_code_before(&facts, 0x1008, 4, &offset, &n) == 0);
	cr_assert(offset == 200 && n == 2);
	cr_assert_eq(elf_facts_code_before(&facts, 0x1000, 4, &offset, &n), -ENOENT);
	cr_assert_eq(elf_facts_code_before(&facts, 0x100f, 4, &offset, &n), -ENOENT);
}

/* The offsets refer to the same bytes as in the open file. */
Test(elf_facts, outlive_the_file)
{
	int fd;
	struct elf_file file = open_self(&fd);
	struct elf_section last = file.code_sections[file.n_code_sections - 1];
	uint8_t expected[8], bytes[8];
	struct elf_facts facts;
	uint64_t offset;
	size_t n;

	memcpy(expected, last.bytes + last.size - 8, 8);
	cr_assert(elf_facts_init(&facts, &file) == 0);
	cr_assert(facts.n_code == file.n_code_sections && facts.n_segments == file.n_segments);
	cr_assert_str_eq(facts.origin.build_id, file.build_id);
	elf_file_done(&file);
	cr_assert(elf_facts_code_before(&facts, last.address + last.size, 8, &offset, &n) == 0);
	cr_assert(n == 8 && pread(fd, bytes, 8, (off_t)offset) == 8);
	cr_assert(memcmp(bytes, expected, 8) == 0);
	elf_facts_done(&facts);
	close(fd);
}

/* .eh_frame_hdr has the distance to .eh_frame (LSB Core 5.0 §10.6.2). */
static int find_eh_frame(struct dl_phdr_info *info, size_t size, void *ret)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *header = (const void *)(info->dlpi_addr + p->p_vaddr);
		int32_t distance;

		if (p->p_type != PT_GNU_EH_FRAME)
			continue;
		cr_assert_eq(header[1], 0x1b); /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
		memcpy(&distance, header + 4, sizeof(distance));
		*(uint64_t *)ret = p->p_vaddr + 4 + (uint64_t)(int64_t)distance;
	}
	return 1;
}

Test(elf_facts, say_what_a_table_is_made_of)
{
	int fd;
	struct elf_file file = open_self(&fd);
	struct elf_facts facts;
	uint64_t address = 0;

	cr_assert(elf_facts_init(&facts, &file) == 0);
	dl_iterate_phdr(find_eh_frame, &address);
	cr_expect_eq(facts.origin.unwind.source, ELF_SOURCE_EH_FRAME);
	cr_expect_eq(facts.origin.unwind.address, address);
	cr_expect_eq(facts.origin.unwind.size, file.cfi.size);
	cr_expect(facts.origin.start == file.code.start && facts.origin.end == file.code.end);
	cr_expect(facts.origin.entry == file.code.entry && facts.origin.go_size == 0);
	elf_facts_done(&facts);
	elf_file_done(&file);
	close(fd);
}

Test(elf_file, refuses_segments_that_wrap_around)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
	} file = {
		.header = one_segment,
		.segment = { .p_type = PT_LOAD, .p_flags = PF_X, .p_memsz = 0x2000 },
	};

	cr_assert(init_bytes(&file, sizeof(file)) == 0);
	file.segment.p_vaddr = -UINT64_C(0x1000);
	cr_assert(init_bytes(&file, sizeof(file)) == -EBADMSG);
	file.segment.p_vaddr = 0;
	file.segment.p_offset = UINT64_MAX;
	file.segment.p_filesz = 0x1000;
	cr_assert(init_bytes(&file, sizeof(file)) == -EBADMSG);
}

/*
 * The section headers come last, so they are incomplete in a file truncated anywhere, such as one
 * that is still being written.
 */
Test(elf_file, refuses_what_is_truncated)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t size = (size_t)lseek(fd, 0, SEEK_END);
	uint8_t *bytes = malloc(size);

	cr_assert(pread(fd, bytes, size, 0) == (ssize_t)size);
	for (size_t n = 0; n < size; n += 1 + n / 40)
		cr_assert(init_bytes(bytes, n) < 0, "%zu of %zu bytes", n, size);
	cr_assert(init_bytes(bytes, size) == 0);
	free(bytes);
	close(fd);
}

/* If a file is truncated while mapped, the missing part reads as zeros, which give no table. */
Test(bus_guard, lets_truncated_files_be_read)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = memfd_create("test", 0);
	off_t size = lseek(self, 0, SEEK_END), from = 0;
	struct elf_file file;
	struct image image;
	const uint8_t *bytes;

	cr_assert(bus_guard_install() == 0);
	cr_assert(sendfile(fd, self, &from, (size_t)size) == size);
	cr_assert(elf_file_init_fd(&file, fd) == 0 && file.cfi.size > 4096);
	cr_assert(ftruncate(fd, 64) == 0);
	cr_assert(image_build(&file.cfi, &file.code, &image) == -ENODATA);
	bytes = file.cfi.data;
	cr_assert(bytes[file.cfi.size - 1] == 0);
	elf_file_done(&file);
	close(fd);
	close(self);
}

static size_t count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	size_t n = 0;

	for (int c; (c = getc(maps)) != EOF;)
		n += c == '\n';
	fclose(maps);
	return n;
}

/* Each page by itself would be two mappings, and a process may have 65,530. */
Test(bus_guard, needs_few_mappings)
{
	const size_t n = 100000;
	int fd = memfd_create("test", 0);
	volatile char *pages, *others;

	cr_assert(bus_guard_install() == 0 && ftruncate(fd, (off_t)(n * 4096)) == 0);
	pages = mmap(NULL, n * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert(pages != MAP_FAILED);
	/* What is there is not touched, if it is next to these or not. */
	others = mmap((char *)pages + (n - 1) * 4096, 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	others[0] = 1;
	cr_assert_eq(ftruncate(fd, 0), 0);
	for (size_t i = 0; i < n - 1; i += 2)
		cr_assert_eq(pages[i * 4096], 0);
	cr_assert_eq(others[0], 1);
	cr_assert_lt(count_mappings(), 20000);
}

Test(bus_guard, hides_nothing_else, .signal = SIGBUS)
{
	int fd = memfd_create("test", 0);
	volatile char *page;

	cr_assert(bus_guard_install() == 0 && ftruncate(fd, 4096) == 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(page != MAP_FAILED && ftruncate(fd, 0) == 0);
	page[0] = 1;
}

/*
 * But the missing part of a library that this program runs does not: zeros are neither its code nor
 * its data.
 */
Test(bus_guard, hides_no_loss_of_its_own_libraries, .signal = SIGBUS)
{
	int fd = memfd_create("library", 0), libm;
	void *library = dlopen("libm.so.6", RTLD_NOW);
	volatile const char *code;
	char path[64];
	off_t from = 0;
	Dl_info info;

	cr_assert(library && dladdr(dlsym(library, "cos"), &info));
	libm = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	cr_assert(sendfile(fd, libm, &from, SIZE_MAX >> 1) > 4096);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	library = dlopen(path, RTLD_NOW);
	cr_assert(library, "%s", dlerror());
	code = dlsym(library, "fegetround");
	cr_assert(code && bus_guard_install() == 0 && ftruncate(fd, 64) == 0);
	(void)*code;
}

Test(bus_guard, is_no_protection_from_kill, .signal = SIGBUS)
{
	cr_assert(bus_guard_install() == 0);
	kill(getpid(), SIGBUS);
}

struct check {
	const struct cfi_section *section;
	uint64_t last_end;
	uint64_t n;
};

static int check_row(const struct image_row *row, void *arg)
{
	struct check *c = arg;

	cr_assert(row->start < row->end && row->start >= c->last_end);
	cr_assert(row->rule.cfa < DP_N_CFA);
	c->last_end = row->end;
	c->n++;
	return 0;
}

Test(tables, builds_the_table_of_libc)
{
	struct elf_file file;
	struct image image;
	struct check c = { 0 };
	Dl_info info;
	int fd;

	cr_assert(dladdr((void *)&gnu_get_libc_version, &info));
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	cr_assert(elf_file_init_fd(&file, fd) == 0);
	cr_assert(image_build(&file.cfi, &file.code, &image) == 0);
	image_for_each_row(&image, check_row, &c);
	cr_assert(c.n > 10000 && image.stats.n_bad_records == 0);
	cr_assert(c.n <= image.stats.n_rows);
	image_done(&image);
	elf_file_done(&file);
	close(fd);
}
