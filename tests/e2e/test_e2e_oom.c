// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OOM-killed programs: the last snapshot shows their memory, and agrees with their own account.
 * LEAKMON_OOM_KILLS sets the number of kills in a row, and LEAKMON_OOM_RUNTIME (crun, runc) the
 * runtime of their containers.
 */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "containers.h"
#include "shell.h"

#define LIMIT_BYTES (24 << 20)
#define MAX_VICTIMS 20

/* The group of the victims, in whichever hierarchy has the memory controller. */
static const struct place {
	const char *directory, *limit;
} places[] = {
	{"/sys/fs/cgroup/memory/leakmon_oom", "memory.limit_in_bytes"},
	{"/sys/fs/cgroup/leakmon_oom", "memory.max"},
};

struct victim {
	struct child *child;
	char account[192];
};

static int kills_wanted(int otherwise)
{
	const char *wanted = getenv("LEAKMON_OOM_KILLS");

	return wanted ? atoi(wanted) : otherwise;
}

static bool group_write(const struct place *place, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", place->directory, name);
	file = fopen(path, "we");
	if (!file)
		return false;
	fputs(text, file);
	return !fclose(file);
}

static const struct place *group_make(uint64_t limit)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)limit);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (mkdir(places[i].directory, 0755) && errno != EEXIST)
			continue;
		if (group_write(&places[i], places[i].limit, text))
			return &places[i];
		rmdir(places[i].directory);
	}
	print_message("SKIPPED: no memory controller that groups can be made of\n");
	skip();
	return NULL;
}

static void group_remove(const struct place *place)
{
	/* A killed process leaves it some time after the wait. */
	for (int i = 0; rmdir(place->directory) && errno == EBUSY && i < 500; i++)
		usleep(10000);
}

static struct victim victim_start(struct harness *harness, const struct place *place, int number,
				  const char *threads)
{
	struct victim victim;

	snprintf(victim.account, sizeof(victim.account), "%s/%d", harness->directory, number);
	victim.child = WORKLOAD(harness, "victim", victim.account, threads);
	assert_true(group_write(place, "cgroup.procs", victim.child->pid_text));
	return victim;
}

struct account {
	uint64_t leaked, first_ns, latest_ns, fill;
};

static struct account account_read(const struct victim *victim)
{
	struct account account;
	int fd = open(victim->account, O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, &account, sizeof(account)), sizeof(account));
	close(fd);
	return account;
}

static json_t *kill_of(json_t *report, pid_t pid)
{
	json_t *kill;
	size_t i;

	json_array_foreach(json_object_get(report, "oom_kills"), i, kill)
	{
		if (number_at(kill, "pid") == pid)
			return kill;
	}
	return NULL;
}

/* The next report that was made because this one is killed. */
static json_t *report_of_kill(struct harness *harness, struct child *monitor, pid_t pid)
{
	json_t *report;

	do {
		report = monitor_report(harness, monitor);
	} while (!kill_of(report, pid));
	return report;
}

static const char *first_function(json_t *process)
{
	json_t *site = json_array_get(json_object_get(process, "sites"), 0);
	json_t *frame = json_array_get(json_object_get(site, "frames"), 0);

	return json_string_value(json_object_get(frame, "function"));
}

/* Exact; one block more, if the end came between the block and its count. */
static void expect_account(json_t *process, const struct victim *victim)
{
	struct held held = held_by(process, "leak");
	json_int_t leaked = (json_int_t)account_read(victim).leaked;

	assert_true(leaked > 1000);
	assert_in_range(held.count, leaked, leaked + 1);
	assert_int_equal(held.bytes, held.count * 5000);
	assert_string_equal(first_function(process), "leak");
}

static void expect_last_snapshot(json_t *report, const struct victim *victim, pid_t pid)
{
	expect_balance(report);
	expect_account(process_of(report, pid), victim);
}

