// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Closures of Haskell: their info tables, classes and references. An info table ends where the code
 * of its closure begins, to which closures point.
 */
#include "heap/runtime/ghc/ghc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "process/symbol/intern.h"

/* Before the code, InfoTables.h: StgInfoTable, and StgConInfoTable before that. */
#define INFO_TYPE (-8)
#define INFO_POINTERS (-16)
#define INFO_OTHERS (-12)
#define INFO_CONSTRUCTOR (-24) /* relative to the code: "main:Main.Item" */
#define INFO_BYTES 24
#define TSO_WORDS 15
#define NO_TAG 7 /* a tag of no pointer to a thread or a stack */
#define RECORD_WORDS 51
#define STACK_HEAD 3 /* words before the stack proper */
#define PAYLOAD_MAX (1u << 16)
#define WORDS_MAX (1ull << 44)

static const struct {
	const char *name;
	enum ghc_shape shape;
} types[GHC_CLOSURE_TYPES] = {
	[1] = {"CONSTR", SHAPE_PAYLOAD},
	[2] = {"CONSTR_1_0", SHAPE_PAYLOAD},
	[3] = {"CONSTR_0_1", SHAPE_PAYLOAD},
	[4] = {"CONSTR_2_0", SHAPE_PAYLOAD},
	[5] = {"CONSTR_1_1", SHAPE_PAYLOAD},
	[6] = {"CONSTR_0_2", SHAPE_PAYLOAD},
	[7] = {"CONSTR_NOCAF", SHAPE_PAYLOAD},
	[8] = {"FUN", SHAPE_PAYLOAD},
	[9] = {"FUN_1_0", SHAPE_PAYLOAD},
	[10] = {"FUN_0_1", SHAPE_PAYLOAD},
	[11] = {"FUN_2_0", SHAPE_PAYLOAD},
	[12] = {"FUN_1_1", SHAPE_PAYLOAD},
	[13] = {"FUN_0_2", SHAPE_PAYLOAD},
	[14] = {"FUN_STATIC", SHAPE_NONE},
	[15] = {"THUNK", SHAPE_THUNK},
	[16] = {"THUNK_1_0", SHAPE_THUNK},
	[17] = {"THUNK_0_1", SHAPE_THUNK},
	[18] = {"THUNK_2_0", SHAPE_THUNK},
	[19] = {"THUNK_1_1", SHAPE_THUNK},
	[20] = {"THUNK_0_2", SHAPE_THUNK},
	[21] = {"THUNK_STATIC", SHAPE_NONE},
	[22] = {"THUNK_SELECTOR", SHAPE_SELECTOR},
	[23] = {"BCO", SHAPE_BCO},
	[24] = {"AP", SHAPE_AP},
	[25] = {"PAP", SHAPE_PAP},
	[26] = {"AP_STACK", SHAPE_AP_STACK},
	[27] = {"IND", SHAPE_INDIRECTION},
	[28] = {"IND_STATIC", SHAPE_NONE},
	[30] = {"RET_SMALL", SHAPE_NONE},
	[31] = {"RET_BIG", SHAPE_NONE},
	[33] = {"UPDATE_FRAME", SHAPE_NONE},
	[34] = {"CATCH_FRAME", SHAPE_NONE},
	[35] = {"UNDERFLOW_FRAME", SHAPE_NONE},
	[36] = {"STOP_FRAME", SHAPE_NONE},
	[37] = {"BLOCKING_QUEUE", SHAPE_PAYLOAD},
	[38] = {"BLACKHOLE", SHAPE_INDIRECTION},
	[39] = {"MVAR_CLEAN", SHAPE_PAYLOAD},
	[40] = {"MVAR_DIRTY", SHAPE_PAYLOAD},
	[41] = {"TVAR", SHAPE_PAYLOAD},
	[42] = {"ARR_WORDS", SHAPE_BYTES},
	[43] = {"MUT_ARR_PTRS_CLEAN", SHAPE_ARRAY},
	[44] = {"MUT_ARR_PTRS_DIRTY", SHAPE_ARRAY},
	[45] = {"MUT_ARR_PTRS_FROZEN_DIRTY", SHAPE_ARRAY},
	[46] = {"MUT_ARR_PTRS_FROZEN_CLEAN", SHAPE_ARRAY},
	[47] = {"MUT_VAR_CLEAN", SHAPE_PAYLOAD},
	[48] = {"MUT_VAR_DIRTY", SHAPE_PAYLOAD},
	[49] = {"WEAK", SHAPE_WEAK},
	[50] = {"PRIM", SHAPE_PAYLOAD},
	[51] = {"MUT_PRIM", SHAPE_PAYLOAD},
	[52] = {"TSO", SHAPE_TSO},
	[53] = {"STACK", SHAPE_STACK},
	[54] = {"TREC_CHUNK", SHAPE_RECORD},
	[55] = {"ATOMICALLY_FRAME", SHAPE_NONE},
	[56] = {"CATCH_RETRY_FRAME", SHAPE_NONE},
	[57] = {"CATCH_STM_FRAME", SHAPE_NONE},
	[59] = {"SMALL_MUT_ARR_PTRS_CLEAN", SHAPE_SMALL_ARRAY},
	[60] = {"SMALL_MUT_ARR_PTRS_DIRTY", SHAPE_SMALL_ARRAY},
	[61] = {"SMALL_MUT_ARR_PTRS_FROZEN_DIRTY", SHAPE_SMALL_ARRAY},
	[62] = {"SMALL_MUT_ARR_PTRS_FROZEN_CLEAN", SHAPE_SMALL_ARRAY},
	[63] = {"COMPACT_NFDATA", SHAPE_NONE},
};

