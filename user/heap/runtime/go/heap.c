// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Go's heap, object by object. mheap_.allspans is the only slice of spans with as many pages in use
 * as gcController counts (mheap.go, mgcpacer.go). Slots below freeindex are in use; those from
 * there on are if their bits in allocBits are set (mbitmap.go).
 *
 * Objects have no types; those sampled by the heap profile have a record of their allocation, which
 * is their class; the others are classed by size. A word of an object counts as a reference if it
 * is the address of another object: pointer maps are not read.
 *
 * The scheduler's records lead to everything, and many objects lead to them: processors (p), which
 * have the timers, the array of all goroutines, and these (g). They are separate roots, and each
 * timer is a root named by its function.
 */
#include "heap/runtime/go/go.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/search.h"
#include "base/text.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/runtime.h"

#define SPAN_PAGES_MAX (1ull << 32)
#define OBJECTS_MAX (1u << 31)
#define GROWTH_MAX (1ull << 30)
#define STACK_STEP MEMORY_PAGE
#define BARRIER_BYTES_MIN 2048ull /* size of wbBuf: 256 or 512 words */
#define BARRIER_OBJECT_MAX (64u << 10)
#define ARENA_BYTES (64ull << 20) /* heapArenaBytes: all of an arena belongs to the heap */

/* mspan */
#define SPAN_BYTES 144 /* bytes that contain all of these */
#define SPAN_START 24
#define SPAN_PAGES 32
/* mSpanState */
enum span_state {
	SPAN_DEAD,
	SPAN_IN_USE,
	SPAN_MANUAL,
};

/* The contents of a span. */
struct span {
	uint64_t start, pages, free_index, elements, bits, element_size, specials;
	bool without_pointers;
	uint8_t state;
};

struct span_range {
	uint64_t start, end;
	bool stacks; /* it contains stacks of goroutines, or work of the collector */
};

/* Types of objects that contain a timer. */
enum timer_type { TIMER_OTHER, TIMER_TIMER, TIMER_TICKER, TIMER_CHANNEL, TIMER_TYPE_MAX_ };

struct go_heap {
	struct go_program program;
	struct go_slice spans; /* pointers to them */
	uint64_t low, high;    /* bounds of all spans */
	VEC(struct span_range) ranges;
	VEC(uint64_t) processors;   /* each p */
	VEC(struct go_range) quiet; /* parts of objects that hold nothing; ascending once claimed */
	struct hash sites;	    /* buckets of the profile -> class numbers, plus 1 */
	uint64_t timer_classes[TIMER_TYPE_MAX_]; /* class numbers plus 1; 0: none yet */
	struct hash sizes; /* twice the size, plus 1 if without pointers -> class numbers, plus 1 */
	struct intern strings;
	uint64_t bytes_left; /* for spans, which do not overlap */
	struct walk_report *report;
	/* While roots are visited. */
	struct heap_sink *sink;
};

static uint64_t field(const unsigned char *bytes, size_t offset, size_t size)
{
	uint64_t value = 0;

	memcpy(&value, bytes + offset, size);
	return value;
}

/* Reads untouched pages as zeros: those of unused spans. Unreadable pages are read like them; the
 * sum shows whether any were missed. */
static void read_zeros(struct target_memory *memory, uint64_t address, unsigned char *bytes,
		       size_t size)
{
	size_t head = MIN(size, MEMORY_PAGE - address % MEMORY_PAGE);

	memset(bytes, 0, size);
	if (!target_read(memory, address, bytes, size))
		return;
	target_read(memory, address, bytes, head);
	if (head < size)
		target_read(memory, address + head, bytes + head, size - head);
}

