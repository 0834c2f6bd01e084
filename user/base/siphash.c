// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/siphash.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

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
	memcpy(&word, at, size); /* little-endian, as the paper counts */
	take(&state, last | word);
	state.c ^= 0xff;
	mix(&state, 4);
	return state.a ^ state.b ^ state.c ^ state.d;
}

int siphash_key_make(struct siphash_key *key)
{
	return getrandom(key, sizeof(*key), 0) == sizeof(*key) ? 0 : -EIO;
}
