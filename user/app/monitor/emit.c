// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/monitor/report_loop.h"
#include "app/monitor/report_push.h"
#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/page.h"
#include "base/serve/handover.h"
#include "output/output.h"
#include "output/replace_file.h"

#define TEXTFILE_NAME "leakmon.prom"
/* node-exporter runs as its own user. */
#define TEXTFILE_MODE 0644

/* Returns the file that each report replaces; NULL: none, or out of memory. */
static char *replaced_path(const struct output_options *options)
{
	char *path;

	if (!options->textfile_dir)
		return options->path ? strdup(options->path) : NULL;
	return asprintf(&path, "%s/" TEXTFILE_NAME, options->textfile_dir) < 0 ? NULL : path;
}

/*
 * In a directory writable by another service, a link could lead anywhere. A path from the operator
 * is trusted.
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

static int open_stream(struct emitter *emitter)
{
	const char *path = emitter->options->path;
	char why[OUTPUT_EXPLANATION_SIZE];
	int error;

	emitter->out = stdout;
	if (!path)
		return 0;
	error = replace_file_open_stream(path, &emitter->out);
	if (error)
		log_error("cannot write to %s: %s", path, output_explain(error, why));
	return error;
}

/*
 * Returns whether the path is a regular file that we opened: devices, pipes and targets of links
 * are never removed.
 */
