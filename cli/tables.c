// SPDX-License-Identifier: Apache-2.0

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/tables_form.h"
#include "cli/tables_options.h"
#include "elf/bus_guard.h"
#include "kernel/permission.h"
#include "log/log.h"
#include "profiler/confined.h"
#include "profiler/record.h"
#include "sandbox/helper.h"

struct tables {
	const struct tables_form *form;
	struct parsers *parsers; /* NULL: this process parses */
	enum table_rows rows;
	struct tables_output output;
	size_t n_failed;
	size_t n_foreign, n_others; /* skipped in directories: for other machines, not ELF */
};

static int tables_fail(struct tables *t, const char *path, const char *reason)
{
	t->n_failed++;
	log_error("%s: %s", path, reason);
	return t->form->fail ? t->form->fail(&t->output, path, reason) : 0;
}

static void say_refusals(const struct file_table *table)
{
	for (size_t i = 0; i < table->view->n_refusals; i++) {
		const struct image_refusal *r = &table_view_refusals(table->view)[i];

		log_debug("%s: row from %" PRIx64 " to %" PRIx64 " refused: %s", table->path,
			  r->start, r->end, rule_refusal_sentence(r->why));
	}
}

/* named: given on the command line, so problems with the file are reported. */
static int tables_add(struct tables *t, const char *path, bool named, uint64_t inode)
{
	_cleanup_(file_table_done) struct file_table table = { 0 };
	struct tables_totals *totals = &t->output.totals;
	const struct table_view *view;
	int err = file_table_init(&table, t->parsers, path, named ? 0 : inode, t->rows);

	if (err == -ENOEXEC && !named) {
		t->n_others++;
		return 0;
	}
	if (err == -ENOTSUP && !named) {
		t->n_foreign++;
		return 0;
	}
	if (err < 0)
		return tables_fail(t, path, file_table_error(err));
	if (t->output.several)
		say_refusals(&table);
	view = table.view;
	totals->files++;
	totals->rows += view->n_rows;
	totals->image_bytes += view->image_size;
	totals->build_ns += view->build_ns;
	totals->inexpressible += view->n_refusals;
	totals->code_bytes += view->code_bytes;
	totals->covered_bytes += view->covered_bytes;
	return t->form->add(&t->output, &table);
}

/* fts(3) does not keep why a link cannot be followed. */
static const char *explain_link(const char *path)
{
	struct stat st;

	return strerror(stat(path, &st) < 0 ? errno : ENOENT);
}

static int tables_visit(struct tables *t, const FTSENT *entry)
{
	bool named = entry->fts_level == FTS_ROOTLEVEL;

	switch (entry->fts_info) {
	case FTS_F:
		return tables_add(t, entry->fts_path, named, entry->fts_statp->st_ino);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return tables_fail(t, entry->fts_path, strerror(entry->fts_errno));
	case FTS_SLNONE:
		return tables_fail(t, entry->fts_path, explain_link(entry->fts_path));
	case FTS_DEFAULT:
		if (named)
			return tables_fail(t, entry->fts_path, "it is not a regular file");
	}
	return 0;
}

static int compare_names(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/*
 * Adds a file, or all files of a directory in the order of their names. Links in directories are
 * skipped: their targets are found anyway.
 */
static int tables_walk(struct tables *t, char *path)
{
	char *roots[] = { path, NULL };
	const FTSENT *entry;
	FTS *fts;
	int err = 0;

	/* fts(3) does not accept an empty path. */
	if (path[0] == '\0')
		return tables_fail(t, path, strerror(ENOENT));
	fts = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, compare_names);
	if (!fts)
		return -errno;
	while (err == 0 && (errno = 0, entry = fts_read(fts)))
		err = tables_visit(t, entry);
	if (err == 0 && errno != 0)
		err = -errno;
	fts_close(fts);
	return err;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static enum table_rows rows_of(const struct tables_options *options)
{
	if (options->form != &tables_rows)
		return TABLE_NO_ROWS;
	return options->regs ? TABLE_ROWS_WITH_REGS : TABLE_ROWS;
}

static int tables_run(const struct tables_options *options, struct parsers *parsers)
{
	struct tables t = {
		.form = options->form,
		.parsers = parsers,
		.rows = rows_of(options),
		.output = { .to = stdout,
			    .several = options->n_files > 1 || is_directory(options->files[0]) },
	};
	int err = 0;

	if (t.form->begin)
		t.form->begin(&t.output);
	for (size_t i = 0; err == 0 && i < options->n_files; i++)
		err = tables_walk(&t, options->files[i]);
	if (t.form->finish)
		t.form->finish(&t.output);
	if (err < 0)
		log_error("cannot continue: %s", strerror(-err));
	errno = 0;
	if (fflush(t.output.to) == EOF || ferror(t.output.to)) {
		err = errno ? -errno : -EIO;
		log_error("cannot write: %s", strerror(-err));
	}
	log_debug("%" PRIu64 " files read, %zu not usable; left out: %zu that are no ELF programs "
		  "or libraries, %zu for another machine",
		  t.output.totals.files, t.n_failed, t.n_others, t.n_foreign);
	return err < 0 || t.n_failed > 0 ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

static int tables_command(int argc, char **argv)
{
	struct tables_options options;
	struct parsers *parsers;
	int err, code;

	tables_options_parse(&options, argc, argv);
	if (options.verbose)
		log_set_level(LOG_DEBUG);
	/* In case this process parses after all. */
	(void)bus_guard_install();
	err = confined_begin(options.sandbox, HELPER_SELF, NULL, &parsers);
	if (err == 0)
		err = confined_check(options.sandbox, parsers);
	/* Without the capability, only this process may open what its user may. */
	if (err == 0 && parsers && permission_has(CAP_DAC_READ_SEARCH))
		(void)parsers_use_finders(parsers);
	code = err < 0 ? EXIT_CODE_FAILED : tables_run(&options, parsers);
	parsers_drop(parsers);
	return code;
}

const struct command command_tables = {
	.name = "tables",
	.summary = "show the unwind tables of programs and libraries",
	.argp = &tables_options_argp,
	.run = tables_command,
};
