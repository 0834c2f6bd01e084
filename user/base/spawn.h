/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attributes of every program that leakmon starts by posix_spawn(3). */
#ifndef LEAKMON_BASE_SPAWN_H
#define LEAKMON_BASE_SPAWN_H

#include <signal.h>
#include <spawn.h>

/*
 * Sets default signal actions, these blocked signals, and a new process group: leakmon forwards
 * Ctrl-C itself. Returns 0 or -errno.
 */
int spawn_signals_set(posix_spawnattr_t *attributes, const sigset_t *blocked);

#endif
