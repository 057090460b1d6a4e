package operation_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/platform/reconciliation"
	"github.com/rialto-im/rialto/internal/service/operation"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// found is a reconciliation with differences.
type found struct {
	list     []reconciliation.Found
	repaired []string
}

func (f *found) Statuses(context.Context) ([]reconciliation.Status, error) {
	return []reconciliation.Status{{Round: reconciliation.Round{Comparison: "files", Number: 3, BeganMs: 20, Compared: 7, EndedMs: 19}, Differences: int64(len(f.list))}}, nil
}

func (f *found) List(_ context.Context, comparison, after string, limit int) (list []reconciliation.Found, err error) {
	for _, d := range f.list {
		if d.Comparison == comparison && d.Subject > after && len(list) < limit {
			list = append(list, d)
		}
	}
	return list, nil
}

func (f *found) Repair(_ context.Context, who, comparison, subject, reason string) (reconciliation.Found, error) {
	f.repaired = append(f.repaired, strings.Join([]string{who, comparison, subject, reason}, ","))
	return reconciliation.Found{Comparison: comparison, Difference: reconciliation.Difference{Subject: subject}, Repairing: true}, nil
}

// Comparisons and their differences are listed, in pages. A repair names who asked for it, and why.
func TestDifferencesAreListedAndRepaired(t *testing.T) {
	f := &found{}
	for _, subject := range []string{"upload 1", "upload 2", "upload 3"} {
		f.list = append(f.list, reconciliation.Found{Comparison: "files", Difference: reconciliation.Difference{Subject: subject, Reason: reconciliation.FileMissing, Values: reconciliation.Values{"file": "a/b"}}, FoundMs: 5, Unrepairable: true})
	}
	s := operation.New(operation.Deps{Reconciliation: f})
	all, err := s.ListComparisons(t.Context(), olga, &operationv1.ListComparisonsRequest{})
	must(t, err)
	if got := all.Comparisons; len(got) != 1 || got[0].String() != (&operationv1.Comparison{Name: "files", Differences: 3, Round: 3, BeganMs: 20, Compared: 7, EndedMs: 19}).String() {
		t.Errorf("the comparisons are %v", got)
	}
	var subjects []string
	for after, more := "", true; more; {
		page, err := s.ListDifferences(t.Context(), olga, &operationv1.ListDifferencesRequest{Comparison: "files", After: after, Limit: 2})
		must(t, err)
		for _, d := range page.Differences {
			subjects = append(subjects, d.Subject)
			if after = d.Subject; !strings.HasPrefix(d.What, "its file a/b is missing; ") || d.Reason != "file_missing" || d.Values["file"] != "a/b" || !d.Unrepairable || d.FoundMs != 5 || d.Repairing || d.Comparison != "files" {
				t.Errorf("a difference is %v", d)
			}
		}
		more = page.More
	}
	if want := []string{"upload 1", "upload 2", "upload 3"}; !slices.Equal(subjects, want) {
		t.Errorf("the differences are %q, want %q", subjects, want)
	}
	d, err := s.RepairDifference(t.Context(), olga, &operationv1.RepairDifferenceRequest{Comparison: "files", Subject: "upload 2", Reason: "it was lost"})
	must(t, err)
	if !d.Repairing || !slices.Equal(f.repaired, []string{"olga,files,upload 2,it was lost"}) {
		t.Errorf("the difference is %v; repairs were asked for: %q", d, f.repaired)
	}
	if _, err := s.RepairDifference(t.Context(), olga, &operationv1.RepairDifferenceRequest{Reason: strings.Repeat("é", 501)}); !errs.Is(err, errs.Invalid) {
		t.Errorf("with a long reason: %v", err)
	}
}
