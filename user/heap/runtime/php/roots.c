// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Roots of PHP's values by the names of variables: globals, static variables of classes and
 * functions, constants, and variables of running functions. The tables that contain these, the list
 * of all objects, the collector's buffer and stacks hold nothing themselves.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "heap/runtime/php/php.h"

#define ROOT_BYTES (2 * PHP_NAME_BYTES + 32)
#define STACK_PREVIOUS 16 /* struct _zend_vm_stack */
#define MUTABLE_CONSTANTS 8
#define CONSTANT_CLASS 32 /* zend_class_constant.ce */

/* Variables in a table, named by prefix, key and suffix. */
struct walking_roots {
	const struct php *php;
	const struct php_root_visitor *visitor;
	const char *prefix, *suffix;
	uint64_t class, statics;
	struct hash *seen; /* classes: some have several names */
};

static int claim(const struct walking_roots *roots, uint64_t address)
{
	return address ? roots->visitor->claim(roots->visitor->context, address) : 0;
}

/* Adds the value of a variable. `key` 0: named by the table alone. */
static int add_value(const struct walking_roots *roots, struct php_value value, uint64_t key,
		     enum managed_rank rank)
{
	uint64_t to = php_value_target(roots->php, value);
	char text[PHP_NAME_BYTES] = "", name[ROOT_BYTES];

	if (!to)
		return 0;
	if (key && !php_text(roots->php, key, text))
		snprintf(text, sizeof(text), "?");
	snprintf(name, sizeof(name), "%s%s%s", roots->prefix, text, roots->suffix);
	return roots->visitor->root(roots->visitor->context, name, rank, to);
}

static int visit_named(struct walking_roots *roots, uint64_t address, php_visit_element *visit)
{
	struct php_table table;

	return php_table_open(roots->php, address, &table)
		       ? php_table_visit(roots->php, &table, visit, roots)
		       : 0;
}

static int add_variable(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	(void)index;
	return add_value(context, *value, key, MANAGED_NAMED);
}

/* Adds the variables in a table, which holds nothing itself. */
static int add_variables(struct walking_roots *roots, uint64_t address)
{
	struct php_table table;
	int error;

	if (!php_table_open(roots->php, address, &table))
		return 0;
	error = claim(roots, table.block);
	return error ? error : php_table_visit(roots->php, &table, add_variable, roots);
}

static int add_function(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	struct walking_roots *roots = context, own = *roots;
	const struct php *php = roots->php;
	uint64_t function = value->value, statics;
	char name[PHP_NAME_BYTES], suffix[PHP_NAME_BYTES + 4];
	int error;

	(void)index;
	(void)key;
	if ((value->type & 0xff) != PHP_POINTER ||
	    (php_half(php, function) & 0xff) == FUNCTION_INTERNAL ||
	    php_word(php, function + FUNCTION_SCOPE) != roots->class)
		return 0;
	statics = php_map_pointer(php, function + php->layout->statics);
	if (!statics)
		return 0;
	php_function_name(php, function, name);
	snprintf(suffix, sizeof(suffix), " in %s", name);
	own.prefix = "static $";
	own.suffix = suffix;
	error = claim(roots, statics);
	return error ? error : add_variables(&own, statics);
}

/* Classes. */

/* Adds a static property; inherited ones belong to the parent. */
static int add_member(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	const struct walking_roots *roots = context;
	const struct php *php = roots->php;
	uint32_t place = php_half(php, value->value);

	(void)index;
	if (!(php_half(php, value->value + PROPERTY_FLAGS) & PROPERTY_STATIC) ||
	    php_word(php, value->value + PROPERTY_CLASS) != roots->class ||
	    place >= php_half(php, roots->class + CLASS_STATIC_COUNT))
		return 0;
	return add_value(roots,
			 php_value_at(php, roots->statics + (uint64_t)place * PHP_ZVAL_BYTES), key,
			 MANAGED_NAMED);
}

static int add_class_constant(void *context, const struct php_value *value, uint64_t index,
			      uint64_t key)
{
	const struct walking_roots *roots = context;

	(void)index;
	if (php_word(roots->php, value->value + CONSTANT_CLASS) != roots->class)
		return 0;
	return add_value(roots, php_value_at(roots->php, value->value), key, MANAGED_NAMED);
}

/* Returns a class's constants; those with values computed at run time are elsewhere if the class is
 * in shared memory. */
static uint64_t constants_of(const struct php *php, uint64_t class)
{
	uint64_t own = php_map_pointer(php, class + CLASS_MUTABLE);
	uint64_t constants = own ? php_word(php, own + MUTABLE_CONSTANTS) : 0;

	return constants ? constants : class + CLASS_CONSTANTS;
}

