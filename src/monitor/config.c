/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define LINE_BYTES 4096
#define TIMEOUT_DEFAULT_NS UINT64_C(10000000000)
#define TIMEOUT_MAX_NS UINT64_C(60000000000)

enum section { NONE, MONITOR, WEBHOOK, COMMAND };

struct reading {
	struct monitors_config *config;
	const char *path;
	unsigned int line, begun; /* the line of the section */
	enum section section;
};

static char *trimmed(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text + strspn(text, " \t\r");
}

/* Puts the place in front of what is wrong. */
static int place_say(const struct reading *r, unsigned int line, const struct error *why,
		     struct error *e)
{
	return why->err == ENOMEM ? error_set(e, ENOMEM, "cannot read %s", r->path)
				  : error_misuse(e, "%s:%u: %s", r->path, line, why->text);
}

const struct monitor_action *monitor_action_find(const struct monitors_config *config,
						 const char *name)
{
	for (size_t i = 0; i < config->actions.count; i++) {
		if (strcmp(config->actions.data[i].name, name) == 0)
			return &config->actions.data[i];
	}
	return NULL;
}

/* ---- values ---- */

static int copy_text(char to[ACTION_TEXT_BYTES], const char *text, struct error *e)
{
	if (strlen(text) >= ACTION_TEXT_BYTES)
		return error_say(e, EINVAL, "the value is too long: shorten it to %d bytes",
				 ACTION_TEXT_BYTES - 1);
	for (const char *c = text; *c; c++) {
		if (iscntrl((unsigned char)*c))
			return error_say(e, EINVAL, "the value has characters that no text has");
	}
	strcpy(to, text);
	return 0;
}

static int url_set(struct monitor_action *action, const char *text, struct error *e)
{
	if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
		return error_say(e, EINVAL, "a webhook begins with http:// or https://");
	return copy_text(action->url, text, e);
}

static int header_set(struct monitor_action *action, const char *text, struct error *e)
{
	if (action->headers_count == ACTION_HEADERS_MAX)
		return error_say(e, EINVAL, "a webhook has %d headers at most", ACTION_HEADERS_MAX);
	if (!strchr(text, ':') || *text == ':')
		return error_say(e, EINVAL, "write header = NAME: VALUE");
	return copy_text(action->headers[action->headers_count++], text, e);
}

/* Splits at blanks; a quoted piece has blanks and, behind a backslash, quotes. */
static int run_set(struct monitor_action *action, const char *text, struct error *e)
{
	char copy[ACTION_TEXT_BYTES];
	size_t at = 0;
	int err = copy_text(copy, text, e);

	if (err)
		return err;
	for (const char *c = copy; *c;) {
		bool quoted = false;

		if (action->words_count == ACTION_WORDS_MAX - 1)
			return error_say(e, EINVAL, "a command has %d words at most",
					 ACTION_WORDS_MAX - 1);
		for (; *c && (quoted || *c != ' '); c++) {
			if (*c == '"') {
				quoted = !quoted;
				continue;
			}
			c += *c == '\\' && c[1];
			action->words[at++] = *c;
		}
		if (quoted)
			return error_say(e, EINVAL, "a quote is not closed");
		action->words[at++] = '\0';
		action->words_count++;
		c += strspn(c, " ");
	}
	return *action->words == '/' ? 0
				     : error_say(e, EINVAL,
						 "a command begins with the path of a "
						 "program: /...");
}

static int timeout_set(struct monitor_action *action, const char *text, struct error *e)
{
	if (units_parse_duration(text, &action->timeout_ns) || action->timeout_ns < 1000000 ||
	    action->timeout_ns > TIMEOUT_MAX_NS)
		return error_say(e, EINVAL, "timeout '%.40s' is no time up to 60s", text);
	return 0;
}

static const struct action_key {
	enum section section;
	const char *key;
	int (*set)(struct monitor_action *action, const char *text, struct error *e);
} action_keys[] = {{WEBHOOK, "url", url_set},	      {WEBHOOK, "header", header_set},
		   {WEBHOOK, "timeout", timeout_set}, {COMMAND, "run", run_set},
		   {COMMAND, "timeout", timeout_set}, {NONE, NULL, NULL}};

static int action_set(struct reading *r, const char *key, const char *value, struct error *e)
{
	struct monitor_action *action = &r->config->actions.data[r->config->actions.count - 1];
	const struct action_key *k = action_keys;

	while (k->key && (k->section != r->section || strcmp(k->key, key) != 0))
		k++;
	if (!k->key)
		return error_say(e, EINVAL, "there is no key '%.60s' of a %s", key,
				 r->section == WEBHOOK ? "webhook" : "command");
	if ((k->set == url_set && *action->url) || (k->set == run_set && action->words_count))
		return error_say(e, EINVAL, "'%s' is set twice", key);
	return k->set(action, value, e);
}

static int rule_set(struct reading *r, const char *key, const char *value, struct error *e)
{
	struct monitor_rule *rule = &r->config->rules.data[r->config->rules.count - 1];
	enum rule_key k = rule_key_find(key);

	if (k == RULE_KEYS_COUNT)
		return error_say(e, EINVAL, "there is no key '%.60s' of a monitor", key);
	if (*rule->texts[k])
		return error_say(e, EINVAL, "'%s' is set twice", key);
	return monitor_rule_set(rule, k, value, e);
}

/* ---- sections ---- */

