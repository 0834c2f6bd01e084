// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * jemalloc's heap, read from outside. A radix tree, with its root in the module's zeroed data,
 * leads from the first and last page of every extent (of slabs: from every page) to the extent's
 * record, which tells its use, and the free regions of a slab. The arenas, in an array beside it,
 * list the caches of threads, and the memory of the records themselves.
 *
 * The root is recognised by its leaves: a leaf's elements lead to records of the very pages that
 * the elements represent, in this layout.
 *
 * The structures differ in size with every version, and with build options. So offsets are found by
 * consistency: the first arena's base counts as many bytes as its blocks have, one of which
 * contains it; arenas lead to their base, which knows their number; rings of descriptors close, and
 * lead to consecutive bins; and one word summed over all arenas equals the bytes of jemalloc's own
 * blocks.
 *
 * Source: jemalloc 5.2.0 to 5.3.1, rtree.h, edata.h (extent_structs.h), cache_bin.h, base.h,
 * arena_structs.h, bitmap.h, sc.c. jemalloc's page size is fixed at build time, whatever the
 * kernel's is: Debian's packages have 64 KiB for processors whose kernels differ in it, else 4 KiB.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "binary/arch/machine.h"
#include "heap/allocators/heap_reader.h"

/* Limits over all the layouts below. */
#define MIN_PAGE_SHIFT 12
#define MAX_PAGE_SHIFT 16
/*
 * All levels of the tree cover equally many bits of an address. There are three levels if jemalloc
 * was built on a machine with addresses of 57 bits (configure asks the processor); then a leaf's
 * element has its flags in a separate word (rtree.h: RTREE_HEIGHT, RTREE_LEAF_COMPACT).
 */
#define LEVEL_BITS(page_shift) ((MACHINE_ALLOCATOR_BITS - (page_shift)) / 2)
#define LONG_ADDRESS_BITS 57
#define LONG_LEVEL_BITS(page_shift) ((LONG_ADDRESS_BITS - (page_shift)) / 3)
#define MAX_NODE_BYTES (8ull << LEVEL_BITS(MIN_PAGE_SHIFT))
#define MAX_NODE_PAGES (MAX_NODE_BYTES / MEMORY_PAGE)
/* The root of the smallest tree. */
#define MIN_ROOT_BYTES (8ull << LONG_LEVEL_BITS(MIN_PAGE_SHIFT))
/* The smallest region has 8 bytes. */
#define REGIONS_SHIFT(page_shift) ((page_shift)-3u)

#define RECORD_WORDS 16 /* initially read: a longer bitmap continues after them */
#define RECORD_BITMAP 8 /* words before it */
#define MAX_BITMAP_WORDS ((1u << REGIONS_SHIFT(MAX_PAGE_SHIFT)) / 64)
#define MAX_ARENAS 4095

/* Limit over all arenas together, and over all words that may lead to one. */
#define MAX_BASE_BLOCKS (1u << 20)
#define MAX_CACHES 65536
#define MAX_CACHE_BINS 235

/* Upper limits of struct base_s and struct arena_s. */
#define BASE_BYTES 6144u
#define ARENA_BYTES (128u << 10)
#define MAX_BASE_BLOCKS_AT 512 /* upper limit of the offset of a base's blocks */
#define MAX_BASE_PLACES 8      /* in one arena */
#define INTERNAL_WITHIN 512    /* bytes of an arena */
#define SMALL_OWN_BYTES 96     /* for each cache, at most */
#define MAX_CACHED 8192

/*
 * Records of a leaf examined before its layout is accepted, and slabs, whose own numbers must
 * agree.
 */
#define TRIALS 128
/* The process runs during the read: one record in this many may be inconsistent. */
#define TOLERANCE 8
/* Beyond this it is no heap, or one that changes too fast. */
#define MAX_BROKEN 65536

enum cache_shape {
	CACHE_BY_HEAD, /* 5.3: a stack of pointers, whose ends are known by their low bits */
	CACHE_BY_COUNT /* 5.2: below `avail` */
};

struct jemalloc_layout {
	bool long_addresses;
	uint8_t page_shift;    /* --with-lg-page */
	uint8_t quantum_shift; /* --with-lg-quantum */
	uint8_t state_shift, state_bits, class_shift, free_shift;
	uint8_t huge_bit; /* for pages of the huge page allocator; 0: none */
	uint64_t element_flags;
	enum cache_shape caches;
};

#define LAYOUT_5_3                                                                                 \
	.state_shift = 17, .state_bits = 3, .class_shift = 20, .free_shift = 28, .huge_bit = 14,   \
	.element_flags = 127, .caches = CACHE_BY_HEAD
#define LAYOUT_5_2                                                                                 \
	.state_shift = 16, .state_bits = 2, .class_shift = 18, .free_shift = 26,                   \
	.element_flags = 1, .caches = CACHE_BY_COUNT

/* Variants by configure options; offsets in its structures are found at run time. */
static const struct jemalloc_layout layouts[] = {
	{LAYOUT_5_3, .page_shift = 12, .quantum_shift = 4},
	{LAYOUT_5_3, .page_shift = 12, .quantum_shift = 3},
	{LAYOUT_5_3, .page_shift = 12, .quantum_shift = 4, .long_addresses = true},
	{LAYOUT_5_3, .page_shift = 12, .quantum_shift = 3, .long_addresses = true},
	{LAYOUT_5_3, .page_shift = 16, .quantum_shift = 4},
	{LAYOUT_5_2, .page_shift = 12, .quantum_shift = 4},
	{LAYOUT_5_2, .page_shift = 12, .quantum_shift = 3},
	{LAYOUT_5_2, .page_shift = 16, .quantum_shift = 4},
};

static uint64_t page_bytes(const struct jemalloc_layout *layout)
{
	return 1ull << layout->page_shift;
}

static uint32_t level_bits(const struct jemalloc_layout *layout)
{
	return layout->long_addresses ? LONG_LEVEL_BITS(layout->page_shift)
				      : LEVEL_BITS(layout->page_shift);
}

/* Returns the number of elements in a node of any level. */
static uint32_t places(const struct jemalloc_layout *layout)
{
	return 1u << level_bits(layout);
}

