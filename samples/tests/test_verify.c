// SPDX-License-Identifier: Apache-2.0
/* A stack of this very process, walked by the walker and by libdwfl. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "log/clock.h"
#include "process/process_snapshot.h"
#include "process/process_table.h"
#include "samples/verify.h"
#include "symbols/tests/some_names.h"

static uint8_t *segments[64];
static int n_segments;
static struct pool pool;
static struct binary_store binaries;
static struct process_table table;
static struct snapshot *snapshot;
static struct unwinder *unwinder;
static struct verify *verify;
static struct verify_maps_store maps;
static struct stack_copy *copy;
static struct frame frames[DP_MAX_FRAMES];

#define DEPTH 40

static int add_segment(void *arg, uint32_t index, uint8_t **ret)
{
	*ret = segments[n_segments++] = calloc(1, DP_SEGMENT_SIZE + DP_SEGMENT_SLACK);
	return 0;
}

static int publish(void *arg, pid_t pid, uint32_t cell)
{
	return 0;
}

static void begin(void)
{
	pool_init(&pool, add_segment, NULL);
	binary_store_init(&binaries, &pool, some_names());
	process_table_init(&table, &pool, &binaries, publish, NULL);
	cr_assert(process_table_add(&table, getpid()) == 0);
	cr_assert(process_snapshot(&table, process_table_find(&table, getpid()), clock_now_ns(),
				   &snapshot) == 0);
	cr_assert(unwinder_new(&pool, DP_UNWIND_AUTO, DP_MAX_FRAMES, &unwinder) == 0);
	cr_assert(verify_new(NULL, DP_MAX_FRAMES, &verify) == 0);
}

static void end(void)
{
	stack_copy_free(copy);
	verify_free(verify);
	verify_maps_done(&maps);
	unwinder_free(unwinder);
	snapshot_free(&table.snapshots, snapshot);
	process_table_done(&table);
	binary_store_done(&binaries);
	pool_done(&pool);
	for (int i = 0; i < n_segments; i++)
		free(segments[i]);
}

TestSuite(verify, .init = begin, .fini = end);

static uint64_t stack_end(void)
{
	pthread_attr_t attributes;
	size_t size;
	void *start;

	cr_assert(pthread_getattr_np(pthread_self(), &attributes) == 0);
	cr_assert(pthread_attr_getstack(&attributes, &start, &size) == 0);
	pthread_attr_destroy(&attributes);
	return (uint64_t)start + size;
}

/* One chunk, as the kernel would send it: whole pages. */
static void copy_stack(const ucontext_t *context)
{
	static const int order[DP_N_REGISTERS] = {
		[DP_RAX] = REG_RAX,    [DP_RDX] = REG_RDX,    [DP_RCX] = REG_RCX,
		[DP_RBX] = REG_RBX,    [DP_RSI] = REG_RSI,    [DP_RDI] = REG_RDI,
		[DP_REG_FP] = REG_RBP, [DP_REG_SP] = REG_RSP, [DP_R8] = REG_R8,
		[DP_R9] = REG_R9,      [DP_R10] = REG_R10,    [DP_R11] = REG_R11,
		[DP_R12] = REG_R12,    [DP_R13] = REG_R13,    [DP_R14] = REG_R14,
		[DP_R15] = REG_R15,    [DP_REG_PC] = REG_RIP,
	};
	uint64_t start =
		(uint64_t)context->uc_mcontext.gregs[REG_RSP] & -(uint64_t)DP_USER_PAGE_SIZE;
	uint64_t left = stack_end() - start;
	struct dp_chunk *chunk = calloc(1, sizeof(*chunk) + DP_CHUNK_SIZE);
	struct iovec from = { (void *)start, left < DP_CHUNK_SIZE ? left : DP_CHUNK_SIZE };
	struct iovec to = { chunk + 1, from.iov_len };

	chunk->part = (struct dp_part){ DP_RECORD_CHUNK, (__u16)(sizeof(*chunk) + from.iov_len) };
	chunk->tid = (uint32_t)gettid();
	chunk->start = start;
	chunk->n_bytes = (uint32_t)from.iov_len;
	for (int i = 0; i < DP_N_REGISTERS; i++)
		chunk->regs.reg[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	/* Reads as the kernel does, which sanitizers do not see. */
	cr_assert(process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)from.iov_len);
	cr_assert(stack_copy_add(&copy, chunk) == 0);
	/* More memory follows wherever the copy ends. */
	copy->parts[0].cut = true;
	free(chunk);
}

static __attribute__((noinline)) int capture(void)
{
	ucontext_t context;

	cr_assert(getcontext(&context) == 0);
	copy_stack(&context);
	return 0;
}

/* Through a pointer: compilers put recursive functions into themselves. */
static int descend(int depth);
static int (*volatile descend_again)(int depth) = descend;

static int descend(int depth)
{
	if (depth > 0)
		return descend_again(depth - 1) + 1;
	return capture();
}

static struct sample walk(void)
{
	struct unwinder_result r = unwinder_walk(unwinder, copy, snapshot);

	for (size_t i = 0; i < r.n_frames; i++)
		frames[i] = (struct frame){ .address = DP_FRAME_ADDRESS(r.frames[i]),
					    .method = DP_FRAME_METHOD(r.frames[i]) };
	return (struct sample){
		.pid = getpid(), .outcome = r.outcome, .user = frames, .n_user = r.n_frames
	};
}

