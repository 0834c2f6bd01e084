// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads, dead ones by creator, and mapping ledgers: what changed, unless it is a full snapshot.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "store/recorder_state.h"
#include "symbol/intern.h"

static uint64_t hash_words(const uint64_t *words, size_t count)
{
	uint64_t hash = count;

	for (size_t i = 0; i < count; i++)
		hash = hash_mix(hash ^ words[i]) + i;
	return hash | 1; /* 0: never written */
}

/* Columns 3 to 13; what is not known is null. */
static int threads_write(struct recorder *recorder, int64_t process,
			 const struct thread_figures *threads)
{
	const struct thread_figures *t = threads;
	sqlite3_stmt *statement = recorder->statements[PUT_THREADS];
	int error = database_bind(statement, "iiiiiiiiiiiiit", recorder->sequence, process,
				  (int64_t)t->alive, (int64_t)t->dead, (int64_t)t->dead_stack_bytes,
				  (int64_t)t->dead_resident_bytes, (int64_t)t->dead_heap_bytes,
				  (int64_t)t->dead_heap_count, (int64_t)t->created,
				  (int64_t)t->joined, (int64_t)t->detached, (int64_t)t->exact,
				  (int64_t)t->untold, t->why[0] ? t->why : NULL);

	for (int column = 3; column <= 13 && !error; column++) {
		if (!(column == 3 ? t->counted : t->followed))
			error = database_errno(sqlite3_bind_null(statement, column));
	}
	return error ? error : database_next(statement);
}

static int put_threads(struct recorder *recorder, int64_t process,
		       const struct thread_figures *threads)
{
	const uint64_t words[] = {threads->counted,
				  threads->followed,
				  threads->alive,
				  threads->dead,
				  threads->dead_stack_bytes,
				  threads->dead_resident_bytes,
				  threads->dead_heap_bytes,
				  threads->dead_heap_count,
				  threads->created,
				  threads->joined,
				  threads->detached,
				  threads->exact,
				  threads->untold,
				  intern_hash(threads->why)};
	uint64_t *known = &recorder->processes.items[process - 1].threads;
	uint64_t numbers = hash_words(words, ARRAY_SIZE(words));

	if ((!threads->counted && !threads->followed) || (!recorder->full && *known == numbers))
		return 0;
	*known = numbers;
	return threads_write(recorder, process, threads);
}

static int put_creator_stack(struct recorder *recorder, const struct recorded_creator *creator,
			     const struct frames *frames, int64_t first)
{
	int error = 0;

	for (size_t i = 0; i < frames->list.count && !error; i++) {
		int64_t frame;

		error = recorder_put_frame(recorder, creator->process_row, &frames->list.items[i],
					   &frame);
		if (!error)
			error = database_do(recorder->statements[PUT_CREATOR_STACK], "iii",
					    creator->row, first + (int64_t)i, frame);
	}
	return error;
}

/* Names and lines come late: then it is written again. */
static int describe(struct recorder *recorder, struct recorded_creator *creator,
		    const struct report_dead *dead)
{
	const struct frames start = {
		.list = {dead->start.list.items, MIN(dead->start.list.count, (size_t)1), 0}};
	uint64_t stack = hash_mix(recorder_stack_hash(&dead->stack)) ^
			 (recorder_stack_hash(&dead->start) | 1);
	char id[17];
	int error;

	if (creator->stack == stack)
		return 0;
	snprintf(id, sizeof(id), "%016" PRIx64, dead->id);
	error = database_do(recorder->statements[PUT_CREATOR], "iitt", creator->row,
			    creator->process_row, id, walk_end_name(dead->group->end));
	if (!error)
		error = database_do(recorder->statements[CLEAR_CREATOR_STACK], "i", creator->row);
	if (!error)
		error = put_creator_stack(recorder, creator, &dead->stack, 0);
	if (!error)
		error = put_creator_stack(recorder, creator, &start, -1);
	if (!error)
		creator->stack = stack;
	return error;
}

static struct recorded_creator *creator_of(struct recorder *recorder, int64_t process,
					   const struct dead_group *group)
{
	uint64_t key = hash_mix(hash_mix((uint64_t)process << 32 | group->site) ^
				hash_mix(group->start_routine));
	bool fresh;
	uint64_t *row = hash_put(&recorder->creator_rows, key, &fresh);
	struct recorded_creator *creator;

	if (!row)
		return NULL;
	if (!fresh)
		return &recorder->creators.items[*row - 1];
	creator = vec_push(&recorder->creators);
	if (!creator)
		return NULL;
	creator->process_row = process;
	creator->row = (int64_t)(*row = ++recorder->counts.creators);
	return creator;
}