/* Returns the words of a leaf's element; other elements have one. */
static uint32_t leaf_words(const struct jemalloc_layout *layout)
{
	return layout->long_addresses ? 2 : 1;
}

static uint64_t leaf_bytes(const struct jemalloc_layout *layout)
{
	return places(layout) * leaf_words(layout) * 8ull;
}

/* Returns the bytes of the root, and of a node between it and the leaves. */
static uint64_t node_bytes(const struct jemalloc_layout *layout)
{
	return places(layout) * 8ull;
}

/* Returns the size of the address range that a leaf covers. */
static uint64_t leaf_span(const struct jemalloc_layout *layout)
{
	return 1ull << (layout->page_shift + level_bits(layout));
}

/* Returns the smallest size without slabs. */
static uint64_t min_large(const struct jemalloc_layout *layout)
{
	return 4ull << layout->page_shift;
}

/* Returns the number of sizes below min_large(). */
static uint32_t small_classes(const struct jemalloc_layout *layout)
{
	return 4u * (layout->page_shift - layout->quantum_shift) + layout->quantum_shift;
}

/* Size classes: four to each doubling, from the quantum on (sc.c). */
static uint64_t class_size(const struct jemalloc_layout *layout, uint32_t class)
{
	uint32_t quantum = layout->quantum_shift, tiny = quantum - 3, group, place;

	if (class < tiny)
		return 8ull << class;
	group = (class - tiny) / 4;
	place = (class - tiny) % 4;
	if (group == 0)
		return (place + 1ull) << quantum;
	if (group > 40)
		return 0;
	return (4ull + place + 1) << (quantum + group - 1);
}

/* An extent's record. */
struct record {
	uint64_t start, end, first, block;
	uint32_t regions, unused; /* of a slab */
	uint32_t arena, state;
	bool slab, huge;
	uint64_t bitmap[MAX_BITMAP_WORDS]; /* a bit for each region that is free */
};

/*
 * Offsets in struct base_s and struct arena_s; arena_caches 0: no arena has any. They change with
 * every version and with its build options.
 */
struct places {
	uint32_t base_blocks, base_allocated, base_mapped;
	uint32_t arena_base, arena_caches;
};

struct jemalloc {
	const struct jemalloc_layout *layout;
	struct places places;
	uint64_t root, arenas; /* arenas: an array; 0: not found */
	char version[HEAP_VERSION_MAX];
};

enum extent_state { EXTENT_ACTIVE, EXTENT_DIRTY, EXTENT_MUZZY, EXTENT_RETAINED };

struct reading {
	struct peek *peek;
	const struct filter *heaps;
	const struct jemalloc_layout *layout;
	struct places places;
	struct heap *heap;
	uint32_t base_blocks; /* number examined */
	bool huge;
	bool padded; /* large blocks have an extra page, in which they begin anywhere */
};

/* Words after the last region's are undefined. */
static bool bitmap_holds(const struct record *record)
{
	uint32_t set = 0, last = (record->regions - 1) / 64;
	uint64_t beyond = record->regions % 64 ? UINT64_MAX << record->regions % 64 : 0;

	for (uint32_t i = 0; i <= last; i++)
		set += (uint32_t)__builtin_popcountll(record->bitmap[i]);
	return set == record->unused && !(record->bitmap[last] & beyond);
}

/* A bitmap of more than 512 bits is the first level of a tree of bitmaps (BITMAP_USE_TREE). */
static int read_slab(const struct reading *reading, uint64_t address, struct record *record)
{
	uint64_t bytes = record->end - record->start, words;
	int error = 0;

	if (record->block >= min_large(reading->layout) || bytes % record->block ||
	    bytes / record->block > 1ull << REGIONS_SHIFT(reading->layout->page_shift) ||
	    record->first != record->start)
		return -EBADMSG;
	record->regions = (uint32_t)(bytes / record->block);
	words = RECORD_BITMAP + (record->regions + 63) / 64;
	if (words > RECORD_WORDS)
		error = peek_words(reading->peek, address + RECORD_WORDS * 8,
				   record->bitmap + RECORD_WORDS - RECORD_BITMAP,
				   words - RECORD_WORDS);
	if (error)
		return error;
	return bitmap_holds(record) ? 0 : -EBADMSG;
}

/*
 * 5.3.1 has large blocks of every number of pages (opt.disable_large_size_classes); their class is
 * the next one above. Each has an extra page, in which it begins anywhere (opt.cache_oblivious).
 */
static uint64_t large_bytes(const struct reading *reading, const struct record *record)
{
	uint64_t bytes = record->end - record->start, page = page_bytes(reading->layout);

	return record->block >= min_large(reading->layout) && bytes > page ? bytes - page : 0;
}

static int read_active(const struct reading *reading, uint64_t address, struct record *record)
{
	if (!record->block || !filter_has(reading->heaps, record->start) ||
	    !filter_has(reading->heaps, record->end - 1))
		return -EBADMSG;
	if (record->slab)
		return read_slab(reading, address, record);
	record->regions = 1;
	if (record->block > record->end - record->first)
		record->block = large_bytes(reading, record);
	return record->block && record->block <= record->end - record->first ? 0 : -EBADMSG;
}

static uint32_t field(uint64_t bits, uint32_t shift, uint32_t width)
{
	return (uint32_t)(bits >> shift & ((1ull << width) - 1));
}

