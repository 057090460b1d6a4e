// Package interchange has the calls of rialto import and rialto export: users, conversations, entries and files, as operators see them. It
// coordinates the services that have the data, and has none itself.
//
// Each call has an entry in the audit log. A node writes one entry an hour for each key, action and subject.
//
// It may use sqldb, auditlog and counter. All methods are safe for concurrent use.
package interchange

import (
	"context"
	"strconv"

	"github.com/rialto-im/rialto/internal/base/clock"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outputlimit"
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/platform/counter"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
)

// Accounts is the part of package account that is used here.
type Accounts interface {
	PutUser(ctx context.Context, r *accountv1.PutUserRequest) (*accountv1.User, error)
	UpdateProfile(ctx context.Context, c id.Caller, r *accountv1.UpdateProfileRequest) (*accountv1.User, error)
	ExportUsers(ctx context.Context, r *operationv1.ExportUsersRequest) (*operationv1.ExportUsersResponse, error)
	ImportSettings(ctx context.Context, u id.User, set *accountv1.Settings) error
	Exist(ctx context.Context, users []id.User) error
	ImportRelations(ctx context.Context, list []*operationv1.InterchangeRelation) (*operationv1.ImportRelationsResponse, error)
	ExportRelations(ctx context.Context, r *operationv1.ExportRelationsRequest) (*operationv1.ExportRelationsResponse, error)
}

// Chat is the part of package chat that is used here.
type Chat interface {
	ImportConversation(ctx context.Context, r *operationv1.ImportConversationRequest) (c id.Conversation, ended bool, err error)
	ImportEntries(ctx context.Context, c id.Conversation, entries []*operationv1.ImportEntry) ([]*operationv1.ImportedEntry, error)
	EndImport(ctx context.Context, c id.Conversation) (messages uint64, err error)
	ListImports(ctx context.Context, after id.Conversation, limit int) ([]uint64, error)
	ExportConversations(ctx context.Context, r *operationv1.ExportConversationsRequest) (*operationv1.ExportConversationsResponse, error)
	ExportEntries(ctx context.Context, r *operationv1.ExportEntriesRequest) (*operationv1.ExportEntriesResponse, error)
}

// Feed is the part of package feed that is used here.
type Feed interface {
	ImportPost(ctx context.Context, r *operationv1.InterchangePost, video uint64) (duplicate bool, err error)
	ExportPosts(ctx context.Context, r *operationv1.ExportPostsRequest) (*operationv1.ExportPostsResponse, error)
	PostKeys(ctx context.Context, list []uint64) (map[uint64]string, error)
	ImportedPosts(ctx context.Context, keys []string) (map[string]uint64, error)
}

// Comments is the part of package comment that is used here.
type Comments interface {
	ImportComment(ctx context.Context, r *operationv1.InterchangeComment, post, video uint64) (duplicate bool, err error)
	ExportComments(ctx context.Context, r *operationv1.ExportCommentsRequest, posts func(ctx context.Context, list []uint64) (map[uint64]string, error)) (*operationv1.ExportCommentsResponse, error)
	CommentKeys(ctx context.Context, list []uint64) (map[uint64]string, error)
	ImportedComments(ctx context.Context, keys []string) (map[string]uint64, error)
}

// Engagement is the part of package engagement that is used here.
type Engagement interface {
	ImportLikes(ctx context.Context, likes []counter.Change) error
	ExportLikes(ctx context.Context, behind counter.Membership, limit int) ([]counter.Membership, error)
	CountLikes(ctx context.Context) (uint64, error)
}

// Videos is the part of package video that is used here.
type Videos interface {
	ImportVideo(ctx context.Context, r *operationv1.InterchangeVideo) (duplicate bool, err error)
	ExportVideos(ctx context.Context, r *operationv1.ExportVideosRequest) (*operationv1.ExportVideosResponse, error)
	ImportedVideos(ctx context.Context, keys []string) (map[string]uint64, error)
}

// Media is the part of package media that is used here.
type Media interface {
	CreateUpload(ctx context.Context, u id.User, r *chatv1.CreateUploadRequest) (*chatv1.CreateUploadResponse, error)
	CompleteUpload(ctx context.Context, u id.User, upload id.Upload) (*chatv1.Upload, error)
	ExportFile(ctx context.Context, upload id.Upload) (*operationv1.ExportFileResponse, error)
}

