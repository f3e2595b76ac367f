// SPDX-License-Identifier: Apache-2.0
/* Functions whose parameters are texts, or passed in several registers: for test_parameters.c. */
#include <string>
#include <string_view>

#ifdef __clang__ /* names without a mangling, of functions that nothing calls from C */
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif

#define FUNCTION extern "C" __attribute__((noinline))

static volatile unsigned long sum;

struct Pair {
	int first, second;
};

struct Ratio {
	double ratio;
	long count;
};

struct Wide : Pair {
	std::string name;
	std::string_view view;
	char letters[8];
	std::wstring wide;
};

FUNCTION void by_reference(const std::string &text, std::string_view view, const Wide *wide)
{
	sum += text.size() + view.size() + wide->name.size();
}

FUNCTION void by_value(std::string text, std::string_view view)
{
	sum += text.size() + view.size();
}

FUNCTION void on_stack(long a, long b, long c, long d, long e, std::string_view view, long f,
		       std::string last)
{
	sum += (unsigned long)(a + b + c + d + e + f) + view.size() + last.size();
}

FUNCTION void in_register(Pair pair, Pair *other, Ratio ratio, long last)
{
	sum += (unsigned long)(pair.first + other->second + ratio.count + last);
}

FUNCTION void of_bytes(const void *data, int size)
{
	sum += (unsigned long)size + (data != nullptr);
}

enum State : signed char { IDLE = -3, BUSY = 5 };

FUNCTION State state_of(long number)
{
	return number ? BUSY : IDLE;
}

FUNCTION std::string make(long number)
{
	return std::to_string(number);
}

FUNCTION std::string_view cut(const char *text)
{
	return text;
}

FUNCTION Pair *other(Pair *pair)
{
	return pair + 1;
}

FUNCTION Pair same(Pair *pair)
{
	return *pair;
}

FUNCTION double half(long number)
{
	return (double)number / 2;
}

struct Closed {
	explicit Closed(int file) : file(file)
	{
	}
	~Closed();
	int file;
};

Closed::~Closed()
{
	sum += (unsigned long)file;
}

FUNCTION Closed closed(int file)
{
	return Closed(file);
}

/* Its second word is padding, and takes no register. */
struct alignas(16) Aligned {
	long number;
};

FUNCTION void aligned(Aligned first, long last)
{
	sum += (unsigned long)(first.number + last);
}

/* Returned in memory, though it is small. */
struct __attribute__((packed)) Packed {
	char letter;
	long number;
};

FUNCTION Packed packed(long number)
{
	return { 'a', number };
}

/* Also inlined, as no other library can replace it: its own code is a copy of an abstract function. */
extern "C" __attribute__((visibility("protected"))) unsigned long both(Pair *pair, double ratio,
								       const Wide *wide)
{
	sum += (unsigned long)((double)pair->first * ratio);
	return sum + wide->name.size();
}

FUNCTION unsigned long of_both(Pair *pair, const Wide *wide)
{
	return both(pair, 0.5, wide) + 1;
}

FUNCTION double scaled(const Ratio *of, double a, double b, double c, double d, double e, double f,
		       double g, float h, double ninth)
{
	sum += (unsigned long)(of->ratio + a + b + c + d + e + f + g + h + ninth);
	return of->ratio * a;
}

/* Lines of their own, so that tests know their numbers. */
#line 1000 "scopes.cc"
FUNCTION long add_up(const Pair *pairs, long n)
{
	long total = 0;

	for (long i = 0; i < n; i++) {
		int total = pairs[i].first;

		sum += (unsigned long)total;
	}
	total += n;
	sum += (unsigned long)total;
	return total;
}

#line 1100 "scopes.cc"
FUNCTION double halve(long number)
{
	double ratio = (double)number / 2;

	sum += (unsigned long)ratio;
	return ratio;
}
