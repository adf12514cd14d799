/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to an io_uring by raw system calls, each said with what the program
 * knows of it: "operation fd result name", all inside its span "asking".
 *
 * usage: requests DIRECTORY [poll|pending|slot|many N|left|shared|worked]; with poll the kernel's
 * thread submits, with pending a request waits for a byte on standard input, with slot each byte
 * there is one more request to a file that only a slot has. With left one whose completion is not
 * told is followed by one outside the span; with shared by one of the process that made the ring.
 * With worked a worker of the kernel's carries them out.
 */
#include <errno.h>
#include <fathom/fathom.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENTRIES 16
#define MUCH (64 << 20)

struct ring {
	int fd;
	int polled;
	struct io_uring_params params;
	unsigned char *queues;
	struct io_uring_sqe *requests;
	unsigned int submitted;
};

static _Atomic unsigned int *word(struct ring *r, unsigned int offset)
{
	return (_Atomic unsigned int *)(r->queues + offset);
}

static void open_ring(struct ring *r, int polled)
{
	size_t bytes;

	r->polled = polled;
	r->params.flags |= polled ? IORING_SETUP_SQPOLL : 0;
	r->params.sq_thread_idle = 2000;
	r->fd = (int)syscall(SYS_io_uring_setup, ENTRIES, &r->params);
	if (r->fd < 0) {
		fprintf(stderr, "no io_uring here: %s\n", strerror(errno));
		exit(77);
	}
	bytes = r->params.cq_off.cqes + r->params.cq_entries * sizeof(struct io_uring_cqe);
	if (bytes < r->params.sq_off.array + ENTRIES * sizeof(unsigned int))
		bytes = r->params.sq_off.array + ENTRIES * sizeof(unsigned int);
	r->queues = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
			 IORING_OFF_SQ_RING);
	r->requests = mmap(NULL, ENTRIES * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
			   MAP_SHARED, r->fd, IORING_OFF_SQES);
	if (r->queues == MAP_FAILED || r->requests == MAP_FAILED)
		exit(3);
}

/* A place for the next request, zeroed. */
static struct io_uring_sqe *ask(struct ring *r, int opcode, int fd)
{
	unsigned int at = r->submitted++ & (r->params.sq_entries - 1);
	struct io_uring_sqe *request = &r->requests[at];

	memset(request, 0, sizeof(*request));
	request->opcode = (unsigned char)opcode;
	request->fd = fd;
	word(r, r->params.sq_off.array)[at] = at;
	return request;
}

/* Submits what was asked for and waits for `wait` completions. */
static void submit(struct ring *r, unsigned int wait)
{
	unsigned int flags = IORING_ENTER_GETEVENTS;
	unsigned int before = atomic_load(word(r, r->params.sq_off.tail));

	atomic_store(word(r, r->params.sq_off.tail), r->submitted);
	if (r->polled)
		flags |= IORING_ENTER_SQ_WAKEUP;
	if (syscall(SYS_io_uring_enter, r->fd, r->submitted - before, wait, flags, NULL, 0) < 0)
		exit(4);
}

/* Takes the next completion; its result. */
static int take(struct ring *r)
{
	unsigned int head = atomic_load(word(r, r->params.cq_off.head));
	struct io_uring_cqe *queue = (void *)(r->queues + r->params.cq_off.cqes);
	int result;

	while (atomic_load(word(r, r->params.cq_off.tail)) == head)
		syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
	result = queue[head & (r->params.cq_entries - 1)].res;
	atomic_store(word(r, r->params.cq_off.head), head + 1);
	return result;
}

static int one(struct ring *r)
{
	submit(r, 1);
	return take(r);
}

static void say(const char *operation, int fd, int result, const char *name)
{
	printf("%s %d %d %s\n", operation, fd, result, name ? name : "-");
	fflush(stdout);
}

static const char *name_of(int fd)
{
	static char name[4096];
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = '\0';
	return name;
}

static struct io_uring_sqe *open_file(struct ring *r, const char *name, unsigned int slot)
{
	struct io_uring_sqe *request = ask(r, IORING_OP_OPENAT, AT_FDCWD);

	request->addr = (uintptr_t)name;
	request->len = 0600;
	request->open_flags = O_RDWR | O_CREAT;
	request->file_index = slot;
	return request;
}

static void data(struct io_uring_sqe *request, void *bytes, unsigned int len)
{
	request->addr = (uintptr_t)bytes;
	request->len = len;
}

