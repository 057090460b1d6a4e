package terminal

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	rialto "github.com/rialto-im/rialto/sdk/go"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

const (
	// maxPostMentions of one post or comment. Further handles are text.
	maxPostMentions = 50
	postUse         = `title:"…" cover:PATH image:PATH link:URL goods:"NAME, 4.90 EUR, URL" to:friends to:@a,@b except:@c`
)

// postOption stands before the text of a post.
var postOption = optionPattern("title|cover|image|link|goods|to|except")

// composed is what a user wrote for a post.
type composed struct {
	options [][2]string // names and values, in their order
	text    string
}

func (c *composed) isEmpty() bool { return c.text == "" && len(c.options) == 0 }

// compose divides options from the text behind them.
func compose(rest string) (c composed) {
	c.options, c.text = cutOptions(postOption, strings.TrimSpace(rest))
	return c
}

// apply changes the content of a post to what the user wrote. The text, images and goods replace those that there are, if any are given.
func (s *screen) apply(ctx context.Context, c composed, content *feedv1.PostContent) (err error) {
	if c.text != "" {
		content.Text = c.text
		if content.Mentions, err = s.postMentions(ctx, c.text); err != nil {
			return err
		}
	}
	var images []*chatv1.Media
	var goods []*feedv1.Goods
	for _, o := range c.options {
		var media *chatv1.Media
		var one *feedv1.Goods
		switch value := o[1]; o[0] {
		case "title":
			content.Title = value
		case "cover":
			content.Cover, err = s.postImage(ctx, value)
		case "image":
			media, err = s.postImage(ctx, value)
			images = append(images, media)
		case "link":
			content.Link, content.LinkPreview = value, s.postPreview(ctx, value)
		case "goods":
			one, err = parseGoods(value)
			goods = append(goods, one)
		case "to":
			content.Audience, content.Users, err = s.audience(ctx, value)
		case "except":
			content.Audience = feedv1.Audience_AUDIENCE_EXCEPT
			content.Users, err = s.usersOf(ctx, strings.ReplaceAll(value, ",", " "))
		}
		if err != nil {
			return err
		}
	}
	if len(images) > 0 {
		content.Images = images
	}
	if len(goods) > 0 {
		content.Goods = goods
	}
	return nil
}

// postImage uploads an image of a post.
func (s *screen) postImage(ctx context.Context, path string) (*chatv1.Media, error) {
	u, err := s.upload(ctx, atHome(path))
	if err != nil {
		return nil, err
	}
	return rialto.MediaOf(u), nil
}

// postPreview reads what a link leads to. A post is published without it if the page cannot be read, and the user is told.
func (s *screen) postPreview(ctx context.Context, link string) *chatv1.LinkPreview {
	p, err := call(ctx, s.client.Chat().PreviewLink, &chatv1.PreviewLinkRequest{Url: link})
	if err != nil {
		s.say("* without a preview of the link: %s", explain(err))
		return nil
	}
	return p
}

// audience finds out who may see a post: everyone, friends, or users by their handles.
func (s *screen) audience(ctx context.Context, value string) (feedv1.Audience, []uint64, error) {
	switch value {
	case "everyone":
		return feedv1.Audience_AUDIENCE_EVERYONE, nil, nil
	case "friends":
		return feedv1.Audience_AUDIENCE_FRIENDS, nil, nil
	}
	if !strings.HasPrefix(value, "@") {
		return 0, nil, errorf("give to:everyone, to:friends or to:@a,@b")
	}
	users, err := s.usersOf(ctx, strings.ReplaceAll(value, ",", " "))
	return feedv1.Audience_AUDIENCE_CHOSEN, users, err
}

// postMentions finds the users whom a text mentions by their handles. What is nobody's handle is text.
func (s *screen) postMentions(ctx context.Context, text string) (mentions []*chatv1.Mention, err error) {
	found := mention.FindAllStringSubmatchIndex(text, maxPostMentions)
	if len(found) == 0 {
		return nil, nil
	}
	handles := make([]string, len(found))
	for i, at := range found {
		handles[i] = text[at[2]:at[3]]
	}
	r, err := call(ctx, s.client.Account().GetUsers, &accountv1.GetUsersRequest{Handles: slices.Compact(slices.Sorted(slices.Values(handles)))})
	if err != nil {
		return nil, err
	}
	users := map[string]uint64{}
	for _, u := range r.Users {
		users[u.Handle] = u.Id
	}
	for i, at := range found {
		if u := users[handles[i]]; u != 0 {
			begin := at[2] - len("@")
			mentions = append(mentions, &chatv1.Mention{User: u, Start: uint32(utf8.RuneCountInString(text[:begin])), Length: uint32(utf8.RuneCountInString(text[begin:at[3]]))})
		}
	}
	return mentions, nil
}

