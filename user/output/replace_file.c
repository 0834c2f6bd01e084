// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "output/output.h"

#define LINKS_MAX 40 /* as the kernel's MAXSYMLINKS */
/* A report cannot wait long for a reader, because events wait meanwhile. */
#define FIFO_WAIT_MS 1000
#define FIFO_PAUSE_MS 20

static bool is_own_directory(const char *directory)
{
	_cleanup_free_ char *real = realpath(directory, NULL);
	char own[64];

	snprintf(own, sizeof(own), "/proc/%d/fd", getpid());
	return real && !strcmp(real, own);
}

/* Returns a whole number below INT_MAX, or -1. */
static int descriptor_number(const char *name)
{
	char *end;
	long number = strtol(name, &end, 10);

	return *name >= '0' && *name <= '9' && !*end && number < INT_MAX ? (int)number : -1;
}

/*
 * Replaces `path`, a link, by its target relative to the link's directory. Returns false if `path`
 * is not a link, or the result is too long.
 */
static bool follow(char path[PATH_MAX])
{
	char target[PATH_MAX], copy[PATH_MAX], joined[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	int joined_length;

	if (length <= 0)
		return false;
	target[length] = '\0';
	snprintf(copy, sizeof(copy), "%s", path);
	joined_length = target[0] == '/'
				? snprintf(joined, sizeof(joined), "%s", target)
				: snprintf(joined, sizeof(joined), "%s/%s", dirname(copy), target);
	if (joined_length < 0 || (size_t)joined_length >= sizeof(joined))
		return false;
	memcpy(path, joined, sizeof(joined));
	return true;
}

/*
 * Returns our descriptor that a name such as /dev/stdout, /dev/fd/3 or a link to them denotes, or
 * -1. Opening the name would write at the file's start, over contents that the shell's >> keeps.
 */
static int own_descriptor(const char *path)
{
	char at[PATH_MAX], directory[PATH_MAX], name[PATH_MAX];

	if (snprintf(at, sizeof(at), "%s", path) >= (int)sizeof(at))
		return -1;
	for (int i = 0; i < LINKS_MAX; i++) {
		int number;

		memcpy(directory, at, sizeof(directory));
		memcpy(name, at, sizeof(name));
		number = descriptor_number(basename(name));
		if (number >= 0 && is_own_directory(dirname(directory)))
			return number;
		if (!follow(at))
			return -1;
	}
	return -1;
}

/* Returns 0 if a report can be written to this kind of file, or -errno. */
static int check_kind(const struct stat *status)
{
	switch (status->st_mode & S_IFMT) {
	case S_IFREG:
	case S_IFIFO:
	case S_IFCHR:
		return 0;
	case S_IFDIR:
		return -EISDIR;
	default:
		/* Block devices cannot hold a report, nor can descriptors other than files. */
		return -ENOTSUP;
	}
}

/* Duplicates our own descriptor. */
static int duplicate(int number)
{
	struct stat status;
	int error = fstat(number, &status) ? -errno : check_kind(&status), fd;

	/* A socket handed to us is a stream like a pipe. */
	if (error == -ENOTSUP && S_ISSOCK(status.st_mode))
		error = 0;
	if (error)
		return error;
	fd = fcntl(number, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

/* Mount points cannot be renamed over; kernels before 5.8 do not report them. */
static bool is_mount_point(const char *path)
{
	struct statx status;

	return !statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &status) &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* Returns 1 if `path` must be written in place, 0 if it may be renamed over, or -errno. */
static int stays_in_place(const char *path)
{
	struct stat status;

	if (lstat(path, &status))
		return errno == ENOENT ? 0 : -errno;
	return !S_ISREG(status.st_mode) || is_mount_point(path);
}

/* Returns 0 if it can probably be written to later, without opening a FIFO; or -errno. */
static int check_in_place(const char *path)
{
	struct stat status;
	int number = own_descriptor(path), error;

	if (number >= 0) {
		int fd = duplicate(number);

		if (fd < 0)
			return fd;
		close(fd);
		return 0;
	}
	if (stat(path, &status)) /* a link's target may not exist yet */
		return errno == ENOENT ? 0 : -errno;
	error = check_kind(&status);
	if (error)
		return error;
	return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) ? -errno : 0;
}

static int open_temporary(struct replace_file *made)
{
	int fd, error;

	if (asprintf(&made->temporary, "%s.XXXXXX", made->path) < 0) {
		made->temporary = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(made->temporary, O_CLOEXEC);
	made->out = fd < 0 ? NULL : fdopen(fd, "w");
	if (made->out) {
		interrupt_removes(made->temporary);
		return 0;
	}
	error = -errno;
	if (fd >= 0) {
		close(fd);
		unlink(made->temporary);
	}
	free(TAKE_PTR(made->temporary));
	return error;
}

static int open_text(struct replace_file *file)
{
	int error = check_in_place(file->path);

	if (error)
		return error;
	/* The address of `file` must not change until it is closed: see replace_file_commit(). */
	file->out = open_memstream(&file->text, &file->size);
	return file->out ? 0 : -errno;
}

int replace_file_open(struct replace_file *file, const char *path, enum replace_policy policy)
{
	int in_place = stays_in_place(path), error;

	if (in_place < 0)
		return in_place;
	if (in_place && policy == REPLACE_ONLY)
		return -EEXIST;
	*file = (struct replace_file){.path = strdup(path)};
	if (!file->path)
		return -ENOMEM;
	error = in_place ? open_text(file) : open_temporary(file);
	if (error)
		free(TAKE_PTR(file->path));
	return error;
}

/* Opens the file anew for every report, so that the reader of a FIFO sees the end of each. */
static int open_place(const char *path)
{
	const struct timespec pause = {.tv_nsec = FIFO_PAUSE_MS * 1000000};
	int fd = -1;

	for (int i = 0; i <= FIFO_WAIT_MS / FIFO_PAUSE_MS; i++) {
		if (i)
			nanosleep(&pause, NULL);
		fd = open(path, O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != ENXIO)
			break;
	}
	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static int write_whole(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t written = write(fd, text, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		text += written;
		size -= (size_t)written;
	}
	return 0;
}

/* Removes the rest of a longer earlier report. */
static int end_file(int fd, size_t size)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return 0;
	return ftruncate(fd, (off_t)size) || fsync(fd) ? -errno : 0;
}

static int write_in_place(const struct replace_file *file)
{
	int number = own_descriptor(file->path);
	_cleanup_close_ int fd = number >= 0 ? duplicate(number) : open_place(file->path);
	struct stat status;
	int error;

	if (fd < 0)
		return fd;
	error = fstat(fd, &status) ? -errno : 0;
	/* It may have been replaced since the check. */
	if (!error && number < 0)
		error = check_kind(&status);
	if (!error)
		error = write_whole(fd, file->text, file->size);
	return error || number >= 0 ? error : end_file(fd, file->size);
}

static int settle(struct replace_file *file, mode_t mode)
{
	int fd = fileno(file->out), error = output_finish(file->out);

	if (error)
		return error;
	return fchmod(fd, mode) || fsync(fd) ? -errno : 0;
}

static int rename_into_place(const struct replace_file *file)
{
	int in_place = stays_in_place(file->path);

	if (in_place)
		return in_place < 0 ? in_place : -EEXIST;
	return rename(file->temporary, file->path) ? -errno : 0;
}

int replace_file_commit(struct replace_file *file, mode_t mode)
{
	int error = file->temporary ? settle(file, mode) : output_finish(file->out);

	if (fclose(TAKE_PTR(file->out)) && !error)
		error = -errno;
	if (!error)
		error = file->temporary ? rename_into_place(file) : write_in_place(file);
	if (error && file->temporary)
		unlink(file->temporary);
	interrupt_removes(NULL);
	free(TAKE_PTR(file->temporary));
	free(TAKE_PTR(file->text));
	free(TAKE_PTR(file->path));
	return error;
}

void replace_file_abort(struct replace_file *file)
{
	if (!file->path)
		return;
	if (file->out)
		fclose(file->out);
	if (file->temporary)
		unlink(file->temporary);
	interrupt_removes(NULL);
	free(file->temporary);
	free(file->text);
	free(file->path);
	*file = (struct replace_file){0};
}

static int open_truncated(const char *path)
{
	struct stat status;
	int error = stat(path, &status) ? 0 : check_kind(&status), fd;

	if (error)
		return error;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOCTTY | O_CLOEXEC, 0666);
	return fd < 0 ? -errno : fd;
}

int replace_file_open_stream(const char *path, FILE **out)
{
	int number = own_descriptor(path);
	int fd = number >= 0 ? duplicate(number) : open_truncated(path), error;
	FILE *opened = fd < 0 ? NULL : fdopen(fd, "w");

	if (opened) {
		*out = opened;
		return 0;
	}
	if (fd < 0)
		return fd;
	error = -errno;
	close(fd);
	return error;
}
