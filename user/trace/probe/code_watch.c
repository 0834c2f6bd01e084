// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/code_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/page.h"
#include "binary/arch/machine.h"
#include "binary/arch/trap.h"
#include "binary/parse/plan.h"
#include "process/proc/process_memory.h"
#include "process/proc/target_file.h"
#include "trace/probe/attach.h"

/*
 * Limit of bytes from a function's beginning, as far as it is decoded, to the end of an
 * instruction.
 */
#define WINDOW_MAX (PLAN_CODE_BYTES + MACHINE_INSTRUCTION_MAX)

static bool is_mapping_of(const struct code_file *file, const struct mapping *mapping)
{
	return mapping->inode == file->inode && mapping->major == file->major &&
	       mapping->minor == file->minor;
}

static bool is_code_of(const struct code_file *file, const struct mapping *mapping)
{
	return mapping->executable && is_mapping_of(file, mapping);
}

int code_file_new(struct code_file *file, const struct mapping *mapping)
{
	char *path = strdup(mapping->path);

	if (!path)
		return -ENOMEM;
	*file = (struct code_file){.inode = mapping->inode,
				   .major = mapping->major,
				   .minor = mapping->minor,
				   .path = path};
	return 0;
}

int code_file_add(struct code_file *file, uint64_t entry, uint64_t offset)
{
	struct code_point *point = vec_push(&file->points);

	if (!point)
		return -ENOMEM;
	*point = (struct code_point){entry, offset, 0};
	return 0;
}

int code_file_add_counted(struct code_file *file, uint64_t offset, uint64_t counter)
{
	int error = code_file_add(file, offset, offset);

	if (!error)
		file->points.items[file->points.count - 1].counter = counter;
	return error;
}

void code_file_free(struct code_file *file)
{
	vec_free(&file->points);
	free(file->path);
	*file = (struct code_file){0};
}

/* Memory read of a process. */
struct memory {
	int task;
	int pagemap_fd; /* -1: unavailable */
	uint64_t page;	/* checked last, + 1; 0: none */
	bool present;
};

static void memory_open(struct memory *memory, int task)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", task);
	*memory = (struct memory){.task = task, .pagemap_fd = open(path, O_RDONLY | O_CLOEXEC)};
}

static void memory_close(const struct memory *memory)
{
	cleanup_close(&memory->pagemap_fd);
}

/*
 * Returns whether the process has its own page there, or has used the file's. An absent page equals
 * the file, and is not fetched: with userfaultfd the process could make us wait.
 */
static bool is_present(struct memory *memory, uint64_t address)
{
	uint64_t page = address / page_size(), entry;

	if (memory->page == page + 1)
		return memory->present;
	memory->page = page + 1;
	/* Documentation/admin-guide/mm/pagemap.rst: bit 63 in memory, bit 62 swapped out */
	memory->present =
		!pagemap_pread(memory->task, memory->pagemap_fd, page, &entry, 1) || entry >> 62;
	return memory->present;
}

/* Only the process's own memory is read, and nothing is written. */
static int read_code(const struct memory *memory, uint64_t address, void *bytes, size_t size)
{
	struct iovec to = {bytes, size};
	struct iovec from = {(void *)(uintptr_t)address, size}; // NOLINT(performance-no-int-to-ptr)
	ssize_t got = memory_read_pieces(memory->task, &to, 1, &from, 1);

	if (got == (ssize_t)size)
		return 0;
	return got < 0 && got != -EFAULT ? (int)got : -EOPNOTSUPP;
}

/* A page that kernels map for probes optimised into calls. */
static bool is_trampoline(const struct maps *maps, uint64_t address)
{
	const struct mapping *mapping = maps_find(maps, address);

	return mapping && !mapping->inode && !strcmp(mapping->path, "[uprobes-trampoline]");
}

static bool is_same(const struct maps *maps, uint64_t address, const uint8_t *memory,
		    const uint8_t *file, size_t size)
{
	struct trap_patch patch;

	for (size_t i = 0; i < size; i += patch.size) {
		patch = trap_patch_at(memory + i, file + i, size - i);
		if (!patch.size ||
		    (patch.calls && !is_trampoline(maps, address + i + patch.distance)))
			return false;
	}
	return true;
}

/* A point's code in the file, from the beginning of its function. */
struct file_code {
	uint64_t offset;
	size_t size;
	uint8_t bytes[WINDOW_MAX];
};

