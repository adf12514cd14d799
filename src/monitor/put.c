/* SPDX-License-Identifier: Apache-2.0 */
/* Changes rules, as the API asks. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_reader.h"
#include "base/units.h"
#include "monitor/internal.h"

#define DEPTH 4

/* The content of a request. */
struct asked {
	struct monitor_rule rule; /* its texts, on top of those before */
	char name[MONITOR_NAME_BYTES];
	bool has_mute, has_others;
	uint64_t mute_ns; /* 0: no; UINT64_MAX: until it is unmuted */
};

/* ---- reading ---- */

static int too_long(const char *key, size_t size, struct error *e)
{
	return error_say(e, EINVAL, MONITOR_TOO_LONG, key, size - 1);
}

/* 0, also for what is no text, which is told at the end; -E2BIG. */
static int string_read(struct json_reader *r, char *to, size_t size)
{
	struct json_text text;

	*to = '\0';
	json_string_read(r, &text);
	if (r->wrong)
		return 0;
	if (text.bytes >= size)
		return -E2BIG;
	to[json_text_decode(text, to)] = '\0';
	return 0;
}

/* Names of an array, with commas between them. */
static int list_read(struct json_reader *r, const char *key, char text[MONITOR_TEXT_BYTES],
		     struct error *e)
{
	int err = 0;

	*text = '\0';
	json_array_enter(r);
	while (!err && json_item_next(r)) {
		size_t bytes = strlen(text);

		if (bytes + 2 >= MONITOR_TEXT_BYTES)
			return too_long(key, MONITOR_TEXT_BYTES, e);
		if (bytes)
			text[bytes++] = ',';
		if (string_read(r, text + bytes, MONITOR_TEXT_BYTES - bytes))
			err = too_long(key, MONITOR_TEXT_BYTES, e);
	}
	return err;
}

/* A text, a number, a truth value, or an array of texts; null is no text. */
static int text_read(struct json_reader *r, const char *key, char text[MONITOR_TEXT_BYTES],
		     struct error *e)
{
	struct json_text number;

	*text = '\0';
	switch (json_peek(r)) {
	case JSON_ARRAY:
		return list_read(r, key, text, e);
	case JSON_BOOLEAN:
		strcpy(text, json_boolean_read(r) ? "yes" : "no");
		return 0;
	case JSON_NULL:
		json_null_read(r);
		return 0;
	case JSON_NUMBER:
		json_number_read(r, &number);
		if (r->wrong)
			return 0;
		if (number.bytes >= MONITOR_TEXT_BYTES)
			return too_long(key, MONITOR_TEXT_BYTES, e);
		memcpy(text, number.data, number.bytes);
		text[number.bytes] = '\0';
		return 0;
	default:
		return string_read(r, text, MONITOR_TEXT_BYTES)
			       ? too_long(key, MONITOR_TEXT_BYTES, e)
			       : 0;
	}
}

static int mute_take(struct asked *asked, const char *text, struct error *e)
{
	uint64_t ns;

	asked->has_mute = true;
	if (!*text || strcmp(text, "no") == 0)
		asked->mute_ns = 0;
	else if (strcmp(text, "yes") == 0)
		asked->mute_ns = UINT64_MAX;
	else if (units_parse_duration(text, &ns) == 0 && ns)
		asked->mute_ns = monitors_now_ns() + ns;
	else
		return error_say(e, EINVAL,
				 "mute '%.40s' is neither yes, no, nor a time such as 2h", text);
	return 0;
}

static int member_take(struct asked *asked, struct json_reader *r, const char *name,
		       struct error *e)
{
	enum rule_key key = rule_key_find(name);
	char text[MONITOR_TEXT_BYTES];
	int err;

	if (strcmp(name, "name") == 0)
		return string_read(r, asked->name, sizeof(asked->name))
			       ? too_long(name, sizeof(asked->name), e)
			       : 0;
	if (key == RULE_KEYS_COUNT)
		return error_say(e, EINVAL, "there is no key '%s' of a monitor", name);
	err = text_read(r, name, text, e);
	if (err || r->wrong)
		return err;
	if (key == RULE_mute)
		return mute_take(asked, text, e);
	asked->has_others = true;
	return monitor_rule_set(&asked->rule, key, text, e);
}

static int asked_read(struct asked *asked, const struct bytes *text, struct error *e)
{
	struct json_reader r;
	struct json_text key;
	int err = 0;

	json_reader_init(&r, text->data ? text->data : (const unsigned char *)"", text->count,
			 DEPTH);
	json_object_enter(&r);
	while (!err && json_key_next(&r, &key)) {
		char name[32] = "";

		if (key.bytes < sizeof(name))
			name[json_text_decode(key, name)] = '\0';
		err = member_take(asked, &r, name, e);
	}
	if (!err && json_finish(&r))
		err = error_say(e, EINVAL, "the request is no monitor in JSON: %s", r.wrong);
	return err;
}

