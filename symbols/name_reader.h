/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_NAME_READER_H
#define DP_SYMBOLS_NAME_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/file_digest.h"
#include "symbols/module.h"

struct code_line;
struct code_pages;
struct names;

/* What a reader knows about a module that it reads: its own. */
struct name_reading;

/*
 * Reads the names of binaries in place of this process, which then parses none of their files: in
 * processes without privileges, for example (sandbox/namers.h). It sees modules that have a file.
 * Only forget() is called from threads other than the one that looks up names. NULL: the process
 * reads them itself.
 */
struct name_reader {
	/*
	 * Finds the locations of addresses and adds them to module->locations; also sets the
	 * module's keeps_locations, is_partial and no_debug. 0, -ESHUTDOWN if this process has to
	 * do it, or another negative errno: nothing is known.
	 */
	int (*find)(void *arg, struct module *module, const uint64_t *addresses, size_t n,
		    bool lines);
	/* As module_find_start(); -ESHUTDOWN as above. */
	int (*find_start)(void *arg, struct module *module, uint64_t address, uint64_t *ret);
	/*
	 * Its file is about to be closed: reads what outlives that if `names`, closes its own
	 * files, and sets the module's has_symbols. Errors as above.
	 */
	int (*close)(void *arg, struct module *module, bool names);
	/* Reads the module's file, whose names are kept on disk (file_digest_read()). May be NULL. */
	int (*read_digest)(void *arg, const struct module *module, struct file_digest *ret);
	/*
	 * Opens the regular file with a path, of which a recording may have any; the caller closes it. -ESTALE
	 * if it is none, -ETIMEDOUT or -EBUSY if its file system does not answer, or the negative errno of
	 * opening it. May be NULL.
	 */
	int (*open_file)(void *arg, const char *path);
	/* As source_file_copy(), or -ETIMEDOUT or -EBUSY as above. May be NULL. */
	int (*copy_source)(void *arg, const char *path, int to);
	/*
	 * Of a file that a module may get; "": it has none. 0, -ETIMEDOUT if its file system does not answer, or
	 * another negative errno. May be NULL.
	 */
	int (*read_build_id)(void *arg, int fd, char ret[MODULE_BUILD_ID_SIZE]);
	/* As module_find_pages(). May be NULL. */
	int (*find_pages)(void *arg, const struct module *module, struct code_pages **ret,
			  size_t *ret_n);
	/* As module_disassemble(). May be NULL. */
	int (*disassemble)(void *arg, const struct module *module, uint64_t start, uint64_t end,
			   struct code_line **ret, size_t *ret_n);
	/* Servers may have more than this machine: forgets what was found. */
	void (*retry)(void *arg, struct module *module);
	/* Ends helpers that have been idle for this long; later requests start new ones. May be NULL. */
	void (*rest)(void *arg, uint64_t idle_ns);
	/* Frees module->reading, which is not NULL. */
	void (*forget)(void *arg, struct module *module);
	/* Frees the reader, after forget() of all modules. */
	void (*free)(void *arg);
};

/* From now on, a reader reads names, or none does. Frees the one before. Not during a look-up. */
void names_set_reader(struct names *names, const struct name_reader *reader, void *arg);

#endif
