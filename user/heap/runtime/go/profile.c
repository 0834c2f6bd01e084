// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap profile that the runtime keeps (mprof.go): a list of buckets, one for each call stack
 * and size. Each has a hash of these two, which makes it unmistakable. Counts of allocations and
 * frees are those of the last collection; before the first one they are in three more records.
 */
#include "heap/runtime/go/reader.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/text.h"
#include "binary/arch/machine.h"
#include "heap/runtime/go/go.h"
#include "heap/runtime/own_profile.h"

/* bucket: its stack follows, then the record; its first cycle is the published one. */
#define BUCKET_NEXT 8
#define BUCKET_TYPE 16
#define BUCKET_HASH 24
#define BUCKET_SIZE 32
#define BUCKET_DEPTH 40
#define BUCKET_BYTES 48
#define TYPE_MEMORY 1
#define DEPTH_MAX 1024
#define FRAMES_MIN (2u << 20) /* accepted for any size of memory, over all buckets */
#define BYTES_PER_FRAME 32
#define CYCLES 4
#define CYCLE_BYTES_MAX 32
#define OBJECT_BYTES_MAX (1ull << MACHINE_USER_BITS)

#define DEFAULT_RATE (512u << 10) /* runtime.MemProfileRate */

struct bucket {
	uint64_t next, hash, size, depth;
	uint64_t stack[DEPTH_MAX];
	struct heap_sampled allocated[CYCLES], freed[CYCLES];
};

/* mprof.go: stkbucket. */
static uint64_t hash_of(const struct bucket *bucket)
{
	uint64_t hash = 0;

	for (uint64_t i = 0; i < bucket->depth; i++) {
		hash += bucket->stack[i];
		hash += hash << 10;
		hash ^= hash >> 6;
	}
	hash += bucket->size;
	hash += hash << 10;
	hash ^= hash >> 6;
	hash += hash << 3;
	return hash ^ hash >> 11;
}

/* Reads the published counts, and those of the next cycles; bytes are computed from the size if
 * they are not counted. */
static bool read_cycles(const struct go_program *program, uint64_t address, struct bucket *bucket)
{
	size_t size = program->layout->cycle_size;
	uint64_t words[CYCLES * CYCLE_BYTES_MAX / 8];

	if (target_read(program->memory, address, words, CYCLES * size))
		return false;
	for (size_t i = 0; i < CYCLES; i++) {
		const uint64_t *cycle = words + i * size / 8;
		bool bytes = size == CYCLE_BYTES_MAX;

		bucket->allocated[i] =
			(struct heap_sampled){cycle[0], bytes ? cycle[2] : cycle[0] * bucket->size};
		bucket->freed[i] =
			(struct heap_sampled){cycle[1], bytes ? cycle[3] : cycle[1] * bucket->size};
	}
	return true;
}

/* Reads a bucket; returns false if there is none. */
static bool read_bucket(const struct go_program *program, uint64_t address, struct bucket *bucket)
{
	uint64_t words[BUCKET_BYTES / 8];

	if (!address || address % 8 || target_read(program->memory, address, words, sizeof(words)))
		return false;
	bucket->next = words[BUCKET_NEXT / 8];
	bucket->hash = words[BUCKET_HASH / 8];
	bucket->size = words[BUCKET_SIZE / 8];
	bucket->depth = words[BUCKET_DEPTH / 8];
	return words[BUCKET_TYPE / 8] == TYPE_MEMORY && bucket->depth &&
	       bucket->depth <= DEPTH_MAX && bucket->size && bucket->size <= OBJECT_BYTES_MAX &&
	       !target_read(program->memory, address + BUCKET_BYTES, bucket->stack,
			    bucket->depth * 8) &&
	       hash_of(bucket) == bucket->hash &&
	       read_cycles(program, address + BUCKET_BYTES + bucket->depth * 8, bucket);
}

bool go_site_read(const struct go_program *program, uint64_t address, struct go_site *site)
{
	_cleanup_free_ struct bucket *bucket = malloc(sizeof(*bucket));

	if (!bucket || !read_bucket(program, address, bucket))
		return false;
	site->depth = bucket->depth;
	memcpy(site->stack, bucket->stack, bucket->depth * 8);
	return true;
}

/* Returns the first bucket of the list, to which exactly one variable leads; 0: none, or several
 * do. */
static uint64_t find_buckets(const struct go_program *program, struct bucket *bucket)
{
	uint64_t found = 0;

	for (size_t i = 0; i < go_data_words(program); i++) {
		uint64_t word = go_data_word(program, i);

		if (word == found || !read_bucket(program, word, bucket))
			continue;
		if (found)
			return 0;
		found = word;
	}
	return found;
}

