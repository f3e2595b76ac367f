// SPDX-License-Identifier: Apache-2.0

// Package request shows what the OpenTelemetry collector's own code reads from a request of
// profiles, without tables and numbers, and what is wrong with its tables: the rules of
// sig-profiling's profcheck and of the comments in profiles.proto.
package request

import (
	"encoding/hex"
	"fmt"
	"sort"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

type Line struct {
	Function string `json:"function"`
	Linker   string `json:"linker_name"`
	File     string `json:"file"`
	Line     int64  `json:"line"`
	Column   int64  `json:"column"`
}

type Mapping struct {
	File       string         `json:"file"`
	Start      uint64         `json:"start"`
	Limit      uint64         `json:"limit"`
	Offset     uint64         `json:"offset"`
	Attributes map[string]any `json:"attributes"`
}

type Frame struct {
	Address    uint64         `json:"address"`
	Mapping    *Mapping       `json:"mapping"`
	Attributes map[string]any `json:"attributes"`
	Lines      []Line         `json:"lines"`
}

type Sample struct {
	Stack      []Frame        `json:"stack"`
	Attributes map[string]any `json:"attributes"`
	Trace      string         `json:"trace_id"`
	Span       string         `json:"span_id"`
	Values     []int64        `json:"values"`
	Times      []uint64       `json:"times"`
}

type Type [2]string

type Profile struct {
	Resource   map[string]any `json:"resource"`
	Scope      string         `json:"scope"`
	Version    string         `json:"version"`
	ID         string         `json:"id"`
	Type       Type           `json:"type"`
	PeriodType Type           `json:"period_type"`
	Period     int64          `json:"period"`
	Start      uint64         `json:"start"`
	Duration   uint64         `json:"duration"`
	Attributes map[string]any `json:"attributes"`
	Samples    []Sample       `json:"samples"`
}

type Request struct {
	Profiles []Profile `json:"profiles"`
	Faults   []string  `json:"faults"`
}

// reader counts what refers to each element of the tables.
type reader struct {
	dictionary pprofile.ProfilesDictionary
	used       map[string]map[int]bool
	faults     []string
}

func (r *reader) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *reader) use(table string, length int, index int32) bool {
	if int(index) < 0 || int(index) >= length {
		r.fault("%s[%d] does not exist", table, index)
		return false
	}
	if r.used[table] == nil {
		r.used[table] = map[int]bool{}
	}
	r.used[table][int(index)] = true
	return true
}

func (r *reader) text(index int32) string {
	table := r.dictionary.StringTable()
	if !r.use("string", table.Len(), index) {
		return ""
	}
	return table.At(int(index))
}

func (r *reader) attributes(indices pcommon.Int32Slice) map[string]any {
	table, found := r.dictionary.AttributeTable(), map[string]any{}
	for _, index := range indices.AsRaw() {
		if !r.use("attribute", table.Len(), index) || index == 0 {
			continue
		}
		a := table.At(int(index))
		key := r.text(a.KeyStrindex())
		if _, ok := found[key]; ok {
			r.fault("two attributes %q", key)
		}
		found[key] = a.Value().AsRaw()
		if unit := r.text(a.UnitStrindex()); unit != "" {
			found[key] = []any{a.Value().AsRaw(), unit}
		}
	}
	return found
}

func (r *reader) mapping(index int32) *Mapping {
	table := r.dictionary.MappingTable()
	if !r.use("mapping", table.Len(), index) || index == 0 {
		return nil
	}
	m := table.At(int(index))
	return &Mapping{r.text(m.FilenameStrindex()), m.MemoryStart(), m.MemoryLimit(), m.FileOffset(),
		r.attributes(m.AttributeIndices())}
}

func (r *reader) line(l pprofile.Line) Line {
	table := r.dictionary.FunctionTable()
	if !r.use("function", table.Len(), l.FunctionIndex()) {
		return Line{}
	}
	f := table.At(int(l.FunctionIndex()))
	return Line{r.text(f.NameStrindex()), r.text(f.SystemNameStrindex()), r.text(f.FilenameStrindex()), l.Line(), l.Column()}
}

func (r *reader) frame(index int32) Frame {
	table := r.dictionary.LocationTable()
	if !r.use("location", table.Len(), index) {
		return Frame{}
	}
	l := table.At(int(index))
	frame := Frame{l.Address(), r.mapping(l.MappingIndex()), r.attributes(l.AttributeIndices()), []Line{}}
	if m := frame.Mapping; m != nil && (l.Address() < m.Start || l.Address() >= m.Limit) {
		r.fault("address %#x is outside of its mapping of %s", l.Address(), m.File)
	}
	for _, line := range l.Lines().All() {
		frame.Lines = append(frame.Lines, r.line(line))
	}
	return frame
}

func (r *reader) sample(s pprofile.Sample) Sample {
	sample := Sample{Stack: []Frame{}, Attributes: r.attributes(s.AttributeIndices()), Values: s.Values().AsRaw(), Times: s.TimestampsUnixNano().AsRaw()}
	if table := r.dictionary.StackTable(); r.use("stack", table.Len(), s.StackIndex()) {
		for _, index := range table.At(int(s.StackIndex())).LocationIndices().AsRaw() {
			sample.Stack = append(sample.Stack, r.frame(index))
		}
	}
	if table := r.dictionary.LinkTable(); r.use("link", table.Len(), s.LinkIndex()) && s.LinkIndex() > 0 {
		link := table.At(int(s.LinkIndex()))
		trace, span := link.TraceID(), link.SpanID()
		sample.Trace, sample.Span = hex.EncodeToString(trace[:]), hex.EncodeToString(span[:])
	}
	return sample
}

