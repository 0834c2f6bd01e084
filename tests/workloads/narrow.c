// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Becomes a 32-bit program that waits for signals, made here byte by byte: no 32-bit compiler or
 * library is needed. Exits with 77 where the kernel runs none.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define BASE 0x100000
#define CODE (BASE + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr))

#if defined(__aarch64__)
#define MACHINE EM_ARM
#define FLAGS EF_ARM_EABI_VER5
static const uint32_t code[] = {
	0xe3a00001, 0xe28f1018, 0xe3a02008, /* mov r0, #1; add r1, pc, #24; mov r2, #8 */
	0xe3a07004, 0xef000000,		    /* mov r7, #4 (write); svc 0 */
	0xe3a0701d, 0xef000000, 0xeafffffc, /* again: mov r7, #29 (pause); svc 0; b again */
	0,	    0x64616572, 0x0a302079, /* "ready 0\n" */
};
#else
#define MACHINE EM_386
#define FLAGS 0
static const char code[] = "\xb8\x04\0\0\0"   /* mov $4, %eax (write) */
			   "\xbb\x01\0\0\0"   /* mov $1, %ebx */
			   "\xb9\x73\0\x10\0" /* mov $0x100073, %ecx: the text */
			   "\xba\x08\0\0\0"   /* mov $8, %edx */
			   "\xcd\x80"	      /* int $0x80 */
			   "\xb8\x1d\0\0\0"   /* again: mov $29, %eax (pause) */
			   "\xcd\x80"	      /* int $0x80 */
			   "\xeb\xf7"	      /* jmp again */
			   "ready 0\n";
#endif

int main(void)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		uint8_t code[sizeof(code)];
	} file = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = MACHINE,
			   .e_version = EV_CURRENT,
			   .e_entry = CODE,
			   .e_phoff = sizeof(Elf32_Ehdr),
			   .e_flags = FLAGS,
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			    .p_vaddr = BASE,
			    .p_filesz = sizeof(file),
			    .p_memsz = sizeof(file),
			    .p_flags = PF_R | PF_X,
			    .p_align = 0x10000},
	};
	int fd = memfd_create("narrow", MFD_CLOEXEC);
	char *const arguments[] = {"narrow", NULL};

	__builtin_memcpy(file.code, code, sizeof(code));
	if (fd < 0 || write(fd, &file, sizeof(file)) != (ssize_t)sizeof(file))
		return 1;
	fexecve(fd, arguments, arguments + 1);
	perror("no 32-bit programs here");
	return 77;
}
