// SPDX-License-Identifier: Apache-2.0
/* A thread's context as the kernel sends it. */
#include <criterion/criterion.h>
#include <errno.h>

#include "samples/labels.h"
#include "samples/thread_keys.h"
#include "sandbox/process_context.h"

#define TRACE "000102030405060708090a0b0c0d0eff"
#define SPAN "f0f1f2f3f4f5f6f7"
#define PLACE 0x400000
#define NUMBER 5

static struct {
	struct dp_names names;
	struct dp_sample sample;
	__u64 frames[1];
	struct dp_context context;
	struct dp_thread_record record;
	__u8 attributes[12];
} record = {
	.sample = { .n_user = 1, .flags = DP_SAMPLE_CONTEXT },
	.context = { .part = { DP_RECORD_CONTEXT, sizeof(record.context) + 40 },
		     .size = sizeof(record.record) },
	.record = { .trace_id = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255 },
		    .span_id = { 0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7 },
		    .valid = 1 },
};

static struct table context_table = { .labels_form = DP_LABELS_CONTEXT };
static struct table go_table = { .labels_form = DP_LABELS_GO_LIST };
static struct binary context_binary = { .table = &context_table };
static struct binary go_binary = { .table = &go_table };
static struct mapping mappings[] = { { .binary = &go_binary }, { .binary = &context_binary } };
static struct binary first_binary = { .number = NUMBER };
static struct mapping first = { .start = PLACE, .binary = &first_binary };
static const struct snapshot only = { .n_mappings = 1, .mappings = &first };
static struct label_sources host;
static const struct sample sample = { .n_user = 1, .pid = 7, .time_ns = 1000 };

static struct label_set *labels_of(const struct snapshot *in_kernel, const struct snapshot *walked)
{
	const struct label_context context = { (const void *)&record, in_kernel, walked, &sample,
					       &host };
	struct label_list list = { 0 };
	struct label_set *set;

	cr_assert_eq(label_trace.add(&label_trace, &context, &list), 0);
	cr_assert_eq(label_set_new(&list, &set), 0);
	label_list_done(&list);
	return set;
}

static void expect(bool has_span, bool is_cut)
{
	_cleanup_(label_set_freep) struct label_set *set = labels_of(NULL, NULL);

	cr_expect_eq(label_set_has(set, "trace_id", TRACE), has_span);
	cr_expect_eq(label_set_has(set, "span_id", SPAN), has_span);
	cr_expect_eq(set->size > 0, has_span);
	cr_expect_eq(set->is_cut, is_cut);
}

Test(label_trace, are_those_of_the_record)
{
	expect(true, false);
}

Test(label_trace, are_none_with_half_a_span)
{
	memset(record.record.span_id, 0, sizeof(record.record.span_id));
	expect(false, false);
	record.record.span_id[7] = 1;
	memset(record.record.trace_id, 0, sizeof(record.record.trace_id));
	expect(false, false);
}

/* The names that are known of process 7: of keys 0, 1 and 9. Those of 2 and above may come. */
int __wrap_thread_keys_find(struct thread_keys *keys, pid_t pid, struct program_place place,
			    uint8_t number, uint64_t now, const char **ret);

int __wrap_thread_keys_find(struct thread_keys *keys, pid_t pid, struct program_place place,
			    uint8_t number, uint64_t now, const char **ret)
{
	cr_assert(pid == 7 && place.start == PLACE && place.binary == NUMBER && now == 1000);
	*ret = number == 0 ? "route" : number == 1 ? "user" : number == 9 ? "span_id" : NULL;
	if (*ret)
		return 0;
	return number < 9 ? -EAGAIN : -ENOENT;
}

static struct label_set *with_attributes(const char *bytes, size_t size)
{
	memcpy(record.attributes, bytes, size);
	record.context.size = (__u16)(sizeof(record.record) + size);
	return labels_of(NULL, &only);
}

Test(label_trace, have_attributes)
{
	_cleanup_(label_set_freep) struct label_set *set = with_attributes("\0\2/a\1\1b\0\1c", 10);

	cr_expect(label_set_has(set, "route", "c"), "the last one counts");
	cr_expect(label_set_has(set, "user", "b") && label_set_has(set, "span_id", SPAN));
	cr_expect(!label_set_has(set, "route", "/a") && !set->is_cut);
}