func (r *reader) valueType(t pprofile.ValueType) Type {
	return Type{r.text(t.TypeStrindex()), r.text(t.UnitStrindex())}
}

// checkShape compares a sample's times with the profile, and its form with the first one's.
func (r *reader) checkShape(p *Profile, s *Sample) {
	first := &p.Samples[0]
	if len(s.Values)+len(s.Times) == 0 || (len(s.Times) == 0 && len(s.Values) != 1) ||
		(len(s.Times) > 0 && len(s.Values) > 0 && len(s.Times) != len(s.Values)) ||
		(len(s.Times) > 0) != (len(first.Times) > 0) || (len(s.Values) > 0) != (len(first.Values) > 0) {
		r.fault("a sample has %d values and %d times", len(s.Values), len(s.Times))
	}
	for _, t := range s.Times {
		if t < p.Start || t >= p.Start+p.Duration {
			r.fault("time %d is outside of the profile", t)
		}
	}
}

func (r *reader) profile(from pprofile.Profile) Profile {
	id := from.ProfileID()
	p := Profile{
		ID: hex.EncodeToString(id[:]), Type: r.valueType(from.SampleType()), PeriodType: r.valueType(from.PeriodType()),
		Period: from.Period(), Start: uint64(from.Time()), Duration: from.DurationNano(), Samples: []Sample{},
		Attributes: r.attributes(from.AttributeIndices()),
	}
	seen := map[string]bool{}
	for _, s := range from.Samples().All() {
		attributes := s.AttributeIndices().AsRaw()
		sort.Slice(attributes, func(i, j int) bool { return attributes[i] < attributes[j] })
		identity := fmt.Sprint(s.StackIndex(), s.LinkIndex(), attributes)
		if seen[identity] {
			r.fault("two samples %s", identity)
		}
		seen[identity] = true
		p.Samples = append(p.Samples, r.sample(s))
		r.checkShape(&p, &p.Samples[len(p.Samples)-1])
	}
	return p
}

// checkTable reports elements that are there twice or unused, and a first one that is not zero.
func checkTable[T any](r *reader, table string, n int, zero T, at func(int) T) {
	if n == 0 || fmt.Sprintf("%#v", at(0)) != fmt.Sprintf("%#v", zero) {
		r.fault("%s[0] is not the zero value", table)
	}
	seen := map[string]int{}
	for i := range n {
		key := fmt.Sprintf("%#v", at(i))
		if first, ok := seen[key]; ok {
			r.fault("%s[%d] is the same as [%d]: %s", table, i, first, key)
		}
		seen[key] = i
		if i > 0 && !r.used[table][i] {
			r.fault("%s[%d] is not used: %s", table, i, key)
		}
	}
}

type key []any

func (r *reader) checkTables() {
	d := r.dictionary
	raw := func(s pcommon.Int32Slice) string { return fmt.Sprint(s.AsRaw()) }
	checkTable(r, "string", d.StringTable().Len(), "", d.StringTable().At)
	checkTable(r, "attribute", d.AttributeTable().Len(), key{int32(0), int32(0), "", "Empty"}, func(i int) key {
		a := d.AttributeTable().At(i)
		return key{a.KeyStrindex(), a.UnitStrindex(), a.Value().AsString(), a.Value().Type().String()}
	})
	checkTable(r, "mapping", d.MappingTable().Len(), key{uint64(0), uint64(0), uint64(0), int32(0), "[]"}, func(i int) key {
		m := d.MappingTable().At(i)
		return key{m.MemoryStart(), m.MemoryLimit(), m.FileOffset(), m.FilenameStrindex(), raw(m.AttributeIndices())}
	})
	checkTable(r, "function", d.FunctionTable().Len(), key{int32(0), int32(0), int32(0), int64(0)}, func(i int) key {
		f := d.FunctionTable().At(i)
		return key{f.NameStrindex(), f.SystemNameStrindex(), f.FilenameStrindex(), f.StartLine()}
	})
	checkTable(r, "location", d.LocationTable().Len(), key{int32(0), uint64(0), "[]", ""}, func(i int) key {
		l, lines := d.LocationTable().At(i), ""
		for _, line := range l.Lines().All() {
			lines += fmt.Sprintln(line.FunctionIndex(), line.Line(), line.Column())
		}
		return key{l.MappingIndex(), l.Address(), raw(l.AttributeIndices()), lines}
	})
	checkTable(r, "link", d.LinkTable().Len(), key{pcommon.TraceID{}, pcommon.SpanID{}}, func(i int) key {
		return key{d.LinkTable().At(i).TraceID(), d.LinkTable().At(i).SpanID()}
	})
	checkTable(r, "stack", d.StackTable().Len(), "[]", func(i int) string {
		return raw(d.StackTable().At(i).LocationIndices())
	})
}

// Read shows a request.
func Read(from pprofile.Profiles) Request {
	r := &reader{dictionary: from.Dictionary(), used: map[string]map[int]bool{}}
	request := Request{Profiles: []Profile{}}
	for _, resource := range from.ResourceProfiles().All() {
		for _, scope := range resource.ScopeProfiles().All() {
			for _, p := range scope.Profiles().All() {
				profile := r.profile(p)
				profile.Resource = resource.Resource().Attributes().AsRaw()
				profile.Scope, profile.Version = scope.Scope().Name(), scope.Scope().Version()
				request.Profiles = append(request.Profiles, profile)
			}
		}
	}
	r.checkTables()
	request.Faults = r.faults
	return request
}
