/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of files and peers by opening. A small world has processes that open, copy, close and
 * inherit descriptors, whose files share few inodes, and sockets that change their peer. Each call
 * must count for the name that its descriptor had then, wherever the recording is cut.
 */
#include <stdio.h>

#include "apply.h"
#include "map/fact/query.h"
#include "seeds.h"

#define PROCESSES 6
#define THREADS 3
#define FDS 6
#define INODES 3
#define NAMES 12
#define SOCKETS 3
#define PEERS 4
#define CALL_READ 0
#define CALL_STAT 4
#define CALL_SENDTO 44
#define CALL_COPY_FILE_RANGE 326

union any_record {
	struct record_head head;
	struct record_fd fd;
	struct record_fork fork;
	struct record_syscall syscall;
	struct record_switch sw;
	struct record_socket socket;
	struct record_path path;
	struct record_peer peer;
};

struct world {
	u64 random, now;
	VEC(union any_record) records;
	int names[PROCESSES][FDS]; /* of the open file, + 1; 0: closed */
	u64 inodes[PROCESSES][FDS];
	int peers[SOCKETS]; /* + 1; 0: none */
	bool alive[PROCESSES];
	u64 files_truth[NAMES], peers_truth[PEERS];
};

static u64 chance(struct world *w, u64 below)
{
	w->random = hash_pair(w->random, 7);
	return w->random % below;
}

static union any_record *emit(struct world *w, u8 kind, int process)
{
	union any_record *r;

	w->now += 10 + chance(w, 50);
	CHECK_EQ(vec_push(&w->records, (union any_record){0}), 0);
	r = &w->records.data[w->records.count - 1];
	r->head.kind = kind;
	r->head.time_ns = w->now;
	r->head.pid = 100 * (u32)(process + 1);
	r->head.tid = r->head.pid + (u32)chance(w, THREADS);
	return r;
}

static void tells_fd(struct world *w, int process, int fd, u8 op, s32 from)
{
	struct record_fd *r = &emit(w, RECORD_fd, process)->fd;

	r->fd = 3 + fd;
	r->from = from;
	r->op = op;
	if (op == FD_close || op == FD_close_range)
		return;
	r->file.kind = FILE_KIND_regular;
	r->file.key = w->inodes[process][fd];
	r->path_len = (u16)snprintf(r->path, sizeof(r->path), "/name/%d",
				    w->names[process][fd] - 1);
}

static void opens(struct world *w, int process)
{
	int fd = (int)chance(w, FDS);

	if (w->names[process][fd])
		return;
	w->names[process][fd] = 1 + (int)chance(w, NAMES);
	w->inodes[process][fd] = 1 + chance(w, INODES);
	tells_fd(w, process, fd, FD_open, -1);
}

static void copies(struct world *w, int process)
{
	int from = (int)chance(w, FDS), to = (int)chance(w, FDS);

	if (!w->names[process][from] || from == to)
		return;
	w->names[process][to] = w->names[process][from];
	w->inodes[process][to] = w->inodes[process][from];
	tells_fd(w, process, to, FD_dup, 3 + from);
}

static void closes(struct world *w, int process)
{
	int first = (int)chance(w, FDS), last = first + (int)chance(w, 2);
	bool range = last > first;

	for (int fd = first; fd <= last && fd < FDS; fd++)
		w->names[process][fd] = 0;
	tells_fd(w, process, first, range ? FD_close_range : FD_close, range ? 3 + last : -1);
}

static void calls(struct world *w, int process, struct file_ref file, u64 arg0)
{
	struct record_syscall *r = &emit(w, RECORD_syscall, process)->syscall;

	r->nr = CALL_READ;
	r->arg0 = arg0;
	r->file = file;
	r->duration_ns = 5;
	r->result = 1;
}

static void reads(struct world *w, int process)
{
	int fd = (int)chance(w, FDS);
	struct file_ref file = {.key = w->inodes[process][fd], .kind = FILE_KIND_regular};

	if (!w->names[process][fd])
		return;
	calls(w, process, file, 3 + (u64)fd);
	w->files_truth[w->names[process][fd] - 1]++;
}

