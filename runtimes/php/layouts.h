/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/php/layouts.py from the headers of each version. Rows of struct dp_runtime_image. */
/* clang-format off */
	{ .chain = {
		.variable = 488,
		.frame_size = 56,
		.next = 48,
		.code = 24,
		.position = 0,
		.flags = 40,
		.entry = 131072,
		.native = 1,
		.tags[0] = 8,
		.tags[1] = 88,
	  }, .php = {
		.api = 20220829,
		.function = 8,
		.scope = 16,
		.file = 152,
		.first_line = 160,
		.instructions = 88,
		.n_instructions = 80,
		.instruction_size = 32,
		.line = 24,
		.class_name = 8,
		.string_size = 16,
		.string_text = 24,
	  } },
/* clang-format on */
