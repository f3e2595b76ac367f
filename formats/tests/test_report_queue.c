// SPDX-License-Identifier: Apache-2.0
/* The reporting thread: order, copies of samples, a report that is slow or fails. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "formats/report_format.h"
#include "report/report_queue.h"
#include "report/verification.h"
#include "report/verified.h"
#include "symbols/name_reader.h"
#include "symbols/tests/some_names.h"

/* A report that records what it gets, and can be delayed, or fail. */
struct noted {
	struct report report;
	int gate[2]; /* with a gate, each sample waits for a byte */
	bool has_gate;
	int err;
	size_t n;
	uint64_t times, addresses;
	bool in_order;
	int nice; /* of the thread */
	const struct module *module;
	bool found_open; /* the module, when the last sample was added */
};

static int noted_add(struct report *report, const struct sample *sample,
		     const struct totals *totals)
{
	struct noted *noted = (struct noted *)report;
	char byte;

	if (noted->has_gate)
		(void)!read(noted->gate[0], &byte, 1);
	noted->in_order &= sample->time_ns == noted->n;
	noted->n++;
	noted->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	noted->found_open = noted->module && noted->module->fd >= 0;
	for (size_t i = 0; i < sample->n_user; i++)
		noted->addresses += sample->user[i].address;
	for (size_t i = 0; i < sample->n_kernel; i++)
		noted->addresses += sample->kernel[i];
	if (sample->verified)
		noted->addresses += sample->verified->frames[0].address +
				    (uint64_t)strlen(sample->verified->end);
	cr_assert_eq(totals->lost, sample->time_ns);
	return noted->err;
}

static struct noted noted;
static struct report *reports[] = { &noted.report };
static struct report_queue *report_queue;
static sem_t asked; /* one for each result that a report waits for, or has waited for */

static void begin(bool has_gate, int err)
{
	sem_init(&asked, 0, 0);
	noted = (struct noted){
		.report.add = noted_add, .has_gate = has_gate, .err = err, .in_order = true
	};
	cr_assert_eq(pipe(noted.gate), 0);
	cr_assert_eq(report_queue_new(reports, 1, some_names(), false, &report_queue), 0);
}

/* A verification whose result the test gives; it is freed with its last user. */
struct given {
	struct verification verification;
	sem_t has_result;
	const struct verified_stack *result;
};

static _Atomic int n_verifications;

static const struct verified_stack *given_wait(struct verification *verification)
{
	struct given *given = (struct given *)verification;

	sem_post(&asked);
	while (sem_wait(&given->has_result) < 0)
		;
	return given->result;
}

static void given_drop(struct verification *verification)
{
	free(verification);
	n_verifications--;
}

static struct given *given_new(const struct verified_stack *result)
{
	struct given *given = calloc(1, sizeof(*given));

	given->verification = (struct verification){ given_wait, given_drop, 100 };
	given->result = result;
	sem_init(&given->has_result, 0, 0);
	n_verifications++;
	return given;
}

/* Everything that it points to is overwritten right after it was added. */
static int add(uint64_t time)
{
	static const struct frame theirs[] = { { .address = 1 } };
	static const struct verified_stack verified = { .frames = theirs,
							.n_frames = 1,
							.end = "end" };
	struct frame frames[] = { { .address = 1 }, { .address = 10 } };
	__u64 kernel[] = { 100 };
	struct given *given = time % 2 ? given_new(&verified) : NULL;
	struct sample sample = { .time_ns = time,
				 .user = frames,
				 .n_user = 2,
				 .kernel = kernel,
				 .n_kernel = 1,
				 .verification = given ? &given->verification : NULL };
	struct totals totals = { .lost = time };
	int err;

	if (given)
		sem_post(&given->has_result);
	err = report_queue_add(report_queue, &sample, &totals);
	memset(frames, 0xff, sizeof(frames));
	memset(kernel, 0xff, sizeof(kernel));
	return err;
}

