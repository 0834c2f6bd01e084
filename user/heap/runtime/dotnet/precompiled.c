// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Precompiled methods in the images of assemblies (ReadyToRun):
 * docs/design/coreclr/botr/readytorun-format.md of the runtime; NativeArray is described in
 * src/coreclr/vm/nativeformatreader.h.
 *
 * An image has a sorted table of functions, and maps the row number of a method to its first
 * function. Other functions have no name: further parts of methods, and instances of generic ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/runtime/dotnet/dotnet.h"

#define HEADER_MAGIC 0x00525452u /* "RTR" */
#define COMPONENT 0x20u /* flag: its functions are in another image (READYTORUN_FLAG_COMPONENT) */
#define SECTIONS_MAX 64
#define SECTION_FUNCTIONS 102
#define SECTION_METHODS 103
#define IMAGES_MAX 4096
#define ENTRIES_MAX (1u << 22) /* limit over all images */
#define BLOCK 16u	       /* elements of a NativeArray */
#define LINUX 0x7b79u

static uint32_t number_at(struct dotnet *dotnet, uint64_t address, size_t bytes)
{
	uint32_t number = 0;

	return target_read(dotnet->memory, address, &number, bytes) ? 0 : number;
}

/* Returns whether an image is for this processor. */
static bool is_native(struct dotnet *dotnet, uint64_t base)
{
	return number_at(dotnet, base + number_at(dotnet, base + 60, 4) + 4, 2) ==
	       (MACHINE_PE ^ LINUX);
}

/* Returns the header of an image's precompiled code; 0: none. The image is laid out by its
 * sections. */
static uint64_t find_header(struct dotnet *dotnet, uint64_t base)
{
	uint64_t optional = base + number_at(dotnet, base + 60, 4) + 24;
	uint32_t place = number_at(
		dotnet, optional + (number_at(dotnet, optional, 2) == 0x20b ? 112 : 96) + 14 * 8,
		4);
	uint32_t native = place ? number_at(dotnet, base + place + 64, 4) : 0;

	return native && number_at(dotnet, base + native, 4) == HEADER_MAGIC ? base + native : 0;
}

static void find_sections(struct dotnet *dotnet, struct dotnet_precompiled *image)
{
	uint64_t at = find_header(dotnet, image->base);
	uint32_t sections = at ? number_at(dotnet, at + 12, 4) : 0;

	if (!at || number_at(dotnet, at + 8, 4) & COMPONENT)
		return;
	at += 16;
	for (uint32_t i = 0; i < MIN(sections, (uint32_t)SECTIONS_MAX); i++, at += 12) {
		uint32_t kind = number_at(dotnet, at, 4);
		uint64_t place = image->base + number_at(dotnet, at + 4, 4);

		if (kind == SECTION_FUNCTIONS) {
			image->functions = place;
			image->count = number_at(dotnet, at + 8, 4) / MACHINE_PE_FUNCTION_BYTES;
		}
		if (kind == SECTION_METHODS)
			image->entries = place;
	}
}

/* Reads a number: the low bits set in the first byte count the bytes that follow, at most four;
 * with four, the first byte has no value bits. */
static uint32_t read_number(struct dotnet *dotnet, uint64_t *at)
{
	uint32_t first = number_at(dotnet, *at, 1), length = 1;

	while (length < 5 && first >> (length - 1) & 1)
		length++;
	*at += length;
	return length == 5 ? number_at(dotnet, *at - 4, 4)
			   : number_at(dotnet, *at - length, length) >> length;
}

/* Returns the address of an element of the array; 0: none. Blocks are binary trees, from the
 * highest bit on. */
static uint64_t find_element(struct dotnet *dotnet, uint64_t array, uint32_t index_bytes,
			     uint32_t index)
{
	uint64_t at = array + number_at(dotnet, array + (uint64_t)(index / BLOCK) * index_bytes,
					index_bytes);

	for (uint32_t bit = BLOCK / 2; bit; bit /= 2) {
		uint64_t next = at;
		uint32_t node = read_number(dotnet, &next);

		if (index & bit && node & 2) {
			at += node >> 2;
		} else if (!(index & bit) && node & 1) {
			at = next;
		} else if (!(node & 3) && node >> 2 == index % BLOCK) {
			return next; /* the only child */
		} else {
			return 0;
		}
	}
	return at;
}

/* Returns the function of an element: above one bit, or two if fixups precede its run. */
static uint32_t function_of(struct dotnet *dotnet, uint64_t element)
{
	uint32_t number = read_number(dotnet, &element);

	return number & 1 ? number >> 2 : number >> 1;
}

