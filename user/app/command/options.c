// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/command/options.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cli/shell_split.h"
#include "base/cli/values.h"
#include "base/log.h"
#include "base/serve/listener.h"
#include "output/output.h"
#include "process/proc/container.h"
#include "report/analyze/report_build.h"

#define SIZE_EXPECTED "a size, e.g. 4096, 64K, 10M or 2G"

/* PID_MAX_LIMIT, include/linux/threads.h */
#define PID_LIMIT 4194304
/* A stack takes 1 KiB of locked memory per site, a block about 64 bytes. */
#define SITES_LIMIT (1u << 22)
#define BLOCKS_LIMIT (1u << 30)
#define PROCESSES_LIMIT (1u << 20)
#define INTERVAL_MIN_NS 1000000ull

/* -------- processes */

static bool has_pid(const struct selector_config *chosen, int pid)
{
	for (size_t i = 0; i < chosen->pids.count; i++) {
		if (chosen->pids.items[i] == pid)
			return true;
	}
	return false;
}

static int pid_add(struct selector_config *chosen, const struct option_row *row, const char *word)
{
	uint64_t value;
	int error = value_parse_number(word, &value);
	int *slot;

	if (!error)
		error = value_check_range(row, value);
	if (error || has_pid(chosen, (int)value))
		return error;
	slot = vec_push(&chosen->pids);
	if (!slot)
		return -ENOMEM;
	*slot = (int)value;
	return 0;
}

/* Adds PIDs, each once. */
static int set_pids(void *field, const struct option_row *row, const char *text)
{
	struct selector_config *chosen = field;
	_cleanup_free_ char *copy = strdup(text);
	size_t before = chosen->pids.count;
	char *rest = copy, *word;
	int error = 0;

	if (!copy)
		return -ENOMEM;
	/* strsep keeps empty words, which are refused as numbers. */
	while (!error && (word = strsep(&rest, ",")))
		error = pid_add(chosen, row, word);
	if (error)
		chosen->pids.count = before;
	return error;
}

static int word_add(struct selector_words *words, const char *word)
{
	const char **slot = vec_push(words);

	if (!slot)
		return -ENOMEM;
	*slot = word;
	return 0;
}

static int add_word(void *field, const struct option_row *row, const char *text)
{
	(void)row;
	return *text ? word_add(field, text) : -EINVAL;
}

/* Adds a name, or digits of an id; also containerd://ID. */
static int add_container(void *field, const struct option_row *row, const char *text)
{
	/* Docker allows more characters than Kubernetes; an id matches as well. */
	static const char name_characters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
	const char *scheme = strstr(text, "://");
	const char *id = scheme ? scheme + 3 : text;
	size_t length = strlen(id);

	(void)row;
	if (!length || length > CONTAINER_NAME_MAX || !isalnum((unsigned char)*id) ||
	    strspn(id, name_characters) != length)
		return -EINVAL;
	return word_add(field, id);
}

static int add_pod(void *field, const struct option_row *row, const char *text)
{
	const char *slash = strchr(text, '/');

	(void)row;
	if (!*text || slash == text || (slash && (!slash[1] || strchr(slash + 1, '/'))))
		return -EINVAL;
	return word_add(field, text);
}

/* Splits a command as a shell would. */
static int set_command(void *field, const struct option_row *row, const char *text)
{
	char **words = NULL;
	int error = shell_split(text, &words);

	(void)row;
	/* An empty name can never be started. */
	if (!error && !*words[0])
		error = -EINVAL;
	if (error) {
		words_free(words);
		return error;
	}
	words_free(*(char ***)field);
	*(char ***)field = words;
	return 0;
}

