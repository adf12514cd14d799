/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces as they are shown, one after the other, and their spans made one by one, so that a
 * recording with millions of them fits into the memory. Whoever fills a view owns all that it
 * points to.
 */
#ifndef CLI_TRACE_VIEW_H
#define CLI_TRACE_VIEW_H

#include "cli/view.h"
#include "span/split.h"

enum attribute_view_type {
	ATTRIBUTE_VIEW_STRING,
	ATTRIBUTE_VIEW_INTEGER,
	ATTRIBUTE_VIEW_REAL,
	ATTRIBUTE_VIEW_BOOLEAN
};

struct attribute_view {
	const char *key;
	enum attribute_view_type type;
	const char *string; /* with ATTRIBUTE_VIEW_STRING */
	int64_t integer;    /* also the boolean */
	double real;
};

#define EVENT_VIEW_NO_LEVEL -1

struct event_view {
	uint64_t time_ns;
	const char *name;
	int level; /* 0 emergency to 7 debug, EVENT_VIEW_NO_LEVEL: has none */
	const struct attribute_view *attributes;
	size_t attributes_count;
};

/* One call of a stack. */
struct frame_view {
	uint64_t address;
	const char *function; /* NULL: not known */
	const char *symbol;   /* what its file calls it, NULL: the same */
	uint64_t offset;      /* of the address in it */
	const char *file;     /* "[kernel]", a module's name in brackets, a path; NULL: not known */
	uint64_t file_offset; /* of the address in it */
	bool kernel;
};

struct span_view {
	char span_id[17];   /* lower-case hex */
	char parent_id[17]; /* "": it has none */
	const char *name;
	const char *kind;    /* "internal", "server", ..., "syscall", "wait", "thread", "context" */
	const char *service; /* NULL: does not apply, as below */
	const char *host;
	const char *process;
	const char *thread;
	uint32_t pid;
	uint32_t tid;
	uint64_t begin_ns;
	uint64_t end_ns;
	bool begin_soft;
	bool end_soft;
	uint32_t threads; /* the most that had it at once */
	struct split time;
	const struct attribute_view *attributes;
	size_t attributes_count;
	const struct event_view *events; /* in the order of time */
	size_t events_count;
	const struct frame_view *frames; /* of a wait: where the thread was, innermost first */
	size_t frames_count;
};

/* Where a span stands in its trace. */
struct span_position {
	uint64_t id, parent; /* parent 0: it has none */
	uint64_t begin_ns, end_ns;
	bool kernel; /* one that has no service */
};

struct trace_view {
	char trace_id[33]; /* lower-case hex; "" for what ran under no span */
	size_t spans_count;
	struct span_position (*position)(const struct trace_view *trace, size_t index);
	/*
	 * The span at `index`, until the next call; `brief`: without attributes, events and
	 * frames, of the kernel's no more than name and process. NULL if memory ran out.
	 */
	const struct span_view *(*span)(const struct trace_view *trace, size_t index, bool brief);
	void *maker; /* of the two */
};

/* How traces are written: begin, any number of traces, end. */
struct trace_format {
	const char *name;
	void (*begin)(void *writer, const struct terminal *t, const struct source_view *source);
	/* 0, or -ENOMEM with the trace not written, or not all of it. */
	int (*trace)(void *writer, const struct trace_view *trace);
	void (*end)(void *writer);
};

/* Room for the state of any format. Zero before begin. */
struct trace_writer {
	struct terminal t;
	struct json json;
	const struct source_view *source; /* borrowed until end */
	size_t traces;
	bool used[SPLIT_PARTS_COUNT];
	int label; /* text: columns of the names of the trace that is written */
};

extern const struct trace_format trace_format_json;
extern const struct trace_format trace_format_text;

/* The value of an attribute of a span, NULL if it has none of that key. */
const struct attribute_view *span_view_attribute(const struct span_view *span, const char *key);

/* The name of a severity level, "debug" for what lies above. */
const char *level_view_name(int level);

#endif
