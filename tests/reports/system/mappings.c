// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mappings. `anonymous`: a buffer of 64 KiB for each request that nobody unmaps. `file`: a file is
 * mapped, written to (MAP_PRIVATE), and stays. `arena`: an allocator of the program's own takes 1
 * MiB at a time. `unmapped`: all are unmapped. `fixed-arena`: a mapping of 16 MiB fills up within
 * seconds, and is used again from its beginning.
 *
 * kind: mappings
 * leak mappings-anonymous: anonymous
 *   part: other|anonymous|.*mapping.*
 *   code: buffer_map
 * leak mappings-file: file
 *   part: files|.*mapping.*
 *   code: table_map
 * leak mappings-arena: arena
 *   part: other|anonymous|.*mapping.*
 *   code: arena_allocate|session_open
 * healthy mappings-unmapped: unmapped
 * healthy arena-of-fixed-size: fixed-arena
 *   warm: 20
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALLED __attribute__((noinline))
#define BUFFER (64 << 10)
#define ARENA (1 << 20)
#define FIXED_ARENA (16 << 20)

static CALLED char *buffer_map(void)
{
	char *buffer =
		mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffer == MAP_FAILED)
		abort();
	memset(buffer, 'b', BUFFER);
	return buffer;
}

static CALLED void table_map(void)
{
	int file = open("/proc/self/exe", O_RDONLY);
	char *table = mmap(NULL, 16 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);

	if (table == MAP_FAILED)
		abort();
	memset(table, 't', 16 << 10);
	close(file);
}

static CALLED void *arena_allocate(size_t size)
{
	static char *arena;
	static size_t used = ARENA;

	if (used + size > ARENA) {
		arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
		used = 0;
	}
	used += size;
	return arena + used - size;
}

static CALLED void session_open(void)
{
	memset(arena_allocate(5000), 's', 5000);
}

static CALLED void frame_store(void)
{
	static char *arena;
	static size_t used;

	if (!arena)
		arena = mmap(NULL, FIXED_ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0);
	memset(arena + used, 'f', BUFFER);
	used = (used + BUFFER) % FIXED_ARENA;
}

int main(int count, char **arguments)
{
	const char *mode = count > 1 ? arguments[1] : "unmapped";

	for (;; usleep(50000)) {
		if (!strcmp(mode, "anonymous"))
			buffer_map();
		else if (!strcmp(mode, "file"))
			table_map();
		else if (!strcmp(mode, "arena"))
			session_open();
		else if (!strcmp(mode, "fixed-arena"))
			frame_store();
		else
			munmap(buffer_map(), BUFFER);
	}
}