/* Returns 0; -EOPNOTSUPP: the file has been truncated since the plan; -errno. */
static int read_file_code(const struct code_point *point, int file_fd, struct file_code *code)
{
	size_t lead = point->offset - point->entry;
	ssize_t got = pread(file_fd, code->bytes, MIN(lead + MACHINE_INSTRUCTION_MAX, WINDOW_MAX),
			    (off_t)point->entry);

	if (got < 0)
		return -errno;
	if ((size_t)got <= lead)
		return -EOPNOTSUPP;
	code->offset = point->entry;
	code->size = MIN((size_t)got,
			 lead + trap_instruction_size(code->bytes + lead, (size_t)got - lead));
	return 0;
}

/* Compares one mapping. Returns 0; -EOPNOTSUPP: different; -errno. */
static int compare(const struct maps *maps, struct memory *memory, const struct mapping *mapping,
		   const struct file_code *code)
{
	uint64_t from = MAX(code->offset, mapping->offset);
	uint64_t end =
		MIN(code->offset + code->size, mapping->offset + mapping->end - mapping->start);
	uint8_t bytes[WINDOW_MAX];
	int error = 0;

	while (from < end && !error) {
		uint64_t address = mapping->start + (from - mapping->offset);
		size_t size = MIN(end - from, page_size() - address % page_size());

		if (is_present(memory, address)) {
			error = read_code(memory, address, bytes, size);
			if (!error && !is_same(maps, address, bytes,
					       code->bytes + (from - code->offset), size))
				error = -EOPNOTSUPP;
		}
		from += size;
	}
	return error;
}

static int compare_point(const struct maps *maps, struct memory *memory,
			 const struct code_file *file, const struct file_code *code)
{
	int error = 0;

	for (size_t i = 0; i < maps->list.count && !error; i++) {
		if (is_code_of(file, &maps->list.items[i]))
			error = compare(maps, memory, &maps->list.items[i], code);
	}
	return error;
}

static int compare_file(const struct maps *maps, const struct code_file *file, int file_fd)
{
	struct memory memory;
	struct file_code code;
	int error = 0;

	memory_open(&memory, maps->source.task);
	for (size_t i = 0; i < file->points.count && !error; i++) {
		error = read_file_code(&file->points.items[i], file_fd, &code);
		if (!error)
			error = compare_point(maps, &memory, file, &code);
	}
	memory_close(&memory);
	return error;
}

static bool holds(const struct mapping *mapping, uint64_t offset)
{
	return offset >= mapping->offset &&
	       offset - mapping->offset < mapping->end - mapping->start;
}

