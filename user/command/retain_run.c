// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/retain_run.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "command/emit.h"
#include "parse/questions.h"
#include "proc/memory_room.h"
#include "retain/double_scan.h"
#include "retain/template_types.h"
#include "store/retain_runs.h"

#define DEFAULT_PATHS 3

int retain_run_open(struct retain_run *run, const struct retain_options *options)
{
	int err;

	*run = (struct retain_run){.options = options,
				   .format = output_find(options->session.output.format),
				   .worker = worker_new(&parse_kinds, NULL)};
	run->symbolizer = run->worker ? symbolizer_new(run->worker) : NULL;
	err = emit_open_stream(&options->session.output, &run->out);
	if (err)
		return err;
	if (!options->session.schedule.repeat)
		emit_guard(&options->session.output, run->out);
	if (run->symbolizer)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

void retain_run_close(struct retain_run *run)
{
	for (size_t i = 0; i < run->earlier.count; i++)
		retain_result_free(&run->earlier.items[i]);
	vec_free(&run->earlier);
	symbolizer_free(run->symbolizer);
	worker_free(run->worker);
	if (run->out)
		emit_close(run->out);
}

/* Says why the memory of a process could not be read. */
static void explain(pid_t pid, int err)
{
	if (err == -ESRCH)
		log_error("there is no process %d, or it has ended, or it is a kernel thread", pid);
	else if (err == -EPERM || err == -EACCES)
		log_error("the memory of process %d must not be read: it belongs to another user, "
			  "or has closed itself even to its own (setuid, a program that may not "
			  "be read, PR_SET_DUMPABLE); run leakmon as root, or with CAP_SYS_PTRACE",
			  pid);
	else if (err == -ENOMEM)
		log_error(
			"process %d goes on unharmed, but leakmon has not enough memory to look at "
			"it: about 70 bytes for each of its blocks, and 8 for each pointer%s",
			pid,
			memory_room() < UINT64_MAX ? "; its control group allows no more" : "");
	else
		log_error("process %d: %s", pid, strerror(-err));
}

static struct heap_image_options heap_image_options_of(const struct retain_run *run)
{
	return (struct heap_image_options){.no_stop = run->options->pause.no_stop,
					   .max_pause_ns = run->options->pause.max_pause_ns};
}

struct retain *retain_run_begin(struct retain_run *run, pid_t pid)
{
	struct heap_image_options options = heap_image_options_of(run);
	struct retain *retain = NULL;
	int err;

	/* Not before: what leakmon starts would inherit the limit. */
	memory_room_keep();
	err = retain_open(pid, &options, &retain);
	if (err)
		explain(pid, err);
	return retain;
}

typedef bool class_fits(const struct retain_tracked *, const struct block_class *, const char *);

/* The first of the greatest classes that fits. */
static int add_matching_class(struct retain *retain, const struct retain_tracked *tracked,
			      class_fits *fits, const char *wanted)
{
	for (size_t i = 0; i < retain->ranked_classes.list.count; i++) {
		uint32_t class = retain->ranked_classes.list.items[i];

		if (fits(tracked, &retain->classes.list.items[class], wanted))
			return retain_add_class_path(retain, class);
	}
	return -ENOENT;
}

static bool is_named(const struct retain_tracked *tracked, const struct block_class *class,
		     const char *wanted)
{
	(void)tracked;
	return class->name && strstr(class->name, wanted);
}

static bool is_allocated_below(const struct retain_tracked *tracked,
			       const struct block_class *class, const char *wanted)
{
	const struct report_site *site =
		class->kind == CLASS_SITE && class->site && class->site <= tracked->site_count
			? tracked->sites[class->site - 1]
			: NULL;

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

static int add_paths(const struct retain_options *options, const struct retain_tracked *tracked,
		     struct retain *retain)
{
	char address[32];
	int err = 0;

	if (!options->address && !options->class && !options->site)
		return retain_add_top_paths(retain, DEFAULT_PATHS);
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)options->address);
	if (options->address)
		err = warn_missing(retain_add_address_path(retain, options->address), "is at",
				   address);
	if (!err && options->class)
		err = warn_missing(add_matching_class(retain, tracked, is_named, options->class),
				   "has a class named", options->class);
	if (!err && options->site)
		err = warn_missing(
			add_matching_class(retain, tracked, is_allocated_below, options->site),
			"was allocated below", options->site);
	return err;
}

