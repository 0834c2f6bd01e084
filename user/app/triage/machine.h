/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory of the machine that belongs to no process: slab, page tables, shared memory, sockets,
 * dying control groups. Each poll reads it; its history is judged like the quantities of a process.
 */
#ifndef LEAKMON_TRIAGE_MACHINE_H
#define LEAKMON_TRIAGE_MACHINE_H

#include "app/triage/growth.h"
#include "report/triage_report.h"

struct machine {
	struct series series[MACHINE_PART_MAX_];
	double now[MACHINE_PART_MAX_]; /* NAN: unknown */
};

/*
 * Reads all parts; zero-initialise the machine. Figures that the kernel does not publish are
 * unknown, without an error. Returns 0 or -ENOMEM.
 */
int machine_poll(struct machine *machine, double now_s);
void machine_free(struct machine *machine);

/* Judges every part. */
void machine_report(const struct machine *machine, struct triage_machine *report);

/*
 * Parse the texts of /proc/meminfo, /proc/net/sockstat, /proc/sysvipc/shm and a cgroup.stat; pass
 * "" for a missing file.
 */
void machine_parse_meminfo(const char *text, double now[MACHINE_PART_MAX_]);
void machine_parse_sockets(const char *text, double now[MACHINE_PART_MAX_]);
void machine_parse_segments(const char *text, double now[MACHINE_PART_MAX_]);
void machine_parse_dying(const char *text, double now[MACHINE_PART_MAX_]);

#endif
