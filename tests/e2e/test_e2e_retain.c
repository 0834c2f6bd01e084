// SPDX-License-Identifier: GPL-2.0-or-later
/* `leakmon retain --census` on programs that know their own heap; no BPF is needed. */
#include "retain_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

static void a_heap_that_was_never_watched_is_known_to_the_byte(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report;

	target = holder_start(harness, "1000", "300", &truth);
	/* Allows for other load on the machine. */
	report = RETAIN(harness, target, "--max-pause", "20000");
	expect_holder(report, truth);
	assert_true(json_is_true(json_object_get(json_object_get(report, "picture"), "stopped")));
	workload_do(harness, target, "go");
}

/* In a thread's heap, free chunks have no owner mark (glibc's set_head() of remainders). */
static void the_heaps_of_threads_are_known_to_the_byte_too(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "arenas");
	json_t *truth, *report, *root;

	workload_do(harness, target, "go");
	truth = workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--max-pause", "20000");
	root = json_array_get(json_object_get(report, "roots"), 0);
	assert_int_equal(number_at(json_object_get(report, "heap"), "broken"), 0);
	assert_int_equal(number_at(json_object_get(report, "heap"), "arenas"), 5);
	assert_int_equal(total_at(report, "unreachable", "blocks"),
			 number_at(truth, "lost_blocks"));
	assert_int_equal(total_at(report, "unreachable", "bytes"), number_at(truth, "lost_bytes"));
	assert_string_equal(text_at(root, "name"), "kept");
	assert_int_equal(number_at(root, "retained_blocks"), number_at(truth, "kept_blocks"));
	assert_int_equal(number_at(root, "retained_bytes"), number_at(truth, "kept_bytes"));
}

/* The kernel joins a block's mapping with that of a stack below it (with glibc's, before
 * Linux 6.7). */
static void a_block_right_behind_the_stack_of_a_thread_is_known(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "tagged");
	json_t *truth, *report;

	workload_do(harness, target, "go");
	truth = workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--max-pause", "20000");
	/* A register may have been left with its address. */
	assert_int_equal(total_at(report, "lost", "blocks"), number_at(truth, "lost_blocks"));
	assert_int_equal(total_at(report, "lost", "bytes"), number_at(truth, "lost_bytes"));
	/* From two globals, a thread-local, a value of a key, and struct pthread. */
	assert_int_equal(total_at(report, "held", "blocks"), 6);
}

static void two_scans_without_a_stop_agree(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report;

	target = holder_start(harness, "1000", "300", &truth);
	report = RETAIN(harness, target, "--no-stop");
	expect_holder(report, truth);
	assert_false(json_is_true(json_object_get(json_object_get(report, "picture"), "stopped")));
}

static char state_of(pid_t pid)
{
	char path[64], text[512] = "", *state;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	state = strrchr(text, ')');
	return state ? state[2] : '?';
}

static void a_process_that_job_control_stopped_stays_stopped(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth;
	int status;

	target = holder_start(harness, "100", "30", &truth);
	assert_int_equal(kill(target->pid, SIGSTOP), 0);
	assert_int_equal(waitpid(target->pid, &status, WUNTRACED), target->pid);
	expect_holder(RETAIN(harness, target), truth);
	assert_int_equal(state_of(target->pid), 'T');
	assert_int_equal(kill(target->pid, SIGCONT), 0);
	workload_do(harness, target, "go");
}

static json_int_t wrong_requests(struct harness *harness, struct child *target)
{
	return number_at(workload_ask(harness, target, "check"), "wrong");
}

static void a_busy_process_loses_nothing_and_nothing_of_it_seems_lost(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "busy", "4", "1000");
	json_int_t served = 0;

	workload_do(harness, target, "go");
	for (int i = 0; i < 30; i++) {
		json_t *report = RETAIN(harness, target), *check;

		assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
		assert_int_equal(number_at(json_object_get(report, "heap"), "broken"), 0);
		check = workload_ask(harness, target, "check");
		assert_int_equal(number_at(check, "wrong"), 0);
		assert_true(number_at(check, "served") > served);
		served = number_at(check, "served");
	}
}

