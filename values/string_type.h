/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_STRING_TYPE_H
#define DP_VALUES_STRING_TYPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "values/string_layout.h"

/*
 * Is this type, as type_of() returns it, one whose objects have a text of bytes with its length:
 * strings and views of libstdc++ and libc++, Rust's &str, &[u8], Box<str>, String and Vec<u8>, Go's string and
 * []byte? By the names of the type and its members, whose offsets are the layout. A string of C++
 * of which clang only declares the type, or that of its pointer, has the layout of its ABI.
 */
bool string_type_layout(Dwarf_Die *type, struct string_layout *ret);

/* Is it a pointer to bytes, or characters of one byte? */
bool type_points_to_bytes(Dwarf_Die *type);

#endif
