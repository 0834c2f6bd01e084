// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_seed.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "threads/thread_seeding.h"

#define MAX_ROUNDS 8
/* How long threads that are just ending are waited for. */
#define WAIT_NS 200000000ull

static int look_until_settled(struct seeding *seeding)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	uint64_t deadline = monotonic_ns() + WAIT_NS;
	int error = seeding_look(seeding);

	seeding->last = false;
	while (!error && seeding_check(seeding) && !seeding->last) {
		nanosleep(&pause, NULL);
		seeding->last = monotonic_ns() > deadline;
		error = seeding_look(seeding);
	}
	return error;
}

static int put_until_nothing_is_new(struct seeding *seeding)
{
	size_t fresh = 0;
	int error = 0;

	for (unsigned i = 0; i < MAX_ROUNDS && !error; i++) {
		error = seeding_put_new(seeding, &fresh);
		if (error || !fresh)
			return error;
		error = look_until_settled(seeding);
	}
	if (error)
		return error;
	seeding->why = "its threads come and go faster than they can be listed";
	return -EBUSY;
}

/* Opens the books; what was counted in vain until now is told. */
static int open_books(const struct seeding *seeding, struct thread_missed *missed)
{
	struct lm_thread_books books = {0};
	int fd = seeding->bpf->thread_books_fd;

	if (bpf_map_update_elem(fd, &seeding->tasks.process, &books, BPF_NOEXIST) &&
	    errno != EEXIST)
		return -errno;
	if (bpf_map_lookup_elem(fd, &seeding->tasks.process, &books))
		return -errno;
	missed->ends = books.untracked_ends;
	missed->joins = books.untracked_joins;
	return 0;
}

static const char *explain(const struct seeding *seeding, int error)
{
	if (seeding->why)
		return seeding->why;
	if (error == -ESRCH)
		return "it ended while its lists of threads were read";
	if (error == -E2BIG)
		return "there is no room for all of its threads";
	return "its memory cannot be read";
}

int thread_seed(const struct bpf_side *bpf, const struct thread_seed *seed,
		struct thread_missed *missed, const char **why)
{
	struct seeding seeding = {.bpf = bpf, .seed = seed};
	int error = seeding_look(&seeding);

	if (!error)
		error = put_until_nothing_is_new(&seeding);
	if (!error)
		error = open_books(&seeding, missed);
	if (!error && seeding.seeded.count)
		error = thread_tasks_open_process(bpf, seed->pid);
	for (size_t i = 0; error && i < seeding.seeded.count; i++)
		seeding_drop(&seeding, &seeding.seeded.items[i]);
	if (error)
		*why = explain(&seeding, error);
	thread_tasks_free(&seeding.tasks);
	listed_threads_free(&seeding.listed);
	vec_free(&seeding.seeded);
	return error;
}
