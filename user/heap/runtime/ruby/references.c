// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * References of Ruby's objects by their types (gc.c: gc_mark_children()). Data of the interpreter's
 * own kinds have rules; data of C extensions speak by their words.
 *
 * The memory that an object has beside its slot belongs to it, and is read for one object only.
 * Keys of hashes name a value if they are symbols of the program's code: others are contents.
 */
#include "heap/runtime/ruby/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define CHUNK 64
#define LOCALS_MAX 1024
#define FRAMES_MAX 200000
#define STACK_MAX (64ull << 20)

/* All types. */
#define HEAD_WORDS 2
/* RString, RArray, RStruct, RObject, RHash, RTypedData */
#define STRING_POINTER 3
#define STRING_SHARED 4
#define ARRAY_SHARED 3
#define ARRAY_POINTER 4
#define STRUCT_POINTER 3
#define OBJECT_POINTER_3_1 3
#define HASH_DEFAULT_3_1 3
#define HASH_TABLE_IN_SLOT 24
#define SMALL_IN_SLOT 32
#define SMALL_PAIR 16
#define DATA_POINTER 4
/* struct rb_block; rb_env_t */
#define BLOCK_ENVIRONMENT 1
#define BLOCK_CODE 2
#define BLOCK_KIND 3
#define BLOCK_WORDS 4
#define ENV_CODE 1
#define ENV_POINTER 2
#define ENV_VALUES 3
#define ENV_COUNT 4
/* Behind a scope's pointer: the environment itself; before it, what encloses it. */
#define SCOPE_OWN 8
#define SCOPE_DATA 2 /* words between the last local and the pointer */
#define SCOPE_IS_LOCAL 2
/* rb_execution_context_t, rb_control_frame_t */
#define EC_STACK_BYTES 8
#define EC_FRAME 16
#define EC_THREAD 48
#define EC_LOCAL_STORAGE 56
#define THREAD_SELF 16
#define FRAME_TOP 8
#define FRAME_CODE 16
#define FRAME_SELF 24
#define FRAME_SCOPE 32
/* rb_iseq_t, its body */
#define CODE_BODY 16
#define BODY_LABEL 80
#define BODY_BASE_LABEL 72
/* rb_context_t, struct fiber_pool_stack */
#define FIBER_SELF 16
#define FIBER_VALUE 24
/* rb_thread_t, rb_native_thread_t, from 3.3 on */
#define THREAD_NATIVE 40
#define THREAD_STACK 184
#define NATIVE_SIGNAL_STACK 88
#define NATIVE_CONTEXT 96
#define STACK_SIZE 16
/* struct rb_classext_struct: subclass lists, from their first member on. */
#define LISTS 3
#define LISTS_3_1 56
#define LISTS_IN_SLOT 56
/* struct gen_ivtbl */
#define GENERIC_COUNT 0
#define GENERIC_VALUES 8
/* 3.1: struct weakmap; behind its tables is what clears them. */
#define WEAK_TABLES 2
/* struct iseq_catch_table_entry, in words of 32 bits */
#define CATCH_HALVES 8

struct referrer {
	struct ruby *ruby;
	struct heap_sink *sink;
	uint32_t node;
	uint64_t object, flags;
	uint64_t words[RUBY_SLOT_WORDS];
	uint32_t count; /* of them */
};

static int refer_to(const struct referrer *referrer, uint64_t value, uint32_t label)
{
	uint64_t flags;

	return ruby_object(referrer->ruby, value, &flags)
		       ? heap_sink_reference(referrer->sink, referrer->node, value, label)
		       : 0;
}

static uint32_t name_label(const struct referrer *referrer, const char *name)
{
	return heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, name);
}

/* Words of the slot that may be values. */
static int refer_words(const struct referrer *referrer, uint32_t from, uint32_t to)
{
	int error = 0;

	for (uint32_t i = from; !error && i < MIN(to, referrer->count); i++)
		error = refer_to(referrer, referrer->words[i], 0);
	return error;
}

/* Whether memory is this object's own: a block of malloc's, or what the walk has added for it. */
static bool takes_part(const struct referrer *referrer, uint64_t start, uint64_t bytes)
{
	struct heap_sink *sink = referrer->sink;
	uint32_t node = heap_sink_node(sink, start);
	uint64_t *added;

	if (!start || start % 8)
		return false;
	if (node == BLOCK_NONE)
		return true;
	added = hash_get(&referrer->ruby->transient, start);
	if (added && sink->starts[node] == start) {
		if (*added)
			return false;
		*added = 1;
		heap_sink_reference(sink, referrer->node, start, 0);
		return true;
	}
	return sink->starts[node] == start && !node_has_class(sink->whats[node]) &&
	       heap_sink_part(sink, referrer->node, start, bytes, true);
}

