// SPDX-License-Identifier: Apache-2.0

// A linter of container recipes, by BuildKit's own rules. Nothing is built or fetched: of the image that a
// recipe begins with, it knows nothing.
//
//	containerfile <FILE      writes what is wrong to stdout, a line each; exits with 1 if anything is
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/client/llb/sourceresolver"
	"github.com/moby/buildkit/frontend/dockerfile/dockerfile2llb"
	"github.com/opencontainers/go-digest"
)

type noImages struct{}

func (noImages) ResolveImageConfig(_ context.Context, name string, _ sourceresolver.Opt) (string, digest.Digest, []byte, error) {
	return name, "", []byte(`{"architecture": "amd64", "os": "linux", "config": {}}`), nil
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	results, err := dockerfile2llb.DockerfileLint(context.Background(), text, dockerfile2llb.ConvertOpt{
		MetaResolver: noImages{},
		SourceMap:    &llb.SourceMap{Definition: &llb.Definition{}, Filename: "Containerfile", Data: text},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range results.Warnings {
		line := int32(0)
		if ranges := w.Location.GetRanges(); len(ranges) > 0 {
			line = ranges[0].Start.Line
		}
		fmt.Printf("%d: %s: %s\n", line, w.RuleName, w.Detail)
	}
	if results.Error != nil {
		fmt.Println(results.Error.Message)
	}
	if len(results.Warnings) > 0 || results.Error != nil {
		os.Exit(1)
	}
}