/* Valid until the next call. */
static const struct verified_stack *verify_sample(const struct sample *sample,
						  const struct snapshot *of,
						  const struct stack_copy *stack)
{
	static struct verified_stack result;
	const struct verify_maps *m = verify_maps_get(&maps, of);

	cr_assert(m);
	verify_stack(verify, m, stack, sample->user, sample->n_user, &result);
	verify_maps_drop(&maps, m, 0);
	return &result;
}

Test(verify, finds_the_same_frames)
{
	const struct verified_stack *s;
	struct sample sample;

	cr_assert(descend(DEPTH) == DEPTH);
	sample = walk();
	cr_assert(sample.outcome == DP_COMPLETE, "outcome %d after %zu frames", sample.outcome,
		  sample.n_user);
	cr_assert(sample.n_user > DEPTH);
	for (int i = 0; i < 3; i++) { /* the second time the process is known */
		s = verify_sample(&sample, snapshot, copy);
		cr_assert(s->result == VERIFIED_EQUAL, "%s: %s", verified_word(s->result), s->end);
		cr_assert(s->n_frames == sample.n_user && s->n_equal == sample.n_user);
	}
}

Test(verify, finds_a_frame_that_is_wrong)
{
	const struct verified_stack *s;
	struct sample sample;

	descend(DEPTH);
	sample = walk();
	frames[7].address++;
	s = verify_sample(&sample, snapshot, copy);
	cr_assert(s->result == VERIFIED_DIFFERS && s->n_equal == 7);
	frames[7].address--;
	sample.n_user = 7;
	s = verify_sample(&sample, snapshot, copy);
	cr_assert(s->result == VERIFIED_SHORTER && s->n_equal == 7);
}

/* A changed return address leads libdwfl elsewhere too: it reads the copy. */
Test(verify, reads_the_copy)
{
	const struct verified_stack *s;
	struct stack_copy damaged;
	struct sample sample;
	uint64_t word = 0;
	uint8_t *bytes;

	descend(DEPTH);
	sample = walk();
	damaged = *copy;
	bytes = damaged.parts[0].bytes;
	for (size_t i = 0; i + sizeof(word) <= damaged.parts[0].size; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		if (word == frames[DEPTH + 2].address)
			memset(bytes + i, 0, sizeof(word));
	}
	s = verify_sample(&sample, snapshot, &damaged);
	cr_assert(s->result == VERIFIED_FURTHER);
	cr_assert(s->n_equal == DEPTH + 2);
}

Test(verify, tells_the_end_of_a_copy_from_a_difference)
{
	const struct verified_stack *s;
	struct sample sample;

	descend(DEPTH);
	sample = walk();
	copy->parts[0].size = (copy->regs.reg[DP_REG_SP] & (DP_USER_PAGE_SIZE - 1)) + 1024;
	s = verify_sample(&sample, snapshot, copy);
	cr_assert(s->result == VERIFIED_COPY_END, "%s", verified_word(s->result));
	cr_assert(s->n_equal > 0 && s->n_equal < sample.n_user);
}

/* More processes than views, in turn. */
Test(verify, forgets_processes)
{
	struct sample sample;

	descend(DEPTH);
	sample = walk();
	for (int i = 0; i < 100; i++) {
		struct snapshot other = *snapshot;

		other.id = UINT64_MAX - (uint64_t)i;
		other.pid = 1 + i % 40;
		cr_assert(verify_sample(&sample, &other, copy)->result == VERIFIED_EQUAL);
	}
}

/* No file of the snapshot's own is used, and none is let go while it is needed. */
Test(verify, uses_descriptors_of_its_own)
{
	const struct verify_maps *m = verify_maps_get(&maps, snapshot);
	uint64_t number;
	size_t n_files = 0;

	cr_assert(m && m->n_mappings == snapshot->n_mappings);
	for (size_t i = 0; i < m->n_mappings; i++) {
		const struct verify_file *file = m->mappings[i].file;
		const struct binary *b = snapshot->mappings[i].binary;

		cr_assert_eq(file != NULL, b != NULL);
		if (!file)
			continue;
		n_files++;
		cr_assert(file->fd >= 0 && file->fd != b->module->fd);
	}
	cr_assert(n_files > 1);
	cr_assert(verify_maps_get(&maps, snapshot) == m);
	number = m->number;
	verify_maps_drop(&maps, m, 0);
	verify_maps_drop(&maps, m, 0);
	m = verify_maps_get(&maps, snapshot);
	cr_assert(m && m->number == number, "kept for the next sample");
	verify_maps_drop(&maps, m, 0);
}

/* Descriptors and binaries are not kept for many snapshots without samples. */
Test(verify, forgets_maps)
{
	const struct verify_maps *m = verify_maps_get(&maps, snapshot);
	size_t n_users = snapshot->mappings[0].binary->n_users;

	for (uint64_t i = 1; i <= 100; i++) {
		struct snapshot empty = { .id = UINT64_MAX - i };

		verify_maps_drop(&maps, verify_maps_get(&maps, &empty), 0);
	}
	cr_assert(snapshot->mappings[0].binary->n_users == n_users, "they have a user");
	verify_maps_drop(&maps, m, 0);
	for (uint64_t i = 1; i <= 100; i++) {
		struct snapshot empty = { .id = UINT64_MAX - i };

		verify_maps_drop(&maps, verify_maps_get(&maps, &empty), 0);
	}
	cr_assert(snapshot->mappings[0].binary->n_users == n_users - 1);
	cr_assert(HASH_COUNT(maps.files) == 0 && HASH_COUNT(maps.maps) < 20);
}