static int by_number(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static size_t longest_run(uint64_t *numbers, size_t count)
{
	size_t longest = 0, run = 0;

	if (count)
		qsort(numbers, count, sizeof(*numbers), by_number);
	for (size_t i = 0; i < count; i++) {
		run = i && numbers[i] == numbers[i - 1] ? run + 1 : 1;
		longest = MAX(longest, run);
	}
	return longest;
}

/*
 * Counts how often a file is loaded (dlmopen may load one again): as often as its data is mapped.
 * No program has data at the file's beginning, but others map a file from there to read it.
 */
static size_t count_loads(const struct maps *maps, const struct code_file *file)
{
	_cleanup_free_ uint64_t *offsets = calloc(maps->list.count + 1, sizeof(*offsets));
	size_t count = 0;

	/* If out of memory, it is detected next time. */
	for (size_t i = 0; i < maps->list.count && offsets; i++) {
		const struct mapping *data = &maps->list.items[i];

		if (is_mapping_of(file, data) && !data->executable && data->offset)
			offsets[count++] = data->offset;
	}
	return longest_run(offsets, count);
}

static size_t count_code(const struct maps *maps, const struct code_file *file,
			 const struct code_point *point)
{
	size_t count = 0;

	for (size_t i = 0; i < maps->list.count; i++)
		count += is_code_of(file, &maps->list.items[i]) &&
			 holds(&maps->list.items[i], point->offset);
	return count;
}

/* Where a file's data is loaded, its code must be. */
static bool is_moved(const struct maps *maps, const struct code_file *file)
{
	size_t loads = count_loads(maps, file);

	for (size_t i = 0; i < file->points.count && loads; i++) {
		if (count_code(maps, file, &file->points.items[i]) < loads)
			return true;
	}
	return false;
}

int code_check(const struct maps *maps, const struct code_file *file, int file_fd,
	       enum code_fault *fault)
{
	int error = compare_file(maps, file, file_fd);

	*fault = CODE_CHANGED;
	if (error || !is_moved(maps, file))
		return error;
	*fault = CODE_MOVED;
	return -EOPNOTSUPP;
}

void code_explain(pid_t pid, const char *path, int error, enum code_fault fault)
{
	if (error == -ESRCH)
		return;
	if (error != -EOPNOTSUPP)
		log_error(
			"code of process %d cannot be compared with %s: %s; skipped, as a probe may kill it (kernel.yama.ptrace_scope 3?)",
			pid, path, strerror(-error));
	else if (fault == CODE_MOVED)
		log_error(
			"process %d has moved code of %s to other memory (huge pages?): the kernel can set no probe there; skipped",
			pid, path);
	else
		log_error(
			"process %d has changed code of %s (a hook, a hot patch?): skipped, as a probe would kill it",
			pid, path);
}

int code_watch_add(struct code_watch *watch, struct code_file *file)
{
	struct code_file *slot = vec_push(&watch->files);

	if (!slot)
		return -ENOMEM;
	*slot = *file;
	*file = (struct code_file){0};
	return 0;
}

static void add_places(struct code_watch *watch, uint32_t index, const struct mapping *mapping)
{
	const struct code_file *file = &watch->files.items[index];

	for (size_t i = 0; i < file->points.count; i++) {
		uint64_t offset = file->points.items[i].offset;
		struct code_place *place = holds(mapping, offset) ? vec_push(&watch->places) : NULL;

		/* If out of memory, it is checked next time. */
		if (place)
			*place = (struct code_place){
				.address = mapping->start + (offset - mapping->offset),
				.file = index,
				.settable = !mapping->writable && !mapping->shared,
			};
	}
}

static void raise_fault(struct code_watch *watch, const struct code_file *file,
			enum code_fault fault)
{
	static const char *const words[] = {
		[CODE_CHANGED] = "has changed the code that was probed in",
		[CODE_MOVED] = "has put other memory in the place of the code that was probed in",
		[CODE_WRITABLE] = "has writable or shared code, where the kernel sets no probes, "
				  "of",
		[CODE_UNPROBED] = "has dropped memory, and with it probes, of",
	};
	_Static_assert(ARRAY_SIZE(words) == CODE_FAULT_MAX_, "words for every fault");

	if (!(watch->faults & 1u << fault))
		log_warning(
			"process %d %s %s: calls there are not seen%s; its numbers are inexact from now on",
			watch->pid, words[fault], file->path,
			fault == CODE_UNPROBED ? " until probes are set again" : "");
	watch->faults |= 1u << fault;
}

static void locate(struct code_watch *watch, const struct maps *maps)
{
	watch->places.count = 0;
	for (size_t i = 0; i < watch->files.count; i++) {
		const struct code_file *file = &watch->files.items[i];

		if (is_moved(maps, file))
			raise_fault(watch, file, CODE_MOVED);
		for (size_t j = 0; j < maps->list.count; j++) {
			if (is_code_of(file, &maps->list.items[j]))
				add_places(watch, (uint32_t)i, &maps->list.items[j]);
		}
	}
}

/* Places read with one call. */
struct batch {
	size_t places[IOV_MAX], count;
	struct iovec from[IOV_MAX];
};

/* From *next on, those in present memory. */
static void batch_fill(const struct code_watch *watch, struct memory *memory, size_t *next,
		       struct batch *batch)
{
	batch->count = 0;
	for (; *next < watch->places.count && batch->count < IOV_MAX; (*next)++) {
		uint64_t address = watch->places.items[*next].address;
		void *there;

		watch->places.items[*next].probed = false;
		if (!is_present(memory, address))
			continue;
		batch->places[batch->count] = *next;
		// NOLINTNEXTLINE(performance-no-int-to-ptr)
		there = (void *)(uintptr_t)address;
		batch->from[batch->count++] = (struct iovec){there, MACHINE_BREAKPOINT_BYTES};
	}
}

/* Unreadable code cannot run either. -ESRCH, ...: nothing to check. */
static int batch_read(struct code_watch *watch, const struct memory *memory,
		      const struct batch *batch)
{
	uint8_t bytes[IOV_MAX][MACHINE_BREAKPOINT_BYTES];
	size_t done = 0;

	while (done < batch->count) {
		struct iovec to = {bytes, (batch->count - done) * sizeof(bytes[0])};
		ssize_t got = memory_read_pieces(memory->task, &to, 1, batch->from + done,
						 batch->count - done);
		size_t whole;

		if (got < 0 && got != -EFAULT)
			return (int)got;
		whole = got < 0 ? 0 : (size_t)got / sizeof(bytes[0]);
		for (size_t i = 0; i < whole; i++)
			watch->places.items[batch->places[done + i]].probed =
				trap_is_breakpoint(bytes[i]);
		done += MAX(whole, (size_t)1);
	}
	return 0;
}

/* Returns whether all have their breakpoints. True for a process that is gone. */
static bool are_probed(struct code_watch *watch, int task)
{
	struct memory memory;
	struct batch batch = {.count = 0};
	size_t next = 0;
	int error = 0;
	bool all = true;

	memory_open(&memory, task);
	while (next < watch->places.count && !error) {
		batch_fill(watch, &memory, &next, &batch);
		error = batch_read(watch, &memory, &batch);
	}
	memory_close(&memory);
	for (size_t i = 0; i < watch->places.count; i++)
		all &= watch->places.items[i].probed;
	return all || error;
}

static int open_file(const struct maps *maps, const struct code_file *file)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		if (is_code_of(file, &maps->list.items[i]))
			return target_file_open_mapping(maps->source, &maps->list.items[i]);
	}
	return -ENOENT;
}

