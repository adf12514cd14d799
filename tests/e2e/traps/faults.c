/* SPDX-License-Identifier: Apache-2.0 */
/* Page faults that do not pair by themselves. */
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <sys/ioctl.h>

#include "traps.h"

static sigjmp_buf back;

static void *pages_new(size_t bytes, int protection)
{
	void *pages = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		exit(1);
	madvise(pages, bytes, MADV_NOHUGEPAGE);
	return pages;
}

/* Computes where a tracer could take the time for that of the fault. */
static void on_fault(int signal)
{
	(void)signal;
	spin_ms(2);
	siglongjmp(back, 1);
}

/* Faults that end as a signal, with 2 ms of user code and no call behind each. */
static int segv_run(long times, char **argv)
{
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
	volatile char *page = pages_new(4096, PROT_NONE);
	volatile long i = 0;

	(void)argv;
	sigaction(SIGSEGV, &action, NULL);
	while (i < times) {
		i++;
		if (sigsetjmp(back, 0) == 0)
			*page = 1;
	}
	return 0;
}

/* The last thing that the thread does is a fault. */
static int segv_die_run(long number, char **argv)
{
	volatile char *page = pages_new(4096, PROT_NONE);

	(void)argv;
	prctl(PR_SET_DUMPABLE, 0);
	*page = (char)number;
	return 0;
}

/* Fresh memory that a call fills: one fault of the kernel for each of the pages. */
static int nested_run(long pages, char **argv)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *memory = pages_new((size_t)pages * 4096, PROT_READ | PROT_WRITE);
	bool good = true;

	(void)argv;
	for (long i = 0; i < pages; i++)
		good &= read(zero, memory + i * 4096, 4096) == 4096;
	return !good;
}

/* A call that meets memory that is not there fails, and its fault has no end. */
static int efault_run(long times, char **argv)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *nothing = pages_new(4096, PROT_NONE);
	bool good = true;

	(void)argv;
	for (long i = 0; i < times; i++) {
		good &= read(zero, nothing, 1) == -1 && errno == EFAULT;
		spin_ms(2);
	}
	return !good;
}

/* Calls whose path is not in memory: one fails by that, the other before it reads the path. */
static int unread_run(long times, char **argv)
{
	char *nothing = pages_new(4096, PROT_NONE), *untouched = pages_new(4096, PROT_READ);
	bool good = true;

	(void)argv;
	printf("%lu\n", (unsigned long)untouched);
	fflush(stdout);
	for (long i = 0; i < times; i++) {
		good &= syscall(SYS_openat, AT_FDCWD, nothing, O_RDONLY, 0) == -1 &&
			errno == EFAULT;
		spin_ms(2);
		good &= syscall(SYS_openat2, AT_FDCWD, untouched, NULL, 1) == -1 && errno == EINVAL;
		spin_ms(2);
	}
	return !good;
}

/* Touches fresh pages on a CPU, one after the other, with 3 ms or so of user code behind each. */
static int touch_run(long pages, char **argv)
{
	volatile char *memory = pages_new((size_t)pages * 4096, PROT_READ | PROT_WRITE);
	bool has_cpu = argv[2] && argv[3];
	int ms = has_cpu && argv[4] ? atoi(argv[4]) : 3;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(has_cpu ? atoi(argv[3]) : 0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		TRUTH_SKIP("there is no such CPU");
	for (long i = 0; i < pages; i++) {
		memory[i * 4096] = 1;
		spin_ms(ms);
		sleep_until(truth_now() + 15 * MS);
	}
	return 0;
}

static void *page_touch(void *page)
{
	*(volatile char *)page = 1;
	return NULL;
}

/* A thread is in a fault until a byte comes in; says when it is. */
static int late_end_run(long number, char **argv)
{
	int fd = (int)syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC);
	void *page = pages_new(4096, PROT_READ | PROT_WRITE);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register watched = {.range = {(uintptr_t)page, 4096},
					  .mode = UFFDIO_REGISTER_MODE_MISSING};
	struct uffdio_zeropage fill = {.range = {(uintptr_t)page, 4096}};
	struct uffd_msg message;
	pthread_t thread;
	char byte;

	(void)number, (void)argv;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &watched))
		TRUTH_SKIP("faults cannot be held here: %s", strerror(errno));
	if (pthread_create(&thread, NULL, page_touch, page))
		return 1;
	TRUTH_TRY(read(fd, &message, sizeof(message)));
	printf("in a fault\n");
	fflush(stdout);
	TRUTH_TRY(read(0, &byte, 1));
	TRUTH_TRY(ioctl(fd, UFFDIO_ZEROPAGE, &fill));
	return pthread_join(thread, NULL);
}

/* Futexes that nobody waits for, in pages of a file that have to be read. */
static int futex_page_run(long pages, char **argv)
{
	int fd = open(argv[3], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	size_t bytes = (size_t)pages * 4096;
	static char full[4096];
	char *memory;

	memset(full, 1, sizeof(full));
	for (long i = 0; i < pages; i++)
		TRUTH_TRY(write(fd, full, sizeof(full)));
	TRUTH_TRY(fsync(fd));
	TRUTH_TRY(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED || madvise(memory, bytes, MADV_RANDOM))
		return 1;
	for (long i = 0; i < pages; i++)
		TRUTH_TRY(syscall(SYS_futex, memory + i * 4096, FUTEX_WAKE, 1, NULL, NULL, 0));
	return 0;
}

/* Whether the page of calls of old is there, to be run. */
static bool vsyscall_is_there(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool found = false;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "[vsyscall]") && strstr(line, "xp ");
	if (maps)
		fclose(maps);
	return found;
}

/* time() in that page, some times; 2 ms of user code behind each. */
static int vsyscall_run(long times, char **argv)
{
	time_t (*call)(time_t *) = (void *)0xffffffffff600400ul;

	(void)argv;
	if (!vsyscall_is_there())
		TRUTH_SKIP("there is no vsyscall page");
	for (long i = 0; i < times; i++) {
		if (call(NULL) < 1)
			return 1;
		spin_ms(2);
	}
	return 0;
}

const struct trap traps_faults[] = {
	{"segv", segv_run},
	{"segv_die", segv_die_run},
	{"nested", nested_run},
	{"efault", efault_run},
	{"unread", unread_run},
	{"touch", touch_run},
	{"late_end", late_end_run},
	{"vsyscall", vsyscall_run},
	{"futex_page", futex_page_run},
	{NULL, NULL},
};
