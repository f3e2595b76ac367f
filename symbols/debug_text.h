/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_SYMBOLS_DEBUG_TEXT_H
#define DP_SYMBOLS_DEBUG_TEXT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

/*
 * Texts in debug information. libdw (0.188) does not look where they end: a damaged one goes on behind
 * its section, up to the next zero in memory.
 */

/*
 * Whether all sections of texts end with a zero, as libdw has opened them. If not, libdw may be asked
 * for nothing that has texts.
 */
bool debug_text_sections_end(Dwarf *dwarf);

/* Whether an attribute that stands in the unit itself, if there is one, ends in its section. */
bool debug_text_ends(Dwarf_Die *die, unsigned int name);

/* The text of an attribute, with references; NULL: there is none, or it does not end. */
const char *debug_text(Dwarf_Die *die, unsigned int name);

#endif
