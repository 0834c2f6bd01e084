// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/diagnose/heap_growth.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "app/profile/intervals.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "heap/retain/retain.h"

#define FINE_BYTES 1024u
#define FINE_STEP 16u
#define STEPS 16u /* per doubling */
/*
 * Younger blocks from windows may belong to requests in progress, and each would count for many.
 * With exact tracking they need no exclusion: as many were in progress at the first scan.
 */
#define SETTLED_NS 1500000000ull
/*
 * The share of its growth that a call stack must have allocated in each part of the time. Even
 * growth has a third in each; a burst of one second in 60 affects only one of them.
 */
#define GOES_ON_SHARE 0.1
/* Smaller blocks are numerous enough to be sampled in windows. */
#define CONTAINER_BYTES_MIN (64u << 10)
/* Fewer links between survivors and a block may be chance. */
#define CONTAINER_LINKS_MIN 4

size_t size_class_of(uint64_t bytes)
{
	size_t class = FINE_BYTES / FINE_STEP;
	unsigned doublings;

	if (bytes < FINE_BYTES)
		return bytes / FINE_STEP;
	doublings = 63 - (unsigned)__builtin_clzll(bytes) - 10;
	class += doublings * STEPS + (size_t)((bytes >> (doublings + 6)) & (STEPS - 1));
	return MIN(class, SIZE_CLASSES - 1);
}

static bool is_native(const struct retain *retain, uint32_t block)
{
	return retain->classes.list.items[retain->classes.of_blocks[block]].kind != CLASS_RUNTIME;
}

static bool is_lost(const struct retain *retain, uint32_t block)
{
	return retain->retention.verdicts[block] == VERDICT_LOST;
}

static void total_add(struct retention_total *total, uint64_t bytes)
{
	total->blocks++;
	total->bytes += bytes;
}

static void tally_add(struct size_tally *tally, uint64_t bytes)
{
	total_add(&tally->sizes[size_class_of(bytes)], bytes);
	total_add(&tally->sum, bytes);
}

void heap_tally_take(const struct retain *retain, struct heap_tally *tally)
{
	*tally = (struct heap_tally){.known = retain->allocator && retain->settled};
	for (uint32_t block = 0; block < retain->graph.blocks; block++) {
		uint64_t bytes = retain->graph.sizes[block];

		if (!is_native(retain, block))
			continue;
		tally_add(&tally->all, bytes);
		if (is_lost(retain, block))
			tally_add(&tally->lost, bytes);
	}
}

/* -------- survivors */

static int by_site(const void *left, const void *right)
{
	const struct survivors *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	if (a->size_class != b->size_class)
		return a->size_class < b->size_class ? -1 : 1;
	return a->container - b->container;
}

/* Joins rows of the same call stack and size. */
static void rows_join(struct survivor_list *survivors)
{
	struct survivors *rows = survivors->list.items;
	size_t kept = 0;

	if (!survivors->list.count)
		return;
	qsort(rows, survivors->list.count, sizeof(*rows), by_site);
	for (size_t i = 1; i < survivors->list.count; i++) {
		struct survivors *into = &rows[kept];

		if (by_site(into, &rows[i])) {
			rows[++kept] = rows[i];
			continue;
		}
		into->samples += rows[i].samples;
		into->lost_samples += rows[i].lost_samples;
		into->blocks += rows[i].blocks;
		into->bytes += rows[i].bytes;
		into->lost_blocks += rows[i].lost_blocks;
		into->lost_bytes += rows[i].lost_bytes;
		for (size_t part = 0; part < GROWTH_PARTS; part++)
			into->born[part] += rows[i].born[part];
	}
	survivors->list.count = kept + 1;
}

static size_t part_of(const struct profile_block *block, const struct profile_blocks *blocks,
		      uint64_t now_ns)
{
	uint64_t span_ns = MAX(now_ns - blocks->since_ns, 1);
	uint64_t age_ns = block->born_ns - MIN(blocks->since_ns, block->born_ns);

	return MIN(age_ns * GROWTH_PARTS / span_ns, GROWTH_PARTS - 1);
}

static int rows_add(const struct retain *retain, const struct profile_block *block, uint32_t node,
		    const struct profile_blocks *blocks, uint64_t now_ns,
		    struct survivor_list *survivors)
{
	uint64_t size;
	double weight = (double)block->weight;
	struct survivors *row;
	bool lost;