Test(report_queue, reports_copies_in_order)
{
	begin(false, 0);
	for (uint64_t i = 0; i < 1000; i++)
		cr_assert_eq(add(i), 0);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert_eq(noted.n, 1000);
	cr_assert(noted.in_order);
	cr_assert_eq(noted.addresses, 1000 * 111 + 500 * (1 + 3));
	cr_assert_eq(n_verifications, 0);
	report_queue_free(report_queue);
}

static int nice_of_thread_with(struct names *names)
{
	begin(false, 0);
	report_queue_free(report_queue);
	cr_assert_eq(report_queue_new(reports, 1, names, false, &report_queue), 0);
	cr_assert_eq(add(0), 0);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	report_queue_free(report_queue);
	names_free(names);
	return noted.nice;
}

/* It looks up names, and whoever adds samples stays as urgent as it was. */
Test(report_queue, goes_last_if_told)
{
	int own = getpriority(PRIO_PROCESS, (id_t)gettid());

	cr_assert_eq(nice_of_thread_with(names_with((struct names_options){ 0 })), own);
	cr_assert_eq(nice_of_thread_with(names_with((struct names_options){ .go_last = true })),
		     10);
	cr_assert_eq(getpriority(PRIO_PROCESS, (id_t)gettid()), own);
}

/* The one who adds does not wait for a result, but all later samples do. */
Test(report_queue, waits_for_a_result, .timeout = 60)
{
	static const struct frame theirs[] = { { .address = 1 } };
	static const struct verified_stack verified = { .frames = theirs,
							.n_frames = 1,
							.end = "" };
	struct given *given = given_new(&verified);
	const struct sample sample = { .verification = &given->verification };

	begin(false, 0);
	cr_assert_eq(report_queue_add(report_queue, &sample, &(struct totals){ 0 }), 0);
	cr_assert_eq(add(1), 0);
	/* Now the reporting thread waits, and what it has reported so far is noted. */
	while (sem_wait(&asked) < 0)
		;
	cr_assert_eq(report_queue_size(report_queue), 2);
	cr_assert_eq(noted.n, 0);
	sem_post(&given->has_result);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert(noted.n == 2 && noted.in_order);
	cr_assert_eq(noted.addresses, 1 + 111 + 1 + 3);
	report_queue_free(report_queue);
}

Test(report_queue, drops_verifications_that_it_cannot_report)
{
	uint64_t n = 0;

	begin(false, -ENOSPC);
	while (add(n) == 0)
		n++;
	add(1);
	report_queue_free(report_queue);
	cr_assert_eq(n_verifications, 0);
}

Test(report_queue, holds_nobody_up, .timeout = 60)
{
	char bytes[100] = { 0 };

	begin(true, 0);
	for (uint64_t i = 0; i < sizeof(bytes); i++)
		cr_assert_eq(add(i), 0);
	cr_assert_eq(report_queue_size(report_queue), sizeof(bytes));
	cr_assert_eq(write(noted.gate[1], bytes, sizeof(bytes)), sizeof(bytes));
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert_eq(noted.n, sizeof(bytes));
	report_queue_free(report_queue);
}

static size_t n_finished, n_freed;

static int finish_labels(struct label_finisher *finisher, const struct label_set *labels,
			 struct label_set **ret)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };

	*ret = NULL;
	n_finished++;
	if (!label_set_has(labels, "key", "raw"))
		return 0;
	cr_assert_eq(label_list_add(&list, &(struct label){ .key = "key", .text = "finished" }), 0);
	return label_set_new(&list, ret);
}

static void free_finisher(struct label_finisher *finisher)
{
	n_freed++;
}

static int labelled_add(struct report *report, const struct sample *sample,
			const struct totals *totals)
{
	noted.n += label_set_has(sample->labels, "key", "finished");
	noted.times += label_set_has(sample->labels, "key", "other");
	return 0;
}

