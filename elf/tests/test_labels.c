// SPDX-License-Identifier: Apache-2.0
/* Which labels files publish (labels_file.c). */
#include "elf/elf_labels.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void expect_two(const char *name, enum dp_labels_form form, unsigned int others,
		       enum dp_tls_kind kind)
{
	struct elf_file file;
	struct dp_tls tls;
	unsigned int found;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/labels_%s.so", getenv("LABELS_FILES"), name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(elf_file_init_fd_only(&file, fd), 0, "%s", path);
	cr_expect_eq(elf_labels_find(&file, &tls, &found), form, "%s", name);
	cr_expect_eq(found, others, "%s", name);
	cr_expect_eq(tls.kind, kind, "%s", name);
	cr_expect_eq(tls.value != 0, kind != DP_TLS_NONE, "%s", name);
	elf_file_done(&file);
	close(fd);
}

static void expect(const char *name, enum dp_labels_form form, enum dp_tls_kind kind)
{
	expect_two(name, form, 0, kind);
}

Test(elf_labels, have_a_version)
{
	expect("v1", DP_LABELS_CUSTOM_V1, DP_TLS_MODULE);
	expect("v1_variable", DP_LABELS_CUSTOM_V1, DP_TLS_DESCRIPTOR);
	expect("v0", DP_LABELS_CUSTOM_V0, DP_TLS_MODULE);
	expect("v0_zero", DP_LABELS_CUSTOM_V0, DP_TLS_MODULE);
	expect("both", DP_LABELS_CUSTOM_V1, DP_TLS_MODULE);
}

/* That are not the variable's, not known, or no versions. */
Test(elf_labels, have_no_other_version)
{
	expect("v0_with_1", DP_LABELS_NONE, DP_TLS_NONE);
	expect("v1_with_0", DP_LABELS_NONE, DP_TLS_NONE);
	expect("v1_with_2", DP_LABELS_NONE, DP_TLS_NONE);
	expect("v1_wide", DP_LABELS_NONE, DP_TLS_NONE);
	expect("v1_bare", DP_LABELS_NONE, DP_TLS_NONE);
}

/* It has the numbers of spans. */
Test(elf_labels, are_opentelemetrys_first)
{
	expect("context", DP_LABELS_CONTEXT, DP_TLS_MODULE);
	expect_two("context_and_v1", DP_LABELS_CONTEXT, 1U << DP_LABELS_CUSTOM_V1, DP_TLS_MODULE);
}
