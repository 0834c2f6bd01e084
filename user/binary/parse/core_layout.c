// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/core_layout.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "binary/elf/elf_abi.h"
#include "binary/parse/wire.h"

/* vm.max_map_count can be raised to two billion, but no process has that many. */
#define MAX_SEGMENTS (1u << 20)
#define MAX_FILES (1u << 20)
#define MAX_THREADS (1u << 18)
#define MAX_NOTES_BYTES (512ull << 20)
/* Every kernel's page size is a multiple of the first; none exceeds the second. */
#define PAGE_MIN_BYTES 4096ull
#define PAGE_MAX_BYTES 65536ull
#define USER_END (1ull << MACHINE_USER_BITS)

static int read_exact(int fd, uint64_t offset, void *buffer, size_t size)
{
	size_t done = 0;

	if (offset > INT64_MAX - size)
		return -EBADMSG;
	while (done < size) {
		ssize_t got = pread(fd, (char *)buffer + done, size - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -EIO;
		if (got == 0)
			return -EBADMSG;
		done += (size_t)got;
	}
	return 0;
}

/* gABI, "ELF Header": beyond 65534 program headers, their number is in the first section. */
static int count_headers(int fd, const Elf64_Ehdr *header, size_t *count)
{
	Elf64_Shdr first;
	int error;

	*count = header->e_phnum;
	if (header->e_phnum == PN_XNUM) {
		error = read_exact(fd, header->e_shoff, &first, sizeof(first));
		if (error)
			return error;
		*count = first.sh_info;
	}
	return *count > MAX_SEGMENTS ? -EFBIG : 0;
}

static bool is_core(const Elf64_Ehdr *header)
{
	return !memcmp(header->e_ident, ELFMAG, SELFMAG) &&
	       header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB &&
	       header->e_type == ET_CORE && header->e_machine == machine_abi.machine &&
	       header->e_phentsize == sizeof(Elf64_Phdr);
}

static int read_headers(int fd, Elf64_Phdr **headers, size_t *count)
{
	Elf64_Ehdr header;
	Elf64_Phdr *read;
	int error = read_exact(fd, 0, &header, sizeof(header));

	if (error)
		return error == -EIO ? error : -ENOEXEC;
	if (!is_core(&header))
		return -ENOEXEC;
	error = count_headers(fd, &header, count);
	if (error)
		return error;
	read = calloc(*count + 1, sizeof(*read));
	if (!read)
		return -ENOMEM;
	error = read_exact(fd, header.e_phoff, read, *count * sizeof(*read));
	if (error)
		free(read);
	else
		*headers = read;
	return error;
}

/* The kernel's own pages above all programs are left out, and so are inconsistent segments. */
static int add_segment(struct core_layout *layout, const Elf64_Phdr *header, uint64_t file_size)
{
	uint64_t wanted = MIN(header->p_filesz, header->p_memsz), there;
	struct core_segment *segment;

	if (!header->p_memsz || header->p_vaddr >= USER_END ||
	    header->p_memsz > USER_END - header->p_vaddr ||
	    (header->p_vaddr | header->p_memsz) % PAGE_MIN_BYTES)
		return 0;
	there = header->p_offset < file_size ? MIN(wanted, file_size - header->p_offset) : 0;
	segment = vec_push(&layout->segments);
	if (!segment)
		return -ENOMEM;
	*segment = (struct core_segment){
		.start = header->p_vaddr,
		.end = header->p_vaddr + header->p_memsz,
		.offset = there ? header->p_offset : 0,
		.in_file = there,
		.flags = header->p_flags & (PF_R | PF_W | PF_X),
	};
	layout->cut_bytes += wanted - there;
	return 0;
}

struct notes {
	struct core_layout *layout;
	struct cursor cursor;
	bool has_thread;
};

static int add_thread(struct notes *notes, const uint8_t *data, size_t size)
{
	struct elf_prstatus status;
	struct core_thread *thread;

	notes->has_thread = false;
	if (size < sizeof(status))
		return -EBADMSG;
	if (notes->layout->threads.count == MAX_THREADS)
		return -EFBIG;
	memcpy(&status, data, sizeof(status));
	if (status.pr_pid < 0)
		return -EBADMSG;
	thread = vec_push(&notes->layout->threads);
	if (!thread)
		return -ENOMEM;
	thread->tid = status.pr_pid;
	machine_registers_take(&thread->registers, status.pr_reg);
	notes->has_thread = true;
	return 0;
}

/* They follow the thread's other registers. */
static int add_vectors(struct notes *notes, const uint8_t *data, size_t size)
{
	struct core_thread *threads = notes->layout->threads.items;

	if (notes->has_thread)
		machine_vectors_take(&threads[notes->layout->threads.count - 1].registers, data,
				     size);
	return 0;
}

static int take_process(struct notes *notes, const uint8_t *data, size_t size)
{
	struct elf_prpsinfo process;

	if (size < sizeof(process))
		return -EBADMSG;
	memcpy(&process, data, sizeof(process));
	if (process.pr_pid < 0)
		return -EBADMSG;
	notes->layout->pid = process.pr_pid;
	snprintf(notes->layout->comm, sizeof(notes->layout->comm), "%.*s",
		 (int)sizeof(process.pr_fname), process.pr_fname);
	return 0;
}

static bool is_page_size(uint64_t bytes)
{
	return bytes >= PAGE_MIN_BYTES && bytes <= PAGE_MAX_BYTES && !(bytes & (bytes - 1));
}

static int take_auxiliary(struct notes *notes, const uint8_t *data, size_t size)
{
	Elf64_auxv_t entry;

	for (size_t at = 0; at + sizeof(entry) <= size; at += sizeof(entry)) {
		memcpy(&entry, data + at, sizeof(entry));
		if (entry.a_type == AT_ENTRY)
			notes->layout->entry = entry.a_un.a_val;
		else if (entry.a_type == AT_EXECFN)
			notes->layout->stack_top = entry.a_un.a_val;
		else if (entry.a_type == AT_SYSINFO_EHDR)
			notes->layout->vdso = entry.a_un.a_val;
		else if (entry.a_type == AT_PAGESZ && is_page_size(entry.a_un.a_val))
			notes->layout->page_bytes = entry.a_un.a_val;
	}
	return 0;
}

/* Their number and the page size; for each its range, with the offset in pages; then the paths. */
static int take_files(struct notes *notes, const uint8_t *data, size_t size)
{
	struct core_layout *layout = notes->layout;
	struct cursor cursor = {data, size};
	uint64_t head[2], place[3];
	const char *path;

	if (layout->paths)
		return 0;
	if (cursor_take_one(&cursor, head, sizeof(head)) || head[0] > MAX_FILES ||
	    head[0] * sizeof(place) > cursor.left)
		return -EBADMSG;
	path = (const char *)cursor.at + head[0] * sizeof(place);
	layout->paths_size = cursor.left - head[0] * sizeof(place);
	layout->paths = malloc(layout->paths_size + 1);
	if (!layout->paths)
		return -ENOMEM;
	memcpy(layout->paths, path, layout->paths_size);
	layout->paths[layout->paths_size] = '\0';
	/* The last path may lack its terminator; now it is terminated. */
	if (layout->paths_size && layout->paths[layout->paths_size - 1])
		layout->paths_size++;
	for (size_t i = 0, at = 0; i < head[0] && at < layout->paths_size; i++) {
		struct core_mapped *file = vec_push(&layout->files);

		if (!file)
			return -ENOMEM;
		cursor_take_one(&cursor, place, sizeof(place));
		*file = (struct core_mapped){.start = place[0],
					     .end = place[1],
					     .offset = place[2] * MIN(head[1], 1u << 30),
					     .path = at};
		at += strlen(layout->paths + at) + 1;
	}
	return 0;
}

/* Takes the processor's own notes. */
static void take_machine_note(struct notes *notes, const Elf64_Nhdr *header, const uint8_t *data)
{
	struct core_thread *threads = notes->layout->threads.items;

	if (notes->has_thread)
		machine_note_take(&threads[notes->layout->threads.count - 1].registers,
				  header->n_type, data, header->n_descsz);
}

static int take_note(struct notes *notes, const Elf64_Nhdr *header, const char *name,
		     const uint8_t *data)
{
	static const struct {
		uint32_t type;
		int (*take)(struct notes *, const uint8_t *, size_t);
	} kinds[] = {{NT_PRSTATUS, add_thread},
		     {NT_FPREGSET, add_vectors},
		     {NT_PRPSINFO, take_process},
		     {NT_AUXV, take_auxiliary},
		     {NT_FILE, take_files}};

	if (header->n_namesz == 6 && !memcmp(name, "LINUX", 6))
		take_machine_note(notes, header, data);
	if (header->n_namesz != 5 || memcmp(name, "CORE", 5) != 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i].type == header->n_type)
			return kinds[i].take(notes, data, header->n_descsz);
	}
	return 0;
}

