/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libfathom: spans of an application, seen from outside the process.
 *
 * A span is an interval of work with a name: a request, or a phase of it. The
 * spans of one request share a trace id and know their parents. What a span
 * is told goes to shared memory, from which `fathom record` takes it; which
 * span a thread works for stands in thread-local memory, where kernel
 * programs find it (OpenTelemetry's thread context).
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
 * - It may be called by any thread at any time, in signal handlers too, and by
 *   several threads at once. One `struct fathom_span` must not be changed
 *   (ended, given a status) by two threads at the same time, and of the copies
 *   of a span one alone is to be ended: each end of a copy is recorded.
 * - It never blocks, locks, prints or exits, keeps errno, and what it cannot do
 *   it leaves undone: no call has to be checked for the sake of the program.
 * - A thread's first call makes some fifteen syscalls and maps some pages to set the
 *   thread up; later ones make none, but for the few functions that say so. Meanwhile signals are
 *   blocked and the thread is not cancelled. Should another thread be setting the process up
 *   just then (its start, a fork, its identity), the call waits until that is done, for some
 *   tenths of a second at most, or some seconds on a busy host; then this call does nothing, and
 *   the next one tries again. Once a wait was in vain, later ones do not wait.
 * - NULL for a span, or "no span": nothing is done. Numbers that are no word of
 *   their enum: a kind counts as FATHOM_INTERNAL, a level is below all levels, an
 *   attribute or a status is left out.
 * - Strings are the caller's and are copied before the function returns. They
 *   should be UTF-8 without control characters; they are not checked. Names and
 *   reasons of a status are cut after 512 bytes, an attribute after 1,024 bytes of
 *   key and string together; a recording counts it as incomplete.
 * - Times are CLOCK_MONOTONIC, taken by the library.
 * - With nobody listening nothing is recorded; the context is published still,
 *   unless another library in the process published one first. In the first tenth of
 *   a second of a process (of a forked child: from its first call on) it records as if somebody
 *   listened, as far as there is room, since a recorder needs some milliseconds to
 *   find a program: what is found in that time is complete.
 * - The library is heard through a file in memory of 129 MiB, which is sparse. Mapped of it are
 *   16 KiB, and 136 KiB for each thread that has spans at once with others, or where those
 *   before it left more than half of that which nobody has read yet: so much counts against
 *   RLIMIT_AS and, of a program that locks its memory (mlockall), stays in memory. Where that
 *   is not to be had for a thread, its records are counted as lost. A program that may make no
 *   such file (RLIMIT_FSIZE, `ulimit -f`, when it starts; a forked child: at its first call)
 *   runs as ever, and nothing is recorded: fathom_listening() is false from then on.
 *   Descriptors 0 to 2 are left alone, also where they are closed.
 *
 * In signal handlers: a thread's later calls do nothing that a handler may not. Its
 * first call does not allocate with malloc() either, with one exception: where
 * more than 31 keys of pthread_key_create() were in use when this library was
 * loaded, glibc allocates once for each thread. Programs like that let each thread
 * call fathom_listening() once outside of handlers. (With another C library than
 * glibc, and this library opened with dlopen(), the same holds for its
 * thread-local memory.) A handler must end or detach what it made active, and return: one
 * that leaves by longjmp() a call that it interrupted leaves open what that call began, and what
 * the thread records behind a record that stays half written comes only when the thread ends,
 * as far as there is room until then; the rest is counted as lost. Nor may the child return to a
 * call that it interrupted, if a handler forks: what that call was at is the parent's.
 *
 * After fork the child has no active span, and publishes no identity before its first call.
 * A copy of a span begun by the parent process serves there as a parent and can be
 * attached; ending it in the child does nothing, so detach it there. Between vfork and exec
 * call nothing. A thread that ends leaves its spans as they are: other threads may end them.
 *
 * Environment: FATHOM_SERVICE (else OTEL_SERVICE_NAME) the service's name,
 * FATHOM_LEVEL the level at start, FATHOM_SAMPLING the sampling at start
 * ("always", "never", "1/100" one root in a hundred, "50/s" at most fifty a
 * second), FATHOM_DISABLE=1 neither records nor publishes anything. A word that is
 * not understood leaves the default, silently: fathom_level_get() says which level
 * holds, and fathom_sampling_set() whether it understands a sampling.
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

/* ---- words ---- */

/* How bad it is: the eight of syslog. A smaller number is more severe. */
enum fathom_level {
	FATHOM_EMERGENCY = 0,
	FATHOM_ALERT = 1,
	FATHOM_CRITICAL = 2,
	FATHOM_ERROR = 3,
	FATHOM_WARNING = 4,
	FATHOM_NOTICE = 5,
	FATHOM_INFO = 6, /* what spans have, and where the level stands at start */
	FATHOM_DEBUG = 7,
};

/* What a span is in the conversation between services. */
enum fathom_kind {
	FATHOM_INTERNAL = 0,
	FATHOM_SERVER = 1,   /* answers a request */
	FATHOM_CLIENT = 2,   /* sent a request and waits for the answer */
	FATHOM_PRODUCER = 3, /* handed work over, does not wait */
	FATHOM_CONSUMER = 4, /* took such work */
};

enum fathom_status {
	FATHOM_UNSET = 0,
	FATHOM_OK = 1,
	FATHOM_FAILED = 2,
};

/* A span. Treat it as opaque; it may be copied, and all zero is "no span". */
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
 * What travels from service to service: who the parent is, and the decision
 * whether the trace is recorded. Ids are in W3C byte order; all zero is none.
 */
struct fathom_context {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t parent_id[8]; /* parent of span_id; only B3 and binary carry it */
	uint8_t flags;	      /* FATHOM_SAMPLED and so on */
};
#define FATHOM_SAMPLED 0x01	/* the trace is recorded */
#define FATHOM_RANDOM 0x02	/* the last 7 bytes of the trace id are random (W3C level 2) */
#define FATHOM_DEFERRED 0x40	/* no decision was made: who receives this decides (B3) */
#define FATHOM_DEBUG_TRACE 0x80 /* record this whatever the sampling says (B3) */

/* A key, which ends in NUL, with a value. Without a key it is left out; a string may be NULL. */
enum fathom_type { FATHOM_STRING = 1, FATHOM_INTEGER = 2, FATHOM_REAL = 3, FATHOM_BOOLEAN = 4 };
struct fathom_attribute {
	const char *key;
	enum fathom_type type;
	size_t bytes; /* of the string, which holds no NUL then; 0: up to its NUL */
	union {
		const char *string;
		int64_t integer;
		double real;
		bool boolean;
	} value;
};

/* Where something happened, or who the other side is. NULL or 0: not known. */
struct fathom_endpoint {
	const char *name;    /* of the service */
	const char *address; /* "192.0.2.1", "2001:db8::1", or the path of a Unix socket */
	uint16_t port;	     /* host byte order */
};

/* ---- the process ---- */

/*
 * Names the service that this process is. Not needed if the environment names
 * it; without either, or if that name is too long, it is the program's name. May be called again:
 * the new name holds from then on. NULL keeps the name, and sets the calling thread up.
 *
 * The three functions of the identity (this and the next two) are for the start of
 * a program and for rare changes: they make syscalls, and must not be called in
 * signal handlers. They return 0, or a negative errno and then nothing has
 * changed: -EINVAL for an argument (NULL or empty, where not said otherwise), -E2BIG if
 * all keys and values of the identity, each with its NUL, would be longer than 1,024
 * bytes, -EBUSY if another call of these does not end, -ENOMEM if the thread
 * cannot be set up. With FATHOM_DISABLE=1 they do nothing and return 0.
 */
FATHOM_API int fathom_init(const char *service);

/* Adds an attribute of the process ("service.version", "1.2"), or replaces it. */
FATHOM_API int fathom_resource_set(const char *key, const char *value);

/*
 * Where this process can be reached: service.name, network.local.address and
 * network.local.port of its identity, as far as `endpoint` knows them; all of
 * them are set or none.
 */
FATHOM_API int fathom_endpoint_set(const struct fathom_endpoint *endpoint);

/*
 * Sampling of root spans, in the words of FATHOM_SAMPLING: "always", "never",
 * "1/N", "N/s". The decision is made once for each root and holds for all its
 * descendants, in other processes too. What is not sampled is not recorded; its
 * context is published and travels, marked as not sampled. "1/N" counts on each
 * thread by itself, "N/s" in the whole process. N is 1 to 4,294,967,295. Holds for
 * roots from now on. 0, or -EINVAL for other words: then nothing changes.
 */
FATHOM_API int fathom_sampling_set(const char *policy);

/*
 * Spans and events less severe than the level are not recorded. Children of a
 * span left out this way belong to its parent, which is active in its place; what is told of it
 * goes with it, also an event that is severe enough, since there is no span for it to stand in:
 * begin a span that such events matter to with a level as severe as theirs. Children of a root
 * left out begin traces of their own, of which each is sampled or not. Out of range: nothing
 * changes. Setting it makes a syscall.
 */
FATHOM_API void fathom_level_set(int level);
FATHOM_API int fathom_level_get(void);

/*
 * The level for "emergency" ... "debug", syslog's short forms, or "0" ... "7", in lower
 * case; -EINVAL for others and NULL.
 */
FATHOM_API int fathom_level_parse(const char *name);

/*
 * True if somebody listens, or in the first tenth of a second might be about to: for work
 * that is done for the trace alone. A call costs some nanoseconds. A recorder that was killed
 * counts for two seconds more.
 */
FATHOM_API bool fathom_listening(void);

/* ---- spans ---- */

/*
 * Begins a span: child of the thread's active span, or the root of a new trace
 * if there is none. It is active on the thread until it ends or is detached.
 * Every span wants fathom_span_end(), on whatever thread. NULL is an empty name.
 * "No span" is returned if the thread cannot be set up.
 */
FATHOM_API struct fathom_span fathom_span_begin(const char *name);

/*
 * The same with a parent named by the caller, which may have ended; NULL or "no span"
 * as parent begins a trace.
 */
FATHOM_API struct fathom_span fathom_span_child(const struct fathom_span *parent, const char *name);

/*
 * A span of kind server whose parent is in another process, as extracted from a
 * request. NULL or a context of zeros, which a failed extract leaves as it was,
 * begins a new trace.
 */
FATHOM_API struct fathom_span fathom_span_remote(const struct fathom_context *parent,
						 const char *name);

/*
 * Begins a span and says everything. All zero but name and FATHOM_INFO: fathom_span_begin().
 * The first that is set of remote, parent and root decides where it belongs. NULL for
 * `options`: "no span".
 */
struct fathom_span_options {
	const char *name;
	size_t name_bytes;		     /* 0: up to its NUL */
	const struct fathom_span *parent;    /* NULL: the active span */
	const struct fathom_context *remote; /* not NULL: the parent, in another process */
	enum fathom_kind kind;
	enum fathom_level level; /* zero is FATHOM_EMERGENCY: is recorded at every level */
	bool root;		 /* begin a new trace, whatever is active */
	bool inactive;		 /* do not make it the thread's active span */
};
FATHOM_API struct fathom_span fathom_span_open(const struct fathom_span_options *options);

/*
 * Ends a span; `span` is marked as ended, and ending it a second time does nothing. If
 * it is the active span of the calling thread, the one before it is active again.
 *
 * A span may be ended by another thread than that on which it began: there it is
 * active no more, either. But that thread learns of it with its next call of a
 * function that begins a span, ends, attaches or detaches one, or asks for the
 * current one. Until then outside observers still count its time as the span's; to
 * have it exact, detach the span before it is handed over. Attached spans must be
 * detached: their end is seen on the thread that ends them and on that where the
 * span began, and not on others.
 */
FATHOM_API void fathom_span_end(struct fathom_span *span);

/* The same with a status and the reason for it, of 512 bytes at most; `message` may be NULL. */
FATHOM_API void fathom_span_end_status(struct fathom_span *span, enum fathom_status status,
				       const char *message);

/* The status with which the span will end, if no other is given. Not after its end. */
FATHOM_API void fathom_span_status(struct fathom_span *span, enum fathom_status status);

/* True if what is said about this span now will be recorded: it lives, is sampled, is heard. */
FATHOM_API bool fathom_span_recorded(const struct fathom_span *span);

/*
 * ---- what is said about a span ----
 *
 * By any thread, as long as the span lives: what is said after its end is left out.
 * A key that is told twice is recorded twice.
 */

FATHOM_API void fathom_span_string(const struct fathom_span *span, const char *key,
				   const char *value);
FATHOM_API void fathom_span_integer(const struct fathom_span *span, const char *key, int64_t value);
FATHOM_API void fathom_span_real(const struct fathom_span *span, const char *key, double value);
FATHOM_API void fathom_span_boolean(const struct fathom_span *span, const char *key, bool value);

/* Several at once, or strings without a NUL. */
FATHOM_API void fathom_span_attributes(const struct fathom_span *span,
				       const struct fathom_attribute *attributes, size_t count);

/* An endpoint of this span: service.name, network.local.address, network.local.port. */
FATHOM_API void fathom_span_endpoint(const struct fathom_span *span,
				     const struct fathom_endpoint *endpoint);

/* The other side, for clients and servers: peer.service, network.peer.address and .port. */
FATHOM_API void fathom_span_peer(const struct fathom_span *span,
				 const struct fathom_endpoint *endpoint);

/*
 * Something happened now, inside the span. NULL is an empty name. Recorded if both the event and
 * the span are: see fathom_level_set().
 */
FATHOM_API void fathom_span_event(const struct fathom_span *span, enum fathom_level level,
				  const char *name);

/* The same with attributes of the event, and where it happened (NULL: nothing to say). */
struct fathom_event {
	const char *name;
	size_t name_bytes; /* 0: up to its NUL */
	enum fathom_level level;
	const struct fathom_attribute *attributes;
	size_t count;
	const struct fathom_endpoint *endpoint;
};
FATHOM_API void fathom_span_tell(const struct fathom_span *span, const struct fathom_event *event);

/* ---- spans and threads ---- */

/*
 * The span is the calling thread's active span from now on; the one that was
 * comes back when this one ends or is detached on this thread. For a pool: detach on
 * the thread that queues the work, attach on the one that takes it. For an event
 * loop: attach and detach around each callback. An ended span is not attached.
 * Detach takes away the last attach or begin of the span on this thread that was not
 * taken away yet; if there is none, it does nothing. The end takes away all of them.
 * Up to 64 spans can be active inside each other; deeper ones are recorded (each is counted as
 * incomplete), but do not become active, and spans that are never ended nor detached count.
 */
FATHOM_API void fathom_span_attach(const struct fathom_span *span);
FATHOM_API void fathom_span_detach(const struct fathom_span *span);

/*
 * A copy of the calling thread's active span, "no span" if there is none. It serves to
 * say something, as a parent, and for fathom_span_context(). It is not the caller's to end.
 */
FATHOM_API struct fathom_span fathom_span_current(void);

/* ---- contexts on the wire ---- */

/* The context of a span, ended or not, for inject. Zeros for "no span" and NULL. */
FATHOM_API struct fathom_context fathom_span_context(const struct fathom_span *span);

/*
 * W3C `traceparent`: 55 characters and NUL. Like all injects: 0, or -EINVAL if
 * the context has no ids, and then `out` is untouched.
 */
#define FATHOM_TRACEPARENT_BYTES 56
FATHOM_API int fathom_inject_traceparent(const struct fathom_context *context,
					 char out[FATHOM_TRACEPARENT_BYTES]);

/* The value of a single `b3` header, with NUL. */
#define FATHOM_B3_BYTES 69
FATHOM_API int fathom_inject_b3(const struct fathom_context *context, char out[FATHOM_B3_BYTES]);

/* The headers X-B3-TraceId and so on; an empty string: leave that header out. */
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
 * For protocols that carry bytes: version (0), trace id (16), span id (8),
 * parent id (8), flags (1).
 */
#define FATHOM_BINARY_BYTES 34
FATHOM_API int fathom_inject_binary(const struct fathom_context *context,
				    uint8_t out[FATHOM_BINARY_BYTES]);

/*
 * The other way round. 0, or -EINVAL for what is not well formed: then *out is
 * untouched. Input is of any origin: it is read up to its NUL (binary: `bytes`)
 * and no further than the format can be long. NULL is not well formed. A `b3` of
 * "0", "1" or "d" alone carries a decision and no ids; that is well formed, and
 * fathom_span_remote() begins a new trace under that decision.
 */
FATHOM_API int fathom_extract_traceparent(const char *text, struct fathom_context *out);
FATHOM_API int fathom_extract_b3(const char *text, struct fathom_context *out);

/* Each value as it was received; NULL for a header that was not there. */
struct fathom_b3_received {
	const char *trace_id;
	const char *span_id;
	const char *parent_id;
	const char *sampled; /* "1", "0", and "true", "false" of older senders */
	const char *flags;
};
FATHOM_API int fathom_extract_b3_headers(const struct fathom_b3_received *headers,
					 struct fathom_context *out);
FATHOM_API int fathom_extract_binary(const void *data, size_t bytes, struct fathom_context *out);

#ifdef __cplusplus
}
#endif

#endif
