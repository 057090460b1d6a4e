package notification

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	notificationv1 "github.com/rialto-im/rialto/sdk/go/gen/notification/v1"
)

// Shorter names of the kinds and subjects.
const (
	likeKind    = notificationv1.NotificationKind_NOTIFICATION_KIND_LIKE
	commentKind = notificationv1.NotificationKind_NOTIFICATION_KIND_COMMENT
	replyKind   = notificationv1.NotificationKind_NOTIFICATION_KIND_REPLY
	mentionKind = notificationv1.NotificationKind_NOTIFICATION_KIND_MENTION
	followKind  = notificationv1.NotificationKind_NOTIFICATION_KIND_FOLLOW
	requestKind = notificationv1.NotificationKind_NOTIFICATION_KIND_FRIEND_REQUEST
	postKind    = notificationv1.NotificationKind_NOTIFICATION_KIND_POST
	repostKind  = notificationv1.NotificationKind_NOTIFICATION_KIND_REPOST

	noSubject = notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_UNSPECIFIED
	ofPost    = notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_POST
	ofComment = notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_COMMENT
	ofUser    = notificationv1.NotificationSubject_NOTIFICATION_SUBJECT_USER
)

// topic is what the causes of a notification have in common.
type topic struct {
	kind        notificationv1.NotificationKind
	subjectKind notificationv1.NotificationSubject
	subject     uint64
}

func (a topic) compare(b topic) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.subjectKind, b.subjectKind), cmp.Compare(a.subject, b.subject))
}

// cause of a notification of its owner.
type cause struct {
	owner id.User
	topic
	actor id.User
	item  uint64 // what the actor wrote; 0: nothing
	at    int64
}

// owner is a row of notification_owners.
type owner struct {
	user               id.User
	last, listed, read uint64
	off, kept          int64
}

// isOff reports whether a kind does not notify the user.
func (o *owner) isOff(k notificationv1.NotificationKind) bool { return o.off>>uint(k)&1 == 1 }

// maxIDs bounds the users, posts or comments of one statement.
const maxIDs = 256

// getOwners returns the rows of some users; those without one are empty.
func getOwners(ctx context.Context, tx *sql.Tx, users []id.User) (map[id.User]*owner, error) {
	found := make(map[id.User]*owner, len(users))
	for _, u := range users {
		found[u] = &owner{user: u}
	}
	for some := range slices.Chunk(users, maxIDs) {
		marks, args := sqldb.Placeholders(1, some, func(u id.User) int64 { return int64(u) })
		rows, err := tx.QueryContext(ctx, `SELECT owner, last_pos, listed_pos, read_pos, kinds_off, kept FROM notification_owners WHERE owner IN (`+marks+`)`, args...)
		err = sqldb.EachRow(rows, err, func(r *sql.Rows) error {
			o := &owner{}
			err := r.Scan(&o.user, &o.last, &o.listed, &o.read, &o.off, &o.kept)
			found[o.user] = o
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

func getOwner(ctx context.Context, tx *sql.Tx, u id.User) (*owner, error) {
	found, err := getOwners(ctx, tx, []id.User{u})
	if err != nil {
		return nil, err
	}
	return found[u], nil
}

func putOwner(ctx context.Context, tx *sql.Tx, o *owner) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO notification_owners (owner, last_pos, listed_pos, read_pos, kinds_off, kept) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (owner) DO UPDATE SET last_pos = $2, listed_pos = $3, read_pos = $4, kinds_off = $5, kept = $6`, int64(o.user), int64(o.last), int64(o.listed), int64(o.read), o.off, o.kept)
	return err
}

// row of the table notifications.
type row struct {
	id uint64
	topic
	pos    uint64
	causes int
	moved  int64
}

// unreadRow returns the notification of a topic that causes are merged into; nil if there is none.
func unreadRow(ctx context.Context, tx *sql.Tx, o *owner, t topic) (*row, error) {
	r := &row{topic: t}
	err := tx.QueryRowContext(ctx, `SELECT id, pos, causes, moved_ms FROM notifications WHERE owner = $1 AND kind = $2 AND subject_kind = $3 AND subject = $4 AND pos > $5 ORDER BY pos DESC LIMIT 1`,
		int64(o.user), int64(t.kind), int64(t.subjectKind), int64(t.subject), int64(o.read)).Scan(&r.id, &r.pos, &r.causes, &r.moved)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return r, err
}

// readRows returns at most limit notifications of a user below a position and above another, the newest first.
func readRows(ctx context.Context, tx *sql.Tx, u id.User, below, above uint64, limit int) (list []*row, err error) {
	rows, err := tx.QueryContext(ctx, listQuery, int64(u), int64(below), int64(above), limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		r := &row{}
		err := rows.Scan(&r.id, &r.kind, &r.subjectKind, &r.subject, &r.pos, &r.causes, &r.moved)
		list = append(list, r)
		return err
	})
	return list, err
}

const listQuery = `SELECT id, kind, subject_kind, subject, pos, causes, moved_ms FROM notifications WHERE owner = $1 AND pos < $2 AND pos > $3 ORDER BY pos DESC LIMIT $4`

// readCauses returns at most limit causes of a notification, the newest first.
func readCauses(ctx context.Context, tx *sql.Tx, u id.User, r *row, limit int) (list []*cause, err error) {
	rows, err := tx.QueryContext(ctx, causesQuery, int64(u), int64(r.id), limit)
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		c := &cause{owner: u, topic: r.topic}
		err := rows.Scan(&c.actor, &c.item, &c.at)
		list = append(list, c)
		return err
	})
	return list, err
}

const causesQuery = `SELECT actor, item, at_ms FROM notification_causes WHERE owner = $1 AND notification = $2 ORDER BY at_ms DESC, item DESC, actor DESC LIMIT $3`
