// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/unwind_store.h"

#include <bpf/bpf.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "proc/maps.h"
#include "proc/target_file.h"
#include "unwind/unwind_cells.h"
#include "unwind/unwind_table.h"
#include "worker/worker.h"

/* include/uapi/linux/bpf.h: inner arrays may differ in size. */
#define INNER_MAP_FLAGS BPF_F_INNER_MAP

/* One file version, by what fstat says of it. */
struct unwind_module {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
	uint32_t index; /* in `unwind_modules`, or LM_MODULE_NONE: it has no usable rows */
	uint64_t base;	/* rows count from this address of the file */
	struct elf_segment *segments; /* owned: from file offset to address */
	size_t segment_count;
};

struct unwind_process {
	int pid;
	uint64_t maps_hash; /* of the mappings that are loaded */
};

/* Arrays that are filled but not yet in `unwind_modules`: every update of a map of maps waits for
 * an RCU grace period (5 to 30 ms), so that all of one refresh go in by one batch. */
struct pending {
	VEC(uint32_t) keys;
	VEC(int) fds;
};

struct unwind_store {
	const struct bpf_side *bpf;
	struct worker *worker;
	VEC(struct unwind_module) modules;
	VEC(struct unwind_process) processes;
	struct unwind_stats stats;
	uint32_t next_index;
	int vdso_fd; /* one for all processes, so that it is one module; -1: not yet */
	struct pending pending;
};

struct unwind_store *unwind_store_new(const struct bpf_side *bpf, struct worker *worker)
{
	struct unwind_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->bpf = bpf;
	store->worker = worker;
	store->vdso_fd = -1;
	return store;
}

static void pending_drop(struct unwind_store *store)
{
	for (size_t i = 0; i < store->pending.fds.count; i++)
		close(store->pending.fds.items[i]);
	vec_free(&store->pending.fds);
	vec_free(&store->pending.keys);
}

void unwind_store_free(struct unwind_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->modules.count; i++)
		free(store->modules.items[i].segments);
	vec_free(&store->modules);
	vec_free(&store->processes);
	pending_drop(store);
	if (store->vdso_fd >= 0)
		close(store->vdso_fd);
	free(store);
}

/* A new inner array with these items, or -errno. */
static int array_new(const void *items, uint32_t count, uint32_t item_size)
{
	LIBBPF_OPTS(bpf_map_create_opts, create, .map_flags = INNER_MAP_FLAGS);
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind", sizeof(uint32_t),
						item_size, count, &create);
	_cleanup_free_ uint32_t *keys = calloc(count, sizeof(*keys));
	uint32_t done = count;

	if (fd < 0)
		return -errno;
	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = i;
	if (bpf_map_update_batch(fd, keys, items, &done, NULL))
		return -errno;
	return TAKE_FD(fd);
}

static int pending_add(struct unwind_store *store, uint32_t key, int fd)
{
	uint32_t *new_key = vec_push(&store->pending.keys);
	int *new_fd = new_key ? vec_push(&store->pending.fds) : NULL;

	if (!new_fd) {
		close(fd);
		return -ENOMEM;
	}
	*new_key = key;
	*new_fd = fd;
	return 0;
}

static int pending_load(struct unwind_store *store)
{
	uint32_t count = (uint32_t)store->pending.fds.count;
	int error = 0;

	if (count && bpf_map_update_batch(store->bpf->unwind_modules_fd, store->pending.keys.items,
					  store->pending.fds.items, &count, NULL))
		error = -errno;
	pending_drop(store);
	return error;
}

static int load_rows(struct unwind_store *store, struct unwind_module *module,
		     const struct unwind_table *table)
{
	struct unwind_cells cells = {0};
	int error = unwind_cells_build(table, &cells), fd = -1;

	if (!error && store->next_index >= LM_MAX_MODULES)
		error = -ENOSPC;
	if (!error)
		fd = array_new(cells.items, cells.count, sizeof(*cells.items));
	unwind_cells_free(&cells);
	if (!error)
		error = fd < 0 ? fd : pending_add(store, store->next_index, fd);
	if (error)
		return error;
	module->base = table->base;
	module->index = store->next_index++;
	store->stats.modules++;
	store->stats.rows += table->count;
	return 0;
}

