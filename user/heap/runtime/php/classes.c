// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classes of PHP's blocks. All objects are in a list; arrays, strings and references are known by
 * the values that lead to them: roots, objects, and values in blocks of extensions.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "heap/runtime/php/php.h"

#define PARENTS_MAX 64
#define CHUNK_WORDS 512
#define KEY_FUNCTION (1ull << 63)

struct typing {
	struct php *php;
	struct heap_sink *sink;
};

static int add_class(struct typing *typing, const char *name, const struct php_class *made,
		     uint32_t *number)
{
	struct php *php = typing->php;
	struct managed_class class = {.name = name,
				      .runtime = PHP_KEY,
				      .tag = made->offset <= UINT8_MAX ? (uint8_t)made->offset : 0,
				      .exact = made->precise && made->kind != PHP_KIND_STRING &&
					       !made->offset && made->kind <= PHP_KIND_OBJECT};
	struct php_class *added;
	int error = heap_sink_class(typing->sink, &class, number);

	if (error)
		return error;
	added = vec_push(&php->classes);
	if (!added)
		return -ENOMEM;
	*added = *made;
	return 0;
}

static int add_kinds(struct typing *typing)
{
	static const char *const names[PHP_KIND_OBJECT] = {
		[PHP_KIND_STRING] = "string",
		[PHP_KIND_ARRAY] = "array",
		[PHP_KIND_REFERENCE] = "reference",
		[PHP_KIND_RESOURCE] = "resource",
	};
	int error = 0;

	for (enum php_kind kind = 0; !error && kind < PHP_KIND_OBJECT; kind++) {
		struct php_class class = {.kind = kind, .precise = kind != PHP_KIND_RESOURCE};

		error = add_class(typing, names[kind], &class, &typing->php->kinds[kind]);
	}
	return error;
}

/* Objects. */

static enum php_kind kind_of(uint32_t type, const char *name)
{
	static const struct {
		const char *name;
		enum php_kind kind;
	} kinds[] = {{"Closure", PHP_KIND_CLOSURE},
		     {"Generator", PHP_KIND_GENERATOR},
		     {"Fiber", PHP_KIND_FIBER},
		     {"WeakReference", PHP_KIND_WEAK_REFERENCE},
		     {"WeakMap", PHP_KIND_WEAK_MAP}};

	for (size_t i = 0; type == CLASS_INTERNAL && i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].name, name))
			return kinds[i].kind;
	}
	return PHP_KIND_OBJECT;
}

struct naming {
	const struct php *php;
	struct php_class *class;
};

static int name_property(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	struct naming *naming = context;
	uint32_t offset = php_half(naming->php, value->value), place;

	(void)index;
	if (php_half(naming->php, value->value + PROPERTY_FLAGS) & PROPERTY_STATIC ||
	    offset < OBJECT_TABLE)
		return 0;
	place = (offset - OBJECT_TABLE) / PHP_ZVAL_BYTES;
	if (place < naming->class->count && !naming->class->names[place])
		naming->class->names[place] = key;
	return 0;
}

/* Names the properties, including those of parents, whose private ones the class does not list. */
static int name_properties(const struct php *php, uint64_t entry, struct php_class *class)
{
	struct naming naming = {php, class};
	struct php_table properties;

	class->count = MIN(php_half(php, entry + CLASS_COUNT), PHP_COUNT_MAX);
	class->names = calloc((size_t) class->count + 1, sizeof(*class->names));
	if (!class->names)
		return -ENOMEM;
	for (int i = 0; entry && i < PARENTS_MAX; i++) {
		if (php_table_open(php, entry + CLASS_PROPERTIES, &properties))
			php_table_visit(php, &properties, name_property, &naming);
		entry = php_word(php, entry + CLASS_PARENT);
	}
	return 0;
}

