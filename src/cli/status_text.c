/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_reader.h"
#include "base/units.h"

#define DEPTH 8
#define PROCESSES_MAX 8
#define SENDERS_MAX 16
#define RED_MAX 8
#define TEXT_BYTES 256

struct process {
	char name[32], state[32], why[TEXT_BYTES];
	uint64_t pid, starts, cpu_ns, memory_bytes;
};

struct sender {
	char address[64], program[32], language[32], service[128];
	uint64_t pid, services, spans, spans_rejected, requests_refused, last_unix_ns;
	double spans_per_s;
};

/* Received spans, by how their threads are known, or why not. */
struct joins {
	uint64_t context, thread, process, connection, ambiguous, no_chunk, no_thread, no_pid,
		other_host, left_out;
};

struct red {
	char name[64], text[TEXT_BYTES];
	uint64_t since_unix_ns;
};

struct monitors {
	uint64_t ok, warn, alert, no_data, muted, waiting, given_up;
	struct red red[RED_MAX];
	size_t red_count;
};

/* Requests of services, instrumented or not. */
struct follows {
	uint64_t stored, open, chunks_left_out, behind_ns, learned;
};

struct counts {
	uint64_t chunks, bytes, lost, spans, damaged, refused, late, given_up, behind_ns,
		behind_bytes, programs_missed, kernel_spans, kernel_left_out, raises, raises_ended,
		raises_refused, raised_pid, unlisted, lowered_ns;
	bool lowered;
};

struct status {
	char state[32], dir[4096], user[64], error[TEXT_BYTES], log_error[TEXT_BYTES];
	char http[64], otlp_http[64], otlp_grpc[64], zipkin[64], jaeger[64];
	uint64_t running_ns;
	double spans_per_s;
	struct process processes[PROCESSES_MAX];
	size_t processes_count;
	char store_state[32];
	struct counts capture, map, received, store;
	struct joins joins;
	struct follows follows;
	struct sender senders[SENDERS_MAX];
	size_t senders_count;
	uint64_t senders_all;
	struct monitors monitors;
};

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
		struct process p = {0};
		const struct member members[] = {{"name", p.name, sizeof(p.name)},
						 {"state", p.state, sizeof(p.state)},
						 {"why", p.why, sizeof(p.why)},
						 {"pid", &p.pid, 0},
						 {"starts", &p.starts, 0},
						 {"cpu_ns", &p.cpu_ns, 0},
						 {"memory_bytes", &p.memory_bytes, 0},
						 {0}};

		object_read(r, members);
		if (s->processes_count < PROCESSES_MAX)
			s->processes[s->processes_count++] = p;
	}
}

static void counts_read(struct json_reader *r, struct status *s, struct counts *c)
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
					 {"lowered", &c->lowered, 2},
					 {"error", s->error, sizeof(s->error)},
					 {"log_error", s->log_error, sizeof(s->log_error)},
					 {"state", s->store_state, sizeof(s->store_state)},
					 {0}};

	object_read(r, members);
}

static void joins_read(struct json_reader *r, struct joins *j)
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

static void follows_read(struct json_reader *r, struct follows *f)
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
static void services_read(struct json_reader *r, struct sender *sender)
{
	struct json_text text;

	json_array_enter(r);
	while (json_item_next(r)) {
		json_string_read(r, &text);
		if (!r->wrong && !sender->services++ && text.bytes < sizeof(sender->service))
			sender->service[json_text_decode(text, sender->service)] = '\0';
	}
}

static void sender_read(struct json_reader *r, struct sender *sender)
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
		struct sender sender = {0};

		sender_read(r, &sender);
		if (s->senders_count < SENDERS_MAX)
			s->senders[s->senders_count++] = sender;
	}
}

static void red_read(struct json_reader *r, struct monitors *m)
{
	json_array_enter(r);
	while (json_item_next(r)) {
		struct red red = {0};
		const struct member members[] = {{"name", red.name, sizeof(red.name)},
						 {"text", red.text, sizeof(red.text)},
						 {"since_unix_ns", &red.since_unix_ns, 0},
						 {0}};

		object_read(r, members);
		if (m->red_count < RED_MAX)
			m->red[m->red_count++] = red;
	}
}

static void monitors_read(struct json_reader *r, struct monitors *m)
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
		struct counts *counts;
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

static int status_read(struct status *s, const void *document, size_t bytes)
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

/* ---- printing ---- */

