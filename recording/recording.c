// SPDX-License-Identifier: Apache-2.0
/*
 * Writes a recording: raw samples, with all that is needed to find names later. recording.h defines it,
 * recording_reader.c reads it. Records that are referred to are kept in encoded form, to know them again.
 */
#include "recording/recording.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/hash.h"
#include "limits/limits.h"
#include "recording/block_stream.h"
#include "recording/recording_context.h"
#include "recording/recording_labels.h"
#include "recording/recording_probes.h"
#include "report/bytes.h"
#include "report/report.h"
#include "report/span_times.h"
#include "symbols/kallsyms.h"

/* If the program is killed, samples of this age are in the file. */
#define FLUSH_NS UINT64_C(1000000000)

/* A record to which others refer by its number. */
struct interned {
	UT_hash_handle hh; /* by the bytes */
	uint64_t number;
	size_t size;
	uint8_t bytes[];
};

/* The number of a module, by its pointer, which may have been reused. */
struct known_module {
	UT_hash_handle hh;
	const struct module *module;
	uint64_t number;
	int64_t size;
	struct timespec written;
	size_t path_size;
	char texts[]; /* path and build id */
};

/* A module of a stack, and its bias. */
struct slot {
	const struct module *module;
	uint64_t bias; /* address in the process minus address in the module */
};

struct recording {
	struct report report;
	struct block_writer blocks;
	struct interned *interned[RECORDING_N_TAGS];
	struct known_module *modules;
	size_t memory; /* of these, approximately */
	struct slot *slots;
	size_t n_slots, slots_size;
	struct bytes record, part; /* being made */
	bool begun;
	uint64_t time_ns; /* of the last sample, and of the last one that was flushed */
	uint64_t flushed_ns;
	uint64_t lost, lost_ns; /* as last recorded */
	uint64_t n_samples;     /* recorded */
};

/* Two numbers of at most ten bytes. */
#define MAX_RECORD_HEAD 20

static int flush(struct recording *r)
{
	r->report.n_held = 0;
	return block_writer_flush(&r->blocks);
}

static int put_record(struct recording *r, enum recording_tag tag, const struct bytes *record)
{
	struct bytes *raw = &r->blocks.raw;

	if (record->failed)
		return -ENOMEM;
	/* A block is limited by its readers, and records do not continue in the next one. */
	if (raw->size + record->size + MAX_RECORD_HEAD > BLOCK_MAX) {
		int err = flush(r);

		if (err < 0)
			return err;
	}
	bytes_put_number(raw, tag);
	bytes_put_number(raw, record->size);
	bytes_put(raw, record->data, record->size);
	return raw->failed ? -ENOMEM : 0;
}

/* Returns the number of a record, and writes it if it is new. */
static int tell(struct recording *r, enum recording_tag tag, const struct bytes *record,
		uint64_t *ret)
{
	const void *data = record->size > 0 ? record->data : (const void *)"";
	struct interned *interned;

	if (record->failed)
		return -ENOMEM;
	HASH_FIND(hh, r->interned[tag], data, record->size, interned);
	if (!interned) {
		interned = calloc(1, sizeof(*interned) + record->size);
		if (!interned)
			return -ENOMEM;
		interned->number = HASH_COUNT(r->interned[tag]);
		interned->size = record->size;
		memcpy(interned->bytes, data, record->size);
		HASH_ADD(hh, r->interned[tag], bytes, record->size, interned);
		if (!HASH_IS_ADDED(hh, interned)) {
			free(interned);
			return -ENOMEM;
		}
		r->memory += sizeof(*interned) + record->size + 2 * sizeof(void *);
		*ret = interned->number;
		return put_record(r, tag, record);
	}
	*ret = interned->number;
	return 0;
}

