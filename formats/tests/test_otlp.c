// SPDX-License-Identifier: Apache-2.0
/*
 * Requests of OpenTelemetry's profiles, decoded by protobuf-c: spans, labels of resources, and the
 * sizes that receivers take. The tests `formats` and `otlp` read whole ones by the collector's code.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "formats/report_format.h"
#include "report/report.h"
#include "report/tests/labels.h"
#include "symbols/names.h"
#include "otlp.pb-c.h"
#include "symbols/tests/some_names.h"

static struct module program = { .name = "prog",
				 .path = (char *)"/usr/bin/prog",
				 .build_id = "cafe",
				 .fd = -1,
				 .symtab_tried = true };

#define N_FRAMES 30

static struct frame frames[N_FRAMES];
static struct totals totals = { .duration_ns = 1000000000 };
static struct report *report;
static size_t max_frames;
static char *file;
static size_t file_size;

/* What has been decoded of all requests. */
static struct {
	size_t requests, samples, times, values, largest, most, attributes, events;
	char ids[1024][16];
	size_t n_ids;
	int fails; /* so many times, taking one fails */
} seen;

static void begin(const struct report_parts *parts)
{
	const struct report_context context = {
		.event = "cpu-clock",
		.hz = 99,
		.events = EVENT_BIT(DP_EVENT_CPU),
		.symbols = true,
		.names = program.names = some_names(),
		.started_ns = 1000,
		.started_real_ns = 1700000000000000000,
		.parts = parts,
		.max_frames = max_frames,
	};

	cr_assert_eq(report_new(report_format_by_name("otlp"), &context,
				open_memstream(&file, &file_size), &report),
		     0);
}

/* Its stack and name are those of a variant. */
static void add(unsigned int variant, const struct label_set *labels)
{
	struct sample sample = { .time_ns = 1000 + variant,
				 .weight = 1,
				 .pid = 42,
				 .tid = 43,
				 .comm = "prog",
				 .user = frames,
				 .n_user = N_FRAMES,
				 .outcome = DP_COMPLETE,
				 .labels = labels };

	for (size_t i = 0; i < N_FRAMES; i++)
		frames[i] = (struct frame){ .address = 0x7000 + i,
					    .offset = 0x1000 + variant * N_FRAMES + i,
					    .module = &program,
					    .method = DP_METHOD_TABLE };
	snprintf(sample.thread_name, sizeof(sample.thread_name), "thread %u", variant % 1000);
	cr_assert_eq(report_add(report, &sample, &totals), 0);
}

static void decode_profile(const ProtobufCBinaryData *from)
{
	Otlp__Profile *profile = otlp__profile__unpack(NULL, from->len, from->data);

	cr_assert(profile);
	cr_assert_eq(profile->profile_id.len, 16);
	for (size_t i = 0; i < seen.n_ids; i++)
		cr_assert_neq(memcmp(seen.ids[i], profile->profile_id.data, 16), 0);
	memcpy(seen.ids[seen.n_ids++], profile->profile_id.data, 16);
	for (size_t i = 0; i < profile->n_samples; i++) {
		seen.times += profile->samples[i]->n_timestamps_unix_nano;
		seen.values += profile->samples[i]->n_values;
	}
	seen.samples += profile->n_samples;
	seen.attributes += profile->n_attribute_indices;
	if (profile->n_samples > seen.most)
		seen.most = profile->n_samples;
	otlp__profile__free_unpacked(profile, NULL);
}

static Otlp__ResourceProfiles *decode_resource(const ProtobufCBinaryData *from)
{
	Otlp__ResourceProfiles *resource =
		otlp__resource_profiles__unpack(NULL, from->len, from->data);
	Otlp__ScopeProfiles *scope;

	cr_assert(resource);
	scope = otlp__scope_profiles__unpack(NULL, resource->scope_profiles.len,
					     resource->scope_profiles.data);
	cr_assert(scope);
	for (size_t i = 0; i < scope->n_profiles; i++)
		decode_profile(&scope->profiles[i]);
	otlp__scope_profiles__free_unpacked(scope, NULL);
	return resource;
}