/* Returns the function of a closure or generator, which names it; 0: none. */
static uint64_t function_in(const struct php *php, uint64_t object, enum php_kind kind)
{
	uint64_t frame;

	if (kind == PHP_KIND_CLOSURE)
		return object + OBJECT_OWN;
	frame = kind == PHP_KIND_GENERATOR ? php_word(php, object + OBJECT_OWN) : 0;
	return frame ? php_word(php, frame + FRAME_FUNCTION) : 0;
}

static void object_name(const struct php *php, uint64_t function, char name[PHP_NAME_BYTES])
{
	char text[PHP_NAME_BYTES], class[PHP_NAME_BYTES];

	if (!function)
		return;
	php_function_name(php, function, text);
	snprintf(class, sizeof(class), "%.20s %.200s", name,
		 !strncmp(text, "{closure} ", 10) ? text + 10 : text);
	memcpy(name, class, sizeof(class));
}

/* Returns the key that closures of one function share. */
static uint64_t class_key(const struct php *php, uint64_t entry, uint64_t function,
			  enum php_kind kind, uint64_t offset)
{
	uint64_t code = 0;

	if (function)
		code = (php_half(php, function) & 0xff) == FUNCTION_INTERNAL
			       ? php_word(php, function + FUNCTION_NAME)
			       : php_word(php, function + php->layout->opcodes);
	return function ? KEY_FUNCTION | (uint64_t)kind << 56 | (code & ((1ull << 56) - 1))
			: entry | offset << 48;
}

static int object_class(struct typing *typing, uint64_t object, uint64_t offset, uint32_t *number)
{
	struct php *php = typing->php;
	uint64_t entry = php_word(php, object + OBJECT_CLASS), function, *place;
	uint32_t type = php_half(php, entry) & 0xff;
	char name[PHP_NAME_BYTES];
	struct php_class class = {.offset = (uint16_t)offset};
	int error = 0;

	if (offset > UINT16_MAX / 2 || !php_text(php, php_word(php, entry + CLASS_NAME), name))
		return -ENOENT;
	class.kind = kind_of(type, name);
	function = function_in(php, object, class.kind);
	place = hash_put(&php->class_index, class_key(php, entry, function, class.kind, offset),
			 NULL);
	if (!place)
		return -ENOMEM;
	if (*place) {
		*number = (uint32_t)*place - 1;
		return 0;
	}
	class.precise = class.kind == PHP_KIND_OBJECT
				? type != CLASS_INTERNAL && !offset
				: class.kind != PHP_KIND_GENERATOR && class.kind != PHP_KIND_FIBER;
	object_name(php, function, name);
	if (class.kind == PHP_KIND_OBJECT)
		error = name_properties(php, entry, &class);
	if (!error)
		error = add_class(typing, name, &class, number);
	if (error)
		free(class.names);
	else
		*place = *number + 1;
	return error;
}

static int add_object(struct typing *typing, uint64_t object, uint32_t handle)
{
	struct php *php = typing->php;
	struct php_block *block = php_block_at(php, object);
	uint32_t number = 0, *queued;
	int error;

	if (!block || block->class != PHP_BLOCK_OWN ||
	    php_half(php, object + OBJECT_HANDLE) != handle) {
		php->nonsense++;
		return 0;
	}
	error = object_class(typing, object, object - block->start, &number);
	if (error) {
		php->nonsense += error == -ENOENT;
		return error == -ENOENT ? 0 : error;
	}
	block->class = number;
	queued = vec_push(&php->queue);
	if (!queued)
		return -ENOMEM;
	*queued = (uint32_t)(block - php->blocks.items);
	return 0;
}

static int add_objects(struct typing *typing)
{
	struct php *php = typing->php;
	uint64_t store = php->globals + php->layout->objects, buckets = php_word(php, store);
	uint32_t top = php_half(php, store + STORE_TOP);
	int error = 0;

	top = (uint32_t)MIN(top, target_room(php->memory, buckets, top * 8ull) / 8);
	for (uint32_t i = 1; !error && i < top; i++) {
		uint64_t object = php_word(php, buckets + i * 8ull);

		if (object && !(object & 1))
			error = add_object(typing, object, i);
	}
	return error;
}

