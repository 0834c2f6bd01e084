// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Goroutines. The runtime keeps them all in one slice, allgs, and each contains its own address
 * (g.sched.g), which distinguishes the slice from all others. Waiting ones are unwound from the
 * place where they were parked, by the sizes of frames in the table of functions.
 */
#include "heap/runtime/go/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "binary/arch/machine.h"
#include "base/text.h"
#include "heap/allocators/heap_image.h"
#include "heap/runtime/go/go.h"

#define GOROUTINES_MIN (4u << 20) /* accepted for any size of memory */
#define FRAMES_MAX (2u << 20)	  /* frames of all groups */
#define DEPTH_MAX 128
#define ROUNDS 4 /* for goroutines that run during the read */
#define REASONS_MAX 128
#define REASON_BYTES 64
#define SCANNED 0x1000 /* flag of a state: the collector is scanning its stack */
#define STACK_BYTES_MAX (1ull << 32)

/* runtime2.go: _Gidle and so on. */
enum g_state {
	G_IDLE,
	G_RUNNABLE,
	G_RUNNING,
	G_SYSCALL,
	G_WAITING,
	G_DEAD = 6,
	G_COPIED = 8,
	G_PREEMPTED,
	G_LEAKED,
	G_DEAD_EXTRA,
};

/* The contents of one g. */
struct g {
	uint64_t address, low, high, sp, pc; /* sp, pc: where it waits, or called the kernel */
	uint64_t goid, since, creator, start;
	uint32_t state;
	uint8_t reason;
	uint32_t group; /* index of its group, plus 1 */
};

