/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a finished partial: the name of a thread, process or file at a time. They are binary
 * searches over the sorted facts. Nothing is changed; results point into the partial.
 */
#ifndef MAP_FACT_QUERY_H
#define MAP_FACT_QUERY_H

#include "map/partial.h"

/* The fact by which a thread has its name at a time; NULL: not known. */
const struct fact_name *query_name(const struct partial *p, u32 tid, u64 time_ns);

/* Name of a thread at a time; at UINT64_MAX its last one. NULL: not known. */
const char *query_comm(const struct partial *p, u32 tid, u64 time_ns);

/*
 * Until when a number means the thread or process that had it at that time: until the kernel gave
 * it to another one; UINT64_MAX: to the end.
 */
u64 query_held_until(const struct partial *p, u32 number, u64 time_ns);

/* The process of a thread as facts tell it, 0: not known. */
u32 query_pid(const struct partial *p, u32 tid, u64 time_ns);

/*
 * The program that the process ran at a time: its exec or snapshot, or that of its parent if it
 * only forked. NULL: not known.
 */
const struct fact_process *query_process(const struct partial *p, u32 pid, u64 time_ns);

/* The thread and process where a span began, or was first seen; 0: not known. */
struct span_place {
	u32 tid, pid;
};
struct span_place query_span_place(const struct partial *p, const struct app_span *span,
				   u64 begin_ns);

/* The value of an attribute of the process's resource ("service.name"), or NULL. */
const char *query_resource(const struct partial *p, u32 pid, u64 time_ns, const char *key);

/* The file that the process executed then, as far as it was told; NULL: not known. */
const char *query_executable(const struct partial *p, u32 pid, u64 time_ns);

/*
 * The id of the container that a process was in at a time: that of the cgroup with the longest path
 * among its cgroups in all hierarchies. NULL: in none, or not known.
 */
const char *query_container(const struct partial *p, u32 pid, u64 time_ns);

/* The path of the cgroup with the longest path among these. NULL: not known. */
const char *query_cgroup(const struct partial *p, u32 pid, u64 time_ns);

/*
 * The real user of a process at a time, as the last snapshot of it tells it, or of the process that
 * made it. A change of the user is not recorded. USER_UNKNOWN: no snapshot told it.
 */
u32 query_user(const struct partial *p, u32 pid, u64 time_ns);

/* A descriptor of a thread at a time. */
struct fd_question {
	u32 tid, pid;
	s32 fd; /* -1: not known */
	u64 time_ns;
	struct file_ref file; /* what the kernel said at use; kind none: nothing */
};

/*
 * The name that readlink of /proc/TID/fd/FD would have given. It is found through opens,
 * duplicates, forks, unshared tables and execs before; where these are unknown, through any
 * sighting of the same file. It is never the name of another file than the kernel saw. NULL: not
 * known, or closed.
 */
const char *query_fd_name(const struct partial *p, const struct fd_question *q);

/* The fact with that name, by what was told of the descriptor alone; NULL: not known. */
const struct fact_fd *query_fd_fact(const struct partial *p, const struct fd_question *q);

/*
 * The addresses of the socket with this key (of its struct file_ref), as told last before a time,
 * else first after it. NULL: not known.
 */
const struct fact_socket *query_socket(const struct partial *p, u64 key, u64 time_ns);

/*
 * The local port of a connection that a socket of this host accepted, as was told of the socket.
 * Old recordings do not tell; there it is a port on which a socket listens in the same network
 * namespace, or that looks so. 0: the connection was made by its owner, or nothing tells.
 */
u16 query_socket_accepted(const struct partial *p, const struct fact_socket *socket);

/* The key of the socket at the other end, 0: not on this host, or not known. */
u64 query_socket_peer(const struct partial *p, const struct fact_socket *socket);

/*
 * How many ranges of bytes a thread sent and received in a time; they stand in partial.facts.bytes
 * from *first on, in the order of time.
 */
size_t query_bytes(const struct partial *p, u32 tid, u64 begin_ns, u64 end_ns,
		   struct thread_place *first);

/* The name of a block device (major number << 20 | minor number), NULL: not known. */
const char *query_device_name(const struct partial *p, u32 dev);

/* How events of this format are to be read, NULL: not known. */
const struct event_text *query_event_format(const struct partial *p, u32 format);

/* The events that fired in a span: `*count` of them, in the order of time. */
const struct kevent *query_span_events(const struct partial *p, const struct context *ctx,
				       size_t *count);

/*
 * The events of a thread under no span, likewise. They include events that name the thread before
 * its first record, or after its end, until another thread has its number. `life`: number in
 * partial.lives + 1; 0: events with the number `tid` that belong to no life. Events with tid 0
 * belong to no thread.
 */
const struct kevent *query_thread_events(const struct partial *p, size_t life, u32 tid,
					 size_t *count);

/*
 * A path by which the process, else any process, opened the file: last before that time, else first
 * after it. NULL: not known.
 */
const char *query_file_path(const struct partial *p, u32 pid, const struct file_ref *file,
			    u64 time_ns);

/* The same of a file that no descriptor of the process has: a slot of an io_uring holds it. */
const char *query_slot_path(const struct partial *p, u32 pid, const struct file_ref *file,
			    u64 time_ns);

/*
 * The only path by which the process ever opened a file with that inode; NULL: it opened none, or
 * files of several names.
 */
const char *query_sole_path(const struct partial *p, u32 pid, const struct file_ref *file);

/* The path, or the second of its two paths, that a call was asked for; NULL: not known. */
const struct fact_path *query_call_path(const struct partial *p, const struct kspan *call,
					bool second);

/* To or from whom the message of a call went, as the call named it; NULL: it named nobody. */
const struct fact_peer *query_call_peer(const struct partial *p, const struct kspan *call);

/*
 * The stack of a thread in a wait [begin_ns, end_ns); flags: STACK_KERNEL or STACK_USER. NULL: none
 * was recorded.
 */
const struct fact_stack *query_stack(const struct partial *p, u32 flags, u32 tid, u64 begin_ns,
				     u64 end_ns);

/*
 * The mapping in which an address of a stack lay; NULL: that is not sure, since mappings overlap
 * and nothing tells which of them was gone. One that was told later of the same program, where none
 * was told before, is the one.
 */
const struct fact_mapping *query_mapping(const struct partial *p, const struct fact_stack *stack,
					 u64 address);

#endif