static int section_finish(struct reading *r, struct error *e)
{
	struct monitors_config *c = r->config;
	struct error why = {0};
	int err = 0;

	if (r->section == MONITOR)
		err = monitor_rule_finish(&c->rules.data[c->rules.count - 1], &why);
	else if (r->section == WEBHOOK && !*c->actions.data[c->actions.count - 1].url)
		err = error_say(&why, EINVAL, "the webhook has no url");
	else if (r->section == COMMAND && !c->actions.data[c->actions.count - 1].words_count)
		err = error_say(&why, EINVAL, "the command has no run");
	return err ? place_say(r, r->begun, &why, e) : 0;
}

static int rule_begin(struct reading *r, const char *name, struct error *e)
{
	struct monitors_config *c = r->config;

	for (size_t i = 0; i < c->rules.count; i++) {
		if (strcmp(c->rules.data[i].name, name) == 0)
			return error_say(e, EINVAL, "there are two monitors '%s'", name);
	}
	if (c->rules.count == MONITOR_RULES_MAX)
		return error_say(e, EINVAL, "there are more than %d monitors", MONITOR_RULES_MAX);
	if (vec_push(&c->rules, (struct monitor_rule){0}))
		return error_set(e, ENOMEM, "cannot read it");
	strcpy(c->rules.data[c->rules.count - 1].name, name);
	return 0;
}

static int action_begin(struct reading *r, const char *name, struct error *e)
{
	struct monitors_config *c = r->config;

	if (monitor_action_find(c, name))
		return error_say(e, EINVAL, "there are two actions '%s'", name);
	if (c->actions.count == ACTIONS_MAX)
		return error_say(e, EINVAL, "there are more than %d actions", ACTIONS_MAX);
	if (vec_push(&c->actions, (struct monitor_action){.is_webhook = r->section == WEBHOOK,
							  .timeout_ns = TIMEOUT_DEFAULT_NS}))
		return error_set(e, ENOMEM, "cannot read it");
	strcpy(c->actions.data[c->actions.count - 1].name, name);
	return 0;
}

static int section_begin(struct reading *r, char *line, struct error *e)
{
	static const struct {
		const char *word;
		enum section section;
	} words[] = {{"[monitor ", MONITOR}, {"[webhook ", WEBHOOK}, {"[command ", COMMAND}};
	char *end = line + strlen(line) - 1, *name;
	int err;

	r->section = NONE;
	r->begun = r->line;
	if (*end != ']')
		return error_say(e, EINVAL, "a ] is missing");
	*end = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t bytes = strlen(words[i].word);

		if (strncmp(line, words[i].word, bytes) != 0)
			continue;
		name = trimmed(line + bytes);
		err = monitor_name_check(name, e);
		if (err)
			return err;
		r->section = words[i].section;
		err = r->section == MONITOR ? rule_begin(r, name, e) : action_begin(r, name, e);
		if (err)
			r->section = NONE;
		return err;
	}
	return error_say(e, EINVAL, "write [monitor NAME], [webhook NAME] or [command NAME]");
}

/* ---- lines ---- */

static int value_take(struct reading *r, char *line, struct error *e)
{
	char *equals = strchr(line, '='), *key, *value;

	if (!equals)
		return error_say(e, EINVAL, "write KEY = VALUE");
	if (r->section == NONE)
		return error_say(e, EINVAL, "before the first line there is [monitor NAME]");
	*equals = '\0';
	key = trimmed(line);
	value = trimmed(equals + 1);
	if (!*value)
		return error_say(e, EINVAL, "'%.60s' has no value", key);
	return r->section == MONITOR ? rule_set(r, key, value, e) : action_set(r, key, value, e);
}

static int line_take(struct reading *r, const char *from, size_t bytes, struct error *e)
{
	char copy[LINE_BYTES], *line;
	struct error why = {0};
	int err;

	if (bytes >= sizeof(copy)) {
		error_say(&why, EINVAL, "the line is too long: shorten it to %d bytes",
			  LINE_BYTES - 1);
		return place_say(r, r->line, &why, e);
	}
	memcpy(copy, from, bytes);
	copy[bytes] = '\0';
	line = trimmed(copy);
	if (!*line || *line == '#')
		return 0;
	if (*line == '[') {
		err = section_finish(r, e);
		if (err)
			return err;
		err = section_begin(r, line, &why);
	} else {
		err = value_take(r, line, &why);
	}
	return err ? place_say(r, r->line, &why, e) : 0;
}

/* Each action that a rule names is in the file. */
static int names_check(const struct reading *r, struct error *e)
{
	for (size_t i = 0; i < r->config->rules.count; i++) {
		const struct monitor_rule *rule = &r->config->rules.data[i];

		for (unsigned int n = 0; n < rule->notify_count; n++) {
			if (!monitor_action_find(r->config, rule->notify[n]))
				return error_misuse(
					e,
					"%s: the monitor '%s' notifies '%s', which is neither a "
					"webhook nor a command of the file",
					r->path, rule->name, rule->notify[n]);
		}
	}
	return 0;
}

int monitors_config_read(struct monitors_config *config, const char *path, const char *text,
			 struct error *e)
{
	struct reading r = {.config = config, .path = path};
	int err = 0;

	while (*text && !err) {
		size_t bytes = strcspn(text, "\n");

		r.line++;
		err = line_take(&r, text, bytes, e);
		text += bytes + (text[bytes] == '\n');
	}
	err = err ? err : section_finish(&r, e);
	return err ? err : names_check(&r, e);
}

void monitors_config_free(struct monitors_config *config)
{
	vec_free(&config->rules);
	vec_free(&config->actions);
}