static uint64_t padded(uint32_t size)
{
	return ((uint64_t)size + 3) & ~3ull;
}

static int take_notes(struct notes *notes)
{
	struct cursor *cursor = &notes->cursor;
	Elf64_Nhdr header;
	int error = 0;

	while (!error && !cursor_take_one(cursor, &header, sizeof(header))) {
		const char *name = cursor_take(cursor, padded(header.n_namesz), 1);
		const uint8_t *data =
			name ? cursor_take(cursor,
					   MIN(padded(header.n_descsz),
					       MAX((uint64_t)cursor->left, header.n_descsz)),
					   1)
			     : NULL;

		error = data ? take_note(notes, &header, name, data) : -EBADMSG;
	}
	return error;
}

static int read_notes(int fd, const Elf64_Phdr *header, uint64_t file_size,
		      struct core_layout *layout)
{
	_cleanup_free_ uint8_t *data = NULL;
	struct notes notes = {.layout = layout};
	int error;

	if (header->p_filesz > MAX_NOTES_BYTES)
		return -EFBIG;
	/* Checked before allocation: no file announces more than it has. */
	if (header->p_filesz > file_size || header->p_offset > file_size - header->p_filesz)
		return -EBADMSG;
	data = malloc(header->p_filesz + 1);
	if (!data)
		return -ENOMEM;
	error = read_exact(fd, header->p_offset, data, header->p_filesz);
	notes.cursor = (struct cursor){data, header->p_filesz};
	return error ? error : take_notes(&notes);
}