#define FIELD(kind) .offset = offsetof(struct selector_config, words[kind])
static const struct option_row target_rows[] = {
	{"pid", 'p', "PID[,PID...]", "running processes", set_pids,
	 "PIDs separated by commas, e.g. 1234 or 1234,1240", .minimum = 1, .maximum = PID_LIMIT},
	{"comm", 'n', "NAME", "processes with this name, including those that start later",
	 add_word, "a name as `ps -o comm` shows it, e.g. redis-server", FIELD(SELECT_COMM)},
	{"cgroup", 0, "PATH", "processes in this cgroup or below it", add_word,
	 "a path, e.g. /system.slice/web.service", FIELD(SELECT_CGROUP)},
	{"container", 0, "ID|NAME", "processes in the container with this name or ID prefix",
	 add_container, "a name or the first digits of an ID, e.g. 3f2a91c0b7d5",
	 FIELD(SELECT_CONTAINER)},
	{"pod", 0, "[NAMESPACE/]NAME", "processes in this Kubernetes pod", add_pod,
	 "NAME or NAMESPACE/NAME, e.g. shop/web-0", FIELD(SELECT_POD)},
};
#undef FIELD
#define FIELD(name) .offset = offsetof(struct target_options, name)
static const struct option_row fork_rows[] = {
	{"follow-forks", 'f', NULL, "also follow the children that the processes fork",
	 value_set_flag, FIELD(follow_forks)},
};
static const struct option_row launch_rows[] = {
	{"command", 'c', "'CMD ARGS'", "start a command and follow it; also: -- CMD ARGS...",
	 set_command, "a command with all quotes closed, e.g. 'server --port 80'", FIELD(command),
	 .takes_rest = true},
};
#undef FIELD
const struct option_group target_group = {"Target", target_rows, ARRAY_SIZE(target_rows)};
const struct option_group fork_group = {TITLE_TRACKED, fork_rows, ARRAY_SIZE(fork_rows)};
const struct option_group launch_group = {"Target", launch_rows, ARRAY_SIZE(launch_rows)};

bool targets_none(const struct target_options *targets)
{
	return selector_config_is_empty(&targets->chosen) && !targets->command;
}

int targets_require(const struct target_options *targets, const char *example)
{
	if (!targets_none(targets))
		return 0;
	log_error("no target: name a process, as in `%s`", example);
	return -EINVAL;
}

/* -------- time */

int schedule_read_interval(void *field, const char *word)
{
	struct schedule *schedule = field;
	uint64_t interval_ns = 0;
	int error = value_parse_seconds(word, &interval_ns);

	if (error == -EINVAL) {
		log_error(
			"`%s` is not an INTERVAL: expected seconds, e.g. 5 or 0.5; to start a program, write `-- CMD ARGS`",
			word);
		return error;
	}
	if (error || interval_ns < INTERVAL_MIN_NS || interval_ns > INT64_MAX) {
		log_error("INTERVAL `%s` is out of range: expected 0.001 seconds or more, e.g. 5",
			  word);
		return -EINVAL;
	}
	schedule->interval_ns = interval_ns;
	schedule->repeat = true;
	return 0;
}

int schedule_read_count(void *field, const char *word)
{
	struct schedule *schedule = field;
	uint64_t count;

	if (value_parse_number(word, &count) || !count) {
		log_error(
			"`%s` is not a COUNT of reports: expected an integer from 1, e.g. 10; omit it to run until Ctrl-C",
			word);
		return -EINVAL;
	}
	schedule->count = count;
	return 0;
}

int file_read_name(void *file, const char *word)
{
	if (!*word) {
		log_error(
			"the file name is empty: name a recording that `leakmon record -o FILE` made");
		return -EINVAL;
	}
	*(const char **)file = word;
	return 0;
}

/* -------- tracking */

