// SPDX-License-Identifier: Apache-2.0
/*
 * usage: server
 *
 * A small server that keeps itself busy: it accepts connections on loopback, parses requests, sorts
 * their records, and replies. A child process sends the requests, without end.
 */
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr int n_records = 120;
constexpr int n_requests = 200; // of a connection

// An empty line ends requests and replies.
constexpr std::string_view end = "\n\n";

struct Record {
	std::string name;
	unsigned int value;
};

class Order {
public:
	virtual ~Order() = default;
	virtual bool is_before(const Record &a, const Record &b) const = 0;
};

class ByName : public Order {
	bool is_before(const Record &a, const Record &b) const override { return a.name < b.name; }
};

class ByValue : public Order {
	bool is_before(const Record &a, const Record &b) const override
	{
		return a.value != b.value ? a.value > b.value : a.name < b.name;
	}
};

class Format {
public:
	virtual ~Format() = default;
	virtual void add(std::string &reply, const Record &record) const = 0;
};

class Text : public Format {
	void add(std::string &reply, const Record &record) const override
	{
		reply.append(record.name).append(" ").append(std::to_string(record.value)).append("\n");
	}
};

class Json : public Format {
	void add(std::string &reply, const Record &record) const override
	{
		reply += "{\"name\": \"";
		for (char c : record.name) {
			if (c == '"' || c == '\\')
				reply += '\\';
			reply += c;
		}
		reply.append("\", \"value\": ").append(std::to_string(record.value)).append("}\n");
	}
};

template <typename Each> void for_each_line(std::string_view text, Each each)
{
	for (size_t at; (at = text.find('\n')) != text.npos; text.remove_prefix(at + 1))
		if (at > 0)
			each(text.substr(0, at));
}

// A line is NAME VALUE; values of equal names are added.
std::vector<Record> parse(std::string_view request)
{
	std::map<std::string, unsigned int, std::less<>> sums;
	std::vector<Record> records;

	for_each_line(request, [&](std::string_view line) {
		size_t space = line.find(' ');
		unsigned int value = 0;

		if (space == line.npos)
			return;
		std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
		sums[std::string(line.substr(0, space))] += value;
	});
	for (const auto &[name, value] : sums)
		records.push_back({ name, value });
	return records;
}

class Server {
public:
	std::string reply_to(std::string_view request)
	{
		const Order &order = *orders[n_handled % orders.size()];
		const Format &format = *formats[n_handled++ / orders.size() % formats.size()];
		std::vector<Record> records = parse(request);
		std::string reply;

		std::sort(records.begin(), records.end(),
			  [&](const Record &a, const Record &b) { return order.is_before(a, b); });
		for (const Record &record : records)
			format.add(reply, record);
		return reply += "\n";
	}

private:
	std::vector<std::unique_ptr<Order>> orders = make<Order, ByName, ByValue>();
	std::vector<std::unique_ptr<Format>> formats = make<Format, Text, Json>();
	size_t n_handled = 0;

	template <typename Base, typename... Types> static std::vector<std::unique_ptr<Base>> make()
	{
		std::vector<std::unique_ptr<Base>> all;

		(all.push_back(std::make_unique<Types>()), ...);
		return all;
	}
};

// Reads up to an empty line; false at the connection's end.
bool receive(int fd, std::string &ret)
{
	char part[4096];

	for (ret.clear(); ret.size() < end.size() || std::string_view(ret).substr(ret.size() - end.size()) != end;) {
		ssize_t n = read(fd, part, sizeof(part));

		if (n <= 0)
			return false;
		ret.append(part, static_cast<size_t>(n));
	}
	return true;
}

bool send_all(int fd, std::string_view text)
{
	while (!text.empty()) {
		ssize_t n = write(fd, text.data(), text.size());

		if (n <= 0)
			return false;
		text.remove_prefix(static_cast<size_t>(n));
	}
	return true;
}

[[noreturn]] void serve(int listener)
{
	Server server;
	std::string request;

	for (;;) {
		int fd = accept(listener, nullptr, nullptr);

		while (fd >= 0 && receive(fd, request) && send_all(fd, server.reply_to(request)))
			;
		if (fd >= 0)
			close(fd);
	}
}

std::string make_request()
{
	std::string request;
	unsigned int x = 1;

	for (int i = 0; i < n_records; i++) {
		x = x * 1664525 + 1013904223;
		request += "record-\"" + std::to_string(x >> 24) + "\" " + std::to_string(x >> 8 & 1023) + "\n";
	}
	return request += "\n";
}

[[noreturn]] void ask(const sockaddr_in &address)
{
	const std::string request = make_request();
	std::string reply;

	for (;;) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) < 0)
			_exit(1);
		for (int i = 0; i < n_requests; i++)
			if (!send_all(fd, request) || !receive(fd, reply))
				_exit(1);
		close(fd);
	}
}

} // namespace

int main()
{
	sockaddr_in address = {};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	signal(SIGPIPE, SIG_IGN);
	// The kernel chooses the port.
	if (listener < 0 || bind(listener, reinterpret_cast<sockaddr *>(&address), size) < 0 ||
	    listen(listener, 8) < 0 || getsockname(listener, reinterpret_cast<sockaddr *>(&address), &size) < 0)
		return EXIT_FAILURE;
	switch (fork()) {
	case -1:
		return EXIT_FAILURE;
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(listener);
		ask(address);
	}
	serve(listener);
}