static int add_members(const struct walking_roots *roots, const char *name)
{
	struct walking_roots own = *roots;
	const struct php *php = roots->php;
	char prefix[PHP_NAME_BYTES + 4];
	int error = 0;

	own.prefix = prefix;
	own.statics = php_map_pointer(php, own.class + CLASS_STATICS);
	if (own.statics && php_half(php, own.class + CLASS_STATIC_COUNT)) {
		snprintf(prefix, sizeof(prefix), "%s::$", name);
		error = claim(&own, own.statics);
		if (!error)
			error = visit_named(&own, own.class + CLASS_PROPERTIES, add_member);
	}
	if (error || (php_half(php, own.class) & 0xff) != CLASS_USER)
		return error;
	snprintf(prefix, sizeof(prefix), "%s::", name);
	error = visit_named(&own, constants_of(php, own.class), add_class_constant);
	return error ? error : visit_named(&own, own.class + CLASS_METHODS, add_function);
}

static int add_class(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	struct walking_roots own = *(struct walking_roots *)context;
	char name[PHP_NAME_BYTES];
	bool fresh = true;

	(void)index;
	(void)key;
	own.class = value->value;
	if ((value->type & 0xff) != PHP_POINTER ||
	    !php_text(own.php, php_word(own.php, own.class + CLASS_NAME), name))
		return 0;
	if (!hash_put(own.seen, own.class, &fresh))
		return -ENOMEM;
	return fresh ? add_members(&own, name) : 0;
}

static int add_constant(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	struct walking_roots own = *(struct walking_roots *)context;
	struct php_value constant = php_value_at(own.php, value->value);
	int error;

	(void)index;
	if (!php_block_at(own.php, php_value_target(own.php, constant)))
		return 0;
	own.prefix = "constant ";
	error = claim(&own, value->value);
	return error ? error : add_value(&own, constant, key, MANAGED_NAMED);
}

/* Functions that run. */

/* Adds a local variable, which may live as long as the program. */
static int add_local(void *context, uint64_t to, uint64_t name, uint64_t index)
{
	static const char *const prefixes[] = {[PHP_NAME_THIS / 2] = "$this",
					       [PHP_NAME_TEMPORARY / 2] = "value",
					       [PHP_NAME_ARGUMENT / 2] = "argument",
					       [PHP_NAME_CLOSURE / 2] = "closure"};
	struct walking_roots own = *(struct walking_roots *)context;
	const char *prefix = name <= PHP_NAME_CLOSURE ? prefixes[name / 2] : NULL;

	(void)index;
	own.prefix = prefix ? prefix : "$";
	return add_value(&own, (struct php_value){to, PHP_REFCOUNTED},
			 prefix ? 0 : name & ~PHP_NAME_VARIABLE,
			 !prefix || name == PHP_NAME_THIS ? MANAGED_NAMED : MANAGED_PASSING);
}

static int claim_local(void *context, uint64_t address)
{
	return claim(context, address);
}

static int add_frames(const struct walking_roots *roots)
{
	const struct php *php = roots->php;
	struct walking_roots own = *roots;
	const struct php_visitor visitor = {
		.refer = add_local, .part = claim_local, .context = &own};
	uint64_t at = php_word(php, php->globals + PHP_FRAME);
	struct loop loop = {0}, stacks = {0};
	int error = 0;

	while (!error && at && !loop_found(&loop, at)) {
		uint64_t function = php_word(php, at + FRAME_FUNCTION);
		char name[PHP_NAME_BYTES] = "?", suffix[PHP_NAME_BYTES + 4];

		if (function)
			php_function_name(php, function, name);
		snprintf(suffix, sizeof(suffix), " in %s", name);
		own.suffix = suffix;
		error = php_visit_frame(php, at, &visitor, &at);
	}
	for (at = php_word(php, php->globals + PHP_STACK); !error && at && !loop_found(&stacks, at);
	     at = php_word(php, at + STACK_PREVIOUS))
		error = claim(roots, at);
	return error;
}

static int add_handlers(const struct walking_roots *roots)
{
	struct walking_roots own = *roots;
	uint64_t globals = own.php->globals;
	struct php_value exception = {php_word(own.php, globals + own.php->layout->exception),
				      PHP_REFCOUNTED};
	int error;

	own.prefix = "error handler";
	error = add_value(&own, php_value_at(own.php, globals + own.php->layout->error_handler), 0,
			  MANAGED_NAMED);
	own.prefix = "exception handler";
	if (!error)
		error = add_value(
			&own, php_value_at(own.php, globals + own.php->layout->exception_handler),
			0, MANAGED_NAMED);
	own.prefix = "exception being thrown";
	return error ? error : add_value(&own, exception, 0, MANAGED_NAMED);
}

