// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"

/* Decodes escapes such as "\040", a space, in place. */
static void unescape(char *text)
{
	char *out = text;

	while (*text) {
		unsigned code;

		if (text[0] == '\\' && sscanf(text + 1, "%3o", &code) == 1 &&
		    strnlen(text, 4) == 4) {
			*out++ = (char)code;
			text += 4;
		} else {
			*out++ = *text++;
		}
	}
	*out = '\0';
}

/* Splits the line into pieces, in place. */
static bool parse(char *line, struct mount *mount)
{
	char *type = strstr(line, " - ");
	unsigned major, minor;
	int begin = 0, end = 0;

	if (!type || sscanf(line, "%*u %*u %u:%u %*s %n%*s%n", &major, &minor, &begin, &end) != 2 ||
	    end <= begin)
		return false;
	type += strlen(" - ");
	type[strcspn(type, " \n")] = '\0';
	line[end] = '\0';
	unescape(line + begin);
	*mount = (struct mount){makedev(major, minor), type, line + begin};
	return true;
}

int mounts_visit(pid_t pid, int (*visit)(void *context, const struct mount *mount), void *context)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *mounts = NULL;
	struct mount mount;
	char path[64];
	size_t size = 0;
	int result = 0;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	mounts = fopen(path, "re");
	if (!mounts)
		return -errno;
	while (!result && getline(&line, &size, mounts) > 0) {
		if (parse(line, &mount))
			result = visit(context, &mount);
	}
	return result;
}

bool mount_is_fuse(const struct mount *mount)
{
	return !strcmp(mount->type, "fuse") || !strcmp(mount->type, "fuseblk") ||
	       !strncmp(mount->type, "fuse.", 5);
}

bool mount_is_served(const struct mount *mount)
{
	static const char *const types[] = {"nfs",  "nfs4", "cifs",   "smb3",	  "9p",
					    "ceph", "afs",  "lustre", "virtiofs", "coda"};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		if (!strcmp(mount->type, types[i]))
			return true;
	}
	return mount_is_fuse(mount);
}