/* How many words of `count` are there. */
static uint64_t words_there(const struct referrer *referrer, uint64_t start, uint64_t count)
{
	uint32_t node = heap_sink_node(referrer->sink, start);

	if (count > STACK_MAX * 64)
		return 0;
	if (node == BLOCK_NONE)
		return target_room(referrer->ruby->memory, start, count * 8) / 8;
	return MIN(count, (referrer->sink->starts[node] + referrer->sink->sizes[node] - start) / 8);
}

enum naming { NAMED_BY_PLACE, NAMED_BY_LABELS };

/* Refers to values in a row. `labels`: a count, followed by the labels; NULL: none. */
static int refer_row(const struct referrer *referrer, uint64_t start, uint64_t count,
		     enum naming naming, const uint32_t *labels)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t words[CHUNK], known = labels ? labels[0] : 0;
	size_t base = labels ? (size_t)(labels - ruby->labels.items) : 0;
	int error = 0;

	count = words_there(referrer, start, count);
	for (uint64_t i = 0; !error && i < count; i += CHUNK) {
		size_t here = (size_t)MIN(count - i, (uint64_t)CHUNK);

		if (target_memory_overworked(ruby->memory))
			break;
		if (target_read(ruby->memory, start + i * 8, words, here * 8))
			continue;
		for (size_t j = 0; !error && j < here; j++) {
			uint32_t label = naming == NAMED_BY_PLACE ? label_index(i + j)
					 : i + j < known ? ruby->labels.items[base + 1 + i + j]
							 : 0;

			error = refer_to(referrer, words[j], label);
		}
	}
	return error;
}

/* Tables. */

static uint32_t key_label(const struct referrer *referrer, uint64_t key)
{
	char name[RUBY_NAME_BYTES], label[RUBY_NAME_BYTES + 4];
	uint64_t id = ruby_symbol_id(key);

	if (!id || !ruby_id_name(referrer->ruby, id, name))
		return 0;
	snprintf(label, sizeof(label), "[:%s]", name);
	return name_label(referrer, label);
}

static uint32_t id_label(const struct referrer *referrer, uint64_t id)
{
	char name[RUBY_NAME_BYTES];

	return ruby_id_name(referrer->ruby, id, name) ? name_label(referrer, name) : 0;
}

static int refer_pair(const struct referrer *referrer, uint64_t key, uint64_t value)
{
	int error = refer_to(referrer, key, 0);

	return error ? error : refer_to(referrer, value, key_label(referrer, key));
}

/* A table whose entries are the object's own. *bound: of entries that are there. */
static bool take_table(const struct referrer *referrer, uint64_t address, struct ruby_table *table,
		       uint64_t *bound)
{
	uint64_t bytes;

	if (!ruby_table_open(referrer->ruby, address, table))
		return false;
	bytes = (uint64_t)RUBY_TABLE_ENTRY << table->entry_power;
	if (table->bins)
		takes_part(referrer, table->bins, 0);
	if (!takes_part(referrer, table->entries, bytes))
		return false;
	*bound = MIN(table->bound,
		     words_there(referrer, table->entries, bytes / 8) * 8 / RUBY_TABLE_ENTRY);
	return true;
}

/* From IDs to values: variables of an object that has too many shapes. */
static int refer_table(const struct referrer *referrer, uint64_t address)
{
	struct ruby_table table;
	uint64_t bound, key, value;
	int error = 0;

	if (!takes_part(referrer, address, 0) || !take_table(referrer, address, &table, &bound))
		return 0;
	for (uint64_t i = table.first; !error && i < bound; i++) {
		if (target_memory_overworked(referrer->ruby->memory))
			break;
		if (ruby_table_entry(referrer->ruby, &table, i, &key, &value))
			error = refer_to(referrer, value, id_label(referrer, key));
	}
	return error;
}

static int refer_small_hash(const struct referrer *referrer, uint64_t pairs)
{
	uint64_t bound = MIN(RUBY_BITS(referrer->flags, 8, 4), 8u), pair[2];
	int error = 0;

	for (uint64_t i = 0; !error && i < bound; i++) {
		if (!target_read(referrer->ruby->memory, pairs + i * SMALL_PAIR, pair,
				 sizeof(pair)) &&
		    pair[0] != referrer->ruby->layout->undefined)
			error = refer_pair(referrer, pair[0], pair[1]);
	}
	return error;
}

