// SPDX-License-Identifier: Apache-2.0

// A client of the endpoints that scrapers ask for profiles, with Go's HTTP client and pprof's own code, as
// Parca and Grafana Alloy have it.
//
//	scrape [-n N] [-accept TYPES] [-encoding ENCODINGS] [-timeout TIME] [-cancel TIME] URL...
//
// Asks for each of the URLs, one after the other, N times, by one client, and writes what came as JSON, a
// line for each. Without -encoding, Go asks for gzip and decompresses by itself; "identity" and "gzip" are
// sent as they are. A request takes at most a minute, unless -timeout says else; -cancel gives it up after a time.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"sort"
	"time"

	"github.com/google/pprof/profile"
)

type answer struct {
	URL        string   `json:"url"`
	Error      string   `json:"error,omitempty"`
	Status     int      `json:"status"`
	Type       string   `json:"content_type"`
	Encoding   string   `json:"content_encoding"`
	Unpacked   bool     `json:"unpacked"` // by Go's client
	Reused     bool     `json:"reused"`   // the connection
	Seconds    float64  `json:"seconds"`  // until all was there
	Types      []string `json:"types"`
	PeriodType string   `json:"period_type"`
	Period     int64    `json:"period"`
	Duration   float64  `json:"duration"`
	Time       float64  `json:"time"` // when it began
	Samples    int      `json:"samples"`
	Totals     []int64  `json:"totals"`
	Functions  []string `json:"functions"`
	Files      []string `json:"files"` // of mappings
}

func typeOf(t *profile.ValueType) string {
	if t == nil {
		return ""
	}
	return t.Type + "/" + t.Unit
}

func (a *answer) read(p *profile.Profile) {
	for _, t := range p.SampleType {
		a.Types = append(a.Types, typeOf(t))
	}
	a.PeriodType, a.Period = typeOf(p.PeriodType), p.Period
	a.Duration = float64(p.DurationNanos) / 1e9
	a.Time = float64(p.TimeNanos) / 1e9
	a.Samples = len(p.Sample)
	a.Totals = make([]int64, len(p.SampleType))
	for _, s := range p.Sample {
		for i, value := range s.Value {
			a.Totals[i] += value
		}
	}
	for _, f := range p.Function {
		a.Functions = append(a.Functions, f.Name)
	}
	for _, m := range p.Mapping {
		a.Files = append(a.Files, m.File)
	}
	sort.Strings(a.Functions)
}

// The encoding of HTTP; that of the profile itself, pprof knows.
func (a *answer) parse(body []byte) error {
	if a.Encoding == "gzip" {
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return err
		}
		if body, err = io.ReadAll(r); err != nil {
			return err
		}
	}
	p, err := profile.ParseData(body)
	if err != nil {
		return err
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	a.read(p)
	return nil
}

func (a *answer) ask(ctx context.Context, client *http.Client, accept, encoding string) error {
	trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { a.Reused = c.Reused }}
	request, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, a.URL, nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "scrape")
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	if encoding != "" {
		request.Header.Set("Accept-Encoding", encoding)
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	a.Status, a.Unpacked = response.StatusCode, response.Uncompressed
	a.Type, a.Encoding = response.Header.Get("Content-Type"), response.Header.Get("Content-Encoding")
	body, err := io.ReadAll(response.Body)
	if err != nil || a.Status != http.StatusOK {
		return err
	}
	return a.parse(body)
}

func main() {
	n := flag.Int("n", 1, "")
	accept := flag.String("accept", "", "")
	encoding := flag.String("encoding", "", "")
	timeout := flag.Duration("timeout", time.Minute, "")
	cancel := flag.Duration("cancel", 0, "")
	flag.Parse()
	client, lines := &http.Client{Timeout: *timeout}, json.NewEncoder(os.Stdout)
	for i := 0; i < *n; i++ {
		for _, text := range flag.Args() {
			ctx, end := context.WithCancel(context.Background())
			if *cancel != 0 {
				time.AfterFunc(*cancel, end)
			}
			began, a := time.Now(), &answer{URL: text}
			if err := a.ask(ctx, client, *accept, *encoding); err != nil {
				a.Error = err.Error()
			}
			a.Seconds = time.Since(began).Seconds()
			lines.Encode(a)
			end()
		}
	}
}
