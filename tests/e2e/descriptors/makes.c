/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes descriptors in every way there is, and says of each what readlink of
 * /proc/thread-self/fd says, just before a call on it that can be found again
 * by its number: lseek(fd, number, 99), which fails.
 *
 * usage: makes DIRECTORY, with a Unix socket as standard input by which two
 * descriptors come; or makes later DIRECTORY, which waits for a byte first. Then
 * it executes itself with "after".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define NO_WHENCE 99

static int number = 1000;

static void probe(int fd, const char *what)
{
	char path[64], name[4096];
	ssize_t n;

	if (fd < 0) { /* this kernel, or this machine, has none */
		printf("skip %s %d\n", what, errno);
		return;
	}
	snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	n = readlink(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = '\0';
	number++;
	printf("%d %d %s %s\n", number, fd, what, n > 0 ? name : "-");
	fflush(stdout);
	syscall(SYS_lseek, fd, (long)number, NO_WHENCE);
}

static void receive(int many)
{
	char byte, control[256];
	struct iovec part = {&byte, 1};
	struct mmsghdr m = {.msg_hdr = {.msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control,
					.msg_controllen = sizeof(control)}};
	struct cmsghdr *c;
	int fds[2];

	if (many ? recvmmsg(0, &m, 1, MSG_CMSG_CLOEXEC, NULL) != 1 : recvmsg(0, &m.msg_hdr, 0) != 1)
		exit(3);
	c = CMSG_FIRSTHDR(&m.msg_hdr);
	if (!c || c->cmsg_len != CMSG_LEN(sizeof(fds)))
		exit(4);
	memcpy(fds, CMSG_DATA(c), sizeof(fds));
	probe(fds[0], many ? "recvmmsg" : "recvmsg");
	probe(fds[1], many ? "recvmmsg" : "recvmsg");
}

static int pseudo_terminal(void)
{
	int unlock = 0, fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);

	if (fd < 0 || ioctl(fd, TIOCSPTLCK, &unlock))
		return -1;
	return ioctl(fd, TIOCGPTPEER, O_RDWR | O_NOCTTY);
}

/* A filter that allows all, with a descriptor for who would be asked. */
static int seccomp_listener(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static int namespace_of_process(void)
{
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	return ioctl(self, _IO(0xff, 4) /* PIDFD_GET_NET_NAMESPACE */, 0);
}

/* The descriptor that a process was made with; -1: this kernel does not make it so. */
static int process_of(long child, const int *fd)
{
	if (child == 0)
		_exit(0);
	return child > 0 && waitpid((pid_t)child, NULL, 0) == child ? *fd : -1;
}

static int process_by_clone(void)
{
	int fd = -1;

	return process_of(syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &fd, 0, 0), &fd);
}

/* Its arguments lie in memory. */
static int process_by_clone3(void)
{
	int fd = -1;
	struct clone_args args = {.flags = CLONE_PIDFD | CLONE_VFORK,
				  .pidfd = (uintptr_t)&fd,
				  .exit_signal = SIGCHLD};

	return process_of(syscall(SYS_clone3, &args, sizeof(args)), &fd);
}

static int process_of_peer(void)
{
	int pair[2], fd = -1;
	socklen_t len = sizeof(fd);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    getsockopt(pair[0], SOL_SOCKET, 77 /* SO_PEERPIDFD */, &fd, &len))
		fd = -1;
	close(pair[0]);
	close(pair[1]);
	return fd;
}

