// SPDX-License-Identifier: Apache-2.0

// Labels where Go calls C, and C calls Go. A thread that C has made keeps its goroutine, with the
// labels that this has set, when it is back in C.
package main

/*
#cgo CFLAGS: -O2
#cgo LDFLAGS: -pthread
#include "thread.h"
*/
import "C"

import (
	"context"
	"runtime/pprof"
)

//export withCallback
//go:noinline
func withCallback() {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("from", "callback")))
	C.spin_called_back()
}

//go:noinline
func withCall() {
	C.spin_called()
}

func main() {
	C.start_thread()
	pprof.Do(context.Background(), pprof.Labels("from", "go"), func(context.Context) {
		for {
			withCall()
		}
	})
}
