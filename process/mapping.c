// SPDX-License-Identifier: Apache-2.0
#include "process/mapping.h"

#include <errno.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf/mapped_file.h"
#include "elf/packed.h"
#include "kernel/permission.h"
#include "kernel/proc_stat.h"
#include "log/log.h"
#include "sandbox/fetchers.h"

/* While a process runs, its mapping may be the only way to the file. */
static void warn_unopened(struct process_table *table, pid_t pid, const char *name)
{
	if (table->has_warned_of_file || permission_has(CAP_SYS_ADMIN) ||
	    permission_has(CAP_CHECKPOINT_RESTORE) || proc_stat_live_thread(pid) == 0)
		return;
	log_warning("cannot open %s, which was deleted or replaced after process %d had mapped it: "
		    "stacks may end there; CAP_CHECKPOINT_RESTORE opens it",
		    name, pid);
	table->has_warned_of_file = true;
}

static void warn_of_many(struct process_table *table)
{
	if (!table->binaries->has_warned_of_many)
		log_warning(
			"more files are mapped as code than may be open: stacks end in the others; "
			"ulimit -n 1000000 would raise the limit");
	table->binaries->has_warned_of_many = true;
}

static void explain_unopened(struct process_table *table, pid_t pid, const char *name, int err)
{
	warn_unopened(table, pid, name);
	if (err != -EACCES || table->binaries->has_warned_of_file)
		return;
	table->binaries->has_warned_of_file = true;
	permission_explain_file(pid, name);
}

/* The reader of the jitdump opens it. */
static void set_dump(const struct process *p, const struct mapping *m, uint64_t inode,
		     const char *name)
{
	int fd = mapped_file_find_named(p->thread, inode, name);

	if (fd == -EAGAIN)
		jitted_set_dump_path(m->jitted, p->thread, name, inode);
	else if (fd >= 0)
		jitted_set_dump(m->jitted, fd);
}

/* Code that is executed and in no binary may come from a just-in-time compiler. */
static void resolve_jitted(struct process_table *table, struct process *p, struct mapping *m,
			   uint64_t inode, const char *name)
{
	bool is_dump = inode != 0 && jitted_is_dump(p->pid, name);

	if (is_dump)
		jit_objects_meet_dump(p, inode, name);
	if (!table->binaries->symbols)
		return;
	if (!p->jitted)
		p->jitted = jitted_new(&table->jitted, p->pid);
	m->jitted = p->jitted;
	if (m->jitted && is_dump)
		set_dump(p, m, inode, name);
}

/* The file is the same as another one, which is used from now on. */
static void follow_same(struct binary **b)
{
	struct binary *old;

	while ((old = *b)->same) {
		*b = old->same;
		binary_hold(*b);
		binary_drop(old);
	}
}

bool process_settle_program(struct process_table *table, struct process *p)
{
	const struct binary *b;

	if (!p->program)
		return true;
	follow_same(&p->program);
	b = p->program;
	if (binary_is_pending(b))
		return false;
	if (b->err == 0)
		packed_report(&table->packed, b->elf.packer, b->id.device, b->id.inode, p->thread,
			      b->module->path);
	process_forget_program(p);
	return true;
}

void process_forget_program(struct process *p)
{
	binary_drop(p->program);
	p->program = NULL;
}

/* The process's first code that is in no binary: it may have unpacked itself. */
static void ask_packed(struct process_table *table, struct process *p)
{
	char path[32], name[PATH_MAX];
	ssize_t length;
	int fd;

	if (p->packed_asked)
		return;
	p->packed_asked = true;
	snprintf(path, sizeof(path), "/proc/%d/exe", p->thread);
	length = readlink(path, name, sizeof(name) - 1);
	fd = length > 0 ? mapped_file_find_program(p->thread) : -1;
	if (fd < 0)
		return;
	name[length] = '\0';
	process_forget_program(p);
	if (binary_store_get(table->binaries, p->thread, fd, name, &p->program) < 0)
		return;
	binary_hold(p->program);
	p->has_pending |= !process_settle_program(table, p);
}

/* Looks the file of a mapping up. */
static int look_up(struct process_table *table, const struct process *p, const struct mapping *m,
		   uint64_t inode, const char *name, struct binary **ret)
{
	const struct file_mapping mapping = { p->thread, m->start, m->end, inode };
	int fd;

	/* A list may have tens of thousands of lines, and each would open its file. */
	if (binary_store_is_cancelled(table->binaries))
		return -ECANCELED;
	fd = mapped_file_find_named(p->thread, inode, name);
	if (fd >= 0)
		return binary_store_get(table->binaries, p->thread, fd, name, ret);
	if (fd == -EAGAIN)
		return binary_store_find_later(table->binaries, &mapping, name, ret);
	if (fd == -EMFILE)
		return fd;
	/* The process is gone, and with it access to its files. */
	*ret = binary_store_find(table->binaries, inode, name);
	return *ret ? 0 : fd;
}

/* Finds the binary of a mapping. -ENOENT: it has none. */
static int find_binary(struct process_table *table, const struct process *p,
		       const struct mapping *m, const struct mapped_id *file, const char *name,
		       struct binary **ret)
{
	int err;

