/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the machine that is no process's: slab, page tables, shared memory, sockets, dying
 * control groups. Read at each poll, remembered and judged as the quantities of a process are.
 */
#ifndef LEAKMON_TRIAGE_MACHINE_H
#define LEAKMON_TRIAGE_MACHINE_H

#include "app/triage/growth.h"
#include "report/triage_report.h"

struct machine {
	struct series series[MACHINE_PART_MAX_];
	double now[MACHINE_PART_MAX_]; /* NAN: not known */
};

/* Zero-initialise. 0 or -ENOMEM. What the kernel does not tell is not known, and no error. */
int machine_poll(struct machine *machine, double now_s);
void machine_free(struct machine *machine);

/* Judges every part. */
void machine_report(const struct machine *machine, struct triage_machine *report);

/* The texts of /proc/meminfo, /proc/net/sockstat, /proc/sysvipc/shm and a cgroup.stat; "" for what
 * is not there. */
void machine_parse_meminfo(const char *text, double now[MACHINE_PART_MAX_]);
void machine_parse_sockets(const char *text, double now[MACHINE_PART_MAX_]);
void machine_parse_segments(const char *text, double now[MACHINE_PART_MAX_]);
void machine_parse_dying(const char *text, double now[MACHINE_PART_MAX_]);

#endif
