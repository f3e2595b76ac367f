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
 * Prepares for reading names from the module's files: if they may be kept, files that are not
 * steady are copied first.
 */
void module_pin_files(struct module *module);

/* Opens the debug information, from the same files. Returns as debug_info_new(). */
int module_open_debug(struct module *module);

#endif
