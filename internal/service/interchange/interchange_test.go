package interchange_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/clock/clocktest"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/sqldb/sqltest"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/service/interchange"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// deployment answers each call, and counts them.
type deployment struct{ calls int }

func (d *deployment) PutUser(context.Context, *accountv1.PutUserRequest) (*accountv1.User, error) {
	d.calls++
	return &accountv1.User{Id: 1}, nil
}

func (d *deployment) UpdateProfile(context.Context, id.Caller, *accountv1.UpdateProfileRequest) (*accountv1.User, error) {
	return &accountv1.User{Id: 1}, nil
}

func (d *deployment) ExportUsers(context.Context, *operationv1.ExportUsersRequest) (*operationv1.ExportUsersResponse, error) {
	d.calls++
	return &operationv1.ExportUsersResponse{}, nil
}

func (d *deployment) ImportRelations(context.Context, []*operationv1.InterchangeRelation) (*operationv1.ImportRelationsResponse, error) {
	d.calls++
	return &operationv1.ImportRelationsResponse{}, nil
}

func (d *deployment) ExportRelations(context.Context, *operationv1.ExportRelationsRequest) (*operationv1.ExportRelationsResponse, error) {
	d.calls++
	return &operationv1.ExportRelationsResponse{}, nil
}

func (d *deployment) ImportConversation(context.Context, *operationv1.ImportConversationRequest) (id.Conversation, bool, error) {
	d.calls++
	return 7, true, nil
}

func (d *deployment) ImportEntries(context.Context, id.Conversation, []*operationv1.ImportEntry) ([]*operationv1.ImportedEntry, error) {
	d.calls++
	return nil, nil
}

func (d *deployment) EndImport(context.Context, id.Conversation) (uint64, error) {
	d.calls++
	return 0, nil
}

func (d *deployment) ExportConversations(context.Context, *operationv1.ExportConversationsRequest) (*operationv1.ExportConversationsResponse, error) {
	d.calls++
	return &operationv1.ExportConversationsResponse{}, nil
}

func (d *deployment) ExportEntries(context.Context, *operationv1.ExportEntriesRequest) (*operationv1.ExportEntriesResponse, error) {
	d.calls++
	return &operationv1.ExportEntriesResponse{}, nil
}

func (d *deployment) CreateUpload(context.Context, id.User, *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error) {
	d.calls++
	return &chatv1.CreateUploadResponse{}, nil
}

func (d *deployment) CompleteUpload(context.Context, id.User, id.Upload) (*chatv1.Upload, error) {
	d.calls++
	return &chatv1.Upload{}, nil
}

func (d *deployment) ExportFile(context.Context, id.Upload) (*operationv1.ExportFileResponse, error) {
	d.calls++
	return &operationv1.ExportFileResponse{}, nil
}

// audited is a Service with its audit log.
type audited struct {
	*interchange.Service
	t     *testing.T
	audit *auditlog.Log
	clock *clocktest.Manual
	calls *deployment
}

