package streamedmessage

import (
	"context"
	"encoding/binary"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/platform/nodecall"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// First bytes of requests to the holder of a message; the user and the request of the call follow. See docs/formats/streamed.md.
const (
	askWrite byte = 1
	askEnd   byte = 2
	askStop  byte = 3
	askGet   byte = 4
)

// First bytes of answers.
const (
	answerDone  byte = 1 // the answer of the call follows
	answerError byte = 2
)

func appendRequest(b []byte, kind byte, u id.User, q proto.Message) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(binary.BigEndian.AppendUint64(append(b, kind), uint64(u)), q)
}

func parseRequest(b []byte) (kind byte, u id.User, body []byte, err error) {
	if len(b) < 9 {
		return 0, 0, nil, errRequest
	}
	return b[0], id.User(binary.BigEndian.Uint64(b[1:])), b[9:], nil
}

// askPolicy: the sender goes on with the same part, and another node takes the message over once its holder is gone.
var askPolicy = nodecall.FailFast{Timeout: askTimeout}

// ask has another node execute a call.
func (s *Service) ask(ctx context.Context, node string, kind byte, u id.User, q, a proto.Message) error {
	b, err := appendRequest(nil, kind, u, q)
	if err != nil {
		return err
	}
	answer, err := askPolicy.Ask(ctx, s.deps.Bus, subject(node), b)
	switch {
	case err != nil:
		return err
	case len(answer) > 0 && answer[0] == answerDone:
		return proto.Unmarshal(answer[1:], a)
	case len(answer) > 0 && answer[0] == answerError:
		if e, ok := message.DecodeError(answer[1:]); ok {
			return e
		}
	}
	return errRequest
}

// respond executes a call for another node, which has checked who calls.
func (s *Service) respond(data []byte) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	a, err := s.execute(ctx, data)
	var b []byte
	if err == nil {
		b, err = proto.MarshalOptions{}.MarshalAppend([]byte{answerDone}, a)
	}
	if err != nil {
		if errs.Of(err).Kind == errs.Internal {
			s.deps.Logger.Error("a request of another node about a streamed message failed", "error", err)
		}
		return message.AppendError([]byte{answerError}, err)
	}
	return b
}

func (s *Service) execute(ctx context.Context, data []byte) (proto.Message, error) {
	kind, u, body, err := parseRequest(data)
	if err != nil {
		return nil, err
	}
	switch kind {
	case askWrite:
		q := &chatv1.WriteStreamedMessagesRequest{}
		if err := proto.Unmarshal(body, q); err != nil {
			return nil, err
		}
		return s.writeHere(ctx, u, q), nil
	case askEnd, askStop, askGet:
		return s.executeOne(ctx, kind, u, body)
	}
	return nil, errRequest
}

// writeHere adds parts to messages that this node holds, and to no others.
func (s *Service) writeHere(ctx context.Context, u id.User, q *chatv1.WriteStreamedMessagesRequest) *chatv1.WriteStreamedMessagesResponse {
	a := &chatv1.WriteStreamedMessagesResponse{}
	for _, p := range q.Parts {
		h := s.find(key{id.Conversation(p.Conversation), p.Seq})
		switch err := checkPart(p); {
		case err != nil: // a database that refuses U+0000 would renew no row of the node
			a.Results = append(a.Results, resultOf(nil, err))
		case h != nil:
			a.Results = append(a.Results, s.writeHeld(ctx, h, u, p))
		default:
			a.Results = append(a.Results, resultOf(nil, errMoving))
		}
	}
	return a
}

// executeOne executes a call about one message that this node holds.
func (s *Service) executeOne(ctx context.Context, kind byte, u id.User, body []byte) (proto.Message, error) {
	q := &chatv1.EndStreamedMessageRequest{} // the requests of the others have its first fields
	if err := proto.Unmarshal(body, q); err != nil {
		return nil, err
	}
	h := s.find(key{id.Conversation(q.Conversation), q.Seq})
	switch {
	case h == nil:
		return nil, errMoving
	case kind == askGet:
		return s.textOf(h), nil
	case kind == askStop:
		return s.breakOffHeld(ctx, h, &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_STOPPED, By: uint64(u)})
	case q.Failed:
		return s.breakOffHeld(ctx, h, &chatv1.BrokenOff{Cause: chatv1.BrokenOff_CAUSE_FAILED})
	}
	return s.endHeld(ctx, h, u, q.Length)
}
