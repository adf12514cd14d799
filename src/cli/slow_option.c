/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slow_option.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option.h"

void option_slow_free(struct option_slow *slow)
{
	for (size_t i = 0; i < slow->count; i++) {
		free((char *)slow->data[i].service);
		free((char *)slow->data[i].name);
	}
	free(slow->data);
	*slow = (struct option_slow){0};
}

/* SERVICE, SERVICE:OPERATION, or "*". */
static int who_parse(struct chooser_rule *rule, const char *text, struct error *e)
{
	const char *colon = strchr(text, ':');
	size_t bytes = colon ? (size_t)(colon - text) : strlen(text);

	if (!bytes || (colon && !colon[1]))
		return error_say(e, EINVAL, "names no service or no operation in '%s'", text);
	if (bytes != 1 || *text != '*') {
		rule->service = strndup(text, bytes);
		if (!rule->service)
			return error_set(e, ENOMEM, "cannot read it");
	}
	rule->name = colon ? strdup(colon + 1) : NULL;
	return colon && !rule->name ? error_set(e, ENOMEM, "cannot read it") : 0;
}

static int rule_parse(struct chooser_rule *rule, char *text, struct error *e)
{
	char *equals = strrchr(text, '=');
	struct error why = {0};
	int err;

	if (equals)
		*equals = '\0';
	err = option_duration(&rule->slow_ns, equals ? equals + 1 : text, &why);
	if (err)
		return error_say(e, err, "has a time that %s", why.text);
	if (!rule->slow_ns)
		return error_say(e, EINVAL, "has a time of 0");
	return equals ? who_parse(rule, text, e) : 0;
}

int option_slow(void *field, const char *text, struct error *e)
{
	struct option_slow slow = {0};
	char *copy = strdup(text), *rest = copy, *part;
	int err = copy ? 0 : error_set(e, ENOMEM, "cannot read it");

	while (!err && (part = strsep(&rest, ","))) {
		struct chooser_rule *data = realloc(slow.data,
						    (slow.count + 1) * sizeof(*slow.data));

		if (!data) {
			err = error_set(e, ENOMEM, "cannot read it");
			break;
		}
		slow.data = data;
		slow.data[slow.count] = (struct chooser_rule){0};
		err = rule_parse(&slow.data[slow.count++], part, e);
	}
	free(copy);
	if (err) {
		option_slow_free(&slow);
		return err;
	}
	option_slow_free(field);
	*(struct option_slow *)field = slow;
	return 0;
}