static void add_labelled(const char *text)
{
	_cleanup_(label_list_done) struct label_list list = { 0 };
	_cleanup_(label_set_freep) struct label_set *labels = NULL;
	struct sample sample = { 0 };

	if (text) {
		cr_assert_eq(label_list_add(&list, &(struct label){ .key = "key", .text = text }),
			     0);
		cr_assert_eq(label_set_new(&list, &labels), 0);
	}
	sample.labels = labels;
	cr_assert_eq(report_queue_add(report_queue, &sample, &(struct totals){ 0 }), 0);
}

Test(report_queue, finishes_labels)
{
	struct label_finisher finisher = { finish_labels, free_finisher };

	begin(false, 0);
	noted.report.add = labelled_add;
	report_queue_set_finisher(report_queue, &finisher);
	add_labelled("raw");
	add_labelled("other");
	add_labelled(NULL);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert(noted.n == 1 && noted.times == 1);
	cr_assert(n_finished == 2 && n_freed == 0);
	report_queue_free(report_queue);
	cr_assert_eq(n_freed, 1);
}

Test(report_queue, tells_that_a_report_has_failed)
{
	int err = 0;

	begin(false, -ENOSPC);
	while (err == 0)
		err = add(0);
	cr_assert_eq(err, -ENOSPC);
	cr_assert_eq(report_queue_finish(report_queue), -ENOSPC);
	cr_assert_eq(noted.n, 1, "and is asked no more");
	report_queue_free(report_queue);
}

Test(report_queue, closes_a_module_after_its_samples)
{
	struct module *module = module_new(some_names(), "/bin/x", "", dup(0));
	char byte = 0;

	begin(true, 0);
	noted.module = module;
	cr_assert_eq(add(0), 0);
	cr_assert_eq(report_queue_close_module(report_queue, module), 0);
	cr_assert_eq(write(noted.gate[1], &byte, 1), 1);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert(noted.found_open && module->fd == -1);
	report_queue_free(report_queue);
	module_free(module);
}

/* Reads names in the place of another process: all are `name`. */
struct counted {
	size_t n_requests, n_addresses;
	bool with_lines;
};

static int find_counted(void *arg, struct module *module, const uint64_t *addresses, size_t n,
			bool lines)
{
	static const struct source_location location = { .function = "name" };
	struct counted *counted = arg;

	counted->n_requests++;
	counted->n_addresses += n;
	counted->with_lines = lines;
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(location_cache_add_shown(&module->locations, addresses[i], lines,
						      false, &location, 1),
			     0);
	return 0;
}

static void forget_nothing(void *arg, struct module *module)
{
}

static void free_nothing(void *arg)
{
}

static const struct name_reader counted_reader = { .find = find_counted,
						   .forget = forget_nothing,
						   .free = free_nothing };

/* A profile with lines, beside a report that does not look names up, and waits. */
Test(report_queue, asks_for_names_of_waiting_samples_at_once)
{
	enum { N = 100, DEPTH = 20, COMMON = 15 };
	struct names *names = names_with((struct names_options){ 0 });
	struct module *module = module_new(names, "/bin/x", "", dup(0));
	struct report_context context = { .names = names, .symbols = true };
	struct counted counted = { 0 };
	struct report *both[2] = { &noted.report };
	_cleanup_fclose_ FILE *to = fopen("/dev/null", "we");
	char bytes[N] = { 0 };

	names_set_reader(names, &counted_reader, &counted);
	begin(true, 0);
	report_queue_free(report_queue);
	cr_assert_eq(report_new(report_format_by_name("pprof"), &context, to, &both[1]), 0);
	cr_assert_eq(report_queue_new(both, 2, names, false, &report_queue), 0);
	for (uint64_t i = 0; i < N; i++) {
		struct frame frames[DEPTH];

		for (uint64_t k = 0; k < DEPTH; k++)
			frames[k] = (struct frame){ .module = module,
						    .offset = k < COMMON ? k : k + i * DEPTH };
		cr_assert_eq(report_queue_add(report_queue,
					      &(struct sample){ .time_ns = i,
								.weight = 1,
								.user = frames,
								.n_user = DEPTH },
					      &(struct totals){ .lost = i }),
			     0);
	}
	cr_assert_eq(write(noted.gate[1], bytes, N), N);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert_eq(report_finish(both[1], &(struct totals){ 0 }), 0);
	report_queue_free(report_queue);
	report_free(both[1]);
	/* The first sample may have been alone. */
	cr_assert_leq(counted.n_requests, 2);
	cr_assert_eq(counted.n_addresses, COMMON + N * (DEPTH - COMMON));
	cr_assert(counted.with_lines);
	module_free(module);
	names_set_reader(names, NULL, NULL);
	names_free(names);
}

