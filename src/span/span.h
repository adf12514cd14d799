/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The span as plain values: the contract between what makes spans (answers, receivers) and what
 * takes them (JSON, text, stores, exporters).
 *
 * A span borrows each text and array that it points to. Whoever fills a span owns them, and says
 * how long they live; whoever takes one and needs it for longer makes a copy. Texts are UTF-8 only
 * if the traced program wrote UTF-8. NULL, 0 and "" mean that a field does not apply or is unknown,
 * unless the field says otherwise. Times are nanoseconds of the host's monotonic clock.
 */
#ifndef SPAN_SPAN_H
#define SPAN_SPAN_H

#include <stddef.h>

#include "span/split.h"

#define TRACE_ID_BYTES 33 /* 32 lower-case hex digits and a NUL */
#define SPAN_ID_BYTES 17  /* 16 lower-case hex digits and a NUL */

enum value_type {
	VALUE_STRING,
	VALUE_INTEGER,
	VALUE_REAL,
	VALUE_BOOLEAN,
	/* the types that only received spans have */
	VALUE_BYTES,
	VALUE_ARRAY,
	VALUE_MAP,
	VALUE_NONE,
};

struct attribute {
	const char *key; /* NULL in a VALUE_ARRAY */
	enum value_type type;
	const char *string;	       /* VALUE_STRING; VALUE_BYTES: `count` bytes */
	int64_t integer;	       /* VALUE_INTEGER, and VALUE_BOOLEAN: 0 is false */
	double real;		       /* VALUE_REAL */
	const struct attribute *items; /* VALUE_ARRAY and VALUE_MAP: `count` values */
	size_t count;
};

#define EVENT_NO_LEVEL -1

/* Something that happened at an instant of a span. */
struct event {
	uint64_t time_ns;
	const char *name;
	int level; /* syslog severity, 0 emergency to 7 debug; EVENT_NO_LEVEL: the event has none */
	const struct attribute *attributes;
	size_t attributes_count;
};

/* A reference to a span that is not the parent, of this trace or of another. */
struct link {
	char trace_id[TRACE_ID_BYTES];
	char span_id[SPAN_ID_BYTES];
	const struct attribute *attributes;
	size_t attributes_count;
};

/* One call on a stack. */
struct frame {
	uint64_t address;
	const char *function; /* demangled */
	const char *symbol;   /* as the file names it, if that differs from `function` */
	uint64_t offset;      /* of the address in the function */
	const char *file;     /* a path, "[kernel]", a kernel module in brackets, "[jit]" */
	uint64_t file_offset; /* of the address in the file */
	bool kernel;
};

struct span {
	char trace_id[TRACE_ID_BYTES]; /* "": what a thread did outside of spans */
	char span_id[SPAN_ID_BYTES];
	char parent_id[SPAN_ID_BYTES]; /* "": a root */
	const char *name;
	/* "internal", "server", ..., "context", "thread", "syscall", "wait", "block", ... */
	const char *kind;

	/* the owner */
	const char *service;
	const char *host;
	const char *process; /* its name */
	const char *thread;  /* its name */
	uint32_t pid;
	uint32_t tid;

	uint64_t begin_ns;
	uint64_t end_ns;
	bool begin_soft;  /* the span was already there when the recording began */
	bool end_soft;	  /* the span was still there when the recording ended */
	uint32_t threads; /* the most threads that had the span at the same time */
	struct split time;

	const struct attribute *attributes;
	size_t attributes_count;
	const struct event *events; /* by time */
	size_t events_count;
	const struct link *links;
	size_t links_count;
	const struct frame *frames; /* the stack of a thread that waits, innermost call first */
	size_t frames_count;
	bool frames_cut; /* there are more callers, for which too little of the stack was recorded
			  */
};

/* The attribute of that key, NULL if the span has none. */
const struct attribute *span_attribute_find(const struct span *span, const char *key);

/* Writes the 16 bytes of a trace id as text; "" for an id of zeros, which is none. */
void trace_id_format(char text[TRACE_ID_BYTES], const uint8_t id[16]);

/* Writes a span id as text. The number is the id in big-endian order. */
void span_id_format(char text[SPAN_ID_BYTES], uint64_t id);

/* The name of a severity level ("warning"); a level out of range gets the nearest name. */
const char *level_name(int level);

#endif
