/* SPDX-License-Identifier: Apache-2.0 */
/* Monitors: /api/v1/monitors, /api/v1/monitors/NAME and /api/v1/suggestion. */
#include <errno.h>
#include <string.h>

#include "monitor/suggest.h"
#include "serve/answer.h"
#include "serve/own.h"

static int document_end(struct query *q, struct json *j, int status)
{
	json_object_end(j);
	return json_end(j) ? -ENOMEM : status;
}

static void document_begin(struct query *q, struct json *j)
{
	json_init_bytes(j, q->body);
	json_object_begin(j, NULL);
	json_u64(j, "version", 1);
}

static int refusal(struct query *q, int err)
{
	int status = err == -EINVAL || err == -ENOSPC ? MHD_HTTP_BAD_REQUEST
		     : err == -ENOENT		      ? MHD_HTTP_NOT_FOUND
		     : err == -EEXIST		      ? MHD_HTTP_CONFLICT
		     : err == -EPERM		      ? MHD_HTTP_FORBIDDEN
						      : 0;

	return status ? own_error(q, status, q->e->text) : err;
}

static int all_list(struct query *q)
{
	struct json j;

	document_begin(q, &j);
	monitors_write(q->source->monitors, &j);
	return document_end(q, &j, MHD_HTTP_OK);
}

static int one_show(struct query *q, const char *name, int status)
{
	struct json j;
	int err;

	document_begin(q, &j);
	err = monitors_write_one(q->source->monitors, name, &j);
	if (!err)
		return document_end(q, &j, status);
	q->body->count = 0;
	return own_error(q, MHD_HTTP_NOT_FOUND, "there is no such monitor");
}

static void put_resume(void *connection)
{
	MHD_resume_connection(connection);
}

/*
 * Makes one, or changes that of a name. It is shown once it has a value and is on the disk: no
 * thread of the server waits for these.
 */
static int one_put(struct query *q, const char *name)
{
	static const struct bytes none;
	int status = name ? MHD_HTTP_OK : MHD_HTTP_CREATED, err;
	struct later *later = q->sent ? &q->sent->later : NULL;
	char made[MONITOR_NAME_BYTES];

	if (later && later->status)
		return one_show(q, later->word, later->status);
	err = monitors_put(q->source->monitors, name, later ? &q->sent->body : &none, made, q->e);
	if (err)
		return refusal(q, err);
	if (!later)
		return one_show(q, made, status);
	later->status = status;
	strcpy(later->word, made);
	MHD_suspend_connection(q->connection);
	if (monitors_await(q->source->monitors, made, put_resume, q->connection))
		MHD_resume_connection(q->connection);
	return QUERY_LATER;
}

_Static_assert(LATER_WORD_BYTES >= MONITOR_NAME_BYTES, "a name fits");

static int one_remove(struct query *q, const char *name)
{
	int err = monitors_remove(q->source->monitors, name, q->e);
	struct json j;

	if (err)
		return refusal(q, err);
	document_begin(q, &j);
	json_string(&j, "removed", name);
	return document_end(q, &j, MHD_HTTP_OK);
}

static bool is_read(const struct query *q)
{
	return strcmp(q->method, "GET") == 0 || strcmp(q->method, "HEAD") == 0;
}

static int monitors_answer(struct query *q)
{
	if (is_read(q))
		return all_list(q);
	if (strcmp(q->method, "POST") == 0)
		return one_put(q, NULL);
	return own_error(q, MHD_HTTP_METHOD_NOT_ALLOWED, "GET and POST are answered here");
}

