// SPDX-License-Identifier: Apache-2.0
#include "process/hotspot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "binaries/binary.h"
#include "kernel/exception_probes.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/process_table.h"
#include "runtimes/hotspot/chunk.h"
#include "runtimes/hotspot/classes.h"
#include "sandbox/process_memory.h"

/* A JVM starts in a tenth of a second. One that does not is looked at ever more rarely. */
#define FIRST_PAUSE_NS UINT64_C(5000000)
#define LAST_PAUSE_NS UINT64_C(2000000000)
/* Its classes are loaded a little later than its code is there; so many looks, at most, wait for them. */
#define CLASSES_LOOKS 5
/* So many that cannot be read are warned of. */
#define HOTSPOT_SHOWN_UNKNOWN 10
/* How long a JVM that runs is waited for: who reads it has to be started. */
#define SETTLE_NS UINT64_C(300000000)

struct hotspot {
	struct vm_structs tables;
	uint64_t bias; /* of its library */
	struct hotspot_layout layout;
	bool has_layout;
	int err; /* 0: `code` is known; -EAGAIN: not yet */
	struct dp_hotspot code;
	unsigned int n_waited; /* looks that had all but classes */
	uint64_t next, pause;  /* when to look again, and after that */
};

void hotspot_meet(struct process *p, const struct mapping *m)
{
	const struct vm_structs *tables = &m->binary->elf.vm;

	if (!vm_structs_exist(tables) && !tables->is_jvm)
		return;
	/* Other libraries of a JVM can start one, too: GraalVM's compiler is such a library. */
	if (p->hotspot && (p->hotspot->bias == m->bias || !vm_structs_exist(tables)))
		return;
	hotspot_free(p->hotspot);
	p->hotspot = calloc(1, sizeof(*p->hotspot));
	if (!p->hotspot)
		return;
	p->hotspot->tables = *tables;
	p->hotspot->bias = m->bias;
	p->hotspot->err = -EAGAIN;
	p->hotspot->pause = FIRST_PAUSE_NS;
	process_set_due(p);
}

struct hotspot *hotspot_copy(const struct hotspot *h)
{
	struct hotspot *copy = h ? malloc(sizeof(*copy)) : NULL;

	if (copy)
		*copy = *h;
	return copy;
}

bool hotspot_is_starting(const struct hotspot *h)
{
	return h && h->err == -EAGAIN;
}

struct hotspot *hotspot_free(struct hotspot *h)
{
	free(h);
	return NULL;
}

/* The types of exceptions, if these are sampled, are `<unknown>` without. */
static void look_at_classes(struct hotspot *h, const struct process_table *table,
			    struct process_memory *memory)
{
	const struct exception_probes *exceptions =
		table->binaries ? table->binaries->exceptions : NULL;
	struct hotspot_flags flags;
	int err;

	if (!exceptions || exception_probes_are_allocs(exceptions))
		return;
	/* It may have started since. */
	process_memory_forget(memory);
	err = hotspot_flags_read(&h->layout, &h->tables, h->bias, process_memory_read, memory,
				 &flags);
	if (err == 0)
		err = hotspot_classes_read(&h->layout, &flags, process_memory_read, memory,
					   &h->code);
	if (err < 0)
		log_debug("process %d: the classes of its JVM are not known: %s", memory->pid,
			  strerror(-err));
}

static int look(struct hotspot *h, const struct process_table *table, struct process_memory *memory)
{
	int err = vm_structs_exist(&h->tables) ? 0 : -ENOTSUP;

	if (err == 0 && !h->has_layout)
		err = hotspot_layout_read(&h->layout, &h->tables, h->bias, process_memory_read,
					  memory);
	if (err < 0)
		return err;
	h->has_layout = true;
	err = hotspot_code_read(&h->layout, process_memory_read, memory, &h->code);
	if (err == 0)
		look_at_classes(h, table, memory);
	if (err == 0 && h->n_waited < CLASSES_LOOKS &&
	    hotspot_chunk_read(&h->layout, process_memory_read, memory, &h->code) == -EAGAIN) {
		h->n_waited++;
		return -EAGAIN;
	}
	return err;
}

/* Anyone can forge many of them. */
static void note_unknown(struct process_table *table, pid_t pid)
{
	bool is_shown = table->n_unknown_jvms++ < HOTSPOT_SHOWN_UNKNOWN;

	log_message(is_shown ? LOG_WARNING : LOG_DEBUG,
		    "process %d: its JVM is of an unknown kind: stacks may end in its code", pid);
}

void hotspot_tell_unknown(const struct process_table *table)
{
	if (table->n_unknown_jvms > HOTSPOT_SHOWN_UNKNOWN && !log_enabled(LOG_DEBUG))
		log_warning("%zu more JVMs are of an unknown kind (-v names their processes)",
			    table->n_unknown_jvms - HOTSPOT_SHOWN_UNKNOWN);
}

void hotspot_update(struct process_table *table, struct process *p, uint64_t now)
{
	_cleanup_free_ struct process_memory *memory = NULL;
	struct hotspot *h = p->hotspot;

	if (!h || h->err != -EAGAIN || now < h->next)
		return;
	memory = malloc(sizeof(*memory));
	if (!memory)
		return;
	process_memory_init(memory, table->fetchers, p->thread);
	h->err = look(h, table, memory);
	h->next = now + h->pause;
	h->pause = 2 * h->pause < LAST_PAUSE_NS ? 2 * h->pause : LAST_PAUSE_NS;
	if (h->err == 0) {
		process_change(p);
		log_debug("process %d: its JVM's code is known", p->pid);
	} else if (h->err != -EAGAIN) {
		note_unknown(table, p->pid);
	}
}

/* True if a process's JVM has not been read at all. */
static bool look_at_all(struct process_table *table)
{
	uint64_t now = clock_now_ns();
	struct process *p, *next;
	bool is_unread = false;

	HASH_ITER(hh, table->processes, p, next) {
		hotspot_update(table, p, now);
		is_unread |= p->hotspot && p->hotspot->err == -EAGAIN && !p->hotspot->has_layout;
	}
	return is_unread;
}

void hotspot_settle(struct process_table *table)
{
	const struct timespec pause = { .tv_nsec = FIRST_PAUSE_NS };
	uint64_t until = clock_now_ns() + SETTLE_NS;

	while (look_at_all(table) && clock_now_ns() < until)
		nanosleep(&pause, NULL);
}

const struct dp_hotspot *hotspot_code(const struct hotspot *h)
{
	return h && h->err == 0 ? &h->code : NULL;
}

const struct hotspot_layout *hotspot_layout(const struct hotspot *h)
{
	return h && h->err == 0 ? &h->layout : NULL;
}
