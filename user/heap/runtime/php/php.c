// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * PHP: a program or a library that exports executor_globals. The version is that of its module
 * "Core"; a layout is believed once the list of objects, classes, the running function and
 * zend_mm's heap agree with it.
 */
#include "heap/runtime/php/php.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/allocators/heap_image.h"
#include "heap/runtime/class_origin.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

#define API_FIRST 20220829u /* 8.2: in earlier versions packed arrays have keys */
#define PROVED 64
#define TEXT_MAX (1u << 16)

/* zend_module_entry (zend_modules.h) */
#define MODULE_BYTES 168
#define MODULE_API 4
#define MODULE_DEBUG 8
#define MODULE_VERSION 88

static const struct php_layout layouts[] = {
	{.api = 20220829,
	 .globals_bytes = 1800,
	 .error_handler = 680,
	 .exception_handler = 696,
	 .objects = 840,
	 .exception = 864,
	 .active = 992,
	 .weakrefs = 1568,
	 .map_base = 480,
	 .free_slots = 32,
	 .real_size = 272,
	 .temporaries = 56,
	 .variable_count = 76,
	 .opcode_count = 80,
	 .opcodes = 88,
	 .statics = 96,
	 .variables = 112,
	 .range_count = 128,
	 .ranges = 136,
	 .file = 152,
	 .line = 160,
	 .function_bytes = 248,
	 .fiber_frame = 280},
	{.api = 20240924,
	 .globals_bytes = 1984,
	 .error_handler = 704,
	 .exception_handler = 720,
	 .objects = 856,
	 .exception = 936,
	 .active = 1064,
	 .weakrefs = 1648,
	 .map_base = 512,
	 .free_slots = 40,
	 .real_size = 280,
	 .temporaries = 72,
	 .variable_count = 92,
	 .opcode_count = 96,
	 .opcodes = 104,
	 .statics = 112,
	 .variables = 128,
	 .range_count = 144,
	 .ranges = 152,
	 .file = 168,
	 .line = 176,
	 .function_bytes = 256,
	 .fiber_frame = 288},
};

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {
		{"php", true},	      {"php-fpm", true},    {"php-cgi", true}, {"php8.", false},
		{"php-fpm8.", false}, {"php-cgi8.", false}, {"libphp", false},
	};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

static bool is_thread_safe(const struct data_module *module)
{
	return target_variable(module, "executor_globals_offset") != 0;
}

static bool detect_module(const struct data_module *module)
{
	return target_variable(module, "module_registry") &&
	       (target_variable(module, "executor_globals") || is_thread_safe(module));
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       mapping->end - mapping->start >= PHP_CHUNK_BYTES;
}

/* Reading. */

uint32_t php_half(const struct php *php, uint64_t address)
{
	uint32_t half = 0;

	return target_read(php->memory, address, &half, sizeof(half)) ? 0 : half;
}

uint64_t php_map_pointer(const struct php *php, uint64_t place)
{
	uint64_t pointer = php_word(php, place);

	return pointer & 1 ? php_word(php, php_word(php, php->compiler + php->layout->map_base) +
						   pointer)
			   : pointer;
}

/* zend_string: the length precedes the letters. Text behind a zero (in names of anonymous classes)
 * is left out. */
bool php_text(const struct php *php, uint64_t string, char text[PHP_NAME_BYTES])
{
	struct {
		uint32_t references, type;
		uint64_t hash, length;
	} head;
	size_t length;

	if (string % 8 || target_read(php->memory, string, &head, sizeof(head)) ||
	    (head.type & 0xf) != PHP_STRING || !head.length || head.length > TEXT_MAX)
		return false;
	length = MIN((size_t)head.length, (size_t)PHP_NAME_BYTES - 1);
	if (target_read(php->memory, string + sizeof(head), text, length))
		return false;
	text[length] = '\0';
	for (size_t i = 0; text[i]; i++) {
		if (iscntrl((unsigned char)text[i]))
			return false;
	}
	return text[0] != '\0';
}

static bool file_of(const struct php *php, uint64_t function, char text[PHP_NAME_BYTES])
{
	return php_half(php, function) % 0x100 != FUNCTION_INTERNAL &&
	       php_text(php, php_word(php, function + php->layout->file), text);
}

void php_function_name(const struct php *php, uint64_t function, char name[PHP_NAME_BYTES])
{
	char text[PHP_NAME_BYTES], scope[PHP_NAME_BYTES] = "", file[PHP_NAME_BYTES] = "";
	uint64_t class = php_word(php, function + FUNCTION_SCOPE);
	bool has_file = file_of(php, function, file);

	if (!php_text(php, php_word(php, function + FUNCTION_NAME), text)) {
		snprintf(name, PHP_NAME_BYTES, "main script %.200s", text_path_base(file));
	} else if (!strncmp(text, "{closure", 8) && has_file) {
		snprintf(name, PHP_NAME_BYTES, "{closure} %.200s:%u", text_path_base(file),
			 php_half(php, function + php->layout->line));
	} else {
		if (class)
			php_text(php, php_word(php, class + CLASS_NAME), scope);
		snprintf(name, PHP_NAME_BYTES, "%.120s%s%.120s()", scope, scope[0] ? "::" : "",
			 text);
	}
}