	if (retain->graph.starts[node] != block->address || !is_native(retain, node))
		return 0;
	row = vec_push(&survivors->list);
	if (!row)
		return -ENOMEM;
	size = retain->graph.sizes[node];
	lost = is_lost(retain, node);
	*row = (struct survivors){.site = block->site,
				  .size_class = (uint32_t)size_class_of(size),
				  .samples = 1,
				  .lost_samples = lost,
				  .blocks = weight,
				  .bytes = weight * (double)size,
				  .lost_blocks = lost ? weight : 0,
				  .lost_bytes = lost ? weight * (double)size : 0};
	row->born[part_of(block, blocks, now_ns)] = row->bytes;
	return 0;
}

/*
 * Returns whether the block is old enough: one younger than the scan may have the address of a
 * block in the scan.
 */
static bool is_in_time(const struct profile_block *block, const struct profile_blocks *blocks,
		       uint64_t now_ns)
{
	return block->born_ns >= blocks->since_ns &&
	       block->born_ns + (blocks->exact ? 0 : SETTLED_NS) < now_ns;
}

/*
 * Adds survivors that were written to since, or that were not; only in sizes not marked in `taken`.
 */
static int rows_add_all(const struct retain *retain, const struct profile_blocks *blocks,
			bool untouched, const bool taken[SIZE_CLASSES], uint64_t now_ns,
			struct survivor_list *survivors)
{
	int error = 0;

	for (size_t i = 0; i < blocks->list.count && !error; i++) {
		const struct profile_block *block = &blocks->list.items[i];
		uint32_t node;

		if (block->untouched != untouched || !is_in_time(block, blocks, now_ns))
			continue;
		node = block_index_find(&retain->graph.index, block->address);
		if (node != BLOCK_NONE && !taken[size_class_of(retain->graph.sizes[node])])
			error = rows_add(retain, block, node, blocks, now_ns, survivors);
	}
	return error;
}

/* -------- containers of survivors */

/* A survivor and a large block, linked by a pointer in either direction. */
struct link {
	uint32_t block, site;
};
struct link_list {
	struct hash sites; /* node of a survivor -> its site */
	VEC(struct link) list;
};

static int by_block(const void *left, const void *right)
{
	const struct link *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	return (a->site > b->site) - (a->site < b->site);
}

static int links_add(struct link_list *links, uint32_t block, uint64_t site)
{
	struct link *link = vec_push(&links->list);

	if (!link)
		return -ENOMEM;
	*link = (struct link){block, (uint32_t)site};
	return 0;
}

static bool is_container(const struct retain *retain, const struct link_list *links, uint32_t node)
{
	return node < retain->graph.blocks && retain->graph.sizes[node] >= CONTAINER_BYTES_MIN &&
	       is_native(retain, node) && !hash_get(&links->sites, node);
}

/* Adds the links of a node by its pointers. */
static int links_of(const struct retain *retain, uint32_t node, struct link_list *links)
{
	const struct graph *graph = &retain->graph.graph;
	const uint64_t *site = hash_get(&links->sites, node);
	int error = 0;

	if (!site && !is_container(retain, links, node))
		return 0;
	for (uint32_t i = graph->first[node]; i < graph->first[node + 1] && !error; i++) {
		uint32_t target = graph->targets[i];
		const uint64_t *other = site ? NULL : hash_get(&links->sites, target);

		if (site && is_container(retain, links, target))
			error = links_add(links, target, *site);
		else if (other)
			error = links_add(links, node, *other);
	}
	return error;
}

/* Divides a container among the call stacks in proportion to their links with it. */
static int container_add(const struct retain *retain, const struct link *first, size_t links,
			 size_t all, struct survivor_list *survivors)
{
	uint64_t size = retain->graph.sizes[first->block];
	double share = (double)links / (double)all;
	struct survivors *row;

	if (links < CONTAINER_LINKS_MIN)
		return 0;
	row = vec_push(&survivors->list);
	if (!row)
		return -ENOMEM;
	*row = (struct survivors){.site = first->site,
				  .size_class = (uint32_t)size_class_of(size),
				  .container = true,
				  .samples = 1,
				  .blocks = share,
				  .bytes = share * (double)size};
	if (is_lost(retain, first->block)) {
		row->lost_samples = 1;
		row->lost_blocks = row->blocks;
		row->lost_bytes = row->bytes;
	}
	return 0;
}

/* Adds all links with one container, by site. */
static int containers_add(const struct retain *retain, const struct link *links, size_t count,
			  struct survivor_list *survivors)
{
	size_t begin = 0;
	int error = 0;

	for (size_t i = 1; i <= count && !error; i++) {
		if (i < count && links[i].site == links[begin].site)
			continue;
		error = container_add(retain, &links[begin], i - begin, count, survivors);
		begin = i;
	}
	return error;
}

