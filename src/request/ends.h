/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets as ends of connections, each with the ranges of bytes that went through it. */
#ifndef REQUEST_ENDS_H
#define REQUEST_ENDS_H

#include <stdbool.h>

#include "base/vec.h"
#include "map/partial.h"

/* A host of the input. */
struct request_host {
	const struct partial *p; /* finished; borrowed */
	const char *name;	 /* borrowed; NULL: unknown */
	u64 boot;		 /* hash of its boot id */
	u64 unix_ns;		 /* added to a time of it, about the Unix time; 0: not known */
	/* The name of a container, valid as long as the host; NULL: none is known, or nobody asks.
	 */
	const char *(*container_name)(void *arg, const char *id);
	void *container_arg;
	/* The service as which a process sends spans, valid as long as the host. May be NULL, too.
	 */
	const char *(*service_name)(void *arg, u32 pid);
	void *service_arg;
};

/* Bytes [from, to) of one direction, as one call moved them. */
struct byte_range {
	u64 from, to;
	u64 time_ns; /* the end of the call */
	u32 tid;
	u32 light : 31; /* number in connection_ends.lights; 0: no light thread */
	u32 hole : 1;	/* bytes before it are missing, though others came before */
};

/* The light thread (goroutine) that moved bytes, and the one that made it. */
struct range_light {
	u64 light, maker;
};

/* In order of their bytes; they do not overlap. */
struct byte_ranges {
	const struct byte_range *data;
	size_t count;
};

/* A socket, from when its number (inode) stood for it. */
struct socket_end {
	u64 key; /* its number */
	u32 host;
	const struct fact_socket *socket; /* what was told of it last; NULL: nothing */
	u16 sides;			  /* FILE_SIDES that were told of it */
	u32 peer;	       /* the end that the kernel told as its peer, + 1; 0: none */
	u64 from_ns;	       /* the number stood for it from then on; 0: always */
	u64 told_ns;	       /* when its addresses were told first; 0: never */
	u64 first_ns, last_ns; /* of its ranges; 0: it has none */
	struct byte_ranges sent, received;
};

/* Starts with all zero. */
struct connection_ends {
	VEC(struct socket_end) list; /* by host */
	VEC(struct byte_range) ranges;
	VEC(struct range_light) lights; /* [0] is not used */
	u64 unsure; /* ranges that were left out, since their position is not sure */
};

/* Finds the sockets of all hosts and their ranges. 0 or -ENOMEM; free `out` in any case. */
int connection_ends_find(struct connection_ends *out, const struct request_host *hosts,
			 size_t count);

void connection_ends_free(struct connection_ends *ends);

#endif
