/* SPDX-License-Identifier: Apache-2.0 */
/* The paths /api/metrics/ of Jaeger's query API. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "serve/answer.h"
#include "serve/jaeger.h"
#include "serve/jaeger_metrics.h"
#include "serve/parameters.h"
#include "serve/route.h"

#define SERVICES_MAX 50
#define POINTS_MAX 2000 /* of a series; a shorter step is made longer */
#define MS_NS 1000000u
#define MS_MAX ((uint64_t)1 << 43) /* of a parameter: some hundred years */

struct reading {
	struct jaeger_metrics *m;
	const char *services[SERVICES_MAX];
	size_t services_count;
	const char *wrong; /* NULL: nothing */
};

static enum MHD_Result list_read(void *arg, enum MHD_ValueKind kind_of_value, const char *key,
				 const char *value)
{
	struct reading *r = arg;
	int kind;

	if (strcmp(key, "service") == 0 && value) {
		if (r->services_count == SERVICES_MAX)
			r->wrong = "unable to parse param 'service': more than 50";
		else
			r->services[r->services_count++] = value;
	} else if (strcmp(key, "spanKind") == 0 && value) {
		kind = received_kind_parse(value);
		if (kind < 0)
			r->wrong = "unable to parse param 'spanKind': unsupported span kind";
		else
			r->m->kinds |= 1u << kind;
	}
	return r->wrong ? MHD_NO : MHD_YES;
}

static bool ms_read(const struct query *q, const char *name, uint64_t preset_ms, uint64_t *ns)
{
	const char *text = query_value(q, name);
	uint64_t ms = preset_ms;
	bool is_right = !text || (number_parse(text, MS_MAX, &ms) && ms);

	*ns = ms * MS_NS;
	return is_right;
}

static const char *times_read(const struct query *q, struct jaeger_metrics *m)
{
	if (!ms_read(q, "endTs", clock_read_ns(CLOCK_REALTIME) / MS_NS, &m->end_ns))
		return "unable to parse param 'endTs': milliseconds since 1970";
	if (!ms_read(q, "lookback", 3600000, &m->lookback_ns))
		return "unable to parse param 'lookback': milliseconds";
	if (!ms_read(q, "step", 5000, &m->step_ns))
		return "unable to parse param 'step': milliseconds";
	if (!ms_read(q, "ratePer", 600000, &m->rate_ns))
		return "unable to parse param 'ratePer': milliseconds";
	if (m->lookback_ns / m->step_ns > POINTS_MAX)
		m->step_ns = m->lookback_ns / POINTS_MAX + 1;
	return NULL;
}

static const char *quantile_read(const struct query *q, struct jaeger_metrics *m)
{
	const char *text = query_value(q, "quantile");
	char *end = NULL;
	double quantile = text ? strtod(text, &end) : -1;

	if (!end || *end || !(quantile > 0 && quantile <= 1))
		return "unable to parse param 'quantile': a number above 0, and not above 1";
	m->per_10000 = (unsigned int)(quantile * 1e4 + 0.5);
	return NULL;
}

/* Go's words for true and false. */
static const char *grouping_read(const struct query *q, struct jaeger_metrics *m)
{
	static const char *const words[] = {"1", "t", "T", "TRUE",  "true",  "True",
					    "0", "f", "F", "FALSE", "false", "False"};
	const char *text = query_value(q, "groupByOperation");

	for (size_t i = 0; text && i < 12; i++) {
		if (strcmp(text, words[i]) == 0) {
			m->by_operation = i < 6;
			return NULL;
		}
	}
	return text ? "unable to parse param 'groupByOperation': true or false" : NULL;
}

static const char *parameters_read(struct query *q, struct reading *r)
{
	const char *wrong;

	MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, list_read, r);
	if (r->wrong)
		return r->wrong;
	if (!r->services_count)
		return "unable to parse param 'service': please provide at least one service name";
	if (!r->m->kinds)
		r->m->kinds = 1u << RECEIVED_SERVER;
	wrong = r->m->metric == JAEGER_LATENCIES ? quantile_read(q, r->m) : NULL;
	wrong = wrong ? wrong : grouping_read(q, r->m);
	return wrong ? wrong : times_read(q, r->m);
}

static int metric_answer(struct query *q, enum jaeger_metric metric)
{
	struct jaeger_metrics m = {.metric = metric};
	struct reading reading = {.m = &m};
	const char *wrong = parameters_read(q, &reading);
	struct store_sums sums = {0};
	struct json j;
	int err = 0;

	if (wrong)
		return jaeger_error(q, MHD_HTTP_BAD_REQUEST, wrong);
	for (size_t i = 0; i < reading.services_count && !err; i++) {
		struct store_sums_query ask = jaeger_metrics_query(&m);

		ask.service = reading.services[i];
		err = store_sums(q->source->store, &ask, q->pool, &sums, q->e);
	}
	if (err == -E2BIG) {
		err = jaeger_error(q, MHD_HTTP_BAD_REQUEST,
				   "too many sums: ask for a shorter lookback or fewer services");
	} else if (!err) {
		json_init_bytes(&j, q->body);
		err = jaeger_metrics_write(&j, &m, &sums);
		err = json_end(&j) || err ? -ENOMEM : MHD_HTTP_OK;
	}
	store_sums_free(&sums);
	return err;
}

static int calls_answer(struct query *q)
{
	return metric_answer(q, JAEGER_CALLS);
}

static int errors_answer(struct query *q)
{
	return metric_answer(q, JAEGER_ERRORS);
}

static int latencies_answer(struct query *q)
{
	return metric_answer(q, JAEGER_LATENCIES);
}

/* The least step, in milliseconds. */
static int step_answer(struct query *q)
{
	struct json j;

	json_init_bytes(&j, q->body);
	json_object_begin(&j, NULL);
	json_u64(&j, "data", STORE_SUMS_STEP_NS / MS_NS);
	json_u64(&j, "total", 0);
	json_u64(&j, "limit", 0);
	json_u64(&j, "offset", 0);
	json_null(&j, "errors");
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : MHD_HTTP_OK;
}

const struct route jaeger_metrics_routes[] = {{"/api/metrics/calls", calls_answer},
					      {"/api/metrics/errors", errors_answer},
					      {"/api/metrics/latencies", latencies_answer},
					      {"/api/metrics/minstep", step_answer},
					      {0}};