static int refer_large_hash(const struct referrer *referrer, uint64_t address)
{
	struct ruby_table table;
	uint64_t bound, key, value;
	int error = 0;

	if (!take_table(referrer, address, &table, &bound))
		return 0;
	for (uint64_t i = table.first; !error && i < bound; i++) {
		if (target_memory_overworked(referrer->ruby->memory))
			break;
		if (ruby_table_entry(referrer->ruby, &table, i, &key, &value))
			error = refer_pair(referrer, key, value);
	}
	return error;
}

static int refer_hash(const struct referrer *referrer)
{
	bool large = referrer->flags & RUBY_USER(3), in_slot = referrer->ruby->layout->shapes;
	uint64_t table =
		in_slot ? referrer->object + HASH_TABLE_IN_SLOT : referrer->words[HEAD_WORDS];
	int error = refer_to(referrer, referrer->words[in_slot ? HEAD_WORDS : HASH_DEFAULT_3_1], 0);

	if (error || (!in_slot && !takes_part(referrer, table, 0)))
		return error;
	if (large)
		return refer_large_hash(referrer, table);
	return refer_small_hash(referrer, in_slot ? referrer->object + SMALL_IN_SLOT : table);
}

/* Objects with variables, structs. */

static int refer_object(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;
	const uint32_t *labels =
		ruby_variable_labels(ruby, referrer->sink, referrer->words[1], referrer->flags);
	uint64_t values = referrer->object + HEAD_WORDS * 8ull;
	uint64_t count = referrer->count - HEAD_WORDS;

	if (referrer->flags & RUBY_USER(1))
		return refer_row(referrer, values, labels ? MIN(count, (uint64_t)labels[0]) : count,
				 NAMED_BY_LABELS, labels);
	if (ruby->layout->shapes) {
		values = referrer->words[HEAD_WORDS];
		if (!labels)
			return refer_table(referrer, values);
		count = labels[0];
	} else {
		values = referrer->words[OBJECT_POINTER_3_1];
		count = referrer->words[HEAD_WORDS] & UINT32_MAX;
	}
	return takes_part(referrer, values, 0)
		       ? refer_row(referrer, values, count, NAMED_BY_LABELS, labels)
		       : 0;
}

/* struct.c: the class, or one above it, has the names of its members. */
struct members {
	const struct referrer *referrer;
	uint64_t array;
};

static int find_members(void *context, const char *name, uint64_t value)
{
	struct members *members = context;

	if (strcmp(name, "__members__") != 0)
		return 0;
	members->array = value;
	return 1;
}

static const uint32_t *struct_labels(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t class = ruby_real_class(ruby, referrer->words[1]), items, count, *known;
	struct members members = {.referrer = referrer};
	size_t at;

	known = class ? hash_put(&ruby->struct_labels, class, NULL) : NULL;
	if (!known)
		return NULL;
	if (*known)
		return *known == UINT64_MAX ? NULL : &ruby->labels.items[*known - 1];
	*known = UINT64_MAX;
	for (int i = 0; i < LOCALS_MAX && class && !members.array; i++) {
		if (!ruby_class_variables(ruby, class, find_members, &members))
			class = ruby_real_class(ruby, target_word(ruby->memory, class + 16));
	}
	if (!ruby_array(ruby, members.array, &items, &count) || count > LOCALS_MAX)
		return NULL;
	at = ruby->labels.count;
	for (uint64_t i = 0; i <= count; i++) {
		uint32_t *added = vec_push(&ruby->labels);
		uint64_t symbol = i ? target_word(ruby->memory, items + (i - 1) * 8) : 0;

		if (!added)
			return NULL;
		*added = i ? 0 : (uint32_t)count;
		if (ruby_symbol_id(symbol))
			ruby->labels.items[at + i] = id_label(referrer, ruby_symbol_id(symbol));
	}
	*known = at + 1;
	return &ruby->labels.items[at];
}

static int refer_struct(const struct referrer *referrer)
{
	uint64_t count = RUBY_BITS(referrer->flags, 1, referrer->ruby->layout->shapes ? 7 : 2);
	uint64_t values = referrer->object + HEAD_WORDS * 8ull;
	const uint32_t *labels = struct_labels(referrer);

	if (!count) {
		count = referrer->words[HEAD_WORDS];
		values = referrer->words[STRUCT_POINTER];
		if (!count || !takes_part(referrer, values, 0))
			return 0;
	}
	return refer_row(referrer, values, count, NAMED_BY_LABELS, labels);
}