static uint64_t word_of(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Reads a g; returns false if there is none. */
static bool read_g(const struct go_program *program, uint64_t address, struct g *g)
{
	const struct go_layout *layout = program->layout;
	unsigned char bytes[G_BYTES];
	uint32_t state;

	if (!address || address % 8 || target_read(program->memory, address, bytes, sizeof(bytes)))
		return false;
	state = (uint32_t)word_of(bytes, layout->status) & ~SCANNED;
	*g = (struct g){
		.address = address,
		.low = word_of(bytes, G_STACK_LOW),
		.high = word_of(bytes, G_STACK_HIGH),
		.sp = word_of(bytes, state == G_SYSCALL ? layout->syscall_sp : G_SCHED_SP),
		.pc = word_of(bytes, state == G_SYSCALL ? layout->syscall_sp + 8u : G_SCHED_PC),
		.goid = word_of(bytes, layout->goid),
		.since = word_of(bytes, layout->wait_since),
		.creator = word_of(bytes, layout->creator),
		.start = word_of(bytes, layout->creator + 16u),
		.state = state,
		.reason = bytes[layout->wait_reason],
	};
	return word_of(bytes, G_SCHED_G) == address && state <= G_DEAD_EXTRA;
}

/* Anchors. */

/* Returns whether a slice is allgs: its first goroutine runs main. */
static bool is_allgs(const struct go_program *program, uint64_t start, uint64_t count)
{
	struct g g;

	return read_g(program, target_word(program->memory, start), &g) && g.goid == 1 &&
	       read_g(program, target_word(program->memory, start + (count - 1) * 8), &g);
}

/* Returns the only slice of goroutines; count 0: none, or several. */
static struct go_slice find_allgs(const struct go_program *program)
{
	uint64_t most = GOROUTINES_MIN + program->memory->occupied / G_BYTES;
	struct go_slice found = {0};

	for (size_t i = 0; i < go_data_words(program); i++) {
		uint64_t start = go_data_word(program, i);
		uint64_t count = go_data_word(program, i + 1);
		uint64_t room = go_data_word(program, i + 2);

		if (!start || start % 8 || count < 2 || count > room || count > most ||
		    start == found.start || !is_allgs(program, start, count))
			continue;
		if (found.count)
			return (struct go_slice){0};
		found = (struct go_slice){start, count};
	}
	return found;
}

uint64_t go_all_goroutines(const struct go_program *program)
{
	return find_allgs(program).start;
}

uint64_t go_first_goroutine(const struct go_program *program)
{
	return target_word(program->memory, find_allgs(program).start);
}

static bool is_text(const struct go_program *program, uint64_t address, uint64_t length,
		    const char *text)
{
	char read[REASON_BYTES];

	return length == strlen(text) && !target_read(program->memory, address, read, length) &&
	       !memcmp(read, text, length);
}

/*
 * Finds waitReasonStrings: an empty one comes first, and two have the same index in all versions.
 */
static struct go_slice find_reasons(const struct go_program *program)
{
	struct go_slice found = {0};

	for (size_t i = 0; i < go_data_words(program); i++) {
		if (go_data_word(program, i + 1) || go_data_word(program, i + 3) != 17 ||
		    go_data_word(program, i + 5) != 7 ||
		    !is_text(program, go_data_word(program, i + 2), 17, "GC assist marking") ||
		    !is_text(program, go_data_word(program, i + 4), 7, "IO wait"))
			continue;
		if (found.count)
			return (struct go_slice){0};
		found = (struct go_slice){program->data.start + i * 8, REASONS_MAX};
	}
	return found;
}

/* Returns a wait reason, interned; NULL: out of memory. */
static const char *reason_of(struct go_program *program, struct intern *strings, unsigned number)
{
	uint64_t at = program->wait_reasons.start + 16ull * number;
	uint64_t text = target_word(program->memory, at);
	uint64_t length = target_word(program->memory, at + 8);
	char reason[REASON_BYTES] = "waiting";

	if (number && number < program->wait_reasons.count && length && length < sizeof(reason) &&
	    !target_read(program->memory, text, reason, length))
		reason[length] = '\0';
	return intern_string(strings, reason);
}

static const char *state_words(struct go_program *program, struct intern *strings,
			       const struct g *g)
{
	static const char *const words[] = {[G_IDLE] = "being made",
					    [G_RUNNABLE] = "runnable",
					    [G_RUNNING] = "running",
					    [G_SYSCALL] = "syscall",
					    [G_COPIED] = "its stack moves",
					    [G_PREEMPTED] = "preempted",
					    [G_LEAKED] = NULL};

	if (g->state < ARRAY_SIZE(words) && words[g->state])
		return words[g->state];
	return reason_of(program, strings, g->reason);
}

/* Stacks. */

struct walk {
	uint64_t addresses[DEPTH_MAX];
	size_t depth;
	bool more; /* further callers exist */
};

/*
 * Walks a stack from where the goroutine was parked, or called the kernel; the registers of a
 * running one are not in memory. A call leaves the return address right above the frame, or in a
 * register, which the callee saves at the start of its own frame (runtime/traceback.go: usesLR).
 */
static void walk_stack(const struct go_program *program, const struct g *g, struct walk *walk)
{
	const uint64_t above = machine_frame.return_words ? 8 : 0;
	uint64_t sp = g->sp, pc = g->pc;
	struct go_function function;

	*walk = (struct walk){0};
	if (g->state == G_RUNNING || g->state == G_IDLE)
		return;
	while (go_function_find(program, pc - 1, &function)) {
		int64_t frame = go_function_frame(program, &function, pc - 1);

		if (go_function_is_top(program, &function))
			return;
		walk->more = walk->depth == DEPTH_MAX;
		if (walk->more)
			return;
		walk->addresses[walk->depth++] = pc;
		if (frame < 0 || sp < g->low || sp >= g->high || (uint64_t)frame + 8 > g->high - sp)
			return;
		if (!above && !frame)
			return; /* still in the register */
		pc = target_word(program->memory, above ? sp + (uint64_t)frame : sp);
		sp += (uint64_t)frame + above;
	}
}

/* Returns whether a function is of package main, or of a module whose path begins with a host: the
 * standard library has no dot in the first element (cmd/go, "module paths"). */
static bool is_of_module(const struct frame *frame)
{
	const char *function = frame->function ? frame->function : "";
	const char *slash = strchr(function, '/'), *dot = strchr(function, '.');

	return text_begins(function, "main.") || (slash && dot && dot < slash);
}

static void write_place(const struct frame *frame, char *text, size_t size)
{
	if (frame->file)
		snprintf(text, size, "%s %s:%" PRIu32, frame->function, text_path_base(frame->file),
			 frame->line);
	else
		snprintf(text, size, "%s", frame->function);
}

/* Writes a goroutine's place; for a function of the standard library, also its caller. 0 or
 * -ENOMEM. */
static int name_place(struct go_program *program, struct intern *strings, const struct g *g,
		      char *name, size_t size)
{
	struct walk walk = {0};
	struct frames frames = {0};
	const struct frame *frame;
	size_t length;
	int error = 0;

	snprintf(name, size, "%s", g->state == G_RUNNING ? "running code" : "an unknown place");
	walk_stack(program, g, &walk);
	for (size_t i = 0; i < walk.depth && !error; i++)
		error = go_frames_append(program, strings, walk.addresses[i], false, &frames);
	frame = error ? NULL : goroutine_place(&frames);
	if (frame && frame->function) {
		size_t caller = (size_t)(frame - frames.list.items);

		write_place(frame, name, size);
		while (caller < frames.list.count && !is_of_module(&frames.list.items[caller]))
			caller++;
		length = strlen(name);
		if (&frames.list.items[caller] != frame && caller < frames.list.count &&
		    length + sizeof(" ← ") < size) {
			length += (size_t)snprintf(name + length, size - length, " ← ");
			write_place(&frames.list.items[caller], name + length, size - length);
		}
	}
	vec_free(&frames.list);
	return error;
}

/* traceback.go, isSystemGoroutine: judges by the goroutine's first function. `starts` caches the
 * answers: entry of a function -> 1: the program's, 2: the runtime's. */
static bool is_system(const struct go_program *program, struct hash *starts, uint64_t start)
{
	static const char *const own[] = {"runtime.main", "runtime.corostart",
					  "runtime.handleAsyncEvent"};
	uint64_t *known = hash_put(starts, start, NULL);
	struct go_function function;
	char name[GO_NAME_BYTES];
	bool system;

	if (known && *known)
		return *known == 2;
	system = go_function_find(program, start, &function) &&
		 go_function_name(program, &function, name) && text_begins(name, "runtime.");
	for (size_t i = 0; system && i < ARRAY_SIZE(own); i++)
		system = strcmp(name, own[i]) != 0;
	if (known)
		*known = system ? 2 : 1;
	return system;
}

/* Returns the start of the used stack; for a running goroutine, the thread's stack pointer; if that
 * is unknown, all of the stack counts. */
static uint64_t stack_start(const struct go_program *program, const struct g *g)
{
	const struct heap_image *image = program->memory->image;

	if (g->state != G_RUNNING)
		return g->sp >= g->low && g->sp < g->high ? g->sp : g->low;
	for (size_t i = 0; image && i < image->threads.count; i++) {
		uint64_t sp = machine_sp(&image->threads.items[i].registers);

		if (sp >= g->low && sp < g->high)
			return sp & ~7ull;
	}
	return g->low;
}

int go_stacks_visit(struct go_program *program, struct intern *strings, go_stack_visit *visit,
		    void *context)
{
	struct go_slice all = find_allgs(program);
	char place[2 * GO_NAME_BYTES + 128];
	struct hash starts = {0};
	int error = 0;

	for (uint64_t i = 0; !error && i < all.count && !target_memory_overworked(program->memory);
	     i++) {
		struct g g;

		if (!read_g(program, target_word(program->memory, all.start + i * 8), &g) ||
		    g.state == G_DEAD || g.state == G_DEAD_EXTRA || g.high <= g.low ||
		    g.high - g.low > STACK_BYTES_MAX)
			continue;
		error = name_place(program, strings, &g, place, sizeof(place));
		if (!error)
			error = visit(context, place, g.address, stack_start(program, &g), g.high,
				      is_system(program, &starts, g.start));
	}
	hash_free(&starts);
	return error;
}

/* Groups. */

struct reading {
	struct go_program *program;
	struct task_report *report;
	struct hash groups; /* keys -> places in report->groups, plus 1 */
	size_t frames;	    /* frames named so far */
	struct hash starts; /* see is_system() */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return hash_mix(hash ^ hash_mix(value));
}

static int name_group(struct reading *reading, const struct walk *walk, uint64_t creator,
		      struct task_group *group)
{
	struct intern *strings = &reading->report->strings;
	size_t depth = reading->frames < FRAMES_MAX ? walk->depth : 0;
	int error = 0;

	for (size_t i = 0; !error && i < depth; i++)
		error = go_frames_append(reading->program, strings, walk->addresses[i], false,
					 &group->stack);
	if (!error && (depth < walk->depth || walk->more))
		error = frames_add_rest(&group->stack);
	if (!error && creator)
		error = go_frames_append(reading->program, strings, creator, false,
					 &group->creator);
	reading->frames += group->stack.list.count + group->creator.list.count;
	return error;
}

/* Returns the index of a goroutine's group, new or not, plus 1; 0: out of memory. */
static uint32_t group_of(struct reading *reading, const struct g *g, const struct walk *walk)
{
	const char *state = state_words(reading->program, &reading->report->strings, g);
	uint64_t bias = reading->program->bias, id, *place;
	struct task_group *group;

	if (!state)
		return 0;
	id = mix(intern_hash(state), g->creator ? g->creator - bias : 0);
	for (size_t i = 0; i < walk->depth; i++)
		id = mix(id, walk->addresses[i] - bias);
	place = hash_put(&reading->groups, id, NULL);
	if (!place)
		return 0;
	if (*place)
		return (uint32_t)*place;
	group = vec_push(&reading->report->groups);
	if (!group || name_group(reading, walk, g->creator, group))
		return 0;
	group->id = id;
	group->state = state;
	*place = reading->report->groups.count;
	return (uint32_t)*place;
}

static void add_wait(const struct task_report *report, const struct g *g, struct task_group *group)
{
	uint64_t ns;

	if (g->state != G_WAITING || !g->since || g->since > report->time_ns)
		return;
	ns = report->time_ns - g->since;
	group->longest_ns = MAX(group->longest_ns, ns);
	group->shortest_ns = group->waits_known++ ? MIN(group->shortest_ns, ns) : ns;
}

static int count(struct reading *reading, const struct g *g)
{
	struct task_report *report = reading->report;
	struct task_group *group;
	struct task *member;

	report->stack_bytes +=
		g->high > g->low && g->high - g->low <= STACK_BYTES_MAX ? g->high - g->low : 0;
	if (!g->group) {
		report->system++;
		return 0;
	}
	member = vec_push(&report->members);
	if (!member)
		return -ENOMEM;
	group = &report->groups.items[g->group - 1];
	*member = (struct task){g->goid, group->id};
	report->count++;
	group->count++;
	add_wait(report, g, group);
	return 0;
}

/* Rounds. */

struct g_list {
	struct g *items;
	size_t count, capacity;
};

/* Reads the goroutines of a round: first all records, then their stacks, so that no stack is older
 * than its goroutine. */
static int read_round(struct reading *reading, struct g_list *list, bool last)
{
	struct go_program *program = reading->program;
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct g g;

		if (!read_g(program, list->items[i].address, &g))
			reading->report->unread++;
		else if (g.state == G_DEAD || g.state == G_DEAD_EXTRA)
			reading->report->ended++;
		else
			list->items[kept++] = g;
	}
	list->count = kept;
	target_memory_forget(program->memory);
	for (size_t i = 0; i < list->count; i++) {
		struct g *g = &list->items[i];
		struct walk walk = {0};

		if (is_system(program, &reading->starts, g->start))
			continue;
		if (!last)
			walk_stack(program, g, &walk);
		g->group = group_of(reading, g, &walk);
		if (!g->group)
			return -ENOMEM;
	}
	return 0;
}

