// SPDX-License-Identifier: Apache-2.0
/*
 * usage: valued_strings N LOG
 *
 * As valued.c, with texts whose length is known. LOG has a text as the first 255 of its bytes, in
 * hexadecimal, and whether there are more. Calls each of its functions N times.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#ifdef __clang__
#define AS_IT_IS __attribute__((noinline))
#else
#define AS_IT_IS __attribute__((noipa))
#endif

#define LOGGED 255

static const char signature[] = { '\0', 'a', '\xff', 'b' };

static volatile unsigned long sum;

struct Request {
	long version = 1;
	std::string name;
	std::string_view view;
	const std::string *other = nullptr;
	unsigned char bytes[20] = {};
	unsigned short n_bytes = 0;
};

/* Compilers may not keep what is not used. */
static unsigned long use(std::string_view text)
{
	return text.size() + (text.empty() ? 0 : (unsigned char)text.front());
}

/* The view takes two registers. */
AS_IT_IS void handle(const std::string &route, std::string_view view, const Request *request,
		     unsigned long id)
{
	sum = sum + use(route) + use(view) + use(request->name) + id;
}

/* `owned` is passed by a pointer to it; the second view is on the stack, as one register is left. */
AS_IT_IS void keep(std::string owned, unsigned long id, std::string_view view, long filler,
		   std::string_view last)
{
	sum = sum + use(owned) + id + use(view) + (unsigned long)filler + use(last);
}

/* `void *`: it may be any bytes. */
AS_IT_IS void save(const void *data, int size, unsigned long id, const char *magic)
{
	sum = sum + (unsigned long)size + id + (magic > data);
}

AS_IT_IS std::string answer(const std::string &text)
{
	return text;
}

AS_IT_IS std::string_view part(std::string_view view, size_t at)
{
	return view.substr(at);
}

/* A number of 64 bits, always the same for the same i. */
static uint64_t mix(uint64_t i)
{
	i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	i = (i ^ i >> 27) * UINT64_C(0x94d049bb133111eb);
	return i ^ i >> 31;
}

/* Letters, some of them zero; characters of two bytes; any bytes. */
static std::string text(uint64_t i, uint64_t k)
{
	static const size_t lengths[] = { 0, 15, 16, 255, 256, 5000, 1, 300 };
	uint64_t random = mix(i * 8 + k);
	size_t n = lengths[(i + k) % 8];
	std::string text(n == 300 ? random % n : n, '\0');

	for (size_t at = 0; at < text.size(); at++) {
		uint64_t byte = mix(random + at);

		if (random % 3 == 0)
			text[at] = byte % 30 < 26 ? (char)('a' + byte % 30) : '\0';
		else if (random % 3 == 1)
			text[at] = at % 2 ? (char)(0x80 + byte % 64) : '\xc3';
		else
			text[at] = (char)byte;
	}
	return text;
}

static void log_text(FILE *log, const char *key, std::string_view text)
{
	std::fprintf(log, "\"%s\": [\"", key);
	for (char byte : text.substr(0, LOGGED))
		std::fprintf(log, "%02x", (unsigned char)byte);
	std::fprintf(log, "\", %s], ", text.size() > LOGGED ? "true" : "false");
}

static void call(unsigned long i, FILE *log)
{
	std::string route = text(i, 0), view = text(i, 1), other = text(i, 2), data = text(i, 3);
	Request request;

	request.name = text(i, 4);
	request.view = view;
	if (i % 50 != 3)
		request.other = &other;
	request.n_bytes = (unsigned short)(i % 21);
	for (size_t at = 0; at < request.n_bytes; at++)
		request.bytes[at] = (unsigned char)mix(i + at);
	std::fputs("{", log);
	log_text(log, "route", route);
	log_text(log, "view", view);
	log_text(log, "name", request.name);
	log_text(log, "other", other);
	if (request.other)
		log_text(log, "pointed", other);
	else
		std::fputs("\"pointed\": \"<unread>\", ", log);
	log_text(log, "data", data);
	log_text(log, "magic", { signature, sizeof(signature) });
	log_text(log, "bytes", { (const char *)request.bytes, request.n_bytes });
	std::fprintf(log, "\"size\": %zu, \"id\": %lu}\n", data.size(), i);
	handle(route, view, &request, i);
	keep(route, i, view, 7, other);
	save(data.data(), (int)data.size(), i, signature);
	sum = sum + answer(route).size() + part(view, 0).size();
}

int main(int argc, char **argv)
{
	FILE *log = argc == 3 ? std::fopen(argv[2], "w") : nullptr;

	if (!log) {
		std::fputs("usage: valued_strings N LOG\n", stderr);
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
