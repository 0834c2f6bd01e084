// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/family.h"
#include "report/store/recorder_state.h"
#include "report/store/memory_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc/container.h"
#include "process/symbol/intern.h"

/* Stacks, and the modules, mappings and frames that they consist of: each row is written once. */

static int recorder_put_figures(struct recorder *recorder, int64_t process,
				const struct report_process *report,
				const struct snapshot *snapshot);

static int recorder_end_figures(struct recorder *recorder, const struct snapshot *snapshot);

/* Eight bytes at a time: each frame of each new stack has four texts. */
static uint64_t recorder_text_hash(const char *text)
{
	size_t length = text ? strlen(text) : 0;
	uint64_t hash = text ? length : UINT64_MAX, word;

	for (; length >= sizeof(word); length -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = hash_mix(hash ^ word);
	}
	word = 0;
	if (length)
		memcpy(&word, text, length);
	return hash_mix(hash ^ word);
}

/* Sets *row to 0 for a frame in no file. */
static int put_module(struct recorder *recorder, const struct frame *frame, int64_t *row)
{
	uint64_t *known;
	bool fresh;
	int error;

	*row = 0;
	if (!frame->module)
		return 0;
	known = hash_put(&recorder->module_rows,
			 recorder_mix(recorder_text_hash(frame->module),
				      recorder_text_hash(frame->build_id)),
			 &fresh);
	if (!known)
		return -ENOMEM;
	if (fresh) {
		error = database_do(recorder->statements[PUT_MODULE], "itt",
				    (int64_t)recorder->counts.modules + 1, frame->module,
				    frame->build_id);
		if (error)
			return error;
		*known = ++recorder->counts.modules;
	}
	*row = (int64_t)*known;
	return 0;
}

static int put_mapping(struct recorder *recorder, int64_t process, int64_t module, uint64_t bias)
{
	bool fresh;
	uint64_t *known = hash_put(
		&recorder->mapping_rows,
		recorder_mix(recorder_mix((uint64_t)process, (uint64_t)module), bias), &fresh);

	if (!known)
		return -ENOMEM;
	if (!fresh)
		return 0;
	*known = ++recorder->counts.mappings;
	return database_do(recorder->statements[PUT_MAPPING], "iii", process, module,
			   (int64_t)bias);
}

static uint64_t frame_hash(const struct frame *frame, int64_t module, uint64_t offset)
{
	uint64_t hash = recorder_mix(recorder_mix((uint64_t)module, offset), frame->offset);

	hash = recorder_mix(recorder_mix(hash, recorder_text_hash(frame->function)),
			    recorder_text_hash(frame->file));
	return recorder_mix(recorder_mix(hash, frame->line), frame->inlined);
}

/* Gets the row of a frame seen in that process; writes it if new. */
static int recorder_put_frame(struct recorder *recorder, int64_t process, const struct frame *frame,
			      int64_t *row)
{
	uint64_t offset = frame->module ? frame->module_offset : frame->address, *known;
	int64_t module;
	bool fresh;
	int error = put_module(recorder, frame, &module);

	if (!error && module)
		error = put_mapping(recorder, process, module,
				    frame->address - frame->module_offset);
	if (error)
		return error;
	known = hash_put(&recorder->frame_rows, frame_hash(frame, module, offset), &fresh);
	if (!known)
		return -ENOMEM;
	if (fresh) {
		*known = ++recorder->counts.frames;
		error = database_do(recorder->statements[PUT_FRAME], "iiititiit", (int64_t)*known,
				    module, (int64_t)offset, frame->function,
				    (int64_t)frame->offset, frame->file, (int64_t)frame->line,
				    (int64_t)frame->inlined, frame->why);
	}
	*row = (int64_t)*known;
	return error;
}

/* Names and lines come late: the same addresses may get more frames. */
static uint64_t recorder_stack_hash(const struct frames *frames)
{
	uint64_t hash = frames->list.count;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		/* Strings are interned: pointers identify texts. */
		hash = recorder_mix(recorder_mix(hash, frame->address),
				    (uint64_t)(uintptr_t)frame->function);
		hash = recorder_mix(recorder_mix(hash, (uint64_t)(uintptr_t)frame->file),
				    frame->line);
	}
	return hash | 1;
}

