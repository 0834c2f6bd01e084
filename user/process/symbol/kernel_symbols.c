// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/symbol/kernel_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "base/text.h"

/* Code after the last function of a module may be anything: no function is this long. */
#define FUNCTION_MAX (1u << 20)
/* The module name of the kernel image itself. */
#define CORE "kernel"

struct symbol_entry {
	uint64_t address;
	uint32_t name;	 /* offset in `text` */
	uint32_t module; /* offset in `text`; 0: the kernel image */
};

struct kernel_symbols {
	VEC(struct symbol_entry) list; /* ascending */
	VEC(char) text;		       /* strings, each with its NUL; the first is CORE */
	uint64_t base;		       /* of the kernel image: start of its text */
};

static int text_add(struct kernel_symbols *symbols, const char *string, uint32_t *place)
{
	*place = (uint32_t)symbols->text.count;
	do {
		char *letter = vec_push(&symbols->text);

		if (!letter)
			return -ENOMEM;
		*letter = *string;
	} while (*string++);
	return 0;
}

/* Successive lines are of one module: its name is stored once. */
static int module_add(struct kernel_symbols *symbols, const char *module, uint32_t *place)
{
	const struct symbol_entry *last =
		symbols->list.count > 1 ? &symbols->list.items[symbols->list.count - 2] : NULL;

	*place = 0;
	if (!*module)
		return 0;
	if (last && !strcmp(symbols->text.items + last->module, module)) {
		*place = last->module;
		return 0;
	}
	return text_add(symbols, module, place);
}

/* "ADDRESS TYPE NAME" or "ADDRESS TYPE NAME\t[MODULE]". */
static int line_add(struct kernel_symbols *symbols, const char *line)
{
	char type, name[512], module[64] = "";
	unsigned long long address;
	struct symbol_entry *entry;
	int fields = sscanf(line, "%llx %c %511s [%63[^]]]", &address, &type, name, module);

	if (fields < 3 || !strchr("tTwW", type) || !address)
		return 0;
	if (!strcmp(name, "_stext"))
		symbols->base = address;
	entry = vec_push(&symbols->list);
	if (!entry)
		return -ENOMEM;
	entry->address = address;
	if (module_add(symbols, module, &entry->module))
		return -ENOMEM;
	return text_add(symbols, name, &symbols->list.items[symbols->list.count - 1].name);
}

/* Of several names at one address the first one stays first: "T" names lead. */
static int entry_compare(const void *left, const void *right)
{
	const struct symbol_entry *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->name > b->name) - (a->name < b->name);
}

struct kernel_symbols *kernel_symbols_read(FILE *file)
{
	struct kernel_symbols *symbols = file ? calloc(1, sizeof(*symbols)) : NULL;
	char line[1024];
	uint32_t core;
	int error;

	if (!symbols)
		return NULL;
	error = text_add(symbols, CORE, &core);
	while (!error && fgets(line, sizeof(line), file))
		error = line_add(symbols, line);
	if (error) {
		kernel_symbols_free(symbols);
		return NULL;
	}
	if (symbols->list.count)
		qsort(symbols->list.items, symbols->list.count, sizeof(*symbols->list.items),
		      entry_compare);
	return symbols;
}

void kernel_symbols_free(struct kernel_symbols *symbols)
{
	if (!symbols)
		return;
	vec_free(&symbols->list);
	vec_free(&symbols->text);
	free(symbols);
}

bool kernel_symbols_hidden(const struct kernel_symbols *symbols)
{
	return !symbols->list.count;
}

/* Returns the first entry at the highest address up to `address`, or NULL. */
static const struct symbol_entry *entry_find(const struct kernel_symbols *symbols, uint64_t address)
{
	const struct symbol_entry *list = symbols->list.items;
	size_t begun = SORTED_BEFORE(entry, list, symbols->list.count, entry->address <= address);

	if (!begun || address - list[begun - 1].address > FUNCTION_MAX)
		return NULL;
	for (begun--; begun && list[begun - 1].address == list[begun].address;)
		begun--;
	return &list[begun];
}

static void frame_name(const struct kernel_symbols *symbols, uint64_t address, struct frame *frame)
{
	/* A return address may be the first byte of the next function. */
	const struct symbol_entry *entry = entry_find(symbols, address - 1);

	*frame = (struct frame){.address = address};
	if (!entry) {
		frame->why = kernel_symbols_hidden(symbols) ? "hidden by kernel.kptr_restrict"
							    : "no symbol at this address";
		return;
	}
	frame->function = symbols->text.items + entry->name;
	frame->offset = address - entry->address;
	frame->module = symbols->text.items + entry->module;
	/* Load addresses of modules are unknown: their functions are far from the kernel's. */
	frame->module_offset = entry->module ? frame->offset : address - symbols->base;
}

/*
 * Functions between a tracepoint and a BPF program: kernel/trace/bpf_trace.c,
 * include/linux/tracepoint.h.
 */
static bool is_tracing(const char *function)
{
	static const char *const prefixes[] = {"bpf_trace_run", "__bpf_trace_", "__traceiter_"};

	return text_begins_with_any(function, prefixes, ARRAY_SIZE(prefixes));
}

/*
 * Functions between the tracepoint and the caller: mm/slub.c, mm/slab_common.c, mm/page_alloc.c,
 * mm/mempolicy.c, mm/util.c.
 */
static bool is_allocator(const char *function)
{
	static const char *const prefixes[] = {
		"kmalloc",	    "__kmalloc",	  "___kmalloc",	       "__do_kmalloc",
		"kmem_cache_alloc", "__kmem_cache_alloc", "__kvmalloc",	       "kvmalloc",
		"__alloc_pages",    "alloc_pages",	  "__alloc_frozen",    "alloc_frozen",
		"__folio_alloc",    "folio_alloc",	  "alloc_page",	       "__get_free_pages",
		"get_free_pages",   "get_zeroed_page",	  "___get_free_pages",
	};

	return text_begins_with_any(function, prefixes, ARRAY_SIZE(prefixes));
}

/* Tracing takes no more frames than this. */
#define TRACING_MAX 8

/* Returns where the kernel's own work begins: after leakmon's program and its callers. */
static size_t tracing_end(const struct kernel_symbols *symbols, const uint64_t *addresses,
			  size_t depth)
{
	size_t end = 0;

	for (size_t i = 0; i < depth && i < TRACING_MAX; i++) {
		const struct symbol_entry *entry = entry_find(symbols, addresses[i] - 1);

		if (entry && is_tracing(symbols->text.items + entry->name))
			end = i + 1;
	}
	return end;
}

int kernel_symbols_name(const struct kernel_symbols *symbols, const uint64_t *addresses,
			size_t depth, struct frames *frames, const char **allocator)
{
	struct frames named = {0};
	const char *outermost = NULL;

	for (size_t i = tracing_end(symbols, addresses, depth); i < depth; i++) {
		struct frame frame, *slot;

		frame_name(symbols, addresses[i], &frame);
		if (!named.list.count && frame.function && i + 1 < depth &&
		    is_allocator(frame.function)) {
			outermost = frame.function;
			continue;
		}
		slot = vec_push(&named.list);
		if (!slot) {
			vec_free(&named.list);
			return -ENOMEM;
		}
		*slot = frame;
	}
	*frames = named;
	*allocator = outermost;
	return 0;
}
