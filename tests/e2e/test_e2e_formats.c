// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Our files in their real readers: Go's pprof, promtool, node-exporter, a folded-stack parser, and
 * a JSON Schema validator. One run is recorded, and every format derived from it.
 */
#include "shell.h"

#include <signal.h>

#define GO_PPROF "/usr/lib/go-1.19/pkg/tool/linux_amd64/pprof"

/* One snapshot after one `go`, the next after four. */
static void record(struct harness *harness)
{
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	char path[96];

	snprintf(path, sizeof(path), "%s/run.lkm", harness->directory);
	monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o", path,
				   "--older", "0", "--label", "one", "3600");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGUSR1);
	child_wait_text(harness, monitor, &monitor->err, "snapshot 1 is recorded as `one`");
	for (int i = 0; i < 3; i++)
		workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
}

/* Writes the snapshot `at` in a format, and returns the file's path. */
static const char *export(struct harness *harness, char path[96], const char *format,
			  const char *at)
{
	struct child *reader;
	char recording[96];

	snprintf(recording, sizeof(recording), "%s/run.lkm", harness->directory);
	snprintf(path, 96, "%s/%s.%s", harness->directory, at, format);
	reader = MONITOR(harness, "report", recording, "--at", at, "--format", format, "--output",
			 path);
	if (child_end(harness, reader))
		child_fail(reader, "report --format %s failed", format);
	return path;
}

static void expect_words(char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("`%s` is not in:\n%s", words, text);
	free(text);
}

static void pprof_or_skip(void)
{
	if (!access(GO_PPROF, X_OK))
		return;
	fprintf(stderr, "SKIPPED, nothing was tested: %s is not there (golang-1.19-go)\n",
		GO_PPROF);
	skip();
}

static void pprof_shows_and_subtracts_our_profiles(void **state)
{
	struct harness *harness = harness_bpf(state);
	char one[96], last[96];
	char *text;

	pprof_or_skip();
	record(harness);
	export(harness, one, "pprof", "one");
	export(harness, last, "pprof", "last");
	text = shell(harness, 0, GO_PPROF " -top -unit B %s", last);
	assert_non_null(strstr(text, "Type: inuse_space"));
	assert_non_null(strstr(text, "File: leak"));
	assert_non_null(strstr(text, "49152B"));
	expect_words(text, "leak_c");
	text = shell(harness, 0, GO_PPROF " -top -sample_index=inuse_objects %s", last);
	expect_words(text, "leak_a");
	text = shell(harness, 0, GO_PPROF " -top -unit B -diff_base %s %s", one, last);
	assert_non_null(strstr(text, "36864B"));	  /* three times 12288 */
	assert_non_null(strstr(text, "of 18288B total")); /* 100 % is the base */
	expect_words(text, "leak_c");
	text = shell(harness, 0, GO_PPROF " -traces -unit B %s", last);
	assert_non_null(strstr(text, "comm:  leak"));
	expect_words(text, "pid:");
	text = shell(harness, 0, GO_PPROF " -raw %s", last);
	expect_words(text, "build/workloads/leak");
}

/* The web view answers with its graph, flame graph and source pages. */
static void pprof_serves_our_profile_in_its_web_view(void **state)
{
	struct harness *harness = harness_bpf(state);
	char last[96];
	char *text;

	pprof_or_skip();
	record(harness);
	export(harness, last, "pprof", "last");
	text = shell(harness, 0,
		     GO_PPROF " -http=127.0.0.1:19613 -no_browser %s & pprof=$!; "
			      "for page in top flamegraph peek?f=leak_c; do "
			      "python3 -c 'import sys,time,urllib.request\n"
			      "for i in range(100):\n"
			      "  try: print(urllib.request.urlopen(sys.argv[1]).read().decode()); "
			      "break\n"
			      "  except OSError: time.sleep(0.1)' "
			      "http://127.0.0.1:19613/ui/$page; done; kill $pprof",
		     last);
	assert_non_null(strstr(text, "leak_c"));
	expect_words(text, "Flame Graph");
}

/* One live report of a process that maps and allocates, or of the kernel while it makes pipes. */
static const char *live(struct harness *harness, char path[96], const char *format, bool kernel)
{
	struct child *workload, *monitor;

	snprintf(path, 96, "%s/live.%s", harness->directory, format);
	workload = kernel ? WORKLOAD(harness, "kernelmem", "100") : WORKLOAD(harness, "mapkinds");
	if (kernel)
		monitor = MONITOR(harness, "--kernel", "-o", "0", "--format", format, "--output",
				  path, "3600");
	else
		monitor = MONITOR(harness, "-p", workload->pid_text, "-o", "0", "--mappings",
				  "--format", format, "--output", path, "3600");
	child_wait_text(harness, monitor, &monitor->err, "attached to ");
	workload_do(harness, workload, kernel ? "pipes" : "own");
	if (!kernel)
		workload_do(harness, workload, "malloc");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	return path;
}

