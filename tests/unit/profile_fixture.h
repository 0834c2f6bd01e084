/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simulated program: sites with blocks of given lifetimes, seen through windows and checks as in
 * a profile. Contents are numbers; a new block at an old address writes its own.
 */
#ifndef LEAKMON_TESTS_PROFILE_FIXTURE_H
#define LEAKMON_TESTS_PROFILE_FIXTURE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "app/profile/profiled.h"
#include "base/cleanup.h"

struct simulated {
	double at_s, dies_s; /* INFINITY: never */
	double writes_s;     /* interval of writes to it; 0: never */
	uint64_t address, size, contents;
	uint32_t site;
	double again_s; /* lifetime of an identical block that replaces a dead one, repeatedly */
	double swapped_from_s, swapped_to_s;
	bool quiet;    /* once dead, its memory stays as it is, */
	bool zeroed;   /* it contains zeros only, and so does the next block at its address */
	bool unmapped; /* its memory goes with it */
	bool chunked;  /* glibc's: while its memory is free, that can be seen */
};

/* Blocks that outlive the window of their birth: the others remain unknown. */
struct program {
	struct {
		struct simulated *items;
		size_t count, capacity;
	} blocks;
	struct hash by_address;	    /* -> index + 1 */
	struct profile_index index; /* kept for its room */
	uint64_t random, next_address;
	size_t room; /* for samples; 0: as many as come */
};

static inline double sim_unit(uint64_t *random)
{
	uint64_t mixed = *random += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return (double)((mixed ^ mixed >> 31) >> 11) / 9007199254740992.0;
}

/* D. E. Knuth's, in pieces: exp(-mean) must not vanish. */
static inline size_t sim_poisson(uint64_t *random, double mean)
{
	size_t count = 0;

	while (mean > 0) {
		double part = fmin(mean, 30), limit = exp(-part), product = sim_unit(random);

		for (; product > limit; product *= sim_unit(random))
			count++;
		mean -= part;
	}
	return count;
}

static inline double sim_exponential(uint64_t *random, double mean)
{
	return -mean * log1p(-sim_unit(random));
}

static inline struct simulated *program_allocate(struct program *program, uint32_t site,
						 double at_s)
{
	struct simulated *block = vec_push(&program->blocks);

	program->next_address += 256;
	*block = (struct simulated){.at_s = at_s,
				    .dies_s = INFINITY,
				    .address = 0x10000 + program->next_address,
				    .size = 100,
				    .contents = program->next_address * 31 + 7,
				    .site = site};
	return block;
}

static inline void program_free(struct program *program)
{
	vec_free(&program->blocks);
	hash_free(&program->by_address);
	vec_free(&program->index.blocks);
}

/* A block born in the window, as the end of the window sees it. */
static inline uint64_t born_ns(const struct simulated *block)
{
	return (uint64_t)(block->at_s * 1e9);
}

/* Contents of an address at a time. */
static inline struct look_result program_look(const struct program *program,
					      const struct look_request *request, double now_s)
{
	const struct simulated *block =
		&program->blocks.items[*hash_get(&program->by_address, request->address) - 1];
	struct look_result result = {.state = LOOK_READ, .hash = block->contents};

	if (block->writes_s > 0)
		result.hash ^= (uint64_t)((now_s - block->at_s) / block->writes_s) << 32;
	if (now_s >= block->dies_s && !block->quiet && !block->again_s)
		result.hash ^= (uint64_t)(block->dies_s * 1e6) | 1;
	if (block->zeroed)
		result = (struct look_result){.state = LOOK_READ, .hash = 99, .uniform = true};
	if (block->chunked) {
		result.chunk = request->find_chunk ? 112 : 0;
		result.freed = request->chunk && now_s >= block->dies_s;
	}
	if (now_s >= block->dies_s && block->unmapped)
		result.state = LOOK_UNMAPPED;
	if (now_s >= block->swapped_from_s && now_s < block->swapped_to_s)
		result = (struct look_result){.state = LOOK_SWAPPED};
	return result;
}

