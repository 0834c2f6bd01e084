// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/classes.h"

#include <errno.h>

#include "base/cleanup.h"
#include "retain/type_names.h"

struct classifier {
	const struct heap_graph *graph;
	const struct site_types *types;
	struct classes *classes;
	struct hash index;    /* of a key -> place in the list, plus 1 */
	uint32_t *type_class; /* of type_words: place in the list, or TYPE_NONE */
};

/* The class of that key; made from *fresh if it is the first. */
static int join(struct classifier *classifier, uint64_t value, const struct block_class *fresh,
		uint32_t *place)
{
	uint64_t key = hash_mix(hash_mix((uint64_t)fresh->kind + 1) ^ value);
	uint64_t *slot = hash_put(&classifier->index, key, NULL);
	struct block_class *added;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		added = vec_push(&classifier->classes->list);
		if (!added)
			return -ENOMEM;
		*added = *fresh;
		*slot = classifier->classes->list.count;
	}
	*place = (uint32_t)*slot - 1;
	return 0;
}

static int name_types(struct classifier *classifier, const struct picture *picture,
		      const struct data_modules *modules, struct intern *intern)
{
	const struct heap_graph *graph = classifier->graph;

	for (size_t i = 0; i < graph->type_words.count; i++) {
		const struct type_word *word = &graph->type_words.items[i];
		struct block_class found = {0};
		int err = type_name_find(picture, modules, word, intern, &found);

		classifier->type_class[i] = TYPE_NONE;
		if (err == -ENOENT)
			continue;
		if (!err)
			err = join(classifier,
				   found.kind == CLASS_OPS ? word->address
							   : (uint64_t)(uintptr_t)found.name,
				   &found, &classifier->type_class[i]);
		if (err)
			return err;
	}
	return 0;
}

/* When all blocks are in their classes: a site's class is named by its type. */
static int name_sites(const struct classifier *classifier, struct intern *intern)
{
	for (size_t i = 0; i < classifier->classes->list.count; i++) {
		struct block_class *class = &classifier->classes->list.items[i];
		const char *type = class->site && class->site <= classifier->types->count
					   ? classifier->types->names[class->site - 1]
					   : NULL;

		if (!type)
			continue;
		class->name = intern_string(intern, type);
		if (!class->name)
			return -ENOMEM;
	}
	return 0;
}

static int classify(struct classifier *classifier, uint32_t block, uint32_t *place)
{
	const struct heap_graph *graph = classifier->graph;
	struct block_class fresh = {.kind = CLASS_SIZE, .size = graph->sizes[block]};

	*place = graph->types[block];
	if (*place != TYPE_NONE)
		*place = classifier->type_class[*place];
	if (*place != TYPE_NONE)
		return 0;
	if (graph->sites && graph->sites[block])
		fresh = (struct block_class){.kind = CLASS_SITE, .site = graph->sites[block]};
	return join(classifier, fresh.site ? fresh.site : fresh.size, &fresh, place);
}

static int classify_all(struct classifier *classifier)
{
	struct classes *classes = classifier->classes;
	const struct heap_graph *graph = classifier->graph;
	int err = 0;

	for (uint32_t i = 0; !err && i < graph->blocks; i++) {
		err = classify(classifier, i, &classes->of_blocks[i]);
		if (err || !classes->list.items)
			break;
		classes->list.items[classes->of_blocks[i]].count++;
		classes->list.items[classes->of_blocks[i]].bytes += graph->sizes[i];
	}
	return err;
}

int classes_find(const struct picture *picture, const struct data_modules *modules,
		 const struct heap_graph *graph, const struct site_types *types,
		 struct intern *intern, struct classes *classes)
{
	_cleanup_(classes_free) struct classes made = {0};
	struct classifier classifier = {.graph = graph, .types = types, .classes = &made};
	int err = -ENOMEM;

	made.of_blocks = malloc(((size_t)graph->blocks + 1) * sizeof(uint32_t));
	classifier.type_class = malloc((graph->type_words.count + 1) * sizeof(uint32_t));
	if (made.of_blocks && classifier.type_class)
		err = name_types(&classifier, picture, modules, intern);
	if (!err)
		err = classify_all(&classifier);
	if (!err)
		err = name_sites(&classifier, intern);
	hash_free(&classifier.index);
	free(classifier.type_class);
	if (err)
		return err;
	*classes = made;
	made = (struct classes){0};
	return 0;
}

int classes_count(struct classes *classes, const struct heap_graph *graph,
		  const struct retention *retention)
{
	for (size_t i = 0; i < classes->list.count; i++)
		memset(classes->list.items[i].verdicts, 0, sizeof(classes->list.items[i].verdicts));
	for (uint32_t i = 0; i < graph->blocks; i++) {
		struct block_class *class = &classes->list.items[classes->of_blocks[i]];
		struct retention_total *total = &class->verdicts[retention->verdicts[i]];

		total->blocks++;
		total->bytes += graph->sizes[i];
		class->distance = MAX(class->distance, retention->distances[i]);
	}
	return 0;
}

void classes_free(struct classes *classes)
{
	vec_free(&classes->list);
	free(classes->of_blocks);
	*classes = (struct classes){0};
}
