/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the file of monitors, and as what they keep: what is read is within its bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/kept.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void rule_check(const struct monitor_rule *rule)
{
	if (!*rule->name || rule->notify_count > MONITOR_ACTIONS_MAX || rule->hysteresis > 0.9 ||
	    !(rule->alert >= 0) || !rule->over_ns)
		abort();
}

static void action_check(const struct monitor_action *action)
{
	const char *word = action->words;

	for (unsigned int i = 0; i < action->words_count; i++)
		word += strlen(word) + 1;
	if (word > action->words + ACTION_TEXT_BYTES || action->words_count >= ACTION_WORDS_MAX ||
	    (action->is_webhook ? !*action->url : !action->words_count))
		abort();
}

static void file_read(const char *text)
{
	struct monitors_config c = {0};

	if (monitors_config_read(&c, "file", text, NULL) == 0) {
		for (size_t i = 0; i < c.rules.count; i++)
			rule_check(&c.rules.data[i]);
		for (size_t i = 0; i < c.actions.count; i++)
			action_check(&c.actions.data[i]);
	}
	monitors_config_free(&c);
}

/* What was read and is written is read again. */
static void kept_read(const uint8_t *data, size_t size)
{
	struct monitors_kept kept = {0}, again = {0};
	struct bytes text = {0};

	if (monitors_kept_read(data, size, &kept) == 0) {
		if (monitors_kept_write(&kept, &text) ||
		    monitors_kept_read(text.data, text.count, &again) ||
		    again.monitors.count != kept.monitors.count ||
		    again.tellings.count != kept.tellings.count)
			abort();
	}
	bytes_free(&text);
	monitors_kept_free(&kept);
	monitors_kept_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	file_read(text);
	free(text);
	kept_read(data, size);
	return 0;
}
