// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/replace_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

int replace_file_open(struct replace_file *file, const char *path)
{
	struct replace_file made = {.path = strdup(path)};
	int fd, error;

	if (!made.path || asprintf(&made.temporary, "%s.XXXXXX", path) < 0) {
		free(made.path);
		return -ENOMEM;
	}
	fd = mkstemp(made.temporary);
	made.out = fd < 0 ? NULL : fdopen(fd, "w");
	if (made.out) {
		*file = made;
		return 0;
	}
	error = -errno;
	if (fd >= 0) {
		close(fd);
		unlink(made.temporary);
	}
	free(made.path);
	free(made.temporary);
	return error;
}

static int settle(struct replace_file *file, mode_t mode)
{
	int fd = fileno(file->out);

	if (fflush(file->out) || ferror(file->out))
		return -EIO;
	return fchmod(fd, mode) || fsync(fd) ? -errno : 0;
}

int replace_file_commit(struct replace_file *file, mode_t mode)
{
	int error = settle(file, mode);

	if (fclose(TAKE_PTR(file->out)) && !error)
		error = -errno;
	if (!error && rename(file->temporary, file->path))
		error = -errno;
	if (error)
		unlink(file->temporary);
	free(TAKE_PTR(file->temporary));
	free(TAKE_PTR(file->path));
	return error;
}

void replace_file_abort(struct replace_file *file)
{
	if (!file->path)
		return;
	if (file->out)
		fclose(file->out);
	unlink(file->temporary);
	free(file->temporary);
	free(file->path);
	*file = (struct replace_file){0};
}