#define FIELD(name) .offset = offsetof(struct tracking_options, name)
static const struct option_row counting_rows[] = {
	{"older", 'o', "MS", "ignore allocations younger than MS milliseconds (500)",
	 value_set_milliseconds, "whole milliseconds, e.g. 500", FIELD(older_ns),
	 .maximum = UINT64_MAX / 1000000},
	{"min-size", 'z', "BYTES", "ignore allocations smaller than BYTES (0)", value_set_size,
	 SIZE_EXPECTED, FIELD(min_size), .maximum = UINT64_MAX},
	{"max-size", 'Z', "BYTES", "ignore allocations larger than BYTES (no limit)",
	 value_set_size, SIZE_EXPECTED, FIELD(max_size), .maximum = UINT64_MAX},
	{"combined-only", 'C', NULL, "count per call stack only: cheaper, but without ages",
	 value_set_flag, FIELD(combined_only)},
	{"sample-rate", 's', "N", "track each allocation with probability 1/N (1: all)",
	 value_set_number, "an integer, e.g. 10", FIELD(sample_rate), .minimum = 1,
	 .maximum = UINT32_MAX},
	{"sample-bytes", 0, "BYTES", "track one allocation per BYTES allocated, on average",
	 value_set_size, SIZE_EXPECTED, FIELD(sample_bytes), .minimum = 1, .maximum = 16 << 20},
};
static const struct option_row room_rows[] = {
	{"max-blocks", 0, "N", "room for N outstanding blocks (1000000)", value_set_number,
	 "an integer, e.g. 1000000", FIELD(max_blocks), .minimum = 1, .maximum = BLOCKS_LIMIT},
	{"max-sites", 0, "N", "room for N different call stacks (16384)", value_set_number,
	 "an integer, e.g. 16384", FIELD(max_sites), .minimum = 1, .maximum = SITES_LIMIT},
};
static const struct option_row tracking_rows[] = {
	{"max-processes", 0, "N", "room for N processes at once (1023, or 8191 if more can join)",
	 value_set_number, "an integer, e.g. 8191", FIELD(max_processes), .minimum = 1,
	 .maximum = PROCESSES_LIMIT},
	{"mappings", 0, NULL, "also track mmap, mremap and brk; slows all system calls",
	 value_set_flag, FIELD(families[FAMILY_MAPPING])},
	{"descriptors", 0, NULL, "also track what is opened and closed: files, sockets, pipes, ...",
	 value_set_flag, FIELD(families[FAMILY_DESCRIPTORS])},
	{"by-dead-threads", 0, NULL, "only blocks allocated by threads that have ended",
	 value_set_flag, FIELD(by_dead_threads)},
	{"no-threads", 0, NULL, "do not follow threads: no probes on creating and joining them",
	 value_set_flag, FIELD(no_threads)},
};
static const struct option_row debuginfod_rows[] = {
	{"debuginfod", 0, NULL, "fetch missing debug files from $DEBUGINFOD_URLS", value_set_flag,
	 FIELD(debuginfod)},
};
static const struct option_row benchmark_rows[] = {
	{"empty-programs", 0, NULL, "probes that do nothing", value_set_flag, FIELD(empty_programs),
	 .hidden = true},
};
#undef FIELD
const struct option_group counting_group = {TITLE_TRACKED, counting_rows,
					    ARRAY_SIZE(counting_rows)};
const struct option_group room_group = {TITLE_TRACKED, room_rows, ARRAY_SIZE(room_rows)};
const struct option_group tracking_group = {TITLE_TRACKED, tracking_rows,
					    ARRAY_SIZE(tracking_rows)};
const struct option_group debuginfod_group = {"Output", debuginfod_rows,
					      ARRAY_SIZE(debuginfod_rows)};
const struct option_group benchmark_group = {"For benchmarks", benchmark_rows,
					     ARRAY_SIZE(benchmark_rows)};

/* -------- probes */

#define FIELD(name) .offset = offsetof(struct probe_options, name)
static const struct option_row allocator_rows[] = {
	{"obj", 'O', "PATH", "probe the allocator in this file only", value_set_text, FILE_EXPECTED,
	 FIELD(object)},
	{"symbols-prefix", 'S', "PREFIX",
	 "prefix of the allocator's functions, e.g. je_ for je_malloc", value_set_prefix,
	 "a prefix, e.g. je_", FIELD(symbol_prefix)},
};
static const struct option_row usdt_rows[] = {
	{"no-usdt", 0, NULL, "track the allocator, also of programs that sample themselves",
	 value_set_flag, FIELD(no_usdt)},
};
static const struct option_row probe_rows[] = {
	{"probe-at", 0, "best|entry", "the cheapest proven instruction, or always the first (best)",
	 value_set_choice, NULL, FIELD(probe_at)},
	{"attach", 0, "auto|session|multi|perf",
	 "kind of uprobe: the best that works, or only this one (auto)", value_set_choice, NULL,
	 FIELD(attach_method)},
};
static const struct option_row stack_walk_rows[] = {
	{"stack-walk", 0, "auto|cfi|fp", "by unwind tables, by frame pointers, or by both (auto)",
	 value_set_choice, NULL, FIELD(stack_walk)},
};
#undef FIELD
const struct option_group allocator_group = {TITLE_PROBES, allocator_rows,
					     ARRAY_SIZE(allocator_rows)};