/* Strings, arrays. */

static int refer_string(const struct referrer *referrer)
{
	if (!(referrer->flags & RUBY_USER(1)))
		return 0;
	if (referrer->flags & referrer->ruby->layout->shared)
		return refer_to(referrer, referrer->words[STRING_SHARED], 0);
	if (heap_sink_node(referrer->sink, referrer->words[STRING_POINTER]) != BLOCK_NONE)
		takes_part(referrer, referrer->words[STRING_POINTER], 0);
	return 0;
}

/* What shares another one's elements refers to that one. */
static int refer_array(const struct referrer *referrer)
{
	bool embedded = referrer->flags & RUBY_USER(1);
	uint64_t count = RUBY_BITS(referrer->flags, 3, referrer->ruby->layout->shapes ? 7 : 2);

	if (embedded)
		return refer_row(referrer, referrer->object + HEAD_WORDS * 8ull,
				 MIN(count, (uint64_t)referrer->count - HEAD_WORDS), NAMED_BY_PLACE,
				 NULL);
	if (referrer->flags & referrer->ruby->layout->shared)
		return refer_to(referrer, referrer->words[ARRAY_SHARED], 0);
	return takes_part(referrer, referrer->words[ARRAY_POINTER], 0)
		       ? refer_row(referrer, referrer->words[ARRAY_POINTER],
				   referrer->words[HEAD_WORDS], NAMED_BY_PLACE, NULL)
		       : 0;
}

/* Classes. */

static int refer_variable(void *context, const char *name, uint64_t value)
{
	const struct referrer *referrer = context;

	return refer_to(referrer, value, name_label(referrer, name));
}

/* Lists of subclasses hold none: what has an entry in one owns it. */
static void take_lists(const struct referrer *referrer)
{
	uint64_t lists = ruby_class_extension(referrer->ruby, referrer->object) +
			 (referrer->ruby->layout->shapes ? LISTS_IN_SLOT : LISTS_3_1);

	for (uint64_t i = 0; i < LISTS; i++) {
		uint64_t entry = target_word(referrer->ruby->memory, lists + i * 8);

		if (heap_sink_node(referrer->sink, entry) != BLOCK_NONE)
			takes_part(referrer, entry, 0);
	}
}

static int refer_class(struct referrer *referrer)
{
	int error;

	take_lists(referrer);
	error = refer_words(referrer, 1, referrer->count);
	if (error || RUBY_TYPE(referrer->flags) == RUBY_ICLASS)
		return error;
	error = ruby_class_constants(referrer->ruby, referrer->object, refer_variable, referrer);
	return error ? error
		     : ruby_class_variables(referrer->ruby, referrer->object, refer_variable,
					    referrer);
}

/* Scopes: closures and frames. */

/* The names of local variables of a code object. */
struct locals {
	uint64_t table;
	uint32_t count;
};

static struct locals locals_of(const struct ruby *ruby, uint64_t code)
{
	uint64_t flags, body;
	struct locals locals = {0};

	if (!ruby_object(ruby, code, &flags) || RUBY_TYPE(flags) != RUBY_IMEMO ||
	    RUBY_IMEMO_KIND(flags) != IMEMO_ISEQ)
		return locals;
	body = target_word(ruby->memory, code + CODE_BODY);
	locals.table = target_word(ruby->memory, body + ruby->layout->local_table);
	locals.count = (uint32_t)target_word(ruby->memory, body + ruby->layout->local_count);
	if (!locals.table || locals.count > LOCALS_MAX)
		locals.count = 0;
	return locals;
}

bool ruby_code_name(const struct ruby *ruby, uint64_t code, char name[RUBY_NAME_BYTES])
{
	uint64_t flags, body;

	if (!ruby_object(ruby, code, &flags) || RUBY_TYPE(flags) != RUBY_IMEMO ||
	    RUBY_IMEMO_KIND(flags) != IMEMO_ISEQ)
		return false;
	body = target_word(ruby->memory, code + CODE_BODY);
	return ruby_text(ruby, target_word(ruby->memory, body + BODY_BASE_LABEL), name,
			 RUBY_NAME_BYTES) ||
	       ruby_text(ruby, target_word(ruby->memory, body + BODY_LABEL), name, RUBY_NAME_BYTES);
}

