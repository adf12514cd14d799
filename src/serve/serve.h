/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server: receives spans over OTLP and Zipkin, keeps them in a log and a store, and answers
 * queries.
 *
 * A request that brings spans is checked, appended to the log, and acknowledged when the log is
 * synced. A thread of its own, the loader, decodes what the log has and stores it. Queries see what
 * is stored. The directory has:
 *
 *   log/            segments of the log
 *   spans-N.duckdb  files of the store
 *   monitors.json   what monitors keep (monitor/kept.h)
 */
#ifndef SERVE_SERVE_H
#define SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "monitor/monitors.h"
#include "serve/claims.h"
#include "serve/coverage.h"
#include "serve/cpu_runs.h"

#define SERVE_ADDRESS_BYTES 64

#define ACCESS_TOKEN_BYTES 1024

struct serve;

/* Who may ask and send; all zero: this host alone. See serve/access.h. */
struct access_options {
	const char *token;	  /* that requests must bring; NULL: none */
	const char *const *hosts; /* names of this host, besides those that every host has */
	size_t hosts_count;
	const char *const
		*trusted; /* networks that send spans without a token, like 172.17.0.0/16 */
	size_t trusted_count;
};

/* Limits of requests that bring spans. */
struct receive_limits {
	uint64_t body_bytes;	/* after decompression; 16 MB at most */
	uint64_t pending_bytes; /* memory of all requests under way */
	uint64_t request_ns;	/* until a request is whole */
	uint64_t connections;	/* of each address */
	uint64_t depth;		/* of values in values; 32 at most */
	uint64_t
		attributes; /* of a span, an event, a link: further ones are counted; 64 at least */
	uint64_t names;	    /* of services and operations that come into lists in an hour */
};

#define RECEIVE_LIMITS_INITIAL                                                                     \
	{                                                                                          \
		(uint64_t)16 << 20, (uint64_t)128 << 20, 30 * (uint64_t)1000000000, 512, 32, 1024, \
			10000                                                                      \
	}
#define RECEIVE_LIMITS_DEFAULT ((struct receive_limits)RECEIVE_LIMITS_INITIAL)

struct serve_options {
	const char *dir;  /* made if it is not there */
	const char *name; /* by which people know it; NULL: dir */
	struct {
		uint64_t period_ns, keep_ns, keep_bytes; /* as in store_options */
		/* With less room on the disk no spans are taken; 0: 256 MB. */
		uint64_t min_free_bytes;
	} store;
	const char *http;      /* "ADDRESS:PORT" of the query API; "off" */
	const char *otlp_http; /* of the receiver of OTLP over HTTP; "off" */
	const char *otlp_grpc; /* of the receiver of OTLP over gRPC; "off" */
	const char *zipkin;    /* of Zipkin's receiver and query API; "off" */
	const char *jaeger;    /* of Jaeger's query API alone; "off" */
	bool jaeger_is_preset; /* nobody asked for it: up gives it up where it cannot be had */
	/* Folders with the built files of these pages, at the address of the same name; or NULL. */
	const char *ui_zipkin, *ui_jaeger;
	bool is_plain; /* Jaeger's and Zipkin's API leave out what fathom adds, unless asked */
	struct access_options access;
	struct receive_limits limits; /* 0: the default of each */
	/* Tells in a line why spans are not stored, not taken or lost, from any thread; or NULL. */
	void (*warn)(const char *text);
	/* A listening socket for spans in OTLP of this host's own map, which it takes over; 0:
	 * none.
	 */
	int spans;
	const struct serve_more *more; /* NULL, or what the status shows besides; outlives it */
	/* A socket of messages on which spans of this host's processes are told to map
	 * (serve/claims.h), which stays the caller's; 0: none.
	 */
	int claims;
	const struct owner_finder *finder;	 /* of senders; NULL: none; copied */
	const struct monitors_config *monitors;	 /* NULL: none of a file; outlives it */
	void (*monitors_warn)(const char *text); /* as `warn`, of monitors; or NULL */
};

/* What whoever runs the server adds to its status; called from any thread. */
struct serve_more {
	/* The state to show, where the server's own is `own`. */
	const char *(*state)(void *arg, const char *own);
	/* Writes members into an object that is begun. */
	void (*write)(void *arg, struct json *j);
	void *arg;
	const struct serve_pins *pins; /* NULL: nothing is recorded */
	/*
	 * Appends all kernel spans of the spans of a trace, from the recording. -ENOENT: it is
	 * there no longer. NULL: nothing is recorded.
	 */
	int (*kernel)(void *arg, struct received_batch *batch, struct pool *pool, struct error *e);
	/* Finds which thread had which CPU, as above. Whoever asks frees both lists. */
	int (*cpus)(void *arg, const struct cpu_runs_query *query, struct cpu_runs *out,
		    struct error *e);
	/* How much of a time, since 1970, was recorded. `out` is all zero. */
	void (*coverage)(void *arg, uint64_t from_ns, uint64_t to_ns, struct coverage *out);
};

