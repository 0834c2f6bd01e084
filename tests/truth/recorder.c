// SPDX-License-Identifier: GPL-2.0-or-later
#include "recorder.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

#define STATIC_TLS __attribute__((tls_model("initial-exec")))

/* The bounds of this library, from the linker. */
extern char __ehdr_start[] __attribute__((visibility("hidden")));
extern char etext[] __attribute__((visibility("hidden")));

/* The state of a preloaded library has nowhere else to live. */
static struct truth_file *truth;
static bool keep;
static uint32_t one_in = 1;

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* A child that is started later must not write over our file. */
void recorder_open(void)
{
	const char *path = setting("LEAKMON_TRUTH"), *sampling = setting("LEAKMON_TRUTH_ONE_IN");
	struct truth_file *file;
	int fd;

	if (!path)
		return;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*file)))
		_exit(112);
	file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (file == MAP_FAILED)
		_exit(112);
	file->header = (struct truth_header){
		.magic = TRUTH_MAGIC,
		.text_start = (uintptr_t)__ehdr_start,
		.text_end = (uintptr_t)etext,
		.pid = (uint32_t)getpid(),
		.words_used = 1,
	};
	keep = setting("LEAKMON_TRUTH_KEEP") != NULL;
	one_in = sampling ? (uint32_t)atoi(sampling) : 1;
	unsetenv("LEAKMON_TRUTH");
	truth = file;
}

/* A fork of the process that opened the file has separate blocks. */
static bool is_ours(void)
{
	return truth && (uint32_t)getpid() == truth->header.pid;
}

static bool is_recording(void)
{
	return truth && __atomic_load_n(&truth->header.recording, __ATOMIC_ACQUIRE) && is_ours();
}

bool recorder_keeps(void)
{
	return keep;
}

static void lock(void)
{
	while (__atomic_exchange_n(&truth->header.lock, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void unlock(void)
{
	__atomic_store_n(&truth->header.lock, 0, __ATOMIC_RELEASE);
}

struct trace {
	uint64_t depth;
	uint64_t frames[TRUTH_FRAMES];
};

static _Unwind_Reason_Code trace_frame(struct _Unwind_Context *context, void *argument)
{
	struct trace *trace = argument;
	uint64_t ip = _Unwind_GetIP(context);

	/* At the root libgcc calls once more, with nothing. */
	if (!ip)
		return _URC_NO_REASON;
	if (!trace->depth && ip >= truth->header.text_start && ip < truth->header.text_end)
		return _URC_NO_REASON;
	if (trace->depth == TRUTH_FRAMES)
		return _URC_END_OF_STACK;
	trace->frames[trace->depth++] = ip;
	return _URC_NO_REASON;
}

/* The index of an equal stack, or of a new one; 0: no room. Under the lock. */
static uint32_t stack_intern(const struct trace *trace)
{
	struct truth_header *header = &truth->header;
	size_t size = (1 + trace->depth) * sizeof(uint64_t);
	uint64_t slot = 0;

	for (uint64_t i = 0; i < trace->depth; i++)
		slot = truth_hash(slot ^ trace->frames[i]);
	for (slot %= TRUTH_STACKS; truth->stacks[slot]; slot = (slot + 1) % TRUTH_STACKS) {
		if (!memcmp(&truth->words[truth->stacks[slot]], trace, size))
			return truth->stacks[slot];
	}
	if (header->words_used + 1 + trace->depth > TRUTH_WORDS ||
	    header->stacks_used >= TRUTH_STACKS / 2)
		return 0;
	memcpy(&truth->words[header->words_used], trace, size);
	truth->stacks[slot] = header->words_used;
	header->stacks_used++;
	header->words_used += 1 + trace->depth;
	return truth->stacks[slot];
}

static void block_insert(void *address, size_t size, const struct trace *trace)
{
	struct truth_header *header = &truth->header;
	uint64_t slot = truth_slot(truth, (uintptr_t)address);
	uint32_t stack = header->blocks_used < TRUTH_BLOCKS / 4 * 3 ? stack_intern(trace) : 0;

	header->recorded++;
	if (!stack) {
		header->lost++;
		return;
	}
	header->blocks_used += !truth->blocks[slot].address;
	truth->blocks[slot] =
		(struct truth_block){.address = (uintptr_t)address, .size = size, .stack = stack};
}

/* Closes the gap, so that linear probing finds all other entries. */
static void slot_clear(uint64_t hole)
{
	uint64_t slot = hole;

	for (;;) {
		uint64_t home;

		slot = (slot + 1) % TRUTH_BLOCKS;
		if (!truth->blocks[slot].address)
			break;
		home = truth_hash(truth->blocks[slot].address) % TRUTH_BLOCKS;
		if ((slot - home) % TRUTH_BLOCKS < (slot - hole) % TRUTH_BLOCKS)
			continue;
		truth->blocks[hole] = truth->blocks[slot];
		hole = slot;
	}
	truth->blocks[hole].address = 0;
	truth->header.blocks_used--;
}

static bool is_sampled(void)
{
	static __thread uint64_t state STATIC_TLS;

	state += UINT64_C(0x9E3779B97F4A7C15);
	return one_in <= 1 || truth_hash(state ^ state >> 29) % one_in == 0;
}

void recorder_add(void *block, size_t size)
{
	struct trace trace;

	if (!is_recording() || !is_sampled())
		return;
	trace.depth = 0;
	_Unwind_Backtrace(trace_frame, &trace);
	lock();
	block_insert(block, size, &trace);
	unlock();
}

struct truth_block recorder_take(const void *block)
{
	struct truth_block taken = {0};
	uint64_t slot;

	/* Even when recording has ended: the ledger must stay true. */
	if (!block || !is_ours())
		return taken;
	lock();
	slot = truth_slot(truth, (uintptr_t)block);
	taken = truth->blocks[slot];
	if (taken.address && !keep)
		slot_clear(slot);
	unlock();
	return taken;
}