static int put_frames(struct recorder *recorder, int64_t process, int64_t site,
		      const struct frames *frames, size_t first)
{
	sqlite3_stmt *statement = recorder->statements[PUT_STACK];
	size_t count = MIN(frames->list.count - first, RECORDER_FRAMES_AT_ONCE);
	int error = database_bind(statement, "ii", site, (int64_t)first);

	for (size_t i = 0; i < count && !error; i++) {
		int64_t frame;

		error = recorder_put_frame(recorder, process, &frames->list.items[first + i],
					   &frame);
		if (!error)
			error = database_errno(sqlite3_bind_int64(statement, (int)i + 3, frame));
	}
	if (!error)
		error = database_next(statement);
	sqlite3_clear_bindings(statement);
	return error;
}

/* Replaces the stack of a site. */
static int recorder_put_stack(struct recorder *recorder, int64_t process, int64_t site,
			      const struct frames *frames)
{
	int error = 0;

	if ((uint64_t)site <= recorder->committed.sites)
		error = database_do(recorder->statements[CLEAR_STACK], "i", site);
	for (size_t i = 0; i < frames->list.count && !error; i += RECORDER_FRAMES_AT_ONCE)
		error = put_frames(recorder, process, site, frames, i);
	return error;
}

/* Rows that are written once: processes and sites. */

static uint64_t site_key(int64_t process, enum family_id family, uint32_t index)
{
	return recorder_mix((uint64_t)process, (uint64_t)family << 32 | index);
}

/* A recording cannot express doubt: unproven containers are left out. */
static const struct container *container_kept(const struct snapshot_process *process)
{
	return container_proven_id(process->container) ? process->container : NULL;
}

static uint64_t process_hash(const struct snapshot_process *process)
{
	const struct container *container = container_kept(process);
	uint64_t hash =
		recorder_mix(recorder_text_hash(process->comm), recorder_text_hash(process->exe));

	if (process->host)
		hash = recorder_mix(hash, recorder_text_hash(process->host));
	if (container)
		hash = recorder_mix(recorder_mix(hash, recorder_text_hash(container->id)),
				    recorder_mix(recorder_text_hash(container->pod),
						 recorder_text_hash(container->name)));
	return hash | 1; /* 0: never written */
}

/* A program may rename itself, a container may get its names late: the latest ones are kept. */
static int process_describe(struct recorder *recorder, int64_t row,
			    const struct snapshot_process *process)
{
	struct recorded_process *recorded = &recorder->processes.items[row - 1];
	const struct container *container = container_kept(process);
	uint64_t described = process_hash(process);
	int error;

	if (recorded->described == described)
		return 0;
	error = database_do(recorder->statements[PUT_PROCESS], "iiittttttt", row,
			    (int64_t)process->key, (int64_t)process->pid, process->comm,
			    process->exe, container ? container->id : NULL,
			    container ? container->namespace : NULL,
			    container ? container->pod : NULL, container ? container->name : NULL,
			    process->host);
	if (!error)
		recorded->described = described;
	return error;
}

static int recorder_put_process(struct recorder *recorder, const struct snapshot_process *process,
				int64_t *row)
{
	/* A target that has not allocated yet has a PID and no key. */
	uint64_t key = recorder_mix(process->key, process->pid), *known;
	struct recorded_process *recorded;
	bool fresh;

	known = hash_put(&recorder->process_rows, key, &fresh);
	if (!known)
		return -ENOMEM;
	if (fresh) {
		recorded = vec_push(&recorder->processes);
		if (!recorded)
			return -ENOMEM;
		recorded->key = process->key;
		recorded->pid = process->pid;
		*known = ++recorder->counts.processes;
	}
	*row = (int64_t)*known;
	recorder->processes.items[*row - 1].gone = false;
	return process_describe(recorder, *row, process);
}

static struct recorded_site *site_of(struct recorder *recorder, int64_t process,
				     const struct snapshot_process *owner, const struct site *site)
{
	bool fresh;
	uint64_t *known = hash_put(&recorder->site_positions,
				   site_key(process, site->family, site->index), &fresh);
	struct recorded_site *recorded;

	if (!known)
		return NULL;
	if (!fresh)
		return &recorder->sites.items[*known];
	*known = recorder->sites.count;
	recorded = vec_push(&recorder->sites);
	if (!recorded)
		return NULL;
	recorded->process = owner->key;
	recorded->process_row = process;
	recorded->index = site->index;
	recorded->family = site->family;
	recorded->row = (int64_t)++recorder->counts.sites;
	return recorded;
}