static int containers_find(const struct retain *retain, const struct profile_blocks *blocks,
			   uint64_t now_ns, struct survivor_list *survivors)
{
	struct link_list links = {0};
	size_t end;
	int error = 0;

	for (size_t i = 0; i < blocks->list.count && !error; i++) {
		const struct profile_block *block = &blocks->list.items[i];
		uint32_t node = block_index_find(&retain->graph.index, block->address);
		uint64_t *site;

		if (node == BLOCK_NONE || retain->graph.starts[node] != block->address ||
		    !is_in_time(block, blocks, now_ns))
			continue;
		site = hash_put(&links.sites, node, NULL);
		if (!site)
			error = -ENOMEM;
		else
			*site = block->site;
	}
	for (uint32_t node = 0; links.sites.count && node < retain->graph.blocks && !error; node++)
		error = links_of(retain, node, &links);
	if (links.list.count)
		qsort(links.list.items, links.list.count, sizeof(*links.list.items), by_block);
	for (size_t i = 0; i < links.list.count && !error; i = end) {
		for (end = i + 1; end < links.list.count &&
				  links.list.items[end].block == links.list.items[i].block;)
			end++;
		error = containers_add(retain, &links.list.items[i], end - i, survivors);
	}
	hash_free(&links.sites);
	vec_free(&links.list);
	return error;
}

/*
 * A block from a window that was written to may have been reused: such blocks count only in sizes
 * where all were written to, such as nodes of a list.
 */
int survivors_find(const struct retain *retain, const struct profile_blocks *blocks,
		   uint64_t now_ns, struct survivor_list *survivors)
{
	bool taken[SIZE_CLASSES] = {false};
	int error;

	*survivors = (struct survivor_list){.exact = blocks->exact};
	error = rows_add_all(retain, blocks, true, taken, now_ns, survivors);
	for (size_t i = 0; i < survivors->list.count; i++)
		taken[survivors->list.items[i].size_class] = true;
	if (!error)
		error = rows_add_all(retain, blocks, false, taken, now_ns, survivors);
	if (!error && !blocks->exact)
		error = containers_find(retain, blocks, now_ns, survivors);
	rows_join(survivors);
	return error;
}

/* -------- division */

static double class_growth(const struct size_tally *first, const struct size_tally *last,
			   size_t class)
{
	return (double)last->sizes[class].bytes - (double)first->sizes[class].bytes;
}

static double row_bytes(const struct survivors *row, bool lost)
{
	return lost ? row->lost_bytes : row->bytes;
}

static size_t row_samples(const struct survivors *row, bool lost)
{
	return lost ? row->lost_samples : row->samples;
}

/* One size: its survivors, and the part of its growth that counts. */
struct size_share {
	double grown, bytes;
	size_t samples;
};

static void site_add(struct site_growth *site, const struct survivors *row, double bytes,
		     const struct size_share *size, bool exact)
{
	double share = bytes / size->bytes;
	struct interval limits = interval_share(share, (double)size->samples);
	double part = share * size->grown;

	/* The upper limit is the block bytes allocated since and still present; the lower, the
	 * growth that others did not allocate. */
	if (exact)
		limits = (struct interval){
			share, fmax(size->grown - (size->bytes - bytes), 0) / size->grown,
			fmin(bytes / size->grown, 1)};
	site->bytes += exact ? fmin(part, bytes) : part;
	site->low += limits.low * size->grown;
	site->high += limits.high * size->grown;
	site->blocks += row->blocks * part / row->bytes;
	site->samples += row->samples;
	site->lost_samples += row->lost_samples;
	for (size_t i = 0; i < GROWTH_PARTS; i++)
		site->born[i] += row->born[i] * part / row->bytes;
}