/* The environment that an escaped scope belongs to, by its pointer; 0: it is on a stack. */
static uint64_t environment_at(const struct ruby *ruby, uint64_t scope)
{
	uint64_t own = scope % 8 ? 0 : target_word(ruby->memory, scope + SCOPE_OWN), flags;

	return ruby_object(ruby, own, &flags) && RUBY_TYPE(flags) == RUBY_IMEMO &&
			       RUBY_IMEMO_KIND(flags) == IMEMO_ENV
		       ? own
		       : 0;
}

/* What encloses a scope, which its pointer leads to. */
static int refer_enclosing(const struct referrer *referrer, uint64_t scope)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t outer = target_word(ruby->memory, scope - 8);

	if (!(target_word(ruby->memory, scope) & SCOPE_IS_LOCAL))
		return refer_to(referrer, environment_at(ruby, outer & ~3ull),
				name_label(referrer, "<enclosing scope>"));
	return refer_to(referrer, outer, 0);
}

static int refer_environment(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;
	struct locals locals = locals_of(ruby, referrer->words[ENV_CODE]);
	uint64_t values = referrer->words[ENV_VALUES];
	uint64_t count = referrer->words[ENV_COUNT] & UINT32_MAX;
	int error = refer_to(referrer, referrer->words[ENV_CODE], 0);

	if (error || !takes_part(referrer, values, 0))
		return error;
	count = MIN(words_there(referrer, values, count), (uint64_t)LOCALS_MAX);
	for (uint64_t i = 0; !error && i < count; i++) {
		uint64_t id =
			i < locals.count ? target_word(ruby->memory, locals.table + i * 8) : 0;

		error = refer_to(referrer, target_word(ruby->memory, values + i * 8),
				 id ? id_label(referrer, id) : 0);
	}
	return error ? error : refer_enclosing(referrer, referrer->words[ENV_POINTER]);
}

/* Procs and bindings: struct rb_block comes first. */
static int refer_block(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t data = ruby_data_address(ruby, referrer->object), block[BLOCK_WORDS];
	int error;

	if (target_read(ruby->memory, data, block, sizeof(block)))
		return 0;
	error = refer_to(referrer, block[0], name_label(referrer, "self"));
	if (!error && (block[BLOCK_KIND] & UINT32_MAX) <= 1)
		error = refer_to(referrer, environment_at(ruby, block[BLOCK_ENVIRONMENT]),
				 name_label(referrer, "<variables>"));
	return error ? error : refer_to(referrer, block[BLOCK_CODE], 0);
}

/* Execution contexts: of threads and fibers. */

static struct referrer referrer_of(const struct ruby_context *context)
{
	return (struct referrer){
		.ruby = context->ruby, .sink = context->sink, .node = context->node};
}

static int context_value(const struct ruby_context *context, uint64_t value, const char *function,
			 const char *name)
{
	struct referrer referrer = referrer_of(context);
	char root[2 * RUBY_NAME_BYTES + 24];
	uint64_t flags;

	if (!ruby_object(context->ruby, value, &flags))
		return 0;
	if (context->node != BLOCK_NONE)
		return heap_sink_reference(context->sink, context->node, value,
					   name ? name_label(&referrer, name) : 0);
	if (name && context->named && !hash_put(context->named, value, NULL))
		return -ENOMEM;
	if (name)
		snprintf(root, sizeof(root), "frame %s() → %s", function, name);
	else if (function)
		snprintf(root, sizeof(root), "frame %s()", function);
	else if (context->named && hash_get(context->named, value))
		return 0;
	else
		snprintf(root, sizeof(root), "Ruby stack");
	return heap_sink_passing_root(context->sink, RUBY_KEY, root, value);
}

/* One method or block that runs: its variables lie below its scope, on the same stack. */
static int context_frame(const struct ruby_context *context, uint64_t frame, uint64_t start,
			 uint64_t end)
{
	struct ruby *ruby = context->ruby;
	uint64_t code = target_word(ruby->memory, frame + FRAME_CODE);
	uint64_t scope = target_word(ruby->memory, frame + FRAME_SCOPE);
	struct locals locals = locals_of(ruby, code);
	char function[RUBY_NAME_BYTES], name[RUBY_NAME_BYTES];
	int error;

	if (!ruby_code_name(ruby, code, function))
		snprintf(function, sizeof(function), "?");
	error = context_value(context, target_word(ruby->memory, frame + FRAME_SELF), function,
			      "self");
	if (!error)
		error = context_value(context, code, function, NULL);
	if (error || scope <= start || scope >= end)
		return error ? error
			     : context_value(context, environment_at(ruby, scope), function, NULL);
	for (uint32_t i = 0; !error && i < locals.count; i++) {
		uint64_t id = target_word(ruby->memory, locals.table + i * 8ull);
		uint64_t place = scope - (locals.count + SCOPE_DATA - i) * 8ull;

		if (place >= start && ruby_id_name(ruby, id, name))
			error = context_value(context, target_word(ruby->memory, place), function,
					      name);
	}
	return error;
}

