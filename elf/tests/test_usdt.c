// SPDX-License-Identifier: Apache-2.0
/* Notes of USDT probes: this program's, and where its code has them. */
#include "elf/elf_usdt.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <unistd.h>

#include "base/as_it_is.h"
#include "base/cleanup.h"

static AS_IT_IS void hit(int number)
{
	DTRACE_PROBE1(provider, one, number);
	DTRACE_PROBE(provider, two);
}

static int self;

static int check(void *arg, const struct elf_usdt *note)
{
	size_t *n = arg;
	uint8_t code;

	cr_assert_str_eq(note->provider, "provider");
	cr_assert_str_eq(note->name, *n == 0 ? "one" : "two");
	cr_assert_eq(strncmp(note->arguments, "-4@", 3) == 0, *n == 0);
	cr_assert_eq(note->semaphore, 0);
	cr_assert_eq(pread(self, &code, 1, (off_t)note->offset), 1);
	cr_assert_eq(code, 0x90, "a probe is a nop");
	++*n;
	return 0;
}

static int stop(void *arg, const struct elf_usdt *note)
{
	(void)note;
	++*(size_t *)arg;
	return 7;
}

Test(usdt, notes_are_those_of_the_program)
{
	size_t n = 0;

	hit(1);
	self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(elf_usdt_each(self, check, &n), 0);
	cr_assert_eq(n, 2);
	cr_assert_eq(elf_usdt_each(self, stop, &n), 7);
	cr_assert_eq(n, 3);
	close(self);
}

Test(usdt, only_elf_files_have_any)
{
	_cleanup_close_ int fd = memfd_create("no ELF file", MFD_CLOEXEC);
	size_t n = 0;

	cr_assert_eq(elf_usdt_each(fd, check, &n), -ENOEXEC);
}
