/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of received spans: batches in, and queries as values out.
 *
 * It is a directory of files of DuckDB. Each has what was received in its period: an hour at most,
 * or 8 million spans. Spans are appended to the newest file, and committed together with the
 * position of the log from which they came, so that each entry of the log is stored once, whenever
 * the process dies. Queries choose files by time, or by a filter of trace ids, and the oldest files
 * are dropped. One thread appends and commits. Queries are for all threads at the same time, and
 * see what was committed; the files that a query asks stay until it ends. A query that takes longer
 * than its time fails with -ETIMEDOUT, and the cause says what to do.
 *
 *   spans-000001.duckdb, ...  the files, by their age
 *   spans.duckdb              the only file of versions up to 3: the oldest one
 *
 * The tables of schema version 8; texts in JSON are described in span_text.h:
 *
 *   spans         trace, span, parent, begin_ns, duration_ns, service, name, kind, status,
 *                 attributes, resource, scope, rest, version; if there are such spans (layout.h),
 *                 user_ns, ... of the split, and s0, ..., n0, ... of attributes that many spans
 *                 have (typed.h)
 *   typed         place, key: of these attributes
 *   kernel        the columns up to version, of kernel spans
 *   texts         id, text: of resources and scopes; spans have their numbers
 *   operations    service, name, kind, id: once each, for lists and sums
 *   sums, sums_fresh, sums_minutes
 *                 see span_sums.h
 *   newer         trace, span, version: of a span of which a lower version is in the file, too
 *   filter        words: of the ids of traces, in a complete file (trace_filter.h)
 *   progress      one row: version of the schema, position of the log, created_ns, least_ns and
 *                 greatest_ns of the begins of spans, the number of spans, and passed: so many
 *                 spans of the entry at that position are stored, too
 *
 * A file of version 2 gets the tables and columns that it lacks when it is opened. Its spans are in
 * no sums. An older file of version 5, 6 or 7 is read as it is; spans go on into the newest one
 * after it was brought to this version.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/error.h"
#include "base/pool.h"
#include "base/vec.h"
#include "span/received.h"
#include "store/durations.h"

/*
 * Limits of the lists of services and operations. The spans of what is not listed are found all the
 * same; in lists and sums they are of the operation STORE_OTHER, or of a service of that name. The
 * first operation of a service is listed even if there are STORE_OPERATIONS_MAX.
 */
#define STORE_OTHER "other"
#define STORE_SERVICES_MAX 10000u
#define STORE_SERVICE_OPERATIONS_MAX 2000u
#define STORE_OPERATIONS_MAX 100000u
#define STORE_NAMES_PER_HOUR 10000u /* that are new: in no list of this file or the one before */
#define STORE_LISTED_NAME_BYTES                                                                    \
	1024u /* of a service or an operation; longer ones are not listed                          \
	       */

struct store;

struct store_options {
	const char *dir;	 /* of the files; it is there */
	const char *library;	 /* DuckDB's; NULL: where it usually is */
	uint64_t period_ns;	 /* a file ends after this time; 0: an hour, which is the most */
	uint64_t spans_max;	 /* a file ends with so many spans; 0: 8 million */
	uint64_t keep_ns;	 /* a file is dropped when it ended before so long; 0: never */
	uint64_t keep_bytes;	 /* the oldest files are dropped when all take more; 0: never */
	uint64_t query_ns;	 /* the time of a query; 0: 2 s */
	uint64_t names_per_hour; /* new names in lists and sums; 0: STORE_NAMES_PER_HOUR */
};

/*
 * Opens the store, or makes it. An older file that cannot be opened is left out and counted, and
 * tried again with each store_reopen() unless it is damaged.
 * -ELIBACC if there is no such library; -EPROTONOSUPPORT if the newest file is of a newer version.
 */
int store_open(const struct store_options *options, struct store **out, struct error *e);
void store_close(struct store *s);

/* The position of the log up to which everything is stored. */
uint64_t store_position(const struct store *s);

