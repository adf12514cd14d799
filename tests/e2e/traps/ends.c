/* SPDX-License-Identifier: Apache-2.0 */
/* Waits on a socket, and what the process at its other end does that ends them. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "traps.h"

enum { GIVER, TAKER };

/* Two processes, in a network namespace of their own each if `apart`: a pair of veth joins them. */
struct ends {
	const char *way;
	bool apart;
	long rounds;
	struct sockaddr_in address[2]; /* the giver's of datagrams only */
	int tell[2], start[2];	       /* by the end that is started, to both */
	pid_t *pids;		       /* of both; memory that they share */
};

#define CALLS 5

/* Sends a few bytes in one of the ways there are; `to` only for a socket that is not connected. */
static void give(int fd, long how, struct sockaddr_in *to)
{
	char text[] = "text";
	struct iovec vector = {text, sizeof(text)};
	struct mmsghdr message = {.msg_hdr = {to, to ? sizeof(*to) : 0, &vector, 1}};
	socklen_t length = to ? sizeof(*to) : 0;

	if (to)
		how = how % 3 + 2;
	switch (how % CALLS) {
	case 0:
		TRUTH_TRY(write(fd, text, sizeof(text)));
		return;
	case 1:
		TRUTH_TRY(writev(fd, &vector, 1));
		return;
	case 2:
		TRUTH_TRY(sendto(fd, text, sizeof(text), 0, (void *)to, length));
		return;
	case 3:
		TRUTH_TRY(sendmsg(fd, &message.msg_hdr, 0));
		return;
	default:
		TRUTH_TRY(sendmmsg(fd, &message, 1, 0));
	}
}

/* How much it received in one of the ways there are; 0 where the other end is gone. */
static ssize_t take(int fd, long how)
{
	static char text[1 << 16];
	struct iovec vector = {text, sizeof(text)};
	struct mmsghdr message = {.msg_hdr = {NULL, 0, &vector, 1}};
	ssize_t n;

	switch (how % CALLS) {
	case 0:
		n = read(fd, text, sizeof(text));
		break;
	case 1:
		n = readv(fd, &vector, 1);
		break;
	case 2:
		n = recv(fd, text, sizeof(text), 0);
		break;
	case 3:
		n = recvmsg(fd, &message.msg_hdr, 0);
		break;
	default:
		n = recvmmsg(fd, &message, 1, 0, NULL);
		if (n > 0)
			n = message.msg_len;
	}
	if (n < 0 && errno == ECONNRESET)
		return 0;
	TRUTH_TRY(n);
	return n;
}

/* In a call, and not in the one of let_sleep(); or it has ended. */
static bool is_asleep(pid_t pid)
{
	char path[64], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	fd = open(path, O_RDONLY);
	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	return strncmp(text, "running", 7) != 0 && atol(text) >= 0 &&
	       atol(text) != SYS_clock_nanosleep;
}

/* Until the other end waits for this one. */
static void let_sleep(const struct ends *ends, int other)
{
	do
		sleep_until(truth_now() + MS);
	while (!is_asleep(ends->pids[other]));
}

static bool ends_are(const struct ends *ends, const char *way)
{
	return strcmp(ends->way, way) == 0;
}

static int give_connect(const struct ends *ends)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	let_sleep(ends, TAKER);
	TRUTH_TRY(connect(fd, (void *)&ends->address[TAKER], sizeof(ends->address[TAKER])));
	if (!ends_are(ends, "linger")) /* in which the taker waits for the close */
		let_sleep(ends, TAKER);
	return fd;
}

/* One that is gone with the process. */
static void give_exit(const struct ends *ends)
{
	pid_t child = fork();

	TRUTH_TRY(child);
	if (!child) {
		give_connect(ends);
		_exit(0);
	}
	TRUTH_TRY(waitpid(child, NULL, 0));
}

/*
 * More than the taker has room for: the close waits until that is taken. The giver has room for all
 * of it: it is not told of any that becomes free.
 */
static void give_much(int fd)
{
	static char much[1 << 16];
	struct linger linger = {1, 10};
	int room = 2 * sizeof(much);

	TRUTH_TRY(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)));
	TRUTH_TRY(send(fd, much, sizeof(much), MSG_DONTWAIT));
	TRUTH_TRY(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
}

static void giver(const struct ends *ends)
{
	int fd;

	for (long i = 0; i < ends->rounds; i++) {
		if (ends_are(ends, "exit")) {
			give_exit(ends);
			continue;
		}
		fd = give_connect(ends);
		if (ends_are(ends, "send")) {
			give(fd, i, NULL);
			let_sleep(ends, TAKER);
		} else if (ends_are(ends, "linger")) {
			give_much(fd);
		} else if (ends_are(ends, "shutdown")) {
			TRUTH_TRY(shutdown(fd, SHUT_WR));
			take(fd, i);
		}
		close(fd); /* a reset, of a byte that it has not taken */
	}
}

static void taker(const struct ends *ends, int listener)
{
	int fd;

	for (long i = 0; i < ends->rounds; i++) {
		fd = accept(listener, NULL, NULL);
		TRUTH_TRY(fd);
		if (ends_are(ends, "reset"))
			give(fd, 0, NULL);
		if (ends_are(ends, "linger"))
			let_sleep(ends, GIVER);
		while (take(fd, i) > 0)
			;
		if (ends_are(ends, "shutdown"))
			let_sleep(ends, GIVER);
		close(fd);
	}
}

