/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"

#define CLIENTS_MAX 64
#define ASK_NS 1000000000ull /* a client that has not asked by then is dropped */
#define PATIENCE_S 120
#define SOCKET_NAME ".control"

struct client {
	int fd;
	uint64_t since_ns; /* when it connected */
	bool asked;	   /* its request has arrived; the rotation is wanted or under way */
	bool stops;	   /* it waits for the end of the recording */
	size_t waits_for;  /* number of the seal that answers the request */
};

struct seal {
	size_t number;
	char *path; /* owned; NULL: failed */
};

struct control {
	int listener;
	int dir;		 /* the directory of the socket's name */
	int spare;		 /* closed to accept a client when no descriptor is free */
	const char *request;	 /* the only one that waits for a chunk; static */
	control_answer_fn *also; /* other requests; NULL: there are none */
	void *also_arg;
	VEC(struct client) clients;
	bool wanted;
	bool stops;	       /* the recording is to end */
	size_t rotations;      /* number of rotations so far, for requests or not */
	pthread_mutex_t mutex; /* guards the next two fields */
	size_t seals;	       /* number of seals so far */
	VEC(struct seal) kept; /* seals that a client may wait for, in order */
};

/*
 * A Unix address holds 108 bytes. A longer path is reached through the descriptor of
 * the directory, which the caller keeps open meanwhile.
 */
static int address_of(const char *dir, const struct recording_hold *hold,
		      struct sockaddr_un *address, int *dir_fd)
{
	*dir_fd = openat(hold ? hold->dir : AT_FDCWD, hold ? "." : dir,
			 O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*dir_fd < 0)
		return -errno;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/" SOCKET_NAME,
		 *dir_fd);
	return 0;
}