static struct retain_result *earlier_of(struct retain_run *run, pid_t pid)
{
	for (size_t i = 0; i < run->earlier.count; i++) {
		if (run->earlier.items[i].pid == pid)
			return &run->earlier.items[i];
	}
	return NULL;
}

static int write_report(struct retain_run *run, const struct retain_result *result,
			const struct retain_diff *diff)
{
	const struct output_options *output = &run->options->session.output;
	struct retain_report report = {
		.result = result,
		.diff = diff,
		.top = output->top_given ? output->report.top : run->format->retain_top,
		.colour = emit_wants_colour(output),
	};
	int err = run->format->retain(run->out, &report);

	if (err)
		emit_say_failed("the report", err);
	return err;
}

static int record(const struct retain_options *options, const struct retain_result *result)
{
	int64_t number;
	int err;

	if (!options->recording)
		return 0;
	err = retain_writer_append(options->recording, result, options->label, &number);
	if (!err)
		log_info("recorded as run %lld of %s: `leakmon report %s --retain`",
			 (long long)number, options->recording, options->recording);
	return err;
}

/* Compares with the run before, writes, and takes the result over for the next one. */
static int report(struct retain_run *run, struct retain_result *result)
{
	struct retain_result *earlier = earlier_of(run, result->pid);
	_cleanup_(retain_diff_free) struct retain_diff diff = {0};
	int err = earlier ? retain_diff_build(earlier, result, &diff) : 0;

	if (!err)
		err = write_report(run, result, earlier ? &diff : NULL);
	if (!err)
		err = record(run->options, result);
	if (err || !run->options->session.schedule.repeat) {
		retain_result_free(result);
		return err;
	}
	if (earlier)
		retain_result_free(earlier);
	else
		earlier = vec_push(&run->earlier);
	if (earlier)
		*earlier = *result;
	else
		retain_result_free(result);
	return earlier ? 0 : -ENOMEM;
}

static void site_types_free(struct site_types *types)
{
	for (size_t i = 0; types->names && i < types->count; i++)
		free(types->names[i]);
	free(types->names);
}

static int find_site_types(const struct retain_tracked *tracked, struct site_types *types)
{
	types->names = calloc(tracked->site_count + 1, sizeof(*types->names));
	if (!types->names)
		return -ENOMEM;
	types->count = tracked->site_count;
	for (size_t i = 0; i < types->count; i++)
		types->names[i] = template_type_of_frames(&tracked->sites[i]->frames);
	return 0;
}

static int conclude(struct retain_run *run, struct retain **retain,
		    const struct retain_tracked *tracked)
{
	_cleanup_(site_types_free) struct site_types types = {0};
	struct heap_image_options options = heap_image_options_of(run);
	struct retain_sources sources = {.worker = run->worker,
					 .symbolizer = run->symbolizer,
					 .tracked = tracked->blocks,
					 .tracked_count = tracked->count,
					 .complete = tracked->complete};
	struct retain_result_sources wanted = {.sites = tracked->sites,
					       .site_count = tracked->site_count,
					       .dropped = tracked->dropped,
					       .samples = run->format->wants_samples ||
							  run->options->recording};
	struct retain_result result = {0};
	int err = find_site_types(tracked, &types);

	sources.types = types;
	if (!err)
		err = retain_confirm(retain, &options, &sources);
	if (!err)
		err = add_paths(run->options, tracked, *retain);
	if (!err)
		err = retain_result_build(*retain, &wanted, &result);
	if (err) {
		explain((*retain)->pid, err);
		return err;
	}
	return report(run, &result);
}

int retain_run_finish(struct retain_run *run, struct retain *retain,
		      const struct retain_tracked *tracked)
{
	int err = conclude(run, &retain, tracked);

	retain_close(retain);
	return err;
}
