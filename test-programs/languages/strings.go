// SPDX-License-Identifier: Apache-2.0

// usage: strings N LOG
//
// As valued_strings.cc, with the texts of Go. A function that checks its stack may begin twice, so handle()
// does not.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
)

const logged = 255

var sum int

type Route string

type Header struct {
	Method string
	Length int
}

type Request struct {
	Version uint8
	Name    string
	Body    []byte
	Header  *Header
}

// Each part of the route, the header and the last one is in a register; data is on the stack.
//
//go:noinline
//go:nosplit
func handle(route Route, header Header, request *Request, id uint64, last string, data []byte) {
	sum += len(data) + len(request.Name) + int(id) + header.Length
	// Compilers may not keep what is not used.
	if len(route) > 0 {
		sum += int(route[0])
	}
	if len(header.Method) > 0 {
		sum += int(header.Method[0])
	}
	if len(last) > 0 {
		sum += int(last[0])
	}
	if len(data) > 0 {
		sum += int(data[0])
	}
}

type Kind uint8

type Numbers struct {
	Byte  uint8
	Short int16
	Kind  Kind
	Long  int64
}

//go:noinline
//go:nosplit
func count(tiny int8, short uint16, word int32, length uint32, long int64, numbers *Numbers, kind Kind, id uint64) {
	sum += int(tiny) + int(short) + int(word) + int(length) + int(long) + int(kind) + int(id)
	sum += int(numbers.Byte) + int(numbers.Short) + int(numbers.Kind) + int(numbers.Long)
}

func mix(i uint64) uint64 {
	i = (i ^ i>>30) * 0xbf58476d1ce4e5b9
	i = (i ^ i>>27) * 0x94d049bb133111eb
	return i ^ i>>31
}

// Letters, some of them zero, or any bytes.
func text(i, k uint64) []byte {
	random := mix(i*8 + k)
	n := []uint64{0, 15, 16, 255, 256, 5000, 1, random % 300}[(i+k)%8]
	text := make([]byte, n)
	for at := range text {
		b := mix(random + uint64(at))
		if random%2 == 0 {
			text[at] = byte(b)
		} else if b%30 < 26 {
			text[at] = byte('a' + b%30)
		}
	}
	return text
}

func put(log io.Writer, key string, text []byte) {
	n := len(text)
	if n > logged {
		n = logged
	}
	fmt.Fprintf(log, "%q: [\"%x\", %v], ", key, text[:n], len(text) > n)
}

func call(i uint64, log io.Writer) {
	route, data, name, body, method, last := text(i, 0), text(i, 1), text(i, 2), text(i, 3), text(i, 4), text(i, 5)
	header := Header{string(method), int(i)}
	request := Request{1, string(name), body, &header}
	fmt.Fprint(log, "{")
	put(log, "route", route)
	put(log, "data", data)
	put(log, "name", name)
	put(log, "body", body)
	put(log, "method", method)
	put(log, "last", last)
	random := int64(mix(i))
	numbers := Numbers{uint8(random), int16(random), Kind(i % 3), random}
	fmt.Fprintf(log, "\"tiny\": %d, \"short\": %d, \"int\": %d, \"word\": %d, \"long\": %d, ", int8(random), uint16(random),
		int32(random), uint32(random), random)
	fmt.Fprintf(log, "\"own_byte\": %d, \"own_short\": %d, \"own_colour\": %d, \"colour\": %d, ", numbers.Byte, numbers.Short,
		numbers.Kind, i%7)
	fmt.Fprintf(log, "\"id\": %d}\n", i)
	count(int8(random), uint16(random), int32(random), uint32(random), random, &numbers, Kind(i%7), i)
	handle(Route(route), header, &request, i, string(last), data)
}

func main() {
	n, _ := strconv.ParseUint(os.Args[1], 10, 64)
	file, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	log := bufio.NewWriter(file)
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		os.Exit(1)
	}
	for i := uint64(0); i < n; i++ {
		call(i, log)
	}
	if log.Flush() != nil || file.Close() != nil {
		os.Exit(1)
	}
	fmt.Println("done")
	io.Copy(io.Discard, in)
}