/* Of the bytes written since the last one. */
static int end_part(void *arg, uint64_t n_events)
{
	Otlp__ExportProfilesServiceRequest *request;
	size_t *begins = arg;

	cr_assert_eq(fflush(report->to), 0);
	request = otlp__export_profiles_service_request__unpack(NULL, file_size - *begins,
								(const uint8_t *)file + *begins);
	cr_assert(request);
	for (size_t i = 0; i < request->n_resource_profiles; i++)
		otlp__resource_profiles__free_unpacked(
			decode_resource(&request->resource_profiles[i]), NULL);
	if (file_size - *begins > seen.largest)
		seen.largest = file_size - *begins;
	seen.requests++;
	seen.events += n_events;
	*begins = file_size;
	otlp__export_profiles_service_request__free_unpacked(request, NULL);
	return seen.fails-- > 0 ? -ENOSPC : 0;
}

static void end(void)
{
	cr_assert_eq(report_finish(report, &totals), 0);
	fclose(report->to);
	report_free(report);
}

Test(otlp, requests_have_a_limited_size)
{
	size_t begins = 0;
	const struct report_parts parts = { 40000, 100000, end_part, &begins };

	begin(&parts);
	for (unsigned int i = 0; i < 500; i++)
		add(i, NULL);
	end();
	cr_assert(seen.times == 500 && seen.events == 500);
	cr_assert_gt(seen.requests, 5);
	/* A stack with its names is below 2000 bytes. */
	cr_assert_lt(seen.largest, 42000);
	cr_assert_eq(begins, file_size);
	free(file);
}

Test(otlp, requests_have_a_limited_number_of_samples)
{
	size_t begins = 0;
	const struct report_parts parts = { 1 << 30, 100, end_part, &begins };

	begin(&parts);
	for (unsigned int i = 0; i < 450; i++)
		add(i % 225, NULL);
	end();
	cr_assert(seen.times == 450 && seen.events == 450);
	cr_assert_eq(seen.requests, 3);
	cr_assert_eq(seen.most, 100);
	free(file);
}

/* The disk is full for a moment. */
Test(otlp, requests_follow_one_that_cannot_be_taken)
{
	size_t begins = 0;
	const struct report_parts parts = { 1 << 30, 100, end_part, &begins };

	seen.fails = 1;
	begin(&parts);
	for (unsigned int i = 0; i < 450; i++)
		add(i, NULL);
	cr_assert_eq(report_finish(report, &totals), -ENOSPC);
	fclose(report->to);
	report_free(report);
	cr_assert_eq(seen.times, 450);
	cr_assert_eq(seen.requests, 5);
	free(file);
}

Test(otlp, nothing_is_written_without_samples)
{
	size_t begins = 0;
	const struct report_parts parts = { 1 << 30, 100, end_part, &begins };

	begin(&parts);
	end();
	cr_assert_eq(seen.requests, 0);
	cr_assert_eq(file_size, 0);
	free(file);
}

static void add_with(unsigned int variant, const char *const labels[][2], size_t n)
{
	struct label_list list = { 0 };
	struct label_set *set;

	for (size_t i = 0; i < n; i++) {
		const struct label label = { .key = labels[i][0], .text = labels[i][1] };

		cr_assert_eq(label_list_add(&list, &label), 0);
	}
	cr_assert_eq(label_set_new(&list, &set), 0);
	add(variant, set);
	label_set_free(set);
	label_list_done(&list);
}

