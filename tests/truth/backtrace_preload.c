// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records the true callers of the allocator, by libgcc's unwinder. See truth.h.
 *
 * Its tables are in a mapped file, so recording does not allocate; allocations of the unwinder pass
 * through unrecorded. Allocations of a signal handler that interrupted this library do too.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

#define PUBLIC __attribute__((visibility("default")))

/* The allocator below. */
struct allocator {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void (*free)(void *);
	size_t (*usable_size)(void *);
	bool ready;
};

/* The state of a preloaded library has nowhere else to live. */
static struct allocator next;
static __thread unsigned busy __attribute__((tls_model("initial-exec"))); /* calls in flight */

/* Allocations of dlsym during the search for the allocator; zeroed, never freed. */
static char bootstrap[16384];
static size_t bootstrap_used;

static void *bootstrap_take(size_t size)
{
	size_t start = __atomic_fetch_add(&bootstrap_used, (size + 15) & ~15ul, __ATOMIC_RELAXED);

	return start + size <= sizeof(bootstrap) ? bootstrap + start : NULL;
}

static bool is_bootstrap(const void *block)
{
	return (const char *)block >= bootstrap &&
	       (const char *)block < bootstrap + sizeof(bootstrap);
}

static void *next_symbol(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static bool next_ready(void)
{
	if (next.ready)
		return true;
	if (busy)
		return false;
	busy++;
	next.malloc = next_symbol("malloc");
	next.calloc = next_symbol("calloc");
	next.realloc = next_symbol("realloc");
	next.reallocarray = next_symbol("reallocarray");
	next.memalign = next_symbol("memalign");
	next.aligned_alloc = next_symbol("aligned_alloc");
	next.posix_memalign = next_symbol("posix_memalign");
	next.valloc = next_symbol("valloc");
	next.pvalloc = next_symbol("pvalloc");
	next.free = next_symbol("free");
	next.usable_size = next_symbol("malloc_usable_size");
	next.ready = true;
	busy--;
	return true;
}

static void __attribute__((constructor)) start(void)
{
	next_ready();
	recorder_open();
}

static bool enter(void)
{
	return !busy++;
}

static bool enter_ready(void)
{
	next_ready();
	return enter();
}

/* The end of every wrapper: `outer` is the result of enter(). */
static void *leave(bool outer, void *block, size_t size)
{
	int error = errno;

	if (outer && block)
		recorder_add(block, size);
	errno = error;
	busy--;
	return block;
}

PUBLIC void free(void *block)
{
	struct truth_block old;

	if (!block || is_bootstrap(block) || !next_ready())
		return;
	if (!enter()) {
		next.free(block);
	} else {
		old = recorder_take(block);
		if (!old.address || !recorder_keeps())
			next.free(block);
	}
	busy--;
}

PUBLIC void *malloc(size_t size)
{
	bool outer;

	if (!next_ready())
		return bootstrap_take(size);
	outer = enter();
	return leave(outer, next.malloc(size), size);
}

PUBLIC void *calloc(size_t count, size_t size)
{
	bool outer;

	if (!next_ready())
		return bootstrap_take(count * size);
	outer = enter();
	return leave(outer, next.calloc(count, size), count * size);
}

/*
 * A kept block, or one that dlsym got from us, is copied instead of moved; the program may have
 * used all of it.
 */
static void *copy(void *fresh, void *old, size_t size)
{
	size_t old_size = is_bootstrap(old) ? (size_t)(bootstrap + sizeof(bootstrap) - (char *)old)
					    : next.usable_size(old);

	return fresh ? memcpy(fresh, old, old_size < size ? old_size : size) : NULL;
}

PUBLIC void *realloc(void *block, size_t size)
{
	struct truth_block old = {0};
	bool outer;
	void *fresh;

	if (!next_ready())
		return bootstrap_take(size);
	outer = enter();
	if (outer)
		old = recorder_take(block);
	if (is_bootstrap(block) || (old.address && recorder_keeps()))
		fresh = copy(next.realloc(NULL, size), block, size);
	else
		fresh = next.realloc(block, size);
	return leave(outer, fresh, size);
}

PUBLIC void *reallocarray(void *block, size_t count, size_t size)
{
	struct truth_block old = {0};
	bool outer = enter_ready();
	size_t bytes = count * size;
	void *fresh;

	if (outer)
		old = recorder_take(block);
	if (old.address && recorder_keeps())
		fresh = copy(next.reallocarray(NULL, count, size), block, bytes);
	else
		fresh = next.reallocarray(block, count, size);
	return leave(outer, fresh, bytes);
}

PUBLIC void *memalign(size_t alignment, size_t size)
{
	bool outer = enter_ready();

	return leave(outer, next.memalign(alignment, size), size);
}

PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
	bool outer = enter_ready();

	return leave(outer, next.aligned_alloc(alignment, size), size);
}

PUBLIC int posix_memalign(void **out, size_t alignment, size_t size)
{
	bool outer = enter_ready();
	int error = next.posix_memalign(out, alignment, size);

	leave(outer, error ? NULL : *out, size);
	return error;
}

PUBLIC void *valloc(size_t size)
{
	bool outer = enter_ready();

	return leave(outer, next.valloc(size), size);
}

PUBLIC void *pvalloc(size_t size)
{
	bool outer = enter_ready();

	return leave(outer, next.pvalloc(size), size);
}
