package app

import (
	"context"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/idgen"
	"github.com/rialto-im/rialto/internal/service/moderation"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// openModeration makes the service of reports, decisions and bans.
func (n *Node) openModeration(ctx context.Context, ids *idgen.Snowflake) error {
	secret, err := n.accounts.Secret(ctx, "appeals")
	if err != nil {
		return err
	}
	n.moderation, err = moderation.New(ctx, moderation.Deps{DB: n.db, IDs: ids, Chat: n.chat, Posts: n.feed, Comments: n.comments, Accounts: n.accounts, Audit: n.audit, ClusterEvents: n.events,
		Nodes: n.liveNodes, IsCoordinator: n.isCoordinator, Secret: secret, Notify: func(users []id.User, frame []byte) { n.fanout.Transient(users, frame) },
		Calls: n.outgoing, ReviewFiles: n.media.ReviewFiles, ExternalIDs: n.accounts.ExternalIDs, Clock: n.clock, Logger: n.logger}, n.config.Moderation)
	return err
}

// wordsOf is the word filter of a node, whose moderation is made after the services whose texts it checks.
type wordsOf struct{ n *Node }

func (w wordsOf) HasWords() bool { return w.n.moderation.HasWords() }

func (w wordsOf) CheckText(texts ...string) (string, error) {
	return w.n.moderation.CheckText(texts...)
}

func (w wordsOf) FlagMessage(m *chatv1.Message, word string) { w.n.moderation.FlagMessage(m, word) }

func (w wordsOf) FlagGroup(c id.Conversation, title, word string) {
	w.n.moderation.FlagGroup(c, title, word)
}

func (w wordsOf) FlagPost(p *feedv1.Post, word string) { w.n.moderation.FlagPost(p, word) }

func (w wordsOf) FlagComment(c *commentv1.Comment, word string) { w.n.moderation.FlagComment(c, word) }

// limitedSince returns when moderators limited a user; 0: they did not.
func (n *Node) limitedSince(u id.User) int64 { return n.moderation.LimitedSince(u) }

// holdMessage puts a message into the queue of moderators instead of the log.
func (n *Node) holdMessage(ctx context.Context, by id.User, c id.Conversation, content *chatv1.Content, token, why string) error {
	return n.moderation.HoldMessage(ctx, by, c, content, token, why)
}

// reviewsOf asks the webhook about posts and comments. It is needed by services that are made before moderation.
type reviewsOf struct{ n *Node }

func (r reviewsOf) Reviews() bool { return r.n.moderation.Reviews() }

func (r reviewsOf) ReviewPost(ctx context.Context, by id.User, p *feedv1.PublishRequest, uploads []id.Upload) error {
	return r.n.moderation.ReviewPost(ctx, by, p, uploads)
}

func (r reviewsOf) ReviewPostEdit(ctx context.Context, by id.User, p *feedv1.EditPostRequest, uploads []id.Upload) error {
	return r.n.moderation.ReviewPostEdit(ctx, by, p, uploads)
}

func (r reviewsOf) ReviewComment(ctx context.Context, by id.User, c *commentv1.CreateCommentRequest, uploads []id.Upload) error {
	return r.n.moderation.ReviewComment(ctx, by, c, uploads)
}

func (r reviewsOf) ReviewCommentEdit(ctx context.Context, by id.User, c *commentv1.EditCommentRequest, uploads []id.Upload) error {
	return r.n.moderation.ReviewCommentEdit(ctx, by, c, uploads)
}
