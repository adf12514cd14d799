/* SPDX-License-Identifier: Apache-2.0 */
/* Records sockets: whom they are connected with, and which bytes went. */
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/capture/recording.h"

/* A connection to itself on the loopback: 200 bytes go in two messages and come in two others. */
static int truth_socket(void)
{
	char bytes[150] = {0};
	int other;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0), one = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (void *)&at, len) || listen(listener, 1) ||
	    getsockname(listener, (void *)&at, &len) || connect(one, (void *)&at, len))
		return 1;
	other = accept(listener, NULL, NULL);
	if (send(one, bytes, 100, 0) != 100 || send(one, bytes, 100, 0) != 100)
		return 1;
	return recv(other, bytes, 10, MSG_PEEK) != 10 ||
	       recv(other, bytes, 150, MSG_WAITALL) != 150 || recv(other, bytes, 150, 0) != 50;
}

/* socketpair() as 32-bit programs call it. */
static int truth_pair_32(void)
{
#ifdef __x86_64__
	int *pair = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long result = 360;

	__asm__ volatile("int $0x80"
			 : "+a"(result)
			 : "b"((long)AF_UNIX), "c"((long)SOCK_STREAM), "d"(0L), "S"(pair)
			 : "r8", "r9", "r10", "r11", "memory");
	return (int)result ? 77 : 0;
#else
	return 77;
#endif
}

static const struct truth truths[] = {
	{"socket", truth_socket},
	{"pair-32", truth_pair_32},
	{NULL, NULL},
};

TEST(sockets_have_their_addresses)
{
	u8 loopback[8] = {0, 0, 0xff, 0xff, 127, 0, 0, 1};
	struct record_socket *a, *b;
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "socket");
	capture_close(s.c);
	CHECK_EQ(status, 0);
	CHECK_EQ(s.records[RECORD_socket], 2);
	a = &s.sockets[0];
	b = &s.sockets[1];
	CHECK_EQ(a->file.kind, FILE_KIND_tcp);
	CHECK(a->file.flags & FILE_PEER_ON_HOST);
	CHECK(a->file.key && a->file.key != b->file.key);
	CHECK(a->local_port && a->local_port == b->remote_port);
	CHECK(a->remote_port && a->remote_port == b->local_port);
	CHECK_MEM(&a->local_lo, loopback, 8);
	CHECK_MEM(&b->remote_lo, loopback, 8);
	CHECK(a->netns && a->netns == b->netns);
	CHECK_EQ(a->peer, b->file.key); /* the end that was told last knows the other */
	CHECK_EQ(b->peer, 0);
	CHECK(s.asked.file.key == a->file.key || s.asked.file.key == b->file.key);
	CHECK_EQ(s.asked.remote_port,
		 s.asked.file.key == a->file.key ? a->remote_port : b->remote_port);
}

TEST(both_ends_name_the_same_bytes)
{
	static const u64 expected[4][2] = {{0, 100}, {100, 100}, {0, 150}, {150, 50}};
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "socket");
	capture_close(s.c);
	CHECK_EQ(status, 0);
	CHECK_EQ(s.records[RECORD_bytes], 4);
	for (int i = 0; i < 4; i++) {
		const struct record_bytes *b = &s.bytes[i];

		CHECK_EQ(b->head.slots, 1); /* no span is active */
		CHECK_EQ(b->direction, i < 2 ? BYTES_SENT : BYTES_RECEIVED);
		CHECK_EQ(b->flags, 0);
		CHECK_EQ(b->from, expected[i][0]);
		CHECK_EQ(b->length, expected[i][1]);
		CHECK_EQ(b->file.key, s.sockets[i < 2].file.key);
		CHECK_EQ(b->file.kind, FILE_KIND_tcp);
	}
}

TEST(a_32_bit_pair_has_its_addresses)
{
	struct seen s = {0};
	int status;

	need_root();
	status = truth_record(&s, "pair-32");
	capture_close(s.c);
	if (WIFSIGNALED(status) || WEXITSTATUS(status) == 77)
		SKIP("this kernel has no 32-bit calls");
	CHECK_EQ(status, 0);
	CHECK_EQ(s.records[RECORD_socket], 2);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(s.sockets[i].family, AF_UNIX);
		CHECK(s.sockets[i].peer && s.sockets[i].peer == s.sockets[!i].file.key);
	}
}

int main(int argc, char **argv)
{
	return truth_main(truths, argc, argv);
}