/* One call reads one descriptor and writes another. */
static void copies_range(struct world *w, int process)
{
	int from = (int)chance(w, FDS), to = (int)chance(w, FDS);
	struct file_ref file = {.key = w->inodes[process][from], .kind = FILE_KIND_regular};

	if (!w->names[process][from] || !w->names[process][to])
		return;
	calls(w, process, file, 3 + (u64)from);
	w->records.data[w->records.count - 1].syscall.nr = CALL_COPY_FILE_RANGE;
	w->records.data[w->records.count - 1].syscall.arg2 = 3 + (u64)to;
	w->files_truth[w->names[process][from] - 1]++;
	w->files_truth[w->names[process][to] - 1]++;
}

static void sends(struct world *w, int process)
{
	int s = (int)chance(w, SOCKETS);
	struct file_ref file = {.key = 50 + (u64)s, .kind = FILE_KIND_udp};

	if (!w->peers[s])
		return;
	calls(w, process, file, 40 + (u64)s);
	w->peers_truth[w->peers[s] - 1]++;
}

/* The call follows its details by the same thread, at once or a moment later. */
static void calls_named(struct world *w, struct record_head of, u16 nr, struct file_ref file)
{
	struct record_syscall *r = &emit(w, RECORD_syscall, 0)->syscall;

	r->head.tid = of.tid;
	r->head.pid = of.pid;
	r->nr = nr;
	r->arg0 = 77;
	r->file = file;
	r->duration_ns = r->head.time_ns - (of.time_ns - 3);
	r->result = 1;
}

static void stats(struct world *w, int process)
{
	struct record_path *r = &emit(w, RECORD_path, process)->path;
	int name = (int)chance(w, NAMES);

	r->call_ns = r->head.time_ns - 3;
	r->nr = CALL_STAT;
	r->path_len = (u16)snprintf(r->path, sizeof(r->path), "/name/%d", name);
	calls_named(w, r->head, CALL_STAT, (struct file_ref){0});
	w->files_truth[name]++;
}

static void sends_to(struct world *w, int process)
{
	struct record_peer *r = &emit(w, RECORD_peer, process)->peer;
	struct file_ref file = {.key = 50 + chance(w, SOCKETS), .kind = FILE_KIND_udp};
	int peer = (int)chance(w, PEERS);

	r->call_ns = r->head.time_ns - 3;
	r->file = file;
	r->family = 2;
	r->port = (u16)(peer + 1);
	calls_named(w, r->head, CALL_SENDTO, file);
	w->peers_truth[peer]++;
}

static void connects(struct world *w, int process)
{
	int s = (int)chance(w, SOCKETS);
	struct record_socket *r = &emit(w, RECORD_socket, process)->socket;

	w->peers[s] = 1 + (int)chance(w, PEERS);
	r->file = (struct file_ref){.key = 50 + (u64)s, .kind = FILE_KIND_udp};
	r->family = 2;
	r->remote_port = (u16)w->peers[s];
}

static void forks(struct world *w, int process)
{
	int child = (int)chance(w, PROCESSES);
	struct record_fork *r;

	if (w->alive[child])
		return;
	w->alive[child] = true;
	memcpy(w->names[child], w->names[process], sizeof(w->names[child]));
	memcpy(w->inodes[child], w->inodes[process], sizeof(w->inodes[child]));
	r = &emit(w, RECORD_fork, child)->fork;
	r->head.tid = r->head.pid;
	r->parent_tid = r->parent_pid = 100 * (u32)(process + 1);
}

static void ends(struct world *w, int process)
{
	struct record_switch *r;
	u32 pid;

	if (!process || chance(w, 4))
		return;
	w->alive[process] = false;
	pid = 100 * (u32)(process + 1);
	r = &emit(w, RECORD_switch, process)->sw;
	r->head.tid = pid;
	r->state = LEAVE_dead;
}

/* The first process has files from before; a snapshot tells of them after its first calls. */
static void world_make(struct world *w, u64 seed, int steps)
{
	static void (*const does[])(struct world *, int) = {
		opens, opens, opens, copies, closes,   closes,	 reads,	       reads,
		reads, reads, reads, reads,  sends,    sends,	 sends,	       connects,
		forks, ends,  stats, stats,  sends_to, sends_to, copies_range, copies_range};

	*w = (struct world){.random = seed, .now = 1000, .alive[0] = true};
	for (int fd = 0; fd < FDS; fd += 2) {
		w->names[0][fd] = 1 + (int)chance(w, NAMES);
		w->inodes[0][fd] = 1 + chance(w, INODES);
	}
	for (int i = 0; i < 5; i++)
		reads(w, 0);
	for (int fd = 0; fd < FDS; fd += 2)
		tells_fd(w, 0, fd, FD_snapshot, -1);
	for (int i = 0; i < steps; i++) {
		int process = (int)chance(w, PROCESSES);

		if (w->alive[process])
			does[chance(w, sizeof(does) / sizeof(does[0]))](w, process);
	}
}

