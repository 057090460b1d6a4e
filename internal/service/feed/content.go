package feed

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

// Limits of a post.
const (
	maxTitle    = 120 // characters
	maxText     = 10_000
	maxImages   = 18
	maxLink     = 2000
	maxAudience = 500 // users
)

func badPost(what string) error { return errs.New(errs.Invalid, "bad_post", what) }

var (
	errEmpty    = badPost("a post needs a text, a title, a cover, an image, a video, a link, goods or a repost")
	errTitle    = badPost(fmt.Sprintf("a title is one line of at most %d characters%s", maxTitle, message.TextRule))
	errText     = badPost(fmt.Sprintf("a text has at most %d characters%s", maxText, message.TextRule))
	errImages   = badPost(fmt.Sprintf("a post has at most %d images, each with the id of its upload, once, a name in one line of at most %d characters, and no caption%s", maxImages, message.MaxImageName, message.TextRule))
	errCover    = badPost(fmt.Sprintf("a cover has the id of its upload, a name in one line of at most %d characters, and no caption%s", message.MaxImageName, message.TextRule))
	errLink     = badPost(fmt.Sprintf("a link begins with http:// or https:// and has at most %d characters", maxLink))
	errPreview  = errs.New(errs.Invalid, "bad_preview", "send a link preview as PreviewLink returned it to this user, with the link that it is of")
	errAudience = badPost(fmt.Sprintf("the audiences chosen and except name 1 to %d users, others none", maxAudience))
	errMentions = badPost(fmt.Sprintf("a post has at most %d mentions; each names a user, and their ranges in the text are in order and do not overlap", message.MaxUserMentions))
	errVideo    = badPost("this server has no videos")
	errReason   = badPost(fmt.Sprintf("a reason has at most %d characters%s", message.MaxReason, message.TextRule))
	errToken    = badPost(fmt.Sprintf("client_post_id has 1 to %d bytes: printable ASCII", message.MaxToken))
)

// checkContent checks a content, and returns it as it is stored: without unknown fields, and with its audience.
func (s *Service) checkContent(ctx context.Context, by id.User, sent *feedv1.PostContent) (*feedv1.PostContent, error) {
	c, err := checkFields(by, sent)
	if err != nil {
		return nil, err
	}
	if _, err := s.checkWords(c); err != nil {
		return nil, err
	}
	if err := s.checkPreview(by, c); err != nil {
		return nil, err
	}
	return c, s.checkNamed(ctx, c)
}

// checkNamed checks that the users whom a content names exist.
func (s *Service) checkNamed(ctx context.Context, c *feedv1.PostContent) error {
	return s.deps.Graph.Exist(ctx, append(usersOf(c), message.MentionedUsers(c.Mentions)...))
}

// checkFields checks the form of a content, and returns it as it is stored, with the signature of its link preview.
func checkFields(by id.User, sent *feedv1.PostContent) (*feedv1.PostContent, error) {
	if sent == nil {
		return nil, errEmpty
	}
	c := &feedv1.PostContent{Title: sent.Title, Text: sent.Text, Images: storedImages(sent.Images), Link: sent.Link, RepostOf: sent.RepostOf, Audience: sent.Audience, Users: sent.Users, Goods: storedGoods(sent.Goods),
		Mentions: message.StoredMentions(sent.Mentions), Video: sent.Video}
	if sent.Cover != nil {
		c.Cover = message.StoredImage(sent.Cover)
	}
	if p := sent.LinkPreview; p != nil {
		c.LinkPreview = &chatv1.LinkPreview{Url: p.Url, Title: p.Title, Description: p.Description, SiteName: p.SiteName, Picture: p.Picture, Width: p.Width, Height: p.Height, Signature: p.Signature}
	}
	switch {
	case !hasOwnContent(c) && c.RepostOf == 0:
		return nil, errEmpty
	case !message.IsText(c.Title, maxTitle, message.IsLine):
		return nil, errTitle
	case !message.IsText(c.Text, maxText, message.IsParagraph):
		return nil, errText
	case c.Link != "" && (!isShortLink(c.Link) || strings.HasPrefix(c.Link, "mailto:")):
		return nil, errLink
	case !areImages(c.Images):
		return nil, errImages
	case !message.AreUserMentions(c.Text, c.Mentions):
		return nil, errMentions
	case c.Cover != nil && !message.IsImage(c.Cover):
		return nil, errCover
	}
	if err := checkGoods(c.Goods); err != nil {
		return nil, err
	}
	return c, checkAudience(by, c)
}