static void forget_all(struct recording *r)
{
	struct known_module *module, *next_module;
	struct interned *interned, *next;

	for (size_t i = 0; i < RECORDING_N_TAGS; i++) {
		HASH_ITER(hh, r->interned[i], interned, next) {
			HASH_DEL(r->interned[i], interned);
			free(interned);
		}
	}
	HASH_ITER(hh, r->modules, module, next_module) {
		HASH_DEL(r->modules, module);
		free(module);
	}
	r->memory = 0;
}

static int put_context(struct recording *r)
{
	r->record.size = 0;
	recording_put_context(&r->record, &r->report.context);
	return put_record(r, RECORDING_CONTEXT, &r->record);
}

/* The event's name is known only when sampling begins; then the file may be written. */
static int begin(struct recording *r)
{
	struct recording_head head = { .version = htole32(recording_version(&r->report.context)) };
	int err;

	if (r->begun)
		return 0;
	memcpy(head.magic, RECORDING_MAGIC, sizeof(head.magic));
	err = block_writer_init(&r->blocks, r->report.to);
	if (err < 0)
		return err;
	r->begun = true;
	errno = 0;
	if (fwrite(&head, sizeof(head), 1, r->report.to) != 1)
		return errno ? -errno : -EIO;
	return put_context(r);
}

static bool is_same_module(const struct known_module *known, const struct module *module)
{
	return known->size == module->size && known->written.tv_sec == module->written.tv_sec &&
	       known->written.tv_nsec == module->written.tv_nsec &&
	       strcmp(known->texts, module->path) == 0 &&
	       strcmp(known->texts + known->path_size, module->build_id) == 0;
}

static int know_module(struct recording *r, const struct module *module, uint64_t number)
{
	size_t path_size = strlen(module->path) + 1, id_size = strlen(module->build_id) + 1;
	struct known_module *known = calloc(1, sizeof(*known) + path_size + id_size);

	if (!known)
		return -ENOMEM;
	*known = (struct known_module){ .module = module,
					.number = number,
					.size = module->size,
					.written = module->written,
					.path_size = path_size };
	memcpy(known->texts, module->path, path_size);
	memcpy(known->texts + path_size, module->build_id, id_size);
	HASH_ADD_PTR(r->modules, module, known);
	if (!HASH_IS_ADDED(hh, known)) {
		free(known);
		return -ENOMEM;
	}
	r->memory += sizeof(*known) + path_size + id_size;
	return 0;
}

static int tell_module(struct recording *r, const struct module *module, uint64_t *ret)
{
	struct bytes *b = &r->part;
	struct known_module *known;
	int err;

	HASH_FIND_PTR(r->modules, &module, known);
	if (known && is_same_module(known, module)) {
		*ret = known->number;
		return 0;
	}
	if (known) {
		HASH_DEL(r->modules, known);
		free(known);
	}
	b->size = 0;
	bytes_put_text(b, module->path);
	bytes_put_text(b, module->build_id);
	bytes_put_signed(b, module->size);
	bytes_put_signed(b, module->written.tv_sec);
	bytes_put_signed(b, module->written.tv_nsec);
	err = tell(r, RECORDING_MODULE, b, ret);
	return err == 0 ? know_module(r, module, *ret) : err;
}

/* The number of a frame's slot, from 1; 0: it is in no module. */
static int slot_of(struct recording *r, const struct frame *frame, uint64_t *ret)
{
	struct slot slot = { frame->module, frame->address - frame->offset };
	size_t i = 0;

	*ret = 0;
	if (!frame_is_in_binary(frame))
		return 0;
	while (i < r->n_slots &&
	       (r->slots[i].module != slot.module || r->slots[i].bias != slot.bias))
		i++;
	if (i == r->n_slots) {
		if (array_reserve(r->slots, r->n_slots, r->slots_size) < 0)
			return -ENOMEM;
		r->slots[r->n_slots++] = slot;
	}
	*ret = i + 1;
	return 0;
}

