package inputlimit

import (
	"github.com/rialto-im/rialto/internal/base/errs"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxSends and MaxMarks in one frame.
const (
	MaxSends = 4096
	MaxMarks = 4096
)

var (
	// ErrSends rejects a frame with more than MaxSends or MaxMarks.
	ErrSends = errs.New(errs.Invalid, "too_many_sends", "a frame has at most 4,096 sends, and as many marks")

	// ErrWaitOnSocket refuses a sync that waits where events are pushed, in a frame or a call of a socket.
	ErrWaitOnSocket = errs.New(errs.Invalid, "wait_on_socket", "a socket is pushed its events: leave out waitMs")

	// ErrParts refuses a call with no parts, or with more than 100.
	ErrParts = errs.New(errs.Invalid, "bad_count", "give 1 to 100 parts at once")

	errUsers    = errs.New(errs.Invalid, "too_many_users", "give at most 500 users at once")
	errFolder   = errs.New(errs.Exhausted, "folder_full", "a folder has at most 200 conversations; remove some first")
	errRules    = errs.New(errs.Invalid, "bad_rules", "give at most 100 rules, each with at most 10 keywords")
	errAudience = errs.New(errs.Invalid, "bad_audience", "an audience has at most 10 labels, and at most 10 languages")
	errItems    = errs.New(errs.Invalid, "bad_count", "give 1 to 200 items at once")
	errCount    = errs.New(errs.Invalid, "bad_count", "give 1 to 200 users")
)

// limits of the repeated fields of requests. The services have their own checks, with the same numbers. These limits apply before anything is
// decoded.
var limits = map[protoreflect.FullName]Repeated{
	"rialto.gateway.v1.ClientFrame.sends":       {MaxSends, ErrSends},
	"rialto.gateway.v1.ClientFrame.marks":       {MaxMarks, ErrSends},
	"rialto.gateway.v1.Watch.users":             {500, errUsers},
	"rialto.gateway.v1.WatchReaders.messages":   {8, errs.New(errs.Invalid, "too_many_lists", "watch the readers of at most 8 messages")},
	"rialto.gateway.v1.WatchPosts.posts":        {100, errs.New(errs.Invalid, "too_many_posts", "watch at most 100 posts")},
	"rialto.chat.v1.Control.users":              {500, errUsers},
	"rialto.chat.v1.SignPartsRequest.parts":     {100, ErrParts},
	"rialto.chat.v1.SyncRequest.large":          {500, errs.New(errs.Invalid, "too_many_groups", "name at most 500 large groups in a sync that waits")},
	"rialto.chat.v1.GetMessagesRequest.seqs":    {200, errs.New(errs.Invalid, "bad_seqs", "give 1 to 200 seqs")},
	"rialto.chat.v1.DeleteMessagesRequest.seqs": {100, errs.New(errs.Invalid, "bad_seqs", "give 1 to 100 seqs")},
	// Reactions come from the server only.
	"rialto.chat.v1.Reactions.counts":                       {1, errs.New(errs.Invalid, "bad_content", "the counts of reactions come from the server")},
	"rialto.chat.v1.Reactions.mine":                         {1, errs.New(errs.Invalid, "bad_content", "the counts of reactions come from the server")},
	"rialto.chat.v1.Album.items":                            {10, errs.New(errs.Invalid, "bad_content", "an album has at most 10 images and videos")},
	"rialto.chat.v1.Forward.seqs":                           {100, errs.New(errs.Invalid, "bad_content", "forward at most 100 messages at once")},
	"rialto.chat.v1.Forward.items":                          {1, errs.New(errs.Invalid, "bad_content", "the messages of a forward come from the server")},
	"rialto.chat.v1.CreateOrganizationGroupRequest.members": {500, errUsers},
	"rialto.chat.v1.PutDepartmentsRequest.departments":      {200, errItems},
	"rialto.chat.v1.RemoveDepartmentsRequest.departments":   {200, errItems},
	"rialto.chat.v1.PutOrganizationMembersRequest.members":  {200, errItems},
	"rialto.chat.v1.RemoveOrganizationMembersRequest.users": {200, errItems},
	"rialto.chat.v1.ListOrganizationMembersRequest.users":   {200, errItems},
	"rialto.chat.v1.OrganizationMemberInput.departments":    {20, errs.New(errs.Invalid, "too_many_departments", "a member has at most 20 departments, each once")},
	"rialto.chat.v1.CreateGroupRequest.members":             {500, errUsers},
	"rialto.chat.v1.WriteStreamedMessagesRequest.parts":     {100, ErrParts},
	"rialto.chat.v1.InviteRequest.users":                    {500, errUsers},
	"rialto.chat.v1.RemoveRequest.users":                    {500, errUsers},
	"rialto.chat.v1.CreateFolderRequest.conversations":      {200, errFolder},
	"rialto.chat.v1.UpdateFolderRequest.add":                {200, errFolder},
	"rialto.chat.v1.UpdateFolderRequest.remove":             {200, errFolder},
	"rialto.chat.v1.OrderFoldersRequest.ids":                {20, errs.New(errs.Invalid, "too_many_folders", "a user has at most 20 folders; name each once")},
	"rialto.chat.v1.BanRequest.users":                       {500, errUsers},
	"rialto.chat.v1.UnbanRequest.users":                     {500, errUsers},
	"rialto.chat.v1.MuteMembersRequest.users":               {500, errs.New(errs.Invalid, "bad_mute", "mute at most 500 users at once, until a time in milliseconds since 1970")},
	"rialto.chat.v1.InviteToOrganizationRequest.users":      {200, errItems},
	"rialto.chat.v1.SetFollowerLabelRequest.followers":      {200, errs.New(errs.Invalid, "bad_label", "label at most 200 followers at once")},
	"rialto.chat.v1.OfficialMenu.entries":                   {3, errs.New(errs.Invalid, "bad_menu", "a menu has at most 3 entries")},
	"rialto.chat.v1.OfficialMenuEntry.items":                {5, errs.New(errs.Invalid, "bad_menu", "an entry of a menu has at most 5 items")},
	"rialto.chat.v1.OfficialReplies.rules":                  {100, errRules},
	"rialto.chat.v1.KeywordRule.keywords":                   {10, errRules},
	"rialto.chat.v1.BroadcastAudience.labels":               {10, errAudience},
	"rialto.chat.v1.BroadcastAudience.languages":            {10, errAudience},
	"rialto.chat.v1.CreateBroadcastRequest.waves":           {10, errs.New(errs.Invalid, "bad_broadcast", "a broadcast has at most 10 waves")},
	"rialto.presence.v1.GetPresenceRequest.users":           {200, errs.New(errs.Invalid, "too_many_users", "ask for at most 200 users at once")},
	"rialto.account.v1.GetUsersRequest.users":               {200, errCount},
	"rialto.account.v1.GetUsersRequest.handles":             {200, errCount},
	"google.protobuf.Struct.fields":                         {MaxKeys, errKeys},
	"google.protobuf.ListValue.values":                      {MaxKeys, errKeys},

	"rialto.chat.v1.HelpDesk.agents":   {100, errs.New(errs.Invalid, "bad_help_desk", "a help desk has at most 100 agents")},
	"rialto.chat.v1.HelpDesk.hours":    {50, errs.New(errs.Invalid, "bad_hours", "business hours have at most 50 ranges")},
	"rialto.chat.v1.HelpDesk.holidays": {100, errs.New(errs.Invalid, "bad_hours", "business hours have at most 100 holidays")},

	"rialto.moderation.v1.PutWordListRequest.words": {10_000, errs.New(errs.Invalid, "bad_words", "a word list has at most 10,000 words")},

	"rialto.feed.v1.PostContent.mentions":             {50, errs.New(errs.Invalid, "bad_post", "a post has at most 50 mentions")},
	"rialto.comment.v1.CommentContent.mentions":       {50, errs.New(errs.Invalid, "bad_comment", "a comment has at most 50 mentions")},
	"rialto.notification.v1.NotificationSettings.off": {20, errs.New(errs.Invalid, "bad_settings", "off may only name kinds of notifications that exist, each once")},

	"rialto.transaction.v1.PrepareMessagesRequest.messages": {20, errs.New(errs.Invalid, "bad_transaction", "a transaction has 1 to 20 messages")},

	"rialto.chat.v1.Content.mentions": {100, errs.New(errs.Invalid, "bad_mention", "a message has at most 100 mentions")},
	"rialto.chat.v1.Mention.users":    {1, errs.New(errs.Invalid, "bad_mention", "the users of a mention come from the server")},
}

// captured are the fields whose JSON Capture returns, in the order of Captured.
var captured = [...]protoreflect.FullName{"rialto.gateway.v1.Call.body", "rialto.gateway.v1.ClientFrame.auth"}

// errTwice refuses a frame in which one of them is there twice.
var errTwice = errs.New(errs.Invalid, "bad_json", "a frame has one auth and one body of a call; this one has two")
