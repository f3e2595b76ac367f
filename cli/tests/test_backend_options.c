// SPDX-License-Identifier: Apache-2.0
/* Which backend an option belongs to, and what is the same backend. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "agent/backend.h"
#include "cli/backend_options.h"

static struct backend_settings settings;
static char *words[128];
static int n_words;

static void parse(const char *const *given)
{
	char **first = &words[n_words];
	int n = 0;

	settings = (struct backend_settings){ 0 };
	for (; given[n]; n++)
		words[n_words++] = strdup(given[n]);
	argp_parse(&backend_options_argp, n, first, 0, NULL, &settings);
}

#define PARSE(...) parse((const char *const[]){ "agent", __VA_ARGS__, NULL })

TestSuite(backend_options);

Test(backend_options, belong_to_the_url_before_them)
{
	PARSE("--otlp=grpc://a", "--tenant=x", "--header=A: b", "--header=C: d",
	      "--pyroscope=https://b", "--label=k=v=w", "--insecure");
	cr_assert_eq(settings.n, 2);
	cr_assert_str_eq(settings.items[0].deliver.tenant, "x");
	cr_assert_eq(settings.items[0].deliver.n_headers, 2);
	cr_assert_str_eq(settings.items[0].deliver.headers[1], "C: d");
	cr_assert_eq(settings.items[0].n_labels, 0);
	cr_assert_not(settings.items[0].deliver.insecure);
	cr_assert_eq(settings.items[1].deliver.protocol, DELIVER_PYROSCOPE);
	cr_assert_eq(settings.items[1].deliver.n_headers, 0);
	cr_assert_str_eq(settings.items[1].labels[0].name, "k");
	cr_assert_str_eq(settings.items[1].labels[0].value, "v=w");
	cr_assert(settings.items[1].deliver.insecure);
}

Test(backend_options, belong_to_a_name_also_before_its_url)
{
	PARSE("--otlp=http://a", "--backend=b", "--tenant=x", "--otlp=http://b", "--otlp=http://c");
	cr_assert_eq(settings.n, 3);
	cr_assert_null(settings.items[0].deliver.tenant);
	cr_assert_str_eq(settings.items[1].deliver.tenant, "x");
	cr_assert_str_eq(settings.items[1].name, "b");
	cr_assert_str_eq(settings.items[1].deliver.url, "http://b");
	cr_assert_null(settings.items[2].name);
}

Test(backend_options, rules_of_all_and_of_one)
{
	PARSE("--relabel=target_label=a replacement=1", "--otlp=http://a",
	      "--relabel=target_label=b replacement=1", "--otlp=http://b");
	cr_assert_eq(settings.all_rules.n, 1);
	cr_assert_eq(settings.items[0].all_rules, &settings.all_rules);
	cr_assert_eq(settings.items[0].own_rules->n, 1);
	cr_assert_eq(settings.items[1].all_rules, &settings.all_rules);
	cr_assert_eq(settings.items[1].own_rules->n, 0);
	cr_assert_not(backend_options_are_equal(&settings.items[0], &settings.items[1]));
	backend_settings_done(&settings);
}

Test(backend_options, what_lacks_a_url)
{
	PARSE("--otlp=http://a");
	cr_assert_not(backend_settings_lack_url(&settings));
	PARSE("--otlp=http://a", "--backend=b");
	cr_assert(backend_settings_lack_url(&settings));
}

Test(backend_options, given_twice_is_one)
{
	char name[] = "agent";
	struct argp_state state = { .name = name, .err_stream = stderr };

	PARSE("--otlp=http://a", "--label=a=1", "--otlp=http://b", "--otlp=http://a",
	      "--label=a=1");
	backend_settings_complete(&settings, &state);
	cr_assert_eq(settings.n, 2);
	cr_assert_str_eq(settings.items[1].deliver.url, "http://b");
	PARSE("--otlp=http://a", "--otlp=http://a", "--tenant=t", "--pyroscope=http://a");
	backend_settings_complete(&settings, &state);
	cr_assert_eq(settings.n, 3);
}

Test(backend_options, the_rest_of_one_may_change)
{
	static const char *const changes[] = { "--label=a=1",    "--header=A: b",
					       "--token-file=t", "--insecure",
					       "--ca-file=c",    "--cert-file=c",
					       "--key-file=k",   "--auth-password-file=p" };
	struct backend_options before;

	PARSE("--otlp=https://a");
	before = settings.items[0];
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		PARSE("--otlp=https://a", changes[i]);
		cr_assert(backend_options_are_of_one(&before, &settings.items[0]));
		cr_assert_not(backend_options_are_equal(&before, &settings.items[0]), "%s",
			      changes[i]);
	}
	PARSE("--otlp=https://a", "--auth-user=me");
	cr_assert_not(backend_options_are_of_one(&before, &settings.items[0]));
}