#define PIN_ASKED "asked" /* why: a person, or a program of theirs, asked for it */

/* What is to be pinned of a recording: the time of a trace, or a time. */
struct pin_request {
	const char *trace;	 /* 32 hex digits; "": none */
	const char *why;	 /* PIN_ASKED, or words */
	uint64_t from_ns, to_ns; /* since 1970 */
};

/* Pins; called from any thread. 0 or a negative errno with a cause. */
struct serve_pins {
	int (*list)(void *arg, struct json *j, struct error *e); /* objects of an array */
	/*
	 * Writes members of an object. -ENOENT: no chunk is left of that time; -E2BIG: they are
	 * larger than the room of pins.
	 */
	int (*make)(void *arg, const struct pin_request *request, struct json *j, struct error *e);
	int (*remove)(void *arg, const char *name, struct error *e); /* -ENOENT: there is none */
	void *arg;
};

/* Addresses that are served, with the ports that the kernel chose for port 0; "": off. */
struct serve_addresses {
	char http[SERVE_ADDRESS_BYTES];
	char otlp_http[SERVE_ADDRESS_BYTES];
	char otlp_grpc[SERVE_ADDRESS_BYTES];
	char zipkin[SERVE_ADDRESS_BYTES];
	char jaeger[SERVE_ADDRESS_BYTES];
	bool is_remote; /* another host can reach one of them */
	bool has_page;	/* fathom's own page is built, and is at `http` */
};

/*
 * Starts to serve, in threads of its own. An address that other hosts can reach is refused with
 * error_misuse() unless there is a token, or, for receivers, a trusted network. -ELIBACC: the store
 * has no library, and the cause says how to get it. The process gets a higher limit of open files,
 * and fewer arenas for its memory.
 */
int serve_open(const struct serve_options *options, struct serve **out,
	       struct serve_addresses *addresses, struct error *e);

/*
 * Whether the access makes sense, and all addresses can be listened at. -EADDRINUSE: *address, of
 * the option of that name, cannot; other errors as above. Nothing is left open.
 */
int serve_addresses_try(const struct serve_options *options, const char **option,
			const char **address, struct error *e);

/* Asks for the ports that were served before, also where an option has port 0. The options borrow.
 */
void serve_addresses_keep(struct serve_options *options, struct serve_addresses *addresses);

/* The next address that is served, and its option; NULL at the end. Begin with *at = 0. */
const char *serve_addresses_next(struct serve_addresses *addresses, unsigned int *at,
				 const char **option);

struct serve_status {
	uint64_t received, rejected; /* spans that others sent */
	uint64_t mapped;	     /* spans of this host's own map */
	uint64_t stored;	     /* spans since the start */
	uint64_t store_spans, store_bytes;
	uint64_t unlisted;     /* spans whose names are beyond the limits of lists and sums */
	uint64_t behind_bytes; /* of the log, that are not stored */
	int log_failed;	       /* errno, 0: it works */
	/* Damaged bytes of the log; those of an entry at its end that was not whole at the start.
	 */
	uint64_t log_lost_bytes, log_cut_bytes;
	uint64_t lost_files;		 /* of the store, which are left out */
	uint64_t free_bytes;		 /* of the disk */
	uint64_t min_free_bytes;	 /* with less, no spans are taken */
	char lost_why[ERROR_TEXT_BYTES]; /* why the last file is left out */
	struct claims_counts claims;
	/* Static: "ok", "loading", "full" (no spans are taken), "store failed" or "log failed". */
	const char *state;
	char store_error[ERROR_TEXT_BYTES];
};

/* Any thread may call it. */
void serve_status(struct serve *s, struct serve_status *out);

/* Appends who sends, the latest first. Any thread may call it. 0 or -ENOMEM. */
int serve_senders(struct serve *s, sender_list *out);

/* Any thread may call it. */
void serve_monitors(struct serve *s, struct monitors_counts *out);

/*
 * Ends: takes no new request, syncs the log, stores what the log has for at most two seconds, and
 * closes the store. What is left is stored after the next start.
 */
int serve_close(struct serve *s, struct error *e);

#endif
