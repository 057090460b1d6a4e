// Package otlptest receives traces in tests: in the process, or through an OpenTelemetry Collector.
package otlptest

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/hex"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it was received. Ids are hexadecimal digits.
type Span struct {
	Node, Name        string
	Trace, ID, Parent string // Parent is "" for the first span of a trace
	Links             []Link
	// Attributes in text form.
	Attributes map[string]string
	// Failed: the span has the status of an error.
	Failed     bool
	Start, End uint64 // nanoseconds since 1970
}

// Link to a span of the same or another trace.
type Link struct{ Trace, ID string }

// Receiver accepts traces as OTLP over HTTP, and keeps them. All methods are safe for concurrent use.
type Receiver struct {
	// Endpoint is its address, without a path.
	Endpoint string

	status atomic.Int32 // of its answers; 0: 200
	mu     sync.Mutex   // guards the rest
	spans  []Span
	header http.Header
}

// New starts a Receiver that ends with the test.
func New(t testing.TB) *Receiver {
	r := &Receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := r.receive(q); err != nil {
			t.Errorf("the receiver: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if status := r.status.Load(); status != 0 {
			w.WriteHeader(int(status))
		}
	}))
	t.Cleanup(server.Close)
	r.Endpoint = server.URL
	return r
}

// Answer makes it answer with a status, and keep nothing. 0 ends that.
func (r *Receiver) Answer(status int) { r.status.Store(int32(status)) }

func (r *Receiver) receive(q *http.Request) error {
	body, err := io.ReadAll(q.Body)
	if err == nil && q.Header.Get("Content-Encoding") == "gzip" {
		body, err = unzip(body)
	}
	if err != nil || r.status.Load() != 0 {
		return err
	}
	var data tracev1.TracesData // the form of the request as well
	if err := proto.Unmarshal(body, &data); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header = q.Header
	for _, of := range data.ResourceSpans {
		node := textOf(of.GetResource().GetAttributes())["service.instance.id"]
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				r.spans = append(r.spans, spanOf(node, s))
			}
		}
	}
	return nil
}

func unzip(body []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func spanOf(node string, s *tracev1.Span) Span {
	out := Span{Node: node, Name: s.Name, Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId), Parent: hex.EncodeToString(s.ParentSpanId), Attributes: textOf(s.Attributes),
		Failed: s.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR, Start: s.StartTimeUnixNano, End: s.EndTimeUnixNano}
	for _, l := range s.Links {
		out.Links = append(out.Links, Link{hex.EncodeToString(l.TraceId), hex.EncodeToString(l.SpanId)})
	}
	return out
}

func textOf(list []*commonv1.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		switch v := a.Value.Value.(type) {
		case *commonv1.AnyValue_StringValue:
			out[a.Key] = v.StringValue
		case *commonv1.AnyValue_IntValue:
			out[a.Key] = strconv.FormatInt(v.IntValue, 10)
		case *commonv1.AnyValue_BoolValue:
			out[a.Key] = strconv.FormatBool(v.BoolValue)
		default:
			out[a.Key] = a.Value.String()
		}
	}
	return out
}

// Header is that of the last request.
func (r *Receiver) Header() http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.header.Clone()
}

// Spans returns those that were received so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Trace returns the spans of a trace that were received so far, in the order in which they began; of two that began at once, that without a parent
// comes first.
func (r *Receiver) Trace(trace string) []Span {
	return slices.SortedStableFunc(maps.Values(byID(r.Spans(), trace)), func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.Parent, b.Parent))
	})
}

// byID returns the spans of a trace by their ids.
func byID(all []Span, trace string) map[string]Span {
	out := map[string]Span{}
	for _, s := range all {
		if s.Trace == trace {
			out[s.ID] = s
		}
	}
	return out
}

// Names returns the names of spans, each once, in the order of the alphabet.
func Names(spans []Span) []string {
	names := map[string]bool{}
	for _, s := range spans {
		names[s.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// Connected returns why the spans are not one tree: "" if there is one span without a parent, and all others have parents among them.
func Connected(spans []Span) string {
	roots, ids := 0, map[string]bool{}
	for _, s := range spans {
		ids[s.ID] = true
		if s.Parent == "" {
			roots++
		}
	}
	for _, s := range spans {
		if s.Parent != "" && !ids[s.Parent] {
			return s.Name + " has a parent that was not received"
		}
	}
	if roots != 1 {
		return strconv.Itoa(roots) + " spans have no parent"
	}
	return ""
}