const struct option_group usdt_group = {TITLE_PROBES, usdt_rows, ARRAY_SIZE(usdt_rows)};
const struct option_group probe_group = {TITLE_PROBES, probe_rows, ARRAY_SIZE(probe_rows)};
const struct option_group stack_walk_group = {TITLE_PROBES, stack_walk_rows,
					      ARRAY_SIZE(stack_walk_rows)};

/* -------- output */

static int set_top(void *field, const struct option_row *row, const char *text)
{
	struct output_options *output = field;
	uint64_t value;
	int error = value_parse_number(text, &value);

	if (!error)
		error = value_check_range(row, value);
	if (error)
		return error;
	output->report.top = (size_t)value;
	output->top_given = true;
	return 0;
}

static int set_sort(void *field, const struct option_row *row, const char *text)
{
	(void)row;
	return sort_key_parse(text, field);
}

#define FIELD(name) .offset = offsetof(struct output_options, name)
static const struct option_row output_rows[] = {
	{"output", 0, "FILE", "write reports to FILE instead of standard output", value_set_text,
	 FILE_EXPECTED, FIELD(path)},
};
static const struct option_row top_rows[] = {
	{"top", 'T', "N", "show the first N rows; 0: all (text: 10, json: all)", set_top,
	 "an integer, e.g. 10", .maximum = SIZE_MAX},
};
static const struct option_row sort_rows[] = {
	{"sort", 0, "bytes|count|growth|integral|age", "order of call stacks (bytes)", set_sort,
	 NULL, FIELD(report.sort)},
};
static const struct option_row blocks_rows[] = {
	{"show-allocs", 'a', NULL, "list the outstanding blocks below each call stack",
	 value_set_flag, FIELD(report.show_allocs)},
};
static const struct option_row textfile_rows[] = {
	{"textfile-dir", 0, "DIR", "with --format prom: keep DIR/leakmon.prom up to date",
	 value_set_text, "the directory that node-exporter reads", FIELD(textfile_dir)},
};
static const struct option_row fail_over_rows[] = {
	{"fail-over", 0, "BYTES", "exit with code 3 if more than BYTES is outstanding at the end",
	 value_set_size, SIZE_EXPECTED, FIELD(fail_over), .maximum = UINT64_MAX - 1},
};
static const struct option_row diff_fail_over_rows[] = {
	{"fail-over", 0, "BYTES", "exit with code 3 if it grew by more than BYTES", value_set_size,
	 SIZE_EXPECTED, FIELD(fail_over), .maximum = UINT64_MAX - 1},
};
static const struct option_row test_rows[] = {
	{"suppress", 0, "FILE", "accept the call stacks in FILE, a LeakSanitizer suppression list",
	 value_set_text, "a file with a line leak:PATTERN for each", FIELD(suppress)},
	{"junit", 0, "FILE", "also write the last report to FILE as JUnit XML; %p: our PID",
	 value_set_text, "a file name", FIELD(junit)},
};
static int set_address(void *field, const struct option_row *row, const char *text)
{
	(void)row;
	if (!listener_is_address(text))
		return -EINVAL;
	*(const char **)field = text;
	return 0;
}

static const struct option_row listen_rows[] = {
	{"listen", 0, "[ADDRESS:]PORT", "serve /metrics, /profile and a page over HTTP (127.0.0.1)",
	 set_address, "a port, 127.0.0.1:9464 or [::1]:9464", FIELD(listen)},
};
static int set_destination(void *field, const struct option_row *row, const char *text)
{
	(void)row;
	if (!pusher_is_destination(text))
		return -EINVAL;
	*(const char **)field = text;
	return 0;
}

