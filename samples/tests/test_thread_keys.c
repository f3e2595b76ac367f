// SPDX-License-Identifier: Apache-2.0
/* Names of attributes' keys: asked for once, and again after a while; another thread reads them. */
#include "samples/thread_keys.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "limits/limits.h"
#include "process/context_reader.h"

#define SECOND UINT64_C(1000000000)
#define PLACE 0x400000

static struct thread_keys *keys;
static sem_t has_begun, may_read, has_read;
static unsigned int n_reads, n_parsed;
/* What the process publishes; NULL: nothing. */
static const char *published[3];
static uint64_t published_ns = 1;
static pid_t first_pid; /* that was read */
static bool has_all_keys;

int __wrap_context_reader_read(struct list_fetchers *lists, struct fetchers *fetchers,
			       struct parsers *parsers, pid_t pid, uint64_t *known_ns,
			       struct process_context **ret);

int __wrap_context_reader_read(struct list_fetchers *lists, struct fetchers *fetchers,
			       struct parsers *parsers, pid_t pid, uint64_t *known_ns,
			       struct process_context **ret)
{
	struct process_context *c = NULL;

	sem_post(&has_begun);
	sem_wait(&may_read);
	if (published[0] && *known_ns != published_ns) {
		c = calloc(1, sizeof(*c));
		strcpy(c->service_name, "shop");
		for (; c->n_keys < 3 && published[c->n_keys]; c->n_keys++)
			strcpy(c->keys[c->n_keys], published[c->n_keys]);
		for (; has_all_keys && c->n_keys < PROCESS_CONTEXT_MAX_KEYS; c->n_keys++)
			strcpy(c->keys[c->n_keys], "key");
		*known_ns = published_ns;
		n_parsed++;
	}
	*ret = c;
	if (n_reads++ == 0)
		first_pid = pid;
	sem_post(&has_read);
	return c ? 0 : published[0] ? -EALREADY : -ENODATA;
}

static void begin(void)
{
	sem_init(&has_begun, 0, 0);
	sem_init(&may_read, 0, 0);
	sem_init(&has_read, 0, 0);
	cr_assert_eq(thread_keys_new(NULL, false, &keys), 0);
}

static void end(void)
{
	sem_post(&may_read);
	keys = thread_keys_free(keys);
	cr_assert_null(keys);
}

TestSuite(thread_keys, .init = begin, .fini = end, .timeout = 60);

static struct program_place at(uint64_t start)
{
	return (struct program_place){ start, 1 };
}

static int find(uint64_t place, uint8_t number, uint64_t now, const char *wanted)
{
	const char *name;
	int err = thread_keys_find(keys, 7, at(place), number, now, &name);

	cr_assert_eq(err == 0, name != NULL);
	if (wanted)
		cr_assert_str_eq(name, wanted);
	return err;
}

/* Until what was asked for is there. */
static void read_once(uint64_t place, uint8_t number, uint64_t now, int until)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	sem_post(&may_read);
	while (find(place, number, now, NULL) != until)
		nanosleep(&pause, NULL);
}

Test(thread_keys, are_not_known_at_first)
{
	published[0] = "route";
	cr_assert_eq(find(PLACE, 0, 1, NULL), -EAGAIN);
	cr_assert_eq(find(PLACE, 0, 2, NULL), -EAGAIN);
	cr_assert_eq(n_reads, 0);
	read_once(PLACE, 0, 3, 0);
	cr_assert_eq(find(PLACE, 0, 4, "route"), 0);
	cr_assert_eq(n_reads, 1, "asked for once");
}

Test(thread_keys, become_more)
{
	published[0] = "route";
	find(PLACE, 0, 1, NULL);
	read_once(PLACE, 0, 2, 0);
	cr_assert_eq(find(PLACE, 1, 3, NULL), -ENOENT);
	published[1] = "user";
	published_ns++;
	/* It is time to look again: until then, what is known stays so. */
	cr_assert_eq(find(PLACE, 1, 2 * SECOND, NULL), -EAGAIN);
	cr_assert_eq(find(PLACE, 0, 2 * SECOND, "route"), 0);
	read_once(PLACE, 1, 2 * SECOND, 0);
	cr_assert_eq(find(PLACE, 1, 2 * SECOND, "user"), 0);
	cr_assert_eq(n_reads, 2);
	/* The pause has doubled. */
	cr_assert_eq(find(PLACE, 2, 3 * SECOND, NULL), -ENOENT);
	cr_assert_eq(find(PLACE, 2, 4 * SECOND + 1, NULL), -EAGAIN);
	read_once(PLACE, 2, 4 * SECOND + 1, -ENOENT);
	cr_assert_eq(find(PLACE, 1, 4 * SECOND + 1, "user"), 0, "nothing is new");
	cr_assert(n_reads == 3 && n_parsed == 2);
}