static void mappings_are_distinguished_from_blocks_in_every_format(void **state)
{
	struct harness *harness = harness_bpf(state);
	char path[96];
	char *text;

	pprof_or_skip();
	live(harness, path, "folded", false);
	text = shell(harness, 0, "cat %s", path);
	assert_non_null(strstr(text, "mapkinds;[mapping];[allocator arena];"));
	assert_non_null(strstr(text, "mapkinds;[mapping];_start;"));
	expect_words(text, " 12288\n");
	live(harness, path, "pprof", false);
	text = shell(harness, 0, GO_PPROF " -top -unit B %s", path);
	assert_null(strstr(text, "map_own"));
	expect_words(text, "1048576B   100%   100%");
	text = shell(harness, 0, GO_PPROF " -top -unit B -sample_index=mapped_space %s", path);
	assert_non_null(strstr(text, "Type: mapped_space"));
	expect_words(text, "12288B");
	text = shell(harness, 0,
		     GO_PPROF " -top -unit B -sample_index=mapped_space "
			      "-tagignore='kind=allocator arena' %s",
		     path);
	expect_words(text, "Showing nodes accounting for 12288B");
	live(harness, path, "prom", false);
	text = shell(harness, 0, "%s check metrics < %s 2>&1", consumer("promtool"), path);
	assert_string_equal(text, "");
	free(text);
	text = shell(harness, 0, "cat %s", path);
	assert_non_null(strstr(text, "\nleakmon_mapping_outstanding_bytes{comm=\"mapkinds\"} "));
	expect_words(text, "family=\"mapping\",kind=\"allocator arena\"");
}

static void the_kernel_has_every_format_too(void **state)
{
	struct harness *harness = harness_bpf(state);
	char path[96];
	char *text;

	pprof_or_skip();
	live(harness, path, "folded", true);
	text = shell(harness, 0, "cat %s", path);
	expect_words(text, "kernel;[kernel];[kmalloc];");
	live(harness, path, "pprof", true);
	/* Other processes' kernel allocations do not matter. */
	text = shell(harness, 0, GO_PPROF " -top -nodefraction=0 -nodecount=100000 %s", path);
	assert_non_null(strstr(text, "Type: inuse_space"));
	expect_words(text, "alloc_pipe_info");
	live(harness, path, "prom", true);
	text = shell(harness, 0, "%s check metrics < %s 2>&1", consumer("promtool"), path);
	assert_string_equal(text, "");
	free(text);
	text = shell(harness, 0, "cat %s", path);
	expect_words(text, "leakmon_outstanding_bytes{comm=\"kernel\"} ");
}

static void promtool_finds_no_fault(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *promtool = consumer("promtool");
	char last[96];
	char *text;

	record(harness);
	export(harness, last, "prom", "last");
	text = shell(harness, 0, "%s check metrics < %s 2>&1", promtool, last);
	assert_string_equal(text, "");
	free(text);
	text = shell(harness, 0, "cat %s", last);
	expect_words(text, "leakmon_outstanding_bytes{comm=\"leak\"} 73152\n");
}

/* Scrapes as fast as it can while the file is rewritten a thousand times. */
static const char scraper[] =
	"import sys, time, urllib.request\n"
	"def scrape():\n"
	"    return urllib.request.urlopen(sys.argv[1], timeout=10).read().decode()\n"
	"for i in range(100):\n"
	"    try: scrape(); break\n"
	"    except OSError: time.sleep(0.1)\n"
	"seen, stamps = 0, set()\n"
	"while True:\n"
	"    lines = scrape().splitlines()\n"
	"    ours = [l for l in lines if l.startswith('leakmon_snapshot_timestamp_seconds ')]\n"
	"    if not ours and seen:\n"
	/* It lists the directory before it opens the file: removal may come between, once. */
	"        time.sleep(0.3); lines = scrape().splitlines()\n"
	"        assert not [l for l in lines if l.startswith('leakmon_')], 'gone, and back'\n"
	"    assert 'node_textfile_scrape_error 0' in lines, [l for l in lines if 'scrape' in l]\n"
	"    if not ours and seen: break\n"
	"    seen += len(ours)\n"
	"    stamps.update(ours)\n"
	"print('scraped', seen, 'times,', len(stamps), 'files')\n"
	"assert len(stamps) > 20\n";

static void node_exporter_serves_the_file_while_it_is_rewritten(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *exporter = consumer("prometheus-node-exporter");
	struct child *workload = WORKLOAD(harness, "leak"), *server, *reader, *monitor;
	char directory[128], path[160];

	snprintf(directory, sizeof(directory), "--collector.textfile.directory=%s",
		 harness->directory);
	snprintf(path, sizeof(path), "%s/leakmon.prom", harness->directory);
	server = child_start(harness, exporter,
			     ARGUMENTS("prometheus-node-exporter", "--collector.disable-defaults",
				       "--collector.textfile", directory,
				       "--web.listen-address=127.0.0.1:19614"),
			     NULL);
	workload_do(harness, workload, "go");
	reader = child_start(harness, "/usr/bin/python3",
			     ARGUMENTS("python3", "-c", scraper, "http://127.0.0.1:19614/metrics"),
			     NULL);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--format", "prom",
				   "--textfile-dir", harness->directory, "0.005", "1000");
	assert_int_equal(child_end(harness, monitor), 0);
	/* Removed on a clean exit: it would be stale. */
	assert_int_not_equal(access(path, F_OK), 0);
	if (child_end(harness, reader))
		child_fail(reader, "the scraper found an error");
	print_message("%s", reader->out.text);
	child_kill(server);
}

