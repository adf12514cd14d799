/* SPDX-License-Identifier: Apache-2.0 */
/* The status of a `fathom up`, as its document in JSON says it. */
#ifndef CLI_STATUS_READ_H
#define CLI_STATUS_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STATUS_PROCESSES_MAX 8
#define STATUS_SENDERS_MAX 16
#define STATUS_RED_MAX 8
#define STATUS_TEXT_BYTES 2048

struct status_process {
	char name[32], state[32], why[STATUS_TEXT_BYTES];
	uint64_t pid, starts, cpu_ns, memory_bytes;
};

struct status_sender {
	char address[64], program[32], language[32], service[128];
	uint64_t pid, services, spans, spans_rejected, requests_refused, last_unix_ns;
	double spans_per_s;
};

/* Received spans, by how their threads are known, or why not. */
struct status_joins {
	uint64_t context, thread, process, connection, ambiguous, no_chunk, no_thread, no_pid,
		other_host, left_out;
};

struct status_red {
	char name[64], text[STATUS_TEXT_BYTES];
	uint64_t since_unix_ns;
};

struct status_monitors {
	uint64_t ok, warn, alert, no_data, muted, waiting, given_up;
	struct status_red red[STATUS_RED_MAX];
	size_t red_count;
};

/* Requests of services, instrumented or not. */
struct status_follows {
	uint64_t stored, decided, open, request_spans, chunks_left_out, behind_ns, learned;
};

struct status_counts {
	uint64_t chunks, bytes, lost, spans, damaged, refused, late, given_up, behind_ns,
		behind_bytes, programs_missed, kernel_spans, kernel_left_out, raises, raises_ended,
		raises_refused, raised_pid, unlisted, lowered_ns, lost_files, log_lost_bytes,
		log_cut_bytes, free_bytes, min_free_bytes;
	bool lowered, in_turns;
	double budget_percent;
};

struct status {
	char state[32], dir[4096], user[64], error[STATUS_TEXT_BYTES], log_error[STATUS_TEXT_BYTES];
	char lost_why[STATUS_TEXT_BYTES];
	char http[64], otlp_http[64], otlp_grpc[64], zipkin[64], jaeger[64];
	uint64_t running_ns;
	double spans_per_s;
	struct status_process processes[STATUS_PROCESSES_MAX];
	size_t processes_count;
	char store_state[32];
	struct status_counts capture, map, received, store;
	struct status_joins joins;
	struct status_follows follows;
	struct status_sender senders[STATUS_SENDERS_MAX];
	size_t senders_count;
	uint64_t senders_all;
	struct status_monitors monitors;
};

/* Reads what is known of the document. `s` starts with all zero. 0 or -EINVAL. */
int status_read(struct status *s, const void *document, size_t bytes);

#endif
