// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/mnemonic.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/array.h"

#define M(name) ZYDIS_MNEMONIC_##name

struct renamed {
	ZydisMnemonic from;
	const char *to;
};

static const struct renamed names[] = {
	{ M(JZ), "je" },          { M(JNZ), "jne" },       { M(JNB), "jae" },
	{ M(JNBE), "ja" },        { M(JNL), "jge" },       { M(JNLE), "jg" },
	{ M(SETZ), "sete" },      { M(SETNZ), "setne" },   { M(SETNB), "setae" },
	{ M(SETNBE), "seta" },    { M(SETNL), "setge" },   { M(SETNLE), "setg" },
	{ M(CMOVZ), "cmove" },    { M(CMOVNZ), "cmovne" }, { M(CMOVNB), "cmovae" },
	{ M(CMOVNBE), "cmova" },  { M(CMOVNL), "cmovge" }, { M(CMOVNLE), "cmovg" },
	{ M(CBW), "cbtw" },       { M(CWDE), "cwtl" },     { M(CDQE), "cltq" },
	{ M(CWD), "cwtd" },       { M(CDQ), "cltd" },      { M(CQO), "cqto" },
	{ M(PUSHFQ), "pushf" },   { M(POPFQ), "popf" },    { M(RET), "ret" },
	{ M(SYSRET), "sysretl" },
};

/* Of these, memory alone does not tell the size. */
static const ZydisMnemonic sized[] = {
	M(MOV), M(ADD), M(SUB), M(AND),  M(OR),   M(XOR), M(CMP),  M(TEST), M(ADC), M(SBB), M(INC),
	M(DEC), M(NEG), M(NOT), M(MUL),  M(IMUL), M(DIV), M(IDIV), M(SHL),  M(SHR), M(SAR), M(ROL),
	M(ROR), M(RCL), M(RCR), M(PUSH), M(POP),  M(BT),  M(BTS),  M(BTR),  M(BTC), M(NOP),
};

static const ZydisMnemonic conversions[] = {
	M(CVTSI2SS), M(CVTSI2SD), M(VCVTSI2SS), M(VCVTSI2SD), M(VCVTUSI2SS), M(VCVTUSI2SD),
};

/* On x87's stack: numbers with a fraction, and without. */
static const ZydisMnemonic floats[] = {
	M(FADD), M(FMUL),  M(FCOM), M(FCOMP), M(FSUB), M(FSUBR),
	M(FDIV), M(FDIVR), M(FLD),  M(FST),   M(FSTP),
};
static const ZydisMnemonic integers[] = {
	M(FIADD), M(FIMUL),  M(FICOM), M(FICOMP), M(FISUB), M(FISUBR),
	M(FIDIV), M(FIDIVR), M(FILD),  M(FIST),   M(FISTP), M(FISTTP),
};

#define TO "%es:(%rdi)"
#define FROM "%ds:(%rsi)"

static const struct {
	ZydisMnemonic mnemonic;
	const char *name, *operands;
} strings[] = {
	{ M(STOSB), "stos", "%al," TO },    { M(STOSW), "stos", "%ax," TO },
	{ M(STOSD), "stos", "%eax," TO },   { M(STOSQ), "stos", "%rax," TO },
	{ M(LODSB), "lods", FROM ",%al" },  { M(LODSW), "lods", FROM ",%ax" },
	{ M(LODSD), "lods", FROM ",%eax" }, { M(LODSQ), "lods", FROM ",%rax" },
	{ M(SCASB), "scas", TO ",%al" },    { M(SCASW), "scas", TO ",%ax" },
	{ M(SCASD), "scas", TO ",%eax" },   { M(SCASQ), "scas", TO ",%rax" },
	{ M(MOVSB), "movsb", FROM "," TO }, { M(MOVSW), "movsw", FROM "," TO },
	{ M(MOVSD), "movsl", FROM "," TO }, { M(MOVSQ), "movsq", FROM "," TO },
	{ M(CMPSB), "cmpsb", TO "," FROM }, { M(CMPSW), "cmpsw", TO "," FROM },
	{ M(CMPSD), "cmpsl", TO "," FROM }, { M(CMPSQ), "cmpsq", TO "," FROM },
};

