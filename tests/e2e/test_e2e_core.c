// SPDX-License-Identifier: GPL-2.0-or-later
/* A core file gives the same answers as its process: block for block; no BPF. */
#include "retain_holder.h"
#include "shell.h"

#include <signal.h>

#define GCORE "/usr/bin/gcore"

/* Fields on the time and way of reading, not on the process; and names of threads, which a core
 * lacks. */
static const char *const passing[] = {
	"time",	      "core",	       "comm",	       "stopped",  "soft_dirty",
	"pause_ns",   "max_pause_ns",  "read_ns",      "total_ns", "own_peak_bytes",
	"read_bytes", "pages_checked", "pages_changed"};

static void drop_passing(json_t *value)
{
	const char *key;
	json_t *item;
	void *next;
	size_t i;

	json_array_foreach(value, i, item) drop_passing(item);
	for (i = 0; json_is_object(value) && i < sizeof(passing) / sizeof(*passing); i++)
		json_object_del(value, passing[i]);
	json_object_foreach_safe(value, next, key, item) drop_passing(item);
}

/* A core lacks pages of files, and so the version of an allocator: "jemalloc" for "jemalloc
 * 5.3.0". */
static void expect_allocator(json_t *live, json_t *core, const char *key)
{
	const char *name = text_at(core, key);

	if (strncmp(text_at(live, key), name, strlen(name)) != 0)
		fail_msg("%s in the core, not %s", name, text_at(live, key));
	assert_int_equal(!name[0], !text_at(live, key)[0]);
	json_object_del(live, key);
	json_object_del(core, key);
}

static void expect_same(json_t *live, json_t *core)
{
	char *left, *right;

	expect_allocator(json_object_get(live, "heap"), json_object_get(core, "heap"), "allocator");
	drop_passing(live);
	drop_passing(core);
	if (json_equal(live, core))
		return;
	left = json_dumps(live, JSON_INDENT(1) | JSON_SORT_KEYS);
	right = json_dumps(core, JSON_INDENT(1) | JSON_SORT_KEYS);
	fprintf(stderr, "live: %s\ncore: %s\n", left, right);
	free(left);
	free(right);
	fail_msg("the core says something else");
}

/* Core of a process that is stopped from now on; *path is static. */
static const char *core_of(struct harness *harness, const struct child *target)
{
	static char path[64];

	child_signal(target, SIGSTOP);
	/* gdb takes a stop already in progress for its own, and resumes the process. */
	free(shell(harness, 0,
		   "while cat /proc/%s/task/*/status | grep ^State | grep -qv 'T (stopped'; do "
		   "sleep 0.02; done",
		   target->pid_text));
	free(shell(harness, 0, "%s -o %s/core %s >/dev/null 2>&1", GCORE, harness->directory,
		   target->pid_text));
	snprintf(path, sizeof(path), "%s/core.%s", harness->directory, target->pid_text);
	return path;
}

static void skip_without_gcore(void)
{
	if (access(GCORE, X_OK) == 0)
		return;
	fprintf(stderr, "SKIPPED, nothing was tested: there is no gcore (gdb)\n");
	skip();
}

