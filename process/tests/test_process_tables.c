// SPDX-License-Identifier: Apache-2.0
/* Processes and the tables of what they map. */
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <gnu/libc-version.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "process/tests/process_world.h"
#include "sandbox/fetchers.h"
#include "symbols/names_parts.h"

TestSuite(process_tables, .init = begin, .fini = end);

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
	cr_assert(binary_store_get(&binaries, 0, fd, "/copy", &b) == 0);
	close(self);
	return b;
}

/* Thousands of programs may come and go: only what a report refers to is kept, without its file. */
Test(process_tables, lets_go_of_binaries_that_nobody_maps)
{
	const uint64_t minute = 61 * UINT64_C(1000000000);
	uint64_t now = clock_now_ns(), entry;
	const struct source_location *locations;
	struct binary *b;

	binaries.symbols = true;
	cr_assert(process_table_add(&table, getpid()) == 0);
	cr_assert(process_table_publish(&table, 1) == 0);
	b = snapshot_find(process_table_find(&table, getpid())->snapshot,
			  (uint64_t)(uintptr_t)&begin)
		    ->binary;
	b->is_sampled = true;
	entry = ((const Elf64_Ehdr *)(const void *)b->bytes)->e_entry;
	binary_store_update(&binaries, now);
	binary_store_update(&binaries, now + minute);
	cr_assert(HASH_COUNT(binaries.binaries) > 1, "they are mapped");

	process_table_on_exec(&table, getpid(), 10);
	cr_assert(process_table_publish(&table, 11) == 0);
	process_table_forget(&table, 12);
	binary_store_update(&binaries, now + 2 * minute);
	cr_assert(HASH_COUNT(binaries.binaries) > 1, "not for long");
	binary_store_update(&binaries, now + 3 * minute);
	cr_assert(HASH_COUNT(binaries.binaries) == 0 && binaries.closed == b && !b->next_closed);
	cr_assert(binaries.tables.tables == NULL ||
		  binaries.tables.tables->binary == binaries.vdso);
	cr_assert(b->module->fd < 0 && !b->bytes && b->elf.origin.build_id[0] != '\0');
	cr_assert_eq(module_find_locations(b->module, entry, false, &locations), 1);
	cr_assert_str_eq(locations[0].function, "_start");
}

/* Where in the file the unwind information is. */
static off_t eh_frame_offset(const struct binary *b)
{
	struct elf_file file;
	off_t offset;

	cr_assert(elf_file_init_fd(&file, b->module->fd) == 0);
	offset = file.cfi.data - file.bytes;
	elf_file_done(&file);
	return offset;
}

/* Every container has its own copy of the same libraries. */
Test(process_tables, makes_one_table_for_copies_of_a_file)
{
	struct binary *a, *b, *other;
	uint64_t n_cells;

	a = copy_of_self(EI_PAD);
	n_cells = binaries.n_cells;
	b = copy_of_self(EI_PAD + 1);
	cr_assert(a != b && a->module->fd != b->module->fd);
	cr_assert(a->table && a->table == b->table && binaries.n_cells == n_cells);
	/* The same build id, but other unwind information. */
	other = copy_of_self(eh_frame_offset(a) + 40);
	cr_assert(other->table != a->table && binaries.n_cells > n_cells);
}

/* The image that the kernel finds at this program's mapping: a cell, or why there is none. */
static uint32_t image_of_self(void)
{
	const struct snapshot *s = process_table_find(&table, getpid())->snapshot;
	const struct dp_mapping *m;
	uint32_t at = s->cell + sizeof(struct dp_snapshot) / DP_CELL_SIZE;

	m = (const void *)(segments[at / DP_SEGMENT_CELLS] +
			   (size_t)(at % DP_SEGMENT_CELLS) * DP_CELL_SIZE);
	while ((uintptr_t)&image_of_self < m->start || (uintptr_t)&image_of_self >= m->end)
		m++;
	return m->image;
}

