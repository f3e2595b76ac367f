// SPDX-License-Identifier: Apache-2.0
/* The values of probes, as users write them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "probes/argument_place.h"
#include "probes/arguments.h"

static struct arguments arguments;
static char why[ARGUMENTS_WHY_SIZE];

static const struct argument *parse(const char *list, enum probe_kind kind)
{
	cr_assert_eq(arguments_parse(list, kind, &arguments, why), 0, "%s: %s", list, why);
	return arguments.of;
}

Test(arguments, are_told_from_parameters_of_a_name)
{
	static const char *const without[] = {
		"f",   "f(int)",   "f(int, long)", "f(a::b)",  "A::operator()(int)",
		"f()", "(x=arg1)", "f(arg)",       "f(args1)", "f(target1)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(without); i++)
		cr_assert(!arguments_find(without[i], PROBE_CALL), "%s", without[i]);
	cr_assert_str_eq(arguments_find("f(x=size)", PROBE_CALL), "(x=size)");
	cr_assert_str_eq(arguments_find("f(int)(x=size)", PROBE_CALL), "(x=size)");
	cr_assert_str_eq(arguments_find("f(void (*)(int))(path:str)", PROBE_CALL), "(path:str)");
	cr_assert_str_eq(arguments_find("a::f(arg12)", PROBE_CALL), "(arg12)");
	cr_assert_str_eq(arguments_find("f(a->b)", PROBE_CALL), "(a->b)");
	cr_assert_str_eq(arguments_find("f(x=size", PROBE_CALL), "(x=size", "an error");
	cr_assert(!arguments_find("f(ret)", PROBE_CALL) && !arguments_find("f(time)", PROBE_CALL));
	cr_assert_str_eq(arguments_find("f(ret)", PROBE_RETURN), "(ret)");
	cr_assert_str_eq(arguments_find("f(time)", PROBE_RETURN), "(time)");
}

Test(arguments, are_registers_and_words_on_the_stack)
{
	const struct argument *a =
		parse("(arg1, arg2:u8 , x = arg6:str,arg7, arg9:u16)", PROBE_CALL);

	cr_assert_eq(arguments.n, 5);
	cr_assert(a[0].how.reg == DP_RDI && a[0].form.type == VALUE_S64 && !a[0].how.is_text);
	cr_assert(a[1].how.reg == DP_RSI && a[1].form.type == VALUE_U8);
	cr_assert(a[2].how.reg == DP_R9 && a[2].how.is_text);
	cr_assert_str_eq(a[0].form.name, "arg1");
	cr_assert_str_eq(a[2].form.name, "x");
	cr_assert(a[3].how.reg == DP_RSP && a[3].how.n_derefs == 1 && a[3].how.derefs[0] == 8);
	cr_assert(a[4].how.derefs[0] == 24 && a[4].how.size == 2);
}

Test(arguments, are_chains_of_dereferences)
{
	const struct argument *a =
		parse("(arg1+4->0x10->8+2:str, arg2->8:u32, arg3->8+1:u8)", PROBE_CALL);

	cr_assert(a[0].how.n_derefs == 2 && a[0].how.derefs[0] == 20 && a[0].how.derefs[1] == 8);
	cr_assert(a[0].how.add == 2 && a[0].how.size == 8);
	cr_assert_str_eq(a[0].form.name, "arg1+4->0x10->8+2");
	cr_assert(a[1].how.n_derefs == 1 && a[1].how.size == 4);
	cr_assert(a[2].how.add == 1 && a[2].how.size == 8);
}

Test(arguments, are_parameters_by_name)
{
	struct parameter_wanted wanted[DP_MAX_ARGUMENTS] = { 0 };
	struct parameter found[DP_MAX_ARGUMENTS] = {
		[0] = { .type = VALUE_X8, .how.reg = DP_RBX },
		[1] = { .type = VALUE_U16, .how.reg = DP_R8, .n_names = 1 },
		[2] = { .type = VALUE_S32, .n_names = 2 },
	};
	const struct enumerator names[3] = { 0 };
	struct value_forms forms;
	struct dp_arguments list;

	parse("(request->head.size, x=y:u16, z, arg1)", PROBE_CALL);
	cr_assert(arguments_have_names(&arguments));
	arguments_wanted(&arguments, wanted);
	cr_assert_str_eq(wanted[0].path, "request->head.size");
	cr_assert_eq(wanted[0].type, VALUE_N_TYPES);
	cr_assert_str_eq(wanted[1].path, "y");
	cr_assert_eq(wanted[1].type, VALUE_U16);
	cr_assert_str_eq(wanted[3].path, "");
	arguments_resolve(&arguments, found, names);
	cr_assert(!arguments_have_names(&arguments));
	cr_assert_eq(arguments_describe(&arguments, &list, &forms), 0);
	cr_assert(list.n == 4 && list.of[0].reg == DP_RBX && list.of[3].reg == DP_RDI);
	cr_assert(forms.n == 4 && forms.of[0].type == VALUE_X8 && forms.of[3].type == VALUE_S64);
	cr_assert(!forms.of[0].names && !forms.of[3].names);
	cr_assert(forms.of[1].names == names && forms.of[1].n_names == 1);
	cr_assert(forms.of[2].names == names + 1 && forms.of[2].n_names == 2);
	cr_assert_str_eq(forms.of[1].name, "x");
}

/* They count parameters, of which debug information tells where they are; without members, registers. */
Test(arguments, by_number_have_members)
{
	struct parameter_wanted wanted[DP_MAX_ARGUMENTS] = { 0 };
	const struct argument *a = parse(
		"(arg2->header.id:u32, x=arg12.name, arg1->8, arg1:bytes[arg3->n])", PROBE_CALL);

	cr_assert(a[0].number == 2 && a[0].form.type == VALUE_U32);
	cr_assert_str_eq(a[0].form.name, "arg2->header.id");
	cr_assert(a[1].number == 12 && a[1].form.type == VALUE_N_TYPES);
	cr_assert(a[2].number == 0 && a[2].how.reg == DP_RDI && a[2].how.n_derefs == 1);
	cr_assert_eq(a[3].length.number, 3);
	arguments_wanted(&arguments, wanted);
	cr_assert(strcmp(wanted[0].path, "arg2->header.id") == 0 && wanted[0].type == VALUE_U32);
	cr_assert(strcmp(wanted[1].path, "arg12.name") == 0 && !wanted[2].path[0]);
	cr_assert_str_eq(wanted[3].length, "arg3->n");
}

