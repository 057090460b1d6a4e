package rpc_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/ratelimit"
	"github.com/rialto-im/rialto/internal/transport/rpc"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// ofUploads: only the owner learns of an upload in parts.
func ofUploads() map[string]row {
	return map[string]row{
		medias + "CreateMultipartUpload":   own(func(subject) proto.Message { return &chatv1.CreateMultipartUploadRequest{Name: "x", Size: 1} }),
		medias + "GetMultipartUpload":      all("no_upload", func(o subject) proto.Message { return &chatv1.GetMultipartUploadRequest{Upload: o.upload} }).ownerRefused("not_multipart"),
		medias + "SignParts":               all("no_upload", func(o subject) proto.Message { return &chatv1.SignPartsRequest{Upload: o.upload, Parts: []uint32{1}} }).ownerRefused("not_multipart"),
		medias + "CreateUploadCredentials": all("no_upload", func(o subject) proto.Message { return &chatv1.CreateUploadCredentialsRequest{Upload: o.upload} }).ownerRefused("not_multipart"),
		medias + "ListUnfinishedUploads":   own(func(subject) proto.Message { return &chatv1.ListUnfinishedUploadsRequest{} }),
		medias + "AbortUpload":             all("no_upload", func(o subject) proto.Message { return &chatv1.AbortUploadRequest{Upload: o.upload} }).ownerRefused("upload_complete"),
	}
}

// TestRequestsOfTusAreAuthorized as calls are, and one that creates an upload counts as one.
func TestRequestsOfTusAreAuthorized(t *testing.T) {
	h := newHarness(t)
	alice := h.person("alice")
	var err error
	if h.deps.Limits, err = ratelimit.NewTable(ratelimit.Config{UploadUser: "1/h"}, h.clock, nil); err != nil {
		t.Fatal(err)
	}
	h.Server = rpc.New(h.deps)
	ask := func(token string, creates bool) error {
		r := httptest.NewRequest(http.MethodPost, "/v1/tus/", nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		u, err := h.AuthorizeUpload(r, creates)
		if err == nil && u != alice.user() {
			t.Errorf("the user is %d", u)
		}
		return err
	}
	for _, c := range []struct {
		token   string
		creates bool
		reason  string
	}{{"", false, "no_token"}, {"x", true, "bad_token"}, {alice.AccessToken, true, ""}, {alice.AccessToken, true, "too_many_requests"}, {alice.AccessToken, false, ""}} {
		if err := ask(c.token, c.creates); (c.reason == "") != (err == nil) || err != nil && errs.Of(err).Reason != c.reason {
			t.Errorf("creates %v: %v, want %s", c.creates, err, c.reason)
		}
	}
}
