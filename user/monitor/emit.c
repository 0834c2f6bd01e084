// SPDX-License-Identifier: GPL-2.0-or-later
#include "monitor/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "monitor/report_loop.h"
#include "output/output.h"
#include "output/replace_file.h"

#define TEXTFILE_NAME "leakmon.prom"
/* node-exporter runs as a user of its own. */
#define TEXTFILE_MODE 0644

/* The file that each report replaces; NULL: none, or no memory. */
static char *replaced_path(const struct output_options *options)
{
	char *path;

	if (!options->textfile_dir)
		return options->path ? strdup(options->path) : NULL;
	return asprintf(&path, "%s/" TEXTFILE_NAME, options->textfile_dir) < 0 ? NULL : path;
}

/*
 * In a directory that another service may write to, a link could lead anywhere. What the operator
 * names is the operator's.
 */
static enum replace_policy policy_of(const struct output_options *options)
{
	return options->textfile_dir ? REPLACE_ONLY : REPLACE_OR_WRITE;
}

static int check_replaceable(const struct output_options *options)
{
	_cleanup_free_ char *path = replaced_path(options);
	struct replace_file file = {0};
	char why[OUTPUT_EXPLANATION_SIZE];
	int error = path ? replace_file_open(&file, path, policy_of(options)) : -ENOMEM;

	if (error)
		log_error("cannot write to %s: %s", path ? path : "a file",
			  output_explain(error, why));
	replace_file_abort(&file);
	return error;
}

int emit_open_stream(const struct output_options *options, FILE **out)
{
	char why[OUTPUT_EXPLANATION_SIZE];
	int error;

	if (!options->path) {
		*out = stdout;
		return 0;
	}
	error = replace_file_open_stream(options->path, out);
	if (error)
		log_error("cannot write to %s: %s", options->path, output_explain(error, why));
	return error;
}

void emit_say_failed(const char *what, int error)
{
	char why[OUTPUT_EXPLANATION_SIZE];

	log_error("cannot write %s: %s", what, output_explain(error, why));
}

