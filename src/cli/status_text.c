/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_text.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cli/status_read.h"

#define BUDGET_TIMES 4

static void processes_print(FILE *file, const struct status *s)
{
	char cpu[UNITS_TEXT_BYTES], memory[UNITS_TEXT_BYTES];

	fprintf(file, "%-10s %-10s %8s %12s %10s %8s\n", "process", "state", "pid", "CPU time",
		"memory", "starts");
	for (size_t i = 0; i < s->processes_count; i++) {
		const struct status_process *p = &s->processes[i];

		if (strcmp(p->state, "off") == 0)
			fprintf(file, "%-10s off\n", p->name);
		else
			fprintf(file, "%-10s %-10s %8" PRIu64 " %12s %10s %8" PRIu64 "\n", p->name,
				p->state, p->pid, units_format_ns((int64_t)p->cpu_ns, cpu),
				units_format_bytes(p->memory_bytes, memory), p->starts);
		if (*p->why)
			fprintf(file, "           %s\n", p->why);
	}
}

static void joins_print(FILE *file, const struct status_joins *j)
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

static void follows_print(FILE *file, const struct status_follows *f)
{
	char behind[UNITS_TEXT_BYTES];

	if (!f->behind_ns && !f->chunks_left_out)
		return;
	fprintf(file, "followed   %" PRIu64 " requests of services; up to %s ago", f->decided,
		units_format_ns((int64_t)f->behind_ns, behind));
	if (f->decided > f->stored)
		fprintf(file,
			"; stored %" PRIu64 ", each for several like it (--request-spans %" PRIu64
			")",
			f->stored, f->request_spans);
	if (f->open)
		fprintf(file, "; %" PRIu64 " without their end", f->open);
	if (f->chunks_left_out)
		fprintf(file, "; %" PRIu64 " chunks left out by a limit", f->chunks_left_out);
	fputc('\n', file);
}

/* A budget that has room for more than one that was too small. */
static double budget_more(const struct status_counts *c)
{
	double more = c->budget_percent * BUDGET_TIMES;

	return more < 100 ? more : 100;
}

static void lowered_print(FILE *file, const struct status_counts *c)
{
	char text[UNITS_TEXT_BYTES];

	if (c->lowered_ns)
		fprintf(file,
			"           bytes of connections for 1 s in each 30 s only, for %s, to "
			"hold the budget of %g %%: of requests of that time one in thirty or so "
			"is stored, and counts for the others; --budget %g%% leaves more room\n",
			units_format_ns((int64_t)c->lowered_ns, text), c->budget_percent,
			budget_more(c));
}

/* What is not there now though all goes on. Returns how many lines. */
static unsigned int missing_print(FILE *file, const struct status_counts *c)
{
	if (!c->lowered)
		return 0;
	fprintf(file,
		"missing    requests through services%s: the budget of %g %% is too small for "
		"them (try --budget %g%%)\n",
		c->in_turns ? ", but for 1 s in each 30 s" : "", c->budget_percent, budget_more(c));
	return 1;
}

static void raises_print(FILE *file, const struct status_counts *c)
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

static void sender_print(FILE *file, const struct status_sender *s)
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

static void red_print(FILE *file, const struct status_red *red)
{
	uint64_t now_ns = clock_read_ns(CLOCK_REALTIME);
	uint64_t since_ns = red->since_unix_ns < now_ns ? now_ns - red->since_unix_ns : 0;
	char ago[UNITS_TEXT_BYTES];

	fprintf(file, "ALERT      %s: %s, for %s\n", red->name, red->text,
		units_format_ns((int64_t)since_ns, ago));
}

static void monitors_print(FILE *file, const struct status_monitors *m)
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

/* Nothing is recorded, nor was in this run. */
static bool capture_is_off(const struct status *s)
{
	for (size_t i = 0; i < s->processes_count; i++) {
		if (strcmp(s->processes[i].name, "capture") == 0)
			return strcmp(s->processes[i].state, "off") == 0 && !s->capture.chunks;
	}
	return false;
}

static void recorded_print(FILE *file, const struct status *s)
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
}

/* What is lost or refused, and why. */
static void losses_print(FILE *file, const struct status *s)
{
	const struct status_counts *c = &s->store;
	char one[UNITS_TEXT_BYTES], two[UNITS_TEXT_BYTES];

	if (strcmp(s->state, "full") == 0)
		fprintf(file,
			"           spans are refused: %s of the disk are free, and --min-free is "
			"%s\n",
			units_format_bytes(c->free_bytes, one),
			units_format_bytes(c->min_free_bytes, two));
	if (c->lost_files)
		fprintf(file, "           %" PRIu64 " %s: %s\n", c->lost_files,
			c->lost_files == 1 ? "file is lost" : "files are lost", s->lost_why);
	if (c->log_lost_bytes)
		fprintf(file, "           %s of the log are damaged, and their spans lost\n",
			units_format_bytes(c->log_lost_bytes, one));
	if (c->log_cut_bytes)
		fprintf(file,
			"           %s at the end of the log were no whole request at the start, "
			"and "
			"are cut\n",
			units_format_bytes(c->log_cut_bytes, one));
	if (*s->error)
		fprintf(file, "           %s\n", s->error);
	if (*s->log_error)
		fprintf(file, "           the log failed: %s\n", s->log_error);
}

static void stages_print(FILE *file, const struct status *s)
{
	char one[UNITS_TEXT_BYTES], two[UNITS_TEXT_BYTES];

	if (!capture_is_off(s))
		recorded_print(file, s);
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
	losses_print(file, s);
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
	return shown + missing_print(file, &s.capture);
}

int status_text_print(FILE *file, const void *document, size_t bytes, struct error *e)
{
	char running[UNITS_TEXT_BYTES];
	struct status s = {0};

	if (status_read(&s, document, bytes))
		return error_say(e, EPROTO, "the answer of 'fathom up' cannot be read");
	fprintf(file, "%s: %s, for %s, as user %s\n", s.dir, s.state,
		units_format_ns((int64_t)s.running_ns, running), s.user);
	missing_print(file, &s.capture);
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
