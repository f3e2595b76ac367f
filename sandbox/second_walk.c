// SPDX-License-Identifier: Apache-2.0
#include "sandbox/second_walk.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "elf/elf_open.h"
#include "limits/limits.h"

/* Processes whose modules libdwfl keeps: reporting them again takes longer than a walk. */
#define N_VIEWS 16

/* libdwfl's view of one process. */
struct view {
	pid_t pid;
	uint64_t maps; /* number of those that it has been told of */
	uint64_t used; /* number of the last walk that used it; 0: the view is free */
	Elf *elf;      /* of any binary: tells libdwfl the machine */
	Dwfl *dwfl;    /* callbacks for processes and threads get the struct second_walk */
};

struct file {
	UT_hash_handle hh;
	uint64_t number;
	Elf *elf; /* NULL: it is none */
};

struct second_walk {
	uint64_t n_walks;
	struct view views[N_VIEWS];
	struct view *last; /* of the last walk; NULL: it has failed */
	struct file *files;

	/* The current walk */
	const struct second_stack *stack;
	bool read_failed;
	size_t max_frames;
	struct second_frame *frames;
	struct second_result *result;
};

static struct file *find_file(const struct second_walk *w, uint64_t number)
{
	struct file *file;

	HASH_FIND(hh, w->files, &number, sizeof(number), file);
	return file;
}

/* A handle that the caller ends: the same one, which counts its users. */
static Elf *hold_elf(const struct file *file)
{
	return file && file->elf ? elf_open_again(file->elf) : NULL;
}

static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		    char **ret_name, Elf **ret)
{
	*ret = hold_elf(*user);
	return -1;
}

/* No debug files are searched for: in a binary without unwind information, libdwfl guesses. */
static int find_debuginfo(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **ret)
{
	return -1;
}

/* Never used: dwfl_getthread_frames() finds threads by get_thread(). */
static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	return 0;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **ret_thread_arg)
{
	*ret_thread_arg = arg;
	return true;
}

int second_stack_read(const struct second_stack *stack, uint64_t address, uint64_t *ret)
{
	const uint8_t *bytes = stack->bytes;
	bool beyond = false;

	for (size_t i = 0; i < stack->n_parts; bytes += stack->parts[i++].size) {
		const struct second_part *p = &stack->parts[i];
		uint64_t offset = address - p->start;

		if (offset < p->size && p->size - offset >= sizeof(*ret)) {
			memcpy(ret, bytes + offset, sizeof(*ret));
			return 0;
		}
		beyond |= p->is_cut && offset + sizeof(*ret) > p->size && offset < STACK_MAX_SIZE;
	}
	return beyond ? -ENODATA : -EFAULT;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *arg)
{
	struct second_walk *w = arg;
	uint64_t word;
	int err = second_stack_read(w->stack, address, &word);

	w->result->is_beyond_copy |= err == -ENODATA;
	w->read_failed |= err < 0;
	if (err == 0)
		*ret = word;
	return err == 0;
}

/* libdwfl numbers registers as DWARF does, and so does struct dp_regs. */
static bool set_initial_registers(Dwfl_Thread *thread, void *arg)
{
	const struct second_walk *w = arg;
	Dwarf_Word regs[DP_N_REGISTERS];

	for (int i = 0; i < DP_N_REGISTERS; i++)
		regs[i] = w->stack->regs.reg[i];
	dwfl_thread_state_register_pc(thread, regs[DP_REG_PC]);
	return dwfl_thread_state_registers(thread, 0, DP_N_REGISTERS, regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_initial_registers,
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
};

static void view_done(struct view *view)
{
	if (view->dwfl)
		dwfl_end(view->dwfl);
	elf_end(view->elf);
	*view = (struct view){ 0 };
}

/* Reports the file of mapping number i, up to its last mapping. */
static int report_module(const struct second_walk *w, Dwfl *dwfl, size_t i)
{
	const struct second_stack *stack = w->stack;
	const struct second_mapping *m = &stack->mappings[i];
	uint64_t start = m->bias + m->file_start, end = m->end;
	Dwfl_Module *module;
	void **user;
	char name[32];

	if (m->file == 0 || !m->has_segments || start > m->start)
		return 0;
	for (size_t j = 0; j < stack->n_mappings; j++) {
		const struct second_mapping *other = &stack->mappings[j];

		if (other->file != m->file || other->bias != m->bias)
			continue;
		if (j < i)
			return 0; /* already reported */
		if (other->end > end)
			end = other->end;
	}
	/* libdwfl identifies a module by name and place: the name has to identify the file. */
	snprintf(name, sizeof(name), "%" PRIu64, m->file);
	module = dwfl_report_module(dwfl, name, start, end);
	if (!module || !dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL))
		return -ENOMEM;
	*user = find_file(w, m->file);
	return 0;
}

/* Reports to libdwfl which files are where. It keeps those that it knows. */
static int view_report(const struct second_walk *w, struct view *view)
{
	int err = 0;

	dwfl_report_begin(view->dwfl);
	for (size_t i = 0; err == 0 && i < w->stack->n_mappings; i++)
		err = report_module(w, view->dwfl, i);
	if (dwfl_report_end(view->dwfl, NULL, NULL) != 0 && err == 0)
		err = -ENOMEM;
	view->maps = w->stack->maps;
	return err;
}

static Elf *any_elf(const struct second_walk *w)
{
	Elf *elf = NULL;

	for (size_t i = 0; !elf && i < w->stack->n_mappings; i++)
		elf = hold_elf(find_file(w, w->stack->mappings[i].file));
	return elf;
}