#define RETAIN_CORE(harness, path, ...)                                                            \
	report_of(harness,                                                                         \
		  MONITOR(harness, "retain", "--core", path, "--format", "json", ##__VA_ARGS__))

#define MEMORY(harness, ...)                                                                       \
	json_array_get(json_object_get(report_of(harness, MONITOR(harness, "memory", "--format",   \
								  "json", ##__VA_ARGS__)),         \
				       "processes"),                                               \
		       0)

static void expect_same_memory(struct harness *harness, struct child *target, const char *path)
{
	static const char *const known[] = {
		"name",		"used_bytes",	"free_bytes",	"system_bytes",	  "arenas",
		"cached_bytes", "fast_bytes",	"bins_bytes",	"unsorted_bytes", "small_bytes",
		"large_bytes",	"mapped_bytes", "mapped_blocks"};
	json_t *live = MEMORY(harness, "-p", target->pid_text);
	json_t *core = MEMORY(harness, "--core", path);
	const char *part;
	json_t *share;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		json_t *said = json_object_get(json_object_get(live, "allocator"), known[i]);

		assert_true(said == NULL ||
			    json_equal(said, json_object_get(json_object_get(core, "allocator"),
							     known[i])));
	}
	assert_int_equal(json_is_null(json_object_get(live, "allocator")),
			 json_is_null(json_object_get(core, "allocator")));
	/* Sizes of the parts; a core does not record residency. */
	json_object_foreach(json_object_get(live, "parts"), part, share)
	{
		json_t *same = json_object_get(json_object_get(core, "parts"), part);

		/* A core does not contain all mappings. */
		if (strcmp(part, "kernel") != 0 && strcmp(part, "files_written") != 0)
			assert_int_equal(number_at(share, "size_bytes"),
					 number_at(same, "size_bytes"));
	}
	assert_int_equal(number_at(core, "difference_bytes"), 0);
	assert_string_equal(text_at(core, "core"), path);
}

static void expect_same_answers(struct harness *harness, struct child *target)
{
	const char *path = core_of(harness, target);

	expect_same(RETAIN(harness, target, "--top", "0"),
		    RETAIN_CORE(harness, path, "--top", "0"));
	expect_same_memory(harness, target, path);
}

static void what_holds_each_block_is_the_same(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth;

	skip_without_gcore();
	target = holder_start(harness, "1000", "40", &truth);
	expect_same_answers(harness, target);
	expect_holder(RETAIN_CORE(harness, core_of(harness, target)), truth);
}

static void of_sixty_four_arenas_too(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;

	skip_without_gcore();
	target = WORKLOAD(harness, "mallinfo");
	workload_do(harness, target, "arenas");
	workload_do(harness, target, "fast");
	workload_do(harness, target, "mapped");
	expect_same_answers(harness, target);
}

/* Third-party programs. Each prints a line when it is idle. */
static void of_programs_of_others_too(void **state)
{
	static const char *const programs[][5] = {
		{"/usr/bin/python3", "python3", "-c",
		 "import json, sys; k = [{str(i): [i]} for i in range(5000)]; print('ready'); "
		 "sys.stdout.flush(); sys.stdin.read()"},
		{"/usr/bin/sqlite3", "sqlite3", "-cmd",
		 "create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 "
		 "from c where x < 9000) insert into t select x, hex(x) from c; select 'ready';"},
		{"/usr/bin/perl", "perl", "-e",
		 "$| = 1; $h{$_} = 'v' x $_ for 1 .. 900; print qq(ready\n); <STDIN>"},
	};
	struct harness *harness = harness_any(state);

	skip_without_gcore();
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct child *target;
		char *line;

		if (access(programs[i][0], X_OK)) {
			print_message("no %s\n", programs[i][0]);
			continue;
		}
		target = child_start(harness, programs[i][0], programs[i] + 1, NULL);
		line = child_line(harness, target, &target->out);
		assert_string_equal(line, "ready");
		free(line);
		expect_same_answers(harness, target);
	}
}

static void of_other_allocators_too(void **state)
{
	static const char *const names[] = {"jemalloc_stats", "tcmalloc_stats", "mimalloc_stats"};
	static const char *const known[] = {"certain",	    "live_blocks",     "live_bytes",
					    "cached_bytes", "allocated_bytes", "active_bytes",
					    "dirty_bytes",  "retained_bytes",  "metadata_bytes",
					    "mapped_bytes"};
	struct harness *harness = harness_any(state);

	skip_without_gcore();
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct child *target = WORKLOAD(harness, names[i]);
		json_t *live, *core;
		const char *path;

		workload_do(harness, target, "lose");
		path = core_of(harness, target);
		expect_same(RETAIN(harness, target, "--top", "0"),
			    RETAIN_CORE(harness, path, "--top", "0"));
		live = json_object_get(MEMORY(harness, "-p", target->pid_text), "other_allocator");
		core = json_object_get(MEMORY(harness, "--core", path), "other_allocator");
		expect_allocator(live, core, "name");
		for (size_t j = 0; j < sizeof(known) / sizeof(*known); j++)
			assert_true(json_equal(json_object_get(live, known[j]),
					       json_object_get(core, known[j])));
		assert_true(number_at(core, "live_blocks") >= 121);
	}
}

static void a_truncated_file_is_reported_and_settles_nothing(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target, *monitor;
	const char *path;
	json_t *truth, *report;

	skip_without_gcore();
	target = holder_start(harness, "1000", "40", &truth);
	path = core_of(harness, target);
	/* gdb writes its tables last: they are put first, as the kernel has them. */
	free(shell(harness, 0,
		   "python3 -c '\n"
		   "import struct,sys\n"
		   "d=open(sys.argv[1],\"rb\").read()\n"
		   "off,=struct.unpack_from(\"<Q\",d,32)\n"
		   "n,=struct.unpack_from(\"<H\",d,56)\n"
		   "h=bytearray(d[:off+56*n])\n"
		   "for i in range(n):\n"
		   "  t,f,o,v,p,fs,ms,a=struct.unpack_from(\"<IIQQQQQQ\",h,off+56*i)\n"
		   "  if t==4: note=(i,o,fs)\n"
		   "i,o,fs=note\n"
		   "first=off+56*n\n"
		   "for j in range(n):\n"
		   "  t,f,o2,v,p,s,ms,a=struct.unpack_from(\"<IIQQQQQQ\",h,off+56*j)\n"
		   "  struct.pack_into(\"<Q\",h,off+56*j+8,first if j==i else o2+fs)\n"
		   "body=d[first:]\n"
		   "whole=bytes(h)+d[o:o+fs]+body\n"
		   "open(sys.argv[1],\"wb\").write(whole[:len(whole)-fs-140000])' %s",
		   path));
	monitor = MONITOR(harness, "retain", "--core", path, "--format", "json");
	report = report_of(harness, monitor);
	child_wait_text(harness, monitor, &monitor->err, "the core file is cut off: ");
	assert_true(json_is_false(json_object_get(report, "settled")));
	(void)truth;
}

static void without_its_files_the_blocks_are_the_same(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target, *monitor;
	const char *path;
	json_t *truth, *report;

	skip_without_gcore();
	target = holder_start(harness, "100", "10", &truth);
	path = core_of(harness, target);
	monitor = MONITOR(harness, "retain", "--core", path, "--sysroot", harness->directory,
			  "--format", "json");
	report = report_of(harness, monitor);
	child_wait_text(harness, monitor, &monitor->err, "of its files with code cannot be found");
	assert_int_equal(total_at(report, "unreachable", "blocks"),
			 number_at(truth, "lost_blocks") + number_at(truth, "ring_blocks"));
	monitor = MONITOR(harness, "retain", "--core", path, "--exe", "/bin/true", "--format",
			  "json");
	report_of(harness, monitor);
	child_wait_text(harness, monitor, &monitor->err, "and 1 are of another build, as ");
}

/* The formats of systemd-coredump. */
static void a_compressed_file_gives_the_same_report(void **state)
{
	static const char *const packers[] = {"zstd -q", "xz -0", "lz4 -q", "gzip -1"};
	struct harness *harness = harness_any(state);
	struct child *target;
	const char *path;
	json_t *truth;

	skip_without_gcore();
	target = holder_start(harness, "1000", "40", &truth);
	path = core_of(harness, target);
	for (size_t i = 0; i < sizeof(packers) / sizeof(*packers); i++) {
		char packed[80];

		snprintf(packed, sizeof(packed), "%s.packed", path);
		free(shell(harness, 0, "%s -c %s >%s", packers[i], path, packed));
		expect_same(RETAIN_CORE(harness, path, "--top", "0"),
			    RETAIN_CORE(harness, packed, "--top", "0"));
	}
	free(shell(harness, 0, "printf '\\050\\265\\057\\375xxxxxxxxxxxxxxxx' >%s", path));
	monitor_expect_error(harness, MONITOR(harness, "retain", "--core", path), 1,
			     "it is compressed, and cannot be unpacked");
}

static void what_is_no_core_file_is_refused(void **state)
{
	struct harness *harness = harness_any(state);

	monitor_expect_error(harness, MONITOR(harness, "retain", "--core", "/bin/true"), 1,
			     "/bin/true: it is no core file of a 64-bit program");
	monitor_expect_error(harness, MONITOR(harness, "memory", "--core", "/dev/null"), 1,
			     "/dev/null: it is no core file");
	monitor_expect_error(harness, MONITOR(harness, "memory", "--core", "/no/such"), 1,
			     "/no/such: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_holds_each_block_is_the_same),
		e2e_test(of_sixty_four_arenas_too),
		e2e_test(of_programs_of_others_too),
		e2e_test(of_other_allocators_too),
		e2e_test(a_truncated_file_is_reported_and_settles_nothing),
		e2e_test(without_its_files_the_blocks_are_the_same),
		e2e_test(a_compressed_file_gives_the_same_report),
		e2e_test(what_is_no_core_file_is_refused),
	};

	return cmocka_run_group_tests_name("e2e_core", tests, NULL, NULL);
}
