/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans "work" in which the pages that say which span the thread has are not in memory while it
 * sleeps 10 ms; ROUNDS of them, behind each one such a sleep in none. Exits with 2 if these pages
 * were there too often.
 */
#include <fathom/fathom.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000
#define PAGES 4 /* of the thread's own storage, down from its thread pointer */

static const struct timespec nap = {.tv_nsec = 10 * MS};

/*
 * How many are on swap. Nothing here touches those pages: glibc's syscall() writes errno, which is
 * there, on errors only.
 */
static int sleeps_without(uintptr_t top, uintptr_t page, int pagemap)
{
	int gone = 0;

	for (int i = 0; i < PAGES; i++)
		syscall(SYS_madvise, top - i * page, page, MADV_PAGEOUT);
	syscall(SYS_nanosleep, &nap, NULL);
	for (int i = 0; i < PAGES; i++) {
		uint64_t of_page = 0;

		syscall(SYS_pread64, pagemap, &of_page, 8, (top / page - i) * 8);
		gone += of_page >> 62 & 1;
	}
	return gone;
}

int main(int argc, char **argv)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t top = (uintptr_t)__builtin_thread_pointer() & ~(page - 1);
	struct timespec seen = {.tv_nsec = 300 * MS};
	int pagemap = open("/proc/self/pagemap", O_RDONLY), gone = 0;
	struct fathom_span span;

	if (argc < 2 || fathom_init("swapped"))
		return 1;
	span = fathom_span_begin("seen");
	nanosleep(&seen, NULL);
	fathom_span_end(&span);
	for (int i = 0; i < atoi(argv[1]); i++) {
		span = fathom_span_begin("work");
		gone += sleeps_without(top, page, pagemap) > 0;
		fathom_span_end(&span);
		getppid(); /* here it is seen that there is none */
		gone += sleeps_without(top, page, pagemap) > 0;
	}
	return gone < atoi(argv[1]) ? 2 : 0;
}
