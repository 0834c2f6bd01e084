// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A process whose memory, threads, files or mappings take a known course, until stdin ends:
 *
 *   grower leak KIB_PER_S        allocates and never frees, at three sites: half, a third, a sixth
 *   grower cache KIB SECONDS     fills a cache, then only turns it over
 *   grower batch KIB PERIOD_MS   works up to KIB, frees it all, again and again
 *   grower peaks KIB_PER_S       allocates ever more at once and frees it all, and malloc keeps it
 *   grower shared KIB_PER_S      writes into memory that no process maps, and keeps it
 *   grower idle                  sleeps
 *   grower threads|files|maps PER_S
 *   grower chunks PER_S          maps 64 KiB and uses them
 *   grower parts PER_S           uses 64 KiB more of what it mapped at once
 *   grower forgotten PER_S       threads that end at once and are never joined
 *   grower copies PER_S          maps 16 KiB of its own program and writes to them
 *   grower locks|unlocked PER_S  locks bytes of a file, and keeps the locks or not
 *   grower names PER_S           asks for files that do not exist, each by another name
 *   grower segments PER_S        children leave System V segments of 256 KiB behind
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "workload.h"

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define STEP_MS 100
#define CHUNK 1024
#define PEAK_CHUNK (16 * 1024)
#define BATCH_CHUNK (256 * 1024)
#define BLOCKS_MAX (1 << 20)

static double start_s;
static uint64_t first, second;
static uint64_t done; /* units so far */
static void *blocks[BLOCKS_MAX];
static size_t block_count;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double elapsed_s(void)
{
	return now_s() - start_s;
}

/* All contents differ: equal contents prove nothing to a profile. */
static SITE void *touched(size_t size)
{
	static uint64_t serial;
	void *block = OPAQUE(malloc(size));

	if (!block)
		_exit(112);
	memset(block, 1, size);
	serial++;
	return memcpy(block, &serial, sizeof(serial));
}

static SITE void leak_half(void)
{
	OPAQUE(touched(CHUNK / 2));
}

static SITE void leak_third(void)
{
	OPAQUE(touched(CHUNK / 3));
}

static SITE void leak_sixth(void)
{
	OPAQUE(touched(CHUNK / 6));
}

static void leak(void)
{
	while (done < (uint64_t)(elapsed_s() * (double)first)) {
		leak_half();
		leak_third();
		leak_sixth();
		done++;
	}
}

static void cache(void)
{
	double share = elapsed_s() / (double)second;
	uint64_t wanted = (uint64_t)((share < 1 ? share : 1) * (double)first);

	while (block_count < wanted && block_count < BLOCKS_MAX)
		blocks[block_count++] = touched(CHUNK);
	for (int i = 0; i < 10 && block_count; i++) { /* replace an entry */
		size_t victim = (size_t)rand() % block_count;

		free(blocks[victim]);
		blocks[victim] = touched(CHUNK);
	}
}

static void batch(void)
{
	double periods = elapsed_s() * 1000 / (double)second, phase = periods - (uint64_t)periods;
	uint64_t kib = phase < 0.6 ? (uint64_t)(phase / 0.6 * (double)first) : 0;

	/* A size that glibc gives back on free. */
	while (block_count > kib * 1024 / BATCH_CHUNK)
		free(blocks[--block_count]);
	while (block_count < kib * 1024 / BATCH_CHUNK && block_count < BLOCKS_MAX)
		blocks[block_count++] = touched(BATCH_CHUNK);
}

/* Free memory at the top of the heap stays there. */
static void peaks(void)
{
	uint64_t wanted = (uint64_t)(elapsed_s() * (double)first) * 1024 / PEAK_CHUNK;

	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	while (block_count < wanted && block_count < BLOCKS_MAX)
		blocks[block_count++] = touched(PEAK_CHUNK);
	while (block_count)
		free(blocks[--block_count]);
}

static void *sleep_for_ever(void *unused)
{
	pause();
	return unused;
}

static void one_thread(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	if (pthread_create(&thread, &attributes, sleep_for_ever, NULL))
		_exit(113);
	pthread_attr_destroy(&attributes);
}

static void one_file(void)
{
	if (open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0)
		_exit(114);
}

static void one_mapping(void)
{
	/* Neighbours with other rights are not merged. */
	char *at = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at, 4096, PROT_READ | PROT_WRITE))
		_exit(115);
}

#define POOL_CHUNK (64u << 10)