/* At every stage: killed while it reads, while it holds the target, while it computes. */
static void a_killed_monitor_leaves_the_process_running(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "busy", "4", "300000");
	json_int_t served = 0;

	workload_do(harness, target, "go");
	for (int i = 0; i < 30; i++) {
		struct child *monitor = MONITOR(harness, "retain", "-p", target->pid_text,
						"--census", "--format", "json");
		json_t *check;

		wait_ms(2 + i * 4);
		child_signal(monitor, SIGKILL);
		child_end(harness, monitor);
		/* A busy machine may not run it at once; a stopped process never runs. */
		for (int tries = 0; tries < 1000; tries++) {
			wait_ms(20);
			check = workload_ask(harness, target, "check");
			if (number_at(check, "served") > served)
				break;
		}
		assert_true(number_at(check, "served") > served);
		served = number_at(check, "served");
		assert_int_not_equal(state_of(target->pid), 't');
	}
	assert_int_equal(wrong_requests(harness, target), 0);
}

static void signals_that_arrive_meanwhile_are_delivered(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "busy", "0", "300000");
	json_int_t before;

	/* A timer would not do: signals of one kind are not counted while one is pending. */
	workload_do(harness, target, "go");
	before = number_at(workload_ask(harness, target, "check"), "signals");
	for (int i = 0; i < 10; i++)
		RETAIN(harness, target);
	/* One each millisecond: had one stop eaten the timer's signal, the rest would still come;
	 * had one been left pending, they would not. */
	wait_ms(200);
	assert_true(number_at(workload_ask(harness, target, "check"), "signals") > before + 150);
}

static json_int_t count_of(json_t *class, const char *verdict)
{
	return number_at(json_object_get(class, verdict), "blocks");
}

static bool is_of_shape(json_t *class, json_t *shape)
{
	const char *type = text_at(shape, "type"), *name = text_at(class, "name");

	if (*type)
		return !strcmp(name, type);
	return !strcmp(text_at(class, "kind"), "size") &&
	       number_at(class, "size") == number_at(shape, "size");
}

static void expect_shape(json_t *report, json_t *shape)
{
	json_int_t held = 0, lost = 0, untracked = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!is_of_shape(class, shape))
			continue;
		held += count_of(class, "held");
		lost += count_of(class, "unreachable");
		untracked += count_of(class, "untracked");
	}
	print_message("  %-62s %3lld held %3lld unreachable %2lld untracked\n",
		      text_at(shape, "shape"), held, lost, untracked);
	if (held != number_at(shape, "held") || lost != number_at(shape, "lost") ||
	    untracked != number_at(shape, "untracked"))
		fail_msg("%s: held %lld, lost %lld, untracked %lld", text_at(shape, "shape"), held,
			 lost, untracked);
}

static void every_known_graph_gets_the_verdict_it_must_get(void **state)
{
	struct harness *harness = harness_any(state);
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	json_int_t lost = 0, direct = 0;
	char plugin[256];
	struct child *target;
	json_t *report, *shape;
	size_t i;

	snprintf(plugin, sizeof(plugin), "%s/plugin.so", workloads ? workloads : "build/workloads");
	target = WORKLOAD(harness, "shapes", plugin);
	workload_do(harness, target, "go");
	report = RETAIN(harness, target);
	json_array_foreach(json_object_get(workload_ask(harness, target, "truth"), "shapes"), i,
			   shape)
	{
		expect_shape(report, shape);
		lost += number_at(shape, "lost");
		direct += number_at(shape, "direct");
	}
	assert_int_equal(i, 45);
	/* Nothing else is lost. */
	assert_int_equal(total_at(report, "unreachable", "blocks"), lost);
	assert_int_equal(total_at(report, "direct", "blocks"), direct);
}

/* Registers are unknown then, except for arguments of the call that a thread waits in. */
static void without_a_stop_what_a_waiting_call_was_given_is_held_too(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "shapes");
	json_t *report, *shape;
	size_t i, seen = 0;

	workload_do(harness, target, "go");
	report = RETAIN(harness, target, "--no-stop");
	json_array_foreach(json_object_get(workload_ask(harness, target, "truth"), "shapes"), i,
			   shape)
	{
		if (strcmp(text_at(shape, "shape"), "held by an argument of a system call only"))
			continue;
		expect_shape(report, shape);
		seen++;
	}
	assert_int_equal(seen, 1);
}