/* So many spans of the entry behind it are stored, too. For the thread that appends. */
uint64_t store_passed(const struct store *s);

/*
 * Appends spans, which become visible and durable with the next commit. A span that repeats one of
 * the last 15 minutes is passed over. One with the attribute `fathom.version` (an integer above 0)
 * replaces the span with the same ids and a lower version: answers show the highest, and sums count
 * one. A search may still find a trace by a lower version that came more than 15 minutes before.
 * One whose attribute `fathom.kind` is "context" tells of a span that somebody else sends: it is
 * found with its trace, and is no operation and no parent; its split is summed up with the span
 * that was received. One with this name and a version is in a search only if that asks for an
 * operation, a cause or an attribute.
 * One with the attribute `fathom.counted_as` is no operation, and in no sum but those of calls: the
 * span with that id tells of the same. With `fathom.call_counted_as` it is in none at all.
 */
#define STORE_CONTEXT_NAME "context"
int store_append(struct store *s, const struct received_batch *batch, struct error *e);

enum store_fate {
	STORE_ADDED,	/* the span is new */
	STORE_REPLACES, /* it is a higher version of one that the sums had */
	STORE_FOLLOWS,	/* the same, but it is not known what the sums had: they stay as they are */
	STORE_REPEATS,	/* it was passed over */
	STORE_KERNEL,	/* it is a kernel span, which no list and no sum has */
	STORE_CONTEXT,	/* of a span, only the context was seen: it is in no list and no sum */
	STORE_COUNTED,	/* another span stands for it: it is in no list and no sum either */
};

/* Each span of the last store_append(), in their order, as enum store_fate. */
const uint8_t *store_fates(const struct store *s);

/*
 * DuckDB keeps rows in groups. A transaction that fills one is compressed and written once, and
 * costs half as much as others.
 */
#define STORE_GROUP_SPANS 32768

/* So many spans fit into the group at hand. 0: what was appended fills it, and is to be committed.
 */
uint64_t store_room(const struct store *s);

/* Bytes of texts that were appended since the last commit. */
size_t store_pending_bytes(const struct store *s);

/*
 * Makes what was appended durable, together with the position. On failure of this or of
 * store_append(), call store_abandon() and go on from store_position().
 */
int store_commit(struct store *s, uint64_t position, struct error *e);

/* The same in the middle of the entry at `position`, of which so many spans were appended. */
int store_commit_part(struct store *s, uint64_t position, uint64_t passed, struct error *e);
void store_abandon(struct store *s);

/*
 * Begins the next file and drops the oldest ones, where it is time. A commit does so, too; this is
 * for times in which nothing comes, or nothing can be taken since the disk is full. Call it every
 * ten seconds or so, in the thread that appends. On failure call store_reopen().
 */
int store_retain(struct store *s, struct error *e);

/*
 * Opens the files again, without what was not committed. DuckDB needs this after a failure to
 * write, such as on a full disk, even if there is room again. On failure try again later; until
 * then everything fails. For the thread that appends.
 */
int store_reopen(struct store *s, struct error *e);

/* A condition on a part of the split of a span. */
struct store_cause {
	enum split_part part;
	uint64_t from_ns, to_ns; /* 0: no bound; a span without a split has none of the part */
};

enum store_sort {
	STORE_SORT_TIME, /* of the begin */
	STORE_SORT_DURATION,
	STORE_SORT_PART,
};

/* The place of a trace in the order of a search. */
struct store_mark {
	uint64_t value; /* of the key of the order */
	struct trace_id id;
};