/* Reads a span; returns false if there is none. */
static bool read_span(const struct go_program *program, uint64_t address, struct span *span)
{
	const struct go_span_layout *layout = &program->layout->span;
	unsigned char bytes[SPAN_BYTES];

	if (!address || address % 8)
		return false;
	read_zeros(program->memory, address, bytes, sizeof(bytes));
	*span = (struct span){
		.start = field(bytes, SPAN_START, 8),
		.pages = field(bytes, SPAN_PAGES, 8),
		.free_index = field(bytes, layout->free_index, layout->index_size),
		.elements = field(bytes, layout->elements, layout->index_size),
		.bits = field(bytes, layout->bits, 8),
		.element_size = field(bytes, layout->element_size, 8),
		.specials = field(bytes, layout->specials, 8),
		.without_pointers = bytes[layout->class] & 1,
		.state = bytes[layout->class + 1],
	};
	if (span->state == SPAN_DEAD)
		return true;
	return span->state <= SPAN_MANUAL && span->start && span->start % GO_PAGE == 0 &&
	       span->pages && span->pages < SPAN_PAGES_MAX && span->start >> 47 == 0 &&
	       (span->start + span->pages * GO_PAGE) >> 47 == 0;
}

/* Returns whether objects fit the span. */
static bool is_sound(const struct span *span)
{
	return span->element_size && span->elements && span->elements < OBJECTS_MAX &&
	       span->free_index <= span->elements &&
	       span->elements <= span->pages * GO_PAGE / span->element_size;
}

/* -------- anchors */

/* Sums up the bytes of spans in use; returns false if these are no spans. */
static bool sum_spans(const struct go_program *program, struct go_slice spans, uint64_t *bytes)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < spans.count; i++) {
		struct span span;

		if (!read_span(program, target_word(program->memory, spans.start + i * 8), &span) ||
		    (!i && span.state == SPAN_DEAD && !span.start))
			return false;
		if (span.state == SPAN_IN_USE)
			sum += span.pages * GO_PAGE;
	}
	*bytes = sum;
	return true;
}

/* Returns whether both counts agree, but for one span: it may be being allocated or freed at the
 * stop. */
static bool is_near(uint64_t bytes, uint64_t in_use)
{
	uint64_t differ = bytes > in_use ? bytes - in_use : in_use - bytes;

	return differ <= in_use / 8;
}

/* Returns the only slice of spans whose bytes in use match the counter, exactly or nearly; count 0:
 * none, or several. */
static struct go_slice find_spans(const struct go_program *program, uint64_t in_use, bool exactly)
{
	struct go_slice found = {0};

	for (size_t i = 0; i < go_data_words(program); i++) {
		struct go_slice spans = {go_data_word(program, i), go_data_word(program, i + 1)};
		uint64_t room = go_data_word(program, i + 2), bytes;

		if (!spans.start || spans.start % 8 || !spans.count || spans.count > room ||
		    spans.start == found.start || !sum_spans(program, spans, &bytes) ||
		    !(exactly ? bytes == in_use : is_near(bytes, in_use)))
			continue;
		if (found.count)
			return (struct go_slice){0};
		found = spans;
	}
	return found;
}

/* -------- objects */

static int class_of(struct heap_sink *sink, const char *name, uint64_t *place)
{
	const struct managed_class class = {.name = name, .runtime = GO_KEY, .in_variables = true};
	uint32_t number;
	int error = heap_sink_class(sink, &class, &number);

	if (!error)
		*place = number + 1;
	return error;
}

/* Finds the class "48-byte object" or "48-byte object without pointers". */
static int class_of_size(struct go_heap *heap, struct heap_sink *sink, const struct span *span,
			 uint32_t *class)
{
	uint64_t *place =
		hash_put(&heap->sizes, span->element_size * 2 + span->without_pointers, NULL);
	char name[64];
	int error = 0;

	if (!place)
		return -ENOMEM;
	snprintf(name, sizeof(name), "%" PRIu64 "-byte object%s", span->element_size,
		 span->without_pointers ? " without pointers" : "");
	if (!*place)
		error = class_of(sink, name, place);
	if (!error)
		*class = (uint32_t)*place - 1;
	return error;
}

/* Writes the program's function that allocated an object: "main.keep cache.go:81". */
static int name_site(struct go_heap *heap, const struct go_site *site, char *name, size_t size)
{
	struct frames frames = {0};
	const struct frame *frame;
	int error = 0;

	for (uint64_t i = 0; !error && i < site->depth; i++)
		error = go_frames_append(&heap->program, &heap->strings, site->stack[i], true,
					 &frames);
	frame = goroutine_place(&frames);
	if (!error && frame && frame->function && frame->file)
		snprintf(name, size, "%s %s:%" PRIu32, frame->function, text_path_base(frame->file),
			 frame->line);
	else if (!error)
		snprintf(name, size, "%s",
			 frame && frame->function ? frame->function : "an unknown call stack");
	vec_free(&frames.list);
	return error;
}