// Deps are what a Service needs.
type Deps struct {
	Accounts   Accounts
	Chat       Chat
	Feed       Feed
	Comments   Comments
	Engagement Engagement
	Videos     Videos
	Media      Media
	Audit      *auditlog.Log
	Clock      clock.Clock
}

// Service answers rialto import and rialto export.
type Service struct {
	deps Deps
	// recorded are the entries of the last hour that need no other.
	recorded recorded
}

// New returns a Service.
func New(deps Deps) *Service { return &Service{deps: deps} }

// maxUsers bounds the users of a call of ImportUsers.
const maxUsers = 100

var errTooManyUsers = errs.New(errs.Invalid, "bad_count", "import 1 to 100 users at once")

// Actions and subjects of entries of the audit log.
const (
	importing     = "interchange.import"
	exporting     = "interchange.export"
	users         = "users"
	conversations = "conversations"
	files         = "files"
)

func subjectOf(c id.Conversation) string { return "conversation " + strconv.FormatUint(uint64(c), 10) }

// record adds an entry to the audit log, unless the last hour has the same.
func (s *Service) record(ctx context.Context, c id.Caller, action, subject string) error {
	e, now := trace{c.Key, action, subject}, s.deps.Clock.Now()
	if s.recorded.has(e, now) {
		return nil
	}
	if err := s.deps.Audit.Record(ctx, auditlog.Entry{Who: c.Key, Action: action, Subject: subject}); err != nil {
		return err
	}
	s.recorded.add(e, now)
	return nil
}

// ImportUsers creates or updates users.
func (s *Service) ImportUsers(ctx context.Context, c id.Caller, r *operationv1.ImportUsersRequest) (*operationv1.ImportUsersResponse, error) {
	if len(r.Users) == 0 || len(r.Users) > maxUsers {
		return nil, errTooManyUsers
	}
	if err := s.record(ctx, c, importing, users); err != nil {
		return nil, err
	}
	out := &operationv1.ImportUsersResponse{}
	for _, u := range r.Users {
		result := &operationv1.ImportedUser{}
		user, err := s.importUser(ctx, u)
		switch {
		case errs.IsRefusal(err):
			e := errs.Of(err)
			result.Reason, result.Message = e.Reason, e.Message
		case err != nil:
			return nil, err
		default:
			result.User = user
		}
		out.Results = append(out.Results, result)
	}
	return out, nil
}

func (s *Service) importUser(ctx context.Context, u *operationv1.InterchangeUser) (uint64, error) {
	request := &accountv1.PutUserRequest{ExternalId: u.ExternalId, Handle: u.Handle, DisplayName: u.DisplayName}
	put, err := s.deps.Accounts.PutUser(ctx, request)
	if reason := errs.Of(err); err != nil && (reason.Reason == "handle_taken" || reason.Reason == "bad_handle") {
		put, err = s.deps.Accounts.PutUser(ctx, &accountv1.PutUserRequest{ExternalId: u.ExternalId, DisplayName: u.DisplayName})
	}
	if err != nil {
		return 0, err
	}
	if u.Settings != nil {
		if err := s.deps.Accounts.ImportSettings(ctx, id.User(put.Id), u.Settings); err != nil && !errs.IsRefusal(err) {
			return 0, err
		}
	}
	if u.Bio == "" || put.Bio == u.Bio {
		return put.Id, nil
	}
	_, err = s.deps.Accounts.UpdateProfile(ctx, id.Caller{User: id.User(put.Id)}, &accountv1.UpdateProfileRequest{Bio: &u.Bio})
	if errs.IsRefusal(err) {
		err = nil // the user is more than a text about them
	}
	return put.Id, err
}

