/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether this kernel takes calls of 32-bit programs (int $0x80) from 64-bit ones. */
#ifndef LEAKMON_CALLS_32_H
#define LEAKMON_CALLS_32_H

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

/* Without IA32_EMULATION, or with ia32_emulation=0, such a call kills the caller: a child tries. */
static inline bool takes_32_bit_calls(void)
{
#if defined(__x86_64__)
	pid_t child = fork();
	int status, result;

	if (!child) {
		signal(SIGSEGV, SIG_DFL); /* a handler would run the parent's code */
		__asm__ volatile("int $0x80"
				 : "=a"(result)
				 : "0"(20 /* getpid */)
				 : "r8", "r9", "r10", "r11", "memory");
		_exit(result != getpid());
	}
	return waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status);
#else
	return false;
#endif
}

#endif