static void processes_print(FILE *file, const struct status *s)
{
	char cpu[UNITS_TEXT_BYTES], memory[UNITS_TEXT_BYTES];

	fprintf(file, "%-10s %-10s %8s %12s %10s %8s\n", "process", "state", "pid", "CPU time",
		"memory", "starts");
	for (size_t i = 0; i < s->processes_count; i++) {
		const struct process *p = &s->processes[i];

		fprintf(file, "%-10s %-10s %8" PRIu64 " %12s %10s %8" PRIu64 "\n", p->name,
			p->state, p->pid, units_format_ns((int64_t)p->cpu_ns, cpu),
			units_format_bytes(p->memory_bytes, memory), p->starts);
		if (*p->why)
			fprintf(file, "           %s\n", p->why);
	}
}

static void joins_print(FILE *file, const struct joins *j)
{
	const struct {
		const char *text;
		uint64_t count;
	} why[] = {{"ambiguous", j->ambiguous},	  {"no pid", j->no_pid},
		   {"other host", j->other_host}, {"no chunk", j->no_chunk},
		   {"no thread", j->no_thread},	  {"left out", j->left_out}};
	uint64_t known = j->context + j->thread + j->process + j->connection, all = known;

	for (size_t i = 0; i < sizeof(why) / sizeof(*why); i++)
		all += why[i].count;
	if (!all)
		return;
	fprintf(file, "joined     %" PRIu64 " of %" PRIu64 " received spans with their threads",
		known, all);
	for (size_t i = 0; i < sizeof(why) / sizeof(*why); i++) {
		if (why[i].count)
			fprintf(file, "; %s: %" PRIu64, why[i].text, why[i].count);
	}
	fputc('\n', file);
}

static void follows_print(FILE *file, const struct follows *f)
{
	char behind[UNITS_TEXT_BYTES];

	if (!f->behind_ns && !f->chunks_left_out)
		return;
	fprintf(file, "followed   %" PRIu64 " requests of services; up to %s ago", f->stored,
		units_format_ns((int64_t)f->behind_ns, behind));
	if (f->open)
		fprintf(file, "; %" PRIu64 " without their end", f->open);
	if (f->chunks_left_out)
		fprintf(file, "; %" PRIu64 " chunks left out by a limit", f->chunks_left_out);
	fputc('\n', file);
}

static void lowered_print(FILE *file, const struct counts *c)
{
	char text[UNITS_TEXT_BYTES];

	if (c->lowered_ns)
		fprintf(file,
			"           no bytes of connections for %s, to hold the budget%s: requests "
			"of "
			"that time are not followed\n",
			units_format_ns((int64_t)c->lowered_ns, text),
			c->lowered ? ", and none now" : "");
}

static void raises_print(FILE *file, const struct counts *c)
{
	if (!c->raises && !c->raises_refused)
		return;
	fprintf(file,
		"           calls of processes that got slow: recorded %" PRIu64 " times, %" PRIu64
		" ended early by the budget, %" PRIu64 " refused",
		c->raises, c->raises_ended, c->raises_refused);
	if (c->raised_pid)
		fprintf(file, "; now those of pid %" PRIu64, c->raised_pid);
	fputc('\n', file);
}

static void sender_print(FILE *file, const struct sender *s)
{
	char who[128], ago[UNITS_TEXT_BYTES];
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);

	if (s->pid)
		snprintf(who, sizeof(who), "%s (pid %" PRIu64 ")", s->program, s->pid);
	else
		snprintf(who, sizeof(who), "%s", s->address);
	fprintf(file, "  %-26s %-20s %-8s %10" PRIu64 " spans %8.1f/s  %s ago", who,
		*s->service ? s->service : "-", *s->language ? s->language : "-", s->spans,
		s->spans_per_s,
		units_format_ns(s->last_unix_ns < now_ns ? (int64_t)(now_ns - s->last_unix_ns) : 0,
				ago));
	if (s->services > 1)
		fprintf(file, ", %" PRIu64 " services or more", s->services);
	if (s->requests_refused || s->spans_rejected)
		fprintf(file, ", %" PRIu64 " requests refused, %" PRIu64 " spans rejected",
			s->requests_refused, s->spans_rejected);
	fputc('\n', file);
}

static void senders_print(FILE *file, const struct status *s)
{
	if (s->senders_count)
		fprintf(file, "senders    %" PRIu64 "\n", s->senders_all);
	for (size_t i = 0; i < s->senders_count; i++)
		sender_print(file, &s->senders[i]);
}

static void red_print(FILE *file, const struct red *red)
{
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
	uint64_t since_ns = red->since_unix_ns < now_ns ? now_ns - red->since_unix_ns : 0;
	char ago[UNITS_TEXT_BYTES];

	fprintf(file, "ALERT      %s: %s, for %s\n", red->name, red->text,
		units_format_ns((int64_t)since_ns, ago));
}

