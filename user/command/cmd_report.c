// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon report: one snapshot of a recording, with what came before it. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "report/fleet.h"
#include "analyze/fleet_build.h"
#include "analyze/report_build.h"
#include "report/history.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/values.h"
#include "command/command.h"
#include "runs/stored_retention.h"
#include "runs/stored_profile.h"
#include "monitor/emit.h"
#include "memory/memory_split.h"
#include "monitor/oom.h"
#include "store/recording.h"

struct source {
	struct recording *recording;
	struct history history;
	struct snapshot snapshot;
	struct report report;
	struct memory_history memory;
	struct stored_retentions retained;
	struct oom_kills oom;
	size_t hosts;	     /* of a fleet; 0: it is none */
	struct report whole; /* of a fleet: nothing of it is cut */
	struct fleet fleet;
};

static void source_free(struct source *source)
{
	fleet_free(&source->fleet);
	report_free(&source->whole);
	report_free(&source->report);
	memory_history_free(&source->memory);
	stored_retentions_free(&source->retained);
	snapshot_free(&source->snapshot);
	history_free(&source->history);
	oom_kills_free(&source->oom);
	recording_close(source->recording);
}

static const char *label_at(const struct recording *recording, size_t position)
{
	size_t count;

	return recording_snapshots(recording, &count)[position].label;
}

/* Of all sites: those that the report leaves out are on hosts, too. */
static int fleet_read(struct source *source)
{
	const struct report_options all = {.sort = SORT_BYTES, .history = &source->history};
	struct report *report = &source->report;
	size_t count;
	const struct report_host *hosts = recording_hosts(source->recording, &count);
	int error;

	if (!count)
		return 0;
	error = report_build(&source->whole, &source->snapshot, &all);
	source->whole.hosts = report->hosts = hosts;
	source->whole.host_count = report->host_count = count;
	if (!error && recording_name(source->recording, &source->whole))
		return -EUCLEAN; /* said */
	if (!error)
		error = fleet_build(&source->fleet, &source->whole);
	if (error)
		log_error("out of memory");
	else
		report->fleet = &source->fleet;
	return error;
}

static bool is_host(const struct recording *recording, const char *name)
{
	size_t count;
	const struct report_host *hosts = recording_hosts(recording, &count);

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(hosts[i].name, name))
			return true;
	}
	return !count && !strcmp(recording_host(recording), name);
}

/* --host: the others are left out, of the ledger too. */
static int host_choose(struct source *source, const char *host)
{
	if (!is_host(source->recording, host)) {
		log_error("--host %s: the recording has no host of that name; `leakmon report FILE "
			  "--format json` names them",
			  host);
		return -ENOENT;
	}
	if (source->hosts)
		snapshot_keep_host(&source->snapshot, host);
	return 0;
}

static int source_read(struct source *source, const struct show_options *options)
{
	struct report_options report = options->output.report;
	size_t position;
	int error = recording_find(source->recording, options->at, &position);

	if (!error)
		error = recording_history(source->recording, position, &source->history);
	if (!error)
		error = recording_read(source->recording, position, &source->snapshot);
	if (!error)
		error = recording_memory(source->recording, position, &source->memory);
	if (!error)
		recording_hosts(source->recording, &source->hosts);
	if (!error && options->host)
		error = host_choose(source, options->host);
	if (error)
		return error;
	report.history = &source->history;
	error = report_build(&source->report, &source->snapshot, &report);
	if (!error)
		error = oom_kills_of_label(&source->oom, label_at(source->recording, position));
	if (error)
		log_error("out of memory");
	source->report.memory = &source->memory;
	source->report.oom = &source->oom;
	if (!error)
		error = recording_name(source->recording, &source->report);
	return error || options->host ? error : fleet_read(source);
}

static int write_out(const struct source *source, const struct show_options *options)
{
	const struct output_format *format = output_find(options->output.format);
	FILE *out;
	int error = emit_open(&options->output, format, &out);

	if (error)
		return error;
	emit_guard(&options->output, out);
	error = emit_report(&options->output, format, out, NULL, &source->report, true);
	return emit_close(out) && !error ? -EIO : error;
}

static int report_snapshot(struct source *source, const struct show_options *options)
{
	int error = source_read(source, options);

	if (!error && output_find(options->output.format)->wants_retained)
		error = stored_retentions_read(source->recording, &source->retained);
	source->report.retained = source->retained.list.items;
	source->report.retained_count = source->retained.list.count;
	source->report.lost_reports = error ? 0 : recording_missed(source->recording);
	source->report.host = error ? NULL : recording_host(source->recording);
	source->report.colour = emit_wants_colour(&options->output);
	return error ? error : write_out(source, options);
}

/* "#12  2026-11-22 13:00:05  oom 1234" */
static void kill_print(uint64_t number, const struct timespec *time, const char *what)
{
	char when[32] = "";
	struct tm local;

	if (localtime_r(&time->tv_sec, &local))
		strftime(when, sizeof(when), "%F %T", &local);
	fprintf(stderr, "#%llu  %s  ", (unsigned long long)number, when);
	text_print_inert(stderr, what);
	fputc('\n', stderr);
}

static int say_no_kill(const struct show_options *show)
{
	log_error("while %s was recorded the kernel killed no target for want of memory",
		  show->path);
	return -ENOENT;
}