/* Devices, pipes and what links lead to are left alone. */
static bool is_own_file(const char *path, FILE *out)
{
	struct stat opened, named;

	return !fstat(fileno(out), &opened) && !lstat(path, &named) && S_ISREG(named.st_mode) &&
	       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

void emit_guard(const struct output_options *options, FILE *out)
{
	if (out != stdout && is_own_file(options->path, out))
		interrupt_removes(options->path);
}

int emit_close(FILE *out)
{
	int error = 0;

	if (out != stdout && fclose(out))
		error = -errno;
	interrupt_removes(NULL);
	return error;
}

bool emit_wants_colour(const struct output_options *options)
{
	return !options->no_color && !options->path && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

int emit_open(const struct output_options *options, const struct output_format *format, FILE **out)
{
	if (format->single && (options->path || options->textfile_dir)) {
		*out = stdout; /* it is not written to */
		return check_replaceable(options);
	}
	return emit_open_stream(options, out);
}

/* 0666 as the umask has it: what fopen() would give. */
static mode_t default_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* Exactly one of them. */
struct emission {
	const struct report *report;
	const struct triage_report *triage;
	const struct profile_report *profile;
	const struct memory_report *memory;
};

static int write_to(FILE *out, const struct output_format *format, const struct emission *emission)
{
	if (emission->memory)
		return format->memory(out, emission->memory);
	if (emission->profile)
		return format->profile(out, emission->profile);
	return emission->triage ? format->triage(out, emission->triage)
				: format->report(out, emission->report);
}

static int replace_with(const struct output_options *options, const struct output_format *format,
			const char *path, const struct emission *emission, bool *in_place)
{
	struct replace_file file = {0};
	int error = replace_file_open(&file, path, policy_of(options));

	*in_place = !error && !file.temporary;

	if (!error)
		error = write_to(file.out, format, emission);
	if (!error)
		error = replace_file_commit(&file,
					    options->textfile_dir ? TEXTFILE_MODE : default_mode());
	replace_file_abort(&file);
	return error;
}

/* Where a report begins in a file that it is appended to; -1: what was written cannot be taken back
 * there. */
static off_t begin_of(FILE *out)
{
	int fd = fileno(out);
	struct stat status;

	if (fflush(out) || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return -1;
	return fcntl(fd, F_GETFL) & O_APPEND ? status.st_size : lseek(fd, 0, SEEK_CUR);
}

/* Half a report would make the next one unreadable, too. What others have written stays. */
static void take_back(FILE *out, off_t begin)
{
	int fd = fileno(out);
	struct stat status;

	__fpurge(out);
	clearerr(out);
	if (begin < 0 || fstat(fd, &status) || lseek(fd, 0, SEEK_CUR) != status.st_size ||
	    status.st_size <= begin)
		return;
	if (!ftruncate(fd, begin))
		lseek(fd, begin, SEEK_SET);
}

static int append_to(FILE *out, const struct output_format *format, const struct emission *emission)
{
	off_t begin = begin_of(out);
	int error = write_to(out, format, emission);

	if (error)
		take_back(out, begin);
	return error;
}

/* As it fails, and not with every report. */
static void complain(struct emit_losses *losses, const char *path, bool in_place, int error)
{
	char why[OUTPUT_EXPLANATION_SIZE];
	bool known = losses && losses->told == error;

	if (losses)
		losses->told = error;
	if (known)
		return;
	output_explain(error, why);
	if (!path)
		log_error("cannot write the report: %s%s", why,
			  losses ? "; the run goes on, and counts what is lost" : "");
	else
		log_error("cannot %s %s: %s%s%s", in_place ? "write to" : "replace", path, why,
			  in_place ? "" : "; what was there is still there",
			  losses ? "; the run goes on, and counts what is lost" : "");
}

static void recover(struct emit_losses *losses)
{
	if (losses && losses->told)
		log_info("reports are written again; %" PRIu64 " so far were not", losses->reports);
	if (losses)
		losses->told = 0;
}

/* Nobody reads what a run in the foreground prints: it ends, as whatever stands before `head`. */
static bool is_unread(const struct output_options *options, const char *path, int error)
{
	return error == -EPIPE && !path && !options->path;
}

/* What may be over by the next report. */
static bool may_pass(int error)
{
	static const int known[] = {ENOSPC, EDQUOT, EIO,    EPIPE,  ENXIO,  EROFS, ENOENT,
				    EACCES, EAGAIN, EMFILE, ENFILE, ESTALE, ENOMEM};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (known[i] == -error)
			return true;
	}
	return false;
}

static int emit(const struct output_options *options, const struct output_format *format, FILE *out,
		struct emit_losses *losses, const struct emission *emission, bool last)
{
	_cleanup_free_ char *path = format->single ? replaced_path(options) : NULL;
	bool in_place = false;
	int error;

	if (format->single && !path && !last)
		return 0;
	error = path ? replace_with(options, format, path, emission, &in_place)
		     : append_to(out, format, emission);
	if (!error)
		recover(losses);
	if (!error || (losses && is_unread(options, path, error)))
		return error;
	losses = may_pass(error) ? losses : NULL;
	complain(losses, path, in_place, error);
	if (!losses)
		return error;
	losses->reports++;
	return 0;
}

int emit_report(const struct output_options *options, const struct output_format *format, FILE *out,
		struct emit_losses *losses, const struct report *report, bool last)
{
	return emit(options, format, out, losses, &(struct emission){.report = report}, last);
}

int emit_triage(const struct output_options *options, const struct output_format *format, FILE *out,
		struct emit_losses *losses, const struct triage_report *report, bool last)
{
	return emit(options, format, out, losses, &(struct emission){.triage = report}, last);
}

int emit_memory(const struct output_options *options, const struct output_format *format, FILE *out,
		struct emit_losses *losses, const struct memory_report *report, bool last)
{
	return emit(options, format, out, losses, &(struct emission){.memory = report}, last);
}

int emit_profile(const struct output_options *options, const struct output_format *format,
		 FILE *out, struct emit_losses *losses, const struct profile_report *report,
		 bool last)
{
	return emit(options, format, out, losses, &(struct emission){.profile = report}, last);
}

int emit_listen(const struct output_options *options, struct listener **listener)
{
	*listener = NULL;
	return options->listen ? listener_open(listener, options->listen) : 0;
}

static bool has_kind(const struct output_format *format, const struct emission *emission)
{
	return output_has(format, emission->profile  ? OUTPUT_PROFILE
				  : emission->triage ? OUTPUT_TRIAGE
						     : OUTPUT_REPORT);
}

/* Three intervals may pass without a report, and a minute for what takes long. */
static uint32_t good_for_ms(const struct schedule *schedule)
{
	return (uint32_t)MIN(3 * (schedule->interval_ns / 1000000) + 60000, UINT32_MAX);
}

static void serve(struct listener *listener, const struct emission *emission,
		  const struct schedule *schedule)
{
	static const char *const formats[] = {
		[HTTP_METRICS] = "prom", [HTTP_PROFILE] = "pprof", [HTTP_PAGE] = "html"};

	_Static_assert(ARRAY_SIZE(formats) == HTTP_DOCUMENT_MAX_, "a format for every document");
	for (size_t i = 0; listener && i < HTTP_DOCUMENT_MAX_; i++) {
		const struct output_format *format = output_find(formats[i]);
		FILE *stream = has_kind(format, emission) ? listener_stream() : NULL;

		if (stream)
			listener_publish(listener, (enum http_document)i, stream,
					 write_to(stream, format, emission), good_for_ms(schedule));
	}
}

void emit_serve_report(struct listener *listener, const struct report *report,
		       const struct schedule *schedule)
{
	serve(listener, &(struct emission){.report = report}, schedule);
}

void emit_serve_triage(struct listener *listener, const struct triage_report *report,
		       const struct schedule *schedule)
{
	serve(listener, &(struct emission){.triage = report}, schedule);
}

void emit_serve_profile(struct listener *listener, const struct profile_report *report,
			const struct schedule *schedule)
{
	serve(listener, &(struct emission){.profile = report}, schedule);
}

int emit_finish(const struct output_options *options, const struct emit_losses *losses, int error,
		uint64_t outstanding_bytes)
{
	_cleanup_free_ char *path = options->textfile_dir ? replaced_path(options) : NULL;

	if (error && !is_unread(options, path, error))
		return interrupt_exit_code(EXIT_ERROR);
	if (path)
		unlink(path);
	if (losses->reports) {
		log_error("%" PRIu64 " report%s could not be written: see the messages above",
			  losses->reports, losses->reports == 1 ? "" : "s");
		return EXIT_ERROR;
	}
	if (outstanding_bytes <= options->fail_over)
		return EXIT_OK;
	log_error("%llu bytes are outstanding, more than --fail-over allows",
		  (unsigned long long)outstanding_bytes);
	return EXIT_LEAK;
}

struct report_cost emit_cost(void)
{
	struct report_cost cost = {0};
	struct rusage usage = {0};
	_cleanup_fclose_ FILE *statm = fopen("/proc/self/statm", "re");
	unsigned long pages;

	getrusage(RUSAGE_SELF, &usage);
	cost.cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	if (statm && fscanf(statm, "%*u %lu", &pages) == 1)
		cost.rss_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return cost;
}
