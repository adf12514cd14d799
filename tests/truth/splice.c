/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splices between two files, of which one makes them wait: of a cached file into a pipe that is
 * full (ipc), and of a pipe into a socket that is (network).
 */
#include "tests/truth/loopback.h"

#define ROUNDS 10
#define BYTES 4096

/* What the two sides share: the round in which one of them waits, and when the other ended it. */
struct rounds {
	int waits; /* rounds begun */
	int ended; /* of those: in how many the other has made room, and looks no more */
	int64_t stamps[ROUNDS];
};

/* A child that makes room in `from` a while after each round began: reads some, or all. */
static void reader_fork(struct rounds *rounds, int from, size_t some)
{
	static char data[1 << 16];
	size_t most = some ? some : sizeof(data);
	pid_t pid = fork();

	TRUTH_TRY(pid);
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	TRUTH_TRY(fcntl(from, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < ROUNDS; i++) {
		while (__atomic_load_n(&rounds->waits, __ATOMIC_ACQUIRE) <= i)
			sleep_until(truth_now() + MS);
		sleep_until(truth_now() + 20 * MS);
		__atomic_store_n(&rounds->stamps[i], truth_now(), __ATOMIC_RELEASE);
		while (read(from, data, most) > 0 && !some)
			;
		__atomic_store_n(&rounds->ended, i + 1, __ATOMIC_RELEASE);
	}
	_exit(0);
}

/* Moves some bytes; returns how long there was no room. */
static int64_t splice_wait(struct rounds *rounds, int round, int from, int to)
{
	int64_t begin = truth_now(), end, stamp;

	__atomic_store_n(&rounds->waits, round + 1, __ATOMIC_RELEASE);
	TRUTH_TRY(splice(from, NULL, to, NULL, BYTES, 0));
	end = truth_now();
	stamp = __atomic_load_n(&rounds->stamps[round], __ATOMIC_ACQUIRE);
	while (__atomic_load_n(&rounds->ended, __ATOMIC_ACQUIRE) <= round)
		;
	return stamp > begin && stamp < end ? stamp - begin : 0;
}

static void into_pipe(void)
{
	struct rounds *rounds = truth_share(sizeof(*rounds));
	int fd = truth_cold_file(1 << 16, 0), ends[2];
	static char data[1 << 16];
	struct truth truth;
	int64_t waited = 0;

	TRUTH_TRY(pread(fd, data, sizeof(data), 0)); /* cached */
	TRUTH_TRY(pipe2(ends, O_CLOEXEC));
	TRUTH_TRY(fcntl(ends[1], F_SETPIPE_SZ, BYTES));
	TRUTH_TRY(write(ends[1], data, BYTES));
	reader_fork(rounds, ends[0], BYTES);
	truth_begin(&truth, "splice", "splice of a file into a full pipe");
	for (int i = 0; i < ROUNDS; i++)
		waited += splice_wait(rounds, i, fd, ends[1]);
	truth_end(&truth, "ipc", waited);
	wait(NULL);
}

/* Until it takes no more, also after what is on its way came to rest. */
static void socket_fill(int fd)
{
	static const char data[BYTES];

	for (int full = 0; full < 3; full++) {
		while (send(fd, data, sizeof(data), MSG_DONTWAIT) > 0)
			full = 0;
		busy_until(truth_now() + MS / 5);
	}
}

static void into_socket(void)
{
	struct rounds *rounds = truth_share(sizeof(*rounds));
	static const char data[BYTES];
	int sockets[2], ends[2], few = 131072; /* in flight: room comes soon */
	struct truth truth;
	int64_t waited = 0;

	loopback_pair(sockets);
	TRUTH_TRY(setsockopt(sockets[0], SOL_SOCKET, SO_RCVBUF, &few, sizeof(few)));
	TRUTH_TRY(setsockopt(sockets[1], SOL_SOCKET, SO_SNDBUF, &few, sizeof(few)));
	TRUTH_TRY(pipe2(ends, O_CLOEXEC));
	reader_fork(rounds, sockets[0], 0);
	truth_begin(&truth, "splice", "splice of a pipe into a full socket");
	for (int i = 0; i < ROUNDS; i++) {
		socket_fill(sockets[1]);
		TRUTH_TRY(write(ends[1], data, sizeof(data)));
		waited += splice_wait(rounds, i, ends[0], sockets[1]);
	}
	truth_end(&truth, "network", waited);
	wait(NULL);
}

int main(void)
{
	into_pipe();
	into_socket();
	return 0;
}