/* Returns the name of a type as in ClosureTypes.h; NULL: no such type. */
static const char *ghc_type_name(unsigned type)
{
	return type < ARRAY_SIZE(types) ? types[type].name : NULL;
}

static enum ghc_shape ghc_type_shape(unsigned type)
{
	return type < ARRAY_SIZE(types) ? types[type].shape : SHAPE_NONE;
}

/* Names. */

/* GHC.Utils.Encoding: two letters replace one that is invalid in symbols. */
static const struct {
	char code[3], letter;
} letters[] = {
	{"zz", 'z'}, {"zi", '.'}, {"zd", '$'}, {"zu", '_'},  {"zq", '\''}, {"zh", '#'}, {"zm", '-'},
	{"zp", '+'}, {"zl", '<'}, {"zg", '>'}, {"ze", '='},  {"zt", '*'},  {"zs", '/'}, {"za", '&'},
	{"zb", '|'}, {"zc", '^'}, {"zn", '!'}, {"zr", '\\'}, {"zv", '%'},  {"ZZ", 'Z'}, {"ZC", ':'},
	{"ZL", '('}, {"ZR", ')'}, {"ZM", '['}, {"ZN", ']'},
};

static char decode_letter(const char *code)
{
	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		if (!strncmp(code, letters[i].code, 2))
			return letters[i].letter;
	}
	return '\0';
}

static void decode(const char *from, const char *end, char name[GHC_NAME_BYTES], size_t *used)
{
	while (from < end && *used + 1 < GHC_NAME_BYTES) {
		char letter = from + 1 < end ? decode_letter(from) : '\0';

		name[(*used)++] = letter ? letter : *from;
		from += letter ? 2 : 1;
	}
	name[*used] = '\0';
}

static const char *find_last(const char *start, const char *end, char wanted)
{
	while (end > start && end[-1] != wanted)
		end--;
	return end > start ? end - 1 : NULL;
}

/* Decodes a symbol (GHC.Cmm.CLabel): package_Module_name_suffix, without the package for the
 * program's own. Underscores of the parts are encoded. */