/* Finds the class of an allocation site; returns false if it is no record of the profile. *error: 0
 * or -ENOMEM. */
static bool class_of_bucket(struct go_heap *heap, struct heap_sink *sink, uint64_t bucket,
			    uint32_t *class, int *error)
{
	char name[GO_NAME_BYTES + 64];
	uint64_t *place = hash_get(&heap->sites, bucket);
	_cleanup_free_ struct go_site *site = NULL;

	if (place) {
		*class = (uint32_t)*place - 1;
		return true;
	}
	site = malloc(sizeof(*site));
	*error = site ? 0 : -ENOMEM;
	if (*error || !go_site_read(&heap->program, bucket, site))
		return false;
	*error = name_site(heap, site, name, sizeof(name));
	place = *error ? NULL : hash_put(&heap->sites, bucket, NULL);
	if (!*error && !place)
		*error = -ENOMEM;
	if (!*error && !*place)
		*error = class_of(sink, name, place);
	if (!*error)
		*class = (uint32_t)*place - 1;
	return !*error;
}

struct sampled {
	uint64_t offset;
	uint32_t class;
};

struct sampled_list {
	struct sampled *items;
	size_t count, capacity;
};

/* Reads the specials of a span (mheap.go, special): next, then the offset in the span (a word, or
 * two bytes), the kind; for those of the profile, a bucket. Nothing else leads to one. */
static int read_specials(struct go_heap *heap, struct heap_sink *sink, const struct span *span,
			 struct sampled_list *list)
{
	uint64_t at = span->specials;
	struct loop loop = {0};
	int error = 0;

	list->count = 0;
	while (at && !error) {
		uint64_t words[4];
		struct sampled found = {0};
		bool sampled;

		if (loop_found(&loop, at) || at % 8 ||
		    target_read(heap->program.memory, at, words, sizeof(words))) {
			heap->report->nonsense++;
			break;
		}
		found.offset = words[1];
		sampled = class_of_bucket(heap, sink, words[3], &found.class, &error);
		if (!sampled && !error) {
			found.offset = words[1] & 0xffff;
			sampled = class_of_bucket(heap, sink, words[2], &found.class, &error);
		}
		if (sampled) {
			struct sampled *kept = vec_push(list);

			if (!kept)
				return -ENOMEM;
			*kept = found;
		}
		at = words[0];
	}
	return error;
}

static bool is_in_use(const struct span *span, const unsigned char *bits, uint64_t index)
{
	return index < span->free_index || bits[index / 8] & 1u << index % 8;
}

static int note_processor(struct go_heap *heap, uint64_t address)
{
	uint64_t *kept = vec_push(&heap->processors);

	if (!kept)
		return -ENOMEM;
	*kept = address;
	return 0;
}

/*
 * mwbbuf.go: the buffer of the write barrier, in each processor's p, contains the addresses of
 * overwritten objects, and stale ones after it is emptied. Its place varies; two words before it
 * have the next free place, and its end.
 */
static int find_quiet(struct go_heap *heap, uint64_t address, uint64_t size)
{
	_cleanup_free_ uint64_t *words = NULL;

	if (size < BARRIER_BYTES_MIN || size > BARRIER_OBJECT_MAX)
		return 0;
	words = malloc(size);
	if (!words)
		return -ENOMEM;
	if (target_read(heap->program.memory, address, words, size))
		return 0;
	for (size_t i = 0; i + 2 < size / 8; i++) {
		uint64_t start = address + (i + 2) * 8, end = words[i + 1];
		struct go_range *kept;

		if (words[i] < start || words[i] > end || end > address + size ||
		    (end - start != BARRIER_BYTES_MIN && end - start != 2 * BARRIER_BYTES_MIN))
			continue;
		kept = vec_push(&heap->quiet);
		if (!kept)
			return -ENOMEM;
		*kept = (struct go_range){start, end};
		return note_processor(heap, address);
	}
	return 0;
}

