package feed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"google.golang.org/protobuf/proto"
)

var (
	errIDReuse = errs.New(errs.Conflict, "id_reuse", "this client_post_id was used for another post; use a new one")
	// errClockBehind: the author's last post has a higher id, which was drawn later, or by a node whose clock is ahead of this one's.
	errClockBehind = errors.New("the author's last post has a later id")
	errClocks      = &errs.Error{Kind: errs.Unavailable, Reason: "busy", Message: "the server is busy; try again", Retry: time.Second, Cause: errClockBehind}
)

const (
	quotaWindow = 24 * time.Hour
	// clockWaits is how often a node waits whose clock is behind that of the author's last post.
	clockWaits = 100
)

// Publish stores a post. Its row and the first job of its fan-out are one transaction.
func (s *Service) Publish(ctx context.Context, by id.User, r *feedv1.PublishRequest) (*feedv1.Post, error) {
	return s.publishReviewed(ctx, by, r, false)
}

// publishReviewed is Publish. Of a post that a moderator has allowed the webhook is not asked.
func (s *Service) publishReviewed(ctx context.Context, by id.User, r *feedv1.PublishRequest, allowed bool) (*feedv1.Post, error) {
	if !message.IsToken(r.ClientPostId) {
		return nil, errToken
	}
	content, err := s.checkContent(ctx, by, r.Content)
	if err == nil && !allowed {
		err = s.review(ctx, by, r, content)
	}
	if err != nil {
		return nil, err
	}
	d := &draft{author: by, token: r.ClientPostId, content: content}
	sent, err := encode(content)
	if err != nil {
		return nil, err
	}
	d.sum = sha256.Sum256(sent)
	n, err := s.write(ctx, d)
	if err != nil {
		return nil, err
	}
	s.deps.Jobs.Wake()
	if d.pulled && n == d.id { // a retry does not announce the post again
		s.announced(n)
	}
	return s.flagged(s.GetPost(ctx, by, n))
}

// draft is a post to be published.
type draft struct {
	id      uint64
	author  id.User
	pulled  bool // its followers are told otherwise than by fan-out: the author is pulled, or fan-out is switched off
	token   string
	content *feedv1.PostContent
	sum     [sha256.Size]byte // of the content as it was sent
}

// write publishes a draft. Its id is drawn before the transaction: to draw one may write to the database. If a post with a later id of the same author was
// committed meanwhile, or this node's clock is behind that, it waits and draws another one.
func (s *Service) write(ctx context.Context, d *draft) (n uint64, err error) {
	for range clockWaits {
		if d.id, err = s.deps.IDs.Next(ctx); err != nil {
			return 0, err
		}
		err = s.deps.DB.Write(ctx, func(tx *sql.Tx) (err error) {
			n, err = s.publish(ctx, tx, d)
			return err
		})
		if !errors.Is(err, errClockBehind) {
			return n, err
		}
		if err := backoff.Sleep(ctx, s.sizes.clockWait); err != nil {
			return 0, err
		}
	}
	return 0, errClocks
}

// publish stores a draft, unless it is stored already, and returns its id.
func (s *Service) publish(ctx context.Context, tx *sql.Tx, d *draft) (n uint64, err error) {
	var request []byte
	err = tx.QueryRowContext(ctx, `SELECT id, request FROM feed_posts WHERE author = $1 AND token = $2`, int64(d.author), d.token).Scan(&n, &request)
	switch {
	case err == nil && !bytes.Equal(request, d.sum[:]):
		return 0, errIDReuse
	case !errors.Is(err, sql.ErrNoRows):
		return n, err
	}
	a, err := getAuthor(ctx, tx, d.author)
	if err != nil {
		return 0, err
	}
	now := s.nowMs()
	if err := s.chargeQuota(&a, now); err != nil {
		return 0, err
	}
	followers, _, err := s.deps.Graph.FollowCounts(ctx, tx, d.author)
	if err != nil {
		return 0, err
	}
	if n = d.id; n <= a.lastPost {
		return 0, errClockBehind
	}
	s.chooseTier(&a, followers)
	a.lastPost = n
	a.posts++
	if err := putAuthor(ctx, tx, d.author, &a); err != nil {
		return 0, err
	}
	if err := s.insert(ctx, tx, d, n, now, !a.pulled); err != nil {
		return 0, err
	}
	if d.pulled = a.pulled || s.isOn(pullOnly); d.pulled {
		if err := s.addAnnouncement(ctx, tx, d.author, n); err != nil || a.pulled {
			return n, err
		}
	}
	// Also where nobody follows: somebody may follow in a transaction that is committed before this one.
	first := push{Post: n, Ordinary: followers <= s.sizes.ordinaryFollowers, Again: d.pulled}
	_, err = s.deps.Jobs.InsertTx(ctx, tx, first, first.options())
	return n, err
}

