/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_bytes.h"
#include "base/json_reader.h"

#define VERSION 1
#define DEPTH 8
#define FIRST_WAIT_NS UINT64_C(10000000000)
#define LONGEST_WAIT_NS UINT64_C(300000000000)

void telling_free(struct telling *t)
{
	free(t->payload);
	t->payload = NULL;
}

void monitors_kept_free(struct monitors_kept *kept)
{
	for (size_t i = 0; i < kept->monitors.count; i++)
		free(kept->monitors.data[i]);
	for (size_t i = 0; i < kept->tellings.count; i++)
		telling_free(&kept->tellings.data[i]);
	vec_free(&kept->monitors);
	vec_free(&kept->tellings);
}

struct monitor *monitor_find(const struct monitors_kept *kept, const char *name)
{
	for (size_t i = 0; i < kept->monitors.count; i++) {
		if (strcmp(kept->monitors.data[i]->rule.name, name) == 0)
			return kept->monitors.data[i];
	}
	return NULL;
}

bool telling_is_behind(const struct monitors_kept *kept, size_t at)
{
	const struct telling *t = &kept->tellings.data[at];

	for (size_t i = 0; i < at; i++) {
		const struct telling *before = &kept->tellings.data[i];

		if (!before->is_failed && strcmp(before->monitor, t->monitor) == 0 &&
		    strcmp(before->action, t->action) == 0)
			return true;
	}
	return false;
}

bool telling_is_due(const struct telling *t, uint64_t now_ns)
{
	return t->next_ns <= now_ns || t->next_ns > now_ns + LONGEST_WAIT_NS;
}

uint64_t telling_again_ns(uint64_t at_ns, unsigned int attempts, uint64_t now_ns)
{
	uint64_t wait_ns = LONGEST_WAIT_NS;

	if (attempts >= 1 && attempts <= 5)
		wait_ns = FIRST_WAIT_NS << (attempts - 1);
	return now_ns + wait_ns < at_ns + TELLING_FOR_NS ? now_ns + wait_ns : 0;
}

/* ---- writing ---- */

static void history_write(struct json *j, const struct monitor_status *s)
{
	json_array_begin(j, "history");
	for (unsigned int i = 0; i < s->history_count; i++) {
		json_object_begin(j, NULL);
		json_u64(j, "at_ns", s->history[i].at_ns);
		json_string(j, "state", monitor_state_name(s->history[i].state));
		json_double(j, "value", s->history[i].value);
		json_object_end(j);
	}
	json_array_end(j);
}

static void monitor_write(struct json *j, const struct monitor *m)
{
	const struct monitor_status *s = &m->status;

	json_object_begin(j, NULL);
	json_string(j, "name", m->rule.name);
	json_bool(j, "file", m->is_of_file);
	json_object_begin(j, "rule");
	for (int key = 0; key < RULE_KEYS_COUNT; key++) {
		if (*m->rule.texts[key])
			json_string(j, rule_key_text((enum rule_key)key), m->rule.texts[key]);
	}
	json_object_end(j);
	json_string(j, "state", monitor_state_name(s->state));
	json_string(j, "level", monitor_state_name(s->level));
	json_string(j, "told", monitor_state_name(s->told));
	json_u64(j, "since_ns", s->since_ns);
	json_u64(j, "muted_until_ns", s->muted_until_ns);
	history_write(j, s);
	json_object_end(j);
}

static void telling_write(struct json *j, const struct telling *t)
{
	json_object_begin(j, NULL);
	json_string(j, "monitor", t->monitor);
	json_string(j, "action", t->action);
	json_string(j, "state", monitor_state_name(t->state));
	json_u64(j, "at_ns", t->at_ns);
	json_u64(j, "next_ns", t->next_ns);
	json_u64(j, "attempts", t->attempts);
	json_bool(j, "begun", t->is_begun);
	json_bool(j, "failed", t->is_failed);
	json_string(j, "why", t->why);
	json_string(j, "payload", t->payload ? t->payload : "");
	json_object_end(j);
}