/* Puts the modules of the slots into the record, and their biases into another one. */
static int put_slots(struct recording *r, struct bytes *record, uint64_t *ret_placement)
{
	int err = 0;

	bytes_put_number(record, r->n_slots);
	for (size_t i = 0; err == 0 && i < r->n_slots; i++) {
		uint64_t number = 0;

		err = tell_module(r, r->slots[i].module, &number);
		bytes_put_number(record, number);
	}
	r->part.size = 0;
	for (size_t i = 0; i < r->n_slots; i++)
		bytes_put_number(&r->part, r->slots[i].bias);
	return err < 0 ? err : tell(r, RECORDING_PLACEMENT, &r->part, ret_placement);
}

/* A frame in no binary: the JIT function there, which will be in no file, and its address. */
static int put_elsewhere(struct recording *r, const struct frame *f, struct bytes *b)
{
	struct bytes *part = &r->part;
	const struct source_location *location;
	uint64_t number;
	int err;

	if (!f->module || !r->report.context.symbols || frame_locations(f, true, &location) == 0 ||
	    !location->function) {
		bytes_put_number(b, f->method);
		bytes_put_number(b, f->address);
		return 0;
	}
	part->size = 0;
	bytes_put_text(part, location->function);
	bytes_put_text(part, location->file ? location->file : "");
	bytes_put_number(part, location->line);
	if (location->column > 0)
		bytes_put_number(part, location->column);
	err = tell(r, RECORDING_COMPILED, part, &number);
	bytes_put_number(b, (r->n_slots + 1) * RECORDING_METHODS + f->method);
	bytes_put_number(b, number);
	bytes_put_number(b, f->address);
	return err;
}

/* Writes the stack independently of where its modules are, so that an equal one is recognised. */
static int tell_stack(struct recording *r, const struct sample *sample, uint64_t *ret,
		      uint64_t *ret_placement)
{
	struct bytes *b = &r->record;
	uint64_t slot;
	int err = 0;

	r->n_slots = 0;
	for (size_t i = 0; err == 0 && i < sample->n_user; i++)
		err = slot_of(r, &sample->user[i], &slot);
	b->size = 0;
	if (err == 0)
		err = put_slots(r, b, ret_placement);
	bytes_put_number(b, sample->n_user);
	for (size_t i = 0; err == 0 && i < sample->n_user; i++) {
		const struct frame *f = &sample->user[i];

		if (!frame_is_in_binary(f)) {
			err = put_elsewhere(r, f, b);
			continue;
		}
		err = slot_of(r, f, &slot);
		bytes_put_number(b, slot * RECORDING_METHODS + f->method);
		bytes_put_number(b, f->offset);
	}
	return err < 0 ? err : tell(r, RECORDING_STACK, b, ret);
}

/* The number of a kernel address's function, from 1, and the offset in it; 0: it has no name. */
static int tell_function(struct recording *r, uint64_t address, uint64_t *ret, uint64_t *ret_offset)
{
	const struct kallsyms *kallsyms = r->report.context.kallsyms;
	const char *name = kallsyms ? kallsyms_find(kallsyms, address, ret_offset) : NULL;
	const char *module = name ? kallsyms_find_module(kallsyms, address) : NULL;
	struct bytes *b = &r->part;
	int err;

	*ret = 0;
	if (!name) {
		*ret_offset = address;
		return 0;
	}
	b->size = 0;
	bytes_put_number(b, address - *ret_offset);
	bytes_put_text(b, name);
	bytes_put_text(b, module ? module : "");
	err = tell(r, RECORDING_FUNCTION, b, ret);
	++*ret;
	return err;
}

/* Callers are the addresses of calls: the return address minus one, as for lookups. */
static int tell_kernel(struct recording *r, const struct sample *sample, uint64_t *ret)
{
	struct bytes *b = &r->record;
	uint64_t function, offset;
	int err = 0;

	b->size = 0;
	bytes_put_number(b, sample->n_kernel);
	for (size_t i = 0; err == 0 && i < sample->n_kernel; i++) {
		err = tell_function(r, sample->kernel[i] - (i > 0), &function, &offset);
		bytes_put_number(b, function);
		bytes_put_number(b, offset);
	}
	return err < 0 ? err : tell(r, RECORDING_KERNEL, b, ret);
}

