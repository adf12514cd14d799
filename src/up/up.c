/* SPDX-License-Identifier: Apache-2.0 */
#include "up/up.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/json_bytes.h"
#include "serve/socket_owner.h"
#include "up/place.h"
#include "up/port.h"
#include "up/start.h"
#include "up/status.h"

#define SECOND_NS UINT64_C(1000000000)
#define LOOK_MS 50		     /* while something is awaited */
#define BACK_OFF_NS (SECOND_NS / 10) /* before a part is started again; doubled each time */
#define BACK_OFF_MAX_NS (30 * SECOND_NS)
#define STEADY_NS (30 * SECOND_NS) /* after so long a part has proved to work */
#define SENDERS_LIKELY 16
#define CLAIMS_BYTES ((size_t)4 << 20) /* that wait for map */
#define OWNERS_BYTES ((size_t)64 << 10)
#define PORTS_NS (2 * SECOND_NS) /* for what an earlier run left */

/* How long a part may take to end, of the ten seconds that all have. */
static const uint64_t end_ns[PARTS] = {3500000000u, 2500000000u, 3500000000u};

struct part_process {
	pid_t pid; /* 0: it does not run */
	uint64_t started_ns, again_ns, back_off_ns;
	bool worked; /* at least once */
	char told[ERROR_TEXT_BYTES];
};

struct up {
	struct up_options settled; /* without addresses that were given up */
	const struct up_options *options;
	struct place place;
	struct part_context context;
	struct part_process parts[PARTS];
	int signals, status;
	uint32_t senders[SENDERS_LIKELY]; /* pids that sent spans last */
	unsigned int sender_at;
	bool ready, recording, asked;
	int err; /* why it ends by itself */
};

/* ---- parts ---- */

static struct board_part *board_of(struct up *u, enum up_part part)
{
	return &u->context.board->parts[part];
}

static void part_launch(struct up *u, enum up_part part)
{
	struct part_process *p = &u->parts[part];
	struct board_part *board = board_of(u, part);
	pid_t pid;

	atomic_store(&board->state, PART_STARTING);
	p->started_ns = clock_now_ns();
	pid = part_start(&u->context, part);
	if (pid < 0) {
		atomic_store(&board->state, PART_WAITING);
		p->again_ns = p->started_ns + BACK_OFF_MAX_NS;
		return;
	}
	p->pid = pid;
	atomic_store(&board->pid, pid);
	atomic_fetch_add(&board->starts, 1);
}

/* Says once why a part failed. */
static void failure_tell(struct up *u, enum up_part part, const char *why, const char *what)
{
	struct part_process *p = &u->parts[part];

	if (strcmp(p->told, why) == 0)
		return;
	snprintf(p->told, sizeof(p->told), "%s", why);
	notice_tell(&u->options->notice, "%s: %s; %s", part_name(part), why, what);
}

static void again_plan(struct up *u, enum up_part part, const char *why)
{
	struct part_process *p = &u->parts[part];
	uint64_t now = clock_now_ns();

	if (now - p->started_ns > STEADY_NS || !p->back_off_ns)
		p->back_off_ns = BACK_OFF_NS;
	else if (p->back_off_ns < BACK_OFF_MAX_NS)
		p->back_off_ns *= 2;
	p->again_ns = now + p->back_off_ns;
	atomic_store(&board_of(u, part)->state, PART_WAITING);
	failure_tell(u, part, why, "it is started again");
}

static void why_make(struct up *u, enum up_part part, int status, char why[ERROR_TEXT_BYTES])
{
	board_text(why, board_of(u, part)->why, ERROR_TEXT_BYTES);
	if (WIFSIGNALED(status))
		snprintf(why, ERROR_TEXT_BYTES, "it was killed by signal %d (%s)", WTERMSIG(status),
			 strsignal(WTERMSIG(status)));
	else if (!*why)
		snprintf(why, ERROR_TEXT_BYTES, "it ended with status %d", WEXITSTATUS(status));
}

