// SPDX-License-Identifier: Apache-2.0
#include "cli/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binaries/foreign_file.h"
#include "elf/bus_guard.h"
#include "kernel/permission.h"
#include "log/log.h"
#include "profiler/file_limit.h"
#include "sandbox/keeper.h"
#include "sandbox/parsers.h"

/* Binaries without names to list in a warning; -v lists all. */
#define SHOWN_MISSING 10

static void warn_of_missing(void *arg, const struct module *module, int err)
{
	struct recording_file *r = arg;
	const char *id = module->build_id[0] ? module->build_id : "none";

	if (r->n_missing++ >= SHOWN_MISSING && !log_enabled(LOG_DEBUG))
		return;
	if (err == -ESTALE)
		log_warning("no names for %s: the file there is not the one that was "
			    "recorded (build id %s)",
			    module->path, id);
	else
		log_warning("no names for %s: %s (build id %s)", module->path,
			    err == -ENOENT ? "it is not there" : parsers_explain(err), id);
}

static void warn_of_all_missing(const struct recording_file *r)
{
	if (r->n_missing > SHOWN_MISSING && !log_enabled(LOG_DEBUG))
		log_warning("no names for %zu more binaries (-v names them)",
			    r->n_missing - SHOWN_MISSING);
	if (r->n_missing > 0)
		log_detail("--symfs DIR looks for the right ones below DIR");
}

/* Of one whose file system this process must not wait for, it gets no more than a reference. */
static bool is_reference(int fd)
{
	return fcntl(fd, F_GETFL) & O_PATH;
}

