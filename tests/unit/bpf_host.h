/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BPF programs, compiled for this machine: a test includes this, and then a file of bpf/. The
 * kernel's interface is emulated here, so that a test can make it fail: real maps hardly ever
 * refuse access (a bucket's lock held by interrupted code).
 *
 * Maps hold a few entries, in the order in which they came. One thread, one CPU.
 */
#ifndef LEAKMON_TESTS_BPF_HOST_H
#define LEAKMON_TESTS_BPF_HOST_H

/* Instead of libbpf's helpers, which are numbers that only the kernel can call. */
#define __BPF_HELPERS__
#define __BPF_TRACING_H__
#define __BPF_CORE_READ_H__
#define __TARGET_ARCH_x86

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <linux/types.h>

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline, unused))
#define __weak __attribute__((weak))
#define __ksym
#define barrier() __asm__ volatile("" : : : "memory")
#define barrier_var(variable) __asm__ volatile("" : "+r"(variable))

#define PT_REGS_PARM1(context) ((context)->rdi)
#define PT_REGS_PARM2(context) ((context)->rsi)
#define PT_REGS_PARM3(context) ((context)->rdx)
#define PT_REGS_RC(context) ((context)->rax)
#define PT_REGS_SP(context) ((context)->rsp)
#define PT_REGS_FP(context) ((context)->rbp)
#define PT_REGS_IP(context) ((context)->rip)

#define BPF_CORE_READ_2(from, a) (from)->a
#define BPF_CORE_READ_3(from, a, b) (from)->a->b
#define BPF_CORE_READ_4(from, a, b, c) (from)->a->b->c
#define BPF_CORE_READ_PICK(_1, _2, _3, _4, name, ...) name
#define BPF_CORE_READ(...)                                                                         \
	BPF_CORE_READ_PICK(__VA_ARGS__, BPF_CORE_READ_4, BPF_CORE_READ_3, BPF_CORE_READ_2, )       \
	(__VA_ARGS__)
#define bpf_core_enum_value(type, value) (value)

#define HOST_ENTRIES 16
#define HOST_KEY 16
#define HOST_VALUE 1100

/* Contents of a map, and the results of its next updates. */
struct host_map {
	const void *map;
	size_t key_size, value_size;
	bool is_array; /* every entry is there from the start */
	size_t count;
	struct {
		unsigned char key[HOST_KEY];
		unsigned char value[HOST_VALUE] __attribute__((aligned(8)));
	} entries[HOST_ENTRIES];
	/* Results of the next calls, taken one by one; 0: the real result. */
	int updates[4], deletes[4], pushes[4];
};

static struct host_map host_maps[12];
static size_t host_map_count;

static struct host_map *host_map_of(const void *map)
{
	for (size_t i = 0; i < host_map_count; i++) {
		if (host_maps[i].map == map)
			return &host_maps[i];
	}
	return NULL;
}

/* Takes the first of four, and shifts the others. */
static int host_next(int *results)
{
	int result = results[0];

	memmove(results, results + 1, 3 * sizeof(*results));
	results[3] = 0;
	return result;
}

static long host_find(const struct host_map *host, const void *key)
{
	uint32_t index = 0;

	if (host->is_array) {
		memcpy(&index, key, sizeof(index));
		return index < HOST_ENTRIES ? (long)index : -1;
	}
	for (size_t i = 0; i < host->count; i++) {
		if (!memcmp(host->entries[i].key, key, host->key_size))
			return (long)i;
	}
	return -1;
}

static inline void *bpf_map_lookup_elem(const void *map, const void *key)
{
	struct host_map *host = host_map_of(map);
	long at = host ? host_find(host, key) : -1;

	return at < 0 ? NULL : host->entries[at].value;
}

static inline long bpf_map_update_elem(const void *map, const void *key, const void *value,
				       uint64_t flags)
{
	struct host_map *host = host_map_of(map);
	int error = host_next(host->updates);
	long at = host_find(host, key);

	if (error)
		return error;
	if (at >= 0 && flags == BPF_NOEXIST)
		return -EEXIST;
	if (at < 0 && host->count == HOST_ENTRIES)
		return -E2BIG;
	if (at < 0) {
		at = (long)host->count++;
		memcpy(host->entries[at].key, key, host->key_size);
	}
	memcpy(host->entries[at].value, value, host->value_size);
	return 0;
}

static inline long bpf_map_delete_elem(const void *map, const void *key)
{
	struct host_map *host = host_map_of(map);
	int error = host_next(host->deletes);
	long at = host_find(host, key);

	if (error || at < 0)
		return error ? error : -ENOENT;
	host->entries[at] = host->entries[--host->count];
	return 0;
}

static inline long bpf_map_push_elem(const void *map, const void *value, uint64_t flags)
{
	struct host_map *host = host_map_of(map);
	int error = host_next(host->pushes);

	(void)flags;
	if (error || host->count == HOST_ENTRIES)
		return error ? error : -E2BIG;
	memcpy(host->entries[host->count++].value, value, host->value_size);
	return 0;
}

static inline long bpf_map_pop_elem(const void *map, void *value)
{
	struct host_map *host = host_map_of(map);

	if (!host->count)
		return -ENOENT;
	memcpy(value, host->entries[0].value, host->value_size);
	memmove(&host->entries[0], &host->entries[1], --host->count * sizeof(host->entries[0]));
	return 0;
}

struct task_struct;
static struct task_struct *host_task(void);
static void *host_storage; /* storage of the single thread */

static inline struct task_struct *bpf_get_current_task_btf(void)
{
	return host_task();
}

static inline void *bpf_task_storage_get(const void *map, const void *task, const void *value,
					 uint64_t flags)
{
	(void)map;
	(void)task;
	(void)value;
	(void)flags;
	return host_storage;
}

static inline long bpf_loop(uint32_t turns, void *callback, void *context, uint64_t flags)
{
	int (*call)(uint32_t, void *) = callback;
	uint32_t turn = 0;

	(void)flags;
	while (turn < turns && !call(turn++, context))
		continue;
	return turn;
}

/* Fails, as with an empty map: the program continues. */
static inline long bpf_tail_call(void *context, const void *map, uint32_t index)
{
	(void)context;
	(void)map;
	(void)index;
	return -ENOENT;
}

static inline uint64_t bpf_ktime_get_ns(void)
{
	return 1000;
}

static inline uint64_t bpf_get_current_pid_tgid(void)
{
	return 77ull << 32 | 77;
}

static uint64_t host_cookie; /* of the probe that fires */

static inline uint64_t bpf_get_attach_cookie(const void *context)
{
	(void)context;
	return host_cookie;
}

static inline uint32_t bpf_get_prandom_u32(void)
{
	return 0;
}

static inline long bpf_probe_read_kernel(void *to, uint32_t size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

/* The test's own memory is the user's. */
static inline long bpf_probe_read_user(void *to, uint32_t size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

static inline void *bpf_ringbuf_reserve(const void *map, uint64_t size, uint64_t flags)
{
	(void)map;
	(void)size;
	(void)flags;
	return NULL;
}

static inline void bpf_ringbuf_submit(void *data, uint64_t flags)
{
	(void)data;
	(void)flags;
}

/* clang's pragmas for relocation; and functions without a prototype. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wsign-compare"

/* Knobs are constant once they are loaded, and until then a test sets them: without `const`, which
 * functions of that file lose as well. */
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"
#define const
#include "../../bpf/maps.bpf.h"
#undef const

#endif
