// SPDX-License-Identifier: Apache-2.0
/* Where objects of a JVM have their classes, by the options that it runs with. */
#include "runtimes/hotspot/classes.h"

#include "runtimes/tests/memory_fixture.h"

/* What the library exports, each a word, in the order of enum vm_struct; and the tables. */
enum {
	EXPORTED = PLACE,
	TYPES = PLACE + 0x200,
	LONGS = PLACE + 0x300,
	FLAGS = PLACE + 0x400,
	FLAG_VALUES = PLACE + 0x500,
	VARIABLES = PLACE + 0x600,
	TEXTS = PLACE + 0x1000,
	STRIDE = 16,
	FLAG_SIZE = 24,
};

#define BASE 0x7f0000000000

static struct vm_structs exported;
static struct hotspot_layout layout;
static struct dp_hotspot code;
static uint64_t text_end;

static uint64_t put_text(const char *text)
{
	uint64_t at = text_end;

	put(at, text, strlen(text) + 1);
	text_end += strlen(text) + 1;
	return at;
}

/* An entry of a name and a value, at the end of whose table nothing follows. */
static void put_entry(uint64_t at, const char *name, uint64_t value)
{
	put_word(at, put_text(name));
	put_word(at + 8, value);
}

static void export(enum vm_struct which, uint64_t value)
{
	put_word(EXPORTED + 8 * which, value);
}

static void put_flag(unsigned int i, const char *name, uint8_t value)
{
	put_word(FLAGS + i * FLAG_SIZE, FLAG_VALUES + i);
	put_word(FLAGS + i * FLAG_SIZE + 8, put_text(name));
	put(FLAG_VALUES + i, &value, 1);
}

static void begin(void)
{
	text_end = TEXTS;
	for (size_t i = 0; i < VM_N_STRUCTS; i++)
		exported.at[i] = EXPORTED + 8 * i;
	export(VM_TYPES, TYPES);
	export(VM_TYPE_STRIDE, STRIDE);
	export(VM_TYPE_SIZE, 8);
	export(VM_LONGS, LONGS);
	export(VM_LONG_STRIDE, STRIDE);
	export(VM_LONG_VALUE, 8);
	put_entry(TYPES, "Symbol", 8);
	put_entry(TYPES + STRIDE, "JVMFlag", FLAG_SIZE);
	put_entry(LONGS, "markWord::klass_shift", 42);
	put_flag(0, "UseG1GC", 1);
	put_flag(1, "UseCompressedClassPointers", 1);
	put_flag(2, "UseCompactObjectHeaders", 0);
	for (size_t i = 0; i < HOTSPOT_N_MEMBERS; i++)
		layout.at[i] = HOTSPOT_MISSING;
	layout.at[HOTSPOT_OBJECT_CLASS] = 8;
	layout.at[HOTSPOT_KLASS_NAME] = 24;
	layout.at[HOTSPOT_SYMBOL_LENGTH] = 4;
	layout.at[HOTSPOT_SYMBOL_BODY] = 6;
	layout.at[HOTSPOT_FLAG_ADDRESS] = 0;
	layout.at[HOTSPOT_FLAG_NAME] = 8;
	layout.at[HOTSPOT_FLAGS] = VARIABLES;
	layout.at[HOTSPOT_FLAG_COUNT] = VARIABLES + 8;
	layout.at[HOTSPOT_CLASS_BASE] = VARIABLES + 16;
	layout.at[HOTSPOT_CLASS_SHIFT] = VARIABLES + 24;
	put_word(VARIABLES, FLAGS);
	put_word(VARIABLES + 8, 4); /* the last one has no name */
	put_word(VARIABLES + 16, BASE);
	put_word(VARIABLES + 24, 3);
	code = (struct dp_hotspot){ 0 };
}

TestSuite(hotspot_classes, .init = begin);

static int read_classes(void)
{
	struct hotspot_flags flags;
	int err = hotspot_flags_read(&layout, &exported, 0, read_bytes, NULL, &flags);

	return err < 0 ? err : hotspot_classes_read(&layout, &flags, read_bytes, NULL, &code);
}

/* As the kernel finds it, by the word in the object. */
static uint64_t class_of(uint64_t word)
{
	return code.class_base + (word << code.class_lift >> code.class_drop << code.class_up);
}

Test(hotspot_classes, are_numbers)
{
	cr_assert_eq(read_classes(), 0);
	cr_expect(code.has_classes);
	cr_expect_eq(code.class_at, 8);
	cr_expect_eq(class_of(0xffffffff00001000), BASE + 0x8000);
	cr_expect_eq(code.class_name, 24);
	cr_expect_eq(code.symbol_length, 4);
	cr_expect_eq(code.symbol_text, 6);
}

Test(hotspot_classes, are_addresses)
{
	put_flag(1, "UseCompressedClassPointers", 0);
	cr_assert_eq(read_classes(), 0);
	cr_expect_eq(code.class_at, 8);
	cr_expect_eq(class_of(0x7f1234567890), 0x7f1234567890);
}

Test(hotspot_classes, are_in_marks)
{
	put_flag(2, "UseCompactObjectHeaders", 1);
	put_word(VARIABLES + 24, 10);
	cr_assert_eq(read_classes(), 0);
	cr_expect_eq(code.class_at, 0);
	cr_expect_eq(class_of(UINT64_C(5) << 42 | 0x3ffffffffff), BASE + (5 << 10));
}

/* JDK 8's. */
Test(hotspot_classes, of_flags_of_another_name)
{
	put_entry(TYPES + STRIDE, "Flag", FLAG_SIZE);
	cr_assert_eq(read_classes(), 0);
	cr_expect_eq(class_of(1), BASE + 8);
}

static void expect_none(int err)
{
	cr_expect_eq(read_classes(), err);
	cr_expect_not(code.has_classes);
}

Test(hotspot_classes, are_not_known_without_their_members)
{
	layout.at[HOTSPOT_OBJECT_CLASS] = HOTSPOT_MISSING;
	expect_none(-ENOTSUP);
	layout.at[HOTSPOT_OBJECT_CLASS] = 8;
	layout.at[HOTSPOT_FLAGS] = HOTSPOT_MISSING;
	expect_none(-ENOTSUP);
	layout.at[HOTSPOT_FLAGS] = VARIABLES;
	layout.at[HOTSPOT_FLAG_NAME] = HOTSPOT_MISSING;
	expect_none(-ENOTSUP);
	layout.at[HOTSPOT_FLAG_NAME] = 8;
	layout.at[HOTSPOT_CLASS_BASE] = HOTSPOT_MISSING;
	expect_none(-ENOTSUP);
}

Test(hotspot_classes, are_not_read_from_what_makes_no_sense)
{
	put_word(VARIABLES + 24, 32);
	expect_none(-ENOTSUP);
	put_word(VARIABLES + 8, UINT32_MAX);
	expect_none(-ENOTSUP);
	put_entry(TYPES + STRIDE, "JVMFlag", 0);
	expect_none(-ENOTSUP);
	put_word(VARIABLES, 1);
	put_word(VARIABLES + 8, 1);
	put_entry(TYPES + STRIDE, "JVMFlag", FLAG_SIZE);
	expect_none(-EFAULT);
}

Test(hotspot_classes, in_marks_need_a_shift)
{
	put_flag(2, "UseCompactObjectHeaders", 1);
	put_entry(LONGS, "markWord::klass_shift", 64);
	expect_none(-ENOTSUP);
	put_entry(LONGS, "markWord::hash_shift", 8);
	expect_none(-ENOTSUP);
}
