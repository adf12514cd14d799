/* SPDX-License-Identifier: Apache-2.0 */
/* The table of keys, and which of them go together. */
#include "answer/keys.h"

#include <string.h>

#define OF_SUMS (OF_CALL | OF_WAIT | OF_BLOCK | OF_EVENT)

/* A value that a process has. */
#define PROCESS_KEY(first_kind, function, describer)                                               \
	.of = OF_ANY, .first = (first_kind), .sums = SUM_BY_PROCESS, .of_process = true,           \
	.tell = (function), .describe = (describer)

const struct key key_table[] = {
	{"name", "name of a span", OF_SPAN, OF_SPAN, 0, false, key_tell_name, key_describe_service},
	{"service", "service", PROCESS_KEY(OF_SPAN, key_tell_service, key_describe_service)},
	{"process", "process", PROCESS_KEY(OF_LIFE, key_tell_process, key_describe_process)},
	{"thread", "thread", OF_LIFE, OF_LIFE, 0, false, key_tell_thread, key_describe_thread},
	{"program", "program", PROCESS_KEY(OF_LIFE, key_tell_program, NULL)},
	{"command", "program and arguments, numbers folded",
	 PROCESS_KEY(OF_LIFE, key_tell_command, key_describe_command)},
	{"user", "user", PROCESS_KEY(OF_LIFE, key_tell_user, NULL)},
	{"cgroup", "cgroup", PROCESS_KEY(OF_LIFE, key_tell_cgroup, NULL)},
	{"container", "container", PROCESS_KEY(OF_LIFE, key_tell_container, NULL)},
	{"host", "host", PROCESS_KEY(OF_LIFE, key_tell_host, NULL)},
	{"syscall", "system call", OF_CALL | OF_WAIT, OF_CALL, SUM_BY_CALL, false, key_tell_syscall,
	 NULL},
	{"errno", "error of a call", OF_CALL, OF_CALL, SUM_BY_ERROR, false, key_tell_errno, NULL},
	{"file", "file", OF_CALL | OF_WAIT, OF_CALL, SUM_BY_FILE | SUM_BY_PROCESS, false,
	 key_tell_file, key_describe_file},
	{"peer", "peer of a connection", OF_CALL | OF_WAIT, OF_CALL, SUM_BY_FILE, false,
	 key_tell_peer, key_describe_peer},
	{"cause", "part of time", OF_LIFE | OF_CALL | OF_WAIT, OF_LIFE, 0, false, key_tell_cause,
	 NULL},
	{"waker", "thread that ended waits", OF_WAIT, OF_WAIT, SUM_BY_WAKER, false, key_tell_waker,
	 NULL},
	{"preempted-by", "thread that had the CPU that others waited for", OF_WAIT, OF_WAIT,
	 SUM_BY_HAD_CPU, false, key_tell_preempted_by, NULL},
	{"lock", "lock that was waited for", OF_WAIT, OF_WAIT,
	 SUM_BY_CALL | SUM_BY_FILE | SUM_BY_PROCESS, false, key_tell_lock, NULL},
	{"device", "disk", OF_BLOCK, OF_BLOCK, SUM_BY_DEVICE, false, key_tell_device, NULL},
	{"event", "kernel event", OF_EVENT, OF_EVENT, SUM_BY_NOTHING, false, key_tell_event, NULL},
	{"operation", "service and port that served requests", OF_REQUEST, OF_REQUEST,
	 SUM_BY_NOTHING, false, NULL, NULL},
	{"edge", "caller and callee of requests", OF_REQUEST, OF_REQUEST, SUM_BY_NOTHING, false,
	 NULL, NULL},
	{"function", "function", OF_FUNCTION, OF_FUNCTION, SUM_BY_NOTHING, false, key_tell_function,
	 NULL},
	{"overhead", "what recording cost", OF_COST, OF_COST, SUM_BY_NOTHING, false, NULL, NULL},
	{NULL},
};

/* Pairs without a key of the process, in either order. */
static const char *const pairs[][2] = {
	{"syscall", "file"}, {"syscall", "errno"}, {"file", "cause"},
	{"peer", "cause"},   {"lock", "waker"},
};

const struct key *key_find(const char *text, size_t length)
{
	for (const struct key *key = key_table; key->name; key++)
		if (strlen(key->name) == length && memcmp(key->name, text, length) == 0)
			return key;
	return NULL;
}

bool keys_pair(const struct key *one, const struct key *other)
{
	if (one == other || !(one->of & other->of))
		return false;
	if (one->of_process || other->of_process)
		return true;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		for (int turn = 0; turn < 2; turn++)
			if (strcmp(one->name, pairs[i][turn]) == 0 &&
			    strcmp(other->name, pairs[i][!turn]) == 0)
				return true;
	return false;
}