	if (strcmp(name, "[vdso]") == 0)
		return binary_store_get_vdso(table->binaries, ret);
	if (name[0] != '/' || file->inode == 0)
		return -ENOENT;
	*ret = mapped_id_find(table->binaries, file);
	if (*ret)
		return 0;
	err = look_up(table, p, m, file->inode, name, ret);
	if (err == 0)
		mapped_id_note(table->binaries, *ret, file);
	return err;
}

/* Could the file not be opened or read? Or is it no binary, or none of this machine? */
static bool is_unread(int err)
{
	switch (err) {
	case -EACCES:
	case -EAGAIN:
	case -EBUSY:
	case -EIO:
	case -ELOOP:
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -ENOTCONN: /* FUSE without its server */
	case -EPERM:
	case -ESTALE:
	case -ETIMEDOUT:
		return true;
	default:
		return false;
	}
}

/* A mapping without a binary that could be opened and read. */
static void resolve_other(struct process_table *table, struct process *p, struct mapping *m,
			  uint64_t inode, const char *name, int err)
{
	if (err == -ECANCELED)
		return;
	m->is_unread = inode != 0 && is_unread(err);
	if (err == -EMFILE)
		warn_of_many(table);
	else if (inode != 0)
		log_debug("process %d: no table for %s: %s", p->thread, name, strerror(-err));
	ask_packed(table, p);
	resolve_jitted(table, p, m, inode, name);
}

/*
 * What does not begin where the file's code does may have been mapped alone, as V8 does with its
 * builtins: then other memory is where the cookie would be.
 */
static bool has_cookie(const struct process_table *table, const struct process *p,
		       const struct mapping *m)
{
	uint64_t found;

	if (!mapping_has_cookie(m) || elf_facts_begin_code(&m->binary->elf, m->offset))
		return mapping_has_cookie(m);
	return fetchers_read(table->fetchers, p->thread, mapping_cookie_address(m), &found,
			     sizeof(found)) == 0 &&
	       found == m->binary->elf.cookie;
}

/*
 * Most programs touch the page of the cookie while they start, or a neighbour, and the kernel maps
 * both. To bring it for all would cost more than the rest of a new mapping.
 */
static void resolve_cookie(const struct process_table *table, const struct process *p,
			   struct mapping *m)
{
	m->has_cookie = has_cookie(table, p, m);
	/* On failure the process may have unmapped the binary meanwhile. */
	if (m->has_cookie && p->lacks_cookies)
		fetchers_bring(table->fetchers, p->thread, mapping_cookie_address(m));
}

void mapping_resolve_as(struct process_table *table, struct process *p, struct mapping *m,
			struct binary *b, const char *name)
{
	int err;

	if (binary_is_pending(b)) {
		m->binary = b;
		m->is_pending = true;
		return;
	}
	err = elf_facts_bias(&b->elf, m->start, m->offset, &m->bias);
	if (err < 0) {
		resolve_other(table, p, m, b->id.inode, name, err);
		return;
	}
	m->binary = b;
	resolve_cookie(table, p, m);
	hotspot_meet(p, m);
	jit_objects_meet(p, m);
}

void mapping_resolve(struct process_table *table, struct process *p, struct mapping *m,
		     const struct mapped_id *file, const char *name)
{
	struct binary *b = NULL;
	int err;

	if (table->no_binaries)
		return;
	/* Not a binary, and its reader should not have to wait until that is known. */
	err = file->inode != 0 && jitted_is_dump(p->pid, name) ?
		      -ENOEXEC :
		      find_binary(table, p, m, file, name, &b);
	if (err == 0)
		mapping_resolve_as(table, p, m, b, name);
	else
		resolve_other(table, p, m, file->inode, name, err);
}

/* If the process ended before the file could be opened, another process may have it. */
static void find_again(const struct binary_store *store, struct mapping *m)
{
	struct binary *b = m->binary, *known = NULL;

	if (b->is_unopened)
		known = binary_store_find(store, b->id.inode, b->module->path);
	if (!known)
		return;
	binary_hold(known);
	m->binary = known;
	binary_drop(b);
}

bool mapping_settle(struct process_table *table, struct process *p, struct mapping *m)
{
	struct binary *b;
	int err;

	follow_same(&m->binary);
	find_again(table->binaries, m);
	b = m->binary;
	if (binary_is_pending(b))
		return false;
	m->is_pending = false;
	err = b->err;
	if (err == 0)
		err = elf_facts_bias(&b->elf, m->start, m->offset, &m->bias);
	if (err == 0) {
		if (m->died != TIME_NEVER) {
			m->has_cookie = has_cookie(table, p, m);
			return true;
		}
		resolve_cookie(table, p, m);
		hotspot_meet(p, m);
		jit_objects_meet(p, m);
		return true;
	}
	m->binary = NULL;
	/* A mapping that has ended may have been another program's. */
	if (m->died == TIME_NEVER && b->is_unopened && err != -EMFILE)
		explain_unopened(table, p->thread, b->module->path, err);
	if (m->died == TIME_NEVER)
		resolve_other(table, p, m, b->id.inode, b->module->path, err);
	jitted_hold(m->jitted);
	binary_drop(b);
	return true;
}
