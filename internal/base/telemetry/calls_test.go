package telemetry

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rialto-im/rialto/internal/base/errs"
)

// TestCallsHaveLatencyAndCodes: each observation is in one bucket and under one code; unknown names share one metric.
func TestCallsHaveLatencyAndCodes(t *testing.T) {
	calls := NewCalls("send")
	calls.Add("/a.B/Unused")
	method := calls.Add("/a.B/C")
	var group sync.WaitGroup
	for at := range uint32(16) {
		group.Go(func() {
			for range 100 {
				method.Done(at, 3*time.Millisecond, nil)
			}
			method.Done(at, time.Minute, errors.New("unknown"))
			method.Done(at, time.Millisecond, errs.New(errs.Denied, "no", "no"))
			calls.Named("/made/up").Done(at, 0, ErrUnimplemented)
			calls.Named("/made/up"+strings.Repeat("x", int(at))).Done(at, 0, errors.New("unknown"))
		})
	}
	group.Wait()
	r := prometheus.NewRegistry()
	r.MustRegister(calls)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := m.Label[0].GetValue()
			if h := m.Histogram; h == nil {
				got[name+" "+m.Label[1].GetValue()] = uint64(m.Counter.GetValue())
			} else {
				got[name] = h.GetSampleCount()
				got[name+" 2.5 ms"], got[name+" 5 ms"], got[name+" 30 s"] = h.Bucket[1].GetCumulativeCount(), h.Bucket[2].GetCumulativeCount(), h.Bucket[len(bounds)-1].GetCumulativeCount()
			}
		}
	}
	want := map[string]uint64{
		"/a.B/C": 16 * 102, "/a.B/C 2.5 ms": 16, "/a.B/C 5 ms": 16 * 101, "/a.B/C 30 s": 16 * 101,
		"/a.B/C ok": 1600, "/a.B/C permission_denied": 16, "/a.B/C internal": 16,
		"other": 32, "other 2.5 ms": 32, "other 5 ms": 32, "other 30 s": 32, "other ok": 0, "other internal": 16, "other unimplemented": 16,
		"send": 0, "send 2.5 ms": 0, "send 5 ms": 0, "send 30 s": 0, "send ok": 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("figures: %s", fmt.Sprint(got))
	}
}

// BenchmarkDone is what each send costs.
func BenchmarkDone(b *testing.B) {
	call := NewCalls("send").Named("send")
	start := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for at := uint32(0); pb.Next(); at++ {
			call.Done(at, time.Since(start), nil)
		}
	})
}

// The latest traced call of each bucket is an exemplar of the histogram.
func TestCallsNameTheirTraces(t *testing.T) {
	calls := NewCalls("send")
	call := calls.Named("send")
	for trace, took := range map[string]time.Duration{"": 3 * time.Millisecond, "0af7": 4 * time.Millisecond, "b7ad": time.Minute} {
		call.Done(0, took, nil)
		call.Exemplar(took, trace)
	}
	call.Exemplar(4500*time.Microsecond, "later")
	var none *Call
	none.Exemplar(time.Second, "0af7")
	r := prometheus.NewRegistry()
	r.MustRegister(calls)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range families {
		for _, m := range f.Metric {
			for _, b := range m.GetHistogram().GetBucket() {
				if e := b.Exemplar; e != nil {
					got[fmt.Sprint(b.GetUpperBound())] = fmt.Sprint(e.GetValue(), " ", e.Label[0].GetName(), " ", e.Label[0].GetValue())
				}
			}
		}
	}
	if want := map[string]string{"0.005": "0.0045 trace_id later", "+Inf": "60 trace_id b7ad"}; !maps.Equal(got, want) {
		t.Errorf("the exemplars are %v, want %v", got, want)
	}
}
