/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LEAKMON_BASE_CLOCK_H
#define LEAKMON_BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC, the clock of the BPF side (bpf_ktime_get_ns). */
uint64_t monotonic_ns(void);

#endif
