/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of a connection between hosts whose addresses were translated on the way (NAT): they
 * do not mirror each other, but the bytes and the time do.
 */
#ifndef REQUEST_NAT_H
#define REQUEST_NAT_H

#include "request/ends.h"

/* The Unix clocks of two hosts are taken to differ by no more than this. */
#define NAT_APART_NS 1000000000ull
/* Where more pairs of ends than this fit as well, none is taken for the right one. */
#define NAT_AMBIGUOUS_MOST 2

/* An end without another one. */
struct nat_end {
	u32 end;	 /* number in the list of ends */
	bool server;	 /* it accepted the connection, else it made it */
	u64 forth, back; /* bytes to the server and back, up to the last ones that were recorded */
	u64 unix_ns;	 /* when its first bytes went; 0: not known */
	u32 host;
	const struct record_socket *socket;
	u32 other;     /* out: the other end in the list, + 1; 0: none was found */
	u32 ambiguous; /* out: so many pairs fit */
};

/*
 * Pairs a caller with a server of another host if as many bytes went in each direction and both
 * began within NAT_APART_NS. A server with the address that the caller connected is preferred.
 * Sorts the list. The number of pairs that fit is the larger one of the servers that fit the caller
 * and of the callers that fit the server.
 */
void nat_ends_pair(struct nat_end *list, size_t count);

#endif
