/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_ELF_VM_STRUCTS_H
#define DP_ELF_VM_STRUCTS_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/elf_file.h"

/*
 * Where a JVM describes its own structures. libjvm.so exports pointers to tables of them, and where an
 * entry has what (HotSpot's vmStructs.cpp). The tables are made when it is loaded: they are not in the
 * file.
 *
 *   X(enumerator, symbol)
 */
#define VM_STRUCTS_LIST(X)                                                                         \
	X(STRUCTS, "gHotSpotVMStructs")                                                            \
	X(STRUCT_STRIDE, "gHotSpotVMStructEntryArrayStride")                                       \
	X(STRUCT_TYPE, "gHotSpotVMStructEntryTypeNameOffset")                                      \
	X(STRUCT_FIELD, "gHotSpotVMStructEntryFieldNameOffset")                                    \
	X(STRUCT_FIELD_TYPE, "gHotSpotVMStructEntryTypeStringOffset")                              \
	X(STRUCT_IS_STATIC, "gHotSpotVMStructEntryIsStaticOffset")                                 \
	X(STRUCT_OFFSET, "gHotSpotVMStructEntryOffsetOffset")                                      \
	X(STRUCT_ADDRESS, "gHotSpotVMStructEntryAddressOffset")                                    \
	X(TYPES, "gHotSpotVMTypes")                                                                \
	X(TYPE_STRIDE, "gHotSpotVMTypeEntryArrayStride")                                           \
	X(TYPE_NAME, "gHotSpotVMTypeEntryTypeNameOffset")                                          \
	X(TYPE_SIZE, "gHotSpotVMTypeEntrySizeOffset")                                              \
	X(CONSTANTS, "gHotSpotVMIntConstants")                                                     \
	X(CONSTANT_STRIDE, "gHotSpotVMIntConstantEntryArrayStride")                                \
	X(CONSTANT_NAME, "gHotSpotVMIntConstantEntryNameOffset")                                   \
	X(CONSTANT_VALUE, "gHotSpotVMIntConstantEntryValueOffset")                                 \
	X(LONGS, "gHotSpotVMLongConstants")                                                        \
	X(LONG_STRIDE, "gHotSpotVMLongConstantEntryArrayStride")                                   \
	X(LONG_NAME, "gHotSpotVMLongConstantEntryNameOffset")                                      \
	X(LONG_VALUE, "gHotSpotVMLongConstantEntryValueOffset")

#define X(name, symbol) VM_##name,
enum vm_struct { VM_STRUCTS_LIST(X) VM_N_STRUCTS };
#undef X

/* The symbols' addresses in the file's own address space; all 0: it is no JVM, or does not describe itself. */
struct vm_structs {
	uint64_t at[VM_N_STRUCTS];
	/* Programs can start a JVM in it, whether it describes itself or not. No bool: helpers send it. */
	uint64_t is_jvm;
};

void vm_structs_find(const struct elf_file *file, struct vm_structs *ret);

static inline bool vm_structs_exist(const struct vm_structs *v)
{
	return v->at[VM_STRUCTS] != 0;
}

#endif
