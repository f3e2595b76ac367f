// SPDX-License-Identifier: Apache-2.0
/*
 * usage: mutate_elf [-s SEED] [-n COUNT] [-m NUMBER] [FILE...]
 *
 * Damages ELF files (default: some of this machine's) in COUNT ways and reads each as a profile
 * would: its tables, its symbols, its lines. Each must succeed or fail with a documented error,
 * within a second and 256 MiB. Seed and number determine a mutation: -m repeats a single one.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "elf/code_pages.h"
#include "elf/elf_facts.h"
#include "elf/elf_file.h"
#include "limits/limits.h"
#include "symbols/tests/mutation.h"
#include "symbols/debug_info.h"
#include "symbols/dwfl_file.h"
#include "symbols/module.h"
#include "symbols/names.h"
#include "symbols/symtab.h"
#include "tables/decode.h"

#define MAX_FILES 20
#define MIN_FILE_SIZE (8 << 10)
#define MAX_FILE_SIZE (256 << 10)
#define MEMORY_LIMIT (UINT64_C(256) << 20)
#define CPU_LIMIT_S 1
#define MAX_FAILURES 10

/* Written by the child that does the work, read after it has ended. */
struct progress {
	uint64_t number; /* of the current mutation */
	const char *stage;
	int error; /* an undocumented one */
	uint64_t n_tables, n_no_table, n_refused, n_symbols, n_locations;
	uint64_t slowest, slowest_ns;
};

static struct progress *progress; /* in shared memory */
static struct names *names;