static int recorder_put_site(struct recorder *recorder, int64_t process,
			     const struct snapshot_process *owner, const struct report_site *site,
			     struct recorded_site **recorded)
{
	struct recorded_site *place = site_of(recorder, process, owner, site->site);
	const char *patterns = site->site->patterns;
	uint64_t stack = recorder_stack_hash(&site->frames);
	char id[17];
	int error = 0;

	if (!place)
		return -ENOMEM;
	if (patterns)
		stack = recorder_mix(stack, intern_hash(patterns)) | 1;
	if (place->stack != stack) {
		snprintf(id, sizeof(id), "%016" PRIx64, site->id);
		error = database_do(recorder->statements[PUT_SITE], "iitttttt", place->row, process,
				    id, family_name(site->site->family),
				    kind_name(site->site->kind),
				    site->site->lost ? lost_name(site->site->lost) : NULL,
				    walk_end_name(site->site->end), site->site->patterns);
		if (!error)
			error = recorder_put_stack(recorder, process, place->row, &site->frames);
	}
	if (error)
		return error;
	place->stack = stack;
	*recorded = place;
	return 0;
}

/* Drops the entries with a value beyond `last`. */
static int hash_cut(struct hash *hash, uint64_t last)
{
	_cleanup_(hash_free) struct hash cut = {0};

	for (size_t i = 0; i < hash->capacity; i++) {
		const struct hash_entry *entry = &hash->entries[i];
		uint64_t *value;

		if (!entry->used || entry->value > last || !entry->value)
			continue;
		value = hash_put(&cut, entry->key, NULL);
		if (!value)
			return -ENOMEM;
		*value = entry->value;
	}
	hash_free(hash);
	*hash = cut;
	cut = (struct hash){0};
	return 0;
}

int recorder_index_sites(struct recorder *recorder)
{
	hash_free(&recorder->site_positions);
	for (size_t i = 0; i < recorder->sites.count; i++) {
		const struct recorded_site *site = &recorder->sites.items[i];
		uint64_t *position =
			hash_put(&recorder->site_positions,
				 site_key(site->process_row, site->family, site->index), NULL);

		if (!position)
			return -ENOMEM;
		*position = i;
	}
	return 0;
}

/* Causes them to be rewritten. */
static void forget_numbers(struct recorded_process *process)
{
	process->described = process->numbers = 0;
	memset(process->figures, 0, sizeof(process->figures));
}

int recorder_forget_rows(struct recorder *recorder)
{
	size_t kept = 0;
	int error;

	recorder->counts = recorder->committed;
	recorder->processes.count = recorder->committed.processes;
	for (size_t i = 0; i < recorder->processes.count; i++)
		forget_numbers(&recorder->processes.items[i]);
	recorder->creators.count = recorder->committed.creators;
	for (size_t i = 0; i < recorder->creators.count; i++)
		recorder->creators.items[i].stack = recorder->creators.items[i].numbers = 0;
	memset(recorder->totals, 0, sizeof(recorder->totals));
	for (size_t i = 0; i < recorder->sites.count; i++) {
		struct recorded_site *site = &recorder->sites.items[i];

		if ((uint64_t)site->row > recorder->committed.sites)
			continue;
		site->stack = 0;
		recorder->sites.items[kept++] = *site;
	}
	recorder->sites.count = kept;
	error = recorder_index_sites(recorder);
	if (!error)
		error = hash_cut(&recorder->process_rows, recorder->committed.processes);
	if (!error)
		error = hash_cut(&recorder->module_rows, recorder->committed.modules);
	if (!error)
		error = hash_cut(&recorder->frame_rows, recorder->committed.frames);
	if (!error)
		error = hash_cut(&recorder->mapping_rows, recorder->committed.mappings);
	if (!error)
		error = hash_cut(&recorder->creator_rows, recorder->committed.creators);
	return error;
}

/* The numbers of one snapshot: only what changed, unless it is a full one. */

#define NS_PER_MS UINT64_C(1000000)

static bool same_numbers(const struct site *a, const struct site *b)
{
	return a->bytes == b->bytes && a->count == b->count &&
	       a->allocated_bytes == b->allocated_bytes &&
	       a->allocated_count == b->allocated_count && a->freed_bytes == b->freed_bytes &&
	       a->freed_count == b->freed_count;
}

