// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* A key may be a word of another process, which must not be able to choose its slot as well. */
static struct siphash_key secret;

static __attribute__((constructor)) void make_secret(void)
{
	if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) != sizeof(secret))
		secret.words[0] = (uintptr_t)&secret;
}

uint64_t hash_secret(void)
{
	return secret.words[0];
}

static size_t place_of(const struct hash *hash, uint64_t key)
{
	return hash_mix(hash_mix(key) ^ secret.words[0]) & (hash->capacity - 1);
}

static struct hash_entry *hash_slot(const struct hash *hash, uint64_t key)
{
	size_t index = place_of(hash, key);

	while (hash->entries[index].used && hash->entries[index].key != key)
		index = (index + 1) & (hash->capacity - 1);
	return &hash->entries[index];
}

static bool hash_grow(struct hash *hash)
{
	struct hash grown = {.capacity = hash->capacity ? hash->capacity * 2 : 64,
			     .count = hash->count};

	grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
	if (!grown.entries)
		return false;
	for (size_t i = 0; i < hash->capacity; i++) {
		if (hash->entries[i].used)
			*hash_slot(&grown, hash->entries[i].key) = hash->entries[i];
	}
	free(hash->entries);
	*hash = grown;
	return true;
}

uint64_t *hash_put(struct hash *hash, uint64_t key, bool *fresh)
{
	struct hash_entry *entry;

	/* At most two thirds full: probe runs stay short. */
	if (hash->count * 3 >= hash->capacity * 2 && !hash_grow(hash))
		return NULL;
	entry = hash_slot(hash, key);
	if (fresh)
		*fresh = !entry->used;
	if (!entry->used) {
		*entry = (struct hash_entry){.key = key, .used = true};
		hash->count++;
	}
	return &entry->value;
}

uint64_t *hash_get(const struct hash *hash, uint64_t key)
{
	struct hash_entry *entry;

	if (!hash->capacity)
		return NULL;
	entry = hash_slot(hash, key);
	return entry->used ? &entry->value : NULL;
}

/*
 * Moves later entries up, except those between their home slot and the gap (Knuth, The Art of
 * Computer Programming, volume 3, 6.4, algorithm R): no tombstones accumulate.
 */
void hash_remove(struct hash *hash, uint64_t key)
{
	struct hash_entry *gap = hash->capacity ? hash_slot(hash, key) : NULL;
	size_t mask = hash->capacity - 1, empty, next;

	if (!gap || !gap->used)
		return;
	empty = (size_t)(gap - hash->entries);
	for (next = (empty + 1) & mask; hash->entries[next].used; next = (next + 1) & mask) {
		size_t own = place_of(hash, hash->entries[next].key);

		if (((next - own) & mask) < ((next - empty) & mask))
			continue;
		hash->entries[empty] = hash->entries[next];
		empty = next;
	}
	hash->entries[empty] = (struct hash_entry){0};
	hash->count--;
}

void hash_free(struct hash *hash)
{
	free(hash->entries);
	*hash = (struct hash){0};
}

/* -------- SipHash */

struct state {
	uint64_t a, b, c, d;
};

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static void mix(struct state *state, unsigned rounds)
{
	while (rounds-- > 0) {
		state->a += state->b;
		state->b = rotate(state->b, 13) ^ state->a;
		state->a = rotate(state->a, 32);
		state->c += state->d;
		state->d = rotate(state->d, 16) ^ state->c;
		state->a += state->d;
		state->d = rotate(state->d, 21) ^ state->a;
		state->c += state->b;
		state->b = rotate(state->b, 17) ^ state->c;
		state->c = rotate(state->c, 32);
	}
}

static void take(struct state *state, uint64_t word)
{
	state->d ^= word;
	mix(state, 2);
	state->a ^= word;
}

uint64_t siphash(const struct siphash_key *key, const void *data, size_t size)
{
	struct state state = {
		.a = key->words[0] ^ 0x736f6d6570736575u,
		.b = key->words[1] ^ 0x646f72616e646f6du,
		.c = key->words[0] ^ 0x6c7967656e657261u,
		.d = key->words[1] ^ 0x7465646279746573u,
	};
	uint64_t word, last = (uint64_t)size << 56;
	const char *at = data;

	for (; size >= sizeof(word); size -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		take(&state, word);
	}
	word = 0;
	memcpy(&word, at, size); /* little-endian, as in the paper */
	take(&state, last | word);
	state.c ^= 0xff;
	mix(&state, 4);
	return state.a ^ state.b ^ state.c ^ state.d;
}

uint64_t hash_text(const char *text)
{
	return siphash(&secret, text, strlen(text));
}

int siphash_key_make(struct siphash_key *key)
{
	return getrandom(key, sizeof(*key), 0) == sizeof(*key) ? 0 : -EIO;
}

uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ull;
	return hash;
}
