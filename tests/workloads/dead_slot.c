// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A word of a dead variable in the frame of a running function.
 *
 *   serve() waits in read(2), and has spilled two pointers. It does not use the first one again:
 * nothing else holds the list of LINKS blocks of 1000 bytes behind it. It does use the second: 1
 * block of 2008 bytes. A third is a variable of a program block that has ended: 1 block of 3016
 * bytes.
 *
 * The pointers stand nowhere else: they are kept inverted until serve() takes them.
 */
#include "workload.h"

#define LINKS 3

static volatile uintptr_t inverted[3];

/* All call-preserved registers are needed for something else: live values are spilled. */
#define PRESSURE()                                                                                 \
	__asm__ volatile(""                                                                        \
			 :                                                                         \
			 :                                                                         \
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",     \
			   "r12", "r13", "r14", "r15", "memory")

/* Clears all other registers. */
#define CLEAR()                                                                                    \
	__asm__ volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\t"            \
			 "xor %%esi, %%esi\n\txor %%edi, %%edi\n\txor %%r8d, %%r8d\n\t"            \
			 "xor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d\n\t"        \
			 "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\t"   \
			 "pxor %%xmm3, %%xmm3\n\tpxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5"       \
			 :                                                                         \
			 :                                                                         \
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0",    \
			   "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "memory")

static SITE int serve(const struct truth *truth)
{
	volatile char *dead = (volatile char *)~inverted[0];
	volatile char *live = (volatile char *)~inverted[1];
	int code;

	{
		volatile char *volatile ended = (volatile char *)~inverted[2];

		*ended = 1;
	}
	PRESSURE();
	*dead = 1;
	CLEAR();
	code = workload_serve(NULL, 0, truth);
	PRESSURE();
	*live = 1;
	return code;
}

static SITE void make(void)
{
	void **next = NULL;

	for (size_t i = 0; i < LINKS; i++) {
		void **link = opaque_pointer(calloc(1, 1000));

		link[1] = next;
		next = link;
	}
	inverted[0] = ~(uintptr_t)next;
	inverted[1] = ~(uintptr_t)calloc(1, 2008);
	inverted[2] = ~(uintptr_t)calloc(1, 3016);
}

/* Overwrite left-over words of malloc on the stack. */
static SITE void clear(void)
{
	volatile char left[8192];

	for (size_t i = 0; i < sizeof(left); i++)
		left[i] = 0;
}

int main(void)
{
	static const struct truth nothing = {0};

	make();
	clear();
	CLEAR();
	return serve(&nothing);
}
