// SPDX-License-Identifier: Apache-2.0
/*
 * The table of features. Each row is a program of bpf/, with its purpose and whether recording
 * works without it. Programs are attached in the order of rows. Those for the life of threads come
 * first, so that each thread is either in the snapshot or its fork is seen.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "capture/kernel/kernel.h"
#include "capture/kernel/types.h"

enum feature_need {
	USEFUL,
	TELLS,	/* wrong records without it; skipped runs are no countable loss */
	NEEDED, /* nothing can be recorded without it */
};

struct feature_row {
	const char *name; /* of the program, and of its tracepoint unless it is a stand-in */
	const char *what;
	enum feature_need need;
	u16 lost_kind; /* the record that is lost when the kernel skips a run */
};

static const struct feature_row feature_rows[] = {
	{"sched_process_free", "the state of ended threads, which is freed", USEFUL, 0},
	{"task_newtask", "new threads and processes", NEEDED, RECORD_fork},
	{"sched_process_exec", "programs that processes execute", NEEDED, RECORD_exec},
	{"sched_process_exit", "ends of threads", NEEDED, RECORD_exit},
	{"task_rename", "changed names of threads", USEFUL, RECORD_name},
	{"cgroup_mkdir", "names of new cgroups", USEFUL, RECORD_cgroup},
	{"cgroup_rmdir", "cgroups of --cgroup that are removed and created again", USEFUL, 0},
	{"cgroup_attach_task", "processes that move to another cgroup", USEFUL,
	 RECORD_cgroup_attach},
	{"softirq_entry", "wake-ups by softirqs, as distinct from those by threads", TELLS, 0},
	{"softirq_exit", "wake-ups by softirqs, as distinct from those by threads", TELLS, 0},
	{"timer_expire_entry", "wake-ups by timers, as distinct from those by other softirqs",
	 USEFUL, 0},
	{"timer_expire_exit", "wake-ups by timers, as distinct from those by other softirqs",
	 USEFUL, 0},
	{"sk_data_ready", "sockets whose data woke a thread, and senders on this host", USEFUL, 0},
	{"sock_readable", "sockets whose data woke a thread, and senders on this host", USEFUL, 0},
	{"inet_sock_set_state", "connections whose begin or end woke a thread", USEFUL, 0},
	{"irq_handler_entry", "wake-ups by devices, as distinct from those by threads", TELLS, 0},
	{"irq_handler_exit", "wake-ups by devices, as distinct from those by threads", TELLS, 0},
	{"irq_work_entry", "wake-ups by deferred work, as distinct from those by threads", TELLS,
	 0},
	{"irq_work_exit", "wake-ups by deferred work, as distinct from those by threads", TELLS, 0},
	{"local_timer_entry", "wake-ups by timers, as distinct from those by threads", TELLS, 0},
	{"local_timer_exit", "wake-ups by timers, as distinct from those by threads", TELLS, 0},
	{"hrtimer_expire_entry", "wake-ups by timers, as distinct from those by threads", TELLS, 0},
	{"hrtimer_expire_exit", "wake-ups by timers, as distinct from those by threads", TELLS, 0},
	{"workqueue_execute_start", "current work of kernel workers, as distinct from earlier work",
	 USEFUL, 0},
	{"page_fault_user", "page faults, and time in them", TELLS, 0},
	{"page_fault_kernel", "page faults inside system calls", TELLS, 0},
	{"cpuhp_exit", "ends of page faults on a CPU that comes back online", USEFUL, 0},
	{"signal_deliver", "calls and page faults that a signal ends, and deaths by one", USEFUL,
	 0},
	/* ends are attached before begins, so that no begin stays without an end */
	{"block_bio_complete", "threads that cause block I/O", USEFUL, RECORD_block},
	{"block_rq_complete", "block I/O", USEFUL, RECORD_block},
	{"block_bio_queue", "threads that cause block I/O", USEFUL, RECORD_block},
	{"block_rq_issue", "block I/O", USEFUL, RECORD_block},
	{"tcp_sendmsg_locked", "exact byte ranges where a TCP socket sends", USEFUL, 0},
	{"tcp_send_begins", "exact byte ranges where a TCP socket sends", USEFUL, 0},
	{"tcp_send_waits", "byte ranges of threads that send at the same time", USEFUL, 0},
	{"tcp_send_resumes", "byte ranges of threads that send at the same time", USEFUL, 0},
	{"tcp_page_begins", "exact byte ranges of files that are sent", USEFUL, 0},
	{"tcp_rcv_space_adjust", "exact byte ranges where a TCP socket receives", USEFUL, 0},
	{"sock_send_length", "bytes sent on connections", USEFUL, RECORD_bytes},
	{"sock_recv_length", "bytes received on connections", USEFUL, RECORD_bytes},
	{"inet_sent", "bytes sent over IPv4", USEFUL, RECORD_bytes},
	{"inet6_sent", "bytes sent over IPv6", USEFUL, RECORD_bytes},
	{"inet_page_sent", "bytes of files that are sent", USEFUL, RECORD_bytes},
	{"unix_page_sent", "bytes of files that are sent on Unix sockets", USEFUL, RECORD_bytes},
	{"unix_stream_sent", "bytes sent on Unix sockets", USEFUL, RECORD_bytes},
	{"unix_dgram_sent", "messages sent on Unix sockets", USEFUL, RECORD_bytes},
	{"inet_received", "bytes received over IPv4", USEFUL, RECORD_bytes},
	{"inet6_received", "bytes received over IPv6", USEFUL, RECORD_bytes},
	{"unix_stream_received", "bytes received on Unix sockets", USEFUL, RECORD_bytes},
	{"unix_dgram_received", "messages received on Unix sockets", USEFUL, RECORD_bytes},
	{"unix_stream_spliced", "bytes of Unix sockets after those that splice took", USEFUL, 0},
	{"io_uring_complete", "requests to io_uring", USEFUL, RECORD_uring},
	{"io_uring_req_failed", "requests to io_uring that are refused", USEFUL, 0},
	{"io_uring_submit_req", "requests to io_uring", USEFUL, RECORD_uring},
	{"io_uring_submit_sqe", "requests to io_uring", USEFUL, RECORD_uring},
	{"vm_unmapped_area", "spans of programs that begin while calls are not recorded", USEFUL,
	 0},
	{"sched_waking", "who woke whom, and time spent waiting for a CPU", NEEDED, RECORD_waking},
	{"sched_switch", "time on and off the CPU", NEEDED, RECORD_switch},
	{"sys_exit", "system calls", NEEDED, RECORD_syscall},
	{"sys_enter", "begin of system calls", NEEDED, 0},
};