static void the_last_snapshot_of_a_victim_is_its_own_account(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(LIMIT_BYTES);

	for (int i = 0; i < kills_wanted(3); i++) {
		struct victim victim = victim_start(harness, place, i, "0");
		struct child *monitor = MONITOR_ATTACHED(harness, "-p", victim.child->pid_text,
							 "-o", "0", "--format", "json", "3600");
		pid_t pid = victim.child->pid;
		json_t *report, *kill;

		workload_send(victim.child, "go");
		report = report_of_kill(harness, monitor, pid);
		assert_int_equal(child_end(harness, victim.child), 128 + 9);
		expect_last_snapshot(report, &victim, pid);
		kill = kill_of(report, pid);
		assert_int_equal(number_at(kill, "limit_bytes"), LIMIT_BYTES);
		assert_string_equal(json_string_value(json_object_get(kill, "cgroup")),
				    "/leakmon_oom");
		child_wait_text(harness, monitor, &monitor->err, "OOM-killed");
		child_kill(monitor);
		child_kill(victim.child);
	}
	group_remove(place);
}

/* For join_group(), which runs between fork and exec. */
static const struct place *group_to_join;

static void join_group(void)
{
	if (!group_write(group_to_join, "cgroup.procs", "0"))
		_exit(126);
}

/* The kernel's own count, from Linux 6.9 on: 8 bytes for each page, and some tables. */
static void expect_page_tables(json_t *kill)
{
	json_t *memory = json_object_get(kill, "memory");
	json_int_t pages;

	if (!json_is_object(memory))
		return;
	pages = (number_at(memory, "anonymous_bytes") + number_at(memory, "file_bytes")) / 4096;
	assert_true(pages > 10000);
	assert_in_range(number_at(memory, "page_table_bytes"), 8 * pages, 16 * pages + (1 << 20));
}

/* The larger process is chosen: leakmon, which loads its probes there, survives. */
static void leakmon_lives_in_the_group_of_its_victim(void **state)
{
	static const char *const kinds[] = {"watch", "triage"};
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(10 * LIMIT_BYTES);

	for (int i = 0; i < 2; i++) {
		struct victim victim = victim_start(harness, place, i, "0");
		const char *const watch[] = {
			"leakmon",  "-p",   victim.child->pid_text, "-o",     "0",
			"--format", "json", "--max-blocks",	    "100000", "3600",
			NULL};
		const char *const triage[] = {"leakmon", "--format", "json", "3600", NULL};
		pid_t pid = victim.child->pid;
		struct child *monitor;
		json_t *report;

		group_to_join = place;
		monitor = monitor_start(harness, i ? triage : watch, join_group);
		child_wait_text(harness, monitor, &monitor->err,
				i ? "first verdicts" : "attached to");
		workload_send(victim.child, "go");
		print_message("%s\n", kinds[i]);
		report = report_of_kill(harness, monitor, pid);
		if (!i)
			expect_last_snapshot(report, &victim, pid);
		else
			expect_page_tables(kill_of(report, pid));
		child_signal(monitor, SIGINT);
		assert_int_equal(child_end(harness, monitor), 0);
		child_kill(victim.child);
	}
	group_remove(place);
}

/* From now on it gets no more memory than it has; it has begun. */
static void refuse_memory(struct harness *harness, struct child *monitor)
{
	char path[64];
	unsigned long pages = 0;
	struct rlimit limit;
	FILE *file;

	monitor_snapshot(harness, monitor);
	snprintf(path, sizeof(path), "/proc/%s/statm", monitor->pid_text);
	file = fopen(path, "re");
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	limit.rlim_cur = limit.rlim_max = pages * (rlim_t)sysconf(_SC_PAGESIZE);
	assert_false(prlimit(monitor->pid, RLIMIT_AS, &limit, NULL));
}

/* The memory for that was reserved. */
static void a_monitor_that_gets_no_more_memory_writes_its_last_snapshot(void **state)
{
	static const char *const kinds[] = {"watch", "profile", "triage"};
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(LIMIT_BYTES);

	for (int i = 0; i < 3; i++) {
		struct victim victim = victim_start(harness, place, i, "0");
		pid_t pid = victim.child->pid;
		struct child *monitor =
			i == 2 ? MONITOR(harness, "--format", "json", "3600")
			       : MONITOR_ATTACHED(harness, kinds[i], "-p", victim.child->pid_text,
						  "--format", "json", "3600");
		json_t *report;

		print_message("%s\n", kinds[i]);
		if (i == 2)
			child_wait_text(harness, monitor, &monitor->err, "first verdicts");
		refuse_memory(harness, monitor);
		workload_send(victim.child, "go");
		report = report_of_kill(harness, monitor, pid);
		if (!i)
			expect_account(process_of(report, pid), &victim);
		child_kill(monitor);
		child_kill(victim.child);
	}
	group_remove(place);
}