Test(arguments, are_floats_in_memory)
{
	const struct argument *a = parse("(arg1->8:f64, arg2->4->0:f32, x=y:f32)", PROBE_CALL);

	cr_assert(a[0].form.type == VALUE_F64 && a[0].how.size == 8 && a[0].how.derefs[0] == 8);
	cr_assert(a[1].form.type == VALUE_F32 && a[1].how.size == 4 && a[1].how.n_derefs == 2);
	cr_assert(a[2].form.type == VALUE_F32 && strcmp(a[2].path, "y") == 0);
}

/* Of the value by this number, what the kernel reads first: its length. */
static void describe(size_t number, struct dp_argument *ret_length, struct dp_argument *ret_text)
{
	struct value_forms forms;
	struct dp_arguments list;

	cr_assert_eq(arguments_describe(&arguments, &list, &forms), 0);
	cr_assert(list.n == forms.n && list.n > 2 * number + 1);
	cr_assert(forms.of[2 * number].is_length && !forms.of[2 * number + 1].is_length);
	cr_assert_eq(value_type_kind(forms.of[2 * number + 1].type), VALUE_IS_TEXT);
	*ret_length = list.of[2 * number];
	*ret_text = list.of[2 * number + 1];
	cr_assert_eq(ret_length->is_text, DP_TEXT_LENGTH);
	cr_assert_eq(ret_text->is_text, DP_TEXT_SIZED);
}

Test(arguments, are_texts_behind_their_lengths)
{
	struct dp_argument length, text;

	parse("(a=arg1:std::string, arg2->8:std::string, arg2+8:std::string)", PROBE_CALL);
	describe(0, &length, &text);
	cr_assert(text.reg == DP_RDI && text.n_derefs == 1 && text.derefs[0] == 0);
	cr_assert(length.reg == DP_RDI && length.n_derefs == 1 && length.derefs[0] == 8);
	cr_assert(length.size == 8 && length.add == 0 && text.add == 0);
	describe(1, &length, &text);
	cr_assert(text.reg == DP_RSI && text.n_derefs == 2 && text.derefs[0] == 8);
	cr_assert(text.derefs[1] == 0 && length.derefs[0] == 8 && length.derefs[1] == 8);
	describe(2, &length, &text);
	cr_assert(text.n_derefs == 1 && text.derefs[0] == 8 && length.derefs[0] == 16);
	cr_assert_str_eq(arguments.of[2].form.name, "arg2+8");
	cr_assert_eq(length.size, 8);
}