int monitors_kept_write(const struct monitors_kept *kept, struct bytes *out)
{
	struct json j;

	json_init_bytes(&j, out);
	json_object_begin(&j, NULL);
	json_u64(&j, "version", VERSION);
	json_u64(&j, "evaluated_ns", kept->evaluated_ns);
	json_u64(&j, "told", kept->told);
	json_u64(&j, "failed", kept->failed);
	json_array_begin_lines(&j, "monitors");
	for (size_t i = 0; i < kept->monitors.count; i++)
		monitor_write(&j, kept->monitors.data[i]);
	json_array_end(&j);
	json_array_begin_lines(&j, "tellings");
	for (size_t i = 0; i < kept->tellings.count; i++)
		telling_write(&j, &kept->tellings.data[i]);
	json_array_end(&j);
	json_object_end(&j);
	return json_end(&j) ? -ENOMEM : 0;
}

/* ---- reading ---- */

/* A text that is too long becomes empty. */
static void text_read(struct json_reader *r, char *to, size_t size)
{
	struct json_text text;

	*to = '\0';
	json_string_read(r, &text);
	if (!r->wrong && text.bytes < size)
		to[json_text_decode(text, to)] = '\0';
}

/* *why says what is wrong with what the state is of. */
static enum monitor_state state_read(struct json_reader *r, enum monitor_state most,
				     const char **why)
{
	char name[16];
	enum monitor_state state;

	text_read(r, name, sizeof(name));
	state = monitor_state_find(name);
	if (state <= most)
		return state;
	*why = "it has a state that there is not";
	return MONITOR_OK;
}

static double value_read(struct json_reader *r)
{
	struct json_text text;
	double value = 0;

	if (json_null_read(r))
		return 0;
	json_number_read(r, &text);
	if (!r->wrong)
		json_text_double(text, &value);
	return value;
}

static void change_read(struct json_reader *r, struct monitor_status *s, const char **why)
{
	struct monitor_change change = {.state = MONITOR_NO_DATA};
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (json_text_is(key, "at_ns"))
			change.at_ns = json_u64_read(r, UINT64_MAX);
		else if (json_text_is(key, "state"))
			change.state = state_read(r, MONITOR_NO_DATA, why);
		else if (json_text_is(key, "value"))
			change.value = value_read(r);
		else
			json_skip(r);
	}
	if (!r->wrong)
		monitor_history_add(s, &change);
}

static void rule_read(struct json_reader *r, struct monitor_rule *rule, const char **why)
{
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		char name[16] = "", text[MONITOR_TEXT_BYTES];
		enum rule_key k;

		if (key.bytes < sizeof(name))
			name[json_text_decode(key, name)] = '\0';
		k = rule_key_find(name);
		text_read(r, text, sizeof(text));
		if (k < RULE_KEYS_COUNT && !r->wrong && monitor_rule_set(rule, k, text, NULL))
			*why = "its rule has characters that no text has";
	}
}

static bool status_member_read(struct json_reader *r, struct json_text key,
			       struct monitor_status *s, const char **why)
{
	if (json_text_is(key, "state"))
		s->state = state_read(r, MONITOR_NO_DATA, why);
	else if (json_text_is(key, "level"))
		s->level = state_read(r, MONITOR_ALERT, why);
	else if (json_text_is(key, "told"))
		s->told = state_read(r, MONITOR_ALERT, why);
	else if (json_text_is(key, "since_ns"))
		s->since_ns = json_u64_read(r, UINT64_MAX);
	else if (json_text_is(key, "muted_until_ns"))
		s->muted_until_ns = json_u64_read(r, UINT64_MAX);
	else
		return false;
	return true;
}

/* NULL, or why it is left out. */
static const char *monitor_read(struct json_reader *r, struct monitor *m)
{
	const char *why = NULL;
	struct json_text key;

	m->status = MONITOR_STATUS_INITIAL;
	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (status_member_read(r, key, &m->status, &why))
			continue;
		if (json_text_is(key, "name")) {
			text_read(r, m->rule.name, sizeof(m->rule.name));
		} else if (json_text_is(key, "file")) {
			m->is_of_file = json_boolean_read(r);
		} else if (json_text_is(key, "rule")) {
			rule_read(r, &m->rule, &why);
		} else if (json_text_is(key, "history")) {
			json_array_enter(r);
			while (json_item_next(r))
				change_read(r, &m->status, &why);
		} else {
			json_skip(r);
		}
	}
	return monitor_name_check(m->rule.name, NULL) ? "no monitor may have its name" : why;
}

