package interchangefile

import (
	"strings"

	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Settings of a user. What is not set is as the server has it for everybody.
type Settings struct {
	Locale string `json:"locale,omitempty"`
	// Theme is auto, light or dark.
	Theme    string `json:"theme,omitempty"`
	HideRead bool   `json:"hide_read,omitempty"`
	// WhoMayAdd and WhoMaySeePresence are everyone, friends or nobody.
	WhoMayAdd         string `json:"who_may_add,omitempty"`
	WhoMaySeePresence string `json:"who_may_see_presence,omitempty"`
	// Availability is do_not_disturb or invisible.
	Availability      string  `json:"availability,omitempty"`
	Status            *Status `json:"status,omitempty"`
	NoLinkPreviews    bool    `json:"no_link_previews,omitempty"`
	NoPersonalization bool    `json:"no_personalization,omitempty"`
}

// Status is what a user shows of themself.
type Status struct {
	Emoji string `json:"emoji,omitempty"`
	Text  string `json:"text,omitempty"`
	// UntilMs is when it ends; 0: when the user changes it.
	UntilMs int64 `json:"until_ms,omitempty"`
}

// enum is one of the generated ones.
type enum interface {
	Number() protoreflect.EnumNumber
}

// nameOf is the name of a value of an enumeration in the format: without what all have in common, in small letters; "" for 0.
func nameOf(v enum, names map[int32]string, prefix string) string {
	if v.Number() == 0 {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(names[int32(v.Number())], prefix))
}

// valueOf is the value with a name, 0 if there is none.
func valueOf(name string, values map[string]int32, prefix string) int32 {
	return values[prefix+strings.ToUpper(name)]
}

const (
	whoMayAdd    = "WHO_MAY_ADD_"
	whoMaySee    = "WHO_MAY_SEE_"
	availability = "AVAILABILITY_"
	audience     = "AUDIENCE_"
)

// SettingsFromProto returns the settings of a user; nil for nil.
func SettingsFromProto(s *accountv1.Settings) *Settings {
	if s == nil {
		return nil
	}
	out := &Settings{Locale: s.Locale, Theme: s.Theme, HideRead: s.HideRead, WhoMayAdd: nameOf(s.WhoMayAdd, accountv1.WhoMayAdd_name, whoMayAdd),
		WhoMaySeePresence: nameOf(s.WhoMaySeePresence, accountv1.WhoMaySee_name, whoMaySee), Availability: nameOf(s.Availability, presencev1.Availability_name, availability),
		NoLinkPreviews: s.NoLinkPreviews, NoPersonalization: s.NoPersonalization}
	if c := s.CustomStatus; c.GetEmoji() != "" || c.GetText() != "" {
		out.Status = &Status{Emoji: c.Emoji, Text: c.Text, UntilMs: c.UntilMs}
	}
	if *out == (Settings{}) {
		return nil
	}
	return out
}

// ToProto returns the settings for ImportUsers; nil for nil.
func (s *Settings) ToProto() *accountv1.Settings {
	if s == nil {
		return nil
	}
	out := &accountv1.Settings{Locale: s.Locale, Theme: s.Theme, HideRead: s.HideRead, WhoMayAdd: accountv1.WhoMayAdd(valueOf(s.WhoMayAdd, accountv1.WhoMayAdd_value, whoMayAdd)),
		WhoMaySeePresence: accountv1.WhoMaySee(valueOf(s.WhoMaySeePresence, accountv1.WhoMaySee_value, whoMaySee)),
		Availability:      presencev1.Availability(valueOf(s.Availability, presencev1.Availability_value, availability)), NoLinkPreviews: s.NoLinkPreviews, NoPersonalization: s.NoPersonalization}
	if s.Status != nil {
		out.CustomStatus = &presencev1.CustomStatus{Emoji: s.Status.Emoji, Text: s.Status.Text, UntilMs: s.Status.UntilMs}
	}
	return out
}

// UserVideo is a video of a user, with its original file. It is in the format since version 3, as are posts, comments and likes.
type UserVideo struct {
	ID     string `json:"id"`
	Owner  string `json:"owner"`
	TimeMs int64  `json:"time_ms"`
	Name   string `json:"name,omitempty"`
	// Path of the file in the directory.
	Path      string      `json:"path"`
	Subtitles []Subtitles `json:"subtitles,omitempty"`
}

// Subtitles of a video in a language, as WebVTT.
type Subtitles struct {
	Language string `json:"language"`
	Label    string `json:"label,omitempty"`
	Default  bool   `json:"default,omitempty"`
	Text     string `json:"text"`
}

// Post is a version of a post. Its versions come one after the other, and the last one is what is shown.
type Post struct {
	ID      string `json:"id"`
	Author  string `json:"author"`
	Version uint32 `json:"version"`
	// TimeMs is when the version was written.
	TimeMs   int64        `json:"time_ms"`
	Title    string       `json:"title,omitempty"`
	Text     string       `json:"text,omitempty"`
	Mentions []Mention    `json:"mentions,omitempty"`
	Cover    *Attachment  `json:"cover,omitempty"`
	Images   []Attachment `json:"images,omitempty"`
	Link     string       `json:"link,omitempty"`
	Preview  *Preview     `json:"preview,omitempty"`
	Goods    []Goods      `json:"goods,omitempty"`
	// RepostOf is the id of a post before, and Video that of a video.
	RepostOf string `json:"repost_of,omitempty"`
	Video    string `json:"video,omitempty"`
	// Audience is everyone, friends, chosen or except, and Users are those of the last two.
	Audience string   `json:"audience,omitempty"`
	Users    []string `json:"users,omitempty"`
	// Hidden by moderators. Limited: only the author sees it.
	Hidden  bool `json:"hidden,omitempty"`
	Limited bool `json:"limited,omitempty"`
}

// Preview of a link.
type Preview struct {
	URL         string `json:"url"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	SiteName    string `json:"site_name,omitempty"`
	// Picture is the path of a file.
	Picture string `json:"picture,omitempty"`
	Width   uint32 `json:"width,omitempty"`
	Height  uint32 `json:"height,omitempty"`
}

// Goods of a post.
type Goods struct {
	Name       string      `json:"name"`
	PriceMinor uint64      `json:"price_minor,omitempty"`
	Currency   string      `json:"currency,omitempty"`
	Picture    *Attachment `json:"picture,omitempty"`
	Link       string      `json:"link,omitempty"`
}

// Comment on a post.
type Comment struct {
	ID   string `json:"id"`
	Post string `json:"post"`
	// ReplyTo is the id of a comment before.
	ReplyTo  string      `json:"reply_to,omitempty"`
	Author   string      `json:"author"`
	TimeMs   int64       `json:"time_ms"`
	EditedMs int64       `json:"edited_ms,omitempty"`
	Text     string      `json:"text,omitempty"`
	Mentions []Mention   `json:"mentions,omitempty"`
	Image    *Attachment `json:"image,omitempty"`
	// Video that it is about, and the time of that at which it is shown.
	Video       string `json:"video,omitempty"`
	VideoTimeMs uint32 `json:"video_time_ms,omitempty"`
	// Deleted: it has replies, and no content any more. Limited: only the author sees it.
	Deleted bool `json:"deleted,omitempty"`
	Limited bool `json:"limited,omitempty"`
}

// Like is a like of a post or a comment, or a favourite.
type Like struct {
	User string `json:"user"`
	// Post or Comment is the id of its subject.
	Post    string `json:"post,omitempty"`
	Comment string `json:"comment,omitempty"`
	// Favourite: the post is among the user's favourites.
	Favourite bool  `json:"favourite,omitempty"`
	TimeMs    int64 `json:"time_ms"`
}

// FromProto writes a content of ExportPosts into a post, without its video. Images whose files are gone are left out.
func (p *Post) FromProto(c *feedv1.PostContent, n Names) (err error) {
	p.Title, p.Text, p.Link, p.Mentions = c.Title, c.Text, c.Link, mentionsOf(c.Mentions, n)
	if c.Audience != feedv1.Audience_AUDIENCE_EVERYONE {
		p.Audience = nameOf(c.Audience, feedv1.Audience_name, audience)
	}
	for _, u := range c.Users {
		p.Users = append(p.Users, n.User(u))
	}
	for _, m := range c.Images {
		a, err := imageOf(m, n)
		if err != nil {
			return err
		}
		if a != nil {
			p.Images = append(p.Images, *a)
		}
	}
	if p.Cover, err = imageOf(c.Cover, n); err != nil {
		return err
	}
	for _, g := range c.Goods {
		to := Goods{Name: g.Name, PriceMinor: g.PriceMinor, Currency: g.Currency, Link: g.Link}
		if to.Picture, err = imageOf(g.Picture, n); err != nil {
			return err
		}
		p.Goods = append(p.Goods, to)
	}
	if v := c.LinkPreview; v != nil {
		p.Preview = &Preview{URL: v.Url, Title: v.Title, Description: v.Description, SiteName: v.SiteName}
		if v.Picture != 0 {
			if p.Preview.Picture, err = n.File(v.Picture); err == nil && p.Preview.Picture != "" {
				p.Preview.Width, p.Preview.Height = v.Width, v.Height
			}
		}
	}
	return err
}

// IsEmpty reports whether nothing is left to publish, such as of a repost of what was deleted.
func (p *Post) IsEmpty() bool {
	return p.Title == "" && p.Text == "" && p.Link == "" && p.Cover == nil && len(p.Images) == 0 && len(p.Goods) == 0 && p.RepostOf == "" && p.Video == ""
}

func mentionsOf(list []*chatv1.Mention, n Names) (out []Mention) {
	for _, m := range list {
		to := Mention{Start: m.Start, Length: m.Length, Admins: m.Role == chatv1.Role_ROLE_ADMIN, Everybody: m.Everybody}
		if m.User != 0 {
			to.User = n.User(m.User)
		}
		out = append(out, to)
	}
	return out
}

// imageOf returns an image; nil if there is none, or its file is gone.
func imageOf(m *chatv1.Media, n Names) (*Attachment, error) {
	if m == nil {
		return nil, nil
	}
	a, err := (&fromProto{n: n}).attachment(m)
	if err != nil || a.Path == "" {
		return nil, err
	}
	return &a, nil
}

// FromProto writes a content of ExportComments into a comment, without its video.
func (c *Comment) FromProto(from *commentv1.CommentContent, n Names) (err error) {
	if from == nil {
		return nil
	}
	c.Text, c.Mentions = from.Text, mentionsOf(from.Mentions, n)
	c.Image, err = imageOf(from.Image, n)
	return err
}

// ToProto returns the post for ImportPosts, without its author and its keys.
func (p *Post) ToProto(user func(string) (uint64, error), upload func(path, name string) (uint64, error)) (*operationv1.InterchangePost, error) {
	t := toProto{nil, user, upload}
	c := &feedv1.PostContent{Title: p.Title, Text: p.Text, Link: p.Link, Audience: feedv1.Audience(valueOf(p.Audience, feedv1.Audience_value, audience))}
	out := &operationv1.InterchangePost{TimeMs: p.TimeMs, Version: p.Version, Content: c, Hidden: p.Hidden, Limited: p.Limited}
	if p.Audience != "" && c.Audience == 0 {
		return nil, badEntry("unknown audience %q", p.Audience)
	}
	var err error
	if c.Mentions, err = t.mentions(p.Mentions); err != nil {
		return nil, err
	}
	for _, u := range p.Users {
		n, err := user(u)
		if err != nil {
			return nil, err
		}
		c.Users = append(c.Users, n)
	}
	if c.Cover, err = t.image(p.Cover); err != nil {
		return nil, err
	}
	for i := range p.Images {
		m, err := t.image(&p.Images[i])
		if err != nil {
			return nil, err
		}
		c.Images = append(c.Images, m)
	}
	for i := range p.Goods {
		g := &p.Goods[i]
		to := &feedv1.Goods{Name: g.Name, PriceMinor: g.PriceMinor, Currency: g.Currency, Link: g.Link}
		if to.Picture, err = t.image(g.Picture); err != nil {
			return nil, err
		}
		c.Goods = append(c.Goods, to)
	}
	if v := p.Preview; v != nil {
		c.LinkPreview = &chatv1.LinkPreview{Url: v.URL, Title: v.Title, Description: v.Description, SiteName: v.SiteName, Width: v.Width, Height: v.Height}
		if v.Picture != "" {
			c.LinkPreview.Picture, err = upload(v.Picture, "preview.jpg")
		}
	}
	return out, err
}

func (t *toProto) mentions(list []Mention) (out []*chatv1.Mention, err error) {
	for _, m := range list {
		to := &chatv1.Mention{Start: m.Start, Length: m.Length, Everybody: m.Everybody}
		if m.Admins {
			to.Role = chatv1.Role_ROLE_ADMIN
		}
		if m.User != "" {
			if to.User, err = t.user(m.User); err != nil {
				return nil, err
			}
		}
		out = append(out, to)
	}
	return out, nil
}

func (t *toProto) image(a *Attachment) (*chatv1.Media, error) {
	if a == nil {
		return nil, nil
	}
	return t.media(a)
}

// ToProto returns the comment for ImportComments, without its author and its keys.
func (c *Comment) ToProto(user func(string) (uint64, error), upload func(path, name string) (uint64, error)) (*operationv1.InterchangeComment, error) {
	out := &operationv1.InterchangeComment{TimeMs: c.TimeMs, EditedMs: c.EditedMs, VideoTimeMs: c.VideoTimeMs, Deleted: c.Deleted, Limited: c.Limited}
	if c.Deleted {
		return out, nil
	}
	t := toProto{nil, user, upload}
	out.Content = &commentv1.CommentContent{Text: c.Text}
	var err error
	if out.Content.Mentions, err = t.mentions(c.Mentions); err == nil {
		out.Content.Image, err = t.image(c.Image)
	}
	return out, err
}
