/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that sleeps with its stack in strange memory. Says "ready" once it does, and
 * ends when it is killed; except for untouched and file, which end when their input does
 * and say whether the page is in memory then. Usage: program MODE [PLACE]:
 *   untouched     a page that nobody has written
 *   file FILE     a page of a file
 *   handled       a page whose faults are handled in user mode, by nobody
 *   served DIR    a page of a file of a file system at DIR, served here, that never answers reads
 *   restless DIR  many threads, in pages that change all the time, also into such ones
 *   closed        a stack in outer() that nobody may read any more
 *   huge          a stack in outer(), in a large page
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define LARGE (2 << 20)
#define RESTLESS 8
#define CHANGES 6
#define SERVED_NODE 2
#define REQUEST_BYTES (1 << 17)
#define KEEP_FRAME() __asm__ volatile("" ::: "memory") /* no call is the last thing */

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void ready(void)
{
	puts("ready");
	fflush(stdout);
}

/* ---- a file system that does not answer reads ---- */

union reply {
	struct fuse_init_out init;
	struct fuse_entry_out entry;
	struct fuse_attr_out attr;
	struct fuse_open_out open;
};

static void attr_fill(struct fuse_attr *attr, unsigned long node)
{
	attr->ino = node;
	attr->mode = node == SERVED_NODE ? S_IFREG | 0700 : S_IFDIR | 0700;
	attr->nlink = 1;
	attr->size = PAGE;
}

/* Bytes of the reply; 0: none but the error, -1: no reply at all. */
static int reply_fill(union reply *r, const struct fuse_in_header *in)
{
	switch (in->opcode) {
	case FUSE_INIT:
		r->init.major = FUSE_KERNEL_VERSION;
		r->init.minor = FUSE_KERNEL_MINOR_VERSION;
		r->init.max_write = PAGE;
		return sizeof(r->init);
	case FUSE_LOOKUP:
		r->entry.nodeid = SERVED_NODE;
		r->entry.entry_valid = r->entry.attr_valid = 1000;
		attr_fill(&r->entry.attr, SERVED_NODE);
		return sizeof(r->entry);
	case FUSE_GETATTR:
		r->attr.attr_valid = 1000;
		attr_fill(&r->attr.attr, in->nodeid);
		return sizeof(r->attr);
	case FUSE_OPEN:
		return sizeof(r->open);
	case FUSE_READ:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return -1;
	default:
		return 0;
	}
}

static void *serve(void *arg)
{
	static char request[REQUEST_BYTES];
	const struct fuse_in_header *in = (const void *)request;
	int fd = *(int *)arg;

	while (read(fd, request, sizeof(request)) > 0) {
		struct {
			struct fuse_out_header head;
			union reply body;
		} out = {.head.unique = in->unique};
		int bytes = reply_fill(&out.body, in);

		if (bytes < 0)
			continue;
		out.head.error = bytes ? 0 : -ENOSYS;
		out.head.len = (unsigned)(sizeof(out.head) + (size_t)bytes);
		if (write(fd, &out, out.head.len) < 0)
			break;
	}
	return NULL;
}

/* A file of it, open. */
static int served_open(const char *directory)
{
	static int fd;
	char text[PATH_MAX];
	pthread_t thread;
	int file;

	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(text, sizeof(text), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("strange", directory, "fuse", MS_NOSUID | MS_NODEV, text) ||
	    pthread_create(&thread, NULL, serve, &fd))
		fail("fuse");
	snprintf(text, sizeof(text), "%s/file", directory);
	file = open(text, O_RDONLY | O_CLOEXEC);
	if (file < 0 || close(dup(file))) /* one close is answered: the last is not waited for */
		fail(text);
	return file;
}

/* ---- the stack pointer alone lies there ---- */

/* A call with stack and frame elsewhere, which it does not need itself. */
__attribute__((noinline)) static long call_astray(char *stack, long number, long first,
						  void *second)
{
#ifdef __x86_64__
	register long third __asm__("rdx") = 1;

	__asm__ volatile("mov %%rsp, %%r12\n"
			 "mov %%rbp, %%r13\n"
			 "mov %[stack], %%rsp\n"
			 "mov %[stack], %%rbp\n"
			 "syscall\n"
			 "mov %%r12, %%rsp\n"
			 "mov %%r13, %%rbp\n"
			 : "+a"(number)
			 : "D"(first), "S"(second), "r"(third), [stack] "r"(stack)
			 : "rcx", "r11", "r12", "r13", "memory");
	return number;
#else
	(void)stack, (void)number, (void)first, (void)second;
	exit(1);
#endif
}

