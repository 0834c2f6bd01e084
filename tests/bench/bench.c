// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench [--quick] [--only SECTION[,SECTION…]] [--json FILE]
 *
 * Measures what leakmon costs, in interleaved repetitions of which the median counts, and prints a
 * table. Every wait has a limit. Whatever the figures are, the exit code is 0: a slow machine is no
 * failure. It is 1 when the benchmark itself could not run, 2 for a usage error. Run it from the
 * repository's root, as root, on a machine that does nothing else.
 */
#include "bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "monitor.h"
#include "table.h"

static const struct section {
	const char *name;
	int (*run)(struct bench *bench);
} sections[] = {
	{"pairs", section_pairs},	  {"bystander", section_bystander},
	{"sampled", section_sampled},	  {"walk", section_walk},
	{"libraries", section_libraries}, {"naming", section_naming},
	{"lifecycle", section_lifecycle}, {"blocks", section_blocks},
	{"sites", section_sites},	  {"idle", section_idle},
	{"sqlite", section_sqlite},	  {"redis", section_redis},
	{"triage", section_triage},	  {"threads", section_threads},
	{"retain", section_retain},	  {"profile", section_profile},
	{"programs", section_programs},	  {"diagnose", section_diagnose},
	{"crowd", section_crowd},
};

struct settings {
	bool quick;
	const char *only, *json; /* NULL: not given */
	int most;		 /* repetitions; 0: not given */
};

void progress(const char *section, int repetition, int repetitions)
{
	fprintf(stderr, "bench: %s %d of %d\n", section, repetition + 1, repetitions);
}

int repeat(struct bench *bench, const char *section, int repetitions,
	   int (*measure)(struct bench *bench))
{
	int error = 0;

	if (bench->most)
		repetitions = MIN(repetitions, bench->most);
	for (int i = 0; i < repetitions && !error; i++) {
		progress(section, i, repetitions);
		error = measure(bench);
	}
	return error;
}

static int usage(FILE *out, int code)
{
	fputs("Usage: bench [--quick] [--only SECTION[,SECTION...]] [--repetitions N] [--json "
	      "FILE]\n"
	      "  --quick         one short repetition: does the benchmark work?\n"
	      "  --only SECTION  of these, separated by commas:",
	      out);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		fprintf(out, " %s", sections[i].name);
	fputs("\n  --repetitions N at most so many of each\n"
	      "  --json FILE     write the figures to FILE as JSON; -: after the table\n",
	      out);
	return code;
}

/* Whether one of the names, separated by commas, is this. */
static bool is_named(const char *names, const char *name)
{
	size_t size = strlen(name);

	for (const char *at = names; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, name, size) && (!at[size] || at[size] == ','))
			return true;
	}
	return false;
}

static bool sections_known(const char *names)
{
	size_t wanted = 1, found = 0;

	for (const char *at = names; (at = strchr(at, ',')); at++)
		wanted++;
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		found += is_named(names, sections[i].name);
	if (found == wanted)
		return true;
	fprintf(stderr, "bench: not every one of these is a section: %s\n", names);
	return false;
}

/* Returns an exit code, or -1 to continue. */
static int settings_parse(struct settings *settings, int argc, char **argv)
{
	static const struct option rows[] = {
		{"quick", no_argument, NULL, 'q'},
		{"only", required_argument, NULL, 'o'},
		{"json", required_argument, NULL, 'j'},
		{"repetitions", required_argument, NULL, 'r'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", rows, NULL)) >= 0) {
		if (option == 'q')
			settings->quick = true;
		else if (option == 'o' && sections_known(optarg))
			settings->only = optarg;
		else if (option == 'j')
			settings->json = optarg;
		else if (option == 'r' && atoi(optarg) > 0)
			settings->most = atoi(optarg);
		else
			return usage(option == 'h' ? stdout : stderr, option == 'h' ? 0 : 2);
	}
	return optind < argc ? usage(stderr, 2) : -1;
}

/* Why nothing can be measured here, or NULL. */
static const char *obstacle(void)
{
	if (access(monitor_program(), X_OK) || access("build/bench/pair", X_OK))
		return "programs are missing; run `make bench` at the root of the repository";
	if (geteuid() != 0)
		return "leakmon needs root; run `sudo make bench`";
	return NULL;
}

/* Only the waits of child.c let signals in; there they end the run, and scopes end the children. */
static void on_signal(int signal)
{
	(void)signal;
}

static void hold_signals(void)
{
	static const int held[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(held); i++) {
		sigaddset(&set, held[i]);
		sigaction(held[i], &action, NULL);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN); /* a dead child is an error of the write */
}

static void directory_remove(const char *path)
{
	_cleanup_closedir_ DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory && (entry = readdir(directory)))
		unlinkat(dirfd(directory), entry->d_name, 0);
	rmdir(path);
}

static int sections_run(struct bench *bench, const char *only)
{
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sections) && !error; i++) {
		if (!only || is_named(only, sections[i].name))
			error = sections[i].run(bench);
	}
	return error;
}

static int json_write(const char *path, const struct machine *machine,
		      const struct results *results, bool quick)
{
	_cleanup_fclose_ FILE *file = NULL;
	bool to_stdout = !strcmp(path, "-");

	if (!to_stdout)
		file = fopen(path, "we");
	if (!to_stdout && !file)
		return -errno;
	return json_print(to_stdout ? stdout : file, machine, results, quick);
}

static int report(struct bench *bench, const struct settings *settings,
		  const struct machine *machine)
{
	int error = 0;

	results_ratios(&bench->results);
	table_print(stdout, machine, &bench->results, settings->quick);
	if (settings->json)
		error = json_write(settings->json, machine, &bench->results, settings->quick);
	if (error)
		fprintf(stderr, "bench: cannot write %s: %s\n", settings->json, strerror(-error));
	return error;
}

static int bench_run(const struct settings *settings)
{
	struct bench bench = {
		.quick = settings->quick,
		.repetitions = settings->quick ? 1 : 7,
		.most = settings->most,
		.pair_ms = settings->quick ? "30" : "300",
		.directory = "/tmp/leakmon-bench-XXXXXX",
	};
	struct machine machine;
	int error, reported = 0;

	if (bench.most)
		bench.repetitions = MIN(bench.repetitions, bench.most);
	machine_read(&machine);
	if (!mkdtemp(bench.directory))
		return -errno;
	error = sections_run(&bench, settings->only);
	if (error)
		fprintf(stderr, "bench: %s\n",
			error == -EINTR ? "interrupted; what was measured until then:"
					: strerror(-error));
	/* Half a repetition is in no ratio: those are made of pairs. */
	if (!error || error == -EINTR)
		reported = report(&bench, settings, &machine);
	directory_remove(bench.directory);
	results_free(&bench.results);
	return error ? error : reported;
}

int main(int argc, char **argv)
{
	struct settings settings = {0};
	int code = settings_parse(&settings, argc, argv);
	const char *reason;

	if (code >= 0)
		return code;
	reason = obstacle();
	if (reason) {
		fprintf(stderr, "bench: %s\n", reason);
		return 1;
	}
	hold_signals();
	return bench_run(&settings) ? 1 : 0;
}
