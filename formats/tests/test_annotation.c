// SPDX-License-Identifier: Apache-2.0
#include "report/annotation.h"

#include "formats/tests/samples.h"

static const struct source_location inner_in_outer[] = { { .function = "inner", .inlined = true },
							 { .function = "outer" } };

static struct annotation annotation_of(const char *function)
{
	return (struct annotation){ .function = function,
				    .value = { .events = EVENT_BIT(DP_EVENT_CPU), .scale = 1 } };
}

/* A sample in outer(), in code of inner() that is inlined there. */
static struct sample sample_in_outer(void)
{
	program.names = some_names();
	cr_assert(location_cache_add(&program.locations, frames[0].offset, true, inner_in_outer,
				     2) == 0);
	return sample_of(DP_COMPLETE);
}

Test(annotation, has_instructions_of_the_function_whose_code_it_is)
{
	struct sample sample = sample_in_outer();
	struct annotation outer = annotation_of("outer");

	cr_assert(annotation_add(&outer, &sample) == 0 && annotation_add(&outer, &sample) == 0);
	cr_assert(outer.all == 2 && outer.self == 2 && outer.inlined == 0);
	cr_assert(HASH_COUNT(outer.sites) == 1 && outer.sites->value == 2);
	cr_assert(outer.sites->key.module == &program && outer.sites->code == frames[0].offset);
	annotation_done(&outer);
}

/* Its instructions are those of the other function. */
Test(annotation, counts_a_function_where_it_is_inlined)
{
	struct sample sample = sample_in_outer();
	struct annotation inner = annotation_of("inner");

	cr_assert(annotation_add(&inner, &sample) == 0);
	cr_assert(inner.all == 1 && inner.self == 0 && inner.inlined == 1 && !inner.sites);
}

Test(annotation, leaves_out_what_the_kernel_does)
{
	struct sample sample = sample_in_outer();
	struct annotation outer = annotation_of("outer");

	sample.kernel = kernel;
	sample.n_kernel = 2;
	cr_assert(annotation_add(&outer, &sample) == 0);
	cr_assert(outer.all == 1 && outer.self == 0 && !outer.sites);
}
