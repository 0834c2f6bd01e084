/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions of the machine that the tests are built for, as bytes. */
#ifndef LEAKMON_TESTS_OWN_CODE_H
#define LEAKMON_TESTS_OWN_CODE_H

#define OWN_INSTRUCTION "\x1f\x20\x03\xd5" /* nop */
#define OWN_BREAKPOINT "\xa0\x00\x20\xd4"  /* brk #5 */

#endif