static bool is_own_file(const char *path, FILE *out)
{
	struct stat opened, named;

	return !fstat(fileno(out), &opened) && !lstat(path, &named) && S_ISREG(named.st_mode) &&
	       opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

static bool is_once(const struct emitter *emitter)
{
	return emitter->mode == EMIT_ONCE || emitter->mode == EMIT_ONCE_STREAM;
}

/* Returns whether each report replaces the previous one. */
static bool is_single(const struct emitter *emitter)
{
	return emitter->format->single &&
	       (emitter->mode == EMIT_REPEATED || emitter->mode == EMIT_ONCE);
}

int emitter_open(struct emitter *emitter, const struct output_options *options, enum emit_mode mode)
{
	int error;

	*emitter = (struct emitter){.options = options,
				    .format = output_find(options->format),
				    .mode = mode,
				    .out = stdout};
	if (!emitter->format)
		return -EINVAL; /* unreachable: the options were checked */
	if (is_single(emitter) && (options->path || options->textfile_dir))
		return check_replaceable(options);
	error = open_stream(emitter);
	emitter->guarded = !error && is_once(emitter) && emitter->out != stdout &&
			   is_own_file(options->path, emitter->out);
	if (emitter->guarded)
		interrupt_removes(options->path);
	return error;
}

/* Returns three intervals, plus a minute for slow reports. */
static uint32_t good_for_ms(const struct schedule *schedule)
{
	return (uint32_t)MIN(3 * (schedule->interval_ns / 1000000) + 60000, UINT32_MAX);
}

int emitter_listen(struct emitter *emitter, const struct schedule *schedule)
{
	const char *address = emitter->options->listen;
	int error;

	emitter->good_for_ms = good_for_ms(schedule);
	emitter->interval_ms = (uint32_t)MIN(schedule->interval_ns / 1000000, UINT32_MAX);
	error = address ? listener_open(&emitter->listener, address) : 0;
	return error ? error : report_push_open(&emitter->push, &emitter->options->push);
}

bool emitter_serves(const struct emitter *emitter)
{
	return emitter->listener || emitter->push;
}

struct pushed emit_pushed(const struct emitter *emitter)
{
	return report_push_state(emitter->push);
}

static void push_end(struct emitter *emitter)
{
	emitter->not_pushed += report_push_close(TAKE_PTR(emitter->push));
}

int emitter_close(struct emitter *emitter)
{
	int error = 0;

	push_end(emitter);
	listener_close(emitter->listener);
	if (emitter->out && emitter->out != stdout && fclose(emitter->out))
		error = -errno;
	if (emitter->guarded)
		interrupt_removes(NULL);
	emitter->listener = NULL;
	emitter->out = NULL;
	emitter->guarded = false;
	return error;
}

struct text_form emit_form(const struct output_options *options)
{
	return (struct text_form){
		.colour = !options->no_color && !options->path && isatty(STDOUT_FILENO) &&
			  !getenv("NO_COLOR"),
		.verbose = log_get_level() >= LOG_DEBUG,
		.bytes = options->bytes,
	};
}

/* Returns 0666 less the umask, as fopen() would give. */
static mode_t default_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

/* A report and its kind. */
struct emission {
	enum output_kind kind;
	const void *report;
};

static int write_to(FILE *out, const struct output_format *format, const struct emission *emission)
{
	return format->write[emission->kind](out, emission->report);
}

static int replace_with(const struct emitter *emitter, const char *path,
			const struct emission *emission, bool *in_place)
{
	const struct output_options *options = emitter->options;
	struct replace_file file = {0};
	int error = replace_file_open(&file, path, policy_of(options));

	*in_place = !error && !file.temporary;
	if (!error)
		error = write_to(file.out, emitter->format, emission);
	if (!error)
		error = replace_file_commit(&file,
					    options->textfile_dir ? TEXTFILE_MODE : default_mode());
	replace_file_abort(&file);
	return error;
}

/* Returns the offset at which an appended report begins; -1: the file cannot be truncated. */
static off_t begin_of(FILE *out)
{
	int fd = fileno(out);
	struct stat status;

	if (fflush(out) || fstat(fd, &status) || !S_ISREG(status.st_mode))
		return -1;
	return fcntl(fd, F_GETFL) & O_APPEND ? status.st_size : lseek(fd, 0, SEEK_CUR);
}

/*
 * Removes a partial report, which would make the next one unreadable, too. Text that others have
 * written since stays.
 */
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

/* Logs a failure once, not with every report. `counted`: the run goes on. */
static void complain(struct emitter *emitter, const char *path, bool in_place, bool counted,
		     int error)
{
	const char *rest = counted ? "; the run goes on, and counts what is lost" : "";
	char why[OUTPUT_EXPLANATION_SIZE];

	if (counted && emitter->reported == error)
		return;
	emitter->reported = error;
	output_explain(error, why);
	if (!path)
		log_error("cannot write the report: %s%s", why, rest);
	else
		log_error("cannot %s %s: %s%s%s", in_place ? "write to" : "replace", path, why,
			  in_place ? "" : "; what was there is still there", rest);
}

static void recover(struct emitter *emitter)
{
	if (emitter->reported)
		log_info("reports are written again; %" PRIu64 " so far were not", emitter->lost);
	emitter->reported = 0;
}

/*
 * Returns whether the reader of standard output is gone: a foreground run then ends, like any
 * program in front of `head`.
 */
static bool is_unread(const struct output_options *options, const char *path, int error)
{
	return error == -EPIPE && !path && !options->path;
}

/* Returns whether the error may be gone by the next report. */
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

static int write_report(struct emitter *emitter, const struct emission *emission, bool last)
{
	bool single = is_single(emitter), counts = emitter->mode == EMIT_REPEATED, in_place = false;
	_cleanup_free_ char *path = single ? replaced_path(emitter->options) : NULL;
	int error;

	if (single && !path && !last)
		return 0;
	error = path ? replace_with(emitter, path, emission, &in_place)
		     : append_to(emitter->out, emitter->format, emission);
	if (!error)
		recover(emitter);
	if (!error || (counts && is_unread(emitter->options, path, error)))
		return error;
	counts &= may_pass(error);
	complain(emitter, path, in_place, counts, error);
	if (!counts)
		return error;
	emitter->lost++;
	return 0;
}

/*
 * Writes a served document. A page is followed by its interval for its script: it is served, and
 * replaced at that interval.
 */
static int serve_to(FILE *stream, const struct emitter *emitter, enum http_document document,
		    const struct emission *emission, const struct output_format *format)
{
	int error = write_to(stream, format, emission);

	if (!error && document == HTTP_PAGE)
		fprintf(stream, "<meta name=\"leakmon-interval\" content=\"%" PRIu32 "\">\n",
			emitter->interval_ms);
	return error;
}

void emit_serve(struct emitter *emitter, enum output_kind kind, const void *report)
{
	static const char *const formats[] = {
		[HTTP_METRICS] = "prom", [HTTP_PROFILE] = "pprof", [HTTP_PAGE] = "html"};
	const struct emission emission = {kind, report};

	_Static_assert(ARRAY_SIZE(formats) == HTTP_DOCUMENT_MAX_, "a format for every document");
	for (size_t i = 0; emitter->listener && i < HTTP_DOCUMENT_MAX_; i++) {
		const struct output_format *format = output_find(formats[i]);
		FILE *stream = output_has(format, kind) ? handover_stream() : NULL;

		if (stream)
			listener_publish(emitter->listener, (enum http_document)i, stream,
					 serve_to(stream, emitter, i, &emission, format),
					 emitter->good_for_ms);
	}
	report_push_take(emitter->push, kind, report);
	emitter->served = true;
}

int emit(struct emitter *emitter, enum output_kind kind, const void *report, bool last)
{
	if (!emitter->served)
		emit_serve(emitter, kind, report);
	emitter->served = false;
	return write_report(emitter, &(struct emission){kind, report}, last);
}

int emit_once(const struct output_options *options, enum emit_mode mode, enum output_kind kind,
	      const void *report)
{
	char why[OUTPUT_EXPLANATION_SIZE];
	struct emitter emitter = {0};
	int closing, error = emitter_open(&emitter, options, mode);

	if (!error)
		error = emit(&emitter, kind, report, true);
	closing = emitter_close(&emitter);
	if (closing && !error)
		log_error("cannot write the report: %s", output_explain(closing, why));
	return error ? error : closing;
}

int emitter_finish(struct emitter *emitter, const struct output_options *options, int error,
		   uint64_t outstanding_bytes)
{
	_cleanup_free_ char *path = options->textfile_dir ? replaced_path(options) : NULL;

	push_end(emitter);
	if (error && !is_unread(options, path, error))
		return interrupt_exit_code(EXIT_ERROR);
	if (path)
		unlink(path);
	if (emitter->lost) {
		log_error("%" PRIu64 " report%s could not be written: see the messages above",
			  emitter->lost, emitter->lost == 1 ? "" : "s");
		return EXIT_ERROR;
	}
	if (emitter->not_pushed)
		return EXIT_ERROR; /* already logged */
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
		cost.rss_bytes = pages * page_size();
	return cost;
}