Test(arguments, are_texts_in_two_words)
{
	struct dp_argument length, text;

	parse("(arg1:rust_str, arg6:rust_str, arg7:rust_str, arg2->16:rust_str,"
	      "arg5:std::string_view, arg1->8:std::string_view)",
	      PROBE_CALL);
	describe(0, &length, &text);
	cr_assert(text.reg == DP_RDI && length.reg == DP_RSI && length.size == 8);
	cr_assert(text.n_derefs == 0 && length.n_derefs == 0);
	describe(1, &length, &text);
	cr_assert(text.reg == DP_R9 && length.reg == DP_RSP && length.derefs[0] == 8);
	describe(2, &length, &text);
	cr_assert(text.reg == DP_RSP && text.derefs[0] == 8 && length.derefs[0] == 16);
	describe(3, &length, &text);
	cr_assert(text.reg == DP_RSI && text.derefs[0] == 16 && length.derefs[0] == 24);
	describe(4, &length, &text);
	cr_assert(text.reg == DP_R9 && length.reg == DP_R8);
	describe(5, &length, &text);
	cr_assert(text.derefs[0] == 16 && length.derefs[0] == 8 && length.size == 8);
}

Test(arguments, are_bytes_with_any_length)
{
	struct dp_argument length, text;

	parse("(arg1:bytes[arg2], arg1+4:bytes[ arg2:u32 ], arg1:bytes[300],"
	      "arg1->8:bytes[arg1->16:u16])",
	      PROBE_CALL);
	describe(0, &length, &text);
	cr_assert(text.reg == DP_RDI && length.reg == DP_RSI && length.size == 8);
	describe(1, &length, &text);
	cr_assert(text.add == 4 && length.size == 4);
	describe(2, &length, &text);
	cr_assert(length.base == DP_BASE_CONSTANT && length.add == 300 && length.size == 8);
	describe(3, &length, &text);
	cr_assert(text.derefs[0] == 8 && length.derefs[0] == 16 && length.size == 2);
	cr_assert_str_eq(arguments.of[3].form.name, "arg1->8");
}

Test(arguments, by_name_have_lengths_by_name)
{
	struct parameter_wanted wanted[DP_MAX_ARGUMENTS] = { 0 };
	struct parameter found[DP_MAX_ARGUMENTS] = {
		[0] = { VALUE_BYTES, .how.is_text = DP_TEXT_SIZED, .length.reg = DP_R8 },
		[1] = { VALUE_BYTES, .how.is_text = DP_TEXT_SIZED, .length.reg = DP_R8 },
		[2] = { .length = { .reg = DP_R9, .size = 4 } },
		[3] = { VALUE_BYTES, .how.is_text = DP_TEXT_SIZED, .length = { .reg = DP_RCX } },
	};
	struct dp_argument length, text;

	parse("(a:bytes[b->n], a:bytes[arg2], arg1:bytes[n], text=request->text)", PROBE_CALL);
	cr_assert(arguments_have_names(&arguments));
	arguments_wanted(&arguments, wanted);
	cr_assert(strcmp(wanted[0].path, "a") == 0 && strcmp(wanted[0].length, "b->n") == 0);
	cr_assert(strcmp(wanted[2].path, "") == 0 && strcmp(wanted[2].length, "n") == 0);
	cr_assert(wanted[0].type == VALUE_BYTES && strcmp(wanted[1].length, "") == 0);
	arguments_resolve(&arguments, found, NULL);
	cr_assert(!arguments_have_names(&arguments));
	describe(0, &length, &text);
	cr_assert_eq(length.reg, DP_R8);
	describe(1, &length, &text);
	cr_assert_eq(length.reg, DP_RSI);
	describe(2, &length, &text);
	cr_assert(text.reg == DP_RDI && length.reg == DP_R9 && length.size == 4);
	describe(3, &length, &text);
	cr_assert_eq(length.reg, DP_RCX);
}

