/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the steps of linking share: the events of each process in order of time, its threads, and
 * what is known of each exchange. link.c says how the steps work together.
 */
#ifndef REQUEST_LINK_INTERNAL_H
#define REQUEST_LINK_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "request/link.h"

#define NOBODY UINT32_MAX

/* Events at the same instant are in this order. */
enum link_event_kind {
	LINK_DONE,    /* the answer of a call was received */
	LINK_WAKE,    /* a thread was woken: `number` is that of the hand-off */
	LINK_REQUEST, /* a request was received */
	LINK_FORK,    /* a process was made: `number` is that of the fork */
	LINK_CONNECT, /* a connection was made, for the call `number`, which is its first */
	LINK_CALL,    /* a call was sent */
	LINK_ANSWER,  /* a request was answered, or its connection ended */
};

struct link_event {
	u64 time_ns;
	u32 number; /* of the exchange, if nothing else is said */
	u32 thread : 29;
	u32 kind : 3; /* enum link_event_kind */
};

/* What is known of an exchange. As a request it is of its server, as a call of its caller. */
struct link_item {
	/* as a request */
	u64 closed_ns;	/* since then no new call can belong to it */
	u32 behind;	/* the request before it on its connection, not answered when it came */
	u32 then;	/* the request that came behind it; NOBODY: none */
	u32 supersedes; /* a request without an answer, which ends when this one comes */
	u32 reader;	/* number of the thread that received it */
	u32 place;	/* its number within its process */
	/* as a call */
	u32 request;	/* the request to which it belongs by its label; NOBODY: no label */
	u32 candidates; /* requests that were open */
	u32 next;	/* the next call in its section */
	u8 evidence;	/* enum edge_evidence of the label */
	u8 peer;	/* number in the model of its process: of the peer that it calls, */
	u8 service;	/* and of the service that it is a request to */
	bool is_helper; /* made by a thread that then ended the wait of the section's thread */
	bool is_call, is_request, is_answered;
};

/* Calls of a thread that belong together, chained by link_item.next. */
struct link_section {
	u32 first, last; /* first is NOBODY without any */
	u32 calls;	 /* how many they are */
};

struct link_thread {
	bool mixed;	/* it had two requests under way at once: a loop, or a carrier */
	bool has_word;	/* it took work over by a wake-up */
	bool has_files; /* others of its process tell it by files what is done */
	bool apart;	/* what it does besides is nobody's */
	u32 held;	/* requests that it received and that are not answered */
	u32 request;	/* at which it works; NOBODY: none is known */
	u32 word;	/* at which it waits for new work; 0: not known */
	struct link_section section;
	u32 helpers; /* that handed a section back to this loop, which has not answered since */
	bool helpers_mix;	    /* it is not known for which of them it answers first */
	u32 helper;		    /* the last one */
	struct link_section handed; /* its section as it was then */
	bool handed_whole;	    /* which is one task */
	u32 reads;		    /* requests that it received */
	u32 received;		    /* the same, in all of its time */
	u32 woken;    /* wake-ups in all of its time that may have handed it something */
	u32 calls;    /* that it made */
	u32 labelled; /* of these, with a label */
	u32 outside;  /* of these, while no request was open */
	/* of a mixed one: wake-ups by it, and those that tell that it hands over later than it
	 * reads */
	u32 wakes, late_wakes;
	u32 run_reads, run_wakes; /* requests read in a row, then wake-ups in a row */
};

struct link_process {
	size_t begin, end;    /* its events */
	u32 requests;	      /* received by it */
	u32 calls, labelled;  /* made by it, and those with a label */
	u32 section_calls;    /* made by threads of which some calls have a label */
	u32 callers;	      /* threads that made calls */
	u32 most_open;	      /* requests at once */
	u32 inherited;	      /* the request for which it was made; NOBODY: none */
	u64 first_request_ns; /* UINT64_MAX: it received none */
	bool has_lights;      /* light threads were seen in it */
	bool has_contexts;    /* its calls publish contexts */
	u32 mixed;	      /* threads that are */
};

struct link {
	const struct link_input *in;
	struct link_event *events; /* by process, then in order */
	size_t event_count;
	struct link_process *processes; /* in->process_count */
	struct link_item *items;	/* in->exchange_count */
	VEC(struct link_thread) threads;
	struct map thread_numbers; /* process and tid -> number + 1 */
	struct map symmetric;	   /* words that hand nothing over */
	struct map sleepers;	   /* words and threads that slept there */
};

static inline bool link_is_open(const struct link *l, u32 request, u64 at_ns)
{
	return request != NOBODY && at_ns <= l->items[request].closed_ns;
}

static inline const struct exchange *link_exchange(const struct link *l, u32 number)
{
	return &l->in->exchanges[number];
}

static inline u64 link_peer(const struct link *l, u32 number)
{
	return l->in->connections[link_exchange(l, number)->connection].peer;
}

/* What few ends have; all zero if this one does not. Static memory, or of the input. */
const struct exchange_detail *link_detail(const struct link *l, const struct exchange_end *end);

/* Whether the end had a published context. */
static inline bool detail_has_context(const struct exchange_detail *d)
{
	static const u8 none[sizeof(d->trace)];

	return memcmp(d->trace, none, sizeof(none)) != 0;
}

static inline void link_label(struct link *l, u32 call, u32 request, enum edge_evidence evidence)
{
	l->items[call].request = request;
	l->items[call].evidence = (u8)evidence;
}

/*
 * The steps, in their order. Each returns 0 or -ENOMEM; link_free() frees what they made. Only
 * link_events() and link_words() allocate for all processes together.
 */
int link_events(struct link *l);
int link_words(struct link *l);
void link_free(struct link *l);

/* Whether a hand-off at this word hands nothing over: a lock. */
bool link_word_is_lock(const struct link *l, const struct hand_off *h);

/* Whether the waker sleeps at this word, too: then it does not wait there for what others did. */
bool link_waker_sleeps_there(const struct link *l, const struct hand_off *h);

/* Labels of one process: from sections of threads, from light threads, from published contexts. */
void sections_label(struct link *l, struct link_process *p);
int lights_label(struct link *l, struct link_process *p);
int contexts_label(struct link *l, struct link_process *p);

/* Labels of processes that were made for a request. All others must have their labels. */
int forks_label(struct link *l);

#endif
