// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Calls one leaking function through generated code, like a runtime with a compiler: `compile`
 * generates that code again, at another address; `go` then leaks.
 */
#include <sys/mman.h>

#include "workload.h"

#define PAGE 4096

enum { LEAK };

static struct truth truth = {.sites = {[LEAK] = {.function = "leak"}}};
static void (*compiled)(void (*function)(void));

static SITE void leak(void)
{
	truth.sites[LEAK].line = __LINE__ + 1;
	OPAQUE(malloc(1000));
	truth_born(&truth, LEAK, 1000);
}

static void compile(void)
{
	static const unsigned char code[] = {
		0x55,		  /* push %rbp */
		0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
		0xff, 0xd7,	  /* call *%rdi */
		0x5d,		  /* pop %rbp */
		0xc3,		  /* ret */
	};
	void *place = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		_exit(112);
	memcpy(place, code, sizeof(code));
	compiled = (void (*)(void (*)(void)))place;
}

static SITE void go(void)
{
	for (int i = 0; i < 10; i++)
		compiled(leak);
	__asm__ volatile("" : : : "memory");
}

int main(void)
{
	static const struct command commands[] = {{.name = "compile", .run = compile},
						  {.name = "go", .run = go}};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
