// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Ruby (MRI) 3.1, 3.3 and 3.4: libruby*.so, or a program with it. A heap page is 16 or 64 KiB of
 * slots; each that is in use is an object, whose class names it. What an object has beside its slot
 * (elements, letters, tables) are malloc's blocks, and in 3.1 also memory of the transient heap.
 *
 * A slot that the collector has found to be garbage, and has not swept yet, is no object of its
 * class any more: only the blocks that it still has are known by it.
 */
#include "heap/runtime/ruby/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/class_origin.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

#define BEFORE_SWEEP 12		/* struct heap_page: flags */
#define FIRST_SLOT_UP_TO_3_3 32 /* struct heap_page: start */
#define FIRST_SLOT 40
#define SAMPLED_PAGES 64
#define NAME_ROOM (RUBY_NAME_BYTES + 16)

/* 3.1: flags of what the transient heap has (transient_heap.h). */
#define TRANSIENT_ARRAY RUBY_USER(13)
#define TRANSIENT_OBJECT RUBY_USER(13)
#define TRANSIENT_STRUCT RUBY_USER(3)
#define TRANSIENT_HASH RUBY_USER(14)
#define TRANSIENT_BLOCK 32768u
#define SMALL_HASH_BYTES 128

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"libruby.so", false}, {"libruby-", false},
						   {"ruby", true},	  {"ruby2.", false},
						   {"ruby3.", false},	  {"ruby4.", false}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

static bool detect_module(const struct data_module *module)
{
	return target_variable(module, "ruby_api_version") && target_variable(module, "rb_cObject");
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       !mapping_may_be_arena(mapping);
}

/* Whether a heap page begins there: its first word leads to what leads back. */
static bool is_heap_page(struct peek *peek, uint64_t body, uint64_t bytes)
{
	uint64_t page, first;

	if (peek_words(peek, body, &page, 1) || page % 8)
		return false;
	if (!peek_words(peek, page + FIRST_SLOT_UP_TO_3_3, &first, 1) && first - body < bytes &&
	    first > body)
		return true;
	return !peek_words(peek, page + FIRST_SLOT, &first, 1) && first - body < bytes &&
	       first > body;
}

/* The share of the heap's pages among some of the places where they may begin. */
static double share(const void *state, const struct mapping *mapping, struct peek *peek)
{
	static const uint64_t sizes[] = {16384, 65536};
	double most = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t first = (mapping->start + sizes[i] - 1) & ~(sizes[i] - 1);
		uint64_t pages = mapping->end > first ? (mapping->end - first) / sizes[i] : 0;
		uint64_t step = MAX(pages / SAMPLED_PAGES, (uint64_t)1), seen = 0, found = 0;

		for (uint64_t at = 0; at < pages; at += step, seen++)
			found += is_heap_page(peek, first + at * sizes[i], sizes[i]);
		if (seen)
			most = MAX(most, (double)found / (double)seen);
	}
	return most;
}

/* Classes of objects. */

struct walk {
	struct ruby *ruby;
	struct heap_sink *sink;
	struct ruby_page page;
	const unsigned char *bytes; /* of its body */
	uint64_t objects;
};

static uint64_t slot_word(const struct walk *walk, uint64_t slot, size_t offset)
{
	uint64_t word;

	memcpy(&word, walk->bytes + (slot - walk->page.body) + offset, sizeof(word));
	return word;
}