static int by_bytes(const void *left, const void *right)
{
	const struct site_growth *a = left, *b = right;

	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

static int divide_rows(const struct survivor_list *survivors, const struct size_share *sizes,
		       bool lost, struct heap_growth *growth)
{
	struct site_growth *site = NULL;

	for (size_t i = 0; i < survivors->list.count; i++) {
		const struct survivors *row = &survivors->list.items[i];

		double bytes = row_bytes(row, lost);

		if (sizes[row->size_class].grown <= 0 || bytes <= 0)
			continue;
		if (!site || site->site != row->site) {
			site = vec_push(&growth->sites);
			if (!site)
				return -ENOMEM;
			site->site = row->site;
		}
		site_add(site, row, bytes, &sizes[row->size_class], survivors->exact);
	}
	if (growth->sites.count)
		qsort(growth->sites.items, growth->sites.count, sizeof(*growth->sites.items),
		      by_bytes);
	return 0;
}

/*
 * Corrects for resized blocks, which left one size and entered another: shares relate to the net
 * growth.
 */
static void scale(struct heap_growth *growth, double factor)
{
	growth->unexplained *= factor;
	for (size_t i = 0; i < growth->sites.count; i++) {
		struct site_growth *site = &growth->sites.items[i];

		site->bytes *= factor;
		site->low *= factor;
		site->high *= factor;
		site->blocks *= factor;
		for (size_t part = 0; part < GROWTH_PARTS; part++)
			site->born[part] *= factor;
	}
}

int heap_growth_divide(const struct heap_tally *first_heap, const struct heap_tally *last_heap,
		       const struct survivor_list *survivors, bool lost, struct heap_growth *growth)
{
	const struct size_tally *first = lost ? &first_heap->lost : &first_heap->all;
	const struct size_tally *last = lost ? &last_heap->lost : &last_heap->all;
	_cleanup_free_ struct size_share *sizes = calloc(SIZE_CLASSES, sizeof(*sizes));
	double risen = 0;
	int error;

	if (!sizes)
		return -ENOMEM;
	if (!first_heap->known || !last_heap->known)
		return 0;
	growth->known = growth->counted = true;
	growth->exact = survivors->exact;
	growth->bytes = (double)last->sum.bytes - (double)first->sum.bytes;
	for (size_t i = 0; i < survivors->list.count; i++) {
		const struct survivors *row = &survivors->list.items[i];

		/* Large blocks of one size are few, and some of them have no known owner. */
		if (row->container)
			sizes[row->size_class].bytes =
				fmax(sizes[row->size_class].bytes,
				     (double)last->sizes[row->size_class].bytes);
		else
			sizes[row->size_class].bytes += row_bytes(row, lost);
		sizes[row->size_class].samples += row_samples(row, lost);
	}
	for (size_t class = 0; class < SIZE_CLASSES; class ++) {
		struct size_share *size = &sizes[class];

		size->grown = fmax(class_growth(first, last, class), 0);
		risen += size->grown;
		if (survivors->exact)
			growth->unexplained += fmax(size->grown - size->bytes, 0);
		else if (size->bytes <= 0)
			growth->unexplained += size->grown;
	}
	error = divide_rows(survivors, sizes, lost, growth);
	if (!error && risen > fmax(growth->bytes, 0))
		scale(growth, fmax(growth->bytes, 0) / risen);
	return error;
}

int heap_growth_track(const struct profile_blocks *blocks, uint64_t now_ns,
		      struct heap_growth *growth)
{
	_cleanup_free_ struct size_share *sizes = calloc(SIZE_CLASSES, sizeof(*sizes));
	struct survivor_list survivors = {.exact = true};
	int error = sizes ? 0 : -ENOMEM;

	for (size_t i = 0; i < blocks->list.count && !error; i++) {
		const struct profile_block *block = &blocks->list.items[i];
		size_t class = size_class_of(block->size);
		struct survivors *row = vec_push(&survivors.list);

		if (!row) {
			error = -ENOMEM;
			break;
		}
		*row = (struct survivors){.site = block->site,
					  .size_class = (uint32_t) class,
					  .samples = 1,
					  .blocks = 1,
					  .bytes = (double)MAX(block->size, 1)};
		row->born[part_of(block, blocks, now_ns)] = row->bytes;
		sizes[class].grown += row->bytes;
		sizes[class].bytes += row->bytes;
		sizes[class].samples++;
		growth->bytes += row->bytes;
	}
	rows_join(&survivors);
	if (!error)
		error = divide_rows(&survivors, sizes, false, growth);
	growth->known = growth->exact = !error;
	vec_free(&survivors.list);
	return error;
}

void site_growth_join(struct site_growth *into, const struct site_growth *site)
{
	into->bytes += site->bytes;
	into->low += site->low;
	into->high += site->high;
	into->blocks += site->blocks;
	into->samples += site->samples;
	into->lost_samples += site->lost_samples;
	for (size_t i = 0; i < GROWTH_PARTS; i++)
		into->born[i] += site->born[i];
}

bool site_growth_goes_on(const struct site_growth *site)
{
	double all = 0;

	for (size_t i = 0; i < GROWTH_PARTS; i++)
		all += site->born[i];
	for (size_t i = 0; i < GROWTH_PARTS; i++) {
		if (site->born[i] < all * GOES_ON_SHARE)
			return false;
	}
	return all > 0;
}
