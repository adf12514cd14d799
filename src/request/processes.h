/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that take part in requests, over all hosts, and what each of them is called: its
 * service.
 */
#ifndef REQUEST_PROCESSES_H
#define REQUEST_PROCESSES_H

#include "base/map.h"
#include "request/ends.h"

struct request_process {
	u32 host, pid;
	u64 seen_ns, until_ns; /* first time at which it took part; until when it had its number */
	u32 next;	       /* another process with this number of this host; 0: none */
	u32 service;	       /* number in processes.services */
};

struct request_service {
	char *name;	/* "nginx", "python3 app.py"; owned */
	bool published; /* the application says so */
};

/* To which process a thread belongs for some time. */
struct process_thread {
	u64 from_ns, until_ns;
	u32 process;
};

/* Starts with all zero, but for the hosts. */
struct processes {
	const struct request_host *hosts; /* borrowed */
	size_t hosts_count;
	VEC(struct request_process) list; /* [0] is none */
	VEC(struct request_service) services;
	struct map by_pid;    /* hash of host and pid -> number of the first process */
	struct map by_thread; /* hash of host and tid -> the place in threads, + 1 */
	VEC(struct process_thread) threads;
};

/*
 * The number of the process to which a thread belongs at a time. `add`: one that is not in the list
 * yet is added. 0: it is not in the list, or the memory ran out.
 */
u32 process_of_thread(struct processes *p, u32 host, u32 tid, u64 time_ns, bool add);

/* The same of a pid. */
u32 process_of_pid(struct processes *p, u32 host, u32 pid, u64 time_ns, bool add);

/*
 * Gives each process its service: what it publishes as service.name, else its container by name or
 * id, else its unit of systemd, else its program with its script. Where several programs share a
 * container or a unit, the program is told, too. 0 or -ENOMEM.
 */
int processes_name(struct processes *p);

/*
 * The id of the container that a process was in when it was first seen, and its name; NULL: it was
 * in none, or its name is not known.
 */
const char *process_container(const struct processes *p, u32 process, const char **name);

/* Its name, of named processes; "?" for number 0. */
const char *process_service(const struct processes *p, u32 process);

void processes_free(struct processes *p);

#endif
