package rpc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// Only permitted users get the URL of a picture. For other users the answer is that of a missing file.
func TestPicturesAreVisibleToPermittedUsers(t *testing.T) {
	h := newHarness(t)
	p := people{h.person("alice"), h.person("bob"), h.person("carol"), h.person("dave")}
	o := h.subject(p, "other") // alice's group with bob, from which dave was removed
	must := func(by person, method string, m proto.Message) answer {
		t.Helper()
		got := h.call(method, m, bearer(by.AccessToken))
		if got.status != http.StatusOK {
			t.Fatalf("%s is answered with %d %s", method, got.status, got.body)
		}
		return got
	}
	avatar := func(by person, n uint64) answer {
		t.Helper()
		return must(by, accounts+"UpdateProfile", &accountv1.UpdateProfileRequest{Avatar: &n})
	}
	group := func(by person, n uint64, title string) answer {
		return h.call(chats+"UpdateGroup", &chatv1.UpdateGroupRequest{Conversation: o.conversation, Avatar: &n, Title: &title}, bearer(by.AccessToken))
	}
	former, current := h.upload(p.alice, pixel(t)), h.upload(p.alice, pixel(t))
	before := avatar(p.alice, former)
	if after := avatar(p.alice, current); !strings.Contains(after.body, "avatarUrl") || after.body == before.body {
		t.Errorf("the group was %s, then %s", before.body, after.body)
	}
	groupFormer, groupPicture := h.upload(p.alice, pixel(t)), h.upload(p.alice, pixel(t))
	for _, n := range []uint64{groupFormer, groupPicture} {
		if got := group(p.alice, n, "renamed"); got.status != http.StatusOK {
			t.Fatalf("the answer is %v, want status 200", got)
		}
	}
	refused := map[string]uint64{}
	for reason, by := range map[string]person{"not_allowed": p.bob, "no_conversation": p.carol} {
		refused[reason] = h.upload(by, pixel(t))
		if got := group(by, refused[reason], "changed"); got.reason() != reason {
			t.Errorf("the change is answered with %d %s, want %s", got.status, got.body, reason)
		}
	}
	refused["profile"] = h.upload(p.bob, pixel(t))
	if got := h.call(accounts+"UpdateProfile", &accountv1.UpdateProfileRequest{Avatar: proto.Uint64(refused["profile"]), DisplayName: proto.String("\u202e")}, bearer(p.bob.AccessToken)); got.reason() != "bad_name" {
		t.Errorf("the change is answered with %d %s", got.status, got.body)
	}
	// A change that is refused because of its picture changes nothing.
	if got := group(p.alice, refused["profile"], "changed"); got.reason() != "no_upload" {
		t.Errorf("another user's picture as the group's is answered with %d %s", got.status, got.body)
	}
	if got := must(p.bob, chats+"GetConversation", &chatv1.GetConversationRequest{Conversation: o.conversation}); strings.Contains(got.body, "changed") {
		t.Errorf("a refused change changed the group: %s", got.body)
	}
	text := h.upload(p.alice, []byte("no picture"))
	if got := h.call(accounts+"UpdateProfile", &accountv1.UpdateProfileRequest{Avatar: &text, DisplayName: proto.String("Changed")}, bearer(p.alice.AccessToken)); got.reason() != "not_an_image" {
		t.Errorf("a text file as a picture is answered with %d %s", got.status, got.body)
	}
	if got := must(p.bob, accounts+"GetUsers", &accountv1.GetUsersRequest{Users: []uint64{p.alice.User}}); strings.Contains(got.body, "Changed") || !strings.Contains(got.body, fmt.Sprint(current)) {
		t.Errorf("a refused change changed the profile: %s", got.body)
	}

	in := func(seq uint64) func(n uint64) *chatv1.GetDownloadRequest {
		return func(n uint64) *chatv1.GetDownloadRequest {
			return &chatv1.GetDownloadRequest{Upload: n, Conversation: o.conversation, Seq: seq}
		}
	}
	alone := func(n uint64) *chatv1.GetDownloadRequest { return &chatv1.GetDownloadRequest{Upload: n} }
	who := []string{"owner", "member", "ex-member", "non-member"}
	const yes, no = "", "no_upload"
	for _, c := range []struct {
		what    string
		upload  uint64
		request func(n uint64) *chatv1.GetDownloadRequest
		reasons [4]string // as in who
	}{
		{"an attachment, by its message", o.upload, in(o.seq), [4]string{yes, yes, yes, none}},
		{"an attachment, by its id", o.upload, alone, [4]string{yes, no, no, no}},
		{"an attachment, as the group's picture", o.upload, in(0), [4]string{no, no, none, none}},
		{"an avatar", current, alone, [4]string{yes, yes, yes, yes}},
		{"a former avatar", former, alone, [4]string{yes, no, no, no}},
		{"the group's picture", groupPicture, in(0), [4]string{yes, yes, none, none}},
		{"the group's picture, by its id", groupPicture, alone, [4]string{yes, no, no, no}},
		{"the group's picture, by the message of later", groupPicture, in(7), [4]string{yes, yes, "no_message", none}},
		{"the group's former picture", groupFormer, in(0), [4]string{no, no, none, none}},
		{"the picture of a member's refused change", refused["not_allowed"], alone, [4]string{no, yes, no, no}},
		{"the picture of a member's refused change, as the group's", refused["not_allowed"], in(0), [4]string{no, no, none, none}},
		{"the picture of a non-member's refused change", refused["no_conversation"], alone, [4]string{no, no, no, yes}},
		{"the picture of a refused profile", refused["profile"], alone, [4]string{no, yes, no, no}},
		{"the picture of a refused profile, as the group's", refused["profile"], in(0), [4]string{no, no, none, none}},
	} {
		for i, by := range []person{p.alice, p.bob, p.dave, p.carol} {
			want := c.reasons[i]
			got := h.call(medias+"GetDownload", c.request(c.upload), bearer(by.AccessToken))
			if got.reason() != want || (got.status == http.StatusOK) != (want == yes) {
				t.Errorf("%s, for the %s, is answered with %d %s, want %q", c.what, who[i], got.status, got.body, want)
			}
			if want == no {
				if absent := h.call(medias+"GetDownload", c.request(c.upload+1<<30), bearer(by.AccessToken)); absent.status != got.status || absent.body != got.body {
					t.Errorf("%s, for the %s: existing picture: %d %s; missing picture: %d %s", c.what, who[i], got.status, got.body, absent.status, absent.body)
				}
			}
		}
		if got := h.call(medias+"GetDownload", c.request(c.upload)); got.status != http.StatusUnauthorized || got.reason() != "no_token" {
			t.Errorf("%s, without credentials, is answered with %d %s", c.what, got.status, got.body)
		}
	}

	// Only pictures of successful changes outlive the messages that refer to them.
	for _, c := range []struct {
		what   string
		by     person
		upload uint64
		want   string
	}{
		{"the group's picture", p.alice, groupPicture, ""},
		{"the avatar", p.alice, current, ""},
		{"of a member's refused change", p.bob, refused["not_allowed"], no},
		{"of a non-member's refused change", p.carol, refused["no_conversation"], no},
		{"of a refused profile", p.bob, refused["profile"], no},
	} {
		if err := h.media.Use(t.Context(), 1, []id.User{c.by.user()}, []id.Upload{id.Upload(c.upload)})[0]; err != nil {
			t.Fatal(err)
		}
		if err := h.media.Expired(t.Context(), 1, h.clock.ms.Load()+24*time.Hour.Milliseconds()); err != nil {
			t.Fatal(err)
		}
		if got := h.call(medias+"CompleteUpload", &chatv1.CompleteUploadRequest{Upload: c.upload}, bearer(c.by.AccessToken)); got.reason() != c.want {
			t.Errorf("the picture %s, after its message expired, is answered with %d %s, want %q", c.what, got.status, got.body, c.want)
		}
	}
}