/* Containers, each with all that its runtime says of it. */
Test(otlp, resources_count_as_well)
{
	size_t begins = 0;
	const struct report_parts parts = { 100000, 100000, end_part, &begins };
	char service[16], image[700];
	const char *const labels[][2] = { { "service.name", service },
					  { "container.image.name", image } };

	memset(image, 'x', sizeof(image) - 1);
	image[sizeof(image) - 1] = '\0';
	begin(&parts);
	for (unsigned int i = 0; i < 600; i++) {
		snprintf(service, sizeof(service), "s%u", i);
		add_with(0, labels, 2);
	}
	end();
	cr_assert_eq(seen.samples, 600);
	cr_assert_lt(seen.largest, 102000);
	cr_assert_gt(seen.largest, 60000);
	free(file);
}

static const char *find_attribute(const Otlp__Resource *resource, const char *key)
{
	for (size_t i = 0; i < resource->n_attributes; i++)
		if (strcmp(resource->attributes[i]->key, key) == 0)
			return resource->attributes[i]->value->string_value;
	return NULL;
}

/* Two services of one process, and a sample with a span. */
static const char *const of_shop[][2] = { { "service.name", "shop" },
					  { "k8s.pod.name", "shop-1" },
					  { "trace_id", "0102030405060708090a0b0c0d0e0f10" },
					  { "span_id", "A1a2a3a4a5a6a7a8" },
					  { "route", "/login" } };
static const char *const of_mail[][2] = { { "service.name", "mail" },
					  { "trace_id", "00000000000000000000000000000000" },
					  { "span_id", "a1a2a3a4a5a6a7a8" } };

