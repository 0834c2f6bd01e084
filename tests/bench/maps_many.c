// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * maps_many [COUNT]: maps the code of COUNT (60) shared libraries of this system, as the loader
 * would, without running any of it. `mapped` answers "FILES BYTES".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../workloads/workload.h"

#define DIRECTORY "/usr/lib/x86_64-linux-gnu"
/* Smaller ones are mostly tables, or nothing but PLT. */
#define MIN_BYTES 65536

static struct truth truth;
static uint64_t files, bytes;

static bool map_code(int fd)
{
	char page[4096];
	const Elf64_Ehdr *header = (const void *)page;
	ssize_t size = pread(fd, page, sizeof(page), 0);
	bool any = false;

	if (size < (ssize_t)sizeof(*header) || memcmp(page, ELFMAG, SELFMAG) != 0 ||
	    page[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 ||
	    header->e_phoff + (size_t)header->e_phnum * sizeof(Elf64_Phdr) > (size_t)size)
		return false;
	for (unsigned i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *segment = (const Elf64_Phdr *)(page + header->e_phoff) + i;
		off_t offset = (off_t)(segment->p_offset & ~4095ull);
		size_t length = segment->p_filesz + (segment->p_offset & 4095);

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		if (mmap(NULL, length, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset) ==
		    MAP_FAILED)
			continue;
		bytes += length;
		any = true;
	}
	return any;
}

static int is_library(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "lib", 3) && strstr(entry->d_name, ".so");
}

static void map_library(const char *name)
{
	char path[512];
	struct stat status;
	int fd;

	snprintf(path, sizeof(path), DIRECTORY "/%s", name);
	/* No links: they are second names. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && !fstat(fd, &status) && status.st_size >= MIN_BYTES)
		files += map_code(fd);
	if (fd >= 0)
		close(fd);
}

static void map_libraries(uint64_t count)
{
	struct dirent **entries;
	int found = scandir(DIRECTORY, &entries, is_library, alphasort);

	for (int i = 0; i < found; i++) {
		if (files < count)
			map_library(entries[i]->d_name);
		free(entries[i]);
	}
	if (found >= 0)
		free(entries);
}

static void mapped(void)
{
	say("%lu %lu\n", files, bytes);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "mapped", .run = mapped, .silent = true}};

	map_libraries(argument(argc, argv, 1, 60));
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
