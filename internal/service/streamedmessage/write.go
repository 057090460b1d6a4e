package streamedmessage

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/inputlimit"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// maxLookups bounds the parts of a call for messages that this node does not hold, or that are another user's.
const maxLookups = 16

// Write adds parts to messages of their sender.
func (s *Service) Write(ctx context.Context, c id.Caller, q *chatv1.WriteStreamedMessagesRequest) (*chatv1.WriteStreamedMessagesResponse, error) {
	if len(q.Parts) == 0 || len(q.Parts) > maxParts {
		return nil, inputlimit.ErrParts
	}
	a := &chatv1.WriteStreamedMessagesResponse{Results: make([]*chatv1.WriteResult, len(q.Parts))}
	elsewhere := map[string][]int{} // indexes by the node that holds the message
	lookups := 0
	for i, p := range q.Parts {
		k := key{id.Conversation(p.Conversation), p.Seq}
		h, node := s.find(k), ""
		err := checkPart(p)
		if err == nil && (h == nil || h.sender != c.User) {
			if lookups++; lookups > maxLookups {
				err = errMoving
			} else {
				h, node, err = s.holderFor(ctx, c.User, k)
			}
		}
		switch {
		case err == nil && h != nil:
			a.Results[i] = s.writeHeld(ctx, h, c.User, p)
		case err == nil:
			elsewhere[node] = append(elsewhere[node], i)
		default:
			a.Results[i] = resultOf(nil, err)
		}
	}
	for node, indexes := range elsewhere {
		s.writeElsewhere(ctx, node, c.User, q, indexes, a)
	}
	return a, nil
}

// holderFor returns a message of a user that this node holds or begins to hold, or else the node that does.
func (s *Service) holderFor(ctx context.Context, u id.User, k key) (*held, string, error) {
	r, err := s.read(ctx, k)
	switch {
	case err != nil:
		return nil, "", err
	case r == nil:
		if _, err := s.deps.Chat.Streamed(ctx, u, k.conversation, k.seq); err != nil {
			return nil, "", err
		}
		return nil, "", errEnded
	case r.sender != u:
		return nil, "", s.notSender(ctx, u, k)
	case !s.isGone(r.node):
		return nil, r.node, nil
	}
	h, r, err := s.holdRow(ctx, k)
	if err == nil && h == nil {
		if err = errEnded; r != nil {
			err = errMoving
		}
	}
	return h, "", err
}

// notSender is the refusal of a user who did not write a message. Who may not read it is answered as if there were none.
func (s *Service) notSender(ctx context.Context, u id.User, k key) error {
	if _, err := s.deps.Chat.Streamed(ctx, u, k.conversation, k.seq); err != nil {
		return err
	}
	return errSender
}

// writeHeld adds a part to a message that this node holds.
func (s *Service) writeHeld(ctx context.Context, h *held, u id.User, p *chatv1.StreamedPart) *chatv1.WriteResult {
	if h.sender != u {
		return resultOf(nil, s.notSender(ctx, u, h.key))
	}
	changed, err := s.write(h, p)
	if changed {
		s.setChanged(h)
	}
	return resultOf(h, err)
}

func resultOf(h *held, err error) *chatv1.WriteResult {
	r := &chatv1.WriteResult{}
	if h != nil {
		h.mu.Lock()
		r.Length = uint32(h.length)
		h.mu.Unlock()
	}
	if e := errs.Of(err); err != nil {
		r.Reason, r.Message, r.Ended = e.Reason, e.Message, e.Reason == errEnded.Reason || e.Reason == "recalled"
	}
	return r
}

// writeElsewhere has another node add parts, and copies the results.
func (s *Service) writeElsewhere(ctx context.Context, node string, u id.User, q *chatv1.WriteStreamedMessagesRequest, indexes []int, a *chatv1.WriteStreamedMessagesResponse) {
	parts := &chatv1.WriteStreamedMessagesRequest{}
	for _, i := range indexes {
		parts.Parts = append(parts.Parts, q.Parts[i])
	}
	results := &chatv1.WriteStreamedMessagesResponse{}
	err := s.ask(ctx, node, askWrite, u, parts, results)
	if err == nil && len(results.Results) != len(indexes) {
		err = errRequest
	}
	for n, i := range indexes {
		if err != nil {
			a.Results[i] = resultOf(nil, err)
		} else {
			a.Results[i] = results.Results[n]
		}
	}
}
