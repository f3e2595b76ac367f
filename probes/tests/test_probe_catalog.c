// SPDX-License-Identifier: Apache-2.0
/* What can be probed in this program. */
#include "probes/probe_catalog.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/sdt.h>

#include "base/as_it_is.h"
#include "base/cleanup.h"

#define SELF "/proc/self/exe"

void catalog_one(void);
void catalog_two(void);
void catalog(void);
double catalog_with(int number, const char *text, double fraction);

static AS_IT_IS void hit(int number, const char *text, double fraction)
{
	DTRACE_PROBE2(provider, twice, number, text);
	if (number)
		DTRACE_PROBE2(provider, twice, number + 1, text);
	DTRACE_PROBE1(provider, fraction, fraction);
	DTRACE_PROBE(zone, none);
}

/* Compilers would name a constant by its symbol, which the text cannot tell from others. */
static volatile double half = 0.5;

AS_IT_IS void catalog_one(void)
{
	hit(1, "", half);
}

AS_IT_IS void catalog_two(void)
{
	catalog_one();
}

AS_IT_IS void catalog(void)
{
	catalog_two();
}

AS_IT_IS double catalog_with(int number, const char *text, double fraction)
{
	return fraction * number + text[0];
}

static struct probe_catalog c;

static void read_self(const char *pattern)
{
	cr_assert_eq(probe_catalog_read(NULL, SELF, pattern, &c), 0);
}

static void end(void)
{
	probe_catalog_done(&c);
}

TestSuite(probe_catalog, .fini = end);

static void expect_usdt(size_t i, const char *name, const char *arguments)
{
	char text[CATALOG_ARGUMENTS_SIZE];

	cr_assert_lt(i, c.n_usdt);
	cr_assert_str_eq(c.usdt[i].name, name);
	catalog_usdt_arguments(&c.usdt[i], text);
	cr_assert_str_eq(text, arguments);
}

Test(probe_catalog, has_usdt_probes_in_order)
{
	read_self("*");
	catalog();
	cr_assert_eq(c.n_usdt, 4);
	expect_usdt(0, "fraction", "arg1:f64");
	expect_usdt(1, "twice", "arg1:s32, arg2:u64");
	expect_usdt(3, "none", "");
	cr_assert(catalog_usdt_is_same(&c.usdt[1], &c.usdt[2]));
	cr_assert(!catalog_usdt_is_same(&c.usdt[0], &c.usdt[1]));
	cr_assert_lt(c.usdt[1].offset, c.usdt[2].offset);
}

Test(probe_catalog, has_those_of_a_glob)
{
	read_self("prov*:t*");
	cr_assert(c.n_usdt == 2 && c.n_functions == 0);
	end();
	read_self("catalog_*");
	cr_assert_eq(c.n_usdt, 0);
	/* And those of the program itself that begin so */
	for (size_t i = 1; i < c.n_functions; i++)
		cr_assert_leq(strcmp(c.functions[i - 1].name, c.functions[i].name), 0);
	cr_assert_geq(c.n_functions, 4);
}

Test(probe_catalog, has_a_function_by_its_name)
{
	read_self("catalog_tw[o]");
	cr_assert(c.n_functions == 1 && strcmp(c.functions[0].name, "catalog_two") == 0);
	cr_assert_gt(c.functions[0].size, 0);
	end();
	read_self("catalog");
	cr_assert(c.n_functions == 1 && strcmp(c.functions[0].symbol, "catalog") == 0);
}

Test(probe_catalog, has_the_parameters_of_few_functions)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	read_self("catalog_with");
	cr_assert_eq(c.n_functions, 1);
	catalog_print_parameters(&c, 0, to);
	fclose(to);
	cr_assert_str_eq(text, "(number:s32, text:str, fraction:?)");
	end();
	read_self("*");
	cr_assert_gt(c.n_functions, CATALOG_MAX_DESCRIBED);
	cr_assert_null(c.parameters);
	cr_assert(catalog_parameters_are_same(&c, 0, 1));
	end();
	read_self("catalog_[tow]*");
	cr_assert_gt(c.n_functions, 2);
	for (size_t i = 1; i < c.n_functions; i++)
		cr_assert_eq(catalog_parameters_are_same(&c, i - 1, i),
			     strcmp(c.functions[i - 1].name, "catalog_with") != 0 &&
				     strcmp(c.functions[i].name, "catalog_with") != 0);
}

Test(probe_catalog, is_of_an_elf_file)
{
	cr_assert_eq(probe_catalog_read(NULL, "/proc/self/maps", "*", &c), -ENOEXEC);
	cr_assert_eq(probe_catalog_read(NULL, "/nowhere", "*", &c), -ENOENT);
}
