/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SipHash-2-4: J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF" (2012). Who
 * does not know the key learns nothing of the input, and cannot choose inputs that collide.
 */
#ifndef LEAKMON_BASE_SIPHASH_H
#define LEAKMON_BASE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
	uint64_t words[2];
};

uint64_t siphash(const struct siphash_key *key, const void *data, size_t size);

/* A key that nobody knows. 0 or -errno. */
int siphash_key_make(struct siphash_key *key);

#endif
