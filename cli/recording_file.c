// SPDX-License-Identifier: Apache-2.0
#include "cli/recording_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/bus_guard.h"
#include "log/log.h"
#include "profiler/file_limit.h"

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
			    err == -ENOENT ? "it is not there" : strerror(-err), id);
}

static void warn_of_all_missing(const struct recording_file *r)
{
	if (r->n_missing > SHOWN_MISSING && !log_enabled(LOG_DEBUG))
		log_warning("no names for %zu more binaries (-v names them)",
			    r->n_missing - SHOWN_MISSING);
	if (r->n_missing > 0)
		log_detail("--symfs DIR looks for the right ones below DIR");
}

static FILE *open_file(const char *path)
{
	struct stat st;
	FILE *file = strcmp(path, "-") == 0 ? fdopen(dup(STDIN_FILENO), "r") : fopen(path, "re");

	if (file && fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
		fclose(file);
		errno = EISDIR;
		return NULL;
	}
	return file;
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

int recording_file_open(const char *path, const struct recording_names *options,
			struct names *names, struct recording_file *ret)
{
	struct recording_options reading = { .names = names,
					     .symbols = !options->names.options.none,
					     .root = options->root,
					     .missing = warn_of_missing,
					     .arg = ret };
	char why[RECORDING_WHY_SIZE] = "";
	int err;

	*ret = (struct recording_file){ .path = path, .options = options };
	file_limit_raise();
	err = bus_guard_install();
	if (err < 0)
		return err;
	ret->file = open_file(path);
	if (!ret->file) {
		err = -errno;
		log_error("cannot read %s: %s", path, strerror(-err));
		return err;
	}
	err = recording_reader_new(ret->file, &reading, &ret->reader, why);
	if (err < 0)
		log_error("cannot read %s: %s", path, why[0] ? why : strerror(-err));
	else
		tell_origin(ret);
	return err;
}

void recording_file_close(struct recording_file *r)
{
	recording_reader_free(r->reader);
	if (r->file)
		fclose(r->file);
	*r = (struct recording_file){ 0 };
}

int recording_file_run(struct recording_file *r,
		       int (*fn)(void *arg, const struct sample *sample,
				 const struct totals *totals),
		       void *arg)
{
	int err = recording_reader_run(r->reader, fn, arg);
	const char *fault = recording_reader_fault(r->reader);

	warn_of_all_missing(r);
	if (err == 0 && fault)
		log_warning("%s is %s: reporting the %llu samples before that", r->path, fault,
			    (unsigned long long)recording_reader_totals(r->reader)->samples);
	return err;
}

int recording_file_check_outputs(const struct recording_file *r, const struct outputs *outputs)
{
	struct stat in;

	if (fstat(fileno(r->file), &in) < 0 || !S_ISREG(in.st_mode))
		return 0;
	for (size_t i = 0; i < outputs->n; i++) {
		if (in.st_dev != outputs->files[i].device || in.st_ino != outputs->files[i].inode)
			continue;
		log_error("cannot overwrite %s, which is being read: give another file to -o",
			  r->path);
		return -EINVAL;
	}
	return 0;
}
