// SPDX-License-Identifier: Apache-2.0
/*
 * usage: traces SECONDS LOG [LIBRARY]
 *
 * Once there is a line on stdin, two threads work on one span after the other, and on none. They publish
 * which, as OpenTelemetry's OTEP 4947 says: the first one by a pointer to another record each time, the
 * second one in a single record that is not valid meanwhile. The variable is in the program, or in
 * LIBRARY, which is opened at run time. LOG gets what each thread does when: TID, time, and the number
 * of the span; 0: none, -1: it is just changing.
 *
 * With TRACES_KEYS in the environment, the process publishes how attributes are called (OTEP 4719).
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "changes.h"
#include "traces.h"

#define APART __attribute__((noinline))
#define N_RECORDS 4

struct thread {
	pthread_t thread;
	pid_t tid;
	bool is_fixed;
	uint32_t random;
	struct trace records[N_RECORDS];
	unsigned int record;
	struct changes changes;
};

static void (*publish)(struct trace *trace);
static atomic_bool ends;
static volatile uint64_t sum;

static void put_number(uint8_t to[8], uint64_t number)
{
	for (int i = 0; i < 8; i++)
		to[i] = (uint8_t)(number >> (56 - 8 * i));
}

/* Spans with an odd number have an attribute. */
static void fill(struct trace *trace, long number)
{
	memset(trace->trace_id, number ? 0x11 : 0, sizeof(trace->trace_id));
	put_number(trace->trace_id + 8, (uint64_t)number);
	put_number(trace->span_id, (uint64_t)number);
	trace->attributes_size = 0;
	if (number % 2 == 0)
		return;
	trace->attributes[0] = 0;
	trace->attributes[1] = (uint8_t)snprintf((char *)trace->attributes + 2,
						 sizeof(trace->attributes) - 2, "/r/%ld", number);
	trace->attributes_size = (uint16_t)(2 + trace->attributes[1]);
}

static void begin_another(struct thread *t, long number)
{
	struct trace *next = &t->records[t->record++ % N_RECORDS];

	if (number == 0) {
		publish(NULL);
		return;
	}
	fill(next, number);
	next->valid = 1;
	publish(next);
}

/* Without a span, the record says so or is not valid. */
static void begin_same(struct thread *t, long number)
{
	struct trace *trace = &t->records[0];

	trace->valid = 0;
	atomic_signal_fence(memory_order_seq_cst);
	fill(trace, number);
	atomic_signal_fence(memory_order_seq_cst);
	trace->valid = number != 0 || next_random(&t->random) % 2 != 0;
}

APART void nap(void);

APART void nap(void)
{
	usleep(300);
	sum++;
}

static void work(struct thread *t)
{
	for (uint32_t i = 0, n = 10000 + next_random(&t->random) % 100000; i < n; i++)
		sum += i;
	if (next_random(&t->random) % 16 == 0)
		nap();
}

static void *run(void *arg)
{
	struct thread *t = arg;

	t->tid = gettid();
	if (t->is_fixed)
		publish(&t->records[0]);
	while (!ends) {
		long number = next_random(&t->random) % 8 == 0 ? 0 : 1 + next_random(&t->random);

		changes_note(&t->changes, -1);
		if (t->is_fixed)
			begin_same(t, number);
		else
			begin_another(t, number);
		changes_note(&t->changes, number);
		work(t);
	}
	changes_note(&t->changes, -1);
	return NULL;
}

/* Appends a field of a protobuf message, shorter than 128 bytes; returns what it takes. */
static size_t put_field(uint8_t *to, unsigned int number, const void *bytes, size_t size)
{
	to[0] = (uint8_t)(number << 3 | 2);
	to[1] = (uint8_t)size;
	memcpy(to + 2, bytes, size);
	return 2 + size;
}

/* ProcessContext{attributes: [KeyValue{key, AnyValue{array_value: {values: ["route"]}}}]} */
static size_t put_payload(uint8_t to[128])
{
	static const char key[] = "threadlocal.attribute_key_map", route[] = "route";
	uint8_t a[128], b[128];
	size_t n = put_field(a, 1, route, strlen(route));

	n = put_field(b, 1, a, n);
	n = put_field(a, 5, b, n);
	n = put_field(b, 2, a, n);
	memcpy(a + put_field(a, 1, key, strlen(key)), b, n);
	return put_field(to, 2, a, 2 + strlen(key) + n);
}

static bool publish_keys(void)
{
	struct header {
		char signature[8];
		uint32_t version, size;
		uint64_t published_ns;
		uint8_t *payload;
	} * header;
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct timespec now;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return false;
	header = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	if (header == MAP_FAILED || madvise(header, 4096, MADV_DONTFORK) < 0)
		return false;
	clock_gettime(CLOCK_BOOTTIME, &now);
	header->version = 2;
	header->payload = (uint8_t *)(header + 1);
	header->size = (uint32_t)put_payload(header->payload);
	header->published_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	atomic_thread_fence(memory_order_seq_cst);
	memcpy(header->signature, "OTEL_CTX", sizeof(header->signature));
	return true;
}

static bool find_publish(const char *library)
{
#ifdef AT_RUN_TIME
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle) {
		fprintf(stderr, "traces: %s\n", dlerror());
		return false;
	}
	publish = (void (*)(struct trace *))(uintptr_t)dlsym(handle, "traces_publish");
#else
	if (library)
		return false;
	publish = traces_publish;
#endif
	return publish != NULL;
}

int main(int argc, char **argv)
{
	FILE *log = argc >= 3 ? fopen(argv[2], "w") : NULL;
	struct thread threads[2] = { { .random = 1 }, { .is_fixed = true, .random = 7 } };

	if (!log || !find_publish(argv[3])) {
		fputs("usage: traces SECONDS LOG [LIBRARY]\n", stderr);
		return 2;
	}
	if (getenv("TRACES_KEYS") && !publish_keys())
		return 1;
	if (getchar() == EOF)
		_exit(1);
	for (int i = 0; i < 2; i++) {
		if (!changes_init(&threads[i].changes) ||
		    pthread_create(&threads[i].thread, NULL, run, &threads[i]) != 0)
			return 1;
	}
	sleep((unsigned int)atoi(argv[1]));
	ends = true;
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i].thread, NULL);
		changes_write(&threads[i].changes, threads[i].tid, log);
	}
	if (fclose(log) != 0)
		return 1;
	puts("done");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return 0;
}