/* Fills memory up to the limit. The kernel evicts droppable memory on the way. */
static void fill_up(const struct place *place)
{
	bool unified = !strcmp(place->limit, "memory.max");
	const char *usage = unified ? "memory.current" : "memory.usage_in_bytes";
	char path[128], text[32];
	unsigned long long bytes = 0, least = UINT64_MAX;

	snprintf(path, sizeof(path), "%s/%s", place->directory, usage);
	for (;;) {
		FILE *file = fopen(path, "re");

		assert_int_equal(fscanf(file, "%llu", &bytes), 1);
		fclose(file);
		if (bytes >= least)
			return;
		least = bytes;
		/* v2 kills where it cannot reclaim. */
		snprintf(text, sizeof(text), "%llu", bytes + (unified ? 65536 : 0));
		if (!group_write(place, place->limit, text))
			return;
		snprintf(text, sizeof(text), "%llu", bytes - (1 << 20));
		if (unified || !group_write(place, place->limit, text))
			return;
	}
}

/* The limit is its own, and it is there. */
static void a_monitor_in_a_full_group_writes_its_last_snapshot(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "0");
	const char *const watch[] = {"leakmon",	 "-p",	 victim.child->pid_text, "-o",	   "0",
				     "--format", "json", "--max-blocks",	 "100000", "3600",
				     NULL};
	char directory[128];
	struct place own = {.directory = directory, .limit = place->limit};
	pid_t pid = victim.child->pid;
	struct child *monitor;

	snprintf(directory, sizeof(directory), "%s_own", place->directory);
	rmdir(directory); /* of a killed run, with its limit */
	assert_int_equal(mkdir(directory, 0755), 0);
	group_to_join = &own;
	monitor = monitor_start(harness, watch, join_group);
	child_wait_text(harness, monitor, &monitor->err, "attached to");
	monitor_snapshot(harness, monitor); /* then it is at rest */
	fill_up(&own);
	workload_send(victim.child, "go");
	expect_last_snapshot(report_of_kill(harness, monitor, pid), &victim, pid);
	assert_int_equal(child_end(harness, monitor), 0);
	child_kill(victim.child);
	group_remove(&own);
	group_remove(place);
}

/* The group of a pod or a service limits a group below it that has no limit. */
static void a_limit_above_is_the_one_that_is_reported(void **state)
{
	static const char *const kinds[] = {"watch", "profile", "triage"};
	struct harness *harness = harness_bpf(state);
	const struct place *parent = group_make(3 * LIMIT_BYTES);
	char directory[128];
	const struct place below = {.directory = directory};

	snprintf(directory, sizeof(directory), "%s/below", parent->directory);
	/* A controller is handed down in v2. */
	group_write(parent, "cgroup.subtree_control", "+memory");
	assert_false(mkdir(directory, 0755));
	for (int i = 0; i < 3; i++) {
		struct victim victim = victim_start(harness, &below, i, "0");
		pid_t pid = victim.child->pid;
		struct child *monitor =
			i == 2 ? MONITOR(harness, "--format", "json", "3600")
			       : MONITOR_ATTACHED(harness, kinds[i], "-p", victim.child->pid_text,
						  "--format", "json", "3600");
		json_t *kill;

		print_message("%s\n", kinds[i]);
		if (i == 2)
			child_wait_text(harness, monitor, &monitor->err, "first verdicts");
		workload_send(victim.child, "go");
		kill = kill_of(report_of_kill(harness, monitor, pid), pid);
		assert_string_equal(json_string_value(json_object_get(kill, "cgroup")),
				    "/leakmon_oom/below");
		assert_int_equal(number_at(kill, "limit_bytes"), 3 * LIMIT_BYTES);
		assert_string_equal(json_string_value(json_object_get(kill, "limit_cgroup")),
				    "/leakmon_oom");
		child_kill(monitor);
		child_kill(victim.child);
	}
	group_remove(&below);
	group_remove(parent);
}

/* Thousands of threads end with it. */
static void a_victim_may_have_many_threads(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(6 * LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "2000");
	struct child *monitor = MONITOR_ATTACHED(harness, "-p", victim.child->pid_text, "-o", "0",
						 "--format", "json", "3600");
	pid_t pid = victim.child->pid;

	workload_send(victim.child, "go");
	expect_last_snapshot(report_of_kill(harness, monitor, pid), &victim, pid);
	child_kill(monitor);
	child_kill(victim.child);
	group_remove(place);
}

