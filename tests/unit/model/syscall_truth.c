/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the calls of syscall_cases.h and nothing else: no libc, no loader. It
 * is run under strace with every call refused, so that none has an effect.
 */
#include "syscall_cases.h"

static long call(long nr, const long *a)
{
	register long d __asm__("r10") = a[3];
	register long e __asm__("r8") = a[4];
	register long f __asm__("r9") = a[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(d), "r"(e), "r"(f)
			 : "rcx", "r11", "memory");
	return result;
}

/* The same with the number and the registers of a 32-bit program. */
static long call_compat(long nr, const long *a)
{
	long result;

	__asm__ volatile("push %%rbp\n\t"
			 "mov %7, %%ebp\n\t"
			 "int $0x80\n\t"
			 "pop %%rbp"
			 : "=a"(result)
			 : "a"(nr), "b"(a[0]), "c"(a[1]), "d"(a[2]), "S"(a[3]), "D"(a[4]),
			   "r"((int)a[5])
			 : "r8", "r9", "r10", "r11", "memory");
	return result;
}

void _start(void) __attribute__((force_align_arg_pointer)); /* the kernel aligns for no call */

/* Without strace the first call is not refused: then end at once. */
void _start(void)
{
	static const long none[6];
	unsigned long state = SYSCALL_RANDOM_SEED;

	if (call(SYSCALL_NR_getpid, none) == -38) {
		for (unsigned long i = 0; i < SYSCALL_CASES_COUNT; i++)
			call(syscall_cases[i].nr, syscall_cases[i].args);
		for (int i = 0; i < SYSCALL_RANDOM_CASES; i++) {
			struct syscall_case c = syscall_random_case(&state);

			call(c.nr, c.args);
		}
		call(SYSCALL_NR_getpid, none);
		for (unsigned long i = 0; i < SYSCALL_COMPAT_CASES_COUNT; i++)
			call_compat(syscall_compat_cases[i].nr, syscall_compat_cases[i].args);
	}
	call(SYSCALL_NR_exit_group, none);
	__builtin_unreachable();
}
