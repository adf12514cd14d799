/* SPDX-License-Identifier: Apache-2.0 */
/* Spans and waits of threads in a time, whichever trace they are of: /api/v1/lanes. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "serve/answer.h"
#include "serve/gather.h"
#include "serve/own.h"
#include "serve/own_columns.h"
#include "serve/own_span.h"
#include "serve/parameters.h"
#include "serve/states.h"

#define SECOND_NS UINT64_C(1000000000)
#define LENGTH_NS (10 * SECOND_NS) /* unless asked for otherwise */
#define LENGTH_MAX_NS (3600 * SECOND_NS)
#define BEFORE_NS (60 * SECOND_NS) /* spans that began so long before are looked at, too */
#define TRACES 300		   /* unless asked for otherwise */
#define HOSTS_MAX 200
#define STATES_MAX 50000 /* kernel spans of an answer, also unless asked for otherwise */
#define PIECES_MOST 2000 /* a screen has about so many pixels */

struct lanes_query {
	uint64_t from_ns, to_ns, traces;
	uint64_t states;  /* kernel spans: if there are more, short ones are joined */
	const char *host; /* NULL: any */
	bool with_cpus;	  /* which thread had which CPU, too */
};

/* The reason why the parameters are refused; NULL: they are not. */
static const char *parameters_read(struct query *q, struct lanes_query *out)
{
	const char *limit = query_value(q, "limit"), *cpus = query_value(q, "cpus");
	const char *states = query_value(q, "states");
	uint64_t now_ns = own_now_ns();

	*out = (struct lanes_query){.from_ns = now_ns - LENGTH_NS,
				    .to_ns = now_ns,
				    .traces = TRACES,
				    .states = STATES_MAX,
				    .host = query_value(q, "host"),
				    .with_cpus = cpus && strcmp(cpus, "1") == 0};
	if (!own_range(q, &out->from_ns, &out->to_ns) || out->from_ns >= out->to_ns)
		return OWN_RANGE_WHY;
	if (out->to_ns - out->from_ns > LENGTH_MAX_NS)
		return "the range has an hour at most";
	if (limit && (!number_parse(limit, GATHER_TRACES_MAX, &out->traces) || !out->traces))
		return "limit is a number of traces from 1 to 1000";
	if (states && (!number_parse(states, STATES_MAX, &out->states) || !out->states))
		return "states is a number of kernel spans from 1 to 50000";
	return NULL;
}

/* ---- which spans ---- */

static bool is_in(const struct lanes_query *query, const struct received_span *span)
{
	return span->begin_ns < query->to_ns &&
	       span->begin_ns + received_duration_ns(span) >= query->from_ns &&
	       gather_thread(span) > 0;
}

typedef VEC(const char *) host_list; /* each once */

static int host_add(host_list *hosts, const char *host)
{
	for (size_t i = 0; i < hosts->count; i++) {
		if (strcmp(hosts->data[i], host) == 0)
			return 0;
	}
	return hosts->count < HOSTS_MAX ? vec_push(hosts, host) : 0;
}

/* Keeps what lies in the range, and collects the hosts that it is from. */
static int spans_choose(struct received_batch *batch, const struct lanes_query *query,
			host_list *hosts)
{
	size_t left = 0;
	int err = 0;

	for (size_t i = 0; i < batch->count && !err; i++) {
		const char *host = gather_host(&batch->data[i]);

		if (!is_in(query, &batch->data[i]))
			continue;
		if (host)
			err = host_add(hosts, host);
		if (!query->host || (host && strcmp(host, query->host) == 0))
			batch->data[left++] = batch->data[i];
	}
	batch->count = err ? batch->count : left;
	return err;
}

/* What was found: spans, and the hosts of all spans of the time. */
struct lanes_found {
	struct gathered g;
	host_list hosts;
	uint64_t joined_below_ns; /* kernel spans that are shorter are joined; 0: none is */
	bool is_partial;
};

/* ---- kernel spans ---- */

static int state_tell(void *arg, const struct received_span *span)
{
	return states_add(arg, span);
}

/* Which of them are joined while they are read. 0: all are few enough to be kept as they are. */
static int least_find(struct query *q, const struct lanes_query *query,
		      const struct store_finding *finding, uint64_t *least_ns)
{
	uint64_t piece_ns = (query->to_ns - query->from_ns) / PIECES_MOST;
	struct store *store = q->source->store;
	int err = store_kernel_least(store, finding, query->states, least_ns, q->e);

	if (err || !*least_ns)
		return err;
	err = store_kernel_least(store, finding, query->states / 2, least_ns, q->e);
	*least_ns = *least_ns > piece_ns ? *least_ns : piece_ns;
	return err;
}