/* The victims are selected by a pattern, and not kept after their end. */
static void every_victim_of_a_burst_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(MAX_VICTIMS / 2 * LIMIT_BYTES);
	struct victim victims[MAX_VICTIMS];
	pid_t pids[MAX_VICTIMS];
	struct child *monitor;
	size_t told = 0;

	for (int i = 0; i < MAX_VICTIMS; i++) {
		victims[i] = victim_start(harness, place, i, "0");
		pids[i] = victims[i].child->pid;
	}
	monitor = MONITOR(harness, "--cgroup", "/leakmon_oom", "-o", "0", "-T", "0", "--format",
			  "json", "3600");
	for (int i = 0; i < MAX_VICTIMS; i++)
		monitor_wait_attached(harness, monitor, pids[i]);
	for (int i = 0; i < MAX_VICTIMS; i++)
		workload_send(victims[i].child, "go");
	while (told < MAX_VICTIMS) {
		json_t *report = monitor_report(harness, monitor);

		for (int i = 0; i < MAX_VICTIMS; i++) {
			if (!kill_of(report, pids[i]))
				continue;
			expect_last_snapshot(report, &victims[i], pids[i]);
			told++;
		}
	}
	child_kill(monitor);
	for (int i = 0; i < MAX_VICTIMS; i++)
		child_kill(victims[i].child);
	group_remove(place);
}

static void stop_reading(struct child *child)
{
	close(child->out.fd);
	close(child->err.fd);
	child->out.fd = child->err.fd = -1;
}

/* A recording keeps it by name; scraped reports count it. Their starter may have ended, with the
 * pipes for their messages. */
static void a_kill_is_recorded_and_counted(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "0");
	char recording[64], metrics[64], label[32], *text, *site;
	long long held;
	struct child *recorder, *monitor;
	pid_t pid = victim.child->pid;

	snprintf(recording, sizeof(recording), "%s/r.lkm", harness->directory);
	snprintf(metrics, sizeof(metrics), "%s/m.prom", harness->directory);
	snprintf(label, sizeof(label), "oom %d", pid);
	recorder = MONITOR_ATTACHED(harness, "record", "-p", victim.child->pid_text, "--output",
				    recording, "3600");
	monitor = MONITOR_ATTACHED(harness, "-p", victim.child->pid_text, "--format", "prom",
				   "--output", metrics, "3600");
	stop_reading(recorder);
	stop_reading(monitor);
	workload_send(victim.child, "go");
	assert_int_equal(child_end(harness, recorder), 0);
	assert_int_equal(child_end(harness, monitor), 0);
	monitor = MONITOR(harness, "report", recording, "--at", label, "--format", "json");
	expect_account(process_of(monitor_report(harness, monitor), pid), &victim);
	text = shell(harness, 0, "cat %s", metrics);
	assert_non_null(strstr(text, "leakmon_oom_kills_total{comm=\"victim\"} 1\n"));
	site = strstr(text, "\nleakmon_oom_last_site_bytes{comm=\"victim\",site=\"");
	assert_non_null(site);
	assert_non_null(strstr(site, "function=\"leak\""));
	held = strtoll(strstr(site, "} ") + 2, NULL, 10);
	assert_int_equal(held % 5000, 0);
	assert_in_range(held / 5000, account_read(&victim).leaked,
			account_read(&victim).leaked + 1);
	free(text);
	child_kill(victim.child);
	group_remove(place);
}

/* It takes the rest at once. */
static void victim_fill(const struct victim *victim)
{
	uint64_t fill = 1;
	int fd = open(victim->account, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, &fill, sizeof(fill), offsetof(struct account, fill)),
			 sizeof(fill));
	close(fd);
}

/* However few windows a busy machine allows: the process ends after `windows` of them. */
static void end_after_windows(struct harness *harness, struct child *monitor,
			      const struct victim *victim, pid_t pid, json_int_t windows)
{
	while (number_at(process_of(monitor_report(harness, monitor), pid), "windows") < windows)
		;
	victim_fill(victim);
}

