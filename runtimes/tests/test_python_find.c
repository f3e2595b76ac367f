// SPDX-License-Identifier: Apache-2.0
/* What CPython publishes. This program exports the same as 3.14, with a loop that only calls instructions. */
#include <criterion/criterion.h>
#include <errno.h>

#include "elf/tests/own_file.h"
#include "runtimes/exports.h"
#include "runtimes/python/python.h"

#define VERSION 0x030e0af0
#define COOKIE 0x7970677562656478 /* xdebugpy */

/* struct _Py_DebugOffsets of 3.14, with what differs: Include/internal/pycore_debug_offsets.h. */
#define PUBLISHED(cookie, version, free_threaded, owner, tlbc_index, instructions, tlbc, header)   \
	{                                                                                          \
		cookie, version, free_threaded, [5] = 800, [8] = 10, 7000, /* interpreters */      \
			[24] = 8, [26] = 72, 152,                          /* threads */           \
			[32] = 8, 0, 56, [36] = owner, [38] = tlbc_index,  /* frames */            \
			[40] = 112, 120, 128, 136, 68, [48] = instructions, tlbc, /* code */       \
			[75] = header, (header) + 16, [78] = (header) + 16, header, (header) + 24  \
	}

const uint64_t _PyRuntime[128] = PUBLISHED(COOKIE, VERSION, 0, 74, 0, 208, 0, 16);
const uint64_t python_free[128] = PUBLISHED(COOKIE, VERSION, 1, 78, 72, 240, 224, 32);
const uint64_t python_cookie[128] = PUBLISHED(COOKIE + 1, VERSION, 0, 74, 0, 208, 0, 16);
const uint64_t python_other[128] = PUBLISHED(COOKIE, VERSION + 0x10000, 0, 74, 0, 208, 0, 16);
const uint64_t python_early[128] = PUBLISHED(COOKIE, 0x030e00b4, 0, 74, 0, 208, 0, 16);
const uint64_t python_large[128] = PUBLISHED(COOKIE, VERSION, 0, 128, 0, 208, 0, 16);
const uint64_t python_far[128] = PUBLISHED(COOKIE, VERSION, 0, 74, 0, UINT64_MAX, 0, 16);
const uint64_t Py_Version = VERSION;

void _PyEval_EvalFrameDefault(void);

__attribute__((noinline)) void _PyEval_EvalFrameDefault(void)
{
	__asm__ volatile("");
}

static struct dp_runtime_image image;

TestSuite(python_find, .init = open_own_file, .fini = close_own_file);

static int read_published(const char *name, uint32_t version)
{
	struct elf_symbol symbol;

	exports_find(&file, &name, 1, &symbol);
	cr_assert_neq(symbol.address, 0);
	return python_published(&file, symbol.address, version, &image);
}

Test(python_find, a_loop_may_only_call_instructions)
{
	cr_assert_eq(runtime_python.find(&file, &image), 0);
	cr_expect_eq(image.names.version, 0x30e);
	cr_expect_eq(image.names.calls_each, 1);
	cr_expect_neq(image.python.filename, 0);
	cr_expect_eq(image.python.filename, image.names.filename);
	cr_expect_eq(image.ranges[0].is_loop, 1);
	cr_expect_eq(image.ranges[1].end, 0);
}

Test(python_find, reads_what_is_published)
{
	cr_assert_eq(read_published("_PyRuntime", 0x30e), 0);
	cr_expect_eq(image.python.interpreters, 800);
	cr_expect_eq(image.python.next_interpreter, 10);
	cr_expect_eq(image.python.first_thread, 7000);
	cr_expect_eq(image.python.thread_frame, 72);
	cr_expect_eq(image.python.thread_id, 152);
	cr_expect_eq(image.python.entry, 74);
	cr_expect_eq(image.python.link, 3);
	cr_expect_eq(image.python.frame_size, 75);
	cr_expect_eq(image.python.hash, 24);
	cr_expect_eq(image.python.copies, 0);
	cr_expect_eq(image.names.instructions, 208);
	cr_expect_eq(image.names.string_kind, 2);
	cr_expect_eq(image.names.string_text, 56);
}

Test(python_find, without_the_lock_there_are_copies)
{
	cr_assert_eq(read_published("python_free", 0x30e), 0);
	cr_expect_eq(image.python.copies, 224);
	cr_expect_eq(image.python.copy, 72);
	cr_expect_eq(image.python.frame_size, 79);
	cr_expect_eq(image.python.hash, 40);
	cr_expect_eq(image.names.instructions, 0);
	cr_expect_eq(image.names.string_kind, 8);
}

Test(python_find, what_is_not_known_is_refused)
{
	cr_expect_eq(read_published("_PyRuntime", 0x310), -ENOTSUP);
	cr_expect_eq(read_published("_PyRuntime", 0x30f), -ENOTSUP);
	cr_expect_eq(read_published("python_cookie", 0x30e), -ENOTSUP);
	cr_expect_eq(read_published("python_other", 0x30e), -ENOTSUP);
	cr_expect_eq(read_published("python_early", 0x30e), -ENOTSUP);
	cr_expect_eq(read_published("python_large", 0x30e), -ENOTSUP);
	cr_expect_eq(read_published("python_far", 0x30e), -ENOTSUP);
}