/* Returns the sampling rate: if the default is in the program's data, it was not changed. */
static uint64_t find_rate(const struct go_program *program)
{
	for (size_t i = 0; i < go_data_words(program); i++) {
		if (go_data_word(program, i) == DEFAULT_RATE)
			return DEFAULT_RATE;
	}
	return 0;
}

static void add_sampled(struct heap_sampled *to, struct heap_sampled more)
{
	to->objects += more.objects;
	to->bytes += more.bytes;
}

/* Drops the runtime's frames, like pprof: a stack begins with the caller of the runtime. */
static void drop_runtime(struct frames *frames)
{
	size_t first = 0;

	while (first < frames->list.count && frames->list.items[first].function &&
	       text_begins(frames->list.items[first].function, "runtime."))
		first++;
	if (first == frames->list.count)
		return; /* all frames are the runtime's */
	frames->list.count -= first;
	memmove(frames->list.items, frames->list.items + first,
		frames->list.count * sizeof(*frames->list.items));
}

/* Adds a site; before the first collection all cycles count. */
static int add_site(struct go_program *program, const struct bucket *bucket,
		    struct heap_profile *profile, size_t cycles)
{
	struct heap_profile_site site = {.id = hash_mix(bucket->size), .size = bucket->size};
	struct heap_profile_site *kept;
	int error = 0;

	for (size_t i = 0; i < cycles; i++) {
		add_sampled(&site.allocated, bucket->allocated[i]);
		add_sampled(&site.freed, bucket->freed[i]);
	}
	if (site.allocated.objects == site.freed.objects)
		return 0;
	for (uint64_t i = 0; i < bucket->depth; i++)
		site.id = hash_mix(site.id ^ (bucket->stack[i] - program->bias));
	kept = vec_push(&profile->sites);
	if (!kept)
		return -ENOMEM;
	*kept = site;
	for (uint64_t i = 0; !error && i < bucket->depth; i++)
		error = go_frames_append(program, &profile->strings, bucket->stack[i], true,
					 &kept->frames);
	drop_runtime(&kept->frames);
	return error;
}

/* Returns whether a collection has published anything. */
static bool is_published(struct go_program *program, uint64_t first, struct bucket *bucket)
{
	uint64_t at = first;
	struct loop loop = {0};

	while (!loop_found(&loop, at) && read_bucket(program, at, bucket)) {
		if (bucket->allocated[0].objects || bucket->freed[0].objects)
			return true;
		at = bucket->next;
	}
	return false;
}

static int read_buckets(struct go_program *program, struct bucket *bucket,
			struct heap_profile *profile)
{
	uint64_t at = find_buckets(program, bucket), frames = 0;
	uint64_t most = FRAMES_MIN + program->memory->occupied / BYTES_PER_FRAME;
	struct loop loop = {0};
	int error = 0;

	if (!at) {
		profile->why = "it has no heap profile: none was sampled yet, or the linker has "
			       "left it out";
		return 0;
	}
	profile->collected = is_published(program, at, bucket);
	while (!error && at) {
		if (loop_found(&loop, at) || frames > most || !read_bucket(program, at, bucket)) {
			profile->why = target_memory_overworked(program->memory);
			profile->why =
				profile->why ? profile->why : "its heap profile makes no sense";
			break;
		}
		error = add_site(program, bucket, profile, profile->collected ? 1 : CYCLES);
		frames += bucket->depth;
		at = bucket->next;
	}
	return error;
}

int heap_profile_read(const struct maps *maps, struct heap_profile *profile)
{
	struct target_memory memory;
	struct go_program program;
	struct bucket *bucket = calloc(1, sizeof(*bucket));
	int error = bucket ? target_memory_open(maps, NULL, NULL, &memory) : -ENOMEM;

	*profile = (struct heap_profile){.source = "Go", .time_ns = monotonic_ns()};
	if (error) {
		free(bucket);
		return error;
	}
	error = go_program_open(&memory, &program, &profile->why);
	memcpy(profile->version, program.version, sizeof(profile->version));
	if (!error) {
		profile->rate = find_rate(&program);
		go_last_collection(&program, &profile->collections, &profile->collected_ns);
		error = read_buckets(&program, bucket, profile);
	} else if (error == -ENOENT || error == -ENOTSUP) {
		error = 0;
	}
	if (!error)
		heap_profile_estimate(profile);
	go_program_close(&program);
	target_memory_close(&memory);
	free(bucket);
	return error;
}

static int own_go_read(const struct maps *maps, struct heap_profile *profile)
{
	return go_is_program(maps) ? heap_profile_read(maps, profile) : -ENOENT;
}

const struct own_profile_source own_profile_go = {"Go", own_go_read};
