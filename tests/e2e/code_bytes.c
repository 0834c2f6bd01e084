// SPDX-License-Identifier: GPL-2.0-or-later
#include "code_bytes.h"

#include "harness.h"

#include <fcntl.h>
#include <time.h>

struct changed {
	uint64_t *addresses;
	size_t count;
};

/* Bytes of one mapping that differ from the file. */
static void compare_range(struct changed *changed, pid_t pid, int memory, const char *range,
			  uint64_t start, uint64_t end, uint64_t offset)
{
	static unsigned char in_memory[65536], in_file[65536];
	char path[128];
	int file;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%s", pid, range);
	file = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	while (start < end) {
		size_t size = end - start < sizeof(in_memory) ? end - start : sizeof(in_memory);
		ssize_t got = pread(file, in_file, size, (off_t)offset);

		if (got <= 0)
			break; /* the last page reaches past the file's end */
		assert_int_equal(pread(memory, in_memory, (size_t)got, (off_t)start), got);
		for (ssize_t i = 0; i < got; i++) {
			if (in_memory[i] == in_file[i])
				continue;
			if (changed->addresses && changed->count < CODE_BYTES_MAX)
				changed->addresses[changed->count] = start + (uint64_t)i;
			changed->count++;
		}
		start += (uint64_t)got;
		offset += (uint64_t)got;
	}
	close(file);
}

size_t code_bytes_changed(pid_t pid, uint64_t *addresses)
{
	struct changed changed = {.addresses = addresses};
	char path[64], line[512], range[64], rights[8];
	unsigned long start, end, offset, inode;
	size_t ranges = 0;
	FILE *maps;
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	assert_true(memory >= 0 && maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%63s %7s %lx %*s %lu", range, rights, &offset, &inode) != 4 ||
		    !inode || rights[2] != 'x' || sscanf(range, "%lx-%lx", &start, &end) != 2)
			continue;
		compare_range(&changed, pid, memory, range, start, end, offset);
		ranges++;
	}
	fclose(maps);
	close(memory);
	/* The program, libc and the loader. */
	assert_true(ranges >= 3);
	return changed.count;
}

void code_bytes_wait_clean(pid_t pid)
{
	const struct timespec pause = {.tv_nsec = 20000000};

	for (int tries = 0; tries < 500 && code_difference(pid); tries++)
		nanosleep(&pause, NULL);
	assert_int_equal(code_difference(pid), 0);
}
