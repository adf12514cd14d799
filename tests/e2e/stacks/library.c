/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is loaded, waits, and is gone again. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void library_waits(void);

/* As C++ calls a function template of a class. */
__attribute__((noinline)) void library_inner(void) __asm__("_ZN7Library5innerIiEEvT_");

void library_inner(void)
{
	syscall(SYS_nanosleep, &(struct timespec){0, 60000000}, NULL);
	__asm__ volatile("" ::: "memory");
}

void library_waits(void)
{
	library_inner();
	__asm__ volatile("" ::: "memory");
}
