// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"connectrpc.com/connect"
	"dwarfprof/backends/request"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

// A sample of a pushed profile, with frames in the form of OpenTelemetry's.
type pushedSample struct {
	Stack  []request.Frame  `json:"stack"`
	Labels map[string]any   `json:"labels"`
	Values map[string]int64 `json:"values"`
}

// A series that Pyroscope makes of a profile: those of its samples with the same texts.
type series struct {
	Labels map[string]string `json:"labels"`
	Totals []int64           `json:"totals"`
}

// A profile that was pushed, as google/pprof reads it.
type pushed struct {
	Labels    map[string]string   `json:"labels"`
	ID        string              `json:"id"`
	Types     []string            `json:"types"`
	Period    string              `json:"period"`
	PeriodNs  int64               `json:"period_ns"`
	Totals    []int64             `json:"totals"`
	Functions []string            `json:"functions"`
	Series    []series            `json:"series"`
	Samples   []pushedSample      `json:"samples"`
	BuildIDs  map[string]string   `json:"build_ids"`
	By        string              `json:"by"`
	Headers   map[string][]string `json:"headers"`
}

// Pyroscope's limits, as they are unless someone changes them.
const (
	maxLabels       = 30
	maxNameSize     = 1024
	maxValueSize    = 2048
	maxSamples      = 16000
	maxSampleLabels = 100
	maxProfileSize  = 4 << 20
)

var (
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
)

// checkLabels says what is wrong with the labels of a series, for any version: the first ones took
// no names but Prometheus's old ones.
func checkLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return fmt.Errorf("%d labels: %v", len(labels), labels)
	}
	if labels["service_name"] == "" || !metricName.MatchString(labels["__name__"]) {
		return fmt.Errorf("no service or name: %v", labels)
	}
	for name, value := range labels {
		if len(name) > maxNameSize || !labelName.MatchString(name) {
			return fmt.Errorf("the name of a label: %q", name)
		}
		if len(value) > maxValueSize || !utf8.ValidString(value) {
			return fmt.Errorf("the value of label %s: %q", name, value)
		}
	}
	return nil
}

func checkProfile(p *profile.Profile, size int) error {
	if size > maxProfileSize || len(p.Sample) > maxSamples {
		return fmt.Errorf("%d bytes, %d samples", size, len(p.Sample))
	}
	for _, t := range p.SampleType {
		if strings.ContainsAny(t.Type, "-:") {
			return fmt.Errorf("the type of a sample: %s", t.Type)
		}
	}
	for _, s := range p.Sample {
		if len(s.Label)+len(s.NumLabel) > maxSampleLabels {
			return fmt.Errorf("a sample with %d labels", len(s.Label)+len(s.NumLabel))
		}
	}
	return nil
}

// seriesLabels adds the texts of a sample to a profile's labels, which come first. Spans are kept apart;
// before its version 2, Pyroscope did not know traces.
func seriesLabels(labels map[string]string, s *profile.Sample) map[string]string {
	all := map[string]string{}
	for name, value := range labels {
		all[name] = value
	}
	for name, values := range s.Label {
		if name != "span_id" && name != "profile_id" && all[name] == "" && values[0] != "" {
			all[name] = values[0]
		}
	}
	return all
}

func add(to []int64, values []int64) []int64 {
	if to == nil {
		to = make([]int64, len(values))
	}
	for i, value := range values {
		to[i] += value
	}
	return to
}

func divide(labels map[string]string, p *profile.Profile) ([]series, error) {
	found, keys := map[string]series{}, []string{}
	for _, s := range p.Sample {
		all := seriesLabels(labels, s)
		key := fmt.Sprint(all)
		one, ok := found[key]
		if !ok {
			if err := checkLabels(all); err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
		found[key] = series{all, add(one.Totals, s.Value)}
	}
	sort.Strings(keys)
	all := []series{}
	for _, key := range keys {
		all = append(all, found[key])
	}
	return all, nil
}

func frame(l *profile.Location) request.Frame {
	f := request.Frame{Address: l.Address, Attributes: map[string]any{}, Lines: []request.Line{}}
	if l.Mapping != nil {
		f.Mapping = &request.Mapping{File: l.Mapping.File, Attributes: map[string]any{}}
	}
	for _, line := range l.Line {
		f.Lines = append(f.Lines, request.Line{Function: line.Function.Name, Linker: line.Function.SystemName,
			File: line.Function.Filename, Line: line.Line})
	}
	return f
}

func sampleOf(p *profile.Profile, s *profile.Sample) pushedSample {
	found := pushedSample{[]request.Frame{}, map[string]any{}, map[string]int64{}}
	for _, l := range s.Location {
		found.Stack = append(found.Stack, frame(l))
	}
	for name, values := range s.Label {
		found.Labels[name] = values[0]
	}
	for name, values := range s.NumLabel {
		found.Labels[name] = values[0]
	}
	for i, value := range s.Value {
		found.Values[p.SampleType[i].Type] = value
	}
	return found
}

func parse(data []byte) (*profile.Profile, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, err
	}
	p, err := profile.ParseData(plain)
	if err == nil {
		err = p.CheckValid()
	}
	if err == nil {
		err = checkProfile(p, len(plain))
	}
	return p, err
}

func read(labels map[string]string, sample *pushv1.RawSample) (*pushed, error) {
	p, err := parse(sample.RawProfile)
	if err != nil {
		return nil, err
	}
	found := &pushed{Labels: labels, ID: sample.ID, Totals: make([]int64, len(p.SampleType)), By: "push",
		Samples: []pushedSample{}, BuildIDs: map[string]string{}}
	if p.PeriodType != nil {
		found.Period, found.PeriodNs = p.PeriodType.Type+"/"+p.PeriodType.Unit, p.Period
	}
	for _, t := range p.SampleType {
		found.Types = append(found.Types, t.Type+"/"+t.Unit)
	}
	for _, s := range p.Sample {
		found.Totals = add(found.Totals, s.Value)
		found.Samples = append(found.Samples, sampleOf(p, s))
	}
	for _, f := range p.Function {
		found.Functions = append(found.Functions, f.Name)
	}
	for _, m := range p.Mapping {
		found.BuildIDs[m.File] = m.BuildID
	}
	found.Series, err = divide(labels, p)
	return found, err
}

// Push takes what Pyroscope's distributor takes: series with valid labels, and valid pprof. Of one that is
// refused, nothing is taken.
func (r *receiver) Push(_ context.Context, from *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	all := []*pushed{}
	for _, series := range from.Msg.Series {
		labels := map[string]string{}
		for _, l := range series.Labels {
			if _, ok := labels[l.Name]; ok {
				return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("two labels %s", l.Name))
			}
			labels[l.Name] = l.Value
		}
		for _, sample := range series.Samples {
			found, err := read(labels, sample)
			if err == nil {
				err = checkLabels(labels)
			}
			if err != nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, err)
			}
			found.Headers = from.Header()
			all = append(all, found)
		}
	}
	for _, found := range all {
		if err := r.write(found); err != nil {
			return nil, connect.NewError(connect.CodeInternal, err)
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func registerPyroscope(mux *http.ServeMux, r *receiver) {
	mux.Handle(pushv1connect.NewPusherServiceHandler(r))
}
