/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_read.h"

#include "base/json_reader.h"

#define DEPTH 8

/* A member of an object: where its value goes. */
struct member {
	const char *key;
	void *to;
	size_t size; /* of a text; 0: a uint64_t; 1: a double; 2: a bool */
};

static void member_read(struct json_reader *r, const struct member *m)
{
	struct json_text text;

	if (m->size == 2) {
		*(bool *)m->to = json_boolean_read(r);
		return;
	}
	if (m->size > 2) {
		json_string_read(r, &text);
		if (!r->wrong && text.bytes < m->size)
			((char *)m->to)[json_text_decode(text, m->to)] = '\0';
		return;
	}
	json_number_read(r, &text);
	if (r->wrong)
		return;
	if (m->size)
		json_text_double(text, m->to);
	else
		json_text_u64(text, m->to);
}

/* Whether the value of a key belongs to a member, which is then read. */
static bool known_read(struct json_reader *r, const struct member *m, struct json_text key)
{
	while (m->key && !json_text_is(key, m->key))
		m++;
	if (!m->key)
		return false;
	member_read(r, m);
	return true;
}

/* Reads what is known of an object, and passes over the rest. */
static void object_read(struct json_reader *r, const struct member *members)
{
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (!known_read(r, members, key))
			json_skip(r);
	}
}

static void processes_read(struct json_reader *r, struct status *s)
{
	json_array_enter(r);
	while (json_item_next(r)) {
		struct status_process p = {0};
		const struct member members[] = {{"name", p.name, sizeof(p.name)},
						 {"state", p.state, sizeof(p.state)},
						 {"why", p.why, sizeof(p.why)},
						 {"pid", &p.pid, 0},
						 {"starts", &p.starts, 0},
						 {"cpu_ns", &p.cpu_ns, 0},
						 {"memory_bytes", &p.memory_bytes, 0},
						 {0}};

		object_read(r, members);
		if (s->processes_count < STATUS_PROCESSES_MAX)
			s->processes[s->processes_count++] = p;
	}
}

static void counts_read(struct json_reader *r, struct status *s, struct status_counts *c)
{
	const struct member members[] = {{"chunks", &c->chunks, 0},
					 {"bytes", &c->bytes, 0},
					 {"lost", &c->lost, 0},
					 {"spans", &c->spans, 0},
					 {"damaged", &c->damaged, 0},
					 {"refused", &c->refused, 0},
					 {"late", &c->late, 0},
					 {"given_up", &c->given_up, 0},
					 {"behind_ns", &c->behind_ns, 0},
					 {"behind_bytes", &c->behind_bytes, 0},
					 {"programs_missed", &c->programs_missed, 0},
					 {"kernel_spans", &c->kernel_spans, 0},
					 {"kernel_left_out", &c->kernel_left_out, 0},
					 {"unlisted_spans", &c->unlisted, 0},
					 {"raises", &c->raises, 0},
					 {"raises_ended", &c->raises_ended, 0},
					 {"raises_refused", &c->raises_refused, 0},
					 {"raised_pid", &c->raised_pid, 0},
					 {"lowered_ns", &c->lowered_ns, 0},
					 {"lost_files", &c->lost_files, 0},
					 {"log_lost_bytes", &c->log_lost_bytes, 0},
					 {"log_cut_bytes", &c->log_cut_bytes, 0},
					 {"free_bytes", &c->free_bytes, 0},
					 {"min_free_bytes", &c->min_free_bytes, 0},
					 {"lost_why", s->lost_why, sizeof(s->lost_why)},
					 {"lowered", &c->lowered, 2},
					 {"error", s->error, sizeof(s->error)},
					 {"log_error", s->log_error, sizeof(s->log_error)},
					 {"state", s->store_state, sizeof(s->store_state)},
					 {0}};

	object_read(r, members);
}

static void joins_read(struct json_reader *r, struct status_joins *j)
{
	const struct member members[] = {{"context", &j->context, 0},
					 {"thread", &j->thread, 0},
					 {"process", &j->process, 0},
					 {"connection", &j->connection, 0},
					 {"ambiguous", &j->ambiguous, 0},
					 {"no_chunk", &j->no_chunk, 0},
					 {"no_thread", &j->no_thread, 0},
					 {"no_pid", &j->no_pid, 0},
					 {"other_host", &j->other_host, 0},
					 {"left_out", &j->left_out, 0},
					 {0}};

	object_read(r, members);
}

static void follows_read(struct json_reader *r, struct status_follows *f)
{
	const struct member members[] = {{"stored", &f->stored, 0},
					 {"open", &f->open, 0},
					 {"chunks_left_out", &f->chunks_left_out, 0},
					 {"behind_ns", &f->behind_ns, 0},
					 {"learned", &f->learned, 0},
					 {0}};

	object_read(r, members);
}

