/* SPDX-License-Identifier: Apache-2.0 */
#include "request/requests.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "request/doubt.h"
#include "request/shifts.h"
#include "request/traces.h"

#define NAME_BYTES 512

/* ---- operations ---- */

void request_address(const struct record_socket *s, bool remote, char *text, size_t size)
{
	u64 hi = remote ? s->remote_hi : s->local_hi, lo = remote ? s->remote_lo : s->local_lo;
	static const u8 mapped[12] = {[10] = 0xff, [11] = 0xff};
	u8 bytes[16];
	bool old;

	memcpy(bytes, &hi, 8);
	memcpy(bytes + 8, &lo, 8);
	old = s->family == AF_INET || memcmp(bytes, mapped, sizeof(mapped)) == 0;
	if (!inet_ntop(old ? AF_INET : AF_INET6, old ? bytes + 12 : bytes, text, (socklen_t)size))
		snprintf(text, size, "?");
}

/* The path of the Unix socket of a connection; NULL: it has none. */
static const char *path_of(const struct connection *c)
{
	if (c->server.socket && c->server.socket->path)
		return c->server.socket->path;
	return c->caller.socket ? c->caller.socket->path : NULL;
}

/* Where a connection leads to, as a number: the address, the port and, of loopback, the namespace.
 */
static u64 destination_of(const struct connection *c)
{
	const struct fact_socket *socket = c->server.socket ? c->server.socket : c->caller.socket;
	const struct record_socket *s = socket ? &socket->socket : NULL;
	bool server = c->server.socket;

	if (!s || !c->port)
		return 0;
	return hash_pair(server ? hash_pair(s->local_hi, s->local_lo)
				: hash_pair(s->remote_hi, s->remote_lo),
			 hash_pair(s->netns, c->port)) |
	       1;
}

/* Names what serves a connection, whose server is in `process` (0: not recorded). */
static void operation_write(const struct requests *r, const struct connection *c, u32 process,
			    char *service, char *name)
{
	const char *path = path_of(c);

	if (process)
		snprintf(service, NAME_BYTES, "%s", process_service(&r->processes, process));
	else if (c->port && c->caller.socket)
		request_address(&c->caller.socket->socket, true, service, NAME_BYTES);
	else
		snprintf(service, NAME_BYTES, "%s", path ? path : "?");
	if (c->port)
		snprintf(name, NAME_BYTES + 16,
			 strchr(service, ':') && !process ? "[%s]:%u" : "%s:%u", service, c->port);
	else if (path && process)
		snprintf(name, NAME_BYTES + 16, "%.240s:%.240s", service, path);
	else
		snprintf(name, NAME_BYTES + 16, "%s", service);
}

/* The number of an operation, a new one if there is none of that name. 0 or -ENOMEM. */
static int operation_find(struct requests *r, struct bytes_map *known, const char *service,
			  const char *name, u32 *number)
{
	uintptr_t at = (uintptr_t)bytes_map_get(known, name, strlen(name));
	struct request_operation op;
	int err;

	*number = (u32)at - 1;
	if (at)
		return 0;
	op = (struct request_operation){strdup(name), strdup(service)};
	err = op.name && op.service ? vec_push(&r->operation_list, op) : -ENOMEM;
	if (err) {
		free(op.name);
		free(op.service);
		return err;
	}
	*number = (u32)r->operation_list.count - 1;
	return bytes_map_put(known, name, strlen(name), (void *)(uintptr_t)r->operation_list.count);
}

/*
 * The process that serves each connection. Where this end was not seen, it is that of another
 * connection to the same address. 0 or -ENOMEM.
 */
static int servers_find(const struct requests *r, u32 *server)
{
	struct map by_destination = {0};
	int err = 0;

	for (size_t i = 0; i < r->exchanges.count && !err; i++) {
		const struct exchange *x = &r->exchanges.data[i];
		u64 to = destination_of(&r->connections.list.data[x->connection]);

		if (!x->server.process || server[x->connection])
			continue;
		server[x->connection] = x->server.process;
		if (to && !map_get(&by_destination, to))
			err = map_put(&by_destination, to, (void *)(uintptr_t)x->server.process);
	}
	for (size_t i = 0; i < r->connections.list.count && !err; i++) {
		u64 to = server[i] ? 0 : destination_of(&r->connections.list.data[i]);

		if (to)
			server[i] = (u32)(uintptr_t)map_get(&by_destination, to);
	}
	map_free(&by_destination);
	return err;
}

