// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/search.h"
#include "base/text.h"
#include "binary/parse/questions.h"
#include "process/proc/target_file.h"

#define NO_FILE SIZE_MAX
#define NO_PIECE SIZE_MAX
#define WINDOW_PAGES 256u
#define WINDOW_BYTES (WINDOW_PAGES * MEMORY_PAGE)
#define PRESENT (1ull << 63)
#define OF_A_FILE (1ull << 61)
/*
 * The kernel's largest gap between a program and its heap (arch_randomize_brk: 32 MiB for programs
 * at fixed addresses, 1 GiB for others).
 */
#define HEAP_GAP (1ull << 30)

/* A range within one mapping. */
struct piece {
	uint64_t start, end;
	uint64_t dumped; /* bytes in the core, from the start on, at `offset` */
	uint64_t offset;
	uint64_t flags;
	bool has_flags;
	bool has_contents; /* contents other than zeros, or than its file's */
	size_t file;	   /* NO_FILE: anonymous */
	uint64_t file_offset;
	const char *name; /* "[heap]", "[stack]", "[vdso]"; static; or NULL */
};

enum file_state { FILE_MISSING, FILE_OTHER, FILE_UNCHECKED, FILE_SAME };

/* A mapped file, listed once. */
struct core_file {
	char *path; /* without " (deleted)"; untrusted; owned */
	bool deleted, has_code;
	enum file_state state;
	int fd;	      /* -1: unavailable */
	size_t first; /* the piece with its first page in the core; NO_PIECE: none */
};

struct core {
	struct core_layout layout;
	const char *path;
	int fd;
	struct timespec time;
	VEC(struct piece) pieces;
	VEC(struct core_file) files;
	struct hash file_numbers; /* hash_text() of a path -> index in files */
	bool has_headers;	  /* first pages of ELF files were dumped */
	int pagemap;
	struct core_gaps gaps;
};

const struct core_layout *core_layout(const struct core *core)
{
	return &core->layout;
}

const char *core_path(const struct core *core)
{
	return core->path;
}

struct timespec core_time(const struct core *core)
{
	return core->time;
}

uint64_t core_entry(const struct core *core)
{
	return core->layout.entry;
}

uint64_t core_page_size(const struct core *core)
{
	return core->layout.page_bytes;
}

struct core_gaps core_gaps(const struct core *core)
{
	return core->gaps;
}

bool core_is_complete(const struct core *core)
{
	return !core->gaps.cut_packed && !core->gaps.cut_bytes && !core->gaps.unsaved_bytes;
}

