// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/retain_run.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "output/retain.h"

#define DEFAULT_PATHS 3
#define DEFAULT_TOP 10

int retain_run_open(struct retain_run *run, const struct options *options)
{
	*run = (struct retain_run){.options = options, .worker = worker_new(NULL)};
	run->symbolizer = run->worker ? symbolizer_new(run->worker) : NULL;
	run->out = options->output ? fopen(options->output, "we") : stdout;
	if (!run->out) {
		int err = -errno;

		log_error(
			"cannot write to %s: %s; name a file in a directory that you may write to",
			options->output, strerror(-err));
		return err;
	}
	if (run->symbolizer)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

void retain_run_close(struct retain_run *run)
{
	changes_free(&run->memory);
	symbolizer_free(run->symbolizer);
	worker_free(run->worker);
	if (run->out && run->out != stdout)
		fclose(run->out);
}

static void explain(pid_t pid, int err)
{
	if (err == -ESRCH)
		log_error("there is no process %d, or it has ended, or it is a kernel thread", pid);
	else if (err == -EPERM || err == -EACCES)
		log_error("the memory of process %d must not be read: run leakmon as root, or with "
			  "CAP_SYS_PTRACE as the process's own user",
			  pid);
	else
		log_error("process %d: %s", pid, strerror(-err));
}

static struct retain *begin(pid_t pid, const struct picture_options *options)
{
	struct retain *retain = calloc(1, sizeof(*retain));
	int err = retain ? retain_begin(pid, options, retain) : -ENOMEM;

	if (!err)
		return retain;
	explain(pid, err);
	if (retain)
		retain_free(retain);
	free(retain);
	return NULL;
}

struct retain *retain_run_begin(struct retain_run *run, pid_t pid)
{
	struct picture_options options = {.no_stop = run->options->no_stop,
					  .max_pause_ns = run->options->max_pause_ns};

	return begin(pid, &options);
}

/* The first of the greatest classes that fits. */
static int add_matching_class(struct retain *retain, const struct retain_report *report,
			      bool (*fits)(const struct retain_report *, const struct block_class *,
					   const char *),
			      const char *wanted)
{
	for (size_t i = 0; i < retain->ranked_classes.list.count; i++) {
		uint32_t class = retain->ranked_classes.list.items[i];

		if (fits(report, &retain->classes.list.items[class], wanted))
			return retain_add_class_path(retain, class);
	}
	return -ENOENT;
}

static bool is_named(const struct retain_report *report, const struct block_class *class,
		     const char *wanted)
{
	(void)report;
	return class->name && strstr(class->name, wanted);
}

static bool is_allocated_below(const struct retain_report *report, const struct block_class *class,
			       const char *wanted)
{
	const struct report_site *site =
		class->kind == CLASS_SITE ? retain_report_site(report, class->site) : NULL;

	for (size_t i = 0; site && i < site->frames.list.count; i++) {
		const char *function = site->frames.list.items[i].function;

		if (function && strstr(function, wanted))
			return true;
	}
	return false;
}

static int warn_missing(int err, const char *what, const char *wanted)
{
	if (err != -ENOENT)
		return err;
	log_warning("no block that anything holds %s `%s`", what, wanted);
	return 0;
}

static int add_paths(const struct options *options, const struct retain_report *report,
		     struct retain *retain)
{
	char address[32];
	int err = 0;

	if (!options->retain_address && !options->retain_class && !options->retain_site)
		return retain_add_top_paths(retain, DEFAULT_PATHS);
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)options->retain_address);
	if (options->retain_address)
		err = warn_missing(retain_add_address_path(retain, options->retain_address),
				   "is at", address);
	if (!err && options->retain_class)
		err = warn_missing(
			add_matching_class(retain, report, is_named, options->retain_class),
			"has a class named", options->retain_class);
	if (!err && options->retain_site)
		err = warn_missing(add_matching_class(retain, report, is_allocated_below,
						      options->retain_site),
				   "was allocated below", options->retain_site);
	return err;
}

static int write_report(struct retain_run *run, struct retain *retain,
			const struct retain_tracked *tracked)
{
	const struct options *options = run->options;
	bool json = !strcmp(options->format, "json");
	_cleanup_free_ struct class_change *changes =
		run->runs ? changes_find(&run->memory, retain) : NULL;
	struct retain_report report = {
		.retain = retain,
		.changes = changes,
		.sites = tracked->sites,
		.site_count = tracked->site_count,
		.top = options->top_given ? options->report.top
		       : json		  ? 0
					  : DEFAULT_TOP,
		.colour = !options->no_color && run->out == stdout && isatty(STDOUT_FILENO) &&
			  !getenv("NO_COLOR"),
	};
	int err = add_paths(options, &report, retain);

	if (!err)
		err = json ? retain_json_write(run->out, &report)
			   : retain_text_write(run->out, &report);
	return err ? err : changes_remember(&run->memory, retain);
}

/* A picture without a stop proves nothing alone: a second one must agree. */
static struct retain *look_again(struct retain_run *run, struct retain *earlier,
				 const struct retain_sources *sources)
{
	static const struct picture_options no_stop = {.no_stop = true};
	struct retain *retain;
	int err = retain_remember_lost(earlier);

	retain = err ? NULL : begin(earlier->pid, &no_stop);
	if (!retain)
		return NULL;
	err = retain_finish(retain, sources);
	if (!err)
		err = retain_agree(retain, earlier);
	if (err) {
		explain(earlier->pid, err);
		retain_free(retain);
		free(retain);
		return NULL;
	}
	retain->picture.why_not_stopped = earlier->picture.why_not_stopped;
	retain->picture.pause_ns = earlier->picture.pause_ns;
	retain->picture.max_pause_ns = earlier->picture.max_pause_ns;
	retain->total_ns += earlier->total_ns;
	(void)run;
	return retain;
}

/* Numbers of sites change from run to run, those of their stacks do not. */
static void number_site_classes(struct retain *retain, const struct retain_tracked *tracked)
{
	for (size_t i = 0; i < retain->classes.list.count; i++) {
		struct block_class *class = &retain->classes.list.items[i];

		if (class->kind == CLASS_SITE && class->site <= tracked->site_count)
			class->offset = tracked->sites[class->site - 1]->id;
	}
}

static int conclude(struct retain_run *run, struct retain **retain,
		    const struct retain_tracked *tracked)
{
	struct retain_sources sources = {.worker = run->worker,
					 .symbolizer = run->symbolizer,
					 .tracked = tracked->blocks,
					 .tracked_count = tracked->count};
	struct retain *again;
	int err = retain_finish(*retain, &sources);

	if (err) {
		explain((*retain)->pid, err);
		return err;
	}
	if (!(*retain)->settled) {
		again = look_again(run, *retain, &sources);
		if (!again)
			return -ESRCH;
		retain_free(*retain);
		free(*retain);
		*retain = again;
	}
	number_site_classes(*retain, tracked);
	return write_report(run, *retain, tracked);
}

int retain_run_finish(struct retain_run *run, struct retain *retain,
		      const struct retain_tracked *tracked)
{
	int err = conclude(run, &retain, tracked);

	retain_free(retain);
	free(retain);
	return err;
}
