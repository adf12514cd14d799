/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/address.h"

#include <errno.h>

#include "tests/unit/check.h"

TEST(names_of_this_host_are_local)
{
	CHECK(host_is_local("localhost"));
	CHECK(host_is_local("localhost:4318"));
	CHECK(host_is_local("127.0.0.1:80"));
	CHECK(host_is_local("127.1.2.3"));
	CHECK(host_is_local("[::1]"));
	CHECK(host_is_local("[::1]:80"));
}

TEST(other_names_are_not)
{
	static const char *const others[] = {"",
					     "evil.example",
					     "localhost.evil.example",
					     "127.0.0.1.evil.example",
					     "128.0.0.1",
					     "0.0.0.0",
					     "[::]",
					     "[::2]",
					     "::1",
					     "[::1]x",
					     "[::1",
					     "localhost:",
					     "localhost:8x",
					     "127.0.0.1:80:80"};

	CHECK(!host_is_local(NULL));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (host_is_local(others[i]))
			CHECK_FAIL("%s is local", others[i]);
	}
}

static int opened(const char *text, int *fd, char said[SERVE_ADDRESS_BYTES], struct error *e)
{
	union address address;
	int err = address_parse(text, &address, e);

	return err ? err : address_listen(&address, fd, said, e);
}

TEST(a_free_port_is_taken_and_told)
{
	char text[SERVE_ADDRESS_BYTES], second[SERVE_ADDRESS_BYTES];
	struct error e = {0};
	int fd, other;

	CHECK_EQ(opened("localhost:0", &fd, text, &e), 0);
	CHECK(strncmp(text, "127.0.0.1:", 10) == 0 && strcmp(text + 10, "0") != 0);
	CHECK_EQ(opened(text, &other, second, &e), -EADDRINUSE);
	close(fd);
}

TEST(addresses_for_others_are_known)
{
	static const char *const others[] = {"0.0.0.0:80", "10.0.0.1:80", "[::]:80", "128.0.0.1:1"};
	union address address;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		CHECK_EQ(address_parse(others[i], &address, NULL), 0);
		CHECK(!address_is_local(&address));
	}
	CHECK_EQ(address_parse("127.3.2.1:80", &address, NULL), 0);
	CHECK(address_is_local(&address));
	CHECK_EQ(address_parse("[::1]:80", &address, NULL), 0);
	CHECK(address_is_local(&address));
}

TEST(what_is_no_address_is_misuse)
{
	static const char *const others[] = {"127.0.0.1", "host:80", "127.0.0.1:70000", "80", ""};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct error e = {0};
		union address address;

		if (address_parse(others[i], &address, &e) != -EINVAL || !e.misuse)
			CHECK_FAIL("%s was taken", others[i]);
	}
}

TEST_MAIN()
