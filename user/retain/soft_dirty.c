// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/soft_dirty.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "retain/memory.h"

static int clear_bits(pid_t pid)
{
	_cleanup_close_ int fd = -1;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/clear_refs", pid);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "4", 1) != 1)
		return -errno;
	return 0;
}

/* Without CONFIG_MEM_SOFT_DIRTY clearing succeeds, and no bit is ever set: so try it on a page. */
static int try_here(int pagemap, volatile char *page)
{
	uint64_t before, after;

	*page = 1;
	if (clear_bits(getpid()))
		return -EACCES;
	pagemap_read(pagemap, (uintptr_t)page, &before, 1);
	*page = 2;
	pagemap_read(pagemap, (uintptr_t)page, &after, 1);
	return !pagemap_is_soft_dirty(before) && pagemap_is_soft_dirty(after) ? 0 : -ENOTSUP;
}

static int try_kernel(void)
{
	_cleanup_close_ int pagemap = pagemap_open(getpid());
	void *page;
	int err;

	if (pagemap < 0)
		return -EACCES;
	page = mmap(NULL, MEMORY_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -ENOMEM;
	err = try_here(pagemap, page);
	munmap(page, MEMORY_PAGE);
	return err;
}

int soft_dirty_start(pid_t pid)
{
	int err = try_kernel();

	return err ? err : clear_bits(pid);
}
