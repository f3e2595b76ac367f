// SPDX-License-Identifier: Apache-2.0
#include "samples/verify.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/elf_open.h"
#include "log/log.h"

/* Processes whose modules libdwfl keeps: reporting them again takes longer than a walk. */
#define N_VIEWS 16

/* libdwfl's view of one process. */
struct view {
	pid_t pid;
	uint64_t maps; /* number of those that it has been told of */
	uint64_t used; /* number of the last walk that used it; 0: the view is free */
	Elf *elf;      /* of any binary: tells libdwfl the machine */
	Dwfl *dwfl;    /* callbacks for processes and threads get the struct verify */
};

struct verify {
	unsigned int max_frames;
	uint64_t n_walks;
	struct view views[N_VIEWS];

	/* The current walk */
	const struct verify_maps *maps;
	const struct stack_copy *copy;
	bool beyond_copy; /* a read failed only because the copy is too short */
	bool read_failed;
	struct frame *frames;
	size_t n_frames;
	char end[128];
};

/* Opens a handle that the caller ends. */
static Elf *open_elf(const struct verify_file *file)
{
	Elf *elf = file->fd >= 0 ? elf_open(file->fd) : NULL;
	/* It may outlive the descriptor. */
	if (elf && elf_cntl(elf, ELF_C_FDREAD) < 0) {
		elf_end(elf);
		return NULL;
	}
	return elf;
}

/* libdwfl reads the file itself, and closes the descriptor. */
static int find_elf(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
		    char **ret_name, Elf **ret)
{
	const struct verify_file *file = *user;

	*ret = open_elf(file);
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

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *ret, void *arg)
{
	struct verify *v = arg;
	int err = stack_copy_read(v->copy, ret, sizeof(*ret), address);

	v->beyond_copy |= err == -ENODATA;
	v->read_failed |= err < 0;
	return err == 0;
}

/* libdwfl numbers registers as DWARF does, and so does struct dp_regs. */
static bool set_initial_registers(Dwfl_Thread *thread, void *arg)
{
	const struct verify *v = arg;
	Dwarf_Word regs[DP_N_REGISTERS];

	for (int i = 0; i < DP_N_REGISTERS; i++)
		regs[i] = v->copy->regs.reg[i];
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
static int report_module(Dwfl *dwfl, const struct verify_maps *maps, size_t i)
{
	const struct verify_mapping *m = &maps->mappings[i];
	uint64_t start = m->bias + m->file->start, end = m->end;
	Dwfl_Module *module;
	void **user;
	char name[32];

	if (!m->file->has_segments || start > m->start)
		return 0;
	for (size_t j = 0; j < maps->n_mappings; j++) {
		const struct verify_mapping *other = &maps->mappings[j];

		if (other->file != m->file || other->bias != m->bias)
			continue;
		if (j < i)
			return 0; /* already reported */
		if (other->end > end)
			end = other->end;
	}
	/* libdwfl identifies a module by name and place: the name has to identify the file. */
	snprintf(name, sizeof(name), "%" PRIu64, m->file->number);
	module = dwfl_report_module(dwfl, name, start, end);
	if (!module || !dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL))
		return -ENOMEM;
	*user = m->file;
	return 0;
}

/* Reports to libdwfl which files are where. It keeps those that it knows. */
static int view_report(struct view *view, const struct verify_maps *maps)
{
	int err = 0;

	dwfl_report_begin(view->dwfl);
	for (size_t i = 0; err == 0 && i < maps->n_mappings; i++)
		if (maps->mappings[i].file)
			err = report_module(view->dwfl, maps, i);
	if (dwfl_report_end(view->dwfl, NULL, NULL) != 0 && err == 0)
		err = -ENOMEM;
	view->maps = maps->number;
	return err;
}

static Elf *any_elf(const struct verify_maps *maps)
{
	Elf *elf = NULL;

	for (size_t i = 0; !elf && i < maps->n_mappings; i++)
		if (maps->mappings[i].file)
			elf = open_elf(maps->mappings[i].file);
	return elf;
}

static int view_begin(struct verify *v, struct view *view, const struct verify_maps *maps)
{
	int err;

	view_done(view);
	view->elf = any_elf(maps);
	if (!view->elf)
		return -ENOENT;
	view->pid = maps->pid;
	view->dwfl = dwfl_begin(&callbacks);
	if (!view->dwfl)
		return -ENOMEM;
	err = view_report(view, maps);
	if (err == 0 && !dwfl_attach_state(view->dwfl, view->elf, maps->pid, &thread_callbacks, v))
		err = -ENOEXEC;
	return err;
}

