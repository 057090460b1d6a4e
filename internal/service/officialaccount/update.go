package officialaccount

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

const (
	maxEntries          = 3
	maxItems            = 5
	maxTitleCharacters  = 24
	maxTextCharacters   = 200 // of what a menu item sends as the user
	maxRules            = 100
	maxKeywords         = 10
	maxKeywordLength    = 64
	maxReplyCharacters  = 2000
	maxMenu, maxReplies = 64 << 10, 256 << 10 // bytes
)

var (
	errRules    = errs.New(errs.Invalid, "bad_rules", "give at most 100 rules, each with how it matches, 1 to 10 keywords of 1 to 64 characters and a reply; all together have at most 256 KiB")
	errReply    = errs.New(errs.Invalid, "bad_reply", "a reply or a broadcast is a text of at most 2,000 characters, a card without a picture, a location or a custom message; it answers no message and has no mentions or link preview")
	errChanged  = errs.New(errs.Conflict, "changed_meanwhile", "somebody else changed the account meanwhile; read it again, and repeat your change")
	errNoChange = errs.New(errs.Invalid, "no_change", "give a menu or replies")
)

// Update replaces the menu or the replies of an account, or both.
func (s *Service) Update(ctx context.Context, by id.User, r *chatv1.UpdateOfficialAccountRequest) (*chatv1.OfficialAccount, error) {
	account := id.User(r.User)
	if account > math.MaxInt64 {
		return nil, errNotOperator
	}
	if _, _, err := operated(ctx, s.deps.DB.Read(), account, by); err != nil {
		return nil, err
	}
	if r.Menu == nil && r.Replies == nil {
		return nil, errNoChange
	}
	menu, err := s.checkMenu(account, r.Menu)
	if err != nil {
		return nil, err
	}
	replies, err := s.checkReplies(account, r.Replies)
	if err != nil {
		return nil, err
	}
	tails, err := s.deps.Streams.Tails(ctx, []id.User{account}) // what was written before is not answered
	if err != nil {
		return nil, err
	}
	err = s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		// First, so that two changes follow each other.
		if _, err := tx.ExecContext(ctx, `UPDATE official_accounts SET revision = revision + 1, changed_by = $2 WHERE account = $1`, int64(account), int64(by)); err != nil {
			return err
		}
		o, _, err := operated(ctx, tx, account, by)
		if err != nil {
			return err
		}
		if r.Revision != 0 && r.Revision != o.revision-1 {
			return errChanged
		}
		if r.Menu != nil {
			o.menu = menu
		}
		if r.Replies != nil {
			answers := len(r.Replies.Rules) > 0 || r.Replies.Fallback != nil
			if answers && !o.answers {
				o.position = tails[0]
			}
			o.replies, o.answers = replies, answers
		}
		_, err = tx.ExecContext(ctx, `UPDATE official_accounts SET menu = $2, replies = $3, answers = $4, position = $5 WHERE account = $1`,
			int64(account), o.menu, o.replies, o.answers, int64(o.position))
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Get(ctx, by, &chatv1.GetOfficialAccountRequest{User: uint64(account)})
}

// checkMenu returns the stored form of a menu.
func (s *Service) checkMenu(account id.User, m *chatv1.OfficialMenu) ([]byte, error) {
	if len(m.GetEntries()) > maxEntries {
		return nil, badMenu("a menu has at most 3 entries")
	}
	for i, e := range m.GetEntries() {
		if err := s.checkEntry(account, e, fmt.Sprintf("entry %d of the menu", i+1)); err != nil {
			return nil, err
		}
	}
	raw, err := proto.Marshal(m)
	if err == nil && len(raw) > maxMenu {
		err = badMenu("a menu has at most 64 KiB, with all its replies")
	}
	return raw, err
}

func badMenu(why string) error { return errs.New(errs.Invalid, "bad_menu", why) }

