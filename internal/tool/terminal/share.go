package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/rialto-im/rialto/internal/base/excerpt"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// Parts of a post that are on its card, in characters.
const (
	maxCardTitle = 80
	maxCardText  = 200
)

var errShareUse = errorf("give a post or a person, and a chat, named as for /open: /share 2 @bob, or /share @carol 3")

// share sends a card of a post or a person to a chat.
func (s *screen) share(ctx context.Context, rest string) error {
	what, which, _ := strings.Cut(rest, " ")
	which = strings.TrimSpace(which)
	if what == "" || which == "" {
		return errShareUse
	}
	card, err := s.cardOf(ctx, what)
	if err != nil {
		return err
	}
	to, err := s.chatOf(ctx, which)
	if err != nil {
		return err
	}
	s.queueSaying(ctx, to.Id, &chatv1.Content{Kind: &chatv1.Content_Card{Card: card}}, phrasef("* shared with %s", s.title(ctx, to)))
	return nil
}

// cardOf makes the card of a person, by the handle, or of a listed post, by its number.
func (s *screen) cardOf(ctx context.Context, what string) (*chatv1.Card, error) {
	if strings.HasPrefix(what, "@") {
		user, _, err := s.userOf(ctx, what)
		if err != nil {
			return nil, err
		}
		return &chatv1.Card{Title: s.ownName(user), User: user}, nil
	}
	n, err := s.postAt(what)
	if err != nil {
		return nil, err
	}
	p, err := call(ctx, s.client.Feed().GetPost, &feedv1.GetPostRequest{Post: n})
	if err != nil {
		return nil, err
	}
	author, err := call(ctx, s.client.Account().GetUsers, &accountv1.GetUsersRequest{Users: []uint64{p.Author}})
	if err != nil {
		return nil, err
	}
	for _, u := range author.Users {
		s.keepName(u)
	}
	return postCard(p, s.ownName(p.Author), s.url), nil
}

// ownName is the name that a user has chosen: a remark is for oneself.
func (s *screen) ownName(user uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.people[user].name
}

// postCard is the card of a post. What is not for everyone is not on it: who may not see the post learns its author alone.
func postCard(p *feedv1.Post, author, url string) *chatv1.Card {
	card := &chatv1.Card{Title: phrasef("Post by %s", author), Url: fmt.Sprintf("%s/feed/%d", strings.TrimRight(url, "/"), p.Id)}
	if c := p.GetContent(); c.GetAudience() == feedv1.Audience_AUDIENCE_EVERYONE {
		if c.GetTitle() != "" {
			card.Title = excerpt.Marked(c.Title, maxCardTitle)
		}
		card.Text = excerpt.Marked(c.GetText(), maxCardText)
	}
	return card
}