static int dead_write(struct recorder *recorder, const struct recorded_creator *creator,
		      const struct dead_group *group, uint64_t now_ns)
{
	bool dated = group->count > group->before_attach;
	sqlite3_stmt *statement = recorder->statements[PUT_DEAD];
	int error = database_bind(statement, "iiiiiiiiii", recorder->sequence, creator->row,
				  (int64_t)group->count, (int64_t)group->before_attach,
				  (int64_t)(now_ns - MIN(now_ns, group->oldest_ns)),
				  (int64_t)(now_ns - MIN(now_ns, group->newest_ns)),
				  (int64_t)group->stack_bytes, (int64_t)group->resident_bytes,
				  (int64_t)group->heap_bytes, (int64_t)group->heap_count);

	for (int column = 5; !dated && !error && column <= 6; column++)
		error = database_errno(sqlite3_bind_null(statement, column));
	return error ? error : database_next(statement);
}

static int put_dead(struct recorder *recorder, int64_t process, const struct report_dead *dead,
		    uint64_t now_ns)
{
	const struct dead_group *group = dead->group;
	/* Ages say nothing new: they go on by themselves. */
	const uint64_t words[] = {group->count,		 group->before_attach, group->stack_bytes,
				  group->resident_bytes, group->heap_bytes,    group->heap_count};
	uint64_t numbers = hash_words(words, ARRAY_SIZE(words));
	struct recorded_creator *creator = creator_of(recorder, process, group);
	int error = creator ? describe(recorder, creator, dead) : -ENOMEM;

	if (error)
		return error;
	creator->seen = recorder->appends;
	if (!recorder->full && creator->numbers == numbers)
		return 0;
	creator->numbers = numbers;
	creator->gone = false;
	return dead_write(recorder, creator, group, now_ns);
}

static int put_mapping(struct recorder *recorder, int64_t process,
		       const struct mapping_ledger *ledger, uint64_t *known)
{
	const struct mapping_ledger *l = ledger;
	uint64_t numbers = hash_words((const uint64_t *)(const void *)ledger,
				      sizeof(*ledger) / sizeof(uint64_t));

	_Static_assert(sizeof(*ledger) == 8 * sizeof(uint64_t), "a column for every field");
	if (!recorder->full && *known == numbers)
		return 0;
	*known = numbers;
	return database_do(recorder->statements[PUT_MAPPING_LEDGER], "iiiiiiiiii",
			   recorder->sequence, process, (int64_t)l->mapped, (int64_t)l->unmapped,
			   (int64_t)l->outstanding, (int64_t)l->purged, (int64_t)l->ranges,
			   (int64_t)l->events_lost, (int64_t)l->missed, (int64_t)l->healed);
}

int recorder_put_threads(struct recorder *recorder, int64_t process,
			 const struct report_process *report, const struct snapshot *snapshot)
{
	const struct snapshot_process *seen = report->process;
	int error = put_threads(recorder, process, &seen->threads);

	for (size_t i = 0; i < report->dead.count && !error; i++)
		error = put_dead(recorder, process, &report->dead.items[i], snapshot->monotonic_ns);
	if (!error && snapshot->has_mappings)
		error = put_mapping(recorder, process, &seen->mapping,
				    &recorder->processes.items[process - 1].mapping);
	return error;
}

int recorder_end_threads(struct recorder *recorder, const struct snapshot *snapshot)
{
	static const struct dead_group none;
	int error = 0;

	for (size_t i = 0; i < recorder->creators.count && !error; i++) {
		struct recorded_creator *creator = &recorder->creators.items[i];

		if (creator->gone || creator->seen == recorder->appends)
			continue;
		creator->gone = true;
		creator->numbers = 0;
		/* In a full snapshot, what has no row is not there. */
		if (!recorder->full)
			error = dead_write(recorder, creator, &none, 0);
	}
	if (!error && snapshot->has_mappings)
		error = put_mapping(recorder, 0, &snapshot->mapping, &recorder->mapping_total);
	return error;
}
