/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jaeger_search.h"

#include <errno.h>
#include <string.h>

#include "serve/parameters.h"
#include "span/attributes.h"

#define LIMIT_PRESET 20
#define V3_LIMIT_PRESET 100

struct tag_reading {
	struct query *q;
	struct jaeger_search *search;
	const char *map_key, *pair_key; /* names of parameters */
	const char *wrong;		/* NULL: nothing */
};

static void tag_add(struct tag_reading *r, const struct attribute *tag)
{
	struct store_query *query = &r->search->query;

	if (query->tags_count == JAEGER_TAGS_MAX)
		r->wrong = "more than 64 tags";
	else
		r->search->tags[query->tags_count++] = *tag;
}

/* An object in JSON. */
static void map_read(struct tag_reading *r, const char *text)
{
	const struct attribute *list;
	size_t count;
	int err = attributes_read(text, strlen(text), r->q->pool, &list, &count);

	if (err)
		r->wrong = err == -ENOMEM ? "out of memory"
					  : "malformed tags, expecting a map in JSON";
	for (size_t i = 0; !err && i < count && !r->wrong; i++)
		tag_add(r, &list[i]);
}

/* KEY:VALUE. */
static void pair_read(struct tag_reading *r, const char *text)
{
	const char *colon = text ? strchr(text, ':') : NULL;
	char *name = colon ? pool_alloc(r->q->pool, (size_t)(colon - text) + 1, 1) : NULL;
	struct attribute tag = {.key = name, .type = VALUE_STRING};

	if (!name) {
		r->wrong = "malformed 'tag' parameter, expecting key:value";
		return;
	}
	memcpy(name, text, (size_t)(colon - text));
	tag.string = colon + 1;
	tag_add(r, &tag);
}

static enum MHD_Result tag_read(void *arg, enum MHD_ValueKind kind, const char *key,
				const char *value)
{
	struct tag_reading *r = arg;

	if (strcmp(key, r->map_key) == 0 && value && *value)
		map_read(r, value);
	else if (r->pair_key && strcmp(key, r->pair_key) == 0)
		pair_read(r, value);
	return r->wrong ? MHD_NO : MHD_YES;
}

static const char *tags_read(struct query *q, struct jaeger_search *out, const char *map_key,
			     const char *pair_key)
{
	struct tag_reading reading = {q, out, map_key, pair_key, NULL};

	out->query.tags = out->tags;
	MHD_get_connection_values(q->connection, MHD_GET_ARGUMENT_KIND, tag_read, &reading);
	return reading.wrong;
}

static const char *durations_read(const char *least, const char *most, struct store_query *query)
{
	if (least && !duration_parse(least, &query->duration_from_ns))
		return "unable to parse param 'minDuration': a duration as 1.5s or 20ms";
	if (most && !duration_parse(most, &query->duration_to_ns))
		return "unable to parse param 'maxDuration': a duration as 1.5s or 20ms";
	if (most && query->duration_to_ns < query->duration_from_ns)
		return "'maxDuration' should be greater than 'minDuration'";
	return NULL;
}

const char *jaeger_search_read(struct query *q, struct jaeger_search *out)
{
	const char *start = query_value(q, "start"), *end = query_value(q, "end");
	const char *limit = query_value(q, "limit"), *wrong;
	struct store_query *query = &out->query;
	uint64_t number = LIMIT_PRESET;

	*query = (struct store_query){.service = query_value(q, "service"),
				      .operation = query_value(q, "operation"),
				      .kind = -1};
	if (!query->service)
		return "parameter 'service' is required";
	if (limit && (!number_parse(limit, JAEGER_TRACES_MAX, &number) || !number))
		return "unable to parse param 'limit': 1 to 1500";
	query->limit = number;
	if (start && !number_parse(start, UINT64_MAX / 1000, &query->begin_from_ns))
		return "unable to parse param 'start': microseconds since 1970";
	if (end && !number_parse(end, UINT64_MAX / 1000 - 1, &query->begin_to_ns))
		return "unable to parse param 'end': microseconds since 1970";
	query->begin_from_ns *= 1000;
	query->begin_to_ns = end ? query->begin_to_ns * 1000 + 999 : 0;
	wrong = durations_read(query_value(q, "minDuration"), query_value(q, "maxDuration"), query);
	return wrong ? wrong : tags_read(q, out, "tags", "tag");
}

/* A parameter, or what it was called before. */
static const char *either_value(const struct query *q, const char *name, const char *older)
{
	const char *value = query_value(q, name);

	return value ? value : query_value(q, older);
}

static const char *v3_times_read(const struct query *q, struct store_query *query)
{
	const char *least = either_value(q, "query.startTimeMin", "query.start_time_min");
	const char *most = either_value(q, "query.startTimeMax", "query.start_time_max");

	if (!least || !most)
		return "query.startTimeMin and query.startTimeMax are required";
	if (!time_parse(least, &query->begin_from_ns))
		return "malformed parameter query.startTimeMin: a time of RFC 3339 is needed";
	if (!time_parse(most, &query->begin_to_ns))
		return "malformed parameter query.startTimeMax: a time of RFC 3339 is needed";
	if (query->begin_from_ns >= query->begin_to_ns)
		return "query.startTimeMin must be before query.startTimeMax";
	query->begin_to_ns--; /* the end is not included */
	return NULL;
}

const char *jaeger_v3_search_read(struct query *q, struct jaeger_search *out)
{
	const char *depth = either_value(q, "query.searchDepth", "query.search_depth");
	struct store_query *query = &out->query;
	uint64_t number = V3_LIMIT_PRESET;
	const char *wrong;

	*query = (struct store_query){
		.service = either_value(q, "query.serviceName", "query.service_name"),
		.operation = either_value(q, "query.operationName", "query.operation_name"),
		.kind = -1};
	depth = depth ? depth : query_value(q, "query.num_traces");
	if (depth && (!number_parse(depth, INT32_MAX, &number) || !number))
		return "malformed parameter query.searchDepth: a number of traces is needed";
	query->limit = number < JAEGER_TRACES_MAX ? number : JAEGER_TRACES_MAX;
	if (query_value(q, "query.filter"))
		return "query.filter is not supported";
	wrong = v3_times_read(q, query);
	if (wrong)
		return wrong;
	wrong = durations_read(either_value(q, "query.durationMin", "query.duration_min"),
			       either_value(q, "query.durationMax", "query.duration_max"), query);
	return wrong ? wrong : tags_read(q, out, "query.attributes", NULL);
}
