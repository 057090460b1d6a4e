package operation

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

// shown are the metrics that the console shows, and of those with labels, the values to which a label is restricted; nil: all.
var shown = map[string][]string{
	"process_cpu_seconds_total": nil, "process_resident_memory_bytes": nil, "go_goroutines": nil,
	"rialto_connections": nil, "rialto_connections_http": nil, "rialto_users_online": nil, "rialto_sends_total": nil, "rialto_receipts_total": nil, "rialto_events_total": nil,
	"rialto_fanout_entries_total": nil, "rialto_sends_held": nil, "rialto_call_seconds": {"call=send", "call=/rialto.chat.v1.ChatService/Send"},
	"rialto_nodes": nil, "rialto_nodes_unreachable": nil, "rialto_partitions": nil, "rialto_partitions_held": nil, "rialto_partitions_stopped": nil,
	"rialto_jobs": nil, "rialto_job_attempts_total": nil, "rialto_socket_bytes_in_total": nil, "rialto_socket_bytes_out_total": nil, "rialto_rate_limited_total": nil,
	"rialto_rate_limit_per_second": nil, "rialto_rate_limit_burst": nil, "rialto_rate_limit_keys": nil, "rialto_limit": nil, "rialto_limit_used": nil, "rialto_input_refused_total": nil,
	"rialto_answers_refused_total": nil, "rialto_connections_unauthenticated_refused_total": nil, "rialto_call_workers": nil, "rialto_overload_refused_total": nil, "rialto_sends_admitted_ratio": nil,
	"rialto_cache_reads_total": nil, "rialto_cache_loaded_keys_total": nil, "rialto_cold_reads_total": nil,
	"rialto_search_lag_seconds": nil, "rialto_search_waiting": nil, "rialto_search_incomplete": nil, "rialto_search_rebuilding": nil, "rialto_search_indexed_total": nil,
	"rialto_file_cache_reads_total": nil, "rialto_file_cache_bytes_total": nil, "rialto_file_cache_bytes": nil, "rialto_file_cache_evictions_total": nil,
	"rialto_video_renditions_on_demand_total": nil, "rialto_video_processing_seconds_total": nil, "rialto_video_stored_bytes_total": nil, "rialto_video_tasks_total": nil, "rialto_edge_requests_total": nil, "rialto_edge_purges_total": nil, "rialto_edge_lag_seconds": nil,
}

// errNoReport is the error of a node whose answer is empty.
var errNoReport = errors.New("its report could not be encoded; its log says why")

// maxFigures bounds the figures of a node's report.
const maxFigures = 1000

// ListNodes asks all nodes for their reports.
func (s *Service) ListNodes(ctx context.Context, _ id.Caller, _ *operationv1.ListNodesRequest) (*operationv1.ListNodesResponse, error) {
	out := &operationv1.ListNodesResponse{TimeMs: s.deps.Clock.Now().UnixMilli()}
	add := func(node string, answer []byte, err error) {
		r := &operationv1.NodeReport{}
		if err == nil && len(answer) == 0 {
			err = errNoReport
		}
		if err == nil {
			err = proto.Unmarshal(answer, r)
		}
		if err != nil {
			r = &operationv1.NodeReport{Error: err.Error()}
		}
		r.Name, r.Answered = node, err == nil
		out.Nodes = append(out.Nodes, r)
	}
	nodecall.FailSafe{Timeout: s.askTimeout}.Tell(ctx, s.deps.Bus, nodecall.Nodes{Own: s.deps.Node, Live: s.deps.Nodes}, subject, nil, add)
	add(s.deps.Node, s.ownReport(), nil)
	out.Nodes = withEdges(out.Nodes)
	return out, ctx.Err()
}

// ownReport returns the report of this node, encoded.
func (s *Service) ownReport() []byte {
	s.reporting.Lock()
	defer s.reporting.Unlock()
	now := s.deps.Clock.Now()
	if age := now.Sub(s.reportAt); s.report != nil && age >= 0 && age < reportFor {
		return s.report
	}
	encoded := Encode(s.deps.Self(), s.deps.Metrics, s.deps.Logger)
	if encoded != nil {
		s.report, s.reportAt = encoded, now
	}
	return encoded
}

// Encode adds the figures that are shown to a node's report, and returns its encoding; nil if that fails, which is logged.
func Encode(r *operationv1.NodeReport, metrics prometheus.Gatherer, logger *slog.Logger) []byte {
	families, err := metrics.Gather() // with an error, what could be gathered
	if err != nil {
		logger.Warn("not all metrics could be gathered for operators", "error", err)
	}
	for _, f := range families {
		r.Figures = append(r.Figures, figures(f)...)
	}
	r.Figures = r.Figures[:min(len(r.Figures), maxFigures)]
	encoded, err := proto.Marshal(r)
	if err != nil {
		logger.Error("the report of this node cannot be encoded", "error", err)
		return nil
	}
	return encoded
}

// withEdges returns nodes and the edges that report to them, by name. An edge that has just changed its origin is in the reports of two.
func withEdges(nodes []*operationv1.NodeReport) []*operationv1.NodeReport {
	all, seen := slices.Clone(nodes), map[string]bool{}
	for _, n := range nodes {
		seen[n.Name] = true
	}
	for _, n := range nodes {
		for _, e := range n.Edges {
			if !seen[e.Name] {
				seen[e.Name] = true
				all = append(all, e)
			}
		}
		n.Edges = nil
	}
	slices.SortFunc(all, func(a, b *operationv1.NodeReport) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// figures returns those of a family that are shown.
func figures(f *dto.MetricFamily) (list []*operationv1.Figure) {
	only, ok := shown[f.GetName()]
	if !ok {
		return nil
	}
	for _, m := range f.GetMetric() {
		labels := make([]string, len(m.GetLabel()))
		for i, l := range m.GetLabel() {
			labels[i] = l.GetName() + "=" + l.GetValue()
		}
		out := &operationv1.Figure{Name: f.GetName(), Labels: strings.Join(labels, ",")}
		if only != nil && !slices.Contains(only, out.Labels) {
			continue
		}
		switch {
		case m.GetCounter() != nil:
			out.Value = m.GetCounter().GetValue()
		case m.GetGauge() != nil:
			out.Value = m.GetGauge().GetValue()
		case m.GetHistogram() != nil:
			h := m.GetHistogram()
			out.Value = h.GetSampleSum()
			for _, b := range h.GetBucket() {
				out.Bounds, out.Counts = append(out.Bounds, b.GetUpperBound()), append(out.Counts, b.GetCumulativeCount())
			}
			out.Counts = append(out.Counts, h.GetSampleCount())
		}
		list = append(list, out)
	}
	return list
}