/* Each takes two of the kernel's. */
Test(arguments, are_not_more_than_there_is_room_for)
{
	struct value_forms forms;
	struct dp_arguments list;
	char text[256] = "(";

	for (int i = 0; i < 8; i++)
		strcat(text, i ? ",arg1:bytes[1]" : "arg1:bytes[1]");
	strcpy(text + strlen(text), ")");
	parse(text, PROBE_CALL);
	cr_assert_eq(arguments_describe(&arguments, &list, &forms), 0);
	cr_assert_eq(list.n, DP_MAX_ARGUMENTS);
	strcpy(text + strlen(text) - 1, ",arg2)");
	parse(text, PROBE_CALL);
	cr_assert_eq(arguments_describe(&arguments, &list, &forms), -ENOSPC);
}

Test(arguments, of_a_return_are_its_result_and_time)
{
	const struct argument *a = parse("(ret, time)", PROBE_RETURN);

	cr_assert(a[0].how.base == DP_BASE_REGISTER && a[0].how.reg == DP_RAX);
	cr_assert(a[1].how.base == DP_BASE_TIME && a[1].form.type == VALUE_U64);
	cr_assert_str_eq(a[1].form.unit, "nanoseconds");
	cr_assert(arguments_have_time(&arguments));
	parse("(ret->8:str)", PROBE_RETURN);
	cr_assert(!arguments_have_time(&arguments) && arguments.of[0].how.n_derefs == 1);
}

Test(arguments, of_a_return_have_the_types_of_debug_information)
{
	struct parameter_wanted wanted[DP_MAX_ARGUMENTS] = { 0 };
	struct parameter found[DP_MAX_ARGUMENTS] = {
		[0] = { VALUE_S8, .how.reg = DP_RAX },
		[1] = { VALUE_U16, .how.reg = DP_RDX },
		[5] = { VALUE_N_TYPES, .why = "it is not known" },
	};
	const struct argument *a =
		parse("(ret, x=ret->status, ret:u8, ret->8, time, again=ret, y=ret.name:str)",
		      PROBE_RETURN);

	arguments_wanted(&arguments, wanted);
	cr_assert(strcmp(wanted[0].path, "ret") == 0 && wanted[0].type == VALUE_N_TYPES);
	cr_assert(strcmp(wanted[1].path, "ret->status") == 0 && wanted[1].is_result);
	cr_assert(!wanted[2].path[0] && !wanted[3].path[0] && !wanted[4].path[0]);
	cr_assert(strcmp(wanted[6].path, "ret.name") == 0 && wanted[6].type == VALUE_STR);
	arguments_resolve(&arguments, found, NULL);
	cr_assert(!arguments_have_names(&arguments));
	cr_assert(a[0].form.type == VALUE_S8 && a[0].how.reg == DP_RAX);
	cr_assert(a[1].form.type == VALUE_U16 && a[1].how.reg == DP_RDX);
	cr_assert(a[5].form.type == VALUE_S64 && a[5].how.reg == DP_RAX);
	parse("(ret, x=ret->status)", PROBE_RETURN);
	cr_assert(!arguments_set_defaults(&arguments));
	a = parse("(ret, ret->8)", PROBE_RETURN);
	cr_assert(arguments_have_names(&arguments) && arguments_set_defaults(&arguments));
	cr_assert(a[0].form.type == VALUE_S64 && a[0].how.reg == DP_RAX && a[0].how.size == 8);
	parse("(x=size)", PROBE_CALL);
	arguments_wanted(&arguments, wanted);
	cr_assert(!wanted[0].is_result);
}

static void refuses(const char *list, enum probe_kind kind, const char *said)
{
	cr_assert_eq(arguments_parse(list, kind, &arguments, why), -EINVAL, "%s", list);
	cr_assert(strstr(why, said), "%s: %s", list, why);
}

