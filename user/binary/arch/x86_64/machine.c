// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/machine.h"

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "base/cleanup.h"

static const struct {
	const char *name;
	size_t offset;
} general[] = {
#define REGISTER(name)                                                                             \
	{                                                                                          \
#name, offsetof(struct user_regs_struct, name)                                     \
	}
	REGISTER(rax), REGISTER(rbx),	   REGISTER(rcx), REGISTER(rdx), REGISTER(rsi),
	REGISTER(rdi), REGISTER(rbp),	   REGISTER(rsp), REGISTER(r8),	 REGISTER(r9),
	REGISTER(r10), REGISTER(r11),	   REGISTER(r12), REGISTER(r13), REGISTER(r14),
	REGISTER(r15), REGISTER(orig_rax),
#undef REGISTER
};
_Static_assert(ARRAY_SIZE(general) == MACHINE_REGISTERS, "a row for each");

static const char *const vectors[] = {"xmm0",  "xmm1",	"xmm2",	 "xmm3", "xmm4",  "xmm5",
				      "xmm6",  "xmm7",	"xmm8",	 "xmm9", "xmm10", "xmm11",
				      "xmm12", "xmm13", "xmm14", "xmm15"};
_Static_assert(ARRAY_SIZE(vectors) * 2 == MACHINE_VECTOR_WORDS, "two words each");

int machine_registers_read(pid_t tid, struct machine_registers *registers)
{
	struct user_fpregs_struct other = {0};
	struct iovec floating = {&other, sizeof(other)};

	/* In the tracer's layout, even for a 32-bit program. */
	if (ptrace(PTRACE_GETREGS, tid, NULL, &registers->general))
		return -errno;
	if (ptrace(PTRACE_GETREGSET, tid, NT_PRFPREG, &floating))
		memset(&other, 0, sizeof(other));
	machine_vectors_take(registers, &other, sizeof(other));
	return 0;
}

void machine_registers_take(struct machine_registers *registers, const elf_gregset_t given)
{
	_Static_assert(sizeof(elf_gregset_t) == sizeof(registers->general), "the same registers");
	memcpy(&registers->general, given, sizeof(registers->general));
}

bool machine_vectors_take(struct machine_registers *registers, const void *note, size_t size)
{
	struct user_fpregs_struct given;

	_Static_assert(sizeof(given.xmm_space) == sizeof(registers->vectors), "all of them");
	if (size < sizeof(given))
		return false;
	memcpy(&given, note, sizeof(given));
	memcpy(registers->vectors, given.xmm_space, sizeof(registers->vectors));
	return true;
}

/* Needs no other note: NT_PRSTATUS has the thread pointer. */
void machine_note_take(struct machine_registers *registers, uint32_t type, const void *note,
		       size_t size)
{
	(void)registers, (void)type, (void)note, (void)size;
}

uint64_t machine_register(const struct machine_registers *registers, unsigned number)
{
	uint64_t value;

	memcpy(&value, (const char *)&registers->general + general[number].offset, sizeof(value));
	return value;
}

const char *machine_register_name(unsigned number)
{
	return number < ARRAY_SIZE(general) ? general[number].name : "register";
}

/* psABI, 3.2.1 */
bool machine_is_preserved(unsigned number)
{
	static const char *const preserved[] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};

	for (size_t i = 0; number < ARRAY_SIZE(general) && i < ARRAY_SIZE(preserved); i++) {
		if (!strcmp(general[number].name, preserved[i]))
			return true;
	}
	return false;
}

const char *machine_vector_name(unsigned word)
{
	return word / 2 < ARRAY_SIZE(vectors) ? vectors[word / 2] : "register";
}

/* psABI, A.2.1 */
void machine_set_arguments(struct machine_registers *registers, const unsigned long long given[6])
{
	registers->general.rdi = given[0];
	registers->general.rsi = given[1];
	registers->general.rdx = given[2];
	registers->general.r10 = given[3];
	registers->general.r8 = given[4];
	registers->general.r9 = given[5];
}

/* The kernel shows the flag, since 6.6, if the processor has them and the kernel offers them. */
bool machine_has_shadow_stacks(void)
{
	_cleanup_fclose_ FILE *stream = fopen("/proc/cpuinfo", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (stream && getline(&line, &size, stream) > 0) {
		if (!strncmp(line, "flags", 5))
			return strstr(line, " user_shstk");
	}
	return false;
}

/* Documentation/arch/x86/shstk.rst, "Proc Status" */
bool machine_status_has_shadow_stack(const char *line)
{
	static const char features[] = "x86_Thread_features:";

	return !strncmp(line, features, strlen(features)) && strstr(line, "shstk");
}
