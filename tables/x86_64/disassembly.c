// SPDX-License-Identifier: Apache-2.0
#include "tables/disassembly.h"

#include <Zydis/Zydis.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "tables/x86_64/mnemonic.h"

/* With prefixes; operands begin a column later. */
#define MNEMONIC_WIDTH 6

struct decoded {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

__attribute__((format(printf, 2, 3))) static void add(struct code_line *line, const char *format,
						      ...)
{
	size_t n = strlen(line->text);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(line->text + n, sizeof(line->text) - n, format, arguments);
	va_end(arguments);
}

static void add_register(struct code_line *line, ZydisRegister reg)
{
	const char *name = ZydisRegisterGetString(reg);

	add(line, "%%%s", name ? name : "?");
}

/* The top of x87's stack is %st where no other register could be. */
static void add_register_operand(struct code_line *line, const ZydisDecodedOperand *o)
{
	ZydisRegister reg = o->reg.value;

	if (reg < ZYDIS_REGISTER_ST0 || reg > ZYDIS_REGISTER_ST7)
		add_register(line, reg);
	else if (o->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
		add(line, "%%st(%d)", (int)(reg - ZYDIS_REGISTER_ST0));
	else
		add(line, "%%st");
}

static void add_signed(struct code_line *line, int64_t value)
{
	if (value < 0)
		add(line, "-0x%" PRIx64, (uint64_t)0 - (uint64_t)value);
	else
		add(line, "0x%" PRIx64, (uint64_t)value);
}

static void add_memory(struct code_line *line, const ZydisDecodedInstruction *i,
		       const ZydisDecodedOperandMem *m)
{
	bool has_base = m->base != ZYDIS_REGISTER_NONE;
	bool has_index = m->index != ZYDIS_REGISTER_NONE && m->type != ZYDIS_MEMOP_TYPE_MIB;

	/* The others do nothing in 64-bit code. */
	if (m->segment == ZYDIS_REGISTER_FS || m->segment == ZYDIS_REGISTER_GS) {
		add_register(line, m->segment);
		add(line, ":");
	}
	if (!has_base && !has_index) {
		add(line, "0x%" PRIx64, (uint64_t)m->disp.value);
		return;
	}
	if (i->raw.disp.size > 0)
		add_signed(line, m->disp.value);
	add(line, "(");
	if (has_base)
		add_register(line, m->base);
	if (has_index) {
		add(line, ",");
		add_register(line, m->index);
		add(line, ",%d", m->scale);
	}
	add(line, ")");
	if (m->base == ZYDIS_REGISTER_RIP)
		line->target = line->address + line->size + (uint64_t)m->disp.value;
}

/* As many bits as the operation has, of a number whose sign was extended. */
static void add_immediate(struct code_line *line, const ZydisDecodedInstruction *i,
			  const ZydisDecodedOperand *o)
{
	uint64_t value = o->imm.value.u;
	unsigned int bits = i->operand_width;

	if (o->imm.is_relative) {
		line->target = line->address + line->size + value;
		line->is_branch = 1;
		add(line, "%" PRIx64, line->target);
		return;
	}
	if (o->imm.is_signed && bits > 0 && bits < 64)
		value &= (UINT64_C(1) << bits) - 1;
	add(line, "$0x%" PRIx64, value);
}

static void add_broadcast(struct code_line *line, const ZydisDecodedInstruction *i)
{
	static const uint8_t times[] = {
		[ZYDIS_BROADCAST_MODE_1_TO_2] = 2,   [ZYDIS_BROADCAST_MODE_1_TO_4] = 4,
		[ZYDIS_BROADCAST_MODE_1_TO_8] = 8,   [ZYDIS_BROADCAST_MODE_1_TO_16] = 16,
		[ZYDIS_BROADCAST_MODE_1_TO_32] = 32, [ZYDIS_BROADCAST_MODE_1_TO_64] = 64,
	};
	size_t mode = i->avx.broadcast.mode;

	if (!i->avx.broadcast.is_static && mode < sizeof(times) && times[mode] > 0)
		add(line, "{1to%d}", times[mode]);
}

/* A mask itself is always zeroed. */
static void add_mask(struct code_line *line, const ZydisDecodedInstruction *i, ZydisRegister reg)
{
	ZydisMaskMode mode = i->avx.mask.mode;

	if (mode <= ZYDIS_MASK_MODE_DISABLED || i->avx.mask.reg == ZYDIS_REGISTER_NONE)
		return;
	add(line, "{");
	add_register(line, i->avx.mask.reg);
	add(line, "}");
	if (mode == ZYDIS_MASK_MODE_ZEROING && ZydisRegisterGetClass(reg) != ZYDIS_REGCLASS_MASK)
		add(line, "{z}");
}

static void add_rounding(struct code_line *line, const ZydisDecodedInstruction *i)
{
	static const char *const words[] = {
		[ZYDIS_ROUNDING_MODE_RN] = "rn",
		[ZYDIS_ROUNDING_MODE_RD] = "rd",
		[ZYDIS_ROUNDING_MODE_RU] = "ru",
		[ZYDIS_ROUNDING_MODE_RZ] = "rz",
	};
	size_t mode = i->avx.rounding.mode;

	if (mode < ARRAY_SIZE(words) && words[mode])
		add(line, "{%s-sae},", words[mode]);
	else if (i->avx.has_sae)
		add(line, "{sae},");
}

static void add_operand(struct code_line *line, const struct decoded *d, size_t k)
{
	const ZydisDecodedOperand *o = &d->operands[k];
	bool is_indirect = d->i.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE;

	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		add(line, "%s", is_indirect ? "*" : "");
		add_register_operand(line, o);
		break;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		add(line, "%s", is_indirect ? "*" : "");
		add_memory(line, &d->i, &o->mem);
		add_broadcast(line, &d->i);
		break;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		add_immediate(line, &d->i, o);
		break;
	default:
		break;
	}
	if (k == 0)
		add_mask(line, &d->i,
			 o->type == ZYDIS_OPERAND_TYPE_REGISTER ? o->reg.value :
								  ZYDIS_REGISTER_NONE);
}

/* The last one of Intel's syntax first. */
static void add_operands(struct code_line *line, const struct decoded *d)
{
	const char *of_string = mnemonic_string_operands(&d->i);
	bool is_first = true, is_rounded = false;

	if (of_string)
		add(line, " %s", of_string);
	for (size_t k = mnemonic_count_operands(&d->i, d->operands); k-- > 0;) {
		/* It stands behind the first. */
		if (k > 0 && d->operands[k].encoding == ZYDIS_OPERAND_ENCODING_MASK)
			continue;
		add(line, is_first ? " " : ",");
		is_first = false;
		if (!is_rounded && d->operands[k].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			add_rounding(line, &d->i);
			is_rounded = true;
		}
		add_operand(line, d, k);
	}
	if (line->target != 0 && !line->is_branch)
		add(line, "        # %" PRIx64, line->target);
}

#define REPEATS (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)

static const char *repeat_word(const ZydisDecodedInstruction *i, uint8_t value)
{
	bool is_equal = value == 0xf3;

	if (i->attributes & ZYDIS_ATTRIB_HAS_BND)
		return "bnd ";
	if (i->attributes & ZYDIS_ATTRIB_HAS_REP)
		return "rep ";
	if (i->attributes & (is_equal ? ZYDIS_ATTRIB_HAS_XRELEASE : ZYDIS_ATTRIB_HAS_XACQUIRE))
		return is_equal ? "xrelease " : "xacquire ";
	return is_equal ? "repz " : "repnz ";
}

/* Others than repeat_word() has. Some are part of what follows, unless it makes no use of them. */
static const struct {
	uint8_t value;
	bool only_if_ignored;
	const char *word;
} prefixes[] = {
	{ 0xf0, false, "lock " },  { 0x26, false, "es " }, { 0x2e, false, "cs " },
	{ 0x36, false, "ss " },    { 0x3e, false, "ds " }, { 0x48, true, "rex.W " },
	{ 0x64, true, "fs " },     { 0x65, true, "gs " },  { 0x66, true, "data16 " },
	{ 0x67, true, "addr32 " },
};

static const char *prefix_word(const ZydisDecodedInstruction *i, uint8_t value, bool is_ignored)
{
	if (value == 0xf2 || value == 0xf3)
		return repeat_word(i, value);
	if (value == 0x3e && i->attributes & ZYDIS_ATTRIB_HAS_NOTRACK)
		return "notrack ";
	for (size_t k = 0; k < ARRAY_SIZE(prefixes); k++)
		if (prefixes[k].value == value && (is_ignored || !prefixes[k].only_if_ignored))
			return prefixes[k].word;
	return NULL;
}

static void add_prefixes(struct code_line *line, const ZydisDecodedInstruction *i)
{
	for (size_t k = 0; k < i->raw.prefix_count; k++) {
		ZydisPrefixType type = i->raw.prefixes[k].type;
		const char *word =
			prefix_word(i, i->raw.prefixes[k].value, type == ZYDIS_PREFIX_TYPE_IGNORED);

		/* Those that repeat an instruction may be a part of it as well. */
		if (word && (type != ZYDIS_PREFIX_TYPE_MANDATORY || i->attributes & REPEATS))
			add(line, "%s", word);
	}
}

static bool is_system_call(const struct decoded *d)
{
	const ZydisDecodedOperand *o = &d->operands[0];

	return d->i.mnemonic == ZYDIS_MNEMONIC_SYSCALL ||
	       d->i.mnemonic == ZYDIS_MNEMONIC_SYSENTER ||
	       (d->i.mnemonic == ZYDIS_MNEMONIC_INT && o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		o->imm.value.u == 0x80);
}

static void write_line(struct code_line *line, const struct decoded *d)
{
	char mnemonic[MNEMONIC_SIZE];
	bool is_alone = mnemonic_count_operands(&d->i, d->operands) == 0 &&
			!mnemonic_string_operands(&d->i);

	line->size = d->i.length;
	line->is_system_call = is_system_call(d);
	mnemonic_write(&d->i, d->operands, mnemonic);
	add_prefixes(line, &d->i);
	add(line, "%s", mnemonic);
	for (size_t n = strlen(line->text); n < MNEMONIC_WIDTH && !is_alone; n++)
		add(line, " ");
	add_operands(line, d);
}

size_t disassemble(const uint8_t *bytes, uint64_t start, uint64_t end, struct code_line *ret,
		   size_t n)
{
	ZydisDecoder decoder;
	uint64_t at = start;
	size_t i = 0;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return 0;
	for (; i < n && at < end; i++) {
		struct code_line *line = &ret[i];
		struct decoded d;

		*line = (struct code_line){ .address = at, .size = 1 };
		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + (at - start), end - at,
							&d.i, d.operands)))
			write_line(line, &d);
		else
			add(line, "(bad)");
		at += line->size;
	}
	return i;
}