Test(arguments, are_refused_where_they_are_wrong)
{
	char longest[256];

	refuses("(arg1:u46)", PROBE_CALL, "at 'u46)': expected a type: u8");
	refuses("(arg0)", PROBE_CALL, "at 'arg0)'");
	refuses("(arg65)", PROBE_CALL, "at 'arg65)'");
	refuses("(x=)", PROBE_CALL, "at ')'");
	refuses("(x=8)", PROBE_CALL, "at '8)'");
	refuses("(arg1->x)", PROBE_STATIC, "at 'x)': expected a number");
	refuses("(arg1:f64)", PROBE_CALL, "which cannot be read in a register");
	refuses("(arg1->8+4:f32)", PROBE_CALL, "which cannot be read in a register");
	refuses("(ret:f64)", PROBE_RETURN, "which cannot be read in a register");
	refuses("(arg1:bytes[arg2->8:f64])", PROBE_CALL, "expected an integer");
	refuses("(arg1->8->x)", PROBE_CALL, "at 'x)': expected a number");
	refuses("(arg65->x)", PROBE_CALL, "at 'arg65->x)'");
	refuses("(arg1->3000000000)", PROBE_CALL, "expected a number");
	refuses("(arg1+3000000000)", PROBE_CALL, "expected a number");
	refuses("(arg1+1000000000+1000000000)", PROBE_CALL, "a smaller sum");
	refuses("(arg1", PROBE_CALL, "at the end");
	refuses("(arg1)x", PROBE_CALL, "at 'x'");
	refuses("(arg1,)", PROBE_CALL, "at ')'");
	refuses("(a->8)", PROBE_CALL, "at '->8)'");
	refuses("(arg1:bytes)", PROBE_CALL, "at ')': expected how many bytes");
	refuses("(arg1:bytes[)", PROBE_CALL, "at ')': expected a value");
	refuses("(arg1:bytes[4294967296])", PROBE_CALL, "expected a number");
	refuses("(arg1:bytes[arg2)", PROBE_CALL, "at ')': expected ']'");
	refuses("(arg1:bytes[arg2:str])", PROBE_CALL, "at '])': expected an integer");
	refuses("(arg1:bytes[arg2:u46])", PROBE_CALL, "at 'u46])': expected a type");
	refuses("(arg1:std::strin)", PROBE_CALL, "at 'std::strin)': expected a type");
	refuses("(arg1+8:rust_str)", PROBE_CALL, "argN or ->OFFSET in front of this type");
	refuses("(arg1:gostr)", PROBE_CALL, "at ')': expected a parameter's name in front");
	refuses("(ret:rust_str)", PROBE_RETURN, "argN or ->OFFSET in front of this type");
	refuses("(arg1->1->2->3->4->5->6->7->8:std::string)", PROBE_CALL, "at most 8 dereferences");
	refuses("(arg7->1->2->3->4->5->6->7->8)", PROBE_CALL, "at most 8 dereferences");
	refuses("(arg1)", PROBE_RETURN, "at 'arg1)': expected ret");
	refuses("(time->8)", PROBE_RETURN, "at '->8)'");
	memset(longest, 'x', sizeof(longest));
	memcpy(longest, "(a=", 3);
	strcpy(longest + 3 + 64, ")");
	refuses(longest, PROBE_CALL, "at most 63");
	strcpy(longest + 3 + 63, ")");
	parse(longest, PROBE_CALL);
}

/* 8(%rsi), -5, %edx, %xmm0 */
static const struct usdt_place place = {
	.n_arguments = 4,
	.arguments = { { VALUE_U64, { .reg = DP_RSI, .n_derefs = 1, .size = 8, .derefs = { 8 } } },
		       { VALUE_S32, { .base = DP_BASE_CONSTANT, .add = -5 } },
		       { VALUE_U32, { .reg = DP_RDX, .size = 8 } },
		       { VALUE_N_TYPES } },
};

static const struct argument *parse_at_place(const char *list)
{
	parse(list, PROBE_STATIC);
	cr_assert_eq(arguments_place(&arguments, &place, why), 0, "%s: %s", list, why);
	return arguments.of;
}

Test(arguments, of_static_probes_are_where_notes_tell)
{
	const struct argument *a =
		parse_at_place("(arg1, arg2, arg3, arg1:str, arg1->16:u16, arg1+4:ptr)");

	cr_assert(a[0].form.type == VALUE_U64 && a[0].how.n_derefs == 1 && a[0].how.reg == DP_RSI);
	cr_assert(a[1].form.type == VALUE_S32 && a[1].how.base == DP_BASE_CONSTANT);
	cr_assert(a[2].form.type == VALUE_U32 && a[2].how.reg == DP_RDX);
	cr_assert(a[3].how.is_text && a[3].how.n_derefs == 1 && a[3].how.size == 8);
	cr_assert(a[4].how.n_derefs == 2 && a[4].how.derefs[0] == 8 && a[4].how.derefs[1] == 16);
	cr_assert(a[4].how.size == 2 && a[4].form.type == VALUE_U16);
	cr_assert(a[5].how.n_derefs == 1 && a[5].how.add == 4 && a[5].form.type == VALUE_PTR);
}

