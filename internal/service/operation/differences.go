package operation

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// Reconciliation compares stores.
type Reconciliation interface {
	Statuses(ctx context.Context) ([]reconciliation.Status, error)
	List(ctx context.Context, comparison, after string, limit int) ([]reconciliation.Found, error)
	Repair(ctx context.Context, who, comparison, subject, reason string) (reconciliation.Found, error)
}

// ListComparisons says how far each comparison is.
func (s *Service) ListComparisons(ctx context.Context, _ id.Caller, _ *operationv1.ListComparisonsRequest) (*operationv1.ListComparisonsResponse, error) {
	list, err := s.deps.Reconciliation.Statuses(ctx)
	out := &operationv1.ListComparisonsResponse{}
	for _, v := range list {
		out.Comparisons = append(out.Comparisons, &operationv1.Comparison{Name: v.Comparison, Differences: uint32(v.Differences), Round: uint64(v.Number), BeganMs: v.BeganMs,
			Compared: uint64(v.Compared), EndedMs: v.EndedMs, Corrected: uint32(v.Corrected)})
	}
	return out, err
}

// ListDifferences gives what a comparison has found.
func (s *Service) ListDifferences(ctx context.Context, _ id.Caller, r *operationv1.ListDifferencesRequest) (*operationv1.ListDifferencesResponse, error) {
	limit := page(r.Limit)
	list, err := s.deps.Reconciliation.List(ctx, r.Comparison, r.After, limit+1)
	if err != nil {
		return nil, err
	}
	out := &operationv1.ListDifferencesResponse{More: len(list) > limit}
	for _, f := range list[:min(len(list), limit)] {
		out.Differences = append(out.Differences, differenceOf(&f))
	}
	return out, nil
}

// RepairDifference has a difference repaired.
func (s *Service) RepairDifference(ctx context.Context, c id.Caller, r *operationv1.RepairDifferenceRequest) (*operationv1.StoreDifference, error) {
	if !message.IsReason(r.Reason) {
		return nil, errReason
	}
	f, err := s.deps.Reconciliation.Repair(ctx, c.Key, r.Comparison, r.Subject, r.Reason)
	if err != nil {
		return nil, err
	}
	return differenceOf(&f), nil
}

func differenceOf(f *reconciliation.Found) *operationv1.StoreDifference {
	return &operationv1.StoreDifference{Comparison: f.Comparison, Subject: f.Subject, What: f.What(), FoundMs: f.FoundMs, Repairing: f.Repairing, Corrected: f.Corrected,
		Reason: string(f.Reason), Values: f.Values, Unrepairable: f.Unrepairable}
}
