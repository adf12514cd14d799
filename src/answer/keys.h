/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys: what the rows of a report can be told apart by. Each value of --by is a row of the table in
 * keys.c, and so are the halves of "--by KEY,KEY" and the filters of reports.
 *
 * A new key is a function that says which value a subject has, and a row of that table. If sums
 * have to tell its values apart, the row names a dimension of them (SUM_BY_*,
 * map/kernel/call_sums.h).
 */
#ifndef ANSWER_KEYS_H
#define ANSWER_KEYS_H

#include <stdbool.h>

#include "answer/rows.h"
#include "map/partial.h"
#include "map/tree/tree.h"

/* The kinds of subjects. Each kind has a list in the partial. */
enum subject_kind {
	OF_LIFE = 1,	  /* threads, with the time of their lives */
	OF_CALL = 2,	  /* calls and requests to io_uring, with their time */
	OF_SPAN = 4,	  /* spans of applications */
	OF_WAIT = 8,	  /* waits, by their cause */
	OF_BLOCK = 16,	  /* requests to disks */
	OF_EVENT = 32,	  /* kernel tracepoints that the user chose */
	OF_FUNCTION = 64, /* functions in stacks, of answer/profile.h; no process is told of one */
	OF_COST = 128,	  /* what recording cost, of answer/overhead.h; no key goes with it */
	OF_REQUEST = 256, /* requests and calls, of answer/request_rows.h; likewise */
};
#define OF_ANY 63

struct peer_servers;
struct profile_function;

/* A thing that rows count. What does not apply is 0 or NULL. */
struct subject {
	const struct partial *p;
	const char *host; /* of the partial; NULL: unknown */
	enum subject_kind kind;
	u32 pid, tid;
	/*
	 * The last time at which pid was its number, for which it is named; and the time at which
	 * its service is asked for.
	 */
	u64 time_ns, at_ns;
	const struct life *life; /* OF_LIFE */
	size_t number;		 /* of the life in its list */
	const struct app_span *span;
	const struct sum *sum;			 /* OF_CALL, OF_WAIT, OF_BLOCK, OF_EVENT */
	const struct profile_function *function; /* OF_FUNCTION */
	u64 call;				 /* OF_CALL, OF_WAIT: SUM_CALL_* */
	int part;				 /* enum split_part; -1: all of its time */
	const struct peer_servers *servers;	 /* rows by peer: what serves peers */
	bool reused; /* a sum whose pid several processes had: it tells of none of them */
};

#define KEY_TEXT_BYTES 4096

/* The value of a key. */
struct key_value {
	const char *text;     /* static, of the partial, or in `buffer` */
	const char *identity; /* in what values differ, or what they share; NULL: the text */
	const char *address;  /* of a peer that is one of several of the value; NULL: none */
	char identity_buffer[256];
	char buffer[2 * KEY_TEXT_BYTES];
};

struct key {
	const char *name;
	const char *what;   /* "a row per WHAT" */
	unsigned int of;    /* enum subject_kind: all that have it */
	unsigned int first; /* one of these: the kind that is counted if nothing else says which */
	u32 sums;	    /* SUM_BY_* */
	bool of_process;    /* a process has one value: the key can stand beside any other */
	/* Writes the value of a subject. False: it has none, and is in no row. */
	bool (*tell)(const struct subject *s, struct key_value *value);
	/*
	 * Sets members of a row that has this value alone; NULL: there are none. Texts are copied
	 * later. 0 or -ENOMEM.
	 */
	int (*describe)(struct rows *rows, const struct subject *s, struct row *row);
};

/* All keys, in the order of the help. The last one has the name NULL. */
extern const struct key key_table[];

/* The key with the name text[0..length); NULL if there is none. */
const struct key *key_find(const char *text, size_t length);

/* Whether rows can be told apart by both. */
bool keys_pair(const struct key *one, const struct key *other);

/* ---- keys_process.c ---- */
bool key_tell_process(const struct subject *s, struct key_value *value);
bool key_tell_thread(const struct subject *s, struct key_value *value);
bool key_tell_program(const struct subject *s, struct key_value *value);
bool key_tell_command(const struct subject *s, struct key_value *value);
bool key_tell_cgroup(const struct subject *s, struct key_value *value);
bool key_tell_user(const struct subject *s, struct key_value *value);
bool key_tell_container(const struct subject *s, struct key_value *value);
bool key_tell_host(const struct subject *s, struct key_value *value);
bool key_tell_service(const struct subject *s, struct key_value *value);
bool key_tell_name(const struct subject *s, struct key_value *value);
int key_describe_process(struct rows *rows, const struct subject *s, struct row *row);
int key_describe_thread(struct rows *rows, const struct subject *s, struct row *row);
int key_describe_command(struct rows *rows, const struct subject *s, struct row *row);
int key_describe_file(struct rows *rows, const struct subject *s, struct row *row);
int key_describe_peer(struct rows *rows, const struct subject *s, struct row *row);
int key_describe_service(struct rows *rows, const struct subject *s, struct row *row);

/* ---- keys_call.c ---- */
bool key_tell_syscall(const struct subject *s, struct key_value *value);
bool key_tell_errno(const struct subject *s, struct key_value *value);
bool key_tell_file(const struct subject *s, struct key_value *value);
bool key_tell_peer(const struct subject *s, struct key_value *value);
bool key_tell_cause(const struct subject *s, struct key_value *value);
bool key_tell_waker(const struct subject *s, struct key_value *value);
bool key_tell_preempted_by(const struct subject *s, struct key_value *value);
bool key_tell_lock(const struct subject *s, struct key_value *value);
bool key_tell_device(const struct subject *s, struct key_value *value);
bool key_tell_event(const struct subject *s, struct key_value *value);
bool key_tell_function(const struct subject *s, struct key_value *value);

#endif