Test(thread_keys, are_asked_for_soon_if_one_is_not_known)
{
	uint64_t now = 1;

	published[0] = "route";
	find(PLACE, 0, now, NULL);
	read_once(PLACE, 0, now, 0);
	for (uint64_t rest = SECOND; rest <= 8 * SECOND; rest *= 2) {
		now += rest;
		read_once(PLACE, 1, now, -ENOENT);
	}
	cr_assert_eq(n_reads, 5);
	cr_assert_eq(find(PLACE, 1, now + 4 * SECOND, NULL), -ENOENT);
	now += 6 * SECOND;
	cr_assert_eq(find(PLACE, 0, now, "route"), 0);
	cr_assert_eq(find(PLACE, 2, now, NULL), -EAGAIN);
	read_once(PLACE, 2, now, -ENOENT);
	cr_assert_eq(n_reads, 6);
}

/* One is too long. It is not as if there were none. */
Test(thread_keys, need_not_have_names)
{
	published[0] = "route";
	published[1] = "";
	find(PLACE, 0, 1, NULL);
	read_once(PLACE, 0, 1, 0);
	cr_assert_eq(find(PLACE, 1, 1, NULL), -EAGAIN);
	cr_assert_eq(find(PLACE, 2, 1, NULL), -ENOENT);
}

/* As many as there are. */
Test(thread_keys, take_bounded_memory)
{
	const uint64_t n = 600;

	published[0] = "route";
	has_all_keys = true;
	for (uint64_t place = 1; place <= n; place++) {
		find(place, 255, 1, NULL);
		read_once(place, 255, 1, 0);
	}
	cr_assert_eq(find(n, 255, 1, "key"), 0);
	cr_assert_eq(find(1, 255, 1, NULL), -EAGAIN);
}

Test(thread_keys, keep_what_cannot_be_read_again)
{
	published[0] = "route";
	find(PLACE, 0, 1, NULL);
	read_once(PLACE, 0, 1, 0);
	published[0] = NULL;
	cr_assert_eq(find(PLACE, 1, 2 * SECOND, NULL), -EAGAIN);
	read_once(PLACE, 1, 2 * SECOND, -ENOENT);
	cr_assert_eq(find(PLACE, 0, 2 * SECOND, "route"), 0);
}

Test(thread_keys, tell_of_the_process)
{
	published[0] = "route";
	cr_assert_null(thread_keys_process(keys, 7, at(PLACE), 1));
	read_once(PLACE, 0, 1, 0);
	cr_assert_str_eq(thread_keys_process(keys, 7, at(PLACE), 1)->service_name, "shop");
	cr_assert_null(thread_keys_process(NULL, 7, at(PLACE), 1));
}

/* Many programs end before their second sample. */
Test(thread_keys, are_not_asked_for_at_the_first_sample)
{
	published[0] = "route";
	sem_post(&may_read);
	cr_assert_null(thread_keys_process(keys, 8, at(PLACE), 1));
	cr_assert_null(thread_keys_process(keys, 7, at(2 * PLACE), 1));
	cr_assert_null(thread_keys_process(keys, 7, at(PLACE), 1));
	cr_assert_null(thread_keys_process(keys, 7, at(PLACE), 2));
	sem_wait(&has_read);
	cr_assert_eq(first_pid, 7, "the others were asked for before");
}

/* A process may execute another program. */
Test(thread_keys, are_those_of_a_program)
{
	published[0] = "route";
	find(PLACE, 0, 1, NULL);
	read_once(PLACE, 0, 1, 0);
	published[0] = "path";
	cr_assert_eq(find(2 * PLACE, 0, 1, NULL), -EAGAIN);
	read_once(2 * PLACE, 0, 1, 0);
	cr_assert_eq(find(2 * PLACE, 0, 1, "path"), 0);
	cr_assert_eq(find(PLACE, 0, 1, "route"), 0);
}

/* It may begin where the one before did. */
Test(thread_keys, are_those_of_a_binary)
{
	const struct program_place other = { PLACE, 2 };
	const char *name;

	published[0] = "route";
	find(PLACE, 0, 1, NULL);
	read_once(PLACE, 0, 1, 0);
	cr_assert_eq(thread_keys_find(keys, 7, other, 0, 1, &name), -EAGAIN);
}

Test(thread_keys, are_not_known_of_one_that_publishes_none)
{
	find(PLACE, 0, 1, NULL);
	sem_post(&may_read);
	sem_wait(&has_read);
	cr_assert_eq(find(PLACE, 0, 1, NULL), -EAGAIN);
}

/* Nobody waits for one that is not read. */
Test(thread_keys, end_while_some_wait)
{
	for (uint64_t place = 1; place < 200; place++)
		cr_assert_eq(find(place, 0, 1, NULL), -EAGAIN);
	for (int i = 0; i < 200; i++)
		sem_post(&may_read);
}

Test(thread_keys, need_not_be_there)
{
	const char *name;

	cr_assert_eq(thread_keys_find(NULL, 7, at(PLACE), 0, 1, &name), -EAGAIN);
	cr_assert_null(name);
}

/* What it uses is freed when it ends. */
Test(thread_keys, need_not_wait_for_one_that_hangs)
{
	find(PLACE, 0, 1, NULL);
	sem_wait(&has_begun);
	keys = thread_keys_free(keys);
	cr_assert_null(keys);
	sem_post(&may_read);
	sem_wait(&has_read);
}