static int tell_task(struct recording *r, const struct sample *sample, uint64_t *ret)
{
	struct bytes *b = &r->record;

	b->size = 0;
	bytes_put_number(b, (uint32_t)sample->pid);
	bytes_put_number(b, (uint32_t)sample->tid);
	bytes_put_text(b, sample->comm);
	bytes_put_text(b, sample->thread_name);
	return tell(r, RECORDING_TASK, b, ret);
}

/* The numbers of the records to which a sample refers. */
struct sample_refs {
	uint64_t task, stack, placement, kernel, labels, numbers, decimals;
	uint64_t fields; /* enum recording_field, or'ed: its optional fields */
};

/* Adds the labels of one kind, if there are any. */
static int tell_some(struct recording *r, const struct label_set *labels, enum recording_tag tag,
		     uint64_t field, struct sample_refs *refs, uint64_t *ret)
{
	recording_labels_put(labels, tag, &r->part);
	if (r->part.size == 0)
		return 0;
	refs->fields |= field;
	return tell(r, tag, &r->part, ret);
}

/* Numeric labels are in records of their own, which older readers do not know. */
static int tell_labels(struct recording *r, const struct label_set *labels,
		       struct sample_refs *refs)
{
	int err = tell_some(r, labels, RECORDING_LABELS, RECORDING_HAS_LABELS, refs, &refs->labels);

	if (err == 0)
		err = tell_some(r, labels, RECORDING_NUMBERS, RECORDING_HAS_NUMBERS, refs,
				&refs->numbers);
	if (err == 0)
		err = tell_some(r, labels, RECORDING_DECIMALS, RECORDING_HAS_DECIMALS, refs,
				&refs->decimals);
	return err;
}

static int put_lost(struct recording *r, const struct totals *totals)
{
	struct bytes *b = &r->record;

	if (totals->lost == r->lost && totals->lost_ns == r->lost_ns)
		return 0;
	r->lost = totals->lost;
	r->lost_ns = totals->lost_ns;
	b->size = 0;
	bytes_put_number(b, r->lost);
	bytes_put_number(b, r->lost_ns);
	return put_record(r, RECORDING_LOST, b);
}

/* Fields with their usual values are left out. */
static void put_fields(struct bytes *b, const struct sample *s, const struct sample_refs *refs)
{
	uint64_t fields = refs->fields;

	if (fields & RECORDING_HAS_EVENT) {
		bytes_put_number(b, s->event);
		bytes_put_number(b, s->state);
	}
	if (fields & RECORDING_HAS_WEIGHT)
		bytes_put_number(b, s->weight);
	if (fields & RECORDING_HAS_VALUE)
		bytes_put_number(b, s->value_ns);
	if (fields & RECORDING_HAS_OUTCOME)
		bytes_put_number(b, s->outcome);
	if (fields & RECORDING_HAS_FAULT)
		bytes_put_number(b, s->fault_address);
	if (fields & RECORDING_HAS_KERNEL_ERROR)
		bytes_put_signed(b, s->kernel_error);
	if (fields & RECORDING_HAS_LABELS)
		bytes_put_number(b, refs->labels);
	if (fields & RECORDING_HAS_NUMBERS)
		bytes_put_number(b, refs->numbers);
	if (fields & RECORDING_HAS_DECIMALS)
		bytes_put_number(b, refs->decimals);
	if (fields & RECORDING_HAS_PROBES)
		recording_put_probes(b, s);
}