/* Returns 0; -EBADMSG: inconsistent; -EFAULT; -ETIMEDOUT. */
static int read_record(const struct reading *reading, uint64_t address, struct record *record)
{
	const struct jemalloc_layout *layout = reading->layout;
	uint64_t words[RECORD_WORDS], bits, bytes;
	int error = address % 64 || !filter_has(reading->heaps, address)
			    ? -EBADMSG
			    : peek_words(reading->peek, address, words, RECORD_WORDS);

	if (error)
		return error;
	bits = words[0];
	bytes = words[2] & ~(page_bytes(layout) - 1);
	record->start = words[1] & ~(page_bytes(layout) - 1);
	record->end = record->start + bytes;
	record->first = words[1];
	record->arena = field(bits, 0, 12);
	record->slab = field(bits, 12, 1);
	record->huge = layout->huge_bit && field(bits, layout->huge_bit, 1);
	record->state = field(bits, layout->state_shift, layout->state_bits);
	record->unused = field(bits, layout->free_shift, REGIONS_SHIFT(layout->page_shift) + 1);
	record->block = class_size(layout, field(bits, layout->class_shift, 8));
	record->regions = 0;
	memcpy(record->bitmap, words + RECORD_BITMAP, sizeof(words) - RECORD_BITMAP * 8);
	if (!record->start || !bytes || record->start >= 1ull << MACHINE_USER_BITS ||
	    bytes >= 1ull << MACHINE_USER_BITS || record->arena >= MAX_ARENAS)
		return -EBADMSG;
	return record->state == EXTENT_ACTIVE ? read_active(reading, address, record) : 0;
}

static uint64_t element_record(const struct jemalloc_layout *layout, uint64_t element)
{
	return element & ((1ull << MACHINE_ALLOCATOR_BITS) - 1) & ~layout->element_flags;
}

/*
 * Returns the page that the i-th element of a leaf represents, if the record is of that page; else
 * 0.
 */
static uint64_t page_of(const struct jemalloc_layout *layout, const struct record *record,
			uint32_t i)
{
	uint64_t span = leaf_span(layout);
	uint64_t page = (record->start & ~(span - 1)) | (uint64_t)i << layout->page_shift;

	if (page < record->start)
		page += span;
	return page < record->end ? page : 0;
}

/* Nodes of the tree are hardly ever fully resident. */

struct node {
	uint64_t address;
	uint32_t words; /* per element */
	bool has_entries;
	uint64_t entries[MAX_NODE_PAGES + 1]; /* of pagemap */
	bool swapped;
	/* The page read last: elements [from, to), by words. */
	uint64_t elements[MEMORY_PAGE / 8];
	uint32_t from, to;
};

/* Initialises it before any of its pages is read. */
static void node_begin(uint64_t address, uint32_t words, struct node *node)
{
	node->address = address;
	node->words = words;
	node->has_entries = node->swapped = false;
	node->from = node->to = 0;
}

static void node_know_pages(const struct reading *reading, struct node *node)
{
	uint64_t pages = places(reading->layout) * node->words * 8ull / MEMORY_PAGE + 1;

	node->has_entries = true;
	pagemap_read(reading->peek->source, reading->peek->pagemap,
		     node->address & ~(MEMORY_PAGE - 1), node->entries, pages);
	for (size_t i = 0; i < pages; i++)
		node->swapped |= pagemap_is_swapped(node->entries[i]);
}

static void node_open(const struct reading *reading, uint64_t address, uint32_t words,
		      struct node *node)
{
	node_begin(address, words, node);
	node_know_pages(reading, node);
}

/*
 * Loads a page's elements from the i-th on into `elements`. For most candidate words, the first
 * page shows that they lead to no node, and no other page is read.
 */
static void node_load(const struct reading *reading, struct node *node, uint32_t i)
{
	uint64_t at = node->address + i * 8ull * node->words;
	uint64_t first = node->address & ~(MEMORY_PAGE - 1);
	uint64_t left = (MEMORY_PAGE - at % MEMORY_PAGE) / 8 / node->words;
	uint32_t count = (uint32_t)MIN(left, (uint64_t)(places(reading->layout) - i));

	node->from = i;
	node->to = i + count;
	if (!node->has_entries && at - first >= MEMORY_PAGE)
		node_know_pages(reading, node);
	if ((node->has_entries && !pagemap_is_present(node->entries[(at - first) / MEMORY_PAGE])) ||
	    peek_words(reading->peek, at, node->elements, (size_t)count * node->words))
		memset(node->elements, 0, sizeof(node->elements));
}

/* Returns the next nonzero element from *i on; false: none. */
static bool node_next(const struct reading *reading, struct node *node, uint32_t *i,
		      uint64_t *element)
{
	uint32_t end = places(reading->layout);

	for (; *i < end; (*i)++) {
		if (*i < node->from || *i >= node->to)
			node_load(reading, node, *i);
		*element = node->elements[(*i - node->from) * node->words];
		if (*element)
			return true;
	}
	return false;
}

/* Returns the next record that a leaf leads to; a removed one leaves only its class. */
static bool leaf_next(const struct reading *reading, struct node *leaf, uint32_t *i,
		      uint64_t *record)
{
	uint64_t element;

	for (; node_next(reading, leaf, i, &element); (*i)++) {
		*record = element_record(reading->layout, element);
		if (*record)
			return true;
	}
	return false;
}

/* -------- finding the tree */

/*
 * Returns how many slabs of a leaf are consistent, in the reading's layout; 0: it is no leaf.
 * *number gets the leaf's index.
 */
static uint32_t leaf_holds(const struct reading *reading, struct node *leaf, uint64_t *number)
{
	uint32_t good = 0, bad = 0, slabs = 0, i = 0;
	uint64_t address, found = UINT64_MAX, span = leaf_span(reading->layout);

	for (; (good + bad < TRIALS || !slabs) && leaf_next(reading, leaf, &i, &address); i++) {
		struct record record;
		uint64_t page = 0;

		if (!read_record(reading, address, &record))
			page = page_of(reading->layout, &record, i);
		if (page && found == UINT64_MAX)
			found = page / span;
		if (page && page / span == found)
			good++;
		else if (++bad > good / TOLERANCE + 2)
			return 0;
		slabs += page && record.slab && record.state == EXTENT_ACTIVE;
	}
	*number = found;
	return bad <= good / TOLERANCE ? slabs : 0;
}

/* A node's address is a multiple of the cache line size (base_alloc()). */
static bool may_be_node(const struct reading *reading, uint64_t address, uint64_t bytes)
{
	return address && address % 64 == 0 && filter_has(reading->heaps, address) &&
	       filter_has(reading->heaps, address + bytes - 1);
}

