// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values of PHP: the references of arrays, objects, closures, generators and frames, which also
 * determine the classes of blocks. Keys of arrays and names of dynamic properties are contents, and
 * not shown.
 */
#include "base/cleanup.h"
#include "base/loop.h"
#include "heap/runtime/php/php.h"

#define CHUNK 64
#define BUCKET_BYTES 32
#define CALLS_MAX 64 /* calls being prepared by one function */

/* zend_array */
#define TABLE_PACKED (1u << 2)
#define TABLE_UNINITIALIZED (1u << 3)

#define FUNCTION_FAKE_CLOSURE (1u << 23) /* its variables belong to another function */
#define FIBER_STACK 16			 /* from its frame on: zend_fiber.vm_stack */
#define STACK_PREVIOUS 16
#define REFERENCE_VALUE 8

/* The call of a closure (ZEND_CALL_CLOSURE); zend_live_range */
#define CALL_CLOSURE (1u << 22)
#define RANGE_BYTES 12
#define RANGE_KIND 7u
#define RANGE_LOOP 1
#define RANGE_NEW 4

/* Tables. */

bool php_table_open(const struct php *php, uint64_t address, struct php_table *table)
{
	struct {
		uint32_t references, type, flags, mask;
		uint64_t data;
		uint32_t used, count, size;
	} head;
	uint64_t stride, room;

	if (!address || address % 8 || target_read(php->memory, address, &head, sizeof(head)) ||
	    (head.type & 0xf) != PHP_ARRAY || head.used > head.size)
		return false;
	*table = (struct php_table){.data = head.data, .packed = head.flags & TABLE_PACKED};
	if (head.flags & TABLE_UNINITIALIZED || !head.used)
		head.used = 0;
	/* Hash slots precede the data; their number is the negated mask. */
	if (!(head.flags & TABLE_UNINITIALIZED))
		table->block = head.data - (uint64_t)-head.mask * 4;
	stride = table->packed ? PHP_ZVAL_BYTES : BUCKET_BYTES;
	room = target_room(php->memory, head.data, head.used * stride) / stride;
	table->used = (uint32_t)MIN((uint64_t)head.used, room);
	return true;
}

int php_table_visit(const struct php *php, const struct php_table *table, php_visit_element *visit,
		    void *context)
{
	unsigned char bytes[CHUNK * BUCKET_BYTES];
	size_t stride = table->packed ? PHP_ZVAL_BYTES : BUCKET_BYTES;
	int error = 0;

	for (uint32_t i = 0; !error && i < table->used; i += CHUNK) {
		uint32_t here = MIN(table->used - i, (uint32_t)CHUNK);

		if (target_read(php->memory, table->data + i * stride, bytes, here * stride))
			continue;
		for (uint32_t j = 0; !error && j < here; j++) {
			struct php_value value = {0};
			uint64_t key = 0;

			memcpy(&value.value, bytes + j * stride, 8);
			memcpy(&value.type, bytes + j * stride + 8, 4);
			if (!table->packed)
				memcpy(&key, bytes + j * stride + 24, 8);
			if (value.type & 0xff)
				error = visit(context, &value, table->packed ? i + j : PHP_NO_INDEX,
					      key);
		}
	}
	return error;
}

struct php_value php_value_at(const struct php *php, uint64_t place)
{
	struct php_value value = {0};

	return target_read(php->memory, place, &value, sizeof(value)) ? (struct php_value){0}
								      : value;
}

uint64_t php_value_target(const struct php *php, struct php_value value)
{
	if ((value.type & 0xff) == PHP_INDIRECT)
		value = php_value_at(php, value.value);
	return value.type & PHP_REFCOUNTED ? value.value : 0;
}

/* References. */

static int refer_value(const struct php_visitor *visitor, const struct php_value *value,
		       uint64_t name, uint64_t index)
{
	return value->type & PHP_REFCOUNTED
		       ? visitor->refer(visitor->context, value->value, name, index)
		       : 0;
}

static int visit_item(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	const struct php_visitor *visitor = context;
	int error = key ? visitor->refer(visitor->context, key, 0, PHP_NO_INDEX) : 0;

	return error ? error : refer_value(visitor, value, 0, index);
}

static int visit_variable(void *context, const struct php_value *value, uint64_t index,
			  uint64_t key)
{
	(void)index;
	return refer_value(context, value, key | PHP_NAME_VARIABLE, PHP_NO_INDEX);
}

