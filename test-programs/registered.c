// SPDX-License-Identifier: Apache-2.0
/*
 * usage: registered SECONDS OBJECT... | registered --dump=DIRECTORY SECONDS OBJECT...
 *
 * Code in no file whose unwind information is in libgcc, as LLVM, LuaJIT and others do it: places the .text of each
 * object file in anonymous memory, and its .eh_frame behind it, which it gives to __register_frame(). Prints the
 * place of the code as `ADDRESS SIZE`. Calls it, from its beginning, for the given CPU time, then takes it off
 * again and does the same with the next one, at the same place.
 *
 * At the end, prints the stacks that libgcc has found meanwhile, for each address in the code where the program was: the
 * number of the object, and addresses.
 *
 * --dump: writes them to DIRECTORY/jit-PID.dump instead, the N-th as `object N`, with its unwind information laid out
 * as V8 has it and perf expects it.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define CODE_SIZE 4096
#define MAX_FRAMES 32
#define MAX_OBJECTS 8

void __register_frame(void *begin);
void __deregister_frame(void *begin);

struct stack {
	uintptr_t frames[MAX_FRAMES];
	int n;
};

static uint8_t *code;
static size_t code_size; /* of this object */
/* By where in the code, of each object. */
static struct stack stacks[MAX_OBJECTS][CODE_SIZE];
static volatile int object;

struct search {
	uintptr_t pc;
	struct stack *stack;
};

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *arg)
{
	struct search *s = arg;
	uintptr_t ip = _Unwind_GetIP(context);

	/* Frames of the signal's handler come first. */
	if ((s->stack->n > 0 || ip == s->pc) && s->stack->n < MAX_FRAMES)
		s->stack->frames[s->stack->n++] = ip;
	return _URC_NO_REASON;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	const ucontext_t *c = context;
	uintptr_t pc = (uintptr_t)c->uc_mcontext.gregs[REG_RIP], at = pc - (uintptr_t)code;
	struct search search = { .pc = pc };

	(void)number;
	(void)info;
	if (at >= CODE_SIZE || stacks[object][at].n > 0)
		return;
	search.stack = &stacks[object][at];
	_Unwind_Backtrace(note_frame, &search);
}

static uint8_t *read_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *bytes;

	if (fd < 0 || fstat(fd, &st) < 0)
		exit(1);
	bytes = malloc((size_t)st.st_size);
	if (!bytes || read(fd, bytes, (size_t)st.st_size) != st.st_size)
		exit(1);
	close(fd);
	return bytes;
}

/* Unwind information, and the address that it counts from. */
struct frames {
	uint8_t *bytes;
	size_t size;
	uintptr_t address;
};

/* Nothing in the code refers to other sections; .eh_frame refers to the code alone. */
static void relocate(const uint8_t *file, const Elf64_Shdr *relocations, const Elf64_Sym *symbols,
		     const struct frames *frames)
{
	const Elf64_Rela *r = (const Elf64_Rela *)(file + relocations->sh_offset);

	for (size_t i = 0; i < relocations->sh_size / sizeof(*r); i++) {
		uintptr_t target = (uintptr_t)code + symbols[ELF64_R_SYM(r[i].r_info)].st_value +
				   (uintptr_t)r[i].r_addend;
		int32_t distance = (int32_t)(target - (frames->address + r[i].r_offset));

		if (ELF64_R_TYPE(r[i].r_info) != R_X86_64_PC32)
			exit(1);
		memcpy(frames->bytes + r[i].r_offset, &distance, sizeof(distance));
	}
}

/* With the zero that ends it. Behind the code, it is where perf expects it, rounded up. */
static void place(const uint8_t *file, struct frames *frames, int is_behind)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *s = (const Elf64_Shdr *)(file + header->e_shoff);
	const char *names = (const char *)file + s[header->e_shstrndx].sh_offset;
	const Elf64_Sym *symbols = NULL;

	memset(code, 0, (size_t)2 * CODE_SIZE);
	for (int i = 0; i < header->e_shnum; i++) {
		if (s[i].sh_type == SHT_SYMTAB)
			symbols = (const Elf64_Sym *)(file + s[i].sh_offset);
		if (strcmp(names + s[i].sh_name, ".text") == 0)
			memcpy(code, file + s[i].sh_offset, code_size = s[i].sh_size);
		else if (strcmp(names + s[i].sh_name, ".eh_frame") == 0)
			memcpy(frames->bytes, file + s[i].sh_offset, frames->size = s[i].sh_size);
	}
	frames->size += 4;
	frames->address = is_behind ? (uintptr_t)code + ((code_size + 7) & ~(size_t)7) :
				      (uintptr_t)frames->bytes;
	for (int i = 0; i < header->e_shnum; i++)
		if (strcmp(names + s[i].sh_name, ".rela.eh_frame") == 0)
			relocate(file, &s[i], symbols, frames);
}

