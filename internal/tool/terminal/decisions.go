package terminal

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	moderationv1 "github.com/rialto-im/rialto/sdk/go/gen/moderation/v1"
)

// decisionsShown is the number of decisions that /decisions shows.
const decisionsShown = 20

var errDecisions = errorf("give /decisions, /decisions ok N or /decisions appeal N TEXT")

var actionWords = map[moderationv1.Action]string{moderationv1.Action_ACTION_HIDE: "hidden", moderationv1.Action_ACTION_RECALL: "recalled", moderationv1.Action_ACTION_WARN: "warning",
	moderationv1.Action_ACTION_BAN: "ban", moderationv1.Action_ACTION_REFUSE: "refused"}

// announceWarnings shows the warnings that the user has not acknowledged, each once.
func (s *screen) announceWarnings(ctx context.Context) error {
	r, err := call(ctx, s.client.Moderation().ListMyDecisions, &moderationv1.ListMyDecisionsRequest{Unacknowledged: true, Limit: decisionsShown})
	if err != nil {
		return err
	}
	s.mu.Lock()
	var fresh []*moderationv1.DecisionNotice
	for _, d := range r.Decisions {
		if !s.warned[d.Id] {
			s.warned[d.Id] = true
			fresh = append(fresh, d)
		}
	}
	if len(fresh) > 0 {
		s.decisionIDs = decisionIDs(fresh)
	}
	s.mu.Unlock()
	for i, d := range fresh {
		s.say("* the moderators warn you: %s", decisionText(d))
		s.say("* say that you have read it by /decisions ok %d; /decisions appeal %d TEXT, if you disagree", i+1, i+1)
	}
	return nil
}

func decisionIDs(list []*moderationv1.DecisionNotice) (ids []uint64) {
	for _, d := range list {
		ids = append(ids, d.Id)
	}
	return ids
}

// reasonWord is the word for what a decision is about.
func reasonWord(r moderationv1.ReportReason) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(r.String(), "REPORT_REASON_"), "_", " "))
}

// decisionText is what a decision says, in one line.
func decisionText(d *moderationv1.DecisionNotice) string {
	text := phrase(reasonWord(d.Reason))
	if d.Explanation != "" {
		text += ", " + strconv.Quote(oneLine(plain(d.Explanation)))
	}
	if d.Excerpt != "" {
		text += phrasef(" (about %q)", excerpt.Marked(oneLine(plain(d.Excerpt)), 60))
	}
	return text
}

// decisions lists what moderators decided about the user, acknowledges a warning, or appeals. Numbers are those that were shown last, or of a list of now if none was.
func (s *screen) decisions(ctx context.Context, rest string) error {
	s.mu.Lock()
	shown := s.decisionIDs
	s.mu.Unlock()
	if rest == "" || len(shown) == 0 {
		r, err := call(ctx, s.client.Moderation().ListMyDecisions, &moderationv1.ListMyDecisionsRequest{Limit: decisionsShown})
		if err != nil {
			return err
		}
		shown = decisionIDs(r.Decisions)
		s.mu.Lock()
		s.decisionIDs = shown
		s.mu.Unlock()
		if rest == "" {
			s.listDecisions(r.Decisions)
			return nil
		}
	}
	verb, rest, _ := strings.Cut(rest, " ")
	number, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, err := strconv.Atoi(number)
	if err != nil || verb != "ok" && verb != "appeal" {
		return errDecisions
	}
	if n < 1 || n > len(shown) {
		return errorf("there is no decision %d; /decisions lists them", n)
	}
	if verb == "ok" {
		_, err = call(ctx, s.client.Moderation().AcknowledgeDecision, &moderationv1.AcknowledgeDecisionRequest{Decision: shown[n-1]})
	} else {
		_, err = call(ctx, s.client.Moderation().AppealDecision, &moderationv1.AppealDecisionRequest{Decision: shown[n-1], Text: strings.TrimSpace(text)})
	}
	return s.done(err)
}

func (s *screen) listDecisions(list []*moderationv1.DecisionNotice) {
	if len(list) == 0 {
		s.say("The moderators have decided nothing about you.")
	}
	for i, d := range list {
		s.say("%3d %s, %s: %s%s", i+1, dated(time.UnixMilli(d.TimeMs), "2 January 15:04"), phrase(actionWords[d.Action]), decisionText(d), decisionState(d))
	}
}

// decisionState says what has become of a decision.
func decisionState(d *moderationv1.DecisionNotice) (text string) {
	if d.Action == moderationv1.Action_ACTION_WARN && d.AcknowledgedMs == 0 {
		text = phrase("; not acknowledged")
	}
	switch d.Appeal {
	case moderationv1.AppealState_APPEAL_STATE_OPEN:
		text += phrase("; you have appealed")
	case moderationv1.AppealState_APPEAL_STATE_UPHELD:
		text += phrase("; your appeal was rejected")
	case moderationv1.AppealState_APPEAL_STATE_OVERTURNED:
		text += phrase("; overturned")
	}
	return text
}
