// SPDX-License-Identifier: Apache-2.0
#include "process/mapping.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/uio.h>

#include "elf/mapped_file.h"
#include "elf/packed.h"
#include "kernel/permission.h"
#include "kernel/proc_stat.h"
#include "log/log.h"

bool mapping_read_word(pid_t pid, uint64_t address, uint64_t *ret)
{
	struct iovec local = { ret, sizeof(*ret) };
	struct iovec remote = { (void *)address, sizeof(*ret) };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == sizeof(*ret);
}

/* A process that runs has a file that only its mapping leads to. */
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

/* Whatever is executed and in no binary may be what a just-in-time compiler has made. */
static void resolve_jitted(struct process_table *table, struct process *p, struct mapping *m,
			   uint64_t inode, const char *name)
{
	int fd;

	if (!table->binaries->symbols)
		return;
	if (!p->jitted)
		p->jitted = jitted_new(&table->jitted, p->pid);
	m->jitted = p->jitted;
	if (!m->jitted || inode == 0 || !jitted_is_dump(p->pid, name))
		return;
	fd = mapped_file_open(p->thread, m->start, m->end, inode, name);
	if (fd >= 0)
		jitted_set_dump(m->jitted, fd);
}

/* The first code of the process that is in no binary: it may have unpacked itself. */
static void warn_packed(struct process_table *table, struct process *p)
{
	if (!p->packed_asked)
		packed_warn(&table->packed, p->thread);
	p->packed_asked = true;
}

/* Find the binary that a mapping is of. -ENOENT: it is of none. */
static int find_binary(struct process_table *table, const struct process *p,
		       const struct mapping *m, uint64_t inode, const char *name,
		       struct binary **ret)
{
	int fd, err;

	if (strcmp(name, "[vdso]") == 0)
		return binary_store_get_vdso(table->binaries, ret);
	if (name[0] != '/' || inode == 0)
		return -ENOENT;
	fd = mapped_file_open(p->thread, m->start, m->end, inode, name);
	err = fd < 0 ? fd : binary_store_get(table->binaries, p->thread, fd, name, ret);
	/* It is gone, and with it the way to its files. */
	if (fd < 0 && (*ret = binary_store_find(table->binaries, inode, name)) != NULL)
		err = 0;
	if (err < 0 && fd < 0)
		warn_unopened(table, p->thread, name);
	if (err == -EACCES && !table->binaries->has_warned_of_file) {
		table->binaries->has_warned_of_file = true;
		permission_explain_file(p->thread, name);
	}
	return err;
}

/* What the mapping is of is no binary that could be read. */
static void resolve_other(struct process_table *table, struct process *p, struct mapping *m,
			  uint64_t inode, const char *name, int err)
{
	if (inode != 0)
		log_debug("process %d: no table for %s: %s", p->thread, name, strerror(-err));
	warn_packed(table, p);
	resolve_jitted(table, p, m, inode, name);
}

static void resolve_cookie(const struct process *p, struct mapping *m)
{
	uint64_t word;

	m->has_cookie = mapping_has_cookie(m);
	/* If it fails, the process may have unmapped the binary meanwhile. */
	if (m->has_cookie)
		(void)mapping_read_word(p->thread, mapping_cookie_address(m), &word);
}

void mapping_resolve(struct process_table *table, struct process *p, struct mapping *m,
		     uint64_t inode, const char *name)
{
	struct binary *b = NULL;
	int err;

	if (table->no_binaries)
		return;
	/* That is no binary, and its reader should not have to wait until it is known. */
	err = inode != 0 && jitted_is_dump(p->pid, name) ?
		      -ENOEXEC :
		      find_binary(table, p, m, inode, name, &b);
	if (err == 0 && binary_is_pending(b)) {
		m->binary = b;
		m->is_pending = true;
		return;
	}
	if (err == 0)
		err = elf_facts_bias(&b->elf, m->start, m->offset, &m->bias);
	if (err < 0) {
		resolve_other(table, p, m, inode, name, err);
		return;
	}
	m->binary = b;
	resolve_cookie(p, m);
}

void mapping_settle(struct process_table *table, struct process *p, struct mapping *m)
{
	struct binary *b = m->binary;
	int err = b->err;

	m->is_pending = false;
	if (err == 0)
		err = elf_facts_bias(&b->elf, m->start, m->offset, &m->bias);
	if (err == 0) {
		resolve_cookie(p, m);
		return;
	}
	m->binary = NULL;
	/* What has ended may have been another program's. */
	if (m->died == TIME_NEVER)
		resolve_other(table, p, m, b->id.inode, b->module->path, err);
	jitted_hold(m->jitted);
	binary_drop(b);
}