static int spare_open(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int control_open(struct control **out, const char *dir, const struct recording_hold *hold,
		 const char *request, struct error *e)
{
	struct control *c = calloc(1, sizeof(*c));
	struct sockaddr_un address;
	int err;

	if (!c)
		return error_set(e, ENOMEM, "cannot listen for requests");
	c->request = request;
	c->dir = -1;
	c->spare = spare_open();
	pthread_mutex_init(&c->mutex, NULL);
	c->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = c->listener < 0 ? -errno : address_of(dir, hold, &address, &c->dir);
	if (!err) {
		/* this recorder holds the lock, so the socket is of a recorder that was killed */
		unlinkat(c->dir, SOCKET_NAME, 0);
		/* bind() gives the name the socket's mode; later the name may be another file */
		if (fchmod(c->listener, 0600) ||
		    bind(c->listener, (const struct sockaddr *)&address, sizeof(address)) ||
		    listen(c->listener, 8))
			err = -errno;
	}
	if (err) {
		control_close(c);
		return error_set(e, err, "cannot listen on %s/.control", dir);
	}
	*out = c;
	return 0;
}

void control_also(struct control *c, control_answer_fn *answer, void *arg)
{
	c->also = answer;
	c->also_arg = arg;
}

static int client_accept(const struct control *c)
{
	return accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* No descriptor is free. Without an answer, the clients would wait until they time out. */
static void clients_turn_away(struct control *c)
{
	static const char text[] = "error it has no free file descriptor (see 'ulimit -n')\n";
	int fd;

	close(c->spare);
	for (int i = 0; i < CLIENTS_MAX && (fd = client_accept(c)) >= 0; i++) {
		send(fd, text, strlen(text), MSG_NOSIGNAL);
		close(fd);
	}
	c->spare = spare_open();
}

/* Whether a client waits. accept() would make a socket before it finds that none does. */
static bool client_waits(const struct control *c)
{
	struct pollfd listener = {.fd = c->listener, .events = POLLIN};

	return poll(&listener, 1, 0) > 0;
}

static void accept_clients(struct control *c)
{
	int fd;

	if (!client_waits(c))
		return;
	if (c->spare < 0) /* another thread took the free descriptor */
		c->spare = spare_open();
	while (c->clients.count < CLIENTS_MAX && (fd = client_accept(c)) >= 0)
		if (vec_push(&c->clients, ((struct client){.fd = fd, .since_ns = clock_now_ns()})))
			close(fd);
	if (c->clients.count < CLIENTS_MAX && (errno == EMFILE || errno == ENFILE) && c->spare >= 0)
		clients_turn_away(c);
}

static void client_refuse(const struct control *c, const struct client *client)
{
	char text[128];

	snprintf(text, sizeof(text), "error it only answers 'fathom %s'\n", c->request);
	send(client->fd, text, strlen(text), MSG_NOSIGNAL);
}

/* Reads the request of a client. False: drop the client. */
static bool client_read(struct control *c, struct client *client)
{
	char line[256], text[1024];
	ssize_t n = recv(client->fd, line, sizeof(line) - 1, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return clock_now_ns() - client->since_ns < ASK_NS;
	if (n <= 0)
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (strcmp(line, "stop") == 0) {
		client->asked = client->stops = c->stops = true;
		client->waits_for = SIZE_MAX;
		return true;
	}
	if (strcmp(line, c->request) != 0) {
		if (c->also && c->also(c->also_arg, line, text, sizeof(text)))
			send(client->fd, text, strlen(text), MSG_NOSIGNAL);
		else
			client_refuse(c, client);
		return false;
	}
	client->asked = true;
	client->waits_for = c->rotations + 1;
	c->wanted = true;
	return true;
}

/* Answers a client whose chunk is sealed. False: the client is served. */
static bool client_answer(struct control *c, struct client *client)
{
	char text[4200] = "error the chunk could not be sealed\n";
	bool done;

	pthread_mutex_lock(&c->mutex);
	done = c->seals >= client->waits_for;
	for (size_t i = 0; i < c->kept.count && done; i++)
		if (c->kept.data[i].number == client->waits_for && c->kept.data[i].path)
			snprintf(text, sizeof(text), "%s\n", c->kept.data[i].path);
	pthread_mutex_unlock(&c->mutex);
	if (done)
		send(client->fd, text, strlen(text), MSG_NOSIGNAL);
	return !done;
}

/* Frees the seals that no client waits for: later clients wait for later seals. */
static void seals_forget(struct control *c)
{
	size_t oldest = c->rotations + 1, left = 0;

	for (size_t i = 0; i < c->clients.count; i++)
		if (c->clients.data[i].asked && c->clients.data[i].waits_for < oldest)
			oldest = c->clients.data[i].waits_for;
	pthread_mutex_lock(&c->mutex);
	for (size_t i = 0; i < c->kept.count; i++) {
		if (c->kept.data[i].number >= oldest)
			c->kept.data[left++] = c->kept.data[i];
		else
			free(c->kept.data[i].path);
	}
	c->kept.count = left;
	pthread_mutex_unlock(&c->mutex);
}

int control_serve(struct control *c, struct error *e)
{
	size_t left = 0;

	accept_clients(c);
	for (size_t i = 0; i < c->clients.count; i++) {
		struct client *client = &c->clients.data[i];
		bool stays = client->asked ? client_answer(c, client) : client_read(c, client);

		if (stays)
			c->clients.data[left++] = *client;
		else
			close(client->fd);
	}
	c->clients.count = left;
	seals_forget(c);
	return 0;
}

int control_listener(const struct control *c)
{
	return c->listener;
}

bool control_is_busy(const struct control *c)
{
	return c->clients.count > 0;
}

bool control_wants_rotation(struct control *c)
{
	bool wanted = c->wanted;

	c->wanted = false;
	return wanted;
}

bool control_wants_end(const struct control *c)
{
	return c->stops;
}

void control_rotates(struct control *c)
{
	c->rotations++;
}

void control_refuses(struct control *c, const char *why)
{
	char text[128];
	size_t left = 0;

	snprintf(text, sizeof(text), "error %s\n", why);

	for (size_t i = 0; i < c->clients.count; i++) {
		struct client *client = &c->clients.data[i];

		if (!client->asked || client->waits_for != c->rotations + 1) {
			c->clients.data[left++] = *client;
			continue;
		}
		send(client->fd, text, strlen(text), MSG_NOSIGNAL);
		close(client->fd);
	}
	c->clients.count = left;
}

void control_sealed(struct control *c, const char *path)
{
	char *copy = path ? strdup(path) : NULL;

	pthread_mutex_lock(&c->mutex);
	c->seals++;
	if (vec_push(&c->kept, ((struct seal){c->seals, copy})))
		free(copy); /* a client that waits for this seal gets an error */
	pthread_mutex_unlock(&c->mutex);
}

void control_close(struct control *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->clients.count; i++) {
		if (c->clients.data[i].stops)
			send(c->clients.data[i].fd, "stopped\n", strlen("stopped\n"), MSG_NOSIGNAL);
		else if (c->clients.data[i].asked)
			client_answer(c, &c->clients.data[i]);
		close(c->clients.data[i].fd);
	}
	if (c->listener >= 0)
		close(c->listener);
	if (c->spare >= 0)
		close(c->spare);
	if (c->dir >= 0) {
		unlinkat(c->dir, SOCKET_NAME, 0);
		close(c->dir);
	}
	for (size_t i = 0; i < c->kept.count; i++)
		free(c->kept.data[i].path);
	vec_free(&c->kept);
	vec_free(&c->clients);
	pthread_mutex_destroy(&c->mutex);
	free(c);
}

/* Returns a connected socket with time-outs, or a negative errno. */
static int recorder_reach(const char *dir, unsigned int patience_s)
{
	const struct timeval patience = {.tv_sec = patience_s};
	struct sockaddr_un address;
	int dir_fd = -1, fd, err = address_of(dir, NULL, &address, &dir_fd);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* the time-out for sending bounds connect(), too */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)))
		err = -errno;
	close(dir_fd);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int ask_failed(const char *dir, int err, unsigned int patience_s, struct error *e)
{
	if (err != -EAGAIN)
		return error_set(e, err, "the recorder of %s did not answer", dir);
	return error_say(e, ETIMEDOUT,
			 "the recorder of %s has not answered within %u s: it is stopped, or its "
			 "disk is slow",
			 dir, patience_s);
}