/* Counts the goroutines that did not run meanwhile, and leaves the others in the list. In the last
 * round these are counted, too, without their place. */
static int settle_round(struct reading *reading, struct g_list *list, bool last)
{
	bool stands = last || reading->program->memory->maps->source.core;
	size_t left = 0;
	int error = 0;

	target_memory_forget(reading->program->memory);
	for (size_t i = 0; !error && i < list->count; i++) {
		struct g *g = &list->items[i], now;

		if (stands || !g->group ||
		    (read_g(reading->program, g->address, &now) && now.state == g->state &&
		     now.goid == g->goid && now.sp == g->sp && now.pc == g->pc))
			error = count(reading, g);
		else
			list->items[left++] = *g;
	}
	list->count = left;
	return error;
}

static int read_rounds(struct reading *reading, struct g_list *list)
{
	int error = 0;

	for (unsigned i = 1; !error && list->count && i <= ROUNDS; i++) {
		error = read_round(reading, list, i == ROUNDS);
		if (!error)
			error = settle_round(reading, list, i == ROUNDS);
	}
	return error;
}

/* Drops groups that all their goroutines have left in a later round. */
static void drop_empty(struct task_report *report)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->groups.count; i++) {
		struct task_group *group = &report->groups.items[i];

		if (group->count) {
			report->groups.items[kept++] = *group;
			continue;
		}
		vec_free(&group->stack.list);
		vec_free(&group->creator.list);
	}
	report->groups.count = kept;
}

