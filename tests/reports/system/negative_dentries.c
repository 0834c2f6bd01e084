// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: facebook/hhvm#6579, systemd/systemd#6567. Names that do not exist are looked up once
 * each, and stay as negative dentries. `fixed`: one name.
 *
 * kind: kernel memory
 * leak negative-dentries: HOME
 *   part: .*(kernel|slab|dent).*
 *   code: template_is_cached
 * healthy one-dentry: HOME fixed
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int template_is_cached(const char *folder, unsigned key)
{
	char path[512];
	struct stat found;

	snprintf(path, sizeof(path), "%s/compiled-template-%u.cache", folder, key);
	return stat(path, &found) == 0;
}

int main(int count, char **arguments)
{
	for (unsigned number = 0; count > 1 && number < 3000000; number++) {
		template_is_cached(arguments[1], count > 2 ? 0 : number);
		if (number % 20 == 0)
			usleep(5000);
	}
}