/* Opens, writes, reads and closes by requests alone. */
static void file(struct ring *r)
{
	char bytes[512] = "text";
	int fd, result;

	open_file(r, "opened", 0);
	fd = one(r);
	say("openat", -1, fd, name_of(fd));
	data(ask(r, IORING_OP_WRITE, fd), bytes, 512);
	say("write", fd, one(r), name_of(fd));
	data(ask(r, IORING_OP_READ, fd), bytes, 100);
	say("read", fd, one(r), name_of(fd));
	ask(r, IORING_OP_FSYNC, fd);
	say("fsync", fd, one(r), name_of(fd));
	ask(r, IORING_OP_CLOSE, fd);
	result = one(r);
	say("close", -1, result, NULL);
	syscall(SYS_lseek, fd, 0L, 99); /* not open any more */
	data(ask(r, IORING_OP_READ, fd), bytes, 100);
	say("read", fd, one(r), NULL);
	open_file(r, "/nowhere/at all", 0);
	say("openat", -1, one(r), NULL);
	ask(r, 200, 0);
	say("nop", -1, one(r), NULL); /* refused: what no table knows counts as nop */
}

/* Opens a file that has only a slot; the result, or -1: that is not to be had. */
static int open_direct(struct ring *r)
{
	int slots[2] = {-1, -1};

	if (syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_FILES, slots, 2))
		return -1;
	open_file(r, "direct", 2);
	return one(r);
}

static int write_direct(struct ring *r)
{
	struct io_uring_sqe *request = ask(r, IORING_OP_WRITE, 1);
	static char bytes[64];

	request->flags = IOSQE_FIXED_FILE;
	data(request, bytes, sizeof(bytes));
	return one(r);
}

static void direct(struct ring *r, const char *directory)
{
	int opened = open_direct(r);
	char name[4096];

	if (opened == -1)
		return;
	say("openat", 1, opened, NULL);
	snprintf(name, sizeof(name), "%s/direct", directory);
	say("write", 1, write_direct(r), name);
}

static int fed(struct ring *r)
{
	char byte;

	if (open_direct(r) < 0)
		return 77;
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) == 1)
		if (write_direct(r) != 64)
			return 9;
	return 0;
}

/* One waits for the other; both were asked for at once. */
static void pipes(struct ring *r)
{
	char from[8], to[8] = "byte";
	int ends[2];

	if (pipe(ends))
		exit(5);
	data(ask(r, IORING_OP_READ, ends[0]), from, 8);
	submit(r, 0);
	usleep(20000);
	data(ask(r, IORING_OP_WRITE, ends[1]), to, 8);
	submit(r, 2);
	take(r);
	take(r);
	say("read", ends[0], 8, name_of(ends[0]));
	say("write", ends[1], 8, name_of(ends[1]));
}

static void sockets(struct ring *r)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), client, results[2];
	struct io_uring_sqe *request;
	socklen_t len = sizeof(at);

	if (bind(listener, (void *)&at, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&at, &len))
		exit(6);
	request = ask(r, IORING_OP_SOCKET, AF_INET);
	request->off = SOCK_STREAM;
	client = one(r);
	say("socket", -1, client, name_of(client));
	ask(r, IORING_OP_ACCEPT, listener);
	submit(r, 0);
	request = ask(r, IORING_OP_CONNECT, client);
	request->addr = (uintptr_t)&at;
	request->off = sizeof(at);
	submit(r, 2);
	results[0] = take(r);
	results[1] = take(r);
	say("accept", listener, results[0] > results[1] ? results[0] : results[1],
	    name_of(listener));
	say("connect", client, 0, name_of(client));
	syscall(SYS_lseek, results[0] > results[1] ? results[0] : results[1], 1L, 99);
	printf("port %d\n", ntohs(at.sin_port));
}

/* One that asks for no completion: that it ended shows when its memory is used again. */
static void skip(struct ring *r)
{
	ask(r, IORING_OP_NOP, -1)->flags = IOSQE_CQE_SKIP_SUCCESS;
	submit(r, 0);
	say("nop", -1, 0, "skipped");
}

static void skipped(struct ring *r)
{
	skip(r);
	ask(r, IORING_OP_NOP, -1);
	say("nop", -1, one(r), NULL);
}

/* Its memory is used by one that nobody asked for under a span. */
static void left(struct ring *r)
{
	struct fathom_span span = fathom_span_begin("asking");
	char bytes[8];

	skip(r);
	fathom_span_end(&span);
	data(ask(r, IORING_OP_READ, -1), bytes, 8);
	if (one(r) != -EBADF)
		exit(10);
}

