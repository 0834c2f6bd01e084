// SPDX-License-Identifier: GPL-2.0-or-later
/* What glibc's own structures say of threads' blocks. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/thread_blocks_finder.h"

/* Everything is the target's, which may lie. */
#define MAX_SLOTS 4096
#define MAX_LISTS 256
/* struct link_map: l_addr comes first (<link.h>). */
#define MAP_BIAS_AT 0
/* l_tls_offset of what does not lie below the thread pointer. */
#define OFFSET_NONE 0
#define OFFSET_FORCED_DYNAMIC UINT64_MAX
/* How many threads are asked where their keys are. */
#define KEYS_TRIES 16

static bool peek_word(const struct thread_finder *finder, uint64_t address, uint64_t *word)
{
	return address < USER_ADDRESSES && !peek_words(finder->peek, address, word, 1);
}

/* How far behind the thread pointer the first keys' values are; 0: not known. */
static uint64_t find_keys(const struct thread_finder *finder)
{
	const struct tls_layout *layout = &finder->library->image.tls_layout;

	for (size_t i = 0; i < MIN(finder->picture->threads.count, KEYS_TRIES); i++) {
		uint64_t thread = finder->picture->threads.items[i].registers.fs_base, keys;

		if (thread && peek_word(finder, thread + layout->keys_at, &keys) && keys > thread &&
		    keys % 8 == 0 &&
		    keys - thread <= layout->thread_size - TLS_KEYS * TLS_KEY_BYTES)
			return keys - thread;
	}
	return 0;
}

static int add_thread(struct thread_finder *finder, uint32_t number, uint64_t keys)
{
	const struct picture_thread *thread = &finder->picture->threads.items[number];
	uint64_t start = thread->registers.fs_base, at = start + keys;
	uint64_t end = start + finder->library->image.tls_layout.thread_size;
	uint64_t keys_end = keys ? at + TLS_KEYS * TLS_KEY_BYTES : start;
	const struct thread_block parts[] = {
		{start, at, THREAD_BLOCK_THREAD, number, finder->library},
		{at, keys_end, THREAD_BLOCK_KEYS, number, finder->library},
		{keys_end, end, THREAD_BLOCK_THREAD, number, finder->library},
		{thread->vector.address - TLS_VECTOR_ENTRY,
		 thread->vector.address + (thread->vector.count + 1) * TLS_VECTOR_ENTRY,
		 THREAD_BLOCK_VECTOR, number, finder->library},
	};
	int err = 0;

	if (!start || start >= USER_ADDRESSES)
		return 0;
	for (size_t i = 0; !err && i < ARRAY_SIZE(parts); i++) {
		if (parts[i].kind != THREAD_BLOCK_VECTOR || thread->vector.count)
			err = thread_finder_add(finder, &parts[i]);
	}
	return err;
}

int thread_finder_add_threads(struct thread_finder *finder)
{
	uint64_t keys = find_keys(finder);
	int err = 0;

	for (size_t i = 0; !err && i < finder->picture->threads.count; i++)
		err = add_thread(finder, (uint32_t)i, keys);
	return err;
}

static const struct data_module *module_at_bias(const struct data_modules *modules, uint64_t bias)
{
	for (size_t i = 0; i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		if (module->bias == bias && module->image.file.thread_locals.size)
			return module;
	}
	return NULL;
}

static int add_slot(struct thread_finder *finder, const struct thread_slot *slot,
		    const struct data_module *program)
{
	const struct tls_layout *layout = &finder->library->image.tls_layout;
	const struct data_module *module;
	uint64_t bias, below;

	if (!slot->map || !peek_word(finder, slot->map + MAP_BIAS_AT, &bias) ||
	    !peek_word(finder, slot->map + layout->map_offset_at, &below))
		return 0;
	module = module_at_bias(finder->modules, bias);
	if (!module)
		return 0;
	finder->has_program |= module == program;
	if (below == OFFSET_FORCED_DYNAMIC)
		below = OFFSET_NONE;
	return thread_finder_add_module(finder, module, below, slot);
}

static int add_list(struct thread_finder *finder, uint64_t list, size_t length,
		    const struct data_module *program)
{
	const struct tls_layout *layout = &finder->library->image.tls_layout;
	int err = 0;

	for (size_t i = 0; !err && i < length && finder->slots < MAX_SLOTS; i++) {
		uint64_t at = list + layout->list_slots_at + i * TLS_LAYOUT_SLOT_BYTES;
		struct thread_slot slot = {.number = finder->slots++};

		if (!peek_word(finder, at + layout->slot_generation_at, &slot.generation) ||
		    !peek_word(finder, at + layout->slot_map_at, &slot.map))
			return 0;
		err = add_slot(finder, &slot, program);
	}
	return err;
}

int thread_finder_add_slots(struct thread_finder *finder, const struct data_module *program)
{
	const struct tls_layout *layout = &finder->library->image.tls_layout;
	uint64_t global, list, length;
	int err = 0;

	if (!peek_word(finder, finder->library->bias + layout->heads_at, &global) ||
	    !peek_word(finder, global + layout->slots_at, &list))
		return 0;
	for (size_t i = 0; !err && list && i < MAX_LISTS; i++) {
		if (!peek_word(finder, list + layout->list_length_at, &length))
			return 0;
		err = add_list(finder, list, (size_t)MIN(length, MAX_SLOTS), program);
		if (!peek_word(finder, list + layout->list_next_at, &list))
			return err;
	}
	return err;
}