/* A time instead of the clock's. */
#define NOW UINT64_C(1000)

static void note_oldest(void *object)
{
	*(uint64_t *)object = report_queue_oldest_ns(report_queue);
}

struct taken {
	struct noted *report;
	struct totals totals;
	int err;
};

static int on_taken(void *arg, struct report *report, const struct totals *totals)
{
	struct taken *taken = arg;

	taken->report = (struct noted *)report;
	taken->totals = *totals;
	return taken->err;
}

static int counted_add(struct report *report, const struct sample *sample,
		       const struct totals *totals)
{
	struct noted *counted = (struct noted *)report;

	cr_assert_eq(totals->samples, ++counted->n, "what was counted in its own time");
	return 0;
}

static void add_counted(size_t n)
{
	static struct totals totals;

	for (size_t i = 0; i < n; i++) {
		totals.samples++;
		cr_assert_eq(report_queue_add(report_queue, &(struct sample){ .weight = 1 },
					      &totals),
			     0);
	}
}

/* One of two reports is taken again and again: its parts together have what the other one has. */
Test(report_queue, takes_a_report)
{
	struct noted whole = { .report.add = counted_add }, parts[3];
	struct report *both[] = { &whole.report, &parts[0].report };
	struct taken taken[2] = { 0 };
	struct totals totals = { .samples = 10 };

	for (int i = 0; i < 3; i++)
		parts[i] = whole;
	cr_assert_eq(report_queue_new(both, 2, some_names(), false, &report_queue), 0);
	add_counted(10);
	cr_assert_eq(report_queue_take(report_queue, 1, &parts[1].report, &totals, NOW, on_taken,
				       &taken[0]),
		     0);
	add_counted(5);
	totals.samples = 15;
	cr_assert_eq(report_queue_take(report_queue, 1, &parts[2].report, &totals, NOW, on_taken,
				       &taken[1]),
		     0);
	add_counted(1);
	cr_assert_eq(report_queue_take(report_queue, 2, &parts[0].report, &totals, NOW, on_taken,
				       NULL),
		     -EINVAL);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert(taken[0].report == &parts[0] && taken[0].totals.samples == 10);
	cr_assert(taken[1].report == &parts[1] && taken[1].totals.samples == 5);
	cr_assert(parts[0].n == 10 && parts[1].n == 5 && parts[2].n == 1 && whole.n == 16);
	totals.samples = 16;
	cr_assert_eq(report_queue_totals(report_queue, 0, &totals).samples, 16);
	cr_assert_eq(report_queue_totals(report_queue, 1, &totals).samples, 1);
	report_queue_free(report_queue);
}

/* What reports refer to is in use until the last of them is gone. */
Test(report_queue, tells_which_reports_are_gone)
{
	struct noted parts[4];
	struct report *both[] = { &parts[0].report, &parts[1].report };
	struct totals totals = { 0 };
	struct taken taken = { 0 };
	uint64_t seen = 7;

	for (int i = 0; i < 4; i++)
		parts[i] = (struct noted){ .report.add = counted_add };
	cr_assert_eq(report_queue_new(both, 2, some_names(), false, &report_queue), 0);
	cr_assert_eq(report_queue_take(report_queue, 0, &parts[2].report, &totals, NOW, on_taken,
				       &taken),
		     0);
	cr_assert_eq(report_queue_call(report_queue, note_oldest, &seen), 0);
	cr_assert_eq(report_queue_take(report_queue, 1, &parts[3].report, &totals, NOW + 5,
				       on_taken, &taken),
		     0);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert_eq(seen, 0, "the other one was still there");
	cr_assert_eq(report_queue_oldest_ns(report_queue), NOW);
	report_queue_free(report_queue);
}

