// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Words below the stack pointer, where a leaf function may keep its data.
 *
 *   STALE threads wait in a system call, with left-over words of a returned function below their
 *   stack pointers: nothing else leads to these blocks, of 1000 bytes each
 *   LEAVES threads run in user code, in a leaf that keeps its pointer there: blocks of 2008 bytes
 *
 * The pointers are nowhere else: they are kept inverted until the end, and every register that had
 * one is cleared.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "workload.h"

#define STALE 3
#define LEAVES 2

static uintptr_t inverted[STALE + LEAVES];
static volatile int over, standing; /* `over` stays 0: the process ends under its threads */

/* Left by malloc, and passed on to new threads. */
static void clear_vectors(void)
{
#define CLEAR(number) __asm__ volatile("pxor %%xmm" #number ", %%xmm" #number : : : "xmm" #number)
	CLEAR(0);
	CLEAR(1);
	CLEAR(2);
	CLEAR(3);
	CLEAR(4);
	CLEAR(5);
	CLEAR(6);
	CLEAR(7);
	CLEAR(8);
	CLEAR(9);
	CLEAR(10);
	CLEAR(11);
	CLEAR(12);
	CLEAR(13);
	CLEAR(14);
	CLEAR(15);
#undef CLEAR
}

/* pause(2), with the block's address 64 bytes below the stack pointer. */
static void *waits(void *argument)
{
	uintptr_t block = *(uintptr_t *)argument;
	long result = SYS_pause;

	*(uintptr_t *)argument = 0;
	clear_vectors();
	__atomic_add_fetch(&standing, 1, __ATOMIC_SEQ_CST);
	__asm__ volatile("not %[block]\n\t"
			 "mov %[block], -64(%%rsp)\n\t"
			 "xor %[block], %[block]\n\t"
			 "syscall"
			 : [block] "+&b"(block), "+a"(result)
			 :
			 : "rcx", "r11", "memory");
	return NULL;
}

static void *runs(void *argument)
{
	uintptr_t block = *(uintptr_t *)argument;

	*(uintptr_t *)argument = 0;
	clear_vectors();
	__atomic_add_fetch(&standing, 1, __ATOMIC_SEQ_CST);
	__asm__ volatile("not %[block]\n\t"
			 "mov %[block], -64(%%rsp)\n\t"
			 "xor %[block], %[block]\n"
			 "1:\tpause\n\t"
			 "cmpl $0, %[over]\n\t"
			 "je 1b"
			 : [block] "+&b"(block)
			 : [over] "m"(over)
			 : "memory");
	return NULL;
}

static void begin(size_t i, void *(*run)(void *), size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread;

	inverted[i] = ~(uintptr_t)malloc(size);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_create(&thread, &attributes, run, &inverted[i]);
}

/* Overwrite left-over words of malloc in registers and on this stack. */
static void __attribute__((noinline)) clear(void)
{
	volatile char left[4096];

	for (size_t i = 0; i < sizeof(left); i++)
		left[i] = 0;
}

int main(void)
{
	static const struct truth nothing = {0};

	for (size_t i = 0; i < STALE; i++)
		begin(i, waits, 1000);
	for (size_t i = STALE; i < STALE + LEAVES; i++)
		begin(i, runs, 2008);
	while (standing < STALE + LEAVES)
		usleep(1000);
	usleep(50000);
	clear();
	clear_vectors();
	return workload_serve(NULL, 0, &nothing);
}