static bool is_vdso(const struct mapping *mapping)
{
	return !mapping->inode && !strcmp(mapping->path, "[vdso]");
}

static int compile(struct unwind_store *store, struct unwind_module *module, int fd)
{
	struct unwind_table table = {0};
	struct elf_file file = {0};
	int error = worker_compile_unwind(store->worker, fd, &file, &table);

	if (error)
		return error;
	error = load_rows(store, module, &table);
	if (!error) {
		module->segment_count = file.segments.count;
		module->segments = TAKE_PTR(file.segments.items);
	}
	unwind_table_free(&table);
	elf_file_close(&file);
	return error;
}

static struct unwind_module *module_find(struct unwind_store *store, const struct stat *status)
{
	for (size_t i = 0; i < store->modules.count; i++) {
		struct unwind_module *module = &store->modules.items[i];

		if (module->device == status->st_dev && module->inode == status->st_ino &&
		    module->size == status->st_size &&
		    module->changed.tv_sec == status->st_mtim.tv_sec &&
		    module->changed.tv_nsec == status->st_mtim.tv_nsec)
			return module;
	}
	return NULL;
}

/* The kernel maps the same vDSO into every 64-bit process: our own stands for the target's. */
static int copy_vdso(void)
{
	const char *image =
		(const char *)getauxval(AT_SYSINFO_EHDR); // NOLINT(performance-no-int-to-ptr)
	_cleanup_close_ int fd = image ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	const Elf64_Ehdr *header = (const void *)image;
	size_t size;

	if (fd < 0)
		return -ENOENT;
	/* Its section headers come last (arch/x86/entry/vdso/vdso2c.h). */
	size = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	if (write(fd, image, size) != (ssize_t)size)
		return -EIO;
	return TAKE_FD(fd);
}

static int open_module(struct unwind_store *store, int task, const struct mapping *mapping)
{
	if (!is_vdso(mapping))
		return target_file_open_mapping(task, mapping);
	if (store->vdso_fd < 0)
		store->vdso_fd = copy_vdso();
	return store->vdso_fd < 0 ? -ENOENT : fcntl(store->vdso_fd, F_DUPFD_CLOEXEC, 0);
}

static struct unwind_module *module_of(struct unwind_store *store, int task,
				       const struct mapping *mapping)
{
	_cleanup_close_ int fd = open_module(store, task, mapping);
	struct unwind_module *module;
	struct stat status;
	int error;

	if (fd < 0 || fstat(fd, &status))
		return NULL;
	module = module_find(store, &status);
	if (module)
		return module;
	module = vec_push(&store->modules);
	if (!module)
		return NULL;
	*module = (struct unwind_module){.device = status.st_dev,
					 .inode = status.st_ino,
					 .size = status.st_size,
					 .changed = status.st_mtim,
					 .index = LM_MODULE_NONE};
	error = compile(store, module, fd);
	if (error) {
		store->stats.failures++;
		log_debug("%s: no unwind rows: %s", mapping->path,
			  worker_failure(error) ? worker_failure(error) : strerror(-error));
	}
	return module;
}

/* Where the mapping's first byte lies, as the file counts addresses. */
static int mapping_vaddr(const struct unwind_module *module, const struct mapping *mapping,
			 uint64_t *vaddr)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct elf_segment *segment = &module->segments[i];
		uint64_t page_offset = segment->offset & ~4095ull;

		if (segment->executable && mapping->offset >= page_offset &&
		    mapping->offset < segment->offset + segment->file_size) {
			*vaddr = segment->vaddr - segment->offset + mapping->offset;
			return 0;
		}
	}
	return -ENOENT;
}