static int end_open(const struct ends *ends, int which, int type)
{
	int fd = socket(AF_INET, type, 0);

	TRUTH_TRY(fd);
	TRUTH_TRY(bind(fd, (void *)&ends->address[which], sizeof(ends->address[which])));
	return fd;
}

/* Datagrams to and fro. The way says of either end if it is connected: "cu", only the giver's. */
static void talk(const struct ends *ends, int which)
{
	struct sockaddr_in other = ends->address[!which], *to = &other;
	int fd = end_open(ends, which, SOCK_DGRAM);

	if (ends->way[which] == 'c') {
		TRUTH_TRY(connect(fd, (void *)to, sizeof(*to)));
		to = NULL;
	}
	for (long i = 0; i < ends->rounds; i++) {
		if (which == TAKER)
			take(fd, i);
		let_sleep(ends, !which);
		give(fd, i, to);
		if (which == GIVER)
			take(fd, i);
	}
}

static void do_ip(const char *format, int number)
{
	char command[200] = "ip ";

	snprintf(command + 3, sizeof(command) - 3, format, number);
	if (system(command) != 0)
		TRUTH_SKIP("no network of its own: %s", command);
}

static void end_enter(void)
{
	if (unshare(CLONE_NEWNET) != 0)
		TRUTH_SKIP("no network of its own: %s", strerror(errno));
}

/* The taker says that it is there, and once more that it listens. */
static void end_run(const struct ends *ends, int which)
{
	bool datagrams = strlen(ends->way) == 2;
	int listener = -1, room = 8192;
	char byte = 0;

	ends->pids[which] = getpid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, which == GIVER ? "giver" : "taker");
	if (which == TAKER && ends->apart) {
		end_enter();
		TRUTH_TRY(write(ends->tell[1], &byte, 1));
		TRUTH_TRY(read(ends->start[0], &byte, 1));
		do_ip("addr add 10.139.0.2/24 dev vtaker", 0);
		do_ip("link set vtaker up", 0);
	}
	if (which == TAKER && !datagrams) {
		listener = end_open(ends, TAKER, SOCK_STREAM);
		TRUTH_TRY(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)));
		TRUTH_TRY(listen(listener, 8));
	}
	TRUTH_TRY(write(ends->tell[1], &byte, 1));
	TRUTH_TRY(read(ends->start[0], &byte, 1));
	if (datagrams)
		talk(ends, which);
	else if (which == TAKER)
		taker(ends, listener);
	else
		giver(ends);
	_exit(0);
}

static void end_start(struct ends *ends, int which)
{
	char byte;
	pid_t child;

	TRUTH_TRY(pipe(ends->tell));
	child = fork();
	TRUTH_TRY(child);
	if (!child)
		end_run(ends, which);
	close(ends->tell[1]);
	if (read(ends->tell[0], &byte, 1) != 1)
		exit(77); /* it has said why */
	if (which == TAKER && ends->apart) {
		do_ip("link add vgiver type veth peer name vtaker netns %d", child);
		do_ip("addr add 10.139.0.1/24 dev vgiver", 0);
		do_ip("link set vgiver up", 0);
		TRUTH_TRY(write(ends->start[1], &byte, 1));
		if (read(ends->tell[0], &byte, 1) != 1)
			exit(77);
	}
}

/* If one fails the other would wait for ever. */
static int ends_wait(const pid_t pids[2])
{
	int status;

	for (int i = 0; i < 2; i++) {
		TRUTH_TRY(wait(&status));
		if (status != 0) {
			kill(pids[GIVER], SIGKILL);
			kill(pids[TAKER], SIGKILL);
			return 1;
		}
	}
	return 0;
}

/*
 * ROUNDS WAY lo|veth [held]: what a giver does ends the waits of a taker. The networks go with the
 * processes. Prints the numbers of both; held: they wait for input then.
 */
static int ends_run(long rounds, char **argv)
{
	struct ends ends = {.way = argv[3], .rounds = rounds, .apart = argv[4][0] == 'v'};

	ends.pids = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (ends.pids == MAP_FAILED)
		return 1;
	for (int i = 0; i < 2; i++) {
		ends.address[i].sin_family = AF_INET;
		ends.address[i].sin_port = htons(4240 + i);
		ends.address[i].sin_addr.s_addr = htonl(ends.apart ? 0x0a8b0001u + i
								   : INADDR_LOOPBACK);
	}
	TRUTH_TRY(pipe(ends.start));
	end_enter();
	do_ip("link set lo up", 0);
	end_start(&ends, TAKER);
	end_start(&ends, GIVER);
	printf("%d %d\n", ends.pids[GIVER], ends.pids[TAKER]);
	fflush(stdout);
	if (argv[5])
		getchar();
	TRUTH_TRY(write(ends.start[1], "go", 2));
	return ends_wait(ends.pids);
}

const struct trap traps_ends[] = {{"ends", ends_run}, {NULL, NULL}};