static void anonymous(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY};
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	sigset_t none;

	sigemptyset(&none);
	probe(memfd_create("paper", 0), "memfd_create");
	probe(eventfd(0, EFD_CLOEXEC), "eventfd");
	probe(timerfd_create(CLOCK_MONOTONIC, 0), "timerfd");
	probe(signalfd(-1, &none, 0), "signalfd");
	probe(inotify_init1(0), "inotify");
	probe(epoll_create1(0), "epoll");
	probe((int)syscall(SYS_userfaultfd, 1 /* user mode only */), "userfaultfd");
	probe((int)syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof(map)), "bpf");
	probe((int)syscall(SYS_pidfd_open, getpid(), 0), "pidfd_open");
	probe(process_by_clone(), "clone");
	probe(process_by_clone3(), "clone3");
	probe(process_of_peer(), "SO_PEERPIDFD");
	probe(pseudo_terminal(), "TIOCGPTPEER");
	probe(seccomp_listener(), "seccomp");
	probe(namespace_of_process(), "PIDFD_GET_NET_NAMESPACE");
	probe((int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0), "perf_event_open");
}

static void files(const char *directory)
{
	struct open_how how = {.flags = O_RDWR | O_CREAT, .mode = 0600};
	struct {
		struct file_handle handle;
		unsigned char bytes[128];
	} h = {.handle = {.handle_bytes = 128}};
	int fd, mount, self;

	if (chdir(directory))
		exit(5);
	fd = (int)syscall(SYS_openat2, AT_FDCWD, "by-openat2", &how, sizeof(how));
	probe(fd, "openat2");
	self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	probe((int)syscall(SYS_pidfd_getfd, self, fd, 0), "pidfd_getfd");
	probe(dup(fd), "dup");
	probe(dup2(fd, 70), "dup2");
	probe(dup3(fd, 71, O_CLOEXEC), "dup3");
	probe(fcntl(fd, F_DUPFD, 80), "F_DUPFD");
	probe(creat("by-creat", 0600), "creat");
	if (name_to_handle_at(AT_FDCWD, "by-creat", &h.handle, &mount, 0) == 0)
		probe(open_by_handle_at(AT_FDCWD, &h.handle, O_RDONLY), "open_by_handle_at");
	probe(open(".", O_TMPFILE | O_RDWR, 0600), "O_TMPFILE");
	probe(open(".", O_DIRECTORY | O_PATH), "O_PATH");
}

/* Names that go while the file is open. */
static void deleted(void)
{
	int fd = creat("by-name", 0600), linked = creat("linked", 0600), dir, memory;

	probe(fd, "creat");
	unlink("by-name");
	probe(fd, "unlink");
	probe(dup(fd), "dup-of-unlinked");
	probe(creat("by-name", 0600), "made-again");
	if (link("linked", "other"))
		exit(6);
	unlink("linked");
	probe(linked, "one-name-of-two");
	mkdir("folder", 0700);
	dir = open("folder", O_RDONLY | O_DIRECTORY);
	rmdir("folder");
	probe(dir, "rmdir");
	mkfifo("fifo", 0600);
	dir = open("fifo", O_RDWR);
	unlink("fifo");
	probe(dir, "fifo");
	memory = open("/dev/shm/fathom-makes", O_RDWR | O_CREAT, 0600);
	unlink("/dev/shm/fathom-makes");
	probe(memory, "shm");
	probe(open("/proc/self/ns/net", O_RDONLY), "namespace");
}

static void sockets(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int pair[2], listener = socket(AF_INET, SOCK_STREAM, 0), client;

	if (bind(listener, (void *)&at, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&at, &len))
		exit(6);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connect(client, (void *)&at, len))
		exit(7);
	probe(listener, "socket");
	probe(client, "connect");
	probe(accept4(listener, NULL, NULL, SOCK_CLOEXEC), "accept4");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
		exit(8);
	probe(pair[0], "socketpair");
	probe(pair[1], "socketpair");
	if (pipe2(pair, O_CLOEXEC))
		exit(9);
	probe(pair[0], "pipe2");
	probe(pair[1], "pipe2");
}

static int opened(const char *name, int at, int flags)
{
	int fd = open(name, O_CREAT | O_RDWR | flags, 0600);

	if (fd < 0 || dup3(fd, at, flags & O_CLOEXEC) != at)
		exit(10);
	close(fd);
	return at;
}

