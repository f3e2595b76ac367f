// SPDX-License-Identifier: Apache-2.0
#include "profiler/outputs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "log/log.h"
#include "profiler/summary.h"
#include "report/piped.h"
#include "report/value.h"

DEFINE_CLEANUP(struct piped *, piped_free)

static bool is_stdout(const char *path)
{
	return !path || strcmp(path, "-") == 0;
}

/* Writes the expansion of a letter behind a percent sign. False: unknown letter. */
static bool put_field(FILE *to, char letter, pid_t pid)
{
	char text[256];
	time_t now = time(NULL);
	struct tm tm;

	switch (letter) {
	case 'p':
		fprintf(to, "%d", pid);
		return true;
	case 't':
		if (localtime_r(&now, &tm) && strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm))
			fputs(text, to);
		return true;
	case 'h':
		if (gethostname(text, sizeof(text)) == 0) {
			text[sizeof(text) - 1] = '\0';
			fputs(text, to);
		}
		return true;
	case '%':
		fputc('%', to);
		return true;
	}
	return false;
}

static int expand_path(const char *path, pid_t pid, char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return -errno;
	for (; *path; path++) {
		if (*path == '%' && put_field(to, path[1], pid))
			path++;
		else
			fputc(*path, to);
	}
	if (fclose(to) != 0)
		return -ENOMEM;
	*ret = steal_ptr(text);
	return 0;
}

static int open_one(struct outputs *outputs, const char *path, pid_t pid, int end)
{
	char **expanded = &outputs->paths[outputs->n];
	int err;

	if (!is_stdout(path)) {
		err = expand_path(path, pid, expanded);
		if (err < 0)
			return err;
	}
	err = output_open(*expanded, end, &outputs->files[outputs->n]);
	if (err == -ECANCELED) {
		summary_tell_interrupted();
		free(*expanded);
		return err;
	}
	if (err < 0) {
		log_error("cannot write %s: %s", *expanded,
			  err == -EOWNERDEAD ? "a file, link or pipe of another user is there" :
					       strerror(-err));
		if (err == -EOWNERDEAD)
			log_detail("try:  a directory that is yours");
		free(*expanded);
		return err == -EACCES || err == -EPERM ? -EIO : err;
	}
	outputs->n++;
	return 0;
}

static bool is_regular(const struct output *output)
{
	struct stat st;

	return fstat(fileno(output->file), &st) == 0 && S_ISREG(st.st_mode);
}

/* A regular file that reports are not to share. */
static bool is_own(const struct output *output)
{
	return !output->is_shared && is_regular(output);
}

/* Two paths may lead to the same file, and the reports would overwrite each other. */
static int check_distinct(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		for (size_t j = 0; j < i; j++)
			if (is_own(&outputs->files[i]) && is_own(&outputs->files[j]) &&
			    outputs->files[i].device == outputs->files[j].device &&
			    outputs->files[i].inode == outputs->files[j].inode) {
				log_error("two reports cannot go to one file: %s and %s",
					  outputs->paths[j] ? outputs->paths[j] : "stdout",
					  outputs->paths[i] ? outputs->paths[i] : "stdout");
				return -EEXIST;
			}
	return 0;
}

int outputs_open(struct outputs *ret, const struct output_request *requests, size_t n, pid_t pid,
		 int end)
{
	int err = 0;

	*ret = (struct outputs){
		.files = calloc(n, sizeof(*ret->files)),
		.paths = calloc(n, sizeof(*ret->paths)),
		.reports = calloc(n, sizeof(struct report *)),
		.piped = calloc(n, sizeof(struct piped *)),
	};
	if (!ret->files || !ret->paths || !ret->reports || !ret->piped)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < n; i++)
		err = open_one(ret, requests[i].path, pid, end);
	return err == 0 ? check_distinct(ret) : err;
}

static int check_format(const struct report_format *format, const struct report_context *context)
{
	if (!format->no_memory || !value_is_memory(context))
		return 0;
	log_error("%s cannot represent memory allocations", format->name);
	log_detail("try:  --format text, pprof, jsonl or recording");
	return -EOPNOTSUPP;
}

int outputs_make_reports(struct outputs *outputs, const struct output_request *requests,
			 const struct report_context *context)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < outputs->n; i++) {
		struct report_context own = *context;

		own.by = requests[i].by;
		own.wide = requests[i].wide;
		own.viewer = requests[i].viewer;
		err = check_format(requests[i].format, context);
		if (err == 0)
			err = report_new(requests[i].format, &own, outputs->files[i].file,
					 &outputs->reports[i]);
	}
	return err;
}

