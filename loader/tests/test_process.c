// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "clock.h"
#include "process.h"

/* A process table without a kernel: what would be published is remembered here. */
static uint8_t *segments[64];
static int n_segments;
static uint32_t published[8]; /* by pid - 1000 */
static struct pool pool;
static struct binary_store binaries;
static struct process_table table;

#define PID(n) (1000 + (n))

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	*ret = segments[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static int publish(void *arg, pid_t pid, uint32_t cell)
{
	if (pid >= PID(0) && pid < PID(8))
		published[pid - PID(0)] = cell;
	return 0;
}

static void begin(void)
{
	pool_init(&pool, add_segment, NULL);
	binary_store_init(&binaries, &pool);
	process_table_init(&table, &pool, &binaries, publish, NULL);
}

static void end(void)
{
	process_table_done(&table);
	binary_store_done(&binaries);
	pool_done(&pool);
	for (int i = 0; i < n_segments; i++)
		free(segments[i]);
}

TestSuite(process, .init = begin, .fini = end);

static void map(int n, uint64_t time, uint64_t start, uint64_t stop)
{
	struct mmap_record r = {
		.pid = PID(n),
		.time = time,
		.start = start,
		.end = stop,
		.name = "//anon",
	};

	cr_assert(process_table_on_mmap(&table, &r) == 0);
}

static struct space *snapshot(int n, uint64_t time)
{
	struct space *s;

	cr_assert(process_snapshot(&table, process_table_find(&table, PID(n)), time, &s) == 0);
	return s;
}

static void expect_mappings(int n, uint64_t time, size_t count)
{
	struct space *s = snapshot(n, time);

	cr_assert(s->n_mappings == count, "%zu mappings at %lu", s->n_mappings, time);
	for (size_t i = 1; i < count; i++)
		cr_assert(s->mappings[i - 1].end <= s->mappings[i].start, "sorted, no overlap");
	space_free(&table.spaces, s);
}

Test(process, ignores_records_of_strangers)
{
	map(0, 1, 0x1000, 0x2000);
	cr_assert(process_table_find(&table, PID(0)) == NULL);
	table.all = true;
	map(0, 1, 0x1000, 0x2000);
	cr_assert(process_table_find(&table, PID(0)) != NULL);
}

Test(process, remembers_when_mappings_came_and_went)
{
	table.all = true;
	map(0, 10, 0x1000, 0x3000);
	map(0, 20, 0x5000, 0x6000);
	map(0, 30, 0x2000, 0x5800); /* covers the end of one and the start of the other */
	expect_mappings(0, 9, 0);
	expect_mappings(0, 10, 1);
	expect_mappings(0, 25, 2);
	expect_mappings(0, 30, 3);
}

/* A mapping inside another one leaves its two ends. */
Test(process, splits_a_mapping)
{
	struct space *s;

	table.all = true;
	map(0, 10, 0x1000, 0x9000);
	map(0, 20, 0x3000, 0x4000);
	s = snapshot(0, 20);
	cr_assert(s->n_mappings == 3);
	cr_assert(s->mappings[0].end == 0x3000 && s->mappings[2].start == 0x4000);
	cr_assert(space_find(s, 0x3fff) == &s->mappings[1]);
	cr_assert(space_find(s, 0x9000) == NULL && space_find(s, 0xfff) == NULL);
	space_free(&table.spaces, s);
}

Test(process, gives_a_child_its_parents_mappings)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	table.all = false;
	cr_assert(process_table_on_fork(&table, PID(0), PID(1), 20) == 0);
	cr_assert(process_table_on_fork(&table, PID(5), PID(6), 20) == 0);
	cr_assert(process_table_find(&table, PID(6)) == NULL);
	expect_mappings(1, 20, 1);
	map(1, 30, 0x5000, 0x6000);
	expect_mappings(1, 30, 2);
	expect_mappings(0, 30, 1);
}