/* The same of profiles; `own_at` has room for a number. */
static int choose_kill_of_profiles(const struct recording *recording, struct show_options *show,
				   char own_at[24])
{
	size_t count, kills = 0;
	const struct recording_profile *profiles = recording_profiles(recording, &count);

	for (size_t i = 0; i < count; i++) {
		char what[64];

		if (!profiles[i].oom_kills)
			continue;
		snprintf(what, sizeof(what), "%zu killed", profiles[i].oom_kills);
		kill_print((uint64_t)profiles[i].number, &profiles[i].time, what);
		snprintf(own_at, 24, "%lld", (long long)profiles[i].number);
		kills++;
	}
	if (kills && !show->at)
		show->at = own_at;
	return kills ? 0 : say_no_kill(show);
}

/* Lists what was killed; the last one is shown unless --at says which. 0, -ENOENT: there is none;
 * -ENOMEM. */
static int choose_kill(const struct recording *recording, struct show_options *show)
{
	const char *at = show->at;
	size_t count, kills = 0;
	const struct recording_snapshot *snapshots = recording_snapshots(recording, &count);

	for (size_t i = 0; i < count; i++) {
		_cleanup_(oom_kills_free) struct oom_kills told = {0};

		if (oom_kills_of_label(&told, snapshots[i].label))
			return -ENOMEM;
		if (!told.list.count)
			continue;
		kill_print(snapshots[i].sequence, &snapshots[i].time, snapshots[i].label);
		kills++;
		if (!at)
			show->at = snapshots[i].label;
	}
	return kills ? 0 : say_no_kill(show);
}

static int run(const void *options)
{
	struct show_options own = *(const struct show_options *)options;
	const struct show_options *show = &own;
	_cleanup_(source_free) struct source source = {0};
	int error = recording_open(&source.recording, show->path);
	bool profiles;
	char at[24];

	profiles = !error && (show->profiles ||
			      (!show->retain_runs && stored_profiles_only(source.recording)));
	if (!error && show->oom)
		error = profiles ? choose_kill_of_profiles(source.recording, &own, at)
				 : choose_kill(source.recording, &own);
	if (error)
		return EXIT_ERROR;
	if (profiles)
		error = stored_profile_report(source.recording, show->at, &show->output);
	else if (show->retain_runs || stored_retentions_only(source.recording))
		error = stored_retention_report(source.recording, show->at, &show->output);
	else
		error = report_snapshot(&source, show);
	return error ? EXIT_ERROR : EXIT_OK;
}

static int check(void *options, const struct given *given)
{
	struct show_options *show = options;

	(void)given;
	if (!show->path) {
		log_error("no recording: name one that `leakmon record -o FILE` made, as in "
			  "`leakmon report FILE`");
		return -EINVAL;
	}
	if (show->retain_runs && stored_retention_check_format(show->output.format))
		return -EINVAL;
	return output_check(&show->output);
}

static const struct option_row report_rows[] = {
	{"at", 0, "TIME|SEQ", "the snapshot to show: a number, a label, 13:00, -10min (last)",
	 value_set_text, "a number, a label, `first`, `last` or a time",
	 .offset = offsetof(struct show_options, at)},
	{"host", 0, "NAME", "of a fleet (`leakmon merge`), only this host", value_set_text,
	 "the name of a host", .offset = offsetof(struct show_options, host)},
	{"oom", 0, NULL, "list the OOM kills in it; show the last one, or that of --at",
	 value_set_flag, .offset = offsetof(struct show_options, oom)},
	{"retain", 0, NULL, "show runs of `leakmon retain` in it, not snapshots", value_set_flag,
	 .offset = offsetof(struct show_options, retain_runs)},
	{"profile", 0, NULL, "show profiles of `leakmon record --profile` in it", value_set_flag,
	 .offset = offsetof(struct show_options, profiles)},
};
static const struct option_group report_group = {"What is shown", report_rows,
						 ARRAY_SIZE(report_rows)};

static const struct option_row format_rows[] = {
	FORMAT_ROW(OUTPUT_REPORT),
};
static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct show_options defaults = {.output = OUTPUT_DEFAULTS};

#define PART(member) offsetof(struct show_options, member)
const struct command command_report = {
	.name = "report",
	.summary = "show a snapshot of a recording",
	.usage = "  leakmon report FILE [--at TIME|SEQ] [OPTION...]\n",
	.about = "Shows one snapshot of a recording, the last one unless --at says which, and\n"
		 "how it came about. The processes need not be there any more.\n",
	.examples =
		"  leakmon report web.lkm                as it was at the end\n"
		"  leakmon report web.lkm --at 13:00     as it was at one o'clock\n"
		"  leakmon report web.lkm --oom          what the OOM killer's last victim held\n"
		"  leakmon report web.lkm --sort growth  what grows fastest comes first\n"
		"  leakmon report web.lkm --format html > web.html\n"
		"                                        a page for any browser, offline\n"
		"  leakmon report web.lkm --format pprof --output web.pb.gz\n"
		"  leakmon report web.lkm --format folded | flamegraph.pl > web.svg\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&report_group, 0},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&top_group, PART(output)},
		 {&sort_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = {{"FILE", "FILE", file_read_name, PART(path)}},
	.check = check,
	.run = run,
};
