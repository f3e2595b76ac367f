// SPDX-License-Identifier: Apache-2.0
/* JVMs whose structures are not known, and which of a process's libraries is its JVM. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "binaries/binary.h"
#include "log/log.h"
#include "log/tests/said.h"
#include "process/process_table.h"

#define N_MORE 3 /* than are shown */

static struct process_table table;
static uint64_t bias_read;

int __wrap_hotspot_layout_read(struct hotspot_layout *ret, const struct vm_structs *tables,
			       uint64_t bias, hotspot_read *read, void *memory);

int __wrap_hotspot_layout_read(struct hotspot_layout *ret, const struct vm_structs *tables,
			       uint64_t bias, hotspot_read *read, void *memory)
{
	bias_read = bias;
	return -ENOTSUP;
}

/* One process maps a JVM's library again and again. */
static void meet_many(void)
{
	struct binary binary = { .elf.vm.at[VM_STRUCTS] = 1 };
	struct process p = { 0 };

	for (uint64_t i = 1; i <= 10 + N_MORE; i++) {
		struct mapping m = { .binary = &binary, .bias = i << 12 };

		hotspot_meet(&p, &m);
		hotspot_update(&table, &p, 1);
		hotspot_update(&table, &p, 2);
	}
	hotspot_free(p.hotspot);
}

static int n_lines(const char *text)
{
	int n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

static void meet_undescribed(void)
{
	struct binary binary = { .elf.vm.is_jvm = 1 };
	struct mapping m = { .binary = &binary, .bias = 1 << 12 };
	struct process p = { .pid = 77 };

	hotspot_meet(&p, &m);
	hotspot_update(&table, &p, 1);
	hotspot_update(&table, &p, 2);
	cr_assert_null(hotspot_code(p.hotspot));
	hotspot_free(p.hotspot);
}

static void meet_none(void)
{
	struct binary binary = { 0 };
	struct mapping m = { .binary = &binary, .bias = 1 << 12 };
	struct process p = { .pid = 77 };

	hotspot_meet(&p, &m);
	cr_assert_null(p.hotspot);
}

Test(hotspot, one_that_does_not_describe_itself_is_unknown)
{
	char *text = said(meet_undescribed);

	cr_expect(strstr(text, "process 77: its JVM is of an unknown kind"), "%s", text);
	cr_expect_eq(n_lines(text), 1, "%s", text);
	free(text);
	text = said(meet_none);
	cr_expect_str_empty(text);
	free(text);
}

/* The JVM, and a compiler in a library of its own. */
static void check_two(const bool is_jvm[2])
{
	struct binary jvm = { .elf.vm = { .at[VM_STRUCTS] = 1, .is_jvm = 1 } },
		      compiler = { .elf.vm.is_jvm = 1 };
	struct process p = { 0 };

	for (uint64_t i = 0; i < 2; i++) {
		struct mapping m = { .binary = is_jvm[i] ? &jvm : &compiler,
				     .bias = (i + 1) << 12 };

		hotspot_meet(&p, &m);
	}
	bias_read = 0;
	hotspot_update(&table, &p, 1);
	cr_expect_eq(bias_read, is_jvm[0] ? 1 << 12 : 2 << 12);
	hotspot_free(p.hotspot);
}

Test(hotspot, is_what_describes_itself)
{
	check_two((const bool[]){ true, false });
	check_two((const bool[]){ false, true });
}

static void tell(void)
{
	hotspot_tell_unknown(&table);
}

Test(hotspot, only_the_first_of_many_unknown_ones_are_warned_of)
{
	char *text = said(meet_many);

	cr_expect_eq(n_lines(text), 10, "%s", text);
	free(text);
	text = said(tell);
	cr_expect(strstr(text, " 3 more JVMs"), "%s", text);
	free(text);
	log_set_level(LOG_DEBUG);
	text = said(meet_many);
	cr_expect_eq(n_lines(text), 10 + N_MORE, "%s", text);
	free(text);
}