static int compare_methods(const void *left_pointer, const void *right_pointer)
{
	const struct dotnet_entry *left = left_pointer, *right = right_pointer;

	return (left->function > right->function) - (left->function < right->function);
}

static int read_entries(struct dotnet *dotnet, struct dotnet_precompiled *image)
{
	uint64_t array = image->entries;
	uint32_t head = read_number(dotnet, &array), count = head >> 2;

	for (uint32_t i = 0; i < count && !target_memory_overworked(dotnet->memory); i++) {
		uint64_t element = find_element(dotnet, array, 1u << (head & 3), i);
		struct dotnet_entry *entry;

		if (!element)
			continue;
		if (!dotnet_take(&dotnet->entries_left))
			return -ENOMEM;
		entry = vec_push(&image->list);
		if (!entry)
			return -ENOMEM;
		*entry = (struct dotnet_entry){function_of(dotnet, element), i + 1};
	}
	if (image->list.count)
		qsort(image->list.items, image->list.count, sizeof(*image->list.items),
		      compare_methods);
	return 0;
}

/*
 * Returns the image's timestamp, which compilers derive from its contents, to recognise it again.
 */
static uint32_t stamp_of(struct dotnet *dotnet, uint64_t base)
{
	return base ? number_at(dotnet, base + number_at(dotnet, base + 60, 4) + 8, 4) : 0;
}

static struct dotnet_precompiled *find_known(struct dotnet *dotnet, uint64_t module, uint64_t base)
{
	uint32_t stamp = stamp_of(dotnet, base);

	for (size_t i = 0; i < dotnet->precompiled.count; i++) {
		struct dotnet_precompiled *image = &dotnet->precompiled.items[i];

		if (image->module == module && image->base == base && image->stamp == stamp)
			return image;
	}
	return NULL;
}

/* Returns the image of a module; NULL: no such code, or out of memory. */
static struct dotnet_precompiled *image_of(struct dotnet *dotnet, uint64_t module)
{
	uint64_t base = dotnet_image(dotnet->memory, &dotnet->layout, module);
	struct dotnet_precompiled *image = find_known(dotnet, module, base);

	if (image)
		return image->list.count ? image : NULL;
	image = base && dotnet->precompiled.count < IMAGES_MAX ? vec_push(&dotnet->precompiled)
							       : NULL;
	if (!image)
		return NULL;
	*image = (struct dotnet_precompiled){
		.module = module, .base = base, .stamp = stamp_of(dotnet, base)};
	if (is_native(dotnet, base))
		find_sections(dotnet, image);
	if (!image->entries || !image->functions || read_entries(dotnet, image))
		vec_free(&image->list);
	return image->list.count ? image : NULL;
}

/* Returns the function that contains an address of the image; UINT32_MAX: none. */
static uint32_t find_function(struct dotnet *dotnet, const struct dotnet_precompiled *image,
			      uint64_t offset)
{
	uint32_t low = 0, high = image->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (number_at(dotnet,
			      image->functions + (uint64_t)middle * MACHINE_PE_FUNCTION_BYTES,
			      4) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return UINT32_MAX;
	low--;
	if (MACHINE_PE_FUNCTION_BYTES == 12 &&
	    offset >= number_at(dotnet,
				image->functions + (uint64_t)low * MACHINE_PE_FUNCTION_BYTES + 4,
				4))
		return UINT32_MAX;
	return low;
}

void dotnet_precompiled_begin(struct dotnet *dotnet)
{
	dotnet->entries_left = ENTRIES_MAX;
}

uint32_t dotnet_precompiled_method(struct dotnet *dotnet, uint64_t module, uint64_t address)
{
	const struct dotnet_precompiled *image = image_of(dotnet, module);
	const struct dotnet_entry *entries;
	uint32_t function;
	size_t at;

	if (!image || address < image->base)
		return 0;
	function = find_function(dotnet, image, address - image->base);
	entries = image->list.items;
	at = SORTED_BEFORE(entry, entries, image->list.count, entry->function < function);
	if (at == image->list.count || entries[at].function != function)
		return 0;
	/* Two methods that share a function cannot be distinguished. */
	if (at + 1 < image->list.count && entries[at + 1].function == function)
		return 0;
	return entries[at].row;
}

void dotnet_precompiled_free(struct dotnet *dotnet)
{
	for (size_t i = 0; i < dotnet->precompiled.count; i++)
		vec_free(&dotnet->precompiled.items[i].list);
	vec_free(&dotnet->precompiled);
}