/* Reads them, and joins short ones where there are too many. */
static int kernel_join(struct query *q, const struct lanes_query *query,
		       const struct store_ids *ids, struct received_batch *batch,
		       struct states *states)
{
	struct store_brief brief = {.from_ns = query->from_ns,
				    .to_ns = query->to_ns,
				    .tell = state_tell,
				    .arg = states};
	const struct store_finding finding = {.ids = ids, .kernel = true, .brief = &brief};
	uint64_t range_ns = query->to_ns - query->from_ns;
	int err = least_find(q, query, &finding, &brief.least_ns);

	states->width_ns = brief.least_ns;
	err = err ? err : store_find_until(q->source->store, &finding, q->pool, batch, q->e);
	return err ? err : states_fit(states, batch, range_ns / PIECES_MOST, range_ns);
}

/* If all of them take too much time, these are the longest ones. */
static int kernel_find(struct query *q, const struct lanes_query *query,
		       const struct store_ids *ids, struct lanes_found *found)
{
	struct states states = {.pool = q->pool, .most = query->states};
	struct received_batch *batch = &found->g.batch;
	int err = kernel_join(q, query, ids, batch, &states);

	if (err == -ETIMEDOUT) {
		error_clear(q->e);
		states_clear(&states);
		states.width_ns = 0;
		found->is_partial = true;
		err = store_find_kernel(q->source->store, ids, q->pool, batch, q->e);
	}
	err = err ? err : states_put(&states, batch);
	found->joined_below_ns = states.list.count ? states.width_ns : 0;
	states_free(&states);
	return err;
}

/* ---- all of it ---- */

static int spans_find(struct query *q, const struct lanes_query *query, struct lanes_found *found)
{
	const struct store_query search = {
		.kind = -1,
		.begin_from_ns = query->from_ns > BEFORE_NS ? query->from_ns - BEFORE_NS : 0,
		.begin_to_ns = query->to_ns - 1,
		.limit = query->traces};
	struct store_marks marks = {0};
	struct store_ids ids = {0};
	int err = store_search_marks(q->source->store, &search, &marks, q->e);

	for (size_t i = 0; i < marks.count && !err; i++)
		err = vec_push(&ids, marks.data[i].id);
	found->is_partial = marks.is_partial || marks.count == query->traces;
	err = err ? err : traces_joined(q, &ids, &found->g.batch);
	err = err ? err : kernel_find(q, query, &ids, found);
	vec_free(&marks);
	vec_free(&ids);
	return err;
}

/* ---- the answer ---- */

static int answer_write(struct query *q, const struct lanes_query *query, struct lanes_found *found,
			bool in_columns)
{
	struct json j;
	int err = in_columns ? gathered_link(&found->g) : 0;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", 1);
	json_u64(&j, "from_unix_ns", query->from_ns);
	json_u64(&j, "to_unix_ns", query->to_ns);
	json_bool(&j, "partial", found->is_partial);
	json_array_begin(&j, "hosts");
	for (size_t i = 0; i < found->hosts.count; i++)
		json_string(&j, NULL, found->hosts.data[i]);
	json_array_end(&j);
	if (found->joined_below_ns)
		json_u64(&j, "joined_below_ns", found->joined_below_ns);
	if (!err)
		err = in_columns ? own_columns_write(&j, &found->g, q->pool, false)
				 : own_spans_write(&j, &found->g.batch);
	if (!err && query->with_cpus)
		err = own_cpus_write(q, &j, query->from_ns, query->to_ns);
	own_coverage_write(q, &j, query->from_ns, query->to_ns);
	json_object_end(&j);
	return json_end(&j) || err ? -ENOMEM : MHD_HTTP_OK;
}

static int lanes_answer(struct query *q, bool in_columns)
{
	struct lanes_found found = {0};
	struct lanes_query query;
	const char *why = parameters_read(q, &query);
	int err;

	if (why)
		return own_error(q, MHD_HTTP_BAD_REQUEST, why);
	err = spans_find(q, &query, &found);
	err = err ? err : spans_choose(&found.g.batch, &query, &found.hosts);
	err = err ? err : answer_write(q, &query, &found, in_columns);
	vec_free(&found.hosts);
	gathered_free(&found.g);
	return err;
}

int own_lanes(struct query *q)
{
	return lanes_answer(q, false);
}

int own_lanes_columns(struct query *q)
{
	return lanes_answer(q, true);
}