static void fail(int error)
{
	progress->error = error;
	_exit(1);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int check_row(const struct image_row *row, void *arg)
{
	uint64_t *done = arg;

	if (row->start < *done || row->start >= row->end)
		fail(-ERANGE);
	*done = row->end;
	return 0;
}

static void read_tables(const struct mutant *mutant)
{
	struct elf_file file;
	struct image image;
	struct elf_facts facts;
	uint64_t done = 0, bias;
	int err;

	progress->stage = "elf_file_init_memory";
	err = elf_file_init_memory(&file, mutant->data, mutant->size);
	if (err == -ENOEXEC || err == -ENOTSUP || err == -EBADMSG) {
		progress->n_refused++;
		return;
	}
	if (err < 0)
		fail(err); /* including -ENOMEM: that is the limit */
	if (elf_facts_init(&facts, &file) < 0)
		fail(-ENOMEM);
	elf_facts_bias(&facts, 0x10000, 0, &bias);
	elf_facts_done(&facts);
	progress->stage = "image_build";
	err = image_build(&file.cfi, &file.code, &image);
	if (err < 0 && err != -EFBIG && err != -ENODATA)
		fail(err);
	if (err == 0) {
		progress->stage = "image_for_each_row";
		image_for_each_row(&image, check_row, &done);
		image_done(&image);
		progress->n_tables++;
	} else {
		progress->n_no_table++;
	}
	elf_file_done(&file);
}

static void read_symbols(int fd, const void *memory, size_t size)
{
	const struct dwfl_source source = {
		.names = names, .fd = fd, .memory = memory, .size = size, .path = "mutant"
	};
	struct symtab *symbols = NULL;
	int err;

	progress->stage = "symtab_new";
	err = symtab_new(&source, UINT64_MAX, &symbols);
	if (err == -ENOEXEC || err == -E2BIG)
		return;
	if (err < 0)
		fail(err);
	progress->stage = "symtab_find_symbol";
	for (uint64_t at = 0; at < MAX_FILE_SIZE; at += 4096)
		progress->n_symbols += symtab_find_symbol(symbols, at) != NULL;
	symtab_free(symbols);
}

/* However damaged a file is, the pages of a segment start before their end. */
static void read_pages(int fd, const void *memory, size_t size)
{
	struct code_pages *pages;
	size_t n;
	int err;

	progress->stage = "code_pages_read";
	err = code_pages_read(fd, memory, size, &pages, &n);
	if (err == -ENOEXEC)
		return;
	if (err < 0)
		fail(err);
	for (size_t i = 0; i < n; i++)
		if (pages[i].start >= pages[i].limit)
			fail(-ERANGE);
	free(pages);
}

static void check_locations(const struct source_location *locations, int n)
{
	for (int i = 0; i < n; i++) {
		progress->n_locations++;
		if ((locations[i].function && strlen(locations[i].function) > MAX_FILE_SIZE) ||
		    (locations[i].file && strlen(locations[i].file) > MAX_FILE_SIZE) ||
		    locations[i].inlined != (i + 1 < n))
			fail(-ERANGE);
	}
}

static void read_locations(const struct mutant *mutant)
{
	const struct dwfl_source source = { .names = names,
					    .fd = -1,
					    .memory = mutant->data,
					    .size = mutant->size,
					    .path = "mutant" };
	struct source_location locations[LOCATION_MAX];
	struct debug_info *info = NULL;
	int err;

	progress->stage = "debug_info_new";
	err = debug_info_new(&source, &info);
	if (err == -ENOEXEC || err == -ENODATA || err == -E2BIG)
		return;
	if (err < 0)
		fail(err);
	progress->stage = "debug_info_find";
	for (uint64_t at = 0x1000; at < 0x3000; at += 8) {
		int n = debug_info_find(info, at, true, locations);

		if (n < 0 && n != -E2BIG)
			fail(n);
		check_locations(locations, n);
	}
	debug_info_free(info);
}

/* As reports do: with both functions, and demangled names. */
static void read_module(int fd)
{
	struct module *module = module_new(names, "mutant", "", dup(fd));
	const struct source_location *locations;
	uint64_t start;
	size_t n;

	progress->stage = "module_find_locations";
	if (!module)
		fail(-ENOMEM);
	for (uint64_t at = 0x1000; at < 0x3000; at += 64) {
		n = module_find_locations(module, at, true, &locations);
		check_locations(locations, (int)n);
		if (module_find_start(module, at, &start) == 0 && start > at)
			fail(-ERANGE);
	}
	module_free(module);
}

/* From a file, the usual case, and from memory, as for the vDSO. */
static void read_all_symbols(const struct mutant *mutant)
{
	_cleanup_close_ int fd = memfd_create("mutant", MFD_CLOEXEC);

	if (fd < 0 || write(fd, mutant->data, mutant->size) != (ssize_t)mutant->size)
		fail(-errno);
	read_symbols(fd, NULL, 0);
	read_symbols(-1, mutant->data, mutant->size);
	read_module(fd);
	read_pages(fd, NULL, 0);
	read_pages(-1, mutant->data, mutant->size);
}

/* More than a process has at its start. AddressSanitizer itself needs terabytes. */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
	_cleanup_fclose_ FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;
	uint64_t pages = 0;

	if (!file || fscanf(file, "%" SCNu64, &pages) != 1)
		fail(-EIO);
	limit.rlim_cur = limit.rlim_max = pages * (uint64_t)sysconf(_SC_PAGESIZE) + MEMORY_LIMIT;
	setrlimit(RLIMIT_AS, &limit);
#endif
}

/* Runs one mutation. A signal ends one that hangs or takes too long. */
static void try_mutation(const struct original *originals, size_t n, uint64_t seed)
{
	const struct itimerval limit = { .it_value.tv_sec = CPU_LIMIT_S };
	struct mutant mutant;
	uint64_t start, took;

	mutant_init(&mutant, originals, n, seed, progress->number);
	setitimer(ITIMER_PROF, &limit, NULL);
	alarm(30 * CPU_LIMIT_S);
	start = cpu_ns();
	read_tables(&mutant);
	read_all_symbols(&mutant);
	read_locations(&mutant);
	took = cpu_ns() - start;
	if (took > progress->slowest_ns) {
		progress->slowest = progress->number;
		progress->slowest_ns = took;
	}
	mutant_done(&mutant);
}

/* Runs mutations from progress->number to `end` in a child. Returns its wait status. */
static int run(const struct original *originals, size_t n, uint64_t seed, uint64_t end)
{
	const struct itimerval none = { 0 };
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		limit_memory();
		for (; progress->number < end; progress->number++)
			try_mutation(originals, n, seed);
		setitimer(ITIMER_PROF, &none, NULL);
		alarm(0);
		progress->stage = "exit"; /* the sanitizer then looks for leaks */
		exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("mutate_elf");
		exit(2);
	}
	return status;
}

