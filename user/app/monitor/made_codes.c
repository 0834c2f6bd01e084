// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/made_codes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "heap/runtime/made_code.h"
#include "heap/runtime/runtime.h"

#define NAMES_MAX (1u << 17) /* per process: beyond, they are read again */
/* After a reading the code is not read for at least this many times the duration of the reading. */
#define PAUSE_TIMES 50
#define PAUSE_MIN_NS 20000000ull
/*
 * Code unchanged after such a pause is final: it is read again only when the process is refreshed.
 */
#define PAUSE_SURE_NS 2000000000ull

/* A program that has just started soon makes its code. */
#define START_NS 3000000000ull
#define START_PAUSE_NS 50000000ull

#define MOMENT_NS 100000000ull

/* A process whose runtime generates code. */
struct coded {
	uint64_t place; /* where its runtime is mapped: another place means another runtime */
	uint64_t start_ticks;
	struct made_code *opened; /* NULL: not yet known */
	struct unwind_table table;
	struct unwind_made made; /* of that table */
	uint64_t first_ns;	 /* when it was first seen */
	uint64_t next_ns;	 /* earliest time of the next reading */
	uint64_t pause_ns;
	bool due;	   /* it was requested before next_ns, or there was no code yet */
	struct hash names; /* frames -> indexes in codes->named, plus 1 */
	bool refused;	   /* the message about missing frames was logged */
	uint64_t asked_ns; /* requests soon after this share one reading */
	struct hash gone;  /* frames without a name in that reading */
};

/* The frames of one address. */
struct coded_name {
	size_t first, count; /* in codes->frames */
};

struct made_codes {
	struct made_codes_stages stages;
	struct hash processes; /* PID -> struct coded * */
	VEC(struct coded_name) named;
	VEC(struct frame) frames;
	struct intern strings;
	struct coded *active; /* the process read last, the only one that keeps its data; or NULL */
};

static struct coded *find(const struct made_codes *codes, pid_t pid)
{
	const uint64_t *slot = hash_get(&codes->processes, (uint64_t)pid);

	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return slot ? (struct coded *)(uintptr_t)*slot : NULL;
}

static void free_coded(struct coded *coded)
{
	made_code_close(coded->opened);
	unwind_table_free(&coded->table);
	hash_free(&coded->names);
	hash_free(&coded->gone);
	free(coded);
}

void made_codes_forget(struct made_codes *codes, pid_t pid)
{
	struct coded *coded = codes ? find(codes, pid) : NULL;

	if (!coded)
		return;
	if (codes->active == coded)
		codes->active = NULL;
	hash_remove(&codes->processes, (uint64_t)pid);
	free_coded(coded);
}

static void activate(struct made_codes *codes, struct coded *coded)
{
	if (codes->active && codes->active != coded && codes->active->opened)
		made_code_release(codes->active->opened);
	codes->active = coded;
}

static struct coded *add(struct made_codes *codes, pid_t pid)
{
	struct coded *coded = calloc(1, sizeof(*coded));
	uint64_t *slot = coded ? hash_put(&codes->processes, (uint64_t)pid, NULL) : NULL;

	if (!slot) {
		free(coded);
		return NULL;
	}
	coded->first_ns = monotonic_ns();
	*slot = (uintptr_t)coded;
	return coded;
}

/* Returns a value that identifies the runtime's mapping; 0: none. */
static uint64_t place_of(const struct process *process)
{
	uint64_t place = 0;

	for (size_t i = 0; i < process->code.count; i++) {
		const struct mapping *mapping = &process->code.items[i].mapping;

		if (!made_code_is_file(mapping))
			continue;
		if (!text_begins(mapping->path, CODE_MEMFD))
			return mapping->start;
		/* Such mappings come and go; the file stays. */
		place = mapping->inode;
	}
	return place;
}

/* Returns whether the rows are unchanged. */

static bool is_same(const struct coded *coded, const struct unwind_made *made)
{
	const struct unwind_table *table = made->table;

	return coded->made.table && coded->made.end == made->end &&
	       coded->table.base == table->base && coded->table.count == table->count &&
	       (!table->count ||
		!memcmp(coded->table.rows, table->rows, table->count * sizeof(*table->rows))) &&
	       !memcmp(&coded->made.blocks, &made->blocks, sizeof(made->blocks));
}

