// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/held_words.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "held.skel.h"
#include "process/proc/memory_room.h"
#include "trace/probe/loader.h"

struct held_words {
	struct held_bpf *skeleton;
	struct bpf_link *files, *threads;
	struct lm_held_word *words; /* the map, LM_HELD_WORDS of them */
};

#define WORDS_BYTES (LM_HELD_WORDS * sizeof(struct lm_held_word))

/* Iterators of the threads, and of the descriptors, of one process. */
int held_words_aim(struct held_words *held, pid_t pid)
{
	union bpf_iter_link_info info = {.task = {.pid = (uint32_t)pid}};
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));

	bpf_link__destroy(TAKE_PTR(held->files));
	bpf_link__destroy(TAKE_PTR(held->threads));
	held->files = bpf_program__attach_iter(held->skeleton->progs.held_by_files, &options);
	if (!held->files)
		return -errno;
	held->threads = bpf_program__attach_iter(held->skeleton->progs.held_by_threads, &options);
	return held->threads ? 0 : -errno;
}

static int load(struct held_words *held)
{
	int error, cpus = libbpf_num_possible_cpus();
	void *words;

	loader_quiet_libbpf();
	held->skeleton = held_bpf__open();
	if (!held->skeleton)
		return -errno;
	held->skeleton->rodata->cpu_count = cpus > 0 ? (uint32_t)cpus : 0;
	error = held_bpf__load(held->skeleton);
	if (error)
		return error;
	words = mmap(NULL, WORDS_BYTES, PROT_READ, MAP_SHARED,
		     bpf_map__fd(held->skeleton->maps.words), 0);
	if (words == MAP_FAILED)
		return -errno;
	held->words = words;
	return 0;
}

int held_words_open(struct held_words **held)
{
	struct held_words *opened;
	int error;

	if (memory_room() < MEMORY_TO_LOAD_BYTES)
		return -ENOMEM;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	error = load(opened);
	if (error)
		held_words_close(opened);
	else
		*held = opened;
	return error;
}

void held_words_close(struct held_words *held)
{
	if (!held)
		return;
	if (held->words)
		munmap(held->words, WORDS_BYTES);
	bpf_link__destroy(held->files);
	bpf_link__destroy(held->threads);
	held_bpf__destroy(held->skeleton);
	free(held);
}

/* The programs write to a map; the iterator itself has no output. */
static int run(const struct bpf_link *link)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(link));
	char unused[64];
	ssize_t length;

	if (fd < 0)
		return -errno;
	do
		length = read(fd, unused, sizeof(unused));
	while (length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR)));
	return length < 0 ? -errno : 0;
}

int held_words_read(struct held_words *held)
{
	int error;

	held->skeleton->bss->counts = (struct lm_held_counts){0};
	error = run(held->threads);
	return error ? error : run(held->files);
}

static int compare_words(const void *left_pointer, const void *right_pointer)
{
	const struct lm_held_word *left = left_pointer, *right = right_pointer;

	if (left->kind != right->kind)
		return left->kind < right->kind ? -1 : 1;
	if (left->owner != right->owner)
		return left->owner < right->owner ? -1 : 1;
	if (left->value != right->value)
		return left->value < right->value ? -1 : 1;
	/* The one with a descriptor first. */
	return (left->number < right->number) - (left->number > right->number);
}

size_t held_words_unique(struct lm_held_word *words, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(words, count, sizeof(*words), compare_words);
	for (size_t i = 0; i < count; i++) {
		const struct lm_held_word *last = kept ? &words[kept - 1] : NULL;

		if (last && last->kind == words[i].kind && last->owner == words[i].owner &&
		    last->value == words[i].value)
			continue;
		words[kept++] = words[i];
	}
	return kept;
}

/* Counts the distinct objects of the words of a kind; the words are sorted. */
static size_t count_owners(const struct lm_held_word *words, size_t count, uint32_t kind)
{
	uint64_t last = 0;
	size_t owners = 0;

	for (size_t i = 0; i < count; i++) {
		if (words[i].kind != kind || (owners && words[i].owner == last))
			continue;
		last = words[i].owner;
		owners++;
	}
	return owners;
}

static size_t missing(int64_t counted, size_t found)
{
	return counted > 0 && (uint64_t)counted > found ? (uint64_t)counted - found : 0;
}

int held_words_list(const struct held_words *held, struct held_list *list)
{
	const struct lm_held_counts *counts = &held->skeleton->bss->counts;
	size_t count = counts->words < LM_HELD_WORDS ? counts->words : LM_HELD_WORDS;
	struct held_list made = {.words = calloc(count + 1, sizeof(*made.words))};

	if (!made.words)
		return -ENOMEM;
	memcpy(made.words, held->words, count * sizeof(*made.words));
	made.count = held_words_unique(made.words, count);
	made.uring_unknown =
		missing(counts->uring, count_owners(made.words, made.count, LM_HELD_URING_REQUEST));
	made.aio_unknown = missing(counts->aio, count_owners(made.words, made.count, LM_HELD_AIO));
	if (counts->uring_uncounted || counts->words > LM_HELD_WORDS)
		made.uring_unknown = SIZE_MAX;
	if (counts->aio_uncounted || counts->words > LM_HELD_WORDS)
		made.aio_unknown = SIZE_MAX;
	*list = made;
	return 0;
}

void held_list_free(struct held_list *list)
{
	free(list->words);
	*list = (struct held_list){0};
}
