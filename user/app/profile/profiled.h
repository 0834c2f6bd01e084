/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process under profile: its windows, their followed blocks, and the figures of its sites. It
 * reads nothing itself: the caller passes in the contents of windows and the results of looks.
 *
 * Of each site's blocks in a window, as many as fit are followed, chosen at random and weighted to
 * represent all. Later on, fewer suffice: half a second's churn is dead by then. Samples are
 * dropped at random, too, which adds only random error to the figures. The caller bounds memory:
 * `room` and `site_room` of a window, profiled_halve() after it.
 */
#ifndef LEAKMON_PROFILE_PROFILED_H
#define LEAKMON_PROFILE_PROFILED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "app/profile/look.h"
#include "app/profile/site_figures.h"
#include "base/hash.h"
#include "base/vec.h"

enum sample_state {
	SAMPLE_UNTOUCHED,
	SAMPLE_CHANGED, /* written to since, or reused: it may be alive */
	SAMPLE_DEAD,
};

struct profile_sample {
	uint64_t address, size, born_ns;
	uint64_t hash; /* of its contents at the window's end */
	uint32_t site; /* in profiled.sites */
	float weight;
	uint32_t chunk; /* look_result.chunk */
	uint8_t state;	/* enum sample_state */
	bool telling;	/* no other block had these contents */
	bool absent;	/* its page was never written */
	bool seen_dead; /* in a later window: counted at the next look */
};

struct sample_window {
	struct profile_window window;
	double end_s;
	size_t age;			    /* the next age to look at */
	VEC(struct profile_sample) samples; /* by site, then by address */
};

struct profile_site {
	uint32_t index;		       /* in bpf_side.sites */
	uint32_t waiting[SAMPLE_DEAD]; /* set by count_waiting() during a look */
	uint32_t samples;	       /* used by profiled_halve() */
	struct site_figures figures;
};

/* Contents seen: each slot has the latest. */
#define PROFILE_CONTENTS 4096

struct profiled {
	struct process_figures figures;
	VEC(struct profile_site *) sites; /* owned */
	struct hash by_index;		  /* index in bpf_side.sites -> index in `sites` */
	VEC(struct sample_window) windows;
	size_t samples; /* in all windows */
	/* First looks at blocks that matched the form of glibc's malloc, and others: if most match,
	 * the whole heap is taken for glibc's. */
	uint64_t chunks, no_chunks;
	uint64_t unfollowed; /* blocks born in windows at sites without room */
	double due_s;	     /* time of the next look; INFINITY: none */
	uint64_t random;
	uint64_t *contents; /* hashes by their low bits; owned, NULL until the first window */
};

/* Blocks born at one site in a window. */
struct window_births {
	uint32_t site; /* index in bpf_side.sites */
	uint64_t blocks, bytes;
};

/* A block that was born in the window and is outstanding at its end. */
struct window_block {
	uint64_t address, size, born_ns;
	uint32_t site;
};

struct window_taken {
	double at_s, length_s, wall_s; /* of births: as in struct profile_window */
	double end_s;		       /* when blocks were read */
	double balance;		       /* allocations - frees */
	const struct window_births *births;
	size_t birth_count;
	struct window_block *blocks; /* reordered by profiled_take() */
	size_t block_count;
	size_t room;	  /* samples that may be added; a few of each site always are */
	size_t site_room; /* sites that may be added */
};

void profiled_init(struct profiled *profiled, uint64_t seed);
void profiled_free(struct profiled *profiled);

/*
 * Takes a window, and chooses the blocks to follow: they are the last window of profiled.windows
 * until the next call. Call profiled_look_finish() with their contents at once. Returns 0 or
 * -ENOMEM.
 */
int profiled_take(struct profiled *profiled, const struct window_taken *taken);

/*
 * Drops half of the samples of the sites with most, at random: the others double their weight. A
 * site with few keeps them. Do not call it between profiled_look_begin() and
 * profiled_look_finish().
 */
void profiled_halve(struct profiled *profiled);

/*
 * Blocks of earlier windows that are outstanding in a later one, by ascending address: a followed
 * block that is missing, or has another time of birth, has died.
 */
struct known_block {
	uint64_t address, born_ns;
};
void profiled_mark_freed(struct profiled *profiled, const struct known_block *known, size_t count);

/*
 * Index of followed blocks, to look up single ones. `windows` must not have changed since
 * profiled_index(), which returns 0 or -ENOMEM.
 */
struct profile_index {
	VEC(struct known_block) blocks;
};
int profiled_index(const struct profiled *profiled, struct profile_index *index);
bool profile_index_has(const struct profile_index *index, uint64_t address, uint64_t born_ns);

/* Returns the first window due for a look; SIZE_MAX: none. */
size_t profiled_due(const struct profiled *profiled, double now_s);

/*
 * profiled_look_begin() fills requests[], one for each sample of a window; profiled_look_finish()
 * takes the results. `results` may be NULL: the look failed, and this age is skipped.
 */
void profiled_look_begin(const struct profiled *profiled, size_t window,
			 struct look_request *requests);
void profiled_look_finish(struct profiled *profiled, size_t window, double now_s,
			  const struct look_result *results);

#endif