static int operations_make(struct requests *r)
{
	size_t count = r->connections.list.count;
	u32 *server = calloc(count + 1, sizeof(*server)); /* process of each connection */
	struct bytes_map known = {0};
	int err = 0;

	r->operations = calloc(count + 1, sizeof(*r->operations));
	if (!server || !r->operations)
		err = -ENOMEM;
	if (!err)
		err = servers_find(r, server);
	for (size_t i = 0; i < count && !err; i++) {
		char service[NAME_BYTES], name[NAME_BYTES + 16];

		operation_write(r, &r->connections.list.data[i], server[i], service, name);
		err = operation_find(r, &known, service, name, &r->operations[i]);
	}
	bytes_map_free(&known);
	free(server);
	return err;
}

/* ---- linking ---- */

static int connections_tell(const struct requests *r, struct request_linking *l)
{
	int err = vec_reserve(&l->connections, r->connections.list.count);

	for (size_t i = 0; i < r->connections.list.count && !err; i++) {
		const struct connection *c = &r->connections.list.data[i];
		const struct byte_range *first = c->caller.sent.count ? c->caller.sent.data : NULL;
		const char *name = r->operation_list.data[r->operations[i]].name;
		struct exchange_connection told = {.peer = hash_bytes(name, strlen(name))};

		if (first && first->from == 0 && c->caller.told_ns &&
		    c->caller.told_ns < first->time_ns) {
			told.connected_ns = c->caller.told_ns;
			told.connected_tid = first->tid;
		}
		err = vec_push(&l->connections, told);
	}
	return err;
}

static int forks_tell(struct requests *r, struct request_linking *l, u32 host)
{
	const struct facts *facts = &r->hosts[host].p->facts;
	int err = 0;

	for (size_t i = 0; i < facts->forks.count && !err; i++) {
		const struct fact_fork *f = &facts->forks.data[i];
		struct request_fork fork = {.time_ns = f->time_ns, .tid = f->parent_tid};

		if (f->pid == f->parent_pid || f->flags & THREAD_IS_THREAD)
			continue;
		fork.parent = process_of_pid(&r->processes, host, f->parent_pid, f->time_ns, false);
		fork.child = process_of_pid(&r->processes, host, f->pid, f->time_ns + 1, false);
		if (fork.parent && fork.child)
			err = vec_push(&l->forks, fork);
	}
	return err;
}

static struct link_input input_of(const struct requests *r)
{
	const struct request_linking *l = &r->linking;

	return (struct link_input){.exchanges = r->exchanges.data,
				   .exchange_count = r->exchanges.count,
				   .connections = l->connections.data,
				   .connection_count = l->connections.count,
				   .hand_offs = l->hand_offs.data,
				   .hand_off_count = l->hand_offs.count,
				   .forks = l->forks.data,
				   .fork_count = l->forks.count,
				   .details = r->details.list.data,
				   .detail_count = r->details.list.count,
				   .process_count = r->processes.list.count};
}

static int edges_find(struct requests *r, const struct follow_options *options)
{
	struct link_input in = input_of(r);

	in.learned = options->learned;
	in.taught_from_ns = options->learned_ns;
	in.taught_until_ns = options->learned_ns ? UINT64_MAX : 0;
	r->edges = calloc(r->exchanges.count + 1, sizeof(*r->edges));
	return r->edges ? request_link(&in, r->edges) : -ENOMEM;
}

