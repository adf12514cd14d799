/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of compilers, and texts that resemble them. */
#include "symbol/symbol_name.h"

#include <stdlib.h>

#include "tests/unit/check.h"

static char plain[200];

static const char *name_of(const char *symbol)
{
	return symbol_name_plain(symbol, plain, sizeof(plain)) ? plain : "(its own)";
}

TEST(names_of_cpp)
{
	CHECK_STR(name_of("_Z3runv"), "run");
	CHECK_STR(name_of("_ZL3runPKcS0_"), "run");
	CHECK_STR(name_of("_ZN1a1bEv"), "a::b");
	CHECK_STR(name_of("_ZNK4Each2ofERKSs"), "Each::of");
	CHECK_STR(name_of("_ZN12_GLOBAL__N_13runEv"), "(anonymous namespace)::run");
	CHECK_STR(name_of("_ZN3Box4openB5cxx11Ev"), "Box::open");
	CHECK_STR(name_of("_ZN1aC2Ei"), "a::a");
	CHECK_STR(name_of("_ZN1a3BoxIiED0Ev"), "a::Box<...>::~Box");
	CHECK_STR(name_of("_ZNSt6vectorIiSaIiEE9push_backERKi"), "std::vector<...>::push_back");
	CHECK_STR(name_of("_ZSt4swapIiEvRT_S1_"), "std::swap<...>");
	CHECK_STR(name_of("_ZNSs6insertEmPKc"), "std::string::insert");
	CHECK_STR(name_of("_ZN3BoxixEm"), "Box::operator[]");
	CHECK_STR(name_of("_ZNK3BoxclEv"), "Box::operator()");
	CHECK_STR(name_of("_ZN3BoxaSERKS_"), "Box::operator=");
	CHECK_STR(name_of("_Znwm"), "operator new");
	CHECK_STR(name_of("_ZZN4node5StartEiPPcENKUlvE0_clEv"),
		  "node::Start::{lambda}::operator()");
	CHECK_STR(name_of("_ZN1aILb0ELN1b1cE6EJLS2_10EEE1dEv"), "a<...>::d");
	CHECK_STR(name_of("_ZN1a1bEv.part.0.cold"), "a::b.part.0.cold");
	CHECK_STR(name_of("_ZN1a1bEv@@LIB_1.0"), "a::b");
}

TEST(names_of_rust)
{
	CHECK_STR(name_of("_ZN5tokio7runtime4park17h0123456789abcdefE"), "tokio::runtime::park");
	CHECK_STR(name_of("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$"
			  "$GT$3bar17h930b740aa94f1d3aE"),
		  "<Test + 'static as foo::Bar<Test>>::bar");
	CHECK_STR(name_of("_ZN1a8$u7$b$uzE"), "a::$u7$b$uz");
	CHECK_STR(name_of("_ZN17h0123456789abcdefE"), "h0123456789abcdef"); /* all that there is */
	CHECK_STR(name_of("_ZN1a17h0123456789abcdegE"), "a::h0123456789abcdeg");
}

TEST(what_is_not_understood_stays)
{
	static const char *const own[] = {
		"",
		"main",
		"main.main",
		"_Z",
		"_ZN",
		"_ZNE",
		"_ZN1aE1", /* a length without a name */
		"_ZN2aE",
		"_ZN9999aE",
		"_ZN99999999999999999999aE",
		"_ZN0E",
		"_ZNC1Ev", /* a constructor without a class */
		"_ZN1aIiE1bEvX",
		"_ZN1aIXadL_Z1bvEEE1cEv",
		"_ZTV3Box",
		"_ZN1a1b",
		"_ZN1a1bE!",
		"_RNvC1a4main",
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		CHECK_STR(name_of(own[i]), "(its own)");
}

/* Complete demanglers double the text with each of these. */
TEST(names_that_stand_for_endless_ones)
{
	char deep[5000] = "_Z1a", wide[2000] = "_Z1fI1AI1AIiEE";

	for (int i = 0; i < 100; i++)
		strcat(wide, "1AIS_S_E");
	strcat(wide, "Evv");
	CHECK_STR(name_of(wide), "f<...>");
	for (int i = 0; i < 2000; i++)
		strcat(deep, "I");
	CHECK_STR(name_of(deep), "(its own)");
	memset(deep + 2, 'Z', 3000);
	CHECK_STR(name_of(deep), "(its own)");
}

TEST(what_does_not_fit)
{
	const char *symbol = "_ZN3abc3defIiEEvT_"; /* abc::def<...> */

	for (size_t room = 0; room <= 13; room++) {
		char *exact = malloc(room + 1);

		CHECK(!symbol_name_plain(symbol, exact, room));
		free(exact);
	}
	CHECK(symbol_name_plain(symbol, plain, 14));
	CHECK_STR(plain, "abc::def<...>");
}

TEST_MAIN()