Test(process, starts_anew_at_exec)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_on_exec(&table, PID(0), 20);
	map(0, 21, 0x8000, 0x9000);
	expect_mappings(0, 15, 1);
	expect_mappings(0, 20, 0);
	expect_mappings(0, 21, 1);
}

/* A number that is used again is another process. */
Test(process, does_not_mix_up_reused_numbers)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	map(1, 10, 0x5000, 0x6000);
	map(1, 11, 0x7000, 0x8000);
	process_table_on_exit(&table, PID(1), 20);
	cr_assert(process_table_on_fork(&table, PID(0), PID(1), 30) == 0);
	expect_mappings(1, 15, 2);
	expect_mappings(1, 30, 1);
	cr_assert(process_table_find(&table, PID(1))->exited == TIME_NEVER);
}

Test(process, counts_a_command_from_its_exec)
{
	struct process *p;

	cr_assert(process_table_add_launched(&table, PID(2)) == 0);
	p = process_table_find(&table, PID(2));
	cr_assert(p->sampled_from == TIME_NEVER);
	process_table_on_exec(&table, PID(2), 55);
	process_table_on_exec(&table, PID(2), 66);
	cr_assert(p->sampled_from == 55);
}

Test(process, publishes_what_changed_and_nothing_else)
{
	const struct dp_space *space;
	const struct dp_mapping *mapping;
	uint32_t first;

	table.all = true;
	map(0, 10, 0x5000, 0x6000);
	map(0, 10, 0x1000, 0x2000);
	map(1, 10, 0x1000, 0x2000);
	cr_assert(process_table_publish(&table, 100) == 0);
	first = published[0];
	cr_assert(first != 0 && published[1] != 0 && first != published[1]);
	space = (const void *)(segments[0] + (size_t)first * 8);
	mapping = (const void *)(space + 1);
	cr_assert(space->pid == PID(0) && space->n_mappings == 2);
	cr_assert(mapping[0].start == 0x1000 && mapping[1].start == 0x5000);
	cr_assert(space_store_find(&table.spaces, space->id) != NULL);

	published[1] = 0;
	map(0, 110, 0x8000, 0x9000);
	cr_assert(process_table_publish(&table, 120) == 0);
	cr_assert(published[0] != first && published[1] == 0);
}

/* A replaced space is kept for the samples that name it, and its cells are used again after. */
Test(process, forgets_replaced_spaces_in_time)
{
	uint64_t id;

	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_publish(&table, 100);
	id = process_table_find(&table, PID(0))->space->id;
	map(0, 110, 0x3000, 0x4000);
	process_table_publish(&table, 200);
	process_table_forget(&table, 200);
	cr_assert(space_store_find(&table.spaces, id) != NULL);
	process_table_forget(&table, 201);
	cr_assert(space_store_find(&table.spaces, id) == NULL);
}

Test(process, forgets_processes_that_exited)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_publish(&table, 100);
	process_table_on_exit(&table, PID(0), 150);
	process_table_forget(&table, 150);
	cr_assert(process_table_find(&table, PID(0)) != NULL);
	process_table_forget(&table, 151);
	cr_assert(process_table_find(&table, PID(0)) == NULL && published[0] == 0);
}

/* The records tell that a thread has exited, not whether it was the last one. */
Test(process, keeps_processes_that_run)
{
	pid_t pid = fork();
	uint64_t now;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	usleep(20000); /* the time that a process started is known to 10 ms */
	cr_assert(process_table_add(&table, pid) == 0);
	now = clock_now_ns();
	process_table_on_exit(&table, pid, now);
	process_table_forget(&table, now + 1);
	cr_assert(process_table_find(&table, pid)->exited == TIME_NEVER);
	/* Its number is another process's, which started later. */
	process_table_on_exit(&table, pid, 1);
	process_table_forget(&table, 2);
	cr_assert(process_table_find(&table, pid) == NULL);

	cr_assert(process_table_add(&table, pid) == 0);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
	now = clock_now_ns();
	process_table_on_exit(&table, pid, now);
	process_table_forget(&table, now + 1);
	cr_assert(process_table_find(&table, pid) == NULL, "a zombie has ended");
	waitpid(pid, NULL, 0);
}

