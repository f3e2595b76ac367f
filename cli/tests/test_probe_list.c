// SPDX-License-Identifier: Apache-2.0
/* Probes of a file. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/probe_list.h"
#include "log/log.h"

static struct probe_list list;
static char *said;

static int read_text(const char *text)
{
	char path[] = "/tmp/test_probe_list.XXXXXX";
	int fd = mkstemp(path);
	size_t size;
	FILE *to = open_memstream(&said, &size);
	int err;

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	log_answer_to(to);
	err = probe_list_read(&list, path);
	log_answer_to(NULL);
	fclose(to);
	unlink(path);
	return err;
}

static void end(void)
{
	probe_list_done(&list);
	free(said);
}

TestSuite(probe_list, .fini = end);

Test(probe_list, has_those_of_sections)
{
	cr_assert_eq(probe_list_add(&list, "uprobe:a:b", NULL, 3), 0);
	cr_assert_eq(read_text("# some\n[probe one]\nprobe = uprobe:/x:f(a=arg1)\nmax-rate = 7\n"
			       "[probe two words]\nprobe=usdt:/x:p:n\n"),
		     0);
	cr_assert_eq(list.n, 3);
	cr_assert_str_eq(list.items[1].name, "one");
	cr_assert_str_eq(list.items[1].probe, "uprobe:/x:f(a=arg1)");
	cr_assert_eq(list.items[1].max_rate, 7);
	cr_assert_str_eq(list.items[2].name, "two words");
	cr_assert_eq(list.items[2].max_rate, 0);
	cr_assert_null(list.items[0].name);
}

Test(probe_list, has_those_of_toml)
{
	cr_assert_eq(
		read_text(
			"# some\n[probe.one] # the first\nprobe = \"uprobe:/x:f(a=arg1)\" # as C\n"
			"max-rate = 7 # or so\n[probe.\"two words\"]\n"
			"probe = 'usdt:/x:p:\\n'\n[probe.'th.ree']\nprobe=\"u:\\\"\\\\#\"\n"),
		0, "%s", said);
	cr_assert_eq(list.n, 3);
	cr_assert_str_eq(list.items[0].name, "one");
	cr_assert_str_eq(list.items[0].probe, "uprobe:/x:f(a=arg1)");
	cr_assert_eq(list.items[0].max_rate, 7);
	cr_assert_str_eq(list.items[1].name, "two words");
	cr_assert_str_eq(list.items[1].probe, "usdt:/x:p:\\n");
	cr_assert_str_eq(list.items[2].name, "th.ree");
	cr_assert_str_eq(list.items[2].probe, "u:\"\\#");
}

Test(probe_list, says_where_it_is_wrong)
{
	static const struct {
		const char *text, *said;
	} wrong[] = {
		{ "probe = x\n", ":1:1: a section [probe.NAME] has to begin first" },
		{ "[backend x]\n", ":1:1: sections are called [probe.NAME]" },
		{ "[probe.\"x]\n", ":1:8: it must end with its quote" },
		{ "[probe.x]\nprobe = \"y\n", ":2:9: it must end with its quote" },
		{ "[probe.x]\nprobe = 'y' z\n", ":2:9: it must end with its quote" },
		{ "[probe.x]\nprobe = \"\\u0061\"\n", ":2:9: it must end with its quote" },
		{ "[probe.x]\nprobe = \"\"\"y\"\"\"\n", ":2:9: it must end with its quote" },
		{ "[probe y]\nprobe = z\nmax-rate = 7 8\n", ":3:12: max-rate takes" },
		{ "[probe x]\n[probe y]\nprobe = z\n", ":1:1: this section lacks its probe" },
		{ "[probe y]\nprobe = z\n[probe x]\n", ":3:1: this section lacks its probe" },
		{ "[probe y]\nprobe = z\nprobe = z\n", ":3:1: a section has one probe" },
		{ "[probe y]\nprobe = z\nrate = 3\n", ":3:1: the keys of a probe are" },
		{ "[probe y]\nprobe = z\nmax-rate = 0\n", ":3:12: max-rate takes a whole number" },
		{ "[probe y]\nprobe = z\nmax-rate = 1000001\n", ":3:12: max-rate takes" },
		{ "[probe y]\nprobe\n", ":2:1: not of the form" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		cr_assert_eq(read_text(wrong[i].text), -EINVAL);
		cr_assert(strstr(said, wrong[i].said), "%s: %s", wrong[i].text, said);
		free(said);
		said = NULL;
		probe_list_done(&list);
	}
}

Test(probe_list, needs_a_file)
{
	size_t size;
	FILE *to = open_memstream(&said, &size);

	log_answer_to(to);
	cr_assert_eq(probe_list_read(&list, "/nowhere"), -ENOENT);
	log_answer_to(NULL);
	fclose(to);
	cr_assert_str_eq(said, "cannot read /nowhere: No such file or directory\n");
}
