package app

import (
	"io"
	"strings"
	"testing"

	"connectrpc.com/connect"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// The readers of a forward get the files that it shows, by the forward and until their message is recalled.
func TestForwardsBySDK(t *testing.T) {
	h, _ := open(t)
	alice, bob, carol := client(t, h), client(t, h), client(t, h)
	for handle, c := range map[string]*rialto.Client{"alice": alice, "bob": bob, "carol": carol} {
		if err := c.Register(t.Context(), handle, "a good password", handle); err != nil {
			t.Fatal(err)
		}
	}
	running(t, alice)
	running(t, bob)
	from, err := alice.OpenDirect(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	to, err := bob.OpenDirect(t.Context(), "carol")
	if err != nil {
		t.Fatal(err)
	}
	u, err := alice.Upload(t.Context(), "notes.txt", "", 5, strings.NewReader("notes"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := alice.Send(t.Context(), from.Id, &chatv1.Content{Kind: &chatv1.Content_File{File: rialto.MediaOf(u)}})
	if err != nil {
		t.Fatal(err)
	}
	place, err := alice.SendLocation(t.Context(), from.Id, &chatv1.Location{Latitude: 45.438, Longitude: 12.336, Label: "Rialto"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := carol.Download(t.Context(), u.Upload, from.Id, file.Seq); rialto.Reason(err) != "no_conversation" {
		t.Errorf("the file where it was sent: got %v", err)
	}
	sent, err := bob.Forward(t.Context(), to.Id, from.Id, "from alice", file.Seq, place.Seq)
	if err != nil {
		t.Fatal(err)
	}
	items := func() []*chatv1.Forwarded {
		t.Helper()
		r, err := carol.Chat().GetMessages(t.Context(), connect.NewRequest(&chatv1.GetMessagesRequest{Conversation: to.Id, Seqs: []uint64{sent.Seq}}))
		if err != nil || len(r.Msg.Messages) != 1 {
			t.Fatalf("got %v, %v", r, err)
		}
		return r.Msg.Messages[0].Content.GetForward().GetItems()
	}
	if got := items(); len(got) != 2 || got[0].Content.GetFile().GetName() != "notes.txt" || got[1].Content.GetLocation().GetLabel() != "Rialto" || got[0].Sender != alice.User() {
		t.Errorf("the forward has %v", got)
	}
	body, err := carol.Download(t.Context(), u.Upload, to.Id, sent.Seq)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if b, err := io.ReadAll(body); err != nil || string(b) != "notes" {
		t.Errorf("the file has %q, %v", b, err)
	}
	if _, err := alice.Recall(t.Context(), from.Id, file.Seq); err != nil {
		t.Fatal(err)
	}
	if got := items(); len(got) != 2 || got[0].Content != nil || got[1].Content == nil {
		t.Errorf("after the recall the forward has %v", got)
	}
	if _, err := carol.Download(t.Context(), u.Upload, to.Id, sent.Seq); rialto.Reason(err) != "no_upload" {
		t.Errorf("the file after the recall: got %v", err)
	}
}
