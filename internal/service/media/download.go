package media

import (
	"context"
	"database/sql"
	"net/http"
	"strconv"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/signedurl"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Access to an upload is decided when a URL is issued: by the messages, groups and users that refer to the upload then, never by its id. Whether a post or a comment
// still shows the upload, and an avatar is still one, is decided with each read.
// docs/decisions/0046-access-to-files.md explains why.

// CheckPicture reports whether a user may make an upload an avatar or a group's picture: it must be the user's own, complete, and an image.
// It changes nothing.
func (s *Service) CheckPicture(ctx context.Context, by id.User, n id.Upload) error {
	return checkPicture(ctx, s.deps.DB.Read(), by, n)
}

func checkPicture(ctx context.Context, q sqldb.Querier, by id.User, n id.Upload) error {
	u, err := getUpload(ctx, q, n)
	if err == nil {
		err = u.sendable(by)
	}
	if err == nil && u.width == 0 {
		err = errs.New(errs.Invalid, "not_an_image", "a picture is a PNG, JPEG, GIF or WebP file")
	}
	return err
}

// KeepPicture checks a picture, and keeps it from expiring with the messages that refer to it. It is called when the change to this
// picture is allowed, before that change is stored. It gives no user access to the picture.
func (s *Service) KeepPicture(ctx context.Context, by id.User, n id.Upload) error {
	return s.deps.DB.Write(ctx, func(tx *sql.Tx) error { return s.KeepPictureWith(ctx, tx, by, n) })
}

// KeepPictureWith is KeepPicture in the transaction of the change to this picture.
func (s *Service) KeepPictureWith(ctx context.Context, tx *sql.Tx, by id.User, n id.Upload) error {
	if err := checkPicture(ctx, tx, by, n); err != nil {
		return err
	}
	done, err := tx.ExecContext(ctx, `UPDATE uploads SET complete = 2 WHERE id = $1 AND complete > 0`, int64(n))
	if err != nil {
		return err
	}
	if kept, err := done.RowsAffected(); err != nil || kept > 0 {
		return err
	}
	return errNoUpload // it has just expired
}

// PictureURL is a URL of a user's avatar. It stays the same for some hours, so that browsers can cache the picture, and is valid only
// while the picture is its owner's avatar.
func (s *Service) PictureURL(n id.Upload) string {
	url, _ := s.pictureURL(n)
	return url
}

func (s *Service) pictureURL(n id.Upload) (url string, ends time.Time) {
	ends = s.deps.Clock.Now().Truncate(pictureURLLifetime / 2).Add(pictureURLLifetime)
	return s.sign("avatar", n, ends), ends
}

// isAvatar reports whether an upload is its owner's avatar now.
func (s *Service) isAvatar(ctx context.Context, n id.Upload, u upload) (bool, error) {
	if s.deps.Avatar == nil {
		return false, nil
	}
	avatar, err := s.deps.Avatar(ctx, u.owner)
	return avatar == n, err
}

// GetDownload returns a URL to a user who may read the upload: by a message, a post or a comment that refers to it, as the picture of the user's group, as
// an avatar, or as its owner. The error is the same for absent and unreadable uploads.
func (s *Service) GetDownload(ctx context.Context, by id.User, r *chatv1.GetDownloadRequest) (*chatv1.GetDownloadResponse, error) {
	n := id.Upload(r.Upload)
	named := false
	switch {
	case r.Seq != 0:
		m, err := s.deps.Message(ctx, by, id.Conversation(r.Conversation), r.Seq)
		if err != nil {
			return nil, err
		}
		named = references(m.Content, n)
	case r.Post != 0:
		if s.deps.PostNames == nil {
			return nil, errNoUpload
		}
		var err error
		if named, err = s.deps.PostNames(ctx, by, r.Post, n); err != nil {
			return nil, err
		}
	case r.Comment != 0:
		if s.deps.CommentNames == nil {
			return nil, errNoUpload
		}
		var err error
		if named, err = s.deps.CommentNames(ctx, by, r.Comment, n); err != nil {
			return nil, err
		}
	case r.Conversation != 0:
		if s.deps.GroupPicture != nil {
			picture, err := s.deps.GroupPicture(ctx, by, id.Conversation(r.Conversation))
			if err != nil {
				return nil, err
			}
			named = picture == n
		}
	default:
		return s.downloadByID(ctx, by, n)
	}
	if !named || n == 0 {
		return nil, errNoUpload
	}
	switch {
	case r.Seq != 0 || r.Post == 0 && r.Comment == 0:
		return s.download(n), nil
	case r.Post != 0:
		return s.downloadWhileShown(verbPost, r.Post, n), nil
	}
	return s.downloadWhileShown(verbComment, r.Comment, n), nil
}

// downloadByID returns the URL of own uploads and avatars.
func (s *Service) downloadByID(ctx context.Context, by id.User, n id.Upload) (*chatv1.GetDownloadResponse, error) {
	u, err := s.get(ctx, n)
	if err != nil {
		return nil, err
	}
	if u.complete == 0 {
		return nil, errNoUpload
	}
	if u.owner == by {
		return s.download(n), nil
	}
	is, err := s.isAvatar(ctx, n, u)
	if err == nil && !is {
		err = errNoUpload
	}
	if err != nil {
		return nil, err
	}
	url, ends := s.pictureURL(n)
	return &chatv1.GetDownloadResponse{Url: url, ExpiresMs: ends.UnixMilli()}, nil
}

// download returns a URL that stays the same for a quarter of an hour, so that browsers can cache the file.
func (s *Service) download(n id.Upload) *chatv1.GetDownloadResponse {
	ends := s.deps.Clock.Now().Truncate(urlLifetime).Add(2 * urlLifetime)
	return &chatv1.GetDownloadResponse{Url: s.sign("get", n, ends), ExpiresMs: ends.UnixMilli()}
}

// Verbs of URLs that are valid only while a post or a comment shows the file: it may be hidden, deleted, or edited. They are also the names of the parameter with its id.
const (
	verbPost    = "post"
	verbComment = "comment"
)

// downloadWhileShown is download of what a post or a comment shows, by a verb and the id.
func (s *Service) downloadWhileShown(verb string, by uint64, n id.Upload) *chatv1.GetDownloadResponse {
	ends := s.deps.Clock.Now().Truncate(urlLifetime).Add(2 * urlLifetime)
	exp, number := signedurl.Expiry(ends), strconv.FormatUint(by, 10)
	url := s.config.Origin + prefix + n.String() + "?" + verb + "=" + number + "&exp=" + exp + "&sig=" + s.urls.Sign(verb, n.String()+" "+number, exp)
	return &chatv1.GetDownloadResponse{Url: url, ExpiresMs: ends.UnixMilli()}
}

// requested returns the upload that a URL may read, and the verb of the URL.
func (s *Service) requested(r *http.Request) (n id.Upload, u upload, verb string, err error) {
	q := r.URL.Query()
	for _, verb := range []string{verbPost, verbComment} {
		if number := q.Get(verb); number != "" {
			n, u, err = s.shown(r.Context(), verb, number, r.PathValue("upload"), q.Get("exp"), q.Get("sig"))
			return n, u, verb, err
		}
	}
	n, verb, err = s.signed(r, "get", "avatar")
	if err == nil {
		u, err = s.readable(r.Context(), verb, n)
	}
	return n, u, verb, err
}

// shown returns an upload that a post or a comment shows now, by a URL that downloadWhileShown made.
func (s *Service) shown(ctx context.Context, verb, number, name, exp, sig string) (n id.Upload, u upload, err error) {
	if err := s.urls.Check(verb, name+" "+number, exp, sig); err != nil {
		return 0, u, err
	}
	if n, err = parseUpload(name); err != nil {
		return 0, u, err
	}
	by, err := strconv.ParseUint(number, 10, 64)
	shows := s.deps.PostShows
	if verb == verbComment {
		shows = s.deps.CommentShows
	}
	if err != nil || shows == nil {
		return n, u, errNoUpload
	}
	shown, err := shows(ctx, by, n)
	if err == nil && !shown {
		err = errNoUpload
	}
	if err == nil {
		u, err = s.readable(ctx, verb, n)
	}
	return n, u, err
}

// references reports whether a message's content refers to an upload.
func references(c *chatv1.Content, n id.Upload) bool {
	is := func(m *chatv1.Media) bool { return m.GetUpload() == uint64(n) || m.GetPoster() == uint64(n) }
	for _, item := range c.GetForward().GetItems() {
		if references(item.Content, n) {
			return true
		}
	}
	for _, item := range c.GetAlbum().GetItems() {
		if is(item.GetImage()) || is(item.GetVideo()) {
			return true
		}
	}
	return is(c.GetImage()) || is(c.GetFile()) || is(c.GetVoice()) || is(c.GetVideo()) ||
		c.GetCard().GetPicture() == uint64(n) || c.GetLinkPreview().GetPicture() == uint64(n) || c.GetControl().GetUpload() == uint64(n)
}

// readable returns an upload that a signed URL may read: as long as the URL is valid, but an avatar only while it is the avatar.
func (s *Service) readable(ctx context.Context, verb string, n id.Upload) (upload, error) {
	u, err := s.get(ctx, n)
	if err == nil && u.complete == 0 {
		err = errNoUpload
	}
	if err != nil || verb != "avatar" {
		return u, err
	}
	is, err := s.isAvatar(ctx, n, u)
	if err == nil && !is {
		err = errNoUpload
	}
	return u, err
}
