/* SPDX-License-Identifier: Apache-2.0 */
/* What --help says of options that several commands have which read recordings. */
#ifndef CLI_READING_HELP_H
#define CLI_READING_HELP_H

#define JSON_HELP "print JSON"
#define BOOT_HELP "answer for an earlier boot: -1 is the one before the latest"
#define FROM_HELP                                                                                  \
	"begin of the range: a time of day like 11:31:17, a date and time\nlike "                  \
	"2026-11-26T14:03:00Z, -5m before the end, 1.5s after the begin,\nor monotonic ns"
#define TO_HELP "end of the range, given in the same way"
#define JSON_LINES_HELP "print JSON, a line for each "
#define THREADS_HELP "threads that read chunks (default: one for each CPU)"

#endif
