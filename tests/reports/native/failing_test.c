// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A test that fails and does not leak, run by leakmon in a build: its exit status is the answer.
 *
 * kind: other commands
 * command failing-test: LEAKMON --fail-over 0 -- PROGRAM
 *   exit: 7
 */
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	void *block = malloc(100);

	usleep(300000);
	free(block);
	return 7;
}