/* At `at`, unless it is NULL; of memory if fd < 0. */
static char *page_map(char *at, int fd)
{
	int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0) | (at ? MAP_FIXED : 0);
	char *page = mmap(at, PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (page == MAP_FAILED)
		fail("mmap");
	return page;
}

static void wait_for_input(char *page)
{
	unsigned char in_memory = 1;
	char byte;

	ready();
	call_astray(page + PAGE / 2, SYS_read, 0, &byte);
	if (mincore(page, PAGE, &in_memory))
		fail("mincore");
	puts(in_memory & 1 ? "in memory" : "untouched");
}

static void file_astray(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || ftruncate(fd, PAGE))
		fail(path);
	wait_for_input(page_map(NULL, fd));
}

/* Who faults there waits for a handler, which is nobody. */
static int faults_take(char *page)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.range = {(unsigned long)page, PAGE},
					.mode = UFFDIO_REGISTER_MODE_MISSING};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		fail("userfaultfd");
	return fd;
}

static void wait_for_ever(char *page)
{
	char byte;

	ready();
	call_astray(page + PAGE / 2, SYS_read, 0, &byte);
}

static void *sleep_on(void *arg)
{
	struct timespec turn = {0, 15000000};

	for (;;)
		call_astray((char *)arg + PAGE / 2, SYS_nanosleep, (long)&turn, NULL);
	return NULL;
}

/* In this order: nobody waits here for what is not answered. */
static void page_change(char *page, int how, int served)
{
	int fd;

	switch (how) {
	case 0:
		memset(page, 1, PAGE);
		break;
	case 1:
		mprotect(page, PAGE, PROT_NONE);
		mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		break;
	case 2:
		madvise(page, PAGE, MADV_DONTNEED);
		break;
	case 3:
		fd = faults_take(page);
		usleep(500);
		close(fd);
		break;
	case 4:
		page_map(page, served);
		break;
	default:
		munmap(page, PAGE);
		page_map(page, -1);
	}
}

static void restless(int served)
{
	char *pages[RESTLESS];
	pthread_t thread;

	for (int i = 0; i < RESTLESS; i++) {
		pages[i] = page_map(NULL, -1);
		if (pthread_create(&thread, NULL, sleep_on, pages[i]))
			fail("pthread_create");
	}
	ready();
	for (int turn = 0;; turn = (turn + 1) % CHANGES, usleep(50))
		for (int i = 0; i < RESTLESS; i++)
			page_change(pages[i], (turn + i) % CHANGES, served);
}

/* ---- a whole stack lies there ---- */

static int input[2];

__attribute__((noinline)) static void inner(void)
{
	char byte;

	syscall(SYS_read, input[0], &byte, 1);
	KEEP_FRAME();
}

__attribute__((noinline)) static void middle(void)
{
	inner();
	KEEP_FRAME();
}

__attribute__((noinline)) static void outer(void)
{
	middle();
	KEEP_FRAME();
}

static void *stack_sleep(void *arg)
{
	(void)arg;
	outer();
	return NULL;
}

static char *memory_take(void)
{
	char *from = mmap(NULL, 2 * LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
	char *at = from + (-(unsigned long)from & (LARGE - 1));

	if (from == MAP_FAILED)
		fail("mmap");
	return at;
}

static void on_own_stack(const char *mode)
{
	char *memory = memory_take();
	pthread_attr_t attr;
	pthread_t thread;

	if (!strcmp(mode, "huge")) {
		madvise(memory, LARGE, MADV_HUGEPAGE);
		memset(memory, 1, LARGE);
	}
	if (pipe(input) || pthread_attr_init(&attr) ||
	    pthread_attr_setstack(&attr, memory, LARGE) ||
	    pthread_create(&thread, &attr, stack_sleep, NULL))
		fail("pthread_create");
	usleep(200000); /* until it sleeps; if it does not, it has no stack of that length */
	if (!strcmp(mode, "closed") && mprotect(memory, LARGE, PROT_NONE))
		fail("mprotect");
	ready();
	pause();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "", *place = argc > 2 ? argv[2] : "";
	char *page;

	if (!strcmp(mode, "untouched")) {
		wait_for_input(page_map(NULL, -1));
	} else if (!strcmp(mode, "file")) {
		file_astray(place);
	} else if (!strcmp(mode, "handled")) {
		page = page_map(NULL, -1);
		faults_take(page);
		wait_for_ever(page);
	} else if (!strcmp(mode, "served")) {
		wait_for_ever(page_map(NULL, served_open(place)));
	} else if (!strcmp(mode, "restless")) {
		restless(served_open(place));
	} else {
		on_own_stack(mode);
	}
	return 0;
}
