// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/threads/thread_walk.h"

#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/page.h"
#include "binary/arch/machine.h"

/* glibc aligns descriptors to 64 bytes; every psABI guarantees at least this. */
#define DESCRIPTOR_ALIGNMENT 16
#define USER_ADDRESSES (1ull << MACHINE_USER_BITS)
/* Where the thread pointer points to the descriptor, the descriptor begins with its own address. */
#define SELF_IS_FIRST (MACHINE_THREAD_SELF_AT > 0)
/* Limits retries after a neighbour came or went. */
#define MAX_REPAIRS 1024

struct links {
	uint64_t next, prev;
};

struct walk {
	const struct thread_memory *memory;
	const struct thread_layout *layout;
	char *descriptor; /* layout->descriptor_size bytes, of which the first read_size are read */
	size_t read_size;
	struct hash seen;
	size_t repairs;
	struct listed_threads found;
	const char *why;
};

static int give_up(struct walk *walk, const char *why)
{
	walk->why = why;
	return -EBADMSG;
}

static int not_begun(struct walk *walk)
{
	walk->why = "its C library is not set up yet";
	return -ENODATA;
}

static uint64_t word_at(const struct walk *walk, uint32_t at)
{
	uint64_t word;

	memcpy(&word, walk->descriptor + at, sizeof(word));
	return word;
}

static uint32_t half_word_at(const struct walk *walk, uint32_t at)
{
	uint32_t half;

	memcpy(&half, walk->descriptor + at, sizeof(half));
	return half;
}

static int read_memory(const struct walk *walk, uint64_t address, void *buffer, size_t size)
{
	return walk->memory->read(walk->memory->context, address, buffer, size);
}

static int read_links(struct walk *walk, uint64_t node, struct links *links)
{
	char raw[16];
	int error = read_memory(walk, node, raw, sizeof(raw));

	if (error == -EFAULT)
		return give_up(walk, "a list of threads leads to memory that is not there");
	if (error)
		return error;
	memcpy(&links->next, raw + walk->layout->next_at, sizeof(links->next));
	memcpy(&links->prev, raw + walk->layout->prev_at, sizeof(links->prev));
	return 0;
}

/* Reads the descriptor that contains `node`. */
static int read_descriptor(struct walk *walk, uint64_t node, struct links *links)
{
	uint64_t handle = node - walk->layout->list_at;
	int error;

	if (handle % DESCRIPTOR_ALIGNMENT || handle < page_size() || handle >= USER_ADDRESSES)
		return give_up(walk, "a list of threads leads to an address that no thread has");
	error = read_memory(walk, handle, walk->descriptor, walk->read_size);
	if (error == -EFAULT)
		return give_up(walk, "a list of threads leads to memory that is not there");
	if (error)
		return error;
	if (SELF_IS_FIRST && word_at(walk, 0) != handle)
		return give_up(walk, "a list of threads leads to what is no thread");
	links->next = word_at(walk, walk->layout->list_at + walk->layout->next_at);
	links->prev = word_at(walk, walk->layout->list_at + walk->layout->prev_at);
	return 0;
}

static int take_descriptor(struct walk *walk, uint64_t handle, bool own_stack)
{
	const struct thread_layout *layout = walk->layout;
	uint32_t tid = half_word_at(walk, layout->tid_at);
	bool exiting = half_word_at(walk, layout->state_at) & THREAD_STATE_EXITING;
	bool detached = layout->joinid_at && word_at(walk, layout->joinid_at) == handle;
	struct listed_thread *thread;

	/* A detached thread that ends is about to leave the list. */
	if ((int32_t)tid < 0 || (!tid && (!exiting || detached))) {
		walk->found.unfinished++;
		return 0;
	}
	thread = vec_push(&walk->found.list);
	if (!thread)
		return -ENOMEM;
	*thread = (struct listed_thread){
		.handle = handle,
		.start_routine = word_at(walk, layout->start_routine_at),
		.tid = tid,
		.detached = detached,
		.own_stack = own_stack,
	};
	return 0;
}

