package inbox_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/service/inbox"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return errs.Of(err).Reason
}

// foldersOf returns a user's folders as "name: conversations".
func foldersOf(t *testing.T, h *harness, u id.User) (list []string) {
	t.Helper()
	r, err := h.ListFolders(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Folders {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s: %v", f.Name, f.Conversations)))
	}
	return list
}

// TestFolders makes, fills, renames, orders and deletes folders. Each change that changes something is an event.
func TestFolders(t *testing.T) {
	ctx := t.Context()
	h := newHarness(t, false, inbox.Config{})
	const a, b, others = 11, 12, 13
	h.open(t, a, 1, 2)
	h.open(t, b, 1, 3)
	h.open(t, others, 2, 3)
	made := map[string]uint64{}
	for _, name := range []string{"work", " home ", "later"} {
		f, err := h.CreateFolder(ctx, 1, &chatv1.CreateFolderRequest{Name: name, Conversations: []uint64{b, a, b}})
		if err != nil {
			t.Fatal(err)
		}
		made[f.Name] = f.Id
	}
	update := func(reason string, r *chatv1.UpdateFolderRequest) {
		t.Helper()
		if _, err := h.UpdateFolder(ctx, 1, r); reasonOf(err) != reason {
			t.Errorf("%v returned %v, want %q", r, err, reason)
		}
	}
	update("", &chatv1.UpdateFolderRequest{Id: made["work"], Remove: []uint64{a, others}})
	update("", &chatv1.UpdateFolderRequest{Id: made["work"], Remove: []uint64{a}}) // changes nothing
	update("", &chatv1.UpdateFolderRequest{Id: made["home"], Name: proto.String("family")})
	update("", &chatv1.UpdateFolderRequest{Id: made["home"], Name: proto.String("family")})
	update("folder_exists", &chatv1.UpdateFolderRequest{Id: made["home"], Name: proto.String("work")})
	update("bad_folder", &chatv1.UpdateFolderRequest{Id: made["home"], Name: proto.String(" ")})
	update("bad_folder", &chatv1.UpdateFolderRequest{Id: made["home"], Name: proto.String(strings.Repeat("x", 33))})
	update("bad_folder", &chatv1.UpdateFolderRequest{Id: made["home"], Name: proto.String("two\nlines")})
	update("no_conversation", &chatv1.UpdateFolderRequest{Id: made["home"], Add: []uint64{others}})
	update("no_conversation", &chatv1.UpdateFolderRequest{Id: made["home"], Add: []uint64{1 << 40}})
	update("no_folder", &chatv1.UpdateFolderRequest{Id: 5, Name: proto.String("x")})
	if _, err := h.UpdateFolder(ctx, 2, &chatv1.UpdateFolderRequest{Id: made["home"], Name: proto.String("x")}); reasonOf(err) != "no_folder" {
		t.Errorf("a change of another user's folder returned %v", err)
	}
	if _, err := h.OrderFolders(ctx, 1, []uint64{made["later"], 7, made["work"]}); err != nil { // family is not named
		t.Error(err)
	}
	want := []string{fmt.Sprintf("later: [%d %d]", a, b), fmt.Sprintf("work: [%d]", b), fmt.Sprintf("family: [%d %d]", a, b)}
	if got := foldersOf(t, h, 1); !slices.Equal(got, want) {
		t.Errorf("folders are %q, want %q", got, want)
	}
	for range 2 { // deleted twice
		if err := h.DeleteFolder(ctx, 1, made["work"]); err != nil {
			t.Error(err)
		}
	}
	if got := foldersOf(t, h, 1); !slices.Equal(got, []string{want[0], want[2]}) {
		t.Errorf("folders are %q", got)
	}
	if got := foldersOf(t, h, 2); len(got) != 0 {
		t.Errorf("another user's folders are %q", got)
	}
	n := 0
	for _, e := range h.events(t) {
		if e.to != 1 || e.event.GetFolders() == nil {
			t.Errorf("unexpected event %v", e)
		}
		n++
	}
	if n != 7 {
		t.Errorf("%d events, want 7", n)
	}
}

// TestFoldersAreBounded: concurrent changes add up, and none exceeds a limit.
func TestFoldersAreBounded(t *testing.T) {
	ctx := t.Context()
	h := newHarness(t, false, inbox.Config{})
	var group sync.WaitGroup
	refused := make([]string, 25)
	for i := range refused {
		group.Go(func() {
			_, err := h.CreateFolder(ctx, 1, &chatv1.CreateFolderRequest{Name: fmt.Sprint("folder ", i)})
			refused[i] = reasonOf(err)
		})
	}
	group.Wait()
	slices.Sort(refused)
	if n := len(foldersOf(t, h, 1)); n != 20 || refused[19] != "" || refused[20] != "too_many_folders" {
		t.Errorf("%d folders; refusals are %q", n, refused)
	}
	var conversations []uint64
	for peer := range 201 {
		h.open(t, id.Conversation(1000+peer), 1, id.User(peer+2))
		conversations = append(conversations, uint64(1000+peer))
	}
	list, err := h.ListFolders(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	folder := list.Folders[0].Id
	if _, err := h.UpdateFolder(ctx, 1, &chatv1.UpdateFolderRequest{Id: folder, Add: conversations[:200]}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.UpdateFolder(ctx, 1, &chatv1.UpdateFolderRequest{Id: folder, Add: conversations[200:]}); reasonOf(err) != "folder_full" {
		t.Errorf("the conversation after the last returned %v", err)
	}
	if _, err := h.UpdateFolder(ctx, 1, &chatv1.UpdateFolderRequest{Id: folder, Add: conversations[200:], Remove: conversations[:1]}); err != nil {
		t.Errorf("one for another returned %v", err)
	}
}
