package officialaccount

import (
	"context"
	"database/sql"
	"math"
	"strings"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

const maxTapKey = 40

var (
	errTap      = errs.New(errs.Invalid, "bad_tap", "name an entry of the menu that has a reply, and a key of 1 to 40 letters, digits, - and _; read the account again if its menu has changed")
	errTapsBusy = &errs.Error{Kind: errs.Exhausted, Reason: "too_many_taps", Message: "you get at most ten replies in a minute; try again later", Retry: replyWindow}
)

// Tap stores the reply of a menu item, which is sent soon. A second tap with the same key stores nothing.
func (s *Service) Tap(ctx context.Context, u id.User, r *chatv1.TapOfficialMenuRequest) (*chatv1.TapOfficialMenuResponse, error) {
	if id.User(r.User) > math.MaxInt64 {
		return nil, errNoAccount
	}
	o, err := read(ctx, s.deps.DB.Read(), id.User(r.User))
	if err != nil {
		return nil, err
	}
	menu, err := o.menuOf()
	if err != nil {
		return nil, err
	}
	content := replyOf(menu, int(r.Entry), int(r.Item))
	if content == nil || !isKey(r.Key) || o.disabled || u == o.account {
		return nil, errTap
	}
	conversation, err := s.deps.Chat.OpenDirect(ctx, u, o.account)
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		c, err := readContact(ctx, tx, o.account, u)
		if err != nil {
			return err
		}
		if !c.mayReply(s.nowMs()) {
			return errTapsBusy
		}
		if err := c.store(ctx, tx); err != nil {
			return err
		}
		return s.putReply(ctx, tx, &reply{account: o.account, recipient: u, token: "menu." + r.Key, conversation: conversation, content: content})
	})
	if err != nil {
		return nil, err
	}
	s.signal()
	return &chatv1.TapOfficialMenuResponse{Conversation: uint64(conversation)}, nil
}

// replyOf returns the reply of a menu item, or nil.
func replyOf(menu *chatv1.OfficialMenu, entry, item int) *chatv1.Content {
	if entry >= len(menu.Entries) {
		return nil
	}
	e := menu.Entries[entry]
	if item == 0 {
		return e.Item.GetReply()
	}
	if item > len(e.Items) {
		return nil
	}
	return e.Items[item-1].GetReply()
}

func isKey(key string) bool {
	return key != "" && len(key) <= maxTapKey && strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}
