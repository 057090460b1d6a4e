package moderation_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/moderation"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// warnings returns the warnings that a user has not acknowledged.
func (f *fixture) warnings(u id.User) []*moderationv1.DecisionNotice {
	f.t.Helper()
	r, err := f.ListMyDecisions(f.t.Context(), u, &moderationv1.ListMyDecisionsRequest{Unacknowledged: true})
	must(f.t, err)
	return r.Decisions
}

func (f *fixture) acknowledge(u id.User, decision uint64) error {
	_, err := f.AcknowledgeDecision(f.t.Context(), u, &moderationv1.AcknowledgeDecisionRequest{Decision: decision})
	return err
}

// A warning is shown until its user acknowledges it, and the user's devices are told of both. Moderators see when that was. It may be appealed, before and after.
func TestWarningsAreAcknowledged(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	f.report(bob, subject(ofUser, uint64(alice), 0))
	d := f.decide(f.onlyCase(), warn, 0)
	if !slices.Equal(f.hinted, []id.User{alice}) {
		t.Errorf("told of the warning: %v, want %v", f.hinted, alice)
	}
	f.report(bob, subject(ofPost, f.post(alice, "a post"), 0))
	f.decide(f.onlyCase(), hide, 0)
	if len(f.hinted) != 1 {
		t.Errorf("told of a post that is hidden: %v", f.hinted)
	}
	list := f.warnings(alice)
	if len(list) != 1 || list[0].Id != d.Id || list[0].Explanation != "it breaks the rules" || list[0].AcknowledgedMs != 0 {
		t.Fatalf("the warnings are %v", list)
	}
	if err := f.acknowledge(bob, d.Id); reason(err) != "no_decision" {
		t.Errorf("another user acknowledges it: %v", err)
	}
	if mine, err := f.ListMyDecisions(t.Context(), alice, &moderationv1.ListMyDecisionsRequest{}); err != nil || len(mine.Decisions) != 2 {
		t.Errorf("the decisions are %v, %v", mine, err)
	} else if err := f.acknowledge(alice, mine.Decisions[0].Id); reason(err) != "no_decision" {
		t.Errorf("a post that is hidden is acknowledged: %v", err)
	}
	now := f.clock.Now().UnixMilli()
	must(t, f.acknowledge(alice, d.Id))
	f.clock.Advance(1 << 30)
	must(t, f.acknowledge(alice, d.Id)) // a retry does not move the time
	if list := f.warnings(alice); len(list) != 0 {
		t.Errorf("after it was acknowledged, the warnings are %v", list)
	}
	if len(f.hinted) < 2 || f.hinted[1] != alice {
		t.Errorf("other devices are told: %v", f.hinted)
	}
	cases := f.cases(&moderationv1.ListCasesRequest{State: moderationv1.CaseState_CASE_STATE_DECIDED, Kind: ofUser})
	if len(cases) != 1 || cases[0].Decision.AcknowledgedMs != now {
		t.Errorf("moderators see %v, want the time %d", cases, now)
	}
	if _, err := f.AppealDecision(t.Context(), alice, &moderationv1.AppealDecisionRequest{Decision: d.Id, Text: "it was not me"}); err != nil {
		t.Error(err)
	}
	if lines := f.audited(); !strings.Contains(strings.Join(lines, "\n"), "mia; case.decide; open; warn user") {
		t.Errorf("the audit log is %q", lines)
	}
}

// A warning that an appeal overturned is not shown any more.
func TestOverturnedWarningsAreNotShown(t *testing.T) {
	f := open(t, 1)
	alice, bob := f.user(), f.user()
	f.report(bob, subject(ofUser, uint64(alice), 0))
	d := f.decide(f.onlyCase(), warn, 0)
	a, err := f.AppealDecision(t.Context(), alice, &moderationv1.AppealDecisionRequest{Decision: d.Id, Text: "it was not me"})
	must(t, err)
	_, err = f.DecideAppeal(t.Context(), moe, &moderationv1.DecideAppealRequest{Appeal: a.Appeal, Overturn: true})
	must(t, err)
	if list := f.warnings(alice); len(list) != 0 {
		t.Errorf("the warnings are %v", list)
	}
}

// Queries have enums as numbers.
func TestQueriesHaveTheNumbersOfEnums(t *testing.T) {
	var untold []string
	for _, n := range slices.Sorted(maps.Keys(moderationv1.Action_name)) {
		if a := moderationv1.Action(n); a != 0 && !moderation.IsTold(a) {
			untold = append(untold, strconv.Itoa(int(n)))
		}
	}
	if got := "(" + strings.Join(untold, ", ") + ")"; got != moderation.UntoldActions {
		t.Errorf("users are not told of the actions %s, and queries leave out %s", got, moderation.UntoldActions)
	}
	if got := strconv.Itoa(int(ofHeld)); got != moderation.HeldKind {
		t.Errorf("what is held has the kind %s, in queries %s", got, moderation.HeldKind)
	}
}