/* Streaming reports keep nothing of a sample, others nothing of a past interval. */
Test(report_queue, tells_what_reports_forget)
{
	struct noted streams = { .report = { .streams = true, .add = counted_add } };
	struct noted forgets = { .report = { .forgets = true, .add = counted_add } };
	struct report *both[] = { &streams.report, &forgets.report };
	struct totals totals = { 0 };
	uint64_t seen = 7;

	cr_assert_eq(report_queue_new(both, 1, some_names(), false, &report_queue), 0);
	cr_assert_eq(report_queue_oldest_ns(report_queue), UINT64_MAX);
	report_queue_free(report_queue);
	cr_assert_eq(report_queue_new(both, 2, some_names(), false, &report_queue), 0);
	cr_assert_eq(report_queue_oldest_ns(report_queue), 0);
	cr_assert_eq(report_queue_tick(report_queue, &totals, NOW), 0);
	cr_assert_eq(report_queue_call(report_queue, note_oldest, &seen), 0);
	cr_assert_eq(report_queue_tick(report_queue, &totals, NOW + 5), 0);
	cr_assert_eq(report_queue_finish(report_queue), 0);
	cr_assert_eq(seen, NOW);
	cr_assert_eq(report_queue_oldest_ns(report_queue), NOW + 5);
	report_queue_free(report_queue);
}

/* What a call has to free is freed, whatever happens. */
Test(report_queue, calls_also_when_a_report_has_failed)
{
	uint64_t seen[2] = { 7, 7 };

	begin(true, -ENOSPC);
	cr_assert_eq(add(0), 0);
	cr_assert_eq(report_queue_call(report_queue, note_oldest, &seen[0]), 0);
	cr_assert_eq(write(noted.gate[1], "", 1), 1);
	cr_assert_eq(report_queue_finish(report_queue), -ENOSPC);
	cr_assert_eq(seen[0], 0);
	report_queue_free(report_queue);
	begin(true, 0);
	cr_assert_eq(add(0), 0);
	cr_assert_eq(report_queue_call(report_queue, note_oldest, &seen[1]), 0);
	close(noted.gate[1]); /* the sample goes on, and the call is dropped or made */
	report_queue_free(report_queue);
	cr_assert_eq(seen[1], 0);
}

Test(report_queue, fails_with_what_was_taken)
{
	struct noted part = { .report.add = counted_add };
	struct taken taken = { .err = -ENOSPC };
	struct totals totals = { 0 };

	begin(false, 0);
	cr_assert_eq(report_queue_take(report_queue, 0, &part.report, &totals, NOW, on_taken,
				       &taken),
		     0);
	cr_assert_eq(report_queue_finish(report_queue), -ENOSPC);
	report_queue_free(report_queue);
}

static atomic_bool freed;

/* Lets some of them through, one by one, while the main thread waits for the end. */
static void *open_gate_slowly(void *arg)
{
	char byte = 0;

	while (!atomic_load(&freed)) {
		usleep(1000);
		cr_assert_eq(write(noted.gate[1], &byte, 1), 1);
	}
	return NULL;
}

Test(report_queue, drops_what_nobody_wants, .timeout = 60)
{
	enum { MANY = 100000 };
	pthread_t thread;

	begin(true, 0);
	for (uint64_t i = 0; i < MANY; i++)
		cr_assert_eq(add(i), 0);
	cr_assert_eq(pthread_create(&thread, NULL, open_gate_slowly, NULL), 0);
	cr_assert_null(report_queue_free(report_queue));
	atomic_store(&freed, true);
	cr_assert_lt(noted.n, MANY);
	pthread_join(thread, NULL);
}
