// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows that are written once: processes, modules, frames, sites and their stacks. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/container.h"
#include "store/recorder_state.h"

/* Eight bytes at a time: each frame of each new stack has four texts. Never stored. */
static uint64_t text_hash(const char *text)
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

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return hash_mix(hash ^ hash_mix(value));
}

static uint64_t site_key(int64_t process, enum site_family family, uint32_t index)
{
	return mix((uint64_t)process, (uint64_t)family << 32 | index);
}

static uint64_t process_hash(const struct snapshot_process *process)
{
	const struct container *container = process->container;
	uint64_t hash = mix(text_hash(process->comm), text_hash(process->exe));

	if (container)
		hash = mix(mix(hash, text_hash(container->id)),
			   mix(text_hash(container->pod), text_hash(container->name)));
	return hash | 1; /* 0: never written */
}

/* A program may rename itself, a container get its names late: the latest ones are kept. */
static int process_describe(struct recorder *recorder, int64_t row,
			    const struct snapshot_process *process)
{
	struct recorded_process *recorded = &recorder->processes.items[row - 1];
	const struct container *container = process->container;
	uint64_t described = process_hash(process);
	int error;

	if (recorded->described == described)
		return 0;
	error = database_do(recorder->statements[PUT_PROCESS], "iiitttttt", row,
			    (int64_t)process->key, (int64_t)process->pid, process->comm,
			    process->exe, container ? container->id : NULL,
			    container ? container->namespace : NULL,
			    container ? container->pod : NULL, container ? container->name : NULL);
	if (!error)
		recorded->described = described;
	return error;
}

int recorder_put_process(struct recorder *recorder, const struct snapshot_process *process,
			 int64_t *row)
{
	/* A target that has not allocated yet has a PID and no key. */
	uint64_t key = mix(process->key, process->pid), *known;
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

/* 0 in *row for a frame in no file. */
static int put_module(struct recorder *recorder, const struct frame *frame, int64_t *row)
{
	uint64_t *known;
	bool fresh;
	int error;

	*row = 0;
	if (!frame->module)
		return 0;
	known = hash_put(&recorder->module_rows,
			 mix(text_hash(frame->module), text_hash(frame->build_id)), &fresh);
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
	uint64_t *known = hash_put(&recorder->mapping_rows,
				   mix(mix((uint64_t)process, (uint64_t)module), bias), &fresh);

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
	uint64_t hash = mix(mix((uint64_t)module, offset), frame->offset);

	hash = mix(mix(hash, text_hash(frame->function)), text_hash(frame->file));
	return mix(mix(hash, frame->line), frame->inlined);
}

int recorder_put_frame(struct recorder *recorder, int64_t process, const struct frame *frame,
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
uint64_t recorder_stack_hash(const struct frames *frames)
{
	uint64_t hash = frames->list.count;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		/* Strings are interned: a pointer stands for its text. */
		hash = mix(mix(hash, frame->address), (uint64_t)(uintptr_t)frame->function);
		hash = mix(mix(hash, (uint64_t)(uintptr_t)frame->file), frame->line);
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

static int put_stack(struct recorder *recorder, int64_t process, int64_t site,
		     const struct frames *frames)
{
	int error = 0;

	if ((uint64_t)site <= recorder->committed.sites)
		error = database_do(recorder->statements[CLEAR_STACK], "i", site);
	for (size_t i = 0; i < frames->list.count && !error; i += RECORDER_FRAMES_AT_ONCE)
		error = put_frames(recorder, process, site, frames, i);
	return error;
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

int recorder_put_site(struct recorder *recorder, int64_t process,
		      const struct snapshot_process *owner, const struct report_site *site,
		      struct recorded_site **recorded)
{
	struct recorded_site *place = site_of(recorder, process, owner, site->site);
	uint64_t stack = recorder_stack_hash(&site->frames);
	char id[17];
	int error = 0;

	if (!place)
		return -ENOMEM;
	if (place->stack != stack) {
		snprintf(id, sizeof(id), "%016" PRIx64, site->id);
		error = database_do(recorder->statements[PUT_SITE], "iittttt", place->row, process,
				    id, family_name(site->site->family),
				    kind_name(site->site->kind),
				    site->site->lost ? lost_name(site->site->lost) : NULL,
				    walk_end_name(site->site->end));
		if (!error)
			error = put_stack(recorder, process, place->row, &site->frames);
	}
	if (error)
		return error;
	place->stack = stack;
	*recorded = place;
	return 0;
}

/* Drops the entries whose value is beyond `last`. */
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

/* So that they are written again. */
static void forget_numbers(struct recorded_process *process)
{
	process->described = process->numbers = process->threads = process->mapping = 0;
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
	recorder->mapping_total = 0;
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