struct ranges {
	VEC(struct lm_range) list;
};

/* Code without rows gets a range all the same: the walk goes on there by frame pointer. */
static struct lm_range range_of(struct unwind_store *store, int task, const struct mapping *mapping)
{
	struct lm_range range = {
		.start = mapping->start, .end = mapping->end, .module = LM_MODULE_NONE};
	struct unwind_module *module = NULL;
	uint64_t vaddr;

	if (mapping->inode || is_vdso(mapping))
		module = module_of(store, task, mapping);
	if (!module || module->index == LM_MODULE_NONE || mapping_vaddr(module, mapping, &vaddr))
		return range;
	range.bias = mapping->start - (vaddr - module->base);
	range.module = module->index;
	return range;
}

static int ranges_add(struct unwind_store *store, struct ranges *ranges, int task,
		      const struct mapping *mapping)
{
	struct lm_range *range;

	if (ranges->list.count >= LM_MAX_RANGES)
		return 0;
	range = vec_push(&ranges->list);
	if (!range)
		return -ENOMEM;
	*range = range_of(store, task, mapping);
	return 0;
}

static int load_ranges(struct unwind_store *store, int pid, const struct maps *maps)
{
	struct ranges ranges = {0};
	struct lm_range *header = vec_push(&ranges.list);
	int error = header ? 0 : -ENOMEM;
	_cleanup_close_ int fd = -1;
	uint32_t key = (uint32_t)pid;

	for (size_t i = 0; i < maps->list.count && !error; i++)
		error = ranges_add(store, &ranges, maps->task, &maps->list.items[i]);
	if (!error)
		error = pending_load(store);
	if (!error) {
		ranges.list.items[0].start = ranges.list.count - 1;
		fd = array_new(ranges.list.items, (uint32_t)ranges.list.count,
			       sizeof(struct lm_range));
		error = fd < 0 ? fd : 0;
	}
	if (!error && bpf_map_update_elem(store->bpf->unwind_ranges_fd, &key, &fd, BPF_ANY))
		error = -errno;
	vec_free(&ranges.list);
	if (!error)
		__atomic_add_fetch(store->bpf->unwind_generation, 1, __ATOMIC_RELEASE);
	return error;
}

static uint64_t maps_hash(const struct maps *maps)
{
	uint64_t hash = maps->list.count;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		hash = hash_mix(hash ^ mapping->start);
		hash = hash_mix(hash ^ mapping->end);
		hash = hash_mix(hash ^ mapping->inode);
		hash = hash_mix(hash ^ mapping->offset);
	}
	return hash;
}

static struct unwind_process *process_of(struct unwind_store *store, int pid)
{
	struct unwind_process *process;

	for (size_t i = 0; i < store->processes.count; i++) {
		if (store->processes.items[i].pid == pid)
			return &store->processes.items[i];
	}
	process = vec_push(&store->processes);
	if (process)
		process->pid = pid;
	return process;
}

int unwind_store_refresh(struct unwind_store *store, int pid)
{
	struct unwind_process *process = process_of(store, pid);
	struct maps maps = {0};
	uint64_t hash;
	int error;

	if (!process)
		return -ENOMEM;
	error = maps_read(pid, MAPS_EXECUTABLE, &maps);
	if (error)
		return error;
	hash = maps_hash(&maps);
	if (hash != process->maps_hash) {
		error = load_ranges(store, pid, &maps);
		if (!error)
			process->maps_hash = hash;
	}
	maps_free(&maps);
	return error;
}

void unwind_store_forget(struct unwind_store *store, int pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(store->bpf->unwind_ranges_fd, &key);
	for (size_t i = 0; i < store->processes.count; i++) {
		if (store->processes.items[i].pid == pid)
			store->processes.items[i] =
				store->processes.items[--store->processes.count];
	}
}

void unwind_store_stats(const struct unwind_store *store, struct unwind_stats *stats)
{
	*stats = store->stats;
}