static int view_begin(struct second_walk *w, struct view *view)
{
	pid_t pid = w->stack->pid;
	int err;

	view_done(view);
	view->elf = any_elf(w);
	if (!view->elf)
		return -ENOENT;
	view->pid = pid;
	view->dwfl = dwfl_begin(&callbacks);
	if (!view->dwfl)
		return -ENOMEM;
	err = view_report(w, view);
	if (err == 0 && !dwfl_attach_state(view->dwfl, view->elf, pid, &thread_callbacks, w))
		err = -ENOEXEC;
	return err;
}

/* Finds the view of the stack's process, and updates it; a new one replaces the oldest. */
static int find_view(struct second_walk *w, struct view **ret)
{
	pid_t pid = w->stack->pid;
	struct view *view = &w->views[0];
	int err = 0;

	for (size_t i = 0; i < N_VIEWS; i++) {
		if (w->views[i].used > 0 && w->views[i].pid == pid) {
			view = &w->views[i];
			break;
		}
		if (w->views[i].used < view->used)
			view = &w->views[i];
	}
	if (view->used == 0 || view->pid != pid)
		err = view_begin(w, view);
	else if (view->maps != w->stack->maps)
		err = view_report(w, view);
	if (err < 0) {
		view_done(view);
		return err;
	}
	view->used = ++w->n_walks;
	*ret = view;
	return 0;
}

bool second_walk_has_rule(struct second_walk *w, uint64_t pc)
{
	Dwfl_Module *module = w->last ? dwfl_addrmodule(w->last->dwfl, pc) : NULL;
	Dwarf_CFI *tables[2] = { NULL };
	Dwarf_Addr bias[2] = { 0 };

	if (module) {
		tables[0] = dwfl_module_eh_cfi(module, &bias[0]);
		tables[1] = dwfl_module_dwarf_cfi(module, &bias[1]);
	}
	for (int i = 0; i < 2; i++) {
		_cleanup_free_ Dwarf_Frame *frame = NULL;

		if (tables[i] && dwarf_cfi_addrframe(tables[i], pc - bias[i], &frame) == 0)
			return true;
	}
	return false;
}

static bool is_mapped(const struct second_stack *stack, uint64_t address)
{
	size_t first = 0, end = stack->n_mappings;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (stack->mappings[middle].start <= address)
			first = middle + 1;
		else
			end = middle;
	}
	return first > 0 && address < stack->mappings[first - 1].end;
}

static int add_frame(Dwfl_Frame *state, void *arg)
{
	struct second_walk *w = arg;
	struct second_result *r = w->result;
	bool is_first = r->n_frames == 0, is_activation;
	Dwarf_Addr pc;

	if (r->n_frames == w->max_frames) {
		snprintf(r->end, sizeof(r->end), "as many frames as --max-stack allows");
		return DWARF_CB_ABORT;
	}
	if (!dwfl_frame_pc(state, &pc, &is_activation))
		return DWARF_CB_ABORT;
	if (!is_first && !is_mapped(w->stack, pc - !is_activation)) {
		snprintf(r->end, sizeof(r->end), "then 0x%" PRIx64 ", where no code is", pc);
		return DWARF_CB_ABORT;
	}
	w->frames[r->n_frames++] = (struct second_frame){ pc, is_first || is_activation };
	return DWARF_CB_OK;
}

int second_walk_run(struct second_walk *w, const struct second_stack *stack, size_t max_frames,
		    struct second_frame *frames, struct second_result *ret)
{
	const char *why;
	int err, result;

	*ret = (struct second_result){ 0 };
	w->stack = stack;
	w->max_frames = max_frames;
	w->frames = frames;
	w->result = ret;
	w->read_failed = false;
	w->last = NULL;
	err = find_view(w, &w->last);
	if (err < 0)
		return err;
	dwfl_errno(); /* clears earlier errors */
	result = dwfl_getthread_frames(w->last->dwfl, stack->tid, add_frame, w);
	if (ret->end[0] != '\0')
		return 0;
	if (ret->is_beyond_copy)
		why = "the copy of the stack ends";
	else if (w->read_failed)
		why = "memory that is on no stack";
	else if (result == 0)
		why = "no return address: the root";
	else
		why = dwfl_errmsg(-1);
	snprintf(ret->end, sizeof(ret->end), "%s", why ? why : "unknown error");
	return 0;
}

bool second_walk_knows(const struct second_walk *w, uint64_t file)
{
	return find_file(w, file) != NULL;
}

size_t second_walk_n_files(const struct second_walk *w)
{
	return HASH_COUNT(w->files);
}

int second_walk_add(struct second_walk *w, uint64_t number, int fd)
{
	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->number = number;
	HASH_ADD(hh, w->files, number, sizeof(number), file);
	if (!HASH_IS_ADDED(hh, file)) {
		free(file);
		return -ENOMEM;
	}
	file->elf = elf_open(fd);
	/* It outlives the descriptor. */
	if (file->elf && elf_cntl(file->elf, ELF_C_FDREAD) < 0) {
		elf_end(file->elf);
		file->elf = NULL;
	}
	return 0;
}

int second_walk_new(struct second_walk **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

struct second_walk *second_walk_free(struct second_walk *w)
{
	struct file *file, *next;

	if (!w)
		return NULL;
	for (size_t i = 0; i < N_VIEWS; i++)
		view_done(&w->views[i]);
	HASH_ITER(hh, w->files, file, next) {
		HASH_DEL(w->files, file);
		elf_end(file->elf);
		free(file);
	}
	free(w);
	return NULL;
}
