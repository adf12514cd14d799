/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of a process and of its threads. */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "answer/keys.h"
#include "answer/process_name.h"
#include "map/fact/query.h"

#define NONE "(none)"
#define REUSED "(several processes)"

/* A sum of a pid that several processes had names none of them. */
static bool tell_reused(struct key_value *value)
{
	value->text = REUSED;
	return true;
}

bool key_tell_process(const struct subject *s, struct key_value *value)
{
	snprintf(value->identity_buffer, sizeof(value->identity_buffer), "%u %" PRIu64, s->pid,
		 s->time_ns);
	value->identity = value->identity_buffer;
	value->text = s->reused ? REUSED : name_comm(s->p, s->pid, s->time_ns);
	return true;
}

/* A copy of a name of the process that lives as long as the rows. 0 or -ENOMEM. */
static int name_keep(struct rows *rows, const char *name, const char **to)
{
	*to = rows_text(rows, "%s", name);
	return *to ? 0 : -ENOMEM;
}

int key_describe_process(struct rows *rows, const struct subject *s, struct row *row)
{
	char text[KEY_TEXT_BYTES];
	int err;

	row->pid = s->pid;
	if (s->reused)
		return 0;
	row->process = name_comm(s->p, s->pid, s->time_ns);
	err = name_keep(rows, name_program(s->p, s->pid, s->time_ns, text, sizeof(text)),
			&row->program);
	return err ? err
		   : name_keep(rows, name_command(s->p, s->pid, s->time_ns, text, sizeof(text)),
			       &row->command);
}

/* At most so many lives of the same tid and origin are compared; further ones use their number. */
#define SAME_MOST 16

/*
 * The identity of a life is its tid and its origin, and a count if several lives have the same
 * ones, as after an exec by a thread that is not the leader. Lives of one tid stand side by side.
 */
static void life_identity(const struct subject *s, struct key_value *value)
{
	const struct life *l = s->life;
	size_t same = 0;

	while (same < SAME_MOST && same < s->number) {
		const struct life *before = s->p->lives.data[s->number - same - 1];

		if (before->tid != l->tid || before->origin_ns != l->origin_ns)
			break;
		same++;
	}
	snprintf(value->identity_buffer, sizeof(value->identity_buffer), "%u %" PRIu64 " %s%zu",
		 l->tid, l->origin_ns, same < SAME_MOST ? "" : "at ",
		 same < SAME_MOST ? same : s->number);
	value->identity = value->identity_buffer;
}

/* A thread that an exec ended had its number only up to then. */
static u64 thread_time(const struct subject *s)
{
	const struct life *l = s->life;

	return l->state.place == LIFE_GONE ? l->state.last_ns
					   : query_held_until(s->p, l->tid, l->origin_ns);
}

bool key_tell_thread(const struct subject *s, struct key_value *value)
{
	life_identity(s, value);
	value->text = name_comm(s->p, s->tid, thread_time(s));
	return true;
}

int key_describe_thread(struct rows *rows, const struct subject *s, struct row *row)
{
	row->tid = s->tid;
	row->thread = name_comm(s->p, s->tid, thread_time(s));
	return key_describe_process(rows, s, row);
}

bool key_tell_program(const struct subject *s, struct key_value *value)
{
	if (s->reused)
		return tell_reused(value);
	value->text = name_program(s->p, s->pid, s->time_ns, value->buffer, sizeof(value->buffer));
	return true;
}

bool key_tell_command(const struct subject *s, struct key_value *value)
{
	if (s->reused)
		return tell_reused(value);
	value->text = name_command(s->p, s->pid, s->time_ns, value->buffer, sizeof(value->buffer));
	name_fold(value->buffer);
	return true;
}

/* The key of the row as its command, so that it is shown like one. */
int key_describe_command(struct rows *rows, const struct subject *s, struct row *row)
{
	struct key_value value;

	key_tell_command(s, &value);
	return name_keep(rows, value.text, &row->command);
}

bool key_tell_container(const struct subject *s, struct key_value *value)
{
	const char *id = query_container(s->p, s->pid, s->time_ns);

	if (s->reused)
		return tell_reused(value);
	value->text = id ? id : NONE;
	return true;
}

bool key_tell_cgroup(const struct subject *s, struct key_value *value)
{
	const char *path = query_cgroup(s->p, s->pid, s->time_ns);

	if (s->reused)
		return tell_reused(value);
	value->text = path ? path : "?";
	return true;
}

/* Whether the recording is of this host, so that its users are those of the reader. */
static bool is_here(const char *host)
{
	struct utsname here;

	return host && uname(&here) == 0 && strcmp(here.nodename, host) == 0;
}

/* The name of a user of this host, else the number. */
bool key_tell_user(const struct subject *s, struct key_value *value)
{
	u32 uid = query_user(s->p, s->pid, s->time_ns);
	struct passwd entry, *found = NULL;
	char texts[1024];

	if (s->reused)
		return tell_reused(value);
	value->text = value->buffer;
	if (uid == USER_UNKNOWN)
		value->text = "?";
	else if (is_here(s->host) && getpwuid_r(uid, &entry, texts, sizeof(texts), &found) == 0 &&
		 found)
		snprintf(value->buffer, sizeof(value->buffer), "%s", found->pw_name);
	else
		snprintf(value->buffer, sizeof(value->buffer), "%u", uid);
	return true;
}

bool key_tell_host(const struct subject *s, struct key_value *value)
{
	value->text = s->host ? s->host : "?";
	return true;
}

/* Spans of a process without a service are of "?", and processes without one of none. */
bool key_tell_service(const struct subject *s, struct key_value *value)
{
	const char *service = query_resource(s->p, s->pid, s->at_ns, "service.name");

	value->text = service ? service : s->kind == OF_SPAN ? "?" : NONE;
	return true;
}

int key_describe_service(struct rows *rows, const struct subject *s, struct row *row)
{
	(void)rows;
	row->service = query_resource(s->p, s->pid, s->at_ns, "service.name");
	return 0;
}

/* A name is a row for each service that has it. */
bool key_tell_name(const struct subject *s, struct key_value *value)
{
	const char *service = query_resource(s->p, s->pid, s->at_ns, "service.name");
	const char *name = s->span->name;
	int length;

	if (!name) { /* only its context was seen */
		snprintf(value->identity_buffer, sizeof(value->identity_buffer), "%016llx",
			 (unsigned long long)span_number(s->span->ctx.span));
		name = value->identity_buffer;
	}
	length = snprintf(value->buffer, sizeof(value->buffer), "%s", name);
	length = length < (int)sizeof(value->buffer) - 2 ? length : (int)sizeof(value->buffer) - 2;
	value->text = value->buffer;
	snprintf(value->buffer + length + 1, sizeof(value->buffer) - (size_t)length - 1, "%s%c%s",
		 name, 1, service ? service : "");
	value->identity = value->buffer + length + 1;
	return true;
}