/* A profile has no account of every block: the sites that it knows. */
static void a_profile_shows_the_sites_of_a_victim(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(20 * LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "0");
	char recording[64];
	pid_t pid = victim.child->pid;
	struct child *recorder, *monitor, *reader;
	json_t *report, *process;

	snprintf(recording, sizeof(recording), "%s/p.lkm", harness->directory);
	monitor = MONITOR_ATTACHED(harness, "profile", "-p", victim.child->pid_text, "--overhead",
				   "50%", "--format", "json", "1");
	recorder = MONITOR_ATTACHED(harness, "record", "--profile", "-p", victim.child->pid_text,
				    "--output", recording, "3600");
	workload_send(victim.child, "stroll");
	end_after_windows(harness, monitor, &victim, pid, 5);
	report = report_of_kill(harness, monitor, pid);
	process = process_of(report, pid);
	assert_true(json_is_true(json_object_get(process, "oom_killed")));
	assert_true(number_at(process, "windows") > 0);
	assert_non_null(site_of(process, "leak"));
	assert_int_equal(number_at(kill_of(report, pid), "limit_bytes"), 20 * LIMIT_BYTES);
	assert_int_equal(child_end(harness, recorder), 0);
	reader = MONITOR(harness, "report", "--oom", recording);
	child_wait_text(harness, reader, &reader->err, "1 killed");
	child_wait_text(harness, reader, &reader->out, "(victim), OOM-killed:");
	child_kill(monitor);
	child_kill(victim.child);
	group_remove(place);
}

/* The report that a triage makes of a kill. */
static json_t *kill_in_triage(struct harness *harness, struct child *monitor, pid_t pid)
{
	return kill_of(report_of_kill(harness, monitor, pid), pid);
}

static void expect_history(json_t *kill, const char *noticed)
{
	json_t *last = json_array_get(json_object_get(kill, "last"), 0);

	assert_string_equal(json_string_value(json_object_get(kill, "comm")), "victim");
	assert_string_equal(json_string_value(json_object_get(kill, "cgroup")), "/leakmon_oom");
	assert_string_equal(json_string_value(json_object_get(kill, "noticed")), noticed);
	assert_int_equal(number_at(kill, "limit_bytes"), LIMIT_BYTES);
	assert_non_null(last);
	assert_int_equal(number_at(last, "pid"), number_at(kill, "pid"));
	assert_non_null(json_object_get(last, "growth"));
}

/* Reported at the kill, for any process: it is not tracked. */
static void the_triage_reports_what_it_knew_of_a_victim(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "0");
	struct child *monitor = MONITOR(harness, "--format", "json", "3600");
	pid_t pid = victim.child->pid;
	json_t *kill, *memory;

	child_wait_text(harness, monitor, &monitor->err, "first verdicts");
	workload_send(victim.child, "go");
	kill = kill_in_triage(harness, monitor, pid);
	expect_history(kill, "tracepoint");
	memory = json_object_get(kill, "memory");
	/* The kernel reports it from 6.9 on; pages cached by CPUs are missing. */
	if (!json_is_null(memory))
		assert_in_range(number_at(memory, "anonymous_bytes"), LIMIT_BYTES / 2, LIMIT_BYTES);
	child_kill(monitor);
	child_kill(victim.child);
	group_remove(place);
}

/* The run that profiles it leaves that to the triage. */
static void the_kill_of_a_profiled_suspect_is_reported_once(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(8 * LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "0");
	struct child *monitor =
		MONITOR(harness, "--escalate", "--format", "json", "--budget", "20%", "3600");
	pid_t pid = victim.child->pid;
	const char *said;
	char profiled[64];

	snprintf(profiled, sizeof(profiled), "PID %d is profiled", pid);
	workload_send(victim.child, "stroll");
	child_wait_text(harness, monitor, &monitor->err, profiled);
	victim_fill(&victim);
	report_of_kill(harness, monitor, pid);
	monitor_stop(harness, monitor);
	said = strstr(monitor->err.text, "was OOM-killed");
	assert_non_null(said);
	assert_null(strstr(said + 1, "was OOM-killed"));
	child_kill(victim.child);
	group_remove(place);
}

/* From its end and its group's count. */
static void without_bpf_a_kill_is_found_at_a_poll(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "0");
	struct child *monitor = MONITOR(harness, "--no-stacks", "--format", "json", "1");
	pid_t pid = victim.child->pid;

	child_wait_text(harness, monitor, &monitor->err, "by the counts of control groups");
	monitor_report(harness, monitor);
	workload_send(victim.child, "go");
	expect_history(kill_in_triage(harness, monitor, pid), "counter");
	child_kill(monitor);
	child_kill(victim.child);
	group_remove(place);
}