/* The first service, and how many there are. */
static void services_read(struct json_reader *r, struct status_sender *sender)
{
	struct json_text text;

	json_array_enter(r);
	while (json_item_next(r)) {
		json_string_read(r, &text);
		if (!r->wrong && !sender->services++ && text.bytes < sizeof(sender->service))
			sender->service[json_text_decode(text, sender->service)] = '\0';
	}
}

static void sender_read(struct json_reader *r, struct status_sender *sender)
{
	const struct member members[] = {{"address", sender->address, sizeof(sender->address)},
					 {"program", sender->program, sizeof(sender->program)},
					 {"language", sender->language, sizeof(sender->language)},
					 {"pid", &sender->pid, 0},
					 {"spans", &sender->spans, 0},
					 {"spans_rejected", &sender->spans_rejected, 0},
					 {"requests_refused", &sender->requests_refused, 0},
					 {"last_unix_ns", &sender->last_unix_ns, 0},
					 {"spans_per_s", &sender->spans_per_s, 1},
					 {0}};
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (known_read(r, members, key))
			continue;
		if (json_text_is(key, "services"))
			services_read(r, sender);
		else
			json_skip(r);
	}
}

static void senders_read(struct json_reader *r, struct status *s)
{
	json_array_enter(r);
	while (json_item_next(r)) {
		struct status_sender sender = {0};

		sender_read(r, &sender);
		if (s->senders_count < STATUS_SENDERS_MAX)
			s->senders[s->senders_count++] = sender;
	}
}

static void red_read(struct json_reader *r, struct status_monitors *m)
{
	json_array_enter(r);
	while (json_item_next(r)) {
		struct status_red red = {0};
		const struct member members[] = {{"name", red.name, sizeof(red.name)},
						 {"text", red.text, sizeof(red.text)},
						 {"since_unix_ns", &red.since_unix_ns, 0},
						 {0}};

		object_read(r, members);
		if (m->red_count < STATUS_RED_MAX)
			m->red[m->red_count++] = red;
	}
}

static void monitors_read(struct json_reader *r, struct status_monitors *m)
{
	const struct member members[] = {{"ok", &m->ok, 0},
					 {"warn", &m->warn, 0},
					 {"alert", &m->alert, 0},
					 {"no_data", &m->no_data, 0},
					 {"muted", &m->muted, 0},
					 {"waiting", &m->waiting, 0},
					 {"given_up", &m->given_up, 0},
					 {0}};
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (known_read(r, members, key))
			continue;
		if (json_text_is(key, "red"))
			red_read(r, m);
		else
			json_skip(r);
	}
}

static void addresses_read(struct json_reader *r, struct status *s)
{
	const struct member members[] = {{"http", s->http, sizeof(s->http)},
					 {"otlp-http", s->otlp_http, sizeof(s->otlp_http)},
					 {"otlp-grpc", s->otlp_grpc, sizeof(s->otlp_grpc)},
					 {"jaeger", s->jaeger, sizeof(s->jaeger)},
					 {"zipkin", s->zipkin, sizeof(s->zipkin)},
					 {0}};

	object_read(r, members);
}

static bool part_read(struct json_reader *r, struct json_text key, struct status *s)
{
	const struct {
		const char *key;
		struct status_counts *counts;
	} parts[] = {{"capture", &s->capture},
		     {"map", &s->map},
		     {"received", &s->received},
		     {"store", &s->store}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (json_text_is(key, parts[i].key)) {
			counts_read(r, s, parts[i].counts);
			return true;
		}
	}
	if (json_text_is(key, "processes"))
		processes_read(r, s);
	else if (json_text_is(key, "addresses"))
		addresses_read(r, s);
	else if (json_text_is(key, "join"))
		joins_read(r, &s->joins);
	else if (json_text_is(key, "requests"))
		follows_read(r, &s->follows);
	else if (json_text_is(key, "senders"))
		senders_read(r, s);
	else if (json_text_is(key, "monitors"))
		monitors_read(r, &s->monitors);
	else
		return false;
	return true;
}

int status_read(struct status *s, const void *document, size_t bytes)
{
	const struct member members[] = {{"state", s->state, sizeof(s->state)},
					 {"dir", s->dir, sizeof(s->dir)},
					 {"user", s->user, sizeof(s->user)},
					 {"running_ns", &s->running_ns, 0},
					 {"spans_per_s", &s->spans_per_s, 1},
					 {"senders_count", &s->senders_all, 0},
					 {0}};
	struct json_reader r;
	struct json_text key;

	json_reader_init(&r, document, bytes, DEPTH);
	json_object_enter(&r);
	while (json_key_next(&r, &key)) {
		const struct member *m = members;

		while (m->key && !json_text_is(key, m->key))
			m++;
		if (m->key)
			member_read(&r, m);
		else if (!part_read(&r, key, s))
			json_skip(&r);
	}
	return json_finish(&r);
}