/* What has no name yet is missing; what has none at all does not count. */
Test(label_trace, say_what_they_lack)
{
	struct label_set *set = with_attributes("\2\1a\0\1b", 6);

	cr_expect(label_set_has(set, "route", "b") && set->is_cut);
	label_set_free(set);
	set = with_attributes("\12\1a\0\1b", 6);
	cr_expect(label_set_has(set, "route", "b") && !set->is_cut);
	label_set_free(set);
	record.context.is_cut = 1;
	set = with_attributes("\0\1b", 3);
	cr_expect(label_set_has(set, "route", "b") && set->is_cut);
	label_set_free(set);
}

/* Of an attribute that is not whole, and what the span has already. */
Test(label_trace, leave_out_what_is_none)
{
	struct label_set *set = with_attributes("\0\1b\1\3ab", 7);

	cr_expect(label_set_has(set, "route", "b") && !label_set_has(set, "user", "ab"));
	cr_expect(!set->is_cut);
	label_set_free(set);
	set = with_attributes("\11\1x\0", 4);
	cr_expect(label_set_has(set, "span_id", SPAN) && !label_set_has(set, "span_id", "x"));
	label_set_free(set);
	set = with_attributes("\0\3a\0b\1\0", 7);
	cr_expect(label_set_has(set, "route", "a?b") && label_set_has(set, "user", ""));
	label_set_free(set);
}

Test(label_trace, are_cut_if_the_record_is_damaged)
{
	record.context.size = 0;
	expect(false, true);
	record.context.size = sizeof(record.record) - 1;
	expect(false, true);
	record.context.size = 40 + 1;
	expect(false, true);
	record.context.size = sizeof(record.record);
	record.record.valid = 2;
	expect(false, true);
	record.record.valid = 1;
	expect(true, false);
}

static bool is_cut(const struct snapshot *in_kernel, const struct snapshot *walked)
{
	_cleanup_(label_set_freep) struct label_set *set = labels_of(in_kernel, walked);

	cr_expect_eq(set->size, 0);
	return set->is_cut;
}

/* The kernel has looked for a context and found none, or it has not looked. */
Test(label_trace, are_unknown_where_nobody_looked)
{
	const struct snapshot none = { .n_mappings = 2, .mappings = mappings };
	const struct snapshot go = {
		.labels = 1, .has_labels = true, .n_mappings = 1, .mappings = mappings
	};
	const struct snapshot both = {
		.labels = 1, .has_labels = true, .n_mappings = 2, .mappings = mappings
	};
	const struct snapshot context = {
		.labels = 2, .has_labels = true, .n_mappings = 2, .mappings = mappings
	};

	record.sample.flags = 0;
	cr_expect(!is_cut(&context, &context));
	cr_expect(is_cut(NULL, &context));
	cr_expect(is_cut(&none, &context));
	cr_expect(is_cut(&both, &both));
	cr_expect(!is_cut(&go, &go));
	cr_expect(!is_cut(NULL, NULL));
}

static struct process_context said = { .service_name = "shop", .environment = "test" };

const struct process_context *__wrap_thread_keys_process(struct thread_keys *keys, pid_t pid,
							 struct program_place place, uint64_t now);

const struct process_context *__wrap_thread_keys_process(struct thread_keys *keys, pid_t pid,
							 struct program_place place, uint64_t now)
{
	cr_assert(pid == 7 && place.start == PLACE && place.binary == NUMBER && now == 1000);
	return &said;
}

/* Of each sample, for a host that wants to know; not of one whose program is not known. */
Test(label_trace, have_a_service)
{
	struct label_set *set = labels_of(NULL, &only);

	cr_expect(!label_set_has(set, "service.name", "shop"));
	label_set_free(set);
	host.tells_service = true;
	set = labels_of(NULL, &only);
	cr_expect(label_set_has(set, "service.name", "shop"));
	cr_expect(label_set_has(set, "deployment.environment.name", "test"));
	cr_expect(label_set_has(set, "span_id", SPAN));
	cr_expect(!label_set_has(set, "service.namespace", ""));
	label_set_free(set);
	set = labels_of(NULL, NULL);
	cr_expect(!label_set_has(set, "service.name", "shop"));
	label_set_free(set);
}
