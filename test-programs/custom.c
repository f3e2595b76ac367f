// SPDX-License-Identifier: Apache-2.0
/*
 * usage: custom SECONDS LOG
 *
 * Once there is a line on stdin, two threads work on one numbered thing after the other, and on none. They
 * publish labels that tell which, as Polar Signals' "Custom Label ABI" says: the first one another set each
 * time, the second one by changing its set. LOG gets what each thread does when: TID, time, and the number;
 * 0: none, -1: it is just changing.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "changes.h"
#include "custom.h"

#define MAX_LABELS 8
#define LONG_SIZE 300
#define N_SETS 4

struct thread {
	pthread_t thread;
	pid_t tid;
	bool is_fixed;
	uint32_t random;
	struct labels {
		struct custom_label of[MAX_LABELS];
		size_t n;
		char texts[2][32];
		struct custom_set set;
	} labels[N_SETS];
	unsigned int next;
	struct changes changes;
};

static char long_text[LONG_SIZE + 1];
static atomic_bool ends;
static volatile uint64_t sum;

static struct custom_text text(const char *bytes)
{
	return (struct custom_text){ strlen(bytes), bytes };
}

static void add(struct labels *l, const char *key, const char *value)
{
	l->of[l->n++] = (struct custom_label){ text(key), text(value) };
}

/* Those with an odd number have what is to be ignored: a label without a key, and a second one of a key. */
static void fill(struct labels *l, long number)
{
	l->n = 0;
	snprintf(l->texts[0], sizeof(l->texts[0]), "%ld", number);
	snprintf(l->texts[1], sizeof(l->texts[1]), "/r/%ld", number);
	if (number == 0)
		return;
	if (number % 2 == 1) {
		add(l, "none", "wrong");
		l->of[0].key.bytes = NULL;
	}
	if (number % 3 == 0)
		add(l, "route", l->texts[1]);
	add(l, "number", l->texts[0]);
	if (number % 5 == 0)
		add(l, "empty", "");
	if (number % 7 == 0)
		add(l, "long", long_text);
	if (number % 2 == 1)
		add(l, "number", "wrong");
}

static void begin_another(struct thread *t, long number)
{
	struct labels *l = &t->labels[t->next++ % N_SETS];

	fill(l, number);
	l->set.labels = l->of;
	l->set.n = l->n;
	custom_publish(number ? &l->set : NULL);
}

/* Labels are deleted and added one after the other. */
static void begin_same(struct thread *t, struct custom_set *set, long number)
{
	struct labels *l = &t->labels[1];

	while (set->n > 0)
		set->n--;
	fill(l, number);
	for (size_t i = 0; i < l->n; i++) {
		set->labels[i] = l->of[i];
		atomic_signal_fence(memory_order_seq_cst);
		set->n++;
	}
}

static void work(struct thread *t)
{
	for (uint32_t i = 0, n = 10000 + next_random(&t->random) % 100000; i < n; i++)
		sum += i;
	if (next_random(&t->random) % 16 == 0)
		usleep(300);
}

static void *run(void *arg)
{
	struct thread *t = arg;
	struct custom_set *set = NULL;

	t->tid = gettid();
	if (t->is_fixed) {
		t->labels[0].set.labels = t->labels[0].of;
		set = custom_begin(&t->labels[0].set);
	}
	while (!ends) {
		long number = next_random(&t->random) % 8 == 0 ? 0 : 1 + next_random(&t->random);

		changes_note(&t->changes, -1);
		if (set)
			begin_same(t, set, number);
		else
			begin_another(t, number);
		changes_note(&t->changes, number);
		work(t);
	}
	changes_note(&t->changes, -1);
	return NULL;
}

int main(int argc, char **argv)
{
	FILE *log = argc == 3 ? fopen(argv[2], "w") : NULL;
	static struct thread threads[2] = { { .random = 1 }, { .is_fixed = true, .random = 7 } };

	if (!log) {
		fputs("usage: custom SECONDS LOG\n", stderr);
		return 2;
	}
	memset(long_text, 'x', LONG_SIZE);
	if (getchar() == EOF)
		_exit(1);
	for (int i = 0; i < 2; i++)
		if (!changes_init(&threads[i].changes) ||
		    pthread_create(&threads[i].thread, NULL, run, &threads[i]) != 0)
			return 1;
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
