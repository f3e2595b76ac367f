// SPDX-License-Identifier: Apache-2.0
/* Reading what the machine has: /proc/PID/maps, ELF files, and their tables. */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <dlfcn.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/bus_guard.h"
#include "loader/clock.h"
#include "loader/cpus.h"
#include "tables/decode.h"
#include "loader/elf_file.h"
#include "loader/mapped_file.h"
#include "loader/proc_maps.h"
#include "loader/proc_stat.h"
#include "loader/uevent.h"

/* The lines of /proc/PID/maps, from a string. */
static struct proc_maps maps_of(const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	cr_assert(file);
	return (struct proc_maps){ .file = file };
}

Test(proc_maps, reads_every_kind_of_line)
{
	struct proc_maps maps = maps_of(
		"55c3f7a00000-55c3f7a21000 r-xp 00002000 fe:01 1837 /usr/bin/with space (deleted)\n"
		"7f1000000000-7f1000021000 rw-p 00000000 00:00 0 \n"
		"7ffd11fd5000-7ffd11fd7000 r-xp 00000000 00:00 0                          [vdso]\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n");
	struct proc_map map;

	cr_assert(proc_maps_next(&maps, &map) == 1);
	cr_assert(map.start == 0x55c3f7a00000 && map.end == 0x55c3f7a21000 && map.offset == 0x2000);
	cr_assert(map.executable && map.inode == 1837);
	cr_assert_str_eq(map.name, "/usr/bin/with space");
	cr_assert(proc_maps_next(&maps, &map) == 1);
	cr_assert(!map.executable && map.inode == 0);
	cr_assert_str_eq(map.name, "");
	cr_assert(proc_maps_next(&maps, &map) == 1);
	cr_assert_str_eq(map.name, "[vdso]");
	cr_assert(proc_maps_next(&maps, &map) == 1);
	cr_assert(map.start == 0xffffffffff600000);
	cr_assert(proc_maps_next(&maps, &map) == 0);
	proc_maps_close(&maps);
}

static void expect_map_name(const char *written, const char *name)
{
	char line[256];
	struct proc_maps maps;
	struct proc_map map;

	snprintf(line, sizeof(line), "1000-2000 r-xp 00000000 fe:01 18 %s\n", written);
	maps = maps_of(line);
	cr_assert(proc_maps_next(&maps, &map) == 1);
	cr_assert_str_eq(map.name, name);
	proc_maps_close(&maps);
}

Test(proc_maps, gives_the_path_of_the_file)
{
	expect_map_name("/tmp/two\\012lines", "/tmp/two\nlines");
	expect_map_name("/tmp/\\012", "/tmp/\n");
	/* Only a newline is written in another way. */
	expect_map_name("/tmp/back\\slash\\\\\\101\\01", "/tmp/back\\slash\\\\\\101\\01");
	expect_map_name("/tmp/gone (deleted)", "/tmp/gone");
	expect_map_name("/tmp/gone (deleted) (deleted)", "/tmp/gone (deleted)");
	expect_map_name("(deleted)", "(deleted)");
}

