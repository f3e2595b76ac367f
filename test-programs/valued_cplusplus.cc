// SPDX-License-Identifier: Apache-2.0
/*
 * usage: valued_cplusplus N LOG
 *
 * As valued.c, with the parameters that C++ has: objects, references, strings, members of a base
 * class, and functions that return an object. Calls Server::handle() and make() N times each.
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

struct Answer {
	std::string text;
	long code = 0;
};

struct Server : Owned {
	static int shared;
	std::string name;
	Limits limits{};

	AS_IT_IS void handle(const std::string &route, int &code, double ratio, unsigned long id)
	{
		sum = sum + route.size() + (unsigned long)code + (unsigned long)ratio + id + owner;
	}
};

int Server::shared = 7;

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

	server.owner = (unsigned short)(i * 3);
	server.name = "server " + std::to_string(i % 11);
	server.limits.level = -(int)i;
	std::fprintf(
		log,
		"{\"route\": \"%s\", \"code\": %d, \"name\": \"%s\", \"level\": %d, \"owner\": %d, \"id\": %lu}\n",
		route.c_str(), code, server.name.c_str(), server.limits.level, server.owner, i);
	server.handle(route, code, 1.5, i);
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
