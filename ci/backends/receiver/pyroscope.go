// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"net/http"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
)

// A profile that was pushed, as google/pprof reads it.
type pushed struct {
	Labels    map[string]string   `json:"labels"`
	ID        string              `json:"id"`
	Types     []string            `json:"types"`
	Period    string              `json:"period"`
	Totals    []int64             `json:"totals"`
	Functions []string            `json:"functions"`
	By        string              `json:"by"`
	Headers   map[string][]string `json:"headers"`
}

func read(labels map[string]string, sample *pushv1.RawSample) (*pushed, error) {
	p, err := profile.Parse(bytes.NewReader(sample.RawProfile))
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, err
	}
	found := &pushed{Labels: labels, ID: sample.ID, Totals: make([]int64, len(p.SampleType)), By: "push"}
	if p.PeriodType != nil {
		found.Period = p.PeriodType.Type + "/" + p.PeriodType.Unit
	}
	for _, t := range p.SampleType {
		found.Types = append(found.Types, t.Type+"/"+t.Unit)
	}
	for _, s := range p.Sample {
		for i, value := range s.Value {
			found.Totals[i] += value
		}
	}
	for _, f := range p.Function {
		found.Functions = append(found.Functions, f.Name)
	}
	return found, nil
}

// Push takes what Pyroscope's distributor takes: labels with a service and a name, and valid pprof.
func (r *receiver) Push(_ context.Context, from *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	for _, series := range from.Msg.Series {
		labels := map[string]string{}
		for _, l := range series.Labels {
			labels[l.Name] = l.Value
		}
		if labels["service_name"] == "" || labels["__name__"] == "" {
			return nil, connect.NewError(connect.CodeInvalidArgument, http.ErrMissingFile)
		}
		for _, sample := range series.Samples {
			found, err := read(labels, sample)
			if err != nil {
				return nil, connect.NewError(connect.CodeInvalidArgument, err)
			}
			found.Headers = from.Header()
			if err := r.write(found); err != nil {
				return nil, connect.NewError(connect.CodeInternal, err)
			}
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

func registerPyroscope(mux *http.ServeMux, r *receiver) {
	mux.Handle(pushv1connect.NewPusherServiceHandler(r))
}
