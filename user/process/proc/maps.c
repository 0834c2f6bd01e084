// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "process/proc/process_list.h"
#include "process/proc/stuck_read.h"

/* A path is at most PATH_MAX bytes, each of which may be written as four. */
#define BUFFER_BYTES 65536

static int digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	return 16;
}

/* Parses digits and the following character, which must be `end`. */
static bool take_number(char **at, unsigned base, char end, uint64_t *value)
{
	uint64_t number = 0;
	char *digit = *at;

	for (; (unsigned)digit_value(*digit) < base; digit++) {
		if (__builtin_mul_overflow(number, base, &number) ||
		    __builtin_add_overflow(number, (unsigned)digit_value(*digit), &number))
			return false;
	}
	if (digit == *at || *digit != end)
		return false;
	*at = digit + 1;
	*value = number;
	return true;
}

static bool take_permissions(char **at, struct mapping *mapping)
{
	const char *text = *at;

	for (size_t i = 0; i < 4; i++) {
		if (text[i] != "rwxs"[i] && text[i] != "---p"[i])
			return false;
	}
	if (text[4] != ' ')
		return false;
	mapping->readable = text[0] == 'r';
	mapping->writable = text[1] == 'w';
	mapping->executable = text[2] == 'x';
	mapping->shared = text[3] == 's';
	*at += 5;
	return true;
}

