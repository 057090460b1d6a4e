package terminal

import (
	"context"
	"strings"
	"time"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// listDelivered lists who has received a message of one's own, and who has not. In a one-to-one chat it also lists the types of the other user's
// devices, if that user shows them.
func (s *screen) listDelivered(ctx context.Context, rest string) error {
	conversation, seq, err := s.ownMessage(ctx, rest)
	if err != nil {
		return err
	}
	for i, heading := range []string{phrase("delivered"), phrase("not delivered")} {
		undelivered := i == 1
		var devices []*chatv1.DeviceDelivery
		names, err := s.namesOf(ctx, func(page string) ([]uint64, string, error) {
			r, err := call(ctx, s.client.Chat().ListDeliveries, &chatv1.ListDeliveriesRequest{Conversation: conversation, Seq: seq, Limit: pageSize, Page: page, Undelivered: undelivered})
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
		s.sayNames(heading, names)
	}
	return nil
}

// ownMessage returns the place of a message of the open chat: the one that a command names, or else the user's newest one.
func (s *screen) ownMessage(ctx context.Context, rest string) (conversation, seq uint64, err error) {
	c, err := s.current()
	if err != nil {
		return 0, 0, err
	}
	if rest != "" {
		seq, err = parseSeq(rest)
		return c.Id, seq, err
	}
	m, err := s.lastOwn(ctx, c.Id)
	return c.Id, m.GetSeq(), err
}

// sayNames prints a list of names under a heading, unless it is empty.
func (s *screen) sayNames(heading string, names []string) {
	if len(names) > 0 {
		s.say("  %s: %s", heading, strings.Join(names, ", "))
	}
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
		return phrase(", up to date")
	case n.BehindSinceMs != 0:
		return phrasef(", lacks messages since %s", dated(time.UnixMilli(n.BehindSinceMs), "2 January, 15:04"))
	}
	return ""
}
