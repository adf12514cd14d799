/* SPDX-License-Identifier: Apache-2.0 */
/* What was told at one time is in one order, whatever the order in which it came. */
#include <stdio.h>
#include <stdlib.h>

#include "apply.h"

#define TOLD_MAX 16

/* Records of one owner and one time. */
struct told {
	char records[TOLD_MAX][1024];
	size_t count;
};

static void *told_add(struct told *t, u8 kind)
{
	struct record_head *head = (void *)t->records[t->count++];

	CHECK(t->count <= TOLD_MAX);
	*head = (struct record_head){.kind = kind, .time_ns = 2000, .tid = 5, .pid = 5};
	return head;
}

static void print_facts(FILE *out, const struct facts *f)
{
	for (size_t i = 0; i < f->sockets.count; i++) {
		const struct fact_socket *s = &f->sockets.data[i];

		fprintf(out, "socket %u %u %u %llu %llu %s\n", s->socket.file.dev,
			s->socket.local_port, s->socket.remote_port,
			(unsigned long long)s->socket.peer, (unsigned long long)s->socket.local_lo,
			s->path ? s->path : "-");
	}
	for (size_t i = 0; i < f->services.count; i++)
		fprintf(out, "service %s\n", f->services.data[i].resource);
	for (size_t i = 0; i < f->forks.count; i++) {
		const struct fact_fork *k = &f->forks.data[i];

		fprintf(out, "fork %u of %u %u flags %u %llu %llu\n", k->pid, k->parent_tid,
			k->parent_pid, k->flags, (unsigned long long)k->start_ns,
			(unsigned long long)k->cgroup);
	}
	for (size_t i = 0; i < f->processes.count; i++)
		fprintf(out, "process %u %llu %s\n", f->processes.data[i].old_tid,
			(unsigned long long)f->processes.data[i].start_ns,
			f->processes.data[i].command);
	for (size_t i = 0; i < f->names.count; i++)
		fprintf(out, "name %s of %u weak %d\n", f->names.data[i].comm, f->names.data[i].pid,
			f->names.data[i].weak);
	for (size_t i = 0; i < f->fds.count; i++)
		fprintf(out, "fd %u %llu %s\n", f->fds.data[i].flags,
			(unsigned long long)f->fds.data[i].file.key, f->fds.data[i].path);
}

/* The facts when all was told from the first-th on, forwards or backwards. Free it. */
static char *facts_of(const struct told *t, size_t first, bool backwards)
{
	struct partial *p = partial_new(NULL);
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	for (size_t i = 0; i < t->count; i++) {
		size_t at = (first + i) % t->count;

		apply(p, t->records[backwards ? t->count - 1 - at : at]);
	}
	partial_cover(p, 1000, 3000);
	CHECK_EQ(partial_finish(p), 0);
	print_facts(out, &p->facts);
	fclose(out);
	partial_free(p);
	return text;
}

static void check_orders(const struct told *t)
{
	char *one = facts_of(t, 0, false);

	CHECK(strlen(one) > 20);
	for (size_t first = 0; first < t->count; first++) {
		for (int backwards = 0; backwards < 2; backwards++) {
			char *other = facts_of(t, first, backwards);

			CHECK_STR(other, one);
			free(other);
		}
	}
	free(one);
}

TEST(sockets)
{
	struct told t = {0};

	for (u16 i = 0; i < 7; i++) {
		struct record_socket *r = told_add(&t, RECORD_socket);

		r->file = (struct file_ref){.key = 7, .kind = FILE_KIND_unix};
		r->file.dev = i == 1;
		r->local_port = i == 2;
		r->remote_port = i == 3;
		r->peer = i == 4;
		r->local_lo = i == 5 ? 256 : i == 6;
		r->path_len = i > 3;
		r->path[0] = (char)('a' + i);
	}
	check_orders(&t);
}

/* Of one that is told without its peer and with it at one time, what is known counts. */
TEST(the_socket_that_tells_more_is_the_last)
{
	for (int first = 0; first < 2; first++) {
		struct partial *p = partial_new(NULL);
		struct record_socket r = {.head = {.kind = RECORD_socket, .time_ns = 2000},
					  .file = {.key = 7, .kind = FILE_KIND_tcp}};

		for (int i = 0; i < 2; i++) {
			r.remote_port = i == first ? 80 : 0;
			apply(p, &r);
		}
		partial_cover(p, 1000, 3000);
		CHECK_EQ(partial_finish(p), 0);
		CHECK_EQ(p->facts.sockets.data[1].socket.remote_port, 80);
		partial_free(p);
	}
}

TEST(services)
{
	struct told t = {0};

	for (int i = 0; i < 4; i++) {
		struct record_service *r = told_add(&t, RECORD_service);

		r->resource_len = i == 3 ? 2 : 1;
		r->resource[0] = (char)('a' + i % 3);
		r->resource[1] = 'x';
	}
	check_orders(&t);
}

TEST(forks)
{
	struct told t = {0};

	for (u32 i = 0; i < 7; i++) {
		struct record_fork *r = told_add(&t, RECORD_fork);

		r->head.pid += i == 1;
		r->parent_tid = i == 2;
		r->parent_pid = i == 3;
		r->flags = i == 4;
		r->start_ns = i == 5;
		r->cgroup = i == 6;
	}
	check_orders(&t);
}

TEST(processes_and_names)
{
	struct told t = {0};

	for (u32 i = 0; i < 5; i++) {
		struct record_exec *r = told_add(&t, RECORD_exec);

		r->start_ns = i == 1;
		r->old_tid = i == 2 ? 5 : 0;
		r->command_len = 2;
		r->command[0] = i == 3 ? 'b' : 'a';
	}
	for (u32 i = 0; i < 3; i++) {
		struct record_name *r = told_add(&t, RECORD_name);

		r->head.pid += i;
		r->comm_len = 1;
		r->comm[0] = 'a';
	}
	check_orders(&t);
}

TEST(descriptors)
{
	struct told t = {0};

	for (u32 i = 0; i < 4; i++) {
		struct record_fd *r = told_add(&t, RECORD_fd);

		r->fd = 3;
		r->op = FD_open;
		r->flags = i == 1;
		r->file = (struct file_ref){.key = 7 + (i == 2), .kind = FILE_KIND_pipe};
		r->path_len = 1;
		r->path[0] = i == 3 ? 'b' : 'a';
	}
	check_orders(&t);
}

TEST_MAIN()