/* A flame graph reader's view: stack;stack count, which add up. */
static void folded_stacks_add_up_in_a_reader(void **state)
{
	struct harness *harness = harness_bpf(state);
	char last[96];
	char *text;

	record(harness);
	export(harness, last, "folded", "last");
	text = shell(harness, 0,
		     "python3 -c 'import sys, collections\n"
		     "total, leaf = 0, collections.Counter()\n"
		     "for line in open(sys.argv[1], encoding=\"utf-8\"):\n"
		     "    stack, count = line.rstrip(\"\\n\").rsplit(\" \", 1)\n"
		     "    frames = stack.split(\";\")\n"
		     "    assert frames[0] == \"leak\" and all(frames), frames\n"
		     "    total += int(count); leaf[frames[-1]] += int(count)\n"
		     "print(total, leaf[\"leak_a\"], leaf[\"leak_b\"], leaf[\"leak_c\"])' %s",
		     last);
	assert_string_equal(text, "73152 4000 20000 49152\n");
	free(text);
}

static void json_is_valid_by_the_published_schema(void **state)
{
	struct harness *harness = harness_bpf(state);
	char last[96];

	record(harness);
	export(harness, last, "json", "last");
	free(shell(harness, 0,
		   "python3 -W ignore -m jsonschema -i %s user/schema/report.schema.json", last));
	free(shell(harness, 0,
		   "%s diff --format json %s/run.lkm > %s.diff && python3 -W ignore -m jsonschema "
		   "-i %s.diff user/schema/diff.schema.json",
		   getenv("LEAKMON_PROGRAM") ? getenv("LEAKMON_PROGRAM") : "build/leakmon",
		   harness->directory, last, last));
	/* The schema can fail. */
	free(shell(harness, 0, "sed 's/\"heap\"/\"pile\"/' %s > %s.bad", last, last));
	free(shell(harness, 1,
		   "python3 -W ignore -m jsonschema -i %s.bad user/schema/report.schema.json",
		   last));
}

static void live_json_is_valid_too(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	char path[96];

	snprintf(path, sizeof(path), "%s/live.json", harness->directory);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "-a", "--format",
				   "json", "--output", path, "0.2", "3");
	workload_do(harness, workload, "go");
	assert_int_equal(child_end(harness, monitor), 0);
	free(shell(harness, 0,
		   "while read -r line; do printf '%%s' \"$line\" > %s.one; python3 -W ignore -m "
		   "jsonschema -i %s.one user/schema/report.schema.json || exit 1; done < %s",
		   path, path, path));
}

/* The JSON of a triage run, with every possible member. */
static void json_of_the_machine_is_valid_too(void **state)
{
	struct harness *harness = harness_bpf(state);
	char path[96];

	snprintf(path, sizeof(path), "%s/triage.json", harness->directory);
	assert_int_equal(child_end(harness, MONITOR(harness, "--format", "json", "--output", path,
						    "--top", "5", "0.5", "1")),
			 0);
	free(shell(harness, 0,
		   "python3 -W ignore -m jsonschema -i %s -i tests/golden/triage.json "
		   "user/schema/triage.schema.json",
		   path));
	/* The schema can fail. */
	free(shell(harness, 1,
		   "sed 's/\"verdict\":\"plateau\"/\"verdict\":\"?\"/' tests/golden/triage.json > "
		   "%s && "
		   "python3 -W ignore -m jsonschema -i %s user/schema/triage.schema.json",
		   path, path));
}

static void a_file_that_cannot_be_replaced_stays_as_it_was(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak");

	monitor_expect_error(harness,
			     MONITOR(harness, "-p", workload->pid_text, "--format", "prom",
				     "--textfile-dir", "/nowhere"),
			     1, "cannot write to /nowhere/leakmon.prom");
	monitor_expect_error(harness,
			     MONITOR(harness, "-p", workload->pid_text, "--format", "text",
				     "--textfile-dir", "/tmp"),
			     2, "--textfile-dir is for --format prom");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(pprof_shows_and_subtracts_our_profiles),
		e2e_test(pprof_serves_our_profile_in_its_web_view),
		e2e_test(mappings_are_distinguished_from_blocks_in_every_format),
		e2e_test(the_kernel_has_every_format_too),
		e2e_test(promtool_finds_no_fault),
		e2e_test(node_exporter_serves_the_file_while_it_is_rewritten),
		e2e_test(folded_stacks_add_up_in_a_reader),
		e2e_test(json_is_valid_by_the_published_schema),
		e2e_test(live_json_is_valid_too),
		e2e_test(json_of_the_machine_is_valid_too),
		e2e_test(a_file_that_cannot_be_replaced_stays_as_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