Test(otlp, labels_are_of_the_resource_or_a_span)
{
	const uint8_t trace[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	const uint8_t span[] = { 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8 };
	Otlp__ExportProfilesServiceRequest *request;
	Otlp__ProfilesDictionary *d;
	unsigned int keys = 0;

	begin(NULL);
	add_with(1, of_shop, 5);
	add_with(1, of_mail, 3);
	end();
	request = otlp__export_profiles_service_request__unpack(NULL, file_size, (uint8_t *)file);
	cr_assert_eq(request->n_resource_profiles, 2);
	for (size_t i = 0; i < 2; i++) {
		Otlp__ResourceProfiles *of = decode_resource(&request->resource_profiles[i]);
		Otlp__Resource *resource =
			otlp__resource__unpack(NULL, of->resource.len, of->resource.data);
		const char *pod = find_attribute(resource, "k8s.pod.name");

		cr_assert_str_eq(find_attribute(resource, "service.name"), i ? "mail" : "shop");
		cr_assert_str_eq(find_attribute(resource, "process.executable.path"),
				 "/usr/bin/prog");
		cr_assert(i ? !pod : strcmp(pod, "shop-1") == 0);
		otlp__resource__free_unpacked(resource, NULL);
		otlp__resource_profiles__free_unpacked(of, NULL);
	}
	d = otlp__profiles_dictionary__unpack(NULL, request->dictionary.len,
					      request->dictionary.data);
	cr_assert_eq(d->n_link_table, 2);
	cr_assert_eq(memcmp(d->link_table[1]->trace_id.data, trace, 16), 0);
	cr_assert_eq(memcmp(d->link_table[1]->span_id.data, span, 8), 0);
	/* A trace of zeroes is none, so its labels stay labels. */
	for (size_t i = 1; i < d->n_attribute_table; i++) {
		const char *key = d->string_table[d->attribute_table[i]->key_strindex];

		keys |= strcmp(key, "route") == 0 ? 1 : 0;
		keys |= strcmp(key, "trace_id") == 0 ? 2 : 0;
		cr_assert_neq(strcmp(key, "service.name"), 0);
	}
	cr_assert_eq(keys, 3);
	otlp__profiles_dictionary__free_unpacked(d, NULL);
	otlp__export_profiles_service_request__free_unpacked(request, NULL);
	free(file);
}

static Otlp__ProfilesDictionary *decode_dictionary(void)
{
	Otlp__ExportProfilesServiceRequest *request =
		otlp__export_profiles_service_request__unpack(NULL, file_size, (uint8_t *)file);
	Otlp__ProfilesDictionary *d = otlp__profiles_dictionary__unpack(
		NULL, request->dictionary.len, request->dictionary.data);

	otlp__export_profiles_service_request__free_unpacked(request, NULL);
	free(file);
	return d;
}

static bool has_attribute(const Otlp__ProfilesDictionary *d, const char *key)
{
	for (size_t i = 1; i < d->n_attribute_table; i++)
		if (strcmp(d->string_table[d->attribute_table[i]->key_strindex], key) == 0)
			return true;
	return false;
}

/* What a backend would make series of. */
Test(otlp, folded_samples_are_told_apart_by_their_names_only)
{
	static const char *const left_out[] = { "thread.id", "dwarfprof.outcome",
						"dwarfprof.state" };

	for (int folded = 0; folded < 2; folded++) {
		struct sample sample = { .weight = 1,
					 .event = DP_EVENT_OFF_CPU,
					 .pid = 42,
					 .tid = 43,
					 .comm = "prog",
					 .thread_name = "thread",
					 .user = frames,
					 .n_user = 1,
					 .outcome = DP_READ_FAULT,
					 .is_folded = folded };
		Otlp__ProfilesDictionary *d;

		frames[0] = (struct frame){ .address = 0x7000, .module = &program };
		begin(NULL);
		cr_assert_eq(report_add(report, &sample, &totals), 0);
		end();
		d = decode_dictionary();
		for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
			cr_assert_eq(has_attribute(d, left_out[i]), !folded, "%s", left_out[i]);
		cr_assert(has_attribute(d, "thread.name"));
		otlp__profiles_dictionary__free_unpacked(d, NULL);
	}
}

Test(otlp, of_deep_stacks_the_middle_may_be_left_out)
{
	static const struct {
		size_t max, n, mark;
	} rows[] = { { N_FRAMES, N_FRAMES, SIZE_MAX },
		     { N_FRAMES - 1, N_FRAMES - 1, 14 },
		     { 8, 8, 4 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Otlp__ProfilesDictionary *d;
		Otlp__Stack *stack;

		max_frames = rows[i].max;
		begin(NULL);
		add(0, NULL);
		end();
		d = decode_dictionary();
		stack = d->stack_table[1];
		cr_assert_eq(stack->n_location_indices, rows[i].n);
		for (size_t k = 0; k < rows[i].n; k++) {
			Otlp__Location *l = d->location_table[stack->location_indices[k]];
			size_t at = k < rows[i].mark ? k : k + N_FRAMES - rows[i].n;

			if (k != rows[i].mark) {
				cr_assert_eq(l->address, 0x1000 + at - 1);
				continue;
			}
			cr_assert_str_eq(
				d->string_table[d->function_table[l->lines[0]->function_index]
							->name_strindex],
				"[frames left out]");
		}
		otlp__profiles_dictionary__free_unpacked(d, NULL);
	}
}

/* The words are the conventions'. */
Test(otlp, frames_of_interpreters_have_a_type)
{
	struct frame some[] = { { .address = 1, .method = DP_METHOD_PYTHON },
				{ .address = 2, .method = DP_METHOD_JAVA } };
	const struct sample sample = {
		.weight = 1, .comm = "x", .user = some, .n_user = 2, .outcome = DP_COMPLETE
	};
	Otlp__ProfilesDictionary *d;

	begin(NULL);
	cr_assert_eq(report_add(report, &sample, &totals), 0);
	end();
	d = decode_dictionary();
	for (size_t i = 0; i < 2; i++) {
		Otlp__Location *l = d->location_table[d->stack_table[1]->location_indices[i]];
		Otlp__KeyValueAndUnit *type = d->attribute_table[l->attribute_indices[0]];

		cr_assert_eq(l->n_attribute_indices, 1);
		cr_assert_str_eq(d->string_table[type->key_strindex], "profile.frame.type");
		cr_assert_str_eq(type->value->string_value, i == 0 ? "cpython" : "jvm");
	}
	otlp__profiles_dictionary__free_unpacked(d, NULL);
}

Test(otlp, labels_that_are_decimals_are_doubles)
{
	static const struct label labels[] = {
		{ .key = "ratio", .text = "-0.5", .is_decimal = true },
		{ .key = "text", .text = "-0.5" }
	};
	struct label_set *set = labels_of(labels, 2, false);
	size_t n_doubles = 0, n_texts = 0;
	Otlp__ProfilesDictionary *d;

	begin(NULL);
	add(1, set);
	end();
	d = decode_dictionary();
	for (size_t i = 1; i < d->n_attribute_table; i++) {
		const Otlp__KeyValueAndUnit *a = d->attribute_table[i];

		if (strcmp(d->string_table[a->key_strindex], "ratio") == 0)
			n_doubles += a->value->value_case == OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE &&
				     a->value->double_value == -0.5;
		if (strcmp(d->string_table[a->key_strindex], "text") == 0)
			n_texts += a->value->value_case == OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	}
	cr_assert(n_doubles == 1 && n_texts == 1);
	otlp__profiles_dictionary__free_unpacked(d, NULL);
	label_set_free(set);
}

/* Two of one stack, and of one event; the weight tells them apart from others. */
static void write_counted(const struct report_context *context, uint64_t weight)
{
	static const struct label label = { .key = REPORT_EVENT, .text = "cycles" };
	struct label_set *set = context->n_several > 0 ? labels_of(&label, 1, false) : NULL;
	struct report_context own = *context;
	size_t begins = 0;

	own.parts = &(struct report_parts){ SIZE_MAX, SIZE_MAX, end_part, &begins };
	own.names = program.names = some_names();
	memset(&seen, 0, sizeof(seen));
	cr_assert_eq(report_new(report_format_by_name("otlp"), &own,
				open_memstream(&file, &file_size), &report),
		     0);
	for (uint64_t i = 0; i < 2; i++) {
		const struct frame frame = { .address = 0x7000,
					     .offset = 0x1000,
					     .module = &program };
		const struct sample sample = { .time_ns = 1000 + i,
					       .weight = weight,
					       .pid = 42,
					       .tid = 43,
					       .user = &frame,
					       .n_user = 1,
					       .labels = set,
					       .outcome = DP_COMPLETE };

		cr_assert_eq(report_add(report, &sample, &totals), 0);
	}
	end();
	label_set_free(set);
	free(file);
}

/* Pyroscope takes one value of each then, and would refuse the request. */
Test(otlp, weighted_counts_have_no_times)
{
	static const struct report_event events[] = { { "cycles", "cycles" }, { "r1c2", "r1c2" } };
	const struct report_context contexts[] = {
		{ .event = "uprobe", .events = EVENT_BIT(DP_EVENT_UPROBE) },
		{ .event = "several",
		  .events = EVENT_BIT(DP_EVENT_CPU),
		  .several = events,
		  .n_several = 2 },
		{ .event = "cpu-clock", .hz = 99, .events = EVENT_BIT(DP_EVENT_CPU) },
	};

	for (size_t i = 0; i < sizeof(contexts) / sizeof(*contexts); i++) {
		write_counted(&contexts[i], 1);
		cr_assert_eq(seen.samples, 1);
		cr_assert_eq(seen.times, 2);
		cr_assert_eq(seen.values, 0);
		write_counted(&contexts[i], 5);
		cr_assert_eq(seen.samples, 1);
		cr_assert_eq(seen.times, 0);
		cr_assert_eq(seen.values, 1);
	}
}

Test(otlp, the_first_request_says_what_was_lost)
{
	size_t begins = 0;
	const struct report_parts parts = { 1 << 30, 100, end_part, &begins };

	totals.lost = 7;
	begin(&parts);
	for (unsigned int i = 0; i < 200; i++)
		add(i, NULL);
	end();
	cr_assert_eq(seen.requests, 2);
	cr_assert_eq(seen.attributes, 1);
	free(file);
}
