/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine that figures were taken on: without it they mean nothing. */
#ifndef LEAKMON_BENCH_MACHINE_H
#define LEAKMON_BENCH_MACHINE_H

#include <stdbool.h>

struct machine {
	char cpu[96]; /* model name of /proc/cpuinfo */
	char kernel[72];
	long cores;	  /* online */
	bool virtualised; /* CPUID reports a hypervisor */
	double load;	  /* runnable tasks over the last minute, before the first measurement */
};

void machine_read(struct machine *machine);

#endif
