// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs for the kernel, before they are loaded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "leakmon_object.h"
#include "leakmon.skel.h"

static bool has_tail_call(const struct bpf_program *program)
{
	const struct bpf_insn *code = bpf_program__insns(program);

	for (size_t i = 0; i < bpf_program__insn_cnt(program); i++) {
		if (code[i].code == (BPF_JMP | BPF_CALL) && !code[i].src_reg &&
		    code[i].imm == BPF_FUNC_tail_call)
			return true;
	}
	return false;
}

/* See bpf/own_stack.bpf.h. */
static void programs_of_uprobes_keep_the_stack_of_their_thread(void **state)
{
	struct leakmon_bpf *skeleton = leakmon_bpf__open();
	struct bpf_program *program;
	size_t count = 0;

	(void)state;
	assert_non_null(skeleton);
	bpf_object__for_each_program (program, skeleton->obj) {
		if (strcmp(bpf_program__section_name(program), "uprobe"))
			continue;
		if (!has_tail_call(program))
			fail_msg("%s has no keep_own_stack()", bpf_program__name(program));
		count++;
	}
	assert_true(count > 0);
	leakmon_bpf__destroy(skeleton);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_of_uprobes_keep_the_stack_of_their_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
