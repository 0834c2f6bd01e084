/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of all newer processors, which have fewer calls: no open(2), no epoll_wait(2). */
#ifndef LEAKMON_TESTS_ARCH_STUB_ASM_UNISTD_H
#define LEAKMON_TESTS_ARCH_STUB_ASM_UNISTD_H

#define __ARCH_WANT_NEW_STAT
#define __ARCH_WANT_SET_GET_RLIMIT
#define __ARCH_WANT_SYS_CLONE3
#define __ARCH_WANT_MEMFD_SECRET
#include <asm-generic/unistd.h>

#endif
