/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of monitors: rules, and the actions that rules name. Sections have lines KEY = VALUE; a
 * line that begins with # is a comment.
 *
 *   [monitor cart is slow]            rule.h has its keys
 *   service = shop
 *   value = p99
 *   above = 200ms
 *   notify = pager
 *
 *   [webhook pager]
 *   url = https://hooks.example/1     gets a POST of a JSON document
 *   header = Authorization: Bearer x  up to four of them
 *   timeout = 10s
 *
 *   [command log]
 *   run = /usr/local/bin/tell --all   words, quoted with " where they have blanks
 *   timeout = 10s
 *
 * Names are unique among monitors, and among actions.
 */
#ifndef MONITOR_CONFIG_H
#define MONITOR_CONFIG_H

#include "base/vec.h"
#include "monitor/rule.h"

#define MONITOR_RULES_MAX 200
#define ACTIONS_MAX 64
#define ACTION_HEADERS_MAX 4
#define ACTION_TEXT_BYTES 1024
#define ACTION_WORDS_MAX 32
#define MONITOR_CONFIG_BYTES_MAX ((size_t)1 << 20)

struct monitor_action {
	char name[MONITOR_NAME_BYTES];
	bool is_webhook; /* else a command */
	char url[ACTION_TEXT_BYTES];
	char headers[ACTION_HEADERS_MAX][ACTION_TEXT_BYTES];
	unsigned int headers_count;
	char words[ACTION_TEXT_BYTES]; /* of the command, one NUL behind each */
	unsigned int words_count;
	uint64_t timeout_ns;
};

/* Start with all zero. */
struct monitors_config {
	VEC(struct monitor_rule) rules;
	VEC(struct monitor_action) actions;
};

/*
 * Reads a file, whose name is for messages. 0, error_misuse() with the line, or -ENOMEM. Free it in
 * any case.
 */
int monitors_config_read(struct monitors_config *config, const char *path, const char *text,
			 struct error *e);
void monitors_config_free(struct monitors_config *config);

/* NULL: there is none. */
const struct monitor_action *monitor_action_find(const struct monitors_config *config,
						 const char *name);

#endif
