/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_TEXT_H
#define DP_SYMBOLS_DEBUG_TEXT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/*
 * Strings in debug information. libdw (0.188) does not check that they end in their section: a damaged one extends to
 * the next zero byte in memory.
 */

/*
 * Whether all string sections that libdw has opened end with a zero byte. If not, libdw must not be called for
 * anything with strings.
 */
bool debug_text_sections_end(Dwarf *dwarf);

/* Whether an attribute that stands in the unit itself, if there is one, ends in its section. */
bool debug_text_ends(Dwarf_Die *die, unsigned int name);

/* The text of an attribute, with references; NULL: there is none, or it does not end. */
const char *debug_text(Dwarf_Die *die, unsigned int name);

#endif