/* Finds the view of the maps' process, and updates it; a new one replaces the oldest. */
static int find_view(struct verify *v, const struct verify_maps *maps, struct view **ret)
{
	struct view *view = &v->views[0];
	int err = 0;

	for (size_t i = 0; i < N_VIEWS; i++) {
		if (v->views[i].used > 0 && v->views[i].pid == maps->pid) {
			view = &v->views[i];
			break;
		}
		if (v->views[i].used < view->used)
			view = &v->views[i];
	}
	if (view->used == 0 || view->pid != maps->pid)
		err = view_begin(v, view, maps);
	else if (view->maps != maps->number)
		err = view_report(view, maps);
	if (err < 0) {
		view_done(view);
		return err;
	}
	view->used = ++v->n_walks;
	*ret = view;
	return 0;
}

static bool is_exact(const struct frame *f)
{
	return !DP_METHOD_IS_CALLER(f->method);
}

/* True if libdwfl has a rule for this frame. Without one it uses the frame pointer. */
static bool has_rule(Dwfl *dwfl, const struct frame *f)
{
	uint64_t pc = f->address - !is_exact(f);
	Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
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

static int add_frame(Dwfl_Frame *state, void *arg)
{
	struct verify *v = arg;
	const struct verify_mapping *m;
	bool is_activation;
	Dwarf_Addr pc;
	struct frame f = { .method = DP_METHOD_LEAF };

	if (v->n_frames == v->max_frames) {
		snprintf(v->end, sizeof(v->end), "as many frames as --max-stack allows");
		return DWARF_CB_ABORT;
	}
	if (!dwfl_frame_pc(state, &pc, &is_activation))
		return DWARF_CB_ABORT;
	if (v->n_frames > 0)
		f.method = is_activation ? DP_METHOD_SIGNAL : DP_METHOD_TABLE;
	f.address = pc;
	m = verify_maps_find(v->maps, pc - !is_exact(&f));
	if (!m && v->n_frames > 0) {
		snprintf(v->end, sizeof(v->end), "then 0x%" PRIx64 ", where no code is", pc);
		return DWARF_CB_ABORT;
	}
	if (m && m->file) {
		f.module = m->module;
		f.offset = f.address - m->bias;
	}
	v->frames[v->n_frames++] = f;
	return DWARF_CB_OK;
}

/* Lets libdwfl walk the stack into v->frames. */
static void walk_stack(struct verify *v, Dwfl *dwfl)
{
	const char *why;
	int result;

	v->n_frames = 0;
	v->beyond_copy = v->read_failed = false;
	v->end[0] = '\0';
	dwfl_errno(); /* clears earlier errors */
	result = dwfl_getthread_frames(dwfl, (pid_t)v->copy->tid, add_frame, v);
	if (v->end[0] != '\0')
		return;
	if (v->beyond_copy)
		why = "the copy of the stack ends";
	else if (v->read_failed)
		why = "memory that is on no stack";
	else if (result == 0)
		why = "no return address: the root";
	else
		why = dwfl_errmsg(-1);
	snprintf(v->end, sizeof(v->end), "%s", why ? why : "unknown error");
}

static void compare(struct verify *v, Dwfl *dwfl, const struct frame *ours, size_t n_ours,
		    struct verified_stack *s)
{
	s->frames = v->frames;
	s->n_frames = v->n_frames;
	s->end = v->end;
	s->result =
		verified_compare(ours, n_ours, v->frames, v->n_frames, v->beyond_copy, &s->n_equal);
	if (!verified_is_difference(s->result) || s->n_equal == 0 ||
	    has_rule(dwfl, &v->frames[s->n_equal - 1]))
		return;
	/* It used the frame pointer: a guess that proves nothing. */
	s->result = VERIFIED_NO_INFORMATION;
	if (s->n_equal < s->n_frames)
		v->frames[s->n_equal].method = DP_METHOD_FRAME_POINTER;
}

void verify_stack(struct verify *v, const struct verify_maps *maps, const struct stack_copy *copy,
		  const struct frame *ours, size_t n_ours, struct verified_stack *ret)
{
	struct view *view = NULL;
	int err;

	*ret = (struct verified_stack){ .result = VERIFIED_NO_START };
	v->maps = maps;
	v->copy = copy;
	err = find_view(v, maps, &view);
	if (err < 0) {
		log_debug("libdwfl cannot begin in process %d: %s", maps->pid, strerror(-err));
		return;
	}
	walk_stack(v, view->dwfl);
	if (v->n_frames > 0)
		compare(v, view->dwfl, ours, n_ours, ret);
}

int verify_new(unsigned int max_frames, struct verify **ret)
{
	struct verify *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->max_frames = max_frames;
	v->frames = calloc(max_frames, sizeof(*v->frames));
	if (!v->frames)
		return verify_free(v), -ENOMEM;
	*ret = v;
	return 0;
}

struct verify *verify_free(struct verify *v)
{
	if (!v)
		return NULL;
	for (size_t i = 0; i < N_VIEWS; i++)
		view_done(&v->views[i]);
	free(v->frames);
	free(v);
	return NULL;
}
