/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The harness of the unit tests: one header, one program per source file.
 *
 *   TEST(adds_up) { CHECK_EQ(1 + 1, 2); }
 *   TEST_MAIN()
 *
 * A failed check ends its test and not the program. Output is TAP, which
 * tools/run-tests counts: "ok 1 - adds_up", "not ok 2 - ...", "ok 3 - ... # SKIP why".
 * Exit status: 0, 1 if a test failed, 77 if all were skipped. `program NAME...`
 * runs only these tests. Checks are for the main thread of the test program:
 * a thread or forked child reports to it and is checked there.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct check_test {
	const char *name;
	void (*run)(void);
	struct check_test *next;
};

static struct check_test *check_first;
static struct check_test **check_last = &check_first;
static jmp_buf check_end;
static char check_skip[256];

enum { CHECK_PASSED, CHECK_FAILED, CHECK_SKIPPED };

static inline void check_register(struct check_test *test)
{
	*check_last = test;
	check_last = &test->next;
}

#define TEST(test_name)                                                                            \
	static void test_name(void);                                                               \
	static struct check_test check_test_##test_name = {#test_name, test_name, NULL};           \
	__attribute__((constructor)) static void check_register_##test_name(void)                  \
	{                                                                                          \
		check_register(&check_test_##test_name);                                           \
	}                                                                                          \
	static void test_name(void)

#define CHECK_FAIL(...)                                                                            \
	do {                                                                                       \
		printf("# %s:%d: ", __FILE__, __LINE__);                                           \
		printf(__VA_ARGS__);                                                               \
		printf("\n");                                                                      \
		longjmp(check_end, CHECK_FAILED);                                                  \
	} while (0)

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			CHECK_FAIL("is false: %s", #condition);                                    \
	} while (0)

/* Two integers (or enums); shown as signed. */
#define CHECK_EQ(is, should)                                                                       \
	do {                                                                                       \
		long long check_is_ = (long long)(is);                                             \
		long long check_should_ = (long long)(should);                                     \
		if (check_is_ != check_should_)                                                    \
			CHECK_FAIL("%s is %lld, should be %lld", #is, check_is_, check_should_);   \
	} while (0)

/* Two strings, either of which may be NULL. */
#define CHECK_STR(is, should)                                                                      \
	do {                                                                                       \
		const char *check_is_ = (is);                                                      \
		const char *check_should_ = (should);                                              \
		if (!check_is_ || !check_should_ ? check_is_ != check_should_                      \
						 : strcmp(check_is_, check_should_) != 0)          \
			CHECK_FAIL("%s is \"%s\", should be \"%s\"", #is,                          \
				   check_is_ ? check_is_ : "(null)",                               \
				   check_should_ ? check_should_ : "(null)");                      \
	} while (0)

#define CHECK_MEM(is, should, len)                                                                 \
	do {                                                                                       \
		if (memcmp((is), (should), (len)) != 0)                                            \
			CHECK_FAIL("%s differs from %s", #is, #should);                            \
	} while (0)

/* Ends the test as not runnable here; say what is missing. */
#define SKIP(...)                                                                                  \
	do {                                                                                       \
		snprintf(check_skip, sizeof(check_skip), __VA_ARGS__);                             \
		longjmp(check_end, CHECK_SKIPPED);                                                 \
	} while (0)

static inline bool check_is_wanted(const struct check_test *test, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], test->name) == 0)
			return true;
	}
	return argc <= 1;
}

static inline int check_run(struct check_test *test)
{
	int outcome = setjmp(check_end);

	if (outcome != CHECK_PASSED)
		return outcome;
	test->run();
	return CHECK_PASSED;
}

static inline int check_main(int argc, char **argv)
{
	int number = 0, failed = 0, skipped = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (struct check_test *test = check_first; test; test = test->next)
		number += check_is_wanted(test, argc, argv);
	printf("1..%d\n", number);
	number = 0;
	for (struct check_test *test = check_first; test; test = test->next) {
		int outcome;

		if (!check_is_wanted(test, argc, argv))
			continue;
		number++;
		outcome = check_run(test);
		failed += outcome == CHECK_FAILED;
		skipped += outcome == CHECK_SKIPPED;
		printf("%s %d - %s", outcome == CHECK_FAILED ? "not ok" : "ok", number, test->name);
		if (outcome == CHECK_SKIPPED)
			printf(" # SKIP %s", check_skip);
		printf("\n");
	}
	if (failed)
		return 1;
	return number > 0 && skipped == number ? 77 : 0;
}

#define TEST_MAIN()                                                                                \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return check_main(argc, argv);                                                     \
	}

#endif