/* A table of its own: the same numbers mean other files here and there. */
static void *apart(void *arg)
{
	opened("before", 90, 0);
	probe(90, "shared");
	if (unshare(CLONE_FILES))
		exit(11);
	opened("apart", 90, 0);
	close(91);
	probe(90, "unshared");
	probe(91, "unshared-closed");
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	probe(90, "unshared-later");
	if (syscall(SYS_close_range, 92, 93, 0))
		exit(12);
	probe(92, "range-closed");
	return NULL;
}

static void threads(void)
{
	pthread_barrier_t both;
	pthread_t thread;
	pid_t child;

	opened("common", 91, 0);
	opened("ranged", 92, 0);
	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&thread, NULL, apart, &both))
		exit(13);
	pthread_barrier_wait(&both);
	probe(90, "of-the-process");
	probe(91, "of-the-process");
	opened("again", 90, 0);
	pthread_barrier_wait(&both);
	pthread_join(thread, NULL);
	probe(90, "of-the-process");
	probe(92, "of-the-process");
	child = fork();
	if (child == 0) {
		number += 100;
		if (syscall(SYS_close_range, 92, 92, CLOSE_RANGE_UNSHARE))
			exit(14);
		probe(92, "closed-in-child");
		opened("of-child", 92, 0);
		probe(92, "of-child");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	number += 200;
	probe(92, "of-parent");
}

/* What the exec will close, and what not; by all ways to mark. */
static void mark(void)
{
	opened("stays", 100, 0);
	opened("by-open", 101, O_CLOEXEC);
	opened("by-setfd", 102, 0);
	opened("cleared", 103, O_CLOEXEC);
	opened("ranged-1", 104, 0);
	opened("ranged-2", 105, 0);
	fcntl(102, F_SETFD, FD_CLOEXEC);
	fcntl(103, F_SETFD, 0);
	if (syscall(SYS_close_range, 104, 105, CLOSE_RANGE_CLOEXEC))
		exit(15);
	for (int fd = 100; fd < 106; fd++)
		probe(fd, "before-exec");
}

/* What lies in files and tables before anybody records. */
static void *apart_before(void *arg)
{
	if (unshare(CLONE_FILES))
		exit(17);
	opened("apart", 90, 0);
	opened("apart-only", 95, 0);
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	probe(90, "apart-before");
	probe(95, "apart-before");
	pthread_barrier_wait(arg);
	return NULL;
}

static void later(const char *directory)
{
	pthread_barrier_t both;
	pthread_t thread;
	char byte;

	if (chdir(directory))
		exit(18);
	opened("common", 90, 0);
	opened("stays", 100, 0);
	opened("by-open", 101, O_CLOEXEC);
	opened("set-later", 102, 0);
	opened("gone", 103, 0);
	unlink("gone");
	pthread_barrier_init(&both, NULL, 2);
	if (pthread_create(&thread, NULL, apart_before, &both))
		exit(19);
	pthread_barrier_wait(&both);
	puts("ready");
	fflush(stdout);
	if (read(0, &byte, 1) != 1)
		exit(20);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	for (int fd = 90; fd < 104; fd++)
		probe(fd, "snapshot");
	fcntl(102, F_SETFD, FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	char from[16];

	if (argc == 3 && strcmp(argv[1], "after") == 0) {
		number = atoi(argv[2]);
		for (int fd = 100; fd < 106; fd++)
			probe(fd, "after-exec");
		probe(fcntl(100, F_DUPFD, 120), "dup-after-exec");
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "later") == 0) {
		later(argv[2]);
		execl("/proc/self/exe", "makes", "after", "2000", NULL);
	}
	if (argc != 2)
		return 2;
	probe(0, "inherited");
	receive(0);
	receive(1);
	anonymous();
	files(argv[1]);
	deleted();
	sockets();
	threads();
	mark();
	snprintf(from, sizeof(from), "%d", number + 50);
	execl("/proc/self/exe", "makes", "after", from, NULL);
	return 16;
}
