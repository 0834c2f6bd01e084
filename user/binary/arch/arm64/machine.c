// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/machine.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "binary/arch/system_call.h"

/* svc #0 */
#define SUPERVISOR_CALL 0xd4000001u

static const char *const general[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",	 "x7",	"x8",  "x9",  "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30",
};
_Static_assert(ARRAY_SIZE(general) == MACHINE_REGISTERS, "a name for each");

static const char *const vectors[] = {
	"v0",  "v1",  "v2",  "v3",  "v4",  "v5",  "v6",	 "v7",	"v8",  "v9",  "v10",
	"v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21",
	"v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31",
};
_Static_assert(ARRAY_SIZE(vectors) * 2 == MACHINE_VECTOR_WORDS, "two words each");

/* Reads a register set. Returns 0 if it was read in full. A 32-bit program has smaller sets. */
static int read_set(pid_t tid, unsigned long set, void *to, size_t size)
{
	struct iovec into = {to, size};

	if (ptrace(PTRACE_GETREGSET, tid, set, &into))
		return -errno;
	return into.iov_len == size ? 0 : -ENOTSUP;
}

/*
 * The kernel forgets the number of a call before it stops a thread on the way out of it, and sets
 * the program counter back if the call is to be restarted.
 */
static void find_call(pid_t tid, struct machine_registers *registers)
{
	uint64_t words;

	registers->begins_again = false;
	if (!read_set(tid, NT_ARM_SYSTEM_CALL, &registers->call, sizeof(registers->call)) &&
	    registers->call >= 0)
		return;
	registers->call = -1;
	errno = 0;
	words = (uint64_t)ptrace(PTRACE_PEEKTEXT, tid, registers->general.pc - 4, NULL);
	if (errno)
		return;
	registers->begins_again = words >> 32 == SUPERVISOR_CALL;
	if (registers->begins_again || (uint32_t)words == SUPERVISOR_CALL)
		registers->call = (int32_t)registers->general.regs[8];
}

int machine_registers_read(pid_t tid, struct machine_registers *registers)
{
	struct user_fpsimd_struct other;
	int error = read_set(tid, NT_PRSTATUS, &registers->general, sizeof(registers->general));

	if (error)
		return error;
	if (read_set(tid, NT_ARM_TLS, &registers->thread_pointer,
		     sizeof(registers->thread_pointer)))
		registers->thread_pointer = 0;
	if (read_set(tid, NT_PRFPREG, &other, sizeof(other)))
		memset(&other, 0, sizeof(other));
	machine_vectors_take(registers, &other, sizeof(other));
	find_call(tid, registers);
	return 0;
}

void machine_registers_take(struct machine_registers *registers, const elf_gregset_t given)
{
	_Static_assert(sizeof(elf_gregset_t) == sizeof(registers->general), "the same registers");
	memcpy(&registers->general, given, sizeof(registers->general));
	registers->call = -1;
}

bool machine_vectors_take(struct machine_registers *registers, const void *note, size_t size)
{
	struct user_fpsimd_struct given;

	_Static_assert(sizeof(given.vregs) == sizeof(registers->vectors), "all of them");
	if (size < sizeof(given))
		return false;
	memcpy(&given, note, sizeof(given));
	memcpy(registers->vectors, given.vregs, sizeof(registers->vectors));
	return true;
}

void machine_note_take(struct machine_registers *registers, uint32_t type, const void *note,
		       size_t size)
{
	if (type == NT_ARM_TLS && size >= sizeof(registers->thread_pointer))
		memcpy(&registers->thread_pointer, note, sizeof(registers->thread_pointer));
}

uint64_t machine_register(const struct machine_registers *registers, unsigned number)
{
	return registers->general.regs[number];
}

const char *machine_register_name(unsigned number)
{
	return number < ARRAY_SIZE(general) ? general[number] : "register";
}

/* AAPCS64, 6.1.1: x19 to x29. */
bool machine_is_preserved(unsigned number)
{
	return number >= 19 && number <= 29;
}

const char *machine_vector_name(unsigned word)
{
	return word / 2 < ARRAY_SIZE(vectors) ? vectors[word / 2] : "register";
}

/* arch/arm64/include/asm/syscall.h, syscall_get_arguments() */
void machine_set_arguments(struct machine_registers *registers, const unsigned long long given[6])
{
	for (int i = 0; i < 6; i++)
		registers->general.regs[i] = given[i];
}

bool machine_has_shadow_stacks(void)
{
	return false;
}

bool machine_status_has_shadow_stack(const char *line)
{
	(void)line;
	return false;
}
