// SPDX-License-Identifier: Apache-2.0
/*
 * usage: described SECONDS OBJECT...
 *
 * Code in no file that is described to GDB, as LLVM does it: places the .text of each object file in
 * anonymous memory and puts a copy of the file, whose section headers say where that is, into
 * __jit_debug_descriptor's list. Calls the code, from its beginning, for the given CPU time, then takes it
 * off the list and does the same with the next one, at the same place.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CODE_SIZE 4096

struct entry {
	struct entry *next, *previous;
	const void *file;
	uint64_t size;
};

struct descriptor {
	uint32_t version, action;
	struct entry *relevant, *first;
};

extern struct descriptor descriptor __asm__("__jit_debug_descriptor");
void tell_debugger(void) __asm__("__jit_debug_register_code");

struct descriptor descriptor = { .version = 1 };

/* Debuggers stop here. */
void tell_debugger(void)
{
	__asm__ volatile("" ::: "memory");
}

static uint8_t *read_file(const char *path, size_t *ret_size)
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
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* Nothing in the code refers to other sections. */
static void place(uint8_t *object, void *code)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)object;
	Elf64_Shdr *sections = (Elf64_Shdr *)(object + header->e_shoff);
	const char *names = (const char *)object + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr *s = &sections[i];

		if (strcmp(names + s->sh_name, ".text") == 0) {
			if (s->sh_size > CODE_SIZE)
				exit(1);
			memcpy(code, object + s->sh_offset, s->sh_size);
			s->sh_addr = (uintptr_t)code;
		} else if (strcmp(names + s->sh_name, ".eh_frame") == 0) {
			s->sh_addr = (uintptr_t)object + s->sh_offset;
		}
	}
}

static void run(const void *code, double seconds)
{
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	void (*function)(void);

	memcpy(&function, &code, sizeof(code));
	while (clock() < end)
		function();
}

int main(int argc, char **argv)
{
	void *code = mmap(NULL, CODE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (argc < 3 || code == MAP_FAILED)
		return 2;
	for (int i = 2; i < argc; i++) {
		struct entry entry = { 0 };
		uint8_t *object = read_file(argv[i], &entry.size);

		place(object, code);
		entry.file = object;
		descriptor = (struct descriptor){ 1, 1, &entry, &entry };
		tell_debugger();
		run(code, atof(argv[1]));
		descriptor = (struct descriptor){ 1, 2, &entry, NULL };
		tell_debugger();
		free(object);
	}
	return 0;
}