/* Which version it is. */

struct core_module {
	uint32_t api;
	bool found, debug, thread_safe;
	char version[24];
};

static int take_module(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	struct {
		const struct php *php;
		struct core_module *core;
	} *taking = context;
	const struct php *php = taking->php;
	uint64_t module = value->value;
	uint16_t flags = 0;
	char text[sizeof(taking->core->version)] = "";

	(void)index;
	(void)key;
	if ((php_half(php, module) & 0xffff) != MODULE_BYTES)
		return 1;
	taking->core->api = php_half(php, module + MODULE_API);
	target_read(php->memory, module + MODULE_DEBUG, &flags, sizeof(flags));
	taking->core->debug = flags & 0xff;
	taking->core->thread_safe = flags >> 8;
	target_read(php->memory, php_word(php, module + MODULE_VERSION), text, sizeof(text) - 1);
	for (size_t i = 0; isdigit((unsigned char)text[i]) || text[i] == '.'; i++)
		taking->core->version[i] = text[i];
	taking->core->found = true;
	return 1; /* the first one is Core */
}

static int read_core(const struct php *php, struct core_module *core)
{
	struct {
		const struct php *php;
		struct core_module *core;
	} taking = {php, core};
	struct php_table registry;

	if (php_table_open(php, target_variable(php->module, "module_registry"), &registry))
		php_table_visit(php, &registry, take_module, &taking);
	return core->found ? 0 : -ENOENT;
}

static bool find_module(struct php *php)
{
	const struct data_modules *modules = php->memory->modules;

	for (size_t i = 0; !php->module && i < modules->list.count; i++) {
		if (detect_module(&modules->list.items[i]))
			php->module = &modules->list.items[i];
	}
	if (!php->module)
		return false;
	php->globals = target_variable(php->module, "executor_globals");
	php->compiler = target_variable(php->module, "compiler_globals");
	return true;
}

/* Proof of a layout. */

/* zend_objects_store, zend_object */

static bool is_class(const struct php *php, uint64_t class)
{
	char name[PHP_NAME_BYTES];
	uint32_t type = php_half(php, class) & 0xff;

	return class && class % 8 == 0 && (type == 1 || type == 2) &&
	       php_text(php, php_word(php, class + CLASS_NAME), name);
}

static bool has_objects(const struct php *php)
{
	uint64_t store = php->globals + php->layout->objects, buckets = php_word(php, store);
	uint32_t top = php_half(php, store + STORE_TOP);
	uint32_t size = php_half(php, store + STORE_SIZE);

	if (!buckets || buckets % 8 || !size || top > size ||
	    target_room(php->memory, buckets, size * 8ull) < size * 8ull)
		return false;
	/* The first bucket is unused. */
	for (uint32_t i = 1; i < MIN(top, (uint32_t)PROVED); i++) {
		uint64_t object = php_word(php, buckets + i * 8ull);

		if (!(object & STORE_FREE) &&
		    (php_half(php, object + OBJECT_HANDLE) != i ||
		     !is_class(php, php_word(php, object + OBJECT_CLASS))))
			return false;
	}
	return true;
}

static int check_class(void *context, const struct php_value *value, uint64_t index, uint64_t key)
{
	const struct php *php = context;
	char name[PHP_NAME_BYTES];

	(void)index;
	return (value->type & 0xff) != PHP_POINTER || !is_class(php, value->value) ||
	       !php_text(php, key, name);
}

static bool has_classes(const struct php *php)
{
	struct php_table classes;

	if (!php_table_open(php, php_word(php, php->globals + PHP_CLASSES), &classes))
		return false;
	classes.used = MIN(classes.used, (uint32_t)PROVED);
	return classes.used && !php_table_visit(php, &classes, check_class, (void *)php);
}

/* Returns whether the innermost running function in PHP's code is valid: its next instruction is
 * one of its own instructions, and it has a file. */
static bool has_function(const struct php *php)
{
	uint64_t frame = php_word(php, php->globals + PHP_FRAME);
	char text[PHP_NAME_BYTES];

	for (int i = 0; frame && i < PROVED; i++) {
		uint64_t function = php_word(php, frame + FRAME_FUNCTION), first, count;

		if (function && (php_half(php, function) & 0xff) != FUNCTION_INTERNAL) {
			first = php_word(php, function + php->layout->opcodes);
			count = php_half(php, function + php->layout->opcode_count);
			return php_word(php, frame) - first < count * PHP_OPCODE_BYTES &&
			       file_of(php, function, text);
		}
		frame = php_word(php, frame + FRAME_PREVIOUS);
	}
	return true; /* none runs */
}

static bool is_proved(struct php *php, const struct php_layout *layout)
{
	php->layout = layout;
	return has_objects(php) && has_classes(php) && has_function(php);
}