static void demangle_symbol(const char *symbol, char name[GHC_NAME_BYTES])
{
	static const char *const suffixes[] = {"_con_info", "_static_info", "_closure", "_info"};
	const char *end = symbol + strlen(symbol), *part, *module;
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t length = strlen(suffixes[i]);

		if ((size_t)(end - symbol) > length && !strcmp(end - length, suffixes[i])) {
			end -= length;
			break;
		}
	}
	part = find_last(symbol, end, '_');
	module = part ? find_last(symbol, part, '_') : NULL;
	module = module ? module + 1 : symbol;
	if (!part || !isupper((unsigned char)*module)) {
		snprintf(name, GHC_NAME_BYTES, "%.*s", (int)(end - symbol), symbol);
		return;
	}
	decode(module, part, name, &used);
	decode(".", "." + 1, name, &used);
	decode(part + 1, end, name, &used);
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), wanted = strlen(end);

	return length >= wanted && !strcmp(text + length - wanted, end);
}

/* Most symbols from an expression to its function. */
#define NAMES_AHEAD 256

/*
 * Only exports of a module have symbols: the code of an expression precedes that of its function.
 */
bool ghc_name_at(const struct ghc *ghc, uint64_t address, char name[GHC_NAME_BYTES], bool *exact)
{
	const struct symbol_table *table = ghc->symbols;
	uint64_t own = ghc->module ? address - ghc->module->bias : 0;
	size_t at, end;

	if (!ghc->module || address < ghc->module->start || address >= ghc->module->end)
		return false;
	at = SORTED_BEFORE(symbol, table->symbols, table->count, symbol->address < own);
	*exact = at < table->count && table->symbols[at].address == own;
	end = MIN(table->count, at + NAMES_AHEAD);
	while (!*exact && at < end && !ends_with(table->names + table->symbols[at].name, "_info"))
		at++;
	if (at == end)
		return false;
	demangle_symbol(table->names + table->symbols[at].name, name);
	return true;
}

bool ghc_variable_at(const struct ghc *ghc, uint64_t address, char name[GHC_NAME_BYTES])
{
	const struct data_module *module = data_modules_at(ghc->memory->modules, address);
	const struct symbol *symbol;
	uint64_t distance;

	symbol = module ? data_module_object(module, address, &distance) : NULL;
	if (!symbol || distance)
		return false;
	demangle_symbol(module->image->table.names + symbol->name, name);
	return true;
}

void ghc_place_name(const struct ghc *ghc, uint64_t address, char name[GHC_NAME_BYTES])
{
	const struct data_module *module = data_modules_at(ghc->memory->modules, address);
	const char *file = module && module->path ? strrchr(module->path, '/') : NULL;

	if (file)
		snprintf(name, GHC_NAME_BYTES, "%.*s+0x%llx", GHC_NAME_BYTES - 24, file + 1,
			 (unsigned long long)(address - module->bias));
	else
		snprintf(name, GHC_NAME_BYTES, "0x%llx", (unsigned long long)address);
}

/* Reads "main:Main.Item" without the package; an operator may be a colon itself. */
static bool constructor_name(const struct ghc *ghc, uint64_t code, char name[GHC_NAME_BYTES])
{
	char text[GHC_NAME_BYTES];
	const char *colon;
	int32_t relative;
	size_t length = 0;

	if (target_read(ghc->memory, code + INFO_CONSTRUCTOR, &relative, sizeof(relative)))
		return false;
	while (length + 1 < sizeof(text) &&
	       !target_read(ghc->memory, code + (uint64_t)(int64_t)relative + length, text + length,
			    1) &&
	       isgraph((unsigned char)text[length]))
		length++;
	if (length + 1 == sizeof(text) || !length)
		return false;
	text[length] = '\0';
	colon = strchr(text, ':');
	snprintf(name, GHC_NAME_BYTES, "%s", colon && colon[1] ? colon + 1 : text);
	return true;
}

