// SPDX-License-Identifier: Apache-2.0
/* Whether it is told that a debug file was there, and could not be compared with the file. */
#include "sandbox/debug_of_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define CPU_NS UINT64_C(1234567890)

static uint64_t asked_ns;

int __real_parsers_ask(struct parsers *parsers, const struct parse_request *request,
		       clockid_t *clock, struct parse_result *ret);
int __wrap_parsers_ask(struct parsers *parsers, const struct parse_request *request,
		       clockid_t *clock, struct parse_result *ret);

int __wrap_parsers_ask(struct parsers *parsers, const struct parse_request *request,
		       clockid_t *clock, struct parse_result *ret)
{
	asked_ns = request->cpu_ns;
	return __real_parsers_ask(parsers, request, clock, ret);
}

static char directory[] = "/tmp/dwarfprof-test-XXXXXX";

static int make(const char *name, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	return fd;
}

static void begin(void)
{
	cr_assert(mkdtemp(directory));
}

static void end(void)
{
	static const char *const names[] = { "program", "program.debug" };
	char path[64];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		unlink(path);
	}
	rmdir(directory);
}

Test(debug_of_file, tells_what_kept_it_back, .init = begin, .fini = end)
{
	const struct parse_result told = { .debug_link = "program.debug" };
	_cleanup_close_ int program = make("program", "no ELF"), debug = -1;

	cr_assert_eq(debug_of_file(NULL, geteuid(), program, CPU_NS, &told), -ENOENT);
	debug = make("program.debug", "\177ELF and so on");
	cr_assert_eq(debug_of_file(NULL, geteuid(), program, CPU_NS, &told), -ENOEXEC);
	cr_assert_eq(asked_ns, CPU_NS, "whoever has made the files decides how long they take");
}
