/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts: what holds of a thread, a process or a file from a time on. A partial keeps them as they
 * come, and they are asked (map/fact/query.h) once partial_finish() has sorted them.
 *
 * FACT_KINDS has one row for each kind. A new kind of fact is a struct and a row here, and a file
 * with its `struct fact_kind` (map/fact/kind.h); everything below goes over that table.
 *
 * Not thread-safe; once the facts are sorted several threads may ask at once.
 */
#ifndef MAP_FACT_FACTS_H
#define MAP_FACT_FACTS_H

#include <stdbool.h>

#include "base/vec.h"
#include "map/fact/in_force.h"
#include "map/fact/texts.h"
#include "map/fact/thread_facts.h"
#include "model/container.h"
#include "record/record.h"

struct archive;
struct living;
struct partial;

/* A thread has this name from then on. */
struct fact_name {
	u64 time_ns;
	u32 tid, pid;
	bool weak;     /* from a snapshot: it held before, too, unless something older is known */
	u64 start_ns;  /* start time of the thread; 0: not told. Sorted: the last that was told */
	char comm[16]; /* NUL-terminated */
};

/* A thread was made. */
struct fact_fork {
	u64 time_ns;
	u32 tid, pid, parent_tid, parent_pid;
	u32 flags; /* THREAD_* */
	u64 start_ns, cgroup;
};

#define USER_UNKNOWN (~(u32)0)

/* A process runs this program from then on. */
struct fact_process {
	u64 time_ns;
	u32 pid, parent_pid;
	u32 old_tid; /* exec: the thread that called it */
	u32 files;   /* snapshot: lowest pid that has the same table of descriptors */
	u64 start_ns, cgroup;
	bool snapshot; /* the process ran it before, too */
	u32 uid;       /* snapshot: the real user; else USER_UNKNOWN */
	char *command; /* name, executable, arguments, a NUL after each; owned */
	u32 command_bytes;
};

/* Something happened to a file descriptor. */
struct fact_fd {
	u64 time_ns;
	u32 pid, tid;
	s32 fd, from;
	u8 op, flags;
	struct file_ref file;
	const char *path; /* NULL if it has none; of facts.texts */
	u32 mounts;	  /* with it: the mount namespace in which it holds; 0: the recorder's */
	u64 path_hash;	  /* of both */
	u64 table;	  /* sorted: the table of descriptors that its thread had */
};

/* A socket has these addresses. */
struct fact_socket {
	u64 time_ns;
	u32 pid;
	struct record_socket socket; /* without the text behind it */
	char *path;		     /* NULL if it has none; owned */
	u64 peer_hash;		     /* of all that tells the other end */
};

/* A thread sent or received bytes [from, from + length) of one direction of a connection. */
struct fact_bytes {
	u64 time_ns; /* the end of the call */
	u64 from, length;
	u64 key; /* of the socket */
	u32 tid;
	u8 direction; /* BYTES_SENT or BYTES_RECEIVED */
	u8 flags;     /* BYTES_* */
	/* number of the light thread (goroutine) of its process, and of the one that made it; 0:
	 * none */
	u64 light, light_maker;
};

/* A path that a call was asked for. */
struct fact_path {
	u64 call_ns; /* begin of the call */
	u64 time_ns; /* when it was told: at the call's end or, by an exec, in its middle */
	u32 tid;
	u16 nr;
	u16 flags;	   /* PATH_* */
	const char *path;  /* absolute, `//` and `/./` folded; of facts.texts */
	const char *asked; /* as the program wrote it; likewise */
};

/* To or from whom the message of a call went, which may be of a socket without a connection. */
struct fact_peer {
	u64 call_ns; /* begin of the call */
	u64 time_ns;
	u64 key; /* of the socket */
	u64 netns;
	u64 address_hi, address_lo;
	const char *path; /* of a Unix socket; NULL if it has none; of facts.texts */
	u32 tid;
	u16 kind; /* of the socket: enum record_file_kind */
	u16 family, port;
};