static int add_objects(struct go_heap *heap, struct heap_sink *sink, const struct span *span,
		       struct sampled_list *sampled)
{
	size_t bytes = (span->elements + 7) / 8, next = 0;
	_cleanup_free_ unsigned char *bits = calloc(1, bytes);
	uint32_t usual;
	int error = bits ? class_of_size(heap, sink, span, &usual) : -ENOMEM;

	if (!error && span->free_index < span->elements &&
	    target_read(heap->program.memory, span->bits, bits, bytes)) {
		heap->report->nonsense++;
		return 0;
	}
	if (!error)
		error = read_specials(heap, sink, span, sampled);
	for (uint64_t i = 0; !error && i < span->elements; i++) {
		uint64_t offset = i * span->element_size;
		uint32_t class = usual;

		/* They are sorted by offset, which may be inside the object. */
		while (next < sampled->count && sampled->items[next].offset < offset)
			next++;
		if (!is_in_use(span, bits, i))
			continue;
		if (next < sampled->count &&
		    sampled->items[next].offset < offset + span->element_size)
			class = sampled->items[next].class;
		error = heap_sink_add(sink, span->start + offset, span->element_size,
				      class | (span->without_pointers ? NODE_PRECISE : 0));
		if (!error && !span->without_pointers)
			error = find_quiet(heap, span->start + offset, span->element_size);
		heap->report->free_bytes -= span->element_size;
	}
	return error;
}

/* Adds a span's objects; the runtime's record of the span holds nothing. */
static int add_span(struct go_heap *heap, struct heap_sink *sink, uint64_t address,
		    struct sampled_list *sampled)
{
	struct span_range *kept;
	struct span span;
	int error;

	if (!read_span(&heap->program, address, &span)) {
		heap->report->nonsense++;
		return 0;
	}
	error = heap_sink_claim(sink, address, SPAN_BYTES, false);
	if (error || span.state == SPAN_DEAD)
		return error;
	kept = vec_push(&heap->ranges);
	if (!kept)
		return -ENOMEM;
	*kept = (struct span_range){span.start, span.start + span.pages * GO_PAGE,
				    span.state == SPAN_MANUAL};
	heap->low = MIN(heap->low, kept->start);
	heap->high = MAX(heap->high, kept->end);
	if (span.state == SPAN_MANUAL)
		return 0;
	if (!is_sound(&span) || span.pages * GO_PAGE > heap->bytes_left) {
		heap->report->nonsense++;
		return 0;
	}
	heap->bytes_left -= span.pages * GO_PAGE;
	heap->report->heap_bytes += span.pages * GO_PAGE;
	heap->report->free_bytes += span.pages * GO_PAGE;
	return add_objects(heap, sink, &span, sampled);
}