int outputs_await_readers(struct outputs *outputs, const struct names *names)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < outputs->n; i++) {
		int fd = fileno(outputs->files[i].file);

		if (!outputs->reports[i]->streams || !piped_may_block(fd))
			continue;
		err = piped_new(fd, names, &outputs->piped[i]);
		if (err == 0)
			report_set_piped(outputs->reports[i], outputs->piped[i]);
	}
	return err;
}

void outputs_end(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->piped[i])
			piped_end(outputs->piped[i]);
}

void outputs_leave(struct outputs *outputs, int (*begin)(size_t i))
{
	outputs->begin = begin;
	for (size_t i = 0; i < outputs->n; i++)
		output_leave(&outputs->files[i]);
}

int outputs_begin(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++) {
		int err = outputs->begin ? outputs->begin(i) : output_begin(&outputs->files[i]);

		if (err < 0) {
			log_error("cannot write %s: %s", outputs->paths[i], strerror(-err));
			return -EIO;
		}
	}
	return 0;
}

static int finish_those(struct outputs *outputs, const struct totals *totals, bool are_regular)
{
	int err = 0;

	for (size_t i = 0; err == 0 && i < outputs->n; i++) {
		if (is_regular(&outputs->files[i]) != are_regular)
			continue;
		err = report_finish(outputs->reports[i], totals);
		fflush(outputs->files[i].file);
	}
	return err;
}

/* Who reads a pipe may let others wait. */
int outputs_finish(struct outputs *outputs, const struct totals *totals)
{
	int err = finish_those(outputs, totals, true);

	return err < 0 ? err : finish_those(outputs, totals, false);
}

static bool has_failed(const struct outputs *outputs, size_t i)
{
	const struct piped *piped = outputs->piped[i];

	return ferror(piped ? piped_file(piped) : outputs->files[i].file);
}

bool outputs_have_failed(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (has_failed(outputs, i))
			return true;
	return false;
}

static int close_one(struct outputs *outputs, size_t i, struct piped *piped)
{
	int err = piped ? piped_flush(piped) : 0;
	int closed = output_close(&outputs->files[i]);

	return err < 0 ? err : closed;
}

static void tell_given_up(const struct piped *piped, const char *name)
{
	log_error("the reader of %s has stopped reading: %" PRIu64 " of %" PRIu64
		  " samples are not in it",
		  name, piped_n_missing(piped), piped_n_samples(piped));
}

int outputs_close(struct outputs *outputs, int err)
{
	int result = err;

	for (size_t i = 0; i < outputs->n; i++) {
		const char *name = outputs->paths[i] ?: "the standard output";
		bool failed = has_failed(outputs, i);
		_cleanup_(piped_freep) struct piped *piped = steal_ptr(outputs->piped[i]);
		bool is_given_up = piped && piped_is_given_up(piped);
		int closed = close_one(outputs, i, piped);

		if (!failed && (err < 0 || closed == 0))
			continue;
		if (is_given_up)
			tell_given_up(piped, name);
		else
			log_error("cannot write %s: %s", name, strerror(err < 0 ? -err : -closed));
		result = -EIO;
	}
	return result;
}

void outputs_tell(const struct outputs *outputs, const struct output_request *requests)
{
	struct stat st;

	for (size_t i = 0; i < outputs->n; i++) {
		const char *path = outputs->paths[i], *use = requests[i].format->use;
		double size;

		if (!path || strcmp(path, OUTPUT_STDERR) == 0 || stat(path, &st) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		size = (double)st.st_size;
		log_info("wrote %s (%.*f %s)%s%s", path, size < 1e3 ? 0 : 1,
			 size < 1e3 ? size :
			 size < 1e6 ? size / 1e3 :
				      size / 1e6,
			 size < 1e3 ? "bytes" :
			 size < 1e6 ? "kB" :
				      "MB",
			 use ? ": " : "", use ? use : "");
	}
}

void outputs_free_reports(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		report_free(steal_ptr(outputs->reports[i]));
}

void outputs_done(struct outputs *outputs)
{
	outputs_free_reports(outputs);
	for (size_t i = 0; i < outputs->n; i++)
		free(outputs->paths[i]);
	free(outputs->piped);
	free(outputs->files);
	free(outputs->paths);
	free(outputs->reports);
	*outputs = (struct outputs){ 0 };
}

bool outputs_use_stdout(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (!outputs->paths[i])
			return true;
	return false;
}

bool outputs_use_stderr(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->files[i].is_shared)
			return true;
	return false;
}