/* Continues where `node` does not point back at `before`: a thread came or went between the two. */
static int find_next(struct walk *walk, uint64_t before, uint64_t *node)
{
	struct links links;
	int error = read_links(walk, before, &links);

	if (error)
		return error;
	if (links.next == *node || ++walk->repairs > MAX_REPAIRS)
		return give_up(walk, "the links of a list of threads contradict each other");
	*node = links.next;
	return 0;
}

static int mark_seen(struct walk *walk, uint64_t node)
{
	bool fresh = false;

	if (walk->seen.count == THREAD_WALK_MAX)
		return give_up(walk, "a list of threads has no end");
	if (!hash_put(&walk->seen, node, &fresh))
		return -ENOMEM;
	return fresh ? 0 : give_up(walk, "a list of threads runs in a circle");
}

static int walk_list(struct walk *walk, uint64_t head, bool own_stacks)
{
	uint64_t before = head, node;
	struct links links = {0};
	int error = read_links(walk, head, &links);

	if (!error && !links.next && !links.prev)
		return not_begun(walk);
	for (node = links.next; !error && node != head;) {
		error = read_descriptor(walk, node, &links);
		if (error)
			return error;
		if (links.prev != before) {
			error = find_next(walk, before, &node);
			continue;
		}
		error = mark_seen(walk, node);
		if (!error)
			error = take_descriptor(walk, node - walk->layout->list_at, own_stacks);
		before = node;
		node = links.next;
	}
	if (!error)
		error = read_links(walk, head, &links);
	if (!error && links.prev != before)
		error = give_up(walk, "a list of threads does not close");
	return error;
}

static int find_heads(struct walk *walk, uint64_t bias, uint64_t *heads)
{
	uint64_t pointer = bias + walk->layout->heads_at;
	int error = 0;

	if (walk->layout->indirect) {
		error = read_memory(walk, pointer, &pointer, sizeof(pointer));
		if (error == -EFAULT)
			return give_up(walk, "its C library is not where it should be");
	}
	if (!error && !pointer)
		return not_begun(walk);
	if (!error && (pointer % sizeof(pointer) || pointer < page_size() ||
		       pointer >= USER_ADDRESSES - THREAD_LAYOUT_MAX))
		return give_up(walk, "its C library is not where it should be");
	*heads = pointer;
	return error;
}

static int walk_once(struct walk *walk, uint64_t bias)
{
	uint64_t heads = 0;
	int error = find_heads(walk, bias, &heads);

	hash_free(&walk->seen);
	walk->repairs = 0;
	walk->found.list.count = walk->found.unfinished = 0;
	if (!error)
		error = walk_list(walk, heads + walk->layout->used_at, false);
	if (!error)
		error = walk_list(walk, heads + walk->layout->user_at, true);
	return error;
}

/* Returns the size of the part of a descriptor that holds all fields read. */
static size_t needed_size(const struct thread_layout *layout)
{
	size_t ends[] = {layout->list_at + sizeof(struct links), layout->tid_at + 4,
			 layout->state_at + 4, layout->start_routine_at + 8, layout->joinid_at + 8};
	size_t size = 0;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		size = MAX(size, ends[i]);
	return size;
}

int thread_walk(const struct thread_memory *memory, const struct thread_layout *layout,
		uint64_t bias, struct listed_threads *threads, const char **why)
{
	_cleanup_free_ char *descriptor = malloc(layout->descriptor_size);
	struct walk walk = {.memory = memory,
			    .layout = layout,
			    .descriptor = descriptor,
			    .read_size = needed_size(layout)};
	int error = descriptor ? -EBADMSG : -ENOMEM;

	for (unsigned i = 0; i < THREAD_WALK_TRIES && error == -EBADMSG; i++) {
		const struct timespec pause = {.tv_nsec = (long)i * 1000000};

		nanosleep(&pause, NULL);
		error = walk_once(&walk, bias);
	}
	hash_free(&walk.seen);
	if (error) {
		*why = walk.why;
		listed_threads_free(&walk.found);
		return error;
	}
	*threads = walk.found;
	return 0;
}

void listed_threads_free(struct listed_threads *threads)
{
	vec_free(&threads->list);
}