/* Returns whether a file lacks probes that cannot be set again. */
static bool has_missing(const struct code_watch *watch, uint32_t file, bool settable)
{
	for (size_t i = 0; i < watch->places.count; i++) {
		const struct code_place *place = &watch->places.items[i];

		if (place->file == file && !place->probed && place->settable == settable)
			return true;
	}
	return false;
}

/*
 * Sets probes only in this process, even if they were set for all: another one may have hooks by
 * now. Never over changed code: see code_check().
 */
static void set_again(struct code_watch *watch, uint32_t index, enum attach_method method,
		      const struct maps *maps)
{
	const struct code_file *file = &watch->files.items[index];
	_cleanup_close_ int fd = open_file(maps, file);
	_cleanup_free_ uint64_t *offsets = calloc(file->points.count + 1, sizeof(*offsets));
	_cleanup_free_ uint64_t *counters = calloc(file->points.count + 1, sizeof(*counters));
	struct attach_request request = {
		.file_fd = fd, .offsets = offsets, .counters = counters, .pid = watch->pid};
	int error;

	if (fd < 0 || !offsets || !counters)
		return;
	error = compare_file(maps, file, fd);
	if (error) {
		if (error == -EOPNOTSUPP)
			raise_fault(watch, file, CODE_CHANGED);
		return;
	}
	for (size_t i = 0; i < file->points.count; i++) {
		counters[request.count] = file->points.items[i].counter;
		offsets[request.count++] = file->points.items[i].offset;
	}
	raise_fault(watch, file, CODE_UNPROBED);
	error = attach_renew(method, &request);
	log_debug("process %d: probes in %s are set again: %s", watch->pid, file->path,
		  error ? strerror(-error) : "done");
}

static void mend(struct code_watch *watch, enum attach_method method, const struct maps *maps)
{
	for (uint32_t i = 0; i < watch->files.count; i++) {
		if (has_missing(watch, i, false))
			raise_fault(watch, &watch->files.items[i], CODE_WRITABLE);
		if (has_missing(watch, i, true))
			set_again(watch, i, method, maps);
	}
}

void code_watch_look(struct code_watch *watch, enum attach_method method, const struct maps *maps)
{
	struct maps own = {0};

	if (!watch->files.count)
		return;
	if (!maps) {
		if (are_probed(watch, watch->pid) || maps_read(watch->pid, MAPS_CODE, &own))
			return;
		maps = &own;
	}
	locate(watch, maps);
	if (!are_probed(watch, maps->source.task))
		mend(watch, method, maps);
	maps_free(&own);
}

void code_watch_reset(struct code_watch *watch)
{
	watch->faults = 0;
	watch->places.count = 0;
}

void code_watch_free(struct code_watch *watch)
{
	for (size_t i = 0; i < watch->files.count; i++)
		code_file_free(&watch->files.items[i]);
	vec_free(&watch->files);
	vec_free(&watch->places);
}
