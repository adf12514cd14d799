/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfathom: spans of an application, recorded from outside the process.
 *
 * A span is an interval of work with a name: a request, or a phase of it. The
 * spans of one request share a trace id and know their parents. Spans, their
 * attributes and their events are written to shared memory, from which `fathom
 * record` reads them. The active span of a thread is published in thread-local
 * memory, where kernel programs read it (OpenTelemetry's thread context).
 *
 *	fathom_init("thumbnailer");
 *	...
 *	struct fathom_span request = fathom_span_begin("GET /thumbnail");
 *	struct fathom_span phase = fathom_span_begin("decode");
 *	fathom_span_integer(&phase, "frame", 42);
 *	fathom_span_end(&phase);
 *	fathom_span_end(&request);
 *
 * Rules that hold for every function here, unless it says otherwise:
 *
 * - It may be called by any thread at any time, also in signal handlers, and by
 *   several threads at once. But two threads must not change (end, set the status of)
 *   one `struct fathom_span` at the same time. If a span was copied, end only one of
 *   the copies: each end of a copy is recorded.
 * - It never blocks, locks, prints or exits, and keeps errno. It does nothing if it
 *   fails, so a program need not check any call for its own sake.
 * - The first call of a thread makes some fifteen syscalls and maps some pages to set the
 *   thread up. Signals are blocked meanwhile, and the thread is not cancelled. Later calls make no
 *   syscall, except for the few functions that say so. If another thread is setting the process
 *   up (its start, a fork, its identity), the first call waits for that, some tenths of a second
 *   at most, or some seconds on a busy host. If that is not enough, the call does nothing, and the
 *   next call tries again. After one wait in vain, later calls do not wait.
 * - If the span is NULL or "no span", nothing is done. Of numbers outside of their enum, a
 *   kind counts as FATHOM_INTERNAL, a level as less severe than all levels, and an
 *   attribute or a status is left out.
 * - Strings belong to the caller and are copied before the function returns. They
 *   should be UTF-8 without control characters; this is not checked. Names and
 *   messages of a status are cut after 512 bytes, and an attribute after 1,024 bytes of
 *   key and string together. A recording counts a cut text as incomplete.
 * - Times are CLOCK_MONOTONIC, taken by the library.
 * - While nobody listens, nothing is recorded. The context is still published,
 *   unless another library in the process published one first. In the first tenth of
 *   a second of a process (of a forked child: from its first call on) the library records as
 *   if somebody listened, as far as there is room. A recorder needs some milliseconds to find a
 *   program; if it finds the program in that time, the recording is complete.
 * - The library hands its records over in a sparse file in memory of 129 MiB. Of this file,
 *   16 KiB are mapped, and 136 KiB for each thread that has spans at the same time as others, or
 *   that begins while earlier threads have left more than half of their memory unread.
 *   This counts against RLIMIT_AS, and stays in memory if the program locks its memory
 *   (mlockall). If it is not available for a thread, the records of the thread are counted as
 *   lost. A program that may not create such a file (RLIMIT_FSIZE, `ulimit -f`, when it starts; a
 *   forked child: at its first call) runs as usual, but nothing is recorded, and
 *   fathom_listening() is false from then on. Descriptors 0 to 2 are never used, even if they
 *   are closed.
 *
 * Signal handlers. The later calls of a thread do nothing that a handler may not do. Its
 * first call does not allocate with malloc() either, with one exception: if more than 31
 * keys of pthread_key_create() were in use when this library was loaded, glibc allocates
 * once for each thread. In such a program each thread should call fathom_listening() once
 * outside of handlers. (With another C library than glibc, and this library opened with
 * dlopen(), the same holds for its thread-local memory.) A handler must end or detach the spans
 * that it made active, and must return. If it leaves an interrupted call of this library by
 * longjmp(), the spans that this call began stay open, and one record may stay half written. The
 * records of the thread after that one arrive only when the thread ends, as far as there is room
 * until then; the others are counted as lost. If a handler forks, the child must not return to a
 * call of this library that the handler interrupted: the state of that call belongs to the parent.
 *
 * Fork. The child has no active span, and publishes no identity before its first call.
 * A copy of a span that the parent process began can be a parent in the child, and can be
 * attached there. Ending it in the child does nothing, so detach it there. Do not call anything
 * between vfork and exec. When a thread ends, its spans stay open: other threads may end them.
 *
 * Environment. FATHOM_SERVICE (else OTEL_SERVICE_NAME) is the name of the service.
 * FATHOM_LEVEL is the level at the start. FATHOM_SAMPLING is the sampling at the start:
 * "always", "never", "1/100" (one root in a hundred), "50/s" (at most fifty roots per
 * second). With FATHOM_DISABLE=1 nothing is recorded or published. A value that is
 * not understood is ignored silently: fathom_level_get() returns the level in effect,
 * and fathom_sampling_set() tells whether it understands a sampling.
 */
#ifndef FATHOM_FATHOM_H
#define FATHOM_FATHOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FATHOM_VERSION "0.1.0"

#if defined(FATHOM_BUILD)
#define FATHOM_API __attribute__((visibility("default")))
#else
#define FATHOM_API
#endif

/* ---- types ---- */

/* The severity: the eight levels of syslog. A smaller number is more severe. */
enum fathom_level {
	FATHOM_EMERGENCY = 0,
	FATHOM_ALERT = 1,
	FATHOM_CRITICAL = 2,
	FATHOM_ERROR = 3,
	FATHOM_WARNING = 4,
	FATHOM_NOTICE = 5,
	FATHOM_INFO = 6, /* the default level of spans, and the level at the start */
	FATHOM_DEBUG = 7,
};

/* The part of a span in the communication between services, as in OpenTelemetry. */
enum fathom_kind {
	FATHOM_INTERNAL = 0,
	FATHOM_SERVER = 1,   /* answers a request */
	FATHOM_CLIENT = 2,   /* sent a request and waits for the answer */
	FATHOM_PRODUCER = 3, /* handed work over and does not wait for it */
	FATHOM_CONSUMER = 4, /* works on what a producer handed over */
};

enum fathom_status {
	FATHOM_UNSET = 0,
	FATHOM_OK = 1,
	FATHOM_FAILED = 2,
};

/* A span. Treat it as opaque. It may be copied. All zero means "no span". */
struct fathom_span {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t parent_id[8];
	uint8_t flags; /* as in struct fathom_context */
	uint8_t state;
	uint16_t where;
	uint32_t process;
};

/*
 * The context that travels from service to service: the parent, and the decision
 * whether the trace is recorded. Ids are in W3C byte order; all zero means none.
 */
struct fathom_context {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t parent_id[8]; /* parent of span_id; only B3 and binary carry it */
	uint8_t flags;	      /* FATHOM_SAMPLED and so on */
};
#define FATHOM_SAMPLED 0x01	/* the trace is recorded */
#define FATHOM_RANDOM 0x02	/* the last 7 bytes of the trace id are random (W3C level 2) */
#define FATHOM_DEFERRED 0x40	/* no decision was made: the receiver decides (B3) */
#define FATHOM_DEBUG_TRACE 0x80 /* record this trace whatever the sampling is (B3) */

/* A key, which ends in NUL, and a value. It is left out if key is NULL. A string may be NULL. */
enum fathom_type { FATHOM_STRING = 1, FATHOM_INTEGER = 2, FATHOM_REAL = 3, FATHOM_BOOLEAN = 4 };
struct fathom_attribute {
	const char *key;
	enum fathom_type type;
	size_t bytes; /* length of a string without a NUL; 0: the string ends in NUL */
	union {
		const char *string;
		int64_t integer;
		double real;
		bool boolean;
	} value;
};

/* The address of this side or of the other one. NULL or 0: unknown. */
struct fathom_endpoint {
	const char *name;    /* of the service */
	const char *address; /* "192.0.2.1", "2001:db8::1", or the path of a Unix socket */
	uint16_t port;	     /* host byte order */
};

/* ---- the process ---- */

/*
 * Sets the name of the service that this process is. It is not needed if the environment
 * has the name. Without either, or if the name in the environment is too long, it is the name of
 * the program. A later call changes the name from then on. NULL keeps the name, and only sets the
 * calling thread up.
 *
 * The three functions of the identity (this one and the next two) are for the start of
 * a program and for rare changes: they make syscalls, and must not be called in
 * signal handlers. They return 0, or a negative errno, and then change nothing:
 * -EINVAL for a bad argument (NULL or empty, unless stated otherwise), -E2BIG if
 * all keys and values of the identity, each with its NUL, would exceed 1,024 bytes,
 * -EBUSY if another call of these functions does not end, -ENOMEM if the thread
 * cannot be set up. With FATHOM_DISABLE=1 they do nothing and return 0.
 */
FATHOM_API int fathom_init(const char *service);

/* Sets an attribute of the process ("service.version", "1.2"), or replaces it. */
FATHOM_API int fathom_resource_set(const char *key, const char *value);

/*
 * Sets the address of this process: service.name, network.local.address and
 * network.local.port of its identity, as far as `endpoint` has them. Either all of
 * them are set or none.
 */
FATHOM_API int fathom_endpoint_set(const struct fathom_endpoint *endpoint);

/*
 * Sets the sampling of root spans, as FATHOM_SAMPLING does: "always", "never",
 * "1/N", "N/s". The decision is made once for each root and holds for all its
 * descendants, also in other processes. A span that is not sampled is not recorded; its
 * context is published and travels, marked as not sampled. "1/N" counts separately on
 * each thread, "N/s" in the whole process. N is 1 to 4,294,967,295. It applies to roots
 * that begin from now on. Returns 0, or -EINVAL for another text and then changes nothing.
 */
FATHOM_API int fathom_sampling_set(const char *policy);

/*
 * Sets the level: spans and events that are less severe are not recorded. The children of such a
 * span belong to its parent, which is active in its place. Attributes and events of the span are
 * left out with it. That includes events that are severe enough, so give a span with such events a
 * level as severe as theirs. The children of a root that is left out begin traces of their own,
 * each with its own sampling decision. A level out of range changes nothing.
 * fathom_level_set() makes a syscall.
 */
FATHOM_API void fathom_level_set(int level);
FATHOM_API int fathom_level_get(void);

/*
 * Returns the level for "emergency" ... "debug", the short forms of syslog, or "0" ... "7", in
 * lower case; -EINVAL for another text and for NULL.
 */
FATHOM_API int fathom_level_parse(const char *name);

/*
 * True if somebody listens, or might begin to in the first tenth of a second of the process. Use it
 * to skip work that only serves the trace. A call takes some nanoseconds. A recorder that was
 * killed counts as listening for two more seconds.
 */
FATHOM_API bool fathom_listening(void);

/* ---- spans ---- */

/*
 * Begins a span: a child of the thread's active span, or the root of a new trace
 * if there is none. It is active on the thread until it ends or is detached.
 * Every span needs fathom_span_end(), on any thread. NULL is an empty name.
 * Returns "no span" if the thread cannot be set up.
 */
FATHOM_API struct fathom_span fathom_span_begin(const char *name);

/*
 * The same with a given parent, which may have ended. A parent of NULL or "no span" begins a new
 * trace.
 */
FATHOM_API struct fathom_span fathom_span_child(const struct fathom_span *parent, const char *name);

/*
 * Begins a span of kind server whose parent is in another process, as extracted from a
 * request. NULL or a context of zeros begins a new trace. (A failed extract leaves its
 * output unchanged, so a context that was zero before stays zero.)
 */
FATHOM_API struct fathom_span fathom_span_remote(const struct fathom_context *parent,
						 const char *name);

/*
 * Begins a span with all options. With only the name and FATHOM_INFO set, it does the same as
 * fathom_span_begin(). The first of remote, parent and root that is set determines the parent.
 * If `options` is NULL, returns "no span".
 */
struct fathom_span_options {
	const char *name;
	size_t name_bytes;		     /* 0: the name ends in NUL */
	const struct fathom_span *parent;    /* NULL: the active span */
	const struct fathom_context *remote; /* not NULL: the parent, in another process */
	enum fathom_kind kind;
	enum fathom_level level; /* zero is FATHOM_EMERGENCY: recorded at every level */
	bool root;		 /* begin a new trace, whatever is active */
	bool inactive;		 /* do not make it the thread's active span */
};
FATHOM_API struct fathom_span fathom_span_open(const struct fathom_span_options *options);

/*
 * Ends a span. `span` is marked as ended, and ending it a second time does nothing. If
 * it is the active span of the calling thread, the previous one is active again.
 *
 * Another thread than that on which the span began may end it. The span is then no longer
 * active on the thread on which it began. But that thread learns of the end only with its
 * next call that begins, ends, attaches or detaches a span, or asks for the current one.
 * Until then, observers still count its time for the span. For exact times, detach a span
 * before handing it over. A span that was attached must be detached: its end takes effect
 * on the thread that ends it and on the thread where it began, but on no other.
 */
FATHOM_API void fathom_span_end(struct fathom_span *span);

/* The same with a status and its message, at most 512 bytes; `message` may be NULL. */
FATHOM_API void fathom_span_end_status(struct fathom_span *span, enum fathom_status status,
				       const char *message);

/* Sets the status for the end of the span, unless the end gives another. No effect after the end.
 */
FATHOM_API void fathom_span_status(struct fathom_span *span, enum fathom_status status);

/* True if an attribute or event of this span would be recorded now: open, sampled, somebody
 * listens. */
FATHOM_API bool fathom_span_recorded(const struct fathom_span *span);

/*
 * ---- attributes and events ----
 *
 * Any thread may add them until the span ends; later ones are left out. A key that is set twice
 * is recorded twice.
 */

FATHOM_API void fathom_span_string(const struct fathom_span *span, const char *key,
				   const char *value);
FATHOM_API void fathom_span_integer(const struct fathom_span *span, const char *key, int64_t value);
FATHOM_API void fathom_span_real(const struct fathom_span *span, const char *key, double value);
FATHOM_API void fathom_span_boolean(const struct fathom_span *span, const char *key, bool value);

/* Several attributes at once, or strings without a NUL. */
FATHOM_API void fathom_span_attributes(const struct fathom_span *span,
				       const struct fathom_attribute *attributes, size_t count);

/* The address of this side: service.name, network.local.address, network.local.port. */
FATHOM_API void fathom_span_endpoint(const struct fathom_span *span,
				     const struct fathom_endpoint *endpoint);

/* The address of the other side: peer.service, network.peer.address, network.peer.port. */
FATHOM_API void fathom_span_peer(const struct fathom_span *span,
				 const struct fathom_endpoint *endpoint);

/*
 * Adds an event to the span, at the current time. NULL is an empty name. It is recorded if the
 * levels of both the event and the span allow it: see fathom_level_set().
 */
FATHOM_API void fathom_span_event(const struct fathom_span *span, enum fathom_level level,
				  const char *name);

/* The same with attributes of the event, and the address where it happened (NULL: none). */
struct fathom_event {
	const char *name;
	size_t name_bytes; /* 0: the name ends in NUL */
	enum fathom_level level;
	const struct fathom_attribute *attributes;
	size_t count;
	const struct fathom_endpoint *endpoint;
};
FATHOM_API void fathom_span_tell(const struct fathom_span *span, const struct fathom_event *event);

/* ---- spans and threads ---- */

/*
 * Attach makes the span the active span of the calling thread. The previous one becomes
 * active again when this span ends or is detached on this thread. In a thread pool, detach
 * on the thread that queues the work, and attach on the thread that takes it. In an event
 * loop, attach and detach around each callback. A span that has ended is not attached.
 * Detach undoes the last attach or begin of the span on this thread that was not undone
 * yet; if there is none, it does nothing. The end of the span undoes all of them.
 * Up to 64 spans can be active inside each other. Deeper ones are recorded, but do not become
 * active, and each counts as incomplete. Spans that are never ended nor detached count as active.
 */
FATHOM_API void fathom_span_attach(const struct fathom_span *span);
FATHOM_API void fathom_span_detach(const struct fathom_span *span);

/*
 * Returns a copy of the calling thread's active span, or "no span" if there is none. Use it for
 * attributes and events, as a parent, and for fathom_span_context(). The caller must not end it.
 */
FATHOM_API struct fathom_span fathom_span_current(void);

/* ---- contexts on the wire ---- */

/* The context of a span, ended or not, for inject. All zero for "no span" and NULL. */
FATHOM_API struct fathom_context fathom_span_context(const struct fathom_span *span);

/*
 * Writes a W3C `traceparent`: 55 characters and NUL. All inject functions return 0, or
 * -EINVAL if the context has no ids, and then leave `out` unchanged.
 */
#define FATHOM_TRACEPARENT_BYTES 56
FATHOM_API int fathom_inject_traceparent(const struct fathom_context *context,
					 char out[FATHOM_TRACEPARENT_BYTES]);

/* The value of a single `b3` header, with NUL. */
#define FATHOM_B3_BYTES 69
FATHOM_API int fathom_inject_b3(const struct fathom_context *context, char out[FATHOM_B3_BYTES]);

/* The headers X-B3-TraceId and so on. A header whose string is empty is not to be sent. */
struct fathom_b3_headers {
	char trace_id[33];
	char span_id[17];
	char parent_id[17]; /* X-B3-ParentSpanId */
	char sampled[2];
	char flags[2]; /* "1" for debug; then sampled is empty */
};
FATHOM_API int fathom_inject_b3_headers(const struct fathom_context *context,
					struct fathom_b3_headers *out);

/*
 * For binary protocols: version (1 byte, 0), trace id (16), span id (8), parent id (8),
 * flags (1).
 */
#define FATHOM_BINARY_BYTES 34
FATHOM_API int fathom_inject_binary(const struct fathom_context *context,
				    uint8_t out[FATHOM_BINARY_BYTES]);

/*
 * The extract functions read a context. They return 0, or -EINVAL for input that is not well
 * formed, and then leave *out unchanged. NULL is not well formed. The input may come from
 * anywhere: it is read up to its NUL (binary: `bytes`), and no further than the format can
 * be long. A `b3` of "0", "1" or "d" alone carries a decision and no ids; that is well formed,
 * and fathom_span_remote() then begins a new trace under that decision.
 */
FATHOM_API int fathom_extract_traceparent(const char *text, struct fathom_context *out);
FATHOM_API int fathom_extract_b3(const char *text, struct fathom_context *out);

/* Each value as it was received; NULL if the header was absent. */
struct fathom_b3_received {
	const char *trace_id;
	const char *span_id;
	const char *parent_id;
	const char *sampled; /* "1" or "0"; older senders: "true" or "false" */
	const char *flags;
};
FATHOM_API int fathom_extract_b3_headers(const struct fathom_b3_received *headers,
					 struct fathom_context *out);
FATHOM_API int fathom_extract_binary(const void *data, size_t bytes, struct fathom_context *out);

#ifdef __cplusplus
}
#endif

#endif
