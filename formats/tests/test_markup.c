// SPDX-License-Identifier: Apache-2.0
/* Pictures and pages: how they show foreign names, and numbers. */
#include "formats/markup.h"

#include <stdlib.h>
#include <unistd.h>

#include "formats/tests/samples.h"
#include "symbols/kallsyms.h"

static const struct report_context hostile = {
	.target = "<b>\"a\" & 'b'</b>",
	.event = "uprobe:<i>",
	.symbols = true,
};

static void expect(const char *wanted)
{
	cr_assert(strstr(text, wanted), "no %s", wanted);
}

/* Otherwise one of these would end a title, an attribute or an element. */
Test(markup, escapes_what_is_markup)
{
	FILE *to = open_memstream(&text, &text_size);

	cr_assert_eq(markup_put_text("a<b>&'c'\"\n\xff\xef\xbf\xbf", to), 0);
	fclose(to);
	cr_assert_str_eq(text, "a&lt;b&gt;&amp;&#39;c&#39;&quot;?????");
	free(text);
}

static void expect_value(bool time, uint64_t value, const char *wanted)
{
	FILE *to = open_memstream(&text, &text_size);

	markup_put_value(&(struct report_context){ .events =
							   time ? EVENT_BIT(DP_EVENT_OFF_CPU) : 0 },
			 value, to);
	fclose(to);
	cr_assert_str_eq(text, wanted);
	free(text);
}

Test(markup, shows_numbers_with_their_units)
{
	expect_value(false, 0, "0 events");
	expect_value(false, 1, "1 event");
	expect_value(false, 9999, "9999 events");
	expect_value(false, 12345678, "12 345 678 events");
	expect_value(true, 1500000000, "1.50 s");
	expect_value(true, 2500000, "2.5 ms");
	expect_value(true, 3000, "3 us");
}

Test(html, says_what_was_profiled)
{
	begin_with("html", &hostile);
	add(sample_of(DP_COMPLETE));
	finish();
	expect("<title>&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/b&gt; - dwarfprof</title>");
	expect("<b>&lt;b&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/b&gt;</b>, uprobe:&lt;i&gt;");
	free(text);
}

/* Reads the next colour: red, green and blue. */
static void read_colour(const char *from, unsigned int ret[3])
{
	int end = 0;

	from = from ? strstr(from, "fill=\"#") : NULL;
	cr_assert(from);
	cr_assert_eq(sscanf(from, "fill=\"#%2x%2x%2x%n", &ret[0], &ret[1], &ret[2], &end), 3);
	cr_assert_eq(end, 13, "%.20s", from);
	cr_assert_eq(from[end], '"', "%.20s", from);
}

static void expect_shade_of(const char *name, const unsigned int of[3])
{
	unsigned int found[3];
	char title[64];

	snprintf(title, sizeof(title), "<title>%s", name);
	read_colour(strstr(text, title), found);
	for (int i = 0; i < 3; i++)
		cr_expect(found[i] <= of[i] && found[i] + 41 > of[i], "%s: %u of %u", name,
			  found[i], of[i]);
}

/* Kinds of functions have the colours of the legend: user code orange, the kernel blue. */
Test(svg, has_colours_by_what_functions_are)
{
	struct sample sample = sample_of(DP_COMPLETE);
	unsigned int user[3], of_kernel[3];
	const char *legend;

	sample.kernel = kernel;
	sample.n_kernel = 2;
	begin("svg");
	add(sample);
	finish();
	legend = strstr(text, "</text>\n<rect x=");
	read_colour(legend, user);
	legend = strstr(legend, ">inlined</text>");
	read_colour(legend, of_kernel);
	cr_assert(user[0] > user[2] && of_kernel[0] < of_kernel[2]);
	expect_shade_of("0x7777", user);
	expect_shade_of("[prog+0x1120]", user);
	expect_shade_of("[prog+0x1010]", user);
	expect_shade_of("0xffffffff81000001", of_kernel);
	expect_shade_of("0xffffffff81000100", of_kernel);
	free(text);
}

/* A script cuts so many characters off a title. */
Test(svg, counts_the_characters_that_it_writes)
{
	char path[] = "/tmp/dwarfprof-test-XXXXXX";
	FILE *names = fdopen(mkstemp(path), "w");
	struct sample sample = sample_of(DP_COMPLETE);
	struct kallsyms *kallsyms;

	fputs("ffffffff81000000 T a\xef\xbf\xbf\xc3\xa4\n", names);
	fclose(names);
	cr_assert(kallsyms_new(some_names(), path, &kallsyms) == 0);
	unlink(path);
	sample.kernel = kernel;
	sample.n_kernel = 1;
	begin("svg");
	report->context.kallsyms = kallsyms;
	add(sample);
	finish();
	expect("<g data-n=\"5\"><title>a???\xc3\xa4");
	free(text);
	kallsyms_free(kallsyms);
}
