/* SPDX-License-Identifier: Apache-2.0 */
/* Made by runtimes/ruby/layouts.py from the headers of each version. Rows of struct dp_runtime_image. */
/* clang-format off */
	{ .chain = {
		.first = 17,
		.stack = 0,
		.stack_words = 8,
		.frame_size = 40,
		.stride = 64,
		.code = 16,
		.position = 0,
		.flags = 32,
		.flags_far = 1,
		.entry = 32,
		.skip = 128,
		.kind = 2147418113,
		.no_kind = 2040070145,
		.tagged = 17,
		.tags[0] = 80,
		.tags[1] = 88,
	  }, .ruby = {
		.version = 769,
		.body = 16,
		.size = 4,
		.instructions = 8,
		.path = 64,
		.label = 80,
		.lines = 120,
		.n_lines = 136,
		.index = 144,
		.line_size = 12,
		.string_size = 16,
	  } },
/* clang-format on */
