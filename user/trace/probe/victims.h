/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OOM-killed processes of the whole machine, when the kernel chooses them: a BPF program at
 * oom:mark_victim. Costs nothing until one is killed.
 */
#ifndef LEAKMON_PROBE_VICTIMS_H
#define LEAKMON_PROBE_VICTIMS_H

#include <stdint.h>

#include "leakmon_victim.h"

struct victims;

/* Called for each victim reported (leakmon_victim.h), whose memory is then being released. */
typedef void (*victim_handler)(const struct lm_victim *victim, void *context);

/*
 * Loads the program. Returns 0; -errno without a message, since kills are noticed in another way,
 * too (-EPERM: privileges; -ENOMEM: also if leakmon's own control group has no room to load it).
 * `context` is borrowed.
 */
int victims_open(struct victims **victims, victim_handler handler, void *context);
void victims_close(struct victims *victims); /* NULL is allowed */

/* Returns a descriptor, readable when there is something to consume. */
int victims_fd(const struct victims *victims);
void victims_consume(struct victims *victims);
/* Returns the number of victims missed since the opening, because they came too fast. */
uint64_t victims_lost(const struct victims *victims);

#endif
