/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all commands.
 */
#include "cli/command.h"

extern const struct command command_record;
extern const struct command command_rotate;
extern const struct command command_snapshot;
extern const struct command command_stop;
extern const struct command command_detail;
extern const struct command command_chunks;
extern const struct command command_report;
extern const struct command command_trace;
extern const struct command command_requests;
extern const struct command command_why;
extern const struct command command_map;
extern const struct command command_merge;
extern const struct command command_top;
extern const struct command command_serve;
extern const struct command command_up;
extern const struct command command_status;
extern const struct command command_pin;
extern const struct command command_sql;
extern const struct command command_doctor;
extern const struct command command_version;
extern const struct command command_help_command;

const struct command *const command_table[] = {
	&command_record,       &command_rotate,
	&command_snapshot,     &command_stop,
	&command_detail,       &command_chunks,
	&command_report,       &command_trace,
	&command_requests,     &command_why,
	&command_top,	       &command_map,
	&command_merge,	       &command_serve,
	&command_up,	       &command_status,
	&command_pin,	       &command_sql,
	&command_doctor,       &command_version,
	&command_help_command, NULL,
};