/* Which traces are asked for: those with a span that meets all conditions. */
struct store_query {
	const char *service;			   /* NULL: any */
	const char *operation;			   /* NULL: any */
	int kind;				   /* enum received_kind; < 0: any */
	bool is_error;				   /* only spans in error */
	uint64_t duration_from_ns, duration_to_ns; /* 0: no bound */
	uint64_t begin_from_ns, begin_to_ns;	   /* of the span; 0: no bound */
	const struct attribute *tags; /* of the span or its resource; a text finds numbers, too */
	size_t tags_count;
	const char *const *marks; /* keys of attributes of the span, or names of its events */
	size_t marks_count;
	const char *remote; /* NULL: any; else the attribute peer.service, in any case */
	/*
	 * As Zipkin searches: names are the same in any case, and each condition but the times may
	 * be met by another span of the service.
	 */
	bool is_loose;
	const struct store_cause *causes; /* conditions of a span */
	size_t causes_count;
	/* Which traces come first: those with the greatest value in a span that was found. */
	enum store_sort sort;
	enum split_part sort_part;	/* of STORE_SORT_PART */
	size_t limit;			/* of traces */
	const struct store_mark *after; /* traces behind it; NULL: the first ones */
	/* CLOCK_MONOTONIC: when its time is over, if that is before the time of a query; 0: never
	 */
	uint64_t until_ns;
};

struct store_ids {
	struct trace_id *data;
	size_t count;
	size_t capacity;
};

/* Appends the ids of the traces. */
int store_search(struct store *s, const struct store_query *query, struct store_ids *out,
		 struct error *e);

struct store_marks {
	struct store_mark *data;
	size_t count;
	size_t capacity;
	bool is_partial; /* the time was over before all files were searched */
};

/*
 * The same with their places: the last one is `after` of the search that goes on. If the time is
 * over, these are what was found by then.
 */
int store_search_marks(struct store *s, const struct store_query *query, struct store_marks *out,
		       struct error *e);

/*
 * Appends all spans of the traces, by their begin; one that was sent twice once. Spans are told
 * apart by their ids, kind, service and begin. What they point to is in the pool; those with the
 * same resource point to the same one. -ENOMEM also at the pool's limit.
 */
int store_find(struct store *s, const struct store_ids *ids, struct pool *pool,
	       struct received_batch *out, struct error *e);

/*
 * The same for kernel spans: those with the attribute `fathom.kind`, unless it is "context". Of
 * each file, the STORE_KERNEL_MAX longest ones.
 */
#define STORE_KERNEL_MAX 20000
int store_find_kernel(struct store *s, const struct store_ids *ids, struct pool *pool,
		      struct received_batch *out, struct error *e);

/*
 * Kernel spans that lie in a time, in part at least; `to_ns` is not in it. All of them are found.
 * Those that are shorter than `least_ns` are told, one by one, and not appended. What one points to
 * is there until tell() returns, but for its resource and scope: these stay, and get their texts at
 * the end. Of its attributes it has those that tell what a thread did: `fathom.kind`, `fathom.tid`,
 * `thread.id` and `fathom.time.*`. One of which there are several versions is told once. An error
 * of tell() ends it.
 */
struct store_brief {
	uint64_t from_ns, to_ns;
	uint64_t least_ns;
	int (*tell)(void *arg, const struct received_span *span);
	void *arg;
};

/* Either of both, with a time. */
struct store_finding {
	const struct store_ids *ids;
	bool kernel;			 /* kernel spans; else the others */
	uint64_t begin_from_ns;		 /* those that begin then or later; 0: all */
	uint64_t until_ns;		 /* as in struct store_query */
	const struct store_brief *brief; /* of kernel spans; NULL: the longest ones are found */
};

/* The same. -ETIMEDOUT if the time is over. */
int store_find_until(struct store *s, const struct store_finding *what, struct pool *pool,
		     struct received_batch *out, struct error *e);

/*
 * How long kernel spans must be so that no file has more than `count` of them: those of `brief`,
 * whose `least_ns` does not matter. 0: none has more. -ETIMEDOUT as above.
 */
int store_kernel_least(struct store *s, const struct store_finding *what, uint64_t count,
		       uint64_t *least_ns, struct error *e);

struct store_operation {
	const char *service;
	const char *name;
	uint8_t kind;
};

struct store_operations {
	struct store_operation *data;
	size_t count;
	size_t capacity;
};

/*
 * Appends the operations of a service, or of all (NULL), sorted by service, name and kind. Their
 * texts are in the pool.
 */
