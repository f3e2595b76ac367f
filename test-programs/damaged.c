// SPDX-License-Identifier: Apache-2.0
/*
 * usage: damaged SCENARIO
 *
 * Damages its own stack like a stray pointer or an overflow, and stays there to be profiled.
 * cli/tests/check_damaged.py has the expected stacks. The functions that do it are in assembly, so
 * that the places of frame pointer and return address are known. The chain is main(), outer(),
 * middle(), victim.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define PAGE 4096

/* Never return. The meaning of the argument depends on the scenario. */
void victim_return(uintptr_t address);
void victim_itself(uintptr_t unused);
void victim_rbp(uintptr_t unused);
void victim_cycle(uintptr_t unused);
void victim_sp(uintptr_t sp);
void victim_wild(uintptr_t rbp);

__asm__(".text\n"
	/* Replaces its return address by the argument. */
	"victim_return:\n"
	".cfi_startproc\n"
	"	mov %rdi, (%rsp)\n"
	"1:	jmp 1b\n"
	".cfi_endproc\n"
	".size victim_return, . - victim_return\n"
	".type victim_return, @function\n"
	/* Replaces its return address by the address where it is stored. */
	"victim_itself:\n"
	".cfi_startproc\n"
	"	mov %rsp, (%rsp)\n"
	"1:	jmp 1b\n"
	".cfi_endproc\n"
	".size victim_itself, . - victim_itself\n"
	".type victim_itself, @function\n"
	/* Makes its saved frame pointer point to where it is saved. */
	"victim_rbp:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov %rbp, (%rbp)\n"
	"1:	jmp 1b\n"
	".cfi_endproc\n"
	".size victim_rbp, . - victim_rbp\n"
	".type victim_rbp, @function\n"
	/* Makes the frame pointer saved by its caller point to the caller's own frame. */
	"victim_cycle:\n"
	".cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	mov %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	mov (%rbp), %rax\n"
	"	mov %rbp, (%rax)\n"
	"1:	jmp 1b\n"
	".cfi_endproc\n"
	".size victim_cycle, . - victim_cycle\n"
	".type victim_cycle, @function\n"
	/* Sets the stack pointer to the argument. */
	"victim_sp:\n"
	".cfi_startproc\n"
	"	mov %rdi, %rsp\n"
	"1:	jmp 1b\n"
	".cfi_endproc\n"
	".size victim_sp, . - victim_sp\n"
	".type victim_sp, @function\n"
	/* Without unwind information, and with rbp as a general register: it holds the argument. */
	"victim_wild:\n"
	"	mov %rdi, %rbp\n"
	"1:	jmp 1b\n"
	".size victim_wild, . - victim_wild\n"
	".type victim_wild, @function\n");

static volatile int sink;

static __attribute__((noinline)) void middle(void (*victim)(uintptr_t), uintptr_t argument)
{
	victim(argument);
	sink++;
}

static __attribute__((noinline)) void outer(void (*victim)(uintptr_t), uintptr_t argument)
{
	middle(victim, argument);
	sink++;
}

static __attribute__((noinline)) void spin(void)
{
	for (;;)
		sink++;
}

static __attribute__((noinline)) void descend(unsigned long depth)
{
	if (depth == 0)
		spin();
	descend(depth - 1);
	sink++;
}

/* The boundary of two pages, the second of which cannot be read. */
static uintptr_t edge(void)
{
	uint8_t *pages =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || mprotect(pages + PAGE, PAGE, PROT_NONE) < 0)
		exit(1);
	memset(pages, 0, PAGE);
	return (uintptr_t)pages + PAGE;
}

/* A frame pointer to a fake frame, which returns into code, but not behind a call. */
static uintptr_t wild(uintptr_t *frame, uintptr_t into)
{
	frame[0] = (uintptr_t)&frame[4];
	frame[1] = into;
	frame[4] = 0;
	frame[5] = into;
	return (uintptr_t)frame;
}

/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const uint8_t jit_code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

static __attribute__((noinline)) void jit(void (*callback)(void))
{
	void *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*call)(void (*)(void));

	if (code == MAP_FAILED)
		exit(1);
	memcpy(code, jit_code, sizeof(jit_code));
	if (mprotect(code, PAGE, PROT_READ | PROT_EXEC) < 0)
		exit(1);
	memcpy(&call, &code, sizeof(call));
	call(callback);
	sink++;
}

static void in_handler(int number)
{
	for (;;)
		__asm__ volatile("");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	uintptr_t frame[8], code = (uintptr_t)&descend;

	prctl(PR_SET_NAME, name); /* it has started */
	if (strcmp(name, "noncanonical") == 0)
		outer(victim_return, UINT64_C(0xdead000000000000));
	else if (strcmp(name, "heap") == 0)
		outer(victim_return, (uintptr_t)malloc(100));
	else if (strcmp(name, "null") == 0)
		outer(victim_return, 0);
	else if (strcmp(name, "code") == 0)
		outer(victim_return, code + 2);
	else if (strcmp(name, "vsyscall") == 0)
		outer(victim_return, UINT64_C(0xffffffffff600007));
	else if (strcmp(name, "itself") == 0)
		outer(victim_itself, 0);
	else if (strcmp(name, "self-reference") == 0)
		outer(victim_rbp, 0);
	else if (strcmp(name, "cycle") == 0)
		outer(victim_cycle, 0);
	else if (strcmp(name, "unmapped") == 0)
		outer(victim_sp, edge());
	else if (strcmp(name, "end-of-page") == 0)
		outer(victim_sp, edge() - 4);
	else if (strcmp(name, "wild-pointer") == 0)
		outer(victim_wild, wild(frame, code + 2));
	else if (strcmp(name, "handler") == 0)
		raise(signal(SIGUSR1, in_handler) == SIG_ERR ? SIGABRT : SIGUSR1);
	else if (strcmp(name, "deep") == 0)
		descend(10000);
	else if (strcmp(name, "deep-enough") == 0)
		descend(2000);
	else if (strcmp(name, "jit") == 0)
		jit(spin);
	fprintf(stderr, "usage: damaged SCENARIO\n");
	return 2;
}
