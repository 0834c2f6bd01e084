// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/data_modules.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/search.h"
#include "binary/parse/questions.h"
#include "process/proc/core.h"
#include "process/proc/target_file.h"
#include "process/symbol/debuginfod.h"
#include "process/symbol/module.h"

bool module_bias(const struct elf_file *file, uint64_t page_bytes, const struct mapping *mapping,
		 uint64_t *bias)
{
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];
		uint64_t start = segment->offset & ~(page_bytes - 1);

		if (mapping->offset < start ||
		    mapping->offset >= segment->offset + segment->file_size)
			continue;
		*bias = mapping->start - mapping->offset - (segment->vaddr - segment->offset);
		return true;
	}
	return false;
}

typedef int parse_image_kind(struct worker *worker, int fd, struct image *image);

/* Takes the symbols of a separate debug file, if it has more. */
static void add_debug(struct worker *worker, struct memory_source source,
		      const struct mapping *mapping, int fd, parse_image_kind *parse,
		      struct image *image)
{
	_cleanup_(image_free) struct image debug = {.file.fd = -1};
	struct debug_description description;
	struct debug_request request = {.worker = worker,
					.build_id = image->file.build_id,
					.link = description.link,
					.path = mapping->path,
					.task = source.task};
	_cleanup_close_ int debug_fd = -1;

	if (parse_description(worker, fd, &description))
		return;
	debug_fd = debug_file_open(&request, &(struct debug_description){0});
	if (debug_fd >= 0 && !parse(worker, debug_fd, &debug))
		image_take_debug_symbols(image, &debug);
}

static void set_bounds(struct data_module *module, uint64_t page_bytes, const struct mapping *first)
{
	module->start = first->start;
	module->end = first->end;
	for (size_t i = 0; i < module->image->file.segments.count; i++) {
		const struct elf_segment *segment = &module->image->file.segments.items[i];
		uint64_t end = module->bias + segment->vaddr + segment->memory_size;

		module->end = MAX(module->end, align_up(end, page_bytes));
	}
}

static void free_image(void *value, void *context)
{
	(void)context;
	image_free(value);
	free(value);
}

static size_t bytes_of(const void *value)
{
	return image_bytes(value);
}

void data_modules_register(struct dso_cache *dsos)
{
	dso_cache_register(dsos, DSO_DATA,
			   &(struct dso_facet_type){.release = free_image, .bytes = bytes_of});
}

/* Returns the data symbols of a file, read once; NULL: none. */
static const struct image *read_image(struct dso *dso, struct worker *worker,
				      struct memory_source source, const struct mapping *mapping,
				      int fd)
{
	struct image *image = dso_facet(dso, DSO_DATA);

	if (image)
		return image;
	image = calloc(1, sizeof(*image));
	if (!image)
		return NULL;
	image->file.fd = -1;
	if (parse_objects(worker, fd, image)) {
		free_image(image, NULL);
		return NULL;
	}
	if (!image->has_symtab)
		add_debug(worker, source, mapping, fd, parse_objects, image);
	dso->facets[DSO_DATA].value = image;
	return image;
}

/* Returns 0 (also if it is no module: the DSO is then not held) or -ENOMEM. */
static int add_held_module(const struct mapping *mapping, uint64_t page_bytes, struct dso *dso,
			   const struct image *image, struct data_modules *modules)
{
	struct data_module *module;
	uint64_t bias;

	if (!image || !module_bias(&image->file, page_bytes, mapping, &bias)) {
		dso_release(modules->dsos, dso, DSO_DATA);
		return 0;
	}
	module = vec_push(&modules->list);
	if (!module) {
		dso_release(modules->dsos, dso, DSO_DATA);
		return -ENOMEM;
	}
	*module = (struct data_module){.path = mapping->path,
				       .bias = bias,
				       .dso = dso,
				       .image = image,
				       .mapping = mapping};
	set_bounds(module, page_bytes, mapping);
	return 0;
}

static int add_module(struct memory_source source, struct worker *worker,
		      const struct mapping *mapping, struct data_modules *modules)
{
	_cleanup_close_ int fd = target_file_open_mapping(source, mapping);
	struct dso *dso =
		fd < 0 ? NULL : dso_add(modules->dsos, fcntl(fd, F_DUPFD_CLOEXEC, 0), DSO_DATA);

	if (!dso)
		return 0;
	return add_held_module(mapping, memory_page_size(source), dso,
			       read_image(dso, worker, source, mapping, fd), modules);
}

/* A file's adjacent mappings. */
struct stand {
	size_t end; /* valid up to this index */
	bool has_code;
};