struct search {
	struct reading reading;
	uint64_t start, end; /* of a module's data */
	uint64_t base;	     /* of the first arena */
	uint64_t arenas;     /* match_arenas() of found->arenas */
	struct node node, middle;
	/* Words that lead to no node, and to no arena: a module's data repeats them. */
	struct hash tried, tried_arenas;
	struct jemalloc *found;
};

static uint32_t leaf_at(struct search *search, uint64_t address, uint64_t *number)
{
	const struct jemalloc_layout *layout = search->reading.layout;

	node_begin(address, leaf_words(layout), &search->node);
	return may_be_node(&search->reading, address, leaf_bytes(layout))
		       ? leaf_holds(&search->reading, &search->node, number)
		       : 0;
}

/* Leaves of a node examined until one is consistent: new ones have few records. */
#define LEAF_TRIALS 64

/*
 * Checks a node between the root and leaves of three levels: one of its leaves must cover the
 * addresses that its index implies. *number gets its index in the root.
 */
static uint32_t middle_at(struct search *search, uint64_t address, uint64_t *number)
{
	const struct jemalloc_layout *layout = search->reading.layout;
	uint32_t i = 0, trials = 0, slabs;
	uint64_t leaf;

	if (!may_be_node(&search->reading, address, node_bytes(layout)))
		return 0;
	node_begin(address, 1, &search->middle);
	for (; trials < LEAF_TRIALS && node_next(&search->reading, &search->middle, &i, &leaf);
	     i++, trials++) {
		slabs = leaf_at(search, leaf, number);
		if (!slabs)
			continue;
		if (*number % places(layout) != i)
			return 0;
		*number /= places(layout);
		return slabs;
	}
	return 0;
}

/*
 * Tries a word that may be the root's pointer to a node. Of several layouts, the one with most
 * consistent slabs: a wrong one may have a few.
 */
static bool try_node(struct search *search, uint64_t at, uint64_t node)
{
	uint32_t most = 0, slabs;
	uint64_t number, root;
	bool holds = false;

	if (hash_get(&search->tried, node))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		search->reading.layout = &layouts[i];
		slabs = (layouts[i].long_addresses ? middle_at : leaf_at)(search, node, &number);
		if (!slabs)
			continue;
		holds = true;
		root = at - number * 8;
		if (slabs <= most || root < search->start || root > at ||
		    root + node_bytes(&layouts[i]) > search->end)
			continue;
		most = slabs;
		search->found->root = root;
		search->found->layout = &layouts[i];
	}
	/* If out of memory for that, it is retried. */
	if (!holds)
		hash_put(&search->tried, node, NULL);
	return most > 0;
}

/* An arena's own memory (struct base_s), which contains its records. */
struct base {
	uint32_t arena;
	uint64_t address, blocks, allocated, mapped;
};

/*
 * Walks the blocks of a base, itself in one of them. They become runs if `keep`. Returns 0;
 * -EBADMSG: their bytes differ from its count; -ENOMEM.
 */
static int walk_base(struct reading *reading, const struct base *base, bool keep)
{
	uint64_t at = base->blocks, sum = 0, words[2];
	bool inside = false;

	while (at) {
		struct heap_run run = {.start = at, .use = RUN_OWN};

		if (++reading->base_blocks > MAX_BASE_BLOCKS || at % MEMORY_PAGE ||
		    !filter_has(reading->heaps, at) || peek_words(reading->peek, at, words, 2) ||
		    !words[0] || words[0] % MEMORY_PAGE || words[0] > base->mapped - sum ||
		    !filter_has(reading->heaps, at + words[0] - 1))
			return -EBADMSG;
		run.end = at + words[0];
		inside |= base->address >= run.start && base->address < run.end;
		if (keep && heap_add(reading->heap, &run))
			return -ENOMEM;
		sum += words[0];
		at = words[1];
	}
	return inside && sum == base->mapped ? 0 : -EBADMSG;
}

static bool may_be_base(const struct reading *reading, uint64_t address)
{
	return address && address % 16 == 0 && filter_has(reading->heaps, address) &&
	       filter_has(reading->heaps, address + BASE_BYTES - 1);
}

/* Reads the base of the arena at an address. Returns 0 or -EBADMSG: no arena. */
static int read_base(struct reading *reading, uint64_t arena, struct base *base)
{
	const struct places *places = &reading->places;
	uint64_t number, resident;

	if (arena % 64 || !filter_has(reading->heaps, arena) ||
	    peek_words(reading->peek, arena + places->arena_base, &base->address, 1) ||
	    !may_be_base(reading, base->address) ||
	    peek_words(reading->peek, base->address, &number, 1) ||
	    peek_words(reading->peek, base->address + places->base_blocks, &base->blocks, 1) ||
	    peek_words(reading->peek, base->address + places->base_allocated, &base->allocated,
		       1) ||
	    peek_words(reading->peek, base->address + places->base_mapped - 8, &resident, 1) ||
	    peek_words(reading->peek, base->address + places->base_mapped, &base->mapped, 1))
		return -EBADMSG;
	base->arena = (uint32_t)number;
	if (base->allocated > resident || resident > base->mapped ||
	    base->mapped >= 1ull << MACHINE_USER_BITS)
		return -EBADMSG;
	return walk_base(reading, base, false);
}

/*
 * Rates an address as the array of arenas, each of which knows its index: by the number of arenas,
 * then by the array's length, because other variables lead to the first arena, too (a0).
 */
static uint64_t match_arenas(struct reading *reading, uint64_t array, uint64_t end)
{
	uint64_t count = 0, i = 0;

	for (; i < MAX_ARENAS && array + i * 8 + 8 <= end; i++) {
		struct base base;
		uint64_t arena;

		if (peek_words(reading->peek, array + i * 8, &arena, 1))
			break;
		if (!arena)
			continue;
		if (read_base(reading, arena, &base) || base.arena != i)
			break;
		count++;
	}
	return count << 32 | i;
}

/* Words of a module's data that may point to heaps. */
struct word_visit {
	struct search *search;
	/* returns true to end the search */
	bool (*visit)(struct search *search, uint64_t at, uint64_t word);
	uint64_t alignment; /* of their targets */
	size_t tries;
};

