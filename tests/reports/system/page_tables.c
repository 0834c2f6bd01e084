// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Page tables that stay: of each 2 MiB of a sparse mapping one page is used, and given back. The
 * resident memory is level, VmPTE grows. `fixed`: munmap().
 *
 * kind: kernel memory
 * leak page-tables:
 *   part: .*(page.?table|kernel).*
 * healthy page-tables-unmapped: fixed
 */
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	size_t step = 2 << 20, size = 1ul << 40;
	char *mapped = mmap(0, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)arguments;
	madvise(mapped, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += step) {
		mapped[at] = 1;
		if (count > 1)
			munmap(mapped + at, step);
		else
			madvise(mapped + at, 4096, MADV_DONTNEED);
		usleep(1500);
	}
}