/* A process has this OpenTelemetry resource. */
struct fact_service {
	u64 time_ns;
	u32 pid;
	u32 bytes;
	char *resource; /* key, NUL, value, NUL, ...; owned */
};

/* With FILTER_SPANS: from then on all that a process does under its spans is recorded. */
struct fact_follow {
	u64 time_ns;
	u32 pid;
	bool again; /* it was so before, too, as far back as the recording has that */
};

/* A cgroup. */
struct fact_cgroup {
	u64 id; /* of kernfs */
	u32 hierarchy;
	u32 path_bytes;
	const char *path;		    /* in its hierarchy; of facts.texts */
	char container[CONTAINER_ID_BYTES]; /* whose cgroup it is; "": of none */
};

/* A process was put into a cgroup of one hierarchy, or found there. */
struct fact_move {
	u64 time_ns, cgroup;
	u32 pid, hierarchy;
	bool found; /* it was there before, too */
};

/* A block device. */
struct fact_device {
	u32 dev; /* major number << 20 | minor number */
	u32 name_bytes;
	const char *name; /* of facts.texts */
};

/* A budget changed the level of detail: as in struct record_step. */
struct fact_step {
	u64 time_ns;
	u8 from, to, why;
	u32 budget_ppm, cost_ppm, predicted_ppm;
};

/* The relation of the clocks at one instant. */
struct fact_clock {
	u64 monotonic_ns, realtime_ns, boottime_ns;
	u32 reason;
};

/* A call stack, the same from since_ns to time_ns. */
struct fact_stack {
	u64 time_ns, since_ns;
	u32 tid, pid;
	u32 flags;	   /* STACK_KERNEL or STACK_USER */
	u32 frames, words; /* how many of each */
	bool cut;	   /* there may be more callers than these lead to */
	bool unsure;	   /* words may be absent; never of a fact */
	u64 *addresses;	   /* the frames, innermost first, then the words; owned */
};

/* Code that was mapped; with pid 0 a function of the kernel. */
struct fact_mapping {
	u64 since_ns;
	u64 begin, end, offset;
	u32 pid;
	u32 bytes;
	char *path; /* path, NUL, identity, NUL, function; each may be ""; owned */
};

#define FACT_OF(record) (1ull << RECORD_##record)

/*
 * K(kind, list, form, records): one row for each kind of fact.
 *   kind     names struct fact_<kind>, and fact_kind_<kind> in the file of the kind
 *   list     the member of struct facts
 *   form     LIST: a VEC, sorted by fact_kind.compare; THREADS: a struct thread_facts, sorted by
 *            the struct thread_order <kind>_order; INDEXED: a VEC that fact_kind.index sorts
 *   records  the kinds of record that it is made of
 * Further arguments of FACT_KINDS are passed on to each row.
 *
 * A checkpoint prunes the kinds from the first row to the last: fact_kind.keep may ask the kinds
 * below its row for all that they ever had, and the kinds above for what a checkpoint keeps.
 */
