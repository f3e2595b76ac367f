/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_MODULE_KEEP_H
#define DP_SYMBOLS_MODULE_KEEP_H

#include "symbols/module.h"

/* Locations of a module from an earlier run, and for the next one (location_file.h). */

/*
 * Reads the locations from an earlier run, once. If they are missing or damaged, they are looked up
 * again.
 */
void module_read_locations(struct module *module);

/* Writes new locations to the cache set with names_set_cache(). */
void module_keep_locations(struct module *module);

/*
 * The file that names are read from; -1: there is none. If names may be kept, files that are not
 * steady are copied first. Whoever reads names asks here, so that none are of other bytes.
 */
int module_read_fd(struct module *module);

/* Names that are read from now on are not kept. */
void module_stop_keeping(struct module *module);

/* Opens the debug information, from the same files as other names. Returns as debug_info_new(). */
int module_open_debug(struct module *module);

#endif