Test(arguments, of_static_probes_are_texts_with_lengths)
{
	struct dp_argument length, text;

	parse_at_place(
		"(arg1:bytes[arg3], arg1:std::string, arg1->8:rust_str, arg1:bytes[arg1->4:u16])");
	describe(0, &length, &text);
	cr_assert(text.n_derefs == 1 && text.derefs[0] == 8 && text.reg == DP_RSI);
	cr_assert(length.reg == DP_RDX && length.n_derefs == 0 && length.size == 4);
	describe(1, &length, &text);
	cr_assert(text.n_derefs == 2 && text.derefs[0] == 8 && text.derefs[1] == 0);
	cr_assert(length.n_derefs == 2 && length.derefs[1] == 8 && length.size == 8);
	describe(2, &length, &text);
	cr_assert(text.derefs[1] == 8 && length.derefs[1] == 16);
	describe(3, &length, &text);
	cr_assert(length.n_derefs == 2 && length.derefs[1] == 4 && length.size == 2);
}

Test(arguments, of_static_probes_are_no_wider_than_notes_tell)
{
	const struct argument *a =
		parse_at_place("(arg2:u64, arg3:s64, arg3:x64, arg1:u8, arg3:bool)");

	cr_assert_eq(a[0].form.type, VALUE_S32);
	cr_assert_eq(a[1].form.type, VALUE_U32);
	cr_assert_eq(a[2].form.type, VALUE_X32);
	cr_assert_eq(a[3].form.type, VALUE_U8);
	cr_assert_eq(a[4].form.type, VALUE_BOOL);
}

Test(arguments, of_static_probes_that_cannot_be_read)
{
	static const char *const lists[][2] = {
		{ "(arg5)", "it has 4 arguments" },
		{ "(arg4)", "it is not an integer" },
		{ "(arg3->8)", "it is no pointer: it has 4 bytes" },
		{ "(arg2:str)", "it is no pointer" },
		{ "(arg1->0->0->0->0->0->0->0->0)", "too many dereferences" },
		{ "(arg1:bytes[arg5])", "it has 4 arguments" },
		{ "(arg1:bytes[arg4])", "the location of its length cannot be read" },
		{ "(arg1:bytes[arg3->8])", "the location of its length cannot be read" },
		{ "(arg3:bytes[1])", "it is no pointer: it has 4 bytes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		parse(lists[i][0], PROBE_STATIC);
		cr_assert_eq(arguments_place(&arguments, &place, why), -EINVAL, "%s", lists[i][0]);
		cr_assert(strstr(why, lists[i][1]), "%s: %s", lists[i][0], why);
	}
	cr_assert_eq(arguments_parse("(arg13)", PROBE_STATIC, &arguments, why), -EINVAL);
	cr_assert_eq(arguments_parse("(x=size)", PROBE_STATIC, &arguments, why), -EINVAL);
}

Test(arguments, are_fields_of_events_of_the_kernel)
{
	const struct argument *a =
		parse("(file=filename:str, dfd, f->8:u16, arg2, arg3->4+1:str)", PROBE_KERNEL);

	cr_assert_str_eq(a[0].path, "filename");
	cr_assert_str_eq(a[0].form.name, "file");
	cr_assert(a[0].form.type == VALUE_STR && a[0].how.is_text && a[0].number == 0);
	cr_assert(a[1].form.type == VALUE_N_TYPES && a[1].how.n_derefs == 0);
	cr_assert(a[2].how.n_derefs == 1 && a[2].how.derefs[0] == 8 && a[2].how.size == 2);
	cr_assert_str_eq(a[2].form.name, "f->8");
	cr_assert(a[3].number == 2 && a[3].form.type == VALUE_N_TYPES);
	cr_assert_str_eq(a[3].path, "arg2");
	cr_assert(a[4].number == 3 && a[4].how.derefs[0] == 4 && a[4].how.add == 1);
	a = parse("(p->comm, arg1->se.sum->8:u32)", PROBE_KERNEL);
	cr_assert_str_eq(a[0].path, "p->comm");
	cr_assert(a[1].number == 1 && a[1].how.n_derefs == 1 && a[1].how.derefs[0] == 8);
	cr_assert_str_eq(a[1].path, "arg1->se.sum");
	cr_assert_eq(arguments_parse("(->8)", PROBE_KERNEL, &arguments, why), -EINVAL);
	cr_assert(strstr(why, "the name of a field"), "%s", why);
}
