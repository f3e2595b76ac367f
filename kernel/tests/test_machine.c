// SPDX-License-Identifier: Apache-2.0
/*
 * Parsers of what the kernel reports about processes and CPUs: /proc/PID/maps, /proc/PID/stat, CPU
 * lists, uevents.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/cpus.h"
#include "kernel/proc_maps.h"
#include "kernel/proc_stat.h"
#include "kernel/uevent.h"
#include "log/clock.h"

/* Lines of /proc/PID/maps from a string. */
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
	/* Only newlines are escaped. */
	expect_map_name("/tmp/back\\slash\\\\\\101\\01", "/tmp/back\\slash\\\\\\101\\01");
	expect_map_name("/tmp/gone (deleted)", "/tmp/gone");
	expect_map_name("/tmp/gone (deleted) (deleted)", "/tmp/gone (deleted)");
	expect_map_name("(deleted)", "(deleted)");
}

/* The same for a file that the kernel has mapped. */
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

/* Its parent has yet to ask what became of it: until then, nothing else has its number. */
Test(proc_stat, tells_who_is_gone)
{
	siginfo_t info;
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	cr_assert_eq(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	cr_assert(!proc_stat_is_gone(child) && proc_stat_live_thread(child) == 0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_assert(proc_stat_is_gone(child) && proc_stat_is_gone(0x7fffffff));
	cr_assert(!proc_stat_is_gone(getpid()) && !proc_stat_is_gone(1));
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

/* Compares a message's CPU and state. */
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

	if (file < 0 && (geteuid() != 0 || errno == EROFS || errno == ENOENT))
		cr_skip("the kernel lets only root do this, where /sys is mounted to be written");
	cr_assert(file >= 0);
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

	if (file < 0 && (geteuid() != 0 || errno == EROFS || errno == ENOENT))
		cr_skip("the kernel lets only root do this, where /sys is mounted to be written");
	cr_assert(file >= 0);
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