/* Other words of the stack, up to the top of the innermost frame. */
static int context_words(const struct ruby_context *context, uint64_t start, uint64_t end)
{
	uint64_t words[CHUNK];
	int error = 0;

	for (uint64_t at = start; !error && at < end; at += sizeof(words)) {
		size_t count = (size_t)MIN((end - at) / 8, (uint64_t)CHUNK);

		if (target_memory_overworked(context->ruby->memory))
			break;
		if (target_read(context->ruby->memory, at, words, count * 8))
			continue;
		for (size_t i = 0; !error && i < count; i++)
			error = context_value(context, words[i], NULL, NULL);
	}
	return error;
}

static int context_frames(const struct ruby_context *context)
{
	struct ruby *ruby = context->ruby;
	uint64_t start = target_word(ruby->memory, context->ec);
	uint64_t bytes = target_word(ruby->memory, context->ec + EC_STACK_BYTES) * 8;
	uint64_t frame = target_word(ruby->memory, context->ec + EC_FRAME), end = start + bytes;
	uint64_t top = target_word(ruby->memory, frame + FRAME_TOP);
	struct hash named = {0};
	struct ruby_context naming = *context;
	int error;

	if (!start || start % 8 || bytes > STACK_MAX || frame < start || frame >= end ||
	    (end - frame) % ruby->layout->frame_bytes)
		return 0;
	/* Words of calls that have ended lie in it. */
	error = heap_sink_claim(context->sink, start, bytes, false);
	naming.named = &named;
	for (uint64_t at = frame, i = 0; !error && at < end && i < FRAMES_MAX;
	     at += ruby->layout->frame_bytes, i++) {
		if (target_memory_overworked(ruby->memory))
			break;
		error = context_frame(&naming, at, start, end);
	}
	if (!error && top > start && top <= frame)
		error = context_words(&naming, start, top);
	hash_free(&named);
	return error;
}

/* Thread[:name], and words of the context itself. */
static int context_storage(const struct ruby_context *context)
{
	struct ruby *ruby = context->ruby;
	struct referrer referrer = referrer_of(context);
	uint64_t address = target_word(ruby->memory, context->ec + EC_LOCAL_STORAGE);
	uint64_t serial, value;
	struct ruby_id_table table;
	char name[RUBY_NAME_BYTES], label[RUBY_NAME_BYTES + 4];
	int error = 0;

	if (!ruby_id_table_open(ruby, address, &table))
		return 0;
	takes_part(&referrer, address, 0);
	takes_part(&referrer, table.items, 0);
	for (uint64_t i = 0; !error && i < MIN(table.capacity, (uint64_t)LOCALS_MAX); i++) {
		if (!ruby_id_table_item(ruby, &table, i, &serial, &value))
			continue;
		snprintf(label, sizeof(label), "[:%s]",
			 ruby_serial_name(ruby, serial, name) ? name : "?");
		error = refer_to(&referrer, value, name_label(&referrer, label));
	}
	return error;
}

int ruby_context_refer(const struct ruby_context *context)
{
	const struct ruby_layout *layout = context->ruby->layout;
	struct referrer referrer = referrer_of(context);
	int error;

	if (context->node == BLOCK_NONE)
		return context_frames(context);
	takes_part(&referrer, target_word(context->ruby->memory, context->ec), 0);
	error = context_storage(context);
	if (!error)
		error = context_words(context, context->ec + EC_LOCAL_STORAGE + 8,
				      context->ec + layout->ec_bytes);
	return error;
}

/* 3.3: rb_native_thread_t with its stack for signals, and memory for its Ruby stack, which a thread
 * keeps as long as its object lives. */
static void take_native(const struct referrer *referrer, uint64_t thread)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t native;

	if (!ruby->layout->shapes)
		return;
	native = target_word(ruby->memory, thread + THREAD_NATIVE);
	takes_part(referrer, native, 0);
	takes_part(referrer, target_word(ruby->memory, native + NATIVE_SIGNAL_STACK), 0);
	takes_part(referrer, target_word(ruby->memory, native + NATIVE_CONTEXT), 0);
	takes_part(referrer, target_word(ruby->memory, thread + THREAD_STACK), 0);
}

