/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table from 64-bit keys to 64-bit values: open addressing, linear probing, never shrinks.
 * Key 0 is allowed.
 */
#ifndef LEAKMON_BASE_HASH_H
#define LEAKMON_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_entry {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct hash {
	struct hash_entry *entries;
	size_t count, capacity; /* capacity is 0 or a power of two */
};

/*
 * Returns the value slot of key, made with value 0 if absent (then sets *fresh; may be NULL); NULL:
 * out of memory. Valid until the next hash_put.
 */
uint64_t *hash_put(struct hash *hash, uint64_t key, bool *fresh);
/* Returns the value slot of key, or NULL if absent. */
uint64_t *hash_get(const struct hash *hash, uint64_t key);
/* Removes a key, if present; slots of others may move. */
void hash_remove(struct hash *hash, uint64_t key);
void hash_free(struct hash *hash);

/* Finaliser of MurmurHash3 (Austin Appleby, public domain): mixes all bits. */
static inline uint64_t hash_mix(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdULL;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53ULL;
	return value ^ (value >> 33);
}

/*
 * Computes FNV-1a (Fowler, Noll and Vo), continuing the hash of the previous bytes: colliding
 * inputs can be chosen, so equal hashes need a full comparison.
 */
#define HASH_BYTES_BEGIN 0xcbf29ce484222325ull
uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size);

/*
 * SipHash-2-4: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012).
 * Without the key, the hash reveals nothing of the input, and colliding inputs cannot be chosen.
 */

struct siphash_key {
	uint64_t words[2];
};

uint64_t siphash(const struct siphash_key *key, const void *data, size_t size);

/*
 * Hashes a string with this run's secret key: it differs in each run and must not be stored.
 * Colliding strings cannot be chosen.
 */
uint64_t hash_text(const char *text);
/* Returns a number that is secret to this run. */
uint64_t hash_secret(void);

/* Generates a secret key. Returns 0 or -errno. */
int siphash_key_make(struct siphash_key *key);

#endif