static bool visit_page(void *context, uint64_t page, const uint64_t *values)
{
	struct word_visit *words = context;
	struct search *search = words->search;

	for (size_t i = 0; i < MEMORY_PAGE / 8; i++) {
		uint64_t at = page + i * 8;

		if (at < search->start || at + 8 > search->end || values[i] % words->alignment ||
		    !filter_has(search->reading.heaps, values[i]) || !words->tries)
			continue;
		words->tries--;
		if (words->visit(search, at, values[i]))
			return true;
	}
	return false;
}

/* Limit of words tried per module. */
#define MAX_TRIES 65536

static bool visit_words(struct search *search, uint64_t alignment,
			bool (*visit)(struct search *, uint64_t, uint64_t))
{
	struct word_visit words = {search, visit, alignment, MAX_TRIES};

	return heap_data_visit(search->reading.peek, search->start, search->end, visit_page,
			       &words);
}

/* Caches of threads: a bin per size. */

struct cache_bin {
	uint64_t low, high;   /* range of possible pointers */
	uint64_t from, until; /* range of present pointers */
};

static bool bin_from_head(const uint64_t words[3], struct cache_bin *bin)
{
	uint16_t full = (uint16_t)(words[2] >> 16), empty = (uint16_t)(words[2] >> 32);

	if (!words[0] || words[0] % 8)
		return false;
	bin->from = words[0];
	bin->until = bin->high = words[0] + (uint16_t)(empty - (uint16_t)words[0]);
	bin->low = words[0] - (uint16_t)((uint16_t)words[0] - full);
	return (bin->high - bin->low) / 8 <= MAX_CACHED;
}

static bool bin_from_count(const uint64_t words[3], struct cache_bin *bin)
{
	uint32_t count = (uint32_t)(words[0] >> 32);

	if (!words[2] || words[2] % 8 || count > MAX_CACHED)
		return false;
	bin->until = bin->high = words[2];
	bin->from = bin->low = words[2] - count * 8ull;
	return true;
}

/* -------- finding offsets */

/*
 * Finds the last three words that a base counts: bytes given out, resident and mapped. 5.3.1 has
 * two more after the first one, which are parts of it. They follow empty lists.
 */
static bool learn_counts(struct reading *reading, const struct base *base, uint32_t mapped)
{
	static const uint32_t distances[] = {32, 16};
	uint64_t resident, allocated;

	if (peek_words(reading->peek, base->address + mapped - 8, &resident, 1) || !resident ||
	    resident > base->mapped)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(distances); i++) {
		if (mapped < distances[i] ||
		    peek_words(reading->peek, base->address + mapped - distances[i], &allocated,
			       1) ||
		    !allocated || allocated > resident)
			continue;
		reading->places.base_mapped = mapped;
		reading->places.base_allocated = mapped - distances[i];
		return true;
	}
	return false;
}

/* Returns the total bytes of a list's blocks, with `base` in one of them; 0: no such list. */
static uint64_t sum_blocks(struct reading *reading, const struct base *base)
{
	uint64_t at = base->blocks, sum = 0, words[2];
	bool inside = false;

	while (at) {
		if (++reading->base_blocks > MAX_BASE_BLOCKS || at % MEMORY_PAGE ||
		    !filter_has(reading->heaps, at) || peek_words(reading->peek, at, words, 2) ||
		    !words[0] || words[0] % MEMORY_PAGE || words[0] >> MACHINE_USER_BITS ||
		    !filter_has(reading->heaps, at + words[0] - 1))
			return 0;
		inside |= base->address - at < words[0];
		sum += words[0];
		at = words[1];
	}
	return inside ? sum : 0;
}

/* Tries a word that may lead to the first arena's base. */
static bool try_base(struct search *search, uint64_t at, uint64_t address)
{
	struct reading *reading = &search->reading;
	uint64_t words[BASE_BYTES / 8];
	struct base base = {.address = address};

	(void)at;
	if (!may_be_base(reading, address) ||
	    heap_words(reading->peek, address, words, ARRAY_SIZE(words)) || (uint32_t)words[0])
		return false;
	for (uint32_t i = 1; i < MAX_BASE_BLOCKS_AT / 8; i++) {
		base.blocks = words[i];
		if (!words[i] || words[i] % MEMORY_PAGE)
			continue;
		base.mapped = sum_blocks(reading, &base);
		for (uint32_t j = i + 1; base.mapped && j < ARRAY_SIZE(words); j++) {
			if (words[j] != base.mapped || !learn_counts(reading, &base, j * 8))
				continue;
			reading->places.base_blocks = i * 8;
			search->base = address;
			return true;
		}
	}
	return false;
}

/*
 * Tries a word that may lead to the first arena, which refers to the first base in one or more
 * places.
 */
static bool try_arenas(struct search *search, uint64_t at, uint64_t arena)
{
	struct reading *reading = &search->reading;
	uint64_t word, match;
	uint32_t found = 0;
	struct base base;

	if (hash_get(&search->tried_arenas, arena))
		return false;
	for (uint32_t i = 0; i < ARENA_BYTES && found < MAX_BASE_PLACES; i += 8) {
		if (heap_words(reading->peek, arena + i, &word, 1))
			break;
		if (word != search->base)
			continue;
		found++;
		reading->places.arena_base = i;
		if (read_base(reading, arena, &base))
			continue;
		match = match_arenas(reading, at, search->end);
		if (match <= search->arenas)
			continue;
		search->arenas = match;
		search->found->arenas = at;
		search->found->places = reading->places;
	}
	if (!found)
		hash_put(&search->tried_arenas, arena, NULL);
	return false;
}

#define BIN_TRIALS 8

/* Checks that bins are consecutive, each with room. */
static bool bins_hold(struct reading *reading, uint64_t bins)
{
	bool by_head = reading->layout->caches == CACHE_BY_HEAD;
	struct cache_bin bin;
	uint64_t words[3], before = 0;

	for (uint32_t i = 0; i < BIN_TRIALS; i++) {
		if (bins % 8 || peek_words(reading->peek, bins + i * 24ull, words, 3) ||
		    !(by_head ? bin_from_head : bin_from_count)(words, &bin) ||
		    !filter_has(reading->heaps, bin.high) || bin.high <= before ||
		    (by_head && i && bin.low != before))
			return false;
		before = bin.high;
	}
	return true;
}

