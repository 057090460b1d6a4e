package chat

import (
	"errors"
	"time"

	"github.com/rialto-im/rialto/internal/base/tracing"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"go.opentelemetry.io/otel/attribute"
)

// trace prepares the trace of an append if its message is sampled.
func (s *Service) trace(p *pendingAppend) {
	if s.deps.Tracer.Samples(p.draft.ID) {
		p.append.Traced, p.traced = s.deps.Tracer.NewMember(p.draft.ID), time.Now()
	}
}

// recordAppend records an append that has ended, and where no transport does so, the whole send. A retry of a stored message, and a draft that is appended again
// because the conversation has changed, leave none: their ids are in no log.
func (s *Service) recordAppend(p *pendingAppend) {
	d, member := p.draft, p.append.Traced
	if member == nil || d.Duplicate || errors.Is(d.Err, timeline.ErrStale) {
		return
	}
	step := tracing.StepSpan{Message: d.ID, Step: tracing.Commit, Self: member.Self, Batch: member.Batch, Began: p.traced, Err: d.Err,
		Attributes: []attribute.KeyValue{attribute.String("rialto.conversation", d.Conversation.String()), attribute.Int64("rialto.seq", int64(d.Seq))}}
	s.deps.Tracer.Record(step)
	if d.Accepted == 0 {
		s.deps.Tracer.Record(tracing.StepSpan{Message: d.ID, Step: tracing.Send, Began: p.traced, Request: d.Request, Err: d.Err,
			Attributes: []attribute.KeyValue{attribute.String("rialto.conversation", d.Conversation.String()), attribute.String("rialto.sender", d.Sender.String())}})
	}
}