/* Loads the rows. Returns 0 if some are new, -EEXIST if all are unchanged, or another -errno. */
static int load(struct made_codes *codes, pid_t pid, struct coded *coded)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	struct unwind_made made;
	int error = made_code_rows(coded->opened, &table, &made);

	if (!error && is_same(coded, &made))
		error = -EEXIST;
	if (!error)
		error = unwind_store_set_made(codes->stages.unwind, pid, &made);
	if (error)
		return error;
	unwind_table_free(&coded->table);
	coded->table = table;
	coded->made = made;
	table = (struct unwind_table){0};
	return 0;
}

/* Logs once that frames are missing, unless the program has only just started. */
static void refuse(pid_t pid, struct coded *coded, const char *why)
{
	const struct runtime *runtime = runtime_of_process(pid);

	if (coded->refused || !runtime || monotonic_ns() - coded->first_ns < START_NS) {
		log_debug("process %d: frames of made code are not known: %s", pid, why);
		return;
	}
	log_info("process %d: call stacks have no frames of its %s: %s", pid, runtime->name, why);
	coded->refused = true;
}

static int open_code(struct made_codes *codes, pid_t pid, struct coded *coded)
{
	const char *why = NULL;
	int error =
		made_code_open(pid, codes->stages.worker, codes->stages.dsos, &coded->opened, &why);

	if (error)
		refuse(pid, coded, why);
	return error;
}

/*
 * Doubles the pause each time that nothing is new, or that there is still nothing after the start.
 */
static void plan_next(struct coded *coded, int error, uint64_t took_ns)
{
	uint64_t pause_ns = MAX(took_ns * PAUSE_TIMES, PAUSE_MIN_NS), now_ns = monotonic_ns();

	coded->pause_ns = MAX(error ? coded->pause_ns * 2 : 0, pause_ns);
	if (error == -ENOENT && now_ns - coded->first_ns < START_NS)
		coded->pause_ns = MAX(pause_ns, START_PAUSE_NS);
	coded->next_ns = now_ns + coded->pause_ns;
	coded->due =
		!error || error == -ENOENT || (error == -EEXIST && coded->pause_ns < PAUSE_SURE_NS);
}

static void read_code(struct made_codes *codes, pid_t pid, struct coded *coded)
{
	int error = coded->opened ? 0 : open_code(codes, pid, coded);
	uint64_t start_ns = monotonic_ns(), took_ns;

	activate(codes, coded);
	if (!error)
		error = load(codes, pid, coded);
	took_ns = monotonic_ns() - start_ns;
	plan_next(coded, error, took_ns);
	log_debug("process %d: code that it makes: %s, after %llu us", pid,
		  !error	     ? "found"
		  : error == -EEXIST ? "as before"
				     : strerror(-error),
		  (unsigned long long)took_ns / 1000);
}

void made_codes_refresh(struct made_codes *codes, const struct process *process)
{
	uint64_t place = process->error ? 0 : place_of(process);
	struct coded *coded;

	/* An ended process keeps the names known so far. */
	if (!codes || process->error)
		return;
	coded = find(codes, process->pid);
	if (coded && (coded->place != place || coded->start_ticks != process->start_ticks)) {
		made_codes_forget(codes, process->pid);
		coded = NULL;
	}
	if (!place)
		return;
	if (!coded)
		coded = add(codes, process->pid);
	if (!coded)
		return;
	coded->place = place;
	coded->start_ticks = process->start_ticks;
	if (monotonic_ns() >= coded->next_ns)
		read_code(codes, process->pid, coded);
}

static const struct coded *coded_at(const struct made_codes *codes, size_t i)
{
	const struct hash_entry *entry = &codes->processes.entries[i];

	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	return entry->used ? (const struct coded *)(uintptr_t)entry->value : NULL;
}