/* An exec by another thread than the first ends the first, under the same number. */
Test(process, survives_an_exec_by_any_thread)
{
	table.all = true;
	map(0, 10, 0x1000, 0x2000);
	process_table_on_exit(&table, PID(0), 20);
	process_table_on_exec(&table, PID(0), 21);
	process_table_forget(&table, 30);
	cr_assert(process_table_find(&table, PID(0)) != NULL);
}

/* Thousands of changes do not use up the pool. */
Test(process, reuses_the_pool)
{
	table.all = true;
	for (uint64_t i = 0; i < 5000; i++) {
		map(0, 10 * i, 0x1000 * (1 + i % 300), 0x1000 * (2 + i % 300));
		process_table_publish(&table, 10 * i);
		process_table_forget(&table, 10 * i - 20);
	}
	cr_assert(n_segments == 1, "%d segments", n_segments);
}

/* This very process: its libraries are found, with tables, and so is the vDSO. */
Test(process, takes_in_a_real_process)
{
	struct process *p;
	const struct mapping *m;
	struct space *s;

	cr_assert(process_table_add(&table, getpid()) == 0);
	cr_assert(process_table_publish(&table, 1) == 0);
	p = process_table_find(&table, getpid());
	s = p->space;
	m = space_find(s, (uint64_t)(uintptr_t)&begin);
	cr_assert(m && m->binary && m->binary->table && m->image >= DP_FIRST_CELL && m->marked);
	m = space_find(s, (uint64_t)(uintptr_t)&gnu_get_libc_version);
	cr_assert(m && m->binary && strstr(m->binary->module.path, "libc.so"));
	if (getauxval(AT_SYSINFO_EHDR)) /* valgrind hides it */
		cr_assert(binaries.vdso && table_image(binaries.vdso->table) >= DP_FIRST_CELL);
}

/* A copy of this program, with one byte of it changed. */
static struct binary *copy_of_self(off_t changed)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd = memfd_create("copy", 0);
	off_t size = lseek(self, 0, SEEK_END), from = 0;
	struct binary *b;
	uint8_t byte;

	cr_assert(sendfile(fd, self, &from, (size_t)size) == size);
	cr_assert(pread(fd, &byte, 1, changed) == 1);
	byte ^= 0xff;
	cr_assert(pwrite(fd, &byte, 1, changed) == 1);
	cr_assert(binary_store_get(&binaries, fd, "/copy", &b) == 0);
	close(self);
	return b;
}

/* Where in the file the unwind information is. */
static off_t eh_frame_offset(const struct elf_file *file)
{
	size_t size;
	const char *start = elf_rawfile((Elf *)file->elf, &size);

	return (const char *)file->cfi.data - start;
}

/* Every container has its own copy of the same libraries. */
Test(process, makes_one_table_for_copies_of_a_file)
{
	struct binary *a, *b, *other;
	uint64_t n_cells;

	a = copy_of_self(EI_PAD);
	n_cells = binaries.n_cells;
	b = copy_of_self(EI_PAD + 1);
	cr_assert(a != b && a->module.fd != b->module.fd);
	cr_assert(a->table && a->table == b->table && binaries.n_cells == n_cells);
	/* The same build id, but other unwind information. */
	other = copy_of_self(eh_frame_offset(&a->elf) + 40);
	cr_assert(other->table != a->table && binaries.n_cells > n_cells);
}

/* What the kernel finds where this program is mapped: a cell of its image, or why there is none. */
static uint32_t image_of_self(void)
{
	const struct space *s = process_table_find(&table, getpid())->space;
	const struct dp_mapping *m;
	uint32_t at = s->cell + sizeof(struct dp_space) / DP_CELL_SIZE;

	m = (const void *)(segments[at / DP_SEGMENT_CELLS] +
			   (size_t)(at % DP_SEGMENT_CELLS) * DP_CELL_SIZE);
	while ((uintptr_t)&image_of_self < m->start || (uintptr_t)&image_of_self >= m->end)
		m++;
	return m->image;
}