/* A table is evicted for another one, and rebuilt when it is requested. */
Test(process_tables, evicts_a_table_and_makes_it_again)
{
	struct table_store *tables = &binaries.tables;
	struct table *own, *large;
	uint64_t now;

	pool.max_segments = POOL_MIN_SEGMENTS;
	cr_assert(process_table_add(&table, getpid()) == 0);
	cr_assert(process_table_publish(&table, 1) == 0);
	own = copy_of_self(EI_PAD)->table;
	cr_assert(own && image_of_self() == own->cell && own->n_snapshots > 0);
	/* However long it took to make. */
	now = clock_now_ns() + 100 * TABLE_HOLD_NS + TABLE_BUILD_SHARE * own->made_in;

	/* A table that takes nearly all the room. */
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

/* A table that no process maps is freed; a process that maps the file gets it again. */
Test(process_tables, makes_a_table_again_for_a_new_process)
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

/* A mapping of this program's code, of a process that does not exist. Returns its bias. */
static uint64_t map_self(int n, uint64_t time, uint64_t start, uint64_t size)
{
	struct mmap_record r = { .pid = PID(n),
				 .time = time,
				 .start = start,
				 .end = start + size,
				 .name = "/proc/self/exe" };
	struct elf_file file;
	int fd = open(r.name, O_RDONLY | O_CLOEXEC);
	uint64_t bias = 0;
	struct stat st;

	cr_assert(fstat(fd, &st) == 0 && elf_file_init_fd(&file, fd) == 0);
	for (size_t i = 0; i < file.n_segments; i++) {
		const struct elf_segment *segment = &file.segments[i];

		if (!segment->executable)
			continue;
		r.offset = segment->offset & -UINT64_C(4096);
		bias = start - (segment->address & -UINT64_C(4096));
	}
	r.file.inode = st.st_ino;
	elf_file_done(&file);
	close(fd);
	if (!process_table_find(&table, PID(n)))
		process_table_on_exec(&table, PID(n), 0);
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	return bias;
}

static void wait_for_workers(void)
{
	while (binaries.n_jobs > 0)
		binary_store_wait(&binaries, 1000);
	process_table_settle(&table);
}

/*
 * While its binary is read, a mapping is in no snapshot, so its samples have copies of their
 * stacks. Afterwards it counts from its start, even if it has ended or was cut.
 */
Test(process_tables, mappings_wait_for_workers)
{
	const uint64_t start = 0x100000;
	const struct mapping *m;
	struct process *p;
	uint64_t bias;

	table.all = true;
	binary_store_start_workers(&binaries);
	bias = map_self(0, 10, start, 0x5000);
	map(0, 20, start + 0x1000, start + 0x2000);
	cr_assert(process_table_on_fork(&table, PID(0), PID(2), 25) == 0);
	process_table_on_exec(&table, PID(0), 30);
	map_self(0, 40, start, 0x5000);
	p = process_table_find(&table, PID(0));
	cr_assert(process_table_publish(&table, 50) == 0);
	cr_assert(p->snapshot->n_mappings == 0 && process_is_pending(p, 45));
	cr_assert(p->snapshot->lacks_some);
	cr_assert(process_is_pending(p, 10) && !process_is_pending(p, 35));

	wait_for_workers();
	cr_assert(!p->has_pending && p->changed);
	cr_assert(process_table_publish(&table, 60) == 0);
	cr_assert(p->snapshot->n_mappings == 1 && p->snapshot->mappings[0].image >= DP_FIRST_CELL);
	cr_assert(!p->snapshot->lacks_some);
	for (uint64_t at = start; at < start + 0x5000; at += 0x1000) {
		m = process_find(p, at, 25);
		if (at == start + 0x1000)
			cr_assert(!m->binary);
		else
			cr_assert(m->binary && m->bias == bias && m->died == 30, "%lx", at);
	}
	p = process_table_find(&table, PID(2));
	cr_assert(p->snapshot->n_mappings == 3 && p->snapshot->mappings[2].bias == bias);
	cr_assert_eq(p->snapshot->mappings[0].binary->n_users,
		     p->snapshot->mappings[0].binary->table->n_mappings + 3);
}

static size_t n_brought;

void __wrap_fetchers_bring(struct fetchers *fetchers, pid_t pid, uint64_t address);

void __wrap_fetchers_bring(struct fetchers *fetchers, pid_t pid, uint64_t address)
{
	n_brought++;
}

/* As it is when a file is known at once; but what has ended needs none. */
Test(process_tables, cookies_are_brought_once_a_file_was_read)
{
	/* The cookie is in the file's headers, which are megabytes below the code with sanitizers. */
	const uint64_t start = UINT64_C(1) << 32;
	struct process *p;

	table.all = true;
	binary_store_start_workers(&binaries);
	map_self(0, 10, start, 0x5000);
	process_table_on_exec(&table, PID(0), 20);
	map_self(0, 30, start, 0x5000);
	p = process_table_find(&table, PID(0));
	p->lacks_cookies = true;
	cr_assert_eq(n_brought, 0);
	wait_for_workers();
	cr_assert(process_find(p, start, 10)->has_cookie);
	cr_assert(process_find(p, start, 30)->has_cookie);
	cr_assert_eq(n_brought, 1);
}

/* A file that turns out not to be a binary counts as code in no file. */
Test(process_tables, mappings_of_other_files_have_no_binary)
{
	struct mmap_record r = {
		.pid = PID(0), .time = 10, .start = 0x1000, .end = 0x2000, .name = "/etc/passwd"
	};
	struct process *p;
	struct stat st;

	cr_assert_eq(stat(r.name, &st), 0);
	r.file.inode = st.st_ino;
	table.all = true;
	binary_store_start_workers(&binaries);
	process_table_on_exec(&table, PID(0), 0);
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	p = process_table_find(&table, PID(0));
	cr_assert(process_is_pending(p, 10));
	wait_for_workers();
	cr_assert(!process_is_pending(p, 10) && !process_find(p, 0x1000, 10)->binary);
	cr_assert(HASH_COUNT(binaries.binaries) == 0 && !binaries.names->modules, "it is freed");
	cr_assert(process_table_publish(&table, 60) == 0);
	cr_assert_eq(p->snapshot->n_mappings, 1);
}

/* Workers look up paths; the file may be known by another path already. */
Test(process_tables, mappings_wait_until_their_file_is_found)
{
	char path[PATH_MAX] = "/proc/self/root";
	struct mmap_record r = { .pid = PID(0), .time = 20, .name = path };
	const size_t n = strlen(path);
	const struct mapping *m;
	struct stat st;
	uint64_t bias;

	cr_assert(readlink("/proc/self/exe", path + n, sizeof(path) - n - 1) > 0);
	cr_assert_eq(stat(path, &st), 0);
	table.all = true;
	binary_store_start_workers(&binaries);
	bias = map_self(0, 10, 0x100000, 0x5000);
	m = process_find(process_table_find(&table, PID(0)), 0x100000, 10);
	r.start = m->start + 0x100000;
	r.end = m->end + 0x100000;
	r.offset = m->offset;
	r.file.inode = st.st_ino;
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	cr_assert_eq(HASH_COUNT(binaries.binaries), 2);
	wait_for_workers();
	process_table_settle(&table);
	m = process_find(process_table_find(&table, PID(0)), r.start, 20);
	cr_assert(m->binary && m->bias == bias + 0x100000);
	cr_assert_eq(process_find(process_table_find(&table, PID(0)), 0x100000, 20)->binary,
		     m->binary);
	cr_assert_eq(HASH_COUNT(binaries.binaries), 1);
}

/* A process may end before its files are looked up. */
Test(process_tables, knows_a_file_by_its_record)
{
	const struct process *p;
	const struct mapping *m, *again;
	struct mmap_record r;
	struct stat st;

	table.all = true;
	cr_assert_eq(stat("/proc/self/exe", &st), 0);
	map_self(0, 10, 0x100000, 0x5000);
	p = process_table_find(&table, PID(0));
	m = process_find(p, 0x100000, 10);
	r = (struct mmap_record){ .pid = PID(0),
				  .time = 20,
				  .start = m->start,
				  .end = m->end,
				  .offset = m->offset,
				  .file = { st.st_dev, st.st_ino, 7 },
				  .name = "/proc/self/exe" };
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	r.time = 30;
	r.name = "/nowhere";
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	m = process_find(p, 0x100000, 20);
	again = process_find(p, 0x100000, 30);
	cr_assert(m->binary && again->born == 30);
	cr_assert(again->binary == m->binary && again->bias == m->bias);
	r.time = 40;
	r.file.generation++;
	cr_assert_eq(process_table_on_mmap(&table, &r), 0);
	cr_assert_null(process_find(p, 0x100000, 40)->binary, "it is another file");
}

/* A part of this program's code, as it is mapped: all but the first page. */
static void *map_part(uint64_t *ret_offset)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t start, end;
	char line[4096];
	void *part = MAP_FAILED;

	cr_assert(maps && fd >= 0);
	while (part == MAP_FAILED && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64, &start, &end,
			   ret_offset) == 3 &&
		    strchr(line, '/'))
			part = mmap(NULL, end - start - 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE,
				    fd, (off_t)(*ret_offset += 4096));
	cr_assert(part != MAP_FAILED);
	close(fd);
	return part;
}

/* Code that is mapped a second time, as V8's: other memory is where its cookie would be. */
Test(process_tables, knows_code_without_its_file)
{
	struct process *p;
	const struct mapping *m;
	uint64_t offset;
	void *part = map_part(&offset);

	cr_assert(process_table_add(&table, getpid()) == 0);
	cr_assert(process_table_publish(&table, 1) == 0);
	p = process_table_find(&table, getpid());
	m = snapshot_find(p->snapshot, (uint64_t)(uintptr_t)part);
	cr_assert(m && m->binary && m->image >= DP_FIRST_CELL && m->offset == offset);
	cr_assert(!m->has_cookie);
}