// ImportConversation creates a conversation for an import, or finds it.
func (s *Service) ImportConversation(ctx context.Context, c id.Caller, r *operationv1.ImportConversationRequest) (*operationv1.ImportConversationResponse, error) {
	n, ended, err := s.deps.Chat.ImportConversation(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := s.record(ctx, c, importing, subjectOf(n)); err != nil {
		return nil, err
	}
	return &operationv1.ImportConversationResponse{Conversation: uint64(n), Ended: ended}, nil
}

// ImportEntries appends entries.
func (s *Service) ImportEntries(ctx context.Context, c id.Caller, r *operationv1.ImportEntriesRequest) (*operationv1.ImportEntriesResponse, error) {
	if err := s.record(ctx, c, importing, subjectOf(id.Conversation(r.Conversation))); err != nil {
		return nil, err
	}
	results, err := s.deps.Chat.ImportEntries(ctx, id.Conversation(r.Conversation), r.Entries)
	if err != nil {
		return nil, err
	}
	return &operationv1.ImportEntriesResponse{Results: results}, nil
}

// EndImport ends the import of a conversation.
func (s *Service) EndImport(ctx context.Context, c id.Caller, r *operationv1.EndImportRequest) (*operationv1.EndImportResponse, error) {
	if err := s.record(ctx, c, importing, subjectOf(id.Conversation(r.Conversation))); err != nil {
		return nil, err
	}
	messages, err := s.deps.Chat.EndImport(ctx, id.Conversation(r.Conversation))
	if err != nil {
		return nil, err
	}
	return &operationv1.EndImportResponse{Messages: messages}, nil
}

// ListImports returns a page of conversations whose import has not ended.
func (s *Service) ListImports(ctx context.Context, c id.Caller, r *operationv1.ListImportsRequest) (*operationv1.ListImportsResponse, error) {
	if err := s.record(ctx, c, importing, conversations); err != nil {
		return nil, err
	}
	list, err := s.deps.Chat.ListImports(ctx, id.Conversation(r.After), outputlimit.LargePageSize(r.Limit))
	if err != nil {
		return nil, err
	}
	return &operationv1.ListImportsResponse{Conversations: list}, nil
}

// ImportFile creates the upload of a user.
func (s *Service) ImportFile(ctx context.Context, c id.Caller, r *operationv1.ImportFileRequest) (*operationv1.ImportFileResponse, error) {
	if err := s.record(ctx, c, importing, files); err != nil {
		return nil, err
	}
	u, err := s.deps.Media.CreateUpload(ctx, id.User(r.Owner), &chatv1.CreateUploadRequest{Name: r.Name, Size: r.Size})
	if err != nil {
		return nil, err
	}
	return &operationv1.ImportFileResponse{Upload: u.Upload, Url: u.Url}, nil
}

// CompleteFile completes an upload. As a picture of its owner it changes a user.
func (s *Service) CompleteFile(ctx context.Context, c id.Caller, r *operationv1.CompleteFileRequest) (*operationv1.CompleteFileResponse, error) {
	subject := files
	if r.Avatar {
		subject = users
	}
	if err := s.record(ctx, c, importing, subject); err != nil {
		return nil, err
	}
	u, err := s.deps.Media.CompleteUpload(ctx, id.User(r.Owner), id.Upload(r.Upload))
	if err == nil && r.Avatar {
		_, err = s.deps.Accounts.UpdateProfile(ctx, id.Caller{User: id.User(r.Owner)}, &accountv1.UpdateProfileRequest{Avatar: &r.Upload})
	}
	if err != nil {
		return nil, err
	}
	return &operationv1.CompleteFileResponse{MimeType: u.MimeType, Width: u.Width, Height: u.Height}, nil
}

// ExportUsers returns a page of all users.
func (s *Service) ExportUsers(ctx context.Context, c id.Caller, r *operationv1.ExportUsersRequest) (*operationv1.ExportUsersResponse, error) {
	if err := s.record(ctx, c, exporting, users); err != nil {
		return nil, err
	}
	return s.deps.Accounts.ExportUsers(ctx, r)
}

// ExportConversations returns a page of all conversations.
func (s *Service) ExportConversations(ctx context.Context, c id.Caller, r *operationv1.ExportConversationsRequest) (*operationv1.ExportConversationsResponse, error) {
	if err := s.record(ctx, c, exporting, conversations); err != nil {
		return nil, err
	}
	return s.deps.Chat.ExportConversations(ctx, r)
}

// ExportEntries returns a page of a conversation's entries.
func (s *Service) ExportEntries(ctx context.Context, c id.Caller, r *operationv1.ExportEntriesRequest) (*operationv1.ExportEntriesResponse, error) {
	if err := s.record(ctx, c, exporting, subjectOf(id.Conversation(r.Conversation))); err != nil {
		return nil, err
	}
	return s.deps.Chat.ExportEntries(ctx, r)
}

// ExportFile returns an address of a file.
func (s *Service) ExportFile(ctx context.Context, c id.Caller, r *operationv1.ExportFileRequest) (*operationv1.ExportFileResponse, error) {
	if err := s.record(ctx, c, exporting, files); err != nil {
		return nil, err
	}
	return s.deps.Media.ExportFile(ctx, id.Upload(r.Upload))
}
