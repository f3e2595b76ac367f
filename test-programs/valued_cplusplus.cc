// SPDX-License-Identifier: Apache-2.0
/*
 * usage: valued_cplusplus N LOG
 *
 * As valued.c, with the parameters that C++ has: objects, references, strings, members of a base
 * class, and functions that return an object. Calls Server::handle(), make() and put() of two shelves
 * N times each.
 */
#include <cstdio>
#include <cstdlib>
#include <string>

#ifdef __clang__
#define AS_IT_IS __attribute__((noinline))
#else
#define AS_IT_IS __attribute__((noipa))
#endif

static volatile unsigned long sum;

struct Owned {
	long padding = 0;
	unsigned short owner = 0;
};

struct Limits {
	char padding;
	int level;
};

enum class State : signed char { idle = -3, busy = 5 };
using Alias = State;

/* Not flags, as they are numbered one after the other. */
typedef enum { red, green, blue } Colour;

enum Access : unsigned { can_read = 1, can_write = 2, can_run = 16, can_all = 19 };

struct Answer {
	std::string text;
	long code = 0;
};

struct Server : Owned {
	static int shared;
	std::string name;
	Limits limits{};
	const Alias *state = nullptr;
	Access access{};

	AS_IT_IS void handle(const std::string &route, int &code, double ratio, unsigned long id,
			     Colour colour, const Alias &state)
	{
		sum = sum + route.size() + (unsigned long)code + (unsigned long)ratio + id + owner +
		      colour + (unsigned long)state;
	}
};

int Server::shared = 7;

template <typename T> struct Shelf {
	T last{};

	AS_IT_IS void put(T value, unsigned long id)
	{
		last = value;
		sum = sum + id;
	}
};

static Shelf<short> small;
static Shelf<long> large;

AS_IT_IS Answer make(double ratio, const std::string &route, int code, unsigned long id)
{
	Answer answer;

	answer.text = route;
	answer.code = code + (long)ratio + (long)id;
	return answer;
}

static void call(unsigned long i, FILE *log)
{
	Server server;
	int code = 200 + (int)(i % 7);
	std::string route =
		i % 2 ? "/short" :
			"/one/that/is/longer/than/a/string/of/its/own/" + std::to_string(i);

	static const char *const colours[] = { "\"red\"", "\"green\"", "\"blue\"", "3" };
	auto colour = (Colour)(i % 4);
	auto state = i % 3 ? State::busy : State::idle;

	server.state = &state;
	server.access = i % 2 ? can_run : (Access)(can_read | can_write);
	server.owner = (unsigned short)(i * 3);
	server.name = "server " + std::to_string(i % 11);
	server.limits.level = -(int)i;
	std::fprintf(
		log,
		"{\"small\": %d, \"small_before\": %d, \"large\": %ld, \"large_before\": %ld, ",
		(short)(i * 777), small.last, -(long)i * 123456789012, large.last);
	std::fprintf(
		log,
		"\"route\": \"%s\", \"code\": %d, \"name\": \"%s\", \"level\": %d, \"owner\": %d, \"colour\": %s, \"state\": \"%s\", \"access\": %u, \"id\": %lu}\n",
		route.c_str(), code, server.name.c_str(), server.limits.level, server.owner,
		colours[i % 4], i % 3 ? "busy" : "idle", server.access, i);
	server.handle(route, code, 1.5, i, colour, state);
	small.put((short)(i * 777), i);
	large.put(-(long)i * 123456789012, i);
	sum = sum + (unsigned long)make(2.5, route, code, i).code;
}

int main(int argc, char **argv)
{
	FILE *log = argc == 3 ? std::fopen(argv[2], "w") : nullptr;

	if (!log) {
		std::fputs("usage: valued_cplusplus N LOG\n", stderr);
		return 2;
	}
	if (std::getchar() == EOF)
		return 1;
	for (unsigned long i = 0; i < std::strtoul(argv[1], nullptr, 10); i++)
		call(i, log);
	if (std::fclose(log) != 0)
		return 1;
	std::puts("done");
	std::fflush(stdout);
	while (std::getchar() != EOF)
		continue;
	return 0;
}