static void the_path_of_a_class_names_its_variable_and_fields(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth, *report, *path, *steps;

	target = holder_start(harness, "400", "30", &truth);
	report = RETAIN(harness, target);
	/* The greatest class are the values: cache -> table -> entry -> value. */
	path = json_array_get(json_object_get(report, "paths"), 0);
	steps = json_object_get(path, "steps");
	assert_string_equal(text_at(json_object_get(path, "root"), "name"), "cache");
	assert_int_equal(number_at(path, "sharing"), 300);
	assert_int_equal(number_at(path, "sampled"), 300);
	assert_int_equal(json_array_size(steps), 4);
	assert_int_equal(number_at(json_array_get(steps, 1), "offset"), 16);
	assert_int_equal(number_at(json_array_get(steps, 2), "width"), 400);
	assert_int_equal(number_at(json_array_get(steps, 3), "offset"), 40);
}

static void a_second_run_shows_what_changed(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target, *monitor;
	json_t *truth, *report = NULL, *class, *change;
	size_t i;

	target = holder_start(harness, "50", "30", &truth);
	monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--census", "--format", "json",
			  "1", "2");
	monitor_report(harness, monitor);
	workload_do(harness, target, "go");
	report = report_of(harness, monitor);
	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		change = json_object_get(class, "change");
		/* The nodes of the list and of the ring. */
		if (number_at(class, "size") == 72)
			assert_int_equal(number_at(change, "count"), 40);
	}
}

static void a_list_that_is_never_cut_is_called_out(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "holder"), *monitor;
	json_t *report, *class;
	size_t i, found = 0;

	workload_do(harness, target, "chain");
	monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--census", "--format", "json",
			  "1", "2");
	monitor_report(harness, monitor);
	workload_do(harness, target, "chain");
	report = report_of(harness, monitor);
	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (number_at(class, "size") != 200)
			continue;
		found++;
		assert_int_equal(number_at(class, "distance"), 200);
		assert_int_equal(number_at(json_object_get(class, "change"), "farther"), 100);
		assert_int_equal(number_at(json_object_get(class, "change"), "count"), 100);
	}
	assert_int_equal(found, 1);
}

static const char *allocator_of(json_t *leak)
{
	json_t *frames = json_object_get(json_object_get(leak, "site"), "frames");

	return text_at(json_array_get(frames, 0), "function");
}

/* A block watched since its allocation has its requested size, and its call stack. */
static void tracked_blocks_carry_their_stacks_and_exact_sizes(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = WORKLOAD(harness, "holder", "1000", "300"), *monitor;
	json_t *report, *leaks;

	monitor = MONITOR_ATTACHED(harness, "retain", "-p", target->pid_text, "--format", "json",
				   "2", "1");
	workload_do(harness, target, "go");
	report = report_of(harness, monitor);
	leaks = json_object_get(report, "leaks");
	assert_int_equal(number_at(json_object_get(report, "heap"), "tracked"), 2002 + 310);
	assert_int_equal(total_at(report, "unreachable", "bytes"), 310 * 64);
	assert_int_equal(json_array_size(leaks), 2);
	assert_string_equal(allocator_of(json_array_get(leaks, 0)), "lose_list");
	assert_string_equal(allocator_of(json_array_get(leaks, 1)), "lose_ring");
	assert_int_equal(number_at(json_object_get(json_array_get(leaks, 0), "indirect"), "blocks"),
			 299);
	assert_int_equal(number_at(json_object_get(json_array_get(leaks, 1), "indirect"), "blocks"),
			 9);
}

/* ioctl(PAGEMAP_SCAN) of a pagemap, with a struct pm_scan_arg of 12 words: of none it is
 * invalid. */
static bool kernel_scans_pages(void)
{
	uint64_t nothing[12] = {0};
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool known;

	assert_true(fd >= 0);
	known = !ioctl(fd, _IOWR('f', 16, nothing), nothing) || errno != ENOTTY;
	close(fd);
	return known;
}

