package feed

import (
	"context"
	"database/sql"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/clusterevent"
)

// Fan-out does not visit the followers of an author who is pulled. Instead, every node looks among the users who are connected to it for those who follow the
// author. That costs a node some look-ups for its connections, however many followers there are, and writes nothing for them.

// announceEvent is the kind of the event that tells the other nodes of a new post of a pulled author: User is the author, Other the post, and Detail the node
// that published it, which has announced it to its own connections.
const announceEvent = "feed.post"

// maxAnnouncements are new posts that wait on a node. Beyond, hints are lost.
const maxAnnouncements = 1000

// ClusterEvents tells the other nodes what was committed. They call HandleEvent.
type ClusterEvents interface {
	// Add stores events in a transaction. Notify is called after its commit.
	Add(ctx context.Context, tx *sql.Tx, events ...clusterevent.Event) error
	Notify()
}

// addAnnouncement tells the other nodes of a new post, in its transaction.
func (s *Service) addAnnouncement(ctx context.Context, tx *sql.Tx, author id.User, n uint64) error {
	if s.deps.ClusterEvents == nil {
		return nil
	}
	return s.deps.ClusterEvents.Add(ctx, tx, clusterevent.Event{Kind: announceEvent, User: author, Other: n, Detail: s.deps.Node})
}

// announced follows the commit of a new post of a pulled author.
func (s *Service) announced(n uint64) {
	if s.deps.ClusterEvents != nil {
		s.deps.ClusterEvents.Notify()
	}
	s.enqueueAnnouncement(n)
}

// HandleEvent announces a post that was published on another node to the users who are connected to this one. It does not block.
func (s *Service) HandleEvent(e clusterevent.Event) {
	if e.Kind == announceEvent && e.Detail != s.deps.Node {
		s.enqueueAnnouncement(e.Other)
	}
}

func (s *Service) enqueueAnnouncement(n uint64) {
	if s.deps.Connected == nil {
		return
	}
	select {
	case s.announcements <- n:
	default:
		s.deps.Logger.Warn("connected followers are not told of a new post, because too many posts wait; their next refresh shows it", "post", n, "waiting", maxAnnouncements)
	}
}

// runAnnouncements announces posts until ctx ends.
func (s *Service) runAnnouncements(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case n := <-s.announcements:
			if err := s.announce(ctx, n); err != nil && ctx.Err() == nil {
				s.deps.Logger.Warn("connected followers could not be told of a new post; their next refresh shows it", "post", n, "error", err)
			}
		}
	}
}

// announce tells those of the users connected to this node of a new post in whose home timelines it is.
func (s *Service) announce(ctx context.Context, n uint64) error {
	for some := range slices.Chunk(s.deps.Connected(), s.sizes.authorsPerQuery) {
		author, readers, err := s.followersAmong(ctx, n, some)
		if err != nil {
			return err
		}
		if err := tell(s.deps.NotifyConnected, n, author, readers); err != nil {
			return err
		}
	}
	return nil
}

// followersAmong returns those of some users in whose home timelines a post is; none if it was deleted or hidden.
func (s *Service) followersAmong(ctx context.Context, n uint64, users []id.User) (author id.User, readers []id.User, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		readers = nil
		p, err := getPost(ctx, tx, n)
		if errs.Is(err, errs.NotFound) || err == nil && (p.deleted || p.hidden) {
			return nil
		}
		if err != nil {
			return err
		}
		author = p.author
		shown, err := s.deps.Graph.ShownFollowersAmong(ctx, tx, p.author, users)
		if err != nil {
			return err
		}
		if slices.Contains(users, p.author) {
			shown = append(shown, p.author) // the author's other devices
		}
		if len(shown) > 0 {
			readers, err = s.readersAmong(ctx, tx, p, shown)
		}
		return err
	})
	return author, readers, err
}
