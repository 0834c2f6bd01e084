// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: ruby/ruby#4814, without ruby: buffers get their capacity, are never written, and are
 * lost.
 *
 * kind: native blocks that are lost
 * leak unwritten-buffers:
 *   part: native-blocks
 *   code: buffer_alloc
 * leak written-buffers: write
 *   part: native-blocks
 *   code: buffer_alloc
 * healthy freed-buffers: write free
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *volatile kept;

static void buffer_alloc(int number, int write, int release)
{
	kept = malloc(3001);
	if (write)
		memcpy(kept, &number, sizeof(number));
	if (release)
		free(kept);
	kept = NULL;
}

int main(int count, char **arguments)
{
	(void)arguments;
	for (int number = 0;; number++) {
		buffer_alloc(number, count > 1, count > 2);
		if (number % 10 == 9)
			usleep(50000);
	}
}
