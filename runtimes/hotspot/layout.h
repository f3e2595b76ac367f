/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_RUNTIMES_HOTSPOT_LAYOUT_H
#define DP_RUNTIMES_HOTSPOT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/vm_structs.h"

/*
 * The offsets of members in a HotSpot JVM's structures, from the tables in its memory (vm_structs.h): no version's
 * offsets are built in. The tables are untrusted: their lengths are bounded, and values are checked where they are
 * used.
 */

/* Reads memory of a process, as process_memory_read(). 0 or a negative errno. */
typedef int hotspot_read(void *memory, void *ret, size_t size, uint64_t address);

/*
 * Members and static variables. Of several with the same name a JVM has one.
 *
 *   X(enumerator, type, member)
 */
#define HOTSPOT_MEMBERS(X)                                                                            \
	X(HEAPS, "CodeCache", "_heaps")                                                               \
	X(INTERPRETER, "AbstractInterpreter", "_code")                                                \
	X(CALL_STUB_RETURN, "StubRoutines", "_call_stub_return_address")                              \
	X(ARRAY_LENGTH, "GrowableArrayBase", "_len")                                                  \
	X(ARRAY_DATA, "GrowableArray<int>", "_data")                                                  \
	X(SPACE_START, "VirtualSpace", "_low_boundary")                                               \
	X(SPACE_END, "VirtualSpace", "_high_boundary")                                                \
	X(SPACE_LOW, "VirtualSpace", "_low")                                                          \
	X(HEAP_MEMORY, "CodeHeap", "_memory")                                                         \
	X(HEAP_MAP, "CodeHeap", "_segmap")                                                            \
	X(HEAP_BITS, "CodeHeap", "_log2_segment_size")                                                \
	X(STUBS_START, "StubQueue", "_stub_buffer")                                                   \
	X(STUBS_SIZE, "StubQueue", "_buffer_limit")                                                   \
	X(BLOB_NAME, "CodeBlob", "_name")                                                             \
	X(BLOB_SIZE, "CodeBlob", "_size")                                                             \
	X(BLOB_FRAME_SIZE, "CodeBlob", "_frame_size")                                                 \
	X(BLOB_COMPLETE, "CodeBlob", "_frame_complete_offset")                                        \
	X(BLOB_CODE_BEGIN, "CodeBlob", "_code_begin")                                                 \
	X(BLOB_CODE_OFFSET, "CodeBlob", "_code_offset")                                               \
	X(COMPILED_METHOD, "CompiledMethod", "_method")                                               \
	X(NMETHOD_METHOD, "nmethod", "_method")                                                       \
	X(NMETHOD_ID, "nmethod", "_compile_id")                                                       \
	X(METHOD_CONST, "Method", "_constMethod")                                                     \
	X(CONST_CONSTANTS, "ConstMethod", "_constants")                                               \
	X(CONST_NAME, "ConstMethod", "_name_index")                                                   \
	X(POOL_HOLDER, "ConstantPool", "_pool_holder")                                                \
	X(POOL_LENGTH, "ConstantPool", "_length")                                                     \
	X(KLASS_NAME, "Klass", "_name")                                                               \
	X(SYMBOL_LENGTH, "Symbol", "_length")                                                         \
	X(SYMBOL_BODY, "Symbol", "_body[0]")                                                          \
	/* Those that follow need not be there: without them, inlined methods or lines are missing */ \
	X(BLOB_MUTABLE, "CodeBlob", "_mutable_data")                                                  \
	X(BLOB_MUTABLE_SIZE, "CodeBlob", "_mutable_data_size")                                        \
	X(BLOB_RELOCATION_SIZE, "CodeBlob", "_relocation_size")                                       \
	X(COMPILED_SCOPES, "CompiledMethod", "_scopes_data_begin")                                    \
	X(NMETHOD_DESCS, "nmethod", "_scopes_pcs_offset")                                             \
	X(NMETHOD_SCOPES, "nmethod", "_scopes_data_offset")                                           \
	X(NMETHOD_DEPENDENCIES, "nmethod", "_dependencies_offset")                                    \
	X(NMETHOD_METADATA, "nmethod", "_metadata_offset")                                            \
	X(NMETHOD_IMMUTABLE, "nmethod", "_immutable_data")                                            \
	X(NMETHOD_IMMUTABLE_SIZE, "nmethod", "_immutable_data_size")                                  \
	X(DESC_PC, "PcDesc", "_pc_offset")                                                            \
	X(DESC_SCOPE, "PcDesc", "_scope_decode_offset")                                               \
	X(CONST_SIZE, "ConstMethod", "_code_size")                                                    \
	X(CONST_FLAGS, "ConstMethod", "_flags")                                                       \
	X(CONST_FLAGS_APART, "ConstMethod", "_flags._flags")                                          \
	X(POOL_FILE, "ConstantPool", "_source_file_name_index")                                       \
	/* Without these, frames of virtual threads that are in the heap are not read */              \
	X(LOADERS, "ClassLoaderDataGraph", "_head")                                                   \
	X(LOADER_NEXT, "ClassLoaderData", "_next")                                                    \
	X(LOADER_CLASSES, "ClassLoaderData", "_klasses")                                              \
	X(KLASS_NEXT, "Klass", "_next_link")                                                          \
	X(KLASS_LAYOUT, "Klass", "_layout_helper")                                                    \
	X(CLASS_FIELDS, "InstanceKlass", "_fieldinfo_stream")                                         \
	X(CLASS_CONSTANTS, "InstanceKlass", "_constants")                                             \
	X(BYTES_DATA, "Array<u1>", "_data")                                                           \
	X(OOP_CLASS, "oopDesc", "_compressed_klass")                                                  \
	X(OOP_BASE, "CompressedOops", "_base")                                                        \
	X(OOP_SHIFT, "CompressedOops", "_shift")                                                      \
	X(ENTRY_RETURN, "ContinuationEntry", "_return_pc")                                            \
	/* Without these, the classes of objects are not known */                                     \
	X(OBJECT_CLASS, "oopDesc", "_metadata._klass")                                                \
	X(CLASS_BASE, "CompressedKlassPointers", "_base")                                             \
	X(CLASS_SHIFT, "CompressedKlassPointers", "_shift")                                           \
	X(FLAGS, "JVMFlag", "flags")                                                                  \
	X(FLAG_COUNT, "JVMFlag", "numFlags")                                                          \
	X(FLAG_NAME, "JVMFlag", "_name")                                                              \
	X(FLAG_ADDRESS, "JVMFlag", "_addr")                                                           \
	/* What earlier versions have instead: up to JDK 8, */                                        \
	X(HEAP, "CodeCache", "_heap")                                                                 \
	X(SYMBOL_BODY_WHOLE, "Symbol", "_body")                                                       \
	/* up to 12, and up to 13, */                                                                 \
	X(FLAGS_12, "Flag", "flags")                                                                  \
	X(FLAG_COUNT_12, "Flag", "numFlags")                                                          \
	X(FLAG_NAME_12, "Flag", "_name")                                                              \
	X(FLAG_ADDRESS_12, "Flag", "_addr")                                                           \
	X(CLASS_BASE_13, "Universe", "_narrow_klass._base")                                           \
	X(CLASS_SHIFT_13, "Universe", "_narrow_klass._shift")                                         \
	/* up to 14, */                                                                               \
	X(ARRAY_LENGTH_GENERIC, "GenericGrowableArray", "_len")                                       \
	/* up to 22, */                                                                               \
	X(CLASS_BASE_22, "CompressedKlassPointers", "_narrow_klass._base")                            \
	X(CLASS_SHIFT_22, "CompressedKlassPointers", "_narrow_klass._shift")                          \
	X(CLASS_FILE, "InstanceKlass", "_source_file_name_index")                                     \
	/* up to 25 */                                                                                \
	X(OOP_CLASS_UNION, "oopDesc", "_metadata._compressed_klass")                                  \
	X(OOP_BASE_NARROW, "CompressedOops", "_narrow_oop._base")                                     \
	X(OOP_SHIFT_NARROW, "CompressedOops", "_narrow_oop._shift")

