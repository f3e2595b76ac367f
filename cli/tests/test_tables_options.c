// SPDX-License-Identifier: Apache-2.0
/* Options of `dwarfprof tables`. */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/tables_form.h"
#include "cli/tables_options.h"
#include "profiler/record.h"

static struct tables_options options;

static char *arguments[16]; /* owned; the parser reorders its own array */
static char *argv[16];
static int n_arguments;

/* The parser may modify its arguments, so literals will not do. */
static void parse(const char *const *given)
{
	for (n_arguments = 0; given[n_arguments]; n_arguments++)
		argv[n_arguments] = arguments[n_arguments] = strdup(given[n_arguments]);
	tables_options_parse(&options, n_arguments, argv);
}

static void end(void)
{
	for (int i = 0; i < n_arguments; i++)
		free(arguments[i]);
}

#define PARSE(...) parse((const char *const[]){ "tables", __VA_ARGS__, NULL })

TestSuite(tables_options, .fini = end);

Test(tables_options, is_a_report_by_default)
{
	PARSE("one");
	cr_assert(options.form == &tables_text && !options.regs && !options.verbose);
	cr_assert(options.n_files == 1);
	cr_assert_str_eq(options.files[0], "one");
}

Test(tables_options, takes_options_anywhere)
{
	PARSE("one", "--rows", "two", "-v", "--regs");
	cr_assert(options.form == &tables_rows && options.regs && options.verbose);
	cr_assert(options.n_files == 2);
	cr_assert_str_eq(options.files[0], "one");
	cr_assert_str_eq(options.files[1], "two");
}

Test(tables_options, takes_any_name_behind_two_dashes)
{
	PARSE("--json", "--", "--rows");
	cr_assert(options.form == &tables_json && options.n_files == 1);
	cr_assert_str_eq(options.files[0], "--rows");
}

Test(tables_options, may_say_the_same_twice)
{
	PARSE("--json", "--json", "one");
	cr_assert(options.form == &tables_json);
}

Test(tables_options, parses_in_confined_processes_if_possible)
{
	PARSE("one");
	cr_assert_eq(options.sandbox, SANDBOX_AUTO);
	end();
	PARSE("--sandbox=off", "one");
	cr_assert_eq(options.sandbox, SANDBOX_OFF);
}

Test(tables_options, knows_the_modes_of_parsing, .exit_code = EXIT_CODE_USAGE)
{
	PARSE("--sandbox=on", "one");
}

Test(tables_options, wants_a_file, .exit_code = EXIT_CODE_USAGE)
{
	PARSE("-v");
}

Test(tables_options, wants_one_form, .exit_code = EXIT_CODE_USAGE)
{
	PARSE("--json", "--rows", "one");
}

Test(tables_options, wants_rows_for_registers, .exit_code = EXIT_CODE_USAGE)
{
	PARSE("--regs", "one");
}

Test(tables_options, knows_its_options, .exit_code = EXIT_CODE_USAGE)
{
	PARSE("--pid", "one");
}
