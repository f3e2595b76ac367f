// SPDX-License-Identifier: Apache-2.0
#include "called.h"

#include "call.h"
#include "mapping.h"

void called_init(struct called *c, struct rescue *rescue)
{
	*c = (struct called){ .rescue = rescue };
}

/* Is it a caller that was found by unwind information, and no proven root? */
static bool is_asked(const struct rescue_result *walk, size_t i)
{
	return i > 0 && DP_FRAME_METHOD(walk->frames[i]) == DP_METHOD_TABLE &&
	       (i + 1 < walk->n_frames || walk->outcome != DP_COMPLETE);
}

/* Is it what a signal handler returns to? The last frame tells by its rule alone. */
static bool leads_to_signal(const struct called *c, const struct space *space,
			    const struct rescue_result *walk, size_t i)
{
	if (i + 1 < walk->n_frames)
		return DP_FRAME_METHOD(walk->frames[i + 1]) == DP_METHOD_SIGNAL;
	return rescue_is_signal(c->rescue, DP_FRAME_ADDRESS(walk->frames[i]) - 1, space->cell);
}

static struct called_known *find_known(struct called *c, uint64_t binary, uint64_t address)
{
	return &c->known[((address ^ binary << 32) * 0x9e3779b97f4a7c15ULL >> 32) % CALLED_KNOWN];
}

static bool is_called(struct called *c, const struct mapping *m, pid_t thread, uint64_t address)
{
	uint64_t number = m->binary->number, in_file = address - m->bias, bytes;
	struct called_known *known = find_known(c, number, in_file);
	bool has_code;

	if (known->binary == number && known->address == in_file)
		return true;
	has_code = elf_file_read_before(&m->binary->elf, in_file, &bytes, sizeof(bytes)) == 0;
	if (has_code && call_ends(bytes)) {
		known->binary = number;
		known->address = in_file;
		return true;
	}
	/* Code may be changed when it runs. */
	if (mapping_read_word(thread, address - sizeof(bytes), &bytes))
		return call_ends(bytes);
	/* And a file while it is mapped: of the past nothing is known then. */
	return !has_code || module_is_written_to(&m->binary->module);
}

bool called_frame(struct called *c, const struct space *space, const struct mapping *m,
		  pid_t thread, const struct rescue_result *walk, size_t i)
{
	if (!m || !m->binary || !m->binary->table || !is_asked(walk, i))
		return true;
	return is_called(c, m, thread, DP_FRAME_ADDRESS(walk->frames[i])) ||
	       leads_to_signal(c, space, walk, i);
}

void called_cut(struct called *c, const struct space *space, pid_t thread,
		struct rescue_result *walk)
{
	for (size_t i = 0; i < walk->n_frames; i++) {
		uint64_t address = DP_FRAME_ADDRESS(walk->frames[i]);

		if (called_frame(c, space, space_find(space, address - 1), thread, walk, i))
			continue;
		walk->n_frames = i;
		walk->outcome = DP_NO_CALL;
	}
}
