// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows that are written once: processes and sites. */
#include <errno.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "proc/container.h"
#include "store/recorder_state.h"

static uint64_t site_key(int64_t process, enum site_family family, uint32_t index)
{
	return recorder_mix((uint64_t)process, (uint64_t)family << 32 | index);
}

static uint64_t process_hash(const struct snapshot_process *process)
{
	const struct container *container = process->container;
	uint64_t hash =
		recorder_mix(recorder_text_hash(process->comm), recorder_text_hash(process->exe));

	if (container)
		hash = recorder_mix(recorder_mix(hash, recorder_text_hash(container->id)),
				    recorder_mix(recorder_text_hash(container->pod),
						 recorder_text_hash(container->name)));
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
			error = recorder_put_stack(recorder, process, place->row, &site->frames);
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