static int by_start(const void *left, const void *right)
{
	const struct span_range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static int by_range(const void *left, const void *right)
{
	const struct go_range *a = left, *b = right;

	return (a->start > b->start) - (a->start < b->start);
}

static int claim(struct heap_sink *sink, uint64_t start, uint64_t end, bool blocks)
{
	return end > start ? heap_sink_claim(sink, start, end - start, blocks) : 0;
}

/* Claims a range except its quiet parts, which are claimed separately. */
static int claim_around(struct go_heap *heap, struct heap_sink *sink, uint64_t start, uint64_t end,
			bool blocks)
{
	size_t i = SORTED_BEFORE(range, heap->quiet.items, heap->quiet.count, range->start < start);
	int error = 0;

	for (; i < heap->quiet.count && heap->quiet.items[i].start < end && !error; i++) {
		const struct go_range *quiet = &heap->quiet.items[i];

		if (quiet->start < start || quiet->end > end)
			continue;
		error = claim(sink, start, quiet->start, blocks);
		if (!error)
			error = heap_sink_claim_within(sink, quiet->start,
						       quiet->end - quiet->start);
		start = quiet->end;
	}
	return error ? error : claim(sink, start, end, blocks);
}

/* Claims arenas: words outside objects hold no objects, neither in free slots nor in pages of freed
 * spans. Stacks may hold blocks of malloc's. */
static int claim_arenas(struct go_heap *heap, struct heap_sink *sink)
{
	uint64_t done = 0; /* end of the claimed part of its arena */
	int error = 0;

	if (heap->ranges.count)
		qsort(heap->ranges.items, heap->ranges.count, sizeof(*heap->ranges.items),
		      by_start);
	if (heap->quiet.count)
		qsort(heap->quiet.items, heap->quiet.count, sizeof(*heap->quiet.items), by_range);
	for (size_t i = 0; i < heap->ranges.count && !error; i++) {
		const struct span_range *range = &heap->ranges.items[i];
		uint64_t arena = range->start / ARENA_BYTES * ARENA_BYTES;
		uint64_t start = MAX(range->start, done);

		if (done < arena) {
			error = claim(sink, done, align_up(done, ARENA_BYTES), false);
			done = arena;
		}
		if (!error)
			error = claim(sink, done, start, false);
		if (!error)
			error = claim_around(heap, sink, start, range->end, range->stacks);
		done = MAX(done, range->end);
	}
	return error ? error : claim(sink, done, align_up(done, ARENA_BYTES), false);
}

/* Limits reading to the possible size of the process. */
static uint64_t bytes_at_most(const struct maps *maps)
{
	uint64_t bytes = GROWTH_MAX;

	for (size_t i = 0; i < maps->list.count; i++) {
		if (maps->list.items[i].writable)
			bytes += maps->list.items[i].end - maps->list.items[i].start;
	}
	return bytes;
}

static int add_spans(struct go_heap *heap, struct heap_sink *sink)
{
	struct sampled_list sampled = {0};
	int error = 0;

	heap->low = UINT64_MAX;
	heap->bytes_left = bytes_at_most(heap->program.memory->maps);
	for (uint64_t i = 0;
	     i < heap->spans.count && !error && !target_memory_overworked(heap->program.memory);
	     i++)
		error = add_span(heap, sink,
				 target_word(heap->program.memory, heap->spans.start + i * 8),
				 &sampled);
	vec_free(&sampled);
	return error ? error : claim_arenas(heap, sink);
}

/* -------- roots */

static int scan_words(void *context, const char *place, uint64_t g, uint64_t start, uint64_t end,
		      bool system)
{
	int (*add_root)(struct heap_sink *, const char *, const char *, uint64_t) =
		system ? heap_sink_worker_root : heap_sink_passing_root;
	struct go_heap *heap = context;
	char name[2 * GO_NAME_BYTES + 160];
	int error;

	snprintf(name, sizeof(name), "goroutine in %s", place);
	error = heap_sink_apart_root(heap->sink, GO_KEY, name, g,
				     system ? MANAGED_WORKER : MANAGED_PASSING);
	for (uint64_t next;
	     !error && start < end && !target_memory_overworked(heap->program.memory);
	     start = next) {
		uint64_t words[STACK_STEP / 8];
		size_t size = MIN(end - start, STACK_STEP - start % STACK_STEP);

		next = start + size;
		/* If all of a stack counts, parts may be untouched. */
		if (target_read(heap->program.memory, start, words, size))
			continue;
		for (size_t i = 0; i < size / 8 && !error; i++) {
			if (words[i] >= heap->low && words[i] < heap->high)
				error = add_root(heap->sink, GO_KEY, name, words[i]);
		}
	}
	return error;
}

/* time.go: a timer has its function (a pointer to a function's address) behind its period, and
 * before the argument, an interface. */
#define TIMER_FUNCTION_MIN 2
#define TIMER_FUNCTION_END 9
#define TIMER_BYTES (12 * 8)  /* bytes that contain all of these, and the link back */
#define OBJECT_HEADER_BYTES 8 /* since 1.22, for some objects: their type */

/* Finds the function of a func value; returns false if it is none. */
static bool function_of(const struct go_program *program, uint64_t value, char name[GO_NAME_BYTES])
{
	uint64_t code = value % 8 ? 0 : target_word(program->memory, value);
	struct go_function function;

	return code && go_function_find(program, code, &function) && function.entry == code &&
	       go_function_name(program, &function, name);
}

/* A timer's function, in the words of a root's name, and the type that contains it. */
struct timer {
	char name[GO_NAME_BYTES + 32]; /* "timer of time.After" */
	enum timer_type type;
	uint64_t channel; /* of time.Timer and time.Ticker */
};

/* Reads a timer; returns false if it is none. */
static bool read_timer(struct go_heap *heap, uint64_t address, struct timer *timer)
{
	uint64_t words[TIMER_BYTES / 8];
	char called[GO_NAME_BYTES], *name = timer->name;
	size_t at = TIMER_FUNCTION_MIN, size = sizeof(timer->name);

	timer->type = TIMER_OTHER;
	if (target_read(heap->program.memory, address, words, sizeof(words)))
		return false;
	while (at < TIMER_FUNCTION_END && !function_of(&heap->program, words[at], called))
		at++;
	if (at == TIMER_FUNCTION_END)
		return false;
	if (!strcmp(called, "time.sendTime")) {
		timer->type = words[at - 1] ? TIMER_TICKER : TIMER_TIMER;
		timer->channel = words[at + 2];
		snprintf(name, size,
			 words[at - 1] ? "timer of time.NewTicker"
				       : "timer of time.After or time.NewTimer");
	} else if (!strcmp(called, "time.goFunc") &&
		   function_of(&heap->program, words[at + 2], called)) {
		snprintf(name, size, "timer of time.AfterFunc: %s", called);
	} else {
		snprintf(name, size, "timer of %s", called);
	}
	return true;
}

static int set_class(struct go_heap *heap, uint32_t node, enum timer_type type)
{
	static const char *const names[] = {[TIMER_TIMER] = "time.Timer",
					    [TIMER_TICKER] = "time.Ticker",
					    [TIMER_CHANNEL] = "chan time.Time"};
	uint64_t *place = &heap->timer_classes[type];
	int error = *place ? 0 : class_of(heap->sink, names[type], place);

	if (!error)
		heap->sink->whats[node] =
			(heap->sink->whats[node] & ~NODE_CLASS) | ((uint32_t)*place - 1);
	return error;
}

/* Finds the objects that contain a timer: time.Timer and time.Ticker begin with the channel to
 * which their timer sends (time/sleep.go, time/tick.go; since 1.23 runtime/time.go: timeTimer). */
static int type_timer(struct go_heap *heap, uint64_t address, const struct timer *timer)
{
	uint32_t node = heap_sink_node(heap->sink, address);
	uint32_t channel = heap_sink_node(heap->sink, timer->channel);
	int error;

	if (timer->type == TIMER_OTHER || node == BLOCK_NONE || channel == BLOCK_NONE ||
	    node == channel || !node_has_class(heap->sink->whats[node]) ||
	    !node_has_class(heap->sink->whats[channel]) ||
	    heap->sink->starts[channel] != timer->channel ||
	    target_word(heap->program.memory, heap->sink->starts[node]) != timer->channel)
		return 0;
	error = set_class(heap, node, timer->type);
	return error ? error : set_class(heap, channel, TIMER_CHANNEL);
}

/* The array of a processor's timers: pointers, or since 1.23 pairs of a pointer and a time. A timer
 * leads back to its processor, or into it. */
struct timers {
	uint64_t array, count, stride;
};

static bool leads_back(struct go_heap *heap, uint64_t timer, uint64_t processor, uint64_t size)
{
	uint64_t words[TIMER_BYTES / 8];

	if (!timer || timer % 8 || target_read(heap->program.memory, timer, words, sizeof(words)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i] - processor < size)
			return true;
	}
	return false;
}

