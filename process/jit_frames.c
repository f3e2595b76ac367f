// SPDX-License-Identifier: Apache-2.0
/* Unwind information of generated code without names: registered in libgcc, or in a jitdump. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file_stat.h"
#include "elf/mapped_file.h"
#include "limits/limits.h"
#include "log/clock.h"
#include "log/log.h"
#include "process/jit_parts.h"

/* A jitdump is read from its beginning, in some ns per byte: it is not before a hundred times that. */
#define PAUSE_NS_PER_BYTE 200

struct walk {
	const struct jit_look *look;
	const struct jit_list *list;
};

static int note_frames(void *arg, uint64_t at, uint64_t eh_frame)
{
	const struct walk *w = arg;
	const struct jit_object found = { .source = JIT_REGISTERED,
					  .list = w->list->at,
					  .at = at,
					  .entry = { .file = eh_frame } };
	int err = jit_object_note(w->look, &found);

	return err == 1 ? -ECANCELED : err;
}

int jit_frames_walk(const struct jit_look *l, const struct jit_list *list)
{
	struct walk walk = { l, list };
	int err = frame_registry_each(l->table, l->process, &list->words, list->bias,
				      clock_now_ns() + FRAME_REGISTRY_NS, note_frames, &walk);

	return err == -ECANCELED ? 1 : err;
}

static bool is_being_read(const struct jit_objects *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->objects[i].source == JIT_DUMP_FILE && !o->objects[i].is_mapped)
			return true;
	return false;
}

static int read_file(const struct jit_look *l, int fd, struct jit_object *object)
{
	_cleanup_close_ int own = fd;

	if (object->entry.size > JIT_OBJECTS_BYTES - l->objects->bytes)
		return -ENOSPC;
	return binary_store_get_dump(l->table->binaries, l->process->pid, steal_fd(&own),
				     object->entry.size, &object->binary);
}

bool jit_frames_read_dump(const struct jit_look *l)
{
	struct jit_dump_file *d = &l->objects->dump;
	struct jit_object object = { .source = JIT_DUMP_FILE, .at = d->n + 1 };
	_cleanup_close_ int fd = -1;
	struct stat st;
	int err;

	if (!d->name || is_being_read(l->objects))
		return false;
	if (l->now < d->next)
		return true;
	fd = mapped_file_find_named(l->process->thread, d->inode, d->name);
	if (fd < 0 || file_stat(fd, &st) < 0 || st.st_size <= 0 || (uint64_t)st.st_size == d->size)
		return false;
	d->size = (uint64_t)st.st_size;
	/* Nothing is read of one that is larger. */
	d->next = l->now + PAUSE_NS_PER_BYTE * (d->size < JIT_FILE_MAX ? d->size : JIT_FILE_MAX);
	object.entry.size = d->size < FRAMES_JOINED_MAX ? d->size : FRAMES_JOINED_MAX;
	err = read_file(l, steal_fd(&fd), &object);
	log_debug("process %d: %s has %" PRIu64 " bytes%s%s", l->process->pid, d->name, d->size,
		  err < 0 ? ": " : "", err < 0 ? strerror(-err) : "");
	if (err == 0 && jit_object_add(l, &object) == 0)
		d->n++;
	return false;
}

void jit_frames_drop_old(const struct jit_look *l)
{
	struct jit_objects *o = l->objects;
	uint64_t newest = 0;

	for (size_t i = 0; i < o->n; i++) {
		const struct jit_object *object = &o->objects[i];

		if (object->source == JIT_DUMP_FILE && object->is_mapped && object->binary &&
		    object->at > newest)
			newest = object->at;
	}
	for (size_t i = o->n; i-- > 0;)
		if (o->objects[i].source == JIT_DUMP_FILE && o->objects[i].is_mapped &&
		    (!o->objects[i].binary || o->objects[i].at < newest))
			jit_object_drop(l, &o->objects[i]);
}