#define FACT_KINDS(K, ...)                                                                         \
	K(fd, fds, INDEXED, FACT_OF(fd), ##__VA_ARGS__)                                            \
	K(socket, sockets, LIST, FACT_OF(socket), ##__VA_ARGS__)                                   \
	K(stack, stacks, LIST, FACT_OF(stack), ##__VA_ARGS__)                                      \
	K(mapping, mappings, LIST, FACT_OF(mapping), ##__VA_ARGS__)                                \
	K(move, moves, LIST, FACT_OF(cgroup_attach) | FACT_OF(process), ##__VA_ARGS__)             \
	K(cgroup, cgroups, LIST, FACT_OF(cgroup), ##__VA_ARGS__)                                   \
	K(follow, follows, LIST, FACT_OF(filter), ##__VA_ARGS__)                                   \
	K(service, services, LIST, FACT_OF(service), ##__VA_ARGS__)                                \
	K(name, names, LIST,                                                                       \
	  FACT_OF(fork) | FACT_OF(exec) | FACT_OF(name) | FACT_OF(process) | FACT_OF(thread),      \
	  ##__VA_ARGS__)                                                                           \
	K(process, processes, LIST, FACT_OF(exec) | FACT_OF(process), ##__VA_ARGS__)               \
	K(fork, forks, LIST, FACT_OF(fork), ##__VA_ARGS__)                                         \
	K(device, devices, LIST, FACT_OF(device), ##__VA_ARGS__)                                   \
	K(clock, clocks, LIST, FACT_OF(clock), ##__VA_ARGS__)                                      \
	K(step, steps, LIST, FACT_OF(step), ##__VA_ARGS__)                                         \
	K(bytes, bytes, THREADS, FACT_OF(bytes), ##__VA_ARGS__)                                    \
	K(path, paths, THREADS, FACT_OF(path), ##__VA_ARGS__)                                      \
	K(peer, peers, THREADS, FACT_OF(peer), ##__VA_ARGS__)

/* ---- what is found as the facts are sorted ---- */

/* A number was given to another thread. */
struct fact_tenure {
	u64 time_ns;
	u32 tid;
	u32 fork; /* number in forks + 1; 0: nobody saw the fork */
};

/* The port of a server: TCP connections with this local port were accepted. */
struct fact_listener {
	u64 netns;
	u16 port;
	bool told; /* by a single socket */
};

/* How a thread got a table of descriptors. */
enum table_event_kind {
	TABLE_FORK_SHARES, /* it shares the table of from_tid */
	TABLE_FORK_COPIES, /* it has a copy of the table of from_tid */
	TABLE_EXEC,	   /* a copy, without what was close-on-exec */
	TABLE_UNSHARED,	   /* a copy of the table that it had */
	TABLE_WAS_OWN,	   /* a snapshot found that it has another table than its process */
};

struct table_event {
	u64 time_ns;
	u32 tid, from_tid, from_pid;
	u8 kind; /* enum table_event_kind */
};

#define FACT_MEMBER_LIST(kind, list) VEC(struct fact_##kind) list;
#define FACT_MEMBER_INDEXED FACT_MEMBER_LIST
#define FACT_MEMBER_THREADS(kind, list) struct thread_facts list;

/* Starts with all zero. */
struct facts {
	struct texts texts; /* of descriptors and calls */
#define K(kind, list, form, records) FACT_MEMBER_##form(kind, list)
	FACT_KINDS(K)
#undef K
	struct in_force in_force; /* while they are added */
	/* once sorted: */
	VEC(struct fact_tenure) tenures;     /* by number and time */
	VEC(struct table_event) tables;	     /* by thread and time */
	VEC(u32) fd_ranges;		     /* facts of ranges, by table and time */
	VEC(u32) fds_by_file;		     /* facts with a path that queries need, by file */
	VEC(u32) sockets_by_peer;	     /* facts that name a peer, by its key */
	VEC(struct fact_listener) listeners; /* by network namespace and port */
};

/* Adds the facts that the record tells; many records tell none. 0 or -ENOMEM. */
int facts_add(struct facts *f, const struct record_head *r);

/* Moves the facts of `right` to `left`; right is left empty. 0 or -ENOMEM. */
int facts_merge(struct facts *left, struct facts *right);

/* Sorts each kind and makes what queries need. Later facts may be added. 0 or -ENOMEM. */
int facts_sort(struct facts *f);

/*
 * Leaves of sorted facts what later records may ask for, as `l` says who goes on at p->to_ns.
 * Kinds that a checkpoint has nothing of stay as they are. 0 or -ENOMEM.
 */
int facts_keep(struct partial *p, struct living *l);

/*
 * Writes the facts, or reads them into empty ones (map/checkpoint/archive.h): each kind in the
 * order that its list has. `kept`: only the kinds that a checkpoint keeps.
 */
void facts_archive(struct archive *a, struct facts *f, bool kept);

void facts_free(struct facts *f);

#endif