/* A table leaves the pool for another one, and comes back when it is asked for. */
Test(process, evicts_a_table_and_makes_it_again)
{
	struct table_store *tables = &binaries.tables;
	struct table *own, *large;
	uint64_t now = clock_now_ns() + 100 * TABLE_HOLD_NS;

	pool.max_segments = POOL_MIN_SEGMENTS;
	cr_assert(process_table_add(&table, getpid()) == 0);
	cr_assert(process_table_publish(&table, 1) == 0);
	own = copy_of_self(EI_PAD)->table;
	cr_assert(own && image_of_self() == own->cell && own->n_spaces > 0);

	/* One that takes nearly all the room there is. */
	cr_assert(table_new(tables, own->binary, DP_SEGMENT_CELLS - 100, 0, &large) == 0);
	table_want(tables, large, now);
	binary_store_update(&binaries, now);
	cr_assert(own->is_leaving && image_of_self() == own->cell, "walks go on with it");
	cr_assert(process_table_publish(&table, now) == 0);
	cr_assert(image_of_self() == DP_CELL_EVICTED && own->cell != DP_CELL_NONE);
	process_table_forget(&table, now + 1);
	cr_assert(own->cell == DP_CELL_NONE);
	binary_store_update(&binaries, now + 1);
	cr_assert(large->is_lost, "no file has such a table");

	table_want(tables, own, now + 1);
	binary_store_update(&binaries, now + 2);
	cr_assert(process_table_publish(&table, now + 2) == 0);
	cr_assert(own->cell != DP_CELL_NONE && image_of_self() == own->cell);
	cr_assert(binaries.tables.n_evicted > 0 && n_segments == 2);
}

/* A table that nobody has mapped goes; a process that maps the file gets it anew. */
Test(process, makes_a_table_again_for_a_new_process)
{
	struct binary *b = copy_of_self(EI_PAD);
	uint64_t later = clock_now_ns() + TABLE_IDLE_NS + TABLE_HOLD_NS;

	cr_assert(table_image(b->table) >= DP_FIRST_CELL);
	binary_store_update(&binaries, later);
	cr_assert(table_image(b->table) == DP_CELL_EVICTED && binaries.tables.n_freed == 1);
	cr_assert(process_table_add(&table, getpid()) == 0);
	cr_assert(process_table_publish(&table, later) == 0);
	cr_assert(image_of_self() == b->table->cell && b->table->n_mappings > 0);
	process_table_on_exit(&table, getpid(), 1);
	process_table_forget(&table, 2);
}

/* Without room for its space a process is sampled all the same, and gets one when there is. */
Test(process, goes_on_without_room_for_a_space)
{
	table.all = true;
	pool.max_segments = 0;
	map(0, 10, 0x1000, 0x2000);
	cr_assert(process_table_publish(&table, 100) == 0);
	cr_assert(published[0] == DP_CELL_UNKNOWN);
	pool.max_segments = POOL_MIN_SEGMENTS;
	cr_assert(process_table_publish(&table, 110) == 0);
	cr_assert(published[0] >= DP_FIRST_CELL);
	published[0] = 0;
	cr_assert(process_table_publish(&table, 120) == 0 && published[0] == 0, "nothing changed");
}

Test(process, forgets_one_that_never_had_room)
{
	table.all = true;
	pool.max_segments = 0;
	map(0, 10, 0x1000, 0x2000);
	cr_assert(process_table_publish(&table, 100) == 0 && published[0] == DP_CELL_UNKNOWN);
	process_table_on_exit(&table, PID(0), 110);
	process_table_forget(&table, 120);
	cr_assert(published[0] == 0, "the number may be another program's next");
}

Test(process, says_that_there_is_no_such_process)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	cr_assert(process_table_add(&table, pid) == -ESRCH);
	cr_assert(process_table_find(&table, pid) == NULL);
}
