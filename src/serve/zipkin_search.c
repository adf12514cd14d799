/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/zipkin_search.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "serve/parameters.h"

#define LIMIT_MAX 1500
#define DAY_MS 86400000u

/* Reads a whole number that is not 0. False: the parameter is there and is none. */
static bool number_read(const struct query *q, const char *name, uint64_t most, uint64_t *number)
{
	const char *text = query_value(q, name);

	return !text || (number_parse(text, most, number) && *number);
}

/* "endTs" and "lookback": NULL, or what is wrong. */
const char *zipkin_window_read(const struct query *q, struct store_query *search)
{
	const uint64_t most = UINT64_MAX / 1000000 - 1;
	uint64_t end_ms = clock_read_ns(CLOCK_REALTIME) / 1000000, lookback_ms = DAY_MS;

	if (!number_read(q, "endTs", most, &end_ms))
		return "endTs should be positive, in epoch milliseconds";
	if (!number_read(q, "lookback", most, &lookback_ms))
		return "lookback should be positive, in milliseconds";
	search->begin_to_ns = end_ms * 1000000 + 999999;
	if (lookback_ms < end_ms)
		search->begin_from_ns = (end_ms - lookback_ms) * 1000000;
	return NULL;
}

static const char *durations_read(const struct query *q, struct store_query *search)
{
	uint64_t least = 0, most = 0;

	if (!number_read(q, "minDuration", UINT64_MAX / 1000, &least))
		return "minDuration should be a positive number of microseconds";
	if (!number_read(q, "maxDuration", UINT64_MAX / 1000 - 1, &most))
		return "maxDuration should be a positive number of microseconds";
	if (most && !least)
		return "maxDuration is only valid with minDuration";
	if (most && most < least)
		return "maxDuration should be >= minDuration";
	search->duration_from_ns = least * 1000;
	search->duration_to_ns = most ? most * 1000 + 999 : 0;
	return NULL;
}

/* Cuts off spaces at both ends. */
static char *trim(char *text)
{
	size_t n;

	text += strspn(text, " ");
	n = strlen(text);
	while (n && text[n - 1] == ' ')
		text[--n] = '\0';
	return text;
}

/* The last value of a key counts, as in Zipkin. */
static void tag_use(struct store_query *search, struct zipkin_search *terms, const char *key,
		    const char *value)
{
	size_t i = 0;

	while (i < search->tags_count && strcmp(terms->tags[i].key, key) != 0)
		i++;
	terms->tags[i] = (struct attribute){.key = key, .type = VALUE_STRING, .string = value};
	if (i == search->tags_count)
		search->tags_count++;
}

/* A term of an annotation query: KEY=VALUE, or a key of a tag, or an annotation. */
static void term_use(struct store_query *search, struct zipkin_search *terms, char *term)
{
	char *equals = strchr(term, '='), *value = "";

	if (equals) {
		*equals = '\0';
		value = trim(equals + 1);
	}
	term = trim(term);
	if (!*term)
		return;
	if (strcmp(term, "error") == 0 && (!*value || strcmp(value, "true") == 0))
		search->is_error = true;
	else if (*value)
		tag_use(search, terms, term, value);
	else
		terms->marks[search->marks_count++] = term;
}

/* Terms with " and " between them. -E2BIG if they are too many. */
static int terms_read(struct query *q, struct store_query *search, struct zipkin_search *terms)
{
	const char *text = query_value(q, "annotationQuery");
	char *copy, *at;

	if (!text)
		return 0;
	copy = pool_alloc(q->pool, strlen(text) + 1, 1);
	if (!copy)
		return -ENOMEM;
	strcpy(copy, text);
	search->tags = terms->tags;
	search->marks = terms->marks;
	while (copy) {
		at = copy;
		copy = strstr(copy, " and ");
		if (copy) {
			*copy = '\0';
			copy += strlen(" and ");
		}
		if (search->tags_count + search->marks_count == ZIPKIN_TERMS_MAX)
			return -E2BIG;
		term_use(search, terms, at);
	}
	return 0;
}

/* "all" is what Zipkin's page sends for no condition. */
static const char *name_read(const struct query *q, const char *name)
{
	const char *text = query_value(q, name);

	return text && strcasecmp(text, "all") != 0 ? text : NULL;
}

const char *zipkin_search_read(struct query *q, struct zipkin_search *out)
{
	struct store_query *query = &out->query;
	uint64_t limit = ZIPKIN_LIMIT_PRESET;
	const char *wrong;
	int err;

	*query = (struct store_query){.kind = -1, .is_loose = true};
	wrong = zipkin_window_read(q, query);
	wrong = wrong ? wrong : durations_read(q, query);
	if (wrong)
		return wrong;
	if (!number_read(q, "limit", LIMIT_MAX, &limit))
		return "limit should be 1 to 1500";
	query->service = query_value(q, "serviceName");
	query->remote = query_value(q, "remoteServiceName");
	query->operation = name_read(q, "spanName");
	query->limit = limit;
	err = terms_read(q, query, out);
	if (err)
		return err == -ENOMEM ? "out of memory" : "annotationQuery has over 100 terms";
	return NULL;
}
