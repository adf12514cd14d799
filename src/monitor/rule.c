/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/rule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"

#define SECOND_NS UINT64_C(1000000000)
#define OVER_DEFAULT_NS (300 * SECOND_NS)
#define OVER_MAX_NS (86400 * SECOND_NS)
#define COUNT_DEFAULT 20
#define HYSTERESIS_DEFAULT 0.1
#define HYSTERESIS_MAX 0.9

static const char *const key_texts[] = {
#define K(name, text) [RULE_##name] = text,
	RULE_KEYS(K)
#undef K
};

const char *rule_key_text(enum rule_key key)
{
	return key_texts[key];
}

static bool is_same_key(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		if ((*a == '_' ? '-' : *a) != *b)
			return false;
	}
	return !*a && !*b;
}

enum rule_key rule_key_find(const char *text)
{
	int key = 0;

	while (key < RULE_KEYS_COUNT && !is_same_key(text, key_texts[key]))
		key++;
	return (enum rule_key)key;
}

/* Whether it is valid UTF-8 without control characters. */
static bool is_plain(const char *text)
{
	size_t bytes = strlen(text), length;

	for (size_t at = 0; at < bytes; at += length) {
		length = utf8_length(text + at, bytes - at);
		if (!length || (unsigned char)text[at] < ' ' || text[at] == 127)
			return false;
	}
	return true;
}

int monitor_name_check(const char *name, struct error *e)
{
	if (!*name || *name == ' ')
		return error_say(e, EINVAL, "a monitor and an action need a name");
	if (strlen(name) >= MONITOR_NAME_BYTES)
		return error_say(e, EINVAL, MONITOR_TOO_LONG, "name",
				 (size_t)MONITOR_NAME_BYTES - 1);
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return error_say(e, EINVAL, "a name is not '.' or '..', which no address can have");
	if (!is_plain(name) || strpbrk(name, "/\\\"[],"))
		return error_say(e, EINVAL, "a name has none of / \\ \" [ ] and ,");
	return 0;
}

int monitor_rule_set(struct monitor_rule *rule, enum rule_key key, const char *text,
		     struct error *e)
{
	if (strlen(text) >= MONITOR_TEXT_BYTES)
		return error_say(e, EINVAL, MONITOR_TOO_LONG, key_texts[key],
				 (size_t)MONITOR_TEXT_BYTES - 1);
	if (!is_plain(text))
		return error_say(e, EINVAL, "'%s' has characters that no text has", key_texts[key]);
	strcpy(rule->texts[key], text);
	return 0;
}

static int wrong(const struct monitor_rule *rule, enum rule_key key, const char *what,
		 struct error *e)
{
	return error_say(e, EINVAL, "%s '%s' %s", key_texts[key], rule->texts[key], what);
}

static int target_check(struct monitor_rule *rule, struct error *e)
{
	const char *kind = rule->texts[RULE_kind];

	if (!*rule->texts[RULE_service])
		return error_say(e, EINVAL, "'service' says whose spans are watched");
	if (*rule->texts[RULE_to] && (*rule->texts[RULE_operation] || *kind))
		return error_say(e, EINVAL,
				 "calls from a service to another have no operation and no kind: "
				 "leave out 'to', or these");
	if (*rule->texts[RULE_to] && rule->measure.of == MEASURE_PART)
		return error_say(e, EINVAL, "of calls from a service to another no cause is known");
	rule->kind = *kind ? received_kind_parse(kind) : -1;
	if (*kind && rule->kind < 0)
		return wrong(rule, RULE_kind,
			     "is none of server, client, internal, producer, consumer", e);
	return 0;
}

static const char *value_example(enum measure_unit unit)
{
	static const char *const examples[] = {"is no time such as 200ms", "is no rate such as 5/s",
					       "is no share such as 2%",
					       "is no time a second such as 50ms/s"};

	return examples[unit];
}

static int thresholds_read(struct monitor_rule *rule, struct error *e)
{
	enum measure_unit unit = measure_unit(&rule->measure);
	enum rule_key key = *rule->texts[RULE_below] ? RULE_below : RULE_above;

	rule->below = key == RULE_below;
	if (rule->below == (*rule->texts[RULE_above] != '\0'))
		return error_say(e, EINVAL, "either 'above' or 'below' says when it is an alert");
	if (measure_value_parse(rule->texts[key], unit, &rule->alert))
		return wrong(rule, key, value_example(unit), e);
	rule->has_warn = *rule->texts[RULE_warn] != '\0';
	rule->warn = rule->alert;
	if (!rule->has_warn)
		return 0;
	if (measure_value_parse(rule->texts[RULE_warn], unit, &rule->warn))
		return wrong(rule, RULE_warn, value_example(unit), e);
	if (rule->below ? rule->warn < rule->alert : rule->warn > rule->alert)
		return wrong(rule, RULE_warn, "is beyond the threshold of the alert", e);
	return 0;
}

