/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_read.h"

#include "base/json_reader.h"

#define DEPTH 8

/* A member of an object: where its value goes. */
struct member {
	const char *key;
	void *to;
	size_t size; /* of a text; 0: a uint64_t; 1: a double; 2: a bool */
	void (*read)(struct json_reader *r, void *to); /* an object or an array */
};

#define TEXT(key, text) key, text, sizeof(text), NULL
#define COUNT(key, count) key, &(count), 0, NULL
#define REAL(key, number) key, &(number), 1, NULL
#define TRUTH(key, truth) key, &(truth), 2, NULL
#define PART(key, to, read) key, to, 0, read

/* The items of an array: the first ones are kept, in memory that is all zero. */
struct items {
	void *to;
	size_t *count;
	size_t most, size;
	void (*read)(struct json_reader *r, void *item);
};

static void value_read(struct json_reader *r, const struct member *m)
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

/* Reads what is known of an object, and passes over the rest. */
static void object_read(struct json_reader *r, const struct member *members)
{
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		const struct member *m = members;

		while (m->key && !json_text_is(key, m->key))
			m++;
		if (!m->key)
			json_skip(r);
		else if (m->read)
			m->read(r, m->to);
		else
			value_read(r, m);
	}
}

static void items_read(struct json_reader *r, const struct items *items)
{
	json_array_enter(r);
	while (json_item_next(r)) {
		if (*items->count < items->most)
			items->read(r, (char *)items->to + (*items->count)++ * items->size);
		else
			json_skip(r);
	}
}

static void process_read(struct json_reader *r, void *to)
{
	struct status_process *p = to;
	const struct member members[] = {{TEXT("name", p->name)},
					 {TEXT("state", p->state)},
					 {TEXT("why", p->why)},
					 {COUNT("pid", p->pid)},
					 {COUNT("starts", p->starts)},
					 {COUNT("cpu_ns", p->cpu_ns)},
					 {COUNT("memory_bytes", p->memory_bytes)},
					 {0}};

	object_read(r, members);
}

static void processes_read(struct json_reader *r, void *to)
{
	struct status *s = to;

	items_read(r, &(struct items){s->processes, &s->processes_count, STATUS_PROCESSES_MAX,
				      sizeof(*s->processes), process_read});
}

/* A part of `fathom up`, with what it says of all. */
struct counted {
	struct status *all;
	struct status_counts *counts;
};

static void counts_read(struct json_reader *r, void *to)
{
	struct status *s = ((struct counted *)to)->all;
	struct status_counts *c = ((struct counted *)to)->counts;
	const struct member members[] = {{COUNT("chunks", c->chunks)},
					 {COUNT("bytes", c->bytes)},
					 {COUNT("lost", c->lost)},
					 {COUNT("spans", c->spans)},
					 {COUNT("damaged", c->damaged)},
					 {COUNT("refused", c->refused)},
					 {COUNT("late", c->late)},
					 {COUNT("given_up", c->given_up)},
					 {COUNT("behind_ns", c->behind_ns)},
					 {COUNT("behind_bytes", c->behind_bytes)},
					 {COUNT("programs_missed", c->programs_missed)},
					 {COUNT("kernel_spans", c->kernel_spans)},
					 {COUNT("kernel_left_out", c->kernel_left_out)},
					 {COUNT("unlisted_spans", c->unlisted)},
					 {COUNT("raises", c->raises)},
					 {COUNT("raises_ended", c->raises_ended)},
					 {COUNT("raises_refused", c->raises_refused)},
					 {COUNT("raised_pid", c->raised_pid)},
					 {COUNT("lowered_ns", c->lowered_ns)},
					 {COUNT("lost_files", c->lost_files)},
					 {COUNT("log_lost_bytes", c->log_lost_bytes)},
					 {COUNT("log_cut_bytes", c->log_cut_bytes)},
					 {COUNT("free_bytes", c->free_bytes)},
					 {COUNT("min_free_bytes", c->min_free_bytes)},
					 {TEXT("lost_why", s->lost_why)},
					 {TRUTH("lowered", c->lowered)},
					 {TRUTH("in_turns", c->in_turns)},
					 {REAL("budget_percent", c->budget_percent)},
					 {TEXT("error", s->error)},
					 {TEXT("log_error", s->log_error)},
					 {TEXT("state", s->store_state)},
					 {0}};

	object_read(r, members);
}

static void joins_read(struct json_reader *r, void *to)
{
	struct status_joins *j = to;
	const struct member members[] = {{COUNT("context", j->context)},
					 {COUNT("thread", j->thread)},
					 {COUNT("process", j->process)},
					 {COUNT("connection", j->connection)},
					 {COUNT("ambiguous", j->ambiguous)},
					 {COUNT("no_chunk", j->no_chunk)},
					 {COUNT("no_thread", j->no_thread)},
					 {COUNT("no_pid", j->no_pid)},
					 {COUNT("other_host", j->other_host)},
					 {COUNT("left_out", j->left_out)},
					 {0}};

	object_read(r, members);
}