#define X(name, type, member) HOTSPOT_##name,
enum hotspot_member { HOTSPOT_MEMBERS(X) HOTSPOT_N_MEMBERS };
#define HOTSPOT_N_NEEDED HOTSPOT_BLOB_MUTABLE
#undef X

struct hotspot_layout {
	/* An offset, or a static variable's address; HOTSPOT_MISSING: the JVM has no such member */
	uint64_t at[HOTSPOT_N_MEMBERS];
	uint64_t pool_size;  /* of a ConstantPool, which its entries follow */
	uint64_t desc_size;  /* of a PcDesc, and */
	uint64_t const_size; /* of a ConstMethod, which its bytecodes follow; 0: not known */
	uint64_t block_size; /* of a HeapBlock, which its code follows */
	/* In words: where an interpreter's frame has its caller's sp, and its own; its Method is below */
	int32_t sender_sp, last_sp;
	bool has_continuations; /* it can have virtual threads */
	bool complete_is_short; /* HOTSPOT_BLOB_COMPLETE has two bytes, not four */
};

#define HOTSPOT_MISSING UINT64_MAX

/*
 * Reads the tables of the JVM whose library is mapped with this bias. 0; -EAGAIN: they cannot be read
 * now; -ENOTSUP: something that is needed is not in them.
 */
int hotspot_layout_read(struct hotspot_layout *ret, const struct vm_structs *tables, uint64_t bias,
			hotspot_read *read, void *memory);

/* Options of a JVM, which it has once it has started: where its objects have their class. */
struct hotspot_flags {
	uint8_t is_short;   /* a number, not an address, in half a word, or */
	uint8_t is_in_mark; /* in the first word, from this bit on */
	uint64_t mark_shift;
};

/* 0; -ENOTSUP: it does not tell; or an error of reading, also -EAGAIN. */
int hotspot_flags_read(const struct hotspot_layout *layout, const struct vm_structs *tables,
		       uint64_t bias, hotspot_read *read, void *memory, struct hotspot_flags *ret);

static inline bool hotspot_layout_has(const struct hotspot_layout *layout,
				      enum hotspot_member member)
{
	return layout->at[member] != HOTSPOT_MISSING;
}

#endif
