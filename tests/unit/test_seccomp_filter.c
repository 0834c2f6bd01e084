// SPDX-License-Identifier: GPL-2.0-or-later
/* The evaluation of a filter equals the kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "own_registers.h"
#include "process/pause/seccomp_filter.h"

#define PROGRAMS 400
#define LENGTH 24

static const struct seccomp_data call = {
	.nr = SYS_getppid,
	.arch = OWN_CALLS,
	.args = {1, 0x200000003, 0, 40, UINT32_MAX, 7},
};

/* Calls that every filter must allow, so that the child can report. */
#define PREAMBLE                                                                                   \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),                     \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 1, 0),                            \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* 1: the kernel lets the call be made; 0: not; -1: it does not take the program. */
static int ask_kernel(struct sock_filter *program, size_t count)
{
	const struct sock_fprog filter = {(unsigned short)count, program};
	pid_t child = fork();
	int status;

	if (!child) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
			_exit(2);
		_exit(syscall(SYS_getppid, call.args[0], call.args[1], call.args[2], call.args[3],
			      call.args[4], call.args[5]) > 0);
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static uint32_t draw(uint32_t below)
{
	return (uint32_t)random() % below;
}

static struct sock_filter draw_instruction(size_t left)
{
	static const uint16_t codes[] = {
		BPF_LD | BPF_W | BPF_ABS,
		BPF_LD | BPF_W | BPF_LEN,
		BPF_LDX | BPF_W | BPF_LEN,
		BPF_LD | BPF_IMM,
		BPF_LDX | BPF_IMM,
		BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM,
		BPF_ST,
		BPF_STX,
		BPF_ALU | BPF_ADD | BPF_K,
		BPF_ALU | BPF_ADD | BPF_X,
		BPF_ALU | BPF_SUB | BPF_K,
		BPF_ALU | BPF_SUB | BPF_X,
		BPF_ALU | BPF_MUL | BPF_K,
		BPF_ALU | BPF_MUL | BPF_X,
		BPF_ALU | BPF_DIV | BPF_K,
		BPF_ALU | BPF_DIV | BPF_X,
		BPF_ALU | BPF_AND | BPF_K,
		BPF_ALU | BPF_AND | BPF_X,
		BPF_ALU | BPF_OR | BPF_K,
		BPF_ALU | BPF_OR | BPF_X,
		BPF_ALU | BPF_XOR | BPF_K,
		BPF_ALU | BPF_XOR | BPF_X,
		BPF_ALU | BPF_LSH | BPF_K,
		BPF_ALU | BPF_LSH | BPF_X,
		BPF_ALU | BPF_RSH | BPF_K,
		BPF_ALU | BPF_RSH | BPF_X,
		BPF_ALU | BPF_NEG,
		BPF_JMP | BPF_JA,
		BPF_JMP | BPF_JEQ | BPF_K,
		BPF_JMP | BPF_JEQ | BPF_X,
		BPF_JMP | BPF_JGE | BPF_K,
		BPF_JMP | BPF_JGE | BPF_X,
		BPF_JMP | BPF_JGT | BPF_K,
		BPF_JMP | BPF_JGT | BPF_X,
		BPF_JMP | BPF_JSET | BPF_K,
		BPF_JMP | BPF_JSET | BPF_X,
		BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA,
	};
	static const uint32_t fields[] = {0, 4, 16, 20, 24, 28, 32, 40, 44, 48, 56, 60};
	struct sock_filter drawn = {.code = codes[draw(ARRAY_SIZE(codes))], .k = draw(50)};

	if (drawn.code == (BPF_LD | BPF_W | BPF_ABS))
		drawn.k = fields[draw(ARRAY_SIZE(fields))];
	else if (BPF_CLASS(drawn.code) == BPF_ST || BPF_CLASS(drawn.code) == BPF_STX ||
		 BPF_MODE(drawn.code) == BPF_MEM)
		drawn.k %= BPF_MEMWORDS;
	else if (BPF_CLASS(drawn.code) == BPF_ALU)
		drawn.k = drawn.k % 31 + 1;
	else if (BPF_CLASS(drawn.code) == BPF_JMP) {
		drawn.jt = (uint8_t)draw((uint32_t)left);
		drawn.jf = (uint8_t)draw((uint32_t)left);
		if (BPF_OP(drawn.code) == BPF_JA)
			drawn.k = drawn.jt;
	}
	return drawn;
}

/* Ends with an answer that depends on the computation. */
static size_t draw_program(struct sock_filter *program)
{
	const struct sock_filter start[] = {
		PREAMBLE,
		BPF_STMT(BPF_ST, 0),
		BPF_STMT(BPF_ST, 1),
		BPF_STMT(BPF_ST, 2),
		BPF_STMT(BPF_ST, 3),
	};
	const struct sock_filter end[] = {
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1u << draw(8), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, draw(2) ? SECCOMP_RET_ALLOW : SECCOMP_RET_LOG),
	};
	size_t count = ARRAY_SIZE(start);

	memcpy(program, start, sizeof(start));
	for (size_t left = LENGTH; left > 0; left--) {
		program[count] = draw_instruction(left);
		/* Only stored words may be loaded. */
		if (BPF_MODE(program[count].code) == BPF_MEM &&
		    BPF_CLASS(program[count].code) <= BPF_LDX)
			program[count].k %= 4;
		count++;
	}
	memcpy(program + count, end, sizeof(end));
	return count + ARRAY_SIZE(end);
}