/*
 * They reserve terabytes for their allocator and their shadow memory: Linux reports the part in use
 * from 6.7 on.
 */
static void programs_of_sanitizers_are_read_or_a_message_says_why_not(void **state)
{
	static const char *const names[] = {"holder_lsan", "holder_asan"};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct child *target = WORKLOAD(harness, names[i], "1000", "300"), *monitor;
		json_t *report, *root;

		monitor = MONITOR_ATTACHED(harness, "retain", "-p", target->pid_text, "--max-pause",
					   "20000", "--format", "json", "2", "1");
		workload_do(harness, target, "go");
		if (!kernel_scans_pages()) {
			monitor_expect_error(harness, monitor, 1, "Linux 6.7");
			continue;
		}
		report = report_of(harness, monitor);
		root = json_array_get(json_object_get(report, "roots"), 0);
		assert_int_equal(number_at(json_object_get(report, "heap"), "tracked"), 2002 + 310);
		/* Some are reachable from stale words: their read() leaves words of former calls in
		 * its frame. */
		assert_int_equal(total_at(report, "lost", "blocks"), 310);
		assert_int_equal(total_at(report, "lost", "bytes"), 310 * 64);
		assert_string_equal(text_at(root, "name"), "cache");
		assert_int_equal(number_at(root, "retained_blocks"), 2002);
	}
}

static json_int_t blocks_of_type(json_t *report, const char *type)
{
	json_int_t blocks = 0;
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "kind"), "site") &&
		    !strcmp(text_at(class, "name"), type))
			blocks += number_at(class, "count");
	}
	return blocks;
}

static void blocks_without_a_vtable_have_the_type_of_their_template(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *target = WORKLOAD(harness, "templates"), *monitor;
	json_t *report, *type;
	size_t i;

	monitor = MONITOR_ATTACHED(harness, "retain", "-p", target->pid_text, "--format", "json",
				   "2", "1");
	workload_do(harness, target, "go");
	report = report_of(harness, monitor);
	json_array_foreach(json_object_get(workload_ask(harness, target, "truth"), "types"), i,
			   type)
	{
		json_int_t blocks = blocks_of_type(report, text_at(type, "type"));

		if (blocks != number_at(type, "blocks"))
			fail_msg("%s: %lld blocks", text_at(type, "type"), blocks);
	}
	assert_int_equal(i, 8);
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
}

/* A thread that waits in a call has supposedly left its functions; an interrupted one has not. */
static void a_word_below_the_stack_pointer_holds_only_where_a_leaf_may_use_it(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "stale");
	json_t *report = RETAIN(harness, target), *root;
	json_int_t stale = 0, leaves = 0;
	size_t i;

	json_array_foreach(json_object_get(report, "roots"), i, root)
	{
		if (!strcmp(text_at(root, "kind"), "stale word"))
			stale += number_at(root, "led_bytes");
		if (!strcmp(text_at(root, "kind"), "stack") &&
		    !strcmp(text_at(root, "name"), "runs"))
			leaves += number_at(root, "led_bytes");
	}
	assert_int_equal(total_at(report, "stale", "blocks"), 3);
	assert_int_equal(total_at(report, "lost", "blocks"),
			 total_at(report, "unreachable", "blocks") + 3);
	assert_int_equal(total_at(report, "stale", "bytes"), stale);
	assert_int_equal(total_at(report, "untracked", "blocks"), 3);
	assert_int_equal(total_at(report, "passing", "blocks"), 2);
	assert_int_equal(total_at(report, "passing", "bytes"), 2 * 2008);
	assert_int_equal(stale, 3 * 1000);
	assert_int_equal(leaves, 2 * 2008);
}