/* Checks a ring of descriptors that lead to the bins of caches. */
static bool ring_holds(struct reading *reading, uint64_t first)
{
	uint64_t words[3], back, on;

	return first && first % 8 == 0 && filter_has(reading->heaps, first) &&
	       !peek_words(reading->peek, first, words, 3) && words[0] % 8 == 0 &&
	       words[1] % 8 == 0 && filter_has(reading->heaps, words[0]) &&
	       !peek_words(reading->peek, words[0] + 8, &back, 1) && back == first &&
	       !peek_words(reading->peek, words[1], &on, 1) && on == first &&
	       bins_hold(reading, words[2]);
}

/* Returns an arena's offset of its caches; 0: none, or not found. */
static uint32_t caches_place(struct reading *reading, uint64_t arena)
{
	uint64_t word;

	for (uint32_t i = 0; i < ARENA_BYTES; i += 8) {
		if (heap_words(reading->peek, arena + i, &word, 1))
			return 0;
		if (ring_holds(reading, word))
			return i;
	}
	return 0;
}

/* Finds the arenas' offset of their caches; initially most belong to one processor or to none. */
static void learn_caches(struct search *search)
{
	struct reading *reading = &search->reading;
	struct places *places = &search->found->places;
	uint64_t count = (uint32_t)search->arenas, arena;

	for (uint64_t i = 0; i < count && !places->arena_caches; i++) {
		if (peek_words(reading->peek, search->found->arenas + i * 8, &arena, 1) ||
		    arena % 64 || !filter_has(reading->heaps, arena))
			continue;
		places->arena_caches = caches_place(reading, arena);
	}
}

static int find_tree(struct search *search)
{
	if (!visit_words(search, 64, try_node))
		return peek_result(search->reading.peek, -ENOENT);
	search->reading.layout = search->found->layout;
	if (visit_words(search, 16, try_base))
		visit_words(search, 64, try_arenas);
	if (search->found->arenas)
		learn_caches(search);
	return 0;
}

/* JEMALLOC_VERSION: "5.3.0-0-g" and a hash; 0.0.0 if built from an unversioned source. */
static bool version_at(const char *text, char version[HEAP_VERSION_MAX])
{
	size_t numbers = heap_version_copy(text, version), commits;

	if (numbers < 5 || text[numbers] != '-' || !strncmp(text, "0.", 2))
		return false;
	commits = strspn(text + numbers + 1, "0123456789");
	return commits && !strncmp(text + numbers + 1 + commits, "-g", 2) &&
	       strspn(text + numbers + commits + 3, "0123456789abcdef") >= 7;
}

static int jemalloc_find(void *state, const struct heap_view *view, uint64_t start, uint64_t end)
{
	_cleanup_free_ struct search *search = NULL;
	struct jemalloc *found = state;
	int error;

	if (end < start || end - start < MIN_ROOT_BYTES)
		return -ENOENT;
	search = calloc(1, sizeof(*search));
	if (!search)
		return -ENOMEM;
	*search = (struct search){.reading = {.peek = view->peek, .heaps = view->heaps},
				  .start = start,
				  .end = end,
				  .found = found};
	error = find_tree(search);
	hash_free(&search->tried);
	hash_free(&search->tried_arenas);
	if (!error)
		heap_version_find(view, start, version_at, found->version);
	return error;
}

/* -------- reading */

static enum run_use use_of(uint32_t state)
{
	static const enum run_use uses[] = {[EXTENT_ACTIVE] = RUN_BLOCKS,
					    [EXTENT_DIRTY] = RUN_DIRTY,
					    [EXTENT_MUZZY] = RUN_MUZZY,
					    [EXTENT_RETAINED] = RUN_RETAINED};

	return state < ARRAY_SIZE(uses) ? uses[state] : RUN_CHANGING;
}

static void count_record(struct reading *reading, const struct record *record)
{
	uint64_t *figures = reading->heap->figures;
	uint64_t bytes = record->end - record->start;

	switch (use_of(record->state)) {
	case RUN_BLOCKS:
		figures[ALLOCATOR_ACTIVE] += bytes;
		figures[ALLOCATOR_ALLOCATED] += (record->regions - record->unused) * record->block;
		break;
	case RUN_DIRTY:
		figures[ALLOCATOR_DIRTY] += bytes;
		break;
	case RUN_MUZZY:
		figures[ALLOCATOR_MUZZY] += bytes;
		break;
	case RUN_RETAINED:
		figures[ALLOCATOR_RETAINED] += bytes;
		break;
	default:
		break;
	}
	reading->huge |= record->huge;
	reading->padded |= record->first != record->start;
}

static int add_record(struct reading *reading, struct record *record)
{
	struct heap_run run = {.start = record->start,
			       .end = record->end,
			       .first = record->first,
			       .block = record->block,
			       .use = use_of(record->state)};

	if (run.use == RUN_BLOCKS)
		run.count = record->regions;
	if (!record->slab)
		record->unused = 0;
	count_record(reading, record);
	if (heap_add(reading->heap, &run))
		return -ENOMEM;
	for (uint32_t i = 0; record->slab && i < run.count; i++) {
		if (record->bitmap[i / 64] >> i % 64 & 1)
			heap_set_use(reading->heap,
				     &reading->heap->runs.items[reading->heap->runs.count - 1], i,
				     BLOCK_FREE);
	}
	return 0;
}

/* A record that changes during the read may be consistent a moment later. */
static int read_record_twice(struct reading *reading, uint64_t address, struct record *record)
{
	int error = read_record(reading, address, record);

	if (error != -EBADMSG || reading->peek->is_present)
		return error;
	peek_forget(reading->peek);
	return read_record(reading, address, record);
}

/*
 * *next: the end of the previous extent. Returns 0; -ENOENT: no such tree (any more); -ENOMEM;
 * -ETIMEDOUT.
 */