// insert stores the rows of a new post, and tells of it.
func (s *Service) insert(ctx context.Context, tx *sql.Tx, d *draft, n uint64, now int64, pending bool) error {
	content, err := s.admit(ctx, tx, d.author, d.content)
	if err != nil {
		return err
	}
	stored, err := encode(content)
	if err != nil {
		return err
	}
	audience := s.storedAudience(d.author, content)
	if _, err := tx.ExecContext(ctx, `INSERT INTO feed_posts (id, author, token, request, content, audience, repost_of, created_ms, pending) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		int64(n), int64(d.author), d.token, d.sum[:], stored, int64(audience), int64(content.RepostOf), now, pending); err != nil {
		return err
	}
	if err := putAudience(ctx, tx, n, content); err != nil {
		return err
	}
	if err := putVersion(ctx, tx, n, 1, stored, now); err != nil {
		return err
	}
	if audience == onlyAuthor { // it concerns nobody else, and no count has it
		return s.changed(ctx, tx, Change{ID: n, Author: d.author})
	}
	if err := s.addRepost(ctx, tx, content.RepostOf, 1); err != nil {
		return err
	}
	change := Change{ID: n, Author: d.author, Published: true, RepostOf: content.RepostOf, Mentioned: message.MentionedUsers(content.Mentions)}
	if content.RepostOf != 0 {
		original, err := getPost(ctx, tx, content.RepostOf)
		if err != nil {
			return err
		}
		change.RepostedAuthor = original.author
	}
	return s.changed(ctx, tx, change)
}

// admit checks what a content names, as of the transaction, and returns what is stored.
func (s *Service) admit(ctx context.Context, tx *sql.Tx, by id.User, sent *feedv1.PostContent) (*feedv1.PostContent, error) {
	content := proto.CloneOf(sent)
	if content.RepostOf != 0 {
		original, err := s.original(ctx, tx, by, content.RepostOf)
		if err != nil {
			return nil, err
		}
		content.RepostOf = original
	}
	return content, s.keepFiles(ctx, tx, by, content)
}

// keepFiles checks and keeps the files that a content names, and checks its video.
func (s *Service) keepFiles(ctx context.Context, tx *sql.Tx, by id.User, c *feedv1.PostContent) error {
	for _, upload := range uploadsOf(c) {
		if err := s.deps.KeepPicture(ctx, tx, by, upload); err != nil {
			return err
		}
	}
	if c.Video == 0 {
		return nil
	}
	if s.deps.CheckVideo == nil {
		return errVideo
	}
	return s.deps.CheckVideo(ctx, tx, by, c.Video)
}

// original returns the post that a repost of a post shows: that of a repost without a content of its own is the one that it shows.
func (s *Service) original(ctx context.Context, tx *sql.Tx, by id.User, n uint64) (uint64, error) {
	for range 2 { // such a repost is never one of another such repost
		p, err := s.visiblePost(ctx, tx, by, n)
		if err != nil {
			return 0, err
		}
		c, err := contentOf(p.content)
		if err == nil && c.Audience != feedv1.Audience_AUDIENCE_EVERYONE { // its author may not see that moderators have limited it
			err = errs.New(errs.Denied, "not_repostable", "only posts for everyone can be reposted")
		}
		if err != nil {
			return 0, err
		}
		if c.RepostOf == 0 || hasOwnContent(c) {
			return n, nil
		}
		n = c.RepostOf
	}
	return n, nil
}

// chargeQuota counts a post, or refuses it and says when the next one is possible.
func (s *Service) chargeQuota(a *author, now int64) error {
	end := a.windowMs + quotaWindow.Milliseconds()
	if now >= end || now < a.windowMs { // or the clock was set back
		before := a.windowPosts
		if now >= end+quotaWindow.Milliseconds() {
			before = 0
		}
		a.windowMs, a.windowPosts, a.windowBefore = now, 0, before
		end = now + quotaWindow.Milliseconds()
	}
	if a.windowPosts >= int64(s.config.PostsPerDay) {
		return &errs.Error{Kind: errs.Exhausted, Reason: "post_quota", Retry: time.Duration(end-now) * time.Millisecond,
			Message: fmt.Sprintf("you have published %d posts within a day; publish the next one after %s", a.windowPosts, time.UnixMilli(end).UTC().Format(time.RFC3339))}
	}
	a.windowPosts++
	return nil
}

// dailyEntries returns how many entries of timelines the posts of an author are in a day, if all followers are active: the author's heat. It is that of the present day or of the one before, so that
// it does not fall when a day begins.
func (a *author) dailyEntries(followers uint64) uint64 {
	return followers * uint64(max(a.windowPosts, a.windowBefore))
}

// chooseTier decides whether the new post of an author, and those after it, are pushed or pulled. Readers know from the same rows, as of their snapshot,
// which posts their windows lack, so an author may change at any post.
func (s *Service) chooseTier(a *author, followers uint64) {
	entries := a.dailyEntries(followers)
	switch {
	case !a.pulled && (followers >= uint64(s.config.PullAbove) || entries >= uint64(s.config.PullEntriesAbove)):
		a.pulled = true
	case a.pulled && followers < uint64(s.config.PushBelow) && entries < uint64(s.config.PullEntriesAbove)/2:
		a.pulled, a.pushedFrom = false, a.lastPost+1
	}
}