/* Like a pool that takes its memory from the kernel. */
static void one_chunk(void)
{
	char *at =
		mmap(NULL, POOL_CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(118);
	memset(at, 1, POOL_CHUNK);
}

/* One mapping, made at once, and used step by step. */
static void one_part(void)
{
	static char *all;

	if (!all)
		all = mmap(NULL, 1ul << 30, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED || (done + 1) * POOL_CHUNK > 1ul << 30)
		_exit(119);
	memset(all + done * POOL_CHUNK, 1, POOL_CHUNK);
}

static void by_rate(void (*one)(void))
{
	while (done < (uint64_t)(elapsed_s() * (double)first)) {
		one();
		done++;
	}
}

static void *end_at_once(void *argument)
{
	return argument;
}

static void one_forgotten(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, end_at_once, NULL))
		_exit(116);
}

static void forgotten(void)
{
	by_rate(one_forgotten);
}

static void threads(void)
{
	by_rate(one_thread);
}

static void files(void)
{
	by_rate(one_file);
}

static void maps(void)
{
	by_rate(one_mapping);
}

static void chunks(void)
{
	by_rate(one_chunk);
}

static void parts(void)
{
	by_rate(one_part);
}

/* Writes to tmpfs, through a file that is never mapped. */
static void shared(void)
{
	static const char kib[1024] = {1};
	static int fd;

	if (!fd)
		fd = memfd_create("shared", 0);
	while (done < (uint64_t)(elapsed_s() * (double)first)) {
		if (write(fd, kib, sizeof(kib)) != sizeof(kib))
			_exit(117);
		done++;
	}
}

#define COPY_SIZE (16u << 10)

static SITE void one_copy(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *at = mmap(NULL, COPY_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		_exit(121);
	memset(at, 1, COPY_SIZE);
	close(fd);
}

static SITE void one_lock(short type)
{
	/* From the highest byte down: the kernel's list of them is searched from the lowest. */
	struct flock lock = {.l_type = type, .l_start = (off_t)(2000000 - 2 * done), .l_len = 1};
	static int fd;

	if (!fd)
		fd = memfd_create("locked", 0);
	if (OPAQUE((size_t)fcntl(fd, F_SETLK, &lock)))
		_exit(122);
}

static void one_kept_lock(void)
{
	one_lock(F_WRLCK);
}

static void one_passing_lock(void)
{
	one_lock(F_WRLCK);
	one_lock(F_UNLCK);
}

static SITE void one_name(void)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/grower-%d-%llu", getpid(), (unsigned long long)done);
	if (!OPAQUE((size_t)stat(path, &status)))
		_exit(123);
}

#define SEGMENT_SIZE (256u << 10)
#define SEGMENTS_MAX 4096
static int *segment_ids; /* shared with the children that make them */

static void one_segment(void)
{
	pid_t child;
	char *at;

	if (done == SEGMENTS_MAX)
		return;
	if (!segment_ids)
		segment_ids = mmap(NULL, SEGMENTS_MAX * sizeof(int), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	child = fork();
	if (!child) {
		segment_ids[done] = shmget(IPC_PRIVATE, SEGMENT_SIZE, IPC_CREAT | 0600);
		at = shmat(segment_ids[done], NULL, 0);
		memset(at, 1, SEGMENT_SIZE);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void segments_remove(void)
{
	for (uint64_t i = 0; segment_ids && i < done; i++)
		shmctl(segment_ids[i], IPC_RMID, NULL);
}

static void copies(void)
{
	by_rate(one_copy);
}

static void locks(void)
{
	by_rate(one_kept_lock);
}

static void unlocked(void)
{
	by_rate(one_passing_lock);
}

static void names(void)
{
	by_rate(one_name);
}

static void segments(void)
{
	by_rate(one_segment);
}

static void idle(void)
{
}

static const struct command courses[] = {
	{"leak", leak, false},	     {"cache", cache, false},	    {"batch", batch, false},
	{"threads", threads, false}, {"files", files, false},	    {"maps", maps, false},
	{"shared", shared, false},   {"idle", idle, false},	    {"forgotten", forgotten, false},
	{"peaks", peaks, false},     {"chunks", chunks, false},	    {"parts", parts, false},
	{"copies", copies, false},   {"locks", locks, false},	    {"unlocked", unlocked, false},
	{"names", names, false},     {"segments", segments, false},
};

int main(int argc, char **argv)
{
	const struct command *course =
		command_find(courses, ARRAY_SIZE(courses), argc > 1 ? argv[1] : "");
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	if (!course)
		return 2;
	first = argument(argc, argv, 2, 0);
	second = argument(argc, argv, 3, 1);
	say("ready %d\n", getpid());
	start_s = now_s();
	while (!poll(&in, 1, course->run == idle ? -1 : STEP_MS))
		course->run();
	segments_remove();
	return 0;
}