static int walk_leaf(struct reading *reading, struct node *leaf, uint64_t number, uint64_t *next)
{
	uint64_t address, low = number * leaf_span(reading->layout);
	uint64_t end = places(reading->layout);
	uint32_t shift = reading->layout->page_shift;
	uint32_t i = *next > low ? (uint32_t)MIN((*next - low) >> shift, end) : 0;

	while (leaf_next(reading, leaf, &i, &address)) {
		uint64_t page = low + ((uint64_t)i << shift);
		struct record record;
		int error = read_record_twice(reading, address, &record);

		if (error == -ETIMEDOUT)
			return error;
		/* Also an extent that was split or merged during the read. */
		if (error || record.start != page) {
			if (++reading->heap->broken > MAX_BROKEN)
				return -ENOENT;
			i++;
			continue;
		}
		if (add_record(reading, &record))
			return -ENOMEM;
		*next = record.end;
		i = (uint32_t)MIN((record.end - low) >> shift, end);
	}
	return 0;
}

/* Leaves do not overlap: a tree with overlapping ones would take for ever. */
static bool leaf_is_new(const uint64_t *leaves, size_t count, uint64_t leaf, uint64_t bytes)
{
	for (size_t i = 0; i < count; i++) {
		if (leaf < leaves[i] + bytes && leaves[i] < leaf + bytes)
			return false;
	}
	return true;
}

/* One per GiB (4 GiB with pages of 64 KiB) of used addresses: more than any process has. */
#define MAX_LEAVES 16384

struct tree {
	struct node root, middle, leaf;
	struct {
		uint64_t list[MAX_LEAVES];
		size_t count;
	} leaves, middles;
	uint64_t next; /* end of the last extent */
};

static int walk_node(struct reading *reading, struct tree *tree, uint64_t address, uint64_t number)
{
	uint64_t bytes = leaf_bytes(reading->layout);

	if (!may_be_node(reading, address, bytes) || tree->leaves.count == MAX_LEAVES ||
	    !leaf_is_new(tree->leaves.list, tree->leaves.count, address, bytes)) {
		reading->heap->broken++;
		return 0;
	}
	tree->leaves.list[tree->leaves.count++] = address;
	node_open(reading, address, leaf_words(reading->layout), &tree->leaf);
	if (tree->leaf.swapped)
		reading->heap->why = "a part of its tree of extents is swapped out";
	return walk_leaf(reading, &tree->leaf, number, &tree->next);
}

static int walk_middle(struct reading *reading, struct tree *tree, uint64_t address,
		       uint64_t number)
{
	uint64_t bytes = node_bytes(reading->layout), leaf;
	uint32_t i = 0;
	int error = 0;

	if (!may_be_node(reading, address, bytes) || tree->middles.count == MAX_LEAVES ||
	    !leaf_is_new(tree->middles.list, tree->middles.count, address, bytes)) {
		reading->heap->broken++;
		return 0;
	}
	tree->middles.list[tree->middles.count++] = address;
	node_open(reading, address, 1, &tree->middle);
	if (tree->middle.swapped)
		reading->heap->why = "a part of its tree of extents is swapped out";
	for (; !error && node_next(reading, &tree->middle, &i, &leaf); i++)
		error = walk_node(reading, tree, leaf, number * places(reading->layout) + i);
	return error;
}

static int walk_tree(struct reading *reading, uint64_t address, struct tree *tree)
{
	bool three = reading->layout->long_addresses;
	uint64_t node;
	uint32_t i = 0;
	int error = 0;

	node_open(reading, address, 1, &tree->root);
	for (; !error && node_next(reading, &tree->root, &i, &node); i++)
		error = (three ? walk_middle : walk_node)(reading, tree, node, i);
	return error;
}

/* Caches of threads. */

static void add_cached(struct reading *reading, const struct cache_bin *bin, uint32_t class)
{
	uint64_t size = class_size(reading->layout, class), block;

	for (uint64_t at = bin->from; at < bin->until; at += 8) {
		if (!peek_words(reading->peek, at, &block, 1) &&
		    heap_cache(reading->heap, block, size))
			continue;
		reading->heap->broken_caches++;
		return;
	}
}

/*
 * Adds the bins of one cache, each with its pointers just after those of the previous one. Bins of
 * small blocks larger than tcache_max have no room.
 */
static uint32_t add_bins(struct reading *reading, uint64_t bins, uint32_t class, uint32_t most)
{
	bool by_head = reading->layout->caches == CACHE_BY_HEAD;
	uint32_t small = small_classes(reading->layout), i = 0;
	uint64_t before = 0;

	for (; class + i < most; i++) {
		uint64_t words[3];
		struct cache_bin bin;

		if (peek_words(reading->peek, bins + i * 24ull, words, 3) ||
		    !(by_head ? bin_from_head : bin_from_count)(words, &bin))
			break;
		if (by_head && i && i < small && bin.low == bin.high)
			continue;
		if (i && (by_head ? bin.low != before : bin.low < before))
			break;
		/* The pointers are in a block that jemalloc has allocated for itself. */
		if (!class && !i)
			heap_own(reading->heap, by_head ? bin.low : bin.high - 8);
		add_cached(reading, &bin, class + i);
		before = bin.high;
	}
	return i;
}

static void add_cache(struct reading *reading, uint64_t bins, uint64_t large)
{
	uint32_t small = small_classes(reading->layout);
	bool by_head = reading->layout->caches == CACHE_BY_HEAD;
	uint32_t count = add_bins(reading, bins, 0, by_head ? MAX_CACHE_BINS : small);

	if (count < small)
		reading->heap->broken_caches++;
	else if (!by_head)
		add_bins(reading, large, small, MAX_CACHE_BINS);
	reading->heap->figures[ALLOCATOR_CACHES]++;
}

/* A ring of descriptors. */
static void add_caches(struct reading *reading, uint64_t arena)
{
	bool by_head = reading->layout->caches == CACHE_BY_HEAD;
	uint64_t first, at, words[4] = {0};

	if (peek_words(reading->peek, arena + reading->places.arena_caches, &first, 1)) {
		reading->heap->broken_caches++;
		return;
	}
	at = first;
	while (at) {
		if (reading->heap->figures[ALLOCATOR_CACHES] >= MAX_CACHES ||
		    peek_words(reading->peek, at, words, by_head ? 3 : 4)) {
			reading->heap->broken_caches++;
			return;
		}
		add_cache(reading, words[2], words[3]);
		at = words[0] == first ? 0 : words[0];
	}
}

