// SPDX-License-Identifier: Apache-2.0
/*
 * From a file to a report: an ELF file of any bytes is mapped by a process, whose stacks are walked
 * with its table, and whose frames get its names. Input: the format (1, the low 7 bits), and whether
 * the kernel has read Go's labels (the highest bit), the file's size (2), the file, and what is in the
 * rings (fuzz_rings.h).
 */
#include <sys/mman.h>
#include <unistd.h>

#include "formats/tests/fuzz_report.h"
#include "samples/tests/fuzz_rings.h"

/* Where the first process has mapped the file. */
#define MAPPED UINT64_C(0x400000)
#define PAGE ((size_t)4096)

static void feed_file(struct feed *f)
{
	size_t left, size = feed_number(f, 2);

	left = (size_t)(f->end - f->pos);
	size = size < left ? size : left;
	mapped_file = memfd_create("fuzz", MFD_CLOEXEC);
	EXPECT(mapped_file >= 0 && write(mapped_file, f->pos, size) == (ssize_t)size);
	f->pos += size;
}

/* Files with Go's tables are larger than inputs. */
static void make_go(void)
{
	struct binary *b = binaries.binaries;

	if (!b || !b->table)
		return;
	b->elf.go_start = 0;
	b->elf.go_end = UINT64_MAX;
	b->table->labels_form = DP_LABELS_GO_LIST;
}

/* Reads it and builds its table, as for any other process. */
static void map_file(bool is_go)
{
	const struct mmap_record file = { .pid = PID(0),
					  .time = 3,
					  .start = MAPPED,
					  .end = MAPPED + 2 * PAGE,
					  .file.inode = 1,
					  .name = "/file" };

	binaries.symbols = true;
	EXPECT(process_table_on_mmap(&table, &file) == 0);
	if (is_go)
		make_go();
	EXPECT(process_table_publish(&table, 4) == 0);
}

static void write_report(size_t which)
{
	const struct report_context context = { .target = "everything",
						.event = "cpu-clock",
						.hz = 99,
						.events = EVENT_BIT(DP_EVENT_CPU),
						.symbols = true,
						.names = names,
						.kallsyms = kallsyms,
						.command = "",
						.host = "",
						.kernel = "" };
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	EXPECT(to);
	EXPECT(report_new(format_at(which), &context, to, &report) == 0);
	rings_run(true);
	EXPECT(report_finish(report, &drain.totals) == 0);
	report_free(report);
	EXPECT(fclose(to) == 0);
	check_form(formats[which].form, text, size, n_reported);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed feed = { data, data + size };
	uint8_t how = feed_u8(&feed);

	feed_file(&feed);
	rings_begin(&feed);
	map_file(how & 0x80);
	write_report((how & 0x7f) % ARRAY_SIZE(formats));
	rings_end();
	close(mapped_file);
	return 0;
}
