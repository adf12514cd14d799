/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of fathom's own query API share. */
#ifndef SERVE_OWN_H
#define SERVE_OWN_H

#include "base/json.h"
#include "serve/route.h"

/* Answers with a status and a reason. */
int own_error(struct query *q, int status, const char *why);

/*
 * A range of time by the parameters `from` and `to`: nanoseconds since 1970, or a duration before
 * now, such as 15m. False: one of them is neither.
 */
bool own_range(struct query *q, uint64_t *from_ns, uint64_t *to_ns);

/*
 * A time before now, such as 15m, or nanoseconds since 1970. NULL leaves the output alone. False:
 * it is neither.
 */
bool own_moment(const char *text, uint64_t now_ns, uint64_t *ns);

/* Nanoseconds since 1970. */
uint64_t own_now_ns(void);

struct gathered;

/*
 * Gathers the trace of an id, which a parameter has. 0, or -ENOENT or -EINVAL, for which
 * own_trace_refuse() answers, or another error.
 */
int own_trace_gather(struct query *q, const char *text, struct gathered *out);
int own_trace_refuse(struct query *q, int err);

/*
 * Writes the critical path of the first subject as the member `critical`, if there is one
 * (serve/stored_path.h). 0 or -ENOMEM.
 */
int own_path_write(struct json *j, const struct gathered *g);

/*
 * Writes the member `cpus`: which thread had which CPU in that time (serve/cpu_runs.h), or why that
 * is not known. 0 or -ENOMEM.
 */
int own_cpus_write(struct query *q, struct json *j, uint64_t from_ns, uint64_t to_ns);

/*
 * Writes the members `lost`, `incomplete`, `gaps` and `coverage` of a time, since 1970. Without one
 * (from_ns is not before to_ns) nothing is known of it.
 */
void own_coverage_write(struct query *q, struct json *j, uint64_t from_ns, uint64_t to_ns);

/* From the first begin to the last end of spans, an instant at least; 0 and 0 without any. */
void own_spans_range(const struct received_batch *batch, uint64_t *from_ns, uint64_t *to_ns);

#define OWN_RANGE_WHY "from and to are nanoseconds since 1970, or a time before now such as 15m"

/* Writes `measured` and, as `time`, the mean of each part of the spans of which the split is known.
 */
void own_split_write(struct json *j, const struct store_sum *sum);

/* A quantile of durations: a bucket may end behind the greatest value in it, a quantile does not.
 */
uint64_t own_quantile(const struct store_sum *sum, unsigned int per_10000);

/* Adds up sums; what they are of stays as it is. 0 or -ENOMEM. */
int own_sum_add(struct store_sum *to, const struct store_sum *more);

/* Writes an object with a range and the sums of its operations, or of its services. */
void own_sums_write(struct json *j, const char *key, const struct store_sums *sums,
		    const struct store_range *range, bool of_operations);

/* The steps of an answer: whole ones, of which the last may be cut by the end of the range. */
struct own_steps {
	uint64_t from_ns, to_ns, step_ns;
	size_t count;
};

/* Steps that are as long as sums have them, and begin no later. */
struct own_steps own_steps_of(uint64_t from_ns, uint64_t to_ns, uint64_t step_ns);

/* Writes an object with the steps, and lists of numbers for each operation; a brief one has two. */
void own_series_write(struct json *j, const char *key, const struct store_sums *sums,
		      const struct own_steps *steps, bool is_brief);

/* Whether both are of one service, operation and kind. */
bool own_same_operation(const struct store_sum *a, const struct store_sum *b);

/*
 * The first fifth of what there is, in whole steps: long enough for requests that can be compared,
 * and for a fault to be seen until there is something older. False: there is too little.
 */
bool own_first_part(const struct store_sums *line, const struct own_steps *steps,
		    struct store_range *out);

/* Answer the paths. */
int own_overview(struct query *q);
int own_services(struct query *q);
int own_operations(struct query *q);
int own_series(struct query *q);
int own_heatmap(struct query *q);
int own_search(struct query *q);
int own_edges(struct query *q);
int own_compare(struct query *q);
int own_where(struct query *q);
int own_lanes(struct query *q);
int own_lanes_columns(struct query *q);
int own_live(struct query *q);
int own_senders(struct query *q);
int own_pins(struct query *q);

#endif