/* The same, of a file that the kernel has mapped. */
Test(proc_maps, undoes_what_the_kernel_does_to_a_path)
{
	char directory[] = "/tmp/dwarfprof-test-XXXXXX";
	char path[128];
	struct proc_maps maps;
	struct proc_map map;
	bool found = false;
	int fd;

	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/a\n b\\n\\101\t\x1b[31m\xff", directory);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && ftruncate(fd, 4096) == 0);
	cr_assert(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	unlink(path);
	rmdir(directory);
	cr_assert(proc_maps_open(&maps, getpid()) == 0);
	while (proc_maps_next(&maps, &map) > 0)
		found |= strcmp(map.name, path) == 0;
	cr_assert(found);
	proc_maps_close(&maps);
	close(fd);
}

Test(proc_maps, refuses_other_text)
{
	struct proc_maps maps = maps_of("what is this\n");
	struct proc_map map;

	cr_assert(proc_maps_next(&maps, &map) == -EBADMSG);
	proc_maps_close(&maps);
}

Test(proc_maps, says_that_there_is_no_such_process)
{
	struct proc_maps maps;

	cr_assert(proc_maps_open(&maps, 0x7fffffff) == -ESRCH);
}

Test(proc_stat, reads_this_process)
{
	struct proc_stat stat, *all;
	size_t n, found = 0;

	prctl(PR_SET_NAME, ") R 1 (\n");
	cr_assert(proc_stat_read(getpid(), &stat) == 0);
	cr_assert(stat.pid == getpid() && stat.parent == getppid() && !stat.exited);
	cr_assert(stat.started <= clock_to_boot_ns(clock_now_ns()));
	cr_assert(stat.started > clock_to_boot_ns(clock_now_ns()) - 60 * UINT64_C(1000000000));
	cr_assert(proc_stat_live_thread(getpid()) == getpid());
	cr_assert(proc_stat_read(0x7fffffff, &stat) == -ESRCH);
	cr_assert(proc_stat_live_thread(0x7fffffff) == 0);
	cr_assert(proc_stat_read_all(&all, &n) == 0);
	for (size_t i = 0; i < n; i++)
		found += all[i].pid == getpid();
	cr_assert(found == 1);
	free(all);
}

/* No writer waits at the other end of the FIFO: opening it would never return. */
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

Test(cpus, finds_the_highest)
{
	cr_assert(cpus_count_list("0\n") == 1);
	cr_assert(cpus_count_list("0-3\n") == 4);
	cr_assert(cpus_count_list("0-3,8,10-11") == 12);
	cr_assert(cpus_count_list("") == 0);
}

Test(cpus, reads_those_that_are_online)
{
	char list[CPUS_LIST_SIZE];

	cr_assert_eq(cpus_count_present(), (unsigned int)sysconf(_SC_NPROCESSORS_CONF));
	cr_assert(cpus_read(list) >= (unsigned int)sysconf(_SC_NPROCESSORS_ONLN));
	cr_assert(cpus_find_new(list, "") == 0);
	cr_assert(cpus_find_new(list, list) == -1);
}

/* Is this a message of a CPU, and of which? */
#define PARSE(message, ret) uevent_parse(message, sizeof(message), ret)

Test(uevent, tells_which_cpu_came_or_went)
{
	struct uevent_cpu change;

	cr_assert(PARSE("online@/devices/system/cpu/cpu12\0ACTION=online", &change));
	cr_assert(change.cpu == 12 && change.is_online);
	cr_assert(PARSE("offline@/devices/system/cpu/cpu0\0ACTION=offline", &change));
	cr_assert(change.cpu == 0 && !change.is_online);
}

Test(uevent, leaves_others_alone)
{
	struct uevent_cpu change;

	cr_assert(!PARSE("change@/devices/system/cpu/cpu1", &change));
	cr_assert(!PARSE("add@/devices/system/cpu/cpu1", &change));
	cr_assert(!PARSE("online@/devices/system/memory/memory8", &change));
	cr_assert(!PARSE("online@/devices/system/cpu/cpu", &change));
	cr_assert(!PARSE("online@/devices/system/cpu/cpu1/cache", &change));
	cr_assert(!PARSE("online@/devices/system/cpu/cpufreq", &change));
	cr_assert(!PARSE("libudev\0\xfe\xed\xca\xfe", &change));
	cr_assert(!uevent_parse("online@/devices/system/cpu/cpu1", 12, &change), "cut");
	cr_assert(!uevent_parse("", 0, &change));
}

Test(uevent, comes_from_the_kernel)
{
	struct uevent_cpu change;
	struct pollfd poll_fd = { .fd = uevent_open(), .events = POLLIN };
	int file = open("/sys/devices/system/cpu/cpu0/uevent", O_WRONLY | O_CLOEXEC);

	if (file < 0)
		cr_skip("the kernel lets only root do this");
	cr_assert(poll_fd.fd >= 0);
	cr_assert(uevent_next(poll_fd.fd, &change) == -EAGAIN);
	cr_assert(write(file, "online", 6) == 6);
	cr_assert(poll(&poll_fd, 1, 10000) == 1);
	cr_assert(uevent_next(poll_fd.fd, &change) == 0);
	cr_assert(change.cpu == 0 && change.is_online);
	close(file);
	close(poll_fd.fd);
}

Test(uevent, says_when_some_were_dropped)
{
	struct uevent_cpu change;
	int fd = uevent_open(), room = 1, n_dropped = 0, err;
	int file = open("/sys/devices/system/cpu/cpu0/uevent", O_WRONLY | O_CLOEXEC);

	if (file < 0)
		cr_skip("the kernel lets only root do this");
	cr_assert(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)) == 0);
	for (int i = 0; i < 100; i++)
		cr_assert(write(file, "online", 6) == 6);
	while ((err = uevent_next(fd, &change)) == 0 || err == -ENOBUFS)
		n_dropped += err == -ENOBUFS;
	cr_assert_eq(err, -EAGAIN);
	cr_assert_eq(n_dropped, 1);
	close(file);
	close(fd);
}