static unsigned int patience_of(const struct control_request *request)
{
	return request->patience_s ? request->patience_s : PATIENCE_S;
}

/* Nothing listens there, or this user may not connect to it. */
static int reach_failed(const char *dir, int err, const struct control_request *request,
			struct error *e)
{
	if (err == -EACCES || err == -EPERM)
		return error_say(
			e, -err,
			"no permission to ask the recorder of %s: only the user it runs as "
			"may, which is root if it was started through sudo",
			dir);
	if (err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR)
		return error_say(e, -err,
				 "nothing records into %s: start 'fathom record %s-o %s' first",
				 dir, request->flight ? "--flight " : "", dir);
	return ask_failed(dir, err, patience_of(request), e);
}

/* Reads the whole answer. Returns its bytes, or a negative errno. */
static int answer_read(int fd, char *answer, size_t size)
{
	size_t len = 0;

	while (len + 1 < size) {
		ssize_t n = recv(fd, answer + len, size - 1 - len, 0);

		/* a recorder that answered early never read the request, which resets the socket */
		if (n == 0 || (n < 0 && errno == ECONNRESET && len))
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		len += n > 0 ? (size_t)n : 0;
	}
	answer[len] = '\0';
	answer[strcspn(answer, "\n")] = '\0';
	return (int)len;
}

int control_ask(const char *dir, const struct control_request *request, char *answer, size_t size,
		struct error *e)
{
	unsigned int patience_s = patience_of(request);
	int len, fd = recorder_reach(dir, patience_s);

	if (fd < 0)
		return reach_failed(dir, fd, request, e);
	/* the recorder may have answered and closed the socket before the request */
	if (send(fd, request->line, strlen(request->line), MSG_NOSIGNAL) < 0 && errno != EPIPE)
		len = -errno;
	else
		len = answer_read(fd, answer, size);
	close(fd);
	if (len < 0)
		return ask_failed(dir, len, patience_s, e);
	if (len == 0 || strncmp(answer, "error ", 6) == 0)
		return error_say(e, EIO, "the recorder of %s: %s", dir,
				 len ? answer + 6 : "it exited without answering");
	return 0;
}

int control_rotate(const char *dir, struct error *e)
{
	const struct control_request request = {.line = "rotate\n"};
	char path[4200];

	return control_ask(dir, &request, path, sizeof(path), e);
}