/* Programs that stand in for a tracepoint or a field that older kernels lack (bpf/older.bpf.c). */
static const struct stand_in_row {
	const char *name;	/* of the feature */
	const char *function;	/* that the program traces; NULL: the tracepoint of its name */
	const char *instead_of; /* "tracepoint" or "struct.field" */
} stand_in_rows[] = {
	{"sock_readable", "sock_def_readable", "sk_data_ready"},
	{"tcp_send_begins", "tcp_sendmsg_locked", "tcp_sendmsg_locked"},
	{"tcp_send_waits", "sk_stream_wait_memory", "tcp_sendmsg_locked"},
	{"tcp_send_resumes", "sk_stream_wait_memory", "tcp_sendmsg_locked"},
	{"tcp_page_begins", "do_tcp_sendpages", "tcp_sendmsg_locked"},
	{"inet_sent", "inet_sendmsg", "sock_send_length"},
	{"inet6_sent", "inet6_sendmsg", "sock_send_length"},
	{"inet_page_sent", "inet_sendpage", "sock_send_length"},
	{"unix_page_sent", "unix_stream_sendpage", "sock_send_length"},
	{"unix_stream_sent", "unix_stream_sendmsg", "sock_send_length"},
	{"unix_dgram_sent", "unix_dgram_sendmsg", "sock_send_length"},
	{"inet_received", "inet_recvmsg", "sock_recv_length"},
	{"inet6_received", "inet6_recvmsg", "sock_recv_length"},
	{"unix_stream_received", "unix_stream_recvmsg", "sock_recv_length"},
	{"unix_dgram_received", "__unix_dgram_recvmsg", "sock_recv_length"},
	{"unix_stream_spliced", "unix_stream_splice_read", "unix_sock.inq_len"},
	{"io_uring_submit_sqe", NULL, "io_uring_submit_req"},
};
#define STAND_IN_ROWS (sizeof(stand_in_rows) / sizeof(*stand_in_rows))
#define FEATURE_ROWS (sizeof(feature_rows) / sizeof(*feature_rows))

_Static_assert(FEATURE_ROWS <= CAPTURE_FEATURES_MAX, "features");

bool capture_type_has(const char *type, const char *field)
{
	const struct btf *btf = capture_types();
	u32 id = capture_type_id(type, BTF_KIND_STRUCT);
	const struct btf_type *t = id ? btf__type_by_id(btf, id) : NULL;

	for (u32 i = 0; t && i < btf_vlen(t); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), field) == 0)
			return true;
	return false;
}

