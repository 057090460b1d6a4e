package rialto

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/chat/v1/chatv1connect"
)

// NoticesConfig says what notices CreateNotices creates, and where.
type NoticesConfig struct {
	// URL of the deployment, as https://chat.example.com.
	URL string
	// APIKey of a server; rialto admin key create makes one.
	APIKey string
	// Owner is the user who writes the notices, as that user's own messages.
	Owner uint64
	// Title of 1 to 100 characters.
	Title string
	// Key makes a retry harmless: a second call with the same owner and key returns the same channel. 1 to 64 bytes.
	Key string
	// Segment: only those users get them whom the owner adds with Invite. Otherwise everybody does.
	Segment bool
	// HTTP makes the call; by default with a timeout of 30 s.
	HTTP *http.Client
}

// CreateNotices creates a channel of system notices, for everybody or for a segment, and returns it. A notice is a message that the owner sends
// to its Id. Of notices for everybody there is one channel: a second one is refused with notices_exist.
func CreateNotices(ctx context.Context, config NoticesConfig) (*chatv1.Conversation, error) {
	if config.APIKey == "" || config.Owner == 0 || config.Key == "" {
		return nil, errors.New("rialto: NoticesConfig has an APIKey, an Owner and a Key")
	}
	if config.HTTP == nil {
		config.HTTP = &http.Client{Timeout: 30 * time.Second}
	}
	of := chatv1.Notices_NOTICES_EVERYBODY
	if config.Segment {
		of = chatv1.Notices_NOTICES_SEGMENT
	}
	r := connect.NewRequest(&chatv1.CreateGroupRequest{Title: config.Title, Channel: true, JoinPolicy: chatv1.JoinPolicy_JOIN_POLICY_INVITE, Notices: of, Key: config.Key})
	r.Header().Set("Authorization", "Bearer "+config.APIKey)
	r.Header().Set("Rialto-User", strconv.FormatUint(config.Owner, 10))
	made, err := chatv1connect.NewChatServiceClient(config.HTTP, strings.TrimRight(config.URL, "/")).CreateGroup(ctx, r)
	if err != nil {
		return nil, err
	}
	return made.Msg, nil
}