static struct partial *map_range(const struct world *w, size_t first, size_t end)
{
	struct partial *p = partial_new(NULL);

	CHECK(p);
	for (size_t i = first; i < end; i++)
		apply(p, &w->records.data[i]);
	return p;
}

/* Cuts at random instants, and merges neighbours in a random order. */
static struct partial *map_cut(struct world *w)
{
	struct partial *parts[8];
	size_t at[9] = {0}, n = 2 + chance(w, 7);

	for (size_t i = 1; i < n; i++)
		at[i] = at[i - 1] + chance(w, 2 * w->records.count / n);
	for (size_t i = 1; i < n; i++)
		at[i] = at[i] < w->records.count ? at[i] : w->records.count;
	at[n] = w->records.count;
	for (size_t i = 0; i < n; i++)
		parts[i] = map_range(w, at[i], at[i + 1]);
	while (n > 1) {
		size_t left = chance(w, n - 1);

		CHECK_EQ(partial_merge(parts[left], parts[left + 1]), 0);
		for (size_t i = left + 1; i + 1 < n; i++)
			parts[i] = parts[i + 1];
		n--;
	}
	return parts[0];
}

static void check_truth(const struct world *w, struct partial *p, u64 seed)
{
	u64 files[NAMES] = {0}, peers[PEERS] = {0};

	partial_cover(p, 900, w->now + 1);
	CHECK_EQ(partial_finish(p), 0);
	for (size_t i = 0; i < p->calls.list.count; i++) {
		const struct sum *sum = &p->calls.list.data[i];
		u32 mounts;
		const char *path = opening_path(p, sum, &mounts);
		const struct fact_socket *s = opening_socket(p, sum);
		int name = -1;

		if (s) {
			CHECK(s->socket.remote_port >= 1 && s->socket.remote_port <= PEERS);
			peers[s->socket.remote_port - 1] += sum->count;
			continue;
		}
		if (!path || sscanf(path, "/name/%d", &name) != 1)
			CHECK_FAIL("seed %llu: a sum has no name", (unsigned long long)seed);
		files[name] += sum->count;
	}
	for (int i = 0; i < NAMES; i++)
		if (files[i] != w->files_truth[i])
			CHECK_FAIL("seed %llu: /name/%d has %llu calls, should have %llu",
				   (unsigned long long)seed, i, (unsigned long long)files[i],
				   (unsigned long long)w->files_truth[i]);
	for (int i = 0; i < PEERS; i++)
		CHECK_EQ(peers[i], w->peers_truth[i]);
	partial_free(p);
}

TEST(each_call_counts_for_the_name_of_its_time)
{
	for (u64 seed = 1; seed <= seeds_of(400); seed++) {
		struct world w;

		world_make(&w, seed, 300);
		check_truth(&w, map_range(&w, 0, w.records.count), seed);
		for (int i = 0; i < 4; i++)
			check_truth(&w, map_cut(&w), seed);
		vec_free(&w.records);
	}
}

/* Opens of one path take one sum, however many there are. */
TEST(openings_of_a_path_are_one)
{
	struct world w = {.now = 1000, .alive[0] = true};
	struct partial *p = partial_new(NULL);

	CHECK(p);
	for (int i = 0; i < 100000; i++) {
		w.names[0][0] = 1 + i % 5;
		w.inodes[0][0] = (u64)i + 1;
		tells_fd(&w, 0, 0, FD_open, -1);
		calls(&w, 0, (struct file_ref){.key = (u64)i + 1, .kind = FILE_KIND_regular}, 3);
		tells_fd(&w, 0, 0, FD_close, -1);
		for (size_t k = 0; k < w.records.count; k++)
			apply(p, &w.records.data[k]);
		w.records.count = 0;
	}
	CHECK_EQ(p->openings.list.count, 5);
	CHECK(p->calls.list.count <= 5);
	vec_free(&w.records);
	partial_free(p);
}

TEST_MAIN()
