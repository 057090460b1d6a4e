package notification

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/platform/job"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

const maxSubscriptions = 1000

var (
	errSelf          = errs.New(errs.Invalid, "self", "you cannot do this with yourself")
	errNoUser        = errs.New(errs.NotFound, "no_user", "there is no such user")
	errSubscriptions = errs.New(errs.Exhausted, "too_many_subscriptions", fmt.Sprintf("you are notified of the posts of %d users; end that for somebody first", maxSubscriptions))
)

// SubscribeToPosts makes new posts of an author notify a user.
func (s *Service) SubscribeToPosts(ctx context.Context, by id.User, author id.User) (*notificationv1.PostSubscription, error) {
	if author == by {
		return nil, errSelf
	}
	if err := s.deps.Graph.Exist(ctx, []id.User{author}); err != nil {
		if errs.Is(err, errs.NotFound) {
			err = errNoUser
		}
		return nil, err
	}
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		var n int
		if _, err := tx.ExecContext(ctx, `INSERT INTO notification_subscriptions (author, subscriber) VALUES ($1, $2) ON CONFLICT (author, subscriber) DO NOTHING`, int64(author), int64(by)); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM notification_subscriptions WHERE subscriber = $1`, int64(by)).Scan(&n); err != nil {
			return err
		}
		if n > maxSubscriptions {
			return errSubscriptions
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &notificationv1.PostSubscription{Subscribed: true}, nil
}

// UnsubscribeFromPosts ends that.
func (s *Service) UnsubscribeFromPosts(ctx context.Context, by id.User, author id.User) (*notificationv1.PostSubscription, error) {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM notification_subscriptions WHERE author = $1 AND subscriber = $2`, int64(author), int64(by))
		return err
	})
	return &notificationv1.PostSubscription{}, err
}

// GetPostSubscription tells whether new posts of an author notify a user.
func (s *Service) GetPostSubscription(ctx context.Context, by id.User, author id.User) (out *notificationv1.PostSubscription, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		out = &notificationv1.PostSubscription{}
		var n int
		err := tx.QueryRowContext(ctx, `SELECT count(*) FROM notification_subscriptions WHERE author = $1 AND subscriber = $2`, int64(author), int64(by)).Scan(&n)
		out.Subscribed = n > 0
		return err
	})
	return out, err
}

// fanout is a job that notifies the subscribers of an author above one of a post.
type fanout struct {
	Post   uint64  `json:"post"`
	Author id.User `json:"author"`
	After  id.User `json:"after"`
}

// Kind of the job.
func (fanout) Kind() string { return "notification_post" }

// Queue of the jobs.
const Queue = "notification"

// Concurrency is how many jobs of the queue a node runs at the same time.
const Concurrency = 2

func (fanout) options() job.Options { return job.Options{Queue: Queue} }

// AddWorkers adds the workers of the queue.
func (s *Service) AddWorkers(w *job.Workers) {
	job.Add(w, func(ctx context.Context, j job.Job[fanout]) error { return s.fanOut(ctx, j.Args) })
}

// startFanout inserts the first job of a post, if its author has subscribers.
func (s *Service) startFanout(ctx context.Context, tx *sql.Tx, p Post) error {
	first := fanout{Post: p.ID, Author: p.Author}
	list, err := subscribers(ctx, tx, first, 1)
	if err != nil || len(list) == 0 {
		return err
	}
	_, err = s.deps.Jobs.InsertTx(ctx, tx, first, first.options())
	return err
}

func subscribers(ctx context.Context, tx *sql.Tx, j fanout, limit int) (list []id.User, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT subscriber FROM notification_subscriptions WHERE author = $1 AND subscriber > $2 ORDER BY subscriber LIMIT $3`, int64(j.Author), int64(j.After), limit)
	err = sqldb.EachRow(rows, err, func(r *sql.Rows) error {
		var u id.User
		err := r.Scan(&u)
		list = append(list, u)
		return err
	})
	return list, err
}

// fanOut notifies the next subscribers, and inserts the next job in the same transaction. A job that runs twice stores its causes once.
func (s *Service) fanOut(ctx context.Context, j fanout) error {
	more := false
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		list, err := subscribers(ctx, tx, j, s.sizes.subscribers)
		if more = len(list) == s.sizes.subscribers; err != nil || len(list) == 0 {
			return err
		}
		last := list[len(list)-1]
		readers, err := s.deps.Posts.ReadersAmong(ctx, tx, j.Post, list)
		if err != nil {
			return err
		}
		causes := make([]*cause, len(readers))
		for i, u := range readers {
			causes[i] = &cause{owner: u, topic: topic{postKind, ofUser, uint64(j.Author)}, actor: j.Author, item: j.Post}
		}
		if err := s.record(ctx, tx, causes); err != nil || !more {
			return err
		}
		next := fanout{Post: j.Post, Author: j.Author, After: last}
		_, err = s.deps.Jobs.InsertTx(ctx, tx, next, next.options())
		return err
	})
	if err == nil && more {
		s.deps.Jobs.Wake()
	}
	return err
}