var errGoods = errorf(`give goods as goods:"Desk lamp, 49.90 EUR, https://shop.example.com/lamp"`)

// parseGoods reads goods as they are shown: a name, a price with its currency, and a link, between commas.
func parseGoods(text string) (*feedv1.Goods, error) {
	parts := strings.Split(text, ",")
	if len(parts) < 3 {
		return nil, errGoods
	}
	last := len(parts) - 1
	name, link := strings.TrimSpace(strings.Join(parts[:last-1], ",")), strings.TrimSpace(parts[last])
	amount, currency, _ := strings.Cut(strings.TrimSpace(parts[last-1]), " ")
	whole, fraction, hasFraction := strings.Cut(amount, ".")
	digits := decimals(currency)
	if name == "" || link == "" || whole == "" || len(fraction) > digits || hasFraction && fraction == "" {
		return nil, errGoods
	}
	minor, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil {
		return nil, errGoods
	}
	return &feedv1.Goods{Name: name, PriceMinor: minor, Currency: currency, Link: link}, nil
}

// decimals of the prices in a currency; -1 if it is not known here.
func decimals(currency string) int {
	switch currency {
	case "AUD", "BRL", "CAD", "CHF", "CNY", "EUR", "GBP", "HKD", "INR", "SGD", "TWD", "USD":
		return 2
	case "JPY", "KRW":
		return 0
	}
	return -1
}

// publish publishes what a user wrote, above the post that it reposts; 0: none.
func (s *screen) publish(ctx context.Context, c composed, repostOf uint64) error {
	content := &feedv1.PostContent{RepostOf: repostOf}
	if err := s.apply(ctx, c, content); err != nil {
		return err
	}
	// A new id for each command: only the user repeats it.
	id := "post-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	_, err := call(ctx, s.client.Feed().Publish, &feedv1.PublishRequest{ClientPostId: id, Content: content})
	return s.done(err)
}

// post publishes a post: for everybody, unless it says for whom.
func (s *screen) post(ctx context.Context, rest string) error {
	c := compose(rest)
	if c.isEmpty() {
		return errorf("give a text: /post TEXT, and before it what else the post has: %s", postUse)
	}
	return s.publish(ctx, c, 0)
}

// repost publishes a post that shows another one, with a comment or without.
func (s *screen) repost(ctx context.Context, rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	post, err := s.postAt(number)
	if err != nil {
		return err
	}
	return s.publish(ctx, compose(rest), post)
}

// editPost replaces what is given of a post of one's own: its text, its title or others.
func (s *screen) editPost(ctx context.Context, rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	post, err := s.postAt(number)
	if err != nil {
		return err
	}
	c := compose(rest)
	if c.isEmpty() {
		return errorf("give a text: /editpost N TEXT, and before it what else is to be changed: %s", postUse)
	}
	p, err := call(ctx, s.client.Feed().GetPost, &feedv1.GetPostRequest{Post: post})
	if err != nil {
		return err
	}
	if p.Author != s.client.User() {
		return errorf("this post is not yours")
	}
	isPreviewed := p.Content.LinkPreview != nil && !slices.ContainsFunc(c.options, func(o [2]string) bool { return o[0] == "link" })
	p.Content.LinkPreview = nil // a stored one is not accepted from anybody
	if err := s.apply(ctx, c, p.Content); err != nil {
		return err
	}
	if isPreviewed {
		p.Content.LinkPreview = s.postPreview(ctx, p.Content.Link)
	}
	// An edit on another device since the read is not overwritten.
	_, err = call(ctx, s.client.Feed().EditPost, &feedv1.EditPostRequest{Post: post, Content: p.Content, Version: p.Version})
	return s.done(err)
}

// deletePost deletes a post of one's own, for everybody.
func (s *screen) deletePost(ctx context.Context, rest string) error {
	post, err := s.postAt(rest)
	if err != nil {
		return err
	}
	_, err = call(ctx, s.client.Feed().DeletePost, &feedv1.DeletePostRequest{Post: post})
	return s.done(err)
}

// versions shows what a post of one's own was before it was edited, the newest first.
func (s *screen) versions(ctx context.Context, rest string) error {
	post, err := s.postAt(rest)
	if err != nil {
		return err
	}
	for before := uint32(0); ; {
		r, err := call(ctx, s.client.Feed().ListVersions, &feedv1.ListVersionsRequest{Post: post, Before: before})
		if err != nil {
			return err
		}
		for _, v := range r.Versions {
			lines := []string{phrasef("  version %d, %s", v.Version, dated(time.UnixMilli(v.TimeMs), "2 January 15:04"))}
			s.say("%s", strings.Join(append(lines, contentLines(v.Content, "      ")...), "\n"))
		}
		if before = r.Next; before == 0 {
			return nil
		}
	}
}