static json_t *limit_of(json_t *report, const char *cgroup)
{
	json_t *limit;
	size_t i;

	json_array_foreach(json_object_get(report, "limits"), i, limit)
	{
		const char *own = json_string_value(json_object_get(limit, "cgroup"));

		if (own && !strcmp(own, cgroup))
			return limit;
	}
	return NULL;
}

/* From its trend, long before its share of the limit. */
static void the_triage_reports_a_near_limit_and_the_process_that_grows(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(8 * LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "0");
	struct child *monitor = MONITOR(harness, "--format", "json", "--budget", "20%", "1");
	pid_t pid = victim.child->pid;
	json_t *limit = NULL, *process;

	workload_send(victim.child, "stroll");
	while (!limit || json_is_null(json_object_get(limit, "seconds_left")))
		limit = limit_of(monitor_report(harness, monitor), "/leakmon_oom");
	process = json_array_get(json_object_get(limit, "process"), 0);
	assert_int_equal(number_at(process, "pid"), pid);
	assert_string_equal(json_string_value(json_object_get(limit, "kind")), "memory.max");
	assert_int_equal(json_number_value(json_object_get(limit, "limit_bytes")), 8 * LIMIT_BYTES);
	assert_true(json_number_value(json_object_get(limit, "seconds_left_low")) <=
		    json_number_value(json_object_get(limit, "seconds_left")));
	assert_true(json_number_value(json_object_get(limit, "seconds_left_high")) >=
		    json_number_value(json_object_get(limit, "seconds_left")));
	/* The limit at which it was killed is no longer near. */
	victim_fill(&victim);
	assert_null(limit_of(report_of_kill(harness, monitor, pid), "/leakmon_oom"));
	child_kill(monitor);
	child_kill(victim.child);
	group_remove(place);
}

/* Uses one runtime, or both alternately. */
static struct running *victim_in_container(struct harness *harness, int number, long memory_max,
					   struct victim *victim)
{
	static const char *const runtimes[] = {"crun", "runc"};
	const char *runtime = getenv("LEAKMON_OOM_RUNTIME");
	struct running *container = container_start(
		harness, &(struct container_spec){
				 .runtime = runtime ? runtime : runtimes[number % 2],
				 .pod = "web-0",
				 .program = "victim",
				 .path = "/bin/victim",
				 .argument = "/account",
				 .memory_max = memory_max,
			 });

	victim->child = container->child;
	snprintf(victim->account, sizeof(victim->account), "%s/rootfs/account", container->bundle);
	return container;
}

/* The report has the runtime's memory.max, and the container. */
static void expect_container(json_t *report, const struct running *container, long memory_max)
{
	json_t *kill = kill_of(report, container->pid), *in = json_object_get(kill, "container");

	assert_int_equal(number_at(kill, "limit_bytes"), memory_max);
	assert_string_equal(json_string_value(json_object_get(in, "pod")), "web-0");
	assert_string_equal(json_string_value(json_object_get(in, "name")), "app");
}

static void a_container_at_its_limit_is_named(void **state)
{
	struct harness *harness = containers_bpf(state);

	for (int i = 0; i < kills_wanted(2); i++) {
		struct victim victim;
		struct running *container = victim_in_container(harness, i, LIMIT_BYTES, &victim);
		char pid[16];
		struct child *monitor;
		json_t *report;

		snprintf(pid, sizeof(pid), "%d", container->pid);
		monitor =
			MONITOR_ATTACHED(harness, "-p", pid, "-o", "0", "--format", "json", "3600");
		workload_send(container->child, "go");
		report = report_of_kill(harness, monitor, container->pid);
		expect_last_snapshot(report, &victim, container->pid);
		expect_container(report, container, LIMIT_BYTES);
		child_kill(monitor);
		container_end(container);
	}
}

/* A limit that is infinite is null. */
static double limit_at(json_t *object, const char *key)
{
	json_t *number = json_object_get(object, key);

	assert_true(json_is_number(number) || json_is_null(number));
	return json_is_null(number) ? (double)INFINITY : json_number_value(number);
}