static int point_write(struct recorder *recorder, int64_t row, const struct site *site,
		       bool has_ages)
{
	const struct site *s = site;

	recorder->rows++;
	return database_do(recorder->statements[PUT_POINT], has_ages ? "iiiiiiiii" : "iiiiiiiin",
			   recorder->sequence, row, (int64_t)s->bytes, (int64_t)s->count,
			   (int64_t)s->allocated_bytes, (int64_t)s->allocated_count,
			   (int64_t)s->freed_bytes, (int64_t)s->freed_count,
			   (int64_t)(s->oldest_ns / NS_PER_MS));
}

static int ages_write(struct recorder *recorder, int64_t row, const uint64_t ages[SITE_AGES_MAX_])
{
	_Static_assert(SITE_AGES_MAX_ == 7, "a column for every age");
	return database_do(recorder->statements[PUT_AGES], "iiiiiiiii", recorder->sequence, row,
			   (int64_t)ages[0], (int64_t)ages[1], (int64_t)ages[2], (int64_t)ages[3],
			   (int64_t)ages[4], (int64_t)ages[5], (int64_t)ages[6]);
}

/* Most sites have none: no row, no cost. */
static int by_dead_write(struct recorder *recorder, int64_t row, const struct site *before,
			 const struct site *site)
{
	bool same = before->by_dead_bytes == site->by_dead_bytes &&
		    before->by_dead_count == site->by_dead_count;

	/* In a full snapshot, a missing row means zero. */
	if (recorder->full ? !site->by_dead_count : same)
		return 0;
	return database_do(recorder->statements[PUT_BY_DEAD], "iiii", recorder->sequence, row,
			   (int64_t)site->by_dead_bytes, (int64_t)site->by_dead_count);
}

/* For programs that sample themselves only. */
static int estimate_write(struct recorder *recorder, int64_t row, const struct site *before,
			  const struct site *site)
{
	bool same = before->hit_bytes == site->hit_bytes &&
		    before->count_variance == site->count_variance &&
		    before->hit_count == site->hit_count;

	/* In a full snapshot, a missing row means zero. */
	if (recorder->full ? site->hit_bytes <= 0 : same)
		return 0;
	return database_do(recorder->statements[PUT_ESTIMATE], "iiddd", recorder->sequence, row,
			   site->hit_bytes, site->count_variance, site->hit_count);
}

static int site_write(struct recorder *recorder, int64_t process,
		      const struct snapshot_process *owner, const struct report_site *site,
		      bool has_ages)
{
	struct recorded_site *recorded;
	int error = recorder_put_site(recorder, process, owner, site, &recorded);

	if (error)
		return error;
	if (recorder->full || !same_numbers(&recorded->last, site->site))
		error = point_write(recorder, recorded->row, site->site, has_ages);
	if (!error && recorder->ages && has_ages)
		error = ages_write(recorder, recorded->row, site->site->ages);
	if (!error)
		error = by_dead_write(recorder, recorded->row, &recorded->last, site->site);
	if (!error)
		error = estimate_write(recorder, recorded->row, &recorded->last, site->site);
	recorded->last = *site->site;
	recorded->last.addresses = NULL;
	recorded->seen = recorder->appends;
	return error;
}

/* A site that the snapshot does not mention holds nothing any more. */
static int gone_sites_write(struct recorder *recorder)
{
	int error = 0;

	for (size_t i = 0; i < recorder->sites.count && !error; i++) {
		struct recorded_site *site = &recorder->sites.items[i];
		struct site before = site->last;

		if (site->seen == recorder->appends)
			continue;
		if (!site->last.count && !site->last.bytes)
			continue;
		site->last.bytes = site->last.count = site->last.oldest_ns = 0;
		site->last.by_dead_bytes = site->last.by_dead_count = 0;
		site->last.hit_bytes = site->last.count_variance = site->last.hit_count = 0;
		site->last.freed_bytes = site->last.allocated_bytes;
		site->last.freed_count = site->last.allocated_count;
		/* In a full snapshot, a missing row means zero. */
		if (!recorder->full)
			error = point_write(recorder, site->row, &site->last, false);
		if (!error)
			error = by_dead_write(recorder, site->row, &before, &site->last);
		if (!error)
			error = estimate_write(recorder, site->row, &before, &site->last);
	}
	return error;
}

static int losses_write(struct recorder *recorder, int64_t process, const struct figure *figure,
			const struct ledger *ledger)
{
	const struct causes *causes = figure->causes;
	int error = 0;

	for (unsigned i = causes->first; i < causes->count && !error; i++) {
		uint64_t count = figure_by_cause(figure, ledger, i);

		if (count)
			error = database_do(recorder->statements[PUT_LOSS], "iitti",
					    recorder->sequence, process, causes->recorded,
					    causes->name(i), (int64_t)count);
	}
	return error;
}