// hasOwnContent reports whether a content says something besides what it reposts.
func hasOwnContent(c *feedv1.PostContent) bool {
	return c.Title != "" || c.Text != "" || c.Link != "" || c.Cover != nil || len(c.Images) > 0 || len(c.Goods) > 0 || c.Video != 0
}

func isShortLink(link string) bool {
	return len(link) <= 4*maxLink && utf8.RuneCountInString(link) <= maxLink && message.IsLink(link)
}

// checkPreview checks the preview of a link. The stored one has no signature, so that no reader can send it as a preview.
func (s *Service) checkPreview(by id.User, c *feedv1.PostContent) error {
	p := c.LinkPreview
	if p == nil {
		return nil
	}
	if p.Url == "" || p.Url != c.Link || s.deps.CheckLinkPreview == nil {
		return errPreview
	}
	if err := s.deps.CheckLinkPreview(by, p); err != nil {
		return err
	}
	p.Signature = nil
	return nil
}

func storedImages(sent []*chatv1.Media) (stored []*chatv1.Media) {
	for _, m := range sent[:min(len(sent), maxImages+1)] { // one too many is refused
		stored = append(stored, message.StoredImage(m))
	}
	return stored
}

func areImages(list []*chatv1.Media) bool {
	seen := map[uint64]bool{}
	for _, m := range list {
		if seen[m.Upload] || !message.IsImage(m) {
			return false
		}
		seen[m.Upload] = true
	}
	return len(list) <= maxImages
}

// checkAudience sets the audience, and sorts its users.
func checkAudience(by id.User, c *feedv1.PostContent) error {
	switch c.Audience {
	case feedv1.Audience_AUDIENCE_UNSPECIFIED, feedv1.Audience_AUDIENCE_EVERYONE:
		c.Audience = feedv1.Audience_AUDIENCE_EVERYONE
	case feedv1.Audience_AUDIENCE_FRIENDS:
	case feedv1.Audience_AUDIENCE_CHOSEN, feedv1.Audience_AUDIENCE_EXCEPT:
		if len(c.Users) == 0 || len(c.Users) > maxAudience {
			return errAudience
		}
		c.Users = slices.Compact(slices.Sorted(slices.Values(c.Users)))
		if slices.Contains(c.Users, uint64(by)) {
			return badPost("the author of a post sees it, and is not named in its audience")
		}
		return nil
	default:
		return badPost("this server does not know this audience")
	}
	if len(c.Users) > 0 {
		return errAudience
	}
	return nil
}

// uploadsOf returns the files that a content names, each once.
func uploadsOf(c *feedv1.PostContent) (list []id.Upload) {
	add := func(upload uint64) {
		if u := id.Upload(upload); upload != 0 && !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	for _, m := range c.Images {
		add(m.Upload)
	}
	add(c.Cover.GetUpload())
	for _, g := range c.Goods {
		add(g.Picture.GetUpload())
	}
	add(c.LinkPreview.GetPicture())
	return list
}

// usersOf returns the users whom a content's audience names.
func usersOf(c *feedv1.PostContent) []id.User {
	users := make([]id.User, len(c.Users))
	for i, u := range c.Users {
		users[i] = id.User(u)
	}
	return users
}

// encode returns the stored form of a content.
func encode(c *feedv1.PostContent) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(c)
}