static inline void looks_until(struct profiled *profiled, const struct program *program,
			       double now_s)
{
	size_t window;

	while ((window = profiled_due(profiled, now_s)) != SIZE_MAX) {
		size_t count = profiled->windows.items[window].samples.count;
		struct look_request *requests = calloc(count + 1, sizeof(*requests));
		struct look_result *results = calloc(count + 1, sizeof(*results));
		double at_s = profiled->windows.items[window].end_s +
			      profile_age_s(profiled->windows.items[window].age);

		profiled_look_begin(profiled, window, requests);
		for (size_t i = 0; i < count; i++)
			results[i] = program_look(program, &requests[i], fmin(at_s, now_s));
		profiled_look_finish(profiled, window, fmin(at_s, now_s), results);
		free(requests);
		free(results);
	}
}

/* Whether its memory is freed, or given to another, in that time. */
static inline bool dies_in(const struct simulated *block, double at_s, double end_s)
{
	double next_s = block->dies_s;

	if (block->again_s > 0 && next_s < at_s)
		next_s += ceil((at_s - next_s) / block->again_s) * block->again_s;
	return next_s >= at_s && next_s <= end_s;
}

/*
 * Marks deaths of earlier blocks as a window sees them: blocks that die in it leave the live set.
 */
static inline void program_mark_freed(struct profiled *profiled, struct program *program,
				      double at_s, double end_s)
{
	struct profile_index *index = &program->index;
	size_t left = 0;

	assert_int_equal(profiled_index(profiled, index), 0);
	for (size_t i = 0; i < index->blocks.count; i++) {
		const struct known_block *known = &index->blocks.items[i];
		const struct simulated *block =
			&program->blocks.items[*hash_get(&program->by_address, known->address) - 1];

		if (!dies_in(block, at_s, end_s))
			index->blocks.items[left++] = *known;
	}
	profiled_mark_freed(profiled, index->blocks.items, left);
}

static inline void program_keep(struct program *program, size_t index,
				const struct simulated *block)
{
	program->blocks.items[index] = *block;
	*hash_put(&program->by_address, block->address, NULL) = index + 1;
}

/*
 * A window over the blocks from `first` on, all of which were born in it. Most die in it, and can
 * be forgotten.
 */
static inline void window_over(struct profiled *profiled, struct program *program, size_t first,
			       double at_s, double length_s)
{
	size_t born = program->blocks.count - first, outstanding = 0, births = 0;
	struct window_block *blocks = calloc(born + 1, sizeof(*blocks));
	struct window_births *sums = calloc(born + 1, sizeof(*sums));
	double end_s = at_s + length_s;
	size_t room = program->room > profiled->samples ? program->room - profiled->samples : 0;

	room = program->room ? room : 100000;
	program_mark_freed(profiled, program, at_s, end_s);
	for (size_t i = first; i < program->blocks.count; i++) {
		const struct simulated *block = &program->blocks.items[i];
		size_t j = 0;

		while (j < births && sums[j].site != block->site)
			j++;
		births += j == births;
		sums[j].site = block->site;
		sums[j].blocks++;
		sums[j].bytes += block->size;
		if (block->dies_s <= end_s)
			continue;
		program_keep(program, first + outstanding, block);
		blocks[outstanding++] = (struct window_block){block->address, block->size,
							      born_ns(block), block->site};
	}
	program->blocks.count = first + outstanding;
	assert_int_equal(
		profiled_take(profiled, &(struct window_taken){.at_s = at_s + length_s / 2,
							       .length_s = length_s,
							       .end_s = end_s,
							       .balance = (double)outstanding,
							       .births = sums,
							       .birth_count = births,
							       .blocks = blocks,
							       .block_count = outstanding,
							       .room = room,
							       .site_room = 1000}),
		0);
	profiled->due_s = end_s;
	looks_until(profiled, program, end_s);
	free(blocks);
	free(sums);
}

static inline struct site_judgement judge_site(struct profiled *profiled, uint32_t site)
{
	struct site_judgement judgement = {0};
	uint64_t *index = hash_get(&profiled->by_index, site);

	if (index)
		site_figures_judge(&profiled->sites.items[*index]->figures, &profiled->figures,
				   &judgement);
	return judgement;
}

#endif
