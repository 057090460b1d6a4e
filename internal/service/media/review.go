package media

import (
	"context"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/webhook"
)

// reviewLifetime is how long a URL holds that a webhook gets to look at a file.
const reviewLifetime = 2 * time.Minute

// ReviewFiles returns those of some uploads that are a user's own and complete, with URLs that hold for two minutes. Whether the user may send the others is checked later.
func (s *Service) ReviewFiles(ctx context.Context, by id.User, uploads []id.Upload) (list []webhook.File, err error) {
	ends := s.deps.Clock.Now().Add(reviewLifetime)
	for _, n := range uploads {
		u, err := s.get(ctx, n)
		if errs.Is(err, errs.NotFound) || err == nil && u.sendable(by) != nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, webhook.File{Upload: n.String(), URL: s.sign("get", n, ends), ExpiresMs: ends.Truncate(time.Second).UnixMilli(), MimeType: u.mime, Bytes: u.declared})
	}
	return list, nil
}
