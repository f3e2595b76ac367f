// SPDX-License-Identifier: Apache-2.0
/* The end of the verifier's log, taken from libbpf's messages about a program. */
#include "kernel/refusal.h"

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "log/tests/said.h"

static libbpf_print_fn_t listener;
static struct refusal refusal;

static void begin(void)
{
	refusal_listen(&refusal);
	listener = libbpf_set_print(NULL);
	cr_assert(listener);
}

TestSuite(refusal, .init = begin);

/* Logs a message as libbpf would. */
static void hear(enum libbpf_print_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	listener(level, format, args);
	va_end(args);
}

static void hear_log(const char *log)
{
	hear(LIBBPF_WARN,
	     "libbpf: prog 'dp_sample_cpu': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
	     log);
}

Test(refusal, says_nothing_where_nothing_was_refused)
{
	cr_assert_null(refusal_program(&refusal));
	cr_assert_null(refusal_reason(&refusal));
	hear(LIBBPF_WARN, "libbpf: failed to find valid kernel BTF\n");
	hear(LIBBPF_WARN, "libbpf: prog 'dp_switch': -- BEGIN PROG LOAD LOG --\ncut off");
	hear(LIBBPF_DEBUG,
	     "libbpf: prog 'a': -- BEGIN PROG LOAD LOG --\nb\n-- END PROG LOAD LOG --\n");
	cr_assert_null(refusal_program(&refusal));
}

/* The last two lines: the instruction, and what is wrong with it. */
Test(refusal, keeps_the_end_of_the_log)
{
	hear_log("0: R1=ctx()\n1: (61) r2 = *(u32 *)(r1 +0)\nmath between mem pointer\n"
		 "processed 8 insns (limit 1000000) max_states_per_insn 0\n");
	cr_assert_str_eq(refusal_program(&refusal), "dp_sample_cpu");
	cr_assert_str_eq(refusal_reason(&refusal),
			 "1: (61) r2 = *(u32 *)(r1 +0) math between mem pointer");
	/* Not every kernel writes statistics. */
	hear_log("0: R1=ctx()\n2: (95) exit\nR0 !read_ok\n");
	cr_assert_str_eq(refusal_reason(&refusal), "2: (95) exit R0 !read_ok");
	hear_log("only one line\n");
	cr_assert_str_eq(refusal_reason(&refusal), "only one line");
	hear_log("");
	cr_assert_str_eq(refusal_reason(&refusal), "");
}

Test(refusal, cuts_lines_that_are_too_long)
{
	static char log[5000];

	memset(log, 'x', sizeof(log) - 2);
	log[sizeof(log) - 2] = '\n';
	hear_log(log);
	cr_assert_eq(strlen(refusal_reason(&refusal)), 399);
	cr_assert_eq(strspn(refusal_reason(&refusal), "x"), 399);
	cr_assert_str_eq(refusal_program(&refusal), "dp_sample_cpu");
}

Test(refusal, forgets_what_was_before)
{
	hear_log("R0 !read_ok\n");
	refusal_listen(&refusal);
	cr_assert_null(refusal_program(&refusal));
	cr_assert_null(refusal_reason(&refusal));
}

/* Each thread loads programs of its own. */
static void *hear_elsewhere(void *arg)
{
	struct refusal *own = arg;

	hear_log("not listened to\n");
	refusal_listen(own);
	hear_log("R1 !read_ok\n");
	refusal_listen(NULL);
	hear_log("R2 !read_ok\n");
	return NULL;
}

Test(refusal, is_of_one_thread)
{
	struct refusal other;
	pthread_t thread;

	hear_log("R0 !read_ok\n");
	cr_assert_eq(pthread_create(&thread, NULL, hear_elsewhere, &other), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_str_eq(refusal_reason(&other), "R1 !read_ok");
	cr_assert_str_eq(refusal_reason(&refusal), "R0 !read_ok");
}
