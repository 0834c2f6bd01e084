/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions of the machine that the tests are built for, as bytes. */
#ifndef LEAKMON_TESTS_OWN_CODE_H
#define LEAKMON_TESTS_OWN_CODE_H

#define OWN_INSTRUCTION "\x55" /* push %rbp */
#define OWN_BREAKPOINT "\xcc"

#endif