int store_list(struct store *s, const char *service, struct pool *pool,
	       struct store_operations *out, struct error *e);

/* By what sums are told apart; without it they are added up. */
enum store_by {
	STORE_BY_SERVICE = 1,
	STORE_BY_OPERATION = 2,
	STORE_BY_KIND = 4,
	STORE_BY_ERROR = 8,
	STORE_BY_TIME = 16,
};

/* Times; `to_ns` is not in the range; 0: no bound. */
struct store_range {
	uint64_t from_ns, to_ns;
};

/* Which spans are summed up. The times are those of their begins. */
struct store_sums_query {
	const char *service;   /* NULL: any */
	const char *operation; /* NULL: any */
	int kind;	       /* enum received_kind; < 0: any */
	/* The range is rounded out to the steps of the sums: ten seconds, later a minute. */
	uint64_t from_ns, to_ns; /* `to_ns` is not in the range; 0: no bound */
	unsigned int by;	 /* a set of enum store_by */
	uint64_t step_ns;	 /* of STORE_BY_TIME: a multiple of STORE_SUMS_STEP_NS */
	bool has_parts;		 /* also the durations of the parts of the split */
};

#define STORE_SUMS_STEP_NS UINT64_C(10000000000)
#define STORE_SUMS_MAX 200000u /* of an answer */

struct store_sum {
	const char *service;   /* "" unless STORE_BY_SERVICE */
	const char *operation; /* "" unless STORE_BY_OPERATION */
	uint8_t kind;	       /* 0 unless STORE_BY_KIND */
	bool is_error;	       /* false unless STORE_BY_ERROR */
	uint64_t begin_ns;     /* 0 unless STORE_BY_TIME; a multiple of the step */
	uint64_t count;	       /* of spans, each as often as it stands for (fathom.stands_for) */
	uint64_t seen;	       /* of spans: what says whether these are enough */
	uint64_t errors;
	uint64_t total_ns; /* of durations; wraps */
	uint64_t max_ns;   /* the greatest duration; an upper bound if versions were replaced */
	struct durations durations;
	uint64_t measured, measured_seen; /* spans of which the split is known, likewise */
	struct split time;		  /* the sum of their splits */
	/*
	 * With `has_parts`: SPLIT_PARTS_COUNT distributions, each of the spans that have the part;
	 * in the others of `measured` it is 0. Else NULL.
	 */
	struct durations *parts;
};

struct store_sums {
	struct store_sum *data;
	size_t count;
	size_t capacity;
};

/*
 * Appends sums, sorted by service, operation, kind, error and time. Their texts are in the pool.
 * Free them with store_sums_free(), also on failure. -E2BIG if there are more than STORE_SUMS_MAX.
 */
int store_sums(struct store *s, const struct store_sums_query *query, struct pool *pool,
	       struct store_sums *out, struct error *e);
void store_sums_free(struct store_sums *sums);

/*
 * Calls between services, as sums: `service` calls `operation`, the name of the other service, with
 * the durations of the spans that were called. They are told when both spans are there.
 */
int store_edges(struct store *s, const struct store_range *range, struct pool *pool,
		struct store_sums *out, struct error *e);

/* Why a file is left out; "": none is. For the thread that appends, until it opens files again. */
const char *store_lost_why(const struct store *s);

struct store_counts {
	uint64_t spans;
	uint64_t kernel_spans; /* which `spans` does not have */
	uint64_t bytes;	       /* of the files and their write-ahead logs */
	uint64_t files;
	uint64_t lost_files;		 /* that are left out, since they cannot be opened */
	char lost_why[ERROR_TEXT_BYTES]; /* why the last one of them is; "": there is none */
	/* since opening: */
	uint64_t unlisted_spans; /* whose operation is not in the lists */
	uint64_t dropped;	 /* spans in files that were dropped */
	uint64_t repeats;	 /* that were passed over */
	uint64_t replaced;	 /* spans of which a higher version came */
};

int store_count(struct store *s, struct store_counts *out, struct error *e);

#endif
