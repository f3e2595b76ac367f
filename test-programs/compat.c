// SPDX-License-Identifier: Apache-2.0
/*
 * usage: compat [PROGRAM [ARGUMENT...]]
 *
 * A 32-bit program that spins, or spins for a while and then executes another program. Compiled
 * without libraries, because 64-bit systems lack 32-bit ones.
 */
#define NR_EXIT 1
#define NR_EXECVE 11

/* Some tenths of a second. */
#define ROUNDS 400000

static volatile unsigned int sum;

static long system_call(long number, long first, long second, long third)
{
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(second), "d"(third)
			 : "memory");
	return result;
}

__attribute__((noinline)) static void spin(void)
{
	for (int i = 0; i < 1000; i++)
		sum++;
}

/* stack: as the kernel sets it up: argument count, arguments, a zero, the environment. */
__attribute__((used)) static void begin(long *stack)
{
	char **arguments = (char **)(stack + 1);

	for (unsigned int i = 0; stack[0] == 1 || i < ROUNDS; i++)
		spin();
	system_call(NR_EXECVE, (long)arguments[1], (long)(arguments + 1),
		    (long)(arguments + stack[0] + 1));
	system_call(NR_EXIT, 1, 0, 0);
}

__asm__(".globl _start\n_start: mov %esp, %eax\n push %eax\n call begin\n");