static size_t read_at(int fd, uint64_t offset, void *buffer, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

/* Splits mappings where a segment or a file begins or ends. */

static int compare_bounds(const void *left_pointer, const void *right_pointer)
{
	uint64_t left = *(const uint64_t *)left_pointer, right = *(const uint64_t *)right_pointer;

	return left < right ? -1 : left > right;
}

static int list_bounds(const struct core_layout *layout, uint64_t **bounds, size_t *count)
{
	size_t room = 2 * (layout->segments.count + layout->files.count);

	*count = 0;
	*bounds = calloc(room + 1, sizeof(**bounds));
	if (!*bounds)
		return -ENOMEM;
	for (size_t i = 0; i < layout->segments.count; i++) {
		(*bounds)[(*count)++] = layout->segments.items[i].start;
		(*bounds)[(*count)++] = layout->segments.items[i].end;
	}
	for (size_t i = 0; i < layout->files.count; i++) {
		(*bounds)[(*count)++] = layout->files.items[i].start;
		(*bounds)[(*count)++] = layout->files.items[i].end;
	}
	qsort(*bounds, *count, sizeof(**bounds), compare_bounds);
	return 0;
}

static int add_file(struct core *core, const char *path, size_t *number)
{
	static const char suffix[] = " (deleted)";
	size_t length = strlen(path), cut = sizeof(suffix) - 1;
	bool deleted = length > cut && !strcmp(path + length - cut, suffix), fresh;
	uint64_t *known = hash_put(&core->file_numbers, hash_text(path), &fresh);
	struct core_file *file;

	if (!known)
		return -ENOMEM;
	if (!fresh) {
		*number = *known;
		return 0;
	}
	*known = *number = core->files.count;
	file = vec_push(&core->files);
	if (!file)
		return -ENOMEM;
	*file = (struct core_file){.path = strndup(path, length - (deleted ? cut : 0)),
				   .deleted = deleted,
				   .fd = -1,
				   .first = NO_PIECE};
	return file->path ? 0 : -ENOMEM;
}

static int add_piece(struct core *core, uint64_t start, uint64_t end,
		     const struct core_segment *segment, const struct core_mapped *file)
{
	struct piece made = {.start = start, .end = end, .file = NO_FILE}, *piece;
	uint64_t skipped;
	int error = 0;

	if (segment) {
		skipped = start - segment->start;
		made.has_flags = true;
		made.flags = segment->flags;
		made.offset = segment->offset + skipped;
		made.dumped = MIN(segment->in_file - MIN(skipped, segment->in_file), end - start);
	}
	if (file) {
		made.file_offset = file->offset + (start - file->start);
		if (!segment && file->flags) {
			made.has_flags = true;
			made.flags = file->flags;
		}
		core->has_headers |= file->flags != 0;
		error = add_file(core, core->layout.paths + file->path, &made.file);
	}
	piece = error ? NULL : vec_push(&core->pieces);
	if (!piece)
		return -ENOMEM;
	*piece = made;
	if (file && !made.file_offset && made.dumped >= MEMORY_PAGE &&
	    core->files.items[made.file].first == NO_PIECE)
		core->files.items[made.file].first = core->pieces.count - 1;
	return 0;
}

static int make_pieces(struct core *core)
{
	const struct core_layout *layout = &core->layout;
	_cleanup_free_ uint64_t *bounds = NULL;
	size_t count, segment = 0, file = 0;
	int error = list_bounds(layout, &bounds, &count);

	for (size_t i = 0; !error && i + 1 < count; i++) {
		uint64_t start = bounds[i], end = bounds[i + 1];
		bool in_segment, in_file;

		while (segment < layout->segments.count &&
		       layout->segments.items[segment].end <= start)
			segment++;
		while (file < layout->files.count && layout->files.items[file].end <= start)
			file++;
		in_segment = segment < layout->segments.count &&
			     layout->segments.items[segment].start <= start;
		in_file = file < layout->files.count && layout->files.items[file].start <= start;
		if (start < end && (in_segment || in_file))
			error = add_piece(core, start, end,
					  in_segment ? &layout->segments.items[segment] : NULL,
					  in_file ? &layout->files.items[file] : NULL);
	}
	return error;
}

/* A mapping of which neither a part nor a header was dumped is no code, if others' were dumped. */
static bool may_hold_code(const struct core *core, const struct piece *piece)
{
	if (piece->has_flags)
		return piece->flags & PF_X;
	return piece->file != NO_FILE && !core->has_headers;
}

static const struct piece *piece_at(const struct core *core, uint64_t address)
{
	return RANGE_AT(core->pieces.items, core->pieces.count, address);
}

static bool is_data(const struct piece *piece)
{
	return piece->file == NO_FILE && piece->has_flags && piece->flags & PF_W;
}

static void name_stack(struct core *core)
{
	const struct core_thread *thread = &core->layout.threads.items[0];
	const struct piece *piece = piece_at(core, core->layout.stack_top);

	if (!piece)
		piece = piece_at(core, machine_sp(&thread->registers));
	if (piece && is_data(piece))
		core->pieces.items[piece - core->pieces.items].name = "[stack]";
}

/* The kernel's own code in every process: not generated by the process. */
static void name_vdso(struct core *core)
{
	const struct piece *piece = core->layout.vdso ? piece_at(core, core->layout.vdso) : NULL;

	if (piece && piece->file == NO_FILE && piece->start == core->layout.vdso)
		core->pieces.items[piece - core->pieces.items].name = "[vdso]";
}

/*
 * The first anonymous memory after the program that is not part of its data. A program may have
 * mapped parts of its own file before itself, as a .NET program does.
 */
static void name_heap(struct core *core)
{
	const struct piece *program = piece_at(core, core->layout.entry);
	uint64_t end = 0;

	if (!program || program->file == NO_FILE)
		return;
	for (size_t i = (size_t)(program - core->pieces.items); i < core->pieces.count; i++) {
		struct piece *piece = &core->pieces.items[i];

		if (piece->file == program->file)
			end = piece->end;
		else if (piece->file != NO_FILE && end)
			return;
		else if (end && is_data(piece) && piece->start == end && piece[-1].file != NO_FILE)
			end = piece->end;
		else if (end && is_data(piece) && piece->start - end <= HEAP_GAP) {
			piece->name = "[heap]";
			return;
		}
	}
}

/* Files. */

/* strip(1) changes section headers; all else is the same in a file of one build. */
static void forget_sections(uint8_t *page)
{
	Elf64_Ehdr header;

	memcpy(&header, page, sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	memcpy(page, &header, sizeof(header));
}

static enum file_state check_file(const struct core *core, const struct core_file *checked, int fd)
{
	uint8_t mapped[MEMORY_PAGE] = {0}, file[MEMORY_PAGE] = {0};

	if (checked->first == NO_PIECE ||
	    read_at(core->fd, core->pieces.items[checked->first].offset, mapped, sizeof(mapped)) !=
		    sizeof(mapped))
		return FILE_UNCHECKED;
	read_at(fd, 0, file, sizeof(file));
	forget_sections(mapped);
	forget_sections(file);
	return memcmp(mapped, file, sizeof(file)) ? FILE_OTHER : FILE_SAME;
}

static bool is_shared(const char *path, bool deleted)
{
	static const char *const of_memory[] = {"/memfd:", "/SYSV", "/dev/zero"};

	if (!strncmp(path, "/dev/shm/", 9))
		return true;
	for (size_t i = 0; deleted && i < ARRAY_SIZE(of_memory); i++) {
		if (!strncmp(path, of_memory[i], strlen(of_memory[i])))
			return true;
	}
	return false;
}

static void open_file(struct core *core, size_t number, const struct core_options *options,
		      int sysroot)
{
	struct core_file *file = &core->files.items[number];
	const struct piece *program = piece_at(core, core->layout.entry);
	bool is_program = program && program->file == number;
	int fd;

	if (is_program && options->exe)
		fd = open(options->exe, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	else
		fd = file->path[0] == '/' ? target_file_open_below(sysroot, file->path) : -ENOENT;
	if (fd < 0)
		return;
	file->state = check_file(core, file, fd);
	if (file->state == FILE_OTHER)
		close(fd);
	else
		file->fd = fd;
}

static void count_gap(struct core *core, const struct core_file *file)
{
	struct core_gaps *gaps = &core->gaps;

	if (!file->has_code || file->state == FILE_SAME)
		return;
	gaps->missing_files += file->state == FILE_MISSING;
	gaps->other_files += file->state == FILE_OTHER;
	gaps->unchecked_files += file->state == FILE_UNCHECKED;
	if (file->fd < 0 && !gaps->example)
		gaps->example = file->path;
}

/* .NET's assemblies, which it maps as data: they contain the names of types. */
static bool is_assembly(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && !strcmp(dot, ".dll");
}

/* Cores rarely contain a page of an assembly: if it changed since, it may be another build. */
static void open_assembly(struct core *core, size_t number, const struct core_options *options,
			  int sysroot)
{
	struct core_file *file = &core->files.items[number];
	struct timespec ended = core_time(core);
	struct stat stat;
	char magic[2];

	open_file(core, number, options, sysroot);
	if (file->fd < 0 || file->state == FILE_SAME ||
	    (!fstat(file->fd, &stat) && S_ISREG(stat.st_mode) &&
	     stat.st_mtim.tv_sec <= ended.tv_sec &&
	     read_at(file->fd, 0, magic, sizeof(magic)) == sizeof(magic) &&
	     !memcmp(magic, "MZ", sizeof(magic))))
		return;
	close(file->fd);
	file->fd = -1;
	file->state = FILE_OTHER;
}

/* Other data files are not opened: they contain no roots. */
static int open_files(struct core *core, const struct core_options *options)
{
	_cleanup_close_ int sysroot =
		open(options->sysroot ? options->sysroot : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (sysroot < 0)
		return -errno;
	for (size_t i = 0; i < core->pieces.count; i++) {
		const struct piece *piece = &core->pieces.items[i];

		if (piece->file != NO_FILE && may_hold_code(core, piece) &&
		    !is_shared(core->files.items[piece->file].path,
			       core->files.items[piece->file].deleted))
			core->files.items[piece->file].has_code = true;
	}
	for (size_t i = 0; i < core->files.count; i++) {
		if (is_assembly(core->files.items[i].path))
			open_assembly(core, i, options, sysroot);
		else if (core->files.items[i].has_code)
			open_file(core, i, options, sysroot);
	}
	return 0;
}

/* Present pages: a file of the layout of /proc/PID/pagemap, for the same readers. */

static bool is_zero(const uint8_t *page)
{
	static const uint8_t zeros[MEMORY_PAGE];

	return !memcmp(page, zeros, sizeof(zeros));
}

struct window {
	uint8_t dumped[WINDOW_BYTES], file[WINDOW_BYTES];
	uint64_t entries[WINDOW_PAGES];
};

static int map_window(const struct core *core, struct piece *piece, uint64_t at,
		      struct window *window)
{
	size_t size = MIN(piece->dumped - at, WINDOW_BYTES), count = size / MEMORY_PAGE;
	int fd = piece->file == NO_FILE ? -1 : core->files.items[piece->file].fd;
	size_t got = read_at(core->fd, piece->offset + at, window->dumped, size);
	off_t place = (off_t)((piece->start + at) / MEMORY_PAGE * sizeof(uint64_t));

	memset(window->dumped + got, 0, size - got);
	got = fd < 0 ? 0 : read_at(fd, piece->file_offset + at, window->file, size);
	memset(window->file + got, 0, size - got);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *page = window->dumped + i * MEMORY_PAGE;
		bool same = fd >= 0 && !memcmp(page, window->file + i * MEMORY_PAGE, MEMORY_PAGE);

		window->entries[i] = same ? PRESENT | OF_A_FILE : is_zero(page) ? 0 : PRESENT;
		piece->has_contents |= window->entries[i] == PRESENT;
	}
	size = count * sizeof(*window->entries);
	return pwrite(core->pagemap, window->entries, size, place) == (ssize_t)size ? 0 : -EIO;
}

/*
 * Returns the next bytes of the core outside a hole, as a distance from the piece's start, in
 * pages.
 */
static uint64_t skip_hole(const struct core *core, const struct piece *piece, uint64_t at)
{
	off_t data = lseek(core->fd, (off_t)(piece->offset + at), SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? piece->dumped : at;
	return MAX(at, ((uint64_t)data - piece->offset) & ~(MEMORY_PAGE - 1));
}

static int map_pages(struct core *core)
{
	_cleanup_free_ struct window *window = malloc(sizeof(*window));
	int error = window ? 0 : -ENOMEM;

	core->pagemap = memfd_create("leakmon-core-pages", MFD_CLOEXEC);
	if (core->pagemap < 0)
		return -errno;
	for (size_t i = 0; !error && i < core->pieces.count; i++) {
		struct piece *piece = &core->pieces.items[i];

		for (uint64_t at = 0; !error && at + MEMORY_PAGE <= piece->dumped;
		     at += WINDOW_BYTES) {
			at = skip_hole(core, piece, at);
			if (at + MEMORY_PAGE <= piece->dumped)
				error = map_window(core, piece, at, window);
		}
	}
	return error;
}

int core_pagemap(const struct core *core)
{
	int fd = fcntl(core->pagemap, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

/* Reading. */

/* A mapping has zeros from the file's end to the end of its last page. */
static size_t read_file(int fd, uint64_t offset, uint8_t *buffer, size_t size)
{
	size_t got = read_at(fd, offset, buffer, size), zeros;
	struct stat stat;

	if (got == size || fstat(fd, &stat) || stat.st_size <= 0 ||
	    offset + got < (uint64_t)stat.st_size)
		return got;
	zeros = align_up((uint64_t)stat.st_size, MEMORY_PAGE);
	zeros = zeros > offset + got ? MIN(zeros - (offset + got), size - got) : 0;
	memset(buffer + got, 0, zeros);
	return got + zeros;
}

/* Reads one piece: from the core, else from its file. */
static size_t read_piece(const struct core *core, const struct piece *piece, uint64_t address,
			 void *buffer, size_t size)
{
	uint64_t at = address - piece->start;
	int fd = piece->file == NO_FILE ? -1 : core->files.items[piece->file].fd;

	size = MIN(size, piece->end - address);
	if (at < piece->dumped)
		return read_at(core->fd, piece->offset + at, buffer, MIN(size, piece->dumped - at));
	return fd < 0 ? 0 : read_file(fd, piece->file_offset + at, buffer, size);
}

ssize_t core_read(const struct core *core, uint64_t address, void *buffer, size_t size)
{
	size_t done = 0;

	while (done < size) {
		const struct piece *piece = piece_at(core, address + done);
		size_t got = piece ? read_piece(core, piece, address + done, (char *)buffer + done,
						size - done)
				   : 0;

		if (!got)
			break;
		done += got;
	}
	return done ? (ssize_t)done : -EFAULT;
}

/* gdb dumps inaccessible memory, such as stack guards, as if it were readable. */
static bool is_readable(const struct piece *piece)
{
	if (!piece->has_flags)
		return true;
	return piece->flags & PF_R &&
	       (piece->file != NO_FILE || piece->flags & PF_W || piece->has_contents);
}

static struct mapping mapping_of(const struct core *core, const struct piece *piece)
{
	const struct core_file *file =
		piece->file == NO_FILE ? NULL : &core->files.items[piece->file];
	struct mapping mapping = {
		.start = piece->start,
		.end = piece->end,
		.readable = is_readable(piece),
		.writable = piece->has_flags && piece->flags & PF_W,
		.executable = may_hold_code(core, piece),
		.path = (char *)(piece->name ? piece->name : ""),
	};

	if (!file)
		return mapping;
	mapping.offset = piece->file_offset;
	mapping.inode = piece->file + 1;
	mapping.deleted = file->deleted;
	mapping.shared = is_shared(file->path, file->deleted);
	mapping.path = file->path;
	return mapping;
}

int core_maps(const struct core *core, enum maps_filter filter, struct maps *maps)
{
	_cleanup_(maps_free) struct maps made = {.source = {.core = core}};

	for (size_t i = 0; i < core->pieces.count; i++) {
		struct mapping mapping = mapping_of(core, &core->pieces.items[i]), *added;

		if (!mapping_is_wanted(filter, &mapping))
			continue;
		mapping.path = strdup(mapping.path);
		added = mapping.path ? vec_push(&made.list) : NULL;
		if (!added) {
			free(mapping.path);
			return -ENOMEM;
		}
		*added = mapping;
	}
	*maps = made;
	memset(&made.list, 0, sizeof(made.list));
	return 0;
}

int core_open_file(const struct core *core, const struct mapping *mapping)
{
	const struct core_file *file;
	char path[64];
	int fd;

	if (!mapping->inode || mapping->inode > core->files.count)
		return -ENOENT;
	file = &core->files.items[mapping->inode - 1];
	if (file->fd < 0)
		return file->state == FILE_OTHER ? -ESTALE : -ENOENT;
	/* Reopened for a separate file offset. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void find_gaps(struct core *core)
{
	core->gaps.cut_bytes = core->layout.cut_bytes;
	for (size_t i = 0; i < core->pieces.count; i++) {
		const struct piece *piece = &core->pieces.items[i];

		/* For a file, undumped memory is normally unmodified. */
		if (piece->flags & PF_W && piece->flags & PF_R && piece->file == NO_FILE)
			core->gaps.unsaved_bytes += piece->end - piece->start - piece->dumped;
	}
	core->gaps.unsaved_bytes -= MIN(core->gaps.unsaved_bytes, core->gaps.cut_bytes);
	for (size_t i = 0; i < core->files.count; i++)
		count_gap(core, &core->files.items[i]);
}

void core_warn(const struct core *core)
{
	const struct core_gaps *gaps = &core->gaps;
	_cleanup_free_ char *example = gaps->example ? text_inert(gaps->example) : NULL;

	if (gaps->cut_packed)
		log_warning("the compressed core file is cut off: its end could not be unpacked");
	if (gaps->cut_bytes)
		log_warning(
			"the core file is cut off: %llu bytes and their pointers are missing (ulimit -c; systemd-coredump: ProcessSizeMax, ExternalSizeMax)",
			(unsigned long long)gaps->cut_bytes);
	if (gaps->unsaved_bytes)
		log_warning(
			"%llu bytes of the process's own memory were not dumped, and with them any pointers there (/proc/PID/coredump_filter, MADV_DONTDUMP)",
			(unsigned long long)gaps->unsaved_bytes);
	if (gaps->missing_files + gaps->other_files)
		log_warning(
			"%zu of its files with code cannot be found, and %zu are of another build, as %s: give --exe/--sysroot",
			gaps->missing_files, gaps->other_files, example ? example : "?");
	if (gaps->unchecked_files)
		log_warning(
			"the core file lacks the first page of %zu files (coredump_filter bit 4): assuming that the files here match",
			gaps->unchecked_files);
}

static const char *why_not(int error)
{
	const char *failure = worker_failure(error);

	if (failure)
		return failure;
	switch (error) {
	case -ENOEXEC:
		return "it is no core file of a 64-bit program of this machine's kind";
	case -EBADMSG:
		return "its tables are cut off, or contradict each other";
	case -EILSEQ:
		return "it is compressed, and cannot be unpacked: its contents contradict each "
		       "other";
	case -ENOSPC:
		return "unpacking it would take more than half of what is free in $TMPDIR "
		       "or /var/tmp: set TMPDIR, or unpack it yourself";
	case -EFBIG:
		return "its tables are larger than any process has";
	}
	return strerror(-error);
}

/* Compressed files. */

#define HOLE_BYTES 4096u

static int open_temporary(void)
{
	const char *directory = getenv("TMPDIR");
	int fd = open(directory && *directory ? directory : "/var/tmp",
		      O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

/* Returns the limit of the file's growth. */
static uint64_t room_of(int fd)
{
	struct statvfs status;

	return fstatvfs(fd, &status) < 0 ? 0 : (uint64_t)status.f_bavail * status.f_frsize / 2;
}

static int write_all(int fd, uint64_t offset, const uint8_t *bytes, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t put = pwrite(fd, bytes + done, size - done, (off_t)(offset + done));

		if (put < 0 && errno != EINTR)
			return -errno;
		done += put > 0 ? (size_t)put : 0;
	}
	return 0;
}

/* Untouched memory stays a hole; *room decreases by the bytes written. */
static int write_part(int fd, uint64_t offset, const struct bytes *part, uint64_t *room)
{
	int error = 0;

	for (size_t at = 0; !error && at < part->size; at += HOLE_BYTES) {
		size_t size = MIN(part->size - at, (size_t)HOLE_BYTES);

		if (size == HOLE_BYTES && is_zero(part->data + at))
			continue;
		if (*room < size)
			return -ENOSPC;
		*room -= size;
		error = write_all(fd, offset + at, part->data + at, size);
	}
	if (!error && ftruncate(fd, (off_t)(offset + part->size)) < 0)
		error = -errno;
	return error;
}

/* Unpacks the whole file into another one. Each part has the time limit of a file. */
static int unpack(int packed, int fd, struct worker *worker, bool *cut)
{
	struct unpacked part = {.more = true};
	uint64_t offset = 0, room = room_of(fd);
	int error = 0;

	for (pid_t number = 1; !error && part.more; number++) {
		worker_begin_process(worker, number);
		error = parse_unpack(worker, packed, number == 1, &part);
		if (error)
			break;
		error = write_part(fd, offset, &part.bytes, &room);
		offset += part.bytes.size;
		bytes_free(&part.bytes);
	}
	worker_begin_process(worker, 0);
	*cut = part.cut;
	return error == -EBADMSG ? -EILSEQ : error;
}

static int unpack_if_packed(struct core *core, struct worker *worker)
{
	uint8_t first[8];
	size_t got = read_at(core->fd, 0, first, sizeof(first));
	int fd, error;

	if (!unpack_kind_of(first, got))
		return 0;
	fd = open_temporary();
	if (fd < 0)
		return fd;
	error = unpack(core->fd, fd, worker, &core->gaps.cut_packed);
	if (error) {
		close(fd);
		return error;
	}
	close(core->fd);
	core->fd = fd;
	return 0;
}

/*
 * Bytes shared by several pieces would be read and described once for each: with millions of them,
 * no memory suffices. No kernel writes such a file.
 */
static bool shares_bytes(const struct core *core, uint64_t size)
{
	uint64_t left = size;

	for (size_t i = 0; i < core->pieces.count; i++) {
		const struct piece *piece = &core->pieces.items[i];
		uint64_t bytes = MIN(piece->dumped, size - MIN(piece->offset, size));

		if (bytes > left)
			return true;
		left -= bytes;
	}
	return false;
}

static int read_core(struct core *core, const struct core_options *options, struct worker *worker)
{
	struct stat status;
	int error;

	core->fd = open(options->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (core->fd < 0 || fstat(core->fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	core->path = options->path;
	core->time = status.st_mtim;
	error = unpack_if_packed(core, worker);
	if (!error)
		error = parse_core(worker, core->fd, &core->layout);
	if (!error)
		error = make_pieces(core);
	/* The size of the file as unpacked. */
	if (!error &&
	    (fstat(core->fd, &status) < 0 || shares_bytes(core, (uint64_t)status.st_size)))
		error = -EBADMSG;
	if (error)
		return error;
	name_stack(core);
	name_vdso(core);
	name_heap(core);
	return 0;
}

int core_read_file(const struct core_options *options, struct worker *worker, struct core **core)
{
	struct core *made = calloc(1, sizeof(*made));
	int error = -ENOMEM;

	if (made) {
		made->fd = made->pagemap = -1;
		error = read_core(made, options, worker);
	}
	if (!error)
		error = open_files(made, options);
	if (!error)
		error = map_pages(made);
	if (error) {
		core_free(made);
		return error;
	}
	find_gaps(made);
	*core = made;
	return 0;
}

int core_open(const struct core_options *options, struct worker *worker, struct core **core)
{
	bool has_root = !options->sysroot || access(options->sysroot, X_OK) == 0;
	int error = has_root ? core_read_file(options, worker, core) : -errno;

	if (error)
		log_error("%s: %s", has_root ? options->path : options->sysroot, why_not(error));
	return error;
}

void core_free(struct core *core)
{
	if (!core)
		return;
	for (size_t i = 0; i < core->files.count; i++) {
		cleanup_close(&core->files.items[i].fd);
		free(core->files.items[i].path);
	}
	vec_free(&core->files);
	hash_free(&core->file_numbers);
	vec_free(&core->pieces);
	core_layout_free(&core->layout);
	cleanup_close(&core->fd);
	cleanup_close(&core->pagemap);
	free(core);
}