static bool is_off(struct up *u, enum up_part part)
{
	return atomic_load(&board_of(u, part)->state) == PART_OFF;
}

/* How the others go on without a part. */
static const char *const without[PARTS] = {
	[PART_CAPTURE] = "spans are received and served all the same",
	[PART_MAP] = "spans of this host are not mapped",
	[PART_SERVE] = "the host is recorded and mapped without it"};

/* A part is not possible here. The others go on, if anything is left to do. */
static void part_give_up(struct up *u, enum up_part part, const char *why, struct error *e)
{
	atomic_store(&board_of(u, part)->state, PART_OFF);
	if (is_off(u, PART_SERVE) && is_off(u, PART_CAPTURE))
		u->err = error_say(e, EIO, "%s", why);
	else
		failure_tell(u, part, why, without[part]);
}

static void part_ended(struct up *u, enum up_part part, int status, struct error *e)
{
	struct part_process *p = &u->parts[part];
	struct board_part *board = board_of(u, part);
	char why[ERROR_TEXT_BYTES];

	why_make(u, part, status, why);
	p->worked = p->worked || atomic_load(&board->state) == PART_RUNNING;
	p->pid = 0;
	atomic_store(&board->pid, 0);
	if (u->asked) {
		atomic_store(&board->state, PART_OFF);
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == PART_EXIT_NEVER) {
		part_give_up(u, part, why, e);
	} else if (part == PART_SERVE && !p->worked) {
		u->err = error_say(e, EIO, "%s", why);
	} else {
		again_plan(u, part, why);
	}
}

static void parts_reap(struct up *u, struct error *e)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (int part = 0; part < PARTS; part++) {
			if (u->parts[part].pid == pid)
				part_ended(u, part, status, e);
		}
	}
}

static void parts_begin(struct up *u)
{
	atomic_store(&u->context.board->pid, getpid());
	u->context.board->begun_ns = clock_now_ns();
	part_launch(u, PART_SERVE);
	if (!u->options->capture)
		return;
	part_launch(u, PART_CAPTURE);
	part_launch(u, PART_MAP);
}

/* ---- the status ---- */

static void status_answer(struct up *u)
{
	const struct timeval patience = {.tv_sec = 1};
	struct bytes text = {0};
	int fd = accept4(u->status, NULL, NULL, SOCK_CLOEXEC);
	struct json j;

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	json_init_bytes(&j, &text);
	up_status_write(u->context.board, &j);
	/* who asked may be gone */
	if (!json_end(&j))
		(void)!send(fd, text.data, text.count, MSG_NOSIGNAL);
	bytes_free(&text);
	close(fd);
}

/* ---- who has a socket ---- */