/* Returns whether the true figures are within the limits, and the leak comes first. */
static bool profile_agrees(json_t *process, const struct victim *victim)
{
	struct account account = account_read(victim);
	const char *first = first_function(process);
	json_t *site = json_array_get(json_object_get(process, "sites"), 0);
	double took_s = (double)(account.latest_ns - account.first_ns) / 1e9;
	double rate = (double)account.leaked * 5000 / took_s;

	if (!site) {
		json_dumpf(process, stderr, JSON_INDENT(1));
		fail_msg("a profile without a site");
	}
	print_message("%s: %.0f B/s (%.0f to %.0f), %.0f by its own account, in %.1f s and %lld "
		      "windows\n",
		      first ? first : "nothing", limit_at(site, "growth_bytes_per_s"),
		      limit_at(site, "low"), limit_at(site, "high"), rate, took_s,
		      number_at(process, "windows"));
	assert_string_equal(first ? first : "nothing", "leak");
	return limit_at(site, "low") <= rate && rate <= limit_at(site, "high");
}

/* It keeps its slot for that reason, whatever made it a target first. */
static void a_profile_without_a_target_takes_processes_near_their_limit(void **state)
{
	struct harness *harness = harness_bpf(state);
	const struct place *place = group_make(8 * LIMIT_BYTES);
	struct victim victim = victim_start(harness, place, 0, "0");
	struct child *monitor;
	bool near = false;

	workload_send(victim.child, "stroll");
	monitor = MONITOR(harness, "profile", "--overhead", "20%", "--format", "json", "1");
	while (!near) {
		json_t *report = monitor_report(harness, monitor), *process;
		size_t i;

		json_array_foreach(json_object_get(report, "processes"), i, process)
		{
			if (number_at(process, "pid") == victim.child->pid)
				near = json_is_true(json_object_get(
					json_object_get(process, "chosen"), "near_limit"));
		}
	}
	child_kill(monitor);
	child_kill(victim.child);
	group_remove(place);
}

/* 95 % of the intervals hold the truth: among few, one may miss it. */
static void a_profile_of_a_container_agrees_with_its_own_account(void **state)
{
	struct harness *harness = containers_bpf(state);
	int wanted = kills_wanted(2), agreed = 0;

	for (int i = 0; i < wanted; i++) {
		struct victim victim;
		struct running *container =
			victim_in_container(harness, i, 20 * LIMIT_BYTES, &victim);
		char pid[16];
		struct child *monitor;
		json_t *report;

		snprintf(pid, sizeof(pid), "%d", container->pid);
		monitor = MONITOR_ATTACHED(harness, "profile", "-p", pid, "--overhead", "50%",
					   "--format", "json", "1");
		workload_send(container->child, "stroll");
		end_after_windows(harness, monitor, &victim, container->pid, 10);
		report = report_of_kill(harness, monitor, container->pid);
		expect_container(report, container, 20 * LIMIT_BYTES);
		agreed += profile_agrees(process_of(report, container->pid), &victim);
		child_kill(monitor);
		container_end(container);
	}
	print_message("%d of %d agree\n", agreed, wanted);
	assert_true(agreed >= wanted - 1 - wanted / 14);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(the_last_snapshot_of_a_victim_is_its_own_account),
		e2e_test(a_limit_above_is_the_one_that_is_reported),
		e2e_test(a_victim_may_have_many_threads),
		e2e_test(leakmon_lives_in_the_group_of_its_victim),
		e2e_test(a_monitor_that_gets_no_more_memory_writes_its_last_snapshot),
		e2e_test(a_monitor_in_a_full_group_writes_its_last_snapshot),
		e2e_test(every_victim_of_a_burst_is_reported),
		e2e_test(a_kill_is_recorded_and_counted),
		e2e_test(a_profile_shows_the_sites_of_a_victim),
		e2e_test(the_triage_reports_what_it_knew_of_a_victim),
		e2e_test(the_kill_of_a_profiled_suspect_is_reported_once),
		e2e_test(without_bpf_a_kill_is_found_at_a_poll),
		container_test(a_container_at_its_limit_is_named),
		container_test(a_profile_of_a_container_agrees_with_its_own_account),
		e2e_test(a_profile_without_a_target_takes_processes_near_their_limit),
		e2e_test(the_triage_reports_a_near_limit_and_the_process_that_grows),
	};

	/* LEAKMON_OOM_TESTS='*limit*': these only. */
	cmocka_set_test_filter(getenv("LEAKMON_OOM_TESTS"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
