// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon threads: dead threads, at intervals, until interrupted. */
#include <errno.h>
#include <string.h>

#include "app/command/command.h"
#include "app/runs/threads_run.h"
#include "base/cleanup.h"
#include "base/cli/values.h"
#include "base/log.h"

static int run(const void *options)
{
	return threads_run(options);
}

/* Rejects options without effect unless --heap is given. */
static int check_heap(const struct threads_options *threads, const struct given *given)
{
	static const char *const of_heap[] = {"max-blocks", "probe-at"};

	for (size_t i = 0; i < ARRAY_SIZE(of_heap) && !threads->heap; i++) {
		if (!option_is_given(given, of_heap[i]))
			continue;
		log_error("--%s applies to the heap: add --heap, or leave it out", of_heap[i]);
		return -EINVAL;
	}
	return 0;
}

/* Without a target, all processes are tracked, with fewer options. */
static int check(void *options, const struct given *given)
{
	struct threads_options *threads = options;
	struct session_options *session = &threads->session;

	if (check_heap(threads, given))
		return -EINVAL;
	session->tracking.no_heap = !threads->heap;
	session->probes.no_usdt = true; /* samples would miss blocks */
	session->targets.chosen.all = targets_none(&session->targets);
	if (session->targets.chosen.all && (threads->heap || session->targets.follow_forks)) {
		log_error("no target, and --%s needs one: name it, as in `leakmon threads -p PID`",
			  threads->heap ? "heap" : "follow-forks");
		return -EINVAL;
	}
	return session_options_check(session, given);
}

#define FIELD(name) .offset = offsetof(struct threads_options, name)

static const struct option_row heap_rows[] = {
	{"heap", 0, NULL, "also track the heap: unfreed blocks of dead threads", value_set_flag,
	 FIELD(heap)},
};

static const struct option_row threads_rows[] = {
	{"show-threads", 0, NULL, "list every dead thread", value_set_flag, FIELD(show_threads)},
	{"holders", 0, NULL, "find what holds dead threads; briefly stops the process",
	 value_set_flag, FIELD(holders)},
};

#undef FIELD

static const struct option_group heap_group = {TITLE_TRACKED, heap_rows, ARRAY_SIZE(heap_rows)};

static const struct option_group threads_group = {"Output", threads_rows, ARRAY_SIZE(threads_rows)};

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_THREADS)};

static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct threads_options defaults = {.session = SESSION_DEFAULTS};

#define PART(member) offsetof(struct threads_options, session.member)

const struct command command_threads = {
	.name = "threads",
	.summary = "list dead threads, live ones by creator, goroutines",
	.usage = "  leakmon threads [TARGET] [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon threads [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
	.about = "Lists the threads that have ended and were never joined, which keep their\n"
		 "stacks mapped: their creator, what they ran, how much they hold; of a target\n"
		 "also live ones by creator, with their growth and where they wait. Without\n"
		 "a target, those of all processes. Of a Go program also its goroutines, by\n"
		 "where they wait and what created them, and which groups only grow.\n",
	.examples = "  leakmon threads                       of all processes of this machine\n"
		    "  leakmon threads -p 1234               report every 5 s until Ctrl-C\n"
		    "  leakmon threads -p 1234 60 1 --show-threads\n"
		    "                                        one report, each dead thread\n"
		    "  leakmon threads -p 1234 60 1 --holders\n"
		    "                                        and where their pthread_t is kept\n"
		    "  leakmon threads -n java --heap        and the blocks that they left\n"
		    "  leakmon threads -- ./server           from its first thread on\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&target_group, PART(targets.chosen)},
		 {&launch_group, PART(targets)},
		 {&fork_group, PART(targets)},
		 {&heap_group, 0},
		 {&room_group, PART(tracking)},
		 {&pause_group, offsetof(struct threads_options, pause)},
		 {&probe_group, PART(probes)},
		 {&stack_walk_group, PART(probes)},
		 {&threads_group, 0},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&debuginfod_group, PART(tracking)},
		 {&bytes_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = SCHEDULE_WORDS(struct threads_options, session.schedule),
	.check = check,
	.free = session_options_free,
	.run = run,
};
