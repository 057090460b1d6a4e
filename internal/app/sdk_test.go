package app

import (
	"io"
	"strings"
	"testing"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// TestFilesBySDK go up and come down, and refusals have their reasons.
func TestFilesBySDK(t *testing.T) {
	h, _ := open(t, "media.max_size=20")
	alice, bob := client(t, h), client(t, h)
	for handle, c := range map[string]*rialto.Client{"alice": alice, "bob": bob} {
		if err := c.Register(t.Context(), handle, "a good password", handle); err != nil {
			t.Fatal(err)
		}
	}
	running(t, alice)
	group, err := alice.Chat().CreateGroup(t.Context(), connect.NewRequest(&chatv1.CreateGroupRequest{Title: "files"}))
	if err != nil {
		t.Fatal(err)
	}
	const text = "twelve bytes"
	u, err := alice.Upload(t.Context(), "notes.txt", "", int64(len(text)), strings.NewReader(text))
	if err != nil || u.Name != "notes.txt" || u.Size != uint64(len(text)) {
		t.Fatalf("%v, %v", u, err)
	}
	r, err := alice.Send(t.Context(), group.Msg.Id, &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: u.Upload, Name: u.Name, Size: u.Size}}})
	if err != nil {
		t.Fatal(err)
	}
	body, err := alice.Download(t.Context(), u.Upload, group.Msg.Id, r.Seq)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if b, err := io.ReadAll(body); err != nil || string(b) != text {
		t.Errorf("%q came back, %v", b, err)
	}
	if _, err := bob.Download(t.Context(), u.Upload, group.Msg.Id, r.Seq); rialto.Reason(err) == "" {
		t.Errorf("a stranger's download gives %v", err)
	}
	if _, err := alice.Upload(t.Context(), "a.txt", "", 21, strings.NewReader(strings.Repeat("x", 21))); rialto.Reason(err) != "bad_size" {
		t.Errorf("one that is too long gives %v", err)
	}
	if _, err := alice.Upload(t.Context(), "a.txt", "", 20, strings.NewReader(text)); err == nil {
		t.Error("a body that ends early is taken")
	}
	if _, err := alice.Upload(t.Context(), "a.txt", "", 5, strings.NewReader(text)); err == nil {
		t.Error("a body that is longer than was said is taken")
	}
}