/* According to debug information: the variable is still in the frame, but never read again. */
static void a_dead_variable_of_a_function_that_runs_is_a_stale_word(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "dead_slot");
	json_t *report = RETAIN(harness, target), *root;
	json_int_t stale = 0, live = 0;
	size_t i;

	json_array_foreach(json_object_get(report, "roots"), i, root)
	{
		if (strcmp(text_at(root, "name"), "serve") != 0)
			continue;
		if (!strcmp(text_at(root, "kind"), "stale word"))
			stale += number_at(root, "led_bytes");
		if (!strcmp(text_at(root, "kind"), "stack"))
			live += number_at(root, "led_bytes");
	}
	assert_int_equal(stale, 3 * 1000 + 3016);
	assert_int_equal(live, 2008);
	assert_int_equal(total_at(report, "stale", "blocks"), 4);
	assert_int_equal(total_at(report, "stale", "bytes"), stale);
	assert_int_equal(total_at(report, "untracked", "blocks"), 4);
	assert_int_equal(total_at(report, "passing", "blocks"), 1);
	assert_int_equal(total_at(report, "unreachable", "blocks"), 0);
}

/* For the workload `ended`, by block size: blocks held only by stacks and registers. */
static json_int_t expect_ended(struct harness *harness, struct child *target, json_int_t held,
			       json_int_t lost)
{
	json_t *report = RETAIN(harness, target, "--max-pause", "20000"), *class;
	size_t i, seen = 0;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (number_at(class, "size") != 1000)
			continue;
		seen++;
		assert_int_equal(count_of(class, "held"), held);
		assert_int_equal(count_of(class, "unreachable"), lost);
		assert_int_equal(number_at(class, "count"), held + lost);
	}
	assert_int_equal(seen, 1);
	/* No other block is lost, not even memory that glibc keeps for the next thread. */
	assert_int_equal(total_at(report, "unreachable", "blocks"), lost);
	assert_int_equal(total_at(report, "untracked", "blocks"), 0);
	return total_at(report, "passing", "blocks");
}

/* glibc keeps their stacks, with their contents, for later threads. */
static void what_threads_held_that_have_been_joined_is_lost(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "ended");

	workload_do(harness, target, "go");
	/* glibc keeps the argument; the thread-local is a variable like any other. */
	assert_int_equal(expect_ended(harness, target, 10, 0), 10 - 2);
	workload_do(harness, target, "join");
	assert_int_equal(expect_ended(harness, target, 0, 10), 0);
}

/* Its result can still be fetched; its argument is not distinguished from it. */
static void of_a_thread_that_was_not_joined_only_the_result_is_held(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "ended");

	workload_do(harness, target, "go");
	workload_do(harness, target, "leave");
	expect_ended(harness, target, 2, 8);
}

static json_t *class_of_size(json_t *report, json_int_t size)
{
	json_t *class;
	size_t i;

	json_array_foreach(json_object_get(report, "classes"), i, class)
	{
		if (!strcmp(text_at(class, "kind"), "size") && number_at(class, "size") == size)
			return class;
	}
	fail_msg("no blocks of %lld bytes", size);
	return NULL;
}

static void a_block_that_mprotect_has_split_is_one_block(void **state)
{
	struct harness *harness = harness_any(state);
	struct child *target = WORKLOAD(harness, "split");
	json_t *report, *truth, *class;

	workload_do(harness, target, "go");
	truth = workload_ask(harness, target, "truth");
	report = RETAIN(harness, target, "--max-pause", "20000");
	class = class_of_size(report, number_at(truth, "block_bytes"));
	assert_int_equal(count_of(class, "held"), 3);
	assert_int_equal(count_of(class, "unreachable"), 2);
	/* Also those with pointers in read-only memory. */
	class = class_of_size(report, 1000);
	assert_int_equal(count_of(class, "held"), number_at(truth, "kept_small"));
	assert_int_equal(count_of(class, "unreachable"), number_at(truth, "lost_small"));
	assert_int_equal(count_of(class, "untracked"), 0);
	assert_int_equal(total_at(report, "direct", "blocks"), 2);
	assert_string_equal(first_root(report), "kept");
}