/* Gives the target of a value its class. */

static int type_target(void *context, uint64_t to, uint64_t name, uint64_t index)
{
	static const uint16_t least[PHP_KIND_OBJECT] = {24, 56, 32, 32};
	struct typing *typing = context;
	struct php *php = typing->php;
	struct php_block *block = php_block_at(php, to);
	uint32_t type, *queued;
	enum php_kind kind;

	(void)name;
	(void)index;
	if (!block || block->start != to || block->class != PHP_BLOCK_OWN)
		return 0;
	type = php_half(php, to + COUNTED_INFO) & 0xf;
	if (type == PHP_STRING)
		kind = PHP_KIND_STRING;
	else if (type == PHP_ARRAY)
		kind = PHP_KIND_ARRAY;
	else if (type == PHP_REFERENCE)
		kind = PHP_KIND_REFERENCE;
	else if (type == PHP_RESOURCE)
		kind = PHP_KIND_RESOURCE;
	else
		return 0;
	if (block->units * PHP_BLOCK_UNIT < least[kind])
		return 0;
	block->class = php->kinds[kind];
	if (kind != PHP_KIND_ARRAY && kind != PHP_KIND_REFERENCE)
		return 0;
	queued = vec_push(&php->queue);
	if (!queued)
		return -ENOMEM;
	*queued = (uint32_t)(block - php->blocks.items);
	return 0;
}

static int take_part(void *context, uint64_t address)
{
	struct typing *typing = context;
	struct php_block *block = php_block_at(typing->php, address);

	if (block && block->class == PHP_BLOCK_OWN)
		block->class = PHP_BLOCK_TAKEN;
	return 0;
}

static int type_root(void *context, const char *name, enum managed_rank rank, uint64_t to)
{
	(void)name;
	(void)rank;
	return type_target(context, to, 0, PHP_NO_INDEX);
}

static int take_claimed(void *context, uint64_t address)
{
	struct typing *typing = context;
	uint64_t *added = address ? vec_push(&typing->php->claimed) : NULL;

	if (!address)
		return 0;
	if (!added)
		return -ENOMEM;
	*added = address;
	return take_part(context, address);
}

static int follow_queue(struct typing *typing)
{
	struct php *php = typing->php;
	const struct php_visitor visitor = {
		.refer = type_target, .part = take_part, .context = typing};
	int error = 0;

	while (!error && php->queue.count) {
		const struct php_block *block =
			&php->blocks.items[php->queue.items[--php->queue.count]];

		error = php_visit_references(php,
					     &php->classes.items[block->class - php->first_class],
					     block->start, &visitor);
	}
	return error;
}

/* Finds values in blocks of extensions and of the compiler, whose second words have their types. */
static int scan_words(struct typing *typing, const uint64_t *words, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i + 1 < count; i++) {
		uint32_t type = (uint32_t)words[i + 1];

		if (type == (PHP_REFCOUNTED | PHP_STRING) || type == (0x300 | PHP_ARRAY) ||
		    type == (PHP_REFCOUNTED | PHP_REFERENCE) ||
		    type == (PHP_REFCOUNTED | PHP_RESOURCE))
			error = type_target(typing, words[i], 0, PHP_NO_INDEX);
	}
	return error;
}

static int scan_block(struct typing *typing, const struct php_block *block)
{
	uint64_t words[CHUNK_WORDS], bytes = (uint64_t)block->units * PHP_BLOCK_UNIT;
	int error = 0;

	/* A value may cross the border. */
	for (uint64_t at = 0; !error && at < bytes; at += sizeof(words) - 8) {
		size_t here = (size_t)MIN(bytes - at, (uint64_t)sizeof(words));

		if (!target_read(typing->php->memory, block->start + at, words, here))
			error = scan_words(typing, words, here / 8);
	}
	return error;
}

static bool is_scanned(const struct php *php, const struct php_block *block)
{
	return block->class == PHP_BLOCK_OWN ||
	       (block->class < PHP_BLOCK_TAKEN &&
		!php->classes.items[block->class - php->first_class].precise);
}

