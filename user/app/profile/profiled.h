/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One process under profile: its windows, the blocks of them that are followed, and the figures of
 * its sites. It reads nothing itself: what a window held and what a look found is handed in.
 *
 * Of the blocks of a window and a site so many are followed as there is room for, chosen at random,
 * each weighing as many as it stands for. Later on, fewer will do: half a second's churn is dead
 * by then. What is let go is chosen at random, too, and so changes no figure but by chance. Memory
 * is bounded by whoever calls: `room` and `site_room` of a window, profiled_halve() after it.
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
	SAMPLE_CHANGED, /* written to since, or taken by another: it may be alive */
	SAMPLE_DEAD,
};

struct profile_sample {
	uint64_t address, size, born_ns;
	uint64_t hash; /* of what stood in it at the window's end */
	uint32_t site; /* in profiled.sites */
	float weight;
	uint32_t chunk; /* look_result.chunk */
	uint8_t state;	/* enum sample_state */
	bool telling;	/* no other block has these contents */
	bool absent;	/* nothing stood there: its page was never written */
	bool seen_dead; /* in a later window: counts at the next look */
};

struct sample_window {
	struct profile_window window;
	double end_s;
	size_t age;			    /* the next one to look at */
	VEC(struct profile_sample) samples; /* by site, then by address */
};

struct profile_site {
	uint32_t index;		       /* of bpf_side.sites */
	uint32_t waiting[SAMPLE_DEAD]; /* while a look is finished: count_waiting() */
	uint32_t samples;	       /* profiled_halve()'s */
	struct site_figures figures;
};

/* Contents that were met: one in each place, the latest. */
#define PROFILE_CONTENTS 4096

struct profiled {
	struct process_figures figures;
	VEC(struct profile_site *) sites; /* owned */
	struct hash by_index;		  /* bpf_side.sites -> `sites` */
	VEC(struct sample_window) windows;
	size_t samples; /* in all of them */
	/* Among the blocks that were looked at first, those that have the looks of glibc's malloc,
	 * and the others: where most have, all of it is believed. */
	uint64_t chunks, no_chunks;
	uint64_t unfollowed; /* blocks born in windows at sites for which there was no room */
	double due_s;	     /* when the next look is; INFINITY: none */
	uint64_t random;
	uint64_t *contents; /* hashes by their low bits; owned, NULL until the first window */
};

/* Blocks of one site in a window. */
struct window_births {
	uint32_t site; /* of bpf_side.sites */
	uint64_t blocks, bytes;
};

/* A block that was born in the window and is outstanding at its end. */
struct window_block {
	uint64_t address, size, born_ns;
	uint32_t site;
};

struct window_taken {
	double at_s, length_s, wall_s; /* of births: as struct profile_window */
	double end_s;		       /* when blocks were read */
	double balance;		       /* allocations - frees */
	const struct window_births *births;
	size_t birth_count;
	struct window_block *blocks; /* are brought into another order */
	size_t block_count;
	size_t room;	  /* samples that may be added; at least a few of each site are */
	size_t site_room; /* and sites */
};

void profiled_init(struct profiled *profiled, uint64_t seed);
void profiled_free(struct profiled *profiled);

/*
 * Takes a window, and chooses which blocks are followed: they are the last one of profiled.windows
 * until the next call; profiled_look_finish() with what stands in them is to follow at once.
 * 0 or -ENOMEM.
 */
int profiled_take(struct profiled *profiled, const struct window_taken *taken);

/* Among the sites that have most samples, lets half go, at random: the others weigh twice as much.
 * A site that has few keeps them. Not between the beginning and the end of a look. */
void profiled_halve(struct profiled *profiled);

/* The outstanding blocks of earlier windows that a later one has seen, by ascending address: one
 * that is not among them, or was born at another time, has died. */
struct known_block {
	uint64_t address, born_ns;
};
void profiled_mark_freed(struct profiled *profiled, const struct known_block *known, size_t count);

/* Whether a block is followed. `windows` must not have changed since profiled_index(). */
struct profile_index {
	VEC(struct known_block) blocks;
};
int profiled_index(const struct profiled *profiled, struct profile_index *index);
bool profile_index_has(const struct profile_index *index, uint64_t address, uint64_t born_ns);

/* The first window that is to be looked at by now; SIZE_MAX: none. */
size_t profiled_due(const struct profiled *profiled, double now_s);

/*
 * Where to look: fills requests[] for each sample of a window, which are as many as its samples,
 * and then takes what was seen. `results` may be NULL: it could not be looked at, and this age is
 * left out.
 */
void profiled_look_begin(const struct profiled *profiled, size_t window,
			 struct look_request *requests);
void profiled_look_finish(struct profiled *profiled, size_t window, double now_s,
			  const struct look_result *results);

#endif
