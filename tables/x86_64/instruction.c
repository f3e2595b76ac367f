// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/instruction.h"

#include <Zydis/Zydis.h>

/* A register's DWARF number, or DP_N_REGISTERS if it is not one of the sixteen. */
static uint8_t register_number(ZydisRegister reg)
{
	static const uint8_t numbers[] = {
		DP_RAX, DP_RCX, DP_RDX, DP_RBX, DP_RSP, DP_RBP, DP_RSI, DP_RDI,
		DP_R8,  DP_R9,  DP_R10, DP_R11, DP_R12, DP_R13, DP_R14, DP_R15,
	};

	reg = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (reg < ZYDIS_REGISTER_RAX || reg > ZYDIS_REGISTER_R15)
		return DP_N_REGISTERS;
	return numbers[reg - ZYDIS_REGISTER_RAX];
}

static struct operand memory_operand(const ZydisDecodedOperand *o, uint64_t end)
{
	struct operand ret = { .kind = OPERAND_MEMORY,
			       .base = DP_N_REGISTERS,
			       .size = (uint8_t)(o->size / 8) };

	ret.is_thread = o->mem.segment == ZYDIS_REGISTER_FS;
	ret.number = o->mem.disp.value;
	ret.is_unclear = o->mem.index != ZYDIS_REGISTER_NONE ||
			 o->mem.segment == ZYDIS_REGISTER_GS || o->size > 8 * UINT8_MAX;
	if (o->mem.base == ZYDIS_REGISTER_RIP) {
		ret.kind = OPERAND_ADDRESS;
		ret.number += (int64_t)end;
	} else if (o->mem.base != ZYDIS_REGISTER_NONE) {
		ret.base = register_number(o->mem.base);
		ret.is_unclear |= ret.base == DP_N_REGISTERS;
	}
	return ret;
}

/*
 * An operand of 64 bits, or a number. OPERAND_ADDRESS with a size is memory at an address of the
 * file, without a size the address itself.
 */
static struct operand operand_of(const ZydisDecodedOperand *o, uint64_t end)
{
	struct operand ret = { 0 };

	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		if (o->size != 64)
			break;
		ret.reg = register_number(o->reg.value);
		if (ret.reg != DP_N_REGISTERS)
			ret.kind = OPERAND_REGISTER;
		break;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		ret.kind = o->imm.is_relative ? OPERAND_ADDRESS : OPERAND_NUMBER;
		ret.number = o->imm.value.s + (o->imm.is_relative ? (int64_t)end : 0);
		break;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		return memory_operand(o, end);
	default:
		break;
	}
	return ret;
}

static enum instruction_kind kind_of(const ZydisDecodedInstruction *i)
{
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return INSTRUCTION_MOVE;
	case ZYDIS_MNEMONIC_LEA:
		return INSTRUCTION_LOAD;
	case ZYDIS_MNEMONIC_ADD:
		return INSTRUCTION_ADD;
	case ZYDIS_MNEMONIC_SUB:
		return INSTRUCTION_SUB;
	case ZYDIS_MNEMONIC_AND:
		return INSTRUCTION_AND;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHFQ:
		return INSTRUCTION_PUSH;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPFQ:
		return INSTRUCTION_POP;
	case ZYDIS_MNEMONIC_LEAVE:
		return INSTRUCTION_LEAVE;
	case ZYDIS_MNEMONIC_CALL:
		return INSTRUCTION_CALL;
	case ZYDIS_MNEMONIC_JMP:
		return INSTRUCTION_JUMP;
	case ZYDIS_MNEMONIC_RET:
		return INSTRUCTION_RETURN;
	case ZYDIS_MNEMONIC_SYSCALL:
		return INSTRUCTION_SYSTEM_CALL;
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return INSTRUCTION_STOP;
	default:
		return i->meta.category == ZYDIS_CATEGORY_COND_BR ? INSTRUCTION_BRANCH :
								    INSTRUCTION_OTHER;
	}
}

/* The registers that it writes, including implicit ones. */
static uint32_t registers_written(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	uint32_t written = 0;

	for (int k = 0; k < i->operand_count; k++) {
		uint8_t reg;

		if (o[k].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		reg = register_number(o[k].reg.value);
		if (reg != DP_N_REGISTERS)
			written |= 1U << reg;
	}
	return written;
}

/* The memory that it writes, as the target of a move. */
static struct operand memory_written(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o,
				     uint64_t end)
{
	for (int k = 0; k < i->operand_count; k++)
		if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			return operand_of(&o[k], end);
	return (struct operand){ 0 };
}

/* True if its result is followed: operations of 64 bits are. */
static bool is_followed(const struct instruction *in, const ZydisDecodedInstruction *i)
{
	bool is_data = in->kind >= INSTRUCTION_MOVE && in->kind <= INSTRUCTION_POP;

	return !is_data || i->operand_width == 64;
}

static void decode_operands(struct instruction *in, const ZydisDecodedInstruction *i,
			    const ZydisDecodedOperand *o)
{
	bool is_only = i->operand_count_visible == 1;

	switch (in->kind) {
	case INSTRUCTION_MOVE:
	case INSTRUCTION_LOAD:
	case INSTRUCTION_ADD:
	case INSTRUCTION_SUB:
	case INSTRUCTION_AND:
		in->to = operand_of(&o[0], in->end);
		in->from = operand_of(&o[1], in->end);
		break;
	case INSTRUCTION_PUSH:
	case INSTRUCTION_CALL:
	case INSTRUCTION_JUMP:
	case INSTRUCTION_BRANCH:
		if (is_only)
			in->from = operand_of(&o[0], in->end);
		break;
	case INSTRUCTION_POP:
		if (is_only)
			in->to = operand_of(&o[0], in->end);
		break;
	case INSTRUCTION_OTHER:
	case INSTRUCTION_SYSTEM_CALL:
		in->to = memory_written(i, o, in->end);
		in->spoiled = registers_written(i, o);
		break;
	default:
		break;
	}
}

size_t instructions_decode(const uint8_t *bytes, uint64_t start, uint64_t end,
			   struct instruction *ret, size_t n)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;
	uint64_t at = start;
	size_t i = 0;

	if (!ZYAN_SUCCESS(
		    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return 0;
	for (; i < n && at < end; i++) {
		struct instruction *in = &ret[i];

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes + (at - start), end - at,
							 &decoded, operands)))
			break;
		*in = (struct instruction){ .start = at, .end = at + decoded.length };
		in->kind = (uint8_t)kind_of(&decoded);
		if (!is_followed(in, &decoded))
			in->kind = INSTRUCTION_OTHER;
		decode_operands(in, &decoded, operands);
		at = in->end;
	}
	return i;
}