/* The machine's own thread; its frames are roots. */
static int refer_thread(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t thread = ruby_data_address(ruby, referrer->object);
	struct ruby_context context = {ruby, referrer->sink,
				       target_word(ruby->memory, thread + ruby->layout->thread_ec),
				       referrer->node, NULL};
	const uint64_t fibers[] = {
		context.ec - RUBY_FIBER_EC,
		target_word(ruby->memory, thread + ruby->layout->thread_root_fiber)};
	int error = 0;

	takes_part(referrer, thread, 0);
	take_native(referrer, thread);
	/* Of one that has ended nothing else leads to its fibers. */
	for (size_t i = 0; !error && i < ARRAY_SIZE(fibers); i++) {
		takes_part(referrer, fibers[i], 0);
		error = refer_to(referrer, target_word(ruby->memory, fibers[i] + FIBER_SELF), 0);
	}
	if (error)
		return error;
	error = context_words(&context, thread + 16, thread + ruby->layout->thread_bytes);
	return error || !context.ec ? error : ruby_context_refer(&context);
}

/* All fibers share mappings of stacks: only the parts in use count. */
static int fiber_stack(const struct ruby_context *context, uint64_t fiber)
{
	struct ruby *ruby = context->ruby;
	const struct ruby_layout *layout = ruby->layout;
	uint64_t stack = fiber + layout->fiber_stack;
	uint64_t base = target_word(ruby->memory, stack);
	uint64_t bytes = target_word(ruby->memory, stack + STACK_SIZE);
	uint64_t top = target_word(ruby->memory, fiber + layout->fiber_stack_pointer);
	int error;

	if (!base || base % 8 || bytes % 8 || bytes > STACK_MAX || top % 8 || top < base ||
	    top - base >= bytes)
		return 0;
	error = heap_sink_claim(context->sink, base, bytes, false);
	return error ? error : context_words(context, top, base + bytes);
}

static int refer_fiber(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t fiber = ruby_data_address(ruby, referrer->object);
	struct ruby_context context = {ruby, referrer->sink, fiber + RUBY_FIBER_EC, referrer->node,
				       NULL};
	int error;

	takes_part(referrer, fiber, 0);
	/* cont.c, cont_mark(): it marks the thread that it belongs to. */
	error = refer_to(
		referrer,
		target_word(ruby->memory,
			    target_word(ruby->memory, context.ec + EC_THREAD) + THREAD_SELF),
		name_label(referrer, "<thread>"));
	if (!error)
		error = refer_to(referrer, target_word(ruby->memory, fiber + FIBER_VALUE), 0);
	if (!error)
		error = refer_to(referrer,
				 target_word(ruby->memory, fiber + ruby->layout->fiber_first_proc),
				 0);
	if (!error)
		error = ruby_context_refer(&context);
	if (!error)
		error = context_frames(&context);
	return error ? error : fiber_stack(&context, fiber);
}

/* iseq.h: struct iseq_catch_table, a count of 32 bits with entries right behind it, whose pointers
 * to code are not aligned. */
static int refer_code(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t body = referrer->words[CODE_BODY / 8];
	uint64_t table = target_word(ruby->memory, body + ruby->layout->local_table + 8);
	uint32_t count = (uint32_t)target_word(ruby->memory, table);
	int error = 0;

	if (!table || count > LOCALS_MAX)
		return 0;
	for (uint64_t i = 0; !error && i < count * (uint64_t)CATCH_HALVES; i++)
		error = refer_to(referrer, target_word(ruby->memory, table + 4 + i * 4), 0);
	return error;
}

/* Weak tables: their blocks belong to them, and hold nothing. 3.1 has two, of which one leads to
 * lists of keys; later ones' keys are blocks. */