#define URL_EXPECTED                                                                               \
	"https://HOST[:PORT][/PATH] without a password, or @FILE with the URL as first line"
static const struct option_row push_rows[] = {
	{"push", 0, "URL", "send pprof to Pyroscope's /ingest with each report", set_destination,
	 URL_EXPECTED, FIELD(push.to[PUSH_TO_PYROSCOPE].url)},
	{"push-headers", 0, "FILE", "HTTP headers for --push, e.g. Authorization: Bearer TOKEN",
	 value_set_text, FILE_EXPECTED, FIELD(push.to[PUSH_TO_PYROSCOPE].headers)},
};
static const struct option_row webhook_rows[] = {
	{"webhook", 0, "URL", "post JSON on a leak, a limit that is near, an answer of diagnose",
	 set_destination, URL_EXPECTED, FIELD(push.to[PUSH_TO_WEBHOOK].url)},
	{"webhook-headers", 0, "FILE", "HTTP headers for --webhook, one a line", value_set_text,
	 FILE_EXPECTED, FIELD(push.to[PUSH_TO_WEBHOOK].headers)},
	{"otlp", 0, "URL", "send OpenTelemetry metrics, and a log record per changed verdict",
	 set_destination, URL_EXPECTED, FIELD(push.to[PUSH_TO_OTLP].url)},
	{"otlp-headers", 0, "FILE", "HTTP headers for --otlp, one a line", value_set_text,
	 FILE_EXPECTED, FIELD(push.to[PUSH_TO_OTLP].headers)},
	{"push-ca", 0, "FILE", "trust these certificates (PEM), not the system's", value_set_text,
	 FILE_EXPECTED, FIELD(push.ca)},
};
static const struct option_row color_rows[] = {
	{"no-color", 0, NULL, "no colours, even on a terminal (like NO_COLOR=1)", value_set_flag,
	 FIELD(no_color)},
};
static const struct option_row bytes_rows[] = {
	{"bytes", 0, NULL, "text: sizes in bytes, not KiB, MiB, ...", value_set_flag, FIELD(bytes)},
};
#undef FIELD
const struct option_group output_group = {"Output", output_rows, ARRAY_SIZE(output_rows)};
const struct option_group top_group = {"Output", top_rows, ARRAY_SIZE(top_rows)};
const struct option_group sort_group = {"Output", sort_rows, ARRAY_SIZE(sort_rows)};
const struct option_group blocks_group = {"Output", blocks_rows, ARRAY_SIZE(blocks_rows)};
const struct option_group listen_group = {"Output", listen_rows, ARRAY_SIZE(listen_rows)};
const struct option_group push_group = {"Output", push_rows, ARRAY_SIZE(push_rows)};
const struct option_group webhook_group = {"Output", webhook_rows, ARRAY_SIZE(webhook_rows)};
const struct option_group textfile_group = {"Output", textfile_rows, ARRAY_SIZE(textfile_rows)};
const struct option_group fail_over_group = {"Output", fail_over_rows, ARRAY_SIZE(fail_over_rows)};
const struct option_group diff_fail_over_group = {"Output", diff_fail_over_rows,
						  ARRAY_SIZE(diff_fail_over_rows)};
const struct option_group test_group = {"Output", test_rows, ARRAY_SIZE(test_rows)};
const struct option_group color_group = {"Output", color_rows, ARRAY_SIZE(color_rows)};
const struct option_group bytes_group = {"Output", bytes_rows, ARRAY_SIZE(bytes_rows)};

int output_check(struct output_options *output)
{
	if (output->textfile_dir && (strcmp(output->format, "prom") != 0 || output->path)) {
		log_error(
			"--textfile-dir is for --format prom, without --output: it names its file itself");
		return -EINVAL;
	}
	if (!output->top_given)
		output->report.top = output_find(output->format)->default_top;
	return 0;
}

/* -------- scans of a process */

