// SPDX-License-Identifier: Apache-2.0
/* Types of exceptions in the labels of samples, with the parser's part taken by the test. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "limits/limits.h"
#include "report/report_queue.h"
#include "samples/redaction.h"
#include "samples/type_names.h"
#include "sandbox/parsers.h"

static size_t n_asked;
static int parser_err;

int __wrap_parsers_ask(struct parsers *parsers, const struct parse_request *request,
		       clockid_t *clock, struct parse_result *ret);
int __wrap_parsers_ask(struct parsers *parsers, const struct parse_request *request,
		       clockid_t *clock, struct parse_result *ret)
{
	n_asked++;
	cr_assert_eq(request->kind, PARSE_TYPE);
	*ret = (struct parse_result){ 0 };
	return parser_err < 0 ? parser_err : parse_here(request, ret);
}

static struct label_finisher *finisher;

void __wrap_report_queue_set_finisher(struct report_queue *queue, struct label_finisher *set);
void __wrap_report_queue_set_finisher(struct report_queue *queue, struct label_finisher *set)
{
	finisher = set;
}

static struct label_set *before, *after;
static const char *language;

static void end(void)
{
	before = label_set_free(before);
	after = label_set_free(after);
}

/* With a number that is always there, and a type unless that is NULL. */
static const struct label_set *finish(const char *type)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };

	end();
	cr_assert_eq(label_list_add(&list,
				    &(struct label){ .key = "a", .number = 5, .unit = "bytes" }),
		     0);
	if (language)
		cr_assert_eq(label_list_add(&list, &(struct label){ .key = LABEL_EXCEPTION_LANGUAGE,
								    .text = language }),
			     0);
	if (type)
		cr_assert_eq(label_list_add(&list,
					    &(struct label){ .key = TYPE_NAMES_KEY, .text = type }),
			     0);
	cr_assert_eq(label_list_add(&list, &(struct label){ .key = "z", .text = "a text" }), 0);
	cr_assert_eq(label_set_new(&list, &before), 0);
	cr_assert_eq(finisher->finish(finisher, before, &after), 0);
	return after;
}

static void expect(const char *mangled, const char *type)
{
	const struct label_set *set = finish(mangled);

	cr_assert(set && label_set_has(set, TYPE_NAMES_KEY, type), "%s", mangled);
	cr_assert(label_set_has(set, "z", "a text"));
}

Test(type_names, are_those_in_the_source)
{
	cr_assert_eq(type_names_install(NULL, NULL, NULL), 0);
	expect("St13runtime_error", "std::runtime_error");
	expect("*N12_GLOBAL__N_15InnerE", "(anonymous namespace)::Inner");
	expect("i", "int");
	expect("PKc", "char const*");
	expect("4shopIiE", "shop<int>");
	cr_assert_eq(n_asked, 5);
	expect("i", "int");
	cr_assert_eq(n_asked, 5, "it is known by now");
	finisher->free(finisher);
	end();
}

Test(type_names, remain_where_they_are_none)
{
	cr_assert_eq(type_names_install(NULL, NULL, NULL), 0);
	cr_assert_null(finish(NULL));
	cr_assert_null(finish("<unread>"));
	cr_assert_null(finish("<unknown>"));
	cr_assert_eq(n_asked, 0);
	cr_assert_null(finish("no mangled name…"));
	cr_assert_null(finish("no mangled name…"));
	cr_assert_eq(n_asked, 1);
	finisher->free(finisher);
	end();
}

Test(type_names, remain_where_the_language_does_not_mangle)
{
	cr_assert_eq(type_names_install(NULL, NULL, NULL), 0);
	language = "python";
	cr_assert_null(finish("i"));
	cr_assert_eq(n_asked, 0);
	language = NULL;
	expect("i", "int");
	finisher->free(finisher);
	end();
}

Test(type_names, of_java_are_those_of_classes)
{
	cr_assert_eq(type_names_install(NULL, NULL, NULL), 0);
	language = "java";
	expect("java/lang/IllegalStateException", "java.lang.IllegalStateException");
	expect("a/Outer$Inner", "a.Outer$Inner");
	cr_assert_null(finish("Own"));
	cr_assert_null(finish("<unknown>"));
	cr_assert_eq(n_asked, 0);
	finisher->free(finisher);
	end();
}

Test(type_names, are_asked_for_again_if_no_parser_could_be_started)
{
	cr_assert_eq(type_names_install(NULL, NULL, NULL), 0);
	parser_err = -EAGAIN;
	cr_assert_null(finish("i"));
	parser_err = 0;
	expect("i", "int");
	parser_err = -ECONNABORTED;
	cr_assert_null(finish("j"));
	parser_err = 0;
	cr_assert_null(finish("j"), "its parser has crashed");
	finisher->free(finisher);
	end();
}

Test(type_names, are_not_asked_for_without_end)
{
	char name[16];

	cr_assert_eq(type_names_install(NULL, NULL, NULL), 0);
	for (int i = 0; i < TYPE_NAMES_MAX; i++) {
		snprintf(name, sizeof(name), "5x%04d", i);
		finish(name);
	}
	cr_assert_eq(n_asked, TYPE_NAMES_MAX);
	cr_assert_null(finish("i"));
	cr_assert_eq(n_asked, TYPE_NAMES_MAX);
	expect("5x0007", "x0007");
	finisher->free(finisher);
	end();
}

Test(type_names, are_redacted_when_they_are_demangled)
{
	struct redaction redaction;
	char why[REDACTION_WHY_SIZE];

	cr_assert_eq(redaction_init(&redaction, "[0-9]+|int$|text", why), 0);
	cr_assert_eq(type_names_install(NULL, &redaction, NULL), 0);
	finish("4shopIiE");
	cr_assert(label_set_has(after, TYPE_NAMES_KEY, "shop<int>"));
	cr_assert(label_set_has(after, "z", "a <redacted>"));
	cr_assert(label_set_has(after, "a", "<redacted>"));
	finish("i");
	cr_assert(label_set_has(after, TYPE_NAMES_KEY, "<redacted>"));
	finish(NULL);
	cr_assert(label_set_has(after, "z", "a <redacted>"));
	finisher->free(finisher);
	redaction_done(&redaction);
	end();
}