/* Visits an array with its data, which are a part of it. */
static int visit_table(const struct php *php, uint64_t address, php_visit_element *visit,
		       const struct php_visitor *visitor)
{
	struct php_table table;
	int error = 0;

	if (!php_table_open(php, address, &table))
		return 0;
	if (table.block)
		error = visitor->part(visitor->context, table.block);
	return error ? error : php_table_visit(php, &table, visit, (void *)visitor);
}

static int visit_properties(const struct php *php, const struct php_class *class, uint64_t object,
			    const struct php_visitor *visitor)
{
	uint64_t more = php_word(php, object + OBJECT_PROPERTIES);
	int error = 0;

	for (uint32_t i = 0; !error && i < class->count; i++) {
		struct php_value value =
			php_value_at(php, object + OBJECT_TABLE + (uint64_t)i * PHP_ZVAL_BYTES);

		error = refer_value(visitor, &value, class->names ? class->names[i] : 0,
				    PHP_NO_INDEX);
	}
	return error || !more ? error : visitor->refer(visitor->context, more, 0, PHP_NO_INDEX);
}

static int visit_closure(const struct php *php, uint64_t object, const struct php_visitor *visitor)
{
	uint64_t function = object + OBJECT_OWN, statics;
	struct php_value this = php_value_at(php, function + php->layout->function_bytes);
	int error = refer_value(visitor, &this, PHP_NAME_THIS, PHP_NO_INDEX);

	if (error || (php_half(php, function) & 0xff) == FUNCTION_INTERNAL ||
	    php_half(php, function + FUNCTION_FLAGS) & FUNCTION_FAKE_CLOSURE)
		return error;
	statics = php_map_pointer(php, function + php->layout->statics);
	if (!statics)
		return 0;
	error = visitor->part(visitor->context, statics);
	return error ? error : visit_table(php, statics, visit_variable, visitor);
}

static int visit_generator(const struct php *php, uint64_t object,
			   const struct php_visitor *visitor)
{
	uint64_t frame = php_word(php, object + OBJECT_OWN), previous;
	int error = frame ? visitor->part(visitor->context, frame) : 0;

	return error || !frame ? error : php_visit_frame(php, frame, visitor, &previous);
}

/* Visits a fiber: a suspended one contains its frames; those of a running one are the process's. */
static int visit_fiber(const struct php *php, uint64_t object, const struct php_visitor *visitor)
{
	uint64_t place = object + php->layout->fiber_frame, at = php_word(php, place);
	struct loop loop = {0}, stacks = {0};
	int error = 0;

	while (!error && at && !loop_found(&loop, at))
		error = php_visit_frame(php, at, visitor, &at);
	for (at = php_word(php, place + FIBER_STACK); !error && at && !loop_found(&stacks, at);
	     at = php_word(php, at + STACK_PREVIOUS))
		error = visitor->part(visitor->context, at);
	return error;
}

int php_visit_references(const struct php *php, const struct php_class *class, uint64_t block,
			 const struct php_visitor *visitor)
{
	uint64_t object = block + class->offset;
	struct php_value value;

	switch (class->kind) {
	case PHP_KIND_ARRAY:
		return visit_table(php, object, visit_item, visitor);
	case PHP_KIND_REFERENCE:
		value = php_value_at(php, object + REFERENCE_VALUE);
		return refer_value(visitor, &value, 0, PHP_NO_INDEX);
	case PHP_KIND_CLOSURE:
		return visit_closure(php, object, visitor);
	case PHP_KIND_GENERATOR:
		return visit_generator(php, object, visitor);
	case PHP_KIND_FIBER:
		return visit_fiber(php, object, visitor);
	case PHP_KIND_WEAK_REFERENCE: /* the reference precedes the object */
		return visitor->weak ? visitor->weak(visitor->context, php_word(php, block)) : 0;
	case PHP_KIND_WEAK_MAP:
		return visit_table(php, block, visit_item, visitor);
	case PHP_KIND_OBJECT:
		return visit_properties(php, class, object, visitor);
	default:
		return 0;
	}
}

/* Frames. */

static int visit_slots(const struct php *php, uint64_t place, uint64_t count, uint64_t names,
		       uint64_t name, const struct php_visitor *visitor)
{
	int error = 0;

	for (uint64_t i = 0; !error && i < MIN(count, (uint64_t)PHP_COUNT_MAX); i++) {
		struct php_value value = php_value_at(php, place + i * PHP_ZVAL_BYTES);

		if (value.type & PHP_REFCOUNTED)
			error = refer_value(visitor, &value,
					    names ? php_word(php, names + i * 8) | PHP_NAME_VARIABLE
						  : name,
					    PHP_NO_INDEX);
	}
	return error;
}