static int requests_link(struct requests *r, const struct follow_options *options)
{
	struct request_linking *l = &r->linking;
	int err = connections_tell(r, l);

	for (u32 host = 0; host < r->hosts_count && !err; host++) {
		err = hand_offs_find(&l->hand_offs, &r->processes, host);
		err = err ? err : hand_offs_sent(&l->hand_offs, &r->processes, host);
		err = err ? err : forks_tell(r, l, host);
	}
	err = err ? err : edges_find(r, options);
	if (!err)
		edges_doubt(r);
	r->hand_offs = l->hand_offs.count;
	return err;
}

int requests_learn(const struct requests *r, u64 from_ns, u64 until_ns, struct learned *learned)
{
	struct link_input in = input_of(r);

	in.taught_from_ns = from_ns;
	in.taught_until_ns = until_ns;
	return request_learn(&in, learned);
}

/* ---- all together ---- */

static int parents_choose(struct requests *r, u32 min_probability_ppm)
{
	r->parents = calloc(r->exchanges.count + 1, sizeof(*r->parents));
	if (!r->parents)
		return -ENOMEM;
	for (size_t i = 0; i < r->exchanges.count; i++) {
		const struct edge *e = &r->edges[i];
		bool sure = e->parent < r->exchanges.count &&
			    e->probability_ppm >= min_probability_ppm;

		r->parents[i] = sure ? e->parent : EDGE_ROOT;
	}
	return 0;
}

static int times_make(struct requests *r)
{
	const struct stints_input in = {.exchanges = r->exchanges.data,
					.count = r->exchanges.count,
					.parents = r->parents,
					.processes = &r->processes,
					.times = r->times};
	int err = 0;

	for (size_t i = 0; i < r->hosts_count && !err; i++)
		err = thread_times_make(&r->times[i], r->hosts[i].p);
	err = err ? err : stints_make(&r->stints, &in);
	if (err)
		return err;
	r->awaited = awaited_find(&in, &r->stints);
	return r->awaited ? 0 : -ENOMEM;
}

int requests_follow(struct requests *out, const struct request_host *hosts, size_t count,
		    const struct follow_options *options)
{
	int err;

	*out = (struct requests){.hosts = hosts,
				 .hosts_count = count,
				 .processes = {.hosts = hosts, .hosts_count = count},
				 .times = calloc(count + 1, sizeof(*out->times))};
	err = out->times ? connections_find(&out->connections, hosts, count) : -ENOMEM;
	err = err ? err
		  : exchanges_make(&out->exchanges, &out->details, &out->connections,
				   &out->processes);
	err = err ? err : processes_name(&out->processes);
	err = err ? err : operations_make(out);
	err = err ? err : request_apps_make(&out->apps, hosts, count);
	err = err ? err
		  : exchanges_published(&out->exchanges, &out->details, &out->apps,
					&out->processes);
	err = err ? err : requests_link(out, options);
	err = err ? err : parents_choose(out, options->min_probability_ppm);
	err = err ? err : times_make(out);
	err = err ? err : shifts_begin(out);
	return err ? err : request_traces_make(out);
}

int requests_make(struct requests *out, const struct request_host *hosts, size_t count,
		  u32 min_probability_ppm)
{
	const struct follow_options options = {.min_probability_ppm = min_probability_ppm};

	return requests_follow(out, hosts, count, &options);
}

void requests_free(struct requests *r)
{
	for (size_t i = 0; i < r->hosts_count && r->times; i++)
		thread_times_free(&r->times[i]);
	free(r->times);
	for (size_t i = 0; i < r->operation_list.count; i++) {
		free(r->operation_list.data[i].name);
		free(r->operation_list.data[i].service);
	}
	vec_free(&r->operation_list);
	free(r->operations);
	stints_free(&r->stints);
	free(r->awaited);
	vec_free(&r->exchanges);
	free(r->edges);
	free(r->parents);
	free(r->node_parents);
	clock_offsets_free(&r->offsets);
	free(r->shifts);
	request_apps_free(&r->apps);
	exchange_details_free(&r->details);
	vec_free(&r->spans);
	vec_free(&r->traces);
	vec_free(&r->linking.connections);
	vec_free(&r->linking.forks);
	vec_free(&r->linking.hand_offs);
	connections_free(&r->connections);
	processes_free(&r->processes);
}