/*
 * Writes the causes, in the same table: a count of 1, or the number of processes, followed by the
 * latest. Older recordings lack these rows.
 */
static int doubts_write(struct recorder *recorder, int64_t process,
			const struct snapshot_process *seen)
{
	sqlite3_stmt *statement = recorder->statements[PUT_LOSS];
	int error = 0;

	for (unsigned i = 0; i < INEXACT_MAX_ && !error; i++) {
		int64_t count = i == INEXACT_SHARED_MEMORY ? seen->hidden_tasks : 1;

		if (seen->inexact & 1u << i)
			error = database_do(statement, "iitti", recorder->sequence, process,
					    LOSS_INEXACT, inexact_name(i), count);
	}
	if (!error && seen->hidden_pid)
		error = database_do(statement, "iitti", recorder->sequence, process,
				    LOSS_INEXACT_PID, inexact_name(INEXACT_SHARED_MEMORY),
				    (int64_t)seen->hidden_pid);
	return error;
}

struct ledger_row {
	int64_t process, state, exact, bytes, count;
	const struct ledger *ledger;
	const struct snapshot_process *seen; /* NULL: the sum, or gone */
};

static int ledger_write(struct recorder *recorder, const struct ledger_row *row)
{
	const struct family *heap = family_get(FAMILY_HEAP);
	sqlite3_stmt *statement = recorder->put_figures[FAMILY_HEAP];
	int error = database_bind(statement, "iiiiii", recorder->sequence, row->process, row->state,
				  row->exact, row->bytes, row->count);

	if (!error)
		error = figures_bind(statement, 7, heap, row->ledger);
	if (!error)
		error = database_next(statement);
	for (size_t i = 0; i < heap->figures.count && !error; i++) {
		if (heap->figures.items[i].causes)
			error = losses_write(recorder, row->process, &heap->figures.items[i],
					     row->ledger);
	}
	return error || !row->seen ? error : doubts_write(recorder, row->process, row->seen);
}

static uint64_t ledger_hash(const struct ledger_row *row)
{
	const uint64_t *words = (const void *)row->ledger;
	uint64_t hash = hash_mix((uint64_t)(row->state * 2 + row->exact + 1));

	hash = hash_mix(hash_mix(hash ^ (uint64_t)row->bytes) ^ (uint64_t)row->count);
	hash = hash_mix(hash ^ row->seen->inexact);
	hash = hash_mix(hash ^ ((uint64_t)row->seen->hidden_tasks << 32 | row->seen->hidden_pid));
	for (size_t i = 0; i < sizeof(*row->ledger) / sizeof(*words); i++)
		hash = hash_mix(hash ^ words[i]);
	return hash | 1;
}

/* Writes the composition of its memory, if it was read for this snapshot. */
static int memory_write(struct recorder *recorder, int64_t process,
			const struct snapshot_process *seen, const struct memory_history *memory)
{
	const struct memory_series *series =
		memory ? memory_history_find(memory, (pid_t)seen->pid, seen->key) : NULL;

	return series ? memory_rows_put(recorder->statements[PUT_MEMORY],
					recorder->statements[PUT_MEMORY_PART], recorder->sequence,
					process, &series->splits.items[series->splits.count - 1])
		      : 0;
}

static int process_write(struct recorder *recorder, const struct report_process *process,
			 const struct snapshot *snapshot, const struct memory_history *memory)
{
	const struct snapshot_process *seen = process->process;
	struct ledger_row row = {.state = seen->exited ? PROCESS_EXITED : PROCESS_ALIVE,
				 .exact = seen->exact,
				 .bytes = (int64_t)seen->outstanding_bytes,
				 .count = (int64_t)seen->outstanding_count,
				 .ledger = &seen->ledger,
				 .seen = seen};
	uint64_t numbers = ledger_hash(&row);
	int error = recorder_put_process(recorder, seen, &row.process);

	if (error)
		return error;
	recorder->processes.items[row.process - 1].seen = recorder->appends;
	if (recorder->full || recorder->processes.items[row.process - 1].numbers != numbers)
		error = ledger_write(recorder, &row);
	recorder->processes.items[row.process - 1].numbers = numbers;
	for (size_t i = 0; i < process->sites.count && !error; i++)
		error = site_write(recorder, row.process, seen, &process->sites.items[i],
				   snapshot->has_ages);
	if (!error)
		error = recorder_put_figures(recorder, row.process, process, snapshot);
	return error ? error : memory_write(recorder, row.process, seen, memory);
}

