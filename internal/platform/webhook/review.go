package webhook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// File that a webhook may look at before it decides about what names it.
type File struct {
	Upload string `json:"upload"`
	// URL of the file until ExpiresMs, milliseconds since 1970; without a host unless media.origin is set.
	URL       string `json:"url"`
	ExpiresMs int64  `json:"expiresMs"`
	MimeType  string `json:"mimeType"`
	Bytes     int64  `json:"bytes"`
}

const (
	// maxReviewTimeout of a request: authors wait for it.
	maxReviewTimeout = 5 * time.Second
	// reviewsAtOnce bounds the requests in progress.
	reviewsAtOnce = 64
	maxReason     = 200 // characters
	// NoAnswer is what moderators are told of what is held because the webhook did not answer.
	NoAnswer = "the webhook did not answer"
)

// User as webhooks are told of.
type User struct {
	ID string `json:"id"`
	// ExternalID is the app's own id.
	ExternalID string `json:"externalId,omitempty"`
}

// UserOf returns a user whose ExternalID is not known.
func UserOf(u id.User) User { return User{ID: strconv.FormatUint(uint64(u), 10)} }

// Reviewed is what a webhook is asked about.
type Reviewed struct {
	// Content as JSON.
	Content json.RawMessage `json:"content"`
	// Files of the author that the content names.
	Files []File `json:"files,omitempty"`
}

// Sources have what a webhook is told beside a content. Each may be nil.
type Sources struct {
	// ExternalIDs returns the app's own ids of users, "" for none.
	ExternalIDs func(ctx context.Context, users []id.User) ([]string, error)
	// Files returns those of some uploads that are a user's own.
	Files func(ctx context.Context, by id.User, uploads []id.Upload) ([]File, error)
}

// Describe returns an author, and a content with the files that it names.
func (s Sources) Describe(ctx context.Context, by id.User, content proto.Message, uploads []id.Upload) (author User, of Reviewed, err error) {
	author = UserOf(by)
	if of.Content, err = protojson.Marshal(content); err != nil {
		return author, of, err
	}
	if s.ExternalIDs != nil {
		names, err := s.ExternalIDs(ctx, []id.User{by})
		if err != nil {
			return author, of, err
		}
		author.ExternalID = names[0]
	}
	if s.Files != nil && len(uploads) > 0 {
		of.Files, err = s.Files(ctx, by, uploads)
	}
	return author, of, err
}

// Verdict is the answer of a webhook that decides about contents.
type Verdict struct {
	Allow *bool `json:"allow"`
	// Hold wants a moderator to decide. Whatever else the answer says, the content is not stored now.
	Hold bool `json:"hold"`
	// Reason of a refusal, which the author is shown, or of holding, which moderators are shown.
	Reason string `json:"reason"`
	// Text replaces that of a message.
	Text *string `json:"text"`
}

var errNoVerdict = errors.New("the answer has neither allow nor hold")

func (v *Verdict) check() error {
	if v.Allow == nil && !v.Hold {
		return errNoVerdict
	}
	return nil
}

// ReviewConfig says what a Reviewer is for.
type ReviewConfig struct {
	Config
	// OnFailure is what happens while the webhook does not answer: refuse (also ""), allow, or hold.
	OnFailure string
	// Setting is the name of the settings, such as chat.before_send, and Waiting those who wait for an answer.
	Setting, Waiting string
	// Timeout that Config has by default.
	DefaultTimeout time.Duration
	// NotChecked and Refused are what authors are told: that nothing is known, and a reason if the webhook gives none.
	NotChecked, Refused string
}

// Check reports invalid settings.
func (c ReviewConfig) Check() error {
	if err := c.Config.Check(); err != nil {
		return fmt.Errorf("%s: %w", c.Setting, err)
	}
	if c.Timeout > maxReviewTimeout {
		return fmt.Errorf("%s.timeout is at most %v: %s wait for it", c.Setting, maxReviewTimeout, c.Waiting)
	}
	if !slices.Contains([]string{"", "refuse", "allow", "hold"}, c.OnFailure) {
		return fmt.Errorf("%s_on_failure is refuse, allow or hold, not %q", c.Setting, c.OnFailure)
	}
	return nil
}

// Reviewer asks a webhook about contents before they are stored. It is safe for concurrent use.
type Reviewer struct {
	config ReviewConfig
	guard  *Guard
	logger *slog.Logger
}

// NewReviewer returns a reviewer of a configuration that Check accepts.
func NewReviewer(config ReviewConfig, kind Kind, c clock.Clock, logger *slog.Logger) (*Reviewer, error) {
	if config.Timeout == 0 {
		config.Timeout = config.DefaultTimeout
	}
	guard, err := NewGuard(config.Config, kind, c, reviewsAtOnce, config.Timeout)
	return &Reviewer{config: config, guard: guard, logger: logger}, err
}

// Review asks about a content. It returns why a moderator is to decide, "" if none is, or why the content is refused. Query returns the body of the request. Use, which may be nil, gets the
// answer if that allows the content; if it fails, the webhook counts as one that does not answer. Attrs are logged then.
func (r *Reviewer) Review(ctx context.Context, query func(ctx context.Context) (any, error), use func(*Verdict) error, attrs ...any) (hold string, err error) {
	within, cancel := context.WithTimeout(ctx, 2*maxReviewTimeout)
	defer cancel()
	var v Verdict
	q, err := query(within)
	if err == nil {
		err = r.guard.Call(within, q, &v, v.check)
	}
	if ctx.Err() != nil { // the author has gone, which says nothing about the webhook
		return "", ctx.Err()
	}
	// An answer that does not fit the content says nothing about the webhook: authors, who choose contents, could open its circuit for everybody.
	if err == nil && use != nil && !v.Hold && *v.Allow {
		err = use(&v)
	}
	if err != nil && !outgoing.IsRefused(err) { // the change of its circuit is logged once
		r.logger.Warn("a webhook that decides about contents did not answer", append(attrs, "setting", r.config.Setting, "on_failure", r.config.OnFailure, "error", err)...)
	}
	switch {
	case err != nil && r.config.OnFailure == "allow":
		return "", nil
	case err != nil && r.config.OnFailure == "hold":
		return NoAnswer, nil
	case err != nil:
		return "", r.NotChecked(err)
	case v.Hold:
		return cmp.Or(reasonText(v.Reason), "the webhook gives no reason"), nil
	case !*v.Allow:
		return "", r.Refused(v.Reason)
	}
	return "", nil
}

// NotChecked refuses a content for now.
func (r *Reviewer) NotChecked(cause error) error {
	return &errs.Error{Kind: errs.Unavailable, Reason: "not_checked", Message: r.config.NotChecked, Retry: 2 * time.Second, Cause: cause}
}

// Refused refuses a content with the webhook's reason, which may be empty.
func (r *Reviewer) Refused(reason string) error {
	return errs.New(errs.Denied, "refused_by_rules", cmp.Or(reasonText(reason), r.config.Refused))
}

// reasonText returns the reason that a webhook gives, in one line of at most 200 characters.
func reasonText(reason string) string {
	return excerpt.Of(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || r == '\u2028' || r == '\u2029' { // the latter two separate lines
			return ' '
		}
		return r
	}, reason)), maxReason)
}
