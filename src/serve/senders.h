/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who sends spans: for each process of this host, else for each address, what came from it. A
 * sender of this host is found by its end of the connection, in a thread of its own, while the
 * client waits for the answer to its request.
 *
 * Thread-safe, but for the begin and the end.
 */
#ifndef SERVE_SENDERS_H
#define SERVE_SENDERS_H

#include "base/json.h"
#include "base/vec.h"
#include "serve/socket_owner.h"

#define SENDERS_MAX 1000u /* the one that was silent the longest goes */
#define SENDER_ADDRESS_BYTES 48
#define SENDER_SERVICES 4
#define SENDER_SERVICE_BYTES 64

/* The process that has a socket, found with more rights than the caller has. */
struct owner_finder {
	/* `inode` 0: the socket is in no namespace of the caller, but may be in another one */
	bool (*find)(void *arg, uint64_t inode, const struct socket_ends *ends,
		     struct socket_owner *owner);
	void *arg;
};

struct sender_info {
	char address[SENDER_ADDRESS_BYTES];		      /* without the port */
	bool is_local;					      /* an address of this host */
	uint32_t pid;					      /* 0: not known */
	char program[16];				      /* "": not known */
	char services[SENDER_SERVICES][SENDER_SERVICE_BYTES]; /* the first ones; "": no more */
	uint64_t services_count;			      /* at least so many */
	char language[16];				      /* of its SDK; "": not told */
	uint64_t requests, requests_refused, spans, spans_rejected;
	uint64_t first_ns, last_ns; /* since 1970 */
	double spans_per_s;	    /* over the last ten seconds or so */
};

typedef VEC(struct sender_info) sender_list;

struct senders;

/* `finder` may be NULL: then only processes that the caller may look into are found. */
int senders_open(const struct owner_finder *finder, struct senders **out);
void senders_close(struct senders *s); /* NULL is allowed */

/*
 * The number of a connection, by its socket; the first call begins to look for the sender. Numbers
 * are used again after 65,535 connections. 0: it cannot be told.
 */
uint16_t senders_connection(struct senders *s, int fd);

/* What became of a request. */
struct sender_request {
	bool is_refused;
	uint64_t spans, rejected; /* `spans` were taken */
};
void senders_request(struct senders *s, uint16_t connection, const struct sender_request *request);

/* What its spans say of the sender. */
struct sender_words {
	const char *service, *language;
};

/* Adds these words to the sender of a connection, also where it is not known yet. */
void senders_learn(struct senders *s, uint16_t connection, const struct sender_words *words);

/* The sender of a connection. False: it is not known (yet). */
bool senders_find(struct senders *s, uint16_t connection, struct sender_info *out);

/* Waits until the sender of a connection is known, so long at most. False: it is not. */
bool senders_await(struct senders *s, uint16_t connection, uint64_t wait_ns);

/*
 * Holds the answer to a request until its sender is known, a tenth of a second at most and a tenth
 * of the time altogether: who got the answer may be gone, and is not found then.
 */
void senders_hold(struct senders *s, uint16_t connection);

/* Appends all senders, the latest first. 0 or -ENOMEM. */
int senders_read(struct senders *s, sender_list *out);

/* Writes an object. */
void sender_info_write(struct json *j, const struct sender_info *info);

#endif