/* Finds the layout of the version, or another one that passes all checks. */
static bool find_layout(struct php *php, uint32_t api, bool *untested)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].api == api)
			return is_proved(php, &layouts[i]);
	}
	*untested = true;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (is_proved(php, &layouts[i]))
			return true;
	}
	return false;
}

/* Returns whether a request runs; assumed for unknown versions. */
static bool is_active(const struct php *php, uint32_t api)
{
	uint8_t active = 1;

	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].api == api)
			target_read(php->memory, php->globals + layouts[i].active, &active, 1);
	}
	return active;
}

/* Returns whether a SAPI runs requests one after the other, and frees all memory of each
 * (php_request_shutdown()). */
static bool frees_by_request(const struct php *php)
{
	static const char *const names[] = {"fpm-fcgi", "cgi-fcgi", "apache2handler", "cli-server",
					    "litespeed"};
	uint64_t place = target_variable(php->module, "sapi_module");
	char name[16] = "";

	if (!place || target_read(php->memory, php_word(php, place), name, sizeof(name) - 1))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* Finds PHP. 0, or an error with report->why, unless it is -ENOMEM. */
static int find(struct php *php, struct walk_report *report)
{
	struct core_module core = {0};

	report->why = "its variables executor_globals and module_registry are not found";
	if (!find_module(php))
		return -ENOENT;
	report->why = "its module Core is not found: another build of it";
	if (read_core(php, &core))
		return -ENOENT;
	report->why = "thread-safe builds of PHP (ZTS) are not read";
	if (core.thread_safe || is_thread_safe(php->module))
		return -ENOENT;
	snprintf(report->version, sizeof(report->version), "%s", core.version);
	report->why = "debug builds of PHP are not read";
	if (core.debug)
		return -ENOENT;
	report->why = "objects of PHP before 8.2 are not known";
	if (core.api < API_FIRST)
		return -ENOENT;
	report->why = "no script runs: what a request had is freed at its end";
	if (!is_active(php, core.api))
		return -ENOENT;
	report->why = "its objects, classes or functions are not where this version has them";
	if (!find_layout(php, core.api, &report->untested))
		return -ENOENT;
	report->by_request = frees_by_request(php);
	return php_find_heap(php, &report->why);
}

static void end(void *state)
{
	struct php *php = state;

	for (size_t i = 0; i < php->classes.count; i++)
		free(php->classes.items[i].names);
	vec_free(&php->classes);
	vec_free(&php->chunks);
	vec_free(&php->blocks);
	vec_free(&php->queue);
	vec_free(&php->claimed);
	hash_free(&php->class_index);
	hash_free(&php->labels);
	free(php);
}

static int add_blocks(const struct php *php, struct heap_sink *sink)
{
	int error = 0;

	for (size_t i = 0; !error && i < php->blocks.count; i++) {
		const struct php_block *block = &php->blocks.items[i];
		uint32_t what = block->class >= PHP_BLOCK_TAKEN ? NODE_OWN : block->class;

		if (node_has_class(what) && php->classes.items[what - php->first_class].precise)
			what |= NODE_PRECISE;
		if (block->class != PHP_BLOCK_FREE)
			error = heap_sink_add(sink, block->start,
					      (uint64_t)block->units * PHP_BLOCK_UNIT, what);
	}
	for (size_t i = 0; !error && i < php->chunks.count; i++)
		error = heap_sink_idle(sink, php->chunks.items[i], PHP_CHUNK_BYTES);
	return error;
}

static int walk_heap(struct target_memory *memory, struct heap_sink *sink,
		     struct walk_report *report, void **state)
{
	struct php *php = calloc(1, sizeof(*php));
	int error;

	if (!php)
		return -ENOMEM;
	*state = php;
	php->memory = memory;
	php->report = (size_t)(report - sink->reports.items);
	php->first_class = (uint32_t)sink->classes.count;
	error = find(php, report);
	if (!error) {
		report->why = NULL;
		error = php_read_blocks(php, report);
	}
	if (!error)
		error = php_find_classes(php, sink);
	if (!error)
		error = add_blocks(php, sink);
	report->nonsense += php->nonsense;
	return error;
}

static const struct heap_walker walker = {
	.walk = walk_heap, .roots = php_roots, .refer = php_refer, .end = end};

/* The origin of classes, see class_origin.h. */
static const char *const language_classes[] = {"array",	    "ArrayObject", "Closure",  "Fiber",
					       "Generator", "reference",   "resource", "SplQueue",
					       "stdClass",  "string",	   "WeakMap",  NULL};
static const struct class_names class_names = {.language = language_classes,
					       .without_packages = true};

const struct runtime runtime_php = {
	.classes = &class_names,
	.key = PHP_KEY,
	.name = "PHP interpreter",
	.tool = "`leakmon retain --census -p %d` counts its objects by class",
	.detect = detect,
	.detect_module = detect_module,
	.owns = owns,
	.share = php_chunks_share,
	.walker = &walker,
};
