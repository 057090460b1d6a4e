package streamedmessage

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// refusing is a Chat that stores nothing.
type refusing struct{ Chat }

var errRefused = errs.New(errs.Denied, "refused", "refused")

func (refusing) Streamed(context.Context, id.User, id.Conversation, uint64) (*message.Streamed, error) {
	return nil, errRefused
}

func (refusing) StreamedReaders(context.Context, id.Conversation, uint64, id.User) (message.StreamedReaders, error) {
	return message.StreamedReaders{}, errRefused
}

func (refusing) EndStreamed(context.Context, id.Conversation, uint64, id.User, *chatv1.Content) (uint64, error) {
	return 0, errRefused
}

func (refusing) BreakOffStreamed(context.Context, id.Conversation, uint64, id.User, string, *chatv1.BrokenOff) (uint64, error) {
	return 0, errRefused
}

// A request of another node is executed or refused. Whatever it is, the text of a message that this node holds stays valid and within its bound, only its sender adds to it, and it is never shorter
// than before.
func FuzzRequests(f *testing.F) {
	const sender, reader = 5, 6
	add := func(kind byte, u id.User, q proto.Message) {
		b, err := appendRequest(nil, kind, u, q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	part := func(offset uint32, text string) *chatv1.WriteStreamedMessagesRequest {
		return &chatv1.WriteStreamedMessagesRequest{Parts: []*chatv1.StreamedPart{{Conversation: 7, Seq: 9, Offset: offset, Text: text}, {Conversation: 8, Seq: 9}}}
	}
	add(askWrite, sender, part(4, "ße more"))
	add(askWrite, sender, part(3, "x"))
	add(askWrite, sender, part(5, strings.Repeat("字", message.MaxText)))
	add(askWrite, sender, part(5, "with\x00zero"))
	add(askWrite, reader, part(5, "of another user"))
	add(askEnd, sender, &chatv1.EndStreamedMessageRequest{Conversation: 7, Seq: 9, Length: 5})
	add(askEnd, sender, &chatv1.EndStreamedMessageRequest{Conversation: 7, Seq: 9, Failed: true})
	add(askStop, reader, &chatv1.StopStreamedMessageRequest{Conversation: 7, Seq: 9})
	add(askGet, reader, &chatv1.GetStreamedMessageRequest{Conversation: 7, Seq: 9})
	f.Add([]byte{9, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Service{deps: Deps{Chat: refusing{}, Clock: clock.System{}}, held: map[key]*held{}, byUser: map[id.User]*share{}, byConversation: map[id.Conversation]int{}, changed: map[key]*held{}}
		s.config.MaxPerUser = 1
		k := key{7, 9}
		if err := s.reserve(sender, k.conversation); err != nil {
			t.Fatal(err)
		}
		h := s.hold(&row{key: k, sender: sender, text: "Grüße"})
		_, err := s.execute(t.Context(), b)
		kind, u, _, malformed := parseRequest(b)
		text := string(h.text)
		switch {
		case (malformed != nil || kind < askWrite || kind > askGet) && err == nil:
			t.Errorf("%x was executed", b)
		case !strings.HasPrefix(text, "Grüße") || !utf8.ValidString(text) || strings.Contains(text, "\x00") || h.length != utf8.RuneCountInString(text) || h.length > message.MaxText:
			t.Errorf("after %x there are %d characters, in the text %.100q of %d", b, h.length, text, utf8.RuneCountInString(text))
		case text != "Grüße" && (u != sender || kind != askWrite):
			t.Errorf("the request %d of user %d added %.100q", kind, u, text)
		case s.bytes.Load() != int64(len(text)) && !h.gone || h.gone && s.bytes.Load() != 0:
			t.Errorf("%d bytes are counted of %d", s.bytes.Load(), len(text))
		}
	})
}
