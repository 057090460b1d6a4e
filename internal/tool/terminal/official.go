package terminal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

var errMenuItem = errorf("use /menu to see the menu of the official account, and /menu N or /menu N.M to choose")

// menu shows the menu of the official account whose chat or channel is open, as numbers, or chooses one of them.
func (s *screen) menu(ctx context.Context, rest string) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	of, err := officialOf(c)
	if err != nil {
		return err
	}
	account, err := call(ctx, s.client.Official().GetOfficialAccount, of)
	if err != nil {
		return err
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		return s.chooseItem(ctx, account, rest)
	}
	for _, line := range menuLines(account) {
		s.say("%s", line)
	}
	return nil
}

// officialOf names the official account that a conversation is with, or whose channel it is.
func officialOf(c *chatv1.Conversation) (*chatv1.GetOfficialAccountRequest, error) {
	switch {
	case c.Kind == chatv1.ConversationKind_CONVERSATION_KIND_DIRECT:
		return &chatv1.GetOfficialAccountRequest{User: c.Peer}, nil
	case c.Channel:
		return &chatv1.GetOfficialAccountRequest{Channel: c.Id}, nil
	}
	return nil, errorf("open the chat with an official account, or its channel, first")
}

// menuLines returns a menu as it is shown.
func menuLines(a *chatv1.OfficialAccount) (lines []string) {
	if !a.Following {
		lines = append(lines, phrasef("You do not follow this account: /channel join %d", a.Channel))
	}
	if len(a.Menu) == 0 {
		return append(lines, phrase("It has no menu."))
	}
	for n, e := range a.Menu {
		lines = append(lines, fmt.Sprintf("  %d    %s", n+1, plain(e.Item.Title)))
		for m, item := range e.Items {
			lines = append(lines, fmt.Sprintf("  %d.%d  %s", n+1, m+1, plain(item.Title)))
		}
	}
	return lines
}

// itemAt returns the place of a menu item that is written as N or N.M.
func itemAt(a *chatv1.OfficialAccount, text string) (entry, item int, of *chatv1.OfficialMenuItem, err error) {
	n, m, sub := strings.Cut(text, ".")
	entry, err = strconv.Atoi(n)
	if err == nil && sub {
		item, err = strconv.Atoi(m)
	}
	if err != nil || entry < 1 || entry > len(a.Menu) || item < 0 || sub && item == 0 || item > len(a.Menu[entry-1].Items) {
		return 0, 0, nil, errMenuItem
	}
	if of = a.Menu[entry-1].Item; item > 0 {
		of = a.Menu[entry-1].Items[item-1]
	}
	return entry - 1, item, of, nil
}

func (s *screen) chooseItem(ctx context.Context, a *chatv1.OfficialAccount, text string) error {
	entry, item, of, err := itemAt(a, text)
	if err != nil {
		return err
	}
	switch action := of.Action.(type) {
	case *chatv1.OfficialMenuItem_Url:
		s.say("  %s", plain(action.Url))
	case *chatv1.OfficialMenuItem_Text:
		if c, err := s.current(); err != nil {
			return err
		} else if c.Channel { // the text is for the account, whose channel is open
			chat, err := call(ctx, s.client.Chat().OpenDirect, &chatv1.OpenDirectRequest{User: a.User})
			if err != nil {
				return err
			}
			if err := s.enter(ctx, chat); err != nil {
				return err
			}
		}
		return s.send(ctx, action.Text)
	case *chatv1.OfficialMenuItem_Reply:
		// A new key for each command: only the user repeats it.
		key := "tap-" + strconv.FormatInt(time.Now().UnixNano(), 36)
		_, err := call(ctx, s.client.Official().TapOfficialMenu, &chatv1.TapOfficialMenuRequest{User: a.User, Entry: uint32(entry), Item: uint32(item), Key: key})
		return err
	default:
		return errMenuItem
	}
	return nil
}
