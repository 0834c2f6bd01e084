// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The figures of the runtime. gcController (mgcpacer.go) is recognised by its heapMinimum, which is
 * 4 MiB times GOGC in percent; memstats (mstats.go) by the time of the last collection, which it
 * has by two clocks. Their common counts must be equal.
 */
#include "heap/runtime/go/reader.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "binary/arch/machine.h"
#include "heap/runtime/go/go.h"
#include "heap/runtime/runtime.h"
#include "report/figures.h"
#include "report/memory_report.h"

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000

/* gcControllerState */
#define PERCENT_MAX 1000000
#define HEAP_MINIMUM (4ull << 20) /* at GOGC=100 */
#define CONTROLLER_LIMIT 8
#define CONTROLLER_MINIMUM 16
#define CONTROLLER_BYTES 320
/* Behind heapInUse. */
#define RELEASED_AFTER 8
#define FREE_AFTER 16

/* mstats: last_gc_unix, and distances from it to the time by the other clock and the number of
 * collections. */
#define SINCE_START_AFTER 4128
#define COLLECTIONS_AFTER 4112
#define OWN_BEFORE 40 /* five counts: spans, caches, the profile, the collector, others */
#define OWN_COUNTS 5
/* Most difference of the clocks; it is larger if one was set meanwhile. */
#define CLOCKS_DIFFER_NS (3600 * NS_PER_S)

#define YEAR_2001_NS (1000000000 * NS_PER_S)

/* heapStatsDelta, three of them at the start of mstats. */
#define DELTAS 3
#define DELTA_HEAP 16
#define DELTA_STACKS 24
#define DELTA_WORK 32
#define DELTA_BITS 40

#define TRIES 8 /* while it updates its counts */

/* Returns the sum of the three deltas. */
static uint64_t delta_sum(const struct go_program *program, uint64_t stats, size_t offset)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < DELTAS; i++)
		sum += target_word(program->memory,
				   stats + i * program->layout->delta_size + offset);
	return sum;
}

static bool is_heap(uint64_t bytes)
{
	return bytes && bytes % GO_PAGE == 0 && bytes >> MACHINE_USER_BITS == 0;
}

/* Returns whether two clocks show the same moment; for a core file, whether they may. */
static bool is_moment(const struct go_program *program, uint64_t wall, uint64_t since)
{
	uint64_t between = clock_ns(CLOCK_REALTIME) - monotonic_ns();

	if (!since || wall < since)
		return false;
	if (program->memory->maps->source.core)
		return wall > YEAR_2001_NS && wall >> 62 == 0 && since < YEAR_2001_NS;
	return wall - since - between + CLOCKS_DIFFER_NS <= 2 * CLOCKS_DIFFER_NS;
}

/* Returns the address of memstats.last_gc_unix; 0: not found, or no collection yet. */
static uint64_t find_last_collection(const struct go_program *program)
{
	uint64_t found = 0;

	for (size_t i = OWN_BEFORE / 8; i < go_data_words(program); i++) {
		uint64_t wall = go_data_word(program, i);
		uint64_t since = go_data_word(program, i + SINCE_START_AFTER / 8);
		uint32_t count = (uint32_t)go_data_word(program, i + COLLECTIONS_AFTER / 8);
		uint64_t at = program->data.start + i * 8;

		if (!count || !is_moment(program, wall, since) ||
		    !is_heap(delta_sum(program, at - program->layout->last_gc, DELTA_HEAP)))
			continue;
		if (found)
			return 0;
		found = at;
	}
	return found;
}

void go_last_collection(const struct go_program *program, uint64_t *count, uint64_t *ago_ns)
{
	uint64_t at = find_last_collection(program), now = monotonic_ns(), then;

	if (!at)
		return;
	then = target_word(program->memory, at + SINCE_START_AFTER);
	*count = (uint32_t)target_word(program->memory, at + COLLECTIONS_AFTER);
	if (!program->memory->maps->source.core && now > then)
		*ago_ns = now - then;
}

