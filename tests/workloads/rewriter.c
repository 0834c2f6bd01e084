// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Changes the code of its own C library, like hooking libraries, hot patchers and services that
 * move their code to huge pages. Meanwhile it must not call the library, so it makes raw system
 * calls only.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "raw_call.h"
#include "workload.h"

#define PAGE 4096ul
#define HUGE_PAGE (2ul << 20)

enum { LEAK, SECOND };

static struct truth truth = {
	.sites = {[LEAK] = {.function = "leak"}, [SECOND] = {.function = "leak_second"}}};

/* The code of the C library: the segment that malloc is in. */
static struct code {
	char *start;
	size_t size;
	off_t offset;
	char path[4096];
} code;

static char *copy; /* code bytes from the file */
static void *(*second_malloc)(size_t);
static unsigned hooked_calls;

static int find_code(struct dl_phdr_info *info, size_t size, void *inside)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		char *start = (char *)info->dlpi_addr + segment->p_vaddr;
		size_t lead = (uintptr_t)start % PAGE;

		if (segment->p_type != PT_LOAD || (char *)inside < start ||
		    (char *)inside >= start + segment->p_filesz)
			continue;
		code.start = start - lead;
		code.size = (segment->p_filesz + lead + PAGE - 1) / PAGE * PAGE;
		code.offset = (off_t)(segment->p_offset - lead);
		snprintf(code.path, sizeof(code.path), "%s", info->dlpi_name);
		return 1;
	}
	return 0;
}

static long raw(long number, long a, long b, long c, long d, long e)
{
	return raw_call(number, a, b, c, d, e, 0);
}

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	say("%s: %s\n", what, strerror(errno));
	_exit(110);
}

static void protect(int protection)
{
	must(!mprotect(code.start, code.size, protection), "mprotect");
}

static void *hooked_malloc(size_t size)
{
	hooked_calls++;
	return calloc(1, size);
}

static int hooked_detach(pthread_t thread)
{
	(void)thread;
	hooked_calls++;
	return 0;
}

/* A jump, and the address: over the beginning of a function, as all hooking libraries do. */
static void hook(void *function, void *replacement)
{
#if defined(__aarch64__)
	static const unsigned jump[2] = {0x58000051 /* ldr x17, .+8 */, 0xd61f0220 /* br x17 */};
#else
	static const unsigned char jump[6] = {0xff, 0x25}; /* jmp *0(%rip) */
#endif

	protect(PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(function, jump, sizeof(jump));
	memcpy((char *)function + sizeof(jump), &replacement, sizeof(replacement));
	__builtin___clear_cache(function, (char *)function + sizeof(jump) + sizeof(replacement));
	protect(PROT_READ | PROT_EXEC);
}

static void hook_malloc(void)
{
	hook((void *)malloc, (void *)hooked_malloc);
}

static void hook_detach(void)
{
	hook((void *)pthread_detach, (void *)hooked_detach);
}

static void make_writable(void)
{
	protect(PROT_READ | PROT_WRITE | PROT_EXEC);
}

static void make_readonly(void)
{
	protect(PROT_READ | PROT_EXEC);
}

/* Over the code from `from` to `to` (offsets) goes a copy in anonymous memory. */
static void move(size_t from, size_t to, char *source)
{
	long moved;

	must(!mprotect(source, to - from, PROT_READ | PROT_EXEC), "mprotect");
	moved = raw(SYS_mremap, (long)source, (long)(to - from), (long)(to - from),
		    MREMAP_MAYMOVE | MREMAP_FIXED, (long)(code.start + from));
	must(moved == (long)(code.start + from), "mremap");
}

/* Reads the code from the file: a copy of memory would include breakpoints. */
static char *copy_code(size_t size)
{
	int fd = open(code.path, O_RDONLY | O_CLOEXEC);

	copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(copy != MAP_FAILED && fd >= 0, "copy");
	must(pread(fd, copy, size, code.offset) > 0, "read");
	close(fd);
	return copy;
}

static void move_all(void)
{
	move(0, code.size, copy_code(code.size));
}

/* Only the page that free begins in, and that advice is asked for: huge pages come when they do. */
static void move_part(void)
{
	size_t from = (size_t)((char *)(void *)free - code.start) / PAGE * PAGE;
	char *source = copy_code(code.size);

	madvise(source, code.size, MADV_HUGEPAGE);
	move(from, from + PAGE, source + from);
}

static void forget_pages(void)
{
	must(!raw(SYS_madvise, (long)code.start, (long)code.size, MADV_DONTNEED, 0, 0), "madvise");
}

static SITE void leak(void)
{
	truth.sites[LEAK].line = __LINE__ + 1;
	OPAQUE(malloc(1000));
	truth_born(&truth, LEAK, 1000);
}

/* A separate link-map namespace has its own C library, from the same file. */
static SITE void leak_second(void)
{
	truth.sites[SECOND].line = __LINE__ + 1;
	OPAQUE(second_malloc(500));
	truth_born(&truth, SECOND, 500);
}

static SITE void go(void)
{
	for (int i = 0; i < 100; i++)
		leak();
	__asm__ volatile("" : : : "memory");
}

static SITE void go_second(void)
{
	for (int i = 0; i < 50; i++)
		leak_second();
	__asm__ volatile("" : : : "memory");
}

static void load_second(void)
{
	void *library = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);

	must(library != NULL, "dlmopen");
	second_malloc = dlsym(library, "malloc");
	must(second_malloc && second_malloc != malloc, "dlsym");
}

/* The test subtracts missed blocks from the truth: it gets the leak of one `go`. */
int main(void)
{
	static const struct command commands[] = {
		{.name = "hook", .run = hook_malloc},
		{.name = "hook-detach", .run = hook_detach},
		{.name = "writable", .run = make_writable},
		{.name = "readonly", .run = make_readonly},
		{.name = "move", .run = move_all},
		{.name = "move-part", .run = move_part},
		{.name = "forget", .run = forget_pages},
		{.name = "second", .run = load_second},
		{.name = "go", .run = go},
		{.name = "go-second", .run = go_second},
	};

	must(dl_iterate_phdr(find_code, (void *)malloc), "dl_iterate_phdr");
	load_second();
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