static void monitors_print(FILE *file, const struct monitors *m)
{
	if (!(m->ok + m->warn + m->alert + m->no_data))
		return;
	fprintf(file,
		"monitors   %" PRIu64 " ok, %" PRIu64 " warn, %" PRIu64 " alert, %" PRIu64
		" without data",
		m->ok, m->warn, m->alert, m->no_data);
	if (m->muted)
		fprintf(file, "; %" PRIu64 " muted", m->muted);
	if (m->waiting || m->given_up)
		fprintf(file, "; not told: %" PRIu64 ", given up: %" PRIu64, m->waiting,
			m->given_up);
	fputc('\n', file);
	for (size_t i = 0; i < m->red_count; i++)
		red_print(file, &m->red[i]);
}

static void stages_print(FILE *file, const struct status *s)
{
	char one[UNITS_TEXT_BYTES], two[UNITS_TEXT_BYTES];

	fprintf(file,
		"recorded   %" PRIu64 " chunks, %s, %" PRIu64 " records lost; the last %s ago\n",
		s->capture.chunks, units_format_bytes(s->capture.bytes, one), s->capture.lost,
		units_format_ns((int64_t)s->capture.behind_ns, two));
	if (s->capture.programs_missed)
		fprintf(file,
			"           the spans of %" PRIu64
			" programs with libfathom could not be read: another recorder takes them\n",
			s->capture.programs_missed);
	lowered_print(file, &s->capture);
	raises_print(file, &s->capture);
	fprintf(file, "mapped     %" PRIu64 " chunks, %" PRIu64 " spans; up to %s ago\n",
		s->map.chunks, s->map.spans, units_format_ns((int64_t)s->map.behind_ns, one));
	fprintf(file, "           %" PRIu64 " kernel spans of errors, slow spans and samples",
		s->map.kernel_spans);
	if (s->map.kernel_left_out)
		fprintf(file, "; %" PRIu64 " left out by a limit", s->map.kernel_left_out);
	fputc('\n', file);
	if (s->map.damaged || s->map.refused || s->map.late || s->map.given_up)
		fprintf(file,
			"           %" PRIu64 " chunks damaged, %" PRIu64 " spans refused, %" PRIu64
			" late, %" PRIu64 " given up\n",
			s->map.damaged, s->map.refused, s->map.late, s->map.given_up);
	follows_print(file, &s->follows);
	if (strcmp(s->store_state, "missing") == 0) {
		fprintf(file, "store      missing: %s\n", s->error);
		return;
	}
	fprintf(file, "received   %" PRIu64 " spans; with those of map %.1f a second\n",
		s->received.spans, s->spans_per_s);
	joins_print(file, &s->joins);
	fprintf(file, "stored     %" PRIu64 " spans, %s; %s of the log are not stored yet\n",
		s->store.spans, units_format_bytes(s->store.bytes, one),
		units_format_bytes(s->store.behind_bytes, two));
	if (s->store.unlisted)
		fprintf(file,
			"           %" PRIu64 " spans have names beyond the limits of lists and "
			"sums, and count as 'other'\n",
			s->store.unlisted);
	if (*s->error)
		fprintf(file, "           %s\n", s->error);
	if (*s->log_error)
		fprintf(file, "           the log failed: %s\n", s->log_error);
	senders_print(file, s);
}

unsigned int status_red_print(FILE *file, const void *document, size_t bytes, unsigned int most)
{
	struct status s = {0};
	unsigned int shown = 0;

	if (status_read(&s, document, bytes))
		return 0;
	for (; shown < s.monitors.red_count && shown < most; shown++)
		red_print(file, &s.monitors.red[shown]);
	return shown;
}

int status_text_print(FILE *file, const void *document, size_t bytes, struct error *e)
{
	char running[UNITS_TEXT_BYTES];
	struct status s = {0};

	if (status_read(&s, document, bytes))
		return error_say(e, EPROTO, "the answer of 'fathom up' cannot be read");
	fprintf(file, "%s: %s, for %s, as user %s\n", s.dir, s.state,
		units_format_ns((int64_t)s.running_ns, running), s.user);
	if (*s.http)
		fprintf(file, "queries    http://%s/api/v1/status\n", s.http);
	if (*s.otlp_http)
		fprintf(file, "OTLP       http://%s/v1/traces\n", s.otlp_http);
	if (*s.otlp_grpc)
		fprintf(file, "OTLP       gRPC at %s\n", s.otlp_grpc);
	if (*s.zipkin)
		fprintf(file, "Zipkin     http://%s/api/v2/spans\n", s.zipkin);
	if (*s.jaeger)
		fprintf(file, "Jaeger     http://%s/api/services\n", s.jaeger);
	monitors_print(file, &s.monitors);
	processes_print(file, &s);
	stages_print(file, &s);
	return 0;
}