/* Returns whether each info table of a type is one of the program's functions or expressions. */
static bool is_of_the_program(const struct ghc_info *info)
{
	return (info->shape == SHAPE_THUNK || (info->type >= 8 && info->type <= 13));
}

#define CLASS_NAME_BYTES (GHC_NAME_BYTES + 64 + GHC_LINE_BYTES)

/* Writes the name of a class, with its line if the program records it. */
static void class_name(const struct ghc *ghc, const struct ghc_info *info,
		       char name[CLASS_NAME_BYTES])
{
	char symbol[GHC_NAME_BYTES], line[GHC_LINE_BYTES];
	const char *type = ghc_type_name(info->type);
	bool exact;

	bool constructor =
		info->type <= GHC_CONSTR_NOCAF && constructor_name(ghc, info->address, symbol);
	bool known = (constructor || is_of_the_program(info)) && ghc_line(ghc, info->address, line);

	if (constructor)
		snprintf(name, CLASS_NAME_BYTES, "%s%s%s", symbol, known ? " " : "",
			 known ? line : "");
	else if (known)
		snprintf(name, CLASS_NAME_BYTES, "%s %s", type, line);
	else if (!is_of_the_program(info))
		snprintf(name, CLASS_NAME_BYTES, "%s", type);
	else if (ghc_name_at(ghc, info->address, symbol, &exact)) {
		snprintf(name, CLASS_NAME_BYTES, "%s %s%s", type, exact ? "" : "in ", symbol);
	} else {
		ghc_place_name(ghc, info->address, symbol);
		snprintf(name, CLASS_NAME_BYTES, "%s %s", type, symbol);
	}
}

static int find_class(struct ghc *ghc, struct heap_sink *sink, struct ghc_info *info)
{
	char name[CLASS_NAME_BYTES];
	/* C code may have addresses inside byte arrays. */
	struct managed_class made = {.runtime = GHC_KEY, .exact = info->shape != SHAPE_BYTES};
	uint64_t *place;
	int error;

	class_name(ghc, info, name);
	made.name = intern_string(sink->strings, name);
	/* Threads are roots, and lead to their stacks; so do C's structures and registers. */
	made.tag = info->shape == SHAPE_TSO || info->shape == SHAPE_STACK ? NO_TAG : 0;
	place = made.name ? hash_put(&ghc->classes, (uint64_t)(uintptr_t)made.name, NULL) : NULL;
	if (!place)
		return -ENOMEM;
	if (!*place) {
		error = heap_sink_class(sink, &made, &info->class);
		if (error)
			return error;
		*place = (uint64_t)info->class + 1;
	}
	info->class = (uint32_t)*place - 1;
	return 0;
}

/* Info tables. */

bool ghc_is_code(const struct ghc *ghc, uint64_t address)
{
	const struct mapping *mapping;

	if (address % GHC_WORD || address < MEMORY_PAGE || address >> MACHINE_USER_BITS)
		return false;
	mapping = maps_find(ghc->memory->maps, address);
	return mapping && mapping->executable && address - mapping->start >= INFO_BYTES;
}

static int read_info(struct ghc *ghc, struct heap_sink *sink, uint64_t address,
		     struct ghc_info *info)
{
	uint32_t type;

	*info = (struct ghc_info){.address = address};
	if (!ghc_is_code(ghc, address) ||
	    target_read(ghc->memory, address + INFO_TYPE, &type, sizeof(type)) ||
	    !ghc_type_name(type) ||
	    target_read(ghc->memory, address + INFO_POINTERS, &info->pointers, 4) ||
	    target_read(ghc->memory, address + INFO_OTHERS, &info->others, 4))
		return -ENOENT;
	info->type = (uint8_t)type;
	info->shape = (uint8_t)ghc_type_shape(type);
	if ((info->shape == SHAPE_PAYLOAD || info->shape == SHAPE_THUNK ||
	     info->shape == SHAPE_WEAK) &&
	    (info->pointers > PAYLOAD_MAX || info->others > PAYLOAD_MAX))
		return -ENOENT;
	return info->shape == SHAPE_NONE ? 0 : find_class(ghc, sink, info);
}