static void payload_read(struct json_reader *r, struct telling *t)
{
	struct json_text text;

	json_string_read(r, &text);
	if (r->wrong || text.bytes > TELLING_PAYLOAD_BYTES_MAX)
		return;
	free(t->payload);
	t->payload = malloc(text.bytes + 1);
	if (t->payload)
		t->payload[json_text_decode(text, t->payload)] = '\0';
}

/* Whether it is one. */
static bool telling_read(struct json_reader *r, struct telling *t)
{
	const char *why = NULL;
	struct json_text key;

	json_object_enter(r);
	while (json_key_next(r, &key)) {
		if (json_text_is(key, "monitor"))
			text_read(r, t->monitor, sizeof(t->monitor));
		else if (json_text_is(key, "action"))
			text_read(r, t->action, sizeof(t->action));
		else if (json_text_is(key, "state"))
			t->state = state_read(r, MONITOR_ALERT, &why);
		else if (json_text_is(key, "at_ns"))
			t->at_ns = json_u64_read(r, UINT64_MAX);
		else if (json_text_is(key, "next_ns"))
			t->next_ns = json_u64_read(r, UINT64_MAX);
		else if (json_text_is(key, "attempts"))
			t->attempts = (unsigned int)json_u64_read(r, 1000000);
		else if (json_text_is(key, "begun"))
			t->is_begun = json_boolean_read(r);
		else if (json_text_is(key, "failed"))
			t->is_failed = json_boolean_read(r);
		else if (json_text_is(key, "why"))
			text_read(r, t->why, sizeof(t->why));
		else if (json_text_is(key, "payload"))
			payload_read(r, t);
		else
			json_skip(r);
	}
	return !why;
}

static void left_out_add(struct monitors_kept *out, const char *name, const char *why)
{
	if (!out->left_out++)
		snprintf(out->left_out_why, sizeof(out->left_out_why), "'%s': %s", name, why);
}

static int monitors_read(struct json_reader *r, struct monitors_kept *out)
{
	int err = 0;

	json_array_enter(r);
	while (!err && json_item_next(r)) {
		struct monitor *m = calloc(1, sizeof(*m));
		const char *why = m ? monitor_read(r, m) : NULL;

		if (m && !r->wrong && why) {
			left_out_add(out, m->rule.name, why);
			free(m);
			continue;
		}
		err = m ? vec_push(&out->monitors, m) : -ENOMEM;
		if (err)
			free(m);
		if (out->monitors.count > 2 * MONITOR_RULES_MAX)
			json_fail(r, "too many monitors");
	}
	return err;
}

static int tellings_read(struct json_reader *r, struct monitors_kept *out)
{
	int err = 0;

	json_array_enter(r);
	while (!err && json_item_next(r)) {
		struct telling t = {0};

		if (telling_read(r, &t) || r->wrong)
			err = vec_push(&out->tellings, t);
		else
			telling_free(&t);
		if (err)
			telling_free(&t);
		if (out->tellings.count > TELLINGS_MAX + TELLINGS_FAILED_MAX)
			json_fail(r, "too many tellings");
	}
	return err;
}

int monitors_kept_read(const void *data, size_t bytes, struct monitors_kept *out)
{
	struct json_reader r;
	struct json_text key;
	int err = 0;

	json_reader_init(&r, data, bytes, DEPTH);
	json_object_enter(&r);
	while (!err && json_key_next(&r, &key)) {
		if (json_text_is(key, "evaluated_ns"))
			out->evaluated_ns = json_u64_read(&r, UINT64_MAX);
		else if (json_text_is(key, "told"))
			out->told = json_u64_read(&r, UINT64_MAX);
		else if (json_text_is(key, "failed"))
			out->failed = json_u64_read(&r, UINT64_MAX);
		else if (json_text_is(key, "monitors"))
			err = monitors_read(&r, out);
		else if (json_text_is(key, "tellings"))
			err = tellings_read(&r, out);
		else
			json_skip(&r);
	}
	return err ? err : json_finish(&r);
}
