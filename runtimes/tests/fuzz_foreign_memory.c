// SPDX-License-Identifier: Apache-2.0
/*
 * A process's memory and a file's layout, both of which may be anything, as each runtime reads them. Input:
 * a runtime (1), flags (1), a frame's code, position and tag (8 each), the number of reads after which
 * memory changes (1), then pieces: where they belong (1), offset (2), size (1), bytes. A read ends with one
 * of the documented errors, after a bounded number of reads, and what it gives is bounded.
 */
#include <errno.h>

#include "bpf/abi.h"
#include "cfi/tests/fuzz.h"
#include "runtimes/hotspot/classes.h"
#include "runtimes/hotspot/code.h"
#include "runtimes/runtime.h"

#define PLACE 0x10000
#define SIZE 0x10000

/* Of the seven passes over tables of a JVM. */
#define MAX_READS (1U << 19)
#define MAX_BYTES (1U << 24)

/* Flags: memory has no end, but repeats itself; the tables of a JVM are read. */
enum { WRAPS = 1, JVM = 2 };
/* Where a piece belongs. */
enum { LAYOUT, MEMORY, CHANGE, N_PLACES };

static struct process {
	uint8_t flags, changes_at;
	uint8_t memory[SIZE], changed[SIZE];
	union {
		struct dp_runtime_image image;
		struct hotspot_layout hotspot;
		struct {
			struct vm_structs tables;
			uint64_t bias;
		} jvm;
	} layout;
	uint32_t n_reads, n_bytes;
} process;

static int read_memory(void *arg, void *ret, size_t size, uint64_t address)
{
	struct process *p = arg;
	const uint8_t *from = p->n_reads < p->changes_at ? p->memory : p->changed;
	uint64_t at = address - PLACE;

	p->n_reads++;
	p->n_bytes += (uint32_t)size;
	EXPECT(p->n_reads < MAX_READS && size <= MAX_BYTES && p->n_bytes < MAX_BYTES);
	if (!(p->flags & WRAPS) && (at > SIZE || size > SIZE - at))
		return -EFAULT;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)ret)[i] = from[(at + i) % SIZE];
	return 0;
}

static void feed_piece(struct feed *f)
{
	unsigned int where = feed_u8(f) % N_PLACES;
	size_t offset = feed_number(f, 2), size = feed_u8(f);

	for (; size > 0 && f->pos < f->end; offset++, size--) {
		uint8_t byte = feed_u8(f);

		if (where == LAYOUT)
			((uint8_t *)&process.layout)[offset % sizeof(process.layout)] = byte;
		if (where == MEMORY)
			process.memory[offset % SIZE] = byte;
		if (where != LAYOUT)
			process.changed[offset % SIZE] = byte;
	}
}

static void check_error(int err)
{
	static const int errors[] = { 0, -ESTALE, -EFAULT, -ENOTSUP, -E2BIG, -EAGAIN };
	size_t i = 0;

	while (i < sizeof(errors) / sizeof(*errors) && errors[i] != err)
		i++;
	EXPECT(i < sizeof(errors) / sizeof(*errors));
}

static void read_frame(const struct runtime_source *source, const struct dp_runtime_frame *frame)
{
	const struct runtime_memory memory = { read_memory, &process, NULL };
	struct dp_runtime_frame at = *frame;
	struct runtime_code *code = NULL;
	int err;

	process.n_reads = process.n_bytes = 0;
	err = source->read(&process.layout, frame, &memory, &code);
	check_error(err);
	EXPECT((err == 0) == (code != NULL));
	if (!code)
		return;
	EXPECT(memchr(code->function, '\0', sizeof(code->function)));
	EXPECT(memchr(code->file, '\0', sizeof(code->file)));
	EXPECT(code->lines_size <= 1U << 20);
	for (uint32_t i = 0; i < 8; i++, at.position += 13) {
		(void)source->line(&process.layout, code, &at);
		if (source->column)
			(void)source->column(&process.layout, code, &at);
	}
	free(code);
}

static void expand(const struct runtime_source *source, const struct dp_runtime_frame *frame)
{
	const struct runtime_memory memory = { read_memory, &process, NULL };
	struct dp_runtime_frame frames[RUNTIME_MAX_INLINED];
	int n;

	process.n_reads = process.n_bytes = 0;
	n = source->expand(&process.layout, frame, &memory, frames);
	EXPECT(n <= RUNTIME_MAX_INLINED);
	if (n < 0)
		check_error(n);
	for (int i = 0; i < n; i++) {
		frames[i].position &= ~source->near;
		read_frame(source, &frames[i]);
	}
}

static void read_jvm(uint64_t address)
{
	struct hotspot_layout layout;
	struct hotspot_flags flags;
	struct dp_hotspot code;
	int err;

	process.n_reads = process.n_bytes = 0;
	err = hotspot_layout_read(&layout, &process.layout.jvm.tables, process.layout.jvm.bias,
				  read_memory, &process);
	check_error(err);
	if (err < 0)
		return;
	err = hotspot_code_read(&layout, read_memory, &process, &code);
	EXPECT(err == 0 || err == -EAGAIN || err == -ENOTSUP);
	if (err == 0)
		(void)hotspot_code_has(&code, address);
	process.n_reads = process.n_bytes = 0;
	err = hotspot_flags_read(&layout, &process.layout.jvm.tables, process.layout.jvm.bias,
				 read_memory, &process, &flags);
	check_error(err);
	if (err == 0)
		check_error(hotspot_classes_read(&layout, &flags, read_memory, &process, &code));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct feed f = { bytes, bytes + size };
	const struct runtime_source *source = runtime_source(feed_u8(&f) % DP_N_RUNTIMES);
	struct dp_runtime_frame frame;

	memset(&process, 0, sizeof(process));
	process.flags = feed_u8(&f);
	frame.code = feed_u64(&f);
	frame.position = feed_u64(&f);
	frame.tag = feed_u64(&f);
	process.changes_at = feed_u8(&f);
	while (f.pos < f.end)
		feed_piece(&f);
	if (!source)
		return 0;
	if (source == &runtime_hotspot && process.flags & JVM) {
		read_jvm(frame.code);
		return 0;
	}
	read_frame(source, &frame);
	if (source->expand)
		expand(source, &frame);
	return 0;
}