static int over_read(struct monitor_rule *rule, struct error *e)
{
	rule->over_ns = OVER_DEFAULT_NS;
	if (!*rule->texts[RULE_over])
		return 0;
	if (units_parse_duration(rule->texts[RULE_over], &rule->over_ns) ||
	    rule->over_ns < STORE_SUMS_STEP_NS || rule->over_ns > OVER_MAX_NS)
		return wrong(rule, RULE_over, "is no time from 10s to 1d", e);
	rule->over_ns -= rule->over_ns % STORE_SUMS_STEP_NS;
	return 0;
}

static int count_read(struct monitor_rule *rule, struct error *e)
{
	const char *text = rule->texts[RULE_min_count];
	char *end;

	rule->min_count = rule->measure.kind == MEASURE_RATE ? 0 : COUNT_DEFAULT;
	if (!*text)
		return 0;
	rule->min_count = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || rule->min_count > 1000000000)
		return wrong(rule, RULE_min_count, "is no number of spans", e);
	return 0;
}

static int hysteresis_read(struct monitor_rule *rule, struct error *e)
{
	rule->hysteresis = HYSTERESIS_DEFAULT;
	if (*rule->texts[RULE_hysteresis] &&
	    (measure_value_parse(rule->texts[RULE_hysteresis], MEASURE_RATIO, &rule->hysteresis) ||
	     rule->hysteresis > HYSTERESIS_MAX))
		return wrong(rule, RULE_hysteresis, "is no share from 0% to 90%", e);
	return 0;
}

static int notify_read(struct monitor_rule *rule, struct error *e)
{
	char copy[MONITOR_TEXT_BYTES], *rest = copy, *part;

	strcpy(copy, rule->texts[RULE_notify]);
	rule->notify_count = 0;
	while (*rule->texts[RULE_notify] && (part = strsep(&rest, ","))) {
		char *end = part + strlen(part);

		while (end > part && end[-1] == ' ')
			*--end = '\0';
		part += strspn(part, " ");
		if (rule->notify_count == MONITOR_ACTIONS_MAX)
			return error_say(e, EINVAL, "a monitor has %d actions at most",
					 MONITOR_ACTIONS_MAX);
		if (monitor_name_check(part, NULL))
			return wrong(rule, RULE_notify, "is no list of names of actions", e);
		strcpy(rule->notify[rule->notify_count++], part);
	}
	return 0;
}

static int mute_read(struct monitor_rule *rule, struct error *e)
{
	const char *text = rule->texts[RULE_mute];

	rule->muted = strcmp(text, "yes") == 0;
	return !*text || rule->muted || strcmp(text, "no") == 0
		       ? 0
		       : wrong(rule, RULE_mute, "is neither yes nor no", e);
}

int monitor_rule_finish(struct monitor_rule *rule, struct error *e)
{
	int err;

	if (!*rule->texts[RULE_value])
		return error_say(e, EINVAL, "'value' says what is watched, such as p99");
	err = measure_parse(rule->texts[RULE_value], &rule->measure, e);
	if (err)
		return error_say(e, EINVAL, "value '%s'", rule->texts[RULE_value]);
	err = target_check(rule, e);
	err = err ? err : thresholds_read(rule, e);
	err = err ? err : over_read(rule, e);
	err = err ? err : count_read(rule, e);
	err = err ? err : hysteresis_read(rule, e);
	err = err ? err : notify_read(rule, e);
	return err ? err : mute_read(rule, e);
}

char *monitor_rule_of(const struct monitor_rule *rule, char text[MONITOR_OF_BYTES])
{
	const char *to = rule->texts[RULE_to], *operation = rule->texts[RULE_operation];

	snprintf(text, MONITOR_OF_BYTES, "%.40s of %s%s%s", rule->texts[RULE_value],
		 rule->texts[RULE_service],
		 *to	      ? " to "
		 : *operation ? " "
			      : "",
		 *to ? to : operation);
	return text;
}
