// SPDX-License-Identifier: Apache-2.0
#include <criterion/criterion.h>
#include <stdio.h>

#include "log.h"

/* What is said while the function runs. */
static char *said(void (*speak)(void))
{
	FILE *terminal = stderr;
	char *text = NULL;
	size_t size;

	stderr = open_memstream(&text, &size);
	cr_assert(stderr);
	speak();
	fclose(stderr);
	stderr = terminal;
	return text;
}

static void speak_evil(void)
{
	log_warning("cannot read %s", "a\x1b[2J\nb\xff");
	log_detail("try:  %s", "\r\xc2\x9bä");
}

Test(log, says_no_control_characters)
{
	char *text = said(speak_evil);

	cr_assert_str_eq(text, "dwarfprof: warning: cannot read a?[2J?b?\n  try:  ???ä\n");
	free(text);
}
