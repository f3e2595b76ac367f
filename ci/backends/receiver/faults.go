// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// faults are what a backend does instead of taking a request: words, one for each request or
// connection, and from then on "ok". A plan "random:SEED" chooses them until the file `calm` exists.
type faults struct {
	lock    sync.Mutex
	plan    []string
	random  *rand.Rand
	choices []string
	calm    string
}

func newFaults(plan, directory string, choices []string) *faults {
	f := &faults{choices: choices, calm: filepath.Join(directory, "calm")}
	if seed, ok := strings.CutPrefix(plan, "random:"); ok {
		n, _ := strconv.ParseInt(seed, 10, 64)
		f.random = rand.New(rand.NewSource(n))
	} else if plan != "" {
		f.plan = strings.Split(plan, ",")
	}
	return f
}

func (f *faults) next() string {
	f.lock.Lock()
	defer f.lock.Unlock()
	if f.random != nil {
		if _, err := os.Stat(f.calm); err != nil {
			return f.choices[f.random.Intn(len(f.choices))]
		}
	}
	if len(f.plan) == 0 {
		return "ok"
	}
	word := f.plan[0]
	f.plan = f.plan[1:]
	return word
}

// Answers to requests: statuses of HTTP, with a pause in seconds after a slash.
var answers = []string{"ok", "ok", "ok", "429/1", "503", "502", "504", "401", "400", "413", "500"}

// split is the status of a word, and its pause; 0: to be taken.
func split(word string) (int, int) {
	first, second, _ := strings.Cut(word, "/")
	code, _ := strconv.Atoi(first)
	pause, _ := strconv.Atoi(second)
	return code, pause
}

func (r *receiver) note(name, word string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	file, err := os.OpenFile(filepath.Join(r.directory, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(file, "%d %s\n", time.Now().UnixMilli(), word)
		file.Close()
	}
}

func (r *receiver) disturbHTTP(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, from *http.Request) {
		word := r.requests.next()
		r.note("attempts", word)
		code, pause := split(word)
		if code == 0 {
			handler.ServeHTTP(w, from)
			return
		}
		if pause > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(pause))
		}
		http.Error(w, "a fault: "+word, code)
	})
}

var grpcCodes = map[int]codes.Code{
	400: codes.InvalidArgument, 401: codes.Unauthenticated, 413: codes.ResourceExhausted, 429: codes.ResourceExhausted,
	500: codes.Internal, 502: codes.Unavailable, 503: codes.Unavailable, 504: codes.DeadlineExceeded,
}

func (r *receiver) disturbGRPC(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	word := r.requests.next()
	r.note("attempts", word)
	code, pause := split(word)
	if code == 0 {
		return handler(ctx, request)
	}
	answer := status.New(grpcCodes[code], "a fault: "+word)
	if pause > 0 {
		answer, _ = answer.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(pause) * time.Second)})
	}
	return nil, answer.Err()
}

// Connections: "cut" closes after some bytes were read, "half" stops writing then, "slow" reads a
// few bytes at a time.
var connections = []string{"ok", "ok", "ok", "cut", "half", "slow"}

// Certificates: of a connection.
var certificates = []string{"ok", "ok", "expired"}

type badListener struct {
	net.Listener
	faults *faults
}

func (l *badListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if word := l.faults.next(); word != "ok" {
		return &badConn{Conn: conn, word: word}, nil
	}
	return conn, nil
}

type badConn struct {
	net.Conn
	word string
	read int
}

func (c *badConn) Read(to []byte) (int, error) {
	if c.word == "slow" {
		time.Sleep(5 * time.Millisecond)
		to = to[:min(len(to), 2048)]
	}
	n, err := c.Conn.Read(to)
	c.read += n
	if c.word != "slow" && c.read > 1000 {
		if c.word == "cut" {
			c.Conn.Close()
			return 0, net.ErrClosed
		}
		c.Conn.(*net.TCPConn).CloseWrite()
	}
	return n, err
}
