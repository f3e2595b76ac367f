// SPDX-License-Identifier: Apache-2.0
/*
 * A small library with most of what debug information describes of functions: namespaces,
 * templates, local classes, blocks, nested inlined calls, cold parts.
 */

namespace
{
template <typename T> struct vector {
	T items[16];
	unsigned int size;

	struct iterator {
		T *at;
		T &operator*() const
		{
			return *at;
		}
		iterator &operator++()
		{
			++at;
			return *this;
		}
		bool operator!=(const iterator &other) const
		{
			return at != other.at;
		}
	};
	iterator begin()
	{
		return { items };
	}
	iterator end()
	{
		return { items + size };
	}
	void push(T item)
	{
		if (size == 16)
			__builtin_abort();
		items[size++] = item;
	}
};

template <typename I, typename F> auto fold(I from, I to, F function)
{
	decltype(function(0, *from)) result = {};

	for (; from != to; ++from)
		result = function(result, *from);
	return result;
}
} // namespace

namespace sample
{
class counter
{
	int count;

      public:
	explicit counter(int start) : count(start)
	{
	}
	__attribute__((noinline)) int next();
};

int counter::next()
{
	return count++;
}

extern "C" int work(int n)
{
	vector<int> numbers = {};
	counter counter(n);

	for (int i = 0; i < n; i++) {
		int next = counter.next();

		if (next % 3 == 0) {
			auto square = [&](int x) { return x * x + n; };

			numbers.push(square(next));
		} else if (__builtin_expect(next < 0, 0)) {
			struct local {
				static __attribute__((noinline)) int negate(int x)
				{
					return -x;
				}
			};

			numbers.push(local::negate(next));
		}
	}
	return fold(numbers.begin(), numbers.end(), [](int a, int b) { return a ^ b << 3; });
}
} // namespace sample