/* SSE's movsd and cmpsd have operands. */
static size_t find_string(const ZydisDecodedInstruction *i)
{
	size_t k = 0;

	if (i->operand_count_visible > 0)
		return ARRAY_SIZE(strings);
	while (k < ARRAY_SIZE(strings) && strings[k].mnemonic != i->mnemonic)
		k++;
	return k;
}

const char *mnemonic_string_operands(const ZydisDecodedInstruction *i)
{
	size_t k = find_string(i);

	return k < ARRAY_SIZE(strings) ? strings[k].operands : NULL;
}

static const char *name_of(const ZydisDecodedInstruction *i)
{
	size_t k = find_string(i);
	const char *name;

	if (k < ARRAY_SIZE(strings))
		return strings[k].name;
	for (k = 0; k < ARRAY_SIZE(names); k++)
		if (names[k].from == i->mnemonic)
			return names[k].to;
	name = ZydisMnemonicGetString(i->mnemonic);
	return name ? name : "(bad)";
}

static bool is_in_list(const ZydisMnemonic *list, size_t n, ZydisMnemonic mnemonic)
{
	for (size_t k = 0; k < n; k++)
		if (list[k] == mnemonic)
			return true;
	return false;
}

#define IS_IN(list, mnemonic) is_in_list(list, ARRAY_SIZE(list), mnemonic)

static const char *letter(unsigned int bits)
{
	switch (bits) {
	case 8:
		return "b";
	case 16:
		return "w";
	case 32:
		return "l";
	case 64:
		return "q";
	default:
		return "";
	}
}

static const char *letter_of_float(unsigned int bits)
{
	switch (bits) {
	case 32:
		return "s";
	case 64:
		return "l";
	case 80:
		return "t";
	default:
		return "";
	}
}

static const char *letters_of_integer(unsigned int bits)
{
	switch (bits) {
	case 16:
		return "s";
	case 32:
		return "l";
	case 64:
		return "ll";
	default:
		return "";
	}
}

static const char *suffix(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	unsigned int bits = 0;
	bool has_register = false;

	for (size_t k = 0; k < i->operand_count_visible; k++) {
		if (o[k].type == ZYDIS_OPERAND_TYPE_MEMORY)
			bits = o[k].size;
		/* How far something is shifted does not tell its size. */
		has_register |= o[k].type == ZYDIS_OPERAND_TYPE_REGISTER &&
				o[k].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
	}
	if (bits == 0)
		return "";
	if (IS_IN(sized, i->mnemonic))
		return has_register ? "" : letter(bits);
	if (IS_IN(conversions, i->mnemonic))
		return letter(bits);
	if (IS_IN(floats, i->mnemonic))
		return letter_of_float(bits);
	return IS_IN(integers, i->mnemonic) ? letters_of_integer(bits) : "";
}

void mnemonic_write(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o,
		    char ret[MNEMONIC_SIZE])
{
	switch (i->mnemonic) {
	case M(MOVZX):
		snprintf(ret, MNEMONIC_SIZE, "movz%s%s", letter(o[1].size), letter(o[0].size));
		return;
	case M(MOVSX):
	case M(MOVSXD):
		snprintf(ret, MNEMONIC_SIZE, "movs%s%s", letter(o[1].size), letter(o[0].size));
		return;
	case M(CRC32):
		snprintf(ret, MNEMONIC_SIZE, "crc32%s", letter(o[1].size));
		return;
	case M(MOV):
		if (i->raw.imm[0].size == 64 || i->raw.disp.size == 64) {
			snprintf(ret, MNEMONIC_SIZE, "movabs");
			return;
		}
		break;
	default:
		break;
	}
	snprintf(ret, MNEMONIC_SIZE, "%s%s%s",
		 i->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? "l" : "", name_of(i), suffix(i, o));
}
