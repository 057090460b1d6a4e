package rpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// failing is a media service whose uploads fail.
type failing struct {
	rpc.Media
	fail func() error
}

func (f failing) CreateUpload(context.Context, id.User, *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error) {
	return nil, f.fail()
}

// Each kind of error has the code and the status of docs/protocol.md, over HTTP and on a socket. Internal details appear only in the log.
func TestServiceErrorsHaveCodeAndStatus(t *testing.T) {
	h := newHarness(t)
	alice := h.person("alice")
	var fail error
	var log bytes.Buffer
	deps := h.deps
	deps.Logger = slog.New(slog.NewJSONHandler(&log, nil))
	deps.Media = failing{h.media, func() error {
		if fail == nil {
			panic("a secret of the server")
		}
		return fail
	}}
	h.Server = rpc.New(deps)
	secret := errors.New("a secret of the server")
	for _, c := range []struct {
		err          error
		code, reason string
		status       int
		retry        string
		logged       bool
	}{
		{errs.New(errs.Invalid, "why", "wrong"), "invalid_argument", "why", 400, "", false},
		{errs.New(errs.Unauthenticated, "why", "who"), "unauthenticated", "why", 401, "", false},
		{errs.New(errs.Denied, "why", "no"), "permission_denied", "why", 403, "", false},
		{errs.New(errs.NotFound, "why", "where"), "not_found", "why", 404, "", false},
		{errs.New(errs.Conflict, "why", "twice"), "already_exists", "why", 409, "", false},
		{&errs.Error{Kind: errs.Exhausted, Reason: "why", Message: "slowly", Retry: 1500 * time.Millisecond}, "resource_exhausted", "why", 429, "2", false},
		{&errs.Error{Kind: errs.Unavailable, Reason: "why", Message: "later", Retry: time.Second, Cause: secret}, "unavailable", "why", 503, "1", false},
		{errs.Wrap(errs.Internal, "damaged", "broken", secret), "internal", "damaged", 500, "", true},
		{fmt.Errorf("in a service: %w", errs.Wrap(errs.NotFound, "why", "where", secret)), "not_found", "why", 404, "", false},
		{secret, "internal", "internal", 500, "", true},
		{fmt.Errorf("%w: %w", secret, context.DeadlineExceeded), "unavailable", "timeout", 503, "1", false},
		{fmt.Errorf("%w: %w", secret, context.Canceled), "unavailable", "timeout", 503, "1", false},
		{&errs.Error{Kind: errs.Unavailable, Reason: "not_checked", Message: "try again", Retry: 2 * time.Second, Cause: context.DeadlineExceeded}, "unavailable", "not_checked", 503, "2", false},
		{nil, "internal", "internal", 500, "", true}, // a panic
	} {
		log.Reset()
		fail = c.err
		got := h.call(medias+"CreateUpload", &chatv1.CreateUploadRequest{Size: 1}, bearer(alice.AccessToken))
		var f failure
		if err := json.Unmarshal([]byte(got.body), &f); err != nil || got.status != c.status || f.Code != c.code || got.reason() != c.reason || f.Details[0].Debug.Code != c.code || got.header.Get("Retry-After") != c.retry {
			t.Errorf("%v is answered with %d %v %s", c.err, got.status, got.header, got.body)
		}
		if strings.Contains(got.body, "secret") || strings.Contains(got.body, "goroutine") {
			t.Errorf("%v: the client gets %s", c.err, got.body)
		}
		if (log.Len() > 0) != c.logged || c.logged && !strings.Contains(log.String(), "CreateUpload") || strings.Contains(log.String(), alice.AccessToken) {
			t.Errorf("%v: the log has %q", c.err, log.String())
		}
		_, err := h.Invoke(t.Context(), alice.caller(), medias+"CreateUpload", []byte("{}"), true)
		if e := errs.Of(err); e == nil || e.Kind.String() != c.code || e.Reason != c.reason {
			t.Errorf("%v: a socket gets %v", c.err, err)
		}
	}
	// The server still answers.
	if got := h.call(chats+"ListConversations", &chatv1.ListConversationsRequest{}, bearer(alice.AccessToken)); got.status != http.StatusOK {
		t.Errorf("after the failures a call is answered with %d %s", got.status, got.body)
	}
}
