/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a descriptor stood for, and whom a socket was connected to, at a time: of facts that are
 * still being added. Facts are followed as they were added; sorting or removing facts forgets it,
 * and the next question follows them again.
 *
 * Not thread-safe.
 */
#ifndef MAP_FACT_IN_FORCE_H
#define MAP_FACT_IN_FORCE_H

#include <stdbool.h>

#include "base/map.h"
#include "base/vec.h"
#include "record/record.h"

struct facts;
struct fact_fd;
struct fact_socket;

/* A fact of an owner, and the one before it in time. */
struct in_force_link {
	u64 time_ns;
	u32 fact;   /* its number in the list of facts */
	u32 before; /* number of a link + 1; 0: none */
};

struct in_force_chain {
	struct map last; /* owner -> number of its latest link + 1 */
	VEC(struct in_force_link) links;
	size_t followed; /* facts */
};

#define IN_FORCE_STAMP_BITS 10
#define IN_FORCE_STAMPS_MAX 6

/*
 * What an answer depends on. It is the same for any later time, as long as in_force_holds() says
 * so: until a fact comes that may change it.
 */
struct in_force_stamp {
	bool lasting; /* no fact is later than the time that was asked for */
	u8 count;
	u16 slots[IN_FORCE_STAMPS_MAX]; /* in in_force.changes */
	u32 changes;			/* their sum */
};

/* Starts with all zero. */
struct in_force {
	u64 since_ns; /* set by the caller: a neighbour may have older facts, so these do not answer
		       */
	struct in_force_chain fds;	       /* by process and descriptor */
	struct in_force_chain files;	       /* that no descriptor has, by process and file */
	struct in_force_chain ranges;	       /* that were closed, by process */
	struct in_force_chain forks;	       /* by the new process */
	struct in_force_chain sockets;	       /* by key */
	u32 changes[1 << IN_FORCE_STAMP_BITS]; /* how many facts came, by hash of their owner */
	u32 forgotten;			       /* how often all was forgotten */
};

enum fd_force { FD_BEFORE, FD_TOLD, FD_GONE };

struct fd_in_force {
	enum fd_force force;
	const struct fact_fd *fact; /* FD_TOLD: the fact with its name */
	u32 pid;		    /* FD_BEFORE: no fact that answers is older */
	s32 fd;			    /* `fd` that this process had at time_ns */
	u64 time_ns;
	struct in_force_stamp stamp;
};

/*
 * What the descriptor of a process stood for just before a time, through duplicates and forks. An
 * exec needs no look: a descriptor that is used is open. 0 or -ENOMEM.
 */
int in_force_fd(struct facts *f, u32 pid, s32 fd, u64 time_ns, struct fd_in_force *found);

/* The name, last told before a time, of a file that no descriptor has; NULL likewise. */
int in_force_file(struct facts *f, u32 pid, const struct file_ref *file, u64 time_ns,
		  const struct fact_fd **found);

struct socket_in_force {
	const struct fact_socket *fact; /* NULL: none */
	struct in_force_stamp stamp;
};

/* The addresses of the socket with that key, last told before a time. 0 or -ENOMEM. */
int in_force_socket(struct facts *f, u64 key, u64 time_ns, struct socket_in_force *found);

/* Whether an answer about a descriptor or a socket still holds. Nothing was forgotten since. */
bool in_force_holds(struct facts *f, const struct in_force_stamp *stamp);

/* Facts were sorted or removed. */
void in_force_forget(struct facts *f);

#endif
