package push

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/flightrecorder"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
	"go.opentelemetry.io/otel/attribute"
)

// maxTracedAttempts bounds what TraceAttempts returns for a user.
const maxTracedAttempts = 50

// record gives the recorder an attempt to push the message at seq.
func (s *Service) record(p *subscription, d delivery, seq uint64) {
	if to := s.deps.Recorder; to != nil {
		to.Add(flightrecorder.Record{AtUs: to.NowUs(), Kind: flightrecorder.Notified, Conversation: uint64(d.Conversation), Seq: seq, User: uint64(p.owner), Device: uint64(p.id)})
	}
}

// trace records an attempt to push a message if that is sampled.
func (s *Service) trace(n *notification, p *subscription, began time.Time, r *result) {
	m, err := id.ParseMessage(n.message)
	if err != nil || !s.deps.Tracer.Samples(m) {
		return
	}
	var failure error
	if r.kind == failed || r.kind == retry {
		failure = errRetry{r.detail}
	}
	s.deps.Tracer.Record(tracing.StepSpan{Message: m, Step: tracing.Notify, Began: began, Err: failure, Attributes: []attribute.KeyValue{
		attribute.String("rialto.user", p.owner.String()), attribute.String("rialto.push.provider", strings.ToLower(strings.TrimPrefix(p.provider.String(), "PUSH_PROVIDER_"))),
		attribute.String("rialto.push.result", strings.ToLower(strings.TrimPrefix(r.kind.String(), "PUSH_RESULT_")))}})
}

// TraceAttempts returns the attempts to notify some users of the message at seq, or of a newer one in its place, as far as they are kept. Device is
// the subscription.
func (s *Service) TraceAttempts(ctx context.Context, users []id.User, c id.Conversation, seq uint64) (map[id.User][]*chatv1.TraceStep, error) {
	steps := map[id.User][]*chatv1.TraceStep{}
	if len(users) == 0 {
		return steps, nil
	}
	marks, args := sqldb.Placeholders(3, users, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, subscription, seq, at_ms, result, status, detail FROM push_attempts WHERE conversation = $1 AND seq >= $2 AND owner IN (`+marks+`) ORDER BY n`,
		append([]any{int64(c), int64(seq)}, args...)...)
	reached := map[int64]bool{} // subscriptions that were notified of the message, or of a newer one
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var u id.User
		var subscription int64
		var of uint64
		var result pushv1.PushResult
		var status uint32
		var detail string
		step := &chatv1.TraceStep{Kind: chatv1.TraceStepKind_TRACE_STEP_KIND_NOTIFIED}
		if err := rows.Scan(&u, &subscription, &of, &step.TimeUs, &result, &status, &detail); err != nil {
			return err
		}
		if reached[subscription] || len(steps[u]) == maxTracedAttempts {
			return nil
		}
		reached[subscription] = result == sent
		step.TimeUs *= 1000
		step.Device, step.User, step.Detail = uint64(subscription), uint64(u), describe(result, status, detail)
		if of != seq {
			step.Detail += ", for the newer message " + strconv.FormatUint(of, 10)
		}
		steps[u] = append(steps[u], step)
		return nil
	})
	return steps, err
}

// describe says what became of an attempt: sent, retry (503: the provider is overloaded).
func describe(result pushv1.PushResult, status uint32, detail string) string {
	text := strings.ToLower(strings.TrimPrefix(result.String(), "PUSH_RESULT_"))
	if status != 0 {
		text += " " + strconv.FormatUint(uint64(status), 10)
	}
	if detail != "" {
		text += ": " + detail
	}
	return text
}