/* Records of the format, from tools/perf/Documentation/jitdump-specification.txt. */
struct header {
	uint32_t magic, version, size, machine, padding, pid;
	uint64_t time, flags;
};

struct prefix {
	uint32_t id, size;
	uint64_t time;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void write_bytes(int fd, const void *bytes, size_t size)
{
	if (write(fd, bytes, size) != (ssize_t)size)
		exit(1);
}

/* Profilers find the file by its mapping. */
static int open_dump(const char *directory)
{
	struct header header = { 0x4a695444, 1, sizeof(header), EM_X86_64, 0, (uint32_t)getpid(),
				 now(),      0 };
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/jit-%d.dump", directory, getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		exit(1);
	write_bytes(fd, &header, sizeof(header));
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(1);
	return fd;
}

static void write_dump(int fd, int number, const struct frames *frames)
{
	const uint64_t sizes[] = { frames->size, 0, frames->size };
	struct prefix prefix = { 4, (uint32_t)(sizeof(prefix) + sizeof(sizes) + frames->size),
				 now() };
	const uint64_t load[] = { (uint64_t)getpid() << 32 | (uint32_t)getpid(), (uintptr_t)code,
				  (uintptr_t)code, code_size, (uint64_t)number };
	char name[16];

	write_bytes(fd, &prefix, sizeof(prefix));
	write_bytes(fd, sizes, sizeof(sizes));
	write_bytes(fd, frames->bytes, frames->size);
	snprintf(name, sizeof(name), "object %d", number);
	prefix = (struct prefix){
		0, (uint32_t)(sizeof(prefix) + sizeof(load) + strlen(name) + 1 + code_size), now()
	};
	write_bytes(fd, &prefix, sizeof(prefix));
	write_bytes(fd, load, sizeof(load));
	write_bytes(fd, name, strlen(name) + 1);
	write_bytes(fd, code, code_size);
}

static void run(double seconds)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	void (*function)(void);

	memcpy(&function, &code, sizeof(code));
	while (clock() < end)
		function();
}

static void print_stacks(int n)
{
	for (int i = 0; i < n; i++)
		for (size_t at = 0; at < CODE_SIZE; at++) {
			const struct stack *s = &stacks[i][at];

			if (s->n > 0)
				printf("%d", i);
			for (int j = 0; j < s->n; j++)
				printf(" %lx%s", (unsigned long)s->frames[j],
				       j + 1 < s->n ? "" : "\n");
		}
}

/* Asks libgcc now and then. */
static void run_registered(uint8_t *frames, double seconds)
{
	const struct itimerval timer = { .it_interval.tv_usec = 1000, .it_value.tv_usec = 1000 };

	__register_frame(frames);
	setitimer(ITIMER_PROF, &timer, NULL);
	run(seconds);
	setitimer(ITIMER_PROF, &(struct itimerval){ 0 }, NULL);
	__deregister_frame(frames);
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_sigaction = on_signal,
					  .sa_flags = SA_SIGINFO | SA_RESTART };
	int has_dump = argc > 1 && strncmp(argv[1], "--dump=", 7) == 0, dump = -1;
	char **objects = argv + 2 + has_dump;

	code = mmap(NULL, (size_t)2 * CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc < 3 + has_dump || argc > MAX_OBJECTS || code == MAP_FAILED)
		return 2;
	printf("%lx %x\n", (unsigned long)(uintptr_t)code, CODE_SIZE);
	fflush(stdout);
	sigaction(SIGPROF, &action, NULL);
	if (has_dump)
		dump = open_dump(argv[1] + 7);
	for (object = 0; objects[object]; object++) {
		uint8_t *file = read_file(objects[object]);
		struct frames frames = { .bytes = code + CODE_SIZE };

		place(file, &frames, has_dump);
		if (has_dump) {
			write_dump(dump, object, &frames);
			run(atof(objects[-1]));
		} else {
			run_registered(frames.bytes, atof(objects[-1]));
		}
		free(file);
	}
	print_stacks(object);
	return 0;
}