func open(t *testing.T) *audited {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqltest.Place(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	a := &audited{t: t, clock: clocktest.NewManual(), calls: &deployment{}}
	if a.audit, err = auditlog.New(t.Context(), db, a.clock); err != nil {
		t.Fatal(err)
	}
	a.Service = interchange.New(interchange.Deps{Accounts: a.calls, Chat: a.calls, Feed: a.calls, Comments: a.calls, Engagement: a.calls, Videos: a.calls, Media: a.calls, Audit: a.audit, Clock: a.clock})
	return a
}

// entries returns what the audit log has, the oldest first.
func (a *audited) entries() (list []string) {
	a.t.Helper()
	entries, err := a.audit.List(a.t.Context(), 1<<40, 1000)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, e := range slices.Backward(entries) {
		list = append(list, e.Who+" "+strings.TrimPrefix(e.Action, "interchange.")+" "+e.Subject)
	}
	return list
}

// anyCall is one of the methods, without its answer.
type anyCall func(ctx context.Context, c id.Caller) error

func call[Q, A any](method func(context.Context, id.Caller, *Q) (*A, error), q *Q) anyCall {
	return func(ctx context.Context, c id.Caller) error {
		_, err := method(ctx, c, q)
		return err
	}
}

// TestEachCallLeavesATrace: whatever an operator calls, and with whatever arguments, the audit log has who it was and what of, and without that there is no answer.
func TestEachCallLeavesATrace(t *testing.T) {
	for want, calls := range map[string]func(s *interchange.Service) []anyCall{
		"import users": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ImportUsers, &operationv1.ImportUsersRequest{Users: []*operationv1.InterchangeUser{{}}}), call(s.CompleteFile, &operationv1.CompleteFileRequest{Avatar: true})}
		},
		"import conversation 7": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ImportConversation, &operationv1.ImportConversationRequest{Parent: 5}), call(s.ImportEntries, &operationv1.ImportEntriesRequest{Conversation: 7}), call(s.EndImport, &operationv1.EndImportRequest{Conversation: 7})}
		},
		"import files": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ImportFile, &operationv1.ImportFileRequest{}), call(s.CompleteFile, &operationv1.CompleteFileRequest{})}
		},
		"import relations": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ImportRelations, &operationv1.ImportRelationsRequest{Relations: []*operationv1.InterchangeRelation{{}}})}
		},
		"export relations": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportRelations, &operationv1.ExportRelationsRequest{})}
		},
		"import videos": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ImportVideos, &operationv1.ImportVideosRequest{Videos: []*operationv1.InterchangeVideo{{}}})}
		},
		"import posts": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ImportPosts, &operationv1.ImportPostsRequest{Posts: []*operationv1.InterchangePost{{}}})}
		},
		"import comments": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ImportComments, &operationv1.ImportCommentsRequest{Comments: []*operationv1.InterchangeComment{{}}})}
		},
		"import likes": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ImportLikes, &operationv1.ImportLikesRequest{Likes: []*operationv1.InterchangeLike{{}}})}
		},
		"import conversations": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ListImports, &operationv1.ListImportsRequest{})}
		},
		"export videos": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportVideos, &operationv1.ExportVideosRequest{})}
		},
		"export posts": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportPosts, &operationv1.ExportPostsRequest{})}
		},
		"export comments": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportComments, &operationv1.ExportCommentsRequest{})}
		},
		"export likes": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportLikes, &operationv1.ExportLikesRequest{})}
		},
		"export users": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportUsers, &operationv1.ExportUsersRequest{After: 1})}
		},
		"export conversations": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportConversations, &operationv1.ExportConversationsRequest{After: 1})}
		},
		"export conversation 7": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportEntries, &operationv1.ExportEntriesRequest{Conversation: 7, After: 1})}
		},
		"export files": func(s *interchange.Service) []anyCall {
			return []anyCall{call(s.ExportFile, &operationv1.ExportFileRequest{Upload: 1})}
		},
	} {
		a := open(t)
		for i, do := range calls(a.Service) {
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			if err := do(ended, id.Caller{Key: "olga"}); i == 0 && err == nil {
				t.Errorf("%s: answered without an entry", want)
			}
			if err := do(t.Context(), id.Caller{Key: fmt.Sprint("key", i)}); err != nil {
				t.Fatalf("%s: %v", want, err)
			}
			if got := a.entries(); len(got) != i+1 || got[i] != fmt.Sprint("key", i, " ", want) {
				t.Errorf("call %d leaves %q, want %q at the end", i, got, want)
			}
		}
	}
}

// TestAnEntryAnHour: pages of one thing are one entry for an hour, of each key, and of each conversation. What is remembered of them is bounded.
func TestAnEntryAnHour(t *testing.T) {
	a := open(t)
	read := func(key string, conversation uint64) {
		t.Helper()
		if _, err := a.ExportEntries(t.Context(), id.Caller{Key: key}, &operationv1.ExportEntriesRequest{Conversation: conversation}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		read("olga", 1)
		read("olga", 2)
		read("otto", 1)
		a.clock.Advance(20*time.Minute - time.Second)
	}
	a.clock.Advance(3 * time.Second)
	read("olga", 1)
	want := []string{"olga export conversation 1", "olga export conversation 2", "otto export conversation 1", "olga export conversation 1"}
	if got := a.entries(); !slices.Equal(got, want) || a.calls.calls != 10 {
		t.Errorf("the audit log has %q after %d calls, want %q after 10", got, a.calls.calls, want)
	}
}