int php_find_classes(struct php *php, struct heap_sink *sink)
{
	struct typing typing = {php, sink};
	const struct php_root_visitor visitor = {type_root, take_claimed, &typing};
	int error = add_kinds(&typing);

	if (!error)
		error = add_objects(&typing);
	if (!error)
		error = php_visit_roots(php, &visitor);
	if (!error)
		error = follow_queue(&typing);
	for (size_t i = 0; !error && i < php->blocks.count; i++) {
		if (!is_scanned(php, &php->blocks.items[i]))
			continue;
		error = scan_block(&typing, &php->blocks.items[i]);
		if (!error)
			error = follow_queue(&typing);
	}
	return error;
}

/* References, once all classes are known. */

struct referring {
	struct php *php;
	struct heap_sink *sink;
	uint32_t node;
	uint64_t object;
};

static uint32_t label_of(const struct referring *referring, uint64_t name)
{
	struct php *php = referring->php;
	uint64_t *place = hash_put(&php->labels, name, NULL);
	char text[PHP_NAME_BYTES] = "this", label[PHP_NAME_BYTES + 1];
	bool variable = name & PHP_NAME_VARIABLE;

	if (!place || *place)
		return place ? (uint32_t)(*place - 1) : 0;
	*place = 1;
	if (name != PHP_NAME_THIS && !php_text(php, name & ~PHP_NAME_VARIABLE, text))
		return 0;
	snprintf(label, sizeof(label), "%s%.255s", variable ? "$" : "", text);
	*place = heap_sink_label(referring->sink, LABEL_ATTRIBUTE, label) + 1ull;
	return (uint32_t)(*place - 1);
}

static int refer(void *context, uint64_t to, uint64_t name, uint64_t index)
{
	const struct referring *referring = context;
	uint32_t *counts = referring->sink->counts;

	if (to == referring->object && counts && counts[referring->node] != UINT32_MAX &&
	    counts[referring->node])
		counts[referring->node]--;
	return heap_sink_reference(referring->sink, referring->node, to,
				   name			   ? label_of(referring, name)
				   : index != PHP_NO_INDEX ? label_index(index)
							   : 0);
}

static int refer_weakly(void *context, uint64_t to)
{
	const struct referring *referring = context;

	return heap_sink_weak(referring->sink, referring->node, to);
}

static int refer_part(void *context, uint64_t address)
{
	const struct referring *referring = context;

	heap_sink_part(referring->sink, referring->node, address, 0, true);
	return 0;
}

/* Claims the properties in an object whose other words are read like any block's. */
static int claim_properties(const struct referring *referring, const struct php_class *class)
{
	const struct heap_sink *sink = referring->sink;
	uint64_t start = referring->object + OBJECT_PROPERTIES;
	uint64_t end = referring->object + OBJECT_TABLE + (uint64_t) class->count * PHP_ZVAL_BYTES;

	end = MIN(end, sink->starts[referring->node] + sink->sizes[referring->node]);
	return start < end ? heap_sink_claim_within(referring->sink, start, end - start) : 0;
}

int php_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	struct php *php = state;
	uint32_t number = (sink->whats[node] & NODE_CLASS) - php->first_class;
	const struct php_class *class =
		number < php->classes.count ? &php->classes.items[number] : NULL;
	struct referring referring = {php, sink, node, 0};
	const struct php_visitor visitor = {refer, refer_weakly, refer_part, &referring};
	uint32_t references;
	int error;

	if (!class)
		return 0;
	referring.object = sink->starts[node] + class->offset;
	references = php_half(php, referring.object);
	if (php_half(php, referring.object + COUNTED_INFO) & COUNTED_IMMUTABLE)
		references = UINT32_MAX;
	error = heap_sink_counted(sink, node, references);
	if (!error && class->kind == PHP_KIND_OBJECT && !class->precise)
		error = claim_properties(&referring, class);
	return error ? error : php_visit_references(php, class, sink->starts[node], &visitor);
}