/* Returns a word of the copied struct. */
static uint64_t controller_word(const struct go_program *program, size_t place, size_t offset)
{
	return go_data_word(program, place + offset / 8);
}

static bool is_controller(const struct go_program *program, size_t place)
{
	const struct go_layout *layout = program->layout;
	int32_t percent = (int32_t)controller_word(program, place, 0);
	uint64_t in_use = controller_word(program, place, layout->heap_in_use);
	uint64_t released = controller_word(program, place, layout->heap_in_use + RELEASED_AFTER);
	uint64_t free = controller_word(program, place, layout->heap_in_use + FREE_AFTER);

	return percent >= -1 && percent <= PERCENT_MAX && percent &&
	       controller_word(program, place, CONTROLLER_MINIMUM) ==
		       HEAP_MINIMUM * (uint64_t)(int64_t)percent / 100 &&
	       (int64_t)controller_word(program, place, CONTROLLER_LIMIT) > 0 && in_use &&
	       in_use % GO_PAGE == 0 && released % GO_PAGE == 0 && free % GO_PAGE == 0 &&
	       controller_word(program, place, layout->heap_marked) >> MACHINE_USER_BITS == 0;
}

/* Returns the address of gcController; 0: not found, or ambiguous. */
static uint64_t find_controller(const struct go_program *program)
{
	uint64_t found = 0;

	for (size_t i = 0; i + CONTROLLER_BYTES / 8 < go_data_words(program); i++) {
		if (!is_controller(program, i))
			continue;
		if (found)
			return 0;
		found = program->data.start + i * 8;
	}
	return found;
}

uint64_t go_heap_in_use(const struct go_program *program)
{
	uint64_t controller = find_controller(program);

	return controller ? target_word(program->memory, controller + program->layout->heap_in_use)
			  : 0;
}

/* mgcpacer.go, memoryLimitHeapGoal, minus its margin for uncounted memory: memory outside the heap
 * counts towards the limit, too. */
static void limit_goal(const struct go_program *program, uint64_t controller,
		       struct go_memory *memory)
{
	uint64_t at = controller + program->layout->heap_in_use;
	uint64_t allocated =
		target_word(program->memory, at + 24) - target_word(program->memory, at + 32);
	uint64_t ready = target_word(program->memory, at + 40), others, limit;

	if (memory->limit == GO_NO_LIMIT || ready < memory->free + allocated)
		return;
	others = ready - memory->free - allocated;
	limit = (uint64_t)memory->limit > others ? (uint64_t)memory->limit - others : 0;
	memory->goal = memory->percent < 0 ? limit : MIN(memory->goal, limit);
}

static void read_controller(const struct go_program *program, uint64_t at, struct go_memory *memory)
{
	const struct go_layout *layout = program->layout;
	uint64_t live = target_word(program->memory, at + layout->heap_live);

	memory->percent = (int32_t)target_word(program->memory, at);
	memory->limit = (int64_t)target_word(program->memory, at + CONTROLLER_LIMIT);
	memory->live = target_word(program->memory, at + layout->heap_marked);
	memory->allocated = live > memory->live ? live - memory->live : 0;
	memory->in_use = target_word(program->memory, at + layout->heap_in_use);
	memory->released = target_word(program->memory, at + layout->heap_in_use + RELEASED_AFTER);
	memory->free = target_word(program->memory, at + layout->heap_in_use + FREE_AFTER);
	memory->goal =
		memory->percent < 0 ? 0 : target_word(program->memory, at + layout->heap_goal);
	limit_goal(program, at, memory);
}

/* Returns whether both structs count the same heap; then reads their other counts. */
static bool read_stats(const struct go_program *program, uint64_t last_collection,
		       struct go_memory *memory)
{
	uint64_t stats = last_collection - program->layout->last_gc;

