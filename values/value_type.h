/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_VALUES_VALUE_TYPE_H
#define DP_VALUES_VALUE_TYPE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * How a value of a program's memory or registers is read and written.
 *
 * X(enumerator, word, size in bytes, how it is written)
 */
#define VALUE_TYPES(X)                                                                             \
	X(U8, "u8", 1, UNSIGNED)                                                                   \
	X(U16, "u16", 2, UNSIGNED)                                                                 \
	X(U32, "u32", 4, UNSIGNED)                                                                 \
	X(U64, "u64", 8, UNSIGNED)                                                                 \
	X(S8, "s8", 1, SIGNED)                                                                     \
	X(S16, "s16", 2, SIGNED)                                                                   \
	X(S32, "s32", 4, SIGNED)                                                                   \
	X(S64, "s64", 8, SIGNED)                                                                   \
	X(X8, "x8", 1, HEX)                                                                        \
	X(X16, "x16", 2, HEX)                                                                      \
	X(X32, "x32", 4, HEX)                                                                      \
	X(X64, "x64", 8, HEX)                                                                      \
	X(PTR, "ptr", 8, HEX)                                                                      \
	X(BOOL, "bool", 1, BOOL)                                                                   \
	X(CHAR, "char", 1, CHAR)                                                                   \
	X(F32, "f32", 4, FLOAT)                                                                    \
	X(F64, "f64", 8, FLOAT)                                                                    \
	X(STR, "str", 8, TEXT)                                                                     \
	X(BYTES, "bytes", 8, TEXT)                                                                 \
	X(STD_STRING, "std::string", 8, TEXT)                                                      \
	X(STD_STRING_VIEW, "std::string_view", 8, TEXT)                                            \
	X(LIBCXX_STRING, "std::__1::string", 8, TEXT)                                              \
	X(RUST_STR, "rust_str", 8, TEXT)                                                           \
	X(GO_STR, "gostr", 8, TEXT)

#define X(name, word, size, kind) VALUE_##name,
enum value_type { VALUE_TYPES(X) VALUE_N_TYPES };
#undef X

enum value_kind {
	VALUE_IS_UNSIGNED,
	VALUE_IS_SIGNED,
	VALUE_IS_HEX,
	VALUE_IS_BOOL,
	VALUE_IS_CHAR,
	VALUE_IS_FLOAT,
	VALUE_IS_TEXT, /* a pointer to bytes; those of VALUE_STR end with a zero */
};

/* The type with this name of `length` bytes; VALUE_N_TYPES: there is none. */
enum value_type value_type_find(const char *name, size_t length);
/* The type of this kind and size; VALUE_N_TYPES: there is none. */
enum value_type value_type_of(enum value_kind kind, size_t size);
/* Its name; NULL for VALUE_N_TYPES. */
const char *value_type_word(enum value_type type);
size_t value_type_size(enum value_type type);
enum value_kind value_type_kind(enum value_type type);

/* Writes "u8, u16, ..., str, ...". */
void value_types_list(FILE *to);

/* The value in the low bytes of a word, zero- or sign-extended. */
uint64_t value_type_extend(enum value_type type, uint64_t word);

#endif