/* Claims memory with addresses of objects that it does not hold. */
static int claim_own(const struct walking_roots *roots)
{
	const struct php *php = roots->php;
	struct php_table weak;
	int error = claim(roots, php_word(php, php->globals + php->layout->objects));

	if (!error)
		error = claim(roots, php_word(php, php->compiler + php->layout->map_base - 8));
	if (!error && php_table_open(php, php->globals + php->layout->weakrefs, &weak))
		error = claim(roots, weak.block);
	return error;
}

int php_visit_roots(const struct php *php, const struct php_root_visitor *visitor)
{
	struct hash seen = {0};
	struct walking_roots roots = {
		.php = php, .visitor = visitor, .prefix = "$", .suffix = "", .seen = &seen};
	int error = add_variables(&roots, php->globals + PHP_SYMBOLS);

	if (!error)
		error = visit_named(&roots, php_word(php, php->globals + PHP_CLASSES), add_class);
	if (!error)
		error = visit_named(&roots, php_word(php, php->globals + PHP_FUNCTIONS),
				    add_function);
	if (!error)
		error = visit_named(&roots, php_word(php, php->globals + PHP_CONSTANTS),
				    add_constant);
	if (!error)
		error = add_frames(&roots);
	if (!error)
		error = add_handlers(&roots);
	if (!error)
		error = claim_own(&roots);
	hash_free(&seen);
	return error;
}

/*
 * The collector: zend_gc.c, struct _zend_gc_globals. It has no symbol, and is found by its shape.
 */

#define COLLECTOR_STEP 16384u /* its buffer grows by 128 KiB */
#define COLLECTOR_BYTES 32

struct collector {
	uint64_t buffer;
	uint8_t enabled, active, guarded, full;
	uint32_t unused, first_unused, threshold, size, roots;
};

static bool is_collector(const struct php *php, const struct heap_sink *sink,
			 const struct collector *collector)
{
	uint32_t node;

	if (!collector->buffer || collector->buffer % 16 || !collector->size ||
	    collector->size % COLLECTOR_STEP || collector->enabled > 1 || collector->active > 1 ||
	    collector->guarded > 1 || collector->full > 1 || !collector->first_unused ||
	    collector->first_unused > collector->size ||
	    collector->roots >= collector->first_unused ||
	    collector->unused >= collector->first_unused || collector->threshold > (1u << 30))
		return false;
	node = heap_sink_node(sink, collector->buffer);
	if (node == BLOCK_NONE)
		return target_room(php->memory, collector->buffer, collector->size * 8ull) ==
		       collector->size * 8ull;
	return sink->starts[node] == collector->buffer && sink->sizes[node] / 8 >= collector->size;
}

static bool find_collector(const struct php *php, const struct heap_sink *sink,
			   struct collector *collector)
{
	const struct maps *maps = php->memory->maps;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		uint64_t end = MIN(mapping->end, php->module->end);

		if (!mapping->writable || mapping->start < php->module->start)
			continue;
		for (uint64_t at = mapping->start; at + COLLECTOR_BYTES <= end; at += 8) {
			if (!target_read(php->memory, at, collector, COLLECTOR_BYTES) &&
			    is_collector(php, sink, collector))
				return true;
		}
	}
	return false;
}

static int add_named(void *context, const char *name, enum managed_rank rank, uint64_t to)
{
	return rank == MANAGED_PASSING ? heap_sink_passing_root(context, PHP_KEY, name, to)
				       : heap_sink_root(context, PHP_KEY, name, to);
}

static int claim_block_at(struct heap_sink *sink, uint64_t address)
{
	uint32_t node = heap_sink_node(sink, address);

	if (node == BLOCK_NONE || node_has_class(sink->whats[node]))
		return 0;
	return heap_sink_claim(sink, sink->starts[node], sink->sizes[node], true);
}

/* Ignored: already claimed in the walk. */
static int claim_nothing(void *context, uint64_t address)
{
	(void)context;
	(void)address;
	return 0;
}

int php_roots(void *state, struct heap_sink *sink)
{
	struct php *php = state;
	struct walk_report *report = &sink->reports.items[php->report];
	const struct php_root_visitor visitor = {add_named, claim_nothing, sink};
	struct collector collector = {0};
	bool found = find_collector(php, sink, &collector);
	int error = php_visit_roots(php, &visitor);

	report->collector_off = found && !collector.enabled;
	report->counted = !report->why && php->memory->image && !(found && collector.active);
	if (!error && found)
		error = claim_block_at(sink, collector.buffer);
	for (size_t i = 0; !error && i < php->claimed.count; i++)
		error = claim_block_at(sink, php->claimed.items[i]);
	return error ? error
		     : heap_sink_claim(sink, php->globals, php->layout->globals_bytes, true);
}