static int refer_weak(const struct referrer *referrer, bool holds_values)
{
	struct ruby *ruby = referrer->ruby;
	uint64_t data = ruby_data_address(ruby, referrer->object), key, value, bound;
	int error = 0;

	if (data != referrer->object + DATA_POINTER * 8ull)
		takes_part(referrer, data, 0);
	if (!ruby->layout->shapes)
		error = refer_to(referrer, target_word(ruby->memory, data + WEAK_TABLES * 8), 0);
	for (uint64_t i = 0; !error && i < (ruby->layout->shapes ? 1 : WEAK_TABLES); i++) {
		uint64_t address = target_word(ruby->memory, data + i * 8);
		struct ruby_table table;

		if (!address || !takes_part(referrer, address, 0) ||
		    !take_table(referrer, address, &table, &bound))
			continue;
		for (uint64_t j = table.first; !error && j < bound; j++) {
			if (target_memory_overworked(ruby->memory))
				break;
			if (!ruby_table_entry(ruby, &table, j, &key, &value))
				continue;
			if (heap_sink_node(referrer->sink, key) != BLOCK_NONE)
				takes_part(referrer, key, 0);
			if (holds_values)
				error = refer_to(referrer, value, 0);
			else if (heap_sink_node(referrer->sink, value) != BLOCK_NONE)
				takes_part(referrer, value, 0);
		}
	}
	return error;
}

static int refer_data(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;

	switch (ruby_data_kind(ruby, referrer->object)) {
	case DATA_PROC:
		return refer_block(referrer);
	case DATA_THREAD:
		return refer_thread(referrer);
	case DATA_FIBER:
		return refer_fiber(referrer);
	case DATA_WEAK_MAP:
		return refer_weak(referrer, false);
	case DATA_WEAK_KEYS:
		return refer_weak(referrer, true);
	default:
		return 0;
	}
}

/* Variables of objects of other types, in a table of the interpreter's. */
static int refer_generic(const struct referrer *referrer)
{
	struct ruby *ruby = referrer->ruby;
	const uint64_t *found = hash_get(&ruby->generic, referrer->object);
	const uint32_t *labels;
	uint64_t count;

	if (!found || !takes_part(referrer, *found, 0))
		return 0;
	labels = ruby_variable_labels(ruby, referrer->sink, referrer->words[1], referrer->flags);
	if (ruby->layout->shapes && !labels)
		return refer_table(referrer, target_word(ruby->memory, *found));
	count = target_word(ruby->memory, *found + GENERIC_COUNT) & UINT32_MAX;
	return refer_row(referrer, *found + GENERIC_VALUES, count, NAMED_BY_LABELS, labels);
}

static int refer_internal(const struct referrer *referrer)
{
	switch (RUBY_IMEMO_KIND(referrer->flags)) {
	case IMEMO_ENV:
		return refer_environment(referrer);
	case IMEMO_ISEQ:
		return refer_code(referrer);
	default:
		return 0;
	}
}

static int refer_by_type(struct referrer *referrer)
{
	switch (RUBY_TYPE(referrer->flags)) {
	case RUBY_OBJECT:
		return refer_object(referrer);
	case RUBY_CLASS:
	case RUBY_MODULE:
	case RUBY_ICLASS:
		return refer_class(referrer);
	case RUBY_STRING:
		return refer_string(referrer);
	case RUBY_ARRAY:
		return refer_array(referrer);
	case RUBY_HASH:
		return refer_hash(referrer);
	case RUBY_STRUCT:
		return refer_struct(referrer);
	case RUBY_DATA:
		return refer_data(referrer);
	case RUBY_IMEMO:
		return refer_internal(referrer);
	case RUBY_REGEXP:
	case RUBY_MATCH:
	case RUBY_COMPLEX:
	case RUBY_RATIONAL:
	case RUBY_SYMBOL:
		return refer_words(referrer, HEAD_WORDS, 5);
	default:
		return 0;
	}
}

int ruby_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	struct referrer referrer = {.ruby = state, .sink = sink, .node = node};
	uint64_t bytes = MIN(sink->sizes[node], (uint64_t)RUBY_SLOT_MAX);
	const uint64_t *garbage = hash_get(&referrer.ruby->classes, RUBY_KEY_GARBAGE);
	int error;

	referrer.object = sink->starts[node];
	referrer.count = (uint32_t)bytes / 8;
	if ((garbage && (sink->whats[node] & NODE_CLASS) == *garbage - 1) ||
	    bytes < RUBY_SLOT_BYTES ||
	    target_read(referrer.ruby->memory, referrer.object, referrer.words, bytes))
		return 0;
	referrer.flags = referrer.words[0];
	error = RUBY_TYPE(referrer.flags) == RUBY_IMEMO ? 0
							: refer_to(&referrer, referrer.words[1], 0);
	if (!error && referrer.flags & RUBY_EXIVAR)
		error = refer_generic(&referrer);
	return error ? error : refer_by_type(&referrer);
}