static void follows_read(struct json_reader *r, void *to)
{
	struct status_follows *f = to;
	const struct member members[] = {{COUNT("stored", f->stored)},
					 {COUNT("decided", f->decided)},
					 {COUNT("request_spans", f->request_spans)},
					 {COUNT("open", f->open)},
					 {COUNT("chunks_left_out", f->chunks_left_out)},
					 {COUNT("behind_ns", f->behind_ns)},
					 {COUNT("learned", f->learned)},
					 {0}};

	object_read(r, members);
}

/* The first service, and how many there are. */
static void services_read(struct json_reader *r, void *to)
{
	struct status_sender *sender = to;
	struct json_text text;

	json_array_enter(r);
	while (json_item_next(r)) {
		json_string_read(r, &text);
		if (!r->wrong && !sender->services++ && text.bytes < sizeof(sender->service))
			sender->service[json_text_decode(text, sender->service)] = '\0';
	}
}

static void sender_read(struct json_reader *r, void *to)
{
	struct status_sender *sender = to;
	const struct member members[] = {{TEXT("address", sender->address)},
					 {TEXT("program", sender->program)},
					 {TEXT("language", sender->language)},
					 {COUNT("pid", sender->pid)},
					 {COUNT("spans", sender->spans)},
					 {COUNT("spans_rejected", sender->spans_rejected)},
					 {COUNT("requests_refused", sender->requests_refused)},
					 {COUNT("last_unix_ns", sender->last_unix_ns)},
					 {REAL("spans_per_s", sender->spans_per_s)},
					 {PART("services", sender, services_read)},
					 {0}};

	object_read(r, members);
}

static void senders_read(struct json_reader *r, void *to)
{
	struct status *s = to;

	items_read(r, &(struct items){s->senders, &s->senders_count, STATUS_SENDERS_MAX,
				      sizeof(*s->senders), sender_read});
}

static void red_read(struct json_reader *r, void *to)
{
	struct status_red *red = to;
	const struct member members[] = {{TEXT("name", red->name)},
					 {TEXT("text", red->text)},
					 {COUNT("since_unix_ns", red->since_unix_ns)},
					 {0}};

	object_read(r, members);
}

static void reds_read(struct json_reader *r, void *to)
{
	struct status_monitors *m = to;

	items_read(r, &(struct items){m->red, &m->red_count, STATUS_RED_MAX, sizeof(*m->red),
				      red_read});
}

static void monitors_read(struct json_reader *r, void *to)
{
	struct status_monitors *m = to;
	const struct member members[] = {{COUNT("ok", m->ok)},
					 {COUNT("warn", m->warn)},
					 {COUNT("alert", m->alert)},
					 {COUNT("no_data", m->no_data)},
					 {COUNT("muted", m->muted)},
					 {COUNT("waiting", m->waiting)},
					 {COUNT("given_up", m->given_up)},
					 {PART("red", m, reds_read)},
					 {0}};

	object_read(r, members);
}

static void addresses_read(struct json_reader *r, void *to)
{
	struct status *s = to;
	const struct member members[] = {
		{TEXT("http", s->http)},	   {TEXT("otlp-http", s->otlp_http)},
		{TEXT("otlp-grpc", s->otlp_grpc)}, {TEXT("jaeger", s->jaeger)},
		{TEXT("zipkin", s->zipkin)},	   {0}};

	object_read(r, members);
}

int status_read(struct status *s, const void *document, size_t bytes)
{
	struct counted capture = {s, &s->capture}, map = {s, &s->map};
	struct counted received = {s, &s->received}, store = {s, &s->store};
	const struct member members[] = {{TEXT("state", s->state)},
					 {TEXT("dir", s->dir)},
					 {TEXT("user", s->user)},
					 {COUNT("running_ns", s->running_ns)},
					 {REAL("spans_per_s", s->spans_per_s)},
					 {COUNT("senders_count", s->senders_all)},
					 {PART("capture", &capture, counts_read)},
					 {PART("map", &map, counts_read)},
					 {PART("received", &received, counts_read)},
					 {PART("store", &store, counts_read)},
					 {PART("processes", s, processes_read)},
					 {PART("addresses", s, addresses_read)},
					 {PART("join", &s->joins, joins_read)},
					 {PART("requests", &s->follows, follows_read)},
					 {PART("senders", s, senders_read)},
					 {PART("monitors", &s->monitors, monitors_read)},
					 {0}};
	struct json_reader r;

	json_reader_init(&r, document, bytes, DEPTH);
	object_read(&r, members);
	return json_finish(&r);
}
