package rpc_test

import (
	"github.com/rialto-im/rialto/internal/platform/auditlog"
	"github.com/rialto-im/rialto/internal/service/interchange"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"google.golang.org/protobuf/proto"
)

const interchangeCalls = "/rialto.operation.v1.InterchangeService/"

// ofInterchange: what operators import and export.
func ofInterchange() map[string]row {
	request := func(m proto.Message) func(subject) proto.Message { return func(subject) proto.Message { return m } }
	const absent = 1 << 40
	return map[string]row{
		interchangeCalls + "ImportUsers":         all("bad_count", request(&operationv1.ImportUsersRequest{})),
		interchangeCalls + "ImportConversation":  all("bad_title", request(&operationv1.ImportConversationRequest{})),
		interchangeCalls + "ImportEntries":       all("bad_count", request(&operationv1.ImportEntriesRequest{})),
		interchangeCalls + "EndImport":           all(none, request(&operationv1.EndImportRequest{Conversation: absent})),
		interchangeCalls + "ImportFile":          all("bad_size", request(&operationv1.ImportFileRequest{})),
		interchangeCalls + "CompleteFile":        all("no_upload", request(&operationv1.CompleteFileRequest{Upload: absent})),
		interchangeCalls + "ExportUsers":         own(request(&operationv1.ExportUsersRequest{})),
		interchangeCalls + "ImportRelations":     all("bad_count", request(&operationv1.ImportRelationsRequest{})),
		interchangeCalls + "ExportRelations":     own(request(&operationv1.ExportRelationsRequest{})),
		interchangeCalls + "ImportVideos":        all("bad_count", request(&operationv1.ImportVideosRequest{})),
		interchangeCalls + "ExportVideos":        own(request(&operationv1.ExportVideosRequest{})),
		interchangeCalls + "ImportPosts":         all("bad_count", request(&operationv1.ImportPostsRequest{})),
		interchangeCalls + "ExportPosts":         own(request(&operationv1.ExportPostsRequest{})),
		interchangeCalls + "ImportComments":      all("bad_count", request(&operationv1.ImportCommentsRequest{})),
		interchangeCalls + "ExportComments":      own(request(&operationv1.ExportCommentsRequest{})),
		interchangeCalls + "ImportLikes":         all("bad_count", request(&operationv1.ImportLikesRequest{})),
		interchangeCalls + "ExportLikes":         own(request(&operationv1.ExportLikesRequest{})),
		interchangeCalls + "ListImports":         own(request(&operationv1.ListImportsRequest{})),
		interchangeCalls + "ExportConversations": own(request(&operationv1.ExportConversationsRequest{})),
		interchangeCalls + "ExportEntries":       all(none, request(&operationv1.ExportEntriesRequest{Conversation: absent})),
		interchangeCalls + "ExportFile":          all("no_upload", request(&operationv1.ExportFileRequest{Upload: absent})),
	}
}

// newInterchange makes the service for imports and exports of a harness.
func (h *harness) newInterchange(media interchange.Media, videos interchange.Videos) *interchange.Service {
	h.t.Helper()
	audit, err := auditlog.New(h.t.Context(), h.db, h.clock)
	if err != nil {
		h.t.Fatal(err)
	}
	return interchange.New(interchange.Deps{Accounts: h.accounts, Chat: h.chat, Feed: h.feed, Comments: h.comments, Engagement: h.engagement, Videos: videos, Media: media, Audit: audit, Clock: h.clock})
}