/* Once rights are given up, those who open binaries may be allowed to. */
static FILE *open_file(const struct recording_file *r, const char *path)
{
	FILE *file = strcmp(path, "-") == 0 ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re");
	int fd;

	if (file || errno != EACCES || !keeper_is_there())
		return file;
	fd = names_open_file(r->names, path);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	if (is_reference(fd)) {
		foreign_file_close(fd);
		errno = EREMOTE;
		return NULL;
	}
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

/* The recording, or that of the directory. One that was opened ahead is read from its begin. */
static FILE *open_number(const struct recording_file *r, size_t i)
{
	const struct listed_recording *listed = r->list.n > 0 ? &r->list.of[i] : NULL;
	int fd = listed && listed->fd >= 0 ? fcntl(listed->fd, F_DUPFD_CLOEXEC, 0) : -1;
	FILE *file;

	if (fd < 0)
		return open_file(r, listed ? listed->path : r->path);
	(void)lseek(fd, 0, SEEK_SET);
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *explain(const struct recording_file *r, int err)
{
	if (err == -EREMOTE)
		return "its file system may not answer";
	if (err != -ENOENT || !r->is_directory)
		return strerror(-err);
	return r->options->from_ns || r->options->to_ns ? "it has no recordings of that time" :
							  "it has no recordings";
}

static const char *present_path(const struct recording_file *r)
{
	return r->n_opened > 0 ? r->list.of[r->n_opened - 1].path : r->path;
}

static const char *or_unknown(const char *text)
{
	return text ? text : "?";
}

static void tell_origin(const struct recording_file *r)
{
	const struct report_context *context = recording_reader_context(r->reader);

	log_debug("%s: recorded on %s, %s, by dwarfprof %s: %s", r->path, or_unknown(context->host),
		  or_unknown(context->kernel),
		  or_unknown(recording_reader_text(r->reader, "version")),
		  or_unknown(context->command));
}

static int open_reader(struct recording_file *r, size_t i, const struct recording_options *reading,
		       char why[RECORDING_WHY_SIZE])
{
	if (!r->file) {
		r->file = open_number(r, i);
		r->open_err = r->file ? 0 : -errno;
	}
	return r->file ? recording_reader_new(r->file, reading, &r->reader, why) : r->open_err;
}

/*
 * Opens the file, or the first one of a directory that can be read; it says which cannot. 0 or a
 * negative errno, after a message.
 */
static int open_first(struct recording_file *r, const struct recording_options *reading)
{
	char why[RECORDING_WHY_SIZE] = "";
	int err = r->open_err;

	while (err == 0) {
		size_t i = r->n_opened;

		r->n_opened += r->list.n > 0;
		err = open_reader(r, i, reading, why);
		if (err == 0 || err == -ENOMEM || r->n_opened == r->list.n)
			break;
		log_warning("%s is left out: %s", present_path(r), why[0] ? why : explain(r, err));
		if (r->file)
			fclose(r->file);
		r->file = NULL;
		why[0] = '\0';
		err = 0;
	}
	if (err < 0)
		log_error("cannot read %s: %s", present_path(r), why[0] ? why : explain(r, err));
	return err;
}

static bool has_other_rate(const struct recording_file *r, size_t i)
{
	_cleanup_fclose_ FILE *file = open_number(r, i);

	return file && recording_reader_differs_in_rate(r->reader, file);
}

/* Before any report is made, as it decides what reports count. */
static void look_at_rates(struct recording_file *r)
{
	for (size_t i = r->n_opened; i < r->list.n; i++) {
		if (!has_other_rate(r, i))
			continue;
		log_info("%s has recordings of different sampling rates: they are added up by "
			 "time, not by samples",
			 r->path);
		recording_reader_count_time(r->reader);
		return;
	}
}

/* Root can read all files without this capability, but no process that it starts could do only that. */
static bool can_open_later(void)
{
	return permission_has(CAP_DAC_READ_SEARCH) || !permission_has(CAP_DAC_OVERRIDE);
}

int recording_file_open(const char *path, const struct recording_names *options,
			struct names *names, struct recording_file *ret)
{
	*ret = (struct recording_file){ .path = path, .options = options, .names = names };
	file_limit_raise();
	ret->is_directory = is_directory(path);
	if (ret->is_directory)
		ret->open_err =
			recording_list_read(path, options->from_ns, options->to_ns, &ret->list);
	if (keeper_is_there() && !can_open_later())
		recording_list_open(&ret->list);
	if (ret->open_err == 0)
		ret->file = open_number(ret, 0);
	return bus_guard_install();
}

void recording_file_rewind(struct recording_file *r)
{
	r->reader = recording_reader_free(r->reader);
	if (r->file)
		fclose(r->file);
	r->n_opened = r->n_unlike = r->n_missing = r->n_too_many = 0;
	r->file = open_number(r, 0);
	r->open_err = r->file ? 0 : -errno;
}

/* Not a pipe or a device, which may notice. 0 or a negative errno. */
static int try_open(const char *path)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

int recording_file_check(const char *path, const struct recording_names *options)
{
	struct recording_file r = { .path = path, .options = options };

	if (strcmp(path, "-") != 0)
		r.open_err = try_open(path);
	r.is_directory = r.open_err == 0 && is_directory(path);
	if (r.is_directory)
		r.open_err = recording_list_read(path, options->from_ns, options->to_ns, &r.list);
	if (r.open_err < 0)
		log_error("cannot read %s: %s", path, explain(&r, r.open_err));
	recording_list_done(&r.list);
	return r.open_err;
}

int recording_file_begin(struct recording_file *r)
{
	const struct recording_names *options = r->options;
	struct recording_options reading = { .names = r->names,
					     .symbols = !options->names.options.none,
					     .root = options->root,
					     .from_real_ns = options->from_ns,
					     .to_real_ns = options->to_ns,
					     .missing = warn_of_missing,
					     .arg = r };
	int err = open_first(r, &reading);

	if (err == 0)
		tell_origin(r);
	if (err == 0)
		look_at_rates(r);
	return err;
}

void recording_file_close(struct recording_file *r)
{
	recording_reader_free(r->reader);
	recording_list_done(&r->list);
	if (r->file)
		fclose(r->file);
	*r = (struct recording_file){ 0 };
}

/* Goes on with the next file that can be added up with the first one. 1; 0: there is none. */
static int open_next(struct recording_file *r)
{
	while (r->n_opened < r->list.n) {
		const struct listed_recording *listed = &r->list.of[r->n_opened];
		const char *path = listed->path;
		char why[RECORDING_WHY_SIZE] = "";
		FILE *file = open_number(r, r->n_opened++);
		int err;

		if (!file) {
			r->n_too_many += listed->is_one_too_many;
			if (!listed->is_one_too_many || log_enabled(LOG_DEBUG))
				log_warning("%s is left out: %s", path, explain(r, -errno));
			continue;
		}
		fclose(r->file);
		r->file = file;
		err = recording_reader_continue(r->reader, file, why);
		if (err == 0)
			return 1;
		if (err == -ENOMEM)
			return err;
		if (err != -EMEDIUMTYPE || r->n_unlike++ == 0 || log_enabled(LOG_DEBUG))
			log_warning("%s is left out: %s", path, why[0] ? why : strerror(-err));
	}
	return 0;
}

int recording_file_run(struct recording_file *r,
		       int (*fn)(void *arg, const struct sample *sample,
				 const struct totals *totals),
		       void *arg)
{
	int err;

	do {
		const char *fault;

		err = recording_reader_run(r->reader, fn, arg);
		fault = recording_reader_fault(r->reader);
		if (err == 0 && fault)
			log_warning(
				"%s is %s: reporting the %llu samples before that", present_path(r),
				fault,
				(unsigned long long)recording_reader_totals(r->reader)->samples);
		if (err == 0)
			err = open_next(r);
	} while (err > 0);
	warn_of_all_missing(r);
	if (r->n_too_many > 0)
		log_warning("%zu recordings of %s are left out: more than can be opened before "
			    "rights are given up; use --from and --to",
			    r->n_too_many, r->path);
	if (r->n_unlike > 1)
		log_warning(
			"%zu more recordings are left out, because they were sampled differently",
			r->n_unlike - 1);
	return err;
}

static bool is_output(dev_t device, ino_t inode, const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->n; i++)
		if (device == outputs->files[i].device && inode == outputs->files[i].inode)
			return true;
	return false;
}

int recording_file_check_outputs(const struct recording_file *r, const struct outputs *outputs)
{
	const char *path = NULL;
	struct stat in;

	if (fstat(fileno(r->file), &in) == 0 && S_ISREG(in.st_mode) &&
	    is_output(in.st_dev, in.st_ino, outputs))
		path = present_path(r);
	for (size_t i = 0; !path && i < r->list.n; i++)
		if (is_output(r->list.of[i].device, r->list.of[i].inode, outputs))
			path = r->list.of[i].path;
	if (!path)
		return 0;
	log_error("cannot overwrite %s, which is being read: give another file to -o", path);
	return -EINVAL;
}