Test(cpus, finds_those_that_are_new)
{
	cr_assert(cpus_find_new("0-3\n", "0-1,3\n") == 2);
	cr_assert(cpus_find_new("0,2-12\n", "0-8,10-13\n") == 9);
	cr_assert(cpus_find_new("0-1\n", "0-3\n") == -1);
	cr_assert(cpus_find_new("", "0\n") == -1);
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

/* Where the kernel has put this program tells whether the bias is right. */
static int find_self(struct dl_phdr_info *info, size_t size, void *ret)
{
	*(uint64_t *)ret = info->dlpi_addr;
	return 1;
}

Test(elf_file, computes_the_bias_that_the_dynamic_linker_knows)
{
	struct proc_maps maps;
	struct proc_map map;
	uint64_t expected, bias = 1;
	int fd;
	struct elf_file file = open_self(&fd);

	dl_iterate_phdr(find_self, &expected);
	cr_assert(proc_maps_open(&maps, getpid()) == 0);
	while (proc_maps_next(&maps, &map) > 0) {
		if (map.start > (uint64_t)(uintptr_t)&find_self ||
		    map.end <= (uint64_t)(uintptr_t)&find_self)
			continue;
		cr_assert(elf_file_bias(&file, map.start, map.offset, &bias) == 0);
	}
	cr_assert(bias == expected, "%lx, not %lx", bias, expected);
	cr_assert(elf_file_bias(&file, 0x1000, UINT64_C(1) << 40, &bias) == -ENOENT);
	/* The mark is what is in memory now. */
	cr_assert(file.mark_address != 0);
	cr_assert(memcmp((void *)(file.mark_address + expected), &file.mark, 8) == 0);
	proc_maps_close(&maps);
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

Test(elf_file, refuses_segments_that_wrap_around)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr segment;
	} file = {
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			    .e_type = ET_DYN,
			    .e_machine = EM_X86_64,
			    .e_version = 1,
			    .e_ehsize = sizeof(Elf64_Ehdr),
			    .e_phoff = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 1 },
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

/* The section headers come last: a file cut off anywhere, as while it is being written, lacks some. */
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

/* Cut off while it is mapped: what is gone reads as zeros, and there is no table in zeros. */
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

Test(bus_guard, hides_nothing_else, .signal = SIGBUS)
{
	int fd = memfd_create("test", 0);
	volatile char *page;

	cr_assert(bus_guard_install() == 0 && ftruncate(fd, 4096) == 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert(page != MAP_FAILED && ftruncate(fd, 0) == 0);
	page[0] = 1;
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