static int compare_segments(const void *left_pointer, const void *right_pointer)
{
	const struct core_segment *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int compare_start(const void *wanted, const void *segment_pointer)
{
	uint64_t start = *(const uint64_t *)wanted;
	const struct core_segment *segment = segment_pointer;

	return start < segment->start ? -1 : start > segment->start;
}

static int compare_files(const void *left_pointer, const void *right_pointer)
{
	const struct core_mapped *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int compare_threads(const void *left_pointer, const void *right_pointer)
{
	const struct core_thread *left = left_pointer, *right = right_pointer;

	return left->tid < right->tid ? -1 : left->tid > right->tid;
}

static bool is_place(uint64_t start, uint64_t end, uint64_t behind)
{
	return start >= behind && start < end && end <= USER_END &&
	       !((start | end) % PAGE_MIN_BYTES);
}

static void drop_overlaps(struct core_layout *layout)
{
	size_t kept = 0;
	uint64_t behind = 0;

	for (size_t i = 0; i < layout->segments.count; i++) {
		const struct core_segment segment = layout->segments.items[i];

		if (!is_place(segment.start, segment.end, behind))
			continue;
		behind = segment.end;
		layout->segments.items[kept++] = segment;
	}
	layout->segments.count = kept;
	kept = 0;
	behind = 0;
	for (size_t i = 0; i < layout->files.count; i++) {
		const struct core_mapped file = layout->files.items[i];

		if (!is_place(file.start, file.end, behind))
			continue;
		behind = file.end;
		layout->files.items[kept++] = file;
	}
	layout->files.count = kept;
}

static void sort(struct core_layout *layout)
{
	if (layout->segments.count)
		qsort(layout->segments.items, layout->segments.count,
		      sizeof(*layout->segments.items), compare_segments);
	if (layout->files.count)
		qsort(layout->files.items, layout->files.count, sizeof(*layout->files.items),
		      compare_files);
	if (layout->threads.count)
		qsort(layout->threads.items, layout->threads.count, sizeof(*layout->threads.items),
		      compare_threads);
	/* The process's own thread first: when TIDs have wrapped around, it is not the lowest. */
	for (size_t i = 1; i < layout->threads.count; i++) {
		if (layout->threads.items[i].tid == layout->pid)
			SWAP(layout->threads.items[0], layout->threads.items[i]);
	}
	drop_overlaps(layout);
}

/*
 * gdb leaves out read-only memory except the first page of ELF files: their headers say what was
 * mapped where.
 */

struct module {
	uint8_t page[PAGE_MIN_BYTES];
	const Elf64_Phdr *headers; /* in the page */
	size_t count;
	uint64_t bias; /* address in memory minus address in the file */
};

static bool find_module_headers(struct module *module)
{
	Elf64_Ehdr header;

	memcpy(&header, module->page, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) ||
	    header.e_phoff % 8 || header.e_phoff > PAGE_MIN_BYTES ||
	    header.e_phnum > (PAGE_MIN_BYTES - header.e_phoff) / sizeof(Elf64_Phdr))
		return false;
	module->headers = (const void *)(module->page + header.e_phoff);
	module->count = header.e_phnum;
	return true;
}

static bool read_module(int fd, const struct core_layout *layout, uint64_t start,
			struct module *module)
{
	const struct core_segment *segment =
		layout->segments.count
			? bsearch(&start, layout->segments.items, layout->segments.count,
				  sizeof(*segment), compare_start)
			: NULL;

	if (!segment || segment->in_file < PAGE_MIN_BYTES ||
	    read_exact(fd, segment->offset, module->page, PAGE_MIN_BYTES) ||
	    !find_module_headers(module))
		return false;
	for (size_t i = 0; i < module->count; i++) {
		if (module->headers[i].p_type != PT_LOAD)
			continue;
		module->bias = start - (module->headers[i].p_vaddr & ~(layout->page_bytes - 1));
		return true;
	}
	return false;
}

static uint64_t flags_at(const struct module *module, uint64_t page_bytes, uint64_t address)
{
	uint64_t vaddr = address - module->bias;

	for (size_t i = 0; i < module->count; i++) {
		const Elf64_Phdr *header = &module->headers[i];
		uint64_t from = header->p_vaddr & ~(page_bytes - 1);

		if (header->p_type == PT_LOAD && vaddr >= from &&
		    vaddr - from < header->p_filesz + (header->p_vaddr - from))
			return header->p_flags & (PF_R | PF_W | PF_X);
	}
	return 0;
}

static void find_flags(int fd, struct core_layout *layout)
{
	_cleanup_free_ struct module *module = aligned_alloc(8, sizeof(*module));
	const char *path = NULL;

	for (size_t i = 0; module && i < layout->files.count; i++) {
		struct core_mapped *file = &layout->files.items[i];
		const char *own = layout->paths + file->path;

		if (!file->offset)
			path = read_module(fd, layout, file->start, module) ? own : NULL;
		if (path && !strcmp(path, own))
			file->flags = flags_at(module, layout->page_bytes, file->start);
	}
}

int core_layout_read(int fd, struct core_layout *layout)
{
	_cleanup_(core_layout_free) struct core_layout read = {.page_bytes = page_size()};
	_cleanup_free_ Elf64_Phdr *headers = NULL;
	struct stat status;
	size_t count = 0;
	int error = fstat(fd, &status) < 0 ? -EIO : read_headers(fd, &headers, &count);

	for (size_t i = 0; !error && i < count; i++) {
		if (headers[i].p_type == PT_LOAD)
			error = add_segment(&read, &headers[i], (uint64_t)status.st_size);
		else if (headers[i].p_type == PT_NOTE)
			error = read_notes(fd, &headers[i], (uint64_t)status.st_size, &read);
	}
	if (error)
		return error;
	if (!read.threads.count || !read.segments.count)
		return -EBADMSG;
	sort(&read);
	find_flags(fd, &read);
	*layout = read;
	read = (struct core_layout){0};
	return 0;
}

void core_layout_free(struct core_layout *layout)
{
	vec_free(&layout->segments);
	vec_free(&layout->files);
	vec_free(&layout->threads);
	free(layout->paths);
	*layout = (struct core_layout){0};
}

/* The answer's header. */

struct wire_core {
	uint64_t entry, stack_top, vdso, page_bytes, cut_bytes, segments, files, threads,
		paths_size;
	int64_t pid;
	char comm[16];
};

int encode_core_layout(const struct core_layout *layout, struct bytes *body)
{
	struct wire_core wire = {.entry = layout->entry,
				 .stack_top = layout->stack_top,
				 .vdso = layout->vdso,
				 .page_bytes = layout->page_bytes,
				 .cut_bytes = layout->cut_bytes,
				 .segments = layout->segments.count,
				 .files = layout->files.count,
				 .threads = layout->threads.count,
				 .paths_size = layout->paths_size,
				 .pid = layout->pid};
	int error;

	memcpy(wire.comm, layout->comm, sizeof(wire.comm));
	error = bytes_append(body, &wire, sizeof(wire));
	if (!error)
		error = bytes_append(body, layout->segments.items,
				     layout->segments.count * sizeof(*layout->segments.items));
	if (!error)
		error = bytes_append(body, layout->files.items,
				     layout->files.count * sizeof(*layout->files.items));
	if (!error)
		error = bytes_append(body, layout->threads.items,
				     layout->threads.count * sizeof(*layout->threads.items));
	return error ? error : bytes_append(body, layout->paths, layout->paths_size);
}

static bool are_segments(const struct core_layout *layout, uint64_t file_size)
{
	uint64_t behind = 0;

	for (size_t i = 0; i < layout->segments.count; i++) {
		const struct core_segment *segment = &layout->segments.items[i];

		if (!is_place(segment->start, segment->end, behind) ||
		    segment->in_file > segment->end - segment->start ||
		    segment->in_file > file_size || segment->offset > file_size - segment->in_file)
			return false;
		behind = segment->end;
	}
	return true;
}

static bool are_files(const struct core_layout *layout)
{
	uint64_t behind = 0;

	for (size_t i = 0; i < layout->files.count; i++) {
		const struct core_mapped *file = &layout->files.items[i];

		if (!is_place(file->start, file->end, behind) || file->path >= layout->paths_size)
			return false;
		behind = file->end;
	}
	/* Thus each path is terminated. */
	return !layout->files.count || !layout->paths[layout->paths_size - 1];
}

static bool are_threads(const struct core_layout *layout)
{
	for (size_t i = 0; i < layout->threads.count; i++) {
		if (layout->threads.items[i].tid < 0 || layout->threads.items[i].tid > INT32_MAX)
			return false;
	}
	return layout->threads.count > 0;
}

static int take_lists(struct cursor *cursor, const struct wire_core *wire,
		      struct core_layout *layout)
{
	int error = cursor_take_copy(cursor, wire->segments, sizeof(*layout->segments.items),
				     (void **)&layout->segments.items);

	if (!error)
		error = cursor_take_copy(cursor, wire->files, sizeof(*layout->files.items),
					 (void **)&layout->files.items);
	if (!error)
		error = cursor_take_copy(cursor, wire->threads, sizeof(*layout->threads.items),
					 (void **)&layout->threads.items);
	if (!error)
		error = cursor_take_copy(cursor, wire->paths_size, 1, (void **)&layout->paths);
	if (error)
		return error;
	layout->segments.count = wire->segments;
	layout->files.count = wire->files;
	layout->threads.count = wire->threads;
	layout->paths_size = wire->paths_size;
	return cursor->left ? -EPROTO : 0;
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	struct core_layout *layout = out;
	_cleanup_(core_layout_free) struct core_layout read = {0};
	struct cursor cursor = {body->data, body->size};
	struct wire_core wire;
	int error = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (!error)
		error = take_lists(&cursor, &wire, &read);
	if (error)
		return error;
	if (wire.pid < 0 || wire.pid > INT32_MAX || !is_page_size(wire.page_bytes) ||
	    !is_terminated(wire.comm, sizeof(wire.comm)) ||
	    !are_segments(&read, origin->file_size) || !are_files(&read) || !are_threads(&read))
		return -EPROTO;
	read.pid = (pid_t)wire.pid;
	memcpy(read.comm, wire.comm, sizeof(read.comm));
	read.entry = wire.entry;
	read.stack_top = wire.stack_top;
	read.vdso = wire.vdso;
	read.page_bytes = wire.page_bytes;
	read.cut_bytes = wire.cut_bytes;
	*layout = read;
	read = (struct core_layout){0};
	return 0;
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	_cleanup_(core_layout_free) struct core_layout layout = {0};
	int error = core_layout_read(input->files[0], &layout);

	return error ? error : encode_core_layout(&layout, body);
}

const struct parse_kind core_layout_kind = {
	.name = "core file",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 1,
	.parse = parse,
	.decode = decode,
};
