/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of recorded hosts: exchanges, the request to which each call belongs, and the traces
 * that they are. A trace is one request from outside with all that was called for it.
 *
 * Each exchange gives up to two spans: `client` at the caller, and `server` below it. Ids are
 * derived of what is recorded, so that the same recording gives the same ids.
 *
 * Not thread-safe while it is made; then several threads may read it.
 */
#ifndef REQUEST_REQUESTS_H
#define REQUEST_REQUESTS_H

#include "request/awaited.h"
#include "request/clock_offsets.h"
#include "request/exchanges.h"
#include "request/hand_offs.h"
#include "request/link.h"
#include "request/published.h"
#include "request/stints.h"

#define REQUEST_PROBABILITY_PPM 500000 /* of an edge: below it, a call is a root */
#define UNANSWERED_NS 1000000000ull    /* a request without an answer for so long has none */
#define TRACE_SPANS_MOST 100000	       /* a longer trace is cut */

enum request_span_kind { REQUEST_CLIENT, REQUEST_SERVER, REQUEST_APP };

/* A span of a trace: one of the two of an exchange, or one of an application. */
struct request_span {
	u32 of;	 /* number of the exchange, or of the app */
	u8 kind; /* enum request_span_kind */
};

/* request_trace.flags */
#define TRACE_OF_STREAM 1 /* a burst of a stream, which is no request */
#define TRACE_INSIDE 2	  /* a call of a process that serves requests, for none of them */
#define TRACE_UNSURE 4	  /* a call whose request is not sure enough */
#define TRACE_CUT 8	  /* it has more spans than TRACE_SPANS_MOST */

struct request_trace {
	u8 id[16];
	u32 exchange;	      /* the first one of it */
	u32 flags;	      /* TRACE_* */
	size_t first, end;    /* of requests.spans: depth first, siblings by begin */
	u64 begin_ns, end_ns; /* by the clock of the host of its first span */
};

/* What serves: a service at a port. */
struct request_operation {
	char *name;    /* "nginx:80", "10.1.2.3:5432"; owned */
	char *service; /* "nginx", "10.1.2.3"; owned */
};

/* What linking was told. */
struct request_linking {
	VEC(struct exchange_connection) connections;
	VEC(struct request_fork) forks;
	struct hand_off_list hand_offs;
};

/* Starts with all zero. */
struct requests {
	const struct request_host *hosts; /* borrowed */
	size_t hosts_count;
	struct connections connections;
	struct processes processes;
	struct exchange_list exchanges;
	struct edge *edges; /* of each exchange */
	u32 *parents;	    /* of each exchange: the one whose server made the call, or EDGE_ROOT */
	struct request_apps apps; /* spans of applications */
	struct exchange_details details;
	u32 *node_parents; /* of each node (request/nodes.h) */
	u32 *operations;   /* of each connection: its number in operation_list */
	VEC(struct request_operation) operation_list;
	struct thread_times *times; /* of each host */
	struct stints stints;
	struct awaited *awaited; /* of each exchange */
	VEC(struct request_span) spans;
	VEC(struct request_trace) traces; /* by begin, then id */
	size_t hand_offs;		  /* how many there were */
	struct request_linking linking;
	struct clock_offsets offsets; /* between the hosts */
	s64 *shifts;	   /* of each node, see request_shift(); NULL: there is one host */
	size_t impossible; /* exchanges with EXCHANGE_IMPOSSIBLE */
};

struct follow_options {
	u32 min_probability_ppm; /* of an edge: below it, a call is a root */
	/* What earlier recordings taught, but not this one; NULL: nothing. Borrowed. */
	const struct learned *learned;
	u64 learned_ns; /* requests that came before it are in `learned`, and do not teach again */
};

/*
 * Makes the requests of hosts, whose partials are finished and have their kernel spans. 0 or
 * -ENOMEM; free it in any case.
 */
int requests_follow(struct requests *out, const struct request_host *hosts, size_t count,
		    const struct follow_options *options);

/* The same, with nothing learned before. */
int requests_make(struct requests *out, const struct request_host *hosts, size_t count,
		  u32 min_probability_ppm);
void requests_free(struct requests *r);

/*
 * Adds what the requests teach that came in [from_ns, until_ns), of their host's clock; until 0:
 * all. 0, or -ENOMEM with sums of a part of them.
 */
int requests_learn(const struct requests *r, u64 from_ns, u64 until_ns, struct learned *learned);

/* ---- what a span is ---- */

/* Its id and that of its parent as numbers that print as 16 digits; parent 0: it is a root. */
u64 request_span_id(const struct requests *r, const struct request_span *s);
u64 request_span_parent(const struct requests *r, const struct request_span *s);

/* The id of the trace of a root: that which the application gave it, else a derived one. */
void request_trace_id(const struct requests *r, const struct request_span *root, u8 id[16]);

/* When it begins and ends. An end that was not seen is that of what was seen of it. */
struct request_bounds {
	u64 begin_ns, end_ns;
	bool begin_soft, end_soft;
};
struct request_bounds request_bounds_of(const struct requests *r, const struct request_span *s);

/*
 * What is added to a time of a span to get the clock of the host of its trace's first span: the
 * middle of the interval in which the clocks of their hosts differ. For views on one line of time.
 */
s64 request_shift(const struct requests *r, const struct request_span *s);

/* The same of an end of an exchange. */
struct request_bounds request_span_bounds(const struct requests *r, u32 exchange, bool server);

/*
 * Its time split: of a server, what threads did for it, the rest off thread; of a client, what its
 * thread did, if it waited for the answer alone. *threads gets the number of threads whose times
 * overlap, which then exceed the duration.
 */
struct split request_span_time(const struct requests *r, u32 exchange, bool server, u32 *threads);

/* Of the end of a span: its service, "?" if it was not recorded. */
const char *request_span_service(const struct requests *r, u32 exchange, bool server);

/* The address of an end of a connection, or with `remote` of what it is connected to. */
void request_address(const struct record_socket *of, bool remote, char *text, size_t size);

/* What serves an exchange. */
const struct request_operation *request_operation(const struct requests *r, u32 exchange);

/*
 * How long a request, whole and sent, waited at its server until it was read, or its answer at the
 * caller: with the time on the network. 0: it did not, or an end or the clock is not known.
 */
u64 request_unread_ns(const struct requests *r, u32 exchange, bool answer);

/* Whether it had no answer, though the recording went on for a while. */
bool request_is_unanswered(const struct requests *r, u32 exchange);

#endif