/* An address without an info table is cached as one without a type, because words of code are
 * looked up repeatedly. */
int ghc_info_at(struct ghc *ghc, struct heap_sink *sink, uint64_t address,
		const struct ghc_info **info)
{
	uint64_t *place = hash_get(&ghc->info_index, address);
	struct ghc_info read, *added;
	int error;

	if (!place) {
		error = read_info(ghc, sink, address, &read);
		if (error && error != -ENOENT)
			return error;
		if (error && !ghc_is_code(ghc, address))
			return error;
		if (error)
			read.type = 0;
		place = hash_put(&ghc->info_index, address, NULL);
		added = place ? vec_push(&ghc->infos) : NULL;
		if (!added)
			return -ENOMEM;
		*added = read;
		*place = ghc->infos.count;
	}
	*info = &ghc->infos.items[*place - 1];
	return (*info)->type ? 0 : -ENOENT;
}

/* ClosureMacros.h: closure_sizeW_(). */

static uint64_t counted_words(uint64_t head, uint64_t words)
{
	return words < WORDS_MAX ? head + words : 0;
}

uint64_t ghc_closure_words(const struct ghc_info *info, const uint64_t *words, size_t count)
{
	uint64_t first = count > 1 ? words[1] : 0, second = count > 2 ? words[2] : 0;

	switch ((enum ghc_shape)info->shape) {
	case SHAPE_PAYLOAD:
	case SHAPE_WEAK:
		return 1 + (uint64_t)info->pointers + info->others;
	case SHAPE_THUNK:
		return 2 + (uint64_t)info->pointers + info->others;
	case SHAPE_SELECTOR:
		return 3;
	case SHAPE_AP:
		return 4 + (second >> 32);
	case SHAPE_PAP:
		return 3 + (first >> 32);
	case SHAPE_AP_STACK:
		return counted_words(4, second);
	case SHAPE_INDIRECTION:
		return 2;
	case SHAPE_BYTES:
		return first < WORDS_MAX ? 2 + (first + GHC_WORD - 1) / GHC_WORD : 0;
	case SHAPE_ARRAY:
		return counted_words(3, second);
	case SHAPE_SMALL_ARRAY:
		return counted_words(2, first);
	case SHAPE_TSO:
		return TSO_WORDS;
	case SHAPE_STACK:
		return STACK_HEAD + (first & UINT32_MAX);
	case SHAPE_BCO:
		return count > 4 && words[4] >> 32 >= 5 ? words[4] >> 32 : 0;
	case SHAPE_RECORD:
		return RECORD_WORDS;
	case SHAPE_NONE:
	case SHAPE_MAX_:
		break;
	}
	return 0;
}

/* References. */

#define TSO_LINK 1 /* the next word links all threads, and holds nothing */
#define TSO_STACK 3
#define TSO_BLOCKED_ON 5
#define TSO_CAPABILITY 9
#define TSO_TRANSACTION 10
#define TSO_QUEUES 11 /* this and the next word; since 9.6 a label precedes them */
#define WEAK_FINALIZERS 1
#define WEAK_FINALIZER 4
#define STACK_POINTER 2

struct referring {
	struct heap_sink *sink;
	uint32_t node;
	const uint64_t *words;
	size_t count;
};

/* Adds references in words [from, from + count), whose lower bits are tags of evaluated values. */
static int refer_words(const struct referring *referring, uint64_t from, uint64_t count)
{
	int error = 0;

	for (uint64_t i = from; !error && i < referring->count && i - from < count; i++) {
		if (referring->words[i] >> MACHINE_USER_BITS || referring->words[i] < MEMORY_PAGE)
			continue;
		error = heap_sink_reference(referring->sink, referring->node, referring->words[i],
					    label_index(i - from));
	}
	return error;
}

static int refer_each(const struct referring *referring, const uint8_t *places, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = refer_words(referring, places[i], 1);
	return error;
}