	if (delta_sum(program, stats, DELTA_HEAP) != memory->in_use)
		return false;
	memory->stacks = delta_sum(program, stats, DELTA_STACKS);
	memory->own = delta_sum(program, stats, DELTA_WORK) + delta_sum(program, stats, DELTA_BITS);
	for (size_t i = 0; i < OWN_COUNTS; i++)
		memory->own += target_word(program->memory, last_collection - OWN_BEFORE + i * 8);
	memory->has_stats = true;
	return true;
}

static bool is_within_goal(const struct go_memory *memory)
{
	return !memory->why && memory->goal && memory->live + memory->allocated <= memory->goal &&
	       memory->live * 2 < memory->in_use + memory->free;
}

static void read_figures(const struct go_program *program, struct go_memory *memory)
{
	uint64_t controller = find_controller(program);
	uint64_t last = find_last_collection(program);

	if (!controller) {
		memory->why = "its collector's figures are not found";
		return;
	}
	memory->heap_at = go_first_goroutine(program);
	for (unsigned i = 0; i < TRIES && !memory->has_stats; i++) {
		target_memory_forget(program->memory);
		read_controller(program, controller, memory);
		if (!last || read_stats(program, last, memory))
			break;
	}
	/* They were readable a moment ago. */
	if (!memory->in_use || memory->limit <= 0)
		memory->why = "its figures can no longer be read";
	else if (last && !memory->has_stats)
		memory->why = "its figures contradict each other";
	go_last_collection(program, &memory->collections, &memory->collected_ns);
	memory->within_goal = is_within_goal(memory);
}

int go_memory_read(const struct maps *maps, struct go_memory *figures)
{
	struct target_memory memory;
	struct go_program program;
	int error = target_memory_open(maps, NULL, NULL, &memory);

	*figures = (struct go_memory){0};
	if (error)
		return error;
	error = go_program_open(&memory, &program, &figures->why);
	memcpy(figures->version, program.version, sizeof(figures->version));
	if (!error)
		read_figures(&program, figures);
	else if (error == -ENOENT || error == -ENOTSUP)
		error = 0;
	go_program_close(&program);
	target_memory_close(&memory);
	return error;
}

extern const struct runtime runtime_go;

/* -------- as reports have them */

static bool go_is_known(const void *go)
{
	return !((const struct go_memory *)go)->why;
}

static bool go_has_stats(const void *go)
{
	return go_is_known(go) && ((const struct go_memory *)go)->has_stats;
}

static bool go_has_limit(const void *go)
{
	return go_is_known(go) && ((const struct go_memory *)go)->limit != GO_NO_LIMIT;
}

#define GO(member) offsetof(struct go_memory, member)
static const struct figure go_figures[] = {
	FIGURE("version", NULL, NOTE, GO(version)),
	FIGURE("cannot_tell", NULL, TEXT, GO(why)),
	FIGURE("live_bytes", NULL, NUMBER, GO(live), .shown = go_is_known),
	FIGURE("allocated_since_bytes", NULL, NUMBER, GO(allocated), .shown = go_is_known),
	FIGURE("in_use_bytes", NULL, NUMBER, GO(in_use), .shown = go_is_known),
	FIGURE("free_bytes", NULL, NUMBER, GO(free), .shown = go_is_known),
	FIGURE("released_bytes", NULL, NUMBER, GO(released), .shown = go_is_known),
	FIGURE("stack_bytes", NULL, NUMBER, GO(stacks), .shown = go_has_stats),
	FIGURE("own_bytes", NULL, NUMBER, GO(own), .shown = go_has_stats),
	FIGURE("goal_bytes", NULL, SOME, GO(goal), .shown = go_is_known),
	FIGURE("gogc", NULL, SIGNED, GO(percent), .shown = go_is_known),
	FIGURE("gomemlimit_bytes", NULL, NUMBER, GO(limit), .shown = go_has_limit),
	FIGURE("collections", NULL, SOME, GO(collections)),
	FIGURE("collected_ms", NULL, SOME, GO(collected_ns), .per = NS_PER_MS),
	FIGURE("within_goal", NULL, FLAG, GO(within_goal)),
};
static const struct figures go_memory_figures = FIGURES(go_figures);