/* ---- changing, with the lock ---- */

static int actions_check(const struct monitors *m, const struct monitor_rule *rule, struct error *e)
{
	for (unsigned int i = 0; i < rule->notify_count; i++) {
		if (!m->options.config || !monitor_action_find(m->options.config, rule->notify[i]))
			return error_say(e, EINVAL,
					 "there is no action '%s': actions are in the file of "
					 "monitors, which --monitors names",
					 rule->notify[i]);
	}
	return 0;
}

static int rule_check(const struct monitors *m, struct monitor_rule *rule, struct error *e)
{
	int err = monitor_name_check(rule->name, e);

	err = err ? err : monitor_rule_finish(rule, e);
	return err ? err : actions_check(m, rule, e);
}

static int make(struct monitors *m, const struct asked *asked, struct error *e)
{
	struct monitor *made;
	int err;

	if (monitor_find(&m->kept, asked->name))
		return error_say(e, EEXIST, "there is a monitor '%s' already", asked->name);
	if (m->kept.monitors.count >= MONITOR_RULES_MAX)
		return error_say(e, ENOSPC, "there are %d monitors, which is the most",
				 MONITOR_RULES_MAX);
	made = calloc(1, sizeof(*made));
	if (!made)
		return -ENOMEM;
	made->rule = asked->rule;
	made->status = MONITOR_STATUS_INITIAL;
	made->status.muted_until_ns = asked->mute_ns;
	strcpy(made->rule.name, asked->name);
	err = rule_check(m, &made->rule, e);
	err = err ? err : vec_push(&m->kept.monitors, made);
	if (err)
		free(made);
	else
		made->number = ++m->numbers;
	return err;
}

static int change(struct monitors *m, struct monitor *monitor, const struct asked *asked,
		  struct error *e)
{
	struct monitor_rule rule = asked->rule;
	int err = 0;

	if (monitor->is_of_file && asked->has_others)
		return error_say(e, EPERM,
				 "'%s' is a rule of the file: only 'mute' can be changed here",
				 monitor->rule.name);
	if (monitor->is_of_file && asked->has_mute && !asked->mute_ns && monitor->rule.muted)
		return error_say(e, EPERM, "the file mutes '%s'", monitor->rule.name);
	if (asked->has_others)
		err = rule_check(m, &rule, e);
	if (err)
		return err;
	if (asked->has_others) {
		monitor->rule = rule;
		monitor->number = ++m->numbers;
	}
	if (asked->has_mute)
		monitor->status.muted_until_ns = asked->mute_ns;
	monitor->status.last = (struct monitor_sample){0}; /* it is evaluated now */
	return 0;
}

static int put(struct monitors *m, const char *name, const struct bytes *text, struct asked *asked,
	       struct error *e)
{
	struct monitor *monitor = name ? monitor_find(&m->kept, name) : NULL;
	int err;

	if (name && !monitor)
		return error_say(e, ENOENT, "there is no monitor '%.60s'", name);
	if (monitor)
		asked->rule = monitor->rule;
	if (monitor)
		strcpy(asked->name, monitor->rule.name);
	err = asked_read(asked, text, e);
	if (err)
		return err;
	if (monitor && strcmp(asked->name, name) != 0)
		return error_say(e, EINVAL, "a monitor keeps its name: make a new one");
	return monitor ? change(m, monitor, asked, e) : make(m, asked, e);
}

int monitors_put(struct monitors *m, const char *name, const struct bytes *text,
		 char made[MONITOR_NAME_BYTES], struct error *e)
{
	struct asked asked = {0};
	int err;

	pthread_mutex_lock(&m->lock);
	err = put(m, name, text, &asked, e);
	if (!err) {
		strcpy(made, asked.name);
		monitors_save(m, true);
		m->is_new = true;
		pthread_cond_broadcast(&m->changed);
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}

int monitors_remove(struct monitors *m, const char *name, struct error *e)
{
	int err = -ENOENT;

	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->kept.monitors.count && err == -ENOENT; i++) {
		struct monitor **at = &m->kept.monitors.data[i];

		if (strcmp((*at)->rule.name, name) != 0)
			continue;
		err = (*at)->is_of_file ? -EPERM : 0;
		if (err)
			break;
		free(*at);
		memmove(at, at + 1, (m->kept.monitors.count - i - 1) * sizeof(*at));
		m->kept.monitors.count--;
		monitors_save(m, true);
	}
	pthread_mutex_unlock(&m->lock);
	if (err == -EPERM)
		error_say(e, EPERM, "'%.60s' is a rule of the file: take it out there", name);
	else if (err)
		error_say(e, ENOENT, "there is no monitor '%.60s'", name);
	return err;
}