/* Constants.h and InfoTables.h: the layout in a frame's info table has the number of words that
 * follow, and a bit for each that is no pointer; or the address of such bits. */
#define BITMAP_SIZE 0x3fu
#define BITMAP_BITS 6

/* Returns the number of a frame's words described by bits; -1: unknown, so that all words must be
 * taken. */
static int64_t frame_words(const struct ghc *ghc, const struct ghc_info *info, uint64_t *bits,
			   uint64_t *large)
{
	uint64_t layout = target_word(ghc->memory, info->address + (uint64_t)INFO_POINTERS);

	*large = 0;
	switch (info->type) {
	case GHC_RET_SMALL:
	case GHC_CATCH_FRAME:
	case GHC_UNDERFLOW_FRAME:
	case GHC_STOP_FRAME:
	case GHC_ATOMICALLY_FRAME:
	case GHC_CATCH_RETRY_FRAME:
	case GHC_CATCH_STM_FRAME:
		*bits = layout >> BITMAP_BITS;
		return (int64_t)(layout & BITMAP_SIZE);
	case GHC_UPDATE_FRAME:
		*bits = 0;
		return 1;
	case GHC_RET_BIG:
		*large = info->address + (uint64_t)(int64_t)(int32_t)layout;
		layout = target_word(ghc->memory, *large);
		*large += GHC_WORD;
		return layout <= PAYLOAD_MAX ? (int64_t)layout : -1;
	default:
		return -1;
	}
}

/* Adds the references of a frame; *at: the next frame. */
static int refer_frame(struct ghc *ghc, const struct referring *referring, uint64_t *at,
		       bool *known)
{
	const struct ghc_info *info;
	uint64_t bits = 0, large;
	int64_t words;
	int error = ghc_info_at(ghc, referring->sink, referring->words[*at], &info);

	words = error ? -1 : frame_words(ghc, info, &bits, &large);
	*known = words >= 0 && (uint64_t)words < referring->count - *at;
	if (error == -ENOMEM || !*known)
		return error == -ENOMEM ? error : 0;
	error = 0;
	for (int64_t i = 0; !error && i < words; i++) {
		if (large && i % 64 == 0)
			bits = target_word(ghc->memory, large + (uint64_t)i / 64 * GHC_WORD);
		if (!(bits >> (i % 64) & 1))
			error = refer_words(referring, *at + 1 + (uint64_t)i, 1);
	}
	*at += 1 + (uint64_t)words;
	return error;
}

/* Adds the references of a stack from its pointer on: words below are stale. If a frame is unknown,
 * all words count. */
static int refer_stack(struct ghc *ghc, const struct referring *referring)
{
	uint64_t start = referring->sink->starts[referring->node], pointer, at;
	bool known = true;
	int error = 0;

	if (referring->count <= STACK_POINTER)
		return 0;
	pointer = referring->words[STACK_POINTER];
	if (pointer < start + STACK_HEAD * GHC_WORD)
		return 0;
	at = (pointer - start) / GHC_WORD;
	while (!error && known && at < referring->count)
		error = refer_frame(ghc, referring, &at, &known);
	return error || known ? error : refer_words(referring, at, UINT64_MAX);
}

uint32_t ghc_weak_key(const struct heap_sink *sink, const uint64_t *words, size_t count)
{
	return count > GHC_WEAK_VALUE ? heap_sink_node(sink, words[GHC_WEAK_KEY]) : BLOCK_NONE;
}

/* Adds the values that a key keeps alive: Weak.c. */
static int refer_weak_values(const struct ghc *ghc, struct heap_sink *sink, uint32_t node)
{
	const uint64_t *place = ghc->weaks.count ? hash_get(&ghc->weak_keys, node) : NULL;
	int error = 0;

	for (size_t i = place ? *place : 0; !error && i; i = ghc->weaks.items[i - 1].next)
		error = heap_sink_reference(
			sink, node, ghc->weaks.items[i - 1].value,
			heap_sink_label(sink, LABEL_ATTRIBUTE, "<weak pointer's value>"));
	return error;
}