static bool find_timers(struct go_heap *heap, uint64_t processor, struct timers *timers)
{
	struct target_memory *memory = heap->program.memory;
	uint32_t node = heap_sink_node(heap->sink, processor), array;
	uint64_t size = node == BLOCK_NONE ? 0 : heap->sink->sizes[node];

	for (uint64_t at = 0; at + 24 <= size; at += 8) {
		uint64_t slice[3], room;
		struct timer timer;

		if (target_read(memory, processor + at, slice, sizeof(slice)) || !slice[1] ||
		    slice[1] > slice[2] || slice[0] % 8)
			continue;
		array = heap_sink_node(heap->sink, slice[0]);
		if (array == BLOCK_NONE || array == node ||
		    slice[0] - heap->sink->starts[array] > OBJECT_HEADER_BYTES)
			continue;
		room = heap->sink->starts[array] + heap->sink->sizes[array] - slice[0];
		if (slice[2] > room / 8 ||
		    !leads_back(heap, target_word(memory, slice[0]), processor, size) ||
		    !read_timer(heap, target_word(memory, slice[0]), &timer))
			continue;
		*timers = (struct timers){slice[0], slice[1],
					  heap->program.layout->minor >= 23 ? 16 : 8};
		return timers->count <= room / timers->stride;
	}
	return false;
}