/* Returns whether they include code: data files are no modules. */
static bool has_code(const struct maps *maps, size_t first, struct stand *stand)
{
	const struct mapping *mapping = &maps->list.items[first];

	if (first < stand->end)
		return stand->has_code;
	stand->has_code = false;
	for (stand->end = first; stand->end < maps->list.count; stand->end++) {
		const struct mapping *next = &maps->list.items[stand->end];

		if (next->inode && !mapping_same_file(mapping, next))
			break;
		if (next->inode && next->executable) {
			stand->end++;
			return stand->has_code = true;
		}
	}
	return false;
}

/* A file mapped more often than possible was made to slow the search. */
static bool is_one_too_many(struct hash *loads, const struct mapping *mapping)
{
	uint64_t device = (uint64_t)mapping->major << 32 | mapping->minor;
	uint64_t *count = hash_put(loads, hash_mix(mapping->inode) ^ hash_mix(~device), NULL);

	return count && ++*count > DATA_MODULE_LOADS_MAX;
}

/* Returns whether the module read last has glibc's descriptors. */
static bool has_library(const struct data_modules *modules)
{
	return modules->list.count &&
	       modules->list.items[modules->list.count - 1].image->tls_layout.heads_at;
}

/* to_library: stops there. */
static int read_modules(const struct maps *maps, bool to_library, struct worker *worker,
			struct data_modules *modules)
{
	_cleanup_(hash_free) struct hash loads = {0};
	const struct mapping *last = NULL;
	struct stand stand = {0};
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (!mapping->inode || mapping->shared)
			continue;
		/* A file mapped again from its start is a second load. */
		if (last && mapping_same_file(last, mapping) && mapping->offset > last->offset)
			continue;
		last = mapping;
		if (has_code(maps, i, &stand) && !is_one_too_many(&loads, mapping))
			error = add_module(maps->source, worker, mapping, modules);
		if (to_library && has_library(modules))
			break;
	}
	return error;
}

int data_modules_read(const struct heap_image *heap_image, struct worker *worker,
		      struct dso_cache *dsos, struct data_modules *modules)
{
	modules->dsos = dsos;
	modules->worker = worker;
	modules->source = heap_image->maps.source;
	return read_modules(&heap_image->maps, false, worker, modules);
}

int data_modules_library(pid_t pid, const struct core *core, struct worker *worker,
			 struct dso_cache *dsos, struct c_library *library)
{
	struct data_modules modules = {.dsos = dsos};
	struct maps maps = {0};
	int error = core ? core_maps(core, MAPS_ALL, &maps) : maps_read(pid, MAPS_ALL, &maps);

	if (error)
		return error;
	error = read_modules(&maps, true, worker, &modules);
	if (!error && !has_library(&modules))
		error = -ENOENT;
	if (!error)
		*library = (struct c_library){
			modules.list.items[modules.list.count - 1].image->tls_layout,
			modules.list.items[modules.list.count - 1].bias};
	data_modules_free(&modules);
	maps_free(&maps);
	return error;
}

const struct symbol_table *data_module_symbols(const struct data_modules *modules,
					       const struct data_module *module, struct image *own)
{
	_cleanup_close_ int fd = -1;

	*own = (struct image){.file.fd = -1};
	if (!modules->worker || !module->mapping)
		return &module->image->table;
	fd = target_file_open_mapping(modules->source, module->mapping);
	if (fd < 0 || parse_symbols(modules->worker, fd, own))
		return &module->image->table;
	if (!own->has_symtab)
		add_debug(modules->worker, modules->source, module->mapping, fd, parse_symbols,
			  own);
	return &own->table;
}

const struct data_module *data_modules_at(const struct data_modules *modules, uint64_t address)
{
	return RANGE_AT(modules->list.items, modules->list.count, address);
}

const struct symbol *data_module_object(const struct data_module *module, uint64_t address,
					uint64_t *offset)
{
	const struct symbol *symbol =
		symbol_table_find(&module->image->table, address - module->bias);

	if (symbol)
		*offset = address - module->bias - symbol->address;
	return symbol;
}

const char *data_module_name(const struct data_module *module, const struct symbol *symbol,
			     struct intern *intern)
{
	return module_readable_name(intern, module->image->table.names + symbol->name);
}

void data_modules_free(struct data_modules *modules)
{
	for (size_t i = 0; i < modules->list.count; i++)
		dso_release(modules->dsos, modules->list.items[i].dso, DSO_DATA);
	vec_free(&modules->list);
}