static const char *hidden_name(unsigned type)
{
	static const char *const names[] = {
		[RUBY_OBJECT] = "(object)",	[RUBY_CLASS] = "(class)",
		[RUBY_MODULE] = "(module)",	[RUBY_FLOAT] = "(float)",
		[RUBY_STRING] = "(string)",	[RUBY_REGEXP] = "(regexp)",
		[RUBY_ARRAY] = "(array)",	[RUBY_HASH] = "(hash)",
		[RUBY_STRUCT] = "(struct)",	[RUBY_BIGNUM] = "(bignum)",
		[RUBY_FILE] = "(file)",		[RUBY_DATA] = "(data)",
		[RUBY_MATCH] = "(match)",	[RUBY_COMPLEX] = "(complex)",
		[RUBY_RATIONAL] = "(rational)", [RUBY_SYMBOL] = "(symbol)",
		[RUBY_NODE] = "(syntax tree)",	[RUBY_ICLASS] = "(included module)",
		[RUBY_IMEMO] = "(internal)",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "(unknown type)";
}

static const char *imemo_name(unsigned kind)
{
	static const char *const names[IMEMO_MAX_] = {
		[IMEMO_ENV] = "(variables of a closure)",
		[IMEMO_CREF] = "(lexical scope)",
		[IMEMO_SVAR] = "(special variables)",
		[IMEMO_THROW_DATA] = "(throw)",
		[IMEMO_IFUNC] = "(block in C)",
		[IMEMO_MEMO] = "(memo)",
		[IMEMO_METHOD] = "(method entry)",
		[IMEMO_ISEQ] = "(bytecode)",
		[IMEMO_TMPBUF] = "(buffer)",
		[IMEMO_AST] = "(syntax tree)",
		[IMEMO_PARSER] = "(parser)",
		[IMEMO_CALLINFO] = "(call info)",
		[IMEMO_CALLCACHE] = "(call cache)",
		[IMEMO_CONSTCACHE] = "(constant cache)",
	};

	return kind < ARRAY_SIZE(names) && names[kind] ? names[kind] : "(internal)";
}

static void class_name(struct ruby *ruby, uint64_t key, const char *suffix, char name[NAME_ROOM])
{
	char path[RUBY_NAME_BYTES];

	if (key == RUBY_KEY_GARBAGE)
		snprintf(name, NAME_ROOM, "(garbage that awaits the sweep)");
	else if (key >= RUBY_KEY_IMEMO && key < RUBY_KEY_GARBAGE)
		snprintf(name, NAME_ROOM, "%s", imemo_name((unsigned)key - RUBY_KEY_IMEMO));
	else if (key >= RUBY_KEY_HIDDEN && key < RUBY_KEY_IMEMO)
		snprintf(name, NAME_ROOM, "%s", hidden_name((unsigned)key - RUBY_KEY_HIDDEN));
	else if (ruby_class_path(ruby, key, path))
		snprintf(name, NAME_ROOM, "%s%s", path, suffix);
	else
		snprintf(name, NAME_ROOM, "(anonymous class)%s", suffix);
}

static int give_class(struct walk *walk, uint64_t key, bool ended, uint32_t *class)
{
	uint64_t *known = hash_put(&walk->ruby->classes, key | ended, NULL);
	char name[NAME_ROOM];
	struct managed_class made = {.name = name, .runtime = RUBY_KEY, .exact = true};
	int error;

	if (!known)
		return -ENOMEM;
	if (!*known) {
		class_name(walk->ruby, key, ended ? RUNTIME_ENDED : "", name);
		made.describes = !strcmp(name, "Class") || !strcmp(name, "Module");
		error = heap_sink_class(walk->sink, &made, class);
		if (error)
			return error;
		*known = *class + 1ull;
	}
	*class = (uint32_t)*known - 1;
	return 0;
}

/* Thread: its machine thread has ended. */
static bool is_ended(struct ruby *ruby, uint64_t slot)
{
	uint64_t thread = ruby_data_address(ruby, slot);
	uint8_t status;

	return ruby_data_kind(ruby, slot) == DATA_THREAD && thread &&
	       !target_read(ruby->memory, thread + ruby->layout->thread_status, &status, 1) &&
	       (status & 3) == 3;
}

static uint64_t class_key(struct ruby *ruby, uint64_t flags, uint64_t class)
{
	unsigned type = RUBY_TYPE(flags);
	uint64_t real = 0;

	if (type == RUBY_IMEMO)
		return RUBY_KEY_IMEMO + RUBY_IMEMO_KIND(flags);
	if (type != RUBY_ICLASS && type != RUBY_NODE)
		real = ruby_real_class(ruby, class);
	return real ? real : (uint64_t)RUBY_KEY_HIDDEN + type;
}

/* How its own words are to be read. */
static uint32_t word_rule(uint64_t flags)
{
	switch (RUBY_TYPE(flags)) {
	case RUBY_DATA:
	case RUBY_FILE:
	case RUBY_NODE:
		return 0;
	case RUBY_IMEMO:
		switch (RUBY_IMEMO_KIND(flags)) {
		case IMEMO_ENV:
			return NODE_PRECISE;
		case IMEMO_CALLCACHE:
		case IMEMO_CALLINFO:
			return NODE_OBJECT;
		default:
			return 0;
		}
	case RUBY_CLASS:
	case RUBY_MODULE:
	case RUBY_ICLASS:
	case RUBY_REGEXP:
	case RUBY_MATCH:
		return NODE_OBJECT;
	case RUBY_BIGNUM:
		return flags & RUBY_USER(2) ? NODE_PRECISE : NODE_OBJECT;
	default:
		return NODE_PRECISE;
	}
}

/* The memory that 3.1 has for a young object in its transient heap. *bytes 0: none. */
static uint64_t transient_memory(const struct walk *walk, uint64_t slot, uint64_t flags,
				 uint64_t *bytes)
{
	*bytes = 0;
	switch (RUBY_TYPE(flags)) {
	case RUBY_ARRAY:
		if (flags & RUBY_USER(1) || !(flags & TRANSIENT_ARRAY))
			return 0;
		*bytes = slot_word(walk, slot, 24) * 8;
		return slot_word(walk, slot, 32);
	case RUBY_OBJECT:
		if (flags & RUBY_USER(1) || !(flags & TRANSIENT_OBJECT))
			return 0;
		*bytes = (slot_word(walk, slot, 16) & UINT32_MAX) * 8;
		return slot_word(walk, slot, 24);
	case RUBY_STRUCT:
		if (RUBY_BITS(flags, 1, 2) || !(flags & TRANSIENT_STRUCT))
			return 0;
		*bytes = slot_word(walk, slot, 16) * 8;
		return slot_word(walk, slot, 24);
	case RUBY_HASH:
		if (flags & RUBY_USER(3) || !(flags & TRANSIENT_HASH))
			return 0;
		*bytes = SMALL_HASH_BYTES;
		return slot_word(walk, slot, 16);
	default:
		return 0;
	}
}

static int add_transient(struct walk *walk, uint64_t slot, uint64_t flags, uint32_t class)
{
	struct ruby *ruby = walk->ruby;
	uint64_t bytes, start = transient_memory(walk, slot, flags, &bytes);
	bool fresh = false;

	if (!start || start % 8 || !bytes || bytes > TRANSIENT_BLOCK ||
	    target_room(ruby->memory, start, bytes) != bytes)
		return 0;
	if (!hash_put(&ruby->transient, start, &fresh))
		return -ENOMEM;
	if (!fresh)
		return 0;
	return heap_sink_add(walk->sink, start, bytes, class | NODE_PART | NODE_PRECISE);
}

/* Slots. */

static int add_slot(struct walk *walk, uint64_t slot, bool is_garbage)
{
	struct ruby *ruby = walk->ruby;
	uint64_t flags = slot_word(walk, slot, 0);
	unsigned type = RUBY_TYPE(flags);
	uint32_t class;
	int error;

	if (type == RUBY_NONE || type >= RUBY_ZOMBIE) {
		ruby->free_bytes += walk->page.slot_bytes;
		return 0;
	}
	error = give_class(walk,
			   is_garbage ? RUBY_KEY_GARBAGE
				      : class_key(ruby, flags, slot_word(walk, slot, 8)),
			   !is_garbage && type == RUBY_DATA && is_ended(ruby, slot), &class);
	if (error)
		return error;
	walk->objects += !is_garbage;
	if (!ruby->layout->shapes)
		error = add_transient(walk, slot, flags, class);
	return error ? error
		     : heap_sink_add(walk->sink, slot, walk->page.slot_bytes,
				     class | (is_garbage ? NODE_OBJECT : word_rule(flags)));
}

static int walk_page(struct walk *walk, unsigned char *bytes)
{
	struct ruby *ruby = walk->ruby;
	const struct ruby_page *page = &walk->page;
	uint64_t marks[RUBY_MARK_WORDS] = {0};
	uint8_t flags = 0;
	bool unswept;
	int error = 0;

	target_read_pages(ruby->memory, page->body, bytes, ruby->layout->page_bytes);
	target_read(ruby->memory, page->address + BEFORE_SWEEP, &flags, 1);
	unswept = flags & 1 && !target_read(ruby->memory, page->address + ruby->layout->mark_bits,
					    marks, sizeof(marks));
	walk->bytes = bytes;
	for (uint64_t i = 0; !error && i < page->slots; i++) {
		uint64_t slot = page->first + i * page->slot_bytes;
		uint64_t bit = (slot - page->body) / RUBY_SLOT_BYTES;

		error = add_slot(walk, slot, unswept && !(marks[bit / 64] >> bit % 64 & 1));
	}
	/* Stale words of free slots hold nothing. */
	return error ? error : heap_sink_idle(walk->sink, page->body, ruby->layout->page_bytes);
}

static int walk_pages(struct ruby *ruby, struct heap_sink *sink, struct walk_report *report)
{
	struct walk walk = {.ruby = ruby, .sink = sink};
	unsigned char *bytes = malloc(ruby->layout->page_bytes);
	int error = bytes ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < ruby->pages.count; i++) {
		if (target_memory_overworked(ruby->memory))
			break;
		walk.page = ruby->pages.items[i];
		error = walk_page(&walk, bytes);
	}
	free(bytes);
	report->objects = walk.objects;
	report->heap_bytes = ruby->pages.count * (uint64_t)ruby->layout->page_bytes;
	report->free_bytes = ruby->free_bytes;
	report->nonsense = ruby->unread_pages;
	return error;
}