/* serve may not look into other processes. */
static void owner_answer(struct up *u)
{
	struct owner_answer answer = {0};
	struct owner_question q;
	int fd = u->context.owners[1];

	if (recv(fd, &q, sizeof(q), MSG_DONTWAIT) != sizeof(q))
		return;
	answer.number = q.number;
	q.inode = q.inode ? q.inode : socket_inode_elsewhere(&q.ends);
	if (q.inode && socket_owner_find(q.inode, u->senders, SENDERS_LIKELY, &answer.owner) &&
	    answer.owner.pid != u->senders[u->sender_at]) {
		u->sender_at = (u->sender_at + 1) % SENDERS_LIKELY;
		u->senders[u->sender_at] = answer.owner.pid;
	}
	send(fd, &answer, sizeof(answer), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- while it runs ---- */

static void signals_take(struct up *u, struct error *e)
{
	struct signalfd_siginfo info;

	while (read(u->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGCHLD)
			u->asked = true;
	}
	parts_reap(u, e);
}

static void ready_tell(struct up *u)
{
	struct board *board = u->context.board;
	enum up_part first = atomic_load(&board->serve.store_missing) ? PART_CAPTURE : PART_SERVE;
	struct serve_addresses addresses;

	if (u->ready || atomic_load(&board->parts[first].state) != PART_RUNNING)
		return;
	u->ready = true;
	board_addresses(&addresses, board);
	u->options->ready(u->options->arg, &addresses, u->place.user);
}

/* Capture may yet fail for want of privileges, so this is said only once it works. */
static void recording_tell(struct up *u)
{
	if (u->recording || !u->ready || !u->options->recording ||
	    atomic_load(&board_of(u, PART_CAPTURE)->state) != PART_RUNNING)
		return;
	u->recording = true;
	u->options->recording(u->options->arg);
}

static void parts_again(struct up *u)
{
	uint64_t now = clock_now_ns();

	for (int part = 0; part < PARTS; part++) {
		if (!u->parts[part].pid && u->parts[part].again_ns &&
		    u->parts[part].again_ns <= now) {
			u->parts[part].again_ns = 0;
			part_launch(u, part);
		}
	}
}

static int wait_ms(struct up *u)
{
	for (int part = 0; part < PARTS; part++) {
		if (u->parts[part].again_ns)
			return LOOK_MS;
	}
	if (!u->ready || atomic_load(&board_of(u, PART_CAPTURE)->state) == PART_STARTING)
		return LOOK_MS;
	return 1000;
}

static void step(struct up *u, int at_most_ms, struct error *e)
{
	struct pollfd fds[] = {{.fd = u->signals, .events = POLLIN},
			       {.fd = u->status, .events = POLLIN},
			       {.fd = u->context.owners[1], .events = POLLIN}};

	if (poll(fds, 3, at_most_ms) <= 0)
		return;
	if (fds[0].revents)
		signals_take(u, e);
	if (fds[1].revents)
		status_answer(u);
	if (fds[2].revents)
		owner_answer(u);
}

/* Ends a part: politely first. What it still has to do goes to the next one. */
static void part_end(struct up *u, enum up_part part, uint64_t until_ns, struct error *e)
{
	struct part_process *p = &u->parts[part];

	if (!p->pid)
		return;
	kill(p->pid, SIGTERM);
	while (p->pid && clock_now_ns() < until_ns)
		step(u, LOOK_MS, e);
	if (!p->pid)
		return;
	notice_tell(&u->options->notice, "%s did not end in time, and was killed", part_name(part));
	kill(p->pid, SIGKILL);
	while (p->pid)
		step(u, LOOK_MS, e);
}

/* In the order of the data. The last one has the time that the others did not need, too. */
static void parts_end(struct up *u, struct error *e)
{
	uint64_t last_ns = clock_now_ns();

	for (int part = 0; part < PARTS; part++)
		last_ns += end_ns[part];
	for (int part = 0; part < PARTS; part++)
		part_end(u, part, part == PARTS - 1 ? last_ns : clock_now_ns() + end_ns[part], e);
}

static int run(struct up *u, struct error *e)
{
	struct error none = {0};

	parts_begin(u);
	while (!u->asked && !u->err) {
		step(u, wait_ms(u), e);
		ready_tell(u);
		recording_tell(u);
		if (!u->asked && !u->err)
			parts_again(u);
	}
	u->asked = true;
	parts_end(u, &none);
	return u->err;
}

/* ---- begin and end ---- */

/*
 * Jaeger itself may run here, and who did not ask for its address is not to be kept from starting.
 * It is the last one to be tried, so no earlier run has it: that would have the others, too.
 */
static bool jaeger_give_up(struct up_options *o, const char *option, const char *busy)
{
	char holder[128];

	if (!o->serve.jaeger_is_preset || strcmp(option, "jaeger") != 0)
		return false;
	if (!port_holder(busy, holder, sizeof(holder)))
		strcpy(holder, "another program");
	notice_tell(&o->notice,
		    "%s has %s: Jaeger's queries are answered at the address of "
		    "--http alone",
		    holder, busy);
	o->serve.jaeger = "off";
	return true;
}

/* Waits for ports that an earlier run still holds. */
static int ports_check(struct up_options *o, struct error *e)
{
	uint64_t until_ns = clock_now_ns() + PORTS_NS;
	const char *busy = NULL, *option = NULL;
	char holder[128];
	int err;

	do {
		error_clear(e);
		err = serve_addresses_try(&o->serve, &option, &busy, e);
		if (err == -EADDRINUSE && jaeger_give_up(o, option, busy))
			continue;
		if (err == -EADDRINUSE)
			poll(NULL, 0, LOOK_MS);
	} while (err == -EADDRINUSE && clock_now_ns() < until_ns);
	if (err != -EADDRINUSE || !port_holder(busy, holder, sizeof(holder)))
		return err;
	error_clear(e);
	return error_say(e, EADDRINUSE,
			 "%s has %s already: stop it, choose another address with --%s ADDRESS, or "
			 "none with --%s off",
			 holder, busy, option, option);
}

static int signals_open(struct up *u, struct error *e)
{
	static const int wanted[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		sigaddset(&set, wanted[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	u->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return u->signals < 0 ? error_set(e, errno, "cannot start") : 0;
}

/* Messages to parts, which stay when a part is started again. */
static int pair_open(int fds[2], size_t bytes, struct error *e)
{
	int size = (int)bytes;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return error_set(e, errno, "cannot make a socket");
	if (setsockopt(fds[0], SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)))
		setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return 0;
}

static int sockets_open(struct up *u, struct error *e)
{
	int err = pair_open(u->context.claims, CLAIMS_BYTES, e);

	err = err ? err : pair_open(u->context.owners, OWNERS_BYTES, e);
	if (err)
		return err;
	u->context.spans = place_listen(&u->place, SPANS_SOCKET);
	if (u->context.spans < 0)
		return error_set(e, u->context.spans, "cannot make a socket in %s",
				 u->options->dir);
	u->status = place_listen(&u->place, UP_SOCKET);
	return u->status < 0
		       ? error_set(e, u->status, "cannot make a socket in %s", u->options->dir)
		       : 0;
}

static int up_open(struct up *u, struct error *e)
{
	const struct up_options *o = u->options;
	int err = place_user(&u->place, o->user, e);

	err = err ? err : place_open(&u->place, o->dir, e);
	umask(077); /* spans hold what users typed: nobody else reads the files */
	err = err ? err : ports_check(&u->settled, e);
	err = err ? err : sockets_open(u, e);
	err = err ? err : signals_open(u, e);
	u->context.board = err ? NULL : board_new();
	if (!err && !u->context.board)
		return error_set(e, ENOMEM, "cannot start");
	if (err)
		return err;
	snprintf(u->context.board->user, sizeof(u->context.board->user), "%s", u->place.user);
	snprintf(u->context.board->dir, sizeof(u->context.board->dir), "%s", o->dir);
	u->context.login = u->place.login;
	u->context.owned = u->place.login.other;
	u->context.dir = u->place.dir;
	snprintf(u->context.path, sizeof(u->context.path), "/proc/self/fd/%d", u->place.dir);
	return 0;
}

static void up_close(struct up *u)
{
	const int fds[] = {u->signals,		 u->status,
			   u->context.spans,	 u->context.claims[0],
			   u->context.claims[1], u->context.owners[0],
			   u->context.owners[1]};

	if (u->status >= 0)
		place_quit(&u->place, UP_SOCKET);
	if (u->context.spans >= 0)
		place_quit(&u->place, SPANS_SOCKET);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	place_close(&u->place);
}

int up_run(const struct up_options *options, struct error *e)
{
	struct up u = {.settled = *options,
		       .options = &u.settled,
		       .place = {.dir = -1, .lock = -1},
		       .context = {.options = &u.settled,
				   .dir = -1,
				   .spans = -1,
				   .claims = {-1, -1},
				   .owners = {-1, -1}},
		       .signals = -1,
		       .status = -1};
	int err;

	if (u.settled.serve.jaeger_is_preset && strcmp(u.settled.serve.http, "off") == 0)
		u.settled.serve.jaeger = "off"; /* no queries are wanted */
	err = up_open(&u, e);
	err = err ? err : run(&u, e);
	up_close(&u);
	return err;
}