/* The verdict is the same with blocks tracked from the first one on, or not at all. */
static void memory_that_nothing_leads_to_holds_weakly_in_both_ways(void **state)
{
	struct harness *harness = harness_bpf(state);
	const char *workloads = getenv("LEAKMON_WORKLOADS");
	struct child *target = WORKLOAD(harness, "split"), *monitor;
	char program[256], done[64];
	json_t *report;

	workload_do(harness, target, "go");
	report = RETAIN(harness, target, "--max-pause", "20000");
	assert_int_equal(count_of(class_of_size(report, 2008), "untracked"), 1);
	assert_int_equal(total_at(report, "untracked", "blocks"), 1);
	snprintf(program, sizeof(program), "%s/split", workloads ? workloads : "build/workloads");
	snprintf(done, sizeof(done), "%s/done", harness->directory);
	monitor = MONITOR(harness, "retain", "--max-pause", "20000", "--format", "json", "3600",
			  "1", "--", program, done);
	while (access(done, F_OK))
		wait_ms(5);
	child_signal(monitor, SIGUSR1);
	report = report_of(harness, monitor);
	assert_int_equal(number_at(json_object_get(report, "heap"), "tracked"), 5 + 13 + 1);
	assert_int_equal(total_at(report, "untracked", "blocks"), 1);
	assert_int_equal(total_at(report, "untracked", "bytes"), 2008);
	assert_int_equal(total_at(report, "unreachable", "blocks"), 2 + 5);
}

static void a_class_is_found_by_the_name_that_reports_give_it(void **state)
{
	static const struct {
		const char *wanted;
		json_int_t size;
	} cases[] = {
		{"blocks of 104 bytes", 104}, {"blocks of 104", 104},
		{"of 8008 bytes", 8008},      {"8008", 8008},
		{"blocks of 800", 0},	      {"008 bytes", 0},
	};
	struct harness *harness = harness_any(state);
	struct child *target;
	json_t *truth;

	target = holder_start(harness, "1000", "300", &truth);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *report = RETAIN(harness, target, "--class", cases[i].wanted), *paths,
		       *steps;

		paths = json_object_get(report, "paths");
		print_message("  %s: %zu paths\n", cases[i].wanted, json_array_size(paths));
		assert_int_equal(json_array_size(paths), cases[i].size ? 1 : 0);
		if (!cases[i].size)
			continue;
		steps = json_object_get(json_array_get(paths, 0), "steps");
		assert_int_equal(
			number_at(json_array_get(steps, json_array_size(steps) - 1), "size"),
			cases[i].size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_heap_that_was_never_watched_is_known_to_the_byte),
		e2e_test(the_heaps_of_threads_are_known_to_the_byte_too),
		e2e_test(a_block_right_behind_the_stack_of_a_thread_is_known),
		e2e_test(two_scans_without_a_stop_agree),
		e2e_test(a_process_that_job_control_stopped_stays_stopped),
		e2e_test(a_busy_process_loses_nothing_and_nothing_of_it_seems_lost),
		e2e_test(a_killed_monitor_leaves_the_process_running),
		e2e_test(signals_that_arrive_meanwhile_are_delivered),
		e2e_test(every_known_graph_gets_the_verdict_it_must_get),
		e2e_test(without_a_stop_what_a_waiting_call_was_given_is_held_too),
		e2e_test(the_path_of_a_class_names_its_variable_and_fields),
		e2e_test(a_second_run_shows_what_changed),
		e2e_test(a_list_that_is_never_cut_is_called_out),
		e2e_test(a_word_below_the_stack_pointer_holds_only_where_a_leaf_may_use_it),
		e2e_test(a_dead_variable_of_a_function_that_runs_is_a_stale_word),
		e2e_test(what_threads_held_that_have_been_joined_is_lost),
		e2e_test(of_a_thread_that_was_not_joined_only_the_result_is_held),
		e2e_test(a_block_that_mprotect_has_split_is_one_block),
		e2e_test(memory_that_nothing_leads_to_holds_weakly_in_both_ways),
		e2e_test(a_class_is_found_by_the_name_that_reports_give_it),
		e2e_test(tracked_blocks_carry_their_stacks_and_exact_sizes),
		e2e_test(programs_of_sanitizers_are_read_or_a_message_says_why_not),
		e2e_test(blocks_without_a_vtable_have_the_type_of_their_template),
	};

	return cmocka_run_group_tests_name("e2e_retain", tests, NULL, NULL);
}