static int walk_heap(struct target_memory *memory, struct heap_sink *sink,
		     struct walk_report *report, void **state)
{
	struct ruby *ruby = calloc(1, sizeof(*ruby));
	const char *why = NULL;
	int error;

	if (!ruby)
		return -ENOMEM;
	*state = ruby;
	error = ruby_open(memory, ruby, report->version, &report->untested, &why);
	if (error == -ENOENT)
		report->why = why;
	if (error)
		return error;
	if (memory->again && (ruby_is_compacting(ruby) || ruby->unread_pages))
		return -EAGAIN;
	error = walk_pages(ruby, sink, report);
	if (!error && ruby_is_compacting(ruby))
		report->why = "a compaction moved objects just then: look again";
	report->all_roots = !error && memory->image && memory->image->stopped && !report->why;
	return error;
}

static void end(void *state)
{
	ruby_close(state);
	free(state);
}

static const struct heap_walker walker = {.moves = ruby_moves,
					  .walk = walk_heap,
					  .roots = ruby_roots,
					  .refer = ruby_refer,
					  .end = end};

/* The origin of classes, see class_origin.h. */
static const char *const language_classes[] = {
	"Array",	 "Binding", "Class",	 "Complex",   "Dir",	"Encoding", "Enumerator",
	"Exception",	 "Fiber",   "File",	 "Float",     "Hash",	"IO",	    "Integer",
	"MatchData",	 "Method",  "Module",	 "Monitor",   "Object", "Pathname", "Proc",
	"Ractor",	 "Random",  "Range",	 "Rational",  "Regexp", "Set",	    "String",
	"StringIO",	 "Symbol",  "TCPServer", "TCPSocket", "Thread", "Time",	    "TracePoint",
	"UnboundMethod", NULL};
static const char *const library_names[] = {
	"Gem::",      "RubyVM::",      "IO::",	 "Thread::", "Process::", "Enumerator::",
	"Encoding::", "ObjectSpace::", "File::", "(",	     NULL};
static const char *const code_classes[] = {"(bytecode)",       "(call cache)",	 "(call info)",
					   "(constant cache)", "(method entry)", NULL};
static const struct class_names class_names = {.language = language_classes,
					       .libraries = library_names,
					       .code = code_classes,
					       .without_packages = true};

const struct runtime runtime_ruby = {
	.classes = &class_names,
	.key = RUBY_KEY,
	.name = "Ruby interpreter",
	.tool = "`leakmon retain --census -p %d` counts its objects by class",
	.detect = detect,
	.detect_module = detect_module,
	.owns = owns,
	.share = share,
	.collects = true,
	.walker = &walker,
	.in_program = true,
	.has_threads = true,
};