static void any_program_answers_as_in_the_kernel(void **state)
{
	struct sock_filter program[LENGTH + 16];
	size_t answers[2] = {0};

	(void)state;
	srandom(1);
	for (size_t i = 0; i < PROGRAMS; i++) {
		size_t count = draw_program(program);
		int kernel = ask_kernel(program, count);

		if (kernel < 0)
			continue;
		assert_int_equal(seccomp_filter_allows(program, count, &call), kernel);
		answers[kernel]++;
	}
	/* Else nothing was compared. */
	assert_true(answers[0] > PROGRAMS / 8 && answers[1] > PROGRAMS / 8);
}

static void only_allow_and_log_leave_a_call_alone(void **state)
{
	static const struct {
		uint32_t answer;
		bool allows;
	} cases[] = {
		{SECCOMP_RET_ALLOW, true},	  {SECCOMP_RET_LOG, true},
		{SECCOMP_RET_TRACE, false},	  {SECCOMP_RET_USER_NOTIF, false},
		{SECCOMP_RET_ERRNO, false},	  {SECCOMP_RET_TRAP, false},
		{SECCOMP_RET_KILL_THREAD, false}, {SECCOMP_RET_KILL_PROCESS, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct sock_filter program[] = {BPF_STMT(BPF_RET | BPF_K, cases[i].answer)};

		assert_int_equal(seccomp_filter_allows(program, 1, &call), cases[i].allows);
	}
}

/* Programs that no kernel accepts. */
static void what_is_no_program_allows_nothing(void **state)
{
	static const struct sock_filter programs[][2] = {
		{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64),
		 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2),
		 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_LD | BPF_MEM, 16), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_ST, 16), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_JMP | BPF_JA, 7), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX),
		 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_ALU | 0xf0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_JMP | 0xf0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0),
		 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
		{BPF_STMT(BPF_LD | BPF_IMM, 1), BPF_STMT(BPF_LD | BPF_IMM, 1)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		assert_false(seccomp_filter_allows(programs[i], 2, &call));
	assert_false(seccomp_filter_allows(programs[0], 0, &call));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_program_answers_as_in_the_kernel),
		cmocka_unit_test(only_allow_and_log_leave_a_call_alone),
		cmocka_unit_test(what_is_no_program_allows_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
