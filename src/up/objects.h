/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls and waits of a chunk worked on: files by their paths, sockets by their peers, and the
 * cgroup whose CPU quota was used up. It is told by the file alone, as facts of the hand-over's
 * running partial tell it, which may be unsorted: the last fact of the same process, else of any.
 *
 * For one thread. Start with all zero.
 */
#ifndef UP_OBJECTS_H
#define UP_OBJECTS_H

#include "base/map.h"
#include "map/handover/handover.h"

struct objects {
	const struct partial *of; /* borrowed; NULL: the maps below are not made */
	struct map paths;	  /* hash of a file, with and without a process -> struct fact_fd */
	struct map sockets;	  /* key of a socket -> struct fact_socket */
	struct map servers; /* hash of a local address -> struct fact_socket, accepted there */
};

/* What is told of one kernel span; NULL and 0: nothing. */
struct object {
	const char *path;		  /* borrowed from the partial */
	const struct fact_socket *socket; /* an internet socket with a peer, likewise */
	u32 server_pid;	    /* the process of this host that the peer is; 0: not known */
	const char *cgroup; /* its path in the hierarchy that limits CPU time */
};

/* Before the facts of another chunk; frees all. */
void objects_reset(struct objects *o);

/*
 * Finds it for a kernel span of the process. `handed` has the partials. The first one of a chunk
 * reads all facts of files and sockets. 0 or -ENOMEM.
 */
int object_find(struct objects *o, const struct handed_span *handed, const struct kspan *k,
		struct object *out);

#endif