pid_t made_codes_due(const struct made_codes *codes)
{
	uint64_t now_ns = monotonic_ns();

	for (size_t i = 0; codes && i < codes->processes.capacity; i++) {
		const struct coded *coded = coded_at(codes, i);

		if (coded && coded->due && coded->next_ns <= now_ns)
			return (pid_t)codes->processes.entries[i].key;
	}
	return 0;
}

int made_codes_due_in_ms(const struct made_codes *codes)
{
	uint64_t now_ns = monotonic_ns(), due_ns = UINT64_MAX;

	for (size_t i = 0; codes && i < codes->processes.capacity; i++) {
		const struct coded *coded = coded_at(codes, i);

		if (coded && coded->due)
			due_ns = MIN(due_ns, coded->next_ns);
	}
	if (due_ns == UINT64_MAX)
		return -1;
	return due_ns > now_ns ? (int)((due_ns - now_ns) / 1000000 + 1) : 0;
}

/* Naming of addresses. */

static int keep(struct made_codes *codes, struct coded *coded, uint64_t address,
		const struct frame *frames, size_t count)
{
	struct coded_name *name = vec_push(&codes->named);
	uint64_t *slot = name ? hash_put(&coded->names, address, NULL) : NULL;

	if (!slot)
		return -ENOMEM;
	*name = (struct coded_name){codes->frames.count, 0};
	for (size_t i = 0; i < count; i++) {
		struct frame *kept = vec_push(&codes->frames);

		if (!kept)
			return -ENOMEM;
		*kept = frames[i];
		name->count++;
	}
	*slot = codes->named.count;
	return 0;
}

static int append_kept(const struct made_codes *codes, const struct coded_name *name,
		       struct frames *frames)
{
	int error = 0;

	for (size_t i = 0; !error && i < name->count; i++)
		error = frames_append(frames, &codes->frames.items[name->first + i], NULL);
	return error;
}

/* Reads the process once for all requests of a report. */
static void begin_moment(struct coded *coded)
{
	uint64_t now_ns = monotonic_ns();

	if (now_ns - coded->asked_ns < MOMENT_NS)
		return;
	coded->asked_ns = now_ns;
	made_code_forget(coded->opened);
	hash_free(&coded->gone);
}

static int read_name(struct made_codes *codes, struct coded *coded, uint64_t address,
		     struct frames *frames)
{
	size_t before = frames->list.count;
	int error;

	activate(codes, coded);
	begin_moment(coded);
	if (hash_get(&coded->gone, address))
		return -ENOENT;
	error = made_code_name(coded->opened, address, &codes->strings, frames);
	if (error == -ENOENT)
		hash_put(&coded->gone, address, NULL);
	return error ? error
		     : keep(codes, coded, address, frames->list.items + before,
			    frames->list.count - before);
}

/* Implements `name` of struct code_namer. */
static int name(void *context, uint64_t pid, uint64_t address, struct frames *frames)
{
	struct made_codes *codes = context;
	struct coded *coded = find(codes, (pid_t)pid);
	const uint64_t *slot;

	if (!coded)
		return -ENOENT;
	if (coded->names.count > NAMES_MAX)
		hash_free(&coded->names);
	slot = hash_get(&coded->names, address);
	if (slot && *slot)
		return append_kept(codes, &codes->named.items[*slot - 1], frames);
	return coded->opened ? read_name(codes, coded, address, frames) : -ENOENT;
}

struct made_codes *made_codes_new(const struct made_codes_stages *stages)
{
	struct made_codes *codes = calloc(1, sizeof(*codes));

	if (!codes)
		return NULL;
	codes->stages = *stages;
	symbolizer_use_code_namer(stages->symbolizer, &(struct code_namer){codes, name});
	return codes;
}

void made_codes_free(struct made_codes *codes)
{
	if (!codes)
		return;
	symbolizer_use_code_namer(codes->stages.symbolizer, &(struct code_namer){0});
	for (size_t i = 0; i < codes->processes.capacity; i++) {
		const struct hash_entry *entry = &codes->processes.entries[i];

		/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
		if (entry->used)
			free_coded((struct coded *)(uintptr_t)entry->value);
	}
	hash_free(&codes->processes);
	vec_free(&codes->named);
	vec_free(&codes->frames);
	intern_free(&codes->strings);
	free(codes);
}