static void report(uint64_t seed, int status)
{
	printf("-s %" PRIu64 " -m %" PRIu64 ": %s(): ", seed, progress->number, progress->stage);
	if (WIFSIGNALED(status))
		printf("%s\n", WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM ?
				       "takes too long" :
				       strsignal(WTERMSIG(status)));
	else if (progress->error)
		printf("%s\n", strerror(-progress->error));
	else
		printf("exit status %d\n", WEXITSTATUS(status));
}

/* Returns the number of failed mutations. */
static int run_all(const struct original *originals, size_t n, uint64_t seed, uint64_t first,
		   uint64_t end)
{
	int n_failures = 0;

	progress->number = first;
	while (progress->number < end && n_failures < MAX_FAILURES) {
		int status = run(originals, n, seed, end);

		if (status == 0)
			break;
		report(seed, status);
		n_failures++;
		progress->number++;
		progress->error = 0;
	}
	printf("%" PRIu64 " mutations of %zu files: %" PRIu64 " with a table, %" PRIu64
	       " without one, %" PRIu64 " refused; %" PRIu64 " symbols, %" PRIu64
	       " locations; slowest: %" PRIu64 " in %" PRIu64 " ms; %d failed\n",
	       progress->number - first, n, progress->n_tables, progress->n_no_table,
	       progress->n_refused, progress->n_symbols, progress->n_locations, progress->slowest,
	       progress->slowest_ns / 1000000, n_failures);
	return n_failures;
}

static size_t add_file(struct original *originals, size_t n, const char *path)
{
	return n < MAX_FILES && original_init(&originals[n], path) == 0 ? n + 1 : n;
}

/* Adds small ELF files of a directory, from all parts of the listing. */
static size_t add_directory(struct original *originals, size_t n, const char *path, size_t max)
{
	struct dirent **entries = NULL;
	int n_entries = scandir(path, &entries, NULL, alphasort);
	size_t end = n + max;

	for (int i = 0; i < n_entries; i++) {
		_cleanup_free_ char *file = NULL;
		struct stat st;

		/* Evenly: as large a part of the files as of the entries so far. */
		if (asprintf(&file, "%s/%s", path, entries[i]->d_name) >= 0 && n < end &&
		    (end - n) * (size_t)n_entries >= (size_t)(n_entries - i) * max &&
		    lstat(file, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= MIN_FILE_SIZE &&
		    st.st_size <= MAX_FILE_SIZE)
			n = add_file(originals, n, file);
		free(entries[i]);
	}
	free(entries);
	return n;
}

static size_t find_originals(struct original *originals, char **files)
{
	size_t n = 0;

	if (*files) {
		while (*files)
			n = add_file(originals, n, *files++);
		return n;
	}
	n = add_directory(originals, n, "/usr/bin", MAX_FILES / 2);
	n = add_directory(originals, n, "/usr/lib/x86_64-linux-gnu", MAX_FILES - n - 1);
	return add_file(originals, n, "/proc/self/exe");
}

int main(int argc, char **argv)
{
	const struct names_options options = { 0 };
	struct original originals[MAX_FILES];
	uint64_t seed = 1, count = 1000, first = 0;
	int option, n_failures;
	size_t n;

	while ((option = getopt(argc, argv, "s:n:m:")) != -1) {
		if (option == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			count = strtoull(optarg, NULL, 0);
		else if (option == 'm')
			first = strtoull(optarg, NULL, 0), count = 1;
		else
			return 2;
	}
	n = find_originals(originals, argv + optind);
	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (n == 0 || progress == MAP_FAILED || names_new(&options, &names) < 0) {
		fprintf(stderr, "mutate_elf: no files, or no memory\n");
		return 2;
	}
	n_failures = run_all(originals, n, seed, first, first + count);
	for (size_t i = 0; i < n; i++)
		original_done(&originals[i]);
	names_free(names);
	munmap(progress, sizeof(*progress));
	return n_failures > 0;
}
