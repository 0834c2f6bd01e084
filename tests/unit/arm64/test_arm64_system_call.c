// SPDX-License-Identifier: GPL-2.0-or-later
/* Restartable calls; the e2e tests of stops check their results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "binary/arch/system_call.h"

static void what_has_done_nothing_can_be_repeated(void **state)
{
	static const struct {
		uint32_t architecture, number;
		bool repeated;
	} cases[] = {
		{AUDIT_ARCH_AARCH64, SYS_epoll_pwait, true},
		{AUDIT_ARCH_AARCH64, SYS_rt_sigtimedwait, true},
		{AUDIT_ARCH_AARCH64, SYS_semtimedop, true},
		/* The descriptor is gone, and may belong to another file. */
		{AUDIT_ARCH_AARCH64, SYS_close, false},
		/* A 32-bit program's: epoll_pwait, rt_sigtimedwait; and the numbers of above. */
		{AUDIT_ARCH_ARM, 346, false},
		{AUDIT_ARCH_ARM, 177, false},
		{AUDIT_ARCH_ARM, SYS_epoll_pwait, false},
		/* Unknown. */
		{AUDIT_ARCH_AARCH64, SYS_ioctl, false},
		{AUDIT_ARCH_AARCH64, 100000, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			system_call_can_be_repeated(cases[i].architecture, cases[i].number),
			cases[i].repeated);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_done_nothing_can_be_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
