/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DP_REPORT_FRAME_KIND_H
#define DP_REPORT_FRAME_KIND_H

#include "report/sample.h"

/*
 * Languages whose functions a runtime names, and that are no native code. Each is a row here, and
 * reports show them apart.
 *
 * X(enumerator, word, OpenTelemetry's word, enum dp_method, colour for Firefox, red, green, blue),
 * of which the last three are the lightest colour in pictures. OpenTelemetry's are those of
 * profile.frame.type in its semantic conventions (1.43).
 */
#define FRAME_LANGUAGES(X)                                                                         \
	X(PYTHON, "python", "cpython", DP_METHOD_PYTHON, "green", 235, 225, 110)                   \
	X(JAVA, "java", "jvm", DP_METHOD_JAVA, "magenta", 245, 170, 185)                           \
	X(JAVASCRIPT, "javascript", "v8js", DP_METHOD_JAVASCRIPT, "yellow", 205, 225, 120)         \
	X(RUBY, "ruby", "ruby", DP_METHOD_RUBY, "red", 250, 150, 140)                              \
	X(PHP, "php", "php", DP_METHOD_PHP, "purple", 195, 180, 240)                               \
	X(PERL, "perl", "perl", DP_METHOD_PERL, "lightblue", 150, 205, 235)

#define X(name, word, otel, method, firefox, red, green, blue) FRAME_##name,
enum frame_kind { FRAME_NATIVE, FRAME_KERNEL, FRAME_LANGUAGES(X) FRAME_N_KINDS };
#undef X

/* The first language; those after it are languages, too. */
#define FRAME_FIRST_LANGUAGE (FRAME_KERNEL + 1)

/* What kind of code a frame of user space is. */
enum frame_kind frame_kind(const struct frame *frame);

/* `native`, `kernel`, or the language's name. */
const char *frame_kind_word(enum frame_kind kind);

/* The same as a word of OpenTelemetry's profile.frame.type. */
const char *frame_kind_otel_word(enum frame_kind kind);

/*
 * The kind of code that a sample's thread ran, or in which it left its CPU: what the kernel does then is
 * not counted. False: there are no frames.
 */
bool frame_kind_of_sample(const struct sample *sample, enum frame_kind *ret);

#endif