// checkEntry checks an entry, which is an item, or a title with items.
func (s *Service) checkEntry(account id.User, e *chatv1.OfficialMenuEntry, name string) error {
	switch {
	case len(e.Items) > maxItems:
		return badMenu(name + " has more than 5 items")
	case e.Item == nil:
		return badMenu(name + " has no title")
	case len(e.Items) > 0 && e.Item.Action != nil:
		return badMenu(name + " has items, so it does nothing itself: remove its link, text or reply")
	case len(e.Items) == 0:
		return s.checkItem(account, e.Item, name)
	case !isTitle(e.Item.Title):
		return badMenu(name + titleRule)
	}
	for i, item := range e.Items {
		if err := s.checkItem(account, item, fmt.Sprintf("item %d in %s", i+1, name)); err != nil {
			return err
		}
	}
	return nil
}

// titleRule follows the name of an entry or an item.
const titleRule = " has no title of 1 to 24 characters in one line"

func isTitle(title string) bool {
	return utf8.RuneCountInString(title) <= maxTitleCharacters && message.IsName(title)
}

func (s *Service) checkItem(account id.User, item *chatv1.OfficialMenuItem, name string) (err error) {
	if !isTitle(item.GetTitle()) {
		return badMenu(name + titleRule)
	}
	switch a := item.Action.(type) {
	case *chatv1.OfficialMenuItem_Url:
		if len(a.Url) > maxReplyCharacters || !message.IsLink(a.Url) {
			return badMenu(name + " has no link with http or https, of at most 2,000 bytes")
		}
	case *chatv1.OfficialMenuItem_Text:
		if utf8.RuneCountInString(a.Text) > maxTextCharacters || !message.IsName(a.Text) {
			return badMenu(name + " has no text of 1 to 200 characters in one line")
		}
	case *chatv1.OfficialMenuItem_Reply:
		a.Reply, err = s.checkContent(account, a.Reply)
	default:
		return badMenu(name + " does nothing: give it a link, a text, a reply or items")
	}
	return err
}

// checkReplies returns the stored form of replies.
func (s *Service) checkReplies(account id.User, r *chatv1.OfficialReplies) (raw []byte, err error) {
	if r == nil {
		return nil, nil
	}
	if len(r.Rules) > maxRules {
		return nil, errRules
	}
	for _, content := range []**chatv1.Content{&r.Welcome, &r.Fallback} {
		if *content != nil {
			if *content, err = s.checkContent(account, *content); err != nil {
				return nil, err
			}
		}
	}
	for _, rule := range r.Rules {
		if len(rule.Keywords) == 0 || len(rule.Keywords) > maxKeywords || rule.Match < chatv1.KeywordRule_MATCH_EXACT || rule.Match > chatv1.KeywordRule_MATCH_CONTAINS {
			return nil, errRules
		}
		for _, k := range rule.Keywords {
			if utf8.RuneCountInString(k) > maxKeywordLength || !message.IsName(k) || fold(k) == "" {
				return nil, errRules
			}
		}
		if rule.Reply, err = s.checkContent(account, rule.Reply); err != nil {
			return nil, err
		}
	}
	raw, err = proto.Marshal(r)
	if err == nil && len(raw) > maxReplies {
		err = errRules
	}
	return raw, err
}

// checkContent returns the stored form of a content that is sent later. Files could be dropped before that, and mentions name nobody.
func (s *Service) checkContent(account id.User, c *chatv1.Content) (*chatv1.Content, error) {
	switch k := c.GetKind().(type) {
	case *chatv1.Content_Text:
		if utf8.RuneCountInString(k.Text) > maxReplyCharacters {
			return nil, errReply
		}
	case *chatv1.Content_Card:
		if k.Card.GetPicture() != 0 {
			return nil, errReply
		}
	case *chatv1.Content_Location, *chatv1.Content_Custom:
	default:
		return nil, errReply
	}
	if c.ReplyTo != nil || len(c.Mentions) > 0 || c.LinkPreview != nil {
		return nil, errReply
	}
	raw, err := proto.Marshal(c)
	if err != nil {
		return nil, errReply
	}
	if raw, err = s.deps.Chat.CheckContent(account, raw); err != nil {
		return nil, err
	}
	stored := &chatv1.Content{}
	return stored, proto.Unmarshal(raw, stored)
}

// encode returns the bytes of a content. A message that is sent again must have the same ones.
func encode(c *chatv1.Content) ([]byte, error) {
	return (proto.MarshalOptions{Deterministic: true}).Marshal(c)
}
