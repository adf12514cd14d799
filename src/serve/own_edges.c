/* SPDX-License-Identifier: Apache-2.0 */
/* Calls between services, for a map of them: /api/v1/edges. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "serve/answer.h"
#include "serve/edges.h"
#include "serve/own.h"

#define HOUR_NS UINT64_C(3600000000000)
#define TRACES 100 /* of each sample */
#define SAMPLE_STEP_NS (GATHER_ANSWER_NS / 3)

static bool has_trace(const struct store_marks *marks, struct trace_id id)
{
	for (size_t i = 0; i < marks->count; i++) {
		if (trace_id_equals(marks->data[i].id, id))
			return true;
	}
	return false;
}

/* Adds traces that have a span with an attribute. */
static int marked_add(struct query *q, const struct store_range *range, const char *mark,
		      uint64_t until_ns, struct store_marks *out)
{
	const struct store_query search = {.kind = -1,
					   .marks = &mark,
					   .marks_count = 1,
					   .begin_from_ns = range->from_ns,
					   .begin_to_ns = range->to_ns - 1,
					   .limit = TRACES,
					   .until_ns = until_ns};
	struct store_marks found = {0};
	int err = store_search_marks(q->source->store, &search, &found, q->e);

	for (size_t i = 0; i < found.count && !err; i++) {
		if (!has_trace(out, found.data[i].id)) /* which is read from its begin on */
			err = vec_push(out, (struct store_mark){.id = found.data[i].id});
	}
	out->is_partial |= found.is_partial;
	vec_free(&found);
	return err;
}

/* A sample of what sums do not tell. The sums are told, also if there is no room for it. */
static int samples_read(struct query *q, const struct store_range *range, struct gathered *g,
			edge_samples *out)
{
	uint64_t begin_ns = clock_now_ns();
	struct store_marks marks = {0};
	const struct gather_traces what = {&marks, begin_ns + GATHER_ANSWER_NS, false};
	int err = marked_add(q, range, "peer.service", begin_ns + SAMPLE_STEP_NS, &marks);

	err = err ? err
		  : marked_add(q, range, "edge.probability", begin_ns + 2 * SAMPLE_STEP_NS, &marks);
	g->is_partial = marks.is_partial;
	err = err ? err : gather_traces(q, &what, g);
	vec_free(&marks);
	if (err == -ENOMEM) {
		g->is_partial = true;
		err = 0;
	}
	if (!err)
		error_clear(q->e);
	err = err ? err : gathered_link(g);
	return err ? err : edges_sample(g, out);
}

static void sample_write(struct json *j, const struct edge_sample *sample)
{
	if (sample && sample->told)
		json_double(j, "probability", sample->probability / (double)sample->told);
}

static void edge_write(struct json *j, const struct store_sum *edge,
		       const struct edge_sample *sample, double seconds)
{
	json_object_begin(j, NULL);
	json_string(j, "from", edge->service);
	json_string(j, "to", edge->operation);
	json_u64(j, "count", edge->count);
	json_u64(j, "seen", edge->seen);
	json_u64(j, "errors", edge->errors);
	json_double(j, "rate", seconds > 0 ? (double)edge->count / seconds : 0);
	json_u64(j, "mean_ns", edge->total_ns / edge->count);
	json_u64(j, "max_ns", edge->max_ns);
	json_u64(j, "p50_ns", own_quantile(edge, 5000));
	json_u64(j, "p95_ns", own_quantile(edge, 9500));
	json_u64(j, "p99_ns", own_quantile(edge, 9900));
	sample_write(j, sample);
	json_object_end(j);
}

/* Calls to a service that sent no span are known from the sample alone. */
static void remote_write(struct json *j, const struct edge_sample *sample)
{
	json_object_begin(j, NULL);
	json_string(j, "from", sample->from);
	json_string(j, "to", sample->to);
	json_u64(j, "count", sample->calls);
	json_u64(j, "seen", sample->calls);
	json_u64(j, "errors", sample->errors);
	json_u64(j, "mean_ns", sample->total_ns / sample->calls);
	json_u64(j, "max_ns", sample->max_ns);
	json_bool(j, "sampled", true);
	sample_write(j, sample);
	json_object_end(j);
}

static bool has_edge(const struct store_sums *edges, const struct edge_sample *sample)
{
	for (size_t i = 0; i < edges->count; i++) {
		if (edges->data[i].count && strcmp(edges->data[i].service, sample->from) == 0 &&
		    strcmp(edges->data[i].operation, sample->to) == 0)
			return true;
	}
	return false;
}

static int edges_write(struct query *q, const struct store_range *range,
		       const struct store_sums *edges, const edge_samples *samples, bool is_partial)
{
	double seconds = (double)(range->to_ns - range->from_ns) / 1e9;
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_u64(&j, "from_unix_ns", range->from_ns);
	json_u64(&j, "to_unix_ns", range->to_ns);
	json_array_begin_lines(&j, "edges");
	for (size_t i = 0; i < edges->count; i++) {
		const struct store_sum *edge = &edges->data[i];

		if (edge->count)
			edge_write(&j, edge, edges_find(samples, edge->service, edge->operation),
				   seconds);
	}
	for (size_t i = 0; i < samples->count; i++) {
		if (samples->data[i].is_remote && !has_edge(edges, &samples->data[i]))
			remote_write(&j, &samples->data[i]);
	}
	json_array_end(&j);
	if (is_partial)
		json_bool(&j, "partial", true);
	own_coverage_write(q, &j, range->from_ns, range->to_ns);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

int own_edges(struct query *q)
{
	uint64_t now_ns = own_now_ns();
	struct store_range range = {now_ns - HOUR_NS, now_ns};
	struct store_sums edges = {0};
	edge_samples samples = {0};
	struct gathered g = {0};
	int err;

	if (!own_range(q, &range.from_ns, &range.to_ns) || range.from_ns >= range.to_ns)
		return own_error(q, MHD_HTTP_BAD_REQUEST, OWN_RANGE_WHY);
	/* whole steps, so that the rate is that of the range that was summed up */
	range.from_ns -= range.from_ns % STORE_SUMS_STEP_NS;
	err = store_edges(q->source->store, &range, q->pool, &edges, q->e);
	err = err ? err : samples_read(q, &range, &g, &samples);
	err = err ? err : edges_write(q, &range, &edges, &samples, g.is_partial);
	store_sums_free(&edges);
	vec_free(&samples);
	gathered_free(&g);
	return err;
}