static int monitor_answer(struct query *q)
{
	if (is_read(q))
		return one_show(q, q->word, MHD_HTTP_OK);
	if (strcmp(q->method, "PUT") == 0)
		return one_put(q, q->word);
	if (strcmp(q->method, "DELETE") == 0)
		return one_remove(q, q->word);
	return own_error(q, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, PUT and DELETE are answered here");
}

/* ---- suggestion ---- */

/* The parameters as a rule; `tries` says whether they have a threshold. */
static int rule_read(struct query *q, struct monitor_rule *rule, bool *tries)
{
	const struct {
		enum rule_key key;
		const char *text;
	} given[] = {{RULE_service, query_value(q, "service")},
		     {RULE_operation, query_value(q, "operation")},
		     {RULE_kind, query_value(q, "kind")},
		     {RULE_value, query_value(q, "value")},
		     {RULE_over, query_value(q, "over")},
		     {RULE_min_count, query_value(q, "min_count")},
		     {RULE_hysteresis, query_value(q, "hysteresis")},
		     {RULE_above, query_value(q, "above")},
		     {RULE_below, query_value(q, "below")}};
	const char *direction = query_value(q, "direction");
	struct measure measure;
	int err = 0;

	for (size_t i = 0; i < sizeof(given) / sizeof(*given) && !err; i++) {
		if (given[i].text)
			err = monitor_rule_set(rule, given[i].key, given[i].text, q->e);
	}
	*tries = *rule->texts[RULE_above] || *rule->texts[RULE_below];
	if (!err && !*rule->texts[RULE_value])
		strcpy(rule->texts[RULE_value], "p99");
	if (!err && !*tries && measure_parse(rule->texts[RULE_value], &measure, NULL) == 0)
		/* any threshold, which nothing uses */
		suggestion_text(
			1, measure_unit(&measure),
			rule->texts[direction && strcmp(direction, "below") == 0 ? RULE_below
										 : RULE_above]);
	return err ? err : monitor_rule_finish(rule, q->e);
}

static void days_write(struct json *j, const struct suggestion *s)
{
	json_array_begin_lines(j, "days");
	for (unsigned int i = 0; i < s->days_count; i++) {
		json_object_begin(j, NULL);
		json_u64(j, "begin_unix_ns", s->days[i].begin_ns);
		json_u64(j, "count", s->days[i].count);
		json_double(j, "value", s->days[i].value);
		json_object_end(j);
	}
	json_array_end(j);
}

static void alerts_write(struct json *j, const struct suggestion *s)
{
	json_double(j, "tried", s->tried);
	json_u64(j, "windows", s->windows);
	json_u64(j, "alerts", s->alerts);
	json_u64(j, "alert_ns", s->alert_ns);
	json_array_begin_lines(j, "list");
	for (unsigned int i = 0; i < s->alerts && i < SUGGESTION_ALERTS_MAX; i++) {
		json_object_begin(j, NULL);
		json_u64(j, "begin_unix_ns", s->list[i].begin_ns);
		json_u64(j, "end_unix_ns", s->list[i].end_ns);
		json_double(j, "value", s->list[i].value);
		json_object_end(j);
	}
	json_array_end(j);
}

static void suggestion_write(struct json *j, const struct suggestion *s,
			     const struct monitor_rule *rule)
{
	enum measure_unit unit = measure_unit(&rule->measure);
	char text[MEASURE_TEXT_BYTES];

	json_u64(j, "from_unix_ns", s->from_ns);
	json_u64(j, "to_unix_ns", s->to_ns);
	json_bool(j, "partial", s->is_partial);
	json_string(j, "unit", measure_unit_name(unit));
	json_string(j, "direction", rule->below ? "below" : "above");
	days_write(j, s);
	if (s->is_known) {
		json_double(j, "median", s->median);
		json_double(j, "spread", s->spread);
		json_double(j, "suggested", s->threshold);
		json_string(j, "text", suggestion_text(s->threshold, unit, text));
	}
	alerts_write(j, s);
}

static int suggestion_answer(struct query *q)
{
	struct monitor_rule rule = {0};
	struct suggestion s;
	bool tries;
	struct json j;
	int err = rule_read(q, &rule, &tries);

	if (err)
		return refusal(q, err);
	err = monitor_suggest(q->source->store, &rule, tries, &s, q->e);
	if (err)
		return err;
	document_begin(q, &j);
	suggestion_write(&j, &s, &rule);
	return document_end(q, &j, MHD_HTTP_OK);
}

const struct route own_monitor_routes[] = {{"/api/v1/monitors", monitors_answer},
					   {"/api/v1/monitors/*", monitor_answer},
					   {"/api/v1/suggestion", suggestion_answer},
					   {0}};