static int gone_processes_write(struct recorder *recorder)
{
	static const struct ledger nothing;
	int error = 0;

	for (size_t i = 0; i < recorder->processes.count && !error; i++) {
		struct recorded_process *process = &recorder->processes.items[i];

		if (process->gone || process->seen == recorder->appends)
			continue;
		process->gone = true;
		process->numbers = 0;
		memset(process->figures, 0, sizeof(process->figures));
		if (!recorder->full)
			error = ledger_write(recorder,
					     &(struct ledger_row){.process = (int64_t)i + 1,
								  .state = PROCESS_GONE,
								  .ledger = &nothing});
	}
	return error;
}

int recorder_put_numbers(struct recorder *recorder, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	struct ledger_row total = {.ledger = &snapshot->ledger};
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct report_process *process = &report->processes.items[i];

		total.bytes += (int64_t)process->process->outstanding_bytes;
		total.count += (int64_t)process->process->outstanding_count;
		error = process_write(recorder, process, snapshot, report->memory);
	}
	if (!error)
		error = gone_processes_write(recorder);
	if (!error)
		error = gone_sites_write(recorder);
	if (!error)
		error = recorder_end_figures(recorder, snapshot);
	return error ? error : ledger_write(recorder, &total);
}

/* Figures of families, and dead threads by creator: only changes, except in a full snapshot. */

static uint64_t hash_words(const uint64_t *words, size_t count)
{
	uint64_t hash = count;

	for (size_t i = 0; i < count; i++)
		hash = hash_mix(hash ^ words[i]) + i;
	return hash | 1; /* 0: never written */
}

static int put_figures(struct recorder *recorder, int64_t process, enum family_id id,
		       const void *figures, uint64_t *known)
{
	const struct family *family = family_get(id);
	sqlite3_stmt *statement = recorder->put_figures[id];
	uint64_t numbers = figures_hash(family, figures);
	int error;

	if (!figures_are_known(family, figures) || (!recorder->full && *known == numbers))
		return 0;
	*known = numbers;
	error = database_bind(statement, "ii", recorder->sequence, process);
	if (!error)
		error = figures_bind(statement, 3, family, figures);
	return error ? error : database_next(statement);
}

/* Writes the figures of families other than the heap, of one process or of all together. */
static int put_families(struct recorder *recorder, int64_t row, const struct snapshot *snapshot,
			const struct snapshot_process *process)
{
	uint64_t *known = row ? recorder->processes.items[row - 1].figures : recorder->totals;
	int error = 0;

	for (size_t id = FAMILY_HEAP + 1; id < FAMILY_MAX_ && !error; id++) {
		const struct family *family = family_get(id);
		const void *figures = process ? family_of_process(family, process)
					      : family_total(family, snapshot);

		if (figures && family_is_present(family, snapshot))
			error = put_figures(recorder, row, id, figures, &known[id]);
	}
	return error;
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

/* Names and lines come late: then it is rewritten. */
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
	/* Ages add nothing: they advance by themselves. */
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

/* Writes the figures of one process beside its ledger, and its dead threads by creator. */
static int recorder_put_figures(struct recorder *recorder, int64_t process,
				const struct report_process *report,
				const struct snapshot *snapshot)
{
	int error = put_families(recorder, process, snapshot, report->process);

	for (size_t i = 0; i < report->dead.count && !error; i++)
		error = put_dead(recorder, process, &report->dead.items[i], snapshot->monotonic_ns);
	return error;
}

/* Writes creators without remaining threads, and the sum over all processes; last. */
static int recorder_end_figures(struct recorder *recorder, const struct snapshot *snapshot)
{
	static const struct dead_group none;
	int error = 0;

	for (size_t i = 0; i < recorder->creators.count && !error; i++) {
		struct recorded_creator *creator = &recorder->creators.items[i];

		if (creator->gone || creator->seen == recorder->appends)
			continue;
		creator->gone = true;
		creator->numbers = 0;
		/* In a full snapshot, a missing row means zero. */
		if (!recorder->full)
			error = dead_write(recorder, creator, &none, 0);
	}
	return error ? error : put_families(recorder, 0, snapshot, NULL);
}