/* Adds a weak pointer; its value belongs to its key, if that may die. */
static int refer_weak(const struct referring *referring)
{
	static const uint8_t finalizers[] = {WEAK_FINALIZERS, WEAK_FINALIZER};
	int error = refer_each(referring, finalizers, ARRAY_SIZE(finalizers));

	if (!error &&
	    ghc_weak_key(referring->sink, referring->words, referring->count) == BLOCK_NONE)
		error = refer_words(referring, GHC_WEAK_VALUE, 1);
	return error;
}

/* A capability begins with the address of code, a bound task does not. */
size_t ghc_thread_shift(const struct ghc *ghc, const uint64_t *words, size_t count)
{
	return count > TSO_CAPABILITY + 1 &&
	       !ghc_is_code(ghc, target_word(ghc->memory, words[TSO_CAPABILITY])) &&
	       ghc_is_code(ghc, target_word(ghc->memory, words[TSO_CAPABILITY + 1]));
}

static int refer_thread(const struct ghc *ghc, const struct referring *referring)
{
	static const uint8_t fixed[] = {TSO_LINK, TSO_STACK};
	static const uint8_t others[] = {TSO_BLOCKED_ON, TSO_TRANSACTION, TSO_QUEUES,
					 TSO_QUEUES + 1, TSO_QUEUES + 2};
	size_t shift = ghc_thread_shift(ghc, referring->words, referring->count);
	int error = refer_each(referring, fixed, ARRAY_SIZE(fixed));

	for (size_t i = 0; !error && i < ARRAY_SIZE(others); i++)
		error = refer_words(referring, others[i] + shift, 1);
	return error;
}

static int refer_shape(struct ghc *ghc, const struct referring *referring,
		       const struct ghc_info *info)
{
	switch ((enum ghc_shape)info->shape) {
	case SHAPE_PAYLOAD:
		return refer_words(referring, 1, info->pointers);
	case SHAPE_THUNK:
		return refer_words(referring, 2, info->pointers);
	case SHAPE_SELECTOR:
		return refer_words(referring, 2, 1);
	case SHAPE_AP:
	case SHAPE_AP_STACK:
		return refer_words(referring, 3, UINT64_MAX);
	case SHAPE_PAP:
		return refer_words(referring, 2, UINT64_MAX);
	case SHAPE_INDIRECTION:
		return refer_words(referring, 1, 1);
	case SHAPE_ARRAY:
		return refer_words(referring, 3, referring->words[1]);
	case SHAPE_SMALL_ARRAY:
		return refer_words(referring, 2, referring->words[1]);
	case SHAPE_WEAK:
		return refer_weak(referring);
	case SHAPE_TSO:
		return refer_thread(ghc, referring);
	case SHAPE_STACK:
		return refer_stack(ghc, referring);
	case SHAPE_BCO:
		return refer_words(referring, 1, 3);
	case SHAPE_RECORD:
		return refer_words(referring, 1, UINT64_MAX);
	case SHAPE_NONE:
	case SHAPE_BYTES:
	case SHAPE_MAX_:
		break;
	}
	return 0;
}

int ghc_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	struct ghc *ghc = state;
	struct referring referring = {.sink = sink, .node = node};
	const struct ghc_info *info;
	int error = refer_weak_values(ghc, sink, node);

	if (error)
		return error;
	referring.words = ghc_copied(ghc, sink->starts[node], &referring.count);
	if (!referring.words || referring.count < 2)
		return 0;
	referring.count = MIN(referring.count, sink->sizes[node] / GHC_WORD);
	if (referring.count < 2)
		return 0;
	error = ghc_info_at(ghc, sink, referring.words[0], &info);
	if (error)
		return error == -ENOMEM ? error : 0;
	return refer_shape(ghc, &referring, info);
}