static bool take_device(char **at, struct mapping *mapping)
{
	uint64_t major, minor;

	if (!take_number(at, 16, ':', &major) || !take_number(at, 16, ' ', &minor) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	mapping->major = (uint32_t)major;
	mapping->minor = (uint32_t)minor;
	return true;
}

static void take_path(char *at, struct mapping *mapping)
{
	static const char suffix[] = " (deleted)";
	size_t length;

	while (*at == ' ')
		at++;
	length = strlen(at);
	if (length >= sizeof(suffix) && !strcmp(at + length - strlen(suffix), suffix)) {
		at[length - strlen(suffix)] = '\0';
		mapping->deleted = true;
	}
	mapping->path = at;
}

int maps_parse_line(char *line, struct mapping *mapping)
{
	struct mapping parsed = {0};
	char *at = line;

	if (!take_number(&at, 16, '-', &parsed.start) || !take_number(&at, 16, ' ', &parsed.end) ||
	    parsed.start >= parsed.end || !take_permissions(&at, &parsed) ||
	    !take_number(&at, 16, ' ', &parsed.offset) || !take_device(&at, &parsed))
		return -EINVAL;
	/* Without a path some kernels end the line right after the inode. */
	if (!take_number(&at, 10, ' ', &parsed.inode)) {
		if (!take_number(&at, 10, '\0', &parsed.inode))
			return -EINVAL;
		at--;
	}
	take_path(at, &parsed);
	*mapping = parsed;
	return 0;
}

bool mapping_is_wanted(enum maps_filter filter, const struct mapping *mapping)
{
	if (filter == MAPS_ALL || mapping->executable)
		return true;
	return filter == MAPS_CODE && mapping->inode && mapping->writable && !mapping->shared;
}

size_t mappings_drop_rewritten(struct mapping *first, size_t count, size_t stride, uint64_t start)
{
	while (count) {
		struct mapping *last =
			(struct mapping *)(void *)((char *)first + (count - 1) * stride);

		if (last->start < start)
			break;
		free(last->path);
		count--;
	}
	return count;
}

static int add_line(char *line, enum maps_filter filter, struct maps *maps)
{
	struct mapping parsed, *mapping;

	if (maps_parse_line(line, &parsed))
		return -EBADMSG;
	if (!mapping_is_wanted(filter, &parsed))
		return 0;
	maps->list.count = mappings_drop_rewritten(maps->list.items, maps->list.count,
						   sizeof(*maps->list.items), parsed.start);
	/*
	 * A longer one (deep directories) cannot be used to open a file; many would take gigabytes.
	 */
	parsed.path = strndup(parsed.path, PATH_MAX - 1);
	if (!parsed.path)
		return -ENOMEM;
	mapping = vec_push(&maps->list);
	if (!mapping) {
		free(parsed.path);
		return -ENOMEM;
	}
	*mapping = parsed;
	return 0;
}

/* Parses the complete lines of buffer[0..*filled) and moves the rest to its front. */
static int add_lines(char *buffer, size_t *filled, enum maps_filter filter, struct maps *maps)
{
	char *line = buffer, *end;

	while ((end = memchr(line, '\n', *filled - (size_t)(line - buffer)))) {
		int error;

		*end = '\0';
		error = add_line(line, filter, maps);
		if (error)
			return error;
		line = end + 1;
	}
	*filled -= (size_t)(line - buffer);
	memmove(buffer, line, *filled);
	return *filled == BUFFER_BYTES ? -EBADMSG : 0;
}

/* Settings of a read. */
struct reading {
	enum maps_filter filter;
	struct deadline *deadline; /* NULL: none */
};

static ssize_t read_some(int task, int fd, char *buffer, size_t size)
{
	const long arguments[6] = {fd, (long)buffer, (long)size};

	return stuck_read_call(task, SYS_read, arguments);
}

/* *empty: the task shows no mappings at all. */
static int read_stream(int fd, const struct reading *reading, struct maps *maps, bool *empty)
{
	_cleanup_free_ char *buffer = malloc(BUFFER_BYTES);
	size_t filled = 0;
	ssize_t got;
	int error = 0;

	*empty = true;
	if (!buffer)
		return -ENOMEM;
	while (!error) {
		if (deadline_has_passed(reading->deadline))
			return -ETIMEDOUT;
		got = read_some(maps->source.task, fd, buffer + filled, BUFFER_BYTES - filled);
		if (got == -EINTR)
			continue;
		if (got < 0)
			return (int)got;
		if (got == 0)
			return filled ? -EBADMSG : 0;
		*empty = false;
		filled += (size_t)got;
		error = add_lines(buffer, &filled, reading->filter, maps);
	}
	return error;
}

static int read_task(int task, const struct reading *reading, struct maps *maps)
{
	_cleanup_(maps_free) struct maps read = {.source = live_memory(task)};
	_cleanup_close_ int fd = -1;
	bool empty;
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/maps", task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	error = read_stream(fd, reading, &read, &empty);
	if (error)
		return error;
	if (empty)
		return -ESRCH;
	*maps = read;
	memset(&read.list, 0, sizeof(read.list));
	return 0;
}

static int read_other_threads(int pid, const struct reading *reading, struct maps *maps)
{
	_cleanup_closedir_ DIR *tasks = process_tasks_open(pid);
	pid_t tid;

	while ((tid = process_tasks_next(tasks))) {
		int error = read_task(tid, reading, maps);

		if (error != -ESRCH)
			return error;
	}
	return -ESRCH;
}

static int read_process(int pid, const struct reading *reading, struct maps *maps)
{
	int error = read_task(pid, reading, maps);

	return error == -ESRCH ? read_other_threads(pid, reading, maps) : error;
}

int maps_read(int pid, enum maps_filter filter, struct maps *maps)
{
	return read_process(pid, &(struct reading){.filter = filter}, maps);
}

int maps_read_until(int pid, struct deadline *deadline, struct maps *maps)
{
	return read_process(pid, &(struct reading){MAPS_ALL, deadline}, maps);
}

void maps_free(struct maps *maps)
{
	for (size_t i = 0; i < maps->list.count; i++)
		free(maps->list.items[i].path);
	vec_free(&maps->list);
}

bool mapping_same_file(const struct mapping *left, const struct mapping *right)
{
	return left->inode == right->inode && left->major == right->major &&
	       left->minor == right->minor;
}

bool mapped_files_have(const struct mapped_files *files, const struct mapping *mapping)
{
	for (size_t i = 0; i < files->count; i++) {
		const struct mapped_file *file = &files->items[i];

		if (file->inode == mapping->inode && file->major == mapping->major &&
		    file->minor == mapping->minor)
			return true;
	}
	return false;
}

bool mapped_files_add(struct mapped_files *files, const struct mapping *mapping)
{
	struct mapped_file *file = mapped_files_have(files, mapping) ? NULL : vec_push(files);

	if (file)
		*file = (struct mapped_file){mapping->inode, mapping->major, mapping->minor};
	return file != NULL;
}

uint64_t maps_data_end(const struct maps *maps, size_t i)
{
	const struct mapping *mapping = &maps->list.items[i];
	const struct mapping *next = mapping + 1;

	if (i + 1 < maps->list.count && next->start == mapping->end && next->writable &&
	    !next->inode && !next->path[0])
		return next->end;
	return mapping->end;
}

const struct mapping *maps_find(const struct maps *maps, uint64_t address)
{
	return RANGE_AT(maps->list.items, maps->list.count, address);
}