/*
 * Visits temporary values still needed at the current instruction (zend_generators.c,
 * zend_generator_cleanup_unfinished_execution(); zend_execute.c, zend_unfinished_execution_gc()).
 */
static int visit_temporaries(const struct php *php, uint64_t frame, uint64_t function,
			     const struct php_visitor *visitor)
{
	uint64_t ranges = php_word(php, function + php->layout->ranges);
	uint64_t at = (php_word(php, frame) - php_word(php, function + php->layout->opcodes)) /
		      PHP_OPCODE_BYTES;
	uint32_t count = MIN(php_half(php, function + php->layout->range_count), PHP_COUNT_MAX);
	int error = 0;

	for (uint32_t i = 0; !error && i < count; i++) {
		uint32_t range[3]; /* var, start, end */

		if (target_read(php->memory, ranges + i * RANGE_BYTES, range, sizeof(range)) ||
		    range[1] > at)
			break;
		if (at < range[2] &&
		    ((range[0] & RANGE_KIND) <= RANGE_LOOP || (range[0] & RANGE_KIND) == RANGE_NEW))
			error = visit_slots(php, frame + (range[0] & ~RANGE_KIND), 1, 0,
					    PHP_NAME_TEMPORARY, visitor);
	}
	return error;
}

/* Visits the object of a call, and its closure. */
static int visit_call(const struct php *php, uint64_t frame, const struct php_visitor *visitor)
{
	struct php_value this = php_value_at(php, frame + FRAME_THIS);
	int error = 0;

	if ((this.type & 0xff) == PHP_OBJECT)
		error = visitor->refer(visitor->context, this.value, PHP_NAME_THIS, PHP_NO_INDEX);
	if (!error && this.type & CALL_CLOSURE)
		error = visitor->refer(visitor->context,
				       php_word(php, frame + FRAME_FUNCTION) - OBJECT_OWN,
				       PHP_NAME_CLOSURE, PHP_NO_INDEX);
	return error;
}

/* Visits pending calls, whose arguments are being collected. */
static int visit_pending(const struct php *php, uint64_t frame, const struct php_visitor *visitor)
{
	uint64_t call = php_word(php, frame + FRAME_CALL);
	int error = 0;

	for (int i = 0; !error && call && i < CALLS_MAX; i++) {
		error = visit_call(php, call, visitor);
		if (!error)
			error = visit_slots(php, call + FRAME_SLOTS,
					    php_half(php, call + FRAME_ARGUMENTS), 0,
					    PHP_NAME_ARGUMENT, visitor);
		call = php_word(php, call + FRAME_PREVIOUS);
	}
	return error;
}

static int visit_variables(const struct php *php, uint64_t frame, uint64_t function,
			   const struct php_visitor *visitor)
{
	uint64_t names = php_word(php, function + php->layout->variables);
	uint32_t count = php_half(php, function + php->layout->variable_count);
	uint32_t own = MIN(php_half(php, function + php->layout->temporaries), PHP_COUNT_MAX) +
		       MIN(count, PHP_COUNT_MAX);
	uint32_t declared = php_half(php, function + FUNCTION_ARGUMENTS);
	uint32_t given = php_half(php, frame + FRAME_ARGUMENTS);
	int error = 0;

	/* Variables of the main script are global. */
	if (php_word(php, frame + FRAME_SYMBOLS) != php->globals + PHP_SYMBOLS)
		error = visit_slots(php, frame + FRAME_SLOTS, count, names, 0, visitor);
	if (!error && given > declared && given < PHP_COUNT_MAX)
		error = visit_slots(php, frame + FRAME_SLOTS + (uint64_t)own * PHP_ZVAL_BYTES,
				    given - declared, 0, PHP_NAME_ARGUMENT, visitor);
	return error;
}

int php_visit_frame(const struct php *php, uint64_t frame, const struct php_visitor *visitor,
		    uint64_t *previous)
{
	uint64_t function = php_word(php, frame + FRAME_FUNCTION);
	int error = visit_call(php, frame, visitor);

	*previous = php_word(php, frame + FRAME_PREVIOUS);
	if (error || !function)
		return error;
	if ((php_half(php, function) & 0xff) == FUNCTION_INTERNAL)
		return visit_slots(php, frame + FRAME_SLOTS, php_half(php, frame + FRAME_ARGUMENTS),
				   0, PHP_NAME_ARGUMENT, visitor);
	error = visit_variables(php, frame, function, visitor);
	if (!error)
		error = visit_temporaries(php, frame, function, visitor);
	return error ? error : visit_pending(php, frame, visitor);
}
