// SPDX-License-Identifier: Apache-2.0
#include "tables/x86_64/mnemonic.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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
	M(MOV), M(ADD), M(SUB), M(AND), M(OR),  M(XOR),  M(CMP), M(TEST), M(ADC), M(SBB),
	M(INC), M(DEC), M(NEG), M(NOT), M(MUL), M(IMUL), M(DIV), M(IDIV), M(SHL), M(SHR),
	M(SAR), M(ROL), M(ROR), M(RCL), M(RCR), M(BT),   M(BTS), M(BTR),  M(BTC), M(NOP),
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

static bool is_in_list(const ZydisMnemonic *list, size_t n, ZydisMnemonic mnemonic)
{
	for (size_t k = 0; k < n; k++)
		if (list[k] == mnemonic)
			return true;
	return false;
}

#define IS_IN(list, mnemonic) is_in_list(list, ARRAY_SIZE(list), mnemonic)

/* Comparisons that are named by their last operand. */
static const ZydisMnemonic comparisons[] = {
	M(CMPPS),  M(CMPPD),   M(CMPSS),  M(CMPSD),   M(VCMPPS), M(VCMPPD),  M(VCMPSS), M(VCMPSD),
	M(VPCMPB), M(VPCMPUB), M(VPCMPW), M(VPCMPUW), M(VPCMPD), M(VPCMPUD), M(VPCMPQ), M(VPCMPUQ),
};

static const char *const conditions[] = {
	"eq",    "lt",     "le",     "unord",    "neq",    "nlt",    "nle",    "ord",
	"eq_uq", "nge",    "ngt",    "false",    "neq_oq", "ge",     "gt",     "true",
	"eq_os", "lt_oq",  "le_oq",  "unord_s",  "neq_us", "nlt_uq", "nle_uq", "ord_s",
	"eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq",  "gt_oq",  "true_us",
};

/* NULL: it is not in the name. */
static const char *condition_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	size_t n = i->operand_count_visible, limit = 8;
	bool is_integer;

	if (n == 0 || o[n - 1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    !IS_IN(comparisons, i->mnemonic))
		return NULL;
	is_integer = o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		     ZydisMnemonicGetString(i->mnemonic)[1] == 'p';
	if (ZydisMnemonicGetString(i->mnemonic)[0] == 'v' && !is_integer)
		limit = ARRAY_SIZE(conditions);
	/* Integers are always ordered. */
	if (o[n - 1].imm.value.u >= limit || (is_integer && (o[n - 1].imm.value.u & 3) == 3))
		return NULL;
	return conditions[o[n - 1].imm.value.u];
}

size_t mnemonic_count_operands(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	if (i->mnemonic == M(NOP) && i->operand_count_visible > 1)
		return 1;
	return i->operand_count_visible - (condition_of(i, o) != NULL);
}

/* 66 90 exchanges a register with itself. */
static bool is_long_nop(const ZydisDecodedInstruction *i)
{
	return i->mnemonic == M(NOP) && i->operand_count_visible == 0 && i->operand_width == 16;
}

/*
 * The first assembler for System V had these the wrong way round where the top of the stack is not what is
 * changed, and it remained so.
 */
static const struct renamed swapped[] = {
	{ M(FSUB), "fsubr" },   { M(FSUBR), "fsub" },   { M(FDIV), "fdivr" },
	{ M(FDIVR), "fdiv" },   { M(FSUBP), "fsubrp" }, { M(FSUBRP), "fsubp" },
	{ M(FDIVP), "fdivrp" }, { M(FDIVRP), "fdivp" },
};

static const char *swapped_name(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	if (i->operand_count_visible < 2 || o[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    o[0].encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM)
		return NULL;
	for (size_t k = 0; k < ARRAY_SIZE(swapped); k++)
		if (swapped[k].from == i->mnemonic)
			return swapped[k].to;
	return NULL;
}

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

	if (is_long_nop(i))
		return "%ax,%ax";
	return k < ARRAY_SIZE(strings) ? strings[k].operands : NULL;
}

static const char *name_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	size_t k = find_string(i);
	const char *name = swapped_name(i, o);

	if (name)
		return name;
	if (is_long_nop(i))
		return "xchg";
	if (k < ARRAY_SIZE(strings))
		return strings[k].name;
	for (k = 0; k < ARRAY_SIZE(names); k++)
		if (names[k].from == i->mnemonic)
			return names[k].to;
	name = ZydisMnemonicGetString(i->mnemonic);
	return name ? name : "(bad)";
}

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

	for (size_t k = 0; k < mnemonic_count_operands(i, o); k++) {
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

/* `cmp` and what is behind it, around the condition. */
static void write_comparison(const ZydisDecodedInstruction *i, const char *condition,
			     char ret[MNEMONIC_SIZE])
{
	const char *name = ZydisMnemonicGetString(i->mnemonic);
	int n = (int)(strstr(name, "cmp") - name) + 3;

	snprintf(ret, MNEMONIC_SIZE, "%.*s%s%s", n, name, condition, name + n);
}

void mnemonic_write(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o,
		    char ret[MNEMONIC_SIZE])
{
	const char *condition = condition_of(i, o);

	if (condition) {
		write_comparison(i, condition, ret);
		return;
	}
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
		 i->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? "l" : "", name_of(i, o),
		 suffix(i, o));
}