static int read_arena(struct reading *reading, uint64_t arena, uint32_t number)
{
	struct base base;
	int error = read_base(reading, arena, &base);

	if (error || base.arena != number) {
		reading->heap->broken++;
		return 0;
	}
	reading->heap->figures[ALLOCATOR_ARENAS]++;
	reading->heap->figures[ALLOCATOR_METADATA] += base.allocated;
	reading->heap->figures[ALLOCATOR_MAPPED] += base.mapped;
	error = walk_base(reading, &base, true);
	return error == -ENOMEM ? error : 0;
}

/* Returns 0 or -ENOMEM. */
static int read_arenas(struct reading *reading, uint64_t array, bool caches)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < MAX_ARENAS; i++) {
		uint64_t arena;

		if (peek_words(reading->peek, array + i * 8ull, &arena, 1))
			break;
		/* Other variables follow the array. */
		if (!arena || arena % 64 || !filter_has(reading->heaps, arena))
			continue;
		if (caches)
			add_caches(reading, arena);
		else
			error = read_arena(reading, arena, i);
	}
	return error;
}

/*
 * Returns the bytes that the arenas count as jemalloc's own: a word at a common offset, near their
 * start (arena_stats_t.internal), whose sum is close to what was found. 5.2 has a few more small
 * blocks per cache, which are not found. 0: no such word.
 */
static uint64_t count_internal(struct reading *reading, uint64_t array)
{
	uint64_t sums[INTERNAL_WITHIN / 8] = {0}, words[INTERNAL_WITHIN / 8], arena, least = 0;
	uint64_t own = reading->heap->figures[ALLOCATOR_OWN];
	uint64_t more = SMALL_OWN_BYTES * reading->heap->figures[ALLOCATOR_CACHES];

	for (uint32_t i = 0; i < MAX_ARENAS; i++) {
		if (peek_words(reading->peek, array + i * 8ull, &arena, 1))
			break;
		if (!arena || arena % 64 || !filter_has(reading->heaps, arena) ||
		    heap_words(reading->peek, arena, words, ARRAY_SIZE(words)))
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(sums); j++)
			sums[j] += words[j];
	}
	for (size_t j = 0; j < ARRAY_SIZE(sums); j++) {
		if (sums[j] >= own && sums[j] - own <= more && (!least || sums[j] < least))
			least = sums[j];
	}
	return least;
}

static const char *why_uncertain(const struct reading *reading, const struct jemalloc *found)
{
	const struct heap *heap = reading->heap;

	if (heap->why)
		return heap->why;
	if (!found->arenas)
		return "no array of its arenas was found, whose own memory adds up: what the "
		       "caches of threads keep counts as live";
	if (!found->places.arena_caches)
		return "none of its arenas leads to caches of threads: what they keep counts as "
		       "live";
	if (reading->huge)
		return "its huge page allocator (hpa) is in use: what is free in there is not "
		       "known";
	if (heap->broken)
		return "it changed while it was read";
	if (heap->broken_caches)
		return "caches of threads changed while they were read: some of what they keep "
		       "counts as live";
	return NULL;
}

static const struct heap_version_range tested[] = {{5, 2, 3}};

/*
 * Corrects blocks that begin with their extent, and whose class is as large: if others are padded,
 * so are they, and they are smaller than their class.
 */
static void mend_large(struct reading *reading)
{
	uint64_t page = page_bytes(reading->layout);

	for (size_t i = 0; reading->padded && i < reading->heap->runs.count; i++) {
		struct heap_run *run = &reading->heap->runs.items[i];

		if (run->use != RUN_BLOCKS || run->block < min_large(reading->layout) ||
		    run->block != run->end - run->start)
			continue;
		run->block -= page;
		reading->heap->figures[ALLOCATOR_ALLOCATED] -= page;
	}
}

static int jemalloc_read(void *state, const struct heap_view *view, struct heap *heap)
{
	_cleanup_free_ struct tree *tree = calloc(1, sizeof(*tree));
	const struct jemalloc *found = state;
	struct reading reading = {.peek = view->peek,
				  .heaps = view->heaps,
				  .layout = found->layout,
				  .places = found->places,
				  .heap = heap};
	uint64_t *figures = heap->figures;
	uint64_t internal;
	int error = tree ? walk_tree(&reading, found->root, tree) : -ENOMEM;

	if (!error && found->arenas)
		error = read_arenas(&reading, found->arenas, false);
	if (error)
		return error;
	figures[ALLOCATOR_MAPPED] +=
		figures[ALLOCATOR_ACTIVE] + figures[ALLOCATOR_DIRTY] + figures[ALLOCATOR_MUZZY];
	mend_large(&reading);
	heap_sort(heap);
	if (found->places.arena_caches)
		read_arenas(&reading, found->arenas, true);
	internal = found->arenas ? count_internal(&reading, found->arenas) : 0;
	figures[ALLOCATOR_METADATA] += MAX(internal, figures[ALLOCATOR_OWN]);
	heap_finish(heap);
	heap_name(heap, "jemalloc", found->version, tested, ARRAY_SIZE(tested));
	heap->why = why_uncertain(&reading, found);
	heap->blocks_certain = found->places.arena_caches && !heap->broken_caches &&
			       internal == figures[ALLOCATOR_OWN];
	return peek_result(view->peek, 0);
}

const struct heap_reader heap_reader_jemalloc = {
	.name = "jemalloc",
	.library = "libjemalloc",
	.why_not = "jemalloc's records are not as versions 5.2 and 5.3 have them, or it has not "
		   "been used yet: malloc_stats_print (jemalloc(3)) shows more, and so does "
		   "tracking from the first allocation on",
	.advice.retained = ": it does so by itself while it is used, after dirty_decay_ms; "
			   "arena.<i>.purge (jemalloc(3)) does it at once",
	.state_size = sizeof(struct jemalloc),
	.find = jemalloc_find,
	.read = jemalloc_read,
};