static uint64_t fields_of(const struct sample *s)
{
	return (s->event || s->state ? RECORDING_HAS_EVENT : 0) |
	       (s->weight != 1 ? RECORDING_HAS_WEIGHT : 0) |
	       (s->value_ns ? RECORDING_HAS_VALUE : 0) |
	       (s->outcome != DP_COMPLETE ? RECORDING_HAS_OUTCOME : 0) |
	       (s->fault_address ? RECORDING_HAS_FAULT : 0) |
	       (s->kernel_error ? RECORDING_HAS_KERNEL_ERROR : 0) |
	       (s->late ? RECORDING_IS_LATE : 0) |
	       (recording_has_probes(s) ? RECORDING_HAS_PROBES : 0);
}

static int put_sample(struct recording *r, const struct sample *s)
{
	struct sample_refs refs = { .fields = fields_of(s) };
	struct bytes *b = &r->record;
	int err;

	err = tell_task(r, s, &refs.task);
	if (err == 0 && s->n_user > 0)
		err = tell_stack(r, s, &refs.stack, &refs.placement);
	if (err == 0 && s->n_kernel > 0)
		err = tell_kernel(r, s, &refs.kernel);
	if (err == 0 && s->labels)
		err = tell_labels(r, s->labels, &refs);
	if (err < 0)
		return err;
	b->size = 0;
	bytes_put_number(b, refs.fields);
	bytes_put_signed(b, (int64_t)(s->time_ns - r->time_ns));
	r->time_ns = s->time_ns;
	bytes_put_number(b, refs.task);
	bytes_put_number(b, s->cpu);
	bytes_put_number(b, s->n_user > 0 ? refs.stack + 1 : 0);
	if (s->n_user > 0)
		bytes_put_number(b, refs.placement);
	bytes_put_number(b, s->n_kernel > 0 ? refs.kernel + 1 : 0);
	put_fields(b, s, &refs);
	r->n_samples++;
	return put_record(r, RECORDING_SAMPLE, b);
}

static int forget_if_full(struct recording *r)
{
	if (r->memory < RECORDING_MEMORY)
		return 0;
	forget_all(r);
	r->record.size = 0;
	return put_record(r, RECORDING_FORGET, &r->record);
}

static int recording_add(struct report *report, const struct sample *sample,
			 const struct totals *totals)
{
	struct recording *r = (struct recording *)report;
	int err;

	err = begin(r);
	if (err == 0)
		err = forget_if_full(r);
	if (err == 0)
		err = put_lost(r, totals);
	if (err == 0)
		err = put_sample(r, sample);
	if (err < 0)
		return err;
	report->n_held++;
	/* A blocked thread's sample has the time at which it began to block. */
	if (r->blocks.raw.size < BLOCK_SIZE && sample->time_ns < r->flushed_ns + FLUSH_NS)
		return 0;
	if (sample->time_ns > r->flushed_ns)
		r->flushed_ns = sample->time_ns;
	return flush(r);
}

static int recording_finish(struct report *report, const struct totals *totals)
{
	struct recording *r = (struct recording *)report;
	struct bytes *b = &r->record;
	int err = begin(r);

	if (err == 0)
		err = put_lost(r, totals);
	if (err == 0 && totals->calls) {
		span_times_put(totals, b);
		err = put_record(r, RECORDING_CALLS, b);
	}
	b->size = 0;
	bytes_put_number(b, r->n_samples);
	bytes_put_number(b, totals->duration_ns);
	bytes_put_number(b, totals->still_blocked);
	bytes_put_number(b, totals->pages_requested);
	if (err == 0)
		err = put_record(r, RECORDING_TOTALS, b);
	return err < 0 ? err : flush(r);
}

static void recording_free(struct report *report)
{
	struct recording *r = (struct recording *)report;

	forget_all(r);
	block_writer_done(&r->blocks);
	bytes_done(&r->record);
	bytes_done(&r->part);
	free(r->slots);
	free(r);
}

int report_recording_new(struct report **ret)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->report.add = recording_add;
	r->report.finish = recording_finish;
	r->report.free = recording_free;
	*ret = &r->report;
	return 0;
}
