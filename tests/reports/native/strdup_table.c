// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A setting that is replaced ten times a second by strdup(), and the old value forgotten; growth by
 * library calls that allocate. `fixed`: the old value is freed.
 *
 * kind: native blocks that are lost
 * leak strdup-setting: leak
 *   part: native-blocks
 *   code: setting_set
 * healthy strdup-freed: fixed
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *settings[8];

static void __attribute__((noinline)) setting_set(int which, const char *value, int fixed)
{
	if (fixed)
		free(settings[which]);
	settings[which] = strdup(value);
}

int main(int count, char **arguments)
{
	int fixed = count > 1 && !strcmp(arguments[1], "fixed");
	char value[3000];

	for (int number = 0;; number++) {
		memset(value, 'a' + number % 26, sizeof(value) - 1);
		value[sizeof(value) - 1] = 0;
		setting_set(number % 8, value, fixed);
		usleep(20000);
	}
}
