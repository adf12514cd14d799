/* SPDX-License-Identifier: Apache-2.0 */
/* Views of a host: its chunks, a second of it, and what it offers to a recorder. */
#include <errno.h>
#include <string.h>

#include "answer/json.h"
#include "cli/chunks_view.h"
#include "cli/doctor_view.h"
#include "cli/json_file.h"
#include "cli/top_view.h"
#include "tests/golden/views.h"

static struct json *json_to(const struct terminal *t)
{
	static struct json json;

	json_init_file(&json, t->file);
	return &json;
}

static void chunks_list(const struct terminal *t, const char *format)
{
	static const struct chunk_row rows[] = {
		{"fathom.data/1763700000000000000-1763700001000000000-0",
		 T0,
		 T0 + 1000 * MS,
		 81234,
		 1572864,
		 {0},
		 0,
		 "sealed",
		 0,
		 0},
		{"fathom.data/1763700001000000000-1763700002000000000-1",
		 T0 + 1000 * MS,
		 T0 + 2000 * MS,
		 79113,
		 1500000,
		 {.buffer = 7, .application = 1},
		 3,
		 "recovered",
		 0,
		 0},
		{"größe/año/données/0/fathom.data/1763700001000000000-1763700002000000000-1",
		 T0 + 1000 * MS,
		 T0 + 2000 * MS,
		 1,
		 4096,
		 {0},
		 0,
		 "sealed",
		 0,
		 0},
		{"fathom.data/open-2",
		 T0 + 2000 * MS,
		 T0 + 2100 * MS,
		 100,
		 4096,
		 {0},
		 0,
		 "open",
		 0,
		 0},
	};

	if (strcmp(format, "json") == 0)
		chunks_write_json(json_to(t), rows, COUNT(rows));
	else
		chunks_write_text(t, rows, COUNT(rows));
}

static void sealed(const struct terminal *t, const char *format)
{
	static const char path[] = "fathom.data/01763700001000000000-01763700002000000000-000001";

	if (strcmp(format, "json") == 0)
		sealed_write_json(json_to(t), path);
	else
		fprintf(t->file, "%s\n", path);
}

static const struct row top_processes[] = {
	{.key = "thumbnailer",
	 .process = "thumbnailer",
	 .pid = 812,
	 .absent = ROW_NO_ERRORS | ROW_OF_LIVES,
	 .count = 5,
	 .total_ns = 5000 * MS,
	 .p50_ns = 1000 * MS,
	 .p95_ns = 1000 * MS,
	 .p99_ns = 1000 * MS,
	 .max_ns = 1000 * MS,
	 .time = SPLIT([SPLIT_user] = 700 * MS, [SPLIT_kernel] = 50 * MS,
		       [SPLIT_lock] = 4250 * MS)},
	{.key = "a process of a very long name",
	 .process = "a process of a very long name",
	 .pid = 4194304,
	 .absent = ROW_NO_ERRORS | ROW_OF_LIVES,
	 ONE_OF(1000 * MS),
	 .time = SPLIT([SPLIT_timer] = 1000 * MS)},
};

static void top(const struct terminal *t, const char *format)
{
	static const struct row names[] = {
		{.key = "GET /thumb",
		 .service = "thumbnailer",
		 .count = 12,
		 .errors = 1,
		 .total_ns = 900 * MS,
		 .p50_ns = 70 * MS,
		 .p95_ns = 90 * MS,
		 .p99_ns = 95 * MS,
		 .max_ns = 99 * MS,
		 .time = SPLIT([SPLIT_user] = 600 * MS, [SPLIT_disk] = 300 * MS)},
	};
	static const struct live_part parts[] = {
		{"name", "total", names, COUNT(names)},
		{"process", "cpu", top_processes, COUNT(top_processes)}};
	const struct live view = {.from_ns = T0,
				  .to_ns = T0 + 1000 * MS,
				  .source = source_whole,
				  .parts = parts,
				  .parts_count = COUNT(parts)};

	if (strcmp(format, "json") == 0)
		live_write_json(json_to(t), &view);
	else
		top_write_text(t, &view, 0);
}

static void doctor_show(const struct terminal *t, const char *format, bool can_record)
{
	static struct finding findings[] = {
		{"kernel", "types (BTF)", true, true, "/sys/kernel/btf/vmlinux"},
		{"kernel", "fast clock", false, false, "clocksource hpet: each record costs more"},
		{"privilege", "CAP_BPF", true, true, "loads the kernel programs"},
		{"tracepoint", "sched_switch", true, true, "who runs"},
		{"tracepoint", "sk_data_ready", false, true,
		 "sockets whose data woke a thread, and senders on this host"},
	};
	struct diagnosis d = {.kernel = "Linux 6.1.0 x86_64",
			      .cpus = 2,
			      .memory = {.ring_bytes = 16 << 20, .table_bytes = 31151104},
			      .can_record = can_record};

	findings[2].available = can_record;
	d.findings.data = findings;
	d.findings.count = COUNT(findings);
	if (!can_record)
		error_say(&d.reason, EPERM, "CAP_BPF is missing");
	if (strcmp(format, "json") == 0)
		diagnosis_write_json(t->file, &d);
	else
		diagnosis_write_text(t, &d);
}

static void doctor(const struct terminal *t, const char *format)
{
	doctor_show(t, format, true);
}

static void doctor_cannot(const struct terminal *t, const char *format)
{
	doctor_show(t, format, false);
}

const struct view_case host_cases[] = {
	{"chunks", chunks_list},
	{"rotate", sealed},
	{"snapshot", sealed},
	{"top", top},
	{"doctor", doctor},
	{"doctor-cannot", doctor_cannot},
	{0},
};
