package terminal

import (
	"context"
	"strings"
	"time"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// listDelivered lists who has received a message of one's own and who has not. In a one-to-one chat it says it of the other's devices, if they
// are shown.
func (s *screen) listDelivered(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	seq, err := s.ownSeq(ctx, c.Id, rest)
	if err != nil {
		return err
	}
	for _, undelivered := range []bool{false, true} {
		var devices []*chatv1.DeviceDelivery
		names, err := s.namesOf(ctx, func(page string) ([]uint64, string, error) {
			r, err := call(ctx, s.client.Chat().ListDeliveries, &chatv1.ListDeliveriesRequest{Conversation: c.Id, Seq: seq, Limit: pageSize, Page: page, Undelivered: undelivered})
			devices = r.GetDevices()
			return r.GetUsers(), r.GetNext(), err
		})
		if err != nil {
			return err
		}
		for _, d := range devices {
			if d.Delivered != undelivered {
				names = append(names, oneLine(plain(d.Type)))
			}
		}
		if len(names) > 0 {
			s.say("  %s: %s", map[bool]string{false: "delivered", true: "not delivered"}[undelivered], strings.Join(names, ", "))
		}
	}
	return nil
}

// ownSeq returns the number of a message that a command names, or that of the user's newest message.
func (s *screen) ownSeq(ctx context.Context, conversation uint64, rest string) (uint64, error) {
	if rest != "" {
		return parseSeq(rest)
	}
	m, err := s.lastOwn(ctx, conversation)
	return m.GetSeq(), err
}

// namesOf returns the names of the users on all pages of a list.
func (s *screen) namesOf(ctx context.Context, read func(page string) (users []uint64, next string, err error)) (names []string, err error) {
	for page := ""; ; {
		users, next, err := read(page)
		if err != nil {
			return nil, err
		}
		if err := s.readNames(ctx, users); err != nil {
			return nil, err
		}
		for _, u := range users {
			names = append(names, s.name(ctx, u))
		}
		if page = next; page == "" {
			return names, nil
		}
	}
}

// receivedText says what a session's device has received, "" if it is not known.
func receivedText(n *accountv1.SessionInfo) string {
	switch {
	case n.UpToDate:
		return ", up to date"
	case n.BehindSinceMs != 0:
		return ", lacks messages since " + time.UnixMilli(n.BehindSinceMs).Format("2 January, 15:04")
	}
	return ""
}
