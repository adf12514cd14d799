/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of recorded hosts: which two sockets are the ends of one, who of them serves, and the
 * ranges of bytes that each end sent and received.
 */
#ifndef REQUEST_CONNECTIONS_H
#define REQUEST_CONNECTIONS_H

#include "request/ends.h"

/* An end without ranges was not recorded: it is all zero. */
struct connection {
	struct socket_end caller, server;
	bool guessed; /* nobody tells who serves: it is who received first */
	u16 port;     /* on which the server listens; 0: a Unix socket, or not known */
	u64 place;    /* derived of its host, addresses and namespace */
	u64 id;	      /* and of its first sight, which may lie before what is looked at */
	u64 first_ns;
	/*
	 * Behind NAT, the ends were found by their bytes and times: that many pairs of ends fit as
	 * well. 0: the ends tell each other by their addresses.
	 */
	u32 ambiguous;
};

/* Starts with all zero. */
struct connections {
	VEC(struct connection) list; /* by first_ns, then id */
	struct connection_ends ends; /* what they point to */
};

/*
 * Finds the connections of TCP and of Unix streams. Two ends are joined if the kernel told one as
 * the peer of the other, or if their addresses mirror each other: in one network namespace, or
 * anywhere if they are not of a loopback device. Between hosts, ends that are left may be joined by
 * their bytes and times (request/nat.h). 0 or -ENOMEM; free `out` in any case.
 */
int connections_find(struct connections *out, const struct request_host *hosts, size_t count);

void connections_free(struct connections *c);

#endif
