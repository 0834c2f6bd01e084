/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every program that leakmon starts by posix_spawn(3) gets. */
#ifndef LEAKMON_BASE_SPAWN_H
#define LEAKMON_BASE_SPAWN_H

#include <signal.h>
#include <spawn.h>

/* No handler and no ignored signal, these blocked, and a process group of its own: Ctrl-C is ours
 * to pass on. 0 or -errno. */
int spawn_signals_set(posix_spawnattr_t *attributes, const sigset_t *blocked);

#endif