/* Whether the kernel has the tracepoint or field that a row stands in for. */
static bool newer_is_there(const char *instead_of)
{
	const char *dot = strchr(instead_of, '.');
	char type[64];

	if (!dot)
		return capture_type_is_tracepoint(instead_of);
	snprintf(type, sizeof(type), "%.*s", (int)(dot - instead_of), instead_of);
	return capture_type_has(type, dot + 1);
}

static const struct stand_in_row *stand_in_of(const char *feature)
{
	for (size_t i = 0; i < STAND_IN_ROWS; i++)
		if (strcmp(stand_in_rows[i].name, feature) == 0)
			return &stand_in_rows[i];
	return NULL;
}

static void feature_probe(struct capture_feature *feature)
{
	const struct stand_in_row *row = stand_in_of(feature->name);

	feature->instead_of = row ? row->instead_of : NULL;
	feature->spare = row && newer_is_there(row->instead_of);
	if (feature->spare)
		return;
	if (row && row->function)
		feature->available = capture_type_id(row->function, BTF_KIND_FUNC);
	else
		feature->available = capture_type_is_tracepoint(feature->name);
}

int capture_features_probe(struct capture_feature *features, size_t max, struct error *e)
{
	capture_messages_begin();
	if (!capture_types())
		return error_say(
			e, ENOTSUP,
			"this kernel does not describe its types (no /sys/kernel/btf/vmlinux): "
			"a kernel built with CONFIG_DEBUG_INFO_BTF=y is needed");
	for (size_t i = 0; i < FEATURE_ROWS && i < max; i++) {
		features[i] = (struct capture_feature){
			.name = feature_rows[i].name,
			.what = feature_rows[i].what,
			.needed = feature_rows[i].need == NEEDED,
			.tells = feature_rows[i].need == TELLS || feature_rows[i].lost_kind,
		};
		feature_probe(&features[i]);
	}
	return FEATURE_ROWS;
}

u16 capture_feature_lost_kind(size_t feature)
{
	return feature_rows[feature].lost_kind;
}

/* Programs that prepare records, or write some although a skipped run is no countable loss. */
static const struct made_row {
	const char *name;
	u16 made;
	bool writes;
} made_rows[] = {
	{"sys_enter", RECORD_syscall, false},	      {"page_fault_user", RECORD_fault, false},
	{"page_fault_kernel", RECORD_fault, false},   {"fault_minor_end", RECORD_fault, true},
	{"fault_major_end", RECORD_fault, true},      {"block_bio_complete", RECORD_block, false},
	{"block_bio_queue", RECORD_block, false},     {"block_rq_issue", RECORD_block, false},
	{"tcp_sendmsg_locked", RECORD_bytes, false},  {"tcp_send_begins", RECORD_bytes, false},
	{"tcp_send_waits", RECORD_bytes, false},      {"tcp_send_resumes", RECORD_bytes, false},
	{"tcp_page_begins", RECORD_bytes, false},     {"tcp_rcv_space_adjust", RECORD_bytes, false},
	{"unix_stream_spliced", RECORD_bytes, false}, {"io_uring_req_failed", RECORD_uring, false},
	{"io_uring_submit_req", RECORD_uring, false}, {"io_uring_submit_sqe", RECORD_uring, false},
};

u16 capture_feature_made(const char *name, bool *writes)
{
	for (size_t i = 0; i < sizeof(made_rows) / sizeof(*made_rows); i++)
		if (strcmp(made_rows[i].name, name) == 0) {
			*writes = made_rows[i].writes;
			return made_rows[i].made;
		}
	*writes = false;
	for (size_t i = 0; i < FEATURE_ROWS; i++)
		if (strcmp(feature_rows[i].name, name) == 0) {
			*writes = feature_rows[i].lost_kind;
			return feature_rows[i].lost_kind;
		}
	return 0;
}

/* Whether this kernel lets a program be attached to the begin of the function. */
static bool function_can_be_traced(const char *function)
{
	static const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
						  {.code = BPF_JMP | BPF_EXIT}};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_FENTRY);
	int fd = -1;

	options.attach_btf_id = capture_type_id(function, BTF_KIND_FUNC);
	if (options.attach_btf_id)
		fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "probe", "GPL", nothing, 2, &options);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void capture_features_try_functions(struct capture_feature *features, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct stand_in_row *row = stand_in_of(features[i].name);

		if (row && row->function && features[i].available)
			features[i].available = function_can_be_traced(row->function);
	}
}