#define FIELD(name) .offset = offsetof(struct pause_options, name)
static const struct option_row pause_rows[] = {
	{"no-stop", 0, NULL, "never stop the process", value_set_flag, FIELD(no_stop)},
	{"max-pause", 0, "MS", "stop it for at most MS milliseconds (100 per GiB, at least 100)",
	 value_set_milliseconds, "whole milliseconds, e.g. 200", FIELD(max_pause_ns), .minimum = 1,
	 .maximum = 60000},
};
#undef FIELD
const struct option_group pause_group = {"Stopping the process", pause_rows,
					 ARRAY_SIZE(pause_rows)};

/* -------- core files */

#define FIELD(name) .offset = offsetof(struct core_options, name)
static const struct option_row core_rows[] = {
	{"core", 0, "FILE", "read a core file instead of a running process", value_set_text,
	 FILE_EXPECTED, FIELD(path)},
	{"exe", 0, "FILE", "file of its program (the path in the core)", value_set_text,
	 FILE_EXPECTED, FIELD(exe)},
	{"sysroot", 0, "DIR", "directory below which its libraries are where they were (/)",
	 value_set_text, "a directory", FIELD(sysroot)},
};
#undef FIELD
const struct option_group core_group = {"Core files", core_rows, ARRAY_SIZE(core_rows)};

int core_check(const struct core_options *core, const struct schedule *schedule,
	       const struct given *given)
{
	const struct option_group *const running[] = {&target_group, &launch_group, &pause_group};

	for (size_t i = 0; core->path && i < ARRAY_SIZE(running); i++) {
		const char *other = option_given_of(given, running[i]);

		if (!other)
			continue;
		log_error(
			"--core and --%s contradict each other: a core file is what is left of one process",
			other);
		return -EINVAL;
	}
	if (core->path && schedule->repeat) {
		log_error("--core and INTERVAL contradict each other: a core file does not change");
		return -EINVAL;
	}
	if (core->path || (!core->exe && !core->sysroot))
		return 0;
	log_error("--%s is about a core file: give --core FILE, too",
		  core->exe ? "exe" : "sysroot");
	return -EINVAL;
}

/* -------- combinations */

#define RUNNING_OR_NEW "name running processes or start one, not both"
/* Pairs of options that contradict each other; most commands have only some of them. */
static const struct {
	const char *one, *other, *why;
} conflicts[] = {
	{"pid", "command", RUNNING_OR_NEW},
	{"comm", "command", RUNNING_OR_NEW},
	{"cgroup", "command", RUNNING_OR_NEW},
	{"container", "command", RUNNING_OR_NEW},
	{"pod", "command", RUNNING_OR_NEW},
	{"sample-rate", "sample-bytes", "choose one way of sampling"},
	{"combined-only", "by-dead-threads", "--combined-only keeps no single blocks"},
	{"combined-only", "show-allocs", "--combined-only keeps no single blocks"},
};

int tracking_check(const struct tracking_options *tracking, const struct given *given)
{
	for (size_t i = 0; i < ARRAY_SIZE(conflicts); i++) {
		if (!option_is_given(given, conflicts[i].one) ||
		    !option_is_given(given, conflicts[i].other))
			continue;
		log_error("--%s and --%s contradict each other: %s", conflicts[i].one,
			  conflicts[i].other, conflicts[i].why);
		return -EINVAL;
	}
	if (tracking->min_size > tracking->max_size) {
		log_error("--min-size %llu is above --max-size %llu: no allocation would count",
			  (unsigned long long)tracking->min_size,
			  (unsigned long long)tracking->max_size);
		return -EINVAL;
	}
	if (tracking->combined_only && option_is_given(given, "older") && tracking->older_ns) {
		log_error("--older needs ages, and --combined-only keeps none: leave one out");
		return -EINVAL;
	}
	return 0;
}

int session_options_check(struct session_options *session, const struct given *given)
{
	int error = tracking_check(&session->tracking, given);

	return error ? error : output_check(&session->output);
}

void session_options_free(void *session)
{
	struct target_options *targets = &((struct session_options *)session)->targets;

	selector_config_free(&targets->chosen);
	words_free(targets->command);
	targets->command = NULL;
}