static bool go_has_goal(const void *go)
{
	return ((const struct go_memory *)go)->goal;
}

static bool go_is_off(const void *go)
{
	return ((const struct go_memory *)go)->percent < 0;
}

static bool go_has_percent(const void *go)
{
	return go_has_goal(go) && !go_is_off(go);
}

static bool go_never_collects(const void *go)
{
	return go_is_off(go) && !go_has_goal(go);
}

/* Returns whether a goal is known; text omits it otherwise. */
static bool go_has_target(const void *go)
{
	return go_is_off(go) || go_has_goal(go);
}

static bool go_target_has_limit(const void *go)
{
	return go_has_target(go) && go_has_limit(go);
}

static const struct figure_words go_words[] = {
	SAY(": {live_bytes} live after the last collection"),
	SAY_FROM(1, "collected_ms", " ({collected_ms} ago)"),
	SAY(", {allocated_since_bytes} allocated since; {in_use_bytes} in spans, "
	    "{free_bytes} in free ones, {released_bytes} given back\n"),
	SAY_KNOWN("stack_bytes",
		  "\tstacks of goroutines: {stack_bytes}, the runtime's own records: "
		  "{own_bytes}\n"),
	SAY_FROM(1, "goal_bytes",
		 "\tit may reach {goal_bytes} before the next collection ends (GOGC="),
	SAY_IF(go_never_collects, "\tno collection starts by itself (GOGC="),
	SAY_IF(go_is_off, "off"),
	SAY_IF(go_has_percent, "{gogc}"),
	SAY_IF(go_target_has_limit, ", GOMEMLIMIT={gomemlimit_bytes}"),
	SAY_IF(go_has_target, ")"),
	SAY_FROM(1, "within_goal", ": as large as its target allows"),
	SAY_IF(go_has_target, "\n"),
};

static const struct runtime_view go_view = {.key = GO_KEY,
					    .name = "Go",
					    .unknown = "its heap's figures are not known",
					    .figures = &go_memory_figures,
					    FIGURE_WORDS(go_words),
					    .size = sizeof(struct go_memory)};

/* Every collection is a full one. */
struct heap_floor go_floor_of(const struct go_memory *go)
{
	if (!go || go->why)
		return (struct heap_floor){0};
	return (struct heap_floor){.known = true,
				   .is_base = go->collections > 0,
				   .kept = go->collections ? go->live : 0,
				   .full = go->collections,
				   .none_yet = !go->collections};
}

static void go_count(const void *figures, struct runtime_memory *memory)
{
	const struct go_memory *go = figures;

	memory->goal = (struct heap_goal){.live = go->why ? 0 : go->live,
					  .bytes = go->why ? 0 : go->goal,
					  .collections = go->collections,
					  .settings = "GOGC, GOMEMLIMIT"};
}

/* A program whose heap may be anywhere is recognised by its file's data. */
static bool go_is_wanted(const struct maps *maps, const struct runtime *shown, bool named)
{
	return shown ? shown == &runtime_go : named && go_is_program(maps);
}

static int go_read(const struct maps *maps, void *figures)
{
	return go_memory_read(maps, figures);
}

static int go_find_heap(const struct maps *maps, const void *figures, struct runtime_heap *heap)
{
	return go_heap_find(maps, ((const struct go_memory *)figures)->heap_at, heap);
}

const struct memory_reader go_memory_reader = {
	.view = &go_view,
	.wanted = go_is_wanted,
	.read = go_read,
	.count = go_count,
	.find_heap = go_find_heap,
};