static int read_all(struct reading *reading)
{
	struct go_program *program = reading->program;
	struct go_slice all = find_allgs(program);
	struct g_list list = {0};
	int error = 0;

	program->wait_reasons = find_reasons(program);
	if (!all.count)
		reading->report->why = "its goroutines are not found";
	reading->report->time_ns = monotonic_ns();
	for (uint64_t i = 0; !error && i < all.count; i++) {
		struct g *g = vec_push(&list);

		if (g)
			g->address = target_word(program->memory, all.start + i * 8);
		error = g ? 0 : -ENOMEM;
	}
	if (!error)
		error = read_rounds(reading, &list);
	drop_empty(reading->report);
	task_report_sort(reading->report);
	vec_free(&list);
	return error;
}

int goroutines_read(const struct maps *maps, struct task_report *report)
{
	struct target_memory memory;
	struct go_program program;
	struct reading reading = {.program = &program, .report = report};
	int error = target_memory_open(maps, NULL, NULL, &memory);

	*report = (struct task_report){0};
	if (error)
		return error;
	error = go_program_open(&memory, &program, &report->why);
	memcpy(report->version, program.version, sizeof(report->version));
	if (!error)
		error = read_all(&reading);
	else if (error == -ENOENT || error == -ENOTSUP)
		error = 0;
	if (!report->why)
		report->why = target_memory_overworked(&memory);
	hash_free(&reading.groups);
	hash_free(&reading.starts);
	go_program_close(&program);
	target_memory_close(&memory);
	return error;
}
