// SPDX-License-Identifier: Apache-2.0
/* Reads of this program's file what the dynamic linker has mapped of it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "elf/elf_needed.h"

static uint64_t mapped(ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

static int find_interpreter(struct dl_phdr_info *info, size_t size, void *ret)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_INTERP)
			*(const char **)ret =
				(const char *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	return 1;
}

Test(elf_needed, reads_what_the_dynamic_linker_was_asked_for)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const char *strings = (const char *)mapped(DT_STRTAB), *interpreter = NULL;
	struct elf_needed needed;
	size_t n = 0;

	cr_assert(elf_needed_init(&needed, fd) == 0);
	for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++) {
		if (d->d_tag != DT_NEEDED)
			continue;
		cr_assert_lt(n, needed.n_libraries);
		cr_expect_str_eq(needed.libraries[n++], strings + d->d_un.d_val);
	}
	cr_assert_gt(n, 1);
	cr_expect_eq(n, needed.n_libraries);
	dl_iterate_phdr(find_interpreter, &interpreter);
	cr_assert_not_null(interpreter);
	cr_expect_str_eq(needed.interpreter, interpreter);
	/* As in meson.build */
	cr_expect_str_eq(needed.run_path, "/first:$ORIGIN/second");
	elf_needed_done(&needed);
}

/* A copy of this program's file, in which an entry behind DT_RUNPATH is a DT_RPATH. */
static int copy_with_both_paths(void)
{
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("copy", 0);
	off_t size = lseek(self, 0, SEEK_END), from = 0;
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Dyn entry;
	uint64_t name = 0;

	cr_assert_eq(sendfile(fd, self, &from, (size_t)size), size);
	cr_assert(pread(fd, &header, sizeof(header), 0) == sizeof(header));
	for (off_t at = (off_t)header.e_phoff;; at += (off_t)sizeof(segment)) {
		cr_assert(pread(fd, &segment, sizeof(segment), at) == sizeof(segment));
		if (segment.p_type == PT_DYNAMIC)
			break;
	}
	for (off_t at = (off_t)segment.p_offset;; at += (off_t)sizeof(entry)) {
		cr_assert(pread(fd, &entry, sizeof(entry), at) == sizeof(entry));
		cr_assert(entry.d_tag != DT_NULL);
		if (entry.d_tag == DT_NEEDED)
			name = entry.d_un.d_val;
		if (entry.d_tag != DT_DEBUG)
			continue;
		entry = (Elf64_Dyn){ .d_tag = DT_RPATH, .d_un.d_val = name };
		cr_assert(pwrite(fd, &entry, sizeof(entry), at) == sizeof(entry));
		return fd;
	}
}

Test(elf_needed, prefers_runpath)
{
	_cleanup_close_ int fd = copy_with_both_paths();
	struct elf_needed needed;

	cr_assert(elf_needed_init(&needed, fd) == 0);
	cr_expect_str_eq(needed.run_path, "/first:$ORIGIN/second");
	elf_needed_done(&needed);
}

Test(elf_needed, refuses_what_is_no_elf_file)
{
	_cleanup_close_ int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct elf_needed needed;

	cr_expect_eq(elf_needed_init(&needed, fd), -ENOEXEC);
	cr_expect(needed.n_libraries == 0 && !needed.run_path);
	elf_needed_done(&needed);
}