/* The child asks, when there is a byte on standard input, and stays until there is no more. */
static int shared_child(struct ring *r, int told)
{
	char byte;

	if (read(0, &byte, 1) != 1)
		return 11;
	skip(r);
	if (write(told, "x", 1) != 1)
		return 12;
	return read(0, &byte, 1) == 0 ? 0 : 13;
}

/* The memory of a child's request is used by one of this process, which says then "done". */
static int shared(struct ring *r)
{
	char bytes[8];
	int ends[2], status;
	pid_t child;

	if (pipe(ends))
		return 14;
	child = fork();
	if (child == 0)
		_exit(shared_child(r, ends[1]));
	close(ends[1]);
	printf("%d\n", (int)child);
	fflush(stdout);
	if (read(ends[0], bytes, 1) == 1) {
		r->submitted = atomic_load(word(r, r->params.sq_off.tail));
		data(ask(r, IORING_OP_READ, -1), bytes, 8);
		puts(one(r) == -EBADF ? "done" : "failed");
		fflush(stdout);
	}
	return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 15;
}

/* A worker waits for who opens the other end, and one computes while this thread waits for it. */
static void worked(struct ring *r)
{
	struct io_uring_sqe *request;
	char *much = mmap(NULL, MUCH, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	int fd, end;

	if (much == MAP_FAILED || mkfifo("fifo", 0600))
		exit(16);
	request = ask(r, IORING_OP_OPENAT, AT_FDCWD);
	request->addr = (uintptr_t) "fifo";
	request->open_flags = O_RDONLY;
	request->flags = IOSQE_ASYNC;
	submit(r, 0);
	usleep(50000);
	end = open("fifo", O_WRONLY); /* waits until the worker is there */
	fd = take(r);
	say("openat", -1, fd, name_of(fd));
	close(end);
	fd = open("/dev/zero", O_RDONLY);
	request = ask(r, IORING_OP_READ, fd);
	request->flags = IOSQE_ASYNC;
	data(request, much, MUCH);
	say("read", fd, one(r), name_of(fd));
}

/* One that is in flight before anybody records. */
static int pending(struct ring *r)
{
	char from[8], to[8] = "byte", byte;
	int ends[2];

	if (pipe(ends))
		return 7;
	data(ask(r, IORING_OP_READ, ends[0]), from, 8);
	submit(r, 0);
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 1 || write(ends[1], to, 8) != 8)
		return 8;
	say("read", -1, take(r), name_of(ends[0]));
	return 0;
}

/* So many at once, which take two seconds. */
static int many(struct ring *r, int count)
{
	struct __kernel_timespec pause = {.tv_sec = 2};

	r->params.flags = IORING_SETUP_CQSIZE;
	r->params.cq_entries = 32768;
	open_ring(r, 0);
	for (int i = 0; i < count; i++) {
		struct io_uring_sqe *request = ask(r, IORING_OP_TIMEOUT, -1);

		request->addr = (unsigned long)&pause;
		request->len = 1;
		submit(r, 0);
	}
	for (int i = 0; i < count; i++)
		take(r);
	return 0;
}

int main(int argc, char **argv)
{
	int polled = argc == 3 && strcmp(argv[2], "poll") == 0;
	struct ring ring = {0};
	struct fathom_span span;

	if (argc < 2 || chdir(argv[1]))
		return 2;
	if (argc == 3 && strcmp(argv[2], "pending") == 0) {
		open_ring(&ring, 0);
		return pending(&ring);
	}
	if (argc == 3 && strcmp(argv[2], "shared") == 0) {
		open_ring(&ring, 0);
		return shared(&ring);
	}
	if (argc == 4 && strcmp(argv[2], "many") == 0)
		return many(&ring, atoi(argv[3]));
	if (argc == 3 && strcmp(argv[2], "slot") == 0) {
		open_ring(&ring, 0);
		return fed(&ring);
	}
	fathom_init("requests");
	usleep(150000); /* in its first tenth of a second a program writes for who may come */
	for (int i = 0; i < 10000 && !fathom_listening(); i++)
		usleep(1000);
	usleep(300000); /* until the active span is found, too */
	open_ring(&ring, polled);
	if (argc == 3 && strcmp(argv[2], "left") == 0) {
		left(&ring);
		return 0;
	}
	span = fathom_span_begin("asking");
	if (argc == 3 && strcmp(argv[2], "worked") == 0) {
		worked(&ring);
		fathom_span_end(&span);
		return 0;
	}
	file(&ring);
	pipes(&ring);
	if (!polled) {
		skipped(&ring);
		direct(&ring, argv[1]);
		sockets(&ring);
	}
	fathom_span_end(&span);
	return 0;
}