static int add_timers(struct go_heap *heap, const struct timers *timers)
{
	int error = 0;

	/* The array itself holds no timers. */
	heap->sink->whats[heap_sink_node(heap->sink, timers->array)] |= NODE_PRECISE;
	for (uint64_t i = 0; !error && i < timers->count; i++) {
		struct timer timer;
		uint64_t address =
			target_word(heap->program.memory, timers->array + i * timers->stride);

		if (target_memory_overworked(heap->program.memory))
			break;
		if (!read_timer(heap, address, &timer))
			snprintf(timer.name, sizeof(timer.name), "timer");
		error = heap_sink_root(heap->sink, GO_KEY, timer.name, address);
		if (!error)
			error = type_timer(heap, address, &timer);
	}
	return error;
}

static int add_processors(struct go_heap *heap)
{
	int error = 0;

	for (size_t i = 0; !error && i < heap->processors.count; i++) {
		uint64_t processor = heap->processors.items[i];
		struct timers timers;

		error = heap_sink_apart_root(heap->sink, GO_KEY, "scheduler's processor", processor,
					     MANAGED_OWN);
		if (!error && find_timers(heap, processor, &timers))
			error = add_timers(heap, &timers);
	}
	return error;
}

static int add_roots(void *state, struct heap_sink *sink)
{
	struct go_heap *heap = state;
	uint64_t all = go_all_goroutines(&heap->program);
	uint32_t node = heap_sink_node(sink, all);
	int error;

	heap->sink = sink;
	error = go_stacks_visit(&heap->program, &heap->strings, scan_words, heap);
	if (!error)
		error = add_processors(heap);
	if (error || node == BLOCK_NONE || sink->starts[node] != all)
		return error;
	return heap_sink_apart_root(sink, GO_KEY, "all goroutines, ended ones too", all,
				    MANAGED_OWN);
}

/* An object's words are its references. */
static int refer_nothing(void *state, struct heap_sink *sink, uint32_t node)
{
	(void)state;
	(void)sink;
	(void)node;
	return 0;
}

static void end(void *state)
{
	struct go_heap *heap = state;

	if (!heap)
		return;
	go_program_close(&heap->program);
	vec_free(&heap->ranges);
	vec_free(&heap->quiet);
	vec_free(&heap->processors);
	hash_free(&heap->sites);
	hash_free(&heap->sizes);
	intern_free(&heap->strings);
	free(heap);
}

static int walk(struct target_memory *memory, struct heap_sink *sink, struct walk_report *report,
		void **state)
{
	struct go_heap *heap;
	uint64_t in_use;
	int error;

	if (memory->changes) {
		report->why = "references change while the program runs: a stop is needed; "
			      "allow a longer one with --max-pause";
		return -ENOTSUP;
	}
	heap = calloc(1, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	heap->report = report;
	error = go_program_open(memory, &heap->program, &report->why);
	memcpy(report->version, heap->program.version,
	       MIN(sizeof(report->version), sizeof(heap->program.version)));
	in_use = error ? 0 : go_heap_in_use(&heap->program);
	if (in_use)
		heap->spans = find_spans(&heap->program, in_use, true);
	if (in_use && !heap->spans.count) {
		heap->spans = find_spans(&heap->program, in_use, false);
		report->nonsense += heap->spans.count > 0;
	}
	if (!error && !heap->spans.count) {
		report->why = "its spans are not found";
		error = -ENOENT;
	}
	if (!error)
		error = add_spans(heap, sink);
	if (error) {
		end(heap);
		return error;
	}
	report->all_roots = go_first_goroutine(&heap->program);
	if (!report->all_roots)
		report->why = "its goroutines are not found: what only their stacks hold is not "
			      "known";
	*state = heap;
	return 0;
}

const struct heap_walker go_walker = {
	.walk = walk, .roots = add_roots, .refer = refer_nothing, .end = end};
